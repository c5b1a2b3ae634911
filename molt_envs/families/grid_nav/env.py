"""`molt/GridNav-v0`: walk over a small board to stars that appear one after the other.

In: `up`, `down`, `left`, `right`. Out: a new picture after every move; each star earns its share of 1.
"""

from __future__ import annotations

import hashlib

import numpy as np

from molt_envs.env import IMAGE_METADATA, ActionGrammar, AgentEnv, EnvCard, Task, Turn
from molt_envs.families.grid_nav.boards import MOVES, SPLITS, Cell, Setting, board
from molt_envs.families.grid_nav.policies import Blind, FirstPicture, Sweep, Walker
from molt_envs.policy import Policy

SUMMARY = "Walk over a small board to stars that appear one after the other; every move shows a new picture"
SYSTEM_PROMPT = (
    "You are the disc on the board. Walk to the star; when you are there, the next one appears elsewhere. "
    "Filled cells are walls. Each turn, write one move alone: up, down, left or right."
)
GRAMMAR = ActionGrammar("up, down, left or right", "up", r"\b(?:up|down|left|right)\b")


class GridNavEnv(AgentEnv):
    """A board; the episode ends when all stars are taken or the moves are used up.

    Args:
        image_size: height and width of pictures in pixels.
        board_size: cells along a side.
        num_stars: stars to take.
        num_walls: cells that cannot be entered.
        spare_moves: moves allowed beyond the shortest way through all stars.
        render_mode: `ansi`, `rgb_array` or None.

    Raises:
        ValueError: a board of these sizes cannot be made or shown.
    """

    metadata = IMAGE_METADATA

    def __init__(
        self,
        image_size: int = 112,
        board_size: int = 5,
        num_stars: int = 3,
        num_walls: int = 3,
        spare_moves: int = 3,
        render_mode: str | None = None,
    ) -> None:
        self._setting = Setting(image_size, board_size, num_stars, num_walls, spare_moves)
        card = EnvCard(
            SUMMARY,
            SYSTEM_PROMPT,
            GRAMMAR,
            (0.0, 1 / max(1, num_stars)),
            SPLITS,
            self._setting.most_needed + spare_moves,
            bounded=True,
            image_size=(image_size, image_size),
        )
        super().__init__(card, render_mode)

    def _begin(self, task: Task, rng: np.random.Generator) -> Turn:
        self._board = board(self._setting, task.split, task.index)
        self._agent, self._num_taken = self._board.start, 0
        self._num_left = (self._board.num_needed() or 0) + self._setting.spare_moves
        return self._look()

    def _act(self, action: str) -> Turn:
        self._num_left -= 1
        move = action.strip().lower() if len(action) < 20 else ""
        if move in MOVES:
            self._agent = self._board.moved(self._agent, move)
        if self._agent == self._star():
            self._num_taken += 1
            return self._look(self.card.reward_range[1])
        return self._look()

    def _star(self) -> Cell | None:
        """Where the next star is; None when all are taken."""
        stars = self._board.stars
        return stars[self._num_taken] if self._num_taken < len(stars) else None

    def _look(self, reward: float = 0.0) -> Turn:
        num_stars = len(self._board.stars)
        success = self._num_taken == num_stars
        state = (self.running_task().task_id, self._agent, self._num_taken)
        return Turn(
            f"Stars: {self._num_taken} of {num_stars}. Moves left: {self._num_left}.",
            reward,
            terminated=success or self._num_left == 0,
            score=self._num_taken / num_stars,
            success=success,
            admissible_actions=tuple(MOVES),
            state_key=hashlib.sha256(repr(state).encode()).hexdigest()[:16],
            image=self._board.picture(self._agent, self._star(), self._setting.image_size),
        )

    def oracle(self, seed: int = 0, noise: float = 0.0) -> Policy:
        """A policy that takes shortest ways; `noise`: how often it takes any move instead."""
        return Walker(self._way, f"{seed} {self.running_task().task_id}", noise)

    def baselines(self, seed: int = 0) -> dict[str, Policy]:
        """See `AgentEnv.baselines`; `blind` reads the text alone, `first_picture` never looks again."""
        size = self._setting.board_size
        return super().baselines(seed) | {
            "script": Sweep(size),
            "blind": Blind(size, seed),
            "first_picture": FirstPicture(self._way(), Blind(size, seed)),
        }

    def _way(self) -> list[str]:
        star = self._star()
        return [] if star is None else self._board.way(self._agent, star) or []
