"""Regions of several blocks: every work-item has a place of its own, and they meet again at the lowest block.

A region of one block is its body. In one of several, a work-item is at one block at a time; a mask per block says who waits
there. The block that comes first in order runs next, for all who wait at it, and its branch passes them on. Loops are
contiguous in that order, with the exit behind them, so those who leave a loop early wait until the others are done: the
order is that of a weak topological ordering (Bourdoncle, "Efficient chaotic iteration strategies with widenings", 1993).

>>> from layoutalg.ir import read_module
>>> from layoutalg.simulate.machine import Machine
>>> module = read_module('''func.func @f(%n: i32) -> i32 {
...   %c1 = arith.constant 1 : i32
...   cf.br ^next(%n : i32)
... ^next(%k: i32):
...   %m = arith.addi %k, %c1 : i32
...   return %m : i32
... }''')
>>> compiling = Compiling(module, lanes=16, block=(16, 1, 1))
>>> step = compile_region(compiling, module.body.block.first_op.body)
>>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), None, slots=compiling.slots())
>>> step(run, [np.full((1, 1, 1), 41)])[0].item()
42
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NoReturn

import networkx as nx
import numpy as np
from xdsl.ir import Block, Operation, Region

from layoutalg.core.limits import MOST_OPERATIONS
from layoutalg.ir.dialects import cf
from layoutalg.ir.verify.structure import use_problems
from layoutalg.simulate.compiling import CompiledBlock, Compiling, Step, execute
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.masks import EVERYBODY, merge, merged
from layoutalg.simulate.symbols import symbol_around

__all__ = ["compile_function", "compile_region", "refuse_misplaced_uses"]

_Branches = list[tuple[int, Array | None, list[Any]]]


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A block of a graph: its body, the slots that other blocks read, and where its terminator goes."""

    body: CompiledBlock
    shared: tuple[int, ...]
    leave: Callable[[list[Any]], _Branches] | None


def refuse_misplaced_uses(function: Operation) -> None:
    """Refuse a function that uses a value where it is not visible.

    Raises:
        SimulationError: a value is used before it is defined, or outside its region.

    >>> from layoutalg.ir import read_module
    >>> refuse_misplaced_uses(read_module("func.func @f() { return }").body.block.first_op)
    """
    for user, rule, message in use_problems(function, set()):
        if rule.startswith("ssa."):
            named = _OPERAND.match(message)
            if named is None:
                fail(user, message, "run.undefined")
            number = int(named[1])
            name = user.operands[number].name_hint
            fail(user, f"{f'%{name}' if name else f'operand {number}'} is used before it is defined", "run.undefined")


_OPERAND = re.compile(r"operand #(\d+)")


def compile_region(compiling: Compiling, region: Region) -> Step:
    """A function that runs a region with values for the arguments of its first block.

    >>> from layoutalg.ir import read_module
    >>> module = read_module("func.func @f() { return }")
    >>> compiling = Compiling(module, lanes=16, block=(16, 1, 1))
    >>> callable(compile_region(compiling, module.body.block.first_op.body))
    True
    """
    if len(region.blocks) == 1:
        body = compiling.body(region.block)
        return lambda run, values: execute(run, body, values)
    order = _ordered(list(region.blocks))
    number = {block: place for place, block in enumerate(order)}
    bodies = [compiling.body(block) for block in order]
    places = [_Place(body, _shared(compiling, body), _leaving(body.terminator, number)) for body in bodies]
    # The values of all blocks live side by side.
    compiling.holds(sum(body.peak for body in bodies))
    return lambda run, values: _walk(run, places, values)


def compile_function(compiling: Compiling, operation: Operation, name: str) -> Step:
    """The function of this name that an operation calls, compiled once.

    Raises:
        SimulationError: there is no such function with a body, or it calls itself.

    >>> from layoutalg.ir import read_module
    >>> module = read_module("func.func @f() { return }")
    >>> compiling = Compiling(module, lanes=16, block=(16, 1, 1))
    >>> compile_function(compiling, module.body.block.first_op, "g")
    Traceback (most recent call last):
    layoutalg.simulate.machine.SimulationError: line 1: func.func: @g is not a function with a body in this module
    """
    called = symbol_around(operation, name)
    if called is None or not called.regions or not called.regions[0].blocks:
        fail(operation, f"@{name} is not a function with a body in this module")
    if called not in compiling.functions:
        compiling.functions[called] = None
        before, compiling.peak = compiling.peak, 0
        refuse_misplaced_uses(called)
        compiling.functions[called] = compile_region(compiling, called.regions[0]), compiling.peak
        compiling.counts[called] = _least(compiling, called.regions[0])
        compiling.peak = before
    found = compiling.functions[called]
    if found is None:
        fail(operation, f"@{name} calls itself, which is not simulated")
    step, size = found
    compiling.holds(size)
    count = compiling.counts[called]
    if count <= MOST_OPERATIONS:
        return step

    def refuse(run: Run, values: list[Any]) -> NoReturn:
        fail(
            operation, f"@{name} executes {count} operations; a launch of more than {MOST_OPERATIONS} is not simulated"
        )

    return refuse


def _least(compiling: Compiling, region: Region) -> int:
    """How many operations a region executes at least: those of its first block, of the shorter branch of each `scf.if`, and of
    the functions that they call."""
    total = 0
    for operation in region.blocks[0].ops if region.blocks else ():
        total += 1
        if operation.name in ("scf.if", "affine.if"):
            total += min(_least(compiling, branch) for branch in operation.regions)
        elif operation.name == "scf.execute_region":
            total += _least(compiling, operation.regions[0])
        callee: Any = operation.properties.get("callee") if operation.name == "func.call" else None
        called = None if callee is None else symbol_around(operation, callee.string_value())
        total += 0 if called is None else compiling.counts.get(called, 0)
    return total


def _walk(run: Run, places: Sequence[_Place], values: list[Any]) -> list[Any]:
    outer = run.active
    whole = np.broadcast_to(True if outer is None else outer, run.machine.items)
    waiting: dict[int, Array] = {0: whole}
    slots = run.slots
    for slot, value in zip(places[0].body.arguments, values, strict=True):
        slots[slot] = value
    results: list[Any] | None = None
    try:
        while waiting:
            at = min(waiting)
            here = waiting.pop(at)
            place = places[at]
            everybody = bool((here == whole).all())
            run.active = outer if everybody else here
            before = None if everybody else [slots[slot] for slot in place.shared]
            passed = execute(run, place.body, [slots[slot] for slot in place.body.arguments])
            if before is not None:
                for slot, old in zip(place.shared, before, strict=True):
                    slots[slot] = merge(here, slots[slot], old)
            if place.leave is None:
                results = passed if results is None else merged(here, passed, results)
                continue
            arriving: list[tuple[int, Array, list[Any]]] = []
            for target, condition, arguments in place.leave(passed):
                going = here if condition is None else here & condition
                if going.any():
                    arriving.append((target, going, arguments))
            for target, going, arguments in arriving:
                already = waiting.get(target)
                for slot, value in zip(places[target].body.arguments, arguments, strict=True):
                    slots[slot] = merge(EVERYBODY if (going == whole).all() else going, value, slots[slot])
                waiting[target] = going if already is None else already | going
    finally:
        run.active = outer
    return results or []


def _shared(compiling: Compiling, body: CompiledBlock) -> tuple[int, ...]:
    """The slots of a block's results that another block reads."""
    block = body.block
    return tuple(
        compiling.slot(result)
        for line in body.lines
        for result in line.operation.results
        if any(_outside(use.operation, block) for use in result.uses)
    )


def _outside(operation: Operation | None, block: Block) -> bool:
    while operation is not None and operation.parent is not block:
        operation = operation.parent_op()
    return operation is None


def _leaving(terminator: Operation | None, number: dict[Block, int]) -> Callable[[list[Any]], _Branches] | None:
    """Where a terminator goes, as a function of the values of its operands; None where it leaves the region."""
    match terminator:
        case cf.BranchOp():
            target = number[terminator.successor]
            return lambda values: [(target, None, values)]
        case cf.ConditionalBranchOp():
            yes, no = number[terminator.then_block], number[terminator.else_block]
            end = 1 + len(terminator.then_arguments)
            return lambda values: [(yes, values[0], values[1:end]), (no, ~values[0], values[end:])]
        case cf.SwitchOp():
            return _switching(terminator, number)
        case _:
            if terminator is not None and terminator.successors:
                fail(terminator, "this branch is not simulated")
            return None


def _switching(op: cf.SwitchOp, number: dict[Block, int]) -> Callable[[list[Any]], _Branches]:
    cases = [] if op.case_values is None else [int(value) for value in op.case_values.get_values()]
    targets = [number[block] for block in op.case_blocks]
    default = number[op.default_block]
    sizes = [len(op.default_operands), *(len(part) for part in op.case_operand)]
    ends = np.cumsum([1, *sizes]).tolist()

    def leave(values: list[Any]) -> _Branches:
        flag: Array = values[0]
        groups = [values[start:end] for start, end in pairwise(ends)]
        rest = np.ones_like(flag, dtype=np.bool_)
        found: _Branches = []
        for case, target, group in zip(cases, targets, groups[1:], strict=True):
            found.append((target, rest & (flag == case), group))
            rest = rest & (flag != case)
        return [*found, (default, rest, groups[0])]

    return leave


def _ordered(blocks: list[Block]) -> list[Block]:
    """The blocks that can be reached, with every loop in one piece behind its head."""
    graph: nx.DiGraph[Block] = nx.DiGraph()
    graph.add_nodes_from(blocks)
    for block in blocks:
        last = block.last_op
        if last is not None and not all(to in graph for to in last.successors):
            fail(last, "branches to a block that is not in its region")
        graph.add_edges_from((block, to) for to in (last.successors if last is not None else ()))
    reached, waiting = {blocks[0]}, [blocks[0]]
    while waiting:
        found = set(graph.successors(waiting.pop())) - reached
        reached |= found
        waiting += found
    position = {block: place for place, block in enumerate(blocks)}
    return _weak_order(graph.subgraph(reached).copy(), position)


def _weak_order(graph: nx.DiGraph[Block], position: dict[Block, int]) -> list[Block]:
    components = nx.condensation(graph)

    def first(component: int) -> int:
        return min(position[block] for block in components.nodes[component]["members"])

    order: list[Block] = []
    for component in nx.lexicographical_topological_sort(components, key=first):
        members: set[Block] = components.nodes[component]["members"]
        if len(members) == 1:
            order += members
            continue
        entered = [block for block in members if any(source not in members for source in graph.predecessors(block))]
        head = min(entered or members, key=position.__getitem__)
        inside = graph.subgraph(members).copy()
        inside.remove_edges_from([(source, head) for source in list(inside.predecessors(head))])
        order += _weak_order(inside, position)
    return order
