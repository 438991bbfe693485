"""Weights in bytes on AMX: beside an A of bytes with scales of rows and columns, and beside an A of bf16 or f16.

What is expected is computed here with numpy, from the definition: sums of integers are exact, whatever their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from layoutalg.core.errors import PlanError
from layoutalg.gemm.amx import AmxProblem, plan_amx
from layoutalg.gemm.amx.numerics import exact, stated

FLOATS = {"f32": np.float32, "bf16": bfloat16, "f16": np.float16}


def bytes_of(kind: str, shape: tuple[int, int], seed: int) -> np.ndarray[Any, Any]:
    least, most = (0, 256) if kind == "u8" else (-128, 128)
    return np.random.default_rng(seed).integers(least, most, shape).astype(np.uint8 if kind == "u8" else np.int8)


@pytest.mark.parametrize("types", [("s8", "s8", "bf16"), ("u8", "s8", "f16"), ("s8", "u8", "f32")], ids=str)
def test_sums_of_bytes_are_scaled_by_row_then_by_column(types: tuple[str, str, str]) -> None:
    a, b, c = types
    plan = plan_amx(19, 37, 70, a, b, c, scale="both", blocking=(1, 2))
    left, right = bytes_of(a, (19, 70), 1), bytes_of(b, (70, 37), 2)
    drawn = np.random.default_rng(3)
    rows, columns = drawn.random(19).astype(np.float32) / 64, drawn.random(37).astype(np.float32) / 64
    sums = (left.astype(np.int64) @ right.astype(np.int64)).astype(np.float32)
    wanted = ((sums * rows[:, None]) * columns).astype(FLOATS[c])
    for text in (plan.emit(24), plan.emit(22)):
        assert plan.simulate(left, right, scale=(rows, columns), text=text).tobytes() == wanted.tobytes()
    assert "x = x * row_scale; x = x * column_scale" in stated(plan.problem)[1]


@pytest.mark.parametrize("stored", [{}, {"trans_b": True}, {"trans_a": True, "ldb": 41}], ids=str)
@pytest.mark.parametrize("types", [("bf16", "s8"), ("bf16", "u8"), ("f16", "s8"), ("f16", "u8")], ids=str)
def test_bytes_beside_floats_become_their_type_exactly(types: tuple[str, str], stored: dict[str, Any]) -> None:
    """With whole numbers in A all sums are exact in f32: every byte, and in any order."""
    plan = plan_amx(17, 37, 70, *types, **stored)
    left = np.random.default_rng(1).integers(-4, 5, (17, 70))
    right = (np.arange(70 * 37).reshape(70, 37) % 256 - (128 if types[1] == "s8" else 0)).astype(np.int64)
    found = plan.simulate(left.T if stored.get("trans_a") else left, right.T if stored.get("trans_b") else right)
    assert (found == left @ right).all()
    text = plan.emit()
    assert f"memref<{'37x70' if stored.get('trans_b') else '70x37'}xi8" in text
    assert f"x{types[0]}>" in text.split("tile_load")[1].splitlines()[0]


def test_bytes_beside_floats_have_the_bits_of_the_same_product_in_floats() -> None:
    narrow, wide = (plan_amx(33, 20, 90, "bf16", b, scale="column") for b in ("s8", "bf16"))
    left = np.random.default_rng(1).standard_normal((33, 90)).astype(bfloat16)
    right, scale = bytes_of("s8", (90, 20), 2), np.random.default_rng(3).random(20)
    one, other = narrow.simulate(left, right, scale=scale), wide.simulate(left, right.astype(bfloat16), scale=scale)
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("steps", [1, 3])
def test_a_prefetch_changes_no_bit_and_asks_for_nothing_outside(steps: int) -> None:
    plain, ahead = (plan_amx(40, 40, 200, blocking=(2, 2), prefetch_b=one) for one in (0, steps))
    left, right = (np.random.default_rng(1).standard_normal(shape) for shape in ((40, 200), (200, 40)))
    assert ahead.simulate(left, right).tobytes() == plain.simulate(left, right).tobytes()
    lines = [line for line in ahead.emit().splitlines() if "memref.prefetch" in line]
    # two tiles of B in a step, a line of 64 bytes for each of 16 words, in the functions of the whole steps
    assert len(lines) % 32 == 0
    assert len(lines) > 0
    assert "memref.prefetch" not in plain.emit()
    last = f"arith.constant {100 - 16} : index"  # the panel has 100 words
    assert last in ahead.emit()
    assert "minui" in ahead.emit()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"a": "s8", "b": "bf16"}, "A is s8 and B is bf16"),
    ({"a": "s8", "c": "s32", "scale": "both"}, "c = 's32' with scale = 'both'"),
    ({"prefetch_b": 65}, "prefetch_b = 65: expected a whole number from 0 to 64"),
    ({"prefetch_b": True}, "prefetch_b"),
    ({"scale": "all"}, "scale 'all'"),
]


@pytest.mark.parametrize(("given", "words"), REFUSED, ids=str)
def test_what_is_not_planned_is_said(given: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        plan_amx(64, 64, 64, **given)


def test_scales_of_both_are_a_pair() -> None:
    plan = plan_amx(4, 5, 8, "s8", c="f32", scale="both")
    ones: Any = np.ones((4, 8)), np.ones((8, 5))
    for scale, words in (
        (None, "a pair of 4 and 5 numbers is needed"),
        (np.ones(4), "expected a pair, 4 numbers for rows and 5 for columns"),
        ((np.ones(5), np.ones(4)), "row_scale is planned as 4"),
    ):
        with pytest.raises(PlanError, match=words):
            plan.simulate(*ones, scale=scale)
        with pytest.raises(PlanError, match=words.removeprefix("row_")):
            exact(plan.problem, *ones, scale=scale)
    with pytest.raises(PlanError, match="scale: the plan has none"):
        exact(AmxProblem.of(4, 5, 8, "s8"), *ones, scale=(np.ones(4), np.ones(5)))
    assert AmxProblem.of(4, 5, 8, "s8", c="f32", scale="both").scaled == ("row", "column")
