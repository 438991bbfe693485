"""What words that came from shared memory cost further: counted by hand, as sm_80's listings have it."""

from __future__ import annotations

import pytest

from layoutalg.conversion.charges import charges_of
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Address, Load, Store


@pytest.mark.parametrize(("rest", "moved"), [((4, 5, 6, 7), 0), ((4, 6, 5, 7), 4), ((5, 4, 6, 7), 4)])
def test_four_words_of_one_load_are_moved_where_the_result_has_them_in_another_order(
    rest: tuple[int, ...], moved: int
) -> None:
    steps = (Store((0, 1, 2, 3), Address()), Load((4, 5, 6, 7), Address()))
    program = Program(1, 32, 32, 4, 4, (0, 1, 2, 3), steps, rest, 512)
    assert charges_of([program])["regrouped"] == moved


def test_bytes_of_two_loads_of_16_bits_are_taken_out_and_joined() -> None:
    steps = (Store((0,), Address()), Load((1,), Address(), bits=16), Load((2,), Address(1), bits=16))
    program = Program(1, 32, 8, 4, 4, (0, 1, 2, 3), steps, (4, 8, 5, 9), 128)
    found = charges_of([program])
    assert (found["byte_loaded"], found["joined"]) == (4, 1)
