"""The in-process engine: many episodes at once over a transformers model and a static slot cache.

In: turns of open sessions, on the event loop. Out: their `Generation`s. One thread of its own computes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import torch
from transformers import PreTrainedModel

from molt_train.model.load import copy_weights
from molt_train.rollout.batch_scheduler import BatchScheduler, EngineCounts, Seat
from molt_train.rollout.engine import EngineError, Generation, PromptTooLong, Sampling
from molt_train.rollout.slot_decoder import SlotDecoder
from molt_train.rollout.turn import Turn
from molt_train.weight_sync import PublishedWeights


class TransformersEngine:
    """Implements `Engine` on a model whose weights it reads in place.

    With `deterministic`, the composition of every batch is a function of the episodes, never of timing:
    running turns decode without waiting; once at most `admission_share` of the sessions that hold a slot
    still decode, the engine waits until each of the others has asked for its next turn or has closed. Slots
    go to sessions by `order`: open the first ones before any of them asks, and each later one in the loop
    step in which another closes. Otherwise whoever waits is admitted.

    Args:
        model: decoder-only with full attention in every layer, loaded with `sdpa` or `eager`.
        num_slots: episodes that run at once; further sessions queue.
        max_context_tokens: most tokens of a prompt and its turn together.
        autocast_dtype: `torch.bfloat16` computes and caches in it; None takes the model's own type.
        deterministic: see above.
        wait_timeout_s: longest wait for sessions that are away; then the batch goes on without them.
        turn_timeout_s: longest time from a request to its last token, queueing included.
        admission_share: waiting turns join when at most this share decodes.
        max_forward_tokens: most tokens of one forward, padding included.
        policy_version: version of the weights at the start.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        num_slots: int,
        max_context_tokens: int,
        autocast_dtype: torch.dtype | None = None,
        deterministic: bool = True,
        wait_timeout_s: float = 120.0,
        turn_timeout_s: float = 1800.0,
        admission_share: float = 0.5,
        max_forward_tokens: int = 2048,
        policy_version: int = 0,
    ) -> None:
        _check_model(model, max_context_tokens)
        if num_slots < 1:
            raise ValueError(f"num_slots is {num_slots}; an engine runs at least 1 episode")
        if not 0 <= admission_share <= 1:
            raise ValueError(f"admission_share is {admission_share}; it lies in [0, 1]")
        self._model = model
        decoder = SlotDecoder(model, num_slots, max_context_tokens, autocast_dtype, max_forward_tokens)
        self._scheduler = BatchScheduler(decoder, num_slots, deterministic, wait_timeout_s, admission_share)
        self._scheduler.policy_version = policy_version
        self._vocab_size: int = model.config.get_text_config().vocab_size
        self._max_context_tokens = max_context_tokens
        self._turn_timeout_s = turn_timeout_s

    @property
    def policy_version(self) -> int:
        """Version of the weights in use."""
        return self._scheduler.policy_version

    @property
    def max_context_tokens(self) -> int:
        """Most tokens of a prompt and its turn together."""
        return self._max_context_tokens

    @property
    def counts(self) -> EngineCounts:
        """What the engine has done so far."""
        return self._scheduler.counts

    def open_session(self, order: int) -> TransformersSession:
        """Begin an episode; `order` must not be that of another open session."""
        if order in self._scheduler.seats:
            raise ValueError(f"a session of order {order} is open; orders are unique among open sessions")
        return TransformersSession(self, self._scheduler.open(order))

    def weights_updated(self, policy_version: int) -> None:
        """The model, which a learner shares, has changed in place: drop what was cached under the old
        weights; ids sampled from now on carry `policy_version`.

        Raises:
            EngineError: a session is in the middle of a turn.
        """
        busy = [seat.order for seat in self._scheduler.seats.values() if seat.turn is not None]
        if busy:
            raise EngineError(
                f"the weights changed while session {busy[0]} was in a turn; update between turns"
            )
        self._scheduler.policy_version = policy_version
        for seat in self._scheduler.seats.values():
            seat.cached_ids = []

    async def start(self) -> None:
        """Nothing to do: the model is loaded."""

    async def update_weights(self, weights: PublishedWeights) -> None:
        """Copy published weights into the model, between two forwards; see `Engine`.

        The model must be the engine's own: who trains the same one calls `weights_updated`.
        """

        def apply() -> None:
            copy_weights(weights, self._model)

        await self._scheduler.change_weights(apply, weights.version)

    def close(self) -> None:
        """Close all sessions and end the thread; idempotent."""
        self._scheduler.shutdown()

    async def run_turn(self, seat: Seat, prompt_ids: list[int], sampling: Sampling) -> Generation:
        """Check and sample one turn of a session; see `TransformersSession.generate`."""
        if not seat.is_open:
            raise EngineError(f"session {seat.order} is closed")
        if seat.turn is not None:
            raise EngineError(f"session {seat.order} is in a turn; await it before the next")
        self._check_ids(prompt_ids, sampling)
        room = self._max_context_tokens - len(prompt_ids)
        turn = Turn(prompt_ids, sampling, min(sampling.max_tokens, room))
        future = self._scheduler.submit(seat, turn)
        try:
            return await asyncio.wait_for(future, self._turn_timeout_s)
        except TimeoutError:
            where = "queued" if turn.slot is None else "in the batch"
            waited = f"session {seat.order} got no turn within {self._turn_timeout_s} s; it was {where}"
            raise EngineError(waited) from None
        finally:
            if seat.turn is turn:
                self._scheduler.withdraw(seat, "nobody waits for the turn any more")

    def close_seat(self, seat: Seat) -> None:
        """Give a session's slot back."""
        self._scheduler.close(seat)

    def _check_ids(self, prompt_ids: list[int], sampling: Sampling) -> None:
        if not prompt_ids:
            raise ValueError("an empty prompt; a model goes on from at least one token")
        if len(prompt_ids) >= self._max_context_tokens:
            raise PromptTooLong(
                f"{len(prompt_ids)} prompt tokens leave no room in a context of {self._max_context_tokens}"
            )
        for name, ids in (("prompt", prompt_ids), ("banned", sampling.banned_ids)):
            if ids and not (min(ids) >= 0 and max(ids) < self._vocab_size):
                wrong = next(i for i in ids if not 0 <= i < self._vocab_size)
                raise ValueError(f"{name} id {wrong}; the model has ids 0 to {self._vocab_size - 1}")
        if len(set(sampling.banned_ids)) == self._vocab_size:
            raise ValueError("every id is banned; leave at least one")


class TransformersSession:
    """One episode's line to the engine; made by `TransformersEngine.open_session`."""

    def __init__(self, engine: TransformersEngine, seat: Seat) -> None:
        self._engine = engine
        self._seat = seat

    async def generate(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        """Sample one turn.

        Raises:
            PromptTooLong: the prompt leaves no room in the context.
            EngineError: the session is closed or in a turn, a forward failed, or the turn's time was up.
            ValueError: an empty prompt, or ids that the model does not have.
        """
        return await self._engine.run_turn(self._seat, list(prompt_ids), sampling)

    def close(self) -> None:
        """Give the slot back, idempotent; a turn that still runs fails with `EngineError`."""
        self._engine.close_seat(self._seat)


def _check_model(model: PreTrainedModel, max_context_tokens: int) -> None:
    """Refuse by name what the slot cache would compute wrongly."""
    config = model.config.get_text_config()
    values = config.to_dict()
    name = type(model).__name__
    window = values.get("sliding_window")
    default = "full_attention" if window is None else "sliding_attention"
    layer_types = set(values.get("layer_types") or [default]) - {"full_attention"}
    if window is not None and window >= max_context_tokens:
        layer_types -= {"sliding_attention"}
    if layer_types or values.get("is_encoder_decoder"):
        kind = ", ".join(sorted(layer_types)) or "encoder and decoder"
        raise ValueError(f"{name} has layers of type {kind}; this engine serves full attention only")
    rope_type = (values.get("rope_parameters") or {}).get("rope_type")
    if rope_type in ("dynamic", "longrope"):
        raise ValueError(f"{name} has {rope_type} positions, which change with the length of the batch")
    if config._attn_implementation not in ("sdpa", "eager"):
        raise ValueError(
            f"{name} uses {config._attn_implementation}; load it with attn_implementation='sdpa'"
        )
    if max_context_tokens < 2:
        raise ValueError(f"max_context_tokens is {max_context_tokens}; a prompt and a token need 2")
    most = config.max_position_embeddings
    if max_context_tokens > most:
        raise ValueError(f"max_context_tokens is {max_context_tokens}; {name} has {most}")
