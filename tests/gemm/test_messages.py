"""The messages of a step bring what DPAS takes, by the definitions of both and not by this library's layouts.

What a message puts into the lanes' registers is enumerated byte by byte, from the text of cl_intel_subgroup_2d_block_io: a
block is a row of bytes, row after row, cut into registers that have one component per lane. What DPAS takes is read from the
tables of the extension texts.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.gemm.messages import Message, messages
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.tiling import Tile, Tiling

LANES = 16
TYPES = [("f16", "f16"), ("bf16", "bf16"), ("tf32", "tf32"), ("s8", "s8"), ("u8", "s8")]
STORED: list[dict[str, Any]] = [{}, {"trans_b": True}, {"trans_a": True}, {"trans_a": True, "trans_b": True}]
TILES = [Tile(8, 16, 32), Tile(24, 48, 64), Tile(32, 64, 64)]

with gzip.open(Path(__file__).parents[1] / "oracle" / "data" / "dpas_fragments.json.gz", "rt") as file:
    ROWS: list[dict[str, Any]] = json.load(file)["dpas"]


def table(a: str, b: str) -> dict[str, Any]:
    return next(row for row in ROWS if (row["a_type"], row["b_type"], row["simd"]) == (a, b, LANES))


def wanted(problem: Problem, operand: str) -> NDArray[Any]:
    """Row and column that DPAS takes from each lane and element of a register: [lane, element, 2]."""
    row = table(problem.a, problem.b)
    found = row["A_lane_component_to_row_col_M8" if operand == "A" else "B_lane_component_to_row_col"]
    return np.array(found).reshape(LANES, -1, 2)


def delivered(message: Message) -> NDArray[Any]:
    """Row and column in the message's blocks of every element that a lane receives: [lane, element, 2].

    Blocks of an array follow one another. Transformed, as many rows as 32 bits hold are interleaved; transposed, columns of
    32 bits become rows. A component has 32 bits, or 16 where rows of narrower elements come as they are.
    """
    load = message.load
    each = 32 // load.bits
    found: list[NDArray[Any]] = []
    for block in range(load.count):
        at = np.moveaxis(np.indices((load.rows, load.width)), 0, -1)
        at[..., 1] += block * load.width
        component = each
        if load.transform:
            at = at.reshape(load.rows // each, each, load.width, 2).swapaxes(1, 2)
        elif load.transpose:
            at = at.reshape(load.rows, load.width // each, each, 2).swapaxes(0, 1)
        else:
            component = max(1, 16 // load.bits)
        registers = at.reshape(-1, LANES, component, 2)
        found.append(registers.swapaxes(0, 1).reshape(LANES, -1, 2))
    return np.concatenate(found, axis=1)


def test_the_enumeration_has_the_worked_example_of_the_specification() -> None:
    """8 rows of 8 elements of 32 bits: two rows fill the 16 lanes."""
    tf32 = messages(Problem.of(64, 64, 64, "tf32"), Tiling(Tile(8, 16, 8)))[0]
    assert tf32.load.name == "read_32b_8r8x1c"
    assert delivered(tf32)[9].tolist() == [[1, 1], [3, 1], [5, 1], [7, 1]]


@pytest.mark.parametrize("llvm", [22, 24])
@pytest.mark.parametrize("stored", STORED, ids=lambda stored: "-".join(stored) or "plain")
@pytest.mark.parametrize("types", TYPES, ids="x".join)
def test_every_register_of_every_operand_is_brought_to_its_lane(types: tuple[str, str], stored: Any, llvm: int) -> None:
    problem = Problem.of(256, 256, 256, *types, **stored)
    unit = problem.dpas
    for tile in TILES:
        held: dict[tuple[str, int, int], NDArray[Any]] = {}
        for message in messages(problem, Tiling(tile, registers=256), llvm):
            elements = delivered(message) * (message.every, 1) + message.offset
            if problem.trans_a if message.operand == "A" else problem.trans_b:
                elements = elements[..., ::-1]
            fragment = wanted(problem, message.operand)
            for piece in message.pieces:
                key = (message.operand, piece.block, piece.depth)
                into = held.setdefault(key, np.full_like(fragment, -1))
                assert (into[:, piece.places] == -1).all()
                into[:, piece.places] = elements[:, piece.registers]
        for operand, block, blocks in (
            ("A", (unit.m, unit.k), tile.m // unit.m),
            ("B", (unit.k, unit.n), tile.n // unit.n),
        ):
            for number in range(blocks):
                for depth in range(tile.k // unit.k):
                    place = (number, depth) if operand == "A" else (depth, number)
                    corner = np.multiply(place, block)
                    assert np.array_equal(held.pop((operand, number, depth)), wanted(problem, operand) + corner)
        assert not held


@pytest.mark.parametrize("types", TYPES, ids="x".join)
def test_llvm_22_is_given_no_more_than_16_numbers_of_32_bits_per_lane(types: tuple[str, str]) -> None:
    for stored in STORED:
        problem = Problem.of(256, 256, 256, *types, **stored)
        for message in messages(problem, Tiling(Tile(32, 64, 64), registers=256), 22):
            assert message.bytes // LANES <= 16 * 4


def shapes(operand: str, tile: tuple[int, int, int], registers: int, **options: Any) -> set[str]:
    found = messages(Problem.of(4096, 4096, 4096, **options), Tiling(Tile(*tile), registers=registers))
    return {message.load.name for message in found if message.operand == operand}


@pytest.mark.parametrize(
    ("tile", "registers", "options", "of_a"),
    [
        ((32, 64, 64), 256, {}, {"read_16b_32r16x2c"}),
        ((64, 32, 128), 256, {}, {"read_16b_32r16x2c"}),
        ((64, 64, 64), 256, {"acc": "f16"}, {"read_16b_32r16x2c"}),
        ((64, 48, 64), 256, {}, {"read_16b_32r16x1c"}),
        ((48, 64, 64), 256, {}, {"read_16b_32r16x1c", "read_16b_16r16x1c"}),
        ((32, 32, 64), 128, {}, {"read_16b_32r16x1c"}),
        ((32, 64, 128), 256, {"a": "s8"}, {"read_8b_32r32x2c"}),
        ((32, 64, 32), 256, {"a": "tf32"}, {"read_32b_32r8x2c"}),
    ],
)
def test_a_comes_in_two_blocks_where_the_accumulators_leave_room(
    tile: tuple[int, int, int], registers: int, options: dict[str, str], of_a: set[str]
) -> None:
    """Which loops are shorter with which messages was measured; here is what follows for the tiles of the measurement."""
    assert shapes("A", tile, registers, **options) == of_a
