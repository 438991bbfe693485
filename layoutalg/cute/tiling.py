"""Divides and products: a layout in tiles, and a layout as a tile that is repeated.

`logical_divide(A, B)` is `A o (B, complement(B, size(A)))`: the tile, then where the tiles are. `logical_product(A, B)` is
`(A, complement(A, size(A) * cosize(B)) o B)`: the block, then where its copies are. By a tuple, so in each mode; the other
divides and products only sort the modes:

>>> for divide in (logical_divide, zipped_divide, tiled_divide, flat_divide):
...     print(divide("(8,6)", (2, 3)))
((2,4),(3,2)):((1,2),(8,24))
((2,3),(4,2)):((1,8),(2,24))
((2,3),4,2):((1,8),2,24)
(2,3,4,2):(1,8,2,24)

Law: `logical_divide(A, B)` has the values of A, each as often as (B, complement(B)) has its coordinate; the first mode has
those of A after B.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from layoutalg.core.errors import CompositionError, ConversionError
from layoutalg.core.messages import number_text
from layoutalg.cute.composing import Tiler, as_tiler, compose
from layoutalg.cute.cute_layout import CuteLayout
from layoutalg.cute.inverses import complement_of
from layoutalg.cute.modes import (
    CuteLike,
    Mode,
    as_cute,
    as_shape,
    gathered,
    joined,
    like,
    make_ordered_layout,
    modes_of,
    opened,
    size,
)
from layoutalg.cute.nested_tuples import IntTuple, tuple_text
from layoutalg.cute.steps import Say
from layoutalg.cute.swizzles import Swizzle

__all__ = [
    "blocked_product", "divided", "flat_divide", "flat_product", "logical_divide", "logical_product", "multiplied",
    "raked_product", "tile_to_shape", "tiled_divide", "tiled_product", "woven", "zipped_divide", "zipped_product",
]  # fmt: skip

_Split = Callable[[CuteLayout, CuteLayout, Say | None], CuteLayout]


def logical_divide(layout: CuteLike, tiler: Tiler) -> CuteLayout:
    """The layout in tiles: ((tile), (rest)), by a tuple in each mode; modes that it does not name stay.

    `tiler` is a layout, an extent, or a tuple of tilers; None leaves a mode as it is. Where its size does not divide the
    layout's, the last tile runs past the end, as in CuTe.

    Raises `CompositionError` where the tile has no complement, or where the layout after both is no layout.

    >>> print(logical_divide("(4,2,3):(2,1,8)", "4:2"), logical_divide("(8,6)", (2, None)), logical_divide("9:1", 2))
    ((2,2),(2,3)):((4,1),(2,8)) ((2,4),6):((1,2),8) (2,5):(1,2)
    """
    return divided("logical", layout, tiler, None)


def zipped_divide(layout: CuteLike, tiler: Tiler) -> CuteLayout:
    """The layout in tiles, sorted: ((tile of each mode), (rest of each mode, other modes)).

    A mode whose tiler is None counts as rest, as in pycute; C++ wants a tiler there.

    Raises as `logical_divide`.

    >>> print(zipped_divide("(8,6)", (2, 3)))
    ((2,3),(4,2)):((1,8),(2,24))
    """
    return divided("zipped", layout, tiler, None)


def tiled_divide(layout: CuteLike, tiler: Tiler) -> CuteLayout:
    """As `zipped_divide`, with the rests as modes of their own: ((tile), rest, ...).

    Raises as `logical_divide`.

    >>> print(tiled_divide("(8,6)", (2, 3)))
    ((2,3),4,2):((1,8),2,24)
    """
    return divided("tiled", layout, tiler, None)


def flat_divide(layout: CuteLike, tiler: Tiler) -> CuteLayout:
    """As `zipped_divide`, with all as modes of their own: (tile, ..., rest, ...).

    Raises as `logical_divide`.

    >>> print(flat_divide("(8,6)", (2, 3)))
    (2,3,4,2):(1,8,2,24)
    """
    return divided("flat", layout, tiler, None)


def logical_product(block: CuteLike, tiler: Tiler) -> CuteLayout:
    """The block, repeated: (block, where its copies are); by a tuple in each mode.

    `tiler` is a layout, an extent, or a tuple of tilers; None leaves a mode as it is.

    Raises `CompositionError` where the block has no complement, or where the tiler does not fit it.

    >>> print(logical_product("(2,2):(4,1)", "6:1"))
    ((2,2),(2,3)):((4,1),(2,8))
    """
    return multiplied("logical", block, tiler, None)


def zipped_product(block: CuteLike, tiler: Tiler) -> CuteLayout:
    """The product by modes, sorted: ((block of each mode), (copies of each mode)).

    Raises as `logical_product`.

    >>> print(zipped_product("(2,2):(1,2)", (CuteLayout(3, 1), CuteLayout(4, 1))))
    ((2,2),(3,(2,2))):((1,2),(2,(1,4)))
    """
    return multiplied("zipped", block, tiler, None)


def tiled_product(block: CuteLike, tiler: Tiler) -> CuteLayout:
    """As `zipped_product`, with the copies as modes of their own: ((block), copies, ...).

    Raises as `logical_product`.

    >>> print(tiled_product("(2,2):(4,1)", "6:1"))
    ((2,2),2,3):((4,1),2,8)
    """
    return multiplied("tiled", block, tiler, None)


def flat_product(block: CuteLike, tiler: Tiler) -> CuteLayout:
    """As `zipped_product`, with all as modes of their own: (block, ..., copies, ...).

    Raises as `logical_product`.

    >>> print(flat_product("(2,2):(4,1)", "6:1"))
    (2,2,2,3):(4,1,2,8)
    """
    return multiplied("flat", block, tiler, None)


def divided(kind: str, layout: Any, tiler: Any, say: Say | None) -> CuteLayout:
    """One of the four divides, telling its steps."""
    what = f"{kind}_divide"
    given = as_cute(layout, what)
    inner = CuteLayout(given.shape, given.stride)
    return like(given, _sorted(kind, inner, as_tiler(tiler, what), _divide, what, say))


def multiplied(kind: str, block: Any, tiler: Any, say: Say | None) -> CuteLayout:
    """One of the four products, telling its steps."""
    what = f"{kind}_product"
    given = as_cute(block, what)
    inner = CuteLayout(given.shape, given.stride)
    return like(given, _sorted(kind, inner, as_tiler(tiler, what), _multiply, what, say))


def _divide(layout: CuteLayout, tiler: CuteLayout, say: Say | None) -> CuteLayout:
    rest = complement_of(tiler, layout.size, None, fills=True)
    if say:
        say(f"the complement of the tile {tiler} up to size(A) = {number_text(layout.size)}", rest)
    tile = joined([(tiler.shape, tiler.stride), (rest.shape, rest.stride)])
    if say:
        say(f"A is composed with the tile and its complement{_past_the_end(_divide, tile, layout)}", tile)
    return compose(layout, tile, say)


def _past_the_end(split: _Split, tiles: CuteLayout, whole: CuteLayout) -> str:
    """What to say where tiles of a size that does not divide the layout's reach past its end."""
    if split is not _divide or tiles.size <= whole.size:
        return ""
    return f" ({number_text(tiles.size)} places for {number_text(whole.size)}: the last tile runs past the end)"


def _multiply(block: CuteLayout, tiler: CuteLayout, say: Say | None) -> CuteLayout:
    high = block.size * tiler.cosize
    rest = complement_of(block, high, None)
    if say:
        say(f"the complement of the block {block} up to size(A) * cosize(B) = {number_text(high)}", rest)
    copies = compose(rest, tiler, None)
    if say:
        say("the complement after B: where the copies are", copies)
    return joined([(block.shape, block.stride), (copies.shape, copies.stride)])


def _sorted(kind: str, layout: CuteLayout, tiler: Any, split: _Split, what: str, say: Say | None) -> CuteLayout:
    found = _logical(layout, tiler, split, what, say)
    if kind == "logical":
        return found
    tiles, rests = _unzipped((found.shape, found.stride), tiler)
    if say and isinstance(tiler, tuple):
        say("tiles and rests, sorted", joined([tiles, rests]))
    if kind == "zipped":
        return joined([tiles, rests])
    return joined([*(_opened(tiles) if kind == "flat" else [tiles]), *_opened(rests)])


def _logical(layout: CuteLayout, tiler: Any, split: _Split, what: str, say: Say | None) -> CuteLayout:
    if tiler is None:
        return layout
    if isinstance(tiler, CuteLayout):
        if tiler.swizzle is not None:
            raise CompositionError(f"{what} of {layout} by {tiler}: a swizzled tile is not supported")
        return split(layout, tiler, say)
    if isinstance(tiler, Swizzle):
        raise ConversionError(f"{what} of {layout} by {tiler}: expected a layout, a whole number, or a tuple of such")
    tilers = cast("tuple[Any, ...]", tiler)
    modes = modes_of(layout)
    if len(tilers) > len(modes):
        raise CompositionError(f"{what} of {layout} by a tile of {len(tilers)} modes: it has {len(modes)}")
    found: list[Mode] = []
    for k, (mode, one) in enumerate(zip(modes, tilers, strict=False)):
        whole = CuteLayout(*mode)
        part = _logical(whole, one, split, what, None)
        found.append((part.shape, part.stride))
        if say:
            say(f"mode {k}, {whole} by {'_' if one is None else one}{_past_the_end(split, part, whole)}", part)
    return joined([*found, *modes[len(tilers) :]])


def _unzipped(mode: Mode, tiler: Any) -> tuple[Mode, Mode]:
    """The tiles and the rests of a divided mode, sorted as the tiler is nested."""
    if tiler is None:
        return (1, 0), mode
    modes = opened(mode)
    if not isinstance(tiler, tuple):
        return modes[0], modes[1]
    tilers = cast("tuple[Any, ...]", tiler)
    pairs = [_unzipped(one, inner) for one, inner in zip(modes, tilers, strict=False)]
    return gathered([a for a, _ in pairs]), gathered([*(b for _, b in pairs), *modes[len(tilers) :]])


def _opened(mode: Mode) -> list[Mode]:
    """The modes inside a mode; one alone stays as it is."""
    found = opened(mode)
    return found if len(found) > 1 else [mode]


def blocked_product(block: CuteLike, tiler: CuteLike) -> CuteLayout:
    """The block, repeated in blocks: mode k is (mode k of the block, mode k of where its copies are).

    Raises as `logical_product`.

    >>> print(blocked_product("(2,2)", "(3,4)"))
    ((2,3),(2,4)):((1,4),(2,12))
    """
    return woven("blocked_product", block, tiler, None)


def raked_product(block: CuteLike, tiler: CuteLike) -> CuteLayout:
    """The block, repeated element by element: mode k is (mode k of where its copies are, mode k of the block).

    Raises as `logical_product`.

    >>> print(raked_product("(2,2)", "(3,4)"))
    ((3,2),(4,2)):((4,1),(12,2))
    """
    return woven("raked_product", block, tiler, None)


def woven(what: str, block: Any, tiler: Any, say: Say | None) -> CuteLayout:
    """A blocked or a raked product, telling its steps."""
    given, copies = as_cute(block, what), as_cute(tiler, what)
    if copies.swizzle is not None:
        raise CompositionError(f"{what} of {given} by {copies}: a swizzled tiler is not supported")
    ranks = max(len(modes_of(given)), len(modes_of(copies)))
    padded, times = (_padded(CuteLayout(one.shape, one.stride), ranks) for one in (given, copies))
    if isinstance(padded.shape, tuple):
        times = joined(modes_of(times))  # (8) by 6 is (8) by (6)
    product = _multiply(padded, times, say)
    pair = [CuteLayout(*mode) for mode in modes_of(product)]
    if not isinstance(pair[0].shape, tuple):
        pairs = [list(modes_of(product))]
    else:
        pairs = [list(both) for both in zip(*map(modes_of, pair), strict=True)]
    order = -1 if what == "raked_product" else 1
    if say:
        say("mode by mode", None)
    return like(given, joined([_mode(joined(one[::order])) for one in pairs]))


def _mode(layout: CuteLayout) -> Mode:
    return layout.shape, layout.stride


def _padded(layout: CuteLayout, ranks: int) -> CuteLayout:
    """With modes `1:0` up to a rank; a layout of one number stays where one is enough."""
    modes = modes_of(layout)
    return layout if len(modes) == ranks else joined([*modes, *[(1, 0)] * (ranks - len(modes))])


def tile_to_shape(block: CuteLike, shape: IntTuple, order: IntTuple | None = None) -> CuteLayout:
    """The block, repeated until the shape is full; `order` says along which mode first (the first, unless given).

    Raises `CompositionError` where the block does not divide the shape, and as `blocked_product`.

    >>> print(tile_to_shape("(2,2)", (4, 6)), tile_to_shape("(2,2)", (4, 6), (1, 0)))
    ((2,2),(2,3)):((1,4),(2,8)) ((2,2),(2,3)):((1,12),(2,4))
    """
    given = as_cute(block, "tile_to_shape")
    target = as_shape(shape, "tile_to_shape")
    wanted = [size(part) for part in (target if isinstance(target, tuple) else (target,))]
    if len(modes_of(given)) > len(wanted):
        raise CompositionError(
            f"tile_to_shape of {given} to {tuple_text(target)}: the layout has more modes than the shape"
        )
    padded = _padded(CuteLayout(given.shape, given.stride), len(wanted))
    sizes = [CuteLayout(*mode).size for mode in modes_of(padded)]
    for k, (n, whole) in enumerate(zip(sizes, wanted, strict=True)):
        if whole % n:
            raise CompositionError(
                f"tile_to_shape of {given} to {tuple_text(target)}: mode {k} has {number_text(n)} elements, "
                f"and {number_text(n)} does not divide {number_text(whole)}"
            )
    counts = tuple([whole // n for n, whole in zip(sizes, wanted, strict=True)])
    copies = make_ordered_layout(counts, tuple(range(len(counts))) if order is None else order)
    return like(given, woven("blocked_product", padded, copies, None))
