"""Tasks by name: a split and an index in, a project with one bug out."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from molt_envs.families.code_repair.library import MODULES, Bug, Module, broken, bugs, module, outcomes

SPLITS = {"train": 3000, "validation": 200, "test": 400}
PACKAGES = ("toolbox", "helpers", "workshop", "basics", "toolkit", "pieces", "drawer", "kit")


@dataclass(frozen=True)
class Repair:
    """One task."""

    package: str
    """Name of the project's package."""
    files: Mapping[str, str]
    """The project as the agent finds it, by path."""
    broken: Module
    """The module with the bug, as it should be."""
    bug: Bug
    """What is wrong in it."""
    modules: Sequence[str]
    """All modules of the package; the hidden calls go to each."""

    @property
    def broken_path(self) -> str:
        """Path of the file with the bug."""
        return f"{self.package}/{self.broken.name}.py"

    @property
    def sources(self) -> list[str]:
        """Paths of the files that are judged."""
        return [f"{self.package}/{name}.py" for name in self.modules]

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Module and expression of each hidden call."""
        return [(f"{self.package}.{name}", call) for name in self.modules for call in module(name).calls]

    @property
    def outcomes(self) -> list[str]:
        """What each of the calls must give."""
        return [text for name in self.modules for text in outcomes(name)]


def repair(split: str, index: int) -> Repair:
    """The task; the same in every process."""
    rng = random.Random(f"{split}:{index}")
    choices = [(name, bug) for name in MODULES[split] for bug in bugs(name)]
    random.Random(split).shuffle(choices)  # so that the first tasks are not all about one module
    name, bug = choices[index % len(choices)]
    package = rng.choice(PACKAGES)
    others = [other for other in MODULES[split] if other != name]
    modules = sorted([name, *rng.sample(others, min(2, len(others)))])
    files = {"README.md": f"# {package}\n\nSmall modules, one file each; the tests are in tests/.\n"}
    for each in map(module, modules):
        code = broken(each.code, bug) if each.name == name else each.code
        files[f"{package}/{each.name}.py"] = code
        imports = f"from {package}.{each.name} import {', '.join(each.public)}\n\n\n"
        files[f"tests/test_{each.name}.py"] = imports + each.tests.lstrip("\n")
    return Repair(package, files, module(name), bug, modules)
