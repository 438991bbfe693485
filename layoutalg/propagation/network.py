"""From candidates to a labelling problem: one node for every value, and one for every operand that a message takes.

A label of a value is an `Option` together with what its operands are then needed in. Where that does not follow from the
layout (a sum over rows may find its row in one lane or in sixteen), each way is a label with its own price. What a user needs
in another layout than the value has is converted, or made again where the value is made of constants alone.

`Network.problem` is what `flow.solver.solve` takes; labels that it gives are read back with `Network.values` and `needs_of`.

>>> from layoutalg.ir import read_module
>>> from layoutalg.flow.graph import flows_of
>>> from layoutalg.propagation.candidates import candidates_of
>>> from layoutalg.core.notation import Machine
>>> text = '''func.func @f(%x: vector<16x16xf32>) {
...   %a = arith.addf %x, %x {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<16x16xf32>
...   %b = arith.addf %a, %a {layout_result_0 = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>} : vector<16x16xf32>
...   func.return }'''
>>> [flow] = flows_of(read_module(text))
>>> asked = DemandOptions("lane", "pvc", 24, Machine(lanes=16))
>>> network = network_of(flow, candidates_of(flow, asked), asked)
>>> network.problem.costs, [table.tolist() for table in network.problem.conversions]
(((0,), (16,), (16,)), [[[0]], [[128]], [[]]])
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice, product

from xdsl.ir import Block, Operation, SSAValue

from layoutalg.core.errors import LayoutError
from layoutalg.flow.edges import axes_of, lacks
from layoutalg.flow.graph import Flow, Value
from layoutalg.flow.relations import Demand, Tie
from layoutalg.flow.solver import IMPOSSIBLE, Problem, Use
from layoutalg.propagation.candidates import CONVERSIONS, Candidates, carried, owner_of, usual_of
from layoutalg.propagation.costs import Prices, bits_of, frequency, slots_per_element
from layoutalg.propagation.demand_options import DemandOptions, Option, cost_at, refinements
from layoutalg.propagation.named_layout import NamedLayout, agree, as_written, carry_on, if_accepted, is_whole
from layoutalg.propagation.refinement import refine
from layoutalg.propagation.rematerialize import Rematerializer

__all__ = ["Label", "Need", "Network", "network_of"]

_MOST_LABELS = 32


@dataclass(frozen=True, slots=True)
class Label:
    """A layout of a value, what it costs there, and what the operands of its maker are then needed in, by tie."""

    option: Option | None
    cost: int
    needs: dict[int, NamedLayout]


@dataclass(frozen=True, slots=True)
class Need:
    """A value (one of its members) that is needed in a layout (None: in any), and how often it would be converted."""

    member: SSAValue
    held: NamedLayout | None
    times: int
    rigid: bool = False
    """Whether nothing can be converted for it: what an operation takes for one of its results is what it takes for all."""


@dataclass(slots=True)
class _Node:
    labels: list[Label] = field(default_factory=list[Label])
    needs: list[Need] = field(default_factory=list[Need])
    numbers: dict[tuple[SSAValue, str], int] = field(default_factory=dict[tuple[SSAValue, str], int])


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """The labelling problem of a function, and what its numbers mean: the first nodes are the values."""

    problem: Problem
    labels: list[list[Label]]
    needs: list[list[Need]]
    uses: dict[tuple[Operation, int], list[tuple[int, int]]]
    """For each operand: the uses of the problem that are about it (their number), and their node."""
    impossible: list[tuple[Operation, int, str]]
    again: Rematerializer
    times: dict[SSAValue, int]
    """How often each value that is needed in a layout is made."""
    before: dict[SSAValue, tuple[SSAValue, NamedLayout]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, NamedLayout]]
    )
    """For what the text converts, what it is converted from, where that has one layout: it may be converted from there."""


@dataclass(slots=True)
class _Builder:
    flow: Flow
    candidates: Candidates
    asked: DemandOptions
    prices: Prices
    again: Rematerializer
    nodes: list[_Node]
    uses: list[Use] = field(default_factory=list[Use])
    by_operand: dict[tuple[Operation, int], list[tuple[int, int]]] = field(
        default_factory=dict[tuple[Operation, int], list[tuple[int, int]]]
    )
    impossible: list[tuple[Operation, int, str]] = field(default_factory=list[tuple[Operation, int, str]])
    frequencies: dict[Block, int] = field(default_factory=dict[Block, int])
    beside: dict[tuple[Operation, int], list[Tie]] = field(default_factory=dict[tuple[Operation, int], list[Tie]])
    """Of operations without a result: ties to what stands for it."""
    joined: dict[tuple[Operation, int], Demand] = field(default_factory=dict[tuple[Operation, int], Demand])
    """Demands on operands whose subgroups follow from the result: the result's label pays for them."""
    before: dict[SSAValue, tuple[SSAValue, NamedLayout]] = field(
        default_factory=dict[SSAValue, tuple[SSAValue, NamedLayout]]
    )

    def times(self, member: SSAValue) -> int:
        """How often a value is made."""
        block = member.owner if isinstance(member.owner, Block) else member.owner.parent
        return frequency(block, self.frequencies)

    def need(self, member: SSAValue, held: NamedLayout | None) -> int:
        """The number of a need of a value's node."""
        node = self.nodes[self.flow.value_of(member).number]
        at = (member, "" if held is None else held.key)
        if at not in node.numbers:
            node.numbers[at] = len(node.needs)
            node.needs.append(Need(member, held, self.times(member)))
        return node.numbers[at]

    def use(self, user: int, operation: Operation, number: int, needs: list[NamedLayout | None]) -> None:
        """A use of an operand by a node, with what each of the node's labels needs; None where a label needs nothing."""
        member = operation.operands[number]
        maker = self.flow.value_of(member).number
        if maker == user or not needs:
            return
        numbers = tuple(self.need(member, held) for held in needs)
        self.by_operand.setdefault((operation, number), []).append((len(self.uses), user))
        self.uses.append(Use(maker, user, numbers))


def network_of(flow: Flow, candidates: Candidates, asked: DemandOptions) -> Network:
    """The labelling problem of a function."""
    prices = Prices(asked.machine, asked.target)
    nodes = [_Node() for _ in flow.values]
    builder = _Builder(flow, candidates, asked, prices, Rematerializer(flow, prices, asked), nodes)
    ties: list[list[tuple[int, Tie]]] = [[] for _ in flow.values]
    demands = {(one.user, one.number): one for one in flow.demands if one.number is not None}
    for number, tie in enumerate(flow.ties):
        if tie.operand not in flow or tie.result not in flow or (tie.user, tie.number) in candidates.wanted:
            continue
        if tie.beside is not None:
            builder.beside.setdefault((tie.user, tie.beside), []).append(tie)
        else:
            if tie.reach == "subgroup":
                _join(builder, tie, demands)
            ties[flow.value_of(tie.result).number].append((number, tie))
        if tie.user.name in CONVERSIONS:
            known = candidates.fixed[flow.value_of(tie.operand).number]
            if known is not None:
                builder.before[tie.result] = (tie.operand, known)
    for value in flow.values:
        nodes[value.number].labels = _labels(builder, value, ties[value.number])
    results: dict[tuple[Operation, int], dict[int, int]] = {}
    """For each operand, the values that are made of it, and the tie of each."""
    for value in flow.values:
        for number, tie in ties[value.number]:
            if any(number in label.needs for label in nodes[value.number].labels):
                results.setdefault((tie.user, tie.number), {})[value.number] = number
    for (user, number), made in results.items():
        needs = {value: [label.needs.get(tie) for label in nodes[value].labels] for value, tie in made.items()}
        if len(made) == 1:
            for value, helds in needs.items():
                builder.use(value, user, number, helds)
        else:
            _taken_by_all(builder, user, number, needs)
    _operands(builder)
    costs = [[label.cost for label in node.labels] for node in nodes]
    tables = [_conversions(builder, node) for node in nodes]
    return Network(
        Problem(costs, builder.uses, tables),
        [node.labels for node in nodes],
        [node.needs for node in nodes],
        builder.by_operand,
        builder.impossible,
        builder.again,
        {need.member: need.times for node in nodes for need in node.needs},
        builder.before,
    )


def _join(builder: _Builder, tie: Tie, demands: dict[tuple[Operation, int], Demand]) -> None:
    """Where the result says which subgroups need what of an operand, that and the demand are one need."""
    demand = demands.get((tie.user, tie.number))
    result = builder.candidates.options[builder.flow.value_of(tie.result).number]
    if demand is not None and any("sg" in option.held.levels for option in result):
        builder.joined[tie.user, tie.number] = demand


def _labels(builder: _Builder, value: Value, ties: list[tuple[int, Tie]]) -> list[Label]:
    """The labels of a value: its options, each with every way in which its maker can find the operands."""
    taken: dict[tuple[Operation, int], list[tuple[int, Tie]]] = {}
    for number, tie in ties:
        taken.setdefault((tie.user, tie.number), []).append((number, tie))
    labels, lost = _with_ways(builder, value, taken, written_out=False)
    if not labels and lost:
        labels, lost = _with_ways(builder, value, taken, written_out=True)
    if not labels:
        for tie in lost.values():
            builder.impossible.append(
                (tie.user, tie.number, "none of the layouts that come into question can be carried to this operand")
            )
        weight = builder.times(value.members[0])
        options = builder.candidates.options[value.number]
        labels = [Label(option, weight * option.cost, {}) for option in options]
    return labels[:_MOST_LABELS] or [Label(None, 0, {})]


def _with_ways(
    builder: _Builder, value: Value, taken: dict[tuple[Operation, int], list[tuple[int, Tie]]], *, written_out: bool
) -> tuple[list[Label], dict[int, Tie]]:
    """The labels of a value with the ways that there are, and ties of operands for which some option has none."""
    labels: list[Label] = []
    lost: dict[int, Tie] = {}
    weight = builder.times(value.members[0])
    maker = owner_of(value.members[0])
    slots = slots_per_element(maker) if isinstance(value.members[0].owner, Operation) and maker else 0
    for option in builder.candidates.options[value.number]:
        ways: list[list[tuple[int, NamedLayout, int]]] = []
        for together in taken.values():
            number, tie = together[0]
            found = _ways_of_all(builder, [one for _, one in together], option)
            if not found and found is not None and written_out:
                found = _enough(builder, [one for _, one in together], option.held)
            if found is None:
                continue
            if not found:
                lost[number] = tie
            ways.append([(number, held, price) for held, price in found])
        cost = option.cost + slots * builder.prices.registers(option.held) + _converted(builder, maker, option.held)
        for way in islice(product(*ways), _MOST_LABELS):
            needs = {number: held for number, held, _ in way}
            labels.append(Label(option, weight * (cost + sum(price for _, _, price in way)), needs))
    return labels, lost


def _converted(builder: _Builder, maker: Operation | None, held: NamedLayout) -> int:
    """What a conversion costs that the text has."""
    if maker is None or maker.name not in CONVERSIONS or maker.operands[0] not in builder.flow:
        return 0
    source = builder.flow.value_of(maker.operands[0])
    statement = builder.candidates.wanted.get((maker, 0))
    known = (
        builder.candidates.fixed[source.number] if statement is None else as_written(statement.attribute, source.shape)
    )
    price = None if known is None else builder.prices.conversion(known, held, bits_of(source.element))
    return price or 0


def _ways(builder: _Builder, tie: Tie, option: Option) -> list[tuple[NamedLayout, int]] | None:
    """The layouts in which an operand can be found for a result like this, with what the operation then costs.

    None where the operation takes the operand in any layout.
    """
    operand = builder.flow.value_of(tie.operand)
    if tie.user.name in CONVERSIONS:
        return None
    direct = carried(tie, option.held, True, operand.shape, builder.asked)
    if tie.reach == "subgroup":
        demand = builder.joined.get((tie.user, tie.number))
        if direct is None:
            return None if demand is None else []
        if demand is not None and builder.asked.level == "lane" and "lane" not in direct.levels:
            return [(one.held, one.cost) for one in refinements(demand, direct, builder.asked)]
        return [(direct, 0 if demand is None else cost_at(demand, direct, builder.asked))]
    if tie.reach == "workgroup" and not tie.combines:
        return None
    if direct is not None and not tie.combines and is_whole(tie.relation, operand.shape):
        return [(direct, 0)]
    found: dict[str, NamedLayout] = {} if direct is None else {direct.key: direct}
    for other in builder.candidates.options[operand.number]:
        made = carry_on(tie.relation, other.held, option.held.shape, builder.asked.llvm)
        if made is not None and agree(made, option.held):
            found.setdefault(other.held.key, other.held)
    cost = builder.prices.reduction
    return [(held, cost(tie.relation, held) if tie.combines else 0) for held in found.values()]


def _ways_of_all(builder: _Builder, ties: list[Tie], option: Option) -> list[tuple[NamedLayout, int]] | None:
    """The same of one operand that is tied to the result in several parts (the runs of a shuffle): what serves all of them."""
    each = [found for tie in ties if (found := _ways(builder, tie, option)) is not None]
    if not each:
        return None
    first, *others = each
    keys = [{held.key for held, _ in found} for found in others]
    return [way for way in first if all(way[0].key in one for one in keys)]


def _enough(builder: _Builder, ties: list[Tie], result: NamedLayout) -> list[tuple[NamedLayout, int]] | None:
    """Layouts of an operand in which no work-item lacks what it needs, where none follows from the result's layout.

    Ties without a closed form are written out, as `check` does. Everything in every work-item is always enough. None where
    only an order of registers is asked for.
    """
    if any(tie.combines or tie.reach != "work-item" for tie in ties):
        return []
    if not result.levels:
        return None
    operand = builder.flow.value_of(ties[0].operand)
    named = if_accepted(result.attribute, operand.shape, builder.asked.llvm)
    offered = (
        *(one.held for one in builder.candidates.options[operand.number]),
        *(() if named is None else (named,)),
        *usual_of(operand, builder.candidates.coarse.get(operand.number), builder.asked),
    )
    found = {one.key: one for one in reversed(offered) if one.levels == result.levels}
    return [(one, 0) for one in reversed(found.values()) if all(_suffices(tie, one, result) for tie in ties)]


def _suffices(tie: Tie, operand: NamedLayout, result: NamedLayout) -> bool:
    axes = axes_of(tie, set(operand.levels), set(result.levels))
    try:
        return lacks(tie, operand.layout, result.layout, axes) is None
    except LayoutError:
        return False


def _operands(builder: _Builder) -> None:
    """Nodes for operands that a message takes in some layouts only, or about which something is written."""
    flow, candidates = builder.flow, builder.candidates
    seen: set[tuple[Operation, int]] = set()
    for number, options in candidates.demanded.items():
        demand = flow.demands[number]
        if demand.number is None or not options or (demand.user, demand.number) in builder.joined:
            continue
        at = (demand.user, demand.number)
        seen.add(at)
        statement = candidates.wanted.get(at)
        if statement is not None:
            known = as_written(statement.attribute, flow.value_of(demand.value).shape)
            if known is not None:
                cost = cost_at(demand, known, builder.asked)
                options = [Option(known, "written there", cost)]
        _taken(builder, demand.user, demand.number, options)
    for at in builder.beside:
        if at not in seen and at not in candidates.wanted:
            seen.add(at)
            value = flow.value_of(at[0].operands[at[1]])
            _taken(builder, *at, _bounded(builder, at, candidates.options[value.number]))
    for (user, number), statement in candidates.wanted.items():
        if (user, number) in seen or statement.value not in flow:
            continue
        known = as_written(statement.attribute, flow.value_of(statement.value).shape)
        if known is not None:
            _taken(builder, user, number, [Option(known, "written there")])


def _bounded(builder: _Builder, at: tuple[Operation, int], options: list[Option]) -> list[Option]:
    """The layouts of a value as an operand: with the subgroups that are written there."""
    bound = builder.candidates.bounds.get(at)
    helds = [one.held if bound is None else refine(bound, one.held, builder.asked.llvm) for one in options]
    return [Option(held, one.why) for held, one in zip(helds, options, strict=True) if held is not None]


def _taken(builder: _Builder, user: Operation, number: int, options: list[Option]) -> None:
    weight = frequency(user.parent, builder.frequencies)
    node = _Node([Label(option, weight * option.cost, {}) for option in options])
    builder.nodes.append(node)
    builder.use(len(builder.nodes) - 1, user, number, [option.held for option in options])
    for tie in builder.beside.get((user, number), ()):
        shape = builder.flow.value_of(tie.operand).shape
        needs = [carried(tie, option.held, True, shape, builder.asked) for option in options]
        if any(need is not None for need in needs):
            builder.use(len(builder.nodes) - 1, user, tie.number, needs)


def _taken_by_all(builder: _Builder, user: Operation, number: int, needs: dict[int, list[NamedLayout | None]]) -> None:
    """A node for an operand that several results are made of: the operation takes it in one layout."""
    helds = {held.key: held for each in needs.values() for held in each if held is not None}
    numbers = {key: place for place, key in enumerate(helds)}
    member = user.operands[number]
    node = _Node(
        [Label(Option(held, f"{user.name} takes it for all of its results"), 0, {}) for held in helds.values()]
    )
    node.needs = [Need(member, held, builder.times(member), rigid=True) for held in (*helds.values(), None)]
    builder.nodes.append(node)
    own = len(builder.nodes) - 1
    builder.use(own, user, number, list(helds.values()))
    for value, each in needs.items():
        builder.uses.append(Use(own, value, tuple(len(helds) if held is None else numbers[held.key] for held in each)))


def _conversions(builder: _Builder, node: _Node) -> list[list[int]]:
    """For every label of a node and every need: what it costs to convert, or to make it again."""
    rows: list[list[int]] = []
    known: dict[str, list[int]] = {}
    for label in node.labels:
        if label.option is None:
            rows.append([0] * len(node.needs))
            continue
        held = label.option.held
        row = known.get(held.key)
        if row is None:
            row = known[held.key] = [_price(builder, held, need) for need in node.needs]
        rows.append(row)
    return rows


def _price(builder: _Builder, held: NamedLayout, need: Need) -> int:
    """What it costs to have a value as it is needed, each time it is made."""
    if need.held is None or agree(held, need.held):
        return 0
    if need.rigid:
        return IMPOSSIBLE
    bits = bits_of(builder.flow.value_of(need.member).element)
    at = ("conversion", id(held), id(need.held), bits)
    kept = builder.asked.kept
    if at not in kept:
        kept[at] = (builder.prices.conversion(held, need.held, bits), held, need.held)
    price: int | None = kept[at][0]
    again = builder.again.price(need.member, need.held)
    before = builder.before.get(need.member)
    earlier = None if before is None else builder.prices.conversion(before[1], need.held, bits)
    costs = [cost for cost in (price, again, earlier) if cost is not None]
    return min(costs) * need.times if costs else IMPOSSIBLE
