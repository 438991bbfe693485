"""Work done by an executor, with nothing lost when a worker dies.

`done_by(executor, function, tasks)` gives (number, result) for every task, in the order in which they finish. A worker that
dies takes what it worked on with it, and breaks a pool of processes: what was on its way is given out again, one task at a
time, to a new pool where the old one is broken. A task whose worker dies every time has a `Lost` for a result, which says what
happened.

>>> sorted(done_by(None, abs, [-3, 2]))
[(0, 3), (1, 2)]

Any executor of `concurrent.futures` serves, and whatever has its `submit`; without one, this process does the work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from layoutalg.core.messages import one_line, shortened

__all__ = ["Lost", "done_by"]

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_TRIES = 3
"""How often a task is given out before it counts as lost."""
_ON_THEIR_WAY = 256
"""Batches that are given out at a time: tasks may be a stream without end, and results are taken as they come."""


@dataclass(frozen=True)
class Lost:
    """A task that no worker finished, and why.

    >>> str(Lost("its worker died", 3))
    'its worker died (3 tries)'
    """

    why: str
    tries: int

    def __str__(self) -> str:
        return f"{self.why} ({self.tries} tr{'y' if self.tries == 1 else 'ies'})"


def done_by(
    executor: Executor | None, function: Callable[[_Task], _Result], tasks: Iterable[_Task], batch: int = 8
) -> Iterator[tuple[int, _Result | Lost]]:
    """The result of every task with its number, as they finish; `batch` tasks are given out together.

    The function has to be one that workers can import. What it raises counts as a failure of the worker.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool:
    ...     print(sorted(done_by(pool, len, ["one", "four"])))
    [(0, 3), (1, 4)]
    """
    if executor is None:
        return ((number, function(task)) for number, task in enumerate(tasks))
    return _Work(executor, function, batch).results(tasks)


@dataclass(frozen=True)
class _Batch(Generic[_Task]):
    """Tasks that are given out together, and how often they were given out before."""

    tasks: tuple[tuple[int, _Task], ...]
    tries: int = 0


class _Work(Generic[_Task, _Result]):
    """What is on its way, and the pool that stands in for one that broke."""

    def __init__(self, executor: Executor, function: Callable[[_Task], _Result], batch: int) -> None:
        self.executor = executor
        self.function = function
        self.batch = batch
        self.again: deque[_Batch[_Task]] = deque()
        self.alone: deque[_Batch[_Task]] = deque()
        self.going: dict[Future[list[_Result]], _Batch[_Task]] = {}
        self.replacement: ProcessPoolExecutor | None = None
        self.refused: list[tuple[_Batch[_Task], Exception]] = []

    def results(self, tasks: Iterable[_Task]) -> Generator[tuple[int, _Result | Lost]]:
        numbered = enumerate(tasks)
        try:
            while True:
                self._give_out(numbered)
                while self.refused:
                    one, error = self.refused.pop()
                    for number, _ in one.tasks:
                        yield number, Lost(f"the executor took no work: {_words(error)}", one.tries + 1)
                if not self.going and not self.again and not self.alone:
                    return
                if not self.going:
                    continue
                done, _ = wait(self.going, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from self._finished(future)
        finally:
            for future in self.going:
                future.cancel()
            if self.replacement is not None:
                self.replacement.shutdown(wait=False, cancel_futures=True)

    def _give_out(self, numbered: Iterator[tuple[int, _Task]]) -> None:
        """Keep workers busy; what killed a worker twice goes out alone, so that it takes nothing else with it."""
        while len(self.going) + len(self.refused) < _ON_THEIR_WAY:
            if self.again:
                one = self.again.popleft()
            elif taken := tuple(islice(numbered, self.batch)):
                one = _Batch(taken)
            elif self.alone and not self.going:
                self._submit(self.alone.popleft())
                return
            else:
                return
            self._submit(one)

    def _submit(self, one: _Batch[_Task]) -> None:
        arguments = [task for _, task in one.tasks]
        try:
            try:
                future = (self.replacement or self.executor).submit(_each, self.function, arguments)
            except BrokenExecutor:
                self._replace()
                future = (self.replacement or self.executor).submit(_each, self.function, arguments)
        except Exception as error:  # one that was shut down, a cluster that is gone: every library has its own
            self.refused.append((one, error))
        else:
            self.going[future] = one

    def _finished(self, future: Future[list[_Result]]) -> Iterator[tuple[int, _Result | Lost]]:
        one = self.going.pop(future)
        try:
            found = future.result()
        except BaseException as error:  # a cancelled future's is no Exception in every library
            if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
                raise
            yield from self._failed(one, error)
            return
        for (number, _), result in zip(one.tasks, found, strict=True):
            yield number, result

    def _failed(self, one: _Batch[_Task], error: BaseException) -> Iterator[tuple[int, Lost]]:
        tries = one.tries + 1
        if tries >= _TRIES:
            for number, _ in one.tasks:
                yield number, Lost(_words(error), tries)
            return
        later = self.again if tries == 1 else self.alone
        later.extend(_Batch((task,), tries) for task in one.tasks)

    def _replace(self) -> None:
        """A new pool of processes, like the one that broke."""
        old = self.replacement or self.executor
        workers = getattr(old, "_max_workers", None)
        context = getattr(old, "_mp_context", None)
        if self.replacement is not None:
            self.replacement.shutdown(wait=False, cancel_futures=True)
        self.replacement = ProcessPoolExecutor(workers if isinstance(workers, int) else None, mp_context=context)


def _words(error: BaseException) -> str:
    name = type(error).__name__
    return shortened(one_line(f"{name}: {error}" if str(error) else name))


def _each(function: Callable[[_Task], _Result], tasks: list[_Task]) -> list[_Result]:
    return [function(task) for task in tasks]
