"""The training loop: rollout, grading, update, evaluation, in that order."""
