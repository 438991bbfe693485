"""A sample of every family of tests, by turns: how `make test` takes two minutes.

A family is a test function with all its cases. With `--sample SECONDS` a family runs as many of its cases as fit into that
much time of a processor, at least one. Cases take turns by the number of commits: each commit begins where the last one ended,
so a family of 600 cases of which 20 fit is through after 30 commits. Long tests of one file that have no cases take turns too,
and so do all tests of more than half a second.

>>> [turn(list("abcdefg"), 3, commit) for commit in range(3)]
[['a', 'b', 'c'], ['d', 'e', 'f'], ['a', 'b', 'g']]

With `--share 0/2` a process takes half of the files, so that it reads and imports no more than it runs; `tests/shares.py`
starts one process for each processor. What tests take is in `tests/times.json`; `make times` measures it again.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
TIMES = Path(__file__).with_name("times.json")
LONG = 0.1
"""Seconds from which on a test without cases takes turns with the others of its file."""
LONGEST = 0.5
"""Seconds from which on tests take turns with all others of this length: one of them runs, where less is asked of a family."""
UNKNOWN = 0.01
"""Seconds of a case of which no time is stored: a new one, or one that takes less."""
EXAMPLES, USUAL = 10, 100
"""Examples of a property-based test in a short sample, and what it usually has."""
READING = 0.03
"""Seconds to read and import a file of tests."""

COUNTED = ("passed", "failed", "error", "skipped", "xfailed", "deselected")

_Any = TypeVar("_Any")


@dataclass
class Times:
    """What the tests of one file take, in seconds of a processor.

    >>> Times(0.5, {"test_map": (100, 0.02), "test_plan": (1, 3.0)}).sampled(0.1)
    0.6
    """

    others: float = 0.0
    """All that are not in `families`."""
    families: dict[str, tuple[int, float]] = field(default_factory=dict[str, tuple[int, float]])
    """By function, how many cases it has and what one of them takes; a long test without cases has one."""

    def sampled(self, seconds: float) -> float:
        """What a sample of the file takes."""
        shorter = [(count, each) for count, each in self.families.values() if seconds >= LONGEST or each < LONGEST]
        cases = [max(each, min(count * each, seconds)) for count, each in shorter if count > 1]
        long = [each for count, each in shorter if count == 1]
        return self.others + sum(cases) + min(sum(long), max([seconds, *long]) if long else 0.0)


def turn(cases: Sequence[_Any], count: int, commit: int) -> list[_Any]:
    """The `count` cases whose turn it is at a commit of this number, in their own order."""
    if count >= len(cases):
        return list(cases)
    first = commit * count % len(cases)
    chosen = {(first + at) % len(cases) for at in range(count)}
    return [case for at, case in enumerate(cases) if at in chosen]


def commits() -> int:
    """How many commits led to what is tested; 0 where there is no history, as in a source distribution."""
    asked = ["git", "-C", str(ROOT), "rev-list", "--count", "HEAD"]
    try:
        said = (
            os.environ.get("LAYOUTALG_TURN")
            or subprocess.run(asked, capture_output=True, check=True, timeout=10).stdout
        )
        return int(said)
    except (OSError, subprocess.SubprocessError, ValueError):
        return 0


@cache
def times() -> dict[str, Times]:
    """What is stored, by file."""
    stored = json.loads(TIMES.read_text(encoding="utf-8")) if TIMES.exists() else {}
    return {
        file: Times(found.pop("", 0.0), {name: (each[0], each[1]) for name, each in found.items()})
        for file, found in stored.items()
    }


def sampled(names: Sequence[str], seconds: float, commit: int, property_based: Collection[str] = ()) -> set[str]:
    """Which of these tests run in a sample of so many seconds a family; property-based ones have fewer examples in a short one.

    >>> len(sampled([f"tests/new.py::test_new[{case}]" for case in range(100)], 0.1, 0))
    10
    """
    families: dict[tuple[str, str], list[str]] = {}
    longest: dict[tuple[str, str], float] = {}
    for name in names:
        key = file, function = family_of(name)
        _, each = times().get(file, Times()).families.get(function, (0, UNKNOWN))
        if seconds < LONGEST and name in property_based:
            each *= EXAMPLES / USUAL
        if each >= LONGEST > seconds:
            key = ("", "")
        elif "[" not in name and each >= LONG:
            key = (file, "")
        families.setdefault(key, []).append(name)
        longest[key] = max(each, UNKNOWN / 100, longest.get(key, 0.0))
    chosen: set[str] = set()
    for key, cases in families.items():
        count = 1 if key == ("", "") else max(1, int(seconds / longest[key]))
        chosen.update(turn(cases, count, commit))
    return chosen


@cache
def share_of(count: int, seconds: float | None, ignored: tuple[str, ...] = ()) -> dict[str, int]:
    """By file of tests, which of so many processes runs it, so that all take about as long; ignored folders are left out."""
    files = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("layoutalg/**/*.py")]
    costs: dict[str, float] = {}
    for name in (path.relative_to(ROOT).as_posix() for path in files):
        if name.startswith(ignored):
            continue
        costs[name] = READING + times().get(name, Times()).sampled(float("inf") if seconds is None else seconds)
    loads = [0.0] * count
    found: dict[str, int] = {}
    for name in sorted(costs, key=lambda name: (-costs[name], name)):
        found[name] = loads.index(min(loads))
        loads[found[name]] += costs[name]
    return found


def examples(count: int) -> int:
    """How many examples a property-based test has that asks for so many: all of them, or what a sample has."""
    return min(count, EXAMPLES) if settings.default.max_examples == EXAMPLES else count


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sampling")
    group.addoption(
        "--sample", type=float, metavar="SECONDS", help="run so many seconds of every family of tests, by turns"
    )
    group.addoption("--share", metavar="K/N", help="take share K (from 0) of N of the files")
    group.addoption("--counts", type=Path, metavar="FILE", help="write how many tests passed, failed, were left out")
    group.addoption(
        "--store-times", action="store_true", help="measure what tests take, and store it in tests/times.json"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--store-times"):
        config.pluginmanager.register(_Measuring(), "measuring")
    seconds: float | None = config.getoption("--sample")
    if seconds is not None and seconds < LONGEST:
        settings.register_profile("sample", max_examples=EXAMPLES, deadline=None)
        settings.load_profile("sample")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the files of other shares alone."""
    share: str | None = config.getoption("--share")
    if share is None or collection_path.is_dir():
        return None
    own, _, count = share.partition("/")
    name = collection_path.relative_to(ROOT).as_posix() if collection_path.is_relative_to(ROOT) else ""
    ignored = tuple(f"{folder}/" for folder in config.getoption("ignore") or ())
    found = share_of(int(count), config.getoption("--sample"), ignored).get(name)
    return True if found is not None and found != int(own) else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seconds: float | None = config.getoption("--sample")
    if seconds is None:
        return
    names = [item.nodeid for item in items]
    measuring: _Measuring | None = config.pluginmanager.get_plugin("measuring")
    if measuring is not None:
        measuring.cases.update(map(family_of, names))
    property_based = {item.nodeid for item in items if getattr(getattr(item, "obj", None), "is_hypothesis_test", False)}
    chosen = sampled(names, seconds, commits(), property_based)
    left_out = [item for item in items if item.nodeid not in chosen]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.nodeid in chosen]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    counts: Path | None = config.getoption("--counts")
    if counts is not None:
        found = {what: len(reports) for what, reports in terminalreporter.stats.items() if what in COUNTED}
        counts.write_text(json.dumps(found), encoding="utf-8")


class _Measuring:
    """Measures every test in seconds of a processor, its child processes included, and stores what families take."""

    def __init__(self) -> None:
        self.of: dict[str, float] = {}
        self.cases: Counter[tuple[str, str]] = Counter()
        """How many cases families have of which a sample is measured."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None]:
        before = sum(os.times()[:4])
        yield
        self.of[item.nodeid] = sum(os.times()[:4]) - before

    def pytest_sessionfinish(self) -> None:
        TIMES.write_text(stored(self.of, self.cases), encoding="utf-8")


def family_of(name: str) -> tuple[str, str]:
    """The file and the function of a test.

    >>> family_of("tests/memory/test_views.py::test_rows[3-x]")
    ('tests/memory/test_views.py', 'test_rows')
    """
    file, _, function = name.partition("::")
    return file, function.partition("[")[0]


def stored(taken: dict[str, float], cases: Mapping[tuple[str, str], int]) -> str:
    """The text of `tests/times.json`, from what tests took, and how many cases the families have that were sampled."""
    families: dict[str, dict[str, list[float]]] = {}
    for name, seconds in taken.items():
        file, function = family_of(name)
        families.setdefault(file, {}).setdefault(function, []).append(seconds)
    for file, function in cases:  # what a sample left out takes what it took before
        _, each = times().get(file, Times()).families.get(function, (0, 0.0))
        families.setdefault(file, {}).setdefault(function, [each])
    rows: dict[str, dict[str, object]] = {}
    for file, functions in sorted(families.items()):
        row = rows[file] = {"": 0.0}
        others = 0.0
        for function, found in sorted(functions.items()):
            count = max(len(found), cases.get((file, function), 0))
            if count > 1 or found[0] >= LONG:
                row[function] = [count, float(f"{sum(found) / len(found):.2g}")]
            else:
                others += found[0]
        row[""] = round(others, 2)
    lines = ",\n".join(f"{json.dumps(file)}: {json.dumps(row)}" for file, row in rows.items())
    return "{\n" + lines + "\n}\n"
