"""The server of `layoutalg serve`: the files of the page, and `POST /ask` for questions, on 127.0.0.1 alone.

>>> server = Explorer(0)
>>> server.address[:17], server.address.count("#token=")
('http://127.0.0.1:', 1)
>>> server.server_close()

Who asks must know the server's token, which stands in the fragment of its address: a browser sends no fragment, so neither
other pages nor other users of the machine know it. A request for another host is refused (421), so that no foreign name leads
here, and one from another page too (403). The page may load what this server has and nothing else. The server keeps nothing of
a question; `workers` answer it. A connection ends with its answer.
"""

from __future__ import annotations

import hmac
import os
import secrets
import select
import socket
import socketserver
import time
from contextlib import suppress
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import PurePath
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import quote, urlencode

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import LONGEST_QUESTION, MOST_CONNECTIONS, SECONDS_ANSWER, SECONDS_CONNECTION
from layoutalg.explorer.workers import Workers

__all__ = ["Explorer", "page_files"]

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Connection": "close",
}
"""Of every response. The page takes the styles out of pictures and has its own for them (`page/dom.js`)."""
_BUSY = b"HTTP/1.0 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def page_files() -> dict[str, tuple[str, bytes]]:
    """The page's files by the path that asks for them: type and content.

    >>> page_files()["/"][0]
    'text/html; charset=utf-8'
    """
    found: dict[str, tuple[str, bytes]] = {}
    for file in files("layoutalg.explorer").joinpath("page").iterdir():
        kind = _TYPES.get(PurePath(file.name).suffix)
        if kind is not None:
            found["/" if file.name == "index.html" else f"/{file.name}"] = kind, file.read_bytes()
    return found


class Explorer(ThreadingHTTPServer):
    """The server; `port` 0 takes a free one. `serve_forever` serves, `server_close` ends its processes too.

    Raises `LayoutError` for a port that cannot be had.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 2 * MOST_CONNECTIONS

    def __init__(self, port: int, workers: int | None = None, seconds: float = SECONDS_ANSWER) -> None:
        self.token = secrets.token_urlsafe(32)
        self.files = page_files()
        self.slots = BoundedSemaphore(MOST_CONNECTIONS)
        self.open: dict[socket.socket, float] = {}
        self.workers = Workers(min(4, os.cpu_count() or 1) if workers is None else workers, seconds)
        try:
            super().__init__(("127.0.0.1", port), _Request)
        except OSError as problem:
            raise LayoutError(f"port {port}: {problem.strerror}; --port names another") from None

    def server_bind(self) -> None:
        """Bind without a look at the machine's name, which may ask a network."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        """What a request may call this server."""
        return f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"

    @property
    def address(self) -> str:
        """The address that opens the page, with the token."""
        return self.address_of({})

    def address_of(self, state: dict[str, str]) -> str:
        """The address that opens the page in a state, such as `{"text": "d0 = 4@lane"}`."""
        return f"http://{self.hosts[0]}/#{urlencode({'token': self.token, **state}, quote_via=quote)}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own; of too many at once the last are told so, and wait for nothing."""
        if self.slots.acquire(blocking=False):
            self.open[request] = time.monotonic()
            super().process_request(request, client_address)
            return
        with suppress(OSError):
            request.settimeout(1)
            request.sendall(_BUSY)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and give the connection's slot back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.open.pop(request, None)
            self.slots.release()

    def service_actions(self) -> None:
        """End connections that last too long, such as one that sends a byte a second."""
        for one, since in list(self.open.items()):
            if time.monotonic() - since > SECONDS_CONNECTION:
                self.open.pop(one, None)
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""

    def server_close(self) -> None:
        """End the server and its processes."""
        super().server_close()
        self.workers.close()


class _Request(BaseHTTPRequestHandler):
    """One request."""

    timeout = 10
    server: Explorer  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        """A file of the page."""
        found = self.server.files.get(self.path)
        if not self._is_ours():
            return
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self._reply(HTTPStatus.OK, *found)

    def do_POST(self) -> None:
        """A question."""
        problem = self._problem()
        body = self._body()
        if not self._is_ours():
            return
        if problem is not None:
            self.send_error(problem)
        elif body is None:
            self.send_error(HTTPStatus.BAD_REQUEST)
        else:
            self._reply(HTTPStatus.OK, "application/json", self.server.workers.ask(body, self._is_gone))

    def _is_gone(self) -> bool:
        """Whether the client has ended the connection: a browser does so with a question that it asks no longer.

        One that only says that it sends no more still reads. An interim response tells the two apart: who is gone resets it.
        """
        try:
            if not select.select([self.connection], [], [], 0)[0] or self.connection.recv(1, socket.MSG_PEEK):
                return False
            if self.request_version == "HTTP/1.0":  # which has no interim responses
                return False
            self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            time.sleep(0.01)
            return self.connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
        except (OSError, ValueError):
            return True

    def _is_ours(self) -> bool:
        """Whether the request is for this server, from its own page; else it is refused."""
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
        elif any(one != f"http://{hosts[0].lower()}" for one in origins):
            self.send_error(HTTPStatus.FORBIDDEN)
        else:
            return True
        return False

    def _problem(self) -> HTTPStatus | None:
        """What is wrong with a question before its body is looked at."""
        if self.path != "/ask":
            return HTTPStatus.NOT_FOUND
        given = self.headers.get_all("X-Layoutalg-Token", [])
        if len(given) != 1 or not hmac.compare_digest(given[0].encode("utf-8", "replace"), self.server.token.encode()):
            return HTTPStatus.FORBIDDEN
        if self.headers.get_content_type() != "application/json":
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        if self._length() is None:
            return HTTPStatus.LENGTH_REQUIRED
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE if (self._length() or 0) > LONGEST_QUESTION else None

    def _length(self) -> int | None:
        given = self.headers.get_all("Content-Length", [])
        if len(given) != 1 or "Transfer-Encoding" in self.headers or len(given[0]) > 20:
            return None
        return int(given[0]) if given[0].isdecimal() and given[0].isascii() else None

    def _body(self) -> bytes | None:
        """The body, read of a refused request too, so that the client reads why; None where it is cut."""
        length = min(self._length() or 0, LONGEST_QUESTION)
        body = self.rfile.read(length)
        return body if len(body) == length else None

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """A refusal: a line of text."""
        status = HTTPStatus(code)
        self._reply(status, "text/plain; charset=utf-8", f"layoutalg: {status.phrase}\n".encode())

    def _reply(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.close_connection = True
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """The name of the server, without versions."""
        return "layoutalg"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""
