"""Operations that work element by element, and values that work-items make themselves.

Every operand that has the result's shape is spread as the result is. A scalar beside vectors (the condition of a select) is in
every work-item anyway.

>>> from layoutalg.ir import read_module
>>> text = '%c, %a = "test.op"() : () -> (i1, vector<8xf32>) %b = arith.select %c, %a, %a : vector<8xf32>'
>>> choice = read_module(text).body.block.last_op
>>> [(tie.number, str(tie.relation)) for tie in elementwise(choice).ties]
[(1, 'd0 = 8@d0'), (2, 'd0 = 8@d0')]

A constant that is not a splat is made as well as a splat, but every work-item needs its own elements of it:

>>> [constant(op).makes for op in read_module('''
... %a = arith.constant dense<1.0> : vector<2xf32>
... %b = arith.constant dense<[1.0, 2.0]> : vector<2xf32>''').ops]
['equal', 'listed']
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation

from layoutalg.flow.relations.relation import Relation, numbers_of, relates, same_shape, shape_of
from layoutalg.ir.assembly import property_of
from layoutalg.ir.operations.rows import names_with

__all__: list[str] = []


@relates(*names_with("ElementwiseMappable", "arith", "math", "vector"), "xegpu.truncf")
def elementwise(op: Operation) -> Relation:
    """Same coordinates, of every result."""
    return Relation(
        tuple(
            tie for result in op.results for number in range(len(op.operands)) for tie in same_shape(op, number, result)
        )
    )


@relates("arith.constant")
def constant(op: Operation) -> Relation:
    """Every work-item makes what it needs; of a list, its own elements."""
    if shape_of(op.results[0]) is None:
        return Relation()
    value: Any = property_of(op, "value")
    splat = isinstance(value, DenseIntOrFPElementsAttr) and value.is_splat()
    return Relation(makes="equal" if splat else "listed")


@relates("ub.poison", "tensor.empty", "tensor.splat", "vector.splat")
def the_same_everywhere(op: Operation) -> Relation:
    """One scalar, or nothing in particular."""
    return Relation(makes="equal")


@relates("vector.step", "vector.create_mask", "tensor.generate")
def counted(op: Operation) -> Relation:
    """An element follows from its position."""
    return Relation(makes="counted")


@relates("vector.constant_mask")
def constant_mask(op: Any) -> Relation:
    """True in a corner; everywhere, or nowhere, if that is all or nothing of the vector."""
    corner, shape = numbers_of(op.mask_dim_sizes) or (), shape_of(op.results[0])
    return Relation(makes="equal" if shape is None or corner == shape or 0 in corner else "counted")


@relates("vector.from_elements", "tensor.from_elements")
def from_elements(op: Operation) -> Relation:
    """Every work-item has the scalars, and takes those that it needs."""
    return Relation(makes="equal" if len(set(op.operands)) == 1 else "listed")
