"""What a policy is shown of a conversation that has grown: all of it, its last turns, or these and a summary.

In: the conversation's messages. Out: the messages that the next prompt is rendered from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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


NUM_NOTES = 30
NUM_NOTE_CHARS = 160


def notes(messages: Sequence[Message]) -> str:
    """One line for each of the last 30 turns of `messages`: the action, and how what it led to begins."""
    lines: list[str] = []
    for message in messages:
        said = " ".join(
            [message.text, *(f"{call.name}({dict(call.arguments)})" for call in message.tool_calls)]
        )
        shown = " ".join(said.split())
        shown = shown if len(shown) <= NUM_NOTE_CHARS else shown[:NUM_NOTE_CHARS] + "\u2026"
        if message.role == "assistant" or not lines:
            lines.append(f"- {shown}")
        else:
            lines[-1] += f" -> {shown}"
    left_out = len(lines) - NUM_NOTES
    return "\n".join([f"({left_out} earlier turns are left out)"] * (left_out > 0) + lines[-NUM_NOTES:])


@dataclass(frozen=True)
class Summary:
    """All before the first action, a summary of the older turns, and the turns since.

    The summary is renewed only each time that `every` turns have grown old: between two renewals prompts
    extend each other, so that a segment holds `every` turns. It joins the first observation, where that is
    the last message before the first action: templates that want the roles to alternate take it.
    """

    num_turns: int
    """Past turns that always stay visible; at least 1."""
    every: int = 4
    """Turns between two renewals; at least 1."""
    summarise: Callable[[Sequence[Message]], str] = notes
    """Makes the summary of the turns that are no longer shown; called once for each renewal."""
    opening: str = "Summary of the earlier turns:"
    """Stands above the summary."""
    _last: dict[str, tuple[list[Message], str]] = field(
        default_factory=dict[str, tuple[list[Message], str]], init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.num_turns < 1 or self.every < 1:
            raise ValueError(
                f"a summary that keeps {self.num_turns} turns and is renewed every {self.every}; "
                "both are at least 1"
            )

    def view(self, messages: Sequence[Message]) -> Sequence[Message]:
        """See `History.view`."""
        actions = [index for index, message in enumerate(messages) if message.role == "assistant"]
        num_old = max(0, len(actions) - self.num_turns) // self.every * self.every
        if not num_old:
            return messages
        head, old = messages[: actions[0]], list(messages[actions[0] : actions[num_old]])
        text = f"{self.opening}\n{self._summary(old)}"
        if head and head[-1].role == "user":
            shown = [*head[:-1], replace(head[-1], text=f"{head[-1].text}\n\n{text}")]
        else:
            shown = [*head, Message("user", text)]
        return [*shown, *messages[actions[num_old] :]]

    def _summary(self, old: list[Message]) -> str:
        """Remembered, so that a model that never says the same twice does not close every segment."""
        known, text = self._last.get("summary", ([], ""))
        if known != old:
            text = self.summarise(old)
            self._last["summary"] = old, text
        return text
