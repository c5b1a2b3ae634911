"""What a policy is shown of a conversation that has grown: all of it, or its last turns.

In: the conversation's messages. Out: the messages that the next prompt is rendered from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from molt_envs.protocol.messages import Message


class History(Protocol):
    """Chooses the messages of the next prompt. Returning all of them keeps the segment open."""

    def view(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages to show, in order, with the system message and the last observation."""
        ...


@dataclass(frozen=True)
class Full:
    """The whole conversation: one segment per episode unless the format rewrites it."""

    def view(self, messages: Sequence[Message]) -> Sequence[Message]:
        """See `History.view`."""
        return messages


@dataclass(frozen=True)
class Window:
    """All before the first action and the last `num_turns` turns: segments change when it slides."""

    num_turns: int
    """Past turns that stay visible; at least 1."""

    def __post_init__(self) -> None:
        if self.num_turns < 1:
            raise ValueError(f"a window of {self.num_turns} turns; it must keep at least 1")

    def view(self, messages: Sequence[Message]) -> Sequence[Message]:
        """See `History.view`."""
        actions = [index for index, message in enumerate(messages) if message.role == "assistant"]
        if len(actions) <= self.num_turns:
            return messages
        return [*messages[: actions[0]], *messages[actions[-self.num_turns] :]]
