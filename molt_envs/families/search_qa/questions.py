"""Questions of two to four hops, each a walk along the facts of one split.

In: the encyclopedia. Out: for a split and an index, a question, the documents on the way, the right answers.
"""

import random
from dataclasses import dataclass
from functools import cache

from molt_envs.families.search_qa.encyclopedia import encyclopedia, texts

NUM_QUESTIONS = {"train": 5000, "validation": 500, "test": 500}
NUM_HOPS = (2, 3, 4)


@dataclass(frozen=True)
class Question:
    """A question with its way to the answer."""

    text: str
    """What is asked."""
    chain: tuple[str, ...]
    """Titles of the documents on the way, in order; the last states the answer. One per hop."""
    answers: tuple[str, ...]
    """Accepted forms, the usual one first."""


@cache
def questions(split: str) -> tuple[Question, ...]:
    """All questions of a split, each once; the numbers of hops take turns."""
    rng = random.Random(split)
    starts = [entity.name for entity in encyclopedia().entities.values() if entity.split == split]
    found: dict[str, Question] = {}
    while len(found) < NUM_QUESTIONS[split]:
        question = _walk(rng, rng.choice(starts), NUM_HOPS[len(found) % len(NUM_HOPS)])
        if question is not None:
            found.setdefault(question.text, question)
    return tuple(found.values())


def _walk(rng: random.Random, start: str, num_hops: int) -> Question | None:
    """A question of so many hops from an entity; None where the walk turns back or gives itself away."""
    entities, language = encyclopedia().entities, texts("language.json")
    asks_for_name = rng.random() < 0.4
    chain, asked, relation = [start], start, ""
    for _ in range(num_hops - 1 + asks_for_name):
        here = entities[chain[-1]]
        relations = language["relations"][here.kind]
        relation = rng.choice([name for name in relations if name in here.facts and name != relation])
        asked = relations[relation][1].format(asked)
        chain.append(here.facts[relation])
    last = entities[chain[-1]]
    if asks_for_name:
        documents, form, answer = chain[:-1], rng.choice(language["names"]), last.name
    else:
        fact, form = rng.choice(list(language["questions"][last.kind].items()))
        documents, answer = chain, last.facts[fact]
    told_early = any(answer in text for text in (asked, *(entities[name].text for name in documents[:-1])))
    if told_early or len(set(chain)) < len(chain) or answer not in entities[documents[-1]].text:
        return None
    alias = (last.facts["alias"],) if asks_for_name and "alias" in last.facts else ()
    return Question(form.format(asked), tuple(documents), (answer, *alias))
