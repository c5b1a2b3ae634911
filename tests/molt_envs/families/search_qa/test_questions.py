"""Questions: who answers them, whether the documents lead there, and what the splits share."""

from __future__ import annotations

import json

import pytest

from molt_envs.families.search_qa.encyclopedia import encyclopedia, texts
from molt_envs.families.search_qa.env import SearchQAEnv
from molt_envs.families.search_qa.questions import NUM_HOPS, NUM_QUESTIONS, questions
from molt_envs.policy import Policy
from molt_envs.protocol.messages import ToolCall
from molt_envs.tools.calls import write_calls

NUM_SAMPLES = 150


def play(env: SearchQAEnv, task_id: str, who: str) -> bool:
    observation, info = env.reset(seed=0, options={"task_id": task_id})
    policy: Policy = env.oracle() if who == "oracle" else env.baselines(3)[who]
    over = False
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        assert reward == float(info["success"])
        over = terminated or truncated
    return info["success"]


def act(env: SearchQAEnv, tool: str, **arguments: object) -> tuple[str, float, bool]:
    observation, reward, terminated, _, _ = env.step(write_calls(ToolCall(tool, arguments)))
    return observation, reward, terminated


@pytest.mark.parametrize("split", NUM_QUESTIONS)
def test_the_oracle_answers_questions_of_every_kind(split: str) -> None:
    env = SearchQAEnv()
    assert all(play(env, f"{split}:{index}", "oracle") for index in range(NUM_SAMPLES))
    hops = [len(question.chain) for question in questions(split)[:NUM_SAMPLES]]
    assert {num: hops.count(num) for num in NUM_HOPS} == dict.fromkeys(NUM_HOPS, NUM_SAMPLES // 3)


@pytest.mark.parametrize(("who", "most"), [("nothing", 0.0), ("random", 0.05), ("script", 0.1)])
def test_policies_without_skill_stay_low(who: str, most: float) -> None:
    env = SearchQAEnv()
    for split in NUM_QUESTIONS:
        solved = [play(env, f"{split}:{index}", who) for index in range(NUM_SAMPLES)]
        assert sum(solved) / len(solved) <= most


def test_a_noisy_oracle_stops_early() -> None:
    env = SearchQAEnv()
    env.reset(seed=0, options={"task_id": "train:0"})
    first = env.oracle(noise=1.0).act("", {})
    assert first == write_calls(ToolCall("answer", {"text": questions("train")[0].chain[0]}))


@pytest.mark.parametrize("split", NUM_QUESTIONS)
def test_each_document_leads_to_the_next(split: str) -> None:
    book = encyclopedia()
    for question in questions(split)[:NUM_SAMPLES]:
        assert question.chain[0] in question.text
        for here, there in zip(question.chain, question.chain[1:], strict=False):
            found = [book.titles[row] for row in book.search.top(here, 5)]
            assert there in book.entities[here].text or there in found
        for title in question.chain:
            assert title in [book.titles[row] for row in book.search.top(title, 5)]


@pytest.mark.parametrize("split", NUM_QUESTIONS)
def test_only_the_last_document_states_the_answer(split: str) -> None:
    entities = encyclopedia().entities
    for question in questions(split):
        *early, last = (entities[title].text for title in question.chain)
        assert question.answers[0] in last
        assert not any(question.answers[0] in text for text in (question.text, *early))


def test_splits_share_no_entity() -> None:
    entities = encyclopedia().entities
    names = set(entities)
    for split in NUM_QUESTIONS:
        for question in questions(split):
            touched = {*question.chain, *(names & set(question.answers))}
            assert {entities[name].split for name in touched} == {split}
    assert len({question.text for split in NUM_QUESTIONS for question in questions(split)}) == 6000


def test_facts_do_not_leave_their_split_and_stand_in_the_documents() -> None:
    entities = encyclopedia().entities
    language = texts("language.json")
    for entity in entities.values():
        for relation, (kind, _) in language["relations"][entity.kind].items():
            if relation in entity.facts:
                other = entities[entity.facts[relation]]
                assert (other.kind, other.split) == (kind, entity.split)
                teller = other if relation == "only_work" else entity
                assert {entity.name, other.name} - {teller.name} <= {
                    name for name in entities if name in teller.text
                }


def test_facts_agree() -> None:
    entities = encyclopedia().entities
    capitals = {e.facts["capital"]: e.name for e in entities.values() if e.kind == "country"}
    assert len(capitals) == 24
    for entity in entities.values():
        if entity.name in capitals:
            assert entity.facts["country"] == capitals[entity.name]
        for relation, year in (("author", "published"), ("founder", "founded")):
            if relation in entity.facts:
                born = int(entities[entity.facts[relation]].facts["birth_year"])
                assert int(entity.facts[year]) - born >= 20


def test_search_read_answer() -> None:
    env = SearchQAEnv(num_results=2)
    env.reset(seed=0, options={"task_id": "test:0"})
    question = questions("test")[0]
    shown, reward, terminated = act(env, "search", query=question.chain[0])
    assert shown.startswith(f"{question.chain[0]}: ")
    assert (len(shown.splitlines()), reward, terminated) == (2, 0.0, False)
    assert act(env, "read", title=question.chain[0])[0] == encyclopedia().entities[question.chain[0]].text
    assert act(env, "search", query="zzzz") == ("nothing found", 0.0, False)
    assert act(env, "answer", text=question.answers[0].upper()) == ("answered", 1.0, True)


def test_every_accepted_form_counts_and_a_wrong_answer_ends_too() -> None:
    env = SearchQAEnv()
    index = next(i for i, question in enumerate(questions("train")) if len(question.answers) > 1)
    for text, reward in ((questions("train")[index].answers[1], 1.0), ("nobody", 0.0)):
        env.reset(seed=0, options={"task_id": f"train:{index}"})
        assert act(env, "answer", text=text) == ("answered", reward, True)


def test_faults_are_shown() -> None:
    env = SearchQAEnv()
    env.reset(seed=0)
    title = encyclopedia().titles[0]
    for action, words in (
        ("null", "not a call"),
        (json.dumps({"name": "serach", "arguments": {}}), "did you mean 'search'?"),
        (json.dumps({"name": "read", "arguments": {"title": title + "x"}}), f"did you mean '{title}'?"),
        (json.dumps({"name": "read", "arguments": {"title": "?"}}), "search for its title"),
    ):
        observation, *_ = env.step(action)
        assert observation.startswith("Error: ")
        assert words in observation


def test_a_search_shows_at_least_one_title() -> None:
    with pytest.raises(ValueError, match="num_results is 0"):
        SearchQAEnv(num_results=0)
