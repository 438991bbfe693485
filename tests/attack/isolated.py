"""An attack runs in a process of its own, under a limit of memory and time, and every case of it can be made again.

An `Attack` makes a case from a random generator, and says what is wrong with how the library takes it. The generator of a
case is seeded with the run's seed and the case's number alone, so a case needs no case before it:

    python -m tests.attack.isolated tests.attack.test_parses:Parses SEED NUMBER

The process that runs it (`run`) has an address space of a few GiB, so that an allocation that a person would notice is a
`MemoryError` there. A case that takes more than ten seconds of CPU is interrupted; one that cannot be interrupted is killed.
Complaints of one kind (the same exception at the same line) are counted, and the first of each is made smaller.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import importlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.attack.effort import PARTS, SEED, WHOLE, share, slowness

ROOT = Path(__file__).parents[2]
MEMORY = 3 * 2**30
"""Bytes of address space that an attacked process may have; the libraries alone map about 1 GiB."""
_OVERDUE = 10.0
_SILENT = 180.0
_MOST_KINDS = 25


class OverdueError(BaseException):
    """A case took too long; not an `Exception`, so that the library does not catch it."""


@dataclass(frozen=True)
class Complaint:
    """What is wrong: `kind` groups complaints, `words` are for the reader."""

    kind: str
    words: str


_LONG_ENOUGH = 2000
"""Cases after which a run must have seen all that it aims at; a short one may miss something."""


class Attack:
    """One way to attack the library."""

    seconds = 2.0
    """CPU seconds that a case may take on the reference machine."""
    lasting: tuple[str, ...] = ()
    """Words in the tally that the run must have seen, so that the attack is known to reach what it aims at."""

    def __init__(self) -> None:
        self.tally: Counter[str] = Counter()

    def prepare(self, seed: int, first: int, count: int) -> None:
        """Do once what all cases need, before the clock starts."""

    def case(self, rng: random.Random) -> Any:
        raise NotImplementedError

    def numbered(self, seed: int, number: int) -> Any:
        """The case of a number in the run of a seed."""
        return self.case(random.Random(f"{seed} {number}"))

    def attempt(self, case: Any) -> Complaint | None:
        """Give the case to the library; an exception that leaves this is a complaint as well."""
        raise NotImplementedError

    def smaller(self, case: Any) -> Iterable[Any]:
        """Cases that are a little smaller."""
        return ()

    def shown(self, case: Any) -> str:
        return repr(case)

    def allowed(self, case: Any) -> float:
        """CPU seconds that this case may take on the reference machine."""
        return self.seconds

    def complaint(self, case: Any, again: int = 4) -> Complaint | None:
        """What is wrong with how the library takes the case; a slow one is repeated before it is called slow."""
        with _alarm():
            took, found = _timed(lambda: self.attempt(case))
        seconds = self.allowed(case)
        if found is not None or took <= seconds:
            return found
        for _ in range(again):
            limit = seconds * slowness()
            with _alarm():
                took, found = _timed(lambda: self.attempt(case))
            if took <= limit:
                return found
        return Complaint("slow", f"took {took:.2f} s")


class Sweep(Attack):
    """An attack whose cases can be listed: random ones would find the last mistake late.

    A run takes as many as it has time for, from a place that its seed says; `make exhaustive` takes all of them. The cases
    stand in an order of chance, always the same one, so that a short run sees some of every kind.
    """

    most: int
    """There are at most so many cases."""

    def listed(self) -> Iterable[Any]:
        """All cases; called after `prepare`."""
        raise NotImplementedError

    @functools.cached_property
    def cases(self) -> list[Any]:
        found = list(self.listed())
        assert len(found) <= self.most, f"{len(found)} cases; say so in {type(self).__name__}.most"
        random.Random("an order of chance").shuffle(found)
        return found

    def numbered(self, seed: int, number: int) -> Any:
        if not WHOLE:
            return self.cases[(seed * 15_485_863 + number) % len(self.cases)]
        return self.cases[number] if number < len(self.cases) else None

    def complaint(self, case: Any, again: int = 4) -> Complaint | None:
        return None if case is None else super().complaint(case, again)


def _timed(attempt: Callable[[], Complaint | None]) -> tuple[float, Complaint | None]:
    start = time.thread_time()
    try:
        found = attempt()
    except (Exception, OverdueError) as error:
        found = complaint_about(error)
    return time.thread_time() - start, found


def complaint_about(error: BaseException) -> Complaint:
    """A complaint that groups by the exception and the last line of the library that it passed."""
    if isinstance(error, OverdueError):
        return Complaint("overdue", f"interrupted after {_OVERDUE:.0f} s of CPU")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "layoutalg" in Path(frame.filename).parts]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno} in {frames[-1].name}" if frames else "outside"
    said = f"{error}"[:300]
    if isinstance(error, RecursionError | MemoryError):
        where = "anywhere"
    return Complaint(f"{type(error).__name__} at {where}", f"{type(error).__name__}: {said}")


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    def ring(_signal: int, _frame: object) -> None:
        raise OverdueError

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, _OVERDUE * 1.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def smallest(attack: Attack, case: Any, found: Complaint) -> tuple[Any, Complaint]:
    """The smallest case that still gives a complaint of this kind, within a few seconds of search."""
    until = time.monotonic() + 2
    shrinking = True
    while shrinking:
        shrinking = False
        for smaller in attack.smaller(case):
            if time.monotonic() > until:
                return case, found
            now = attack.complaint(smaller, again=2)
            if now is not None and now.kind == found.kind:
                case, found, shrinking = smaller, now, True
                break
    return case, found


def _attack_named(name: str) -> Attack:
    module, _, attribute = name.partition(":")
    made: Attack = getattr(importlib.import_module(module), attribute)()
    return made


def work(name: str, seed: int, first: int, count: int, progress: Path) -> dict[str, Any]:
    """Try `count` cases from number `first` on; the number of the present one stands in the file `progress`."""
    attack = _attack_named(name)
    attack.prepare(seed, first, count)
    kinds: dict[str, dict[str, Any]] = {}
    with progress.open("r+b", buffering=0) as file:
        for number in range(first, first + count):
            os.pwrite(file.fileno(), b"%-12d" % number, 0)
            case = attack.numbered(seed, number)
            found = attack.complaint(case)
            if found is None:
                continue
            if found.kind in kinds:
                kinds[found.kind]["count"] += 1
            elif len(kinds) < _MOST_KINDS:
                case, found = smallest(attack, case, found)
                shown = attack.shown(case)
                shown = shown if len(shown) < 1500 else f"{shown[:1000]} ... ({len(shown)} characters)"
                kinds[found.kind] = {"number": number, "count": 1, "case": shown, "words": found.words}
    return {"kinds": list(kinds.values()), "tally": dict(attack.tally)}


def run(attack: type[Attack], part: int, full: int, folder: Path, least: int = 1) -> Counter[str]:
    """Run one part of an attack of `full` cases in a process of its own; raises AssertionError with all complaints."""
    count = -(-attack.most // PARTS) if WHOLE and issubclass(attack, Sweep) else max(1, share(full, least) // PARTS)
    name = f"{attack.__module__}:{attack.__qualname__}"
    again = f"python -m tests.attack.isolated {name} {SEED}"
    progress = folder / "progress"
    progress.write_bytes(b"%-12d" % -1)
    cwd = folder / "cwd"
    cwd.mkdir()
    command = [sys.executable, "-m", "tests.attack.isolated", name, str(SEED), str(part * count), str(count), progress]
    with (folder / "out").open("w+b") as out, (folder / "err").open("w+b") as err:
        process = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment()
        )
        _watch(process, progress)
        reached = progress.read_bytes().decode().strip()
        out.seek(0)
        err.seek(0)
        said, crashed = out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace")
    assert process.returncode == 0, (
        f"case {reached} ended the process ({process.returncode}): {again} {reached}\n{crashed}"
    )
    found = json.loads(said)
    lines = [
        f"{one['count']} x {one['words']}\n    smallest: {one['case']}\n    again: {again} {one['number']}"
        for one in found["kinds"]
    ]
    assert not lines, f"seed {SEED}, {len(lines)} kinds of complaint in {count} cases:\n" + "\n".join(lines)
    tally = Counter(found["tally"])
    for word in attack.lasting if count >= _LONG_ENOUGH else ():
        assert tally[word], f"the attack never saw {word!r}: {tally}"
    return tally


def environment() -> dict[str, str]:
    """The environment of an attacked process: this package and the library on the path, one thread for numpy."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg", "PYTHONHASHSEED": "0"}


def _watch(process: subprocess.Popen[bytes], progress: Path) -> None:
    """Wait for the process; one that stays at a case for three minutes of CPU, or for half an hour, is killed."""
    last, since, used = b"", time.monotonic(), 0.0
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.5)
            return
        at, now = progress.read_bytes(), _cpu_seconds(process.pid)
        if at != last:
            last, since, used = at, time.monotonic(), now
        elif now - used > _SILENT or time.monotonic() - since > 10 * _SILENT:
            process.kill()
            process.wait()
            return


def _cpu_seconds(process: int) -> float:
    """What a process has used of its CPU; other work on the machine does not count."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(arguments: list[str]) -> None:
    faulthandler.enable()
    name, seed, first = arguments[0], int(arguments[1]), int(arguments[2])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if len(arguments) == 3:
        os.chdir(tempfile.mkdtemp())  # an attack may write and remove whatever is in its folder
        attack = _attack_named(name)
        attack.prepare(seed, first, 1)
        case = attack.numbered(seed, first)
        print(attack.shown(case))
        found = attack.complaint(case)
        print("nothing to complain about" if found is None else found.words)
        if found is not None:
            print("smallest:", attack.shown(smallest(attack, case, found)[0]))
        return
    answer = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    found = work(name, seed, first, int(arguments[3]), Path(arguments[4]))
    os.write(answer, json.dumps(found).encode())
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
