"""The picture of a function's layouts: operations as boxes, uses of their values as lines, what is wrong in red.

>>> checked = la.check('''func.func @f(%x: vector<16x16xf32>) {
...   %r = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>}> : vector<16x16xf32>
...   %e = math.exp %r {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<16x16xf32>
...   func.return }''')
>>> graph = flow_graph(checked)
>>> [box.title for box in graph.boxes]
['%x', '%r = xegpu.convert_layout', '%e = math.exp']
>>> [(line.label, line.state) for line in graph.lines]
[('%x 16x16xf32, 128 slots', 'moves'), ('%r 16x16xf32, 128 slots', 'wrong')]

A colour is a map: where it changes, elements move, and the line has the price (issue slots of a subgroup). Two names of one map
have one colour. A click on a line shows how the value is held, how it is needed, and the exchange between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation, SSAValue

from layoutalg.checking.names import Names
from layoutalg.conversion.price import price
from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of
from layoutalg.flow.graph import Flow, Value, flows_of
from layoutalg.flow.levels import layout_at, machine_in
from layoutalg.flow.relations import needed
from layoutalg.flow.values import Candidate, solved
from layoutalg.flow.written_layouts import CONVERTING
from layoutalg.ir.places import place_of
from layoutalg.viz.colours import shade
from layoutalg.viz.graph import Box, Edge, Graph, Panel

if TYPE_CHECKING:
    from layoutalg.checking import Check
    from layoutalg.core.layout import Layout
    from layoutalg.core.notation import Distributed, Machine

__all__ = ["flow_graph"]


def flow_graph(checked: Check, function: str | None = None) -> Graph:
    """The picture of one function of a module that was checked: the one of this name, or the first with distributed values.

    In a notebook it can be clicked on; `page()` is an HTML page, `svg()` the drawing.

    Raises `LayoutError` where there is no such function, `SizeError` for more than 2,000 operations.
    """
    instance_of(function, (str, type(None)), "function")
    for part in checked.module.parts:
        for flow in flows_of(part.module):
            if function is None or function in _names(flow):
                return _Drawing(flow, checked).graph()
    wanted = "with distributed values" if function is None else f"named {shown(function)} with distributed values"
    raise LayoutError(f"no function {wanted} in {checked.module.file}")


def _names(flow: Flow) -> list[str]:
    """The functions of a flow; those that call one another are drawn together."""
    names = (getattr(function, "sym_name", None) for function in flow.functions)
    return [str(name.data) for name in names if name is not None]


class _Drawing:
    def __init__(self, flow: Flow, checked: Check) -> None:
        self.flow, self.module, self.target = flow, checked.module, checked.target
        self.names = Names(checked.module.lines)
        self.machine: Machine = machine_in(flow, checked.target)
        self.held = solved(flow, self.machine, checked.target).stated
        self.mistakes = {(one.finding.place, one.operand): one for one in reversed(checked.mistakes)}
        self.names_of: dict[Layout, str] = {}
        self.key: dict[str, str] = {}

    def graph(self) -> Graph:
        order = {operation: number for number, operation in enumerate(self._operations())}
        makers: dict[Operation | SSAValue, Value | None] = {}
        uses: list[tuple[Operation | SSAValue, Operation, int, SSAValue, Value]] = []
        for value in self.flow.values:
            for member in value.members:
                maker = self._maker(member)
                makers[maker] = makers.get(maker) or value
                for use in member.uses:
                    makers.setdefault(use.operation, None)
                    uses.append((maker, use.operation, use.index, member, value))
        nodes = sorted(makers, key=lambda one: order.get(one, -1) if isinstance(one, Operation) else -1)
        numbers = {node: number for number, node in enumerate(nodes)}
        boxes = tuple(self._box(node, makers[node]) for node in nodes)
        ordered = sorted(uses, key=lambda one: (numbers[one[0]], numbers[one[1]], one[2]))
        lines = tuple(
            self._line(numbers[maker], numbers[user], user, number, member, value)
            for maker, user, number, member, value in ordered
        )
        return Graph(boxes, lines, ", ".join(_names(self.flow)) or self.module.file, self.key)

    def _operations(self) -> Iterator[Operation]:
        for function in self.flow.functions:
            yield from function.walk()

    def _maker(self, member: SSAValue) -> Operation | SSAValue:
        """The operation that makes a value; the argument itself where the function is called with it."""
        owner = member.owner
        if not isinstance(owner, Block):
            return owner
        parent = owner.parent_op()
        return member if parent is None or parent in self.flow.functions else parent

    def _box(self, node: Operation | SSAValue, value: Value | None) -> Box:
        colour, subtitle = None, ""
        if value is not None:
            held = self.held.get(value.number)
            subtitle = _type(value)
            colour = None if held is None else self._colour(held)
        if isinstance(node, SSAValue):
            return Box("", self.names.of(node), subtitle, colour)
        results = ", ".join(self.names.of(result) for result in node.results if result in self.flow)
        title = f"{results} = {node.name}" if results else node.name
        place = place_of(node)
        wrong = [
            mistake.finding for (where, _), mistake in self.mistakes.items() if place is not None and where == place
        ]
        if any(finding.level == "error" for finding in wrong):
            state = "wrong"
        else:
            state = "moves" if node.name in CONVERTING else "right"
        told = "\n".join([f"{place}" if place is not None else title, *(finding.message for finding in wrong)])
        return Box("", title, subtitle, colour, told, state)

    def _colour(self, held: Candidate) -> str:
        """A colour for every map, and for every name: the first name of a map is its name in the key."""
        canonical = held.layout.canonical()
        name = self.names_of.get(canonical)
        if name is None:
            name = str(held.attribute) if held.attribute is not None else str(held.layout)
            self.names_of[canonical] = name
        return self.key.setdefault(name, shade(len(self.key) % 8, 0.75))

    def _line(self, start: int, end: int, user: Operation, number: int, member: SSAValue, value: Value) -> Edge:
        name = self.names.of(member)
        mistake = self.mistakes.get((place_of(user), name))
        wrong = mistake is not None and mistake.finding.level == "error"
        state = "wrong" if wrong else "moves" if user.name in CONVERTING else "right"
        words = [f"{name}: {_type(value)}, used by {user.name}{_at(user)}"]
        if mistake is not None:
            words += [mistake.finding.message, *mistake.finding.notes]
        pictures: list[tuple[str, str]] = []
        told = [f"{name} {_type(value)}"]
        held, wanted = self.held.get(value.number), self._wanted(user, number)
        if held is not None:
            pictures += _tile(f"{name} is held so", held.attribute or held.layout, value, self.machine)
            source = held.attribute or held.layout
            if wanted is not None and not self._alike(source, wanted, value):
                pictures += _tile(f"{user.name} needs it so", wanted, value, self.machine)
                pictures += self._exchange(source, wanted, value, words, told)
        return Edge(start, end, ", ".join(told), state, Panel(tuple(words), tuple(pictures)))

    def _wanted(self, user: Operation, number: int) -> Distributed | None:
        """How an operation needs its operand: what its result says, or what it states itself."""
        if user.name in CONVERTING and user.results[0] in self.flow:
            held = self.held.get(self.flow.value_of(user.results[0]).number)
            return None if held is None else held.attribute or held.layout
        for statement in self.flow.wanted:
            if statement.user is user and statement.number == number:
                return statement.attribute
        for tie in self.flow.ties:
            if tie.user is user and tie.number == number and tie.reach == "work-item" and not tie.combines:
                held = self.held.get(self.flow.value_of(tie.result).number)
                if held is None:
                    continue
                try:
                    return needed(tie.relation, held.layout)
                except LayoutError:
                    return None  # no closed form, or only a part is needed
        return None

    def _alike(self, source: Distributed, wanted: Distributed, value: Value) -> bool:
        try:
            return layout_at(source, value.shape, self.machine) == layout_at(wanted, value.shape, self.machine)
        except LayoutError:
            return True  # one of them does not fit the tensor: nothing to draw

    def _exchange(
        self, source: Distributed, wanted: Distributed, value: Value, words: list[str], told: list[str]
    ) -> Iterator[tuple[str, str]]:
        """The picture of an exchange; its words, and its price for the line, are added."""
        try:
            cost = price(source, wanted, value.shape, value.element, self.machine, self.target)
            plan = cost.plan
            drawn = plan.svg()
        except LayoutError as error:
            words.append(f"no exchange: {error}")
            return
        told.append(counted(cost.slots, "slot") if cost.slots is not None else "no price")
        words.append(f"exchange: {plan.kind}, {counted(plan.shuffles, 'shuffle')}, {cost.text}")
        words.extend(cost.assumptions)
        yield "the exchange", drawn


def _tile(caption: str, layout: Distributed, value: Value, machine: Machine) -> Iterator[tuple[str, str]]:
    try:
        drawn = layout.picture(value.shape if layout.needs_shape else None, machine=machine).svg()
    except LayoutError:
        return
    yield caption, drawn


def _type(value: Value) -> str:
    return "x".join(map(str, (*value.shape, value.element)))


def _at(operation: Operation) -> str:
    place = place_of(operation)
    return "" if place is None else f" (line {place.line})"
