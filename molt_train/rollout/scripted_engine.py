"""An engine that says what a function tells it: for tests of the loop, and for oracles on the token path.

In: prompts. Out: the function's ids, cut like a model's would be. No torch, no waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from molt_train.rollout.engine import EngineError, Generation, PromptTooLong, Sampling
from molt_train.weight_sync import PublishedWeights

Script = Callable[[Sequence[int], int], Sequence[int]]
"""(prompt ids, turn of the session from 0) -> the ids of that turn, its stop id included."""


class ScriptedEngine:
    """Implements `Engine`.

    Args:
        script: says each turn; it sees the prompt and the number of the session's turn.
        max_context_tokens: most tokens of a prompt and its turn together.
        logprob: reported for every id.
    """

    def __init__(self, script: Script, max_context_tokens: int = 65_536, logprob: float = 0.0) -> None:
        self._script = script
        self._max_context_tokens = max_context_tokens
        self._logprob = logprob
        self._policy_version = 0
        self._open: dict[int, ScriptedSession] = {}

    @property
    def policy_version(self) -> int:
        """The version last announced; 0 at the start."""
        return self._policy_version

    @property
    def max_context_tokens(self) -> int:
        """Most tokens of a prompt and its turn together."""
        return self._max_context_tokens

    @property
    def num_sessions(self) -> int:
        """Sessions that are open."""
        return len(self._open)

    async def start(self) -> None:
        """Nothing to do."""

    async def update_weights(self, weights: PublishedWeights) -> None:
        """Report the weights' version from now on."""
        self.weights_updated(weights.version)

    def close(self) -> None:
        """Nothing to do."""

    def open_session(self, order: int) -> ScriptedSession:
        """Begin an episode; `order` must not be that of another open session."""
        if order in self._open:
            raise ValueError(f"a session of order {order} is open; orders are unique among open sessions")
        session = self._open[order] = ScriptedSession(self, order)
        return session

    def weights_updated(self, policy_version: int) -> None:
        """Report this version from now on."""
        self._policy_version = policy_version

    def say(self, prompt_ids: Sequence[int], sampling: Sampling, turn: int) -> Generation:
        """One turn: the script's ids up to the first stop id, the turn's limit or the context's end."""
        room = self._max_context_tokens - len(prompt_ids)
        if room < 1:
            raise PromptTooLong(
                f"{len(prompt_ids)} prompt tokens leave no room in a context of {self._max_context_tokens}"
            )
        ids = list(self._script(prompt_ids, turn))
        stops = [index for index, token_id in enumerate(ids) if token_id in sampling.stop_ids]
        limit = min(sampling.max_tokens, room)
        end = stops[0] + 1 if stops else len(ids)
        if not ids or (end <= limit and not stops):
            raise EngineError(f"turn {turn}: the script said {len(ids)} ids, no stop id; stop or fill it")
        count = min(end, limit)
        reason = "stop" if stops and end <= limit else "length"
        return Generation(ids[:count], [self._logprob] * count, [self._policy_version] * count, reason)

    def forget(self, order: int) -> None:
        """A session has closed."""
        self._open.pop(order, None)


class ScriptedSession:
    """One episode's line to the script."""

    def __init__(self, engine: ScriptedEngine, order: int) -> None:
        self._engine = engine
        self._order = order
        self._turn = 0
        self._is_open = True

    async def generate(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        """Say one turn.

        Raises:
            PromptTooLong: the prompt leaves no room in the context.
            EngineError: the session is closed, or the script neither stopped nor filled the turn.
        """
        if not self._is_open:
            raise EngineError(f"session {self._order} is closed")
        generation = self._engine.say(prompt_ids, sampling, self._turn)
        self._turn += 1
        return generation

    def close(self) -> None:
        """End the episode; idempotent."""
        if self._is_open:
            self._is_open = False
            self._engine.forget(self._order)
