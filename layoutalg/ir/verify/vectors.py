"""LLVM's rules of the vector dialect: shapes, permutations, positions.

    %t = vector.transpose %v, [1, 0] : vector<8x16xf32> to vector<16x16xf32>

is refused with "dimension mismatch: permutation maps ...".
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX

from layoutalg.ir.verify.registry import rule, same
from layoutalg.ir.verify.shapes import (
    count_of,
    element_of,
    is_memref,
    is_vector,
    numbers,
    rank_of,
    shape_of,
    typed,
    width_of,
)
from layoutalg.ir.verify.signatures import Subject

__all__: list[str] = []


def _same_elements(name: str, first: str, second: str, words: str) -> None:
    """Make it a rule that two values have the same element type."""

    def check(subject: Subject) -> str | None:
        if element_of(subject.type(first)) == element_of(subject.type(second)):
            return None
        return f"failed to verify that {words} have same element type"

    rule(f"{name}.element_type", name)(check)


# vector.broadcast

_same_elements("vector.broadcast", "source", "vector", "source operand and result")


@rule("vector.broadcast.shape", "vector.broadcast")
def _broadcast(subject: Subject) -> str | None:
    source, result = subject.type("source"), shape_of(subject.type("vector"))
    if not is_vector(source):
        return None if rank_of(source) == 0 and not is_memref(source) else "source type is not a vector"
    if rank_of(source) > len(result):
        return "source rank higher than destination rank"
    for one, other in zip(shape_of(source)[::-1], result[::-1], strict=False):
        if one not in (1, other):
            mismatched = [(a, b) for a, b in zip(shape_of(source)[::-1], result[::-1], strict=False) if a not in (1, b)]
            return f"dimension mismatch ({mismatched[-1][0]} vs. {mismatched[-1][1]})"
    return None


# vector.shape_cast, vector.transpose, vector.bitcast


@rule("vector.shape_cast", "vector.shape_cast")
def _shape_cast(subject: Subject) -> str | None:
    source, result = subject.type("source"), subject.type("result")
    if element_of(source) != element_of(result):
        if subject.llvm == 22:
            return "has different source and result element types"
        return (
            f"source element type ({typed(source.element_type)}) does not match result element type "
            f"({typed(result.element_type)})"
        )
    if count_of(source) != count_of(result):
        return f"has different number of elements at source ({count_of(source)}) and result ({count_of(result)})"
    return None


_same_elements("vector.transpose", "vector", "result", "operand and result")


@rule("vector.transpose.permutation", "vector.transpose")
def _transpose(subject: Subject) -> str | None:
    order, source, result = numbers(subject.attribute("permutation")), subject.type("vector"), subject.type("result")
    rank = rank_of(source)
    if rank != rank_of(result):
        return f"vector result rank mismatch: {rank_of(result)}"
    if len(order) != rank:
        return f"transposition length mismatch: {len(order)}"
    seen: set[int] = set()
    for d, given in enumerate(order):
        if not 0 <= given < rank:
            return f"transposition index out of range: {given}"
        if given in seen:
            return f"duplicate position index: {given}"
        seen.add(given)
        if shape_of(result)[d] != shape_of(source)[given]:
            return f"dimension size mismatch at: {given}"
    return None


same("vector.bitcast.rank", "rank", "source, result", "vector.bitcast")


@rule("vector.bitcast.shape", "vector.bitcast")
def _bitcast(subject: Subject) -> str | None:
    source, result = subject.type("source"), subject.type("result")
    pairs = list(zip(shape_of(source), shape_of(result), strict=True))
    for d, (one, other) in enumerate(pairs[:-1]):
        if one != other:
            return f"dimension size mismatch at: {d}"
    last = pairs[-1] if pairs else (1, 1)
    bits = [_width(kind) * size for kind, size in zip((source, result), last, strict=True)]
    return None if bits[0] == bits[1] else "source/result bitwidth of the minor 1-D vectors must be equal"


def _width(kind: object) -> int:
    element = element_of(kind)  # pyright: ignore[reportArgumentType]
    return 64 if str(element) == "index" else width_of(element)


# vector.extract, vector.insert

_same_elements("vector.extract", "source", "result", "operand and result")
_same_elements("vector.insert", "valueToStore", "result", "source operand and result")
same("vector.insert.type", "type", "dest, result", "vector.insert")


@rule("vector.position.values", "vector.extract", "vector.insert")
def _position_values(subject: Subject) -> str | None:
    position = numbers(subject.attribute("static_position"))
    markers, values = position.count(DYNAMIC_INDEX), len(subject.values("dynamic_position"))
    if markers == values or (markers < values and subject.name == "vector.insert"):
        return None
    return (
        "mismatch between dynamic and static positions (kDynamic marker but no corresponding dynamic position) -- this can "
        "only happen due to an incorrect fold/rewrite"
    )


def _outside(position: Sequence[int], shape: Sequence[int], limit: str) -> str | None:
    """LLVM's words for the first position that is neither in the vector nor poison (-1)."""
    for d, place in enumerate(position):
        if place != DYNAMIC_INDEX and not -1 <= place < shape[d]:
            wanted = "to be a non-negative integer smaller than the corresponding"
            return f"expected position attribute #{d + 1} {wanted} {limit}"
    return None


@rule("vector.extract.position", "vector.extract")
def _extract(subject: Subject) -> str | None:
    position, shape = numbers(subject.attribute("static_position")), shape_of(subject.type("source"))
    if len(position) > rank_of(subject.type("source")):
        return "expected position attribute of rank no greater than vector rank"
    outside = _outside(position, shape, "vector dimension or poison (-1)")
    if outside is not None:
        return outside
    left, result = shape[len(position) :], subject.type("result")
    if is_vector(result) and rank_of(result) == 0:
        return "expected a scalar instead of a 0-d vector as the result type"
    expected = f"vector<{'x'.join(map(str, left))}x{element_of(result)}>" if left else str(element_of(result))
    found = is_vector(result) and shape_of(result) == left if left else not is_vector(result)
    if found:
        return None
    return f"inferred type(s) '{expected}' are incompatible with return type(s) of operation {typed(result)}"


@rule("vector.insert.position", "vector.insert")
def _insert(subject: Subject) -> str | None:
    position, shape = numbers(subject.attribute("static_position")), shape_of(subject.type("dest"))
    value, rank = subject.type("valueToStore"), rank_of(subject.type("dest"))
    if len(position) > rank:
        return "expected position attribute of rank no greater than dest vector rank"
    if is_vector(value) and rank_of(value) == 0:
        return "expected a scalar instead of a 0-d vector as the source operand"
    if is_vector(value) and rank_of(value) + len(position) != rank:
        return "expected position attribute rank + source rank to match dest vector rank"
    if not is_vector(value) and len(position) != rank:
        return "expected position attribute rank to match the dest vector rank"
    return _outside(position, shape, "dest vector dimension")


# Slices

_same_elements("vector.extract_strided_slice", "source", "result", "operand and result")
_same_elements("vector.insert_strided_slice", "valueToStore", "result", "operand #0 and result")


def _confined(what: str, found: tuple[int, ...], limits: tuple[tuple[int, int], ...]) -> str | None:
    """The first number that is not from a limit up to another."""
    for d, (number, (low, high)) in enumerate(zip(found, limits, strict=False)):
        if not low <= number < high:
            where = what if what == "strides" else f"{what} dimension {d}"
            return f"expected {where} to be confined to [{low}, {high})"
    return None


@rule("vector.extract_strided_slice", "vector.extract_strided_slice")
def _extract_slice(subject: Subject) -> str | None:
    offsets, sizes, strides = (numbers(subject.attribute(name)) for name in ("offsets", "sizes", "strides"))
    source, result = subject.type("source"), subject.type("result")
    shape = shape_of(source)
    if not len(offsets) == len(sizes) == len(strides):
        return "expected offsets, sizes and strides attributes of same size"
    if len(offsets) > len(shape):
        return "expected offsets attribute of rank no greater than vector rank"
    expected = (*sizes, *shape[len(sizes) :])
    ends = tuple(map(sum, zip(offsets, sizes, strict=True)))
    return (
        _confined("offsets", offsets, tuple((0, n) for n in shape))
        or _confined("sizes", sizes, tuple((1, n + 1) for n in shape))
        or _confined("strides", strides, ((1, 2),) * len(strides))
        or _confined("sum(offsets, sizes)", ends, tuple((1, n + 1) for n in shape))
        or (None if shape_of(result) == expected else f"expected result type to be '{_vector(expected, source)}'")
    )


def _vector(shape: tuple[int, ...], like: object) -> str:
    return f"vector<{''.join(f'{n}x' for n in shape)}{element_of(like)}>"  # pyright: ignore[reportArgumentType]


@rule("vector.insert_strided_slice", "vector.insert_strided_slice")
def _insert_slice(subject: Subject) -> str | None:
    offsets, strides = (numbers(subject.attribute(name)) for name in ("offsets", "strides"))
    for name in ("offsets", "strides"):
        if subject.attribute(name) is None:
            return f"requires attribute '{name}'"
    value, shape = shape_of(subject.type("valueToStore")), shape_of(subject.type("dest"))
    if len(offsets) != len(shape):
        return "expected offsets of same size as destination vector rank"
    if len(strides) != len(value):
        return "expected strides of same size as source vector rank"
    if len(value) > len(shape):
        return "expected source rank to be no greater than destination rank"
    ends = tuple(map(sum, zip(offsets, (*(1,) * (len(shape) - len(value)), *value), strict=True)))
    return (
        _confined("offsets", offsets, tuple((0, n) for n in shape))
        or _confined("strides", strides, ((1, 2),) * len(strides))
        or _confined("sum(offsets, source vector shape)", ends, tuple((1, n + 1) for n in shape))
    )


# Reductions

same("vector.multi_reduction.types", "type", "dest, acc", "vector.multi_reduction")
_same_elements("vector.multi_reduction", "source", "dest", "source operand and result")
_same_elements("vector.reduction", "vector", "dest", "source operand and result")


@rule("vector.multi_reduction.shape", "vector.multi_reduction")
def _multi_reduction(subject: Subject) -> str | None:
    dimensions, source, result = (
        numbers(subject.attribute("reduction_dims")),
        subject.type("source"),
        subject.type("dest"),
    )
    for number, d in enumerate(dimensions if subject.llvm > 23 else ()):
        if not 0 <= d < rank_of(source):
            return f"reduction dimension out of range: {d}"
        if d in dimensions[:number]:
            return f"duplicate reduction dimension: {d}"
    left = tuple(size for d, size in enumerate(shape_of(source)) if d not in dimensions)
    if (is_vector(result) and shape_of(result) == left) if left else not is_vector(result):
        return None
    return f"destination type {typed(result)} is incompatible with source type {typed(source)}"


@rule("vector.kind", "vector.multi_reduction", "vector.reduction")
def _kind(subject: Subject) -> str | None:
    kind = str(subject.attribute("kind")).removeprefix("#vector.kind<").rstrip(">")
    element = element_of(subject.type("source" if subject.name == "vector.multi_reduction" else "vector"))
    real, integral = str(element).startswith(("f", "bf", "tf")), str(element).startswith(("i", "si", "ui"))
    both, reals = ("add", "mul"), ("minnumf", "maxnumf", "minimumf", "maximumf")
    fits = kind in both or (kind in reals and real) or (kind not in reals and integral)
    if fits and (real or integral):
        return None
    return f"unsupported reduction type {typed(element)} for kind '{kind}'" if element is not None else None


@rule("vector.reduction.rank", "vector.reduction")
def _flat(subject: Subject) -> str | None:
    rank = rank_of(subject.type("vector"))
    return f"unsupported reduction rank: {rank}" if rank > 1 else None


@rule("vector.reduction.accumulator", "vector.reduction")
def _reduced(subject: Subject) -> str | None:
    acc = subject.type("acc")
    return None if acc in (None, subject.type("dest")) else "failed to verify that dest and acc have the same type"


# Vectors from scalars, and masks


@rule("vector.elements", "vector.from_elements", "vector.to_elements")
def _elements(subject: Subject) -> str | None:
    whole = "dest" if subject.name == "vector.from_elements" else "source"
    kind = subject.type(whole)
    listed = [value.type for value in subject.values("elements")]
    if len(listed) == count_of(kind) and all(one == kind.element_type for one in listed):
        return None
    return f"failed to verify that shaped type '{whole}' matches 'elements' element count and types"


@rule("vector.constant_mask", "vector.constant_mask")
def _constant_mask(subject: Subject) -> str | None:
    sizes, shape = numbers(subject.attribute("mask_dim_sizes")), shape_of(subject.type("result"))
    if rank_of(subject.type("result")) == 0:
        return None if len(sizes) == 1 and sizes[0] in (0, 1) else "array attr must have length 1 for 0-D vectors"
    if len(sizes) != len(shape):
        return "must specify array attr of size equal vector result rank"
    if any(not 0 <= one <= whole for one, whole in zip(sizes, shape, strict=True)):
        return "array attr of size out of bounds of vector result dimension size"
    if 0 < sum(one == 0 for one in sizes) < len(sizes):
        return "expected all mask dim sizes to be zeros, as a result of conjunction with zero mask dim"
    return None


@rule("vector.create_mask", "vector.create_mask")
def _create_mask(subject: Subject) -> str | None:
    rank = rank_of(subject.type("result"))
    if len(subject.values("operands")) == max(rank, 1):
        return None
    return "must specify an operand for each result vector dimension"


# Interleaving, fma, memory

same("vector.interleave.type", "type", "lhs, rhs", "vector.interleave")
same("vector.fma.type", "type", "lhs, rhs, acc, result", "vector.fma")


def _halves(half: object, whole: object) -> bool:
    small, large = shape_of(half), shape_of(whole)  # pyright: ignore[reportArgumentType]
    doubled = (*small[:-1], small[-1] * 2) if small else ()
    return bool(small) and doubled == large and element_of(half) == element_of(whole)  # pyright: ignore[reportArgumentType]


@rule("vector.interleave.shape", "vector.interleave")
def _interleave(subject: Subject) -> str | None:
    lhs, result = subject.type("lhs"), subject.type("result")
    if rank_of(lhs) == 0 and rank_of(result) == 1 and prod(shape_of(result)) == 2:
        return None
    return None if _halves(lhs, result) else "failed to verify that type of 'result' is double the width of the inputs"


@rule("vector.deinterleave.even", "vector.deinterleave")
def _even(subject: Subject) -> str | None:
    if shape_of(subject.type("source"))[-1:] and shape_of(subject.type("source"))[-1] % 2 == 0:
        return None
    return "failed to verify that the trailing dimension of the source vector has an even number of elements"


@rule("vector.deinterleave.shape", "vector.deinterleave")
def _deinterleave(subject: Subject) -> str | None:
    if _halves(subject.type("res1"), subject.type("source")):
        return None
    return "failed to verify that the trailing dimension of the results is half the width of source trailing dimension"


same("vector.deinterleave.type", "type", "res1, res2", "vector.deinterleave")


@rule("vector.memory", "vector.load", "vector.store")
def _memory(subject: Subject) -> str | None:
    base = subject.type("base")
    value = subject.type("result" if subject.name == "vector.load" else "valueToStore")
    if element_of(base) not in (element_of(value), value):
        what = "result element types" if subject.name == "vector.load" else "valueToStore element type"
        return f"base and {what} should match"
    count = len(subject.values("indices"))
    return None if count == rank_of(base) else f"requires {rank_of(base)} indices"
