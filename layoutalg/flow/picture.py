"""The picture of a function's layouts: operations as boxes, uses of their values as lines, what moves and what is wrong marked.

>>> module = la.read('''func.func @f(%x: vector<16x16xf32>) {
...   %r = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>}> : vector<16x16xf32>
...   %e = math.exp %r {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<16x16xf32>
...   func.return }''')
>>> graph = flow_graph(module, "pvc")
>>> [(box.title, box.subtitle) for box in graph.boxes]  # doctest: +NORMALIZE_WHITESPACE
[('argument', '%x: 16x16xf32, layout A'), ('xegpu.convert_layout', '%r: 16x16xf32, layout B'),
('math.exp', '%e: 16x16xf32, layout A')]
>>> [(line.label, line.state) for line in graph.lines]
[('%x: layout A to B, 128 slots', 'moves'), ('%r: layout B to A, 128 slots', 'moves')]
>>> graph.notes
('elements move on 2 of 2 lines: 256 issue slots of a subgroup',)

A letter and a colour are a layout; two names of one map have one. Where it changes, elements move, and the line has the
price (issue slots of a subgroup). A click on a line shows how the value is held, how it is needed, and the exchange between the
two. Whoever checks a module says what is wrong, whoever propagates what operations cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation, SSAValue

from layoutalg.conversion.price import price
from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shortened, shown
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of
from layoutalg.flow.graph import Flow, Value, flows_of
from layoutalg.flow.levels import layout_at, machine_in
from layoutalg.flow.relations import needed
from layoutalg.flow.values import solved
from layoutalg.flow.written_layouts import CONVERTING
from layoutalg.ir.places import Place, place_of
from layoutalg.module import Module
from layoutalg.module.names import Names
from layoutalg.viz.colours import hue_of, shade
from layoutalg.viz.graph import Box, Detail, Edge, Graph

if TYPE_CHECKING:
    from layoutalg.core.layout import Layout
    from layoutalg.core.notation import Distributed, Machine
    from layoutalg.flow.relations.relation import Tie
    from layoutalg.ir.findings import Finding

__all__ = ["Said", "flow_graph"]

Mistakes = Mapping[tuple[Place | None, str], "Finding"]

_MOST_SAID = 200
"""How many letters of an error stand above the graph."""


@dataclass(frozen=True)
class Said:
    """What is said beside the layouts: the end of the title, lines under it, and words in boxes by their operation's place.

    `held` adds to each box the part of the value that one work-item holds.
    """

    heading: str = ""
    notes: tuple[str, ...] = ()
    boxes: Mapping[Place, str] = field(default_factory=dict["Place", str])
    held: bool = False


def flow_graph(
    module: Module,
    target: str,
    function: str | None = None,
    *,
    mistakes: Mistakes | None = None,
    costs: Mapping[Place, int] | None = None,
    said: Said | None = None,
) -> Graph:
    """The picture of one function of a module: the one of this name, or the first with distributed values.

    `mistakes` are findings by the place of the operation and the name of the operand, `costs` issue slots by the place of the
    operation, `said` what else stands there. In a notebook the picture can be clicked on; `page()` is an HTML page, `svg()` the
    drawing.

    Raises `LayoutError` where there is no such function, `SizeError` for more than 2,000 operations.
    """
    instance_of(function, (str, type(None)), "function")
    for part in module.parts:
        for flow in flows_of(part.module):
            if function is None or function in _names(flow):
                return _Drawing(flow, module, target, mistakes or {}, costs or {}, said or Said()).graph()
    wanted = "with distributed values" if function is None else f"named {shown(function)} with distributed values"
    raise LayoutError(f"no function {wanted} in {module.file}")


def _names(flow: Flow) -> list[str]:
    """The functions of a flow; those that call one another are drawn together."""
    names = (getattr(function, "sym_name", None) for function in flow.functions)
    return [str(name.data) for name in names if name is not None]


class _Drawing:
    def __init__(
        self, flow: Flow, module: Module, target: str, mistakes: Mistakes, costs: Mapping[Place, int], said: Said
    ) -> None:
        self.flow, self.module, self.target, self.said = flow, module, target, said
        self.names = Names(module.lines)
        self.machine: Machine = machine_in(flow, target)
        self.held = solved(flow, self.machine, target).stated
        self.wanted = {(one.user, one.number): one.attribute for one in reversed(flow.wanted)}
        self.ties: defaultdict[tuple[Operation, int], list[Tie]] = defaultdict(list)
        for tie in flow.ties:
            self.ties[tie.user, tie.number].append(tie)
        self.mistakes, self.costs = mistakes, costs
        self.moved = self.taken = 0
        self.first_names: dict[Layout, str] = {}
        self.letters: dict[str, str] = {}
        self.key: dict[str, str] = {}
        self.exchanges: dict[tuple[Distributed, Distributed, tuple[int, ...], str], tuple[str, list[str], str]] = {}
        self.tiles: dict[tuple[Distributed, tuple[int, ...]], str | None] = {}

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
        ordered = sorted(uses, key=lambda one: (numbers[one[0]], numbers[one[1]], one[2]))
        lines = tuple(
            self._line(numbers[maker], numbers[user], user, number, member, value)
            for maker, user, number, member, value in ordered
        )
        moving = {line.end for line in lines if line.state == "moves"}
        boxes = tuple(self._box(node, makers[node], moves=number in moving) for number, node in enumerate(nodes))
        name = ", ".join(_names(self.flow)) or self.module.file
        lanes = "" if self.machine.lanes is None else f", {counted(self.machine.lanes, 'lane')}"
        heading = self.said.heading or ("the layouts of its values" if self.letters else "its values")
        title = f"{name} on {self.target}{lanes}: {heading}"
        return Graph(boxes, lines, title, self.key, self._notes(lines))

    def _notes(self, lines: Sequence[Edge]) -> tuple[str, ...]:
        """What the layouts cost (where elements move, what the operations take), and the first error."""
        moving = sum(line.state == "moves" for line in lines)
        told = f"elements move on {moving} of {counted(len(lines), 'line')}" if moving else "no elements move"
        told += f": {counted(self.moved, 'issue slot')} of a subgroup" if self.moved else ""
        told += f"; operations take {self.taken}{' issue slots' * (not self.moved)}" if self.taken else ""
        errors = [f"{one.operation} {one.message}" for one in self.mistakes.values() if one.level == "error"]
        more = f" ({counted(len(errors) - 1, 'more error')})" if len(errors) > 1 else ""
        wrong = [f"wrong: {shortened(errors[0], _MOST_SAID)}{more}"] if errors else []
        return (*self.said.notes, *([told] if self.letters else []), *wrong)

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

    def _box(self, node: Operation | SSAValue, value: Value | None, *, moves: bool) -> Box:
        colour, type_ = None, ""
        if value is not None:
            held = self.held.get(value.number)
            type_ = _type(value)
            if held is not None:
                letter = self._letter(held.layout, held.attribute)
                colour = next(colour for name, colour in self.key.items() if name.startswith(f"layout {letter}: "))
                type_ += f", layout {letter}"
                if self.said.held and all(held.layout.fragment_shape):
                    type_ += f", {'x'.join(map(str, held.layout.fragment_shape))} in a lane"
        if isinstance(node, SSAValue):
            return Box("", "argument", f"{self.names.of(node)}: {type_}", colour)
        place = place_of(node)
        slots = 0 if place is None else self.costs.get(place, 0)
        self.taken += slots
        title = node.name + (f": {counted(slots, 'slot')}" if slots else "")
        results = ", ".join(self.names.of(result) for result in node.results if result in self.flow)
        wrong = [found for (where, _), found in self.mistakes.items() if place is not None and where == place]
        if any(finding.level == "error" for finding in wrong):
            state = "wrong"
        else:
            state = "moves" if moves and node.name in CONVERTING else "right"
        if value is None:
            taken = [one for one in node.operands if one in self.flow]
            type_ = f"takes {', '.join(dict.fromkeys(map(self.names.of, taken)))}"
        if place is not None and place in self.said.boxes:
            type_ += f"; {self.said.boxes[place]}"
        told = "\n".join([f"{place}" if place is not None else node.name, *(finding.message for finding in wrong)])
        return Box("", title, f"{results}: {type_}" if results else type_, colour, told, state)

    def _letter(self, layout: Layout, named: object = None) -> str:
        """The letter of a layout: of the first name of its map, which stands in the key with its colour."""
        name = self.first_names.setdefault(layout.canonical(), str(named or layout))
        if name not in self.letters:
            again, place = divmod(len(self.letters), len(ascii_uppercase))
            self.letters[name] = letter = ascii_uppercase[place] + (str(again) if again else "")
            self.key[f"layout {letter}: {name}"] = shade(hue_of(len(self.key)), 0.75)
        return self.letters[name]

    def _line(self, start: int, end: int, user: Operation, number: int, member: SSAValue, value: Value) -> Edge:
        name = self.names.of(member)
        finding = self.mistakes.get((place_of(user), name))
        words = [f"{name}: {_type(value)}, used by {user.name}{_at(user)}"]
        if finding is not None:
            words += [finding.message, *finding.notes]
        pictures: list[tuple[str, str]] = []
        told, moves = name, False
        held, wanted = self.held.get(value.number), self._wanted(user, number)
        if held is not None:
            source = held.attribute or held.layout
            told += f": layout {self._letter(held.layout, held.attribute)}"
            pictures += self._tile(f"{name} is held so", source, value)
            if wanted is not None and (needs := self._other(source, wanted, value)) is not None:
                moves = True
                told += f" to {self._letter(needs, wanted)}"
                pictures += self._tile(f"{user.name} needs it so", wanted, value)
                slots, drawn = self._exchange(source, wanted, value, words)
                told += f", {slots}" if slots else ""
                self.moved += int(slots.partition(" ")[0]) if slots[:1].isdigit() else 0
                pictures += drawn
        state = "wrong" if finding is not None and finding.level == "error" else "moves" if moves else "right"
        return Edge(start, end, told, state, Detail(tuple(words), tuple(pictures)))

    def _wanted(self, user: Operation, number: int) -> Distributed | None:
        """How an operation needs its operand: what its result says, or what it states itself."""
        if user.name in CONVERTING and user.results[0] in self.flow:
            held = self.held.get(self.flow.value_of(user.results[0]).number)
            return None if held is None else held.attribute or held.layout
        if (user, number) in self.wanted:
            return self.wanted[user, number]
        for tie in self.ties[user, number]:
            if tie.reach == "work-item" and not tie.combines:
                held = self.held.get(self.flow.value_of(tie.result).number)
                if held is None:
                    continue
                try:
                    return needed(tie.relation, held.layout)
                except LayoutError:
                    return None  # no closed form, or only a part is needed
        return None

    def _other(self, source: Distributed, wanted: Distributed, value: Value) -> Layout | None:
        """How a value is needed, where that is another layout than it has."""
        try:
            held, needs = (layout_at(one, value.shape, self.machine) for one in (source, wanted))
        except LayoutError:
            return None  # one of them does not fit the tensor: nothing to draw
        return None if held == needs else needs

    def _exchange(
        self, source: Distributed, wanted: Distributed, value: Value, words: list[str]
    ) -> tuple[str, list[tuple[str, str]]]:
        """The price of an exchange, and its picture, which is drawn once; its words are added."""
        at = source, wanted, value.shape, value.element
        if at not in self.exchanges:
            self.exchanges[at] = self._exchanged(*at)
        slots, told, drawn = self.exchanges[at]
        words.extend(told)
        return slots, [("the exchange", drawn)] if drawn else []

    def _exchanged(
        self, source: Distributed, wanted: Distributed, shape: tuple[int, ...], element: str
    ) -> tuple[str, list[str], str]:
        try:
            cost = price(source, wanted, shape, element, self.machine, self.target)
            plan = cost.plan
            drawn = plan.svg()
        except LayoutError as error:
            return "", [f"no exchange: {error}"], ""
        words = [f"exchange: {plan.kind}, {counted(plan.shuffles, 'shuffle')}, {cost.text}", *cost.assumptions]
        return counted(cost.slots, "slot") if cost.slots is not None else "no price", words, drawn

    def _tile(self, caption: str, layout: Distributed, value: Value) -> Iterator[tuple[str, str]]:
        """The picture of a layout, drawn once."""
        at = layout, value.shape if layout.needs_shape else ()
        if at not in self.tiles:
            try:
                drawn = layout.picture(at[1] or None, machine=self.machine).svg()
            except LayoutError:
                drawn = None
            self.tiles[at] = drawn
        if (found := self.tiles[at]) is not None:
            yield caption, found


def _type(value: Value) -> str:
    return "x".join(map(str, (*value.shape, value.element)))


def _at(operation: Operation) -> str:
    place = place_of(operation)
    return "" if place is None else f" (line {place.line})"
