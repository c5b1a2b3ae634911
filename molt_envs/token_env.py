"""The same environment over tokens: `reset` gives the prompt's ids, `step` takes ids and gives ids to append.

In: an environment of the hub, a `Renderer`, a `History`. Out: ids. Sampled ids are never encoded again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium

from molt_envs.env import EnvCard, TextEnv
from molt_envs.errors import EpisodeDone
from molt_envs.history import Full, History
from molt_envs.protocol.images import Observation, images_of, text_of
from molt_envs.protocol.messages import Message
from molt_envs.rendering import Renderer
from molt_envs.tools.calls import write_calls


@dataclass(frozen=True, slots=True)
class TokenStep:
    """What one step gave."""

    token_ids: list[int]
    """Ids to append to the segment, or the whole prompt of the next segment when `rewritten`."""
    rewritten: bool
    """The next prompt does not extend this one: close the segment and open the next with `token_ids`."""
    reward: float
    """The environment's reward for this turn."""
    terminated: bool
    """The task came to its own end; then `token_ids` is empty."""
    truncated: bool
    """The environment's limit cut the episode; then `token_ids` is what the policy would have seen next."""
    info: Mapping[str, Any]
    """The environment's info."""


class TokenEnv:
    """Wraps an environment made by `gymnasium.make`.

    Args:
        env: an environment whose `unwrapped` is a `TextEnv`.
        renderer: turns messages into ids and back.
        history: what later prompts show; `Full()` by default.
        blind: replace every observation by a fixed text, for controls that must fail.
    """

    def __init__(
        self,
        env: gymnasium.Env[Observation, str],
        renderer: Renderer,
        history: History | None = None,
        blind: bool = False,
    ) -> None:
        base = env.unwrapped
        if not isinstance(base, TextEnv):
            raise ValueError(
                f"{type(base).__name__} is not a molt_envs.TextEnv; make one with gymnasium.make('molt/…')"
            )
        self.env = env
        self.card: EnvCard = base.card
        self.renderer = renderer
        self.history: History = history or Full()
        self.messages: list[Message] = []
        self._blind = blind
        self._shown: list[Message] = []
        self._running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[list[int], dict[str, Any]]:
        """Start an episode; gives the first prompt's ids and the environment's info."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.messages = [Message("system", self.card.system_prompt), self._observe(observation, first=True)]
        self._running = True
        return self._encode(), info

    def step(self, token_ids: Sequence[int]) -> TokenStep:
        """Take the turn that these sampled ids say.

        Raises:
            EpisodeDone: no episode is running.
        """
        if not self._running:
            raise EpisodeDone("step() without a running episode: call reset() first")
        message = self.renderer.parse(token_ids)
        observation, reward, terminated, truncated, info = self.env.step(self.action_of(message))
        self.messages.append(message)
        if terminated:
            self._running = False
            return TokenStep([], False, float(reward), True, truncated, info)
        new = self._observe(observation)
        appended = self._extend(token_ids, new)
        self._running = not truncated
        if appended is None:
            return TokenStep(self._encode(), True, float(reward), False, truncated, info)
        return TokenStep(appended, False, float(reward), False, truncated, info)

    def action_of(self, message: Message) -> str:
        """See the function `action_of`."""
        return action_of(self.card, message)

    def close(self) -> None:
        """Close the environment."""
        self._running = False
        self.env.close()

    def _observe(self, observation: Observation, first: bool = False) -> Message:
        role = "user" if first else self.card.observation_role
        if self._blind:
            return Message(role, "(nothing to see)")
        return Message(role, text_of(observation), images=images_of(observation))

    def _extend(self, token_ids: Sequence[int], new: Message) -> list[int] | None:
        self.messages.append(new)
        visible = self.history.view(self.messages)
        if list(visible[:-2]) != self._shown:
            return None
        appended = self.renderer.extend(visible[:-1], token_ids, [new], self.card.tools)
        if appended is not None:
            self._shown = list(visible)
        return appended

    def _encode(self) -> list[int]:
        visible = self.history.view(self.messages)
        self._shown = list(visible)
        return self.renderer.encode(visible, self.card.tools)


def action_of(card: EnvCard, message: Message) -> str:
    """The action in a message: canonical JSON of the calls for tool environments, else the extract."""
    if card.tools and message.tool_calls:
        return write_calls(*message.tool_calls)
    return card.grammar.extract(message.text)
