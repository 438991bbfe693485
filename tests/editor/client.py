"""A client of a language server on standard input and output: requests, answers, diagnostics; no more than tests need."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import count
from tempfile import TemporaryFile
from threading import Timer
from types import TracebackType
from typing import Any

__all__ = ["Client"]

_LONGEST = 120
"""Seconds after which a server that says nothing is stopped."""


class Client:
    """`layoutalg lsp` in a process of its own."""

    def __init__(self, *options: str, encodings: tuple[str, ...] = ("utf-16",)) -> None:
        command = [sys.executable, "-m", "layoutalg", "lsp", *options]
        self.log = TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, bufsize=0
        )
        self.numbers = count(1)
        self.versions = count(1)
        self.published: list[dict[str, Any]] = []
        asked = {"general": {"positionEncodings": list(encodings)}}
        self.capabilities = self.ask("initialize", processId=None, rootUri=None, capabilities=asked)["capabilities"]
        self.tell("initialized")

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.ask("shutdown")
            self.tell("exit")
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout, self.log):
                assert stream is not None
                stream.close()

    def send(self, **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def receive(self) -> dict[str, Any]:
        deadline = Timer(_LONGEST, self.process.kill)
        deadline.start()
        try:
            message = self._received()
        finally:
            deadline.cancel()
        assert message.get("method") != "window/showMessage", message
        return message

    def _received(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline()) != b"\r\n":
            assert line, self.logged()
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        body = b""
        while len(body) < length:
            body += self.process.stdout.read(length - len(body))
        message: dict[str, Any] = json.loads(body)
        return message

    def logged(self) -> str:
        """What the server wrote to standard error."""
        self.log.seek(0)
        return self.log.read().decode()

    def tell(self, method: str, **params: Any) -> None:
        self.send(method=method, params=params)

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request."""
        message = self.reply(method, params)
        assert "error" not in message, message
        return message["result"]

    def reply(self, method: str, params: Any) -> dict[str, Any]:
        """The reply to a request; what is published meanwhile is kept."""
        number = next(self.numbers)
        self.send(id=number, method=method, params=params)
        while True:
            message = self.receive()
            if message.get("method") == "textDocument/publishDiagnostics":
                self.published.append(message["params"])
            elif message.get("id") == number:
                return message

    def open(self, uri: str, text: str, language: str = "mlir") -> int:
        version = next(self.versions)
        document = {"uri": uri, "languageId": language, "version": version, "text": text}
        self.tell("textDocument/didOpen", textDocument=document)
        return version

    def change(self, uri: str, text: str) -> int:
        version = next(self.versions)
        self.tell(
            "textDocument/didChange", textDocument={"uri": uri, "version": version}, contentChanges=[{"text": text}]
        )
        return version

    def diagnostics(self, version: int) -> list[dict[str, Any]]:
        """What is published for a version; what is published for others before it is kept."""
        while True:
            for found in self.published:
                if found.get("version") == version:
                    return found["diagnostics"]
            message = self.receive()
            if message.get("method") == "textDocument/publishDiagnostics":
                self.published.append(message["params"])

    def at(self, method: str, uri: str, line: int, character: int) -> Any:
        return self.ask(
            f"textDocument/{method}",
            textDocument={"uri": uri},
            position={"line": line, "character": character},
        )
