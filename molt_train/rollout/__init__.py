"""Rollout: engines that sample tokens, and the runner that turns them into episodes."""
