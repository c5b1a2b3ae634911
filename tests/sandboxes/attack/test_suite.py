"""The suite can fail: it sees escapes where nothing isolates; an attack that did not happen proves none."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from sandboxes.attack import leftovers
from sandboxes.attack.catalogue import Snippet, load_snippets
from sandboxes.attack.report import Report, left_behind, table
from sandboxes.attack.suite import LIMITS, Suite, Verdict
from sandboxes.attack.witness import PREFIX, Witness
from tests.sandboxes.attack.bare import BARE

HARMLESS = [snippet for snippet in load_snippets() if snippet.harmless]


def judge(*snippets: Snippet) -> list[Verdict]:
    """Verdicts on the bare backend; what the attacks leave is ended."""
    with Suite(lambda: BARE.open(LIMITS)) as suite:
        verdicts = list(suite.run(snippets))
        for left in leftovers.processes_named(suite.marker):
            os.kill(int(left.split()[1]), signal.SIGKILL)
    return verdicts


@pytest.fixture(scope="module")
def unstopped() -> dict[str, Verdict]:
    return {verdict.name: verdict for verdict in judge(*HARMLESS)}


@pytest.mark.parametrize("snippet", HARMLESS, ids=lambda snippet: snippet.name)
def test_an_attack_that_nothing_stops_is_seen(snippet: Snippet, unstopped: dict[str, Verdict]) -> None:
    assert unstopped[snippet.name].status != "contained", unstopped[snippet.name]


def test_most_kinds_of_sign_are_tried_without_isolation(unstopped: dict[str, Verdict]) -> None:
    seen = " ".join(verdict.evidence for verdict in unstopped.values())
    for sign in ("secret of the host", "listener was reached", "was changed", "read", "process"):
        assert sign in seen


def test_an_attack_that_gives_no_verdict_is_broken() -> None:
    codes = ("this is no program", "pass", "raise SystemExit(3)", "print('ended well')")
    for verdict in judge(*(Snippet(code, "group", "tries", code) for code in codes)):
        assert verdict.status == "broken", verdict
        assert verdict.evidence.startswith("no verdict")


def test_an_ending_counts_only_where_it_is_named() -> None:
    named = Snippet("a", "group", "tries", "os._exit(137)", endings=("killed",))
    unnamed = Snippet("b", "group", "tries", "os._exit(137)")
    assert [verdict.status for verdict in judge(named, unnamed)] == ["contained", "broken"]


def test_an_escape_outweighs_a_claim_of_containment() -> None:
    code = "print(open(HOST['secret_path']).read(), flush=True); contained('honestly')"
    (verdict,) = judge(Snippet("name", "group", "tries", code))
    assert (verdict.status, verdict.evidence) == ("escaped", "a secret of the host came out")


def test_a_killed_host_process_is_an_escape_and_so_is_a_dead_neighbour() -> None:
    (victim,) = judge(Snippet("a", "group", "tries", "os.kill(HOST['victim_pid'], 9); contained('')"))
    assert "the host's process was killed" in victim.evidence
    code = "os.remove(__import__('glob').glob('../*/' + HOST['neighbour_file'])[0]); contained('')"
    (neighbour,) = judge(Snippet("b", "group", "tries", code))
    assert "the neighbour was hit" in neighbour.evidence


def test_the_folder_of_a_killed_driver_is_removed_and_that_of_a_living_one_stays() -> None:
    dead, living = Path(f"/tmp/{PREFIX}{2**22 + 1}-x"), Path(f"/tmp/{PREFIX}{os.getppid()}-x")
    for folder in (dead, living):
        folder.mkdir(exist_ok=True)
    with Witness():
        assert (dead.exists(), living.exists()) == (False, True)
    living.rmdir()


def test_what_is_left_of_a_process_is_found_by_its_name_and_by_its_parent() -> None:
    pid = os.fork()
    if pid == 0:
        Path("/proc/self/comm").write_text("molt-left-over")
        signal.pause()
    try:
        assert leftovers.settle(lambda: leftovers.processes_named("molt-left"), 0.2) == [
            f"process {pid} (molt-left-over)"
        ]
        below = leftovers.descendants(os.getpid())
        assert f"process {pid}" in leftovers.still_alive(below)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert f"process {pid}" not in leftovers.still_alive(below)


def test_a_report_holds_only_when_all_is_contained_and_nothing_left() -> None:
    good = Verdict("name", "group", "tries", "contained", "held", 0.1)
    assert Report("bare", (good,), ()).held
    assert not Report("bare", (good,), ("process 1",)).held
    assert not Report("bare", (Verdict("name", "group", "tries", "broken", "", 0.1),), ()).held
    assert "1 contained, 0 escaped, 0 broken; left behind: process 1" in left_behind(
        Report("bare", (good,), ("process 1",))
    )
    assert "held" in table([good])
