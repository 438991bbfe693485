"""Arithmetic of the simulator against exact fractions: fused multiply-adds, and casts at every midpoint of a type."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.simulate.values import floats, integers, reductions
from layoutalg.simulate.values.elements import element

Array = NDArray[Any]

SMALL = ("f16", "bf16", "f8E5M2", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ", "f8E3M4")


def some_bits(name: str, count: int, seed: int) -> Array:
    """Floats with random bits, so NaN, infinities and denormals are among them."""
    kind = element(name)
    return (
        np.random.default_rng(seed)
        .integers(0, 2**kind.bits, count, dtype=np.uint64)
        .astype(kind.unsigned_dtype)
        .view(kind.dtype)
    )


def every_finite(name: str) -> Array:
    """All finite values of a type that are not negative, in order, as doubles."""
    kind = element(name)
    bits = np.arange(2 ** (kind.bits - 1), dtype=np.uint64).astype(kind.unsigned_dtype)
    with np.errstate(invalid="ignore"):
        values = bits.view(kind.dtype).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_double_is_rounded_once_to_the_nearest_with_ties_to_even(name: str, sign: float) -> None:
    """Just below a midpoint the lower neighbour, just above it the upper one, on it the even one."""
    finite = every_finite(name)
    middle = (finite[1:] + finite[:-1]) / 2
    even = np.where(np.arange(len(middle)) % 2 == 0, finite[:-1], finite[1:])
    for factor, expected in ((1 - 2.0**-52, finite[:-1]), (1.0, even), (1 + 2.0**-52, finite[1:])):
        rounded = floats.round_to(sign * middle * factor, element(name)).astype(np.float64)
        assert np.array_equal(rounded, sign * expected)


@pytest.mark.parametrize("name", ["f16", "bf16", "f8E5M2"])
def test_directed_roundings_give_the_neighbour_on_their_side(name: str) -> None:
    finite = every_finite(name)
    inside = finite[:-1] + (finite[1:] - finite[:-1]) * 0.25
    kind = element(name)
    for sign, down, up in ((1.0, finite[:-1], finite[1:]), (-1.0, -finite[1:], -finite[:-1])):
        for mode, expected in (("downward", down), ("upward", up), ("toward_zero", sign * finite[:-1])):
            assert np.array_equal(floats.round_toward(sign * inside, kind, mode).astype(np.float64), expected)
        middle = (finite[1:] + finite[:-1]) / 2
        away = floats.round_toward(sign * middle, kind, "to_nearest_away").astype(np.float64)
        assert np.array_equal(away, sign * finite[1:])


@pytest.mark.parametrize("name", ["f16", "bf16", "f32"])
def test_a_fused_multiply_add_is_the_float_nearest_to_the_exact_sum(name: str) -> None:
    kind, count = element(name), 4000
    x, y, z = (some_bits(name, count, seed) for seed in (1, 2, 3))
    with np.errstate(all="ignore"):
        near = (-(x.astype(np.float64) * y.astype(np.float64))).astype(kind.dtype)
    z = np.where(np.arange(count) % 2 == 0, near, z)
    got = floats.fused(x, y, z, kind)
    checked = 0
    for parts in zip(x, y, z, got, strict=True):
        a, b, c, result = (float(part) for part in parts)
        if not all(map(np.isfinite, (a, b, c, result))):
            continue
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        bits = int(np.array([parts[3]]).view(kind.unsigned_dtype)[0])
        # The neighbours are the floats whose bits differ by one.
        neighbours = np.array([bits - 1 if bits & (2 ** (kind.bits - 1) - 1) else bits, bits + 1]).astype(
            kind.unsigned_dtype
        )
        others = [Fraction(float(v)) for v in neighbours.view(kind.dtype) if np.isfinite(v.astype(np.float64))]
        error = abs(Fraction(result) - exact)
        assert all(error < abs(other - exact) or (error == abs(other - exact) and not bits & 1) or other == Fraction(result)
                   for other in others)  # fmt: skip
        checked += 1
    assert checked > count // 3


def test_a_fused_multiply_add_of_doubles_is_the_rounded_fraction() -> None:
    count = 3000
    x, y = (some_bits("f64", count, seed) for seed in (4, 5))
    with np.errstate(all="ignore"):
        z = np.where(np.arange(count) % 2 == 0, -(x * y) * (1 + 2.0**-52), some_bits("f64", count, 6))
    got = floats.fused(x, y, z, element("f64"))
    compared = 0
    for a, b, c, result in zip(x.tolist(), y.tolist(), z.tolist(), got.tolist(), strict=True):
        if not all(map(np.isfinite, (a, b, c))):
            continue
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        try:
            expected = float(exact) if exact else a * b + c
        except OverflowError:
            expected = float("inf") if exact > 0 else float("-inf")
        assert result == expected
        compared += 1
    assert compared > count // 2


@pytest.mark.parametrize("bits", [1, 4, 8, 16, 32, 64])
def test_wide_products_and_carries_are_those_of_python(bits: int) -> None:
    kind = element(f"i{bits}")
    edges = [0, 1, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1, 0x5A5A5A5A5A5A5A5A % 2**bits]

    def signed(number: int) -> int:
        return number - 2**bits if number >= 2 ** (bits - 1) else number

    for a in edges:
        for b in edges:
            x, y = (np.array([signed(n)], np.int64) for n in (a, b))
            low, high = (int(part[0]) % 2**bits for part in integers.multiply_unsigned(x, y, kind))
            assert low + (high << bits) == a * b
            low, high = (int(part[0]) % 2**bits for part in integers.multiply_signed(x, y, kind))
            assert low + (signed(high) << bits) == signed(a) * signed(b)
            total, carry = integers.add_carry(x, y, kind)
            assert int(total[0]) % 2**bits + (int(carry[0]) << bits) == a + b
            rest, borrow = integers.subtract_borrow(x, y, kind)
            assert int(rest[0]) % 2**bits - (int(borrow[0]) << bits) == a - b
            wrapped = {"add": a + b, "sub": a - b, "mul": a * b}
            exact = {"add": signed(a) + signed(b), "sub": signed(a) - signed(b), "mul": signed(a) * signed(b)}
            for name, number in wrapped.items():
                kept = np.array([signed(number % 2**bits)], np.int64)
                assert bool(integers.unsigned_overflow(name, x, y, kind)[0]) == (not 0 <= number < 2**bits)
                lost = signed(number % 2**bits) != exact[name]
                assert bool(integers.signed_overflow(name, x, y, kept, kind)[0]) == lost


@pytest.mark.parametrize("target", ["f16", "bf16", "f32", "f64", "f8E5M2"])
def test_integers_become_the_nearest_float(target: str) -> None:
    kind = element(target)
    rng = np.random.default_rng(7)
    numbers = np.concatenate(
        [rng.integers(-(2**63), 2**63, 300), rng.integers(-70000, 70000, 300), [2**63 - 1, -(2**63)]]
    )
    wide = [2**24 + 1, 2**25 + 3, (2**8 + 1) * 2**20 + 1, (2**8 + 1) * 2**20 - 1, (2**9 + 1) * 2**50 + 1, 2**53 + 1]
    numbers = np.concatenate([numbers, wide])
    got = floats.from_integer(numbers, element("i64"), kind, signed=True).astype(np.float64)
    finite = every_finite(target) if kind.bits <= 16 else None
    for number, result in zip(numbers.tolist(), got.tolist(), strict=True):
        if finite is None:
            near = float(np.float64(number)) if target == "f64" else float(np.float32(number))
            assert result == near
            continue
        place = int(np.searchsorted(finite, abs(number)))
        if place >= len(finite):
            assert np.isinf(result) or abs(result) == finite[-1]
            continue
        choices = [Fraction(float(v)) for v in finite[max(0, place - 1) : place + 1]]
        best = min(abs(choice - abs(number)) for choice in choices)
        assert abs(Fraction(abs(result)) - abs(number)) == best


def test_a_sum_begins_with_the_accumulator_and_goes_on_in_order() -> None:
    values = np.array([1.0, 2.0**24, -(2.0**24), 1.0], np.float32)
    total = np.float32(0.5)
    for value in values:
        total = np.float32(total + value)
    assert reductions.reduce("add", values, element("f32"), np.array(0.5, np.float32)).item() == total
