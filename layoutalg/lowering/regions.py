"""Loops and branches, with fragments that go through them: each vector of a fragment is one value that is carried.

%r = scf.for %k = %0 to %n step %s iter_args(%sum = %zero) -> (vector<16x16xf32>)      a tile of a subgroup
%r0, %r1 = scf.for ... iter_args(%sum0 = %zero0, %sum1 = %zero1) -> (vector<8xf32>, vector<8xf32>)      its lanes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.layout import Layout
from layoutalg.ir.dialects.xegpu.ranges import range_of
from layoutalg.lowering.fragments import Fragment, vector_size
from layoutalg.lowering.kernels import Refused, refuse
from layoutalg.lowering.registers import coordinates
from layoutalg.lowering.rules import Kernel, lowers

__all__ = ["Passed", "passing", "pieces_passed", "take_pieces", "write_yield"]


@dataclass(frozen=True, slots=True)
class Passed:
    """How a value passes into or out of a region: its layout and its pieces' sizes, or as one value.

    >>> [piece.kind for piece in Passed(Layout.parse("d0 = 16@reg"), (8, 8), "f32").made("x")]
    ['vector<8xf32>', 'vector<8xf32>']
    """

    layout: Layout | None
    sizes: tuple[int, ...]
    kind: str

    def made(self, name: str | None) -> list[Value]:
        """New values of this kind."""
        if self.layout is None:
            return [Value(self.kind, name=name)]
        return [Value(self.kind, vector_size(size), name) for size in self.sizes]


def passing(op: Operation, value: SSAValue, kernel: Kernel) -> Passed:
    """How a value passes: in its layout where it is spread. Raises `Refused` where it has none."""
    if not kernel.is_spread(value):
        return Passed(None, (), str(value.type))
    layout = kernel.layout(op, value)
    element: Any = value.type
    return Passed(layout, kernel.sizes(value, layout), str(element.element_type))


def pieces_passed(op: Operation, number: int, passed: Passed, kernel: Kernel) -> list[Value]:
    """Operand `number`, as it passes."""
    if passed.layout is None:
        return [kernel.scalar(op.operands[number])]
    return kernel.needed(op, number, passed.layout, passed.sizes)


def take_pieces(value: SSAValue, passed: Passed, found: Sequence[Value], kernel: Kernel) -> None:
    """Say what a value is that came in these pieces."""
    if passed.layout is None:
        kernel.scalars[value] = found[0]
    else:
        kernel.fragments[value] = Fragment(passed.layout, tuple(found))


def _types(values: Sequence[Value]) -> str:
    return ", ".join(value.kind for value in values)


def _write_body(block: Block, kinds: Sequence[Passed], kernel: Kernel, numbers: Sequence[int] | None = None) -> None:
    """The operations of a block, and what it yields: all of it, or the operands of these numbers."""
    last = block.last_op
    for operation in block.ops:
        if operation is not last or operation.name != "scf.yield":
            kernel.write(operation)
    if last is not None and kinds:
        write_yield(last, kinds, kernel, numbers)


def write_yield(last: Operation, kinds: Sequence[Passed], kernel: Kernel, numbers: Sequence[int] | None = None) -> None:
    """What a region gives at its end: all of it, or the operands of these numbers."""
    if not kinds:
        kernel.writer.do("scf.yield")
        return
    try:
        yielded = zip(numbers if numbers is not None else range(len(kinds)), kinds, strict=True)
        values = [piece for number, kind in yielded for piece in pieces_passed(last, number, kind, kernel)]
    except Refused as refused:
        if refused.finding is not None:
            kernel.findings.append(refused.finding)
        return
    kernel.writer.do(f"scf.yield {_places(values)} : {_types(values)}", values)


def _places(values: Sequence[Value]) -> str:
    return ", ".join(["%s"] * len(values))


@lowers("scf.for")
def loop(op: Any, kernel: Kernel) -> None:
    """A loop that every work-item goes through the same number of times."""
    body: Block = op.body.block
    numbers = [number for number, result in enumerate(op.results) if kernel.needs(result)]
    arguments = [body.args[1 + number] for number in numbers]
    kinds = [passing(op, argument, kernel) for argument in arguments]
    bounds = [kernel.scalar(value) for value in op.operands[:3]]
    first = [
        piece
        for number, kind in zip(numbers, kinds, strict=True)
        for piece in pieces_passed(op, 3 + number, kind, kernel)
    ]
    step = Value(bounds[0].kind, name=body.args[0].name_hint)
    carried = [kind.made(argument.name_hint) for kind, argument in zip(kinds, arguments, strict=True)]
    results = [kind.made(op.results[number].name_hint) for number, kind in zip(numbers, kinds, strict=True)]
    inside = [piece for pieces in carried for piece in pieces]
    after = [piece for pieces in results for piece in pieces]
    form = "scf.for %s = %s to %s step %s"
    operands = [step, *bounds]
    if inside:
        pairs = ", ".join(["%s = %s"] * len(inside))
        form += f" iter_args({pairs}) -> ({_types(inside)})"
        operands += [value for pair in zip(inside, first, strict=True) for value in pair]
    kind = "" if bounds[0].kind == "index" else f" : {bounds[0].kind}"
    with kernel.region(f"{form}{kind} {{", operands, after, (step, *inside)):
        kernel.scalars[body.args[0]] = step
        for argument, passed, pieces in zip(arguments, kinds, carried, strict=True):
            take_pieces(argument, passed, pieces, kernel)
        _write_body(body, kinds, kernel, numbers)
    for number, passed, pieces in zip(numbers, kinds, results, strict=True):
        take_pieces(op.results[number], passed, pieces, kernel)


@lowers("scf.while")
def repeated(op: Any, kernel: Kernel) -> None:
    """A loop whose first region says whether it goes on, and with which values."""
    before, after = op.before_region.block, op.after_region.block
    ends = before.last_op
    if ends is None or ends.name != "scf.condition":
        refuse(op, "while", "has a first region without a condition at its end")
    taken = [passing(op, argument, kernel) for argument in before.args]
    given = [passing(op, argument, kernel) for argument in after.args]
    first = [piece for number, kind in enumerate(taken) for piece in pieces_passed(op, number, kind, kernel)]
    carried = [kind.made(argument.name_hint) for kind, argument in zip(taken, before.args, strict=True)]
    passed = [kind.made(argument.name_hint) for kind, argument in zip(given, after.args, strict=True)]
    results = [kind.made(result.name_hint) for kind, result in zip(given, op.results, strict=True)]
    inside, later, out = ([piece for pieces in parts for piece in pieces] for parts in (carried, passed, results))
    pairs = ", ".join(["%s = %s"] * len(inside))
    operands = [value for pair in zip(inside, first, strict=True) for value in pair]
    head = f"scf.while ({pairs})" if inside else "scf.while"
    form = f"{head} : ({_types(inside)}) -> ({_types(out)}) {{"
    with kernel.writer.region(form, operands, out, inside):
        with kernel.indices.scope():
            for argument, kind, pieces in zip(before.args, taken, carried, strict=True):
                take_pieces(argument, kind, pieces, kernel)
            for operation in before.ops:
                if operation is not ends:
                    kernel.write(operation)
            goes_on = kernel.scalar(ends.operands[0])
            values = [
                piece for number, kind in enumerate(given) for piece in pieces_passed(ends, 1 + number, kind, kernel)
            ]
            what = f" {_places(values)} : {_types(values)}" if values else ""
            kernel.writer.do(f"scf.condition(%s){what}", [goes_on, *values])
        arguments = ", ".join([f"%s: {value.kind}" for value in later])
        kernel.writer.between("} do {" if not later else f"}} do {{\n^bb0({arguments}):", later, later)
        with kernel.indices.scope():
            for argument, kind, pieces in zip(after.args, given, passed, strict=True):
                take_pieces(argument, kind, pieces, kernel)
            _write_body(after, taken, kernel)
            if not taken:
                kernel.writer.do("scf.yield")
    for result, kind, pieces in zip(op.results, given, results, strict=True):
        take_pieces(result, kind, pieces, kernel)


@lowers("scf.if")
def branch(op: Any, kernel: Kernel) -> None:
    """A branch on a number: where it is the same in the whole workgroup, so is the way that is taken."""
    if kernel.is_spread(op.operands[0]):
        refuse(op, "condition", f"branches on a spread value of {op.operands[0].type}")
    of_range = range_of(op)
    if of_range is not None:
        _check_range(op, of_range, kernel)
    condition = kernel.scalar(op.operands[0])
    numbers = [number for number, result in enumerate(op.results) if kernel.needs(result)]
    needed = [op.results[number] for number in numbers]
    kinds = [passing(op, result, kernel) for result in needed]
    results = [kind.made(result.name_hint) for kind, result in zip(kinds, needed, strict=True)]
    after = [piece for pieces in results for piece in pieces]
    then, *others = [region.block for region in op.regions if region.blocks]
    kinds_text = f" -> ({_types(after)})" if after else ""
    if of_range is not None and not others:
        condition = kernel.both(condition, _in_range(of_range, kernel))
    with kernel.writer.region(f"scf.if %s{kinds_text} {{", (condition,), after):
        counted = kernel.indices.scope() if of_range is None else kernel.indices.counted_from(of_range.start)
        with counted:
            _write_body(then, kinds, kernel, numbers)
        if others and (others[0].first_op is not None):
            kernel.writer.between("} else {")
            with kernel.indices.scope():
                _write_body(others[0], kinds, kernel, numbers)
    for result, passed, pieces in zip(needed, kinds, results, strict=True):
        take_pieces(result, passed, pieces, kernel)


@lowers("scf.index_switch")
def switch(op: Any, kernel: Kernel) -> None:
    """One region for each number and one for all others; who takes which differs as the number does."""
    number = kernel.scalar(op.arg)
    numbers = [at for at, result in enumerate(op.results) if kernel.needs(result)]
    needed = [op.results[at] for at in numbers]
    kinds = [passing(op, result, kernel) for result in needed]
    results = [kind.made(result.name_hint) for kind, result in zip(kinds, needed, strict=True)]
    after = [piece for pieces in results for piece in pieces]
    heads = [f"case {case} {{" for case in op.cases.get_values()] + ["default {"]
    blocks = [region.block for region in (*op.case_regions, op.default_region)]
    types = f" -> {_types(after)}" if after else ""
    with kernel.writer.region(f"scf.index_switch %s{types}\n{heads[0]}", (number,), after):
        for head, block in zip(heads, blocks, strict=True):
            if block is not blocks[0]:
                kernel.writer.between(f"}}\n{head}")
            with kernel.indices.scope():
                _write_body(block, kinds, kernel, numbers)
                if not kinds:
                    write_yield(op, kinds, kernel)
    for result, passed, pieces in zip(needed, kinds, results, strict=True):
        take_pieces(result, passed, pieces, kernel)


def _in_range(ids: range, kernel: Kernel) -> Value:
    """Whether this subgroup is one of these."""
    return kernel.indices.holds("sg", sum(1 << number for number in ids if number < kernel.subgroups))


def _check_range(op: Any, ids: range, kernel: Kernel) -> None:
    """A value that goes into or out of the branch must be held by subgroup n as by the n-th of the range."""
    if ids.stop > kernel.subgroups:
        refuse(op, "range", f"is for the subgroups up to {ids.stop - 1}; the workgroup has {kernel.subgroups}")
    inside = set(op.walk())
    taken = {value for one in inside for value in one.operands if kernel.is_spread(value)}
    crossing = [value for value in taken if not _made_in(value, inside)]
    for value in (*crossing, *(result for result in op.results if kernel.is_spread(result))):
        here = coordinates(kernel.layout(op, value))
        if len(here) > 1 and not np.array_equal(here[ids.start : ids.stop], here[: len(ids)]):
            refuse(
                op,
                "range",
                f"is for the subgroups {ids.start} to {ids.stop - 1}, which hold a value of {value.type} from outside in "
                "another way than the layouts inside count them",
                f"it is held as {kernel.layout(op, value)}",
            )


def _made_in(value: SSAValue, inside: set[Operation]) -> bool:
    owner = value.owner
    return (owner.parent_op() if isinstance(owner, Block) else owner) in inside


@lowers("scf.yield")
def yields(op: Operation, kernel: Kernel) -> None:
    """Written by the operation around it."""
