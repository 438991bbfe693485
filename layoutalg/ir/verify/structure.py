"""The rules that every operation keeps: values are defined before they are used, blocks end in terminators.

>>> from layoutalg.ir import read_module
>>> list(use_problems(read_module("%c = arith.constant 16 : index"), set()))
[]
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import StringAttr, UnregisteredOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator

from layoutalg.ir.verify.registry import name_of

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
        before = _defined_before(region)
        for block in region.blocks:
            entered: list[SSAValue] = [*block.args, *before.get(block, ())]
            if graph:
                entered += [result for one in block.ops for result in one.results]
            entered = [value for value in entered if value not in outside]
            outside.update(entered)
            for one in block.ops:
                for number, operand in enumerate(one.operands):
                    if operand not in outside and one not in unreadable:
                        yield one, *_misuse(one, number, operand)
                        break
                if one.regions:
                    yield from _inside(one, outside, unreadable)
                if not graph and one.results:
                    outside.update(one.results)
                    entered += one.results
            outside.difference_update(entered)
            yield from _names(block) if graph else _end(operation, block)


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
        named = one.properties.get("sym_name") or one.attributes.get("sym_name")
        if isinstance(named, StringAttr):
            if named.data in taken:
                yield one, "structure.name", f"redefinition of symbol named '{named.data}'"
            taken.add(named.data)


_ENDED = ("func.func", "gpu.func", "scf.for", "scf.if", "scf.while")
"""Operations whose blocks end in a terminator."""


def _end(operation: Operation, block: Block) -> Iterator[Problem]:
    last = block.last_op
    if last is None or name_of(operation) not in _ENDED or isinstance(last, UnregisteredOp):
        return
    if not last.has_trait(IsTerminator) and not name_of(last).startswith("layoutalg."):
        yield last, "structure.terminator", f"block with no terminator, has '{name_of(last)}'"


def _defined_before(region: Region) -> dict[Block, set[SSAValue]]:
    """For each block the values of the blocks that dominate it."""
    blocks = list(region.blocks)
    if len(blocks) < 2:
        return {}
    everything = set(blocks)
    dominators = {block: {block} if number == 0 else everything for number, block in enumerate(blocks)}
    before: dict[Block, list[Block]] = {block: [] for block in blocks}
    for block in blocks:
        last = block.last_op
        for successor in () if last is None else last.successors:
            if successor in before:
                before[successor].append(block)
    changed = True
    while changed:
        changed = False
        for block in blocks[1:]:
            found = set(everything)
            for one in before[block]:
                found &= dominators[one]
            found.add(block)
            if found != dominators[block]:
                dominators[block], changed = found, True
    values: dict[Block, set[SSAValue]] = {}
    for block in blocks:
        defined = [*block.args, *(result for one in block.ops for result in one.results)]
        values[block] = set(defined)
    return {block: set().union(*(values[one] for one in dominators[block] - {block})) for block in blocks}
