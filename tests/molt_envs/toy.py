"""A small environment for the hub's tests: say the secret word; Unicode, tools off, short episodes."""

from __future__ import annotations

import gymnasium
import numpy as np

from molt_envs import ActionGrammar, AgentEnv, EnvCard, Task, Turn

WORDS = ("rød", "日本", "fig\x07", "low\nlow", "😀", "\ud83d lone")
TOY_ID = "molt-tests/Toy-v0"

CARD = EnvCard(
    summary="Say the secret word",
    system_prompt="Say one word at a time.",
    grammar=ActionGrammar("a word", "rød"),
    reward_range=(-0.1, 1.0),
    splits={"train": 6, "test": 3},
    max_turns=4,
    max_observation_chars=2000,
    bounded=True,
    max_baseline_success=0.9,  # four guesses among six words
)


class ToyEnv(AgentEnv):
    """The secret depends on the task, the greeting on the seed."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(CARD, render_mode)
        self._secret = ""

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._secret = WORDS[task.index]
        return Turn(
            f"{task.task_id}: {WORDS[int(rng.integers(len(WORDS)))]}?",
            admissible_actions=WORDS,
            state_key="s",
        )

    def _act(self, action: str) -> Turn:
        if action == self._secret:
            return Turn("yes", reward=1.0, terminated=True, score=1.0, success=True)
        return Turn(f"no, not {action[:20]}", reward=-0.1, admissible_actions=WORDS, state_key=action[:20])


def register_toy() -> str:
    """Register the environment, once; gives its id."""
    if TOY_ID not in gymnasium.registry:
        gymnasium.register(TOY_ID, entry_point="tests.molt_envs.toy:ToyEnv")
    return TOY_ID
