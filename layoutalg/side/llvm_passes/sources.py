"""What LLVM 23 and 24 make of a result's layout for the operand: of broadcasts, reductions, casts, transposes, slices.

>>> from layoutalg.side.llvm_passes.fields import lanes
>>> whole = lanes((1, 16), (1, 1))
>>> print(broadcast(whole, (8, 16), (16,)), reduction(sliced(whole, [1])), sep=chr(10))
#xegpu.slice<#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, dims = [0]>
#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
>>> print(shape_cast(lanes((1, 16), (1, 1)), (1, 64), (64,)))
#xegpu.slice<#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, dims = [0]>
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import VectorType

from layoutalg.core.errors import LayoutError
from layoutalg.core.whole_numbers import instance_of
from layoutalg.side.llvm_passes.analysis import bits_of, shape_in
from layoutalg.side.llvm_passes.fields import (
    Attribute,
    collapsed,
    dropped,
    expanded,
    permuted,
    scaled,
    sliced,
    with_data,
)
from layoutalg.xegpu import SliceAttr

UNDEFINED = "what happens is not defined"

__all__ = ["bitcast", "broadcast", "is_elementwise", "reduction", "refolded", "shape_cast", "source_of", "transpose"]


def broadcast(result: Attribute, shape: Sequence[int], source: Sequence[int]) -> Attribute:
    """Dimensions of size 1 have data 1; leading dimensions are sliced off."""
    lead = len(shape) - len(source)
    repeated = [dim + lead for dim, size in enumerate(source) if size == 1 and shape[dim + lead] != 1]
    found = result
    for dim in repeated:
        found = with_data(found, dim, sg_data=1, inst_data=1, lane_data=1)
    if not lead:
        return found
    inner = len(repeated) == lead and all(size == 1 for size in shape[:lead])
    return sliced(found, repeated if inner else range(lead))


def reduction(result: Attribute) -> Attribute:
    """The parent of the result's slice.

    Raises `LayoutError` for a layout that is not a slice: LLVM crashes.
    """
    if not isinstance(result, SliceAttr):
        raise LayoutError(f"vector.multi_reduction: LLVM crashes: its result is demanded in {result}, expected a slice")
    return result.parent


def transpose(result: Attribute, permutation: Sequence[int]) -> Attribute:
    """Dimension permutation[d] of the source is dimension d of the result."""
    back = sorted(range(len(permutation)), key=permutation.__getitem__)
    return permuted(result, back)


def bitcast(result: Attribute, after: int, before: int) -> Attribute:
    """The innermost data counted in elements of the source.

    >>> from layoutalg.side.llvm_passes.fields import lanes
    >>> print(bitcast(lanes((1, 16), (1, 2)), 16, 32))
    #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
    """
    for bits in (after, before):
        instance_of(bits, int, "bits")
    return scaled(result, after // before, 1) if before <= after else scaled(result, 1, before // after)


def shape_cast(result: Attribute, shape: Sequence[int], source: Sequence[int]) -> Attribute | None:
    """Dimensions of size 1 are sliced off, split ones collapsed, folded ones expanded; None for anything else."""
    units = _units(source, shape)
    if units is not None:
        return sliced(result, units)
    groups = _splits(source, shape)
    if groups is not None:
        if any(len(group) > 1 for group in groups[:-1]):
            raise LayoutError(
                f"vector.shape_cast: {UNDEFINED}: LLVM collapses the dimensions {groups} of {result} one group after another "
                "and counts the later ones as before"
            )
        return collapsed(result, groups)
    return _folded(result, shape, source)


def refolded(source: Attribute, before: Sequence[int], after: Sequence[int]) -> Attribute | None:
    """The layout of a shape_cast's result, where it folds or splits dimensions; None for anything else.

    >>> from layoutalg.side.llvm_passes.fields import lanes
    >>> print(refolded(lanes((1, 16), (1, 1)), (16, 16), (256,)))
    #xegpu.layout<lane_layout = [16], lane_data = [1]>
    """
    if _units(before, after) is not None:
        return None
    groups = _splits(after, before)
    return _folded(source, before, after) if groups is None else collapsed(source, groups)


def _units(source: Sequence[int], shape: Sequence[int]) -> list[int] | None:
    """The dimensions of size 1 that the result has more."""
    found: list[int] = []
    at = 0
    for dim, size in enumerate(shape):
        if at < len(source) and source[at] == size:
            at += 1
        elif size == 1:
            found.append(dim)
        else:
            return None
    return found if at == len(source) else None


def _splits(source: Sequence[int], shape: Sequence[int]) -> list[list[int]] | None:
    """Which dimensions of the result each dimension of the source is split into."""
    groups: list[list[int]] = []
    current: list[int] = []
    dim = 0
    while dim < len(shape):
        if len(groups) >= len(source):
            return None
        current.append(dim)
        size = prod(shape[each] for each in current)
        if size == source[len(groups)]:
            while len(groups) == len(source) - 1 and dim + 1 < len(shape) and shape[dim + 1] == 1:
                dim += 1
                current.append(dim)
            groups.append(current)
            current = []
        elif size > source[len(groups)]:
            return None
        dim += 1
    return groups if len(groups) == len(source) else None


def _folded(result: Attribute, shape: Sequence[int], source: Sequence[int]) -> Attribute | None:
    groups = _splits(shape, source)
    if groups is None:
        return None
    found = result
    for dim in range(len(groups) - 1, -1, -1):
        sizes = [source[each] for each in groups[dim]]
        if len(sizes) > 1:
            found = expanded(found, dim, sizes)
    return found


def source_of(op: Any, number: int, result: Attribute) -> Attribute | None:
    """The layout of operand `number` of an operation that is not an anchor, when its result has this one; None if unknown."""
    operand, value = op.operands[number], op.results[0]
    if op.name == "vector.broadcast":
        return broadcast(result, shape_in(value), shape_in(operand)) if isinstance(operand.type, VectorType) else None
    if op.name in ("vector.multi_reduction", "vector.reduction"):
        return reduction(result) if number == 0 else result
    if op.name == "vector.bitcast":
        return bitcast(result, bits_of(value), bits_of(operand))
    if op.name == "vector.shape_cast":
        return shape_cast(result, shape_in(value), shape_in(operand))
    if op.name == "vector.transpose":
        return transpose(result, op.permutation.get_values())
    if op.name in ("vector.interleave", "vector.deinterleave"):
        return scaled(result, 1, 2) if op.name == "vector.interleave" else scaled(result, 2, 1)
    if op.name in ("vector.insert_strided_slice", "vector.insert"):
        lead = len(shape_in(value)) - len(shape_in(operand))
        return dropped(result, range(lead)) if number == 0 and lead > 0 else result
    if op.name == "vector.extract":
        lead = len(shape_in(operand)) - len(shape_in(value))
        return expanded(result, 0, (*(1,) * lead, shape_in(value)[0])) if lead else result
    if op.name == "vector.extract_strided_slice" or is_elementwise(op):
        return result
    return None


def is_elementwise(op: Any) -> bool:
    """Whether an operation works element by element."""
    if len(op.results) != 1 or op.name == "arith.constant":
        return False
    return op.name.partition(".")[0] in ("arith", "math") or op.name == "vector.fma"
