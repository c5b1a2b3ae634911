"""The tools of MCP servers: ours in a sandbox, and one that the SDK itself runs."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue

import pytest

from molt_envs.errors import InfrastructureError
from molt_envs.tools.calls import Toolbox, ToolError
from molt_envs.tools.mcp import McpConnection, McpServerError, McpTools
from sandboxes import ProcessEnded

SERVER = Path(__file__).with_name("small_mcp_server.py")
SDK_SERVER = """
try:
    from mcp.server.mcpserver import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("sdk")

@server.tool()
def greet(name: str, times: int = 1) -> str:
    "Greet somebody"
    if times > 3:
        raise ValueError("too often")
    return " ".join([f"hello {name}"] * times)

server.run()
"""
pytest.importorskip("mcp")
pytestmark = pytest.mark.real


class HostProcess:
    """A server outside of any sandbox, for code that tests trust."""

    def __init__(self, *argv: str) -> None:
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._lines: Queue[bytes] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def receive_line(self, timeout_s: float) -> bytes:
        try:
            line = self._lines.get(timeout=timeout_s)
        except Empty:
            raise TimeoutError from None
        if not line:
            raise ProcessEnded("it has ended")
        return line

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=10)


@pytest.fixture(scope="module")
def server() -> Iterator[McpTools]:
    files = {SERVER.name: SERVER.read_bytes()}
    tools = McpTools(["python3", SERVER.name], files, call_timeout_s=5)
    yield tools
    tools.close()


def call(server: McpTools, name: str, arguments: str = "{}") -> str:
    (result,) = Toolbox(server.tools).run(f'{{"name": "{name}", "arguments": {arguments}}}')
    return result.text


def test_all_pages_of_tools_are_listed(server: McpTools) -> None:
    names = [tool.name for tool in server.tools]
    assert names == sorted(["add", "fail", "picture", "sleep", "leave", "babble", "whoami", "flood"])
    assert server.tools[0].parameters["required"] == ["number"]


def test_a_server_keeps_its_state_in_an_episode_and_loses_it_with_the_next(server: McpTools) -> None:
    server.begin()
    assert call(server, "add", '{"number": 3}') == "the total is 3"
    assert call(server, "add", '{"number": 4}') == "the total is 7"
    server.begin()
    assert call(server, "add", '{"number": 1}') == "the total is 1"


def test_wrong_arguments_and_refusals_go_to_the_agent(server: McpTools) -> None:
    assert call(server, "add", '{"number": "three"}').startswith("Error: add: ")
    assert call(server, "fail") == "Error: not today"
    assert call(server, "picture") == "[image, image/png: not shown]"


def test_long_output_is_cut(server: McpTools) -> None:
    assert len(call(server, "flood")) < 5000


@pytest.mark.parametrize("name", ["sleep", "leave", "babble"])
def test_a_server_that_fails_is_told_and_started_again(server: McpTools, name: str) -> None:
    server.begin()
    call(server, "add", '{"number": 3}')
    assert call(server, name).startswith("Error: the tools' server failed: it ")
    assert call(server, "add", '{"number": 3}') == "the total is 3"


def test_a_server_is_in_a_sandbox(server: McpTools) -> None:
    told = call(server, "whoami")
    assert told.endswith("shadow False")
    assert "uid 0," not in told


def test_a_server_that_does_not_start_is_our_trouble() -> None:
    with pytest.raises(InfrastructureError, match="does not start"):
        McpTools(["python3", "-c", "pass"])


def test_a_server_of_the_sdk_is_understood() -> None:
    process = HostProcess(sys.executable, "-c", SDK_SERVER)
    try:
        connection = McpConnection(process, start_timeout_s=60)
        assert [listed["name"] for listed in connection.listed] == ["greet"]
        assert connection.call("greet", {"name": "Ada", "times": 2}) == "hello Ada hello Ada"
        with pytest.raises(ToolError, match=r"greet|too often"):
            connection.call("greet", {"name": "Ada", "times": 4})
    finally:
        process.kill()
    with pytest.raises((McpServerError, OSError)):
        connection.call("greet", {"name": "Ada"}, timeout_s=1)
