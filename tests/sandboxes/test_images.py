"""The image made from this machine's files, and an engine that cannot be started."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from sandboxes import SandboxUnavailable
from sandboxes.images.build import LEFT_OUT, OWN_FILES, PYTHON, image_name, image_tar
from sandboxes.images.engine import running_engine

needs_python = pytest.mark.skipif(not Path(PYTHON).exists(), reason=f"no {PYTHON} here")


@needs_python
def test_the_image_has_one_name_until_its_files_change() -> None:
    assert image_name() == image_name()
    assert image_name().startswith("molt-sandbox:")


@needs_python
def test_the_image_holds_python_a_shell_and_our_programs_each_file_once() -> None:
    with tarfile.open(fileobj=io.BytesIO(image_tar())) as tar:
        names = tar.getnames()
        work, sweep = tar.getmember("work"), tar.getmember("usr/lib/molt/sweep")
    assert len(set(names)) == len(names)
    own = {str(path.relative_to(OWN_FILES)) for path in OWN_FILES.rglob("*") if path.is_file()}
    assert own | {"usr/bin/python3", "usr/bin/sh", "usr/bin/cat"} <= set(names)
    assert any(name.endswith("/os.py") for name in names)
    assert any("ld-linux" in name for name in names)
    assert (work.mode, sweep.mode) == (0o700, 0o755)
    assert not any(name.startswith(("root/", "home/", "etc/shadow")) for name in names)


def test_tests_and_packages_of_the_host_are_left_out() -> None:
    assert LEFT_OUT.search("/usr/lib/python3.11/test/test_os.py")
    assert LEFT_OUT.search("/usr/lib/python3.11/site-packages/x.py")
    assert not LEFT_OUT.search("/usr/lib/python3.11/unittest/case.py")


def test_without_dockerd_the_refusal_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match=r"apt-get install .* docker\.io"), running_engine(tmp_path):
        pass
