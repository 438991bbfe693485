"""Every operation on layouts made to hurt: an answer or LayoutError, soon, in little memory.

Half of the layouts are small, and there what an operation says is compared with the relation counted element by
element (`tests.laws.relations`). The others have extents of 2^31, replicas without end, strides that are symbols, and axes
that nothing uses but a factor of extent 1. The process has an address space of a few GiB.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.attack.effort import PARTS
from tests.attack.isolated import Attack, Complaint, run
from tests.laws.relations import Point, composed, point, relation

_AXES = ("sg", "lane", "reg", "reg", "lane", "foo", "addr")
_HUGE = (1, 1, 2, 3, 4, 16, 64, 1024, 2**20, 2**24, 2**27, 2**30, 2**31)
_STRIDES = (1, 1, 2, 4, 16, 0, 2**20, 2**31, 2**31 - 1)
_SYMBOLS = ("M", "K", "M/16", "(M + 1)", "M*K", "(M + K)/(K + 3)", "4*N")


class Case(NamedTuple):
    operation: str
    layout: str
    other: str
    number: int


def _factor(rng: random.Random, small: bool, symbols: bool, axes: tuple[str, ...]) -> str:
    extent: object = rng.choice((1, 1, 2, 2, 3, 4)) if small else rng.choice(_HUGE)
    stride: object = rng.choice((1, 1, 2, 3, 4, 6)) if small else rng.choice(_STRIDES)
    if symbols and rng.random() < 0.4:
        extent = rng.choice(_SYMBOLS)
    if symbols and rng.random() < 0.4:
        stride = rng.choice(_SYMBOLS)
    axis = rng.choice(axes)
    return f"{extent}@_" if axis == "_" else f"{extent}@{axis}:{stride}"


def nasty(rng: random.Random, small: bool) -> str:
    """The text of a layout."""
    symbols = not small and rng.random() < 0.4
    rank = rng.choice((1, 1, 2, 2, 3))
    dims = [[_factor(rng, small, symbols, (*_AXES, "_")) for _ in range(rng.randint(1, 3))] for _ in range(rank)]
    text = ", ".join(f"d{d} = {' '.join(factors)}" for d, factors in enumerate(dims))
    if rng.random() < 0.5:
        replicas = (_factor(rng, small, symbols, ("sg", "lane", "reg", "foo")) for _ in range(rng.randint(1, 2)))
        text += f" | replicas {' '.join(replicas)}"
    if rng.random() < 0.15:
        text += f" | offset {rng.choice((1, 5, 64))}@{rng.choice(('lane', 'reg', 'addr'))}"
    return text


def _machine(rng: random.Random) -> str:
    """A small layout that has inverses: factors dealt to subgroups, lanes and registers, some of extent 1."""
    from tests.random_layouts import machine_layout

    return str(machine_layout(rng, most=64, ranks=(1, 3)))


Operation = Callable[[Any, Any, Any, int], object]
OPERATIONS: dict[str, Operation] = {
    "str": lambda la, a, b, n: (str(a), repr(a), hash(a)),
    "equal": lambda la, a, b, n: a == b,
    "sizes": lambda la, a, b, n: (a.shape, a.codomain, a.rank),
    "axes": lambda la, a, b, n: (a.axes, a.spans),
    "fragment_shape": lambda la, a, b, n: a.fragment_shape,
    "conditions": lambda la, a, b, n: a.conditions,
    "substitute": lambda la, a, b, n: a.substitute(M=n, K=16),
    "substitute 10**30": lambda la, a, b, n: a.substitute(M=10**30),
    "operands": lambda la, a, b, n: a.operands(),
    "layout": lambda la, a, b, n: a.layout(a.shape, la.Machine(lanes=16 * max(n, 1), subgroups=4)),
    "canonical": lambda la, a, b, n: a.canonical(),
    "inverse": lambda la, a, b, n: a.inverse(),
    "twice inverse": lambda la, a, b, n: a.inverse().inverse(),
    "permute": lambda la, a, b, n: a.permute(tuple(range(a.rank))[::-1]),
    "reshape": lambda la, a, b, n: a.reshape((a.shape[0], *a.shape[1:], 1)),
    "flatten": lambda la, a, b, n: a.reshape((math.prod(a.shape),)),
    "slice": lambda la, a, b, n: a.slice(n % a.rank),
    "broadcast": lambda la, a, b, n: a.broadcast(n % a.rank, 1 + n),
    "tile": lambda la, a, b, n: a.tile((2,) * a.rank),
    "tile on lanes": lambda la, a, b, n: a.tile((n,) * a.rank, "lane"),
    "divide": lambda la, a, b, n: a.divide((2,) * a.rank),
    "restrict": lambda la, a, b, n: a.restrict(0, 0, 2),
    "restrict from n": lambda la, a, b, n: a.restrict(a.rank - 1, n, 1),
    "fragment_map": lambda la, a, b, n: a.fragment_map(),
    "fragment_map of a lane": lambda la, a, b, n: a.fragment_map(lane=n),
    "coords": lambda la, a, b, n: a.coords(lane=n),
    "coords of nobody": lambda la, a, b, n: a.coords(),
    "owners": lambda la, a, b, n: a.owners((0,) * a.rank),
    "owners of n": lambda la, a, b, n: a.owners((n,) * a.rank),
    "owner_map": lambda la, a, b, n: a.owner_map("lane"),
    "owner_map of foo": lambda la, a, b, n: a.owner_map("foo"),
    "axis_exprs": lambda la, a, b, n: a.axis_exprs(),
    "index_exprs": lambda la, a, b, n: a.index_exprs(),
    "expression_text": lambda la, a, b, n: [la.expression_text(one) for one in a.index_exprs().values()],
    "product": lambda la, a, b, n: a * b,
    "compose": lambda la, a, b, n: la.compose(a, b),
    "compose with its inverse": lambda la, a, b, n: la.compose(a.inverse(), a),
    "compose_exactly": lambda la, a, b, n: la.compose_exactly(a, b),
    "table": lambda la, a, b, n: la.Table.of(a),
    "same": lambda la, a, b, n: (bool(found := la.same(a, b)), str(found)),
    "same as itself": lambda la, a, b, n: bool(la.same(a, a.canonical())),
    "convert": lambda la, a, b, n: str(la.convert(a, b)),
    "convert to its canonical": lambda la, a, b, n: str(la.convert(a, a.canonical())),
    "convert narrow": lambda la, a, b, n: la.convert(a, b, element_bits=8, slm_limit=n * 64).cost,
    "bank_conflicts": lambda la, a, b, n: str(la.bank_conflicts(a, element_bits=32)),
    "coalescing": lambda la, a, b, n: str(la.coalescing(a, element_bits=16)),
    "best_swizzle": lambda la, a, b, n: str(la.best_swizzle(a, b, element_bits=32)),
    "to_cute": lambda la, a, b, n: str(la.to_cute(a)),
    "to_linear_layout": lambda la, a, b, n: str(la.to_linear_layout(a)),
    "to_nested": lambda la, a, b, n: str(la.to_nested(a)),
    "to_xegpu": lambda la, a, b, n: str(la.to_xegpu(a)),
    "swizzled": lambda la, a, b, n: str(la.swizzled(a, la.Swizzle(3, 0, 3))),
    "distribute": lambda la, a, b, n: la.distribute(a, __import__("numpy").zeros((2, 2))),
    "picture": lambda la, a, b, n: len(a.picture().svg()),
    "picture of the hardware": lambda la, a, b, n: len(a.picture(direction="hardware").html()),
    "report": lambda la, a, b, n: la.show.describe(a, None, "f32").facts,
}


class Operations(Attack):
    seconds = 2.0
    lasting = ("refused", "answered", "compared")

    def prepare(self, seed: int, first: int, count: int) -> None:
        import layoutalg as la
        import layoutalg.core
        import layoutalg.show

        self.la = la
        small = la.Layout.parse("d0 = 2@reg 2@lane")
        for operation in OPERATIONS.values():
            with contextlib.suppress(Exception):  # it imports what it needs; the attack itself complains
                operation(la, small, small, 1)

    def case(self, rng: random.Random) -> Case:
        small = rng.random() < 0.5
        first = _machine(rng) if small and rng.random() < 0.5 else nasty(rng, small)
        second = _machine(rng) if small and rng.random() < 0.5 else nasty(rng, small)
        chance = rng.random()
        if chance < 0.25:
            second = first
        operation = rng.choice(list(OPERATIONS))
        return Case(operation, first, second, rng.choice((0, 1, 2, 3, 5, 16, 2**31)))

    def smaller(self, case: Case) -> Iterator[Case]:
        for field in ("layout", "other"):
            text: str = getattr(case, field)
            words = text.split(" ")
            for i in range(len(words)):
                yield case._replace(**{field: " ".join(words[:i] + words[i + 1 :]).strip(" ,")})
            for i in range(len(words) - 1):
                yield case._replace(**{field: " ".join(words[:i] + words[i + 2 :]).strip(" ,")})
            parts = text.split(" | ")
            if len(parts) > 1:
                yield case._replace(**{field: parts[0]})
            dims = parts[0].split(", ")
            if len(dims) > 1:
                yield case._replace(**{field: ", ".join(dims[:-1])})
        if case.number:
            yield case._replace(number=0)
        if case.other != case.layout:
            yield case._replace(other=case.layout)
        yield from (case._replace(other="d0 = 2@lane") for _ in range(case.other != "d0 = 2@lane"))

    def shown(self, case: Case) -> str:
        return f"{case.operation} of a = {case.layout!r}, b = {case.other!r}, n = {case.number}"

    def attempt(self, case: Case) -> Complaint | None:
        parse = self.la.Layout.parse
        try:
            a, b = parse(case.layout), parse(case.other)
        except self.la.LayoutError:
            self.tally["not a layout"] += 1
            return None
        try:
            found = OPERATIONS[case.operation](self.la, a, b, case.number)
        except self.la.LayoutError as error:
            self.tally["refused"] += 1
            words = str(error)
            if "\n" in words or len(words) > 3000:
                return Complaint(f"words of {case.operation}", f"{len(words)} characters: {words[:300]!r}")
            return None
        self.tally["answered"] += 1
        expected = _EXPECTED.get(case.operation)
        if expected is None or not (_is_small(a) and _is_small(b)):
            return None
        self.tally["compared"] += 1
        return expected(a, b, found, case.number)


def _is_small(layout: Any) -> bool:
    factors = [*(f for dim in layout.dims for f in dim), *layout.replicas]
    entries = 1
    for f in factors:
        if type(f.extent) is not int or type(f.stride) is not int:
            return False
        entries *= f.extent
    return entries <= 512 and not any(layout.origins)


def _wrong(operation: str, found: object) -> Complaint:
    return Complaint(f"wrong {operation}", f"{operation} is not what the relation says: {found}")


def _relation_is(
    operation: str, wanted: Callable[[Any, Any], set[tuple[Point, Point]]]
) -> Callable[..., Complaint | None]:
    def check(a: Any, b: Any, found: Any, _number: int) -> Complaint | None:
        if not hasattr(found, "dims"):
            return None  # a table: compared in tests/laws
        return None if relation(found) == wanted(a, b) else _wrong(operation, found)

    return check


def _owners(a: Any, _b: Any, found: list[tuple[int, ...]], number: int) -> Complaint | None:
    at = point(dict.fromkeys(a.names, number))
    wanted = {y for x, y in relation(a) if x == at}
    said = {point(dict(zip(a.codomain, one, strict=True))) for one in found}
    return None if said == wanted else _wrong("owners", found)


def _fragment_map(a: Any, _b: Any, found: Any, _number: int) -> Complaint | None:
    if set(a.codomain) - {"sg", "lane", "reg"} or found.min(initial=0) < 0:
        return None
    starts = [a.offsets.get(axis, 0) for axis in ("sg", "lane", "reg")]  # where each axis of the map begins
    said = {
        (
            point(dict(zip(a.names, found[sg, lane, reg].tolist(), strict=True))),
            point({"sg": starts[0] + sg, "lane": starts[1] + lane, "reg": starts[2] + reg}),
        )
        for sg in range(found.shape[0])
        for lane in range(found.shape[1])
        for reg in range(found.shape[2])
    }
    return None if said <= relation(a) else _wrong("fragment_map", found.tolist())


def _equal(a: Any, b: Any, found: object, _number: int) -> Complaint | None:
    if a.shape != b.shape or a.names != b.names:
        return None if found is False else _wrong("equality", found)
    return None if not found or relation(a) == relation(b) else _wrong("equality", found)


_EXPECTED: dict[str, Callable[..., Complaint | None]] = {
    "equal": _equal,
    "canonical": _relation_is("canonical", lambda a, b: relation(a)),
    "inverse": _relation_is("inverse", lambda a, b: {(y, x) for x, y in relation(a)}),
    "twice inverse": _relation_is("inverse of the inverse", lambda a, b: relation(a)),
    "compose": _relation_is("composition", lambda a, b: composed(relation(a), relation(b))),
    "compose_exactly": _relation_is("composition", lambda a, b: composed(relation(a), relation(b))),
    "owners": lambda a, b, found, n: _owners(a, b, found, 0),
    "owners of n": _owners,
    "fragment_map": _fragment_map,
    "same as itself": lambda a, b, found, n: None if found else _wrong("sameness", found),
}


@pytest.mark.parametrize("part", range(PARTS))
def test_operations_answer_or_refuse(part: int, tmp_path: Path) -> None:
    run(Operations, part, 30_000, tmp_path)
