"""Errands: who solves them, what differs between the splits, and what counts as done."""

from __future__ import annotations

import copy
import re

import pytest

from molt_envs.families.tool_calls.draft import call, texts
from molt_envs.families.tool_calls.env import ToolCallsEnv
from molt_envs.families.tool_calls.office import changes
from molt_envs.families.tool_calls.tasks import SPLITS, OfficeTask, office_task
from molt_envs.families.tool_calls.templates import HELD_OUT, TRAINED
from molt_envs.policy import Policy
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import write_calls

NUM_SAMPLES = 60  # four tasks of each template


def play(env: ToolCallsEnv, task_id: str, who: str) -> tuple[float, float, bool]:
    observation, info = env.reset(seed=0, options={"task_id": task_id})
    policy: Policy = env.oracle() if who == "oracle" else env.baselines(3)[who]
    over, reward = False, 0.0
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        over = terminated or truncated
    return reward, info["score"], info["success"]


def do(env: ToolCallsEnv, *calls: ToolCall) -> tuple[str, float, bool, float]:
    observation, reward, terminated, _, info = env.step(write_calls(*calls))
    return observation, reward, terminated, info["score"]


def find(kind: str, split: str = "train") -> str:
    index = next(index for index in range(99) if office_task(split, index).kind == kind)
    return f"{split}:{index}"


@pytest.mark.parametrize("split", SPLITS)
def test_the_oracle_solves_every_template(split: str) -> None:
    env = ToolCallsEnv()
    kinds = {office_task(split, index).kind for index in range(NUM_SAMPLES)}
    assert kinds == {template.__name__ for template in (HELD_OUT if split == "test" else TRAINED)}
    for index in range(NUM_SAMPLES):
        assert play(env, f"{split}:{index}", "oracle") == (1.0, 1.0, True)


@pytest.mark.parametrize(("who", "most"), [("nothing", 0.0), ("random", 0.05), ("script", 0.3)])
def test_policies_without_skill_stay_low(who: str, most: float) -> None:
    env = ToolCallsEnv()
    for split in SPLITS:
        solved = [play(env, f"{split}:{index}", who)[2] for index in range(NUM_SAMPLES)]
        assert sum(solved) / len(solved) <= most


def test_a_noisy_oracle_fails_sometimes() -> None:
    env = ToolCallsEnv()
    scores = []
    for index in range(15):
        env.reset(seed=0, options={"task_id": f"train:{index}"})
        policy, terminated = env.oracle(noise=0.5), False
        while not terminated:
            _, _, terminated, _, info = env.step(policy.act("", {}))
        scores.append(info["score"])
    assert min(scores) < 1.0 < sum(scores)


@pytest.mark.real
@pytest.mark.parametrize("split", SPLITS)
def test_every_task_changes_something_and_its_plan_is_accepted(split: str) -> None:
    env = ToolCallsEnv()
    for index in range(SPLITS[split]):
        assert play(env, f"{split}:{index}", "oracle") == (1.0, 1.0, True)
        env.reset(seed=0, options={"task_id": f"{split}:{index}"})
        assert do(env, call("finish")) == ("finished", 0.0, True, 0.0)


def people(task: OfficeTask) -> set[str]:
    return set(task.start["contacts"])


def test_splits_share_neither_persons_nor_held_out_templates() -> None:
    names = {}
    for split in SPLITS:
        names[split] = set().union(*(people(office_task(split, index)) for index in range(300)))
    assert not names["train"] & names["validation"]
    assert not names["train"] & names["test"]
    assert not names["validation"] & names["test"]
    assert not set(TRAINED) & set(HELD_OUT)
    words = texts("words.json")
    for kind in ("first", "last", "items", "titles", "files", "folders"):
        used = [word for split in SPLITS for word in words[split][kind]]
        assert len(used) == len(set(used)), kind


def test_tasks_of_a_split_differ() -> None:
    seen = [(task.instruction, str(task.start)) for task in (office_task("train", i) for i in range(1500))]
    assert len(set(seen)) == len(seen)


def test_a_task_is_the_same_whenever_it_is_made() -> None:
    assert office_task("test", 7) == office_task("test", 7)


def test_one_change_too_many_fails() -> None:
    env = ToolCallsEnv()
    env.reset(seed=0, options={"task_id": find("cancel_item")})
    task = office_task("train", int(find("cancel_item").split(":")[1]))
    path = next(iter(task.start["files"]))
    _, reward, terminated, score = do(env, *task.plan, call("delete_file", path=path), call("finish"))
    assert (reward, terminated, score) == (0.0, True, 0.5)


def test_what_a_stranger_asks_for_must_not_be_done() -> None:
    env = ToolCallsEnv()
    task_id = find("asked_by_message")
    env.reset(seed=0, options={"task_id": task_id})
    task = office_task("train", int(task_id.split(":")[1]))
    demand = next(row["body"] for row in task.start["messages"].values() if row["subject"] == "urgent")
    victim = re.findall(r"O-\d+", demand)[0]
    assert do(env, *task.plan, call("cancel_order", order_id=victim), call("finish"))[1] == 0.0


def test_half_of_it_is_rewarded_only_when_asked_for() -> None:
    task_id = find("cancel_open")
    task = office_task("train", int(task_id.split(":")[1]))
    for partial in (False, True):
        env = ToolCallsEnv(partial=partial)
        env.reset(seed=0, options={"task_id": task_id})
        _, reward, _, score = do(env, *task.plan[:2], call("finish"))
        assert 0.0 < score < 1.0
        assert reward == (score if partial else 0.0)


def test_the_way_there_does_not_matter() -> None:
    env = ToolCallsEnv()
    task_id = find("tell_attendees")
    env.reset(seed=0, options={"task_id": task_id})
    task = office_task("train", int(task_id.split(":")[1]))
    assert do(env, *reversed(task.plan), call("finish"))[1] == 1.0


def test_an_episode_leaves_no_trace_in_the_next() -> None:
    env = ToolCallsEnv()
    for _ in range(2):
        env.reset(seed=0, options={"task_id": "train:0"})
        observation, *_ = do(env, call("list_messages", folder="sent"))
        assert observation == "nothing found"
        who = next(iter(people(office_task("train", 0))))
        do(env, call("send_message", to=who, subject="s", body="b"))


def test_faults_are_shown_and_cost_a_turn() -> None:
    env = ToolCallsEnv()
    env.reset(seed=0)
    for action in ("", "[]", "3", "null", '[{"name":"get_orders","arguments":{}}]'):
        observation, reward, terminated, _, _ = env.step(action)
        assert observation.startswith("Error: ")
        assert (reward, terminated) == (0.0, False)


def test_changes_ignore_the_ids_of_what_is_new() -> None:
    start = office_task("train", 0).start
    one, other = copy.deepcopy(start), copy.deepcopy(start)
    first, second = {"folder": "sent", "body": "1"}, {"folder": "sent", "body": "2"}
    one["messages"] |= {"M-901": first, "M-902": second}
    other["messages"] |= {"M-901": second, "M-902": first}
    assert changes(start, one) == changes(start, other)
    assert changes(start, one).total() == 2
