"""Triton's compiler converts between the same layouts within one warp: it never needs fewer shuffles than a plan of ours.

No GPU is needed: its LLVM IR is counted, by the benchmark that prints both. Where Triton would take shared memory, it is also
made to shuffle.
"""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from layoutalg.conversion import Shuffle
from tests.oracle.toolchains import require_module

BENCHMARK: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "conversions.py"))
CONVERSIONS: tuple[tuple[str, int, str, str], ...] = BENCHMARK["CONVERSIONS"]

Counts = Callable[..., dict[str, int]]


@pytest.fixture(scope="module")
def triton_counts() -> Counts:
    require_module("triton")
    return BENCHMARK["triton_counts"]


@pytest.mark.parametrize("conversion", CONVERSIONS, ids=lambda one: f"{one[0]}-{one[1]}")
def test_no_conversion_of_the_benchmark_shuffles_or_selects_more_than_triton_s(
    triton_counts: Counts, conversion: tuple[str, int, str, str]
) -> None:
    _, bits, *texts = conversion
    source, destination = map(la.Layout.parse, texts)
    compare(triton_counts, source, destination, bits, forced=False)
    compare(triton_counts, source, destination, bits, forced=True)


def test_no_random_conversion_shuffles_or_selects_more_than_triton_s(triton_counts: Counts) -> None:
    rng = random.Random(4)
    for _ in range(30):
        source, destination = warp_pair(rng)
        compare(triton_counts, source, destination, rng.choice((8, 16, 32, 64)), forced=True)


def test_no_conversion_across_warps_takes_more_shared_memory_than_triton_s(triton_counts: Counts) -> None:
    for source, destination, bits, ours, theirs in BENCHMARK["shared_bytes"]():
        assert 0 < ours <= theirs, f"{source} -> {destination}, {bits} bits"


def compare(triton_counts: Counts, source: la.Layout, destination: la.Layout, bits: int, forced: bool) -> None:
    plan, theirs = la.convert(source, destination, element_bits=bits), triton_counts(source, destination, bits, forced)
    assert plan.slm_bytes == 0
    if not theirs["slm_bytes"]:
        # A broadcast counts as a shuffle, and is cheaper: where the plan has more of them, another way has fewer shuffles.
        ways = [one for one in plan.candidates if not one.slm_bytes]
        ours = [(one.count(Shuffle), BENCHMARK["picks"](one.programs)) for one in ways]
        assert min(ours) <= (theirs["shuffles"], theirs["selects"]), plan


def warp_pair(rng: random.Random) -> tuple[la.Layout, la.Layout]:
    """Two layouts of one tensor of 8 to 256 elements in 32 lanes, bit by bit; lane bits that are left over are replicas."""
    count = rng.randint(3, 8)
    rows = rng.randint(0, count)
    pair: list[la.Layout] = []
    for _ in range(2):
        registers = rng.randint(max(0, count - 5), min(count, 4))
        lanes = rng.sample(range(5), count - registers)
        places = [(2, 1 << bit, "reg") for bit in range(registers)] + [(2, 1 << bit, "lane") for bit in lanes]
        rng.shuffle(places)
        free = [(2, 1 << bit, "lane") for bit in range(5) if bit not in lanes]
        pair.append(la.Layout([places[:rows], places[rows:]], free))
    return pair[0], pair[1]
