"""What would repair a mistake: a conversion and its price, or another layout where the operand is made.

Making a value otherwise costs nothing where nobody else uses it and nothing has to move for it: a constant, a load whose
message can deliver it, a sum that every lane gets. Otherwise a conversion comes first.

>>> checked = la.check('''func.func @f(%x: vector<16x16xf32>) {
...   %y = math.exp %x {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<16x16xf32>
...   %z = math.exp %y {layout_result_0 = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>} : vector<16x16xf32>
...   func.return }''')
>>> for repair in checked.mistakes[0].repairs:
...     print(repair.kind, repair.value, repair.cost)
convert %y 128
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from layoutalg.checking.mistakes import Repair
from layoutalg.conversion.price import price
from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Distributed, Machine
from layoutalg.flow.compiler_mistakes import ReductionMistake, compiler_mistake, right_for_matrix
from layoutalg.flow.edges import axes_of, equal_coordinates, lacks, projected
from layoutalg.flow.levels import layout_at, levels_of
from layoutalg.flow.relations import given, needed, settled, without
from layoutalg.ir.places import place_of
from layoutalg.xegpu import LayoutAttr, SliceAttr, to_xegpu

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from layoutalg.flow.graph import Flow, Value
    from layoutalg.flow.relations import Demand, Tie
    from layoutalg.flow.values import Candidate
    from layoutalg.flow.written_layouts import WrittenLayout
    from layoutalg.module.names import Names

__all__ = ["Repairing"]


class Repairing:
    """Finds repairs in one function.

    >>> from layoutalg.flow.graph import flow_of
    >>> flow = flow_of(la.read("gpu.barrier").parts[0].module)
    >>> Repairing(flow, {}, None, Machine(lanes=16), "pvc", 22).target
    'pvc'
    """

    def __init__(
        self, flow: Flow, held: dict[int, Candidate], names: Names, machine: Machine, target: str, llvm: int
    ) -> None:
        self.flow, self.names, self.machine, self.target, self.llvm = flow, names, machine, target, llvm
        self.held = held
        self.into: dict[int, list[Tie]] = {}
        for tie in flow.ties:
            if tie.operand in flow and tie.result in flow:
                self.into.setdefault(flow.value_of(tie.result).number, []).append(tie)
        self.wanted: dict[Operation, list[WrittenLayout]] = {}
        for statement in flow.wanted:
            self.wanted.setdefault(statement.user, []).append(statement)
        self.demands: dict[int, list[Demand]] = {}
        for demand in flow.demands:
            if demand.value in flow:
                self.demands.setdefault(flow.value_of(demand.value).number, []).append(demand)

    def of_operand(
        self, user: Operation, number: int | None, value: Value, held: Candidate, layout: Distributed | None
    ) -> tuple[Repair, ...]:
        """For an operand that is needed in `layout`: a conversion before the operation, or that layout where it is made."""
        if layout is None:
            return ()
        operand = value.members[0] if number is None else user.operands[number]
        name = self.names.of(operand)
        source = held.attribute or self.written(held.layout, value.shape, held.levels) or held.layout
        cost = price(source, layout, value.shape, value.element, self.machine, self.target)
        restated = self._restated(user, number, layout)
        found = [Repair("convert", name, source, layout, place_of(user), cost.slots, self.target, restated, cost)]
        made = self._made(value, held, layout, restated)
        if made is not None:
            found.insert(0 if made.cost == 0 else 1, made)
        return tuple(found)

    def _restated(self, user: Operation, number: int | None, layout: Distributed) -> str:
        """The attribute of an operation that says another layout of its operand."""
        for statement in self.wanted.get(user, ()):
            if statement.number == number and statement.attribute != layout:
                return statement.name
        return ""

    def _made(self, value: Value, held: Candidate, layout: Distributed, restated: str) -> Repair | None:
        """Another layout where the value is made, where that is stated there and moves nothing else."""
        if held.how != "stated" or held.statement is None:
            return None
        maker = held.statement.user
        if not all(self._holds_for(tie, value, layout) for tie in self.into.get(value.number, ())):
            return None
        uses = sum(1 for member in value.members for _ in member.uses)
        if uses != 1 or not self._fits(value, layout, maker):
            return None
        return Repair("state", self.names.of(value.members[0]), None, layout, place_of(maker), 0, self.target, restated)

    def _holds_for(self, tie: Tie, value: Value, layout: Distributed) -> bool:
        """Whether an operand, as it is or made anew where it is needed, is enough for a result in this layout."""
        operand = self.flow.value_of(tie.operand)
        held = self.held.get(operand.number)
        if operand.makes is not None or held is None:
            return operand.makes is not None
        try:
            spread_so = layout_at(layout, value.shape, self.machine)
            return lacks(tie, held.layout, spread_so, axes_of(tie, held.levels, levels_of(layout))) is None
        except LayoutError:
            return False

    def _fits(self, value: Value, layout: Distributed, user: Operation | None = None) -> bool:
        """Whether the operations that make and take a value (or one of them) take this layout, and compilers get it right."""
        for demand in self.demands.get(value.number, ()):
            if user is None or demand.user is user:
                if demand.problem(layout, self.machine, self.target) is not None:
                    return False
                found = compiler_mistake(demand.user, demand.value, layout)
                if found is not None and self.llvm in found.versions:
                    return False
        if user is None or any(demand.user is user for demand in self.demands.get(value.number, ())):
            return True
        found = compiler_mistake(user, value.members[0], layout)
        return found is None or self.llvm not in found.versions

    def of_tie(self, tie: Tie, value: Value, held: Candidate, result: Candidate) -> tuple[Repair, ...]:
        """For an operand that an operation's result needs otherwise."""
        whole = result.layout.shape == value.shape
        if whole and equal_coordinates(tie.relation) and result.attribute is not None:
            return self.of_operand(tie.user, tie.number, value, held, result.attribute)
        if tie.reach == "subgroup":
            return self.of_operand(tie.user, tie.number, value, held, self._of_subgroups(tie, value, held, result))
        layout: Distributed | None = None
        for natural in _natural(tie.relation, result.attribute, len(value.shape)):
            if self._is_enough(tie, natural, result, value.shape):
                layout = natural
                break
        else:
            try:
                layout = self.written(needed(tie.relation, result.layout), value.shape, result.levels)
            except LayoutError:
                return ()
        return self.of_operand(tie.user, tie.number, value, held, layout)

    def _of_subgroups(self, tie: Tie, value: Value, held: Candidate, result: Candidate) -> Distributed | None:
        """The operand's layout with its blocks in the subgroups that need them; its lanes stay."""
        if not isinstance(held.attribute, LayoutAttr):
            return None
        found = [replace(held.attribute, order=None)]
        if isinstance(result.attribute, LayoutAttr) and result.attribute.rank == held.attribute.rank:
            found.append(replace(held.attribute, order=result.attribute.order))
        try:
            blocks = settled(needed(tie.relation, projected(result.layout, ("sg",))))
            written = to_xegpu(blocks, llvm=self.llvm)
            if isinstance(written, LayoutAttr):
                data = written.sg_data or tuple(
                    size // count for size, count in zip(value.shape, written.sg_layout or (), strict=True)
                )
                found.append(replace(held.attribute, sg_layout=written.sg_layout, sg_data=data, order=written.order))
        except LayoutError:
            pass
        for layout in found:
            if self._is_enough(tie, layout, result, value.shape) and self._fits(value, layout):
                return layout
        return None

    def _is_enough(self, tie: Tie, layout: Distributed, result: Candidate, shape: tuple[int, ...]) -> bool:
        """Whether an operand in this layout has what the result is made of."""
        if isinstance(layout, LayoutAttr | SliceAttr) and layout.check(shape, self.llvm) is not None:
            return False
        try:
            spread_so = layout_at(layout, shape, self.machine)
            return lacks(tie, spread_so, result.layout, axes_of(tie, levels_of(layout), result.levels)) is None
        except LayoutError:
            return False

    def of_result(self, tie: Tie, operand: Candidate) -> tuple[Repair, ...]:
        """For a reduction's result: where the parts are."""
        value = self.flow.value_of(tie.result)
        try:
            layout = self.written(given(tie.relation, operand.layout), value.shape, operand.levels)
        except LayoutError:
            return ()
        if layout is None:
            return ()
        return (Repair("state", self.names.of(tie.result), None, layout, place_of(tie.user), 0, self.target),)

    def of_statements(self, statement: WrittenLayout, chosen: Candidate) -> tuple[Repair, ...]:
        """For two statements about one value: the layout that is worked with, in both."""
        if chosen.attribute is None:
            return ()
        name = self.names.of(statement.value)
        return (Repair("state", name, None, chosen.attribute, place_of(statement.user), 0, self.target),)

    def of_demand(self, demand: Demand, value: Value, held: Candidate) -> tuple[Repair, ...]:
        """For what an operation does not take or make: the usual layout that it does."""
        found: list[Distributed] = []
        for one in (demand, *self.demands.get(value.number, ())):
            for level in ("lane", "inst"):
                if level in levels_of(held.attribute or held.layout):
                    choices = one.choices(level, self.machine, self.target, self.llvm)
                    found += [_within(held.attribute, choice.attribute) for choice in choices]
        # A layout that everybody takes is better than one that this operation alone takes.
        right = [one for one in found if self._fits(value, one)] or [
            one for one in found if demand.problem(one, self.machine, self.target) is None
        ]
        if not right:
            return ()
        if demand.number is not None:
            return self.of_operand(demand.user, demand.number, value, held, right[0])
        return (Repair("state", self.names.of(demand.value), None, right[0], place_of(demand.user), 0, self.target),)

    def of_matrix(self, user: Operation, number: int | None, value: Value, held: Candidate) -> tuple[Repair, ...]:
        """For what compilers move wrongly through shared memory: a layout that they move rightly."""
        layouts = list(right_for_matrix(user, held.attribute, value.shape))
        found = [repair for layout in layouts for repair in self.of_operand(user, number, value, held, layout)]
        if number is None:
            name = self.names.of(value.members[0])
            found = [Repair("state", name, None, one, place_of(user), 0, self.target) for one in layouts]
        priced = [repair for repair in found if repair.cost is not None]
        return tuple(sorted(priced, key=lambda repair: repair.cost or 0)[:2])

    def of_reduction(self, mistake: ReductionMistake) -> tuple[Repair, ...]:
        """For a reduction whose result is wanted in a layout that is no slice: a conversion from the slice, right behind it."""
        reduction: Any = mistake.reduction
        value, wanted = self.flow.value_of(reduction.results[0]), mistake.statement.attribute
        operand = self.held.get(self.flow.value_of(reduction.operands[0]).number)
        if operand is None or not isinstance(operand.attribute, LayoutAttr | SliceAttr):
            return ()
        source = SliceAttr(operand.attribute, tuple(reduction.reduction_dims.get_values()))
        cost = price(source, wanted, value.shape, value.element, self.machine, self.target)
        name, place = self.names.of(reduction.results[0]), place_of(mistake.user)
        return (Repair("convert", name, source, wanted, place, cost.slots, self.target, price=cost),)

    def written(self, layout: Layout, shape: tuple[int, ...], levels: frozenset[str]) -> Distributed | None:
        """A layout as an attribute, or as it is where XeGPU has none; None where it is of a part of the value alone."""
        if layout.shape != shape or any(layout.origins):
            return None
        said = settled(without(layout, {"sg", "lane"} - levels))
        try:
            return to_xegpu(said, llvm=self.llvm)
        except LayoutError:
            return said


def _natural(relation: Layout, result: Distributed | None, rank: int) -> Iterator[LayoutAttr | SliceAttr]:
    """What compilers write for an operand: the result's layout with its fields permuted, or a slice of it."""
    if not isinstance(result, LayoutAttr):
        return
    if rank < result.rank:
        for dims in combinations(range(result.rank), result.rank - rank):
            yield SliceAttr(result, dims)
        return
    moved = [factors[0].axis for factors in relation.canonical().dims if len(factors) == 1]
    names = [f"d{d}" for d in range(rank)]
    if sorted(filter(None, moved)) != names or rank != result.rank:
        return
    place = [names.index(str(axis)) for axis in moved]
    order = result.order or tuple(range(rank))[::-1]
    kept: dict[str, tuple[int, ...] | None] = {"order": tuple([place[dim] for dim in order])}
    for field in fields(result):
        sizes = getattr(result, field.name)
        if field.name != "order" and sizes is not None:
            kept[field.name] = tuple([sizes[place.index(d)] for d in range(rank)])
    if kept["order"] == tuple(range(rank))[::-1]:
        kept["order"] = None
    yield replace(result, **kept)


def _within(held: Distributed | None, choice: Distributed) -> Distributed:
    """A layout with the levels of a choice in place of its own."""
    if not isinstance(held, LayoutAttr) or not isinstance(choice, LayoutAttr):
        return choice
    said = {
        field.name: getattr(choice, field.name) for field in fields(choice) if getattr(choice, field.name) is not None
    }
    try:
        return replace(held, **said)
    except LayoutError:
        return choice
