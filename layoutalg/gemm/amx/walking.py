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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from layoutalg.core.errors import PlanError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Operand, product_operands
from layoutalg.core.whole_numbers import instance_of, one_of
from layoutalg.gemm.amx.tiling import Blocking

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm

__all__ = ["Walk", "WalkStep", "block_operands", "block_tiles", "walk"]


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
        one_of(operand, ("A", "B", "C"), "operand", PlanError)
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


def block_tiles(plan: AmxGemm) -> Blocking:
    """The tiles of the first register block: those of the plan, or fewer where C is smaller."""
    rows, columns = (len(strips[0].heights) for strips in plan.strips)
    return Blocking(rows, columns)


def block_operands(plan: AmxGemm) -> tuple[Operand, ...]:
    """A, B and C of the first register block in a step: in which tile register, row and byte each element is.

    The tiles of the operand that passes are in one register, one after the other.

    >>> [str(part.layout) for part in block_operands(la.plan_amx(64, 64, 64, blocking=(2, 2)))]
    ['d0 = 2@tmm 16@row, d1 = 32@col:2 | offset 4@tmm', 'd0 = 16@row 2@col:2, d1 = 2@_ 16@col:4 | offset 6@tmm',
    'd0 = 2@tmm:2 16@row, d1 = 2@tmm 16@col:4']
    """
    heights, widths = (_alike(strips[0].heights) for strips in plan.strips)
    height, width, depth = heights[0], widths[0], min(plan.problem.depth, plan.problem.k_padded)
    product = plan.tile_product(height, width, depth)
    steps = walk(Blocking(len(heights), len(widths)))

    def moving(count: int, stride: int) -> list[Factor]:
        return [Factor(count, stride, "tmm") if stride and count > 1 else Factor(count)]

    down = moving(len(heights), int(steps.held == "A"))
    across = moving(len(widths), int(steps.held == "B"))
    lhs, rhs, acc = (one.dims for one in (product.lhs, product.rhs, product.acc))
    file = product.lhs.codomain
    layouts = [
        Layout([[*down, *lhs[0]], lhs[1]], offsets={"tmm": steps.registers["A0"]}, codomain=file),
        Layout([rhs[0], [*across, *rhs[1]]], offsets={"tmm": steps.registers["B0"]}, codomain=file),
        Layout([[*moving(len(heights), len(widths)), *acc[0]], [*moving(len(widths), 1), *acc[1]]], codomain=file),
    ]
    sizes = (height * len(heights), width * len(widths), depth)
    elements = (plan.element, plan.element, plan.accumulator)
    return product_operands([one.canonical() for one in layouts], elements, sizes, (height, width, depth))


def _alike(heights: Sequence[int]) -> tuple[int, ...]:
    """The first tiles of a strip that are all of one size."""
    return tuple(height for height in heights if height == heights[0])
