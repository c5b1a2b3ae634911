"""The tools of an MCP server: a command in; `Tool`s that call it out, in a sandbox of each episode's own.

Messages are JSON-RPC lines over the server's streams, checked against the types of the `mcp` SDK. What the
server says of a call goes to the agent; a server that does not start is an `InfrastructureError`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, cast

from molt_envs.errors import InfrastructureError
from molt_envs.extras import import_extra
from molt_envs.tools.calls import Tool, ToolError
from molt_envs.tools.schema import tool_schema
from sandboxes import Limits, ProcessEnded, Sandbox, SandboxError, SandboxProcess, open_sandbox
from sandboxes.backends import find_backend, require

VERSION = "2025-06-18"
"""Of the protocol, as offered; a server may answer with another."""
START_TIMEOUT_S = 60.0
CALL_TIMEOUT_S = 30.0
MAX_PAGES = 100
NO_METHOD = -32601
LIMITS = Limits(cpu_s=600)
"""A server lives for an episode."""

Json = dict[str, Any]


class McpServerError(Exception):
    """The server broke off, was too slow, or answered with something else than MCP."""


class McpConnection:
    """One session with a running server; requests one after the other.

    Args:
        process: the server, from `Sandbox.start` or anything alike.
        start_timeout_s: seconds for the greeting and the list of tools.

    Raises:
        McpServerError: it does not greet as an MCP server does.
        ImportError: the extra `mcp` is not installed.
    """

    def __init__(self, process: SandboxProcess, start_timeout_s: float = START_TIMEOUT_S) -> None:
        self._types: Json = vars(import_extra("mcp.types", "mcp", "an MCP server"))
        self._process = process
        self._ids = count(1)
        client = {"name": "molt-envs", "version": "0"}
        hello = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client}
        self._parsed("InitializeResult", self._request("initialize", hello, start_timeout_s))
        self._send({"method": "notifications/initialized"})
        self.listed: list[Json] = []
        """The tools as the server lists them: `name`, `description`, `inputSchema`."""
        cursor: Json = {}
        for _ in range(MAX_PAGES):
            page = self._parsed("ListToolsResult", self._request("tools/list", cursor, start_timeout_s))
            self.listed += page["tools"]
            if not page.get("nextCursor"):
                return
            cursor = {"cursor": page["nextCursor"]}
        raise McpServerError(f"it lists its tools on more than {MAX_PAGES} pages")

    def call(self, name: str, arguments: Mapping[str, Any], timeout_s: float = CALL_TIMEOUT_S) -> str:
        """What a tool says.

        Raises:
            ToolError: the tool refuses; its words.
            McpServerError: the server failed.
        """
        asked = {"name": name, "arguments": dict(arguments)}
        result = self._parsed("CallToolResult", self._request("tools/call", asked, timeout_s))
        text = "\n".join(_told(block) for block in result["content"]) or "(nothing)"
        if result.get("isError"):
            raise ToolError(text)
        return text

    def _request(self, method: str, params: Json, timeout_s: float) -> Json:
        deadline_s, number = time.monotonic() + timeout_s, next(self._ids)
        self._send({"id": number, "method": method, "params": params})
        while True:
            match self._receive(max(0.0, deadline_s - time.monotonic())):
                case {"id": answered, "result": result} if answered == number:
                    return result
                case {"id": answered, "error": {"message": str(problem)}} if answered == number:
                    raise ToolError(problem)
                case {"id": asked, "method": "ping"}:
                    self._send({"id": asked, "result": {}})
                case {"id": asked, "method": str(unknown)}:
                    refusal = {"code": NO_METHOD, "message": f"{unknown} is not offered here"}
                    self._send({"id": asked, "error": refusal})
                case _:
                    pass  # a notification, or an answer that comes too late

    def _send(self, message: Json) -> None:
        with _server_trouble():
            self._process.send(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    def _receive(self, timeout_s: float) -> Json:
        with _server_trouble():
            message = json.loads(self._process.receive_line(timeout_s))
            if not isinstance(message, dict):
                raise ValueError(f"{str(message)[:40]!r} is no message")
            return cast(Json, message)

    def _parsed(self, kind: str, result: Json) -> Json:
        """The result as the SDK understands it, under the protocol's own names."""
        with _server_trouble():
            parsed: Any = self._types[kind].model_validate(result)
            return parsed.model_dump(by_alias=True, exclude_none=True)


class McpTools:
    """The tools of a server that is started anew, in a fresh sandbox, for each episode that uses it.

    Args:
        argv: the command that starts the server, which speaks MCP over its streams.
        files: what is in its work folder, by path.
        backend: name of the sandboxes' backend.
        limits: of each episode's sandbox.
        call_timeout_s: seconds that one call may take.

    Raises:
        SandboxUnavailable: the backend cannot hold untrusted code here; says why and how to mend it.
        InfrastructureError: the server does not start.
    """

    def __init__(
        self,
        argv: Sequence[str],
        files: Mapping[str, bytes] | None = None,
        backend: str = "namespace",
        limits: Limits = LIMITS,
        call_timeout_s: float = CALL_TIMEOUT_S,
    ) -> None:
        require(backend, find_backend(backend).probe(), "untrusted")
        self._argv, self._files = tuple(argv), dict(files or {})
        self._backend, self._limits, self._timeout_s = backend, limits, call_timeout_s
        self._sandbox: Sandbox | None = None
        self._connection: McpConnection | None = None
        self.tools: tuple[Tool, ...] = tuple(map(self._tool, self._connected().listed))
        """For a `Toolbox`, in the server's order."""

    def begin(self) -> None:
        """The next episode begins: its first call meets a new server."""
        self._end()

    def close(self) -> None:
        """End the server and remove its sandbox. Idempotent."""
        self._end()

    def _tool(self, listed: Json) -> Tool:
        name = listed["name"]
        schema = tool_schema(name, listed.get("description", ""), listed["inputSchema"])
        return Tool(schema, lambda arguments: self._call(name, arguments))

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        connection = self._connected()
        try:
            return connection.call(name, arguments, self._timeout_s)
        except McpServerError as error:
            self._end()
            raise ToolError(
                f"the tools' server failed: {error}; it starts anew, without its state"
            ) from error
        except SandboxError as error:
            raise InfrastructureError(f"the sandbox failed: {error}") from error

    def _connected(self) -> McpConnection:
        if self._connection is None:
            try:
                self._sandbox = open_sandbox(self._backend, limits=self._limits)
                for path, data in self._files.items():
                    self._sandbox.write_file(path, data)
                self._connection = McpConnection(self._sandbox.start(self._argv))
            except (SandboxError, McpServerError, ToolError) as error:
                self._end()
                raise InfrastructureError(f"the MCP server {self._argv} does not start: {error}") from error
        return self._connection

    def _end(self) -> None:
        sandbox, self._sandbox, self._connection = self._sandbox, None, None
        if sandbox is not None:
            try:
                sandbox.close()
            except SandboxError as error:
                raise InfrastructureError(f"the sandbox failed: {error}") from error


def _told(block: Json) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"resource": {"text": str(text)}}:
            return text
        case _:
            about = [str(block[key]) for key in ("mimeType", "uri") if key in block]
            return f"[{', '.join([str(block.get('type')), *about])}: not shown]"


@contextmanager
def _server_trouble() -> Generator[None]:
    try:
        yield
    except TimeoutError:
        raise McpServerError("it did not answer in time") from None
    except ProcessEnded as error:
        raise McpServerError(f"it ended ({error})") from error
    except (ValueError, RecursionError) as error:
        raise McpServerError(f"it did not answer in MCP ({str(error)[:200]})") from error
