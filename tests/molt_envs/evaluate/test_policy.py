"""What `--policy` names."""

from __future__ import annotations

import pytest

from molt_envs import FixedScript
from molt_envs.errors import InfrastructureError
from molt_envs.evaluate.commands import make_source
from molt_envs.evaluate.openai import OpenAISource, parse_openai
from molt_envs.evaluate.policy import EpisodeStart, Limits, PolicySource
from tests.molt_envs.evaluate import toys
from tests.molt_envs.toy import ToyEnv

HERE = "python:tests.molt_envs.evaluate.toys"


class Named(PolicySource):
    """Takes what follows the second colon."""

    def __init__(self, word: str = "none") -> None:
        self.word = word

    def start(self, start: EpisodeStart) -> FixedScript:
        return FixedScript([self.word])


def start() -> EpisodeStart:
    env = ToyEnv()
    env.reset(seed=0, options={"task_id": "test:0"})
    return EpisodeStart(env, "test:0", 0, Limits())


def first_action(policy: str) -> str:
    return make_source(policy).start(start()).act("train:0: x?", {"admissible_actions": ("only",)})


@pytest.mark.parametrize(
    ("policy", "action"),
    [
        ("random", "only"),
        ("nothing", ""),
        (f"{HERE}:winner", "rød"),
        (f"{HERE}:Winner", "rød"),
        (f"{HERE}:SHARED", "rød"),
        (f"{HERE}:script", "rød"),
        ("python:tests.molt_envs.evaluate.test_policy:Named", "none"),
        ("python:tests.molt_envs.evaluate.test_policy:Named:a:b", "a:b"),
    ],
)
def test_a_policy_is_found_and_acts(policy: str, action: str) -> None:
    assert first_action(policy) == action


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("clever", "unknown policy 'clever'"),
        ("openai:model", "not of the form openai:MODEL@URL"),
        ("openai:@http://x", "not of the form openai:MODEL@URL"),
        ("python:nowhere", "not of the form python:module:name"),
        ("python:no_such_module:x", "cannot be imported"),
        (f"{HERE}:missing", "has no 'missing'"),
        (f"{HERE}:NO_POLICY", "needs a method `act`"),
        (f"{HERE}:two", "takes 2 arguments"),
        (f"{HERE}:winner:argument", "only a subclass of PolicySource"),
    ],
)
def test_what_names_no_policy_is_refused(policy: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_source(policy)


@pytest.mark.parametrize("policy", ["oracle", "script"])
def test_a_policy_that_an_environment_lacks_is_infrastructure(policy: str) -> None:
    with pytest.raises(InfrastructureError, match="this environment has no"):
        make_source(policy).start(start())


def test_a_model_and_its_server_are_read() -> None:
    assert parse_openai("org/model@v2@http://localhost:8000/v1") == (
        "org/model@v2",
        "http://localhost:8000/v1",
    )
    source = make_source("openai:m@http://localhost:1/v1", "key")
    assert isinstance(source, OpenAISource)
    source.close()


def test_a_function_gives_each_episode_its_own_policy() -> None:
    source = make_source(f"{HERE}:winner")
    assert source.start(start()) is not source.start(start())
    assert make_source(f"{HERE}:SHARED").start(start()) is toys.SHARED
