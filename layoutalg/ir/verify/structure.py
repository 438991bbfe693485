"""The rules that every operation keeps: values are defined before they are used, blocks end in terminators.

>>> from layoutalg.ir import read_module
>>> list(use_problems(read_module("%c = arith.constant 16 : index"), set()))
[]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from xdsl.dialects.builtin import StringAttr, UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator

from layoutalg.ir.assembly import property_of
from layoutalg.ir.verify.signatures import name_of

__all__ = ["use_problems"]

Problem = tuple[Operation, str, str]


def use_problems(module: Operation, unreadable: set[Operation]) -> Iterator[Problem]:
    """Operations whose operands are not defined before them; those that cannot be read are left out.

    >>> from xdsl.dialects.builtin import ModuleOp, f32
    >>> from xdsl.dialects.test import TestOp
    >>> from xdsl.ir import Block, Region
    >>> first = TestOp(result_types=[f32])
    >>> outer = TestOp(regions=[Region(Block([TestOp(operands=first.results), first]))])
    >>> [message for _, _, message in use_problems(ModuleOp([outer]), set())]
    ['operand #0 does not dominate this use']
    """
    yield from _inside(module, set(), unreadable)


def _inside(operation: Operation, visible: set[SSAValue], unreadable: set[Operation]) -> Iterator[Problem]:
    outside: set[SSAValue] = set() if operation.has_trait(IsolatedFromAbove) else visible
    graph = name_of(operation) in _GRAPHS or isinstance(operation, UnregisteredOp)
    for region in operation.regions:
        if len(region.blocks) == 1:
            entered: list[SSAValue] = []
            yield from _block(operation, region.blocks[0], outside, entered, unreadable, graph)
            outside.difference_update(entered)
        elif region.blocks:
            yield from _blocks(operation, region, outside, unreadable, graph)


def _blocks(
    operation: Operation, region: Region, outside: set[SSAValue], unreadable: set[Operation], graph: bool
) -> Iterator[Problem]:
    """The problems of a region of several blocks: a value is visible in the blocks that its own one dominates.

    Blocks are visited from the top of the tree of dominators down; what a block defines goes when the tree below it is done.
    """
    children = _dominated(region)
    reached = {one for below in children.values() for one in below} | {region.blocks[0]}
    visits: list[tuple[Block, list[SSAValue] | None]] = [(region.blocks[0], None)]
    while visits:
        block, defined = visits.pop()
        if defined is not None:
            outside.difference_update(defined)
            continue
        entered: list[SSAValue] = []
        yield from _block(operation, block, outside, entered, unreadable, graph)
        visits.append((block, entered))
        visits += [(child, None) for child in children.get(block, ())]
    lost = [block for block in region.blocks if block not in reached]
    if not lost:
        return
    # What no branch reaches is never executed: every value of the region is visible there, as LLVM has it.
    values = (value for block in region.blocks for value in _defined(block))
    everything = [value for value in values if value not in outside]
    outside.update(everything)
    for block in lost:
        yield from _block(operation, block, outside, [], unreadable, graph)
    outside.difference_update(everything)


def _block(
    operation: Operation,
    block: Block,
    outside: set[SSAValue],
    entered: list[SSAValue],
    unreadable: set[Operation],
    graph: bool,
) -> Iterator[Problem]:
    """The problems of a block; the values that it makes visible are added to `outside`, and listed in `entered`."""

    def enter(values: Iterable[SSAValue]) -> None:
        new = [value for value in values if value not in outside]
        outside.update(new)
        entered.extend(new)

    enter(_defined(block) if graph else block.args)
    for one in block.ops:
        for number, operand in enumerate(one.operands):
            if operand not in outside and one not in unreadable:
                yield one, *_misuse(one, number, operand)
                break
        if one.regions:
            yield from _inside(one, outside, unreadable)
        if not graph and one.results:
            enter(one.results)
    yield from _names(block) if graph else _end(operation, block)


def _defined(block: Block) -> list[SSAValue]:
    """The values that a block defines: its arguments, and the results of its operations."""
    return [*block.args, *(result for one in block.ops for result in one.results)]


def _dominated(region: Region) -> dict[Block, list[Block]]:
    """For each block those that it dominates and no block between them does; blocks that nothing reaches are left out."""
    import networkx

    nx: Any = networkx
    blocks = list(region.blocks)
    number = {block: at for at, block in enumerate(blocks)}
    graph = nx.DiGraph()
    graph.add_node(0)
    for at, block in enumerate(blocks):
        last = block.last_op
        graph.add_edges_from((at, number[one]) for one in (last.successors if last else ()) if one in number)
    found: dict[int, int] = nx.immediate_dominators(graph, 0)
    children: dict[Block, list[Block]] = {}
    for at, above in sorted(found.items(), reverse=True):
        if at:
            children.setdefault(blocks[above], []).append(blocks[at])
    return children


_GRAPHS = ("builtin.module", "gpu.module")
"""Operations in whose regions the order of the text means nothing."""


def _misuse(user: Operation, number: int, operand: SSAValue) -> tuple[str, str]:
    """What is wrong with an operand that is not visible where it is used."""
    owner = operand.owner
    home = owner if isinstance(owner, Block) else owner.parent
    around: Operation | None = user
    isolated = False
    while around is not None and around.parent is not home:
        around = around.parent_op()
        isolated = isolated or (around is not None and around.has_trait(IsolatedFromAbove))
    if around is not None and isolated:
        return "ssa.isolated", "using value defined outside the region"
    return "ssa.dominance", f"operand #{number} does not dominate this use"


def _names(block: Block) -> Iterator[Problem]:
    """Operations that have the name of one before them."""
    taken: set[str] = set()
    for one in block.ops:
        named = property_of(one, "sym_name")
        if isinstance(named, StringAttr):
            if named.data in taken:
                yield one, "structure.name", f"redefinition of symbol named '{named.data}'"
            taken.add(named.data)


_ENDED = ("func.func", "gpu.func", "tt.func", "scf.for", "scf.if", "scf.while")
"""Operations whose blocks end in a terminator."""


def _end(operation: Operation, block: Block) -> Iterator[Problem]:
    last = block.last_op
    if last is None or name_of(operation) not in _ENDED or isinstance(last, UnregisteredOp):
        return
    if not last.has_trait(IsTerminator) and not name_of(last).startswith("layoutalg."):
        yield last, "structure.terminator", f"block with no terminator, has '{name_of(last)}'"
