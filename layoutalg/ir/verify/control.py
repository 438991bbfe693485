"""LLVM's rules of func, scf, cf and gpu: what is returned, yielded and carried, and what the hardware's numbers are.

    func.func @f() -> f32 {
      return
    }

is refused with "has 0 operands, but enclosing function (@f) returns 1".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import AnyFloat, DenseArrayBase
from xdsl.ir import Attribute, Operation, Region

from layoutalg.ir.verify.registry import rule
from layoutalg.ir.verify.shapes import element_of, typed
from layoutalg.ir.verify.signatures import Subject, name_of

__all__: list[str] = []


@rule("gpu.reduction.kind", "gpu.all_reduce", "gpu.subgroup_reduce")
def _reduction_kind(subject: Subject) -> str | None:
    """`add` and `mul` take both, names that end in f take floats, the others take integers."""
    found: Any = subject.attribute("op")
    kind, value = getattr(found, "data", None), subject.type("value")
    if kind is None or kind in ("add", "mul"):
        return None
    real = isinstance(element_of(value), AnyFloat)
    return (
        None
        if real == kind.endswith("f")
        else f"`{kind}` reduction operation is not compatible with type {typed(value)}"
    )


@rule("gpu.subgroup_reduce.cluster", "gpu.subgroup_reduce")
def _cluster(subject: Subject) -> str | None:
    for name in ("size", "stride"):
        found: Any = subject.attribute(f"cluster_{name}")
        number = None if found is None else found.value.data
        if number is not None and (number <= 0 or number & (number - 1)):
            return f"cluster {name} {number} is not a power of two"
    return None


# Functions

_FUNCTIONS = ("func.func", "tt.func")


def _parent(operation: Operation) -> Operation | None:
    return operation.parent_op()


_PARENTS = {
    "func.return": ("func.func",),
    "tt.return": ("tt.func",),
    "tt.reduce.return": ("tt.reduce",),
    "tt.scan.return": ("tt.scan",),
    "tt.map_elementwise.return": ("tt.map_elementwise",),
    "ttg.warp_yield": ("ttg.warp_specialize",),
    "ttg.warp_return": ("ttg.warp_specialize.partitions",),
    "ttg.mask.return": ("ttg.mask",),
    "gpu.return": ("gpu.func",),
    "gpu.func": ("gpu.module",),
    "scf.condition": ("scf.while",),
    "scf.yield": ("scf.execute_region", "scf.for", "scf.if", "scf.index_switch", "scf.while"),
}


@rule("structure.parent", *_PARENTS)
def _in_parent(subject: Subject) -> str | None:
    parent, expected = _parent(subject.operation), _PARENTS[subject.name]
    if parent is None or name_of(parent) in expected or name_of(parent) == "layoutalg.unread":
        return None
    if len(expected) == 1:
        return f"expects parent op '{expected[0]}'"
    return f"expects parent op to be one of '{', '.join(expected)}'"


def _differences(given: Sequence[Attribute], wanted: Sequence[Attribute]) -> Iterator[tuple[int, Attribute, Attribute]]:
    """The positions at which two lists of types differ, with both types."""
    for number, (one, other) in enumerate(zip(given, wanted, strict=True)):
        if one != other:
            yield number, one, other


@rule("func.return", "func.return", "tt.return")
def _returned(subject: Subject) -> str | None:
    function: Any = _parent(subject.operation)
    if function is None or name_of(function) not in _FUNCTIONS or "function_type" not in function.properties:
        return None
    given, name = subject.operation.operand_types, function.sym_name.data
    wanted = tuple(function.function_type.outputs.data)
    if len(given) != len(wanted):
        return f"has {len(given)} operands, but enclosing function (@{name}) returns {len(wanted)}"
    for number, one, other in _differences(given, wanted):
        return (
            f"type of return operand {number} ({typed(one)}) doesn't match function result type ({typed(other)}) in "
            f"function @{name}"
        )
    return None


@rule("gpu.return", "gpu.return")
def _left(subject: Subject) -> str | None:
    function: Any = _parent(subject.operation)
    if function is None or name_of(function) != "gpu.func" or "function_type" not in function.properties:
        return None
    given, wanted = subject.operation.operand_types, tuple(function.function_type.outputs.data)
    if len(given) != len(wanted):
        return f"expected {len(wanted)} result operands"
    return next(
        (f"unexpected type `{typed(one)}' for operand #{at}" for at, one, _ in _differences(given, wanted)), None
    )


@rule("gpu.func", "gpu.func")
def _kernel(subject: Subject) -> str | None:
    function: Any = subject.operation
    if "function_type" not in function.properties or not function.regions:
        return None
    kernel = subject.attribute("gpu.kernel") is not None or subject.attribute("kernel") is not None
    if kernel and function.function_type.outputs.data:
        return "expected void return type for kernel function"
    blocks = function.body.blocks
    arguments = blocks[0].args if blocks else ()
    for argument in arguments[len(function.function_type.inputs.data) :]:
        if argument.type.name != "memref":
            return "expected memref type in attribution"
    return None


@rule("func.call", "func.call", "tt.call")
def _called(subject: Subject) -> str | None:
    name = _symbol(subject.attribute("callee"))
    function: Any = subject.find(name)
    if function is None or name_of(function) != subject.name.replace("call", "func"):
        return f"'{name}' does not reference a valid function"
    kind = function.function_type
    wanted, made = tuple(kind.inputs.data), tuple(kind.outputs.data)
    given, results = subject.operation.operand_types, subject.operation.result_types
    told = subject.llvm > 23 and subject.name == "func.call"
    if len(given) != len(wanted):
        counts = f": expected {len(wanted)}, but got {len(given)}" if told else ""
        return f"incorrect number of operands for callee{counts}"
    for number, one, other in _differences(given, wanted):
        return (
            f"operand type mismatch: expected operand type {typed(other)}, but provided {typed(one)} for operand "
            f"number {number}"
        )
    if len(results) != len(made):
        counts = f": expected {len(made)}, but got {len(results)}" if told else ""
        return f"incorrect number of results for callee{counts}"
    return next((f"result type mismatch at index {number}" for number, _, _ in _differences(results, made)), None)


def _symbol(reference: Any) -> str:
    return reference.root_reference.data if hasattr(reference, "root_reference") else str(reference)


@rule("memref.get_global", "memref.get_global")
def _global(subject: Subject) -> str | None:
    name = _symbol(subject.attribute("name"))
    found: Any = subject.find(name)
    if found is None or name_of(found) != "memref.global":
        return f"'{name}' does not reference a valid global memref"
    kind, result = found.properties.get("type"), subject.type("result")
    if kind is None or kind == result:
        return None
    return f"result type {typed(result)} does not match type {typed(kind)} of the global memref @{name}"


# Loops and branches


def _last(region: Region, name: str) -> Operation | None:
    """The terminator of a region of one block, if it has this name."""
    blocks = list(region.blocks)
    last = blocks[-1].last_op if blocks else None
    return last if last is not None and name_of(last) == name else None


def _types(values: Sequence[Any]) -> tuple[Attribute, ...]:
    return tuple(value.type for value in values)


def _edge(source: str, target: str, given: Sequence[Attribute], wanted: Sequence[Attribute]) -> str | None:
    """What LLVM says where values do not fit what they go to."""
    edge = f"along control flow edge from {source} to {target}: "
    if len(given) != len(wanted):
        return f"{edge}region branch point has {len(given)} operands, but region successor needs {len(wanted)} inputs"
    for number, one, other in _differences(given, wanted):
        return (
            f"{edge}successor operand type #{number} {typed(one)} should match successor input type #{number} "
            f"{typed(other)}"
        )
    return None


def _outside(subject: Subject) -> str:
    return "parent" if subject.llvm == 22 else f"Operation {subject.name}"


@rule("scf.index_switch", "scf.index_switch")
def _switch(subject: Subject) -> str | None:
    operation, cases = subject.operation, subject.attribute("cases")
    wanted = operation.result_types
    numbers: tuple[Any, ...] = cases.get_values() if isinstance(cases, DenseArrayBase) else ()
    for at, number in enumerate(numbers):
        if number in numbers[:at]:
            return f"has duplicate case value: {number}"
    for at, region in enumerate(operation.regions):
        last = _last(region, "scf.yield")
        if last is None:
            continue
        name = "default region" if at == 0 else f"case region #{at - 1}"
        if len(last.operand_types) != len(wanted):
            return f"expected each region to return {len(wanted)} values, but {name} returns {len(last.operands)}"
        for number, (one, other) in enumerate(zip(last.operand_types, wanted, strict=True)):
            if one != other:
                return f"expected result #{number} of each region to be {typed(other)}"
    return None


@rule("scf.execute_region", "scf.execute_region")
def _executed(subject: Subject) -> str | None:
    operation = subject.operation
    for block in (block for region in operation.regions for block in region.blocks):
        last = block.last_op
        if last is not None and name_of(last) == "scf.yield":
            found = _edge("Operation scf.yield", _outside(subject), last.operand_types, operation.result_types)
            if found is not None:
                return found
    return None


@rule("scf.for.arguments", "scf.for")
def _for_arguments(subject: Subject) -> str | None:
    operation = subject.operation
    inits, results = subject.values("initArgs"), operation.results
    if len(inits) != len(results):
        return "mismatch in number of loop-carried values and defined values"
    blocks = list(operation.regions[0].blocks) if operation.regions else []
    if not blocks or not blocks[0].args:
        return "expected body to have a single index argument for the induction variable" if blocks else None
    variable, *carried = blocks[0].args
    if variable.type != subject.type("lowerBound"):
        return "expected induction variable to be same type as bounds and step"
    if len(carried) != len(inits):
        return f"different number of inits and region iter_args: {len(inits)} != {len(carried)}"
    return None


@rule("scf.for.types", "scf.for")
def _for_types(subject: Subject) -> str | None:
    operation = subject.operation
    blocks = list(operation.regions[0].blocks) if operation.regions else []
    carried = _types(blocks[0].args)[1:] if blocks else ()
    inits, results = _types(subject.values("initArgs")), operation.result_types
    last = _last(operation.regions[0], "scf.yield") if blocks else None
    given = None if last is None else last.operand_types
    if subject.llvm > 22:
        return (
            _edge("parent", "Region #0", inits, carried)
            or _edge("parent", "Operation scf.for", inits, results)
            or (None if given is None else _edge("Operation scf.yield", "Region #0", given, carried))
            or (None if given is None else _edge("Operation scf.yield", "Operation scf.for", given, results))
        )
    for number, (init, argument, result) in enumerate(zip(inits, carried, results, strict=True)):
        if init != argument:
            return f"{number}-th init and {number}-th region iter_arg have different type: {typed(init)} != {typed(argument)}"
        if given is not None and len(given) == len(carried) and given[number] != argument:
            one = typed(given[number])
            return f"{number}-th region iter_arg and {number}-th yielded value have different type: {typed(argument)} != {one}"
        if argument != result:
            return (
                f"{number}-th region iter_arg and {number}-th loop result have different type: {typed(argument)} != "
                f"{typed(result)}"
            )
    return None if given is None else _edge("Operation scf.yield", "Region #0", given, carried)


@rule("scf.if", "scf.if")
def _if(subject: Subject) -> str | None:
    operation = subject.operation
    regions = operation.regions
    if operation.results and (len(regions) < 2 or not regions[1].blocks):
        return "must have an else block if defining values"
    for region in regions:
        last = _last(region, "scf.yield")
        if last is not None:
            found = _edge("Operation scf.yield", _outside(subject), last.operand_types, operation.result_types)
            if found is not None:
                return found
    return None


@rule("scf.while", "scf.while")
def _while(subject: Subject) -> str | None:
    return next(_while_edges(subject), None)


def _while_edges(subject: Subject) -> Iterator[str]:
    operation = subject.operation
    if len(operation.regions) != 2:
        return
    before, after = operation.regions
    heads = [list(region.blocks) for region in (before, after)]
    if not heads[0] or not heads[1]:
        return
    starts = [_types(head[0].args) for head in heads]
    condition, last = _last(before, "scf.condition"), _last(after, "scf.yield")
    checked = condition.operand_types[1:] if condition is not None else None
    edges: list[tuple[str, str, Sequence[Attribute], Sequence[Attribute]]] = [
        ("parent", "Region #0", operation.operand_types, starts[0])
    ]
    if checked is not None:
        edges.append(("Operation scf.condition", "Region #1", checked, starts[1]))
        edges.append(("Operation scf.condition", _outside(subject), checked, operation.result_types))
    if last is not None:
        edges.append(("Operation scf.yield", "Region #0", last.operand_types, starts[0]))
    for source, target, given, wanted in edges:
        found = _edge(source, target, given, wanted)
        if found is not None:
            yield found


@rule("cf.branch", "cf.br", "cf.cond_br")
def _branch(subject: Subject) -> str | None:
    operation = subject.operation
    segments: Any = operation.properties.get("operandSegmentSizes")
    groups: list[Sequence[Attribute]] = []
    if segments is None:
        groups.append(operation.operand_types)
    else:
        at = 0
        for size in segments.get_values():
            groups.append(operation.operand_types[at : at + size])
            at += size
        groups = groups[1:]
    for number, (given, block) in enumerate(zip(groups, operation.successors, strict=False)):
        wanted = _types(block.args)
        if len(given) != len(wanted):
            return f"branch has {len(given)} operands for successor #{number}, but target block has {len(wanted)}"
        for position, (one, other) in enumerate(zip(given, wanted, strict=True)):
            if one != other:
                return f"type mismatch for bb argument #{position} of successor #{number}"
    return None
