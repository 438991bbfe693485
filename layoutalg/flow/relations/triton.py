"""Triton's operations: which elements of the operands one of the result is made of.

Each tensor of Triton has its layout in its type. What moves elements says so (`ttg.convert_layout`, shared memory); everything
else works with what each thread holds, and a product with what its warp holds.

>>> from layoutalg.ir import read_module
>>> row = "tensor<64xf32>"
>>> text = f"%a = tt.make_range {{end = 64 : i32, start = 0 : i32}} : {row} "
>>> text += f"%b = tt.expand_dims %a {{axis = 1 : i32}} : {row} -> tensor<64x1xf32>"
>>> [tie] = expand_dims(read_module(text).body.block.last_op).ties
>>> print(tie.relation, tie.reach)
d0 = 64@d0, d1 = 1 work-item
"""

from __future__ import annotations

from typing import Any

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.flow.relations.contractions import contracted
from layoutalg.flow.relations.reductions import reduced, running
from layoutalg.flow.relations.relation import Relation, Tie, numbers_of, related, relates, same_shape, shape_of
from layoutalg.flow.relations.shapes import broadcast_from, reshaped, transposed

__all__: list[str] = []


@relates(
    "tt.addptr", "tt.bitcast", "tt.clampf", "tt.fp_to_fp", "tt.int_to_ptr", "tt.ptr_to_int", "tt.mulhiui",
    "tt.precise_divf", "tt.precise_sqrt", "tt.extern_elementwise", "tt.elementwise_inline_asm", "tt.map_elementwise",
    "tt.load", "tt.atomic_cas", "tt.atomic_rmw", "amdg.buffer_load", "amdg.buffer_atomic_cas", "amdg.buffer_atomic_rmw",
    "amdg.in_thread_transpose", "amdg.scaled_upcast_fp8", "ttng.warp_group_dot_wait",
)  # fmt: skip
def elementwise(op: Any) -> Relation:
    """Each thread works with its own elements; what is not a tensor is everybody's."""
    ties = [tie for result in op.results for at in range(len(op.operands)) for tie in same_shape(op, at, result)]
    makes = None if any(shape_of(operand) is not None for operand in op.operands) else "equal"
    return Relation(tuple(ties), makes=makes)


@relates("tt.store", "amdg.buffer_store", "ttg.async_copy_global_to_local", "amdg.buffer_load_to_local")
def store(op: Any) -> Relation:
    """Pointers, mask and values of one element are one thread's."""
    tensors = [at for at, operand in enumerate(op.operands) if shape_of(operand) is not None]
    if not tensors:
        return Relation()
    stored = tensors[0]
    ties = [
        Tie(op, at, tie.result, tie.relation, beside=stored)
        for at in tensors[1:]
        for tie in same_shape(op, at, op.operands[stored])
    ]
    return Relation(tuple(ties))


@relates("tt.splat", "tt.make_range")
def made(op: Any) -> Relation:
    """Every thread makes what it holds."""
    return Relation(makes="equal" if op.operands else "counted")


@relates("tt.expand_dims", "tt.reshape")
def reshape(op: Any) -> Relation | None:
    """The same elements, row-major; `allow_reorder` leaves it to the compiler which goes where."""
    source, shape = shape_of(op.operands[0]), shape_of(op.results[0])
    if source is None or shape is None or "allow_reorder" in op.properties:
        return Relation()
    relation = reshaped(source, shape)
    return None if relation is None else Relation((Tie(op, 0, op.results[0], relation),))


expand_dims = reshape


@relates("tt.broadcast", "ttig.broadcast")
def broadcast(op: Any) -> Relation:
    """Dimensions of size 1 are repeated."""
    source, shape = shape_of(op.operands[0]), shape_of(op.results[0])
    if source is None or shape is None:
        return Relation()
    return Relation((Tie(op, 0, op.results[0], broadcast_from(source, shape)),))


@relates("tt.trans")
def trans(op: Any) -> Relation | None:
    """Dimension d of the result is dimension order[d] of the operand."""
    source, order = shape_of(op.operands[0]), numbers_of(op.order)
    if source is None:
        return Relation()
    if order is None or sorted(order) != list(range(len(source))):
        return None
    return Relation((Tie(op, 0, op.results[0], transposed(source, order)),))


def _without_last(shape: tuple[int, ...]) -> list[list[Factor]]:
    return [[Factor(size, 1, f"d{dim}")] for dim, size in enumerate(shape)]


@relates("tt.join")
def join(op: Any) -> Relation:
    """Both elements of a pair are one thread's."""
    source = shape_of(op.operands[0])
    if source is None:
        return Relation()
    pair = related([*_without_last(source), [Factor(2)]], len(source))
    return Relation(tuple(Tie(op, at, op.results[0], pair) for at in (0, 1)))


@relates("tt.split")
def split(op: Any) -> Relation:
    """Each result has one element of every pair."""
    source = shape_of(op.operands[0])
    if source is None:
        return Relation()
    kept, last = _without_last(source[:-1]), f"d{len(source) - 1}"
    ties = [
        Tie(op, 0, result, related(kept, len(source), offsets=[(last, at)] if at else ()))
        for at, result in enumerate(op.results)
    ]
    return Relation(tuple(ties))


def _axis(op: Any) -> int:
    return int(op.properties["axis"].value.data)


@relates("tt.reduce")
def reduce(op: Any) -> Relation | None:
    """The elements along the axis, wherever they are in the workgroup, are combined."""
    source, axis = shape_of(op.operands[0]), _axis(op)
    if source is None or not 0 <= axis < len(source):
        return None
    ties = tuple(
        Tie(op, at, result, reduced(source, (axis,)), reach="workgroup", combines=True)
        for at in range(len(op.operands))
        for result in op.results
    )
    return Relation(ties) if len(source) > 1 else Relation(uniform=ties)


@relates("tt.scan")
def scan(op: Any) -> Relation | None:
    """The elements along the axis, wherever they are in the workgroup."""
    source, axis = shape_of(op.operands[0]), _axis(op)
    if source is None or not 0 <= axis < len(source):
        return None
    relation = running(source, axis)
    return Relation(
        tuple(Tie(op, at, one, relation, reach="workgroup") for at in range(len(op.operands)) for one in op.results)
    )


@relates("tt.gather")
def gather(op: Any) -> Relation:
    """An index and what it finds are one thread's; the source is read from wherever it is."""
    return Relation(same_shape(op, 1, op.results[0]))


@relates("tt.dot", "tt.dot_scaled", "ttng.warp_group_dot")
def dot(op: Any) -> Relation | None:
    """A row of the first matrix and a column of the second, in the lanes of a warp; the accumulator is each thread's own.

    An operand in shared memory is everybody's. Scales are not looked at.
    """
    result = op.results[0]
    shape = shape_of(result)
    if shape is None:
        return Relation()
    batch = tuple(range(len(shape) - 2))
    row, column, inner = len(batch), len(batch) + 1, len(batch) + 2
    sides = ((*batch, row, inner), (*batch, inner, column))
    ties: list[Tie] = []
    for at, dims in enumerate(sides):
        source = shape_of(op.operands[at])
        if source is None:
            continue
        sizes = (*shape, source[dims.index(inner)])
        if tuple(sizes[dim] for dim in dims) != source:
            if op.name == "tt.dot_scaled":
                continue  # two elements of four bits in a byte
            return None
        relation: Layout = contracted((dims,), (*batch, row, column), sizes)[0]
        ties.append(Tie(op, at, result, relation, reach="subgroup"))
    return Relation((*ties, *same_shape(op, 2, result)))


@relates(
    "amdg.extract_slice", "tt.assert", "tt.print", "tt.histogram", "tt.unsplat",
    "tt.descriptor_gather", "tt.descriptor_load", "tt.descriptor_reduce", "tt.descriptor_scatter", "tt.descriptor_store",
    "ttg.local_alloc", "ttg.local_load", "ttg.local_store", "ttg.local_gather", "ttg.local_scatter",
    "ttg.local_atomic_scatter_rmw", "amdg.local_load_packed_transposed", "ttg.fp4_to_fp", "tt.reduce.return",
    "tt.scan.return", "tt.map_elementwise.return", "ttng.tmem_alloc", "ttng.tmem_load", "ttng.tmem_store",
    "ttng.async_shared_store", "ttng.async_tma_gather", "ttng.async_tma_scatter", "ttig.descriptor_gather",
    "ttig.descriptor_scatter", "ttig.prefetch", "ttig.sub_group_transpose",
)  # fmt: skip
def through_memory(op: Any) -> Relation:
    """What goes through memory, or out of the kernel, ties no layouts."""
    return Relation()
