"""The budgets and habits of the code: modules in, one sentence for each violation out.

Blank, comment and docstring lines are not counted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from tests.architecture.source import Module

BUDGETS: dict[str, tuple[int, tuple[str, ...]]] = {
    "molt_train": (9200, ("molt_train",)),
    "the hub": (4000, ("molt_envs",)),
    "what is built on the hub": (
        4000,
        (
            "molt_envs.checks",
            "molt_envs.evaluate",
            "molt_envs.scaffold",
            "molt_envs.serve",
            "molt_envs.adapters",
        ),
    ),
    "sandboxes": (2000, ("sandboxes",)),
    "attacks, images and commands": (
        800,
        ("sandboxes.attack", "sandboxes.images", "sandboxes.doctor", "sandboxes.__main__"),
    ),
}
"""Lines of a part, and the packages that it is; a module belongs to the part with its longest name."""
FAMILY_LINES = 500
LARGE_FAMILIES = {
    "molt_envs.families.alfworld": 800,  # six types of task, a planner, and a reader of the original's files
    "molt_envs.families.games": 700,  # three games
    "molt_envs.families.webshop": 900,  # text and browser, and an index for a million products
}
FILE_LINES = 400
MEDIAN_FILE_LINES = 120
FUNCTION_LINES = 60
LINES_PER_GETATTR = 1000
DUMPS = ("utils", "util", "common", "helpers", "misc")
FAMILIES = "molt_envs.families."

Function = ast.FunctionDef | ast.AsyncFunctionDef


def packages_fit(modules: Sequence[Module]) -> Iterator[str]:
    """A package, the hub without its families, or a family over its budget."""
    sizes: dict[str, int] = {}
    for module in modules:
        unit = _unit(module)
        sizes[unit] = sizes.get(unit, 0) + len(module.code_lines)
    for unit, lines in sorted(sizes.items()):
        limit = BUDGETS[unit][0] if unit in BUDGETS else LARGE_FAMILIES.get(unit, FAMILY_LINES)
        if lines > limit:
            yield f"{unit}: {lines} lines of code, the budget is {limit}"


def files_fit(modules: Sequence[Module]) -> Iterator[str]:
    """A file over the limit, and a median over its own."""
    for module in modules:
        if len(module.code_lines) > FILE_LINES:
            yield f"{module.path}: {len(module.code_lines)} lines of code, at most {FILE_LINES}"
    sizes = [len(module.code_lines) for module in modules if module.code_lines]
    if sizes and median(sizes) > MEDIAN_FILE_LINES:
        yield f"the median file has {median(sizes):g} lines of code, at most {MEDIAN_FILE_LINES}"


def functions_fit(modules: Sequence[Module], exempt: Mapping[str, str]) -> Iterator[str]:
    """A function over the limit that no exemption names, and an exemption that nothing needs."""
    long: dict[str, int] = {}
    for module in modules:
        for name, node in functions(module):
            span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            lines = sum(line in module.code_lines for line in span)
            if lines > FUNCTION_LINES:
                long[f"{module.path}:{name}"] = lines
    for place, lines in long.items():
        if place not in exempt:
            yield f"{place}: {lines} lines of code, at most {FUNCTION_LINES}"
    yield from (
        f"{place}: exempt from the length of functions, but not long" for place in exempt if place not in long
    )


def getattr_is_rare(modules: Sequence[Module]) -> Iterator[str]:
    """More calls of getattr and hasattr than one in a thousand lines."""
    calls = [
        f"{module.path}:{node.lineno}"
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"getattr", "hasattr"}
    ]
    lines = sum(len(module.code_lines) for module in modules)
    if len(calls) * LINES_PER_GETATTR > lines:
        yield f"{len(calls)} calls of getattr or hasattr in {lines} lines of code: {', '.join(calls)}"


def no_dumps(modules: Sequence[Module]) -> Iterator[str]:
    """A module named after nothing in particular."""
    for module in modules:
        if module.name.rpartition(".")[2] in DUMPS:
            yield f"{module.path}: name the module after the one thing that it holds"


def excepts_are_narrow(modules: Sequence[Module], exempt: Mapping[str, str]) -> Iterator[str]:
    """A bare except; a broad one in a function that no exemption names; an exemption that nothing needs."""
    broad: set[str] = set()
    for module in modules:
        for place, handler in _handlers(module):
            if handler.type is None:
                yield f"{module.path}:{handler.lineno}: bare except"
            elif {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} & {
                "Exception",
                "BaseException",
            }:
                broad.add(place)
                if place not in exempt:
                    yield f"{place} (line {handler.lineno}): catches {ast.unparse(handler.type)}, too broad"
    yield from (f"{place}: exempt, but catches nothing broad" for place in exempt if place not in broad)


def public_functions_are_annotated(modules: Sequence[Module]) -> Iterator[str]:
    """A public function without the type of a parameter or of its result."""
    for module in modules:
        for name, node in functions(module):
            if any(part.startswith("_") and part != "__init__" for part in name.split(".")) or "<" in name:
                continue
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            extra = [argument for argument in (node.args.vararg, node.args.kwarg) if argument is not None]
            bare = [argument.arg for argument in [*arguments, *extra] if argument.annotation is None]
            missing = [argument for argument in bare if argument not in {"self", "cls"}]
            if missing or node.returns is None:
                yield f"{module.path}:{name}: no type for {', '.join(missing or ['the result'])}"


def functions(module: Module) -> Iterator[tuple[str, Function]]:
    """Every function with its qualified name; one inside another is `outer.<locals>.inner`."""
    yield from _functions(module.tree, "")


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _handlers(module: Module) -> Iterator[tuple[str, ast.ExceptHandler]]:
    spans = [(node.lineno, node.end_lineno or node.lineno, name) for name, node in functions(module)]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler):
            around = [span for span in spans if span[0] <= node.lineno <= span[1]]
            yield f"{module.path}:{max(around)[2] if around else '<module>'}", node


def _unit(module: Module) -> str:
    if module.name.startswith(FAMILIES):
        return ".".join(module.name.split(".")[:3])
    homes = [
        (len(package), unit)
        for unit, (_, packages) in BUDGETS.items()
        for package in packages
        if f"{module.name}.".startswith(f"{package}.")
    ]
    return max(homes)[1]
