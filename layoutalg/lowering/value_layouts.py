"""In which layout each value of a kernel is held: as the module states it, or as it follows from what is stated.

Of an elementwise chain whose load says its layout, every other value has the same:

>>> from layoutalg.ir import read_module
>>> from layoutalg.flow.graph import flow_of
>>> text = '''func.func @f(%t: !xegpu.tensor_desc<8x16xf32, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>) {
...   %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>
...     -> vector<8x16xf32>
...   %y = arith.negf %x : vector<8x16xf32>
...   func.return }'''
>>> held = value_layouts_of(flow_of(read_module(text)), Machine(lanes=16, subgroups=1))
>>> [str(one.layout) for one in held.by_value.values()]
['d0 = 8@reg, d1 = 16@lane', 'd0 = 8@reg, d1 = 16@lane']

`flow.values` decides; here the registers of each value are cut into the pieces in which a lane holds them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Operation, SSAValue

from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.graph import Flow
from layoutalg.flow.open_levels import ends_in, operand_statements
from layoutalg.flow.value_candidates import stated_candidate
from layoutalg.flow.values import solved
from layoutalg.flow.written_layouts import CONVERTING, WrittenLayout, called
from layoutalg.lowering.fragments import piece_sizes
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = ["HeldValue", "ValueLayouts", "tile_registers", "value_layouts_of"]


@dataclass(frozen=True, slots=True)
class HeldValue:
    """A value's layout, and the registers of the pieces in which it is held."""

    layout: Layout
    sizes: tuple[int, ...]


@dataclass(slots=True)
class ValueLayouts:
    """What is known of a function: the layout of each value by its number, and statements that make no sense.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> ValueLayouts(flow_of(read_module("gpu.barrier"))).wrong
    []
    """

    flow: Flow
    by_value: dict[int, HeldValue] = field(default_factory=dict[int, HeldValue])
    wrong: list[tuple[WrittenLayout, str]] = field(default_factory=list[tuple[WrittenLayout, str]])
    free: frozenset[int] = frozenset()
    """Values that work-items make themselves, in whatever layout a use needs."""
    taken: dict[tuple[Operation, int], Layout] = field(default_factory=dict[tuple[Operation, int], Layout])
    """Operands of which an operation says how it takes them, with the levels that it leaves open as they are held."""
    without_lanes: frozenset[int] = frozenset()
    """Values of which nobody says which lane of a subgroup has what: each lane has all of the subgroup's block."""

    def of(self, member: SSAValue) -> HeldValue | None:
        """The layout of an SSA value; None for one that is not spread, or without a layout."""
        return self.by_value.get(self.flow.value_of(member).number) if member in self.flow else None

    def leaves_lanes(self, member: SSAValue) -> bool:
        """Whether nobody says which lane of a subgroup has what of an SSA value."""
        return member in self.flow and self.flow.value_of(member).number in self.without_lanes

    def is_free(self, member: SSAValue) -> bool:
        """Whether work-items make a value themselves, and nobody says in which layout: a constant, a step, a mask."""
        return member in self.flow and self.flow.value_of(member).number in self.free


def tile_registers(attribute: Distributed, layout: Layout) -> int | None:
    """The registers of one instruction tile, where a layout says its size."""
    parent = attribute.parent_layout() if isinstance(attribute, SliceAttr) else attribute
    if not isinstance(parent, LayoutAttr) or parent.inst_data is None or parent.lane_layout is None:
        return None
    if parent is not attribute or len(parent.inst_data) != len(layout.dims):
        return None
    return prod(parent.inst_data) // prod(parent.lane_layout)


def value_layouts_of(flow: Flow, machine: Machine, target: str | None = None) -> ValueLayouts:
    """The layouts of a function's values, as `solved` chooses them, with the registers of their pieces."""
    answer = solved(flow, machine, target)
    found = ValueLayouts(flow, wrong=list(answer.misfits), free=answer.free)
    for number, one in answer.of.items():
        tile = None if one.attribute is None else tile_registers(one.attribute, one.layout)
        found.by_value[number] = HeldValue(one.layout, piece_sizes(int(one.layout.axes.get("reg", 1)), tile))
    found.without_lanes = frozenset(n for n, one in answer.stated.items() if "lane" not in one.levels)
    for (user, at), statement in operand_statements(flow.wanted).items():
        operand = flow.value_of(statement.value)
        held, taken = answer.of.get(operand.number), stated_candidate(statement, operand.shape, machine)
        converts = called(user) in CONVERTING
        made = answer.of.get(flow.value_of(user.results[0]).number) if converts else held
        ends = ends_in(held, taken, made, machine)
        if ends is not None and at is not None:
            found.taken[user, at] = ends[0].layout
    return found
