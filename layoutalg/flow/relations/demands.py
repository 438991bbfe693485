"""What demands have in common: a value of an operation, and how a layout spreads it on a machine.

A demand is asked two things. `problem`: does the operation take this layout? `choices`: which layouts does it take at a level,
the usual one first? A level is what a layout says by itself: which subgroup has which block ("workgroup"), what one
instruction works on ("inst"), which lane has which element ("lane").

A block of a workgroup may be dealt out to its subgroups in several grids; each is a choice. 8 subgroups on 64x64, in tiles
of 8x16:

>>> for choice in grids((64, 64), 8, (8, 16)):
...     print(choice.sg_layout, choice.sg_data)
(2, 4) (32, 16)
(4, 2) (16, 32)
(8, 1) (8, 64)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.levels import DEFAULT_TARGET, layout_at
from layoutalg.flow.relations.relation import Choice, shape_of
from layoutalg.hardware import target_info
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = ["OneValue", "accepted", "bits_of", "grids", "instruction_tile", "lanes_of", "placed", "words"]

_CACHED = 1 << 14


@dataclass(frozen=True, slots=True)
class OneValue:
    """A value that an operation takes (operand `number`) or makes (result 0, `number` is None).

    >>> from layoutalg.ir import read_module
    >>> negation = read_module('%a = "test.op"() : () -> vector<8xf32> %b = arith.negf %a : vector<8xf32>').body.block.last_op
    >>> OneValue(negation, 0).shape, OneValue(negation, None).element
    ((8,), 'f32')
    """

    user: Operation
    number: int | None

    @property
    def value(self) -> SSAValue:
        """The operand or the result itself."""
        return self.user.results[0] if self.number is None else self.user.operands[self.number]

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the value; a scalar has none."""
        return shape_of(self.value) or ()

    @property
    def element(self) -> str:
        """The type of its elements."""
        kind: Any = self.value.type
        return str(getattr(kind, "element_type", kind))


def bits_of(element: str) -> int:
    """The bits of an element type in a register: those of `index` are 64, those of a predicate 1."""
    from layoutalg.core.elements import element_bits

    return 64 if element == "index" else element_bits(element)


def lanes_of(machine: Machine | None, target: str | None) -> int:
    """The lanes of a subgroup: the machine's where it says them, otherwise the chip's."""
    if machine is not None and machine.lanes is not None:
        return machine.lanes
    return target_info(DEFAULT_TARGET if target is None else target).subgroup_size


@lru_cache(maxsize=_CACHED)
def placed(attribute: Distributed, shape: tuple[int, ...], machine: Machine | None, lanes: int) -> Layout | str:
    """How a layout spreads a tensor over a machine; where it doesn't, why not.

    >>> print(placed(LayoutAttr(lane_layout=(1, 8)), (8, 16), None, 16))
    d0 = 8@reg:2, d1 = 8@lane 2@reg | replicas 2@lane:8
    >>> placed(LayoutAttr(lane_layout=(16,)), (8, 16), None, 16)[:22]
    'shape [8, 16] has rank'
    """
    try:
        return layout_at(attribute, shape, (machine or Machine()) | Machine(lanes=lanes))
    except LayoutError as problem:
        return str(problem)


def instruction_tile(attribute: Distributed) -> tuple[int, ...] | None:
    """What one instruction works on, where a layout says it."""
    return attribute.distribution().inst_data if isinstance(attribute, LayoutAttr | SliceAttr) else None


def accepted(found: Iterator[Choice], shape: Sequence[int], llvm: int) -> tuple[Choice, ...]:
    """The choices that a version of LLVM takes for a tensor of this shape, in their order, each layout once."""
    kept: dict[Distributed, Choice] = {}
    for choice in found:
        attribute = choice.attribute
        if isinstance(attribute, LayoutAttr | SliceAttr) and attribute.check(shape, llvm) is not None:
            continue
        kept.setdefault(attribute, choice)
    return tuple(kept.values())


@lru_cache(maxsize=_CACHED)
def grids(shape: tuple[int, ...], subgroups: int, unit: tuple[int, ...]) -> tuple[LayoutAttr, ...]:
    """The ways to deal a tensor out to subgroups in whole units, the one with the squarest blocks first.

    Where no grid uses every subgroup, those that use the most.

    >>> [grid.sg_layout for grid in grids((32, 16), 8, (8, 16))]
    [(4, 1)]
    """
    for used in sorted((n for n in range(1, subgroups + 1) if subgroups % n == 0), reverse=True):
        found: list[LayoutAttr] = []
        for counts in _products(used, len(shape)):
            block = [size // count if size % count == 0 else 0 for size, count in zip(shape, counts, strict=True)]
            if all(size and size % tile == 0 for size, tile in zip(block, unit, strict=True)):
                found.append(LayoutAttr(sg_layout=counts, sg_data=tuple(block)))
        if found:
            return tuple(sorted(found, key=lambda grid: (sum(grid.sg_data or ()), grid.sg_layout)))
    return ()


def _products(number: int, rank: int) -> Iterator[tuple[int, ...]]:
    """Every way to write a number as a product of `rank` factors."""
    if rank == 1:
        yield (number,)
    else:
        for first in range(1, number + 1):
            if number % first == 0:
                for rest in _products(number // first, rank - 1):
                    yield (first, *rest)


def words(shape: Sequence[int], bits: int, lanes: int) -> int:
    """The 32-bit registers that a lane needs for its share of a tensor that a subgroup holds."""
    return -(-prod(shape) * bits // (32 * lanes))
