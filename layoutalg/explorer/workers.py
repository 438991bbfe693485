"""Processes that answer questions: they wait with everything imported, and one that takes too long is replaced.

>>> pool = Workers(1, seconds=60)
>>> pool.ask(b'{"kind": "holds", "text": "d0 = 2@lane", "place": {"lane": 1}}')
b'{"elements": [[1]]}'
>>> pool.close()
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Timer

from layoutalg.explorer.answers import failure

__all__ = ["Workers"]

_ROOT = Path(__file__).parents[2]
"""Where this package is imported from: a process imports the same."""


class _Worker:
    """One process, started and waiting for questions."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "layoutalg.explorer.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the server, which ends its processes
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.questions, self.answers = self.process.stdin, self.process.stdout

    def ask(self, body: bytes, seconds: float) -> bytes | None:
        """The answer; None where there is none in time, or the process has ended: it is of no use then."""
        late = Event()

        def stop() -> None:
            late.set()
            self.process.kill()

        timer = Timer(seconds, stop)
        timer.start()
        try:
            self.questions.write(b"%d\n" % len(body) + body)
            self.questions.flush()
            found = self.answers.readline()
        except (OSError, ValueError):  # it has ended
            found = b""
        timer.cancel()
        timer.join()
        return found[:-1] if found.endswith(b"\n") and not late.is_set() else None

    def end(self) -> None:
        """End the process, whatever it does."""
        self.process.kill()
        self.process.wait()
        for stream in (self.questions, self.answers):
            with suppress(OSError):
                stream.close()


class Workers:
    """A few processes, each for one question at a time, of so many `seconds` at most."""

    def __init__(self, count: int, seconds: float) -> None:
        self.seconds = seconds
        self.free: Queue[_Worker | None] = Queue()
        self.all = {_Worker() for _ in range(count)}
        for one in self.all:
            self.free.put(one)
        self.closed = Event()

    def ask(self, body: bytes, gone: Callable[[], bool] = bool) -> bytes:
        """The answer to a question, both as JSON text; an error in words where there is none in time.

        When its turn comes, a question whose asker is `gone` is left out: a page asks anew with every letter.
        """
        try:
            worker = self.free.get(timeout=self.seconds)
        except Empty:
            return _words("too many questions at once: ask again")
        if worker is None:
            self.free.put(None)
            return _words("the server ends")
        if gone():
            self.free.put(worker)
            return _words("nobody waits for the answer")
        found = worker.ask(body, self.seconds)
        if found is None:
            worker = self._replaced(worker)
        self.free.put(worker)
        return found or _words(f"no answer within {self.seconds:g} seconds: ask for less, such as a smaller shape")

    def _replaced(self, worker: _Worker) -> _Worker | None:
        worker.end()
        self.all.discard(worker)
        if self.closed.is_set():
            return None
        new = _Worker()
        self.all.add(new)
        if self.closed.is_set():  # while it started
            new.end()
            return None
        return new

    def close(self) -> None:
        """End all processes."""
        self.closed.set()
        self.free.put(None)
        for one in list(self.all):
            one.end()


def _words(message: str) -> bytes:
    return json.dumps(failure(message)).encode()
