"""What one evaluated episode leaves behind, and the file of many that a stopped run goes on with.

In: `EpisodeRecord`s as episodes end. Out: lines of JSON in ASCII, each written whole, and the records back.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from molt_envs.errors import DataError
from molt_envs.protocol.episode import Outcome


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One turn: what the policy said and what came of it."""

    message: str
    """What the policy wrote, with its reasoning; the action itself for policies that write only actions."""
    action: str
    """What the environment was given."""
    observation: str | None
    """What the environment answered; None when the message was cut and so never reached it."""
    reward: float = 0.0
    """The step's reward."""
    terminated: bool = False
    """The task came to its own end here."""
    truncated: bool = False
    """The environment's limit cut the episode here."""
    score: float = 0.0
    """The environment's measure of the result after this step."""
    success: bool = False
    """Whether the task is solved after this step."""
    num_prompt_tokens: int = 0
    """Tokens that the policy read for this turn; 0 where it does not count them."""
    num_completion_tokens: int = 0
    """Tokens that the policy wrote in this turn."""


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One attempt at one task, in text."""

    episode_id: str
    """Unique in its file: environment, task and sample."""
    env_id: str
    """The environment's registered id."""
    task_id: str
    """`split:index`."""
    sample: int
    """Which attempt at the task, from 0."""
    seed: int
    """What `reset` was given; the policy's choices follow from it."""
    policy: str
    """Who played, as it was asked for."""
    outcome: Outcome
    """How it ended; *unresolved* is never scored."""
    score: float | None
    """The environment's measure of the result; None when unresolved."""
    success: bool | None
    """Whether the task was solved; None when unresolved."""
    reason: str
    """For failed and unresolved: what happened."""
    system_prompt: str
    """What the policy was told first."""
    observation: str
    """The first observation."""
    turns: tuple[TurnRecord, ...]
    """In order."""

    @property
    def reward(self) -> float:
        """Sum of the turns' rewards."""
        return math.fsum(turn.reward for turn in self.turns)

    @property
    def num_prompt_tokens(self) -> int:
        """Tokens read in all turns."""
        return sum(turn.num_prompt_tokens for turn in self.turns)

    @property
    def num_completion_tokens(self) -> int:
        """Tokens written in all turns."""
        return sum(turn.num_completion_tokens for turn in self.turns)


def read_records(path: str | os.PathLike[str]) -> Iterator[EpisodeRecord]:
    """The file's records in order; of a last line without its end nothing is given.

    Raises:
        DataError: a line that is no record; the message names it.
    """
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return
            try:
                value: dict[str, Any] = json.loads(line)
                turns = tuple(TurnRecord(**turn) for turn in value.pop("turns"))
                record = EpisodeRecord(**value, turns=turns)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise DataError(f"{path}: line {number} is not an evaluated episode: {error}") from error
            yield record


class RecordFile:
    """A file of records that grows by whole lines; use it in a `with` block. One writer at a time.

    Args:
        path: created when it is not there; half a last line, which a crash may leave, is cut off.

    Raises:
        ValueError: another process writes to it.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._descriptor)
            raise ValueError(
                f"another process writes to {path}; wait for it, or name another folder"
            ) from error
        os.ftruncate(self._descriptor, path.read_bytes().rfind(b"\n") + 1)

    def append(self, record: EpisodeRecord) -> None:
        """Write one record and wait until it is on the disk."""
        line = json.dumps(asdict(record), allow_nan=False).encode("ascii") + b"\n"
        written = os.write(self._descriptor, line)
        if written != len(line):
            raise OSError(f"only {written} of {len(line)} bytes of a record were written; is the disk full?")
        os.fsync(self._descriptor)

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
