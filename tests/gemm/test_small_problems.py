"""Small problems of a kernel's text: the same text, small sizes, and a result that numpy's own arithmetic gives as well."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.gemm.small_problems import small_attentions, small_decodes, small_products, small_weights
from tests.gemm import attention_runs, decode_runs
from tests.gemm.random_operands import operands
from tests.gemm.test_grouped import random_inputs

PRODUCTS: tuple[tuple[tuple[int, int, int], dict[str, Any]], ...] = (
    ((4096, 4096, 4096), {"target": "bmg"}),
    ((8, 4096, 4096), {"c": "f16", "bias": "column"}),
    ((64, 64, 65536), {}),
    ((4095, 1000, 333), {}),
    ((3000, 1, 500), {}),
    ((1000, 128, 2048), {"a": "s8", "batch": 12, "tile": (16, 32), "subgroups": (2, 2)}),
    ((2048, 2048, 2048), {"trans_a": True, "a": "bf16"}),
    ((2048, 2048, 2048), {"trans_a": True, "trans_b": True, "a": "s8"}),
    ((2000, 128, 512), {"groups": 4, "tile": (16, 32), "subgroups": (1, 2)}),
)


@pytest.mark.parametrize(("sizes", "options"), PRODUCTS, ids=str)
def test_products_have_small_ones_with_edges(sizes: tuple[int, int, int], options: dict[str, Any]) -> None:
    plan = la.plan_gemm(*sizes, **options)
    text = plan.emit()
    found = small_products(plan, text)
    assert found
    for one in found:
        assert one.emit() == text
        assert one.dpas_total <= 2**17
        whole = one.tiling.workgroup_tile
        assert one.m > whole.m or one.m == plan.m or one is found[1]
        a, b, *more = operands(one) if not one.problem.groups else random_inputs(one.problem, np.random.default_rng(0))
        a, b = (np.round(matrix.astype(np.float32) * 2).clip(-3, 3) for matrix in (a, b))
        if one.problem.groups:
            starts = np.linspace(0, one.m, one.problem.groups + 1).astype(np.int32)
            rows = [a[begin:end] @ b[g] for g, (begin, end) in enumerate(pairwise(starts))]
            assert (one.simulate(a, b, *more, starts=starts, text=text) == np.concatenate(rows)).all()
            continue
        left = np.swapaxes(a, -1, -2) if one.problem.trans_a else a
        right = np.swapaxes(b, -1, -2) if one.problem.trans_b else b
        added = {} if one.problem.bias is None else {"bias": np.arange(one.n) % 5}
        wanted = left @ right + (added["bias"] if added else 0)
        assert (one.simulate(a, b, **added, text=text) == wanted).all()


def test_a_kernel_with_its_sizes_has_none() -> None:
    plan = la.plan_gemm(100, 96, 64)
    assert small_products(plan, plan.emit(static=True)) == ()


def test_attentions_have_small_ones() -> None:
    packed = {"order": "bshd", "starts_q": (0, 700, 1000), "starts_k": (0, 300, 2000)}
    for options in ({"heads": 8, "kv_heads": 4, "batch": 4}, {"causal": True, "window": 512}, {"heads": 2, **packed}):
        plan = la.plan_attention(1000, 2000, 64, **options)
        text = plan.emit()
        found = small_attentions(plan, text)
        assert [one.problem.keys for one in found] == [203, 67]
        for one in found:
            q, k, v = attention_runs.random_arrays(one)
            far = one.simulate(q, k, v, text) - attention_runs.defined(one.problem, q, k, v)
            assert np.abs(far).max() < 5e-3


def test_decodes_have_small_ones() -> None:
    for options in ({"parts": 4}, {"batch": 20, "page": 16, "order": "nhd"}):
        plan = la.plan_decode(8000, 64, heads=8, kv_heads=2, **options)
        text = plan.emit()
        (one,) = small_decodes(plan, text)
        assert one.problem.keys <= 2 * 32 * plan.parts + 91
        lengths = [one.problem.keys, 33, 0]
        q, k, v, *table = decode_runs.random_arrays(one, lengths)
        found = one.simulate(q, k, v, lengths, *(table or [None]), text=text)
        assert np.abs(found - decode_runs.defined(one.problem, q, k, v, lengths, *table)).max() < 5e-3


def test_weights_have_small_ones() -> None:
    for options in ({"b": "u8", "group": 512}, {"zeros": True, "split_k": 4}, {"b": "f8E4M3FN", "c": "f16"}):
        plan = la.plan_weights(8, 4096, 8192, **options)
        found = small_weights(plan, plan.emit())
        assert [(one.problem.product.m, one.problem.product.n < 2048) for one in found] == [(8, True)] * len(found)
        assert found
    plan = la.plan_weights(8, 4096, 4096, batch=100)
    assert [one.problem.product.batch for one in small_weights(plan, plan.emit())] == [3, 3]
