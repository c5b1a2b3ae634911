"""Registers the hub's and its plug-ins' environments with Gymnasium, as data.

In: the catalogue and the entry points of group `molt_envs.envs` (name: id, value: `module:Class`).
Out: ids that `gymnasium.make` knows; a plug-in that is broken or clashes is a `PluginWarning` that names it.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Iterator
from importlib import metadata

import gymnasium
import gymnasium.error

from molt_envs.catalog import BUILT_IN, EnvEntry
from molt_envs.errors import UnknownEnvError

ENTRY_POINT_GROUP = "molt_envs.envs"
_entries: dict[str, EnvEntry] = {}


class PluginWarning(UserWarning):
    """A plug-in could not be registered; the message names it and says why."""


def entries() -> tuple[EnvEntry, ...]:
    """All registered environments of the hub and its plug-ins, sorted by id."""
    return tuple(_entries[env_id] for env_id in sorted(_entries))


def resolve(name: str) -> EnvEntry:
    """The entry that `name` means; the namespace `molt/` may be left out.

    Raises:
        UnknownEnvError: no such id; the message suggests near ones.
    """
    for env_id in (name, f"molt/{name}"):
        if env_id in _entries:
            return _entries[env_id]
    near = suggestions(name)
    hint = f"did you mean {' or '.join(near)}?" if near else "`molt-envs list` shows all"
    raise UnknownEnvError(f"unknown environment {name!r}; {hint}")


def suggestions(name: str, num_most: int = 3) -> tuple[str, ...]:
    """Ids that resemble `name`, the nearest first; case, namespace and version count little."""
    keys: dict[str, str] = {}
    for env_id in sorted(_entries):
        bare = env_id.partition("/")[2]
        for key in (env_id, bare, bare.rpartition("-v")[0]):
            keys.setdefault(key.casefold(), env_id)
    asked = name.casefold()
    wanted = (asked, asked.rpartition("/")[2], asked.rpartition("/")[2].rpartition("-v")[0])
    found: list[str] = []
    for text in wanted:
        for key in difflib.get_close_matches(text, keys, n=num_most, cutoff=0.6):
            if keys[key] not in found:
                found.append(keys[key])
    return tuple(found[:num_most])


def register_all() -> None:
    """Register the catalogue, then the installed plug-ins; a later call picks up new plug-ins."""
    for entry in BUILT_IN:
        _register(entry)
    for distribution, point in _plugin_points():
        try:
            entry = EnvEntry(point.name, point.value, f"plug-in of {distribution}", distribution)
            _register(entry)
        except (ValueError, gymnasium.error.Error) as error:
            _warn(f"environment {point.name!r} of {distribution} is left out: {error}")


def _register(entry: EnvEntry) -> None:
    known = _entries.get(entry.env_id)
    if known is not None and known.entry_point != entry.entry_point:
        raise ValueError(f"the id is taken by {known.entry_point} of {known.source}")
    spec = gymnasium.registry.get(entry.env_id)
    if spec is None:
        gymnasium.register(entry.env_id, entry_point=entry.entry_point)  # pyright: ignore[reportUnknownMemberType]
    elif spec.entry_point != entry.entry_point:
        raise ValueError(f"the id is taken by {spec.entry_point}, registered elsewhere")
    _entries.setdefault(entry.env_id, entry)


def _plugin_points() -> Iterator[tuple[str, metadata.EntryPoint]]:
    """Plug-ins with their distributions' names; one unreadable distribution does not hide the others."""
    try:
        points: Iterable[metadata.EntryPoint] = metadata.entry_points(group=ENTRY_POINT_GROUP)
    except (TypeError, ValueError, OSError):
        yield from _points_one_by_one()
        return
    for point in points:
        yield _source(point.dist), point


def _points_one_by_one() -> Iterator[tuple[str, metadata.EntryPoint]]:
    for distribution in metadata.distributions():
        try:
            points = [point for point in distribution.entry_points if point.group == ENTRY_POINT_GROUP]
        except (TypeError, ValueError, OSError) as error:
            _warn(f"the entry points of {_source(distribution)} are unreadable: {error}")
            continue
        for point in points:
            yield _source(distribution), point


def _source(distribution: metadata.Distribution | None) -> str:
    if distribution is None:
        return "an unnamed distribution"
    name = distribution.metadata["Name"]
    return name if isinstance(name, str) else "a distribution without a name"  # pyright: ignore[reportUnnecessaryIsInstance]


def _warn(message: str) -> None:
    warnings.warn(message, PluginWarning, stacklevel=4)
