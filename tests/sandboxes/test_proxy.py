"""The allow-list proxy, against a local server that stands for the internet."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sandboxes.proxy import Answer, HttpProxy, ProxyPolicy, is_public


class Site(BaseHTTPRequestHandler):
    """Answers with what it was asked."""

    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1/private")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size = int(self.path[6:]) if self.path.startswith("/size/") else 0
        told = f"{self.command} {self.path} {self.headers['Host']} {self.headers['Proxy-Authorization']}"
        body = b"x" * size or told.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def port() -> Generator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def local(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


def proxy_to(port: int, **changes: object) -> HttpProxy:
    settings: dict[str, object] = {"hosts": ("site.example",), "ports": (port,), "allow_private": True}
    return HttpProxy(ProxyPolicy(**(settings | changes)), resolve=local)  # type: ignore[arg-type]


def get(proxy: HttpProxy, url: str, method: str = "GET") -> Answer:
    return proxy.fetch(method, url, {"Proxy-Authorization": "x"})


def test_an_allowed_host_is_fetched_under_its_name(port: int) -> None:
    answer = get(proxy_to(port), f"http://site.example:{port}/a?b=1")
    assert (answer.status, answer.body) == (200, f"GET /a?b=1 site.example:{port} None".encode())


@pytest.mark.parametrize(
    "url",
    [
        "http://other.example:{port}/",
        "http://site.example.evil.example:{port}/",
        "http://evilsite.example:{port}/",
        "http://site.example@other.example:{port}/",
        "http://127.0.0.1:{port}/",
        "http://site.example:22/",
        "ftp://site.example:{port}/",
        "file:///etc/passwd",
        "/etc/passwd",
    ],
)
def test_what_the_list_does_not_name_is_refused(port: int, url: str) -> None:
    answer = get(proxy_to(port), url.format(port=port))
    assert answer.status == 403
    assert b"not allowed" in answer.body


def test_a_method_that_is_not_allowed_is_refused(port: int) -> None:
    assert get(proxy_to(port), f"http://site.example:{port}/", "POST").status == 403


def test_a_wildcard_stands_for_hosts_below_only(port: int) -> None:
    proxy = proxy_to(port, hosts=("*.example",))
    assert get(proxy, f"http://site.example:{port}/").status == 200
    assert get(proxy, f"http://example:{port}/").status == 403


def test_a_name_with_a_private_address_is_refused_by_default(port: int) -> None:
    answer = get(proxy_to(port, allow_private=False), f"http://site.example:{port}/")
    assert answer.status == 403
    assert b"no address that is public: 127.0.0.1" in answer.body


PRIVATE = """127.0.0.1 10.1.2.3 192.168.0.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255
::1 :: fe80::1 fd00::1 ::ffff:127.0.0.1 64:ff9b::7f00:1"""


@pytest.mark.parametrize("address", PRIVATE.split())
def test_addresses_that_are_not_public_are_known(address: str) -> None:
    assert not is_public(address)
    assert is_public("1.1.1.1")
    assert is_public("2606:4700:4700::1111")


def test_one_private_address_among_public_ones_is_enough_to_refuse(port: int) -> None:
    policy = ProxyPolicy(("site.example",), ports=(port,))
    mixed = HttpProxy(policy, resolve=lambda host, port: ["1.1.1.1", "127.0.0.1"])
    assert get(mixed, f"http://site.example:{port}/").status == 403


def test_a_redirect_is_handed_on_and_not_followed(port: int) -> None:
    answer = get(proxy_to(port), f"http://site.example:{port}/moved")
    assert (answer.status, answer.headers["Location"]) == (302, "http://127.0.0.1/private")


def test_an_answer_that_is_too_large_is_cut_off(port: int) -> None:
    proxy = proxy_to(port, max_bytes=100)
    assert get(proxy, f"http://site.example:{port}/size/100").status == 200
    assert get(proxy, f"http://site.example:{port}/size/101").status == 413


def test_a_silent_host_is_a_time_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        answer = get(proxy_to(port, timeout_s=0.05), f"http://site.example:{port}/")
    assert answer.status == 504


@pytest.mark.parametrize("url", ["http://site.example:99999/", "http://[::1/"])
def test_a_url_that_is_none_is_told_as_such(port: int, url: str) -> None:
    assert get(proxy_to(port), url).status == 400


def ask(path: Path, request: str) -> str:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(path))
        client.sendall(request.encode())
        answer = b""
        while chunk := client.recv(4096):
            answer += chunk
    return answer.decode()


def test_the_unix_socket_speaks_as_an_http_proxy(port: int, tmp_path: Path) -> None:
    path = tmp_path / "proxy"
    with proxy_to(port).serve(path):
        allowed = ask(path, f"GET http://site.example:{port}/a HTTP/1.0\r\n\r\n")
        refused = ask(path, f"GET http://other.example:{port}/a HTTP/1.0\r\n\r\n")
        tunnel = ask(path, f"CONNECT site.example:{port} HTTP/1.0\r\n\r\n")
        large = ask(path, f"GET http://site.example:{port}/ HTTP/1.0\r\nContent-Length: 99999999\r\n\r\n")
        wrong = ask(path, f"GET http://site.example:{port}/ HTTP/1.0\r\nContent-Length: many\r\n\r\n")
    assert " 200 " in allowed.splitlines()[0]
    assert allowed.endswith(f"GET /a site.example:{port} None")
    assert " 403 " in refused.splitlines()[0]
    assert " 501 " in tunnel.splitlines()[0]
    assert " 413 " in large.splitlines()[0]
    assert " 400 " in wrong.splitlines()[0]
    assert not path.exists()


def test_hosts_with_more_than_a_name_are_refused() -> None:
    with pytest.raises(ValueError, match="give names like"):
        ProxyPolicy(("https://site.example",))
