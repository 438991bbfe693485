"""Bank conflicts of an access for people: who holds what, in which memory, and what the banks cost.

>>> found = describe_banks("ldmatrix.x1", "d0 = 8@addr:64, d1 = 64@addr", (8, 64))
>>> print("\\n".join(found.lines))
8 x SM75_U32x1_LDSM_N: 8 matrices, 64 cycles, 8 without conflicts: 8-way conflicts
registers  d0 = 8@lane:4, d1 = 8@reg:2 4@lane 2@reg
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layoutalg.core.agreement import agree
from layoutalg.core.banks import BANK_BYTES, BANKS
from layoutalg.core.elements import element_bits
from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine, single_operand
from layoutalg.instructions import Instruction
from layoutalg.memory.conflicts import Conflicts, bank_conflicts
from layoutalg.memory.matrix_loads import matrix_load, matrix_store
from layoutalg.notations import value_of

if TYPE_CHECKING:
    from layoutalg.memory.picture import BankPicture

__all__ = ["BanksDescription", "describe_banks"]

_ROW_MAJOR = "row-major"
_HALF = 16
"""The bits of an element of a matrix instruction, where nothing is said."""


@dataclass(frozen=True, slots=True)
class BanksDescription:
    """The conflicts, in lines and as data."""

    conflicts: Conflicts
    lines: tuple[str, ...]
    facts: dict[str, Any]
    held: Layout | Instruction
    asked: dict[str, Any]
    """What `bank_conflicts` was asked beside the layout that is held."""

    def picture(self) -> BankPicture:
        """The conflicts bank by bank, and beside them those of row-major memory.

        Raises `LayoutError` for an instruction.
        """
        from layoutalg.memory.picture import bank_picture

        if isinstance(self.held, Instruction):
            raise LayoutError(f"the accesses of a layout are drawn, such as {self.held}.{self.held.parts[-1].role}")
        return bank_picture(self.held, **self.asked)


def describe_banks(
    holder: Distributed | str,
    memory: Distributed | str = _ROW_MAJOR,
    shape: Sequence[int] | None = None,
    machine: Machine | None = None,
    *,
    element: str | None = None,
    banks: int = BANKS,
    width: int = BANK_BYTES,
    vector: int | None = None,
    reading: str | None = None,
) -> BanksDescription:
    """The conflicts where `holder` stores a tensor in `memory` (`row-major` for no padding and no swizzle), or loads it.

    Of CuTe's texts, `memory` is memory, and `holder` is threads and values of a tile of `shape`, unless a `reading` was asked
    for. An instruction such as `ldmatrix.x4` as `holder`: what it fills or stores, of elements of 16 bits unless said.

    Raises what `bank_conflicts` and `matrix_load` raise.
    """
    held_by = value_of(holder)
    held_in = None if memory == _ROW_MAJOR else value_of(memory)
    said = _ROW_MAJOR if held_in is None else str(held_in)
    if isinstance(held_by, Instruction):
        bits = _HALF if element is None else element_bits(element)
        return _matrices(held_by, held_in, said, shape, bits, banks, width)
    how: list[str] = []
    if reading is None and getattr(held_by, "swizzle", None) is not None:
        raise _lies(held_by)
    if reading is not None:
        held_by = held_by.read_as(reading) if held_by.how_read() else held_by
    elif held_by.how_read():
        # The place of the argument says what it is: without a tile, a layout that cannot be threads and values is refused.
        held_by = held_by.read_as("tv")
        how.append(f"{held_by} is read as threads and values: LAYOUT says who holds an element")
    held = single_operand(held_by, shape, machine).layout
    if tuple(held.axes) == ("addr",):
        raise _lies(held_by)
    if held_in is not None and held_in.how_read():
        held_in = held_in.read_as("memory")
    (where,) = (None,) if held_in is None else agree((held_in,), held.shape)
    memory_of = None if where is None else where.operand
    addresses = None if memory_of is None else memory_of.layout
    said_bits = None if memory_of is None or element is not None else memory_of.bits
    bits = element_bits(element or "f32") if said_bits is None else said_bits
    asked: dict[str, Any] = {
        "banks": banks,
        "width": width,
        "element_bits": bits,
        "memory": addresses,
        "vector": vector,
    }
    found = bank_conflicts(held, **asked)
    counts = {name: getattr(found, name) for name in ("ways", "cycles", "ideal", "instructions", "vector")}
    facts = {"memory": said, "layout": str(held), "element_bits": bits} | counts | ({"readings": how} if how else {})
    return BanksDescription(found, (str(found), *how), facts, held, asked)


def _lies(held_by: Distributed) -> LayoutError:
    """The refusal of a layout of memory where one of registers is asked for."""
    who = "such as ldmatrix.x4 or d0 = 32@lane, d1 = 8@reg"
    return LayoutError(f"{held_by} says where elements lie: it is for --memory; LAYOUT says who reads them, {who}")


def _matrices(
    used: Instruction,
    held_in: Distributed | None,
    said: str,
    shape: Sequence[int] | None,
    bits: int,
    banks: int,
    width: int,
) -> BanksDescription:
    """What `ldmatrix` or `stmatrix` does with a tile of memory."""
    if used.family not in ("ldmatrix", "stmatrix"):
        held = [part.role for part in used.parts if part.space == "registers"]
        example = f", such as {used}.{held[-1]}" if held else ""
        raise LayoutError(f"{used}: conflicts are counted of ldmatrix and stmatrix, or of a layout{example}")
    if held_in is None:
        if shape is None or len(shape) != 2:
            raise LayoutError("row-major memory: give its shape, such as 64x64")
        held_in = Layout([(Factor(shape[0], shape[1], "addr"),), (Factor(shape[1], 1, "addr"),)])
    ask = matrix_load if used.family == "ldmatrix" else matrix_store
    found = ask(used, held_in, shape, element_bits=bits, banks=banks, width=width)
    costs = {name: getattr(found.conflicts, name) for name in ("ways", "cycles", "ideal")}
    facts = {"instruction": str(used), "instructions": found.instructions, "layout": str(found.layout)}
    lines = (str(found), f"registers  {found.layout}")
    return BanksDescription(found.conflicts, lines, {"memory": said, "element_bits": bits} | facts | costs, used, {})
