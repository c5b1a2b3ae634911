"""HTTP for tools without a network in the sandbox: in, requests; out, answers of allowed hosts only.

The proxy runs on the host; tools reach it over a unix socket, as an HTTP proxy: `GET https://host/path`, the
URL in full, https included. It follows no redirect, and connects to the address that it has checked, not to a
name that may change.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

from sandboxes.limits import MIB

NUM_FETCHES = 32
"""At once; more wait."""
_NOT_FORWARDED = """connection keep-alive proxy-connection te trailer transfer-encoding upgrade
host content-length accept-encoding proxy-authorization"""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True)
class ProxyPolicy:
    """What the proxy lets through."""

    hosts: tuple[str, ...]
    """Names of hosts, in full and in lower case; `*.example.com` stands for all below example.com."""
    ports: tuple[int, ...] = (80, 443)
    methods: tuple[str, ...] = ("GET", "HEAD")
    max_bytes: int = 4 * MIB
    """Of a request's and of an answer's body."""
    timeout_s: float = 20.0
    """For each connection, write and read."""
    allow_private: bool = False
    """Whether hosts may have addresses that are not public: this machine, local networks, cloud metadata."""

    def __post_init__(self) -> None:
        if wrong := [host for host in self.hosts if host != host.lower() or "/" in host or ":" in host]:
            raise ValueError(f"ProxyPolicy.hosts: {wrong}; give names like api.example.com, in lower case")


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    """HTTP status; 403 refused by the policy, 413 too large, 502 and 504 when the host was not reached."""
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Refused(ValueError):
    """The policy does not let a request through; says why."""


def is_public(address: str) -> bool:
    """Whether an address belongs to the public internet and to one machine."""
    ip = ipaddress.ip_address(address)
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and ip not in _NAT64


Resolve = Callable[[str, int], list[str]]


def resolve(host: str, port: int) -> list[str]:
    """The host's addresses."""
    return [str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class HttpProxy:
    """Fetches under a policy; `serve` opens its unix socket."""

    def __init__(self, policy: ProxyPolicy, *, resolve: Resolve = resolve) -> None:
        self.policy = policy
        self._resolve = resolve

    def fetch(self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
        """One request; refusals and faults are answers with a status and the reason as text."""
        try:
            return self._fetch(method, url, headers, body)
        except Refused as error:
            return Answer(403, f"{error}\n".encode())
        except ValueError as error:
            return Answer(400, f"{url!r} is not a request: {error}\n".encode())
        except TimeoutError:
            return Answer(504, f"{url} did not answer within {self.policy.timeout_s:g} s\n".encode())
        except (OSError, http.client.HTTPException) as error:
            return Answer(502, f"{url} could not be reached: {error}\n".encode())

    @contextmanager
    def serve(self, path: Path) -> Generator[None]:
        """The proxy on a unix socket at `path`, until the end of `with`."""
        server = _Server(str(path), self)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="proxy")
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join(10)
            server.server_close()
            path.unlink(missing_ok=True)

    def _fetch(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        parts = urlsplit(url)
        host, scheme = (parts.hostname or "").rstrip("."), parts.scheme
        port = parts.port or (443 if scheme == "https" else 80)
        self._check(method, scheme, host, port)
        if len(body) > self.policy.max_bytes:
            return Answer(413, f"the request has more than {self.policy.max_bytes} bytes\n".encode())
        connection = _Connection(
            host, port, scheme == "https", self._address(host, port), self.policy.timeout_s
        )
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            kept = {
                name: value for name, value in headers.items() if name.lower() not in _NOT_FORWARDED.split()
            }
            connection.request(method, target, body or None, kept | {"Accept-Encoding": "identity"})
            response = connection.getresponse()
            data = response.read(self.policy.max_bytes + 1)
            if len(data) > self.policy.max_bytes:
                return Answer(413, f"{url} answered more than {self.policy.max_bytes} bytes\n".encode())
            passed = {k: v for k, v in response.getheaders() if k.lower() not in _NOT_FORWARDED.split()}
            return Answer(response.status, data, passed)
        finally:
            connection.close()

    def _check(self, method: str, scheme: str, host: str, port: int) -> None:
        policy = self.policy
        if scheme not in ("http", "https") or method not in policy.methods or port not in policy.ports:
            raise Refused(
                f"{method} {scheme}://{host}:{port} is not allowed; methods: {', '.join(policy.methods)}, "
                f"ports: {', '.join(map(str, policy.ports))}"
            )
        below = any(allowed[:2] == "*." and host.endswith(allowed[1:]) for allowed in policy.hosts)
        if host not in policy.hosts and not below:
            raise Refused(
                f"the host {host!r} is not allowed; allowed are {', '.join(policy.hosts) or 'none'}"
            )

    def _address(self, host: str, port: int) -> str:
        addresses = self._resolve(host, port)
        private = [address for address in addresses if not is_public(address)]
        if not addresses or (private and not self.policy.allow_private):
            raise Refused(f"{host} has no address that is public: {', '.join(private) or 'none'}")
        return addresses[0]


class _Connection(http.client.HTTPConnection):
    """To an address that was checked, under the host's name."""

    def __init__(self, host: str, port: int, is_tls: bool, address: str, timeout_s: float) -> None:
        super().__init__(host, port, timeout=timeout_s)
        self._is_tls, self._address, self._timeout_s = is_tls, address, timeout_s

    def connect(self) -> None:
        """Connect to the address; over TLS the certificate is checked against the name."""
        self.sock = socket.create_connection((self._address, self.port), self._timeout_s)
        if self._is_tls:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: str, proxy: HttpProxy) -> None:
        self.proxy = proxy
        self.places = threading.BoundedSemaphore(NUM_FETCHES)
        super().__init__(path, _Handler)


class _Handler(BaseHTTPRequestHandler):
    """One request of a client that speaks to an HTTP proxy."""

    server: _Server  # type: ignore[reportIncompatibleVariableOverride]

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(self.server.proxy.policy.timeout_s)

    def answer(self) -> None:
        """Fetch what the request line names."""
        try:
            size = int(self.headers.get("Content-Length") or 0)
            if not 0 <= size <= self.server.proxy.policy.max_bytes:
                return self._reply(Answer(413, f"a request of {size} bytes is too large\n".encode()))
            body = self.rfile.read(size)
            with self.server.places:
                answer = self.server.proxy.fetch(self.command, self.path, dict(self.headers.items()), body)
            self._reply(answer)
        except ValueError as error:
            self._reply(Answer(400, f"not a request: {error}\n".encode()))
        except OSError:  # the client went away or stalled
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def log_message(self, format: str, *args: object) -> None:
        """The proxy writes nothing."""

    def _reply(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
