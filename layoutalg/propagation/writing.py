"""Layouts and conversions written into a module, in the form in which LLVM's own propagation writes them.

A load has `layout`, a dpas `layout_a`, `layout_b` and `layout_cd`, every other result `layout_result_0`; the descriptor of a
load or store has its layout too (a descriptor that serves two layouts is made twice). From LLVM 23 on, a loop also says the
layouts of its first values, `layout_operand_3` and so on. What the user wrote stays as it is; where it says subgroups alone,
a layout that refines it takes its place.

A conversion stands right behind what makes the value: nowhere does it run less often. One serves all uses that need the same
map.

>>> from layoutalg.ir import read_module, write_module
>>> from layoutalg.core.notation import Machine
>>> from layoutalg.flow.graph import flows_of
>>> from layoutalg.flow.solver import solve
>>> from layoutalg.propagation.candidates import candidates_of
>>> from layoutalg.propagation.demand_options import DemandOptions, written_at
>>> from layoutalg.propagation.network import network_of
>>> module = read_module('''func.func @f(%x: vector<16x16xf32>) {
...   %a = arith.addf %x, %x {layout_result_0 = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>} : vector<16x16xf32>
...   %b = arith.negf %a {layout_result_0 = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>} : vector<16x16xf32>
...   func.return }''')
>>> [flow] = flows_of(module)
>>> asked = DemandOptions("lane", "pvc", 24, Machine(lanes=16))
>>> network = network_of(flow, candidates_of(flow, asked), asked)
>>> written = write(flow, network, solve(network.problem), asked)
>>> [(placed.kind, placed.cost) for placed in written.placed]
[('convert', 128)]
>>> print(write_module(module, llvm=24).splitlines()[3].strip()[:79])
%0 = xegpu.convert_layout %a <{input_layout = #xegpu.layout<lane_layout = [1, 1
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import NoneAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from layoutalg.conversion.price import redundant
from layoutalg.core.llvm_versions import rules
from layoutalg.flow.graph import Flow
from layoutalg.flow.levels import levels_of
from layoutalg.flow.solver import Labelling
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr as LayoutText
from layoutalg.ir.dialects.xegpu.attributes import SliceAttr as SliceText
from layoutalg.ir.dialects.xegpu.operations import ConvertLayoutOp
from layoutalg.propagation.avoiding import keep_slices, sliced
from layoutalg.propagation.candidates import CONVERSIONS, owner_of
from layoutalg.propagation.costs import bits_of
from layoutalg.propagation.demand_options import DemandOptions, written_at
from layoutalg.propagation.descriptors import write_descriptors
from layoutalg.propagation.named_layout import NamedLayout, agree, carry_back
from layoutalg.propagation.network import Label, Network
from layoutalg.propagation.refinement import leaves_lanes
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = ["Placed", "Written", "attribute_of", "write"]

_PRODUCTS = frozenset(("xegpu.dpas", "xegpu.dpas_mx"))
_MESSAGES = frozenset(
    f"xegpu.{name}" for name in ("load_nd", "store_nd", "load", "store", "load_matrix", "store_matrix", "atomic_rmw")
)
_OPERAND_NAMES = {0: "layout_a", 1: "layout_b", 2: "layout_cd"}


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A value that was converted (or made again) for uses that need it in another layout; `cost` counts every time it runs."""

    member: SSAValue
    kind: str
    source: NamedLayout
    result: NamedLayout
    cost: int
    times: int
    users: tuple[Operation, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What was written: the layout of every value (None where none is known), and the conversions."""

    values: list[NamedLayout | None]
    placed: list[Placed]
    operands: dict[tuple[Operation, int], NamedLayout]
    """The layout of each operand that an operation takes or that another's result needs."""


@dataclass(slots=True)
class _Writer:
    flow: Flow
    network: Network
    asked: DemandOptions
    labels: list[Label]
    final: list[NamedLayout | None]
    placed: list[Placed] = field(default_factory=list[Placed])
    made: dict[tuple[SSAValue, str], SSAValue] = field(default_factory=dict[tuple[SSAValue, str], SSAValue])
    users: dict[tuple[SSAValue, str], list[Operation]] = field(
        default_factory=dict[tuple[SSAValue, str], list[Operation]]
    )


def attribute_of(held: NamedLayout) -> Attribute | None:
    """A layout as an attribute of the module; None for notations that XeGPU has no attribute for."""
    text = str(held.attribute)
    body = text[text.index("<") + 1 : -1] if "<" in text else ""
    if isinstance(held.attribute, LayoutAttr):
        return LayoutText(body)
    return SliceText(body) if isinstance(held.attribute, SliceAttr) else None


def write(flow: Flow, network: Network, labelling: Labelling, asked: DemandOptions) -> Written:
    """Write the layouts that were chosen, with the conversions that they need, into the flow's module."""
    labels = [node[label] for node, label in zip(network.labels, labelling.labels, strict=True)]
    final = [None if label.option is None else label.option.held for label in labels[: len(flow.values)]]
    writer = _Writer(flow, network, asked, labels, final)
    operands = _needs(writer, labelling)
    _respell(writer, operands)
    _keep_slices(writer, operands)
    dead: list[Operation] = []
    # What is made again is made of the first operands; no operand changes before everything is made.
    served = [
        (operation, number, _served(writer, operation, number, held, dead))
        for (operation, number), held in operands.items()
        if held is not None
    ]
    for operation, number, member in served:
        operation.operands[number] = member
    for value in flow.values:
        held = final[value.number]
        if held is not None:
            for member in value.members:
                _state_result(member, held, asked)
    taken: dict[tuple[Operation, int], NamedLayout] = {}
    for (operation, number), held in operands.items():
        chosen = held if held is not None else final[flow.value_of(_root(writer, operation.operands[number])).number]
        if chosen is not None:
            _state_operand(operation, number, chosen, asked)
            taken[operation, number] = chosen
    for operation in reversed(dead):
        _drop(operation)
    keep_slices(flow, asked.llvm)
    for function in flow.functions:
        write_descriptors(function, asked.llvm)
    return Written(final, writer.placed, taken)


def _root(writer: _Writer, member: SSAValue) -> SSAValue:
    """The value of the flow that an operand was; a conversion stands for what it converts."""
    while member not in writer.flow:
        owner = member.owner
        if not isinstance(owner, Operation) or not owner.operands:
            break
        member = owner.operands[0]
    return member


def _needs(writer: _Writer, labelling: Labelling) -> dict[tuple[Operation, int], NamedLayout | None]:
    """For each operand of the problem's uses, the layout in which it is needed; None where it is as it comes."""
    problem, network = writer.network.problem, writer.network
    found: dict[tuple[Operation, int], NamedLayout | None] = {}
    for at, uses in network.uses.items():
        found[at] = None
        for number, node in uses:
            use = problem.uses[number]
            option = writer.labels[node].option
            need = network.needs[use.maker][use.needs[labelling.labels[node]]]
            if need.held is None:
                continue
            # The node of an operand spells its layout as the operation does; the need may be another use's.
            found[at] = option.held if node >= len(writer.flow.values) and option is not None else need.held
    return found


def _respell(writer: _Writer, operands: dict[tuple[Operation, int], NamedLayout | None]) -> None:
    """Of several names of one map, write the one that a product wants, then that of any use, last uses first."""
    uses: list[list[tuple[Operation, int]]] = [[] for _ in writer.flow.values]
    for operation, number in operands:
        uses[writer.flow.value_of(operation.operands[number]).number].append((operation, number))
    ties: dict[tuple[Operation, int], list[int]] = {}
    for index, tie in enumerate(writer.flow.ties):
        if tie.reach == "work-item":
            ties.setdefault((tie.user, tie.number), []).append(index)
    for value in reversed(writer.flow.values):
        present = writer.final[value.number]
        said = [one for one in value.stated if writer.asked.level != "lane" or not leaves_lanes(one.attribute)]
        if present is None or said:
            continue
        for at in sorted(uses[value.number], key=lambda at: at[0].name not in _PRODUCTS):
            wanted = operands[at]
            if wanted is not None and at in ties:
                tie = writer.flow.ties[ties[at][0]]
                result = writer.final[writer.flow.value_of(tie.result).number]
                if tie.beside is not None:
                    result = operands.get((tie.user, tie.beside))
                carried = result and carry_back(tie.relation, result, wanted.shape, writer.asked.llvm)
                wanted = carried if carried and carried.key == wanted.key else wanted
                operands[at] = wanted
            if wanted is not None and wanted.key == present.key:
                maker = value.members[0].owner
                is_said = isinstance(maker, Block) or written_at(maker, wanted, writer.asked.llvm) is wanted
                writer.final[value.number] = wanted if is_said else present
                break


def _keep_slices(writer: _Writer, operands: dict[tuple[Operation, int], NamedLayout | None]) -> None:
    """The results of reductions as slices, where the compiler wants them so."""
    for value in writer.flow.values:
        maker = value.members[0].owner
        if not isinstance(maker, Operation) or not maker.operands or maker.operands[0] not in writer.flow:
            continue
        if not any("lane" in levels_of(one.attribute) for one in value.stated):
            source = operands.get((maker, 0)) or writer.final[writer.flow.value_of(maker.operands[0]).number]
            found = sliced(maker, source, writer.final[value.number], writer.asked.llvm)
            writer.final[value.number] = found or writer.final[value.number]


def _served(writer: _Writer, operation: Operation, number: int, held: NamedLayout, dead: list[Operation]) -> SSAValue:
    """An operand in the layout that it is needed in."""
    member = operation.operands[number]
    source = writer.final[writer.flow.value_of(member).number]
    if source is None or agree(source, held):
        return member
    if writer.asked.level == "lane" and redundant(source.attribute, held.attribute, held.shape):
        return member  # instruction tiles alone differ: an order of registers, which lanes do not need
    at = (member, held.key)
    if at not in writer.made:
        writer.users[at] = []
        _convert(writer, member, source, held, at, dead)
    writer.users[at].append(operation)
    return writer.made[at]


def _convert(
    writer: _Writer,
    member: SSAValue,
    source: NamedLayout,
    held: NamedLayout,
    at: tuple[SSAValue, str],
    dead: list[Operation],
) -> None:
    value = writer.flow.value_of(member)
    again = writer.network.again
    price = again.prices.conversion(source, held, bits_of(value.element))
    anew = again.price(member, held)
    times = writer.network.times[member]
    users = writer.users[at]
    after, origin = member, writer.network.before.get(member)
    if origin is not None:
        earlier = again.prices.conversion(origin[1], held, bits_of(value.element))
        if earlier is not None and (price is None or earlier < price):
            (member, source), price = origin, earlier
        if agree(source, held):
            writer.made[at] = member
            return
    if anew is not None and (price is None or anew <= price):
        writer.made[at] = _make_again(writer, after, held)
        dead.append(owner_of(after) or after.owner)  # pyright: ignore[reportArgumentType]
        kind, cost = "made again", anew
    else:
        before, target = attribute_of(source), attribute_of(held)
        conversion = ConvertLayoutOp.create(
            operands=[member],
            properties={"input_layout": before, "target_layout": target},  # pyright: ignore[reportArgumentType]
            result_types=[member.type],
        )
        _insert_after(after, conversion)
        writer.made[at] = conversion.results[0]
        kind, cost = "convert", price or 0
    writer.placed.append(Placed(member, kind, source, held, cost * times, times, users))  # pyright: ignore[reportArgumentType]


def _insert_after(member: SSAValue, operation: Operation) -> None:
    owner = member.owner
    if isinstance(owner, Block):
        first = owner.first_op
        if first is None:
            owner.add_op(operation)
        else:
            owner.insert_op_before(operation, first)
    else:
        block = owner.parent
        if block is not None:
            block.insert_op_after(operation, owner)


def _make_again(writer: _Writer, member: SSAValue, held: NamedLayout) -> SSAValue:
    """A second one of the operation that makes a value, in another layout, with what it is made of."""
    at = (member, held.key)
    if at in writer.made:
        return writer.made[at]
    maker: Any = member.owner
    needs = writer.network.again.operands(member, held) or {}
    copy: Operation = maker.clone()
    for number, need in needs.items():
        operand = maker.operands[number]
        source = writer.final[writer.flow.value_of(operand).number]
        fits = source is not None and agree(source, need)
        copy.operands[number] = operand if fits else _make_again(writer, operand, need)
    for name in [name for name in copy.attributes if name.startswith("layout_")]:
        del copy.attributes[name]
    _insert_after(member, copy)
    _state_result(copy.results[0], held, writer.asked)
    return copy.results[0]


def _drop(operation: Operation) -> None:
    """Take away what nobody uses any more since it was made again, with what it was made of."""
    if operation.parent is None or any(result.uses.get_length() for result in operation.results):
        return
    operands = [operand.owner for operand in operation.operands]
    operation.detach()
    operation.erase()
    for owner in operands:
        if isinstance(owner, Operation) and owner.name.startswith(("arith.", "math.", "vector.")):
            _drop(owner)


def _say(where: dict[str, Attribute], name: str, attribute: Attribute) -> None:
    """Write a layout, unless one is written that says as much: one that leaves the lanes open is refined."""
    present, value = where.get(name), getattr(attribute, "value", None)
    if present is None or (_is_open(present) and value is not None and "lane" in levels_of(value)):
        where[name] = attribute


def _is_open(present: Any) -> bool:
    return isinstance(present, LayoutText | SliceText) and leaves_lanes(present.value)


def _has_encoding(value: SSAValue) -> bool:
    """Whether its type says how it is held, as Triton's do."""
    kind: Any = value.type
    return isinstance(kind, TensorType) and not isinstance(kind.encoding, NoneAttr)


def _state_result(member: SSAValue, held: NamedLayout, asked: DemandOptions) -> None:
    """Write the layout of a result where its operation says it, unless the user did."""
    owner, attribute = member.owner, attribute_of(held)
    if not isinstance(member, OpResult) or isinstance(owner, Block) or attribute is None or owner.name in CONVERSIONS:
        return
    if _has_encoding(member):
        return
    if owner.name in _PRODUCTS:
        _say(owner.properties, "layout_cd", attribute)
    elif owner.name in _MESSAGES:
        _say(owner.properties, "layout", attribute)
    else:
        _say(owner.attributes, f"layout_result_{member.index}", attribute)


def _state_operand(operation: Operation, number: int, held: NamedLayout, asked: DemandOptions) -> None:
    """Write the layout of an operand where its operation says it: a store, a product, from LLVM 23 on a loop."""
    attribute = attribute_of(held)
    if attribute is None or _has_encoding(operation.operands[number]):
        return
    if operation.name in _PRODUCTS:
        _say(operation.properties, _OPERAND_NAMES.get(number, "layout_cd"), attribute)
    elif operation.name == "scf.for":
        if rules(asked.llvm).loops_take_layouts:
            _say(operation.attributes, f"layout_operand_{number}", attribute)
    elif number == 0 and not operation.results and operation.name in _MESSAGES:
        _say(operation.properties, "layout", attribute)
