"""Values that pass through regions, branches and calls: what a loop carries has one layout, whoever gives it.

The argument of a loop's body and its result are one value. What goes in at the start and what is yielded may come in another
layout, and is converted there:

>>> from layoutalg.ir import read_module
>>> module = read_module('''%n, %x = "test.op"() : () -> (index, vector<8xf32>)
... %y = scf.for %i = %n to %n step %n iter_args(%a = %x) -> (vector<8xf32>) {
...   %b = math.exp %a : vector<8xf32>
...   scf.yield %b : vector<8xf32>
... }''')
>>> relation = for_loop(list(module.ops)[1])
>>> [(tie.user.name, tie.number) for tie in relation.ties], [len(group) for group in relation.one]
([('scf.for', 3), ('scf.yield', 0)], [2])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.ir import Block, Operation, Region, SSAValue

from layoutalg.flow.relations.relation import Relation, Tie, relates, relation_of, same_shape, shape_of

__all__ = ["CALLS"]

CALLS = ("func.call", "tt.call")
"""Calls of a function by its name."""


def _passed(user: Operation, first: int, values: Sequence[SSAValue]) -> list[Tie]:
    """Operands from number `first` on become these values, one after the other."""
    count = min(len(values), len(user.operands) - first)
    return [tie for at in range(count) for tie in same_shape(user, first + at, values[at])]


def _yielded(regions: Iterable[Region], results: Sequence[SSAValue], names: tuple[str, ...]) -> list[Tie]:
    """What the blocks of these regions end with becomes the results."""
    ends = (block.last_op for region in regions for block in region.blocks)
    return [tie for end in ends if end is not None and end.name in names for tie in _passed(end, 0, results)]


def _pairs(left: Sequence[SSAValue], right: Sequence[SSAValue]) -> tuple[tuple[SSAValue, ...], ...]:
    return tuple(zip(left, right, strict=False))


@relates("scf.for", "affine.for")
def for_loop(op: Any) -> Relation:
    """First values and yielded values go into the arguments; argument and result are one."""
    body: Block = op.regions[0].block
    carried = body.args[1:]
    first = len(op.operands) - len(op.results)
    ties = _passed(op, first, carried) + _yielded(op.regions, carried, ("scf.yield", "affine.yield"))
    return Relation(tuple(ties), one=_pairs(carried, op.results))


@relates("scf.while")
def while_loop(op: Any) -> Relation:
    """First and yielded values go into the first region; what its condition passes on is the second's argument and the
    result."""
    before, after = (region.block for region in op.regions)
    ties = _passed(op, 0, before.args)
    condition = before.last_op
    if condition is not None:
        ties += _passed(condition, 1, after.args)
    ties += _yielded(op.regions[1:], before.args, ("scf.yield",))
    return Relation(tuple(ties), one=_pairs(after.args, op.results))


@relates("scf.if", "scf.index_switch", "scf.execute_region", "affine.if")
def branch(op: Any) -> Relation:
    """What every branch yields is the result."""
    return Relation(tuple(_yielded(op.regions, op.results, ("scf.yield", "affine.yield"))))


@relates("scf.forall")
def forall(op: Any) -> Relation:
    """The outputs go into the last arguments, which are the results; what a step inserts is a part of them."""
    body: Block = op.regions[0].block
    shared = body.args[len(body.args) - len(op.results) :] if op.results else ()
    first = len(op.operands) - len(op.results)
    return Relation(tuple(_passed(op, first, shared)), one=_pairs(shared, op.results))


@relates("scf.parallel")
def parallel(op: Any) -> Relation:
    """First values are combined with what every step reduces."""
    ties = _passed(op, len(op.operands) - len(op.results), op.results)
    return Relation(tuple(ties + _yielded(op.regions, op.results, ("scf.reduce",))))


@relates("scf.reduce")
def reduce(op: Any) -> Relation:
    """Both arguments of a combination, and what it returns, have one layout."""
    blocks = [region.block for region in op.regions]
    ties = [
        tie
        for number, block in enumerate(blocks)
        for argument in block.args
        for tie in same_shape(op, number, argument)
    ]
    for block in blocks:
        end = block.last_op
        if end is not None:
            ties += _passed(end, 0, block.args[:1])
    return Relation(tuple(ties))


@relates("iree_gpu.barrier_region")
def barrier_region(op: Any) -> Relation:
    """The inputs are the arguments of the region; what it yields is the result."""
    ties = _passed(op, 0, op.regions[0].block.args)
    return Relation(tuple(ties + _yielded(op.regions, op.results, ("iree_gpu.yield",))))


@relates("cf.br")
def jump(op: Any) -> Relation:
    """The operands are the arguments of the block."""
    return Relation(tuple(_passed(op, 0, op.successors[0].args)))


@relates("cf.cond_br")
def conditional_jump(op: Any) -> Relation:
    """The operands of either way are the arguments of its block."""
    taken, other = (block.args for block in op.successors)
    ties = _passed(op, 1, taken) + _passed(op, 1 + len(taken), other)
    return Relation(tuple(ties))


@relates("cf.switch")
def switch(op: Any) -> Relation:
    """The operands of every way are the arguments of its block."""
    ties: list[Tie] = []
    first = 1
    for block in op.successors:
        ties += _passed(op, first, block.args)
        first += len(block.args)
    return Relation(tuple(ties))


@relates(*CALLS)
def call(op: Any) -> Relation | None:
    """The operands are the arguments of the function; what it returns, the results. None of a function without a body."""
    callee = _function(op, str(op.callee.root_reference.data))
    if callee is None or not callee.regions[0].blocks:
        return None
    ties = _passed(op, 0, callee.regions[0].blocks[0].args)
    ties += _yielded(callee.regions, op.results, (f"{op.name.partition('.')[0]}.return",))
    return Relation(calls=tuple(ties))


def _function(op: Operation, name: str) -> Operation | None:
    """The function of this name around an operation."""
    from xdsl.traits import SymbolTable

    around = op.parent_op()
    while around is not None:
        if around.has_trait(SymbolTable):
            found = SymbolTable.lookup_symbol(around, name)
            if found is not None:
                return found
        around = around.parent_op()
    return None


@relates(
    "func.func", "func.return", "gpu.func", "gpu.return", "tt.func", "tt.return", "gpu.yield", "scf.yield", "scf.condition",
    "scf.reduce.return", "scf.forall.in_parallel", "affine.yield", "iree_gpu.yield", "vector.yield", "tensor.yield",
    "builtin.module", "gpu.module", "tensor.parallel_insert_slice", "vector.print",
)  # fmt: skip
def said_elsewhere(op: Operation) -> Relation:
    """What ends a region is tied by the operation that the region belongs to; arguments of functions are free."""
    return Relation()


@relates("vector.mask")
def mask(op: Any) -> Relation:
    """What the masked operation makes is the result, where the mask is set; elsewhere it is the other operand."""
    ties, uniform = _yielded(op.regions, op.results, ("vector.yield",)), list[Tie]()
    for result in op.results:
        ties += [tie for number in range(1, len(op.operands)) for tie in same_shape(op, number, result)]
        if shape_of(op.operands[0]) == shape_of(result):
            ties += same_shape(op, 0, result)
    inner = op.regions[0].block.first_op
    relation = None if inner is None or len(op.results) != 1 else relation_of(inner)
    if relation is not None and not any(tie.user is op and tie.number == 0 for tie in ties):
        ties += _of_mask(op, relation.ties)
        uniform += _of_mask(op, relation.uniform)
    return Relation(tuple(ties), uniform=tuple(uniform))


def _of_mask(op: Any, inner: Iterable[Tie]) -> list[Tie]:
    """A mask is needed where the operand of the masked operation is that has its shape."""
    shape = shape_of(op.operands[0])
    found = [tie for tie in inner if shape_of(tie.operand) == shape][:1]
    return [Tie(op, 0, op.results[0], tie.relation, tie.reach, tie.combines) for tie in found]
