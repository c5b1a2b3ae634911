"""Python sources as the rules see them: a checkout's root in, modules with imports and line counts out."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGES = ("sandboxes", "molt_envs", "molt_train")


@dataclass(frozen=True)
class Import:
    """One imported module, as an absolute name."""

    target: str
    """Dotted name; `from a import b` gives `a.b`, which may be a module or a name in `a`."""
    line: int
    """1-based line of the statement."""
    deferred: bool
    """Inside a function: it runs on a call and can close no cycle at import."""
    typing_only: bool
    """Under `if TYPE_CHECKING:`; never runs."""


@dataclass(frozen=True)
class Module:
    """One source file."""

    name: str
    """Dotted name; a package's is that of its folder."""
    path: str
    """Relative to the root, with forward slashes."""
    text: str
    """The whole source."""

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed source."""
        return ast.parse(self.text, filename=self.path)

    @cached_property
    def code_lines(self) -> frozenset[int]:
        """Numbers of the lines that hold code: no blank, comment or docstring lines."""
        return frozenset(_token_lines(self.text) - _docstring_lines(self.tree))

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every import, at any depth."""
        package = self.name if self.path.endswith("__init__.py") else self.name.rpartition(".")[0]
        return tuple(_imports(self.tree, package, deferred=False, typing_only=False))


def load_modules(root: Path, packages: Sequence[str] = PACKAGES) -> list[Module]:
    """All modules of the packages that exist under the root, in the order of their paths."""
    files = [file for package in packages for file in sorted((root / package).rglob("*.py"))]
    return [_load(root, file) for file in files]


def _load(root: Path, file: Path) -> Module:
    parts = file.relative_to(root).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, file.relative_to(root).as_posix(), file.read_text(encoding="utf-8"))


def _token_lines(text: str) -> set[int]:
    layout = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in layout:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def _docstring_lines(tree: ast.Module) -> set[int]:
    """Lines of every string that stands alone as a statement: docstrings, those of fields too."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def _imports(node: ast.AST, package: str, deferred: bool, typing_only: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, deferred, typing_only)
        elif isinstance(child, ast.ImportFrom):
            base = _absolute(child, package)
            for alias in child.names:
                yield Import(f"{base}.{alias.name}", child.lineno, deferred, typing_only)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for statement in child.body:
                yield from _imports(ast.Module([statement], []), package, deferred, typing_only=True)
            for statement in child.orelse:
                yield from _imports(ast.Module([statement], []), package, deferred, typing_only)
        else:
            inside = deferred or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(child, package, inside, typing_only)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)
