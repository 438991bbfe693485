"""General registers that one subgroup needs at the same time in a step of the loop.

By hand, for a tile of 32x32 in f16, 32 deep, with registers of 64 bytes: A has 32*32*2 bytes, 32 registers; B as many; C has
32*32*4 bytes, 64 registers; every message has a payload of one.

>>> from layoutalg.gemm.tiling import Tile
>>> registers(Problem.of(512, 512, 512), Tiling(Tile(32, 32, 32)))
Registers(a=32, b=32, c=64, addresses=2, available=128)
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.elements import element_bits
from layoutalg.gemm.messages import messages
from layoutalg.gemm.problem import IN_MEMORY, Problem
from layoutalg.gemm.tiling import Tiling
from layoutalg.hardware import target_info

__all__ = ["Registers", "registers"]


@dataclass(frozen=True)
class Registers:
    """Registers that one subgroup needs at the same time, against those that it has.

    `addresses` is one per load message of a step: the payload that says where the block is.

    >>> Registers(16, 16, 64, 6, 128).used
    102
    """

    a: int
    b: int
    c: int
    addresses: int
    available: int

    @property
    def used(self) -> int:
        """All of them together."""
        return self.a + self.b + self.c + self.addresses


def registers(problem: Problem, tiling: Tiling, llvm: int = 24) -> Registers:
    """The registers of a step, against those that a thread has."""
    size = target_info(problem.target).grf_bytes
    tile = tiling.tile
    bits = [element_bits(IN_MEMORY.get(name, name)) for name in (problem.a, problem.b, problem.acc)]
    areas = (tile.m * tile.k, tile.k * tile.n, tile.m * tile.n)
    of_a, of_b, of_c = (-(-area * each // 8 // size) for area, each in zip(areas, bits, strict=True))
    return Registers(of_a, of_b, of_c, len(messages(problem, tile, llvm)), tiling.registers)
