"""`open_sandbox` refuses what does not hold, and never takes another backend instead."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from sandboxes import Capabilities, SandboxUnavailable, Support, find_backend, open_sandbox
from sandboxes.backends import require

ALL_HELD = Capabilities(**{field.name: True for field in fields(Capabilities)})


@pytest.mark.parametrize("name", [field.name for field in fields(Capabilities)])
def test_untrusted_code_needs_every_capability(name: str) -> None:
    weaker = Support(replace(ALL_HELD, **{name: False}), ("Mend it so.",))
    with pytest.raises(SandboxUnavailable, match=f"does not hold {name} here.* Mend it so"):
        require("fake", weaker, "untrusted")


def test_trusted_code_takes_what_there_is() -> None:
    require("fake", Support(replace(ALL_HELD, memory_total=False)), "trusted")


def test_untrusted_code_is_accepted_when_all_is_held() -> None:
    require("fake", Support(ALL_HELD), "untrusted")


def test_an_unknown_trust_is_refused() -> None:
    with pytest.raises(ValueError, match="half"):
        require("fake", Support(ALL_HELD), "half")  # type: ignore[arg-type]


def test_an_unknown_backend_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ValueError, match="'jail'; take one of namespace, zygote, docker"):
        open_sandbox("jail")


def test_the_backends_of_this_package_are_found() -> None:
    assert [find_backend(name).name for name in ("namespace", "zygote")] == ["namespace", "zygote"]
