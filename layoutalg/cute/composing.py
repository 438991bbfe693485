"""Composition: `composition(A, B)` is A after B, with B's shape: R(c) = A(B(c)) for every coordinate c of B.

Each leaf `s:d` of B walks through the factors `n:a` of A, fastest first. Where `n` divides `d`, the leaf steps over the factor
(`d/n` is left); where `d` divides `n`, it takes `n/d` digits of it with stride `d*a` (and `s` over `n/d` is left). A leaf that
ends inside a factor needs neither.

>>> print(composition("(6,2):(8,2)", "(4,3):(3,1)"))
((2,2),3):((24,2),8)

4:3 is at 0, 3 of the factor 6:8 (two digits, stride 24), then at 0, 1 of 2:2; 3:1 ends inside 6:8. Past the end of A its last
factor runs on. The law is exactly the first sentence: leaves that walk well by themselves may still carry when they are added,
(2,2):(3,3) is at 6 = (2,1) of a (4,2), where 3 + 3 is not. Then, and where a leaf does not divide, all values of A(B(c)) are
compared with what layouts of this shape can be, up to 2^16 of them; what no layout says is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from layoutalg.core.errors import CompositionError, ConversionError
from layoutalg.core.limits import MAX_NESTING, MOST_CUTE_STRIDE, MOST_CUTE_VALUES, MOST_LEAVES
from layoutalg.core.messages import number_text, shown
from layoutalg.core.whole_numbers import whole_number
from layoutalg.cute.bases import ScaledBasis, Stride
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.modes import CuteLike, Leaves, Mode, as_cute, coalesced, gathered, joined, like, modes_of, opened
from layoutalg.cute.nested_tuples import IntTuple, StrideTuple, leaves_of, mode_of, tuple_text
from layoutalg.cute.searching import layout_of_values, values_after
from layoutalg.cute.steps import Say
from layoutalg.cute.swizzled import after_swizzle, of_swizzle, of_swizzled
from layoutalg.cute.swizzles import Swizzle

__all__ = ["Tiler", "as_tiler", "compose", "composed", "composition"]

Tiler: TypeAlias = "CuteLayout | str | int | tuple[Tiler, ...] | None"
"""A layout, an extent `n` (for `n:1`), None (a mode stays), or one of these for each mode."""
_Flat: TypeAlias = list[tuple[int, Stride]]
_SHOWN = 8
"""The values that a refusal names, at most."""


def composition(a: CuteLike | Swizzle, b: Tiler | Swizzle, inner: CuteLike | None = None) -> Any:
    """A after B: R(c) = A(B(c)) for every coordinate c of B, and R has B's shape, whose leaves may become tuples.

    Past the end of A its last leaf runs on, and a trailing mode of extent 1 keeps its stride for that (pycute and
    tensor-layouts lose it). `b` may be

    - a layout;
    - a tile, a tuple of tilers, which are composed mode by mode: None keeps a mode, and modes that the tile does not name are
      **dropped, as C++ and the DSL do (pycute keeps them)**;
    - a `Swizzle`, which goes to the left where A keeps its bits apart.

    `a` may be a `Swizzle` too: the result is `Sw o 0 o B`. With three arguments it is CuTe's composition(swizzle, offset,
    layout): `Sw o offset o layout`.

    Raises `CompositionError` where no layout of B's shape is A after B, with the leaf that does not fit; `ConversionError` for
    an argument that is not a layout.

    >>> print(composition("(6,2):(8,2)", "(4,3):(3,1)"), composition("(4,2):(1,10)", "12:1"), composition("1:5", "4:2"))
    ((2,2),3):((24,2),8) (4,3):(1,10) 4:10
    >>> print(composition("(4,1,8):(8,8,1)", (CuteLayout(2, 2),)), composition(Swizzle(3, 3, 3), "(8,64):(64,1)"))
    (2):(16) Sw<3,3,3> o 0 o (8,64):(64,1)
    >>> print(composition(Swizzle(3, 3, 3), 64, "(8,8):(8,1)"))
    Sw<3,3,3> o 64 o (8,8):(8,1)
    >>> composition("(5,3):(1,36)", "8:3")
    Traceback (most recent call last):
    layoutalg.core.errors.CompositionError: (5,3):(1,36) o 8:3: leaf 8:3 runs over the end of factor 5:1, and 3 does not divide
    5; no layout of shape 8 has the values of A(B(c)): 0, 3, 37, 40, 74, 108, 111, 145
    """
    return composed(None, a, b, inner)


def composed(say: Say | None, a: Any, b: Any, inner: Any = None) -> Any:
    """The composition of what a caller gave, telling its steps."""
    if inner is None:
        return compose(a, as_tiler(b, "composition"), say)
    layout = as_cute(inner, "composition")
    offset = whole_number(b, "offset", 0, MOST_CUTE_STRIDE, ConversionError)
    if not isinstance(a, Swizzle) or layout.swizzle is not None:
        raise ConversionError(
            f"composition of {shown(a)}, {offset} and {layout}: expected a Swizzle and a layout without one"
        )
    if not a.bits and not offset:
        return layout
    return CuteLayout(layout.shape, layout.stride, (a.bits, a.base, a.shift), offset)


def as_tiler(value: object, what: str, deep: int = 0) -> Any:
    """A tiler that a caller gave, with layouts for texts."""
    given = value
    if value is None or isinstance(value, (CuteLayout, Swizzle)):
        return value
    if isinstance(value, (tuple, list)) and deep < MAX_NESTING:
        if len(cast("Sequence[object]", value)) > MOST_LEAVES:
            raise ConversionError(
                f"{what} by a tile of {len(cast('Sequence[object]', value))}: at most {MOST_LEAVES} modes"
            )
        return tuple([as_tiler(one, what, deep + 1) for one in cast("Sequence[object]", value)])
    if isinstance(value, str):
        return as_cute(value, what)
    if isinstance(value, int) and not isinstance(value, bool):
        return CuteLayout(whole_number(value, "tiler", 1, MOST_CUTE_STRIDE, ConversionError), 1)
    raise ConversionError(f"{what} by {shown(given)}: expected a layout, a whole number, None, or a tuple of such")


def compose(a: Any, b: Any, say: Say | None) -> Any:
    """The composition of values that have been read, telling its steps."""
    if isinstance(a, Swizzle):
        return of_swizzle(a, b, say)
    outer = as_cute(a, "composition")
    if b is None:
        return outer
    if isinstance(b, Swizzle):
        return after_swizzle(outer, b, say)
    if isinstance(b, tuple):
        return _by_mode(outer, cast("tuple[Any, ...]", b), say)
    if b.swizzle is not None:
        return of_swizzled(outer, b, compose(outer, CuteLayout(b.shape, b.stride), say), say)
    if outer.swizzle is not None:
        return like(outer, compose(CuteLayout(outer.shape, outer.stride), b, say))
    return _plain(outer, b, say)


def _by_mode(outer: CuteLayout, tile: tuple[Any, ...], say: Say | None) -> CuteLayout:
    modes = modes_of(outer)
    if len(tile) > len(modes):
        raise CompositionError(f"composition of {outer} by a tile of {len(tile)} modes: it has {len(modes)}")
    found: list[Mode] = []
    for mode, tiler in zip(modes, tile, strict=False):
        part = compose(CuteLayout(*mode), tiler, None)
        found.append((part.shape, part.stride))
        if say:
            say(f"mode {len(found) - 1}: {CuteLayout(*mode)} o {'_' if tiler is None else tiler}", part)
    if say and len(tile) < len(modes):
        say(f"the tile names {len(tile)} of {len(modes)} modes: the others go", None)
    return like(outer, joined(found))


_REFUSED: _Flat = [(1, 0)]
"""In place of the digits of a leaf that does not divide."""


class _Factors:
    """The factors of A that leaves of B walk through, and how far each leaf reaches into them."""

    __slots__ = ("flat", "problem", "reach")

    def __init__(self, shape: IntTuple, stride: StrideTuple) -> None:
        self.flat = coalesced(leaves_of(shape, stride), runs_on=True) or [(1, 0)]
        self.reach: list[tuple[int, int]] = []
        """By factor: the largest digit that a leaf has there, with the sign of its stride."""
        self.problem = ""

    def walk(self, extent: int, stride: int) -> _Flat:
        """The digits of one leaf of B; empty where it does not divide, with the `problem`."""
        flat = self.flat
        last = len(flat) - 1
        if extent == 1 or not stride or not last:
            if last and extent == 1 and stride:
                stride = _stepped(flat, stride)
            self.reach.append((last, (extent - 1) * stride))
            return [(extent, stride * flat[last][1] if stride else 0)]
        sign, d, rest = (-1, -stride, extent) if stride < 0 else (1, stride, extent)
        digits: _Flat = []
        for k in range(last):
            n, a = flat[k]
            if d >= n:
                if d % n:
                    return self._refuse(
                        f"leaf {extent}:{stride} steps over factor {n}:{a}, and {n} does not divide {d}"
                    )
                d //= n
                continue
            new = -(-n // d)
            if rest > new and (n % d or rest % new):
                what = f"{d} does not divide {n}" if n % d else f"{new} does not divide {rest}"
                return self._refuse(f"leaf {extent}:{stride} runs over the end of factor {n}:{a}, and {what}")
            new = min(new, rest)
            digits.append((new, sign * d * a))
            self.reach.append((k, sign * (new - 1) * d))
            rest, d = rest // new, 1
            if rest == 1:
                return digits
        digits.append((rest, sign * d * flat[last][1]))
        self.reach.append((last, sign * (rest - 1) * d))
        return digits

    def where(self, digits: _Flat) -> str:
        """What the leaf that was walked last takes of the factors, in words."""
        taken: list[str] = []
        for (count, _), (k, end) in zip(digits, self.reach[-len(digits) :], strict=True):
            if end:
                n, a = self.flat[k]
                step = abs(end) // (count - 1)
                how = f", {step} apart" if step > 1 else ""
                how += ", backwards" if end < 0 else ""
                how += ", past the end" if abs(end) >= n and k == len(self.flat) - 1 else ""
                taken.append(f"{count} of {n}:{a}{how}")
        return f"takes {'; '.join(taken)}" if taken else "does not move"

    def _refuse(self, problem: str) -> _Flat:
        self.problem = self.problem or problem
        return _REFUSED

    def carry(self) -> str:
        """Why the digits of several leaves do not add up; empty where they do."""
        if len(self.flat) == 1:
            return ""
        ends = [0] * len(self.flat)
        forwards = backwards = False
        for k, end in self.reach:
            if end:
                ends[k] += abs(end)
                forwards, backwards = forwards or end > 0, backwards or end < 0
        if forwards and backwards and sum(map(bool, ends)) > 1:
            return "leaves that move forwards and backwards through several factors"
        for (n, a), end in zip(self.flat[:-1], ends, strict=False):
            if end >= n:
                return f"leaves that add up to {end} in factor {n}:{a} carry over its end"
        return ""


def _stepped(flat: Leaves, stride: int) -> int:
    """The stride of a leaf of extent 1 in the last factor, as C++ prints it; 0 where the factors before do not divide it."""
    sign, d = (-1, -stride) if stride < 0 else (1, stride)
    for n, _ in flat[:-1]:
        if d >= n and d % n:
            return 0
        d = -(-d // n)
    return sign * d


def _plain(outer: CuteLayout, inner: CuteLayout, say: Say | None) -> CuteLayout:
    """A after B, of layouts without a swizzle."""
    whole = _Factors(outer.shape, outer.stride)
    if say:
        say("the factors of A, merged; the last one runs on", CuteLayout(*mode_of(whole.flat)))
    modes: dict[tuple[int, ...], _Factors] = {}

    def walk(shape: IntTuple, stride: StrideTuple) -> Mode:
        if isinstance(shape, tuple):
            return gathered(list(map(walk, shape, cast("tuple[StrideTuple, ...]", stride))))
        factors, step = whole, stride
        if isinstance(stride, ScaledBasis):
            if stride.mode not in modes:
                modes[stride.mode] = _Factors(*_mode_at(outer, stride.mode))
            factors, step = modes[stride.mode], stride.value
        digits = factors.walk(shape, cast("int", step))
        found = digits[0] if len(digits) == 1 else mode_of(digits)
        if say and digits is not _REFUSED:
            say(f"leaf {shape}:{stride} {factors.where(digits)}", CuteLayout(*found))
        return found

    found = walk(inner.shape, inner.stride)
    if modes:
        _check_modes(outer, inner, [*modes], any(end for _, end in whole.reach))
    for factors in (whole, *modes.values()):
        problem = factors.problem or factors.carry()
        if problem:
            return _by_values(outer, inner, problem, say)
    return CuteLayout(*found)


def _mode_at(outer: CuteLayout, mode: tuple[int, ...]) -> Mode:
    found: Mode = (outer.shape, outer.stride)
    for k in mode:
        parts = opened(found)
        if k >= len(parts):
            raise CompositionError(f"composition of {outer}: a step along mode {list(mode)}, which it does not have")
        found = parts[k]
    return found


def _check_modes(outer: CuteLayout, inner: CuteLayout, modes: list[tuple[int, ...]], numbers: bool) -> None:
    """Refuse values of B that are no coordinates."""
    inside = any(one != other and other[: len(one)] == one for one in modes for other in modes)
    if inside or numbers:
        what = "a number of elements" if numbers else "another inside it"
        raise CompositionError(f"{outer} o {inner}: a step along a mode and {what} do not add up")


def _by_values(outer: CuteLayout, inner: CuteLayout, problem: str, say: Say | None) -> CuteLayout:
    """The layout with the values of A after B, found by trying; refused where no layout has them."""
    size = inner.size
    where = f"{outer} o {inner}: {problem}"
    if size > MOST_CUTE_VALUES:
        raise CompositionError(
            f"{where}; {number_text(size)} values are too many to look for a layout that has them (2^16 are not)"
        )
    values = values_after(outer, inner)
    if values is None:
        raise CompositionError(where)
    found = layout_of_values(values, inner.shape)
    if found is None:
        first = ", ".join(map(str, values.ravel(order="F")[:_SHOWN].tolist())) + (", ..." if size > _SHOWN else "")
        raise CompositionError(
            f"{where}; no layout of shape {tuple_text(inner.shape)} has the values of A(B(c)): {first}"
        )
    if say:
        say(f"{problem}; among all {size} values", found)
    return found
