"""XeGPU's matrix product on all subgroups at once.

The owner maps of the operands' layouts put the fragments together to matrices, which are multiplied, and the fragment map
of C takes the product apart again. By hand: A is 8x16 in 16 lanes, `d0 = 8@reg, d1 = 16@lane`, so A[r, c] is register r of
lane c.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from layoutalg.hardware import dpas
from layoutalg.ir.dialects.xegpu import block
from layoutalg.simulate.compiling import Compiling, Step, compiled_by
from layoutalg.simulate.machine import Array, Run, fail
from layoutalg.simulate.numerics import dpas_chain

__all__: list[str] = []


@compiled_by(block.DpasOp)
def matrix_product(op: block.DpasOp, compiling: Compiling) -> Step:
    """`xegpu.dpas` of fragments."""
    types = (op.lhs.type, op.rhs.type, op.result.type)
    vectors = [kind for kind in types if isa(kind, VectorType[Attribute]) and kind.get_num_dims() == 1]
    if len(vectors) != 3:
        fail(op, "a dpas of other than 1-D vectors is not simulated; at lane level they are 1-D")
    names = [str(vector.element_type) for vector in vectors]
    lengths = [vector.element_count() for vector in vectors]
    if op.acc is not None and op.acc.type != op.result.type:
        fail(op, f"the accumulator is {op.acc.type} and the result {op.result.type}")
    if names[0] not in ("f16", "bf16") or names[1] != names[0] or names[2] != "f32":
        fail(op, f"a product of {names[0]} and {names[1]} in {names[2]} is not simulated; of f16 or bf16 in f32 is")
    unit = dpas(names[0], names[1], names[2], target=compiling.target, m=lengths[2])
    if compiling.lanes != unit.subgroup_size:
        fail(op, f"a subgroup of {compiling.lanes} lanes; dpas on {compiling.target} needs {unit.subgroup_size}")
    for what, layout, length in zip("ABC", (unit.a, unit.b, unit.c), lengths, strict=True):
        if layout.axes["reg"] != length:
            shape = "x".join(map(str, layout.shape))
            fail(op, f"{what} has {length} elements per lane; its {shape} block over {compiling.lanes} lanes has "
                     f"{layout.axes['reg']}")  # fmt: skip
    compiling.costs(op, unit.m * unit.n * unit.k // unit.subgroup_size)
    held = unit.c.fragment_map()[0]

    def step(run: Run, values: list[Any]) -> tuple[Array]:
        lanes = [run.machine.spread(value) for value in values]
        a, b = _assemble(lanes[0], unit.a), _assemble(lanes[1], unit.b)
        shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), unit.m, unit.n)
        acc = _assemble(lanes[2], unit.c) if len(lanes) > 2 else np.zeros(shape, np.float32)
        product = dpas_chain(a, b, acc)
        return (product[..., held[..., 0], held[..., 1]],)

    return step


def _assemble(fragments: Array, layout: Any) -> Array:
    """The matrix that the fragments are pieces of: [.., lane, register] to [.., row, column]."""
    return fragments[..., layout.owner_map("lane"), layout.owner_map("reg")]
