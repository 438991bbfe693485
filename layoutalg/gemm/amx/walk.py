"""The walk of a step: which tiles a register block loads and multiplies, in order, and which register has which tile.

The tiles of C stay in registers while k goes by. In a step the operand with fewer tiles comes first and is held; each tile of
the other passes through one register and is multiplied with all that is held. By hand, 2x2 tiles in 7 registers:

>>> for step in walk(Blocking(2, 2)).steps:
...     print(step)
load A0 into tmm4
load A1 into tmm5
load B0 into tmm6
C00 += A0 * B0
C10 += A1 * B0
load B1 into tmm6
C01 += A0 * B1
C11 += A1 * B1

The numbers of the registers are the plan's. LLVM chooses its own, but no more of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import instance_of
from layoutalg.gemm.amx.tiling import Blocking

__all__ = ["Walk", "WalkStep", "walk"]


@dataclass(frozen=True)
class WalkStep:
    """A tile load, or a product where `factors` names the tiles of A and B. `register` is where the result goes.

    >>> print(WalkStep("A1", 5))
    load A1 into tmm5
    >>> print(WalkStep("C10", 2, ("A1", "B0")))
    C10 += A1 * B0
    """

    tile: str
    register: int
    factors: tuple[str, str] | None = None

    @property
    def is_load(self) -> bool:
        """Whether it loads a tile.

        >>> WalkStep("A1", 5).is_load
        True
        """
        return self.factors is None

    def __str__(self) -> str:
        if self.factors is None:
            return f"load {self.tile} into tmm{self.register}"
        return f"{self.tile} += {self.factors[0]} * {self.factors[1]}"


@dataclass(frozen=True)
class Walk:
    """The steps in order, the register of every tile, and which operand is held ("A" or "B").

    >>> walk(Blocking(1, 4)).held, walk(Blocking(1, 4)).passing, walk(Blocking(3, 1)).held
    ('A', 'B', 'B')
    """

    steps: tuple[WalkStep, ...]
    registers: Mapping[str, int]
    held: str

    @property
    def passing(self) -> str:
        """The operand whose tiles pass through one register."""
        return "B" if self.held == "A" else "A"

    def tiles(self, operand: str) -> tuple[str, ...]:
        """The tiles of A, B or C.

        >>> walk(Blocking(1, 4)).tiles("B")
        ('B0', 'B1', 'B2', 'B3')
        """
        return tuple(name for name in self.registers if name.startswith(operand))


def walk(blocking: Blocking) -> Walk:
    """What a register block does in a step of k.

    >>> walk(Blocking(2, 2)).registers["C10"], walk(Blocking(2, 2)).registers["B1"]
    (2, 6)
    """
    instance_of(blocking, Blocking, "blocking", PlanError)
    rows, columns = range(blocking.rows), range(blocking.columns)
    held = "A" if blocking.rows <= blocking.columns else "B"
    registers = {f"C{i}{j}": i * blocking.columns + j for i in rows for j in columns}
    first = len(registers)
    stays, passes = (rows, columns) if held == "A" else (columns, rows)
    other = "B" if held == "A" else "A"
    registers |= {f"{held}{i}": first + i for i in stays}
    registers |= {f"{other}{j}": first + len(stays) for j in passes}
    steps = [WalkStep(f"{held}{i}", registers[f"{held}{i}"]) for i in stays]
    for j in passes:
        steps.append(WalkStep(f"{other}{j}", registers[f"{other}{j}"]))
        for i in stays:
            row, column = (i, j) if held == "A" else (j, i)
            name = f"C{row}{column}"
            steps.append(WalkStep(name, registers[name], (f"A{row}", f"B{column}")))
    return Walk(tuple(steps), MappingProxyType(registers), held)
