"""Random operations, done here, by NVIDIA's pycute and by Meta's tensor-layouts; enumeration judges where they differ.

Every answer of ours must be what the definition says. Where another library gives the same text, both are confirmed by it;
where it gives another, either the two have the same values, or theirs breaks the definition. Where it answers and we refuse, it
must be wrong. A run takes a share of the operations; LAYOUTALG_EXHAUSTIVE=1 takes 5,000 with each.
"""

from __future__ import annotations

import os
import random
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from layoutalg import cute
from layoutalg.core import LayoutError
from layoutalg.cute import CuteLayout
from tests.cute import definitions
from tests.cute.random_values import inner, layout
from tests.oracle.toolchains import require_module

EACH = 5000 if os.environ.get("LAYOUTALG_EXHAUSTIVE") else 400


def by_tile(holds: Callable[..., bool], kept: bool) -> Callable[..., bool]:
    return lambda given, tile, result: definitions.by_modes(holds, given, tile, result, CuteLayout, kept)


def arguments(rng: random.Random, name: str) -> tuple[Any, ...]:
    one = layout(rng, 100)
    if name == "composition":
        return one, inner(rng, one)
    if name == "complement":
        return one, rng.randint(1, 200)
    if name in ("logical_divide", "logical_product"):
        return one, layout(rng, 24)
    if name in ("divide_by_tile", "product_by_tile", "compose_by_tile"):
        while not isinstance(one.shape, tuple):
            one = layout(rng, 100)
        count = len(one.shape) if name == "compose_by_tile" else rng.randint(1, len(one.shape))
        modes = [cute.get(one, k) for k in range(count)]
        return one, tuple(inner(rng, mode) for mode in modes)
    if name == "crd2idx":
        return rng.randrange(one.size), one
    if name == "max_common_vector":
        return one, layout(rng, 100)
    return (one,)


HOLDS: dict[str, Callable[..., bool]] = {
    "coalesce": definitions.is_coalesced,
    "composition": definitions.is_composition,
    "complement": definitions.is_complement,
    "right_inverse": definitions.is_right_inverse,
    "left_inverse": definitions.is_left_inverse,
    "logical_divide": definitions.is_divided,
    "logical_product": definitions.is_product,
    "divide_by_tile": by_tile(definitions.is_divided, True),
    "product_by_tile": by_tile(definitions.is_product, True),
    "compose_by_tile": by_tile(definitions.is_composition, False),
    "crd2idx": lambda index, given, result: result == definitions.value(given, index),
    "nullspace": definitions.is_nullspace,
}
FUNCTIONS = {"divide_by_tile": "logical_divide", "product_by_tile": "logical_product", "compose_by_tile": "composition"}
THEIRS = {
    "pycute": {name: name for name in HOLDS if name != "nullspace"} | FUNCTIONS,
    "tensor_layouts": {name: name for name in HOLDS}
    | FUNCTIONS
    | {"composition": "compose", "compose_by_tile": "compose"},
}


def ours(name: str, given: tuple[Any, ...]) -> Any:
    try:
        return getattr(cute, FUNCTIONS.get(name, name))(*given)
    except LayoutError:
        return None


def theirs(library: Any, name: str, given: tuple[Any, ...]) -> Any:
    def theirs_of(value: Any) -> Any:
        if isinstance(value, CuteLayout):
            return library.Layout(value.shape, value.stride)
        return tuple(map(theirs_of, value)) if isinstance(value, tuple) else value

    try:
        if name == "crd2idx":
            found = theirs_of(given[1])(given[0])
        else:
            found = getattr(library, THEIRS[library.__name__][name])(*map(theirs_of, given))
        return found if isinstance(found, int) else CuteLayout(found.shape, found.stride)
    except (
        AssertionError,
        ValueError,
        TypeError,
        IndexError,
        ZeroDivisionError,
    ):  # their words for "refused", and for bugs
        return None


def pointwise(value: Any) -> Any:
    return definitions.values(value) if isinstance(value, CuteLayout) else value


@pytest.mark.slow
@pytest.mark.parametrize("package", ["pycute", "tensor_layouts"])
def test_random_operations_agree_or_enumeration_is_with_us(package: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = require_module(package)
    rng = random.Random(f"{package} 26")
    names = sorted(THEIRS[package].keys() & HOLDS.keys())
    said: Counter[str] = Counter()
    for _ in range(EACH):
        name = rng.choice(names)
        given = arguments(rng, name)
        mine, other = ours(name, given), theirs(library, name, given)
        where = (name, *map(str, given), str(mine), str(other))
        if mine is not None:
            assert HOLDS[name](*given, mine), where
        if mine is None or other is None:
            said["refused by both" if mine is other else "refused by them" if other is None else "refused here"] += 1
            assert other is None or not must_answer(name, given) or not holds(name, given, other), where
        elif str(mine) == str(other):
            said["the same text"] += 1
        elif pointwise(mine) == pointwise(other):
            said["the same values"] += 1
        else:
            right = holds(name, given, other)
            said["another right answer" if right else "theirs is wrong"] += 1
            assert not right or may_differ(name, mine, other), where
    print(f"{package}: {dict(said)}")
    assert said["the same text"] > EACH * 0.6, said
    assert said["refused here"] < EACH * 0.1, said


def must_answer(name: str, given: tuple[Any, ...]) -> bool:
    """Not where factors overlap, for a left inverse; not where a block leaves gaps that nothing fills, for a product."""
    if name == "left_inverse":
        return definitions.injective(given[0])
    if name == "product_by_tile":
        return all(must_answer("logical_product", (cute.get(given[0], k), tiler)) for k, tiler in enumerate(given[1]))
    return name != "logical_product" or definitions.left_out(given[0], given[0].size) is not None


def may_differ(name: str, mine: CuteLayout, other: CuteLayout) -> bool:
    """In the gaps of a layout a left inverse may say what it likes; a right inverse may stop early."""
    return name == "left_inverse" or (name == "right_inverse" and other.size < mine.size)


def holds(name: str, given: tuple[Any, ...], result: Any) -> bool:
    """Whether an answer is what the operation means; one of another form than it must have is not."""
    try:
        return HOLDS[name](*given, result)
    except (ValueError, KeyError, IndexError, TypeError):
        return False
