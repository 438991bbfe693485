"""Functions as flows of distributed values: which operations tie them, what is stated about them, what is demanded.

>>> from layoutalg.ir import read_module
>>> text = '''func.func @f(%p: memref<64x64xf32>, %q: memref<64x64xf32>) {
...   %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<8x16xf32>
...   %u = xegpu.create_nd_tdesc %q : memref<64x64xf32> -> !xegpu.tensor_desc<8x16xf32>
...   %x = xegpu.load_nd %t[0, 0] <{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>
...     : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
...   %y = math.exp %x : vector<8x16xf32>
...   xegpu.store_nd %y, %u[0, 0] : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32>
...   func.return }'''
>>> [flow] = flows_of(read_module(text))
>>> [(value.shape, value.element, [str(s.attribute) for s in value.stated]) for value in flow.values]
[((8, 16), 'f32', ['#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>']), ((8, 16), 'f32', [])]
>>> [(tie.user.name, flow.value_of(tie.operand).number, flow.value_of(tie.result).number) for tie in flow.ties]
[('math.exp', 0, 1)]

Functions that call one another are one flow: an argument is tied to what it is called with, a result to what is returned.

A `Value` is what has one layout: usually one SSA value, and for a loop its carried argument together with the result. Ties
lead from one to another, and it is along ties that elements may have to move. `graph` is the same as a networkx graph: nodes
are operations, edges are values with the operand's number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation, SSAValue

from layoutalg.flow.relations import Demand, Makes, Relation, Tie, relation_of, shape_of
from layoutalg.flow.relations.regions import CALLS
from layoutalg.flow.written_layouts import WrittenLayout, statement_in_type, statements_of
from layoutalg.ir.dialects.func import Function
from layoutalg.ir.dialects.gpu import FuncOp as GpuFuncOp
from layoutalg.ir.dialects.unread import UndefinedOp
from layoutalg.ir.well_formed import MALFORMED

if TYPE_CHECKING:
    from networkx import MultiDiGraph

__all__ = ["Flow", "Value", "flow_of", "flows_of"]


"""What reading a relation off an operation that does not verify may raise; `LayoutError` is a `ValueError`."""


@dataclass(slots=True, eq=False)
class Value:
    """What has one layout: SSA values of one shape, and what is stated about them where they are made.

    >>> Value(0, (8, 16), "f32", []).stated
    []
    """

    number: int
    shape: tuple[int, ...]
    element: str
    members: list[SSAValue]
    stated: list[WrittenLayout] = field(default_factory=list[WrittenLayout])
    makes: Makes | None = None
    """How work-items make it themselves, of no operand: a constant, a step (see `Relation.makes`)."""


@dataclass(slots=True, eq=False)
class _Parts:
    values: list[Value] = field(default_factory=list[Value])
    by_member: dict[SSAValue, Value] = field(default_factory=dict[SSAValue, Value])
    ties: list[Tie] = field(default_factory=list[Tie])
    demands: list[Demand] = field(default_factory=list[Demand])
    wanted: list[WrittenLayout] = field(default_factory=list[WrittenLayout])
    unknown: list[Operation] = field(default_factory=list[Operation])
    refused: list[Operation] = field(default_factory=list[Operation])


class Flow:
    """The distributed values of functions that call one another (or of a module without functions), and what ties them.

    >>> from layoutalg.ir import read_module
    >>> text = '%x = arith.constant dense<0.0> : vector<8xf32> %z = math.exp %x : vector<8xf32>'
    >>> flow = flow_of(read_module(text))
    >>> len(flow.values), len(flow.ties), len(flow.unknown)
    (2, 1, 0)
    """

    def __init__(self, functions: Sequence[Operation], parts: _Parts) -> None:
        self.functions = tuple(functions)
        self.function = next(
            (one for one in functions if isinstance(one, GpuFuncOp) and one.kernel is not None), functions[0]
        )
        """The kernel among the functions, whose machine counts; the first function where none is a kernel."""
        self.values = tuple(parts.values)
        self.ties = tuple(parts.ties)
        self.demands = tuple(parts.demands)
        self.wanted = tuple(parts.wanted)
        """Statements about operands, where they are used."""
        self.unknown = tuple(parts.unknown)
        """Operations on distributed values whose relation is not known."""
        self.refused = tuple(parts.refused)
        """Operations that are not as their dialect wants them (a transpose of [0, 7]): nothing is known of them."""
        self._by_member = parts.by_member

    def value_of(self, member: SSAValue) -> Value:
        """The value that an SSA value belongs to. Raises `KeyError` for one that is not spread (a scalar, a descriptor).

        >>> from layoutalg.ir import read_module
        >>> module = read_module("%x = arith.constant dense<0.0> : vector<8xf32>")
        >>> flow_of(module).value_of(module.body.block.first_op.results[0]).shape
        (8,)
        """
        return self._by_member[member]

    @property
    def is_stated(self) -> bool:
        """Whether anything is stated about a value, where it is made or used.

        >>> from layoutalg.ir import read_module
        >>> flow_of(read_module("gpu.barrier")).is_stated
        False
        """
        return bool(self.wanted) or any(value.stated for value in self.values)

    def __contains__(self, member: SSAValue) -> bool:
        return member in self._by_member

    @cached_property
    def graph(self) -> MultiDiGraph[Operation]:
        """Operations as nodes, uses of distributed values as edges: the key is the operand's number, `value` the value.

        >>> from layoutalg.ir import read_module
        >>> text = "%x = arith.constant dense<0.0> : vector<8xf32> %y = math.exp %x : vector<8xf32>"
        >>> flow_of(read_module(text)).graph.number_of_edges()
        1
        """
        from networkx import MultiDiGraph

        graph: MultiDiGraph[Operation] = MultiDiGraph()
        for value in self.values:
            for member in value.members:
                owner = member.owner
                maker = owner.parent_op() if isinstance(owner, Block) else owner
                if maker is None:
                    continue
                graph.add_node(maker)
                for use in member.uses:
                    graph.add_edge(maker, use.operation, key=use.index, value=value)
        return graph


def flows_of(module: Operation) -> Iterator[Flow]:
    """The flows of a module that have distributed values: of each function, of those that call one another together.

    A module without functions is a flow itself.

    >>> from layoutalg.ir import read_module
    >>> list(flows_of(read_module("gpu.barrier")))
    []
    >>> [flow] = flows_of(read_module('''
    ...   func.func @g(%v: vector<8xf32>) -> vector<8xf32> { func.return %v : vector<8xf32> }
    ...   func.func @f(%x: vector<8xf32>) { %y = func.call @g(%x) : (vector<8xf32>) -> vector<8xf32> func.return }'''))
    >>> len(flow.functions), [(tie.user.name, tie.number) for tie in flow.ties]
    (2, [('func.call', 0), ('func.return', 0)])
    """
    functions = [op for op in module.walk() if isinstance(op, Function | GpuFuncOp)] or [module]
    for together in _called_together(functions):
        flow = flow_of(*together)
        if flow.values:
            yield flow


def _called_together(functions: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Functions that pass distributed values to one another, in the order of the text."""
    numbers = {function: number for number, function in enumerate(functions)}
    pairs: list[tuple[int, int]] = []
    for number, function in enumerate(functions):
        for operation in function.walk():
            if operation.name in CALLS:
                relation = _relation_of(operation)
                for tie in () if relation is None else relation.calls:
                    for end in (tie.operand, tie.result):
                        other = numbers.get(_function_of(end) or function)
                        if other is not None and other != number:
                            pairs.append((number, other))
    if not pairs:
        for function in functions:
            yield [function]
        return
    from networkx import Graph, connected_components

    graph: Graph[int] = Graph()
    graph.add_edges_from(pairs)
    graph.add_nodes_from(range(len(functions)))
    for part in sorted(connected_components(graph), key=min):
        yield [functions[number] for number in sorted(part)]


def _function_of(member: SSAValue) -> Operation | None:
    around: Operation | None = member.owner.parent_op() if isinstance(member.owner, Block) else member.owner
    while around is not None and not isinstance(around, Function | GpuFuncOp):
        around = around.parent_op()
    return around


def flow_of(function: Operation, *others: Operation) -> Flow:
    """The flow of one function, or of several that call one another."""
    parts = _Parts()
    shared: dict[SSAValue, SSAValue] = {}
    functions = (function, *others)
    for operation in (op for one in functions for op in one.walk()):
        for argument in (a for region in operation.regions for block in region.blocks for a in block.args):
            _add(parts, argument, shared)
            if argument in parts.by_member:  # not of open sizes
                parts.by_member[argument].stated += statement_in_type(operation, argument)
        relation = _relation_of(operation)
        if relation is _REFUSED:
            parts.refused.append(operation)
        if relation is not None:
            parts.ties.extend(relation.ties)
            parts.ties.extend(relation.calls)
            parts.demands.extend(relation.demands)
            for group in relation.one:
                shared.update((member, group[0]) for member in group[1:])
        elif not isinstance(operation, UndefinedOp) and any(
            shape_of(value) is not None for value in (*operation.operands, *operation.results)
        ):
            parts.unknown.append(operation)
        for result in operation.results:
            _add(parts, result, shared)
            if relation is not None and relation.makes is not None and result in parts.by_member:
                parts.by_member[result].makes = relation.makes
        for statement in statements_of(operation) if relation is not _REFUSED else ():
            found = parts.by_member.get(statement.value)
            if found is None:  # a scalar, or a shape that is not known
                continue
            if statement.number is not None:
                parts.wanted.append(statement)
            else:
                found.stated.append(statement)
    return Flow(functions, parts)


_REFUSED = Relation()
"""Of an operation that is not as its dialect wants it."""


def _relation_of(operation: Operation) -> Relation | None:
    try:
        found = relation_of(operation)
    except MALFORMED:
        return _REFUSED
    count = len(operation.operands)
    wrong = found is not None and any(tie.user is operation and tie.number >= count for tie in found.ties)
    return _REFUSED if wrong else found


def _add(parts: _Parts, member: SSAValue, shared: dict[SSAValue, SSAValue]) -> None:
    shape = shape_of(member)
    if shape is None or member in parts.by_member:
        return
    leader = shared.get(member)
    value = None if leader is None else parts.by_member.get(leader)
    if value is None:
        element = str(getattr(member.type, "element_type", member.type))
        value = Value(len(parts.values), shape, element, [])
        parts.values.append(value)
    value.members.append(member)
    parts.by_member[member] = value
