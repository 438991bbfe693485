"""`#ttig.subgroup_2d_block`, against the layouts that the unit tests of Intel's backend expect.

They are in LinearLayoutConversionsTest.cpp of intel-xpu-backend-for-triton.
"""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.triton.encodings import Subgroup2DBlock, parse_encoding

ROWS = [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0)]
LANES = [(0, 1), (0, 2), (0, 4), (0, 8)]
WIDE = [(0, 2), (0, 4), (0, 8), (0, 16)]
DOWN = [(0, 0), (0, 0), (32, 0), (64, 0), (128, 0)]
EXPECTED = {
    "f32 A": ((256, 32), (32, 8), 2, 4, (8, 4), 0, [*ROWS[1:], (0, 8), (0, 16)], [(0, 1), (0, 2), (0, 4), (1, 0)], DOWN),
    "f32 B": ((32, 128), (32, 16), 1, 4, (8, 4), 1, [*ROWS, (0, 64)], LANES, [(0, 16), (0, 32), (0, 0), (0, 0), (0, 0)]),
    "f16 A, wide": ((256, 32), (32, 32), 1, 2, (8, 4), 0, [(0, 1), *ROWS], WIDE, DOWN),
    "f16 A": ((256, 32), (32, 16), 2, 2, (8, 4), 0, [*ROWS, (0, 16)], LANES, DOWN),
    "f16 B": (
        (32, 256), (32, 16), 2, 2, (8, 4), 1, [*ROWS, (0, 16), (0, 128)], LANES,
        [(0, 32), (0, 64), (0, 0), (0, 0), (0, 0)],
    ),
    "f16 B, 16 rows": (
        (32, 256), (16, 16), 2, 2, (8, 4), 1, [*ROWS[:4], (0, 16), (16, 0), (0, 128)], LANES,
        [(0, 32), (0, 64), (0, 0), (0, 0), (0, 0)],
    ),
    "i8 A": ((64, 32), (16, 32), 1, 1, (4, 8), 0, [(0, 1), *ROWS[:4]], WIDE, [(0, 0), (0, 0), (0, 0), (16, 0), (32, 0)]),
    "i8 B": ((32, 128), (32, 16), 1, 1, (4, 8), 1, ROWS, LANES, [(0, 16), (0, 32), (0, 64), (0, 0), (0, 0)]),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_it_is_the_layout_of_intels_tests(name: str) -> None:
    shape, instruction, blocks, width, warps, operand, registers, lanes, bases = EXPECTED[name]
    block = Subgroup2DBlock(warps, instruction, blocks, (0, 1) if operand else (1, 0), width)
    found = block.to_linear(shape)
    assert [list(found.bases_of(axis)) for axis in ("register", "lane", "warp", "block")] == [
        registers,
        lanes,
        bases,
        [],
    ]
    assert parse_encoding(str(block)) == block


def test_it_is_read_as_it_is_printed_there() -> None:
    """Intel's printer leaves out some spaces."""
    keys = "warpsPerCTA = [8, 4], instrShape = [32, 8], numBlocks=2, order=[1, 0], kWidth=4, threadsPerWarp=16"
    assert la.parse(f"#ttig.subgroup_2d_block<{{{keys}}}>") == Subgroup2DBlock((8, 4), (32, 8), 2, (1, 0), 4)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"k_width": 3}, "kWidth must be 1, 2 or 4"),
        ({"threads_per_warp": 32}, "threadsPerWarp must be 16"),
        ({"instr_shape": (8,)}, "instrShape must be rank 2"),
        ({"order": (0, 0)}, "order must be a permutation"),
    ],
)
def test_other_blocks_are_refused(changed: dict[str, object], words: str) -> None:
    fields: dict[str, object] = {
        "warps_per_cta": (8, 4),
        "instr_shape": (8, 16),
        "num_blocks": 1,
        "order": (1, 0),
        "k_width": 2,
    }
    with pytest.raises(la.LayoutError, match=words):
        Subgroup2DBlock(**fields | changed)  # pyright: ignore[reportArgumentType]
