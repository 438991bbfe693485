"""Whether all work-items take the same way: what a barrier needs of the control flow around it, and a shuffle of its subgroup.

`%lane` differs between the lanes of a subgroup, `%sg` between subgroups; a constant, the number of the workgroup and the
arguments of a kernel are the same for all. What is computed from values differs as they do:

    scf.if %i < %n                    all take it or none: barriers and shuffles may stand in it
    scf.if %sg == 0                   a whole subgroup takes it: shuffles may stand in it
    scf.if %lane < 3                  some lanes take it: neither may

>>> from layoutalg.ir import read_module
>>> module = read_module('''func.func @f(%n: index) {
...   %c0 = arith.constant 0 : index
...   %sg = gpu.subgroup_id : index
...   %first = arith.cmpi eq, %sg, %c0 : index
...   scf.if %first { gpu.barrier }
...   func.return }''')
>>> barrier = next(op for op in module.walk() if op.name == "gpu.barrier")
>>> Divergence(module.body.block.first_op).at(barrier)
'subgroup'

What loops carry and branches give differs as what becomes it, each for itself: a number that stands beside a tile in
`scf.while` is the same for all though the tile is not.

A value that is loaded is the same for all where its address is. What is not known to be the same counts as different.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from xdsl.ir import Block, Operation, SSAValue

from layoutalg.ir.dialects.xegpu.ranges import range_of

__all__ = ["Differs", "Divergence"]

Differs = Literal["nowhere", "subgroup", "lane"]
"""Between whom a value, or the way taken, differs: nobody, subgroups, or lanes of a subgroup too."""

_LEVELS: tuple[Differs, ...] = ("nowhere", "subgroup", "lane")
_SUBGROUPS = ("gpu.subgroup_id", "gpu.subgroup_reduce", "gpu.subgroup_broadcast")
_SAME = (
    "gpu.block_id", "gpu.block_dim", "gpu.grid_dim", "gpu.num_subgroups", "gpu.subgroup_size", "gpu.all_reduce",
    "gpu.cluster_id", "gpu.cluster_dim",
)  # fmt: skip
_FOLLOWING = ("arith", "math", "index", "vector", "memref", "scf", "affine", "builtin", "ub")
"""Dialects whose operations compute their results from their operands, the same for the same."""


class Divergence:
    """How values of a function differ between work-items, worked out once."""

    def __init__(self, function: Operation) -> None:
        self._function = function
        self._level: dict[SSAValue, int] = {}
        self._changed = True
        while self._changed:  # loops carry levels back to their beginning, at most twice for each loop around another
            self._changed = False
            for operation in function.walk():
                self._visit(operation)

    def of(self, value: SSAValue) -> Differs:
        """Between whom a value differs."""
        return _LEVELS[self._level.get(value, 0)]

    def at(self, operation: Operation) -> Differs:
        """Between whom it differs whether an operation is executed, or how often."""
        found, parent = self._between_blocks(operation), operation.parent_op()
        while parent is not None and parent is not self._function:
            found = max(found, self._way(parent))
            parent = parent.parent_op()
        return _LEVELS[found]

    def _between_blocks(self, operation: Operation) -> int:
        """How the ways between the function's own blocks differ, for whatever does not stand in the first one."""
        blocks = [block for region in self._function.regions for block in region.blocks]
        if len(blocks) <= 1:
            return 0
        around = operation.parent_block()
        while around is not None and around.parent_op() is not self._function:
            above = around.parent_op()
            around = None if above is None else above.parent_block()
        return 0 if around is blocks[0] else self._branches(blocks)

    def _branches(self, blocks: Sequence[Block]) -> int:
        """Between whom the numbers differ that decide where these blocks branch to."""
        ends = (block.last_op for block in blocks)
        decide = (end.operands[0] for end in ends if end is not None and len(end.successors) > 1 and end.operands)
        return self._most(decide)

    def _raise(self, value: SSAValue, level: int) -> None:
        if level > self._level.get(value, 0):
            self._level[value] = level
            self._changed = True

    def _most(self, values: Iterator[SSAValue]) -> int:
        return max((self._level.get(value, 0) for value in values), default=0)

    def _way(self, operation: Operation) -> int:
        """How the way through an operation with regions differs: by its operands, and by what its regions decide."""
        if operation.name in ("scf.if", "scf.for", "scf.index_switch", "affine.if"):
            count = {"scf.for": 3, "affine.if": len(operation.operands)}.get(operation.name, 1)
            deciding = operation.operands[:count]
            least = 0 if range_of(operation) is None else 1  # a branch for some subgroups
            return max(least, self._most(iter(deciding)))
        if operation.name == "scf.while":
            last = operation.regions[0].blocks[0].last_op if operation.regions[0].blocks else None
            return 2 if last is None else self._most(iter(last.operands[:1]))
        blocks = [block for region in operation.regions for block in region.blocks]
        if len(blocks) <= 1:
            return 0
        if operation.name == "scf.execute_region":
            return self._branches(blocks)
        return max(
            (self._most(iter(block.last_op.operands)) for block in blocks if block.last_op is not None), default=0
        )

    def _visit(self, operation: Operation) -> None:
        if operation is self._function:
            return
        self._jump(operation)
        passed = list(_passed(operation))
        if passed or operation.name == "scf.execute_region":
            way = self._way(operation)
            for value, sources in passed:
                self._raise(value, max(way, self._most(iter(sources))))
            return
        level = self._made(operation)
        for result in operation.results:
            self._raise(result, level)
        for block in (block for region in operation.regions for block in region.blocks):
            carried = max(level, self._way(operation))
            for argument in block.args:
                self._raise(argument, carried)

    def _jump(self, operation: Operation) -> None:
        """What a branch passes on; who came which way differs as its condition does."""
        around = operation.parent_region()
        if not operation.successors or around is None:
            return
        way = self._branches(list(around.blocks))
        start = len(operation.operands) - sum(len(block.args) for block in operation.successors)
        for block in operation.successors:
            for argument in block.args:
                self._raise(argument, max(way, self._level.get(operation.operands[start], 0)))
                start += 1

    def _made(self, operation: Operation) -> int:
        name = operation.name
        if name in _SAME:
            return 0
        if name in _SUBGROUPS:
            return 1
        if operation.regions:
            ends = (value for end in _ends(operation) for value in end.operands)
            return max(self._most(iter(operation.operands)), self._most(ends), self._way(operation))
        if not operation.results or name.partition(".")[0] not in _FOLLOWING or "atomic" in name:
            return 2 if operation.results else 0
        return self._most(iter(operation.operands))


def _passed(operation: Operation) -> Iterator[tuple[SSAValue, Sequence[SSAValue]]]:
    """What a loop carries and a branch gives: each value, and those that become it. Nothing of other operations."""
    blocks = [block for region in operation.regions for block in region.blocks]
    ends = [() if block.last_op is None else tuple(block.last_op.operands) for block in blocks]
    results = operation.results
    if operation.name == "scf.for" and len(blocks) == 1:
        body, first = blocks[0], operation.operands[3:]
        if len(body.args) - 1 == len(first) == len(results) == len(ends[0]):
            yield body.args[0], ()
            for number, value in enumerate(results):
                sources = (first[number], ends[0][number])
                yield value, sources
                yield body.args[1 + number], sources
    elif operation.name == "scf.while" and len(blocks) == 2:
        before, after = blocks
        if len(before.args) == len(operation.operands) == len(ends[1]) and len(after.args) == len(ends[0]) - 1:
            for number, argument in enumerate(before.args):
                yield argument, (operation.operands[number], ends[1][number])
            for number, value in enumerate(ends[0][1:]):
                yield after.args[number], (value,)
                yield results[number], (value,)
    elif operation.name in ("scf.if", "scf.index_switch", "scf.execute_region") and results:
        ends = [end for block, end in zip(blocks, ends, strict=True) if block.last_op and not block.last_op.successors]
        if all(len(end) == len(results) for end in ends):
            for number, value in enumerate(results):
                yield value, [end[number] for end in ends]


def _ends(operation: Operation) -> Iterator[Operation]:
    blocks: Iterator[Block] = (block for region in operation.regions for block in region.blocks)
    for block in blocks:
        if block.last_op is not None:
            yield block.last_op
