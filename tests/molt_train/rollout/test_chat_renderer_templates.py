"""Every template that trl ships, as docs/renderers.md says: followed token by token, or refused by name."""

from __future__ import annotations

import pytest

from tests.molt_train.rollout.chat_templates import shipped_templates
from tests.molt_train.rollout.template_verdicts import documented, measured

TEMPLATES = shipped_templates()


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_the_page_says_what_is_measured(name):
    assert documented()[name] == measured(name, TEMPLATES[name])


def test_the_page_has_no_other_template():
    assert set(documented()) == set(TEMPLATES)
