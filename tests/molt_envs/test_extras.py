"""A library that is not installed is one clear sentence."""

from __future__ import annotations

import json

import pytest

from molt_envs.extras import import_extra


def test_a_missing_library_names_the_command_that_installs_it() -> None:
    with pytest.raises(ImportError) as caught:
        import_extra("no_such_library.inner", "some-extra", "molt/Some-v0")
    expected = "molt/Some-v0 needs no_such_library, which is not installed: pip install 'molt-rl[some-extra]'"
    assert str(caught.value) == expected


def test_a_library_that_is_there_is_imported() -> None:
    assert import_extra("json", "some-extra", "molt/Some-v0") is json
