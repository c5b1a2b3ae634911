"""The doctor's findings, on fakes: what a machine lacks is said, with the way to get it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandboxes.__main__ import main
from sandboxes.base import Capabilities, SandboxUnavailable, Support
from sandboxes.doctor import Finding, examine

ALL = Capabilities(**dict.fromkeys(Capabilities.__annotations__, True))
WEAK = Capabilities(**{**vars(ALL), "memory_total": False, "num_processes": False})


def without_program() -> Support:
    raise SandboxUnavailable("needs bwrap, which is not installed; `apt-get install bubblewrap`")


def found(proc: Path = Path("/proc")) -> dict[str, Finding]:
    probes = {
        "whole": lambda: Support(ALL),
        "weak": lambda: Support(WEAK, ("Mount the control groups.",)),
        "absent": without_program,
    }
    return {finding.name: finding for finding in examine(probes, proc)}


def test_a_backend_that_holds_everything_needs_no_mend() -> None:
    assert found()["backend whole"] == Finding("backend whole", True, "holds untrusted code", "")


def test_a_weak_backend_is_for_trusted_code_and_names_what_it_lacks() -> None:
    weak = found()["backend weak"]
    assert not weak.works
    assert weak.says == "trusted code only: does not hold memory_total, num_processes"
    assert weak.mend == "Mount the control groups."


def test_a_backend_that_cannot_run_says_what_to_install() -> None:
    absent = found()["backend absent"]
    assert not absent.works
    assert "apt-get install bubblewrap" in absent.mend


@pytest.mark.parametrize(
    ("most", "switch", "works"), [("100", "1", True), ("0", "1", False), ("9", "0", False)]
)
def test_user_namespaces_need_a_number_and_the_switch(
    tmp_path: Path, most: str, switch: str, works: bool
) -> None:
    for name, text in {"user/max_user_namespaces": most, "kernel/unprivileged_userns_clone": switch}.items():
        path = tmp_path / "sys" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    finding = found(tmp_path)["user namespaces"]
    assert finding.works == works
    assert "sysctl" in finding.mend


def test_an_engine_that_does_not_answer_is_told_with_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    engine = next(finding for finding in examine() if finding.name == "backend docker")
    assert not engine.works
    assert "unix:///nowhere/docker.sock" in engine.mend


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert {"root", "backend namespace", "backend zygote", "backend docker"} <= {f["name"] for f in findings}


def test_an_attack_that_does_not_exist_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attack", "namespace", "--only", "nonsense"]) == 2
    assert "no attack is named so" in capsys.readouterr().err
