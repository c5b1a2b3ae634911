"""Makes `bugs.json` and `outcomes.json`: the library in, those changes of one line that tests notice out.

Run `python -m molt_envs.families.code_repair.build` after a change of the library. A bug is kept if a shown
test fails and at least two hidden calls give something else, so that mending the shown case alone is no use.
"""

import ast
import json
import signal
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType, ModuleType

from molt_envs.families.code_repair.library import DATA, MODULES, Bug, Module, broken, module
from molt_envs.families.code_repair.project_program import outcome

MIN_CHANGED_CALLS = 2
MAX_RUN_S = 1.0
SWAPS: Mapping[type[ast.AST], Sequence[type[ast.AST]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.FloorDiv: (ast.Mult, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
    ast.Div: (ast.FloorDiv,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}


class _TooLong(BaseException):
    pass


def main() -> None:
    """Write both files."""
    names = [name for split in MODULES.values() for name in split]
    right = {name: _outcomes(module(name), module(name).code) for name in names}
    found = {name: [[bug.line, bug.text] for bug in _bugs(module(name), right[name])] for name in names}
    for file, content in (("bugs.json", found), ("outcomes.json", right)):
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (DATA / file).write_text(text + "\n", encoding="utf-8")
    print(", ".join(f"{name} {len(listed)}" for name, listed in found.items()))


def _bugs(item: Module, right: Sequence[str]) -> Generator[Bug]:
    seen: set[Bug] = set()
    for bug in _changes(item.code):
        if bug in seen:
            continue
        seen.add(bug)
        code = broken(item.code, bug)
        try:
            compile(code, item.name, "exec")
        except SyntaxError:
            continue
        changed = sum(now != before for now, before in zip(_outcomes(item, code), right, strict=True))
        if changed >= MIN_CHANGED_CALLS and not _passes(item, code):
            yield bug


def _changes(code: str) -> Generator[Bug]:
    """Every way to change one node; the text around it stays as it is."""
    lines = code.splitlines()
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.expr) or node.lineno != node.end_lineno:
            continue
        line = lines[node.lineno - 1]
        segment = line[node.col_offset : node.end_col_offset]
        for new in _variants(node):
            if "'" not in segment:
                new = new.replace("'", '"')  # another style would give the place away
            if isinstance(node, ast.Tuple) and not segment.startswith("("):
                new = new[1:-1]
            changed = line[: node.col_offset] + new + line[node.end_col_offset :]
            if changed.count("'") == line.count("'"):
                yield Bug(node.lineno - 1, changed)


def _variants(node: ast.expr) -> Generator[str]:
    match node:
        case ast.Compare(left, [operator], [right]):
            for new in SWAPS.get(type(operator), ()):
                yield ast.unparse(ast.Compare(left, [new()], [right]))  # pyright: ignore[reportArgumentType]
        case ast.BinOp(left, operator, right):
            for new in SWAPS.get(type(operator), ()):
                yield ast.unparse(ast.BinOp(left, new(), right))  # pyright: ignore[reportArgumentType]
        case ast.BoolOp(operator, values):
            for new in SWAPS[type(operator)]:
                yield ast.unparse(ast.BoolOp(new(), values))  # pyright: ignore[reportArgumentType]
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield ast.unparse(operand)
        case ast.Constant(bool(value)):
            yield str(not value)
        case ast.Constant(int(value)):
            yield from (str(value + 1), str(max(0, value - 1)))
        case ast.Call(ast.Name(("min" | "max") as name), arguments, keywords):
            other = ast.Name("max" if name == "min" else "min")
            yield ast.unparse(ast.Call(other, arguments, keywords))
        case ast.Call(ast.Name("sorted"), [first, *_], _):
            yield ast.unparse(first)
        case ast.Tuple([first, second], ast.Load()):
            yield f"({ast.unparse(second)}, {ast.unparse(first)})"
        case _:
            return


def _outcomes(item: Module, code: str) -> list[str]:
    sys.modules[item.name] = loaded = ModuleType(item.name)
    results: list[str] = []
    with _limit():
        exec(compile(code, item.name, "exec"), vars(loaded))
    for call in item.calls:
        try:
            with _limit():
                results.append(outcome(item.name, call))
        except _TooLong:
            results.append("endless")
    del sys.modules[item.name]
    return results


def _passes(item: Module, code: str) -> bool:
    names: dict[str, object] = {}
    exec(compile(f"{code}\n{item.tests}", item.name, "exec"), names)
    for name, test in [*names.items()]:
        if name.startswith("test_") and callable(test):
            try:
                with _limit():
                    test()
            except BaseException:  # SystemExit and a time-out among them
                return False
    return True


@contextmanager
def _limit() -> Generator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MAX_RUN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    main()
