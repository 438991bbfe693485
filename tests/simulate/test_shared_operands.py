"""Products of subgroups that share operands have the bits of the chain that is added element by element."""

from __future__ import annotations

import numpy as np
import pytest

from layoutalg.gemm import plan_gemm
from layoutalg.gemm.numerics import computed, random_inputs
from layoutalg.simulate import Memory, run_kernel
from layoutalg.simulate.operations import dpas
from layoutalg.simulate.shared_operands import sharing


@pytest.mark.parametrize(
    ("kind", "sizes", "options"),
    [
        ("f16", (256, 256, 64), {}),
        ("bf16", (128, 320, 48), {"target": "bmg"}),
        ("tf32", (128, 256, 32), {}),
        ("s8", (192, 320, 64), {}),
        ("f16", (256, 128, 80), {"acc": "f16", "beta": 2.0}),
        ("f16", (320, 256, 64), {"split_k": 2, "reduction": "kernel"}),
        ("f16", (320, 256, 64), {"split_k": 2, "reduction": "last", "tile": (40, 16), "subgroups": (1, 4)}),
        ("bf16", (256, 512, 32), {"acc": "bf16", "c": "bf16"}),
    ],
)
@pytest.mark.parametrize(
    "wild", [False, True], ids=["normal", "with NaN, infinities, zeros of both signs and tiny numbers"]
)
def test_the_bits_are_those_of_one_element_after_the_other(
    kind: str, sizes: tuple[int, int, int], options: dict[str, object], wild: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_gemm(*sizes, kind, **options)
    inputs = random_inputs(plan.problem, np.random.default_rng(11))
    if wild and kind != "s8":
        left, right = inputs[0].reshape(-1), inputs[1].reshape(-1)
        left[5], left[77], left[100:400], left[501:510] = np.inf, np.nan, 0, -0.0
        left[700:900] *= left.dtype.type(1e-4)
        right[33:60] = -0.0
    made: list[str] = []

    def counted(name: str):
        whole = getattr(dpas, name)

        def counting(*given: object) -> None:
            made.append(name)
            whole(*given)

        return counting

    for name in ("sum_of_links", "sum_of_bytes"):
        monkeypatch.setattr(dpas, name, counted(name))
    found = plan.simulate(*inputs)
    assert made, "no product was made for several subgroups"
    monkeypatch.setattr(dpas, "_LEAST", 2**60)
    made.clear()
    alone = plan.simulate(*inputs)
    assert not made
    assert found.tobytes() == alone.tobytes()


def test_a_negative_zero_in_the_accumulator_keeps_its_sign() -> None:
    """(-1 * 0 + -1 * 0) is -0, which the matrix product gives as +0: beside an accumulator of -0 it must not be taken."""
    plan = plan_gemm(128, 128, 32, acc="f16", c="f16")
    left, right = np.full((128, 32), -1, np.float16), np.zeros((32, 128), np.float16)
    right[0, :] = 2.0**-24  # the first instruction rounds -2^-25 to -0
    left[:, 0] = -0.5
    found = plan.simulate(left, right)
    assert np.signbit(found).all()
    assert (found == 0).all()
    assert computed(plan.problem, left, right).tobytes() == found.tobytes()


MIXED = """
gpu.module @kernels {
  gpu.func @mixed(%c: i64) kernel attributes {
      intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 16, 1, 1>} {
    %one = arith.constant true
    %x = gpu.block_id x
    %lane = gpu.lane_id
    %wide = arith.constant 16 : index
    %start = arith.muli %x, %wide : index
    %at = arith.addi %start, %lane : index
    %byte = arith.index_cast %x : index to i8
    %bytes = vector.broadcast %byte : i8 to vector<16xi8>
    %ones = arith.constant dense<1> : vector<32xi8>
    %integers = xegpu.dpas %bytes, %ones : vector<16xi8>, vector<32xi8> -> vector<8xi32>
    %word = arith.index_cast %x : index to i32
    %half = arith.sitofp %word : i32 to f16
    %halves = vector.broadcast %half : f16 to vector<8xf16>
    %quarters = arith.constant dense<2.500000e-01> : vector<16xf16>
    %begin = arith.constant dense<5.000000e-01> : vector<8xf32>
    %floats = xegpu.dpas %halves, %quarters, %begin
        : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>
    %converted = arith.sitofp %integers : vector<8xi32> to vector<8xf32>
    %sum = arith.addf %floats, %converted : vector<8xf32>
    %first = vector.extract %sum[0] : f32 from vector<8xf32>
    xegpu.store %first, %c[%at], %one : f32, i64, index, i1
    gpu.return
  }
}
"""


def test_a_kernel_may_multiply_integers_and_floats() -> None:
    """Workgroup x has 32 products of x and 1 in integers, 16 of x and 0.25 and a half in f32."""
    c, memory = np.zeros(64 * 16, np.float32), Memory()
    run_kernel(MIXED, [memory.bind("c", c, initialised=False)], (64, 1, 1), memory)
    assert c.tolist() == [32 * x + 4 * x + 0.5 for x in range(64) for _ in range(16)]


@pytest.mark.parametrize("workgroups", [1, 3])
def test_shared_parts_are_found_and_put_together(workgroups: int) -> None:
    """Subgroups in 2x3: A is that of the row, B that of the column, and workgroups have their own."""
    rows, columns = np.divmod(np.arange(6), 3)
    number = np.repeat(np.arange(workgroups), 6)
    left = (10 * number + np.tile(rows, workgroups)).reshape(workgroups, 6, 1).astype(np.uint16)
    right = (10 * number + np.tile(columns, workgroups)).reshape(workgroups, 6, 1).astype(np.uint16)
    found = sharing(left, right)
    assert found.counts == (workgroups, 2, 3)
    assert found.holds(left, "row")
    assert found.holds(right, "column")
    assert not found.holds(right, "row")
    accumulators = np.arange(6 * workgroups * 4, dtype=np.float32).reshape(-1, 2, 2)
    whole = np.empty((workgroups, 4, 6), np.float32)
    found.together(accumulators, whole)
    for one in range(6 * workgroups):
        row, column = 2 * rows[one % 6], 2 * columns[one % 6]
        assert np.array_equal(whole[one // 6, row : row + 2, column : column + 2], accumulators[one])
    assert np.array_equal(found.apart(whole, 2, 2), accumulators)
