"""Numbers about a step's episodes, counted by hand."""

from __future__ import annotations

import pytest

from molt_train.loop.statistics import rollout_metrics
from molt_train.metrics import OUTCOMES
from molt_train.rewards import Graded, env_reward, grade
from tests.molt_train.rollout.probe_env import play, scripted

WORDS = {1: ["win"], 2: ["wait", "win"], 3: ["a", "b", "c"], 4: ["crash"], 5: ["blame"]}


def test_what_is_counted() -> None:
    engine = scripted(WORDS)
    engine.weights_updated(3)
    values = rollout_metrics(
        [grade(episode, env_reward) for episode in play(WORDS, engine=engine)], trained_version=5
    )
    assert {name: values[f"num_{name}"] for name in OUTCOMES} == {
        "terminated": 2,
        "truncated": 1,
        "length": 0,
        "failed": 1,
        "unresolved": 1,
    }
    assert values["num_episodes"] == 5 and values["num_action_tokens"] == 4 + 9 + 6 + 6 + 6
    assert values["reward_mean"] == pytest.approx((1 + 1.25 + 0.75 + 0) / 4)
    assert values["reward_std"] == pytest.approx(0.4677072)
    assert values["success_rate"] == 0.5 and values["turns_mean"] == 7 / 4
    assert values["action_tokens_mean"] == 25 / 4
    assert (values["policy_version"], values["staleness"]) == (3, 2.0)


def test_the_share_of_groups_without_signal() -> None:
    episode = play({1: ["win"]})[0]

    def scored(group: str, reward: float | None) -> Graded:
        return Graded(type(episode)(**{**vars(episode), "group_id": group}), reward)

    graded = [scored("a", 1), scored("b", 0), scored("a", 1), scored("b", 1), scored("c", None)]
    assert rollout_metrics(graded, 0)["zero_advantage_group_share"] == 0.5


def test_nothing_resolved_reports_no_means() -> None:
    values = rollout_metrics([grade(episode, env_reward) for episode in play({4: ["crash"]})], 0)
    assert values["num_unresolved"] == 1 and values["num_episodes"] == 1
    assert not {"reward_mean", "success_rate", "staleness"} & set(values)
