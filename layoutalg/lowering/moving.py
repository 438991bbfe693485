"""Operations that say of each element of the result which one of the operand it is: registers get other names.

The transpose of a 16x16 tile whose rows are in registers and whose columns are in lanes, with the result's rows in lanes, is no
operation at all. A broadcast is the same register several times. Where a work-item does not have what it needs, the operand is
exchanged first, to the layout that composition says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.flow.relations import relation_of
from layoutalg.lowering.exchanges import way_to
from layoutalg.lowering.fragments import Fragment, picked, vector_size
from layoutalg.lowering.kernels import refuse
from layoutalg.lowering.registers import coordinates
from layoutalg.lowering.rules import Kernel, lowers, registers_of
from layoutalg.lowering.shuffles import from_lane

__all__: list[str] = []


@lowers("vector.transpose", "vector.shape_cast", "vector.extract_strided_slice")
def renamed(op: Any, kernel: Kernel) -> None:
    """Each register of the result is one of the operand."""
    result = op.results[0]
    if not kernel.is_spread(op.operands[0]) or not kernel.is_spread(result):
        refuse(op, "operation", f"takes {op.operands[0].type} to {result.type}, which is not lowered")
    layout = kernel.layout(op, result)
    relation = kernel.ties(op).get((0, result))
    if relation is None:
        refuse(op, "operation", "has no known relation between its operand and its result")
    kernel.give(result, layout, kernel.take(op, 0, layout, relation, kernel.sizes(result, layout)))


@lowers("vector.extract")
def extract(op: Any, kernel: Kernel) -> None:
    """A part of the operand, or one of its elements, which every work-item then has."""
    result = op.results[0]
    if kernel.is_spread(result) or not kernel.is_spread(op.operands[0]):
        renamed(op, kernel)
        return
    relation = relation_of(op)
    if relation is None or not relation.uniform:
        refuse(op, "operation", "takes an element whose place is not known")
    place = relation.uniform[0].relation
    if place.dims or place.replicas:
        refuse(op, "place", "takes an element from a place that is known when the program runs, which is not lowered")
    fragment = kernel.fragment(op.operands[0])
    element = [place.offsets.get(f"d{dim}", 0) for dim in range(len(fragment.layout.dims))]
    kernel.scalars[result] = _told(op, kernel, fragment, element)


def _told(op: Any, kernel: Kernel, fragment: Fragment, element: list[int]) -> Value:
    """An element, told by the first lane that has it to its subgroup, and by that to the others."""
    here = coordinates(fragment.layout)
    owners = np.argwhere(np.all(here == np.array(element), axis=-1))
    subgroup, lane, register = (int(one) for one in owners[0])
    value = picked(kernel.writer, fragment.pieces, [register], (1,))[0]
    same = owners[owners[:, 2] == register]
    holders = {(int(one), int(other)) for one, other, _ in same}
    if len(holders) == here.shape[0] * here.shape[1]:
        return value
    if {(subgroup, one) for one in range(here.shape[1])} - holders:
        if way_to(op) == "lane":
            refuse(op, "divergence", "is executed by some lanes of a subgroup only, and all of them must take part")
        value = from_lane(kernel, value, lane)
    if here.shape[0] == 1:
        return value
    lanes = kernel.everyone()[1]
    each = Layout([[Factor(here.shape[0], 1, "sg")]], [lanes])
    everywhere = Layout([[Factor(here.shape[0], 1, "reg")]], [kernel.everyone()[0], lanes])
    return kernel.moved(op, Fragment(each, (value,)), everywhere, (1,) * here.shape[0])[subgroup]


@lowers("vector.deinterleave")
def parted(op: Any, kernel: Kernel) -> None:
    """Each result is some of the operand's elements."""
    ties = kernel.ties(op)
    for result in op.results:
        layout = kernel.layout(op, result)
        kernel.give(result, layout, kernel.take(op, 0, layout, ties[0, result], kernel.sizes(result, layout)))


@lowers("vector.bitcast")
def bitcast(op: Any, kernel: Kernel) -> None:
    """Several narrow elements are one wide one: a work-item that has the wide one has all of them, in their order."""
    source, result = op.operands[0], op.results[0]
    layout = kernel.layout(op, result)
    relation = kernel.ties(op).get((0, result))
    if relation is None or not kernel.is_spread(source):
        refuse(op, "operation", "has no known relation between its operand and its result")
    old, new = (int(value.type.get_shape()[-1]) for value in (source, result))
    element, count = str(result.type.element_type), registers_of(layout)
    sizes = kernel.sizes(result, layout)
    if old >= new:
        each, last = old // new, f"d{len(layout.dims) - 1}"
        parts = [kernel.take(op, 0, layout, _from(relation, last, place), (1,) * count) for place in range(each)]
        elements = [part[register] for register in range(count) for part in parts]
        pieces = picked(kernel.writer, elements, range(len(elements)), [size * each for size in sizes])
        made = [_seen_as(kernel, piece, size, element) for piece, size in zip(pieces, sizes, strict=True)]
        kernel.give(result, layout, made)
        return
    each = new // old
    wide = kernel.take(op, 0, layout, relation, (1,) * count)
    here = coordinates(layout)[..., -1] % each
    if bool(np.any(here != here[0, 0])):
        refuse(op, "bitcast", f"makes {each} elements of one, and work-items hold different ones of them: {layout}")
    seen: dict[Value, Value] = {}
    values: list[Value] = []
    for one, place in zip(wide, here[0, 0].tolist(), strict=True):
        if one not in seen:
            seen[one] = _seen_as(kernel, one, each, element)
        values += picked(kernel.writer, [seen[one]], [place], (1,))
    kernel.give(result, layout, picked(kernel.writer, values, range(count), sizes))


def _from(relation: Layout, last: str, place: int) -> Layout:
    """The relation to one of the narrow elements."""
    return Layout(relation.dims, offsets={**relation.offsets, last: place})


def _seen_as(kernel: Kernel, piece: Value, count: int, element: str) -> Value:
    """The same bits as `count` elements of a type."""
    if piece.size is None:
        form = f"vector.from_elements %s : vector<1x{piece.element}>"
        piece = kernel.writer.value(form, (piece,), piece.element, 1)
    form = f"vector.bitcast %s : {piece.kind} to vector<{count}x{element}>"
    made = kernel.writer.value(form, (piece,), element, count)
    return picked(kernel.writer, [made], [0], (1,))[0] if count == 1 else made


@lowers("vector.broadcast", "vector.splat")
def broadcast(op: Any, kernel: Kernel) -> None:
    """Of a number, the same in all registers; of a vector, its registers as often as they are needed."""
    result = op.results[0]
    if kernel.is_spread(op.operands[0]):
        renamed(op, kernel)
        return
    layout = kernel.layout(op, result)
    kernel.give(result, layout, repeated(kernel, kernel.scalar(op.operands[0]), layout, kernel.sizes(result, layout)))


def repeated(kernel: Kernel, value: Value, layout: Layout, sizes: tuple[int, ...]) -> list[Value]:
    """A number in all registers of a layout."""
    made: dict[int, Value] = {1: value}
    for size in sizes:
        if size not in made:
            form = f"vector.broadcast %s : {value.kind} to vector<{size}x{value.element}>"
            made[size] = kernel.writer.value(form, (value,), value.element, vector_size(size))
    return [made[size] for size in sizes]
