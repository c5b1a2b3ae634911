"""What `info` and the observation give away: the answer, or a handle on the environment itself.

In: a `Subject`; the oracle's actions tell what the answer is. Out: `CheckFailed` with the place of the leak.
"""

from __future__ import annotations

import contextlib
import enum
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, cast

import numpy as np

from molt_envs.checks.findings import NotShown, require
from molt_envs.checks.subject import Check, Play, Subject, first_difference, oracle_of, play
from molt_envs.env import AgentEnv, Task
from molt_envs.protocol.images import images_of, text_of

CONTRACT_KEYS = frozenset({"task_id", "split", "turn", "score", "success", "admissible_actions"})
ANSWER_KEYS = frozenset(
    {"answer", "answers", "solution", "ground_truth", "gold", "expected", "expected_answer"}
)
MOST_DEPTH = 8
PLAIN: tuple[type, ...] = (str, bytes, bool, int, float, complex, enum.Enum, np.generic, np.ndarray)
NUM_SURE_CHARS = 4
"""A shorter piece of an action occurs by chance inside of other texts: then only equal values count."""
NUM_COPIED_CHARS = 24
"""A longer piece that the observation shows was copied from it."""
USUAL_SHARE = 0.75
_PIECES = re.compile(r"\[([^\[\]]+)\]|\(([^()]+)\)|\"([^\"]+)\"|'([^']+)'|[:=]\s*(\S.*)$")
_TOLD = r"\b(?:answer|solution|gold|expected)\b\s*(?:is|:|=)?\s*[\"'`]?{}(?!\w)"


def _check_named_answers(subject: Subject) -> None:
    for one in _plays(subject):
        for turn, info in enumerate(one.infos[:-1] if one.terminated else one.infos):
            for path, value in _leaves(info):
                named = ANSWER_KEYS & set(re.findall(r"\w+", path.casefold()))
                told = named and value not in (None, "", (), [])
                require(not told, f"{one.task_id}, turn {turn}: info{path} is {str(value)[:60]!r}")


def _check_answers_in_info(subject: Subject) -> str:
    plays, usual = _oracle_plays(subject)
    found = [(one, path, piece) for one in plays for path, piece in _given_away(one, usual)]
    _require_rare(plays, found, "info{} holds what the oracle is yet to say, such as {!r}")
    return f"{len(plays)} tasks of the oracle"


def _require_rare(plays: list[Play], found: list[tuple[Play, str, str]], message: str) -> None:
    """Fail where a place gives secrets away, and not by chance: in half of the tasks or of a split's."""
    hits: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for one, path, piece in found:
        for split in ("", one.task.split):
            hits[split, path].append((one.task_id, piece))
    for (split, path), pairs in hits.items():
        num_all = sum(split in ("", one.task.split) for one in plays)
        num_tasks, pieces = len({task_id for task_id, _ in pairs}), {piece for _, piece in pairs}
        text = f"{message.format(path, min(pieces)[:60])}, in {num_tasks} of {num_all} {split} tasks"
        # One and the same value is chance: a small number that counts something else.
        require(2 * num_tasks < num_all or len(pieces) == 1, " ".join(text.split()))


def _given_away(one: Play, usual: set[str]) -> Iterator[tuple[str, str]]:
    """Places in `info` that hold a piece of a coming action which nothing shown so far holds."""
    decisive = _decisive(one, usual)
    told = listed = ""
    for turn in range(len(one.actions)):
        told += one.observations[turn].casefold() + "\n"
        listed += "\n".join(one.infos[turn].get("admissible_actions") or ()).casefold() + "\n"
        later = {piece for coming in one.actions[turn:] for piece in _pieces(coming)} - usual
        leaves = [(path, str(value).casefold().strip()) for path, value in _leaves(one.infos[turn])]
        num_values = Counter(path for path, _ in leaves)
        for path, text in leaves:
            for piece in later:
                # The right one of several that are shown is an answer too, unless it is a copied sentence.
                chosen = text == piece and piece in decisive and len(piece) < NUM_COPIED_CHARS
                # So is the one of the admissible actions that stands alone and that no text has named.
                alone = text == piece and piece not in told and num_values[path] == 1
                held = text == piece or (len(piece) >= NUM_SURE_CHARS and piece in text)
                if chosen or alone or (held and piece not in told + listed):
                    yield path, piece


def _check_answers_in_observation(subject: Subject) -> str:
    plays, usual = _oracle_plays(subject)
    found: list[tuple[Play, str, str]] = []
    for one in plays:
        for piece in _decisive(one, usual):
            pattern = re.compile(_TOLD.format(re.escape(piece)))
            texts = (pattern.search(observation.casefold()) for observation in one.observations[:-1])
            found += [(one, "", text.group(0)) for text in texts if text is not None]
    _require_rare(plays, found, "the observation{} says {!r}")
    return f"{len(plays)} tasks of the oracle"


def _check_plain_info(subject: Subject) -> None:
    for one in _plays(subject):
        for turn, info in enumerate(one.infos):
            for path, value in _leaves(info):
                fine = value is None or isinstance(value, PLAIN)
                kind = type(value).__name__
                require(fine, f"{one.task_id}, turn {turn}: info{path} is an object, of type {kind}")


def _check_written_info(subject: Subject) -> None:
    for task in subject.tasks(4, num_plays=4):
        fresh, used = subject.make_base(), subject.make_base()
        expected = play(fresh, oracle_of(), task)
        _spoil_all(used, expected, task)
        for env, where in ((used, "in this environment"), (fresh, "in another one")):
            found = first_difference(expected, play(env, oracle_of(), task))
            require(found is None, f"writing to info changes the next episode {where}: {found}")
        fresh.close()
        used.close()


def _spoil_all(env: AgentEnv, expected: Play, task: Task) -> None:
    """Repeat an episode, overwriting every `info` that it gives."""
    _, info = env.reset(seed=0, options={"task_id": task.task_id})
    for turn, action in enumerate(expected.actions):
        _spoil(info)
        observation, reward, _, _, info = env.step(action)
        then = (expected.observations[turn + 1], expected.images[turn + 1], expected.rewards[turn])
        same = (text_of(observation), images_of(observation), float(reward)) == then
        require(same, f"{task.task_id}: after writing to info, turn {turn + 1} is another one")
    _spoil(info)


def _spoil(value: Any, depth: int = 0) -> None:
    """Overwrite whatever can be written to."""
    items: Iterable[Any] = ()
    if isinstance(value, dict):
        items = cast(dict[Any, Any], value).values()
    elif isinstance(value, list | tuple | set | frozenset):
        items = cast(Iterable[Any], value)
    if depth < MOST_DEPTH:
        for item in [*items]:
            _spoil(item, depth + 1)
    if isinstance(value, dict | list | set):
        value.clear()
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        cast(Any, value)[...] = 0


def _leaves(value: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """Everything that can be reached in a value, with its path; attributes of objects too."""
    if depth > MOST_DEPTH:
        return
    pairs: list[tuple[str, object]] = []
    if isinstance(value, Mapping):
        items = cast(Mapping[object, object], value).items()
        pairs = [(f"[{key!r}]", item) for key, item in items if depth or key not in CONTRACT_KEYS]
    elif isinstance(value, Sequence | Set) and not isinstance(value, str | bytes):
        pairs = [("[…]", item) for item in cast(Iterable[object], value)]
    else:
        yield path, value
        if not isinstance(value, type | enum.Enum) and "__dict__" in dir(value):
            pairs = [(f".{name}", item) for name, item in vars(value).items()]
    for name, item in pairs:
        yield from _leaves(item, path + name, depth + 1)


def _pieces(action: str) -> set[str]:
    """An action, its arguments and its words, in lower case."""
    found: set[str] = {action, *action.split()}
    for match in _PIECES.finditer(action):
        found.update(str(part or "") for part in match.groups())
    with contextlib.suppress(ValueError, RecursionError):  # no JSON
        found |= {str(value) for _, value in _leaves(json.loads(action), depth=1)}
    return {piece.casefold().strip() for piece in found if piece.strip()}


def _decisive(one: Play, usual: set[str]) -> set[str]:
    """The pieces of the last action that is not the same in most tasks."""
    found = (_pieces(action) - usual for action in reversed(one.actions))
    return next((pieces for pieces in found if pieces), set[str]())


def _oracle_plays(subject: Subject) -> tuple[list[Play], set[str]]:
    """The oracle's episodes, and the pieces of actions that most of them have: they tell nothing."""
    plays = subject.oracle_plays
    if len(plays) < 2:
        raise NotShown("without episodes of an oracle the answer is not known here")
    counts = Counter[str]()
    for one in plays:
        counts.update({piece for action in one.actions for piece in _pieces(action)})
    return plays, {piece for piece, count in counts.items() if count > USUAL_SHARE * len(plays)}


def _plays(subject: Subject) -> list[Play]:
    return [*subject.oracle_plays, *(one for plays in subject.baseline_plays.values() for one in plays)]


CHECKS = (
    Check(
        "secrets",
        "info names no answer",
        _check_named_answers,
        "leave it out of Turn.details until the episode is over",
    ),
    Check(
        "secrets",
        "info does not give away what the oracle will do",
        _check_answers_in_info,
        "leave it out of Turn.details: the policy's side reads info",
    ),
    Check(
        "secrets",
        "the observation does not tell the answer",
        _check_answers_in_observation,
        "take the answer out of the task's text",
    ),
    Check(
        "secrets",
        "info holds plain data",
        _check_plain_info,
        "give str, numbers, tuples and dicts; an object leads back to the environment's secrets",
    ),
    Check(
        "secrets",
        "writing to info changes nothing",
        _check_written_info,
        "give copies, or tuples, of what the environment keeps",
    ),
)
