"""The policy behind a server: what is sent, what comes back, and what is unresolved."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from molt_envs import ActionGrammar, AgentEnv, EnvCard, InfrastructureError, Task, Turn
from molt_envs.evaluate.openai import OpenAISource
from molt_envs.evaluate.player import Job, play_episode
from molt_envs.evaluate.policy import ChatPolicy, EpisodeStart, Limits
from molt_envs.evaluate.record import EpisodeRecord
from tests.molt_envs.pictured import PicturedEnv
from tests.molt_envs.toy import ToyEnv

Handler = Callable[[httpx.Request], httpx.Response]
TOOL = {"type": "function", "function": {"name": "say", "description": "", "parameters": {"type": "object"}}}
CARD = EnvCard(
    "t", "Use the tool.", ActionGrammar("calls", "[]"), (0.0, 1.0), {"test": 1}, 3, "tool", (TOOL,)
)


class ToolEnv(AgentEnv):
    """Repeats what it is given, twice."""

    def __init__(self) -> None:
        super().__init__(CARD)

    def _begin(self, task: Task, rng: object) -> Turn:
        return Turn("go")

    def _act(self, action: str) -> Turn:
        return Turn(f"got {action}")


class Server:
    """Answers with messages in turn and keeps the requests."""

    def __init__(self, *messages: dict[str, Any], finish: str = "stop") -> None:
        self.bodies: list[dict[str, Any]] = []
        self.requests: list[httpx.Request] = []
        self._messages, self._finish = list(messages), finish

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.bodies.append(json.loads(request.content))
        message = self._messages.pop(0) if len(self._messages) > 1 else self._messages[0]
        choice = {"message": {"role": "assistant", **message}, "finish_reason": self._finish}
        usage = {"prompt_tokens": 11, "completion_tokens": 4}
        return httpx.Response(200, json={"choices": [choice], "usage": usage})


def source(handler: Handler, num_retries: int = 2, waits: list[float] | None = None) -> OpenAISource:
    transport = httpx.MockTransport(handler)
    sleep = ([] if waits is None else waits).append
    return OpenAISource(
        "m", "http://server/v1/", "secret", num_retries=num_retries, transport=transport, sleep=sleep
    )


def play(handler: Handler, env: AgentEnv | None = None) -> EpisodeRecord:
    job = Job("toy", "test:0", 0, 7)
    return play_episode(env or ToyEnv(), source(handler), job, Limits(0.5, 32), "openai:m")


def test_a_conversation_is_sent_and_counted() -> None:
    server = Server({"content": "fig"}, {"content": "rød"})
    record = play(server, ToyEnv())
    assert [turn.action for turn in record.turns[:2]] == ["fig", "rød"]
    assert (record.turns[0].num_prompt_tokens, record.turns[0].num_completion_tokens) == (11, 4)
    assert str(server.requests[0].url) == "http://server/v1/chat/completions"
    assert server.requests[0].headers["Authorization"] == "Bearer secret"
    first, second = server.bodies[:2]
    assert {key: first[key] for key in ("model", "temperature", "max_tokens", "seed")} == {
        "model": "m",
        "temperature": 0.5,
        "max_tokens": 32,
        "seed": 7,
    }
    assert [message["role"] for message in second["messages"]] == ["system", "user", "assistant", "user"]
    assert second["messages"][-1]["content"] == "no, not fig"


def test_tool_calls_become_the_canonical_action_and_are_answered_one_by_one() -> None:
    calls = [
        {"id": "a", "function": {"name": "say", "arguments": '{"b": 1, "a": "ø"}'}},
        {"id": "b", "function": {"name": "say", "arguments": "{broken"}},
    ]
    server = Server({"content": None, "tool_calls": calls})
    record = play(server, ToolEnv())
    assert record.turns[0].action == (
        '[{"arguments":{"a":"ø","b":1},"name":"say"},{"arguments":"{broken","name":"say"}]'
    )
    assert server.bodies[0]["tools"] == [TOOL]
    shown = server.bodies[1]["messages"][-2:]
    assert [(message["role"], message["tool_call_id"]) for message in shown] == [("tool", "a"), ("tool", "b")]
    assert shown[0]["content"].startswith("got ")


def test_a_message_cut_by_the_server_ends_the_episode() -> None:
    assert play(Server({"content": "so I"}, finish="length")).outcome == "length"


def test_a_busy_server_is_asked_again() -> None:
    answers = iter([httpx.Response(429, headers={"Retry-After": "3"}), httpx.Response(503)])
    server, waits = Server({"content": "x"}), list[float]()
    chat = source(lambda request: next(answers, None) or server(request), waits=waits)
    assert chat.ask({})["choices"]
    assert waits == [3.0, 1.0]


def _no_connection(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


@pytest.mark.parametrize(
    ("handler", "reason"),
    [
        (_no_connection, "did not answer 3 attempts: ConnectError: refused"),
        (lambda request: httpx.Response(500, text="oops"), "did not answer 3 attempts: status 500: oops"),
        (lambda request: httpx.Response(400, text="bad model"), "refused the request: status 400: bad model"),
        (lambda request: httpx.Response(200, text="<html>"), "answered no JSON"),
        (lambda request: httpx.Response(200, json=[1]), "not an object"),
        (lambda request: httpx.Response(200, json={"choices": []}), "has no message"),
    ],
)
def test_what_the_server_breaks_is_unresolved(handler: Handler, reason: str) -> None:
    record = play(handler)
    assert (record.outcome, record.score) == ("unresolved", None)
    assert reason in record.reason


def test_lone_surrogates_can_be_sent() -> None:
    server = Server({"content": "fig"})
    env = ToyEnv()
    env.reset(seed=0)
    policy = source(server).start(EpisodeStart(env, "test:0", 0, Limits()))
    assert isinstance(policy, ChatPolicy)
    policy.reply("a \ud800 b", {})
    assert server.bodies[0]["messages"][-1]["content"] == "a ? b"


def test_without_a_key_no_header_is_sent() -> None:
    server = Server({"content": "x"})
    chat = OpenAISource("m", "http://server", transport=httpx.MockTransport(server))
    chat.ask({})
    assert "Authorization" not in server.requests[0].headers
    assert str(server.requests[0].url) == "http://server/v1/chat/completions"


def test_an_error_is_infrastructure() -> None:
    with pytest.raises(InfrastructureError):
        source(_no_connection, num_retries=0).ask({})


def test_an_image_is_sent_as_a_part_before_the_text() -> None:
    server = Server({"content": "7"}, {"content": "8"}, {"content": "9"})
    record = play(server, PicturedEnv())
    shown, later = server.bodies[-1]["messages"][1], server.bodies[-1]["messages"][3]
    assert [part["type"] for part in shown["content"]] == ["image_url", "text"]
    assert shown["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert later == {"role": "user", "content": "No."}
    assert "[image 6x4 " in record.observation and record.turns[0].observation == "No."
