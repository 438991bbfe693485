"""Any argument: a public function, class or method takes it or raises LayoutError, soon, and in little memory.

Calls that worked (see `recorded_calls`) are made again with a value that nobody means in the place of an argument, or of
something inside one. What is returned can be printed, hashed and compared, unless it is a plain record that checks
nothing. An audit hook sees whatever Python compiles: a text that was given is never among it. One argument too many or too
few is Python's own TypeError.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.attack.effort import PARTS
from tests.attack.hostile_values import MARK, VALUES, OwnError
from tests.attack.isolated import Attack, Complaint, complaint_about, run
from tests.attack.recorded_calls import Call, recorded

_NUMBER_OF_ARGUMENTS = re.compile(
    r"missing \d+ required|takes .*positional arg|unexpected keyword|multiple values|"
    r"expected \d+ arguments?, got|too many positional"
)
_WITH_FILES = ("save", "write", "read", "open")
_compiled: list[str] = []
_watching = [False]


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching[0] and event == "compile" and arguments[0] is not None and MARK in str(arguments[0]):
        _compiled.append(str(arguments[0])[:200])


Place = tuple[Any, ...]


class Case(NamedTuple):
    target: int
    call: int
    changes: tuple[tuple[Place, str], ...]
    """Which places (an index or a name, then the way inside) get which values of `VALUES`."""
    count: int = 0
    """Arguments left out from the end (negative) or given beside (positive)."""
    without: tuple[str, ...] = ()
    """Names of arguments that are left out."""


class PublicCalls(Attack):
    seconds = 2.0
    lasting = ("refused", "returned")

    def prepare(self, seed: int, first: int, count: int) -> None:
        import layoutalg as la

        self.la = la
        sys.addaudithook(_hook)
        self.targets = [calls for calls in recorded() if self._aims_at(calls[0].name)]
        self.tally["targets"] = len(self.targets)

    def _aims_at(self, name: str) -> bool:
        """The names of the package itself; what its rooms name beside them is `RoomCalls`."""
        return name.split(".")[1] in self.la.__all__

    def case(self, rng: random.Random) -> Case:
        target = rng.randrange(len(self.targets))
        calls = self.targets[target]
        call = rng.randrange(len(calls))
        found = list(places(calls[call]))
        if not found or rng.random() < 0.02:
            return Case(target, call, (), rng.choice((-1, 1)))
        names = list(VALUES)
        count = 1 if rng.random() < 0.75 else min(2, len(found))
        return Case(target, call, tuple((place, rng.choice(names)) for place in rng.sample(found, count)))

    def smaller(self, case: Case) -> Iterator[Case]:
        if len(case.changes) > 1:
            for change in case.changes:
                yield case._replace(changes=(change,))

    def shown(self, case: Case) -> str:
        call = self.targets[case.target][case.call]
        changes = ", ".join(f"argument {'.'.join(map(str, place))} is {name}" for place, name in case.changes)
        more = f" with {case.count} arguments more" * bool(case.count) + f" without {case.without}" * bool(case.without)
        arguments = " ".join(f"{call.positional!r:.300}{call.named!r:.200}".split())
        return f"{call.name}{arguments} where {changes or 'nothing is changed'}{more}"

    def attempt(self, case: Case) -> Complaint | None:
        call = self.targets[case.target][case.call]
        positional, named = _changed(call, case)
        del _compiled[:]
        _watching[0] = True
        try:
            result = call.function(*positional, **named)
            if isinstance(result, Iterator):
                result = list(itertools.islice(result, 1000))
            self.tally["returned"] += 1
            wrong = self._wrong_result(result)
        except self.la.LayoutError as error:
            self.tally["refused"] += 1
            wrong = self._wrong_words(error)
        except OwnError:
            wrong = None
        except OSError as error:
            wrong = None if call.name.endswith(_WITH_FILES) else complaint_about(error)
        except TypeError as error:
            counted = (case.count or case.without) and _NUMBER_OF_ARGUMENTS.search(str(error))
            wrong = None if counted else complaint_about(error)
        finally:
            _watching[0] = False
        if _compiled or Path(MARK).exists():
            return Complaint(f"evaluated by {call.name}", f"a text was compiled: {_compiled}")
        return wrong

    def _wrong_result(self, result: Any) -> Complaint | None:
        """A value that was made from the argument must be a value: printed, hashed, compared."""
        kind = type(result)
        if not kind.__module__.startswith("layoutalg") or not _has_rules(kind):
            return None
        try:
            str(result), repr(result), result == result
            if kind.__hash__ is not None:
                hash(result)
        except self.la.LayoutError:
            return None
        except OwnError:
            return None
        except Exception as error:
            found = complaint_about(error)
            return Complaint(f"result of {kind.__name__}, {found.kind}", f"the result raises {found.words}")
        return None

    def _wrong_words(self, error: Exception) -> Complaint | None:
        words = str(error)
        if words.strip() and "\n" not in words and len(words) <= 2000:
            return None
        found = complaint_about(error)
        return Complaint(
            f"words, {found.kind}",
            f"an error of {len(words)} characters, {words.count(chr(10))} newlines: {words[:150]!r}",
        )


class RoomCalls(PublicCalls):
    def _aims_at(self, name: str) -> bool:
        return not super()._aims_at(name)


def _has_rules(kind: type) -> bool:
    """Whether making one checks anything; a plain record holds whatever it is given."""
    if issubclass(kind, tuple):
        return False
    return any("__post_init__" in one.__dict__ for one in kind.__mro__) or not dataclasses.is_dataclass(kind)


def places(call: Call) -> Iterator[Place]:
    for i, value in enumerate(call.positional):
        if i >= call.kept:
            yield from _inside((i,), value)
    for name, value in call.named.items():
        yield from _inside((name,), value)


def _inside(place: Place, value: Any) -> Iterator[Place]:
    yield place
    if len(place) < 4 and type(value) in (list, tuple):
        for i in range(min(len(value), 6)):
            yield from _inside((*place, i), value[i])
    elif len(place) < 4 and type(value) is dict:
        for key in itertools.islice(value, 6):
            yield from _inside((*place, key), value[key])


def _changed(call: Call, case: Case) -> tuple[list[Any], dict[str, Any]]:
    positional, named = [_copied(value) for value in call.positional], {k: _copied(v) for k, v in call.named.items()}
    for (head, *way), name in case.changes:
        value = VALUES[name]()
        if isinstance(head, int):
            positional[head] = _put(positional[head], way, value)
        else:
            named[head] = _put(named[head], way, value)
    for name in case.without:
        named.pop(name, None)
    if case.count < 0:
        del positional[case.count :]
    return positional + [4] * max(case.count, 0), named


def _copied(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    if type(value) is dict:
        return {key: _copied(inner) for key, inner in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


def _put(container: Any, way: list[Any], value: Any) -> Any:
    if not way or type(container) not in (list, tuple, dict):
        return value
    if type(container) is dict:
        return container | {way[0]: _put(container.get(way[0]), way[1:], value)}
    inner = list(container)
    if not isinstance(way[0], int) or way[0] >= len(inner):  # another change has put something else here
        return value
    inner[way[0]] = _put(inner[way[0]], way[1:], value)
    return type(container)(inner)


@pytest.mark.parametrize("part", range(PARTS))
def test_20_000_calls_take_their_arguments_or_refuse_them(part: int, tmp_path: Path) -> None:
    tally = run(PublicCalls, part, 20_000, tmp_path)
    assert tally["targets"] > 100


@pytest.mark.parametrize("part", range(PARTS))
def test_10_000_calls_of_the_rooms_take_their_arguments_or_refuse_them(part: int, tmp_path: Path) -> None:
    tally = run(RoomCalls, part, 10_000, tmp_path)
    assert tally["targets"] > 100
