"""Plans against their arithmetic, and kernels against a loop over pairs of k."""

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
from tests.sampling import examples

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


def one_subgroup(m: int, n: int, k: int, element: str = "f16", tile: tuple[int, int] = (32, 32), **more: Any) -> Gemm:
    """A plan of workgroups of one subgroup, with the smallest step of k and without prefetch."""
    return plan_gemm(m, n, k, element, tile=tile, subgroups=(1, 1), k_step=16, registers=128, prefetch="none", **more)


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
    gemm = plan_gemm(*size, element) if tile is None else one_subgroup(*size, element, tile)
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
@settings(max_examples=examples(25), deadline=None)
@given(
    m=st.integers(1, 70),
    n=st.integers(16, 40).map(lambda half: 2 * half),
    k=st.integers(16, 40).map(lambda half: 2 * half),
    tile=st.sampled_from(TILES),
    pad=st.integers(0, 2),
)
def test_every_size_that_is_planned_is_computed(m: int, n: int, k: int, tile: tuple[int, int], pad: int) -> None:
    up = lambda value, to: -(-value // to) * to + pad * to  # noqa: E731
    gemm = one_subgroup(m, n, k, "f16", tile, lda=up(k, 8), ldb=up(n, 8), ldc=up(n, 4))
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


def test_a_kernel_that_reads_outside_of_its_matrices_is_noticed() -> None:
    gemm = one_subgroup(64, 96, 48, "f16", (16, 32))
    a, b = operands(64, 96, 48, "f16")
    mutated = changed(gemm.emit(), r"strides : \[%size_lda, 1\]", "strides : [%size_m, 1]")
    with pytest.raises(LayoutError, match=r"line \d+: xegpu.load_nd: access to byte \d+ of buffer A"):
        gemm.simulate(a, b, text=mutated)


def test_packing_moves_no_element_to_another_lane() -> None:
    """A fragment is counted in elements, and VNNI packs what the lane already has: no number depends on it."""
    gemm = one_subgroup(64, 96, 48, "f16", (16, 32))
    a, b = operands(64, 96, 48, "f16")
    plain = changed(gemm.emit(), r"(, )?packed", "")
    assert np.array_equal(gemm.simulate(a, b, text=plain), pairwise(a, b))


def test_the_text_is_a_fixed_point_of_reading_and_writing() -> None:
    for tile in TILES:
        text = one_subgroup(64, 64, 64, "f16", tile).emit("lane")
        assert write_module(read_module(text)) == text


def test_the_text_depends_on_types_and_tile_and_on_no_size() -> None:
    texts = {one_subgroup(*size, "f16", (16, 32)).emit() for size in [*SIZES, (512, 512, 512)]}
    assert len(texts) == 1
    assert one_subgroup(64, 64, 64, "bf16", (16, 32)).emit() not in texts


@pytest.mark.parametrize("tile", TILES)
def test_the_kernel_has_the_messages_that_are_planned(tile: tuple[int, int]) -> None:
    """Of 16 of k, a message brings 32 rows of A, and for LLVM 22 one block of 8."""
    gemm = one_subgroup(64, 64, 64, "f16", tile)
    for llvm, loads in ((24, (tile[0] + 31) // 32 + (tile[0] == 24)), (22, tile[0] // 8)):
        text = gemm.emit("lane", llvm=llvm)
        assert text.count("xegpu.dpas ") == gemm.dpas_per_step == (tile[0] // 8) * (tile[1] // 16)
        assert text.count("xegpu.load_nd %matrix_a") == loads
        assert text.count("xegpu.store_nd") == gemm.dpas_per_step


def test_the_numbers_of_a_plan_worked_out_by_hand() -> None:
    gemm = one_subgroup(512, 512, 512)
    assert (gemm.grid, gemm.workgroup, gemm.k_steps) == ((16, 16, 1), (16, 1, 1), 32)
    assert (gemm.dpas_per_step, gemm.dpas_total) == (8, 8 * 32 * 256)
    assert gemm.dpas_total * 2 * 8 * 16 * 16 == 2 * 512**3
    assert gemm.bytes_per_step == 32 * 16 * 2 + 16 * 32 * 2
    assert (gemm.registers.a, gemm.registers.b, gemm.registers.c) == (16, 16, 64)
    assert [(f.name, f.block, f.count, f.vector) for f in gemm.fragments] == [
        ("A", (8, 16), 4, "vector<8xf16>"),
        ("B", (16, 16), 2, "vector<16xf16>"),
        ("C", (8, 16), 8, "vector<8xf32>"),
    ]
    assert all(f.layout.shape == f.block for f in gemm.fragments)


@pytest.mark.parametrize("tile", TILES)
def test_no_tile_needs_more_registers_than_there_are(tile: tuple[int, int]) -> None:
    registers = one_subgroup(64, 64, 64, "f16", tile).registers
    assert registers.used <= registers.available == 128


def test_a_plan_is_a_value() -> None:
    gemm = plan_gemm(64, 64, 64)
    assert gemm == plan_gemm(64, 64, 64)
    assert hash(gemm) == hash(plan_gemm(64, 64, 64))
    assert pickle.loads(pickle.dumps(gemm)) == gemm
    with pytest.raises(AttributeError):
        gemm.llvm = 23  # type: ignore[misc]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"m": 0}, r"m = 0: a size is an integer from 1 to 16777216"),
    ({"n": -64}, r"n = -64"),
    ({"k": 64.0}, r"k = 64.0"),
    ({"k": "64"}, r"k = '64'"),
    ({"m": True}, r"m = True"),
    ({"m": 2**24 + 1}, r"m = 16777217"),
    ({"n": 10**30}, "n = 1000000000000000000000000000000: a size"),
    ({"m": None}, r"m = None"),
    ({"a": "f32"}, r"a = 'f32': products are planned for A and B of f16, bf16, tf32, s8, u8"),
    ({"a": "bf16", "b": "f16"}, r"dpas bf16 x f16 -> f32 on pvc: no such instruction; there are f16 x f16"),
    ({"c": "s32"}, r"c = 's32': accumulators of f32 are stored as f32, f16, bf16"),
    ({"acc": "s32"}, r"dpas f16 x f16 -> s32 on pvc: no such instruction"),
    ({"acc": "f64"}, r"acc = 'f64': .* accumulators of f32, f16, bf16, s32"),
    ({"bias": "both"}, r"bias 'both': expected 'row' or 'column'"),
    ({"activation": "tanh"}, r"activation 'tanh': expected 'relu', 'gelu' or 'silu'"),
    ({"alpha": float("inf")}, r"alpha = inf: expected a finite number"),
    ({"beta": "1"}, r"beta = '1': expected a finite number"),
    ({"batch": 0}, r"batch = 0"),
    ({"trans_a": 2}, r"trans_a = 2"),
    ({"llvm": 21}, r"llvm = 21: kernels are written for 22, 23, 24"),
    ({"registers": 64}, r"registers = 64: a thread has 128, or 256"),
    ({"prefetch": "all"}, r"prefetch 'all'"),
    ({"distance": 0}, r"distance = 0"),
    ({"subgroups": (3,)}, r"subgroups \(3,\)"),
    ({"k_step": 24}, r"k_step = 24: 24 is no multiple of 16"),
    ({"a": 4}, r"a is of type int"),
    ({"target": "h100"}, r"target 'h100'"),
    ({"tile": (12, 16), "k_step": 16}, r"tile 12x16: 12 is no multiple of 8"),
    ({"tile": (64, 64), "registers": 256}, r"tile 64x64"),
    ({"tile": (8,)}, r"tile \(8,\): a tile is two sizes"),
    ({"tile": 8}, r"tile 8: a tile is two sizes"),
    ({"tile": (8, 16, 16)}, r"tile \(8, 16, 16\)"),
    ({"tile": "ab"}, r"tile"),
    ({"lda": 32}, r"A is 64x64 f16 .*the leading dimension is 64 at least"),
    ({"lda": -64}, r"lda = -64"),
]


@pytest.mark.parametrize(
    ("change", "message"), REFUSED, ids=lambda value: str(value) if isinstance(value, dict) else ""
)
def test_what_cannot_be_planned_says_what_and_what_would_fit(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan_gemm(**{"m": 64, "n": 64, "k": 64, **change})


EDGES = [
    ({"k": 20}, {"A": r"rows of 40 bytes are shorter than the 64 bytes .* 32 columns would fit"}),
    ({"n": 16}, {"B": r"rows of 32 bytes are shorter"}),
    ({"k": 51}, {"A": r"rows of 102 bytes are not a multiple of 4 bytes.* 56 columns would fit"}),
    ({"k": 50}, {"A": r"rows are 100 bytes apart.*multiple of 16 bytes.*lda = 56 would fit"}),
    ({"n": 36}, {"B": r"rows are 72 bytes apart.*ldb = 40 would fit"}),
    ({"n": 36, "ldb": 40, "ldc": 37}, {"C": r"148 bytes apart.*ldc = 40 would fit"}),
    ({"lda": 68}, {"A": r"lda = 72 would fit"}),
    ({"lda": 2**24}, {"A": r"33554432 bytes apart, more than the 16777216 bytes"}),
    ({"k": 2**24}, {"A": r"rows of 33554432 bytes are longer .* 8388608 columns would fit"}),
    ({"m": 1, "a": "tf32", "k": 72, "batch": 3}, {"A": r"288 bytes behind the one before.*lda = 80 would fit"}),
    ({"a": "s8", "trans_a": True, "lda": 2**23 + 16}, {"A": r"16777248 bytes apart.*lda = 8388608 would fit"}),
]


@pytest.mark.parametrize(("change", "edges"), EDGES, ids=lambda value: str(value) if "A" not in str(value) else "")
def test_matrices_out_of_reach_are_moved_by_lanes_and_the_plan_says_what_would_fit(
    change: dict[str, Any], edges: dict[str, str]
) -> None:
    found = plan_gemm(**{"m": 64, "n": 64, "k": 64, **change}).problem.edges
    assert list(found) == list(edges)
    assert all(re.search(words, found[name]) for name, words in edges.items()), found


def test_what_would_fit_does_fit() -> None:
    assert plan_gemm(64, 64, 50, lda=56, k_step=16).k_steps == 4
    for k in (16, 31, 51, 53):
        why = plan_gemm(64, 64, k).problem.edges["A"]
        assert not plan_gemm(64, 64, int(re.findall(r"(\d+) (?:columns )?would fit", why)[0])).problem.edges
    assert not plan_gemm(1, 64, 72, "tf32", batch=3, lda=80).problem.edges
    assert not plan_gemm(64, 36, 64, ldb=40, ldc=40).problem.edges
    assert plan_gemm(64, 32, 64).problem.ldc == 32
    assert plan_gemm(np.int64(64), np.int32(64), 64) == plan_gemm(64, 64, 64)  # type: ignore[arg-type]


def test_levels_have_names() -> None:
    with pytest.raises(PlanError, match=r"level 'thread': expected 'lane', 'subgroup' or 'workgroup'"):
        plan_gemm(64, 64, 64).emit("thread")


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
        check_size(plan_gemm(2**14, 2**14, 2**14))


@pytest.mark.parametrize("operand", [7, None, "D", "AB", ""])
def test_the_elements_of_another_operand_are_refused_in_words(operand: Any) -> None:
    with pytest.raises(PlanError, match="expected 'A', 'B' or 'C'"):
        plan_gemm(64, 64, 64).element_of(operand)
