"""How Triton converts, where no compiler need be asked: kinds, refusals, words, prices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layoutalg.conversion.triton_way import triton_price, triton_program, triton_says
from layoutalg.core import Layout, LayoutError
from layoutalg.core.errors import ConversionError
from layoutalg.memory.triton_access import global_access, shared_access
from layoutalg.triton import LinearLayout
from layoutalg.triton.conversions import how_triton_converts
from layoutalg.triton.encodings import Blocked, GenericLinear, Linear, SwizzledShared, parse_encoding

ROWS = LinearLayout(register=((0, 1),), lane=((1, 0),), shape=(2, 2))
COLUMNS = LinearLayout(register=((1, 0),), lane=((0, 1),), shape=(2, 2))
MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"


def test_an_exchange_of_one_bit_is_shuffled_and_says_which() -> None:
    found = how_triton_converts(ROWS, COLUMNS)
    assert found.kind == "shuffles"
    assert found.moves == (("lane bit 0", "register bit 0"), ("register bit 0", "lane bit 0"))


def test_registers_that_hold_copies_do_not_count() -> None:
    copied = LinearLayout(register=((0, 0), (0, 1)), lane=((1, 0),), shape=(2, 2))
    assert how_triton_converts(copied, ROWS).kind == "none"


def test_layouts_of_ours_are_converted_too() -> None:
    rows, columns = Layout.parse("d0 = 2@lane, d1 = 2@reg"), Layout.parse("d0 = 2@reg, d1 = 2@lane")
    assert how_triton_converts(rows, columns) == how_triton_converts(ROWS, COLUMNS)


def test_an_element_is_a_type_or_its_bits() -> None:
    assert how_triton_converts(ROWS, COLUMNS, element="!tt.ptr<f32>").element_bits == 64
    assert how_triton_converts(ROWS, COLUMNS, element="i1") == how_triton_converts(ROWS, COLUMNS, element=8)


def test_the_target_of_a_file_is_a_target() -> None:
    assert how_triton_converts(ROWS, COLUMNS, target="cuda:90") == how_triton_converts(ROWS, COLUMNS, target="sm_90")
    assert how_triton_converts(ROWS, COLUMNS, target="hip:gfx942").target == "gfx942"


def test_warps_that_hold_the_same_read_other_lanes_by_shuffles() -> None:
    held = LinearLayout(lane=((1,), (2,)), warp=((0,),), shape=(4,))
    apart = LinearLayout(lane=((1,), (0,)), warp=((2,),), shape=(4,))
    assert how_triton_converts(held, apart).kind == "shuffles"
    assert how_triton_converts(apart, held).kind == "shared memory"


def test_layouts_with_xor_are_converted_within_a_thread_only() -> None:
    plain = GenericLinear(((1,),), ((2,), (4,)), ((8,),), ())
    crossed = GenericLinear(((1,),), ((4,), (2,)), ((8,),), ())
    assert how_triton_converts(plain, plain, (16,)).kind == "none"
    with pytest.raises(ConversionError, match="one thread"):
        how_triton_converts(plain, crossed, (16,))


@pytest.mark.parametrize(
    ("source", "result", "keywords", "words"),
    [
        (ROWS, LinearLayout(lane=((1, 0), (0, 1)), shape=(2, 2)), {}, "lanes before and 4 after"),
        (ROWS, LinearLayout(register=((1,),), lane=((2,),), shape=(4,)), {}, "expected the same"),
        (ROWS, COLUMNS, {"target": "pvc"}, "a chip that Triton compiles for"),
        (ROWS, COLUMNS, {"target": None}, "a chip that Triton compiles for"),
        (ROWS, COLUMNS, {"element": "f7"}, "element type"),
        (ROWS, COLUMNS, {"element": 12}, "a power of two"),
        (ROWS, COLUMNS, {"shape": (3, 2)}, "power of two"),
        (Blocked((1,), (32,), (1,), (0,)), ROWS, {}, "needs a shape"),
        (SwizzledShared(1, 1, 1, (1, 0)), ROWS, {"shape": (2, 2)}, "registers, lanes and warps"),
        (4, ROWS, {}, "conversion of 4"),
        ("d0 = 4@lane", ROWS, {}, "expected"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(source: Any, result: Any, keywords: dict[str, Any], words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        how_triton_converts(source, result, **keywords)


def test_triton_s_program_moves_every_element_to_its_place() -> None:
    program = triton_program(ROWS, COLUMNS)
    assert program.run(np.array([[[0, 1], [2, 3]]], "i4")).tolist() == [[[0, 2], [1, 3]]]


def test_where_triton_shuffles_as_we_do_the_price_is_the_same() -> None:
    found = triton_price(ROWS, COLUMNS)
    assert found.slots == found.own.slots


def test_where_two_bits_change_places_both_go_through_memory() -> None:
    wide, tall = Blocked((1, 4), (4, 8), (1, 1), (1, 0)), Blocked((4, 1), (1, 32), (1, 1), (1, 0))
    found = triton_price(wide, tall, (4, 32), "f32", "sm_80")
    assert found.own.slots is not None
    assert found.slots is not None
    assert found.conversion.kind == "shared memory"
    assert found.own.plan.kind == "shared memory"
    assert found.own.slots <= found.slots


def test_elements_that_change_their_cta_have_no_price() -> None:
    rows, columns = (
        Linear((), tuple((1 << i, 0) for i in range(5)), (), ((0, 1),)),
        Linear((), (*((1 << i, 0) for i in range(4)), (0, 1)), (), ((16, 0),)),
    )
    found = triton_price(rows, columns, (32, 2), "f32", "sm_90")
    assert found.conversion.synchronised == "cluster"
    assert found.slots is None
    assert "no price" in found.text


def test_a_tensor_that_is_too_large_for_a_plan_has_no_price() -> None:
    wide, tall = Blocked((1, 4), (4, 8), (1, 1), (1, 0)), Blocked((4, 1), (1, 32), (1, 1), (1, 0))
    assert triton_price(wide, tall, (2**20, 2**11)).slots is None
    with pytest.raises(LayoutError, match="over the limit"):
        shared_access(wide, SwizzledShared(1, 1, 1, (1, 0)), (2**20, 2**11))


def test_triton_says_nothing_of_other_notations_and_other_chips() -> None:
    blocked = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>"
    assert triton_says(blocked, "d0 = 64@lane", (64,), "f32", "sm_80") is None
    assert triton_says(blocked, blocked, (64,), "f32", "pvc") is None
    assert triton_says(blocked, blocked, (64,), "f32", "sm_80") is not None


# Loads and stores


def test_a_swizzle_makes_ldmatrix_conflict_free_and_padding_too() -> None:
    operand = f"#ttg.dot_op<{{opIdx = 0, parent = {MMA}, kWidth = 2}}>"
    plain, swizzled = (SwizzledShared(8, 1, phases, (1, 0)) for phases in (1, 8))
    assert shared_access(operand, plain, (16, 64), "f16").ways == 8
    assert shared_access(operand, swizzled, (16, 64), "f16").ways == 1
    padded = parse_encoding("#ttg.padded_shared<[64:+8] {order = [1, 0], shape = [16, 64]}>")
    found = shared_access(operand, padded, (16, 64), "f16")
    assert (found.instruction, found.bits, found.ways) == ("shared", 32, 1)


def test_a_matrix_is_stored_from_sm_90_on() -> None:
    shared = SwizzledShared(8, 1, 8, (1, 0))
    found = [shared_access(MMA, shared, (16, 64), "f16", chip, "store").instruction for chip in ("sm_80", "sm_90")]
    assert found == ["shared", "stmatrix"]


def test_the_other_dimension_of_a_matrix_is_loaded_transposed() -> None:
    operand = f"#ttg.dot_op<{{opIdx = 1, parent = {MMA}, kWidth = 2}}>"
    assert shared_access(operand, SwizzledShared(8, 1, 8, (1, 0)), (32, 64), "f16").instruction == "ldmatrix.trans"
    assert shared_access(operand, SwizzledShared(8, 1, 8, (0, 1)), (32, 64), "f16").instruction == "ldmatrix"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((MMA, MMA, (16, 64)), "offset"),
        ((SwizzledShared(1, 1, 1, (1, 0)), SwizzledShared(1, 1, 1, (1, 0)), (16, 64)), "register"),
        ((MMA, SwizzledShared(1, 1, 1, (1, 0)), (16, 64), "f16", "sm_80", "both"), "'load' or 'store'"),
        ((MMA, 4, (16, 64)), "access of 4"),
    ],
)
def test_accesses_that_do_not_fit_are_refused_in_words(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        shared_access(*arguments)


def test_global_accesses_along_the_wrong_dimension_touch_a_line_per_lane() -> None:
    along, across = (Blocked((1, 4), (4, 8), (1, 1), (1, 0)), Blocked((4, 1), (8, 4), (1, 1), (0, 1)))
    good, bad = (global_access(one, (32, 32), "f32") for one in (along, across))
    assert (good.bits, good.lines, good.least_lines) == (128, 4, 4)
    assert (bad.bits, bad.lines, bad.least_lines) == (32, 8, 1)
    assert global_access(along, (32, 32), "f32", contiguity=2).bits == 64
