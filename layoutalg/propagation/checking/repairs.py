"""What would repair a mistake: a conversion and its price, or another layout where the operand is made.

Making a value otherwise costs nothing where nobody else uses it and the operation that makes it has no operands of its own that
would have to move: a constant, or a load whose message can deliver it. Otherwise a conversion comes first.

>>> checked = la.check('''func.func @f(%x: vector<16x16xf32>) {
...   %y = math.exp %x {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<16x16xf32>
...   %z = math.exp %y {layout_result_0 = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>} : vector<16x16xf32>
...   func.return }''')
>>> for repair in checked.mistakes[0].repairs:
...     print(repair.kind, repair.value, repair.cost)
convert %y 172
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.ir.places import place_of
from layoutalg.propagation.checking.conversions import price
from layoutalg.propagation.checking.held import equal_coordinates
from layoutalg.propagation.checking.mistakes import Repair
from layoutalg.propagation.relations import given, needed
from layoutalg.xegpu import LayoutAttr, SliceAttr, to_xegpu

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from layoutalg.propagation.checking.held import Held
    from layoutalg.propagation.checking.names import Names
    from layoutalg.propagation.flow import Flow, Value
    from layoutalg.propagation.relations import Demand, Tie
    from layoutalg.propagation.stated import Statement

__all__ = ["Repairing"]


class Repairing:
    """Finds repairs in one function.

    >>> from layoutalg.propagation.flow import flow_of
    >>> flow = flow_of(la.read("gpu.barrier").parts[0].module)
    >>> Repairing(flow, None, Machine(lanes=16), "pvc", 22).target
    'pvc'
    """

    def __init__(self, flow: Flow, names: Names, machine: Machine, target: str, llvm: int) -> None:
        self.flow, self.names, self.machine, self.target, self.llvm = flow, names, machine, target, llvm

    def of_operand(
        self, user: Operation, number: int | None, value: Value, held: Held, layout: Distributed | None
    ) -> tuple[Repair, ...]:
        """For an operand that is needed in `layout`: a conversion before the operation, or that layout where it is made.

        >>> Repairing(None, None, Machine(lanes=16), "pvc", 22).of_operand(None, 0, None, None, None)
        ()
        """
        if layout is None:
            return ()
        operand = value.members[0] if number is None else user.operands[number]
        name = self.names.of(operand)
        source = held.attribute or held.layout
        cost, _ = price(source, layout, value.shape, value.element, self.machine, self.target)
        found = [Repair("convert", name, source, layout, place_of(user), cost, self.target)]
        made = self._made(value, held, layout)
        if made is not None:
            found.insert(0 if made.cost == 0 else 1, made)
        return tuple(found)

    def _made(self, value: Value, held: Held, layout: Distributed) -> Repair | None:
        """Another layout where the value is made, where that is stated there and moves nothing else."""
        if held.how != "stated" or held.statement is None:
            return None
        maker = held.statement.user
        if any(operand in self.flow for operand in maker.operands):
            return None
        uses = sum(1 for member in value.members for _ in member.uses)
        if uses != 1 or any(
            demand.problem(layout, self.machine, self.target) is not None
            for demand in self.flow.demands
            if demand.user is maker and demand.value in value.members
        ):
            return None
        return Repair("state", self.names.of(value.members[0]), None, layout, place_of(maker), 0, self.target)

    def of_tie(self, tie: Tie, value: Value, held: Held, result: Held) -> tuple[Repair, ...]:
        """For an operand that an operation's result needs otherwise.

        >>> checked = la.check("gpu.barrier")
        >>> [mistake.repairs for mistake in checked.mistakes]
        []
        """
        layout: Distributed | None = result.attribute if equal_coordinates(tie.relation) else None
        if layout is None:
            try:
                found = needed(tie.relation, result.layout)
            except LayoutError:
                return ()
            layout = self._written(found, value.shape)
        return self.of_operand(tie.user, tie.number, value, held, layout)

    def of_result(self, tie: Tie, operand: Held) -> tuple[Repair, ...]:
        """For a reduction's result: where the parts are.

        >>> checked = la.check("gpu.barrier")
        >>> [mistake.repairs for mistake in checked.mistakes]
        []
        """
        value = self.flow.value_of(tie.result)
        try:
            layout = self._written(given(tie.relation, operand.layout), value.shape)
        except LayoutError:
            return ()
        if layout is None:
            return ()
        return (Repair("state", self.names.of(tie.result), None, layout, place_of(tie.user), 0, self.target),)

    def of_statements(self, statement: Statement, chosen: Held) -> tuple[Repair, ...]:
        """For two statements about one value: the layout that is worked with, in both.

        >>> checked = la.check("gpu.barrier")
        >>> [mistake.repairs for mistake in checked.mistakes]
        []
        """
        if chosen.attribute is None:
            return ()
        name = self.names.of(statement.value)
        return (Repair("state", name, None, chosen.attribute, place_of(statement.user), 0, self.target),)

    def of_demand(self, demand: Demand, value: Value, held: Held) -> tuple[Repair, ...]:
        """For what an operation does not take or make: the usual layout that it does.

        >>> checked = la.check("gpu.barrier")
        >>> [mistake.repairs for mistake in checked.mistakes]
        []
        """
        level = "lane" if "lane" in held.levels else "inst"
        choices = demand.choices(level, self.machine, self.target, self.llvm)
        if not choices:
            return ()
        layout = choices[0].attribute
        if demand.number is not None:
            return self.of_operand(demand.user, demand.number, value, held, layout)
        return (Repair("state", self.names.of(demand.value), None, layout, place_of(demand.user), 0, self.target),)

    def _written(self, layout: Layout, shape: tuple[int, ...]) -> LayoutAttr | SliceAttr | Layout | None:
        """A layout as an attribute, or as it is where XeGPU has none; None where it is of a part of the value alone."""
        if layout.shape != shape or any(layout.origins):
            return None
        try:
            return to_xegpu(layout, llvm=self.llvm)
        except LayoutError:
            return layout
