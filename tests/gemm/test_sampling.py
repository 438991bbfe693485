"""Some workgroups of a planned product: what they compute is compared, and what others would write shows."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from ml_dtypes import bfloat16

from layoutalg.cli import main
from layoutalg.core.errors import LayoutError, PlanError
from layoutalg.gemm import plan_gemm
from layoutalg.gemm.numerics import accumulated, random_inputs
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.sampling import drawn, run_sample, tile_of
from layoutalg.simulate import Memory, run_kernel

_CASES = [
    ((40, 80, 48), {"tile": (16, 32), "subgroups": (2, 1)}),
    ((70, 33, 50), {"batch": 2, "bias": "column", "activation": "relu"}),
    ((33, 96, 64), {"trans_b": True, "beta": 0.5, "bias": "row", "batch": 3}),
    ((64, 48, 32), {"trans_a": True, "c": "f16"}),
]


@pytest.mark.parametrize(("sizes", "options"), _CASES)
def test_every_tile_of_c_belongs_to_one_workgroup(sizes, options):
    gemm = plan_gemm(*sizes, **options)
    count = np.zeros((gemm.problem.batch, gemm.m, gemm.n), int)
    for number in range(int(np.prod(gemm.grid))):
        tile = tile_of(gemm, number)
        count[tile.matrix, tile.rows, tile.columns] += 1
    assert (count == 1).all()


@pytest.mark.parametrize(("sizes", "options"), _CASES)
def test_a_sample_has_the_bits_of_the_whole(sizes, options):
    gemm = plan_gemm(*sizes, **options)
    inputs = random_inputs(gemm.problem, np.random.default_rng(2))
    workgroups = drawn(gemm, 2, seed=4)
    found = run_sample(gemm, workgroups, *inputs)
    assert found.as_modelled
    assert found.untouched
    assert found.largest_difference < 0.05


def test_a_wrong_kernel_is_seen_in_a_sample():
    gemm = plan_gemm(64, 64, 64, tile=(16, 32), subgroups=(1, 1))
    inputs = random_inputs(gemm.problem, np.random.default_rng(0))
    text = gemm.emit("lane")
    wrong = text.replace("gpu.block_id x", "gpu.block_id y")
    assert wrong != text
    found = run_sample(gemm, (1,), *inputs, text=wrong)
    assert not found.as_modelled  # the tile of workgroup 1 is not written: it still has its NaN
    assert not found.untouched


def test_the_last_of_a_sample_is_run_too():
    gemm = plan_gemm(128, 128, 32, tile=(16, 32), subgroups=(1, 1))
    numbers = drawn(gemm, 7, seed=3)
    assert len(set(numbers)) == 7
    assert all(one < other for one, other in pairwise(numbers))
    assert drawn(gemm, 10**6) == tuple(range(32))


def test_what_no_grid_has_is_refused():
    gemm, memory = plan_gemm(8, 32, 32), Memory()
    arrays = np.ones((8, 32), np.float16), np.ones((32, 32), np.float16), np.zeros((8, 32), np.float32)
    given = [*(memory.bind(name, array) for name, array in zip("ABC", arrays, strict=True)), *gemm.arguments]
    for wrong in ((), (10**9,), (-1,), ("x",), 3, "0"):
        with pytest.raises(LayoutError):
            run_kernel(gemm.emit("lane"), given, gemm.grid, memory, workgroups=wrong)
    for wrong in (0, -1, "3", None, 2.5):
        with pytest.raises(LayoutError):
            drawn(gemm, wrong)
    with pytest.raises(PlanError, match="parts"):
        drawn(plan_gemm(64, 64, 4096, split_k=4), 1)


def test_the_command_line_says_what_was_run(capsys):
    assert main(["gemm", "64", "96", "32", "--tile", "16x32", "--subgroups", "1x1", "--sample", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["sampled"], found["workgroups"], found["as_modelled"], found["untouched"]) == (3, 12, True, True)
    assert main(["gemm", "64", "96", "32", "--tile", "16x32", "--subgroups", "1x1", "--sample", "99"]) == 0
    assert "12 of 12 workgroups" in capsys.readouterr().out


def _chain(left, right, link):
    """The chain of links, one element of C at a time, in numbers of f32."""
    total = np.zeros((left.shape[0], right.shape[1]), np.float32)
    for i in range(left.shape[0]):
        for j in range(right.shape[1]):
            for k in range(0, left.shape[1], link):
                terms = [left[i, k + d] * right[k + d, j] for d in range(link) if k + d < left.shape[1]]
                added = terms[0] if len(terms) == 1 else np.float32(terms[0] + terms[1])
                total[i, j] = np.float32(total[i, j] + added)
    return total


@pytest.mark.parametrize("scale", [1, 1e-3, 1e3, 1e-19, 1e-25, 1e17, 1e25, "zeros", "inf", "nan"])
@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32"])
def test_the_model_keeps_the_order_where_products_are_not_exact(kind, scale):
    problem = Problem.of(5, 6, 19, kind)
    random = np.random.default_rng(7)
    a, b = random.standard_normal((5, 19)), random.standard_normal((19, 6))
    if scale == "zeros":
        a[random.random(a.shape) < 0.6] = -0.0
    elif isinstance(scale, str):
        a[2, 3] = float(scale)
    else:
        a, b = a * scale, b * scale
    with np.errstate(all="ignore"):
        if kind == "f16":
            held = [one.astype(np.float16).astype(np.float32) for one in (a, b)]
        elif kind == "tf32":
            held = [(one.astype(np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for one in (a, b)]
        else:
            held = [one.astype(bfloat16).astype(np.float32) for one in (a, b)]
        wanted = _chain(*held, 1 if kind == "tf32" else 2)
        found = accumulated(problem, a, b)
    np.testing.assert_array_equal(found, wanted)
