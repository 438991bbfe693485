"""What CuTe asks of a layout as a tuple of modes: its size and depth, its modes taken apart, put together and merged.

None of these changes what a layout says of the coordinates that are left. Coalescing makes the fewest factors: neighbours merge
where the second goes on where the first ends (`2:1` and `6:2` are `12:1`), and a factor of extent 1 goes.

>>> print(coalesce("(2,(1,6)):(1,(6,2))"), flatten("(2,(1,6)):(1,(6,2))"))
12:1 (2,1,6):(1,6,2)

Law: for every i below the size, `coalesce(L)(i) == L(i)`. A layout with a swizzle keeps it; what changes is the layout inside.
Everywhere in the algebra a layout may be given as text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias, cast

from layoutalg.core.errors import ConversionError
from layoutalg.core.lazy import imported
from layoutalg.core.limits import MAX_NESTING, MOST_CUTE_STRIDE, MOST_LEAVES
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import whole_number
from layoutalg.cute.bases import ScaledBasis, Stride
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.nested_tuples import IntTuple, StrideTuple, compact_strides, leaves_of, mode_of, tuple_text
from layoutalg.cute.reading import parse_cute

__all__ = [
    "CuteLike", "Leaves", "Mode", "as_cute", "as_profile", "as_shape", "coalesce", "coalesced", "cosize", "depth", "filter",
    "filter_zeros", "flatten", "gathered", "get", "group", "joined", "like", "make_identity_layout", "make_layout",
    "make_ordered_layout", "modes_of", "opened", "rank", "size",
]  # fmt: skip

CuteLike: TypeAlias = CuteLayout | str
"""A layout, or its text."""
Mode: TypeAlias = tuple[IntTuple, StrideTuple]
"""The shape and the stride of one mode."""
Leaves: TypeAlias = Sequence[tuple[int, Stride]]


def as_cute(value: object, what: str) -> CuteLayout:
    """A layout that a caller gave, or the text of one; `what` names the operation.

    >>> print(as_cute("(4,2)", "size"))
    (4,2):(1,4)
    """
    if isinstance(value, CuteLayout):
        return value
    if isinstance(value, str):
        return parse_cute(value)
    objects = imported("layoutalg.cute.objects")
    if objects.is_cute_object(value):
        return objects.layout_of(value)
    raise ConversionError(f"{what} of {shown(value)}: expected a CuteLayout or its text, such as '(4,2):(1,4)'")


def as_shape(value: object, what: str, low: int = 1, deep: int = 0) -> IntTuple:
    """A shape that a caller gave: a whole number or a tuple of such.

    >>> as_shape((4, (2, 3)), "size")
    (4, (2, 3))
    """
    given = value
    if isinstance(value, (tuple, list)) and deep <= MAX_NESTING:
        if len(cast("Sequence[object]", value)) > MOST_LEAVES:
            raise ConversionError(f"{what} of {shown(given)}: expected at most {MOST_LEAVES} modes")
        return tuple([as_shape(one, what, low, deep + 1) for one in cast("Sequence[object]", value)])
    return whole_number(given, f"{what} of", low, MOST_CUTE_STRIDE, ConversionError)


def as_profile(value: object, what: str, deep: int = 0) -> Any:
    """A profile: a tuple, perhaps of tuples. Only its nesting counts."""
    given = value
    if isinstance(value, (tuple, list)) and deep <= MAX_NESTING:
        return tuple([as_profile(one, what, deep + 1) for one in cast("Sequence[object]", value)])
    if value is None or isinstance(value, int):
        return 1
    raise ConversionError(f"{what} by {shown(given)}: expected a profile, such as (1, 1)")


def modes_of(layout: CuteLayout) -> list[Mode]:
    """The shape and stride of each mode; a layout of one number is one mode."""
    return opened((layout.shape, layout.stride))


def gathered(modes: Sequence[Mode]) -> Mode:
    """These modes as one."""
    return tuple([n for n, _ in modes]), tuple([s for _, s in modes])


def joined(modes: Sequence[Mode]) -> CuteLayout:
    """The layout of these modes."""
    return CuteLayout(*gathered(modes))


def opened(mode: Mode) -> list[Mode]:
    """The modes inside a mode; of one number, itself."""
    shape, stride = mode
    return list(zip(shape, stride, strict=True)) if isinstance(shape, tuple) and isinstance(stride, tuple) else [mode]


def like(layout: CuteLayout, inner: CuteLayout) -> CuteLayout:
    """A layout inside the swizzle and the offset of another."""
    if layout.swizzle is None:
        return inner
    return CuteLayout(inner.shape, inner.stride, layout.swizzle, layout.offset)


def size(layout: CuteLike | IntTuple) -> int:
    """The number of coordinates of a layout or a shape.

    >>> size("(4,(3,2)):(3,(1,12))"), size((4, 6))
    (24, 24)
    """
    if isinstance(layout, (CuteLayout, str)):
        return as_cute(layout, "size").size
    return _product(as_shape(layout, "size"))


def _product(shape: IntTuple) -> int:
    return shape if isinstance(shape, int) else prod(map(_product, shape))


def cosize(layout: CuteLike) -> int:
    """One more than the largest index, before a swizzle: `L(size - 1) + 1`. Negative strides count as positive, as in C++.

    Raises `ConversionError` for a layout of coordinates.

    >>> cosize("(4,2):(1,8)")
    12
    """
    return as_cute(layout, "cosize").cosize


def rank(layout: CuteLike | IntTuple) -> int:
    """The number of modes of a layout or a shape; of one number, 1.

    >>> rank("(4,(3,2)):(3,(1,12))"), rank(8)
    (2, 1)
    """
    shape = as_cute(layout, "rank").shape if isinstance(layout, (CuteLayout, str)) else as_shape(layout, "rank")
    return 1 if isinstance(shape, int) else len(shape)


def depth(layout: CuteLike | IntTuple) -> int:
    """How deep the modes nest; 0 for one number, 1 for a flat tuple.

    >>> depth("8:1"), depth("(8):(1)"), depth((4, (3, 2)))
    (0, 1, 2)
    """
    return _depth(
        as_cute(layout, "depth").shape if isinstance(layout, (CuteLayout, str)) else as_shape(layout, "depth")
    )


def _depth(shape: IntTuple) -> int:
    return 0 if isinstance(shape, int) else 1 + max(map(_depth, shape), default=0)


def get(layout: CuteLike, *modes: int) -> CuteLayout:
    """One mode of a layout, or a mode inside a mode.

    Raises `ConversionError` for a mode that there is not.

    >>> print(get("(4,(3,2)):(3,(1,12))", 1), get("(4,(3,2)):(3,(1,12))", 1, 0))
    (3,2):(1,12) 3:1
    """
    whole = as_cute(layout, "get")
    found = whole
    for k in modes:
        parts = modes_of(found)
        at = whole_number(k, "mode", -(2**31), 2**31, ConversionError)
        if not 0 <= at < len(parts):
            raise ConversionError(f"mode {at} of {whole}: expected one from 0 to {len(parts) - 1}")
        found = CuteLayout(*parts[at])
    return like(whole, found)


def make_layout(*parts: Any) -> CuteLayout:
    """A layout from a shape, from a shape and a stride, or from the layouts of its modes.

    Without strides it is compact and column-major; a mode of extent 1 then has stride 0, as in CuTe.

    Raises `ConversionError` for anything else, and for modes with a swizzle.

    >>> print(make_layout((4, 2)), make_layout((4, 2), (2, 1)), make_layout(CuteLayout(4, 1), CuteLayout(2, 8)))
    (4,2):(1,4) (4,2):(2,1) (4,2):(1,8)
    """
    if parts and all(isinstance(one, CuteLayout) for one in parts):
        if any(one.swizzle is not None for one in parts):
            raise ConversionError(
                f"make_layout of {shown(list(map(str, parts)))}: a mode cannot have a swizzle of its own"
            )
        return joined([(one.shape, one.stride) for one in parts])
    if not 1 <= len(parts) <= 2:
        raise ConversionError(f"make_layout of {len(parts)} values: expected a shape, a shape and a stride, or layouts")
    shape = as_shape(parts[0], "make_layout")
    if len(parts) == 1:
        return CuteLayout(shape, _without_ones(shape, compact_strides(shape, 1)[0]))
    return CuteLayout(shape, _as_stride(parts[1]))


def _as_stride(value: object, deep: int = 0) -> StrideTuple:
    given = value
    if isinstance(value, ScaledBasis):
        return value
    if isinstance(value, (tuple, list)) and deep <= MAX_NESTING:
        return tuple([_as_stride(one, deep + 1) for one in cast("Sequence[object]", value)])
    return whole_number(given, "stride", -MOST_CUTE_STRIDE, MOST_CUTE_STRIDE, ConversionError)


def _without_ones(shape: IntTuple, stride: IntTuple) -> IntTuple:
    """Strides with 0 where the extent is 1, as CuTe's compact strides have it."""
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        return tuple(map(_without_ones, shape, stride))
    return 0 if shape == 1 else stride


def make_ordered_layout(shape: IntTuple, order: IntTuple) -> CuteLayout:
    """A compact layout whose modes are ordered: the mode of the smallest number is contiguous, and so on.

    >>> print(make_ordered_layout((2, 3, 4), (2, 0, 1)))
    (2,3,4):(12,1,3)
    """
    sizes = as_shape(shape, "make_ordered_layout")
    keys = as_shape(order, "order", 0)
    leaves = leaves_of(sizes, keys) if _same_form(sizes, keys) else None
    if leaves is None:
        raise ConversionError(
            f"order {tuple_text(keys)} of shape {tuple_text(sizes)}: expected one number for each extent"
        )
    step, found = 1, [0] * len(leaves)
    for k in sorted(range(len(leaves)), key=lambda k: cast("int", leaves[k][1])):
        n = leaves[k][0]
        found[k] = 0 if n == 1 else step
        step *= n
    return CuteLayout(sizes, _refilled(sizes, iter(found).__next__))


def _same_form(one: object, other: object) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        mine, theirs = cast("tuple[object, ...]", one), cast("tuple[object, ...]", other)
        return len(mine) == len(theirs) and all(map(_same_form, mine, theirs))
    return not isinstance(one, tuple) and not isinstance(other, tuple)


def _refilled(shape: IntTuple, following: Callable[[], int]) -> IntTuple:
    return following() if isinstance(shape, int) else tuple([_refilled(part, following) for part in shape])


def make_identity_layout(shape: IntTuple) -> CuteLayout:
    """The layout that gives each coordinate of a shape itself; TMA's tensors are made of it.

    >>> print(make_identity_layout((4, (2, 3))))
    (4,(2,3)):(1@0,(1@0@1,1@1@1))
    """
    sizes = as_shape(shape, "make_identity_layout")
    return CuteLayout(sizes, 1 if isinstance(sizes, int) else _bases(sizes, ()))


def _bases(shape: IntTuple, mode: tuple[int, ...]) -> StrideTuple:
    if isinstance(shape, int):
        return ScaledBasis(1, mode)
    return tuple([_bases(part, (*mode, k)) for k, part in enumerate(shape)])


def coalesced(leaves: Leaves, runs_on: bool = False) -> list[tuple[int, Stride]]:
    """The fewest factors that say the same; where they run on past the end, the last stride stays.

    >>> coalesced([(2, 1), (6, 2)]), coalesced([(4, 1), (1, 10)], runs_on=True), coalesced([(1, 5)])
    ([(12, 1)], [(4, 1), (2, 10)], [])
    """
    found: list[tuple[int, Stride]] = []
    last = len(leaves) - 1
    for k, (n, s) in enumerate(leaves):
        if n == 1:
            if not runs_on or k < last:
                continue
            n = 2
        if found and found[-1][0] * found[-1][1] == s:
            found[-1] = (found[-1][0] * n, found[-1][1])
        else:
            found.append((n, s))
    return found


def coalesce(layout: CuteLike, profile: Any = None) -> CuteLayout:
    """The fewest factors: flat, none of extent 1, no two neighbours that merge. With a profile, so in each mode of it.

    Modes beyond the profile stay as they are. Past the end of the domain the result may differ: a trailing `1:d` goes.

    Raises `ConversionError` for a profile that has more modes than the layout.

    >>> print(coalesce("(2,(1,6)):(1,(6,2))"), coalesce("(2,(1,6)):(1,(6,2))", (1, 1)))
    12:1 (2,6):(1,2)
    """
    given = as_cute(layout, "coalesce")
    return like(given, by_profile(given, as_profile(profile, "coalesce"), _coalesce_mode, "coalesce"))


def _coalesce_mode(shape: IntTuple, stride: StrideTuple) -> Mode:
    return mode_of(coalesced(leaves_of(shape, stride)))


def by_profile(
    layout: CuteLayout, profile: Any, change: Callable[[IntTuple, StrideTuple], Mode], what: str
) -> CuteLayout:
    """A layout with `change` applied to each mode that a profile names."""

    def walk(shape: IntTuple, stride: StrideTuple, form: Any) -> Mode:
        if not isinstance(form, tuple):
            return change(shape, stride)
        parts = opened((shape, stride))
        forms = cast("tuple[Any, ...]", form)
        if len(forms) > len(parts):
            raise ConversionError(f"{what} of {layout} by {tuple_text(profile)}: the profile has more modes")
        found = [*map(walk, *zip(*parts[: len(forms)], strict=True), forms)] if forms else []
        return gathered([*found, *parts[len(forms) :]])

    return CuteLayout(*walk(layout.shape, layout.stride, profile))


def flatten(layout: CuteLike) -> CuteLayout:
    """The factors without their nesting.

    >>> print(flatten("((4,3),1):((3,1),0)"), flatten("8:1"))
    (4,3,1):(3,1,0) 8:1
    """
    given = as_cute(layout, "flatten")
    if isinstance(given.shape, int):
        return given
    return like(given, joined(leaves_of(given.shape, given.stride)))


def group(layout: CuteLike, begin: int, end: int) -> CuteLayout:
    """Modes `begin` to `end - 1` as one mode.

    Raises `ConversionError` unless 0 <= begin <= end <= rank.

    >>> print(group("(4,8,2):(1,4,32)", 0, 2))
    ((4,8),2):((1,4),32)
    """
    given = as_cute(layout, "group")
    parts = modes_of(given)
    low, high = (whole_number(k, "group", 0, 2**31, ConversionError) for k in (begin, end))
    if not low <= high <= len(parts):
        raise ConversionError(f"group of modes {low} to {high} of {given}: expected 0 <= begin <= end <= {len(parts)}")
    if low == high:
        return given
    return like(given, joined([*parts[:low], gathered(parts[low:high]), *parts[high:]]))


def filter(layout: CuteLike, profile: Any = None) -> CuteLayout:
    """Without factors of stride 0 and of extent 1, coalesced; with a profile, so in each mode of it.

    >>> print(filter("(4,8):(0,1)"), filter("4:0"))
    8:1 1:0
    """
    given = as_cute(layout, "filter")
    return like(given, by_profile(given, as_profile(profile, "filter"), _filter_mode, "filter"))


def _filter_mode(shape: IntTuple, stride: StrideTuple) -> Mode:
    return mode_of(coalesced([(n, s) for n, s in leaves_of(shape, stride) if s]))


def filter_zeros(layout: CuteLike) -> CuteLayout:
    """With extent 1 where the stride is 0; the nesting stays.

    >>> print(filter_zeros("(4,8):(0,1)"))
    (1,8):(0,1)
    """
    given = as_cute(layout, "filter_zeros")

    def walk(shape: IntTuple, stride: StrideTuple) -> IntTuple:
        if isinstance(shape, tuple) and isinstance(stride, tuple):
            return tuple(map(walk, shape, stride))
        return shape if stride else 1

    return like(given, CuteLayout(walk(given.shape, given.stride), given.stride))
