"""Addresses as linear maps over bits."""

from __future__ import annotations

import numpy as np

from layoutalg.core import Swizzle, Swizzled
from layoutalg.memory import BitAddress, bank_conflicts
from tests.memory.simulation import (
    COLUMNS,
    ROW_MAJOR,
    swizzled,
)


def test_a_bit_matrix_expresses_the_classic_swizzle() -> None:
    for bits, base, shift in ((4, 0, 5), (3, 0, 3), (2, 2, 4), (1, 0, 8)):
        memory = Swizzled(ROW_MAJOR, Swizzle(bits, base, shift))
        found = BitAddress.of(memory)
        where = swizzled(lambda element: element[0] * 32 + element[1], Swizzle(bits, base, shift))
        expected = [[where((i, j)) for j in range(32)] for i in range(16)]
        assert found.address(np.ogrid[:16, :32]).tolist() == expected
        assert bank_conflicts(COLUMNS, memory=found) == bank_conflicts(COLUMNS, memory=memory)
