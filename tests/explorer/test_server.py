"""The explorer's server: who may ask, what is refused, what it survives, and how it ends."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from layoutalg.core.limits import LONGEST_QUESTION, MOST_CONNECTIONS
from layoutalg.explorer import server as module
from layoutalg.explorer.server import Explorer, page_files
from layoutalg.explorer.workers import Workers

ROOT = Path(__file__).parents[2]
QUESTION = {"kind": "holds", "text": "d0 = 2@reg, d1 = 16@lane", "place": {"lane": 5}}
ANSWER = {"elements": [[0, 5], [1, 5]]}


@pytest.fixture(scope="module")
def explorer() -> Iterator[Explorer]:
    server = Explorer(0, workers=2, seconds=60)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def request(
    explorer: Explorer, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", explorer.server_port, timeout=60)
    with contextlib.closing(connection):
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()


def ask(explorer: Explorer, question: Any, **headers: str | None) -> tuple[int, Any]:
    given = {"Content-Type": "application/json", "X-Layoutalg-Token": explorer.token}
    given |= {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
    given = {name: value for name, value in given.items() if headers.get(name.replace("-", "_"), "") is not None}
    status, _, body = request(explorer, "POST", "/ask", json.dumps(question).encode(), given)
    return status, json.loads(body) if status == 200 else body


def raw(explorer: Explorer, *parts: bytes, ends: bool = True) -> bytes:
    """What comes back for bytes that need not be HTTP, after which the client sends no more, and may say so."""
    with socket.create_connection(("127.0.0.1", explorer.server_port), timeout=30) as connection:
        found = b""
        with contextlib.suppress(OSError):
            for part in parts:
                connection.sendall(part)
            if ends:
                connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            while part := connection.recv(65536):
                found += part
        return found


def test_a_question_is_answered(explorer: Explorer) -> None:
    assert ask(explorer, QUESTION) == (200, ANSWER)


def test_the_page_is_served_with_headers_that_keep_others_out(explorer: Explorer) -> None:
    status, headers, body = request(explorer, "GET", "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert body == page_files()["/"][1]
    policy = headers["Content-Security-Policy"].split("; ")
    assert policy[0] == "default-src 'none'"
    assert not any("http" in one or "*" in one for one in policy)
    assert "script-src 'self'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert explorer.token.encode() not in body


def test_it_listens_on_this_machine_alone(explorer: Explorer) -> None:
    assert explorer.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "path",
    [
        "/server.py",
        "/../server.py",
        "/%2e%2e/server.py",
        "/page/index.html",
        "/index.html",
        "/?x",
        "/ask",
    ],
)
def test_only_the_files_of_the_page_are_served(explorer: Explorer, path: str) -> None:
    assert request(explorer, "GET", path)[0] == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", "", "[::1]:80"]
)
def test_another_host_is_refused(explorer: Explorer, host: str) -> None:
    assert ask(explorer, QUESTION, Host=host)[0] == 421
    assert request(explorer, "GET", "/", headers={"Host": host})[0] == 421


def test_this_machine_may_be_called_localhost(explorer: Explorer) -> None:
    host = f"localhost:{explorer.server_port}"
    assert ask(explorer, QUESTION, Host=host, Origin=f"http://{host}") == (200, ANSWER)


def test_two_hosts_or_none_are_refused(explorer: Explorer) -> None:
    host = f"Host: 127.0.0.1:{explorer.server_port}\r\n".encode()
    assert b" 421 " in raw(explorer, b"GET / HTTP/1.1\r\n" + host + b"Host: a\r\n\r\n")
    assert b" 421 " in raw(explorer, b"GET / HTTP/1.1\r\n\r\n")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1", ""])
def test_another_page_is_refused(explorer: Explorer, origin: str) -> None:
    assert ask(explorer, QUESTION, Origin=origin)[0] == 403


@pytest.mark.parametrize("token", [None, "", "x", "é", "x" * 5000])
def test_who_does_not_know_the_token_may_not_ask(explorer: Explorer, token: str | None) -> None:
    assert ask(explorer, QUESTION, X_Layoutalg_Token=token)[0] == 403


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_what_a_form_of_another_page_can_send_is_refused(explorer: Explorer, kind: str) -> None:
    assert ask(explorer, QUESTION, Content_Type=kind)[0] == 415


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "BREW"])
def test_other_methods_are_refused(explorer: Explorer, method: str) -> None:
    assert request(explorer, method, "/ask")[0] == 501


def headed(explorer: Explorer, length: str) -> bytes:
    lines = [
        "POST /ask HTTP/1.1", f"Host: 127.0.0.1:{explorer.server_port}", f"X-Layoutalg-Token: {explorer.token}",
        "Content-Type: application/json", length,
    ]  # fmt: skip
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def with_length(explorer: Explorer, length: str, body: bytes = b"", ends: bool = True) -> bytes:
    return raw(explorer, headed(explorer, length), body, ends=ends)


@pytest.mark.parametrize(
    ("length", "body", "status"),
    [
        ("Content-Length: 5", b"{", b" 400 "),
        ("Content-Length: -1", b"{}", b" 411 "),
        ("Content-Length: +2", b"{}", b" 411 "),
        ("Content-Length: 9" + "9" * 40, b"{}", b" 411 "),
        ("Content-Length: ２", b"{}", b" 411 "),
        ("Content-Length: 2\r\nContent-Length: 2", b"{}", b" 411 "),
        ("Transfer-Encoding: chunked", b"2\r\n{}\r\n0\r\n\r\n", b" 411 "),
        ("X: y", b"{}", b" 411 "),
        (f"Content-Length: {LONGEST_QUESTION + 1}", b"x", b" 413 "),
        ("X: " + "y" * 70_000, b"", b" 431 "),
        ("X: y\r\n" * 200 + "X: y", b"", b" 431 "),
    ],
)
def test_a_question_of_unknown_or_too_great_length_is_refused(
    explorer: Explorer, length: str, body: bytes, status: bytes
) -> None:
    assert status in with_length(explorer, length, body).split(b"\r\n")[0]


def test_the_largest_question_is_read(explorer: Explorer) -> None:
    """2 MiB pass the server; the text in it is then too long by the answer."""
    body = json.dumps({"kind": "layout", "text": ""}).encode()
    body = body.replace(b'""', b'"' + b"x" * (LONGEST_QUESTION - len(body)) + b'"')
    assert len(body) == LONGEST_QUESTION
    found = json.loads(with_length(explorer, f"Content-Length: {len(body)}", body, False).partition(b"\r\n\r\n")[2])
    assert "at most 1,048,576" in found["error"]["message"]


def test_a_question_that_nobody_waits_for_is_left_out(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for a process; when there is one, its client has ended the connection, as browsers do."""
    body = json.dumps(QUESTION).encode()
    asked: list[bool] = []

    def ask_all(body: bytes, gone: Callable[[], bool]) -> bytes:
        go.wait(60)
        asked.append(not gone())
        done.set()
        return b"{}"

    monkeypatch.setattr(explorer.workers, "ask", ask_all)
    for reads in (False, True):
        go, done = threading.Event(), threading.Event()
        with socket.create_connection(("127.0.0.1", explorer.server_port), timeout=60) as connection:
            connection.sendall(headed(explorer, f"Content-Length: {len(body)}") + body)
            if reads:
                go.set()
                done.wait(60)
        go.set()
        assert done.wait(60)
    assert asked == [False, True]


@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/1.1"])
def test_a_client_that_sends_no_more_still_gets_its_answer(version: bytes, explorer: Explorer) -> None:
    body = json.dumps(QUESTION).encode()
    asked = headed(explorer, f"Content-Length: {len(body)}").replace(b"HTTP/1.1", version) + body
    busy = [explorer.workers.free.get() for _ in range(2)]
    with socket.create_connection(("127.0.0.1", explorer.server_port), timeout=60) as connection:
        connection.sendall(asked)
        connection.shutdown(socket.SHUT_WR)
        for one in busy:
            explorer.workers.free.put(one)
        with connection.makefile("rb") as reply:
            found = reply.read()
    assert found.endswith(json.dumps(ANSWER).encode())
    assert found.count(b"100 Continue") <= (version == b"HTTP/1.1")


def test_fifty_ask_at_once_and_each_gets_its_own_answer(explorer: Explorer) -> None:
    def one(lane: int) -> tuple[int, Any]:
        return ask(explorer, QUESTION | {"text": "d0 = 2@reg, d1 = 64@lane", "place": {"lane": lane}})

    with ThreadPoolExecutor(50) as pool:
        found = list(pool.map(one, range(50)))
    assert found == [(200, {"elements": [[0, lane], [1, lane]]}) for lane in range(50)]


def test_more_connections_than_there_are_places_are_told_so_at_once(explorer: Explorer) -> None:
    """So many connections that say nothing; the next one hears 503, and after they are gone all is as before."""
    with contextlib.ExitStack() as opened:
        for _ in range(MOST_CONNECTIONS):
            opened.enter_context(socket.create_connection(("127.0.0.1", explorer.server_port), timeout=30))
        while len(explorer.open) < MOST_CONNECTIONS:
            time.sleep(0.01)
        assert raw(explorer).startswith(b"HTTP/1.0 503 ")
    while explorer.open:
        time.sleep(0.01)
    assert ask(explorer, QUESTION) == (200, ANSWER)


def test_a_client_that_sends_a_byte_at_a_time_is_ended(explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_CONNECTION", 0.5)
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", explorer.server_port)) as connection:
        while connection.send(b"G"):
            time.sleep(0.02)
    monkeypatch.undo()
    assert ask(explorer, QUESTION) == (200, ANSWER)


METHODS = ("GET", "POST", "POST", "PUT", "G\0T", "")
PATHS = ("/", "/ask", "/ask", "/../x", "*")
VERSIONS = ("HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "HTTP/x", "")
TYPES = ("application/json", "application/json", "text/plain", "")
BODIES = (json.dumps(QUESTION).encode(), b"{", b"[" * 5000, b"\xff" * 50, b"9" * 5000, b'{"kind": "file"}', b"")
MORE = ("Origin: http://evil.example", "Transfer-Encoding: chunked", "Cookie: " + "x" * 3000, ": :")


def hostile(explorer: Explorer, chance: random.Random) -> bytes:
    """A request that is damaged somewhere."""
    body, pick = chance.choice(BODIES), chance.choice
    lines = [
        f"{pick(METHODS)} {pick(PATHS)} {pick(VERSIONS)}",
        f"Host: {pick([*explorer.hosts, 'evil.example', ''])}",
        f"X-Layoutalg-Token: {pick([explorer.token, explorer.token, 'x', 'é'])}",
        f"Content-Type: {pick(TYPES)}",
        f"Content-Length: {pick([len(body), len(body), len(body) + 7, 3, -1, 10**30, 'x'])}",
        *chance.sample(MORE, chance.randrange(2)),
    ]
    text = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
    for _ in range(pick([0, 0, 1, 5])):
        at = chance.randrange(len(text))
        text = text[:at] + bytes([chance.randrange(256)]) + text[at + 1 :]
    return text[: pick([len(text), len(text), chance.randrange(len(text))])]


def attacked(explorer: Explorer, count: int, seed: int) -> None:
    chance = random.Random(seed)
    requests = [hostile(explorer, chance) for _ in range(count)]
    with ThreadPoolExecutor(16) as pool:
        for found in pool.map(lambda text: raw(explorer, text), requests):
            assert b"Traceback" not in found
    assert ask(explorer, QUESTION) == (200, ANSWER)
    assert len(explorer.workers.all) == 2
    assert all(one.process.poll() is None for one in explorer.workers.all)


def test_hundreds_of_hostile_requests_are_survived(explorer: Explorer) -> None:
    attacked(explorer, 300, 1)


@pytest.mark.exhaustive
def test_10_000_hostile_requests_are_survived(explorer: Explorer) -> None:
    attacked(explorer, 10_000, 2)


def test_a_question_that_takes_too_long_is_ended_and_the_next_is_answered() -> None:
    """A process that has just started needs longer than a millisecond to answer; its successor has time."""
    pool = Workers(1, seconds=0.001)
    try:
        first = {one.process.pid for one in pool.all}
        assert b"no answer within 0.001 seconds" in pool.ask(json.dumps(QUESTION).encode())
        pool.seconds = 60
        assert json.loads(pool.ask(json.dumps(QUESTION).encode())) == ANSWER
        assert first.isdisjoint(one.process.pid for one in pool.all)
    finally:
        pool.close()


def test_a_process_that_has_ended_is_replaced() -> None:
    pool = Workers(1, seconds=60)
    try:
        for one in pool.all:
            one.process.kill()
            one.process.wait()
        assert b"error" in pool.ask(json.dumps(QUESTION).encode())
        assert json.loads(pool.ask(json.dumps(QUESTION).encode())) == ANSWER
    finally:
        pool.close()


def children(pid: int) -> list[int]:
    """The processes that a process started, on Linux."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return found


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


LISTENS = (
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "runpy.run_module('layoutalg', run_name='__main__', alter_sys=True)"
)
"""What a shell starts in the background ignores Ctrl-C, and so would the test's process without the first line."""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are counted as Linux lists them")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_command_ends_with_its_processes(how: signal.Signals) -> None:
    command = [sys.executable, "-c", LISTENS, "serve", "--no-open", "--port", "0", "d0 = 4@lane", "4"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        line = run.stdout.readline()
        assert line.startswith("explorer: http://127.0.0.1:")
        assert "&tab=layout&text=d0%20%3D%204%40lane&shape=4" in line
        assert run.stdout.readline() == "Ctrl-C ends it\n"
        mine = children(run.pid)
        assert mine
        run.send_signal(how)
        said = run.stdout.read()
        assert run.stderr.read() == ""
    assert (run.returncode, said) == ((-how, "") if how == signal.SIGKILL else (0, "\nexplorer ended\n"))
    while any(map(is_there, mine)):
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--port", "99999"], "99999"),
        (["d0 = 4@"], "line 1, column 8"),
        (["d0 = 4@lane", "4y"], "32x64"),
        (["missing.mlir"], "no such file"),
    ],
)
def test_bad_arguments_are_refused_in_a_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from layoutalg.cli import main

    assert main(["serve", "--no-open", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("layoutalg: ")
    assert words in said


def test_a_port_that_is_taken_is_named(explorer: Explorer, capsys: pytest.CaptureFixture[str]) -> None:
    from layoutalg.cli import main

    assert main(["serve", "--no-open", "--port", str(explorer.server_port)]) == 2
    assert f"port {explorer.server_port}: Address already in use" in capsys.readouterr().err
