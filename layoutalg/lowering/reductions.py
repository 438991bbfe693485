"""Reductions: in each work-item first, then across lanes by shuffles, then across subgroups through shared memory.

The rows of a 32x32 tensor, of which each of 4 subgroups has 8 and a lane two columns: every lane adds its two elements of a
row, then lanes 8, 4, 2 and 1 apart add theirs, and all have the sum. Where subgroups have parts of a row, the parts (a tensor
with one more dimension, along which there are subgroups) are exchanged, so that each has all parts of the rows that it needs.

The order is always the same: registers in their order, then the bits of the lane from the highest, then the subgroups; at last
the accumulator.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.flow.relations import settled, shape_of
from layoutalg.lowering.exchanges import way_to
from layoutalg.lowering.fragments import Fragment, picked, piece_sizes
from layoutalg.lowering.kernels import refuse
from layoutalg.lowering.registers import coordinates
from layoutalg.lowering.rules import Kernel, lowers, registers_of
from layoutalg.lowering.shuffles import from_distance

__all__ = ["Parts", "combined_as", "parts_of"]

_KINDS = {
    "add": ("addi", "addf"),
    "mul": ("muli", "mulf"),
    "minui": ("minui", ""),
    "minsi": ("minsi", ""),
    "maxui": ("maxui", ""),
    "maxsi": ("maxsi", ""),
    "and": ("andi", ""),
    "or": ("ori", ""),
    "xor": ("xori", ""),
    "minimumf": ("", "minimumf"),
    "maximumf": ("", "maximumf"),
    "minnumf": ("", "minnumf"),
    "maxnumf": ("", "maxnumf"),
}
"""The operation of arith that combines two integers, or two floats."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a reduction of a layout leaves to be combined.

    `groups` are the registers of the operand that each register of `layout` is combined of. `lanes` are the distances (powers
    of two) over which lanes combine theirs, the largest first. `layout` is that of the parts: its last dimensions are the
    result's, and dimensions before them count the subgroups and lanes that still have parts of their own.
    """

    layout: Layout
    groups: tuple[tuple[int, ...], ...]
    lanes: tuple[int, ...]
    across: int
    """How many dimensions of `layout` are parts that are yet to be combined."""


@lru_cache(maxsize=1 << 10)
def parts_of(source: Layout, reduced: tuple[int, ...]) -> Parts:
    """How the registers of a layout combine when some of its dimensions are reduced.

    >>> parts = parts_of(Layout.parse("d0 = 2@reg:2, d1 = 2@reg 16@lane"), (1,))
    >>> print(parts.layout, parts.groups, parts.lanes, parts.across)
    d0 = 2@reg | replicas 16@lane ((0, 1), (2, 3)) (8, 4, 2, 1) 0
    >>> print(parts_of(Layout.parse("d0 = 16@lane, d1 = 4@sg 2@reg"), (1,)).layout)
    d0 = 4@sg, d1 = 16@lane
    """
    kept = [dim for dim in range(len(source.dims)) if dim not in reduced]
    gone = [factor for dim in reduced for factor in source.dims[dim] if factor.extent != 1]
    steps: list[int] = []
    left: list[Factor] = [factor for factor in gone if factor.axis == "sg"]
    copies = list(source.replicas)
    for factor in gone:
        extent, stride = cast("int", factor.extent), cast("int", factor.stride)
        if factor.axis == "lane" and extent & (extent - 1) == 0 and stride & (stride - 1) == 0:
            steps += [stride << bit for bit in range(extent.bit_length() - 1)]
            copies.append(factor)
        elif factor.axis == "lane":
            left.append(factor)
    layout = settled(Layout([*([factor] for factor in left), *(source.dims[dim] for dim in kept)], copies))
    here = coordinates(source)[0, 0]
    first = coordinates(layout)[0, 0][:, len(left) :]
    # Registers that are the same element of the result go together, in their order.
    numbers = {tuple(row): number for number, row in enumerate(first.tolist())}
    groups: list[list[int]] = [[] for _ in range(len(first))]
    seen: set[tuple[int, ...]] = set()
    for register, row in enumerate(here.tolist()):
        if tuple(row) not in seen:  # a copy in another register is not combined twice
            seen.add(tuple(row))
            groups[numbers[tuple(row[dim] for dim in kept)]].append(register)
    return Parts(layout, tuple(map(tuple, groups)), tuple(sorted(steps, reverse=True)), len(left))


def combined_as(op: Any, kind: str, element: str) -> str:
    """The operation of arith for a kind of reduction. Raises `Refused` where the elements have none."""
    integers, floats = _KINDS.get(kind, ("", ""))
    found = integers if element.startswith("i") else floats
    if not found:
        refuse(op, "kind", f"combines {element} by {kind}, which is not known")
    return found


@lowers("vector.multi_reduction")
def multi_reduction(op: Any, kernel: Kernel) -> None:
    """In registers, across lanes, across subgroups, and the accumulator at last."""
    source, result = op.operands[0], op.results[0]
    element = str(source.type.element_type)
    kind = combined_as(op, str(op.kind.data.value), element)
    reduced = tuple(int(dim) for dim in op.reduction_dims.get_values())
    fragment = kernel.fragment(source)
    parts = parts_of(fragment.layout, reduced)
    pieces = _across_lanes(op, kernel, _in_registers(kernel, fragment, parts, kind), parts, kind)
    shape = shape_of(result)
    if shape is None:
        _scalar(op, kernel, pieces, parts, kind)
        return
    layout = kernel.layout(op, result)
    sizes = kernel.sizes(result, layout)
    if parts.across:
        pieces = _across_subgroups(op, kernel, pieces, parts, layout, sizes, kind)
    else:
        pieces = kernel.moved(op, Fragment(parts.layout, tuple(pieces)), layout, sizes)
    before = kernel.needed(op, 1, layout, sizes)
    made = [kernel.indices.binary(kind, one, other) for one, other in zip(before, pieces, strict=True)]
    kernel.give(result, layout, made)


@lowers("vector.reduction")
def reduction(op: Any, kernel: Kernel) -> None:
    """A vector of one dimension to a number, which every work-item gets."""
    source, result = op.operands[0], op.results[0]
    if not kernel.is_spread(source):
        kernel.pass_on(op)
        return
    kind = combined_as(op, str(op.kind.data.value), str(result.type))
    fragment = kernel.fragment(source)
    parts = parts_of(fragment.layout, (0,))
    pieces = _across_lanes(op, kernel, _in_registers(kernel, fragment, parts, kind), parts, kind)
    _scalar(op, kernel, pieces, parts, kind)


def _in_registers(kernel: Kernel, fragment: Fragment, parts: Parts, kind: str) -> list[Value]:
    """The registers of each group combined: vector by vector, the first of all groups, then the second."""
    sizes = piece_sizes(len(parts.groups))
    deep = len(parts.groups[0])
    found = picked(kernel.writer, fragment.pieces, [group[0] for group in parts.groups], sizes)
    if len(parts.groups) == 1 and deep > 1:
        return [_folded(kernel, fragment, parts.groups[0], kind)]
    for place in range(1, deep):
        more = picked(kernel.writer, fragment.pieces, [group[place] for group in parts.groups], sizes)
        found = [kernel.indices.binary(kind, one, other) for one, other in zip(found, more, strict=True)]
    return found


def _folded(kernel: Kernel, fragment: Fragment, registers: tuple[int, ...], kind: str) -> Value:
    """Single registers, one after the other."""
    values = picked(kernel.writer, fragment.pieces, registers, (1,) * len(registers))
    found = values[0]
    for value in values[1:]:
        found = kernel.indices.binary(kind, found, value)
    return found


def _across_lanes(op: Any, kernel: Kernel, pieces: list[Value], parts: Parts, kind: str) -> list[Value]:
    """Every lane combines its parts with those of the lane at each distance, so that all have the whole."""
    if parts.lanes and way_to(op) == "lane":
        refuse(op, "divergence", "is executed by some lanes of a subgroup only, and all of them must take part")
    for step in parts.lanes:
        pieces = [kernel.indices.binary(kind, piece, from_distance(kernel, piece, step)) for piece in pieces]
    return pieces


def _across_subgroups(
    op: Any, kernel: Kernel, pieces: list[Value], parts: Parts, layout: Layout, sizes: tuple[int, ...], kind: str
) -> list[Value]:
    """The parts are exchanged, so that a work-item has all parts of what it needs; then they are combined in its registers."""
    count = 1
    for dim in range(parts.across):
        count *= cast("int", parts.layout.shape[dim])
    registers = registers_of(layout)
    more: list[list[Factor]] = []
    stride = registers * count
    for dim in range(parts.across):
        extent = cast("int", parts.layout.shape[dim])
        stride //= extent
        more.append([Factor(extent, stride, "reg")])
    # Whoever holds copies of the result holds copies of all parts.
    whole = Layout([*more, *layout.dims], layout.replicas)
    each = kernel.moved(op, Fragment(parts.layout, tuple(pieces)), whole, sizes * count)
    found = each[: len(sizes)]
    for place in range(1, count):
        others = each[place * len(sizes) : (place + 1) * len(sizes)]
        found = [kernel.indices.binary(kind, one, other) for one, other in zip(found, others, strict=True)]
    return found


def _scalar(op: Any, kernel: Kernel, pieces: list[Value], parts: Parts, kind: str) -> None:
    """Everything reduced to one number, which every work-item gets."""
    value = pieces[0]
    if parts.across:
        everyone = Layout([], [factor for factor in kernel.everyone() if factor.extent != 1])
        [value] = _across_subgroups(op, kernel, pieces, parts, everyone, (1,), kind)
    if len(op.operands) > 1:
        value = kernel.indices.binary(kind, kernel.scalar(op.operands[1]), value)
    kernel.scalars[op.results[0]] = value
