"""Each rule flags a small tree that breaks it, and no rule flags one that keeps them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from tests.architecture import budget_rules, import_rules
from tests.architecture.source import Module, load_modules
from tests.architecture.text_rules import names_no_machine

Rule = Callable[[Sequence[Module]], Iterator[str]]
INITS = ("sandboxes", "molt_envs", "molt_envs.protocol", "molt_envs.families", "molt_train")
GOOD = {
    "sandboxes/base.py": "import subprocess\n",
    "molt_envs/errors.py": "class E(ValueError):\n    pass\n",
    "molt_envs/protocol/episode.py": "from molt_envs.errors import E\n",
    "molt_envs/protocol/parquet.py": "def load() -> None:\n    import pyarrow\n",
    "molt_envs/families/shop/env.py": "from molt_envs.errors import E\nfrom . import pages\n",
    "molt_envs/families/shop/pages.py": "import sandboxes.base\n",
    "molt_train/algorithms/loss.py": "import torch\nfrom molt_envs.errors import E\n",
    "molt_train/cluster/launch.py": "import ray\n",
    "molt_train/cli.py": "if TYPE_CHECKING:\n    import torch\n",
}


def tree(root: Path, files: dict[str, str]) -> list[Module]:
    """Modules of a tree written under the root: the good one with some files added or replaced."""
    packages = {f"{name.replace('.', '/')}/__init__.py": "" for name in INITS}
    for name, text in (packages | GOOD | files).items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), encoding="utf-8")
    return load_modules(root)


def lines(num_lines: int) -> str:
    return "".join(f"x{number} = {number}\n" for number in range(num_lines))


BAD_IMPORTS: list[tuple[Rule, dict[str, str], str]] = [
    (
        import_rules.packages_point_down,
        {"sandboxes/a.py": "import molt_envs.errors"},
        "sandboxes imports molt_envs",
    ),
    (
        import_rules.packages_point_down,
        {"molt_envs/env.py": "import molt_train"},
        "molt_envs imports molt_train",
    ),
    (import_rules.packages_point_down, {"molt_envs/env.py": "from tests import x"}, "does not ship"),
    (
        import_rules.packages_point_down,
        {"molt_envs/env.py": "def f():\n    import molt_train.cli"},
        "env.py:2",
    ),
    (import_rules.heavy_imports_stay_home, {"molt_envs/env.py": "import torch"}, "env.py:1: torch"),
    (
        import_rules.heavy_imports_stay_home,
        {"molt_envs/env.py": "def f():\n    from torch import nn"},
        "env.py:2: torch",
    ),
    (import_rules.heavy_imports_stay_home, {"molt_train/config/a.py": "import torch"}, "torch"),
    (import_rules.heavy_imports_stay_home, {"molt_train/learner.py": "import transformers"}, "transformers"),
    (import_rules.heavy_imports_stay_home, {"molt_train/rollout/router.py": "import vllm"}, "vllm"),
    (import_rules.heavy_imports_stay_home, {"molt_train/loop/loop.py": "import ray.util"}, "ray"),
    (
        import_rules.heavy_imports_stay_home,
        {"molt_envs/protocol/wire.py": "import pyarrow.parquet"},
        "pyarrow",
    ),
    (
        import_rules.families_stand_alone,
        {"molt_envs/families/shop/env.py": "from molt_envs.families.house import rooms"},
        "the family shop imports the family house",
    ),
    (
        import_rules.families_stand_alone,
        {"molt_envs/families/shop/env.py": "from ..house import rooms"},
        "the family shop imports the family house",
    ),
    (
        import_rules.families_stand_alone,
        {"molt_envs/env.py": "import molt_envs.families.shop.env"},
        "name its id",
    ),
    (
        import_rules.families_stand_alone,
        {"molt_train/cli.py": "from molt_envs.families.shop import env"},
        "name its id",
    ),
    (
        import_rules.private_names_stay_inside,
        {"molt_train/cli.py": "from molt_envs.errors import _x"},
        "_x is private",
    ),
    (
        import_rules.private_names_stay_inside,
        {"molt_envs/families/shop/env.py": "from molt_envs.env import _y"},
        "_y",
    ),
    (
        import_rules.hub_layers_point_up_the_list,
        {"molt_envs/errors.py": "from molt_envs.protocol import episode"},
        "errors imports protocol",
    ),
    (
        import_rules.hub_layers_point_up_the_list,
        {"molt_envs/env.py": "from molt_envs import errors2"},
        "__init__",
    ),
    (import_rules.hub_layers_point_up_the_list, {"molt_envs/novelty.py": ""}, "no layer names 'novelty'"),
    (
        import_rules.no_cycles,
        {"molt_train/a.py": "import molt_train.b", "molt_train/b.py": "from . import a"},
        "molt_train.a -> molt_train.b -> molt_train.a",
    ),
    (
        import_rules.no_cycles,
        {
            "molt_train/a.py": "import molt_train.b",
            "molt_train/b.py": "import molt_train.c",
            "molt_train/c.py": "def f():\n    from molt_train.a import x",
        },
        "molt_train.a -> molt_train.b -> molt_train.c",
    ),
]


@pytest.mark.parametrize(("rule", "files", "words"), BAD_IMPORTS)
def test_bad_import_is_flagged(rule: Rule, files: dict[str, str], words: str, tmp_path: Path) -> None:
    found = list(rule(tree(tmp_path, files)))
    assert len(found) == 1
    assert words in found[0]


@pytest.mark.parametrize("rule", import_rules.IMPORT_RULES, ids=lambda rule: rule.__name__)
def test_good_tree_passes(rule: Rule, tmp_path: Path) -> None:
    assert list(rule(tree(tmp_path, {}))) == []


BUDGETS: list[tuple[Rule, dict[str, str], str]] = [
    (budget_rules.packages_fit, {"molt_train/a.py": lines(9300)}, "molt_train: 93"),
    (budget_rules.packages_fit, {"molt_envs/env.py": lines(4001)}, "the hub: 40"),
    (budget_rules.packages_fit, {"molt_envs/checks/a.py": lines(4001)}, "what is built on the hub: 40"),
    (budget_rules.packages_fit, {"sandboxes/a.py": lines(2001)}, "sandboxes: 20"),
    (budget_rules.packages_fit, {"sandboxes/attack/a.py": lines(801)}, "attacks, images and commands: 80"),
    (budget_rules.packages_fit, {"molt_envs/families/shop/a.py": lines(501)}, "molt_envs.families.shop: 50"),
    (budget_rules.files_fit, {"molt_train/a.py": lines(401)}, "molt_train/a.py: 401"),
    (budget_rules.files_fit, {f"molt_train/m{n}.py": lines(121) for n in range(20)}, "median file has 121"),
    (budget_rules.getattr_is_rare, {"molt_train/a.py": "getattr(x, 'y')\n" + lines(50)}, "molt_train/a.py:1"),
    (budget_rules.no_dumps, {"molt_train/model/utils.py": ""}, "molt_train/model/utils.py"),
    (budget_rules.no_dumps, {"molt_envs/common.py": ""}, "molt_envs/common.py"),
    (
        budget_rules.public_functions_are_annotated,
        {"molt_train/a.py": "def f(x) -> None: ..."},
        "f: no type for x",
    ),
    (
        budget_rules.public_functions_are_annotated,
        {"molt_train/a.py": "def f(x: int): ..."},
        "no type for the result",
    ),
]


@pytest.mark.parametrize(("rule", "files", "words"), BUDGETS)
def test_budget_is_held(rule: Rule, files: dict[str, str], words: str, tmp_path: Path) -> None:
    found = list(rule(tree(tmp_path, files)))
    assert len(found) == 1
    assert words in found[0]


def test_blank_comment_and_docstring_lines_are_free(tmp_path: Path) -> None:
    text = (
        '"""One.\n\nTwo.\n"""\n\n# three\nclass A:\n    """Four."""\n\n    x: int  # five\n    """Six."""\n'
    )
    (module,) = (
        module for module in tree(tmp_path, {"molt_train/a.py": text}) if module.name == "molt_train.a"
    )
    assert module.code_lines == {7, 10}


def test_lines_inside_a_string_value_count(tmp_path: Path) -> None:
    modules = tree(tmp_path, {"molt_train/a.py": 'x = """\none\n\ntwo\n"""\n'})
    (module,) = (module for module in modules if module.name == "molt_train.a")
    assert len(module.code_lines) == 5


def test_long_function_is_flagged_unless_exempt(tmp_path: Path) -> None:
    body = "".join(f"        x{number} = {number}\n" for number in range(60))
    modules = tree(tmp_path, {"molt_train/a.py": f"class A:\n    def f(self) -> None:\n{body}"})
    assert list(budget_rules.functions_fit(modules, {})) == [
        "molt_train/a.py:A.f: 61 lines of code, at most 60"
    ]
    assert list(budget_rules.functions_fit(modules, {"molt_train/a.py:A.f": "one table"})) == []


def test_function_at_the_limit_passes(tmp_path: Path) -> None:
    body = "".join(f"    x{number} = {number}\n" for number in range(59))
    modules = tree(tmp_path, {"molt_train/a.py": f'def f() -> None:\n    """Why."""\n{body}'})
    assert list(budget_rules.functions_fit(modules, {})) == []


def test_exemptions_do_not_rot(tmp_path: Path) -> None:
    modules = tree(tmp_path, {})
    assert "not long" in next(budget_rules.functions_fit(modules, {"molt_train/gone.py:f": "was long"}))
    assert "nothing broad" in next(
        budget_rules.excepts_are_narrow(modules, {"molt_train/gone.py:f": "was broad"})
    )


@pytest.mark.parametrize(
    "caught", ["", " Exception", " BaseException", " (ValueError, Exception)", " Exception as e"]
)
def test_broad_except_is_flagged(caught: str, tmp_path: Path) -> None:
    text = f"def f() -> None:\n    try:\n        pass\n    except{caught}:\n        pass\n"
    modules = tree(tmp_path, {"molt_envs/env.py": text})
    assert len(list(budget_rules.excepts_are_narrow(modules, {}))) == 1


def test_exempt_function_may_catch_exception_but_never_all(tmp_path: Path) -> None:
    text = "def f() -> None:\n    try:\n        x\n    except Exception:\n        y\n    except:\n        z\n"
    modules = tree(tmp_path, {"molt_envs/env.py": text})
    found = list(budget_rules.excepts_are_narrow(modules, {"molt_envs/env.py:f": "the episode's boundary"}))
    assert found == ["molt_envs/env.py:6: bare except"]


@pytest.mark.parametrize(
    "line",
    [
        "see /" + "work/main",
        "cd /" + "root/x",
        "url = https://pypi" + ".org/simple",
        "pip --index" + "-url x",
    ],
)
def test_machine_words_are_flagged(line: str) -> None:
    assert len(list(names_no_machine({"a.md": "fine\n" + line}))) == 1


@pytest.mark.parametrize(
    "line", ["docs/" + "work/plan", "https://example.com/" + "work/", "a fair amount of work/play"]
)
def test_ordinary_words_pass(line: str) -> None:
    assert list(names_no_machine({"a.md": line})) == []
