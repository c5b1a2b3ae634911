"""vLLM behind the seam: token ids in, token ids out, weights replaced while turns are under way.

In: turns of open sessions, published weights. Out: `Generation`s. vLLM computes in a process of its own,
which ends with this one; when it dies, turns under way fail, and the next turn starts it again with the
latest weights.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from molt_train.rollout.engine import EngineError, Generation, PromptTooLong, Sampling
from molt_train.weight_sync import PublishedWeights

if TYPE_CHECKING:
    from vllm.v1.engine.async_llm import AsyncLLM

MAX_RESTARTS = 20
"""Times that a dead engine is started again."""
LOOK_EVERY_S = 0.5
START_TRIES = 3
HANG_TIMEOUT_S = 15.0
"""For a sign of life from an engine whose turn took too long."""
_LEAST_BATCHED_TOKENS = 4096
_EXTENSION = "molt_train.rollout.vllm.worker.WorkerExtension"
_BACKEND = "molt-file"
_SETTINGS = {
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the worker lives in the engine's process
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "HF_HUB_OFFLINE": "1",
}


class _Died(EngineError):
    """vLLM is gone or does not answer; another one can be started."""


class VllmEngine:
    """Implements `Engine`.

    Args:
        model_path: a folder in the Hugging Face format; its weights are version 0.
        max_context_tokens: most tokens of a prompt and its turn together.
        num_slots: turns that are sampled at the same time.
        dtype: `float32` or `bfloat16`.
        cache_bytes: for keys and values, on CPUs.
        seed: of the engine's own generator; turns bring their seeds.
        start_timeout_s: longest time from its start to its first answer.
        turn_timeout_s: longest time from a request to its last token, queueing included.
        update_timeout_s: longest time of each part of a weight update.
        options: further arguments of `vllm.AsyncEngineArgs`, such as `tensor_parallel_size`.
    """

    def __init__(
        self,
        model_path: str | Path,
        *,
        max_context_tokens: int,
        num_slots: int,
        dtype: str = "float32",
        cache_bytes: int = 1 << 30,
        seed: int = 0,
        start_timeout_s: float = 300.0,
        turn_timeout_s: float = 1800.0,
        update_timeout_s: float = 300.0,
        options: dict[str, Any] | None = None,
    ) -> None:
        self._settings: dict[str, Any] = {
            "model": str(model_path),
            "dtype": dtype,
            "max_model_len": max_context_tokens,
            "max_num_seqs": num_slots,
            "seed": seed,
            "enforce_eager": True,
            "generation_config": "vllm",  # not the model's own sampling defaults
            # Of the distribution that is sampled, temperature included; the default ignores it.
            "logprobs_mode": "processed_logprobs",
            "skip_tokenizer_init": True,
            "enable_prefix_caching": True,
            "worker_extension_cls": _EXTENSION,
            "disable_log_stats": True,
            **({} if torch.cuda.is_available() else _whole_prompts(max_context_tokens)),
            **(options or {}),
        }
        self._cache_bytes, self._max_context_tokens = cache_bytes, max_context_tokens
        self._start_timeout_s, self._turn_timeout_s = start_timeout_s, turn_timeout_s
        self._update_timeout_s = update_timeout_s
        self._llm: AsyncLLM | None = None
        self._starting: asyncio.Lock | None = None
        self._weights: PublishedWeights | None = None
        self._policy_version = 0
        self._numbers = itertools.count()
        self.num_restarts = 0
        self._vocab_size = 0
        self._is_closed = False

    @property
    def policy_version(self) -> int:
        """Version of the weights in use, as the engine last reported it."""
        return self._policy_version

    @property
    def max_context_tokens(self) -> int:
        """Most tokens of a prompt and its turn together."""
        return self._max_context_tokens

    def open_session(self, order: int) -> VllmSession:
        """Begin an episode; vLLM finds the turns' common prefixes by itself."""
        return VllmSession(self)

    async def start(self) -> None:
        """Start vLLM, or start it again after it died; idempotent.

        Raises:
            EngineError: it did not start in time, or died too often.
        """
        await self._alive()

    async def update_weights(self, weights: PublishedWeights) -> None:
        """Replace the weights; see `Engine`."""
        self._weights = weights
        llm = await self._alive()
        if self._policy_version != weights.version:
            try:
                await self._load(llm, weights)
            except _Died:
                await self._alive()  # a new one, which loads them as it starts

    async def sample(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        """One turn; see `EngineSession.generate`."""
        llm = await self._alive()
        self._check_ids(prompt_ids, sampling)
        turn = self._turn(llm, *self._request(prompt_ids, sampling))
        try:
            completion = await self._wait(llm, "a turn", turn, self._turn_timeout_s)
        except _Died:
            await self._end_if_hung(llm)
            raise
        return _generation(completion, sampling)

    async def _turn(self, llm: AsyncLLM, prompt: Any, parameters: Any) -> Any:
        async for output in llm.generate(prompt, parameters, f"turn-{next(self._numbers)}"):
            if output.finished:
                return output.outputs[0]
        raise EngineError("vLLM ended a turn without a result")

    def close(self) -> None:
        """End vLLM's process; idempotent."""
        self._is_closed = True
        if self._llm is not None:
            _end(self._llm)
            self._llm = None

    async def _alive(self) -> AsyncLLM:
        """The running engine, started if there is none."""
        if self._is_closed:
            raise EngineError("the engine was closed")
        if self._llm is not None and not self._llm.errored:
            return self._llm
        self._starting = self._starting or asyncio.Lock()
        async with self._starting:
            if self._llm is not None and self._llm.errored:
                _end(self._llm)
                self._llm = None
                self.num_restarts += 1
                if self.num_restarts > MAX_RESTARTS:
                    self._is_closed = True
                    raise EngineError(f"vLLM died {self.num_restarts} times; it is not started again")
            for attempt in range(START_TRIES):
                if self._llm is None:
                    with contextlib.suppress(*([_Died] if attempt + 1 < START_TRIES else [])):
                        self._llm = await self._start()
            assert self._llm is not None
            return self._llm

    async def _end_if_hung(self, llm: AsyncLLM) -> None:
        """An engine that does not even say its version is ended; the next turn starts another."""
        if not llm.errored:
            with contextlib.suppress(EngineError):
                await self._wait(llm, "its version", llm.get_weight_version(), HANG_TIMEOUT_S)
                return
            _retire(llm)

    async def _start(self) -> AsyncLLM:
        for name, value in _SETTINGS.items():
            os.environ.setdefault(name, value)
        os.environ["MOLT_VLLM_OWNER"] = str(os.getpid())
        os.environ["VLLM_CPU_KVCACHE_SPACE"] = str(max(1, self._cache_bytes >> 30))
        from vllm.config import WeightTransferConfig
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        arguments = AsyncEngineArgs(
            **self._settings, weight_transfer_config=WeightTransferConfig(backend=_BACKEND)
        )
        try:
            llm = AsyncLLM.from_engine_args(arguments)
        except RuntimeError as error:  # its process died
            raise _Died(f"vLLM did not start: {error}") from error
        except (ValueError, OSError) as error:
            raise EngineError(f"vLLM did not start: {error}") from error
        self._vocab_size = llm.model_config.get_vocab_size()
        await self._wait(llm, "vLLM's first answer", llm.update_weight_version("0"), self._start_timeout_s)
        self._policy_version = 0
        if self._weights is not None:
            await self._load(llm, self._weights)
        return llm

    async def _load(self, llm: AsyncLLM, weights: PublishedWeights) -> None:
        """The update's steps; turns under way are kept and computed again under the new weights."""
        from vllm.distributed.weight_transfer.base import WeightTransferUpdateRequest

        info = {
            "version": weights.version,
            "path": str(weights.path),
            "shapes": {name: list(shape) for name, shape in weights.shapes.items()},
        }
        version = str(weights.version)
        timeout_s = self._update_timeout_s
        try:
            await self._wait(llm, "pausing", llm.pause_generation(mode="keep", clear_cache=False), timeout_s)
            await self._wait(llm, "starting the update", llm.start_weight_update(), timeout_s)
            request = WeightTransferUpdateRequest(update_info=info)
            await self._wait(llm, "loading the weights", llm.update_weights(request), timeout_s)
            await self._wait(llm, "finishing", llm.finish_weight_update(weight_version=version), timeout_s)
            await self._wait(llm, "dropping caches", llm.reset_prefix_cache(True), timeout_s)
            await self._wait(llm, "resuming", llm.resume_generation(), timeout_s)
            served = await self._wait(llm, "its version", llm.get_weight_version(), timeout_s)
        except EngineError:
            _retire(llm)  # neither the old nor the new policy: nobody may sample from it
            raise
        if served != version:
            raise EngineError(f"vLLM serves version {served} after it was given {version}")
        self._policy_version = weights.version

    async def _wait(self, llm: AsyncLLM, what: str, call: Any, timeout_s: float) -> Any:
        """A call of vLLM's with a time-out and its errors as ours; they come as plain `Exception`s."""
        task = asyncio.ensure_future(call)
        end = time.monotonic() + timeout_s
        try:
            # A call that was under way when the process died never ends, so its life is looked at meanwhile.
            while not task.done() and not llm.errored and time.monotonic() < end:
                await asyncio.wait({task}, timeout=LOOK_EVERY_S)
        finally:
            task.cancel()
        if not task.done() and llm.errored:
            raise _Died(f"vLLM: it died while {what} was waited for")
        if not task.done():
            raise _Died(f"vLLM: {what} took more than {timeout_s} s")
        error = task.exception()
        if isinstance(error, _dead_error()):
            raise _Died(f"vLLM: {what} failed: {error}") from error
        if error is not None:
            raise EngineError(f"vLLM: {what} failed: {error}") from error
        return task.result()

    def _check_ids(self, prompt_ids: Sequence[int], sampling: Sampling) -> None:
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

    def _request(self, prompt_ids: Sequence[int], sampling: Sampling) -> tuple[Any, Any]:
        from vllm.inputs import TokensPrompt
        from vllm.sampling_params import RequestOutputKind, SamplingParams

        banned = set(sampling.banned_ids)
        allowed = [i for i in range(self._vocab_size) if i not in banned] if banned else None
        parameters = SamplingParams(
            max_tokens=min(sampling.max_tokens, self._max_context_tokens - len(prompt_ids)),
            temperature=sampling.temperature,
            seed=sampling.seed,
            stop_token_ids=list(sampling.stop_ids),
            ignore_eos=True,  # only the stop ids end a turn
            allowed_token_ids=allowed,
            logprobs=0,
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        return TokensPrompt(prompt_token_ids=list(prompt_ids)), parameters


class VllmSession:
    """One episode's line to the engine; made by `VllmEngine.open_session`."""

    def __init__(self, engine: VllmEngine) -> None:
        self._engine = engine
        self._turn: asyncio.Task[Generation] | None = None
        self._is_open = True

    async def generate(self, prompt_ids: Sequence[int], sampling: Sampling) -> Generation:
        """Sample one turn.

        Raises:
            PromptTooLong: the prompt leaves no room in the context.
            EngineError: the session is closed or in a turn, vLLM died, or the turn's time was up.
            ValueError: an empty prompt, or ids that the model does not have.
        """
        if not self._is_open:
            raise EngineError("the session is closed")
        if self._turn is not None:
            raise EngineError("the session is in a turn; await it before the next")
        turn = self._turn = asyncio.create_task(self._engine.sample(prompt_ids, sampling))
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.cancelled() and not self._is_open:
                raise EngineError("the session was closed in the middle of a turn") from None
            turn.cancel()
            raise
        finally:
            self._turn = None

    def close(self) -> None:
        """End the episode, idempotent; a turn under way leaves the engine and fails with `EngineError`."""
        self._is_open = False
        if self._turn is not None:
            self._turn.cancel()


def _generation(completion: Any, sampling: Sampling) -> Generation:
    ids = list(completion.token_ids)
    logprobs = [
        entry[token_id].logprob for token_id, entry in zip(ids, completion.logprobs or [], strict=True)
    ]
    versions = [int(span.version) for span in completion.weight_versions for _ in range(span.start, span.end)]
    if completion.finish_reason not in ("stop", "length") or len(versions) != len(ids):
        raise EngineError(
            f"vLLM ended a turn by {completion.finish_reason!r}: {len(ids)} ids, {len(versions)} versions"
        )
    is_stopped = bool(ids) and ids[-1] in sampling.stop_ids
    return Generation(ids, logprobs, versions, "stop" if is_stopped else "length")


def _nothing(*_: object, **__: object) -> None:
    pass


def _end(llm: AsyncLLM) -> None:
    """Its finaliser ends it again, and fails aloud when the interpreter has half ended."""
    llm.shutdown()
    llm.shutdown = _nothing


def _retire(llm: AsyncLLM) -> None:
    """Kill its process, which may be stopped and hear no request to end; nobody uses it again."""
    for process in llm.engine_core.resources.engine_manager.processes:
        process.kill()
    _end(llm)


def _whole_prompts(max_context_tokens: int) -> dict[str, Any]:
    """On CPUs a seeded turn whose prompt is computed in pieces kills the engine ("does not use offset")."""
    return {
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": max(max_context_tokens, _LEAST_BATCHED_TOKENS),
    }


def _dead_error() -> type[BaseException]:
    from vllm.v1.engine.exceptions import EngineDeadError

    return EngineDeadError
