"""The index dialect, against whole numbers of Python of 64 bits."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest

from layoutalg.simulate import launch


def unsigned(number: int) -> int:
    return number % 2**64


def signed(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def to_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "divs": to_zero,
    "divu": lambda a, b: unsigned(a) // unsigned(b),
    "ceildivs": lambda a, b: -(-a // b),
    "ceildivu": lambda a, b: -(-unsigned(a) // unsigned(b)),
    "floordivs": lambda a, b: a // b,
    "rems": lambda a, b: a - b * to_zero(a, b),
    "remu": lambda a, b: unsigned(a) % unsigned(b),
    "maxs": max,
    "maxu": lambda a, b: max(unsigned(a), unsigned(b)),
    "mins": min,
    "minu": lambda a, b: min(unsigned(a), unsigned(b)),
    "shl": lambda a, b: a << b,
    "shrs": lambda a, b: a >> b,
    "shru": lambda a, b: unsigned(a) >> b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
ORDERS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def computed(line: str, a: int, b: int, kind: str = "index") -> int:
    """What a line that makes %r of %a and %b gives."""
    cast = "index.casts %r : index to i64" if kind == "index" else "arith.extui %r : i1 to i64"
    text = f"""gpu.module @m {{ gpu.func @k(%m: memref<1xi64>, %a: index, %b: index) kernel
      attributes {{known_block_size = array<i32: 1, 1, 1>}} {{
      %zero = index.constant 0
      {line}
      %w = {cast}
      memref.store %w, %m[%zero] : memref<1xi64>
      gpu.return }} }}"""
    found = np.zeros(1, np.int64)
    launch(text, [found, a, b], (1, 1, 1), subgroup_size=1)
    return int(found[0])


@pytest.mark.parametrize("name", BINARY)
def test_operations_of_two_indices(name: str) -> None:
    for a, b in ((7, 3), (-7, 3), (7, -3), (-9, -4), (5, 5)):
        if b >= 0 or not name.startswith("sh"):
            assert computed(f"%r = index.{name} %a, %b", a, b) == signed(BINARY[name](a, b))


@pytest.mark.parametrize("name", ORDERS)
def test_comparisons(name: str) -> None:
    for a, b in ((7, 3), (-7, 3), (5, 5)):
        plain = name if name in ("eq", "ne") else f"s{name}"
        assert computed(f"%r = index.cmp {plain}(%a, %b)", a, b, "i1") == ORDERS[name](a, b)
        if plain != name:
            wide = ORDERS[name](unsigned(a), unsigned(b))
            assert computed(f"%r = index.cmp u{name}(%a, %b)", a, b, "i1") == wide


@pytest.mark.parametrize(
    ("line", "kind", "expected"),
    [
        ("%r = index.constant -5", "index", -5),
        ("%r = index.bool.constant true", "i1", 1),
        ("%r = index.sizeof", "index", 64),
        ("%n = index.casts %a : index to i8 %r = index.casts %n : i8 to index", "index", -56),
        ("%n = index.castu %a : index to i8 %r = index.castu %n : i8 to index", "index", 200),
    ],
)
def test_constants_and_casts(line: str, kind: str, expected: int) -> None:
    assert computed(line, 200, 0, kind) == expected
