"""Halves of words that lanes take from different places: charged as often as they are selected or moved in the text."""

from __future__ import annotations

import pytest

from layoutalg.conversion.charges import charges_of
from layoutalg.conversion.lowering.indices import Indices
from layoutalg.conversion.lowering.permutes import permuted
from layoutalg.conversion.lowering.writer import Value, Writer
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Permute


@pytest.mark.parametrize(
    ("selectors", "charged"),
    [
        ((0x5410, 0x7632), 2),  # both halves of the result are selected
        ((0x5410, 0x7610), 2),  # the low half is the same for all lanes, and moved
        ((0x5410, 0x5432), 2),  # the high one is
        ((0x1010, 0x3210, 0x5410, 0x7610), 4),  # one of four is three selects, and the other is moved
        ((0x1010, 0x3232, 0x5454, 0x7676), 6),
    ],
)
def test_a_half_is_selected_or_moved(selectors: tuple[int, ...], charged: int) -> None:
    lanes = selectors * (16 // len(selectors))
    writer = Writer([Value("i32", name="a"), Value("i32", name="b")])
    low, high = writer.arguments
    permuted(Indices(writer, 1, 16, "pvc"), low, high, lanes)
    moved = sum(len({selector >> place & 7 for selector in selectors}) == 1 for place in (0, 8))
    selected = sum("arith.select" in line and line.endswith("i16") for line in writer.text().splitlines())
    program = Program(1, 16, 32, 2, 1, (0, 1), (Permute(2, 0, 1, lanes),), (2,))
    assert charges_of([program])["permute_half"] == selected + moved == charged
