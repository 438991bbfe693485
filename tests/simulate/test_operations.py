"""Operations on values that SPIR-V or its CPU runtime can't express, against numpy by definition, element by element."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16, float8_e4m3fn, float8_e5m2
from numpy.typing import NDArray

from tests.simulate.evaluating import evaluate

Array = NDArray[Any]
f32 = np.float32


def lanes(*shape: int, seed: int = 0, dtype: Any = f32) -> Array:
    """[1, 1, 16, ..]: numbers that differ in every lane."""
    return (np.random.default_rng(seed).standard_normal((1, 1, 16, *shape)) * 4).astype(dtype)


@pytest.mark.parametrize("name", ["addf", "subf", "mulf", "divf"])
@pytest.mark.parametrize("kind", ["bf16", "f8E4M3FN", "f8E5M2"])
def test_small_floats_are_rounded_once(name: str, kind: str) -> None:
    dtype = {"bf16": bfloat16, "f8E4M3FN": float8_e4m3fn, "f8E5M2": float8_e5m2}[kind]
    left, right = lanes(8, dtype=dtype), lanes(8, seed=1, dtype=dtype)
    vector = f"vector<8x{kind}>"
    (found,), rules = evaluate(
        f"%r0 = arith.{name} %a, %b : {vector}", {"a": (vector, left), "b": (vector, right)}, (vector,)
    )
    operation = {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide}[name]
    with np.errstate(all="ignore"):
        exact = operation(left.astype(np.float64), right.astype(np.float64))
        # Sums and products of 8-bit significands are exact in 53 bits, quotients are far from midpoints.
        expected = exact.astype(f32).astype(dtype)
    assert not rules
    assert (found.view(f"u{found.dtype.itemsize}") == expected.view(f"u{found.dtype.itemsize}")).all()


def test_maximum_and_minimum_give_nan_and_know_the_sign_of_zero() -> None:
    left = np.array([np.nan, 1, 0.0, -0.0, np.inf, -np.inf, 2, np.nan], f32)
    right = np.array([1, np.nan, -0.0, 0.0, 1, 1, 3, np.nan], f32)
    operands = {"a": ("vector<8xf32>", left.reshape(1, 1, 1, 8)), "b": ("vector<8xf32>", right.reshape(1, 1, 1, 8))}
    body = "\n".join(f"%r{n} = arith.{name} %a, %b : vector<8xf32>" for n, name in enumerate(("maximumf", "minimumf")))
    (most, least), _ = evaluate(body, operands, ("vector<8xf32>",) * 2)
    for found, largest in ((most[0, 0, 0], True), (least[0, 0, 0], False)):
        for value, a, b in zip(found.tolist(), left.tolist(), right.tolist(), strict=True):
            if math.isnan(a) or math.isnan(b):
                assert math.isnan(value)
            elif a == b == 0:
                # The positive zero is the larger one.
                assert math.copysign(1, value) == (1 if largest else -1)
            else:
                assert value == (max(a, b) if largest else min(a, b))


def test_maximumnum_and_minimumnum_give_the_number_and_know_the_sign_of_zero() -> None:
    """IEEE 754-2019, 9.6: maximumNumber and minimumNumber."""
    inputs = [math.nan, -math.inf, -1.0, -0.0, 0.0, 2.0, math.inf]
    left, right = (np.array(side, f32) for side in zip(*itertools.product(inputs, repeat=2), strict=True))
    kind = f"vector<{len(left)}xf32>"
    operands = {"a": (kind, left.reshape(1, 1, 1, -1)), "b": (kind, right.reshape(1, 1, 1, -1))}
    body = f"%r0 = arith.maximumnumf %a, %b : {kind}\n%r1 = arith.minimumnumf %a, %b : {kind}"
    found, _ = evaluate(body, operands, (kind,) * 2)
    for values, better in zip(found, (max, min), strict=True):
        for value, pair in zip(values[0, 0, 0].tolist(), zip(left.tolist(), right.tolist(), strict=True), strict=True):
            numbers = [number for number in pair if not math.isnan(number)]
            # -0 is below +0: by value first, then by sign.
            expected = better(numbers, key=lambda x: (x, math.copysign(1, x))) if numbers else math.nan
            assert str(value) == str(expected), pair


def test_denormals_are_flushed_to_zeros_of_their_sign() -> None:
    """As mlir-opt-24 folds constants: 0x80400000 becomes 0x80000000, 0x00800000 and a NaN stay."""
    edges = np.array([0, 1, 0x400000, 0x7FFFFF, 0x800000, 0x7FC00001])
    for name, dtype, unsigned, exponent, patterns in (
        ("f16", np.float16, np.uint16, 0x7C00, np.arange(0, 2**16, 17)),
        ("bf16", bfloat16, np.uint16, 0x7F80, np.arange(0, 2**16, 17)),
        ("f32", f32, np.uint32, 0x7F800000, np.concatenate([edges, edges | 2**31])),
    ):
        bits = patterns.astype(unsigned)
        kind = f"vector<{len(bits)}x{name}>"
        operand = bits.view(dtype).reshape(1, 1, 1, -1)
        (found,), _ = evaluate(f"%r0 = arith.flush_denormals %a : {kind}", {"a": (kind, operand)}, (kind,))
        sign = bits & unsigned(1 << (bits.itemsize * 8 - 1))
        assert (found[0, 0, 0].view(unsigned) == np.where(bits & unsigned(exponent), bits, sign)).all()


@pytest.mark.parametrize("kind", ["add", "mul", "maximumf", "minnumf"])
@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_a_multi_reduction_takes_the_accumulator_then_the_elements_in_row_major_order(
    kind: str, dims: tuple[int, ...]
) -> None:
    shape = (2, 3, 4)
    kept = tuple(extent for axis, extent in enumerate(shape) if axis not in dims)
    value, start = lanes(*shape), lanes(*kept, seed=2)
    target = f"vector<{'x'.join(map(str, kept))}xf32>" if kept else "f32"
    body = f"%r0 = vector.multi_reduction <{kind}>, %a, %s {list(dims)} : vector<2x3x4xf32> to {target}"
    (found,), _ = evaluate(body, {"a": ("vector<2x3x4xf32>", value), "s": (target, start)}, (target,))
    step = {"add": lambda a, b: f32(a + b), "mul": lambda a, b: f32(a * b), "maximumf": max, "minnumf": min}[kind]
    for lane in range(16):
        for place in np.ndindex(*kept):
            total = start[(0, 0, lane, *place)]
            for index in np.ndindex(*shape):
                if tuple(n for axis, n in enumerate(index) if axis not in dims) == place:
                    total = step(total, value[(0, 0, lane, *index)])
            assert found[(0, 0, lane, *place)] == total


def test_a_contraction_is_a_product_of_matrices() -> None:
    left, right, start = (np.round(lanes(*shape, seed=n)) for n, shape in enumerate([(3, 4), (4, 5), (3, 5)]))
    maps = "affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>"
    body = (
        f'%r0 = vector.contract {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel", "reduction"], '
        "kind = #vector.kind<add>} %a, %b, %c : vector<3x4xf32>, vector<4x5xf32> into vector<3x5xf32>"
    )
    operands = {"a": ("vector<3x4xf32>", left), "b": ("vector<4x5xf32>", right), "c": ("vector<3x5xf32>", start)}
    (found,), _ = evaluate(body, operands, ("vector<3x5xf32>",))
    for lane in range(16):
        assert (found[0, 0, lane] == start[0, 0, lane] + left[0, 0, lane] @ right[0, 0, lane]).all()


def test_boxes_with_strides_and_of_fewer_dimensions() -> None:
    value, part = lanes(4, 6), lanes(2, seed=1)
    body = """
%r0 = vector.extract_strided_slice %a {offsets = [1], sizes = [2], strides = [1]} : vector<4x6xf32> to vector<2x6xf32>
%r1 = vector.insert_strided_slice %p, %a {offsets = [2, 3], strides = [1]} : vector<2xf32> into vector<4x6xf32>"""
    operands = {"a": ("vector<4x6xf32>", value), "p": ("vector<2xf32>", part)}
    (cut, put), _ = evaluate(body, operands, ("vector<2x6xf32>", "vector<4x6xf32>"))
    assert (cut == value[:, :, :, 1:3]).all()
    expected = value.copy()
    expected[:, :, :, 2, 3:5] = part
    assert (put == expected).all()


def test_bits_of_narrow_integers_are_packed_with_the_first_one_lowest() -> None:
    value = np.array([1, -2, 7, -8, 0, 3, -1, 5], np.int8).reshape(1, 1, 1, 8)
    body = "%r0 = vector.bitcast %a : vector<8xi4> to vector<4xi8>\n%r1 = vector.bitcast %r0 : vector<4xi8> to vector<32xi1>"
    (packed, bits), _ = evaluate(body, {"a": ("vector<8xi4>", value)}, ("vector<4xi8>", "vector<32xi1>"))
    for number in range(4):
        low, high = (int(value[0, 0, 0, 2 * number + half]) & 15 for half in (0, 1))
        assert int(packed[0, 0, 0, number]) & 255 == low | high << 4
        for bit in range(8):
            assert bits[0, 0, 0, 8 * number + bit] == bool((low | high << 4) >> bit & 1)


def test_a_masked_reduction_leaves_elements_out() -> None:
    value = lanes(8)
    included = np.random.default_rng(5).random((1, 1, 16, 8)) < 0.5
    included[0, 0, 0] = False
    body = """
%r0 = vector.mask %m { vector.reduction <add>, %a, %s : vector<8xf32> into f32 } : vector<8xi1> -> f32
%r1 = vector.mask %m { vector.reduction <maximumf>, %a, %s : vector<8xf32> into f32 } : vector<8xi1> -> f32"""
    start = lanes(seed=3)
    operands = {"a": ("vector<8xf32>", value), "m": ("vector<8xi1>", included), "s": ("f32", start)}
    (total, most), _ = evaluate(body, operands, ("f32", "f32"))
    for lane in range(16):
        expected = start[0, 0, lane]
        chosen = [value[0, 0, lane, n] for n in range(8) if included[0, 0, lane, n]]
        for number in chosen:
            expected = f32(expected + number)
        assert total[0, 0, lane] == expected
        assert most[0, 0, lane] == max([start[0, 0, lane], *chosen])


@pytest.mark.parametrize(("mode", "source"), [
    ("idx", lambda lane, offset: offset), ("xor", lambda lane, offset: lane ^ offset),
    ("up", lambda lane, offset: lane - offset), ("down", lambda lane, offset: lane + offset),
])  # fmt: skip
@pytest.mark.parametrize("width", [4, 16])
def test_a_shuffle_stays_in_its_segment_and_says_where_there_is_no_lane(mode: str, source: Any, width: int) -> None:
    value = np.arange(100, 116, dtype=np.int32).reshape(1, 1, 16)
    for offset in range(width):
        body = (
            f"%o = arith.constant {offset} : i32\n%w = arith.constant {width} : i32\n"
            f"%r0, %r1 = gpu.shuffle {mode} %a, %o, %w : i32"
        )
        (found, valid), rules = evaluate(body, {"a": ("i32", value)}, ("i32", "i1"))
        assert not rules
        for lane in range(16):
            first, inside = lane - lane % width, lane % width
            place = source(inside, offset)
            there = 0 <= place < width
            assert bool(valid[0, 0, lane]) == there
            assert found[0, 0, lane] == 100 + (first + place if there else lane)


@pytest.mark.parametrize("count", [2, 8, 16])
def test_packing_gives_every_lane_neighbours_of_what_was_dealt_out_one_by_one(count: int) -> None:
    tensor = np.arange(16 * count, dtype=np.int32)
    dealt = np.array([[tensor[j * 16 + lane] for j in range(count)] for lane in range(16)]).reshape(1, 1, 16, count)
    kind = f"vector<{count}xi32>"
    body = f"%r0 = xegpu.lane_shuffle %a pack : {kind}\n%r1 = xegpu.lane_shuffle %r0 unpack : {kind}"
    (packed, back), _ = evaluate(body, {"a": (kind, dealt)}, (kind, kind))
    for lane in range(16):
        assert packed[0, 0, lane].tolist() == [lane * count + j for j in range(count)]
    assert (back == dealt).all()


@pytest.mark.parametrize(("size", "stride"), [(16, 1), (4, 1), (4, 4), (2, 8)])
def test_lanes_of_a_cluster_reduce_together(size: int, stride: int) -> None:
    value = np.random.default_rng(1).integers(-9, 9, (1, 2, 16)).astype(np.int32)
    cluster = "" if size == 16 else f" cluster(size = {size}, stride = {stride})"
    body = f"%r0 = gpu.subgroup_reduce add %a{cluster} : (i32) -> i32"
    (found,), _ = evaluate(body, {"a": ("i32", value)}, ("i32",), subgroups=2)
    for subgroup in range(2):
        for lane in range(16):
            same = [
                n for n in range(16) if n % stride == lane % stride and n // (size * stride) == lane // (size * stride)
            ]
            assert found[0, subgroup, lane] == sum(int(value[0, subgroup, n]) for n in same)


def test_all_work_items_reduce_by_a_name_and_by_a_region() -> None:
    value = np.random.default_rng(2).integers(-99, 99, (1, 3, 16)).astype(np.int32)
    body = """
%r0 = gpu.all_reduce maxsi %a {} : (i32) -> (i32)
%r1 = gpu.all_reduce %a {
^bb(%x : i32, %y : i32):
  %s = arith.addi %x, %y : i32
  "gpu.yield"(%s) : (i32) -> ()
} : (i32) -> (i32)"""
    (most, total), _ = evaluate(body, {"a": ("i32", value)}, ("i32", "i32"), subgroups=3)
    assert (most == value.max()).all()
    assert (total == value.sum()).all()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%z = arith.constant 0 : i32\n%r0 = arith.divui %z, %z : i32", "i32"),
        ("%a = arith.constant 1 : i32\n%n = arith.constant 32 : i32\n%r0 = arith.shrui %a, %n : i32", "i32"),
        ("%a = arith.constant 2147483647 : i32\n%r0 = arith.addi %a, %a overflow<nsw> : i32", "i32"),
        ("%a = arith.constant -1 : i32\n%r0 = arith.muli %a, %a overflow<nuw> : i32", "i32"),
        ("%a = arith.constant 300.0 : f32\n%r0 = arith.fptoui %a : f32 to i8", "i8"),
        ("%a = arith.constant 0x7FC00000 : f32\n%r0 = arith.fptosi %a : f32 to i32", "i32"),
        ("%a = arith.constant 300 : i32\n%r0 = arith.trunci %a overflow<nsw> : i32 to i8", "i8"),
        ("%v = arith.constant dense<1> : vector<4xi32>\n%i = arith.constant 4 : index\n"
         "%r0 = vector.extract %v[%i] : i32 from vector<4xi32>", "i32"),
    ],
)  # fmt: skip
def test_what_has_no_defined_result_is_found(body: str, message: str) -> None:
    _, rules = evaluate(body, {}, (message,))
    assert rules == ["run.undefined"]


def test_flags_that_hold_are_no_finding() -> None:
    body = """
%a = arith.constant -5 : i8
%b = arith.constant 100 : i8
%r0 = arith.addi %a, %b overflow<nsw> : i8
%r1 = arith.subi %b, %b overflow<nsw, nuw> : i8
%c = arith.constant 3 : i8
%r2 = arith.shli %c, %c overflow<nsw, nuw> : i8"""
    (total, nothing, shifted), rules = evaluate(body, {}, ("i8", "i8", "i8"))
    assert not rules
    assert (total[0, 0, 0], nothing[0, 0, 0], shifted[0, 0, 0]) == (95, 0, 24)


@pytest.mark.parametrize(("name", "function"), [
    ("erf", math.erf), ("expm1", math.expm1), ("log1p", math.log1p), ("cbrt", np.cbrt), ("asinh", math.asinh),
    ("acos", math.acos),
])  # fmt: skip
def test_an_elementary_function_is_rounded_once(name: str, function: Any) -> None:
    value = np.abs(lanes(4)) / 16
    (found,), _ = evaluate(f"%r0 = math.{name} %a : vector<4xf32>", {"a": ("vector<4xf32>", value)}, ("vector<4xf32>",))
    for place in np.ndindex(*value.shape):
        assert found[place] == f32(function(float(value[place])))


def test_affine_maps_round_down() -> None:
    numbers = np.arange(-8, 8).reshape(1, 1, 16)
    body = "%r0 = affine.apply affine_map<(d)[s] -> (d mod 3 + (d floordiv 4) * 7 + s - d ceildiv 5)>(%a)[%b]"
    (found,), _ = evaluate(body, {"a": ("index", numbers), "b": ("index", np.full((1, 1, 1), 7))}, ("index",))
    for lane in range(16):
        number = lane - 8
        assert found[0, 0, lane] == number % 3 + math.floor(number / 4) * 7 + 7 - math.ceil(number / 5)


def test_poison_is_seen_when_it_is_used() -> None:
    body = "%r0 = ub.poison : vector<4xf32>\n%r1 = ub.poison : i32"
    (floats, number), _ = evaluate(body, {}, ("vector<4xf32>", "i32"))
    assert np.isnan(floats).all()
    assert (number.view(np.uint32) == 0xA5A5A5A5).all()
