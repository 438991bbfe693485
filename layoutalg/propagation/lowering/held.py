"""In which layout each value of a kernel is held: as the module states it, or as it follows from what is stated.

Of an elementwise chain whose load says its layout, every other value has the same:

>>> from layoutalg.ir import read_module
>>> from layoutalg.propagation.flow import flow_of
>>> text = '''func.func @f(%t: !xegpu.tensor_desc<8x16xf32, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>) {
...   %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>
...     -> vector<8x16xf32>
...   %y = arith.negf %x : vector<8x16xf32>
...   func.return }'''
>>> held = held_in(flow_of(read_module(text)), Machine(lanes=16, subgroups=1))
>>> [str(one.layout) for one in held.by_value.values()]
['d0 = 8@reg, d1 = 16@lane', 'd0 = 8@reg, d1 = 16@lane']

Statements come first, then equal coordinates, then what operands give, then what uses need.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from math import prod

from xdsl.ir import SSAValue

from layoutalg.core.errors import DistributionError, LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.propagation.flow import Flow
from layoutalg.propagation.lowering.fragments import piece_sizes
from layoutalg.propagation.lowering.registers import sizes_of
from layoutalg.propagation.relations import Tie, given, identity, needed
from layoutalg.propagation.spread import spread
from layoutalg.propagation.stated import Statement
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = ["Held", "HeldIn", "held_in", "layout_of", "tile_registers"]


@dataclass(frozen=True, slots=True)
class Held:
    """A value's layout, and the registers of the pieces in which it is held.

    >>> Held(Layout.parse("d0 = 16@reg"), (8, 8)).sizes
    (8, 8)
    """

    layout: Layout
    sizes: tuple[int, ...]


@dataclass(slots=True)
class HeldIn:
    """What is known of a function: the layout of each value by its number, and statements that make no sense.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.propagation.flow import flow_of
    >>> HeldIn(flow_of(read_module("gpu.barrier"))).wrong
    []
    """

    flow: Flow
    by_value: dict[int, Held] = field(default_factory=dict[int, Held])
    wrong: list[tuple[Statement, str]] = field(default_factory=list[tuple[Statement, str]])

    def of(self, member: SSAValue) -> Held | None:
        """The layout of an SSA value; None for one that is not spread, or without a layout."""
        return self.by_value.get(self.flow.value_of(member).number) if member in self.flow else None


@lru_cache(maxsize=1 << 12)
def layout_of(attribute: Distributed, shape: tuple[int, ...], machine: Machine) -> Layout:
    """The layout of a tensor; in a dimension of one element everybody along it holds a copy, whatever is stated there.

    Raises `DistributionError` where the attribute does not fit the shape.

    >>> strips = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 2))
    >>> print(layout_of(strips, (8, 1), Machine(lanes=16)))
    d0 = 8@reg, d1 = 1 | replicas 16@lane
    """
    try:
        return spread(attribute, shape, machine)
    except DistributionError:
        ones = [dim for dim, extent in enumerate(shape) if extent == 1]
        if not ones or len(ones) == len(shape) or not isinstance(attribute, LayoutAttr):
            raise
    kept = spread(SliceAttr(attribute, tuple(ones)), tuple(extent for extent in shape if extent != 1), machine)
    dims = iter(kept.dims)
    full = [() if extent == 1 else next(dims) for extent in shape]
    return Layout(full, kept.replicas, kept.offsets)


def tile_registers(attribute: Distributed, layout: Layout) -> int | None:
    """The registers of one instruction tile, where a layout says its size.

    >>> attribute = LayoutAttr(inst_data=(8, 16), lane_layout=(1, 16), lane_data=(1, 1))
    >>> tile_registers(attribute, Layout.parse("d0 = 16@reg, d1 = 16@lane"))
    8
    """
    parent = attribute.parent_layout() if isinstance(attribute, SliceAttr) else attribute
    if not isinstance(parent, LayoutAttr) or parent.inst_data is None or parent.lane_layout is None:
        return None
    if parent is not attribute or len(parent.inst_data) != len(layout.dims):
        return None
    return prod(parent.inst_data) // prod(parent.lane_layout)


def held_in(flow: Flow, machine: Machine) -> HeldIn:
    """The layouts of a function's values.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.propagation.flow import flow_of
    >>> held_in(flow_of(read_module("gpu.barrier")), Machine(lanes=16)).by_value
    {}
    """
    found = HeldIn(flow)
    for value in flow.values:
        for statement in value.stated:
            if _state(found, statement, value.number, value.shape, machine):
                break
    ties = [tie for tie in flow.ties if tie.operand in flow and tie.result in flow and tie.reach != "subgroup"]
    _follow(found, ties)
    for statement in flow.wanted:
        value = flow.value_of(statement.value) if statement.value in flow else None
        if value is not None and value.number not in found.by_value:
            _state(found, statement, value.number, value.shape, machine)
    _follow(found, ties)
    return found


def _state(found: HeldIn, statement: Statement, number: int, shape: tuple[int, ...], machine: Machine) -> bool:
    try:
        layout = layout_of(statement.attribute, shape, machine)
    except LayoutError as problem:
        found.wrong.append((statement, str(problem)))
        return False
    registers = prod(int(size) for size in (layout.axes.get("reg", 1),))
    tile = tile_registers(statement.attribute, layout)
    found.by_value[number] = Held(layout, piece_sizes(registers, tile))
    return True


def _follow(found: HeldIn, ties: list[Tie]) -> None:
    """What follows from what is known, until nothing is new.

    Ties of equal coordinates come first, in both directions: an elementwise chain has one layout, also where an operand is a
    broadcast, which would give its work-items more than they need. Then come ties from operands to results in the order of
    the text, and last from results to operands.
    """
    number_of = found.flow.value_of
    touching: dict[int, list[int]] = {}
    equal: list[bool] = []
    for at, tie in enumerate(ties):
        equal.append(tie.relation == identity(number_of(tie.result).shape))
        for value in {number_of(tie.operand).number, number_of(tie.result).number}:
            touching.setdefault(value, []).append(at)
    new = deque(found.by_value)
    forward: list[int] = []
    backward: list[int] = []
    while new or forward or backward:
        if new:
            value = new.popleft()
            for at in touching.get(value, ()):
                comes = number_of(ties[at].operand).number == value
                if equal[at]:
                    new.extend(_carry(found, ties[at], forward=comes))
                else:
                    heappush(forward if comes else backward, at)
            continue
        on = bool(forward)
        at = heappop(forward if on else backward)
        new.extend(_carry(found, ties[at], forward=on))


def _carry(found: HeldIn, tie: Tie, *, forward: bool) -> Iterator[int]:
    """Carry what is known of one end of a tie to the other; gives the value that is known now."""
    source, target = (found.flow.value_of(value) for value in (tie.operand, tie.result))
    if not forward:
        source, target = target, source
    if target.number in found.by_value or (tie.combines and not forward):
        return
    known = found.by_value[source.number]
    try:
        layout = (given if forward else needed)(tie.relation, known.layout)
    except LayoutError:
        return
    if sizes_of(layout) != target.shape:
        return
    registers = int(layout.axes.get("reg", 1))
    same = registers == sum(known.sizes)
    found.by_value[target.number] = Held(layout, known.sizes if same else piece_sizes(registers))
    yield target.number
