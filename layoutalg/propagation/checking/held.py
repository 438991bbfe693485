"""The layout of every value of a function: what is stated about it, or what its neighbours leave no choice about.

A value that nothing is stated about is spread as its operands make it, and where those say nothing, as its uses want it.
Here the load says its layout; the exponential has the same, because it works element by element:

>>> from layoutalg.ir import read_module
>>> from layoutalg.propagation.flow import flows_of
>>> text = '''func.func @f(%p: memref<64x64xf32>) {
...   %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<8x16xf32>
...   %x = xegpu.load_nd %t[0, 0] <{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>
...     : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
...   %y = math.exp %x : vector<8x16xf32>
...   func.return }'''
>>> [flow] = flows_of(read_module(text))
>>> for number, held in held_in(flow, Machine(lanes=16)).items():
...     print(number, held.how, held.layout)
0 stated d0 = 8@reg, d1 = 16@lane
1 carried d0 = 8@reg, d1 = 16@lane

A constant that nothing is stated about has no layout: every work-item makes what it needs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.core.whole_numbers import instance_of
from layoutalg.propagation.relations import Tie, given, needed, shape_of
from layoutalg.propagation.spread import levels_of, narrowed, spread

if TYPE_CHECKING:
    from layoutalg.propagation.flow import Flow, Value
    from layoutalg.propagation.stated import Statement

__all__ = ["Held", "equal_coordinates", "held_in", "held_of"]

_CACHED = 1 << 14
_LEVELS = frozenset(("sg", "lane"))


@dataclass(frozen=True, slots=True)
class Held:
    """Who holds what of a value: the `layout` counts at the `levels` that are said (of `sg` and `lane`).

    `attribute` is the layout as it is written, where the value has it as a whole. `how` says whether it is stated about the
    value, carried to it from its operands, or wanted by its uses; `statement` is where it comes from.

    >>> Held(Layout.parse("d0 = 8@lane"), frozenset({"lane"}), None, "carried", None).how
    'carried'
    """

    layout: Layout
    levels: frozenset[str]
    attribute: Distributed | None
    how: Literal["stated", "carried", "wanted"]
    statement: Statement | None


def held_of(statement: Statement, shape: tuple[int, ...], machine: Machine) -> Held | None:
    """What a statement says of a value of this shape; None where the layout does not fit it.

    >>> from layoutalg.propagation.stated import Statement
    >>> lanes = la.parse("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>")
    >>> held_of(Statement(None, None, None, "layout", lanes), (8, 17), Machine(lanes=16))
    """
    layout = _spread(statement.attribute, shape, machine)
    if layout is None:
        shared = narrowed(statement.attribute, shape)
        layout = None if shared is None else _spread(shared, shape, machine)
    if layout is None or layout.shape != shape:
        return None
    return Held(layout, levels_of(statement.attribute) & _LEVELS, statement.attribute, "stated", statement)


def _spread(attribute: Distributed, shape: tuple[int, ...], machine: Machine) -> Layout | None:
    try:
        return spread(attribute, shape, machine)
    except LayoutError:
        return None


def held_in(flow: Flow, machine: Machine) -> dict[int, Held]:
    """The layouts of a function's values, by the value's number; without those that nothing speaks of.

    Every value is settled once and every tie looked at twice.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.propagation.flow import flow_of
    >>> held_in(flow_of(read_module("%x = arith.constant dense<0.0> : vector<8xf32>")), Machine(lanes=16))
    {}
    """
    from layoutalg.propagation.flow import Flow

    instance_of(flow, Flow, "flow")
    instance_of(machine, Machine, "machine")
    return dict(sorted(_Settling(flow, machine).found.items()))


class _Settling:
    def __init__(self, flow: Flow, machine: Machine) -> None:
        self.flow, self.machine = flow, machine
        self.found: dict[int, Held] = {}
        self.into: dict[int, list[Tie]] = {}
        self.out: dict[int, list[Tie]] = {}
        for tie in flow.ties:
            if tie.operand in flow and tie.result in flow:
                self.into.setdefault(flow.value_of(tie.result).number, []).append(tie)
                self.out.setdefault(flow.value_of(tie.operand).number, []).append(tie)
        self.wanted: dict[int, list[Statement]] = {}
        for statement in flow.wanted:
            self.wanted.setdefault(flow.value_of(statement.value).number, []).append(statement)
        for value in flow.values:
            self._state(value)
        for value in flow.values:
            self._carry(value)
        # What loops carry is known at their end; after that, what uses want.
        self._spread([value.number for value in flow.values if value.number in self.found])
        for value in reversed(flow.values):
            if value.number not in self.found and value.makes is None:
                self._want(value)
        self._spread([value.number for value in flow.values if value.number in self.found])

    def _state(self, value: Value) -> None:
        stated = [held_of(statement, value.shape, self.machine) for statement in value.stated]
        known = [held for held in stated if held is not None]
        if known:
            self.found[value.number] = max(known, key=lambda held: len(held.levels))

    def _carry(self, value: Value) -> None:
        """From the operands of the operation that makes the value."""
        for tie in self.into.get(value.number, ()):
            operand = self.found.get(self.flow.value_of(tie.operand).number)
            if value.number in self.found:
                return
            if operand is not None and tie.beside is None and (tie.reach == "work-item" or tie.combines):
                held = _carried(tie, operand)
                if held is not None:
                    self.found[value.number] = held

    def _want(self, value: Value) -> None:
        """From what its uses state, then from their results."""
        for statement in self.wanted.get(value.number, ()):
            held = held_of(statement, value.shape, self.machine)
            if held is not None:
                self.found[value.number] = Held(held.layout, held.levels, held.attribute, "wanted", statement)
                return
        for tie in self.out.get(value.number, ()):
            result = self.found.get(self.flow.value_of(tie.result).number)
            if result is not None and tie.reach == "work-item":
                held = _wanted(tie, result, value.shape)
                if held is not None:
                    self.found[value.number] = held
                    return

    def _spread(self, numbers: list[int]) -> None:
        """From values that are known to their results, as far as it goes."""
        waiting = deque(numbers)
        while waiting:
            for tie in self.out.get(waiting.popleft(), ()):
                value = self.flow.value_of(tie.result)
                if value.number not in self.found:
                    self._carry(value)
                    if value.number in self.found:
                        waiting.append(value.number)


def _carried(tie: Tie, operand: Held) -> Held | None:
    """The layout of a result, carried on from an operand; None where it has no closed form."""
    return _moved(tie.relation, operand, shape_of(tie.result), _given, "carried")


def _wanted(tie: Tie, result: Held, shape: tuple[int, ...]) -> Held | None:
    """The layout of an operand that a result wants; None where it has no closed form."""
    return _moved(tie.relation, result, shape, _needed, "wanted")


def _moved(
    relation: Layout,
    known: Held,
    shape: tuple[int, ...] | None,
    across: Callable[[Layout, Layout], Layout],
    how: Literal["carried", "wanted"],
) -> Held | None:
    if equal_coordinates(relation) and known.layout.shape == shape:
        return Held(known.layout, known.levels, known.attribute, how, known.statement)
    try:
        layout = across(relation, known.layout)
    except LayoutError:
        return None
    if layout.shape != shape or any(layout.origins):
        return None  # of a part of the value alone
    return Held(layout, known.levels, None, how, known.statement)


@lru_cache(maxsize=_CACHED)
def _given(relation: Layout, operand: Layout) -> Layout:
    return given(relation, operand)


@lru_cache(maxsize=_CACHED)
def _needed(relation: Layout, result: Layout) -> Layout:
    return needed(relation, result)


@lru_cache(maxsize=_CACHED)
def equal_coordinates(relation: Layout) -> bool:
    """Whether a relation is between equal coordinates, of tensors of the same rank.

    >>> equal_coordinates(Layout.parse("d0 = 8@d0, d1 = 16@d1")), equal_coordinates(Layout.parse("d0 = 8@d1, d1 = 8@d0"))
    (True, False)
    """
    if len({factor.axis for factors in relation.dims for factor in factors}) != len(relation.dims):
        return False  # an axis of one element has a factor too: without it, the operand does not have the dimension
    form = relation.canonical()
    if form.replicas or form.offsets or any(form.origins):
        return False
    for d, factors in enumerate(form.dims):
        if len(factors) > 1 or (factors and (factors[0].axis != f"d{d}" or factors[0].stride != 1)):
            return False
    return True
