"""The rules of who imports whom: modules in, one sentence for each violation out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.architecture.layers import HOMES, HUB_LAYERS, NOT_SHIPPED, PACKAGE_ORDER
from tests.architecture.source import Import, Module


def packages_point_down(modules: Sequence[Module]) -> Iterator[str]:
    """An import of a package further up, or of what does not ship."""
    for module, imported in _all_imports(modules):
        own, other = _top(module.name), _top(imported.target)
        if other in NOT_SHIPPED and own in PACKAGE_ORDER:
            yield f"{_at(module, imported)}: {own} imports {other}, which does not ship"
        elif (
            own in PACKAGE_ORDER
            and other in PACKAGE_ORDER
            and PACKAGE_ORDER.index(other) > PACKAGE_ORDER.index(own)
        ):
            yield f"{_at(module, imported)}: {own} imports {other}, which lies above it"


def heavy_imports_stay_home(modules: Sequence[Module]) -> Iterator[str]:
    """An import of torch, ray, … outside of its home."""
    for module, imported in _all_imports(modules):
        homes = HOMES.get(_top(imported.target))
        if (
            homes is not None
            and not imported.typing_only
            and not any(_is_within(module.name, home) for home in homes)
        ):
            yield f"{_at(module, imported)}: {_top(imported.target)} belongs in {', '.join(homes)}"


def families_stand_alone(modules: Sequence[Module]) -> Iterator[str]:
    """A family that imports another one, and an import of a family from outside of the families."""
    for module, imported in _all_imports(modules):
        own, other = _family(module.name), _family(imported.target)
        if other is not None and own is not None and other != own:
            yield f"{_at(module, imported)}: the family {own} imports the family {other}"
        elif other is not None and own is None and _top(module.name) in PACKAGE_ORDER:
            yield f"{_at(module, imported)}: {module.name} imports the family {other}; name its id instead"


def private_names_stay_inside(modules: Sequence[Module]) -> Iterator[str]:
    """A private name (`_x`) taken from another package, or by a family from the hub."""
    for module, imported in _all_imports(modules):
        same_unit = _top(module.name) == _top(imported.target) and _family(module.name) == _family(
            imported.target
        )
        private = any(
            part.startswith("_") and not part.startswith("__") for part in imported.target.split(".")
        )
        if private and not same_unit and _top(imported.target) in PACKAGE_ORDER:
            yield f"{_at(module, imported)}: {imported.target} is private to {_top(imported.target)}"


def hub_layers_point_up_the_list(modules: Sequence[Module]) -> Iterator[str]:
    """In `molt_envs`: an import from a layer below in the list, and a module that no layer names."""
    levels = {name: level for level, names in enumerate(HUB_LAYERS) for name in names}
    known = {module.name for module in modules}
    for module in modules:
        if _top(module.name) == "molt_envs" and _layer(module.name) not in levels:
            yield f"{module.path}: no layer names {_layer(module.name)!r}; give it a row in HUB_LAYERS"
    for module, imported in _all_imports(modules):
        target = _resolve(imported.target, known)
        if target is None or _top(module.name) != "molt_envs" or _top(target) != "molt_envs":
            continue
        own, other = _layer(module.name), _layer(target)
        if own == "__init__" or own == other or own not in levels or other not in levels:
            continue
        if levels[other] >= levels[own] and not imported.typing_only:
            yield f"{_at(module, imported)}: {own} imports {other}, which stands below it in HUB_LAYERS"


def no_cycles(modules: Sequence[Module]) -> Iterator[str]:
    """Modules that import each other in a ring, also when an import waits inside a function."""
    known = {module.name for module in modules}
    graph: dict[str, set[str]] = {module.name: set() for module in modules}
    for module, imported in _all_imports(modules):
        target = _resolve(imported.target, known)
        if target is not None and target != module.name and not imported.typing_only:
            graph[module.name].add(target)
    for ring in _rings(graph):
        yield "import cycle: " + " -> ".join([*ring, ring[0]])


IMPORT_RULES = (
    packages_point_down,
    heavy_imports_stay_home,
    families_stand_alone,
    private_names_stay_inside,
    hub_layers_point_up_the_list,
    no_cycles,
)


def _all_imports(modules: Sequence[Module]) -> Iterator[tuple[Module, Import]]:
    for module in modules:
        for imported in module.imports:
            yield module, imported


def _at(module: Module, imported: Import) -> str:
    return f"{module.path}:{imported.line}"


def _top(name: str) -> str:
    return name.partition(".")[0]


def _is_within(name: str, home: str) -> bool:
    return name == home or name.startswith(home + ".")


def _family(name: str) -> str | None:
    parts = name.split(".")
    return parts[2] if parts[:2] == ["molt_envs", "families"] and len(parts) > 2 else None


def _layer(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def _resolve(target: str, known: set[str]) -> str | None:
    """The module that an imported name lies in: the longest known prefix."""
    while target and target not in known:
        target = target.rpartition(".")[0]
    return target or None


def _rings(graph: dict[str, set[str]]) -> list[list[str]]:
    """One ring for each module that can reach itself, each ring once; found by search from every module."""
    rings: dict[frozenset[str], list[str]] = {}
    for start in sorted(graph):
        came_from: dict[str, str] = {}
        pending = [start]
        while pending and start not in came_from:
            here = pending.pop(0)
            for following in sorted(graph[here]):
                if following not in came_from:
                    came_from[following] = here
                    pending.append(following)
        if start in came_from:
            ring = [came_from[start]]
            while ring[0] != start:
                ring.insert(0, came_from[ring[0]])
            rings.setdefault(frozenset(ring), ring)
    return list(rings.values())
