"""Inverses and complements of layouts: from an index back to the coordinate, and what a layout leaves out.

Each walks the factors by stride, smallest first. (4,8):(8,1) has 8:1 and then 4:8; in coordinates those are 8:4 and 4:1:

>>> print(right_inverse("(4,8):(8,1)"), left_inverse("(4,8):(1,5)"), complement("(2,2):(1,6)", 24))
(8,4):(4,1) (5,8):(1,4) (3,2):(2,12)

Laws: `L(right_inverse(L)(i)) == i` for every i below its size; `left_inverse(L)(L(i)) == i` where L is injective, else
`L(left_inverse(L)(L(i))) == L(i)`; every index up to the given one is `L(i) + complement(L)(j)` for at most one pair (i, j).
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, cast

from layoutalg.core.errors import CompositionError, ConversionError
from layoutalg.core.limits import MOST_CUTE_STRIDE, MOST_CUTE_VALUES
from layoutalg.core.messages import number_text
from layoutalg.core.whole_numbers import whole_number
from layoutalg.cute.composing import compose
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.modes import CuteLike, Leaves, as_cute, as_shape, coalesced
from layoutalg.cute.modes import size as size_of
from layoutalg.cute.nested_tuples import IntTuple, leaves_of, mode_of
from layoutalg.cute.searching import values_after, values_at
from layoutalg.cute.steps import Say
from layoutalg.cute.swizzled import after_swizzle
from layoutalg.cute.swizzles import Swizzle, applied

__all__ = [
    "complement", "complement_of", "left_inverse", "left_inverse_of", "max_common_layout", "max_common_of", "max_common_vector",
    "nullspace", "pseudo_inverse", "right_inverse", "right_inverse_of",
]  # fmt: skip

_Flat = list[tuple[int, int]]


def _numbers(found: Leaves, layout: CuteLayout, what: str) -> _Flat:
    """The merged factors of a layout, whose strides are numbers."""
    if not all(type(s) is int for _, s in found):
        raise ConversionError(f"{what} of {layout}: its values are coordinates, not numbers")
    return cast("_Flat", found)


def complement(layout: CuteLike, cosize_hi: IntTuple | CuteLike | None = None) -> CuteLayout:
    """What a layout leaves out below `cosize_hi`: increasing, and with the layout every index once.

    `cosize_hi` is a number, or a shape or layout for its size; unless given, only the gaps inside the layout are filled.
    Factors of stride 0 and of extent 1 do not count.

    Raises `CompositionError` where factors overlap, where gaps cannot be filled (a stride is not a multiple of the place where
    the factor before ends) so that size(L) * size(R) stays below `cosize_hi`, and for negative strides.

    >>> print(complement("(2,2):(1,6)", 24), complement("4:2", 24), complement("4:2"))
    (3,2):(2,12) (2,3):(1,8) 2:1
    >>> complement("(4,2):(1,6)", 24)
    Traceback (most recent call last):
    layoutalg.core.errors.CompositionError: complement of (4,2):(1,6): factor 2:6 begins at 6, which is not a multiple of 4,
    where the factors below it end, and of 24 indices only 16 can be reached
    """
    given = as_cute(layout, "complement")
    return complement_of(given, complement_target(given, cosize_hi), None)


def complement_target(layout: CuteLayout, high: Any) -> int:
    """The number up to which a complement goes."""
    if high is None:
        return 1
    if isinstance(high, (CuteLayout, str)):
        return as_cute(high, "complement").size
    if isinstance(high, (tuple, list)):
        return size_of(as_shape(cast("object", high), "cosize_hi"))
    return whole_number(high, "cosize_hi =", 1, MOST_CUTE_STRIDE, ConversionError)


def complement_of(layout: CuteLayout, high: int, say: Say | None, fills: bool = False) -> CuteLayout:
    """The complement of a layout that has been read, telling its steps; where it `fills`, no gap may stay."""
    moving = coalesced([(n, s) for n, s in leaves_of(layout.shape, layout.stride) if s])
    flat = sorted(_numbers(moving, layout, "complement"), key=itemgetter(1))
    if say and flat:
        say("the factors by stride", CuteLayout(*mode_of(flat)))
    found: _Flat = []
    place, reached, problem = 1, 1, ""
    for n, s in flat:
        if s < place:
            why = (
                "moves backwards, and a complement counts from 0"
                if s < 0
                else f"begins below {place}, inside the others"
            )
            raise CompositionError(f"complement of {layout}: factor {n}:{s} {why}")
        if s % place:
            problem = (
                f"factor {n}:{s} begins at {s}, which is not a multiple of {place}, where the factors below it end"
            )
        found.append((s // place, place))
        if say and s > place:
            say(f"from {place} on up to {s}, where {n}:{s} begins", CuteLayout(s // place, place))
        reached *= n * (s // place)
        place = n * s
    found.append((-(-high // place), place))
    reached *= found[-1][0]
    if say and high > place:
        say(f"from {place} on up to {number_text(high)}", CuteLayout(-(-high // place), place))
    if problem and (fills or reached < high):
        raise CompositionError(
            f"complement of {layout}: {problem}, and of {number_text(high)} indices only "
            f"{number_text(min(reached, high - 1))} can be reached"
        )
    return CuteLayout(*mode_of(coalesced(found)))


def right_inverse(layout: CuteLike) -> CuteLayout:
    """The inverse on the longest run of indices from 0: L(R(i)) = i for every i below the size of R.

    The run goes from stride 1 on as long as a factor begins where the one before ends. A swizzle goes to the left.

    Raises `CompositionError` for a swizzle that the inverse does not keep apart, `ConversionError` for coordinates.

    >>> print(right_inverse("(4,8):(8,1)"), right_inverse("(4,8):(1,5)"), right_inverse("4:2"))
    (8,4):(4,1) 4:1 1:0
    """
    return right_inverse_of(as_cute(layout, "right_inverse"), None)


def right_inverse_of(layout: CuteLayout, say: Say | None) -> CuteLayout:
    """The right inverse of a layout that has been read, telling its steps."""
    flat = _numbers(coalesced(leaves_of(layout.shape, layout.stride)), layout, "right_inverse")
    found: _Flat = []
    place = 1
    at: list[tuple[int, int, int]] = []
    for n, s in flat:
        at.append((n, s, place))
        place *= n
    following = 1
    for n, s, start in sorted(at, key=itemgetter(1)):
        if s == following:
            found.append((n, start))
            if say:
                say(f"index {following} on: factor {n}:{s}, at coordinate {start}", CuteLayout(n, start))
            following = n * s
    return _inverse_with_swizzle(layout, CuteLayout(*mode_of(coalesced(found))), say, right=True)


def _inverse_with_swizzle(layout: CuteLayout, inverse: CuteLayout, say: Say | None, right: bool) -> CuteLayout:
    """The inverse of `Sw o offset o L`: the inverse of L, after the offset is taken away, after the swizzle."""
    if layout.swizzle is None:
        return inverse
    if layout.offset:
        raise CompositionError(f"inverse of {layout}: with the offset {layout.offset} it does not begin at 0")
    if say:
        say("the swizzle is its own inverse, and stands on the right of this", inverse)
    swizzle = Swizzle(*layout.swizzle)
    found = after_swizzle(inverse, swizzle, say)
    count = inverse.size
    # Where the swizzle keeps the indices below the size of the inverse among themselves, there is nothing more to see; unless
    # factors overlap, and the inverse runs on past its end.
    among = count <= swizzle.reads & -swizzle.reads or count % (1 << swizzle.changes.bit_length()) == 0
    if not swizzle.bits or (among and (right or layout.cosize <= count)):
        return found
    if max(count, layout.size) > MOST_CUTE_VALUES:
        raise CompositionError(
            f"inverse of {layout}: the swizzle leads out of the {number_text(count)} indices that have an inverse"
        )
    plain = CuteLayout(layout.shape, layout.stride)
    places = values_after(CuteLayout(1, 1), CuteLayout(count, 1) if right else plain)
    places = places if right else applied(swizzle, places)
    again = applied(swizzle, values_at(plain, _values_at(found, places)))
    if again is None or not (again == places).all():
        raise CompositionError(
            f"inverse of {layout}: the swizzle leads out of the {number_text(count)} indices that have an inverse"
        )
    return found


def _values_at(layout: CuteLayout, index: Any) -> Any:
    """The values of a layout, perhaps swizzled, at an array of indices."""
    found = values_at(CuteLayout(layout.shape, layout.stride), index)
    return found if layout.swizzle is None else applied(Swizzle(*layout.swizzle), found)


def left_inverse(layout: CuteLike) -> CuteLayout:
    """The inverse on everything that the layout reaches: R(L(i)) = i for every i, where L is injective.

    Factors of stride 0 are left out; then, and where factors overlap, R(L(i)) is a coordinate of the same index:
    L(R(L(i))) = L(i).

    Raises `CompositionError` for negative strides, and where this does not hold: where a stride is not a multiple of the next
    smaller one or where factors overlap, all values are compared, up to 2^16 of them.

    >>> print(left_inverse("(4,8):(1,5)"), left_inverse("(4,8):(8,1)"), left_inverse("4:2"))
    (5,8):(1,4) (8,4):(4,1) (2,4):(0,1)
    """
    return left_inverse_of(as_cute(layout, "left_inverse"), None)


def left_inverse_of(layout: CuteLayout, say: Say | None) -> CuteLayout:
    """The left inverse of a layout that has been read, telling its steps."""
    flat = _numbers(coalesced(leaves_of(layout.shape, layout.stride)), layout, "left_inverse")
    place = 1
    at: list[tuple[int, int, int]] = []
    for n, s in flat:
        if s < 0:
            raise CompositionError(f"left_inverse of {layout}: factor {n}:{s} moves backwards")
        if s and n > 1:
            at.append((n, s, place))
        place *= n
    at.sort(key=itemgetter(1))
    found: _Flat = []
    # `step` is the product of the extents of R so far: the stride of the factor before, where strides divide.
    step, start, reach, last = 1, 0, 0, 1
    ends = any(n == 1 for n, _ in leaves_of(layout.shape, layout.stride)[-1:])
    problem = ""
    for k, (n, s, coordinate) in enumerate(at):
        if s % step:
            problem = problem or f"{s} is not a multiple of {step}"
        found.append((max(1, s // step), start))
        if say:
            say(f"up to index {s}, where factor {n}:{s} begins", CuteLayout(*found[-1]))
        step, start, last = step * found[-1][0], coordinate, n
        reach += (n - 1) * s
        # An index is taken apart by strides; where factors overlap, a digit may be more than its factor has, unless it runs on.
        digits = min(reach // s + 1, at[k + 1][1] // s) if k + 1 < len(at) else reach // s + 1
        if digits > n and (coordinate * n < place or ends):
            problem = problem or f"factor {n}:{s} and those of smaller strides overlap, and reach {digits} times {s}"
    found.append((last, start))
    inverse = CuteLayout(*mode_of(coalesced(found)))
    if problem:
        _check_left_inverse(CuteLayout(layout.shape, layout.stride), inverse, problem)
    return _inverse_with_swizzle(layout, inverse, say, right=False)


def _check_left_inverse(layout: CuteLayout, inverse: CuteLayout, problem: str) -> None:
    """Refuse an inverse that closed forms do not vouch for, unless L(R(L(i))) = L(i) for every i."""
    where = f"left_inverse of {layout}: {problem}"
    if layout.size > MOST_CUTE_VALUES:
        raise CompositionError(f"{where}; {number_text(layout.size)} values are too many to compare (2^16 are not)")
    values = values_after(CuteLayout(1, 1), layout)
    back = None if values is None else values_at(inverse, values)
    again = None if back is None else values_at(layout, back)
    if again is None or not (again == values).all():
        raise CompositionError(f"{where}; and R(L(i)) is not i for every i")


def pseudo_inverse(layout: CuteLike) -> CuteLayout:
    """The inverse that gaps and copies do not disturb: L(R(L(i))) = L(i) for every i.

    An index in a gap gives some coordinate; factors of stride 0 give the first of the copies. Where L is injective it is the
    left inverse.

    Raises as `left_inverse`.

    >>> print(pseudo_inverse("(4,3,2):(2,0,8)"), pseudo_inverse("4:0"))
    (2,4,2):(0,1,12) 1:0
    """
    return left_inverse_of(as_cute(layout, "pseudo_inverse"), None)


def max_common_layout(a: CuteLike, b: CuteLike) -> CuteLayout:
    """The most contiguous elements that two layouts have in common: a(R(i)) = b(R(i)) = i for every i below the size of R.

    Under one and the same swizzle it is that of the layouts inside: a(R(i)) = b(R(i)) = Sw(offset + i).

    Raises `CompositionError` where a after the right inverse of b isn't a layout, and where one has an offset
    and the other another swizzle or offset.

    >>> print(max_common_layout("(4,8):(1,4)", "(4,8):(1,16)"), max_common_layout("4:2", "4:1"))
    4:1 1:0
    """
    return max_common_of(as_cute(a, "max_common_layout"), as_cute(b, "max_common_layout"), None)


def max_common_vector(a: CuteLike, b: CuteLike) -> int:
    """How many contiguous elements two layouts have in common, from index 0 on.

    Raises as `max_common_layout`.

    >>> max_common_vector("(4,8):(1,4)", "(4,8):(1,16)")
    4
    """
    return max_common_of(as_cute(a, "max_common_vector"), as_cute(b, "max_common_vector"), None).size


def max_common_of(a: CuteLayout, b: CuteLayout, say: Say | None) -> CuteLayout:
    """The common layout of two that have been read, telling its steps; a swizzle keeps 2^base elements together."""
    alike = a.swizzle == b.swizzle and a.offset == b.offset
    if not alike and (a.offset or b.offset):
        raise CompositionError(
            f"max_common_layout of {a} and {b}: with an offset inside its swizzle, one does not begin at 0"
        )
    most = [1 << one.swizzle[1] for one in (a, b) if not alike and one.swizzle is not None and one.swizzle[0]]
    plain = [CuteLayout(one.shape, one.stride) for one in (a, b)]
    inverse = right_inverse_of(plain[1], None)
    if say:
        say("the right inverse of b", inverse)
    both = compose(plain[0], inverse, None)
    common = coalesced(leaves_of(both.shape, both.stride))
    if say:
        say("a after it, merged", CuteLayout(*mode_of(common)))
    if not common or common[0][1] != 1:
        return CuteLayout(1, 0)
    length = min([common[0][0], *most])
    return compose(inverse, CuteLayout(length, 1), say)


def nullspace(layout: CuteLike) -> CuteLayout:
    """The coordinates that the layout maps to 0 by its strides of 0: L(N(i)) = L(0), and N is injective.

    >>> print(nullspace("(4,8):(0,1)"), nullspace("(2,4,2):(0,1,0)"), nullspace("8:1"))
    4:1 (2,2):(1,8) 1:0
    """
    given = as_cute(layout, "nullspace")
    found: list[tuple[int, Any]] = []
    place = 1
    for n, s in leaves_of(given.shape, given.stride):
        if not s:
            found.append((n, place if n > 1 else 0))
        place *= n
    return CuteLayout(*mode_of(found))
