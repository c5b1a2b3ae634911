"""The attacks as data: enough of them, of every kind, and each one a program."""

from __future__ import annotations

import pytest

from sandboxes.attack.catalogue import Snippet, load_snippets
from sandboxes.attack.suite import PRELUDE

SNIPPETS = load_snippets()
KINDS = """host files; links; another episode; environment; processes; signals; debugging; outlives the call;
poison; descriptors; fork bomb; memory bomb; disk fill; inode fill; endless; ignored signals; endless output;
limits; host loopback; docker socket; network; special sockets; privileges; mount; new namespaces; bpf;
io_uring; kernel; TIOCSTI"""


def test_there_are_enough_of_every_kind() -> None:
    assert len(SNIPPETS) >= 100
    assert {snippet.group for snippet in SNIPPETS} == set(KINDS.replace("\n", " ").split("; "))


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.name)
def test_each_is_a_program_that_can_give_both_verdicts(snippet: Snippet) -> None:
    for code in (snippet.code, snippet.then, snippet.elsewhere):
        compile(code, snippet.name, "exec")
    can_succeed = "contained(" in snippet.code or "refused(" in snippet.code or snippet.endings
    assert can_succeed


def test_the_prelude_is_a_program() -> None:
    compile(PRELUDE.read_text(), "prelude", "exec")


def test_endings_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown endings"):
        Snippet("name", "group", "tries", "code", endings=("bored",))  # type: ignore[arg-type]
