"""`molt/VisualCount-v0`: how many things of a colour, of a shape or of both are in a picture.

In: a number. Out: a picture and a question; 1 for the exact number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from molt_envs.env import IMAGE_METADATA, AgentEnv, EnvCard, Task, Turn
from molt_envs.families.visual_count.scenes import SPLITS, Setting, priors, scene
from molt_envs.policy import Policy
from molt_envs.tools.questions import NUMBER_GRAMMAR, answering

SUMMARY = "Count the things of a colour or a shape in a small picture"
SYSTEM_PROMPT = "Look at the picture, count what is asked for, and write the number alone, such as 5."


class VisualCountEnv(AgentEnv):
    """One picture, one number.

    Args:
        image_size: height and width of pictures in pixels.
        max_count: most shapes that are to be counted.
        max_others: most shapes that are not.
        kinds: what questions name: `colour`, `shape`, `both`.
        max_turns: steps after which an episode is truncated.
        render_mode: `ansi`, `rgb_array` or None.

    Raises:
        ValueError: so many shapes do not fit into the picture.
    """

    metadata = IMAGE_METADATA

    def __init__(
        self,
        image_size: int = 112,
        max_count: int = 8,
        max_others: int = 6,
        kinds: Sequence[str] = ("colour", "shape", "both"),
        max_turns: int = 2,
        render_mode: str | None = None,
    ) -> None:
        self._setting = Setting(image_size, max_count, max_others, tuple(kinds))
        card = EnvCard(
            SUMMARY,
            SYSTEM_PROMPT,
            NUMBER_GRAMMAR,
            (0.0, 1.0),
            SPLITS,
            max_turns,
            bounded=True,
            image_size=(image_size, image_size),
        )
        super().__init__(card, render_mode)

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        drawn = scene(self._setting, task.split, task.index)
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
