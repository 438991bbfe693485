"""Data on which each element matters: many small variations of a kernel's arguments, each with a purpose.

One random draw decides sums, but not maxima: in a maximum of 16 numbers only the largest is seen, and a kernel that never reads
one of the others passes. So most draws have *peaks*: elements that are far above (others far below) everything else. From draw
to draw the peaks move along every dimension, so that each element of a row or a column of up to 48 is the largest once:

>>> rng = np.random.default_rng(0)
>>> seen = [int(_floats("peaks", number, (16,), rng, ()).argmax()) for number in range(16)]
>>> sorted(seen) == list(range(16))
True

The others are for what a threshold, a sign, a bit or a tie decides:

| kind | floats | integers | true or false |
|---|---|---|---|
| peaks | up to 3.5 and down to -2.25, the rest small; or 100 | -9 to 9; or as bits | all alike but one in each row |
| random | normal | -9 to 9 | half of each |
| below | negative | negative | mostly false |
| above | positive | positive | mostly true |
| spread | of many magnitudes | -9 to 9 | half of each |
| units | near 1 or -1: products neither vanish nor grow | 1 or -1 | half of each |
| levels | every row, or every column, near another number | the same | half of each |
| bits | normal | with a bit that no other has, or without one that all have | all alike but one |
| edges | near the constants of the kernel | constants of the kernel, one less, one more | half of each |
| ties | -1, 0 or 1 | -1, 0 or 1 | half of each |

Floats stay as large as normal ones are, so that what a sum loses by rounding does not grow; but for peaks of 100, where `exp`
has no number: a softmax that does not take off the maximum is found by them. Integers stay between -9 and 9, because they may
be indices; `wide` draws take all of the type.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.ir import Operation

from layoutalg.equivalence.data import is_array

__all__ = ["FEWEST", "MOST", "constants_of", "draws", "has_integers", "how_many", "with_integers_of"]

MOST = 64
FEWEST = 2
_BYTES = 2**19
"""Of all draws together, where more than the fewest are made."""
_MOST_CONSTANTS = 32
_LARGEST = 1e3
_CYCLE = (
    "peaks", "random", "peaks", "below", "peaks", "spread", "peaks", "peaks", "above", "peaks", "units", "peaks",
    "peaks", "bits", "peaks", "levels", "edges", "peaks", "peaks", "ties", "peaks", "levels", "peaks", "peaks",
)  # fmt: skip
_WIDE = ("bits", "random", "edges", "peaks")
Ints = tuple[int, ...]


def how_many(arguments: Sequence[Any]) -> int:
    """How many draws are made beside the first: fewer of large arrays, whose rows and columns are many examples in one draw.

    >>> how_many([np.zeros((16, 16), np.float32)]), how_many([np.zeros((512, 512), np.float32)])
    (64, 2)
    """
    size = sum(one.nbytes for one in arguments if is_array(one))
    return max(FEWEST, min(MOST, _BYTES // max(1, size)))


def draws(
    first: Sequence[Any], count: int, seed: int, constants: Sequence[float] = (), *, wide: bool = False
) -> list[list[Any]]:
    """So many variations of a kernel's arguments: the same types and shapes, other numbers.

    `constants` are those of the kernel's text. `wide` integers take all of their type.

    >>> [[x, y]] = draws([np.zeros((2, 2), np.float32), 0.5], 1, 0)
    >>> x.shape, x.dtype.name, isinstance(y, float)
    ((2, 2), 'float32', True)
    """
    rng = np.random.default_rng((seed, 1 + wide))
    found: list[list[Any]] = []
    peaks = 0
    for number in range(count):
        kind = _WIDE[number % len(_WIDE)] if wide else _CYCLE[number % len(_CYCLE)]
        turn = peaks if kind == "peaks" else number // len(_WIDE) if wide else number
        peaks += kind == "peaks"
        found.append([_varied(one, kind, turn + 7 * at, rng, constants, wide) for at, one in enumerate(first)])
    return found


def with_integers_of(first: Sequence[Any], cases: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The same draws with the integers of the first: where others lead out of bounds."""
    return [[given if _is_whole(given) else one for given, one in zip(first, case, strict=True)] for case in cases]


def has_integers(arguments: Sequence[Any]) -> bool:
    """Whether there are arrays of integers."""
    return any(_is_whole(one) for one in arguments)


def _is_whole(value: Any) -> bool:
    return is_array(value) and value.dtype.kind in "iu"


def constants_of(function: Operation) -> tuple[float, ...]:
    """The numbers in a kernel's text that data may be compared with: not too large, and not too many.

    >>> from layoutalg.ir import read_module
    >>> constants_of(read_module("%a = arith.constant 2.5 : f32 %b = arith.constant dense<7> : vector<4xi32>"))
    (2.5, 7.0)
    """
    found: dict[float, None] = {}
    for operation in function.walk():
        value = operation.properties.get("value") if operation.name == "arith.constant" else None
        for number in _numbers(value):
            if isfinite(number) and abs(number) <= _LARGEST:
                found[float(number)] = None
    return tuple(found)[:_MOST_CONSTANTS]


def _numbers(value: Any) -> list[float]:
    if isinstance(value, FloatAttr | IntegerAttr):
        return [float(value.value.data)]
    if isinstance(value, DenseIntOrFPElementsAttr):
        return [float(one) for one in islice(value.iter_values(), _MOST_CONSTANTS) if isinstance(one, int | float)]
    return []


def _varied(one: Any, kind: str, turn: int, rng: np.random.Generator, constants: Sequence[float], wide: bool) -> Any:
    if not is_array(one):
        return float(_floats("random", turn, (1,), rng, constants)[0]) if isinstance(one, float) else one
    if one.dtype.kind == "b":
        return _truths(kind, turn, one.shape, rng)
    if one.dtype.kind not in "iu":
        with np.errstate(over="ignore"):
            return _floats(kind, turn, one.shape, rng, constants).astype(one.dtype)
    limits = np.iinfo(one.dtype)
    if wide:
        return _wide(kind, turn, one.shape, rng, limits, constants).astype(one.dtype)
    return _integers(kind, turn, one.shape, rng, constants, signed=limits.min < 0).astype(one.dtype)


def _floats(
    kind: str, turn: int, shape: Ints, rng: np.random.Generator, constants: Sequence[float]
) -> NDArray[np.float64]:
    normal = rng.standard_normal(shape)
    if kind == "peaks":
        up, down = _places(shape, turn), _places(shape, turn + _extent(shape) // 2)
        # The two ends differ in size: a sum of a row must not vanish.
        if turn % 3 == 2:
            return np.where(up, 100 + 25 * rng.random(shape), np.where(down, -50 - 25 * rng.random(shape), normal))
        low = np.where(down, -1.75 - 0.5 * rng.random(shape), normal * (0.05 if turn % 2 else 0.4))
        return np.where(up, 2.5 + rng.random(shape), low)
    if kind == "below":
        return -0.25 - np.abs(normal)
    if kind == "above":
        return 0.25 + np.abs(normal)
    if kind == "spread":
        return np.copysign(np.exp2(rng.uniform(-5, 2, shape)), normal)
    if kind == "units":
        return np.copysign(1 + 0.1 * rng.standard_normal(shape), normal)
    if kind == "edges" and constants:
        near = rng.choice(np.array(constants), shape) + 0.5 * normal
        return np.where(rng.random(shape) < 0.5, near, 2 * normal)
    if kind == "levels":
        return 0.3 * normal + _levels(shape, rng)
    if kind == "ties":
        return rng.integers(-1, 2, shape).astype(np.float64)
    return normal


def _integers(
    kind: str, turn: int, shape: Ints, rng: np.random.Generator, constants: Sequence[float], *, signed: bool
) -> NDArray[np.int64]:
    low = -9 if signed else 0
    if kind == "peaks":
        if turn % 3:
            return _bits(shape, turn // 3, ones=turn % 3 == 2, signed=signed)
        found = rng.integers(max(low, -4), 5, shape)
        if signed:
            found = np.where(_places(shape, turn + _extent(shape) // 2), -7, found)
        return np.where(_places(shape, turn), rng.integers(6, 9, shape), found)
    if kind == "below" and signed:
        return rng.integers(low, 0, shape)
    if kind == "above":
        return rng.integers(1, 10, shape)
    if kind == "units":
        return rng.choice(np.array((-1, 1) if signed else (1, 2)), shape)
    if kind == "bits":
        return _sparse(shape, 4 if signed else 3, turn // len(_CYCLE) % 2 * (-1 if signed else 7), rng)
    if kind == "levels":
        return np.clip(np.round(2 * _levels(shape, rng)).astype(np.int64) + rng.integers(-1, 2, shape), low, 9)
    if kind == "edges":
        near = [int(number) + step for number in constants if low + 1 <= number <= 8 for step in (-1, 0, 1)]
        return rng.choice(np.array(near), shape) if near else rng.integers(low, 10, shape)
    if kind == "ties":
        return rng.integers(max(low, -1), 2, shape)
    return rng.integers(low, 10, shape)


def _bits(shape: Ints, turn: int, *, ones: bool, signed: bool) -> NDArray[np.int64]:
    """Four elements in each line with a bit that no other one has, among zeros; or without it, among ones."""
    found = np.full(shape, ones * (-1 if signed else 7), np.int64)
    for bit in range(4 if signed else 3):
        found = np.where(_places(shape, turn + bit * -(-_extent(shape) // 4)), found ^ (1 << bit), found)
    return found


def _sparse(shape: Ints, bits: int, rest: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A few elements in each line with one random bit: what should not be there brings in another one."""
    some = rng.random(shape) < bits / 4 / _extent(shape)
    return np.where(some, rest ^ (np.int64(1) << rng.integers(0, bits, shape)), rest)


def _levels(shape: Ints, rng: np.random.Generator) -> NDArray[np.float64]:
    """Every row, or every column, near a number of its own between -4 and 4."""
    dims = [dim for dim, extent in enumerate(shape) if extent > 1]
    if not dims:
        return np.zeros(shape)
    dim = int(rng.choice(dims))
    steps = np.asarray(rng.permutation(shape[dim]) * (8 / shape[dim]) - 4, np.float64)
    return np.broadcast_to(steps.reshape(-1, *(1,) * (len(shape) - dim - 1)), shape)


def _wide(
    kind: str, turn: int, shape: Ints, rng: np.random.Generator, limits: Any, constants: Sequence[float]
) -> NDArray[Any]:
    dtype = np.int64 if limits.min < 0 else np.uint64
    found = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    if kind == "bits":
        if turn % 4 > 1:
            return _sparse(shape, limits.bits - (limits.min < 0), turn % 2 * -1, rng).astype(dtype)
        shift = (_diagonal(shape) + turn) % (limits.bits - (limits.min < 0))
        one = np.left_shift(np.asarray(1, dtype), shift.astype(dtype))
        return ~one if turn % 2 else one
    if kind == "edges":
        near = [int(number) + step for number in constants for step in (-1, 0, 1)]
        within = [number for number in near if limits.min <= number <= limits.max]
        return rng.choice(np.array(within, dtype), shape) if within else found
    if kind == "peaks":
        small = rng.integers(max(limits.min, -100), min(limits.max, 100), shape, dtype=dtype)
        return np.where(_places(shape, turn), found, small)
    return found


def _truths(kind: str, turn: int, shape: Ints, rng: np.random.Generator) -> NDArray[np.bool_]:
    if kind in ("peaks", "bits"):
        return _places(shape, turn) ^ bool(turn // max(1, _extent(shape)) % 2)
    share = {"below": 0.1, "above": 0.9}.get(kind, 0.5)
    return rng.random(shape) < share


def _extent(shape: Ints) -> int:
    return max(shape, default=1)


def _places(shape: Ints, turn: int) -> NDArray[np.bool_]:
    """One element in each line along the longest dimension; another one at each turn, until all of them were."""
    return (_diagonal(shape) - turn) % _extent(shape) == 0


def _diagonal(shape: Ints) -> NDArray[np.int64]:
    """The sum of its coordinates, for each element."""
    total = np.zeros(shape, np.int64)
    for dim, extent in enumerate(shape):
        total += np.arange(extent).reshape(-1, *(1,) * (len(shape) - dim - 1))
    return total
