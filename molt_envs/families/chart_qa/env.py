"""`molt/ChartQA-v0`: numbers read off bars, lines, pies and tables.

In: a number. Out: a chart and a question; 1 for a number within the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from molt_envs.env import IMAGE_METADATA, AgentEnv, EnvCard, Task, Turn
from molt_envs.families.chart_qa.charts import KINDS, SPLITS, chart, priors
from molt_envs.families.chart_qa.plots import Plot
from molt_envs.policy import Policy
from molt_envs.tools.questions import NUMBER_GRAMMAR, answering

SUMMARY = "Read numbers off bars, lines, pies and tables, and compute with them"
SYSTEM_PROMPT = (
    "Look at the chart, and answer with a number alone, such as 42. What is read off an axis or a pie may be "
    "a little off; numbers that are written and things that are counted must be exact."
)
LEAST_SIZE = 160


class ChartQAEnv(AgentEnv):
    """One chart, one number.

    Args:
        image_size: height and width of pictures in pixels, at least 160.
        kinds: which charts are drawn: `bar`, `line`, `pie`, `table`.
        max_turns: steps after which an episode is truncated.
        render_mode: `ansi`, `rgb_array` or None.

    Raises:
        ValueError: there is no such kind, or the picture is too small to be read.
    """

    metadata = IMAGE_METADATA

    def __init__(
        self,
        image_size: int = 224,
        kinds: Sequence[str] = KINDS,
        max_turns: int = 2,
        render_mode: str | None = None,
    ) -> None:
        unknown = sorted({*kinds} - {*KINDS})
        if unknown or not kinds:
            raise ValueError(f"kinds {tuple(kinds)}; choose from {', '.join(KINDS)}")
        if image_size < LEAST_SIZE:
            raise ValueError(f"image_size {image_size}; charts can be read from {LEAST_SIZE} pixels on")
        self._kinds, self._image_size = tuple(kinds), image_size
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
        drawn = chart(self._kinds, task.split, task.index)
        self._question = drawn.question
        return self._question.begin(Plot(drawn, self._image_size).pixels())

    def _act(self, action: str) -> Turn:
        return self._question.act(action)

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy:
        """A policy that knows the number; `noise`: how often it says something else first."""
        return answering(self._question, f"{seed} {self.running_task().task_id}", noise)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; `blind` reads the text and says the likeliest number."""
        return priors(self._kinds).baselines(self._question, seed)
