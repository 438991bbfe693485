"""Swizzles in compositions: on the left they stay, on the right they move to the left where the layout keeps their bits apart.

`L o Sw` is `Sw' o 0 o L` where L carries the bits that Sw reads and changes to whole bits of its own, and nothing else touches
those. In (8,8):(8,1) bit 3 of the coordinate is bit 0 of the index, and bit 0 is bit 3:

>>> said = []
>>> print(after_swizzle(CuteLayout((8, 8), (8, 1)), Swizzle(1, 0, 3), lambda *step: said.append(step)))
Sw<1,0,-3> o 0 o (8,8):(8,1)

Law: `after_swizzle(L, Sw)(i) == L(Sw(i))` for every i below the size of L. Which bits a layout keeps apart is decided by the
layout's factors; where they do not say, by its values, up to 2^16 of them.
"""

from __future__ import annotations

from typing import Any, cast

from layoutalg.core.errors import CompositionError, ConversionError
from layoutalg.core.limits import MOST_CUTE_VALUES
from layoutalg.core.messages import number_text, shown
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.modes import coalesced
from layoutalg.cute.nested_tuples import index_of, is_plain, leaves_of
from layoutalg.cute.searching import values_after, values_at
from layoutalg.cute.steps import Say
from layoutalg.cute.swizzles import Swizzle, applied, make_swizzle

__all__ = ["after_swizzle", "of_swizzle", "of_swizzled"]


def of_swizzle(swizzle: Swizzle, inner: Any, say: Say | None) -> CuteLayout | Swizzle:
    """A swizzle after a layout, or after another swizzle of the same shift.

    >>> print(of_swizzle(Swizzle(3, 3, 3), CuteLayout((8, 64), (64, 1)), lambda words, value: None))
    Sw<3,3,3> o 0 o (8,64):(64,1)
    """
    if isinstance(inner, Swizzle):
        merged = make_swizzle(swizzle.reads ^ inner.reads, swizzle.changes ^ inner.changes)
        if swizzle.shift != inner.shift or merged is None:
            raise CompositionError(
                f"{swizzle} o {inner}: two swizzles are one where they have the same shift and adjacent bits"
            )
        return merged
    if not isinstance(inner, CuteLayout):
        raise ConversionError(f"composition of {swizzle} by {shown(inner)}: expected a layout or a Swizzle")
    if inner.swizzle is not None:
        merged = of_swizzle(swizzle, Swizzle(*inner.swizzle), say)
        offset = inner.offset
        inner = CuteLayout(inner.shape, inner.stride)
        if cast("Swizzle", merged).bits or offset:
            return CuteLayout(inner.shape, inner.stride, _triple(cast("Swizzle", merged)), offset)
        return inner
    if not swizzle.bits:
        return inner
    if say:
        say("a swizzle on the left stands before the layout", None)
    return CuteLayout(inner.shape, inner.stride, _triple(swizzle), 0)


def _triple(swizzle: Swizzle) -> tuple[int, int, int]:
    return swizzle.bits, swizzle.base, swizzle.shift


def after_swizzle(outer: CuteLayout, swizzle: Swizzle, say: Say | None) -> CuteLayout:
    """A layout after a swizzle: R(i) = A(Sw(i)).

    Raises `CompositionError` where A does not keep the bits apart that the swizzle reads and changes.
    """
    if not swizzle.bits:
        return outer
    if outer.swizzle is not None:
        raise CompositionError(f"{outer} o {swizzle}: a swizzle on both sides of a layout is not one swizzle")
    new = _moved(outer, swizzle, say)
    if not _keeps_apart(outer, swizzle, new, outer.size):
        _by_values(outer, swizzle, new, CuteLayout(outer.size, 1), 0)
    return CuteLayout(outer.shape, outer.stride, _triple(new), 0)


def of_swizzled(outer: CuteLayout, inner: CuteLayout, found: CuteLayout, say: Say | None) -> CuteLayout:
    """A layout after a swizzled one: the swizzle moves to the left; `found` is the composition without it."""
    swizzle = Swizzle(*cast("tuple[int, int, int]", inner.swizzle))
    plain = CuteLayout(inner.shape, inner.stride)
    if outer.swizzle is not None:
        raise CompositionError(f"{outer} o {inner}: a swizzle on both sides of a layout is not one swizzle")
    start = index_of(inner.offset, outer.shape, outer.stride, inside=False)
    if not isinstance(start, int):
        raise CompositionError(f"{outer} o {inner}: coordinates have no bits that a swizzle could change")
    if not swizzle.bits and not inner.offset:
        return found
    new = _moved(outer, swizzle, say) if swizzle.bits else swizzle
    forwards = is_plain(leaves_of(inner.shape, inner.stride))
    if inner.offset or not forwards or not _keeps_apart(outer, swizzle, new, plain.cosize):
        _by_values(outer, swizzle, new, plain, inner.offset)
    return CuteLayout(found.shape, found.stride, _triple(new), start)


def _moved(outer: CuteLayout, swizzle: Swizzle, say: Say | None) -> Swizzle:
    """Where A carries the bits of a swizzle, as a swizzle of A's values."""
    reads, changes = (
        index_of(mask, outer.shape, outer.stride, inside=False) for mask in (swizzle.reads, swizzle.changes)
    )
    if not isinstance(reads, int) or not isinstance(changes, int):
        raise CompositionError(f"{outer} o {swizzle}: coordinates have no bits that a swizzle could change")
    new = make_swizzle(reads, changes) if reads.bit_count() == swizzle.bits else None
    if new is None:
        raise CompositionError(
            f"{outer} o {swizzle}: the bits that the swizzle reads go to {reads:#b}, and those it changes to {changes:#b}; "
            "no swizzle does that"
        )
    if say:
        say(f"the bits read go to {reads:#b}, those changed to {changes:#b}", new)
    return new


def _keeps_apart(outer: CuteLayout, swizzle: Swizzle, new: Swizzle, count: int) -> bool:
    """Whether the factors say that A carries each bit of the swizzle to the bit of the new one, and nothing else there.

    `count` indices may come, which may be more than A has: its last factor runs on. False where the factors do not say: then
    values decide.
    """
    flat = cast("list[tuple[int, int]]", coalesced(leaves_of(outer.shape, outer.stride), runs_on=True))
    touched = swizzle.reads | swizzle.changes
    weights: dict[int, int] = {}
    others: list[tuple[int, int]] = []
    place = 1
    for k, (n, s) in enumerate(flat):
        # The last factor runs on, so that all bits above are its own; another must be a power of two to have bits.
        last = k == len(flat) - 1
        n = max(n, -(-count // place)) if last else n
        end = touched.bit_length() + 1 if last else (place * n).bit_length()
        if s < 0:
            return False
        if place * n - 1 < touched & -touched and not last:
            others.append((n, s))
            place *= n
            continue
        if place >> touched.bit_length():
            others.append((n, s))
            continue
        if place & (place - 1) or (n & (n - 1) and not last):
            return False
        low = place.bit_length() - 1
        for bit in range(low, end - 1):
            weights[bit] = s << (bit - low)
        if last:
            top = -(-n * place >> (end - 1))
            others.append((top, s << (end - 1 - low)) if end - 1 > low else (n, s))
        place *= n
    for k in range(touched.bit_length()):
        if touched >> k & 1:
            low_bits = k - (
                (swizzle.base + max(0, swizzle.shift))
                if swizzle.reads >> k & 1
                else (swizzle.base - min(0, swizzle.shift))
            )
            start = new.base + max(0, new.shift) if swizzle.reads >> k & 1 else new.base - min(0, new.shift)
            if weights.get(k) != 1 << (start + low_bits):
                return False
    others += [(2, weight) for k, weight in weights.items() if not touched >> k & 1]
    return _stay_off(others, new.reads | new.changes)


def _stay_off(others: list[tuple[int, int]], mask: int) -> bool:
    """Whether sums of other factors never touch the bits of a mask: each lies between two of them, and carries into none."""
    bit = 0
    spans: list[tuple[int, int]] = []
    while mask >> bit:
        if mask >> bit & 1:
            spans.append((bit, bit + 1))
        bit += 1
    edges = [0, *[edge for span in spans for edge in span], 200]
    sums = [0] * len(edges)
    for n, s in others:
        if n == 1 or not s:
            continue
        low = (s & -s).bit_length() - 1
        k = max(k for k, edge in enumerate(edges) if edge <= low)
        if k % 2:
            return False
        sums[k] += (n - 1) * s
    return all(total < 1 << edges[k + 1] for k, total in enumerate(sums[:-1]))


def _by_values(outer: CuteLayout, swizzle: Swizzle, new: Swizzle, inner: CuteLayout, offset: int) -> None:
    """Compare A(Sw(offset + B(c))) with Sw'(A(offset) + A(B(c))) at every coordinate."""
    where = f"{outer} o {swizzle}{f' o {offset} o {inner}' if offset or inner.size != outer.size else ''}"
    why = "the bits that the swizzle reads or changes are no bits of the layout by themselves"
    if inner.size > MOST_CUTE_VALUES:
        raise CompositionError(
            f"{where}: {why}, and {number_text(inner.size)} values are too many to compare (2^16 are not)"
        )
    index = values_after(CuteLayout(1, 1), inner)
    truth = None if index is None else values_at(outer, applied(swizzle, index + offset))
    plain = values_after(outer, inner)
    start = index_of(offset, outer.shape, outer.stride, inside=False)
    if truth is None or plain is None or not (truth == applied(new, plain + start)).all():
        raise CompositionError(f"{where}: {why}")
