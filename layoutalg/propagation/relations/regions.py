"""Values that pass through regions: what a loop carries has one layout, whoever gives it."""

from __future__ import annotations

from typing import Any

from layoutalg.propagation.relations.relation import Relation, relates, same_shape

__all__: list[str] = []


@relates("scf.for")
def for_loop(op: Any) -> Relation:
    """First values and yielded values go into the arguments; argument and result are one."""
    body = op.body.block
    carried = list(zip(body.args[1:], op.results, strict=True))
    ends = body.last_op
    ties = [tie for number, (argument, _) in enumerate(carried) for tie in same_shape(op, 3 + number, argument)]
    if ends is not None:
        ties += [tie for number, (argument, _) in enumerate(carried) for tie in same_shape(ends, number, argument)]
    return Relation(tuple(ties), one=tuple(carried))


@relates("scf.if")
def branch(op: Any) -> Relation:
    """What both branches yield is the result."""
    ties = [
        tie
        for region in op.regions
        if region.blocks and region.block.last_op is not None
        for number, result in enumerate(op.results)
        for tie in same_shape(region.block.last_op, number, result)
    ]
    return Relation(tuple(ties))
