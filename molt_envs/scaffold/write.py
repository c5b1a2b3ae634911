"""Writes the package of a new environment from the templates of its kind.

In: a name and a kind. Out: a folder that installs, and passes `molt-envs check`, as it is written.
"""

from __future__ import annotations

import importlib.util
import keyword
import os
import re
import shutil
import tempfile
from pathlib import Path
from string import Template

_TEMPLATES = Path(__file__).parent / "templates"
_SHARED = "_shared"
_SUFFIX = ".tmpl"


def kinds() -> tuple[str, ...]:
    """The kinds that there are: the template folders."""
    return tuple(sorted(path.name for path in _TEMPLATES.iterdir() if path.is_dir() and path.name != _SHARED))


def env_id_of(name: str) -> str:
    """The id under which the package `name` registers its environment."""
    return f"{name}/{_class_name(name)}-v0"


def write_package(name: str, kind: str, folder: Path) -> Path:
    """Write the package into `folder / name`; gives that folder, which appears only when it is complete.

    Raises:
        ValueError: the name cannot be a package's, or is taken; the kind does not exist; the folder does.
    """
    if kind not in kinds():
        raise ValueError(f"unknown kind {kind!r}; there are {', '.join(kinds())}")
    _check_name(name)
    target = folder / name
    if target.exists():
        raise ValueError(f"{target} exists; choose another name, or another folder with --dir")
    names = {
        "name": name,
        "kind": kind,
        "class_name": _class_name(name),
        "env_id": env_id_of(name),
        "distribution": name.replace("_", "-"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=folder))
    try:
        for source in (_TEMPLATES / _SHARED, _TEMPLATES / kind):
            for file in sorted(source.rglob(f"*{_SUFFIX}")):
                path = file.relative_to(source).as_posix().removesuffix(_SUFFIX)
                written = partial / re.sub("^package/", f"{name}/", path)
                written.parent.mkdir(parents=True, exist_ok=True)
                text = Template(file.read_text(encoding="utf-8")).substitute(names)
                written.write_text(text, encoding="utf-8")
        partial.chmod(0o755)
        os.rename(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def _class_name(name: str) -> str:
    """`my_env` gives `MyEnv`; the class is the environment, so `maze` gives `MazeEnv`."""
    camel = "".join(part.capitalize() for part in name.split("_"))
    return camel if camel.endswith("Env") else f"{camel}Env"


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise ValueError(
            f"{name!r} is no name for a package: small letters, digits and single underscores, "
            "a letter first, no keyword; such as my_env"
        )
    if name in ("tests", "molt_envs", "molt_train") or importlib.util.find_spec(name) is not None:
        raise ValueError(f"a package {name!r} exists already and would hide this one; choose another name")
