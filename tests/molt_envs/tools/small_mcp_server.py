"""A small MCP server over its streams, with the standard library alone; runs inside of a sandbox in tests."""

from __future__ import annotations

import json
import os
import sys
import time

NUMBER = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
NOTHING: dict[str, object] = {"type": "object", "properties": {}}
TOOLS = {
    "add": ("Add to the total", NUMBER),
    "fail": ("Refuse", NOTHING),
    "picture": ("Give a picture", NOTHING),
    "sleep": ("Take too long", NOTHING),
    "leave": ("End the server", NOTHING),
    "babble": ("Write something that is no JSON", NOTHING),
    "whoami": ("Give the user's id, and whether the host's passwords are there", NOTHING),
    "flood": ("Say very much", NOTHING),
}
total = 0


def say(message: dict[str, object]) -> None:
    print(json.dumps({"jsonrpc": "2.0"} | message), flush=True)


def called(name: str, arguments: dict[str, int]) -> dict[str, object]:
    global total
    if name == "add":
        total += arguments["number"]
        return {"content": [{"type": "text", "text": f"the total is {total}"}]}
    if name == "fail":
        return {"content": [{"type": "text", "text": "not today"}], "isError": True}
    if name == "picture":
        return {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}
    if name == "sleep":
        time.sleep(60)
    if name == "leave":
        os._exit(3)
    if name == "babble":
        print("no json", flush=True)
    if name == "flood":
        return {"content": [{"type": "text", "text": "x" * 100_000}]}
    return {
        "content": [{"type": "text", "text": f"uid {os.getuid()}, shadow {os.path.exists('/etc/shadow')}"}]
    }


def answer(request: dict[str, object]) -> dict[str, object]:
    params: dict[str, object] = request.get("params") or {}  # type: ignore[assignment]
    if request["method"] == "initialize":
        server = {"name": "small", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": server,
        }
    names = sorted(TOOLS)
    if request["method"] == "tools/list":
        first = not params.get("cursor")
        shown = names[:3] if first else names[3:]
        listed = [{"name": n, "description": TOOLS[n][0], "inputSchema": TOOLS[n][1]} for n in shown]
        return {"tools": listed} | ({"nextCursor": "rest"} if first else {})
    say({"method": "notifications/message", "params": {"level": "info", "data": "working"}})
    say({"id": 900, "method": "ping"})
    return called(str(params["name"]), params["arguments"])  # type: ignore[arg-type]


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        if "method" in request and "id" in request:
            say({"id": request["id"], "result": answer(request)})
