"""`molt/VisualDiff-v0`: in how many cells two boards differ, or in which one.

In: a number. Out: two boards side by side in one picture, and a question; 1 for the exact number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from molt_envs.env import IMAGE_METADATA, AgentEnv, EnvCard, Task, Turn
from molt_envs.families.visual_diff.pairs import KINDS, SPLITS, Setting, pair, priors
from molt_envs.policy import Policy
from molt_envs.tools.questions import NUMBER_GRAMMAR, answering

SUMMARY = "Find the cells in which two boards of shapes differ"
SYSTEM_PROMPT = (
    "The picture shows two boards side by side. Cells differ if the shape or the colour differs, or if one "
    "of them is empty. Answer with a number alone, such as 4."
)


class VisualDiffEnv(AgentEnv):
    """Two boards, one number.

    Args:
        image_size: height of the picture in pixels; it is twice as wide.
        board_size: cells along a side of a board.
        max_differences: most cells that differ where they are counted.
        kinds: what is asked: `count`, `where`.
        max_turns: steps after which an episode is truncated.
        render_mode: `ansi`, `rgb_array` or None.

    Raises:
        ValueError: boards of these sizes cannot be made or shown.
    """

    metadata = IMAGE_METADATA

    def __init__(
        self,
        image_size: int = 112,
        board_size: int = 4,
        max_differences: int = 6,
        kinds: Sequence[str] = KINDS,
        max_turns: int = 2,
        render_mode: str | None = None,
    ) -> None:
        self._setting = Setting(image_size, board_size, max_differences, tuple(kinds))
        card = EnvCard(
            SUMMARY,
            SYSTEM_PROMPT,
            NUMBER_GRAMMAR,
            (0.0, 1.0),
            SPLITS,
            max_turns,
            bounded=True,
            image_size=(image_size, 2 * image_size),
        )
        super().__init__(card, render_mode)

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        drawn = pair(self._setting, task.split, task.index)
        self._question = drawn.question
        return self._question.begin(drawn.picture(self._setting))

    def _act(self, action: str) -> Turn:
        return self._question.act(action)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy:
        """A policy that knows the number; `noise`: how often it says something else first."""
        return answering(self._question, f"{seed} {self.running_task().task_id}", noise)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; `blind` reads the text and says the likeliest number."""
        return priors(self._setting).baselines(self._question, seed)
