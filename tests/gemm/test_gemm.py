"""Plans against their arithmetic, kernels against a loop over pairs of k, and mutations that must be noticed."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError, PlanError, SizeError
from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.ir import read_module, write_module

Array = NDArray[Any]

TILES = [(8, 16), (16, 16), (24, 16), (32, 16), (8, 32), (16, 32), (24, 32), (32, 32)]
SIZES = [(64, 64, 64), (40, 80, 48), (72, 200, 136)]


def dtype_of(element: str) -> Any:
    if element == "bf16":
        from ml_dtypes import bfloat16

        return bfloat16
    return np.float16


def operands(m: int, n: int, k: int, element: str, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((m, k)).astype(dtype_of(element)),
        rng.standard_normal((k, n)).astype(dtype_of(element)),
    )


def pairwise(a: Array, b: Array) -> Array:
    """f32 accumulation in the order of depth, two products at a time; every operation rounds to f32."""
    left, right = a.astype(np.float32), b.astype(np.float32)
    if left.shape[1] % 2:
        left, right = np.pad(left, ((0, 0), (0, 1))), np.pad(right, ((0, 1), (0, 0)))
    total = np.zeros((left.shape[0], right.shape[1]), np.float32)
    for d in range(0, left.shape[1], 2):
        total = total + (left[:, d, None] * right[d] + left[:, d + 1, None] * right[d + 1])
    return total


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
@pytest.mark.parametrize("tile", [None, *TILES], ids=lambda tile: "default" if tile is None else f"{tile[0]}x{tile[1]}")
def test_the_emitted_kernel_computes_the_product_to_the_last_bit(
    element: str, size: tuple[int, int, int], tile: tuple[int, int] | None
) -> None:
    gemm = plan_gemm(*size, element, element, tile=tile)
    a, b = operands(*size, element)
    assert np.array_equal(gemm.simulate(a, b), pairwise(a, b))


@pytest.mark.slow
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_a_product_of_512_is_exact(element: str) -> None:
    gemm = plan_gemm(512, 512, 512, element, element)
    a, b = operands(512, 512, 512, element)
    expected = pairwise(a, b)
    assert np.array_equal(gemm.simulate(a, b), expected)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    m=st.integers(1, 70),
    n=st.integers(16, 40).map(lambda half: 2 * half),
    k=st.integers(16, 40).map(lambda half: 2 * half),
    tile=st.sampled_from(TILES),
    pad=st.integers(0, 2),
)
def test_every_size_that_is_planned_is_computed(m: int, n: int, k: int, tile: tuple[int, int], pad: int) -> None:
    up = lambda value, to: -(-value // to) * to + pad * to  # noqa: E731
    gemm = plan_gemm(m, n, k, tile=tile, lda=up(k, 8), ldb=up(n, 8), ldc=up(n, 4))
    a, b = operands(m, n, k, "f16", seed=m * n * k)
    assert np.array_equal(gemm.simulate(a, b), pairwise(a, b))


def test_infinities_and_subnormals_go_through() -> None:
    a, b = operands(8, 32, 32, "f16")
    a[0, 0], a[1, :] = np.inf, 2.0**-24
    with np.errstate(invalid="ignore"):
        expected = pairwise(a, b)
        assert np.array_equal(plan_gemm(8, 32, 32).simulate(a, b), expected, equal_nan=True)


def changed(text: str, pattern: str, replacement: str) -> str:
    out, count = re.subn(pattern, replacement, text)
    assert count, pattern
    return out


MUTATIONS = {
    "swapped offsets of a load of A": (r"(load_nd %matrix_a)\[(%row1), (%step)\]", r"\1[\3, \2]"),
    "the wrong row of A": (r"load_nd %matrix_a\[%row1", "load_nd %matrix_a[%row0"),
    "an accumulator that is dropped": (
        r"(dpas %a1, %b0), %c1x0( : vector<8xf16>, vector<16xf16>), vector<8xf32>",
        r"\1\2",
    ),
    "an accumulator of another tile": (r"(dpas %a1, %b0), %c1x0", r"\1, %c0x0"),
    "a k step that is too long": (r"%k_step = arith.constant 16", "%k_step = arith.constant 32"),
    "a k step that is too short": (r"%k_step = arith.constant 16", "%k_step = arith.constant 8"),
    "a loop that starts late": (r"%zero = arith.constant 0", "%zero = arith.constant 16"),
    "rows of B that are shifted by one": (r"%zeros = ", "%one = arith.constant 1 : index\n%zeros = "),
    "operands of a dpas of other columns": (r"dpas %a0, %b1", "dpas %a0, %b0"),
    "results stored in each other's place": (r"store_nd %tile0x1", "store_nd %tile1x1"),
    "a tile that is not stored": (r" *xegpu.store_nd %tile1x1.*\n", ""),
    "a pitch without the padding": (r"strides : \[%size_lda, 1\]", "strides : [%size_k, 1]"),
    "a width that is another matrix's": (r"\[%size_k, %size_n\]", "[%size_k, %size_m]"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_kernel_that_is_wrong_is_noticed(name: str) -> None:
    """The comparison above can fail: each of these changes one thing in the emitted text."""
    gemm = plan_gemm(64, 96, 48, tile=(16, 32), lda=64, ldb=96)
    a, b = operands(64, 96, 48, "f16")
    expected, text = pairwise(a, b), gemm.emit("lane")
    assert np.array_equal(gemm.simulate(a, b, text=text), expected)
    pattern, replacement = MUTATIONS[name]
    mutated = changed(text, pattern, replacement)
    if name == "rows of B that are shifted by one":
        mutated = changed(
            mutated,
            r"( *)(%b0 = xegpu.load_nd %matrix_b)\[%step",
            r"\1%late = arith.addi %step, %one : index\n\2[%late",
        )
    result = gemm.simulate(a, b, text=mutated)
    assert not np.array_equal(result, expected)


def test_a_kernel_that_reads_outside_of_its_matrices_is_noticed() -> None:
    gemm = plan_gemm(64, 96, 48, tile=(16, 32))
    a, b = operands(64, 96, 48, "f16")
    mutated = changed(gemm.emit(), r"strides : \[%size_lda, 1\]", "strides : [%size_ldb, 1]")
    with pytest.raises(LayoutError, match=r"line \d+: xegpu.load_nd: access to byte \d+ of buffer A"):
        gemm.simulate(a, b, text=mutated)


def test_packing_moves_no_element_to_another_lane() -> None:
    """A fragment is counted in elements, and VNNI packs what the lane already has: no number depends on it."""
    gemm = plan_gemm(64, 96, 48, tile=(16, 32))
    a, b = operands(64, 96, 48, "f16")
    plain = changed(gemm.emit(), r" <\{packed\}>", "")
    assert np.array_equal(gemm.simulate(a, b, text=plain), pairwise(a, b))


def test_the_text_is_a_fixed_point_of_reading_and_writing() -> None:
    for tile in TILES:
        text = plan_gemm(64, 64, 64, tile=tile).emit("lane")
        assert write_module(read_module(text)) == text


def test_the_text_depends_on_types_and_tile_and_on_no_size() -> None:
    texts = {plan_gemm(*size, tile=(16, 32)).emit() for size in [*SIZES, (512, 512, 512)]}
    assert len(texts) == 1
    assert plan_gemm(64, 64, 64, "bf16", "bf16", tile=(16, 32)).emit() not in texts


@pytest.mark.parametrize("tile", TILES)
def test_the_kernel_has_the_messages_that_are_planned(tile: tuple[int, int]) -> None:
    gemm = plan_gemm(64, 64, 64, tile=tile)
    text = gemm.emit("lane")
    assert text.count("xegpu.dpas ") == gemm.dpas_per_step == (tile[0] // 8) * (tile[1] // 16)
    assert text.count("xegpu.load_nd %matrix_a") == tile[0] // 8
    assert text.count("xegpu.load_nd %matrix_b") == tile[1] // 16
    assert text.count("xegpu.store_nd") == gemm.dpas_per_step


def test_the_numbers_of_a_plan_worked_out_by_hand() -> None:
    gemm = plan_gemm(512, 512, 512, tile=(32, 32))
    assert (gemm.grid, gemm.workgroup, gemm.k_steps) == ((16, 16, 1), (16, 1, 1), 32)
    assert (gemm.dpas_per_step, gemm.dpas_total) == (8, 8 * 32 * 256)
    assert gemm.dpas_total * 2 * 8 * 16 * 16 == 2 * 512**3
    assert gemm.bytes_per_step == 32 * 16 * 2 + 16 * 32 * 2
    assert gemm.registers.used == 16 + 16 + 64 + 6
    assert [(f.name, f.block, f.count, f.vector) for f in gemm.fragments] == [
        ("A", (8, 16), 4, "vector<8xf16>"),
        ("B", (16, 16), 2, "vector<16xf16>"),
        ("C", (8, 16), 8, "vector<8xf32>"),
    ]
    assert all(f.layout.shape == f.block for f in gemm.fragments)


@pytest.mark.parametrize("tile", TILES)
def test_no_tile_needs_more_registers_than_there_are(tile: tuple[int, int]) -> None:
    registers = plan_gemm(64, 64, 64, tile=tile).registers
    assert registers.used <= registers.available == 128


@pytest.mark.parametrize("size", [*SIZES, (512, 512, 512), (1, 32, 32), (8, 4096, 64), (4096, 32, 64), (33, 48, 32)])
def test_the_default_tile_loads_the_fewest_bytes(size: tuple[int, int, int]) -> None:
    def loaded(gemm: Gemm) -> int:
        return gemm.bytes_per_step * gemm.k_steps * gemm.grid[0] * gemm.grid[1]

    everyone = [plan_gemm(*size, tile=tile) for tile in TILES]
    chosen = plan_gemm(*size)
    least = min(loaded(gemm) for gemm in everyone)
    assert loaded(chosen) == least
    equals = [gemm.tile.m * gemm.tile.n for gemm in everyone if loaded(gemm) == least]
    assert chosen.tile.m * chosen.tile.n == max(equals)


def test_a_plan_is_a_value() -> None:
    gemm = plan_gemm(64, 64, 64)
    assert gemm == plan_gemm(64, 64, 64)
    assert hash(gemm) == hash(plan_gemm(64, 64, 64))
    assert pickle.loads(pickle.dumps(gemm)) == gemm
    with pytest.raises(AttributeError):
        gemm.m = 3  # type: ignore[misc]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"m": 0}, r"m = 0: a size is an integer from 1 to 16777216"),
    ({"n": -64}, r"n = -64"),
    ({"k": 64.0}, r"k = 64.0"),
    ({"k": "64"}, r"k = '64'"),
    ({"m": True}, r"m = True"),
    ({"m": 2**24 + 1}, r"m = 16777217"),
    ({"n": 10**30}, "n = 1000000000000000000000000000000: a size"),
    ({"m": None}, r"m = None"),
    ({"a": "f32"}, r"types \(a, b, c\) = \(f32, f16, f32\)"),
    ({"a": "bf16"}, r"types \(a, b, c\) = \(bf16, f16, f32\)"),
    ({"c": "f16"}, r"types \(a, b, c\) = \(f16, f16, f16\)"),
    ({"a": None}, r"a is of type NoneType"),
    ({"target": "h100"}, r"target 'h100'"),
    ({"target": "bmg"}, r"target 'bmg': products are planned for the target 'pvc' so far"),
    ({"tile": (12, 16)}, r"tile 12x16: .*8, 16, 24, 32 rows by 16 or 32 columns"),
    ({"tile": (64, 64)}, r"tile 64x64"),
    ({"tile": (8,)}, r"tile \(8,\): a tile is two sizes"),
    ({"tile": 8}, r"tile 8: a tile is two sizes"),
    ({"tile": (8, 16, 16)}, r"tile \(8, 16, 16\)"),
    ({"tile": "ab"}, r"tile"),
    ({"k": 20}, r"A is 64x20 f16: its rows of 40 bytes are shorter than the 64 bytes .* 32 columns would fit"),
    ({"n": 16}, r"B is 64x16 f16: its rows of 32 bytes are shorter"),
    ({"k": 51}, r"A is 64x51 f16: its rows of 102 bytes are not a multiple of 4 bytes.* 56 columns would fit"),
    ({"k": 50}, r"A is 64x50 f16: its rows are 100 bytes apart.*multiple of 16 bytes.*lda = 56 would fit"),
    ({"n": 36}, r"B is 64x36 f16: its rows are 72 bytes apart.*ldb = 40 would fit"),
    ({"n": 36, "ldb": 40, "ldc": 37}, r"C is 64x36 f32 .* 148 bytes apart.*ldc = 40 would fit"),
    ({"lda": 32}, r"A is 64x64 f16 .*the leading dimension is 64 at least"),
    ({"lda": 68}, r"A is 64x64 f16 with 68 elements from row to row: .*lda = 72 would fit"),
    ({"lda": -64}, r"lda = -64"),
    ({"lda": 2**24}, r"A .* 33554432 bytes apart, more than the 16777216 bytes"),
    ({"k": 2**24}, r"A is 64x16777216 f16: its rows of 33554432 bytes are longer .* 8388608 columns would fit"),
]


@pytest.mark.parametrize(
    ("change", "message"), REFUSED, ids=lambda value: str(value) if isinstance(value, dict) else ""
)
def test_what_cannot_be_planned_says_what_and_what_would_fit(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan_gemm(**{"m": 64, "n": 64, "k": 64, **change})


def test_what_would_fit_does_fit() -> None:
    assert plan_gemm(64, 64, 50, lda=56).k_steps == 4
    for k in (16, 31, 51, 53):
        with pytest.raises(PlanError, match="would fit") as caught:
            plan_gemm(64, 64, k)
        assert plan_gemm(64, 64, int(re.findall(r"(\d+) (?:columns )?would fit", str(caught.value))[0]))
    assert plan_gemm(64, 36, 64, ldb=40, ldc=40).ldb == 40
    assert plan_gemm(64, 32, 64).ldc == 32
    assert plan_gemm(np.int64(64), np.int32(64), 64) == plan_gemm(64, 64, 64)  # type: ignore[arg-type]


def test_other_levels_say_what_is_planned() -> None:
    gemm = plan_gemm(64, 64, 64)
    for level in ("subgroup", "workgroup"):
        with pytest.raises(PlanError, match=f"level '{level}': kernels are planned for the level 'lane' so far"):
            gemm.emit(level)
    with pytest.raises(PlanError, match=r"level 'thread': .*lane, subgroup, workgroup"):
        gemm.emit("thread")


def test_arrays_that_do_not_suit_the_plan_are_refused() -> None:
    gemm = plan_gemm(64, 64, 64)
    a, b = operands(64, 64, 64, "f16")
    with pytest.raises(PlanError, match="A is planned as 64x64, and the array is 64x32"):
        gemm.simulate(a[:, :32], b)
    with pytest.raises(PlanError, match="B is planned as 64x64, and the array is 64"):
        gemm.simulate(a, b[0])
    with pytest.raises(PlanError, match="A is an array of"):
        gemm.simulate(np.full((64, 64), "x"), b)
    with pytest.raises(SizeError, match="are simulated"):
        plan_gemm(2**20, 2**13, 32).simulate(a, b)
    with pytest.raises(LayoutError):
        gemm.simulate(a, b, text="gpu.module @k {")


def test_values_that_a_type_cannot_hold_are_refused() -> None:
    gemm = plan_gemm(64, 64, 64)
    b = operands(64, 64, 64, "f16")[1]
    with pytest.raises(PlanError, match="f16 cannot hold"):
        gemm.simulate(np.full((64, 64), 1e10), b)
    with pytest.raises(PlanError):
        gemm.simulate([[1, 2], [3]], b)  # type: ignore[list-item]
    assert np.isinf(gemm.simulate(np.full((64, 64), np.inf), np.ones((64, 64)))).all()


@pytest.mark.parametrize(
    "size", [1 << 20000, np.array([1, 2]), None, "64", 1.5, True], ids=lambda size: type(size).__name__
)
def test_sizes_and_types_that_are_none_are_refused(size: object) -> None:
    with pytest.raises(PlanError):
        plan_gemm(size, 64, 64)  # type: ignore[arg-type]
    with pytest.raises(PlanError):
        plan_gemm(64, 64, 64, a=np.array(["f16"]))  # type: ignore[arg-type]


def test_products_too_large_to_simulate_are_refused_before_anything_is_allocated() -> None:
    from layoutalg.core import SizeError
    from layoutalg.gemm.run import check_size

    with pytest.raises(SizeError):
        check_size(plan_gemm(2**23, 4096, 2**23))
    with pytest.raises(SizeError, match="dpas"):
        check_size(plan_gemm(2**14, 2**14, 2**14, tile=(8, 16)))
