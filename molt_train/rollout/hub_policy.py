"""A local model as a policy of `molt-envs eval`: the episodes' threads share one engine and its batches.

In: `--policy python:molt_train.rollout.hub_policy:LocalModel:PATH`, a folder or a name that `load_model`
knows. Out: a policy for each episode, token-first: what was sampled is never encoded again.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import torch

from molt_envs import EnvCard, InfrastructureError, Message, Role, ToolSchema
from molt_envs.evaluate.policy import ChatPolicy, ContextFull, EpisodeStart, PolicySource, Reply
from molt_envs.token_env import action_of
from molt_train.data.tasks import derive_seed
from molt_train.model.load import load_model
from molt_train.rollout.chat_renderer import ChatRenderer
from molt_train.rollout.engine import EngineSession, Generation, PromptTooLong, Sampling
from molt_train.rollout.transformers_engine import TransformersEngine

_Result = TypeVar("_Result")
_CALL_TIMEOUT_S = 1800.0


class LocalModel(PolicySource):
    """Loads a model and serves all episodes from one engine.

    Args:
        path: folder in the Hugging Face format, or a name that `load_model` knows.
        num_slots: episodes that decode at once; the threads of more of them queue.
        max_context_tokens: longest conversation; lowered to what the model has.
    """

    def __init__(self, path: str, num_slots: int = 16, max_context_tokens: int = 4096) -> None:
        loaded, self._tokenizer = load_model(path)
        model: Any = loaded
        if torch.cuda.is_available():
            model = model.to(device="cuda", dtype=torch.bfloat16)
        most = min(max_context_tokens, model.config.get_text_config().max_position_embeddings)
        self._engine = TransformersEngine(
            model, num_slots=num_slots, max_context_tokens=most, deterministic=False
        )
        self._orders = itertools.count()
        self._renderers: dict[str, ChatRenderer] = {}
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="hub-policy")
        self._thread.start()

    def start(self, start: EpisodeStart) -> LocalPolicy:
        """See `PolicySource.start`. Raises `ValueError` for an environment of images, which it cannot see."""
        if start.card.image_size is not None:
            raise ValueError("this engine does not look at images; take a policy that does, such as openai:…")
        renderer, tools = self._renderer(start.card)
        limits = start.limits
        sampling = Sampling(limits.max_tokens, limits.temperature, renderer.stop_ids)
        session = self.on_loop(self._open())
        return LocalPolicy(self, session, renderer, start.card, tools, sampling, start.seed)

    def close(self) -> None:
        """See `PolicySource.close`."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CALL_TIMEOUT_S)
        self._engine.close()
        self._loop.close()

    def on_loop(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine on the engine's loop and wait for it.

        Raises:
            InfrastructureError: it took too long, or the evaluation is over.
        """
        if self._loop.is_closed():
            work.close()
            raise InfrastructureError("the model's engine is closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(_CALL_TIMEOUT_S)
        except TimeoutError as error:
            future.cancel()
            raise InfrastructureError(f"the engine did not answer within {_CALL_TIMEOUT_S:g} s") from error

    async def _open(self) -> EngineSession:
        return self._engine.open_session(next(self._orders))

    def _renderer(self, card: EnvCard) -> tuple[ChatRenderer, Sequence[ToolSchema]]:
        """The renderer for these tools, and the tools that the template itself shows."""
        key = json.dumps([dict(tool) for tool in card.tools], sort_keys=True)
        with self._lock:
            if key not in self._renderers:
                plain = ChatRenderer(self._tokenizer)
                native = bool(card.tools) and plain.tool_format is not None
                self._renderers[key] = ChatRenderer(self._tokenizer, tools=card.tools) if native else plain
            renderer = self._renderers[key]
        return renderer, card.tools if renderer.tool_format is not None else ()


class LocalPolicy(ChatPolicy):
    """Plays one episode over an engine session; made by `LocalModel.start`."""

    def __init__(
        self,
        source: LocalModel,
        session: EngineSession,
        renderer: ChatRenderer,
        card: EnvCard,
        tools: Sequence[ToolSchema],
        sampling: Sampling,
        seed: int,
    ) -> None:
        self._source, self._session, self._renderer = source, session, renderer
        self._card, self._tools, self._sampling, self._seed = card, tools, sampling, seed
        self._messages = [Message("system", card.system_prompt + _tools_in_words(card, tools))]
        self._prompt_ids: list[int] = []
        self._sampled_ids: list[int] = []
        self._num_turns = 0

    def reply(self, observation: str, info: Mapping[str, Any]) -> Reply:
        """See `ChatPolicy.reply`."""
        prompt_ids = self._prompt(observation)
        seed = derive_seed(self._seed, self._num_turns)
        try:
            generation: Generation = self._source.on_loop(
                self._session.generate(prompt_ids, replace(self._sampling, seed=seed))
            )
        except PromptTooLong as error:
            raise ContextFull(str(error)) from error
        message = self._renderer.parse(generation.token_ids)
        self._messages.append(message)
        self._prompt_ids, self._sampled_ids = prompt_ids, generation.token_ids
        self._num_turns += 1
        return Reply(
            action_of(self._card, message),
            _shown(message),
            len(prompt_ids),
            len(generation.token_ids),
            generation.stop_reason == "length",
        )

    def close(self) -> None:
        """See `ChatPolicy.close`."""
        self._source.on_loop(self._closed())

    async def _closed(self) -> None:
        self._session.close()

    def _prompt(self, observation: str) -> list[int]:
        """The ids of the conversation with this observation: the last prompt, extended where possible."""
        role: Role = self._card.observation_role if self._messages[-1].tool_calls else "user"
        new = Message(role, observation)
        appended: list[int] | None = None
        if self._sampled_ids:
            appended = self._renderer.extend(self._messages, self._sampled_ids, [new], self._tools)
        self._messages.append(new)
        if appended is None:
            return self._renderer.encode(self._messages, self._tools)
        return [*self._prompt_ids, *self._sampled_ids, *appended]


def _tools_in_words(card: EnvCard, shown: Sequence[ToolSchema]) -> str:
    """What the system prompt must add where the chat template shows no tools."""
    if not card.tools or shown:
        return ""
    tools = "\n".join(json.dumps(dict(tool)) for tool in card.tools)
    return f"\n\nTools:\n{tools}\n\n{card.grammar.description} Example: {card.grammar.example}"


def _shown(message: Message) -> str:
    """The message for people."""
    thought = f"<think>\n{message.reasoning}\n</think>\n" if message.reasoning else ""
    calls = [
        json.dumps({"name": call.name, "arguments": dict(call.arguments)}) for call in message.tool_calls
    ]
    return "\n".join([part for part in (thought + message.text, *calls) if part])
