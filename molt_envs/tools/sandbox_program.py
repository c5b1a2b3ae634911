"""What runs inside of a sandbox for an episode: requests in, what Python or the shell printed out.

In: JSON lines, `{"id", "kind", "text"}`, the kind is `python` or `shell`. Out: one JSON line each, `{"id",
"output"}`. Names that the code defines, and the shell's folder, stay for the next request. It is given to an
interpreter as text, so it imports nothing but the standard library, and it holds no secrets.
"""

import ast
import code
import json
import linecache
import os
import subprocess
import sys

MAX_OUTPUT_BYTES = 20_000
FOLDER = "/work"
SHELL = """trap 'pwd > "/proc/self/fd/$2"' EXIT; eval "$1\""""


class Program:
    """Streams and state; standard output and error go to a file in memory, whoever writes there."""

    def __init__(self) -> None:
        self._requests = os.fdopen(os.dup(0), "rb")
        self._replies = os.fdopen(os.dup(1), "wb")
        self._output, self._where = os.memfd_create("output"), os.memfd_create("where")
        self._nothing = os.open(os.devnull, os.O_RDONLY)
        self._streams = sys.stdin, sys.stdout, sys.stderr
        self._interpreter = code.InteractiveInterpreter({"__name__": "__main__", "__show__": sys.displayhook})
        self._folder = FOLDER
        self._num_cells = 0

    def serve(self) -> None:
        """Answer until the requests end."""
        self._reply({"ready": True})
        for line in self._requests:
            request: dict[str, str] = json.loads(line)
            self._prepare()
            run = self._run_python if request["kind"] == "python" else self._run_shell
            note = run(request["text"])
            self._reply({"id": request["id"], "output": self._printed() + note})

    def _reply(self, reply: dict[str, object]) -> None:
        self._replies.write(json.dumps(reply).encode() + b"\n")
        self._replies.flush()

    def _prepare(self) -> None:
        os.ftruncate(self._output, 0)
        os.lseek(self._output, 0, os.SEEK_SET)
        for source, target in ((self._nothing, 0), (self._output, 1), (self._output, 2)):
            os.dup2(source, target)
        sys.stdin, sys.stdout, sys.stderr = self._streams

    def _run_python(self, text: str) -> str:
        self._num_cells += 1
        name = f"<cell {self._num_cells}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        try:
            tree = ast.parse(text, name)
            _show_last(tree)
            compiled = compile(tree, name, "exec")
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
            self._interpreter.showsyntaxerror(name)
            return ""
        try:
            self._interpreter.runcode(compiled)
        except SystemExit as error:
            return f"SystemExit: {error.code}; the interpreter goes on\n"
        except OSError:
            return "OSError: standard error is closed or full\n"  # so that no traceback can be written
        return ""

    def _run_shell(self, command: str) -> str:
        os.ftruncate(self._where, 0)
        folder = self._folder if os.path.isdir(self._folder) else FOLDER
        words = ["/bin/sh", "-c", SHELL, "sh", command, str(self._where)]
        done = subprocess.run(words, stdin=self._nothing, cwd=folder, pass_fds=(self._where,))
        self._folder = os.fsdecode(os.pread(self._where, 4096, 0)).rstrip("\n") or folder
        return f"[exit code {done.returncode}]\n" if done.returncode else ""

    def _printed(self) -> str:
        size = os.fstat(self._output).st_size
        if size <= MAX_OUTPUT_BYTES:
            return _text(os.pread(self._output, size, 0))
        half = MAX_OUTPUT_BYTES // 2
        head, tail = os.pread(self._output, half, 0), os.pread(self._output, half, size - half)
        return f"{_text(head)}\n… {size - 2 * half} of {size} bytes left out …\n{_text(tail)}"


def _show_last(tree: ast.Module) -> None:
    """Have the value of the last statement shown, as in a notebook, if it is an expression."""
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        show = ast.Name("__show__", ast.Load())
        last.value = ast.Call(func=show, args=[last.value], keywords=[])
        ast.fix_missing_locations(tree)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


if __name__ == "__main__":
    Program().serve()
