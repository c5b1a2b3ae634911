"""A model behind an OpenAI-compatible server, as a policy.

In: the server's URL and the model's name. Out: actions, with the tokens that the server counted. What goes
wrong on the way to the model is unresolved; only what the model says can fail.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import httpx

from molt_envs.env import EnvCard
from molt_envs.errors import InfrastructureError
from molt_envs.evaluate.policy import ChatPolicy, EpisodeStart, Limits, PolicySource, Reply
from molt_envs.protocol.images import Observation, images_of, text_of

Content: TypeAlias = "str | list[dict[str, Any]]"

_RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})
_LONGEST_WAIT_S = 60.0


class OpenAISource(PolicySource):
    """Chats with `model` at `url`.

    Args:
        model: the name that the server knows.
        url: such as `http://localhost:8000/v1`.
        api_key: sent as a bearer token; None sends none.
        timeout_s: longest wait for one answer.
        num_retries: how often a busy or broken server is asked again, with growing pauses.
        transport: replaces the network, for tests.
        sleep: waits between attempts.
    """

    def __init__(
        self,
        model: str,
        url: str,
        api_key: str | None = None,
        timeout_s: float = 120.0,
        num_retries: int = 4,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._model, self._url = model, _endpoint(url)
        self._num_retries, self._sleep = num_retries, sleep
        headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        # No bound on connections: there are as many as episodes that run at once.
        limits = httpx.Limits(max_connections=None)
        self._client = httpx.Client(headers=headers, timeout=timeout_s, limits=limits, transport=transport)

    def start(self, start: EpisodeStart) -> OpenAIPolicy:
        """See `PolicySource.start`."""
        return OpenAIPolicy(self.ask, start.card, self._model, start.limits, start.seed)

    def close(self) -> None:
        """See `PolicySource.close`."""
        self._client.close()

    def ask(self, body: Mapping[str, object]) -> dict[str, Any]:
        """The server's answer to one request.

        Raises:
            InfrastructureError: no answer, an error, or no JSON, after all attempts.
        """
        problem = ""
        for attempt in range(self._num_retries + 1):
            pause_s = min(0.5 * 2**attempt, _LONGEST_WAIT_S)
            try:
                response = self._client.post(self._url, json=body)
            except httpx.TransportError as error:
                problem = f"{type(error).__name__}: {error}"
            else:
                if response.is_success:
                    return _json(response)
                problem = f"status {response.status_code}: {response.text[:300]}"
                if response.status_code not in _RETRIED:
                    raise InfrastructureError(f"{self._url} refused the request: {problem}")
                pause_s = _retry_after_s(response, pause_s)
            if attempt < self._num_retries:
                self._sleep(pause_s)
        raise InfrastructureError(f"{self._url} did not answer {self._num_retries + 1} attempts: {problem}")


class OpenAIPolicy(ChatPolicy):
    """Plays one episode; the conversation grows by an answer and an observation in every turn."""

    def __init__(
        self,
        ask: Callable[[Mapping[str, object]], dict[str, Any]],
        card: EnvCard,
        model: str,
        limits: Limits,
        seed: int,
    ) -> None:
        self._ask, self._card = ask, card
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": card.system_prompt}]
        self._body: dict[str, Any] = {
            "model": model,
            "temperature": limits.temperature,
            "max_tokens": limits.max_tokens,
            "seed": seed,
        }
        if card.tools:
            self._body["tools"] = [dict(tool) for tool in card.tools]

    def reply(self, observation: Observation, info: Mapping[str, Any]) -> Reply:
        """See `ChatPolicy.reply`."""
        self._observe(_content(observation))
        answer = self._ask(self._body | {"messages": self._messages})
        try:
            choice = answer["choices"][0]
            message: dict[str, Any] = choice["message"]
            text = str(message.get("content") or "")
            called: list[dict[str, Any]] = message.get("tool_calls") or []
            calls = [_plain_call(call) for call in called]
            usage: dict[str, Any] = answer.get("usage") or {}
            num_prompt = int(usage.get("prompt_tokens") or 0)
            num_completion = int(usage.get("completion_tokens") or 0)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise InfrastructureError(f"the server's answer has no message: {str(answer)[:300]}") from error
        kept = {key: message[key] for key in ("content", "tool_calls") if message.get(key)}
        self._messages.append({"role": "assistant", "content": "", **kept})
        if calls and self._card.tools:
            action = json.dumps(calls, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        else:
            action = self._card.grammar.extract(text)
        thought = message.get("reasoning_content") or message.get("reasoning")
        shown = (f"<think>\n{thought}\n</think>\n" if thought else "") + text
        shown = "\n".join([part for part in (shown, *map(json.dumps, calls)) if part])
        return Reply(action, shown, num_prompt, num_completion, choice.get("finish_reason") == "length")

    def _observe(self, content: Content) -> None:
        """Show an observation: as the result of the calls that were made, else as the user's message."""
        calls: list[dict[str, Any]] = self._messages[-1].get("tool_calls") or []
        if not (calls and self._card.tools):
            self._messages.append({"role": "user", "content": content})
        for index, call in enumerate(calls):
            # One observation answers all calls of a turn; the protocol wants a result for each.
            shown = content if index == 0 else "(in the first result)"
            result = {"role": "tool", "tool_call_id": str(call.get("id", "")), "content": shown}
            self._messages.append(result)


def parse_openai(text: str) -> tuple[str, str]:
    """Model and URL in `MODEL@URL`.

    Raises:
        ValueError: it is not of that form.
    """
    model, _, url = text.rpartition("@")
    if not model or not url.startswith(("http://", "https://")):
        raise ValueError(
            f"policy 'openai:{text}' is not of the form openai:MODEL@URL, "
            "such as openai:my-model@http://localhost:8000/v1"
        )
    return model, url


def _endpoint(url: str) -> str:
    base = url.rstrip("/")
    if base.endswith("/chat/completions"):
        return base
    has_path = "/" in base.partition("://")[2]
    return f"{base}/chat/completions" if has_path else f"{base}/v1/chat/completions"


def _json(response: httpx.Response) -> dict[str, Any]:
    try:
        value = response.json()
    except ValueError as error:
        raise InfrastructureError(f"{response.url} answered no JSON: {response.text[:300]}") from error
    if not isinstance(value, dict):
        raise InfrastructureError(f"{response.url} answered {str(value)[:300]}, not an object")
    return cast("dict[str, Any]", value)


def _retry_after_s(response: httpx.Response, default_s: float) -> float:
    try:
        return min(max(float(response.headers["Retry-After"]), 0.0), _LONGEST_WAIT_S)
    except (KeyError, ValueError):
        return default_s


def _plain_call(call: Mapping[str, Any]) -> dict[str, object]:
    """Name and arguments; arguments that are no JSON stay text, for the environment to refuse."""
    function = call["function"]
    arguments: object = function.get("arguments") or "{}"
    if isinstance(arguments, str):
        with contextlib.suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    return {"name": str(function["name"]), "arguments": arguments}


def _content(observation: Observation) -> Content:
    """The text alone, or the images and the text as the parts of a message."""
    text, images = _sendable(text_of(observation)), images_of(observation)
    if not images:
        return text
    parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": one.url()}} for one in images]
    return [*parts, {"type": "text", "text": text}]


def _sendable(text: str) -> str:
    """Without lone surrogates, which no request can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
