"""How Triton converts: what its compiler emitted for 150 conversions and 20 of kernels, and for fresh ones in every run.

The number of shuffles in the table counts what LLVM has left of a kernel whose elements are all alike: for AMD's chips,
whose loads it merges, these are fewer than Triton emits, and fresh kernels with different elements are asked.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from layoutalg.conversion import Load, Shuffle, Store
from layoutalg.conversion.triton_way import triton_program
from layoutalg.core import LayoutError
from layoutalg.core.gf2 import image
from layoutalg.triton.conversions import TritonConversion, how_triton_converts, linear_ends
from layoutalg.triton.encodings import AmdMfma, Blocked, DotOperand, Linear, NvidiaMma
from layoutalg.triton.linear import LinearLayout
from tests.oracle.tables import lines
from tests.oracle.toolchains import require_module
from tests.oracle.triton_compiled import TARGETS, emitted

ROWS = lines("triton_conversions.jsonl.gz")
IN_KERNELS = lines("triton_kernel_conversions.jsonl.gz")
KINDS = {"none": "registers", "registers": "registers", "shuffles": "shuffles", "shared memory": "shared"}
WIDTHS = {8: "u1", 16: "u2", 32: "u4", 64: "u8"}


def found_for(row: dict[str, Any]) -> TritonConversion:
    return how_triton_converts(row["source"], row["destination"], row["shape"], row["elem"], TARGETS[row["target"]])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['target']} {row['how']}")
def test_a_conversion_is_lowered_as_triton_s_compiler_does(row: dict[str, Any]) -> None:
    found = found_for(row)
    assert KINDS[found.kind] == row["how"]
    assert found.shared_bytes == row["shared_bytes"]
    if row["target"] == "gfx942":
        assert found.shuffles >= row["shuffles"]
        assert (found.shuffles > 0) == (row["shuffles"] > 0)
    else:
        assert found.shuffles == row["shuffles"]


@pytest.mark.parametrize("row", IN_KERNELS, ids=lambda row: row["file"])
def test_the_conversions_of_kernels_are_lowered_as_triton_does(row: dict[str, Any]) -> None:
    found = found_for(row)
    assert KINDS[found.kind] == row["how"]
    assert (found.kind != "shared memory") == row["without_shared_memory"]
    assert {"shared_bytes": found.shared_bytes, "shuffles": found.shuffles} == row["alone"]


@pytest.mark.parametrize("row", [row for row in ROWS if row["target"] == "gfx942" and row["shuffles"]], ids=str)
def test_amd_s_shuffles_are_as_many_as_triton_emits(row: dict[str, Any]) -> None:
    require_module("triton")
    made = emitted(row["source"], row["destination"], row["shape"], row["elem"], row["target"], row["num_warps"])
    assert made is not None
    assert made["shuffles"] == found_for(row).shuffles


# Fresh conversions


def power(rng: random.Random, most: int, least: int = 0) -> int:
    return 1 << rng.randint(least, most)


def sizes(rng: random.Random, rank: int, bits: int) -> tuple[int, ...]:
    found = [1] * rank
    for _ in range(bits):
        found[rng.randrange(rank)] *= 2
    return tuple(found)


def linear(rng: random.Random, shape: tuple[int, ...], lanes: int, warps: int) -> Linear:
    rank = len(shape)
    every = [
        tuple([1 << i if e == d else 0 for e in range(rank)])
        for d in range(rank)
        for i in range(shape[d].bit_length() - 1)
    ]
    every += [(0,) * rank] * (max(0, lanes + warps - len(every)) + rng.randint(0, 2))
    rng.shuffle(every)
    return Linear(tuple(every[lanes + warps :]), tuple(every[:lanes]), tuple(every[lanes : lanes + warps]), ())


def nearby(rng: random.Random, given: Linear) -> Linear:
    """The layout with a few bits exchanged: shuffles often suffice."""
    lists = [list(given.register), list(given.lane), list(given.warp)]
    places = [(axis, i) for axis in range(3) for i in range(len(lists[axis]))]
    inside = [place for place in places if place[0] < 2]
    for _ in range(rng.randint(1, 3)):
        (a, i), (b, j) = (rng.choice(inside if rng.random() < 0.7 else places) for _ in range(2))
        lists[a][i], lists[b][j] = lists[b][j], lists[a][i]
    return Linear(tuple(lists[0]), tuple(lists[1]), tuple(lists[2]), ())


def conversion(rng: random.Random) -> tuple[Any, Any, tuple[int, ...], str, str, int]:
    target, element = rng.choice((*TARGETS,)), rng.choice(("i1", "i8", "f16", "f16", "f32", "f32", "f64"))
    lanes, warps, rank = 6 if target == "gfx942" else 5, rng.choice((0, 0, 1, 2, 2, 3)), rng.choice((1, 2, 2, 2, 3))
    shape = sizes(rng, rank, rng.randint(3, 11))

    def end() -> Any:
        chance = rng.random()
        if chance < 0.35:
            return linear(rng, shape, lanes, warps)
        if chance < 0.65 or rank != 2:
            order = tuple(rng.sample(range(rank), rank))
            return Blocked(sizes(rng, rank, rng.randint(0, 4)), sizes(rng, rank, lanes), sizes(rng, rank, warps), order)
        across = sizes(rng, 2, warps)
        tile = rng.choice(((32, 32, 8), (16, 16, 16)))
        parent = NvidiaMma(2, 0, across, (16, 8)) if lanes == 5 else AmdMfma(3, across, tile, rng.random() < 0.5)
        width = {"f16": 2, "i8": 4, "i1": 4}.get(element, 1) if lanes == 5 else power(rng, 3, 2)
        return parent if chance < 0.8 else DotOperand(rng.randint(0, 1), parent, width)

    source = end()
    result = nearby(rng, source) if isinstance(source, Linear) and rng.random() < 0.6 else end()
    return source, result, shape, element, target, 1 << warps


def seeded() -> tuple[random.Random, int]:
    seed = random.Random().getrandbits(32)
    return random.Random(seed), seed


@pytest.mark.slow
def test_fresh_conversions_are_lowered_as_triton_does() -> None:
    require_module("triton")
    rng, seed = seeded()
    answered = 0
    while answered < 60:
        try:
            source, result, shape, element, target, warps = conversion(rng)
            found = how_triton_converts(source, result, shape, element, TARGETS[target])
        except LayoutError:
            continue  # what no value can hold, or does not hold the whole tensor
        if found.kind == "none":
            continue
        made = emitted(str(source), str(result), shape, element, target, warps)
        where = f"seed {seed}: {source} {result} {shape} {element} {target}: {found}"
        assert made is not None, where
        assert made["bytes"] == found.shared_bytes, where
        if not made["exchanged"]:
            assert made["shuffles"] == found.shuffles, where
        answered += 1
        if target == "gfx942" or found.stores is None or found.loads is None:
            continue
        assert made["of_warps" if found.synchronised == "warp" else "barriers"] == found.barriers, where
        matrices = [
            f"nvvm.{one.instruction.split('.')[0]}"
            for one in (found.stores, found.loads)
            for _ in range(one.instructions)
            if one.instruction != "shared"
        ]
        assert sorted(made["matrices"]) == sorted(matrices), where
        if found.stores.instruction == "shared":
            assert made["stores"] == [found.stores.bits] * found.stores.instructions, where
        if found.loads.instruction == "shared":  # LLVM cuts loads whose elements are used one by one
            assert sum(made["loads"]) == found.loads.bits * found.loads.instructions, where
            assert max(made["loads"]) <= found.loads.bits, where


def fragments(linear: LinearLayout) -> np.ndarray[Any, Any]:
    """The element's number at each [warp, lane, register]."""
    columns = iter(linear.columns())
    register, lane, warp = [[next(columns) for _ in bases] for _, bases in linear.bases][:3]
    return np.array(
        [
            [
                [image(warp, w) ^ image(lane, i) ^ image(register, r) for r in range(1 << len(register))]
                for i in range(1 << len(lane))
            ]
            for w in range(1 << len(warp))
        ]
    )


def test_triton_s_way_as_a_program_converts_every_element() -> None:
    """With as many shuffles, stores and loads; a matrix instruction stands for more than one step, and is not executed."""
    rng, seed = seeded()
    executed = 0
    while executed < 60:
        try:
            source, result, shape, element, target, _ = conversion(rng)
            found = how_triton_converts(source, result, shape, element, TARGETS[target])
        except LayoutError:
            continue
        if found.kind not in ("shuffles", "shared memory"):
            continue
        before, after = linear_ends(source, result, shape)
        program = triton_program(source, result, shape, element, TARGETS[target])
        where = f"seed {seed}: {source} {result} {shape} {element} {target}: {found}"
        assert program.count(Shuffle) == found.shuffles, where
        if found.stores is not None and found.loads is not None:
            assert (program.count(Store), program.count(Load)) == (
                found.stores.instructions,
                found.loads.instructions,
            ), where
            if {found.stores.instruction, found.loads.instruction} != {"shared"}:
                continue
        executed += 1
        kind = WIDTHS[found.element_bits]
        assert np.array_equal(program.run(fragments(before).astype(kind)), fragments(after).astype(kind)), where
