"""Operations that take a part of a value, or put a part into one.

Rows 4 to 7 of 16, and the same rows put back. An insert makes its part of one operand, and the rest of the other: the
relation to the part starts where the part does, and `covered` says where it goes, so that nothing of the destination is
needed there.

>>> print(slice_of((4, 16), (4, 0)))
d0 = 4@d0, d1 = 16@d1 | offset 4@d0
>>> relation, covered = place_of((4, 16), (4, 0), (16, 16))
>>> print(relation); print(covered)
d0 = 4@d0, d1 = 16@d1 | origin 4@d0
d0 = 4@d0, d1 = 16@d1 | offset 4@d0

A part at a place that is known when the program runs may be any: a work-item that has the result needs all of them.

>>> from layoutalg.ir import read_module
>>> text = '%v, %i = "test.op"() : () -> (vector<8x16xf32>, index) '
>>> text += "%e = vector.extract %v[%i] : vector<16xf32> from vector<8x16xf32>"
>>> print(extract(read_module(text).body.block.last_op).ties[0].relation)
d0 = 16@d1 | replicas 8@d0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.flow.relations.relation import (
    Relation,
    Tie,
    identity,
    numbers_of,
    related,
    relates,
    same_shape,
    shape_of,
)
from layoutalg.ir.assembly import property_of

__all__ = ["place_of", "shuffled", "slice_of"]

_CACHED = 1 << 12
_POISON = -1
_MOST_RUNS = 8
"""Runs of a shuffle that are ties of their own; a shuffle of more has no useful form."""


@relates("vector.extract_strided_slice")
def extract_strided_slice(op: Any) -> Relation | None:
    """A block of the operand."""
    return _slice(op, numbers_of(op.offsets), numbers_of(op.strides))


@relates("tensor.extract_slice")
def tensor_slice(op: Any) -> Relation | None:
    """A block of the operand; dimensions of size 1 may be dropped."""
    sizes = numbers_of(op.static_sizes)
    return _slice(op, numbers_of(op.static_offsets), numbers_of(op.static_strides), sizes)


def _slice(
    op: Any, offsets: tuple[int, ...] | None, strides: tuple[int, ...] | None, sizes: tuple[int, ...] | None = None
) -> Relation | None:
    shape, source = shape_of(op.results[0]), shape_of(op.operands[0])
    if shape is None or source is None:
        return Relation()
    dropped = _dropped(sizes or shape, shape)
    if offsets is None or strides is None or dropped is None or any(o < 0 for o in (*offsets, *strides)):
        return None
    return Relation((Tie(op, 0, op.results[0], slice_of(shape, offsets, strides, dropped, len(source))),))


@relates("vector.insert_strided_slice")
def insert_strided_slice(op: Any) -> Relation | None:
    """A block of the result is the first operand, the rest the second."""
    offsets, strides = numbers_of(op.offsets), numbers_of(op.strides)
    if offsets is None or strides is None or any(stride != 1 for stride in strides):
        return None
    return _insert(op, offsets)


@relates("tensor.insert_slice")
def tensor_insert_slice(op: Any) -> Relation | None:
    """A block of the result is the first operand, the rest the second."""
    offsets, strides, sizes = (numbers_of(getattr(op, f"static_{name}")) for name in ("offsets", "strides", "sizes"))
    source = shape_of(op.operands[0])
    if offsets is None or strides is None or sizes is None or source is None or any(n < 0 for n in (*offsets, *sizes)):
        return None
    dropped = _dropped(sizes, source)
    return None if dropped is None or any(stride != 1 for stride in strides) else _insert(op, offsets, dropped)


@relates("vector.insert", "vector.insertelement")
def insert(op: Any) -> Relation:
    """An element or a sub-vector of the result is the first operand, the rest the second."""
    position = _position(op)
    shape = shape_of(op.results[0])
    if _POISON in position or shape is None:
        return Relation(makes="equal")
    return _insert(op, (*position, *(0 for _ in shape[len(position) :])))


def _insert(op: Any, offsets: tuple[int, ...], dropped: tuple[int, ...] | None = None) -> Relation:
    result: SSAValue = op.results[0]
    shape, part = shape_of(result), shape_of(op.operands[0]) or ()
    if shape is None:
        return Relation()
    relation, covered = place_of(part, offsets, shape, dropped)
    ties = (Tie(op, 0, result, relation),) if part else ()
    if covered is None or covered.shape != shape:
        ties = (*ties, Tie(op, 1, result, identity(shape), covered=covered))
    return Relation(ties)


@relates("vector.extract", "vector.extractelement", "tensor.extract")
def extract(op: Any) -> Relation:
    """An element or a sub-vector; every work-item has an element that was taken out."""
    source, shape = shape_of(op.operands[0]), shape_of(op.results[0]) or ()
    position = _position(op)
    if source is None or _POISON in position:
        return Relation(makes="equal")
    relation = _at(source, position)
    tie = Tie(op, 0, op.results[0], relation)
    return Relation((tie,)) if shape else Relation(uniform=(tie,))


@relates("vector.to_elements")
def to_elements(op: Any) -> Relation:
    """Every work-item has every element then."""
    source = shape_of(op.operands[0]) or ()
    positions = (_digits(number, source) for number in range(len(op.results)))
    found = zip(op.results, positions, strict=True)
    return Relation(uniform=tuple(Tie(op, 0, result, _at(source, position)) for result, position in found))


@relates("tensor.insert")
def tensor_insert(op: Any) -> Relation:
    """One element is a scalar, nobody knows which; the rest is the destination."""
    return Relation(same_shape(op, 1, op.results[0]))


@relates("tensor.pad")
def pad(op: Any) -> Relation | None:
    """A block of the result is the operand."""
    low, part, shape = numbers_of(op.static_low), shape_of(op.operands[0]), shape_of(op.results[0])
    if low is None or part is None or shape is None or any(start < 0 for start in low):
        return None
    return Relation((Tie(op, 0, op.results[0], place_of(part, low, shape)[0]),))


@relates("tensor.concat")
def concat(op: Any) -> Relation | None:
    """A block of the result is each operand."""
    dim, shape = int(op.dim.value.data), shape_of(op.results[0])
    ties: list[Tie] = []
    start = 0
    for number, operand in enumerate(op.operands):
        part = shape_of(operand)
        if part is None or shape is None:
            return None
        offsets = tuple(start if at == dim else 0 for at in range(len(shape)))
        ties.append(Tie(op, number, op.results[0], place_of(part, offsets, shape)[0]))
        start += part[dim]
    return Relation(tuple(ties))


@relates("vector.interleave")
def interleave(op: Any) -> Relation:
    """Of the innermost dimension, even elements are the first operand's, odd ones the second's."""
    shape = shape_of(op.operands[0])
    if shape is None:
        return Relation()
    pairs, halves = _interleaved(shape)
    return Relation(
        tuple(Tie(op, number, op.results[0], pairs, covered=halves[1 - number]) for number in range(len(halves)))
    )


@relates("vector.deinterleave")
def deinterleave(op: Any) -> Relation:
    """Of the innermost dimension, the first result has the even elements, the second the odd ones."""
    shape = shape_of(op.results[0])
    if shape is None:
        return Relation()
    _, halves = _interleaved(shape)
    return Relation(tuple(Tie(op, 0, result, half) for result, half in zip(op.results, halves, strict=True)))


@relates("vector.shuffle")
def shuffle(op: Any) -> Relation | None:
    """Rows of two operands, run by run."""
    first, second, shape = shape_of(op.operands[0]), shape_of(op.operands[1]), shape_of(op.results[0])
    mask = numbers_of(op.mask)
    if first is None or second is None or shape is None or mask is None:
        return None
    turns = taken_in_turns(mask, first, second)
    if turns is not None:
        ties = (Tie(op, at, op.results[0], relation, covered=other) for at, (relation, other) in enumerate(turns))
        return Relation(tuple(ties))
    found = shuffled(mask, first, second)
    if found is None:
        return None
    return Relation(tuple(Tie(op, number, op.results[0], relation) for number, relation in found))


def _position(op: Any) -> tuple[int, ...]:
    """Where an element or a sub-vector is: what is known when the program runs alone is `DYNAMIC_INDEX`."""
    held = property_of(op, "static_position")
    known = numbers_of(held)
    if known is not None:
        return known
    # The old operations, and those on tensors, have operands alone.
    whole = op.operands[0] if op.name in ("vector.extractelement", "tensor.extract") else op.operands[1]
    return (DYNAMIC_INDEX,) * len(shape_of(whole) or ())


@lru_cache(maxsize=_CACHED)
def slice_of(
    shape: tuple[int, ...],
    offsets: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    dropped: tuple[int, ...] = (),
    rank: int | None = None,
) -> Layout:
    """From a slice to what it is a slice of. `dropped` are dimensions of size 1 that the slice lacks.

    >>> print(slice_of((8,), (3, 0), (1, 2), (0,)))
    d0 = 8@d1:2 | offset 3@d0
    """
    rank = len(shape) + len(dropped) if rank is None else rank
    kept = [dim for dim in range(rank) if dim not in dropped]
    steps = dict(enumerate(strides or ()))
    dims = [[Factor(size, steps.get(dim, 1), f"d{dim}")] for size, dim in zip(shape, kept, strict=True)]
    return related(dims, rank, offsets=[(f"d{dim}", start) for dim, start in enumerate(offsets)])


@lru_cache(maxsize=_CACHED)
def place_of(
    part: tuple[int, ...], offsets: tuple[int, ...], shape: tuple[int, ...], dropped: tuple[int, ...] | None = None
) -> tuple[Layout, Layout | None]:
    """From the part of a result to the operand that it is, and back (None where its place is not known).

    The operand has the result's last dimensions, or lacks those that are `dropped`; there it is one row.

    >>> relation, back = place_of((4,), (2, 8), (16, 16))
    >>> print(relation, "and", back)
    d0 = 1, d1 = 4@d0 | origin 2@d0 8@d1 and d0 = 4@d1 | offset 2@d0 8@d1
    """
    rank = len(shape)
    dropped = tuple(range(rank - len(part))) if dropped is None else dropped
    kept = [dim for dim in range(rank) if dim not in dropped]
    dims: list[list[Factor]] = [[] for _ in shape]
    for number, dim in enumerate(kept):
        dims[dim] = [Factor(part[number], 1, f"d{number}")]
    for dim, start in enumerate(offsets):
        if start == DYNAMIC_INDEX:
            dims[dim] = [Factor(shape[dim])]
    origins = [max(start, 0) for start in offsets]
    relation = related(dims, len(part), origins=origins)
    if DYNAMIC_INDEX in offsets:
        return relation, None
    back = related(
        [[Factor(size, 1, f"d{dim}")] for size, dim in zip(part, kept, strict=True)],
        rank,
        offsets=[(f"d{dim}", start) for dim, start in enumerate(offsets)],
    )
    return relation, back


@lru_cache(maxsize=_CACHED)
def _at(source: tuple[int, ...], position: tuple[int, ...]) -> Layout:
    """From a sub-vector to the vector; where a place is not known, every one counts."""
    known = [(f"d{dim}", start) for dim, start in enumerate(position) if start != DYNAMIC_INDEX]
    copies = [
        Factor(source[dim], 1, f"d{dim}")
        for dim, start in enumerate(position)
        if start == DYNAMIC_INDEX and source[dim] != 1
    ]
    inner = range(len(position), len(source))
    return related([[Factor(source[dim], 1, f"d{dim}")] for dim in inner], len(source), copies, known)


def _digits(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    found: list[int] = []
    for size in reversed(shape):
        number, digit = divmod(number, size)
        found.append(digit)
    return tuple(found[::-1])


def _dropped(sizes: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dimensions of size 1 that a shape lacks; None where it is not these sizes without some of size 1."""
    left, found = list(shape), list[int]()
    for dim, size in enumerate(sizes):
        if left and left[0] == size and not (size == 1 and len(sizes) - dim > len(left)):
            left.pop(0)
        elif size == 1:
            found.append(dim)
        else:
            return None
    return None if left else tuple(found)


@lru_cache(maxsize=_CACHED)
def _interleaved(shape: tuple[int, ...]) -> tuple[Layout, tuple[Layout, Layout]]:
    """From pairs to halves, and from either half to the pairs."""
    last, rank = len(shape) - 1, len(shape)
    same = [[Factor(size, 1, f"d{dim}")] for dim, size in enumerate(shape[:-1])]
    pairs = related([*same, [Factor(shape[-1], 1, f"d{last}"), Factor(2)]], rank)
    halves = [related([*same, [Factor(shape[-1], 2, f"d{last}")]], rank, offsets=[(f"d{last}", at)]) for at in (0, 1)]
    return pairs, (halves[0], halves[1])


@lru_cache(maxsize=_CACHED)
def taken_in_turns(
    mask: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]
) -> tuple[tuple[Layout, Layout], tuple[Layout, Layout]] | None:
    """Of a shuffle that takes runs of two operands in turns: from the result to each, and from the other one to the result.

    None for other shuffles.
    """
    rows, inner = first[0], first[1:]
    if first != second or len(mask) != 2 * rows or not rows:
        return None
    leads = int(mask[0] >= rows)
    run = next((at for at, entry in enumerate(mask) if int(entry >= rows) != leads), 0)
    if not run or rows % run or min(mask) < 0:
        return None
    expected = [
        rows * (leads ^ turn) + block * run + place
        for block in range(rows // run)
        for turn in (0, 1)
        for place in range(run)
    ]
    if list(mask) != expected:
        return None
    same = [[Factor(size, 1, f"d{dim}")] for dim, size in enumerate(inner, 1)]
    blocks = [Factor(rows // run, run, "d0"), Factor(2), Factor(run, 1, "d0")]
    relation = related([blocks, *same], len(first))
    parts = [
        related([[Factor(rows // run, 2 * run, "d0"), Factor(run, 1, "d0")], *same], len(first), offsets=[("d0", at)])
        for at in (0, run)
    ]
    # Of operand `leads`, the first run of each pair is taken; the other operand covers the second.
    own = parts if leads == 0 else parts[::-1]
    return (relation, own[1]), (relation, own[0])


@lru_cache(maxsize=_CACHED)
def shuffled(
    mask: tuple[int, ...], first: tuple[int, ...], second: tuple[int, ...]
) -> tuple[tuple[int, Layout], ...] | None:
    """The runs of a shuffle: which operand, and the relation from these rows to its rows; None for too many runs."""
    inner = first[1:]
    found: list[tuple[int, Layout]] = []
    for start, entries in _runs(mask, first[0]):
        if entries[0] == _POISON:
            continue
        if len(found) == _MOST_RUNS:
            return None
        number = int(entries[0] >= first[0])
        base = first[0] if number else 0
        factors = _counted([entry - base for entry in entries]) or []
        dims = [factors, *([Factor(size, 1, f"d{dim}")] for dim, size in enumerate(inner, 1))]
        relation = related(dims, len(first), offsets=[("d0", entries[0] - base)], origins=(start, *(0 for _ in inner)))
        found.append((number, relation))
    return tuple(found)


def _runs(mask: Sequence[int], first: int) -> Iterator[tuple[int, list[int]]]:
    """Rows that one layout gives: of one operand, in one rhythm; where they start, and their numbers."""
    start = 0
    while start < len(mask):
        stop = start + 1
        kind = _operand_of(mask[start], first)
        while stop < len(mask) and _operand_of(mask[stop], first) == kind:
            stop += 1
        while stop > start + 1 and kind >= 0 and _counted(mask[start:stop]) is None:
            stop = _shorter(mask, start, stop)
        yield start, list(mask[start:stop])
        start = stop


def _operand_of(entry: int, first: int) -> int:
    return -1 if entry == _POISON else int(entry >= first)


def _shorter(mask: Sequence[int], start: int, stop: int) -> int:
    """Where the steps first change: up to there all rows have one distance."""
    step = mask[start + 1] - mask[start]
    end = start + 2
    while end < stop and mask[end] - mask[end - 1] == step:
        end += 1
    return end if step >= 0 else start + 1


def _counted(entries: Sequence[int]) -> list[Factor] | None:
    """Rows as digits, major to minor, counted from the first one; None where they are not."""
    if len(entries) == 1:
        return []
    step = entries[1] - entries[0]
    run = next((i for i in range(1, len(entries)) if entries[i] - entries[i - 1] != step), len(entries))
    if step < 0:
        return None
    for extent in range(run, 1, -1):
        if len(entries) % extent == 0 and all(
            entries[i] - entries[i - i % extent] == step * (i % extent) for i in range(len(entries))
        ):
            rest = _counted(entries[::extent])
            if rest is not None:
                return [*rest, Factor(extent, step, "d0") if step else Factor(extent)]
    return None
