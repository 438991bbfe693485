"""Weights in 4 or 8 bits: whole numbers with a scale for every group of k and column, and the words that a kernel reads.

A weight is (q - z) * s. q is a whole number of 4 or 8 bits; s, the scale, and z, the zero point, belong to a group of
neighbouring k of one column. Without zero points z is the middle: 8 of 4 bits, 128 of 8 bits.

By hand, a group of one column that goes from -0.7 to 0.8, in 4 bits without zero points: s = 0.8 / 7, and -0.7 is nearest to
q - 8 = -6. With zero points 15 steps span the group: s = 1.5 / 15 = 0.1, z = 7, and -0.7 is q = 0.

>>> column = np.linspace(-0.7, 0.8, 32)[:, None]
>>> one, other = quantise(column, group=32), quantise(column, group=32, zeros=True)
>>> int(one.values[0, 0]) - 8, int(other.values[0, 0]), float(other.zeros[0, 0])
(-6, 0, 7.0)

A word of 32 bits has neighbours along k of one column, in an order that makes pairs for the matrix instruction with few
operations: pair i (k = 2i in the lower half, 2i + 1 in the upper one) is nibble i, or byte i, of both halves. So q = 0 to 7
along k make 0x75316420: the lower half has 0, 2, 4, 6 from its lowest nibble on, the upper half 1, 3, 5, 7.

>>> counted = QuantisedWeights(np.arange(32, dtype=np.uint8)[:, None] % 8, np.ones((1, 1), np.float32))
>>> f"{counted.words[0, 0]:08x}", counted.words.shape
('75316420', (4, 1))

The law: `dequantised` is what a kernel multiplies by, and no weight differs from its dequantised value by more than half a
scale (unless a zero point is a fraction).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.errors import PlanError
from layoutalg.core.limits import MOST_WEIGHTS
from layoutalg.core.messages import one_line, shown
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.units import bytes_text
from layoutalg.core.whole_numbers import as_flag, found_whole
from layoutalg.gemm.matrix_in_memory import whole_number

if TYPE_CHECKING:
    from layoutalg.gemm.weights.float8 import Float8Weights

__all__ = ["STEPS", "QuantisedWeights", "checked_bits", "checked_group", "in_words", "matrix", "quantise", "told_of"]

STEPS = (128, 64, 32)
"""Neighbours along k of a step of the loop, whose words come with one or two messages: the largest that divides the group."""
_BITS = (4, 8)
_PIECE = 2**22
"""Weights that are quantised at a time: they and what is made of them on the way take some hundred MB."""


@dataclass(frozen=True, eq=False, repr=False)
class QuantisedWeights(NotebookAnswer):
    """A k x n matrix of weights: `values` q [k, n], `scales` [k / group, n] in f32, `zeros` alike or None, `bits` 4 or 8.

    Give it what a quantiser made, or make it with `quantise`. Raises `PlanError` for arrays that do not belong together, and
    for values that have no such number of bits.

    >>> weights = QuantisedWeights(np.full((64, 16), 9), np.full((2, 16), 0.5))
    >>> weights.group, weights.words.shape, weights.dequantised[0, 0]
    (32, (8, 16), np.float32(0.5))
    """

    values: NDArray[np.uint8]
    scales: NDArray[np.float32]
    zeros: NDArray[np.float32] | None = None
    bits: int = 4
    group: int = field(init=False)
    """Neighbours along k that share a scale."""

    def __post_init__(self) -> None:
        bits = checked_bits(self.bits)
        values = matrix("values", self.values)
        if not np.array_equal(values, np.trunc(values)) or values.min() < 0 or values.max() >= 1 << bits:
            raise PlanError(f"values: expected whole numbers from 0 to {(1 << bits) - 1}, for {bits} bits")
        k, n = values.shape
        scales = matrix("scales", self.scales)
        groups = scales.shape[0]
        if scales.shape[1] != n or k % groups:
            raise PlanError(f"scales are {groups}x{scales.shape[1]}, values {k}x{n}: expected k / group x n")
        for name, value in (("bits", bits), ("values", values.astype(np.uint8)), ("scales", scales.astype(np.float32))):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "group", checked_group(k // groups))
        if self.zeros is not None:
            zeros = matrix("zeros", self.zeros)
            if zeros.shape != scales.shape:
                raise PlanError(f"zeros are {zeros.shape[0]}x{zeros.shape[1]}: expected {groups}x{n}, as scales are")
            object.__setattr__(self, "zeros", zeros.astype(np.float32))

    @property
    def shape(self) -> tuple[int, int]:
        """k and n.

        >>> quantise(np.ones((64, 16)), group=32).shape
        (64, 16)
        """
        return self.values.shape[0], self.values.shape[1]

    @property
    def words(self) -> NDArray[np.uint32]:
        """The values as a kernel reads them, row-major: [k / 8, n] of 4 bits, [k / 4, n] of 8 bits.

        >>> quantise(np.ones((64, 16)), 8, group=32).words.shape
        (16, 16)
        """
        return in_words(self.values, self.bits)

    @property
    def dequantised(self) -> NDArray[np.float32]:
        """The weights that the product multiplies by, [k, n]: (q - z) * s.

        >>> float(quantise(np.linspace(-1, 1, 32)[:, None], 8, group=32).dequantised[0, 0])
        -1.0
        """
        zeros = np.float32(1 << self.bits - 1) if self.zeros is None else np.repeat(self.zeros, self.group, axis=0)
        return (self.values - zeros) * np.repeat(self.scales, self.group, axis=0)

    def __str__(self) -> str:
        last = (1 << self.bits) - 1
        points = f"the middle, {1 << self.bits - 1}" if self.zeros is None else _held_in("f32", self.zeros)
        return told_of(self, f"u{self.bits}, whole numbers q from 0 to {last}", ("zero points", points))


def quantise(weights: ArrayLike, bits: int = 4, *, group: int = 128, zeros: bool = False) -> QuantisedWeights:
    """A matrix of weights [k, n] in 4 or 8 bits, each rounded to the nearest number of its group.

    `group` neighbours along k share a scale, 32, 64 or a multiple of 128; k is a multiple of it. With `zeros` every group has a
    zero point too, a whole number, so that its least and its largest weight are both numbers; else zero is in the middle.

    Raises:
        PlanError: for arrays that are not a matrix of finite numbers, and for other numbers of bits and groups.

    >>> weights = np.random.default_rng(0).standard_normal((256, 64))
    >>> packed = quantise(weights, 4, group=128)
    >>> packed.words.shape, packed.scales.shape
    ((32, 64), (2, 64))
    >>> bool((abs(packed.dequantised - weights) <= np.repeat(packed.scales, 128, axis=0) * 0.501).all())
    True
    """
    bits, group, zeros = checked_bits(bits), checked_group(group), as_flag(zeros, "zeros", PlanError)
    given = matrix("weights", weights)
    k, n = given.shape
    if k % group:
        raise PlanError(f"weights are {k}x{n}: {k} rows are not a multiple of the group of {group}")
    values = np.empty((k // group, group, n), np.uint8)
    scales, points = (np.empty((k // group, n), np.float32) for _ in range(2))
    step = max(1, _PIECE // (group * n))
    for first in range(0, k // group, step):
        piece = slice(first, first + step)
        rows = given[first * group : (first + step) * group].astype(np.float64)
        values[piece], scales[piece], points[piece] = _nearest(rows.reshape(-1, group, n), bits, zeros=zeros)
    return QuantisedWeights(values.reshape(k, n), scales, points if zeros else None, bits)


def _nearest(groups: NDArray[Any], bits: int, *, zeros: bool) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The values, scales and zero points of groups [number, group, n]."""
    last, middle = (1 << bits) - 1, 1 << bits - 1
    if zeros:
        least, most = np.minimum(groups.min(axis=1), 0), np.maximum(groups.max(axis=1), 0)
        scales = (most - least) / last
    else:
        least, scales = np.zeros(groups[:, 0].shape), np.abs(groups).max(axis=1) / (middle - 1)
    scales = scales.astype(np.float32)
    scales[scales == 0] = 1
    points = np.clip(np.rint(-least / scales), 0, last) if zeros else np.full(scales.shape, float(middle))
    values = np.clip(np.rint(groups / scales[:, None]) + points[:, None], 0, last)
    return values, scales, points


def told_of(weights: QuantisedWeights | Float8Weights, kind: str, *more: tuple[str, str]) -> str:
    """A matrix of weights as a short table: its size, its words, its scales, and more.

    >>> print(quantise(np.ones((64, 16)), group=32))
    weights      64x16 of u4, whole numbers q from 0 to 15; a weight is (q - z) s
    words        8x16 of u32, 512 bytes
    scales s     2x16 of f32, 128 bytes; one for 32 neighbours along k of a column
    zero points  the middle, 8
    """
    formula = "(q - z) s" if more else "q s"
    rows = [
        ("weights", f"{'x'.join(map(str, weights.shape))} of {kind}; a weight is {formula}"),
        ("words", _held_in("u32", weights.words)),
        ("scales s", f"{_held_in('f32', weights.scales)}; one for {weights.group} neighbours along k of a column"),
        *more,
    ]
    return "\n".join(f"{name:<13}{told}" for name, told in rows)


def _held_in(kind: str, array: NDArray[Any]) -> str:
    """The size of an array and its bytes."""
    return f"{'x'.join(map(str, array.shape))} of {kind}, {bytes_text(array.nbytes)}"


def checked_bits(bits: object) -> int:
    """Bits of a weight that somebody passed. Raises `PlanError` for others than 4 and 8."""
    if found_whole(bits) not in _BITS:
        raise PlanError(f"bits = {shown(bits)}: weights are planned in 4 or 8 bits")
    return whole_number("bits", bits)


def checked_group(group: object) -> int:
    """A group that somebody passed. Raises `PlanError` for one that no kernel has."""
    found = found_whole(group)
    if found not in STEPS and (not isinstance(found, int) or found < 1 or found % STEPS[0]):
        raise PlanError(f"group = {shown(group)}: 32, 64 or a multiple of {STEPS[0]} neighbours along k share a scale")
    return whole_number("group", group)


def in_words(values: NDArray[np.uint8], bits: int) -> NDArray[np.uint32]:
    """Numbers [k, n] of so many bits in words, row-major [k * bits / 32, n]: pair i of a word is part i of both halves."""
    each = 32 // bits
    rows = values.reshape(-1, each // 2, 2, values.shape[1]).astype(np.uint32)
    places = np.arange(each // 2, dtype=np.uint32)[:, None] * bits + np.array([0, 16], np.uint32)
    return np.bitwise_or.reduce(rows << places[None, :, :, None], axis=(1, 2))


def matrix(name: str, given: Any) -> NDArray[Any]:
    """A matrix of finite numbers that somebody gave. Raises `PlanError` for what is none."""
    if not hasattr(given, "__array__"):  # numpy writes a range out
        rows = _entries(name, given)
        if rows == 0 or rows * _entries(name, given[0]) > MOST_WEIGHTS:
            raise PlanError(f"{name}: expected a matrix [k, n] of at most {MOST_WEIGHTS} numbers")
    try:
        made = np.asarray(given)
    except (ValueError, TypeError, RecursionError, OverflowError) as problem:
        raise PlanError(one_line(f"{name}: {problem}")) from None
    if made.ndim != 2 or not 0 < made.size <= MOST_WEIGHTS:
        raise PlanError(
            f"{name}: an array of shape {shown(made.shape)}; expected a matrix [k, n] of at most {MOST_WEIGHTS} numbers"
        )
    if made.dtype.kind not in "biuf" and made.dtype.name != "bfloat16":
        raise PlanError(f"{name}: an array of {made.dtype}; numbers are needed")
    with np.errstate(over="ignore"):
        finite = made.dtype.kind in "biu" or np.isfinite(made.astype(np.float32)).all()
    if not finite:
        raise PlanError(f"{name}: not all numbers are finite in f32")
    return made


def _entries(name: str, given: object) -> int:
    """The entries of a list or a row of one."""
    if not isinstance(given, (list, tuple)):
        raise PlanError(f"{name} {shown(given)}: expected an array [k, n], or a list of rows")
    return len(cast("list[object]", given))
