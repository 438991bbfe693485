"""A `Layout` as one of Triton's linear layouts, and back.

A linear layout has one basis per bit: a tuple over the tensor's dimensions. The element at a place is the XOR of the bases
of the bits that are set. A layout of ours is one exactly when all extents are powers of two; subgroups are warps:

>>> tile = Layout.parse("d0 = 2@sg 2@reg, d1 = 4@lane 2@reg:2")
>>> print(to_linear_layout(tile))
#ttg.linear<{register = [[1, 0], [0, 1]], lane = [[0, 2], [0, 4]], warp = [[2, 0]], block = []}>
>>> to_linear_layout(tile)(register=3, lane=1, warp=1)
(3, 3)
>>> tile.owners((3, 3))
[(1, 1, 3)]

A basis of zeros moves nothing: work-items that differ in that bit only hold the same data, which are our replicas. A basis
that moves two bits, or a bit that two bases move, is an XOR swizzle, and a factor that flips places (`layoutalg.core.xor`).

The laws: `from_linear_layout(to_linear_layout(L)) == L`, and `to_linear_layout(L)(register=r, lane=l, warp=s)` is the element
that register r of lane l of subgroup s holds. What a text means, and how it covers a larger or a smaller tensor than its
own, was asked of Triton 3.9 (tests/oracle/test_triton.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.factors import Factor, XorFactor
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.limits import MOST_LINEAR_BITS as _MOST_BITS
from layoutalg.triton.bases import trusted
from layoutalg.triton.given import Bases, Basis
from layoutalg.triton.held_elements import AXES, layout_of
from layoutalg.triton.linear import LinearLayout, as_bases

__all__ = ["from_linear_layout", "to_linear_layout"]

_INPUTS = {axis: name for name, axis in AXES.items()}


def to_linear_layout(layout: Layout) -> LinearLayout:
    """The linear layout of a map from a tensor to `sg`, `lane`, `reg` (and `block`).

    Raises `ConversionError` naming the dimension and the factor that is not a power of two, or that no work-item counts.

    >>> print(to_linear_layout(Layout.parse("d0 = 8@reg, d1 = 16@lane")))
    #ttg.linear<{register = [[1, 0], [2, 0], [4, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 8]], warp = [], block = []}>
    >>> to_linear_layout(Layout.parse("d0 = 3@reg, d1 = 16@lane"))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: dimension d0: 3@reg is not a power of two, and linear layouts move bits
    (in d0 = 3@reg, d1 = 16@lane)
    """
    if not isinstance(layout, Layout):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConversionError(f"to_linear_layout of a {type(layout).__name__}: expected a Layout")
    form = layout.canonical()
    if form.offsets or any(form.origins) or form.flips:
        _refuse(layout, None, "it starts at an offset or an origin, and linear layouts map 0 to 0")
    if form.flips is not None:
        return _of_xor(layout, form)
    rank = form.rank
    found: dict[str | None, dict[int, Basis]] = {"reg": {}, "lane": {}, "sg": {}, "block": {}}
    shape: list[int] = []
    for d, factors in enumerate((*form.dims, form.replicas)):
        place = 1
        for factor in reversed(factors):
            extent, stride, axis = factor
            bits = found.get(axis)
            if bits is None or type(extent) is not int or type(stride) is not int or extent & (extent - 1):
                _refuse(layout, d, _no_bits(factor))
            step = stride
            for _ in range(extent.bit_length() - 1):
                if step in bits:
                    _refuse(layout, d, f"{factor} overlaps another factor of {axis}, and each bit moves one way only")
                bits[step] = tuple([place if e == d else 0 for e in range(rank)])
                step *= 2
                place *= 2
        if d < rank:
            shape.append(place)
        # Replicas move no coordinate: with d == rank their bases are all zeros.
    lists: list[Bases] = []
    for axis in ("reg", "lane", "sg", "block"):
        bits = found[axis]
        bases: list[Basis] = []
        step = 1
        while len(bases) < len(bits):
            basis = bits.get(step)
            if basis is None:
                _refuse_gap(layout, axis, step)
            bases.append(basis)
            step *= 2
        if len(bases) > _MOST_BITS:
            _refuse(layout, None, f"it has {len(bases)} bits of {_INPUTS[axis]}, over {_MOST_BITS}")
        lists.append(tuple(bases))
    if max(shape, default=1) > MAX_EXTENT:
        _refuse(layout, None, "it has a dimension of over 2^31 elements")
    return _make(lists, tuple(shape))


def _of_xor(layout: Layout, form: Layout) -> LinearLayout:
    """The linear layout of a map with XOR."""
    try:
        seen = form.inverse()
    except LayoutError as error:
        raise ConversionError(f"{error}, and linear layouts give every place an element") from error
    if seen.replicas:
        _refuse(layout, None, "one place holds several elements, and linear layouts give every place one")
    lists: list[Bases] = []
    others = set(seen.names) - set(_INPUTS)
    if others:
        _refuse(
            layout, None, f"it moves along {', '.join(sorted(others))}, and linear layouts know {', '.join(_INPUTS)}"
        )
    for axis in _INPUTS:
        bases: list[Basis] = []
        for factor in reversed(seen.dims[seen.names.index(axis)] if axis in seen.names else ()):
            if factor.extent & (factor.extent - 1):
                _refuse(
                    layout, None, f"{factor.extent} values of {axis} are no power of two, and linear layouts move bits"
                )
            for bit in range(factor.extent.bit_length() - 1):
                moved = dict.fromkeys(form.names, 0)
                if isinstance(factor, XorFactor):
                    for name, weight in factor.places:
                        moved[name] += weight
                elif factor.axis is not None:
                    moved[factor.axis] = factor.stride << bit
                bases.append(tuple(moved.values()))
        lists.append(tuple(bases))
    sizes: list[int] = []
    for size, name in zip(form.shape, form.names, strict=True):
        if size & (size - 1):
            _refuse(
                layout, form.names.index(name), f"its size {size} is not a power of two, and linear layouts move bits"
            )
        sizes.append(size)
    return _make(lists, tuple(sizes))


def _make(lists: Sequence[Bases], shape: tuple[int, ...]) -> LinearLayout:
    """A distributed layout from parts that are known to be sound."""
    return trusted(LinearLayout, zip(AXES, lists, strict=True), [(f"dim{d}", size) for d, size in enumerate(shape)])


def from_linear_layout(linear: object, shape: Sequence[int] | None = None) -> Layout:
    """The `Layout` that a linear layout is, for a tensor of its own shape or (see `resized`) of another.

    Also takes objects of Triton's own (see `as_bases`). Registers, lanes and warps are `reg`, `lane`, `sg`; an offset in
    memory is `addr`; other inputs keep their names.

    Raises `ConversionError` where some element belongs to nobody.

    >>> print(from_linear_layout(LinearLayout(register=((2,),), lane=((1,), (0,)), shape=(4,))))
    d0 = 2@reg 2@lane | replicas 2@lane:2
    >>> print(from_linear_layout(LinearLayout(register=((1,),), lane=((3,),), shape=(4,))))
    d0 = 2@(lane^reg) 2@(reg)
    >>> from_linear_layout(LinearLayout(register=((1,),), shape=(4,)))
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: no basis moves dimension 0 by 2: its other elements belong to nobody
    """
    given = as_bases(linear)
    if shape is not None:
        given = given.resized(shape)
    return layout_of(given)


def _no_bits(factor: Factor) -> str:
    extent, stride, axis = factor
    if type(extent) is not int or type(stride) is not int:
        return f"{factor} is symbolic, and a number is needed for a basis"
    if axis is None:
        return f"{factor} moves along no axis, and linear layouts give every element a place of its own"
    if axis not in _INPUTS:
        return f"{factor} moves along {axis!r}, and linear layouts know {', '.join(_INPUTS)} only"
    return f"{factor} is not a power of two, and linear layouts move bits"


def _refuse_gap(layout: Layout, axis: str, step: int) -> NoReturn:
    name = _INPUTS[axis]
    _refuse(layout, None, f"no factor moves {step} along {axis}, and linear layouts give every {name} an element")


def _refuse(layout: Layout, dim: int | None, problem: str) -> NoReturn:
    where = "" if dim is None else "replica: " if dim == layout.rank else f"dimension {layout.names[dim]}: "
    raise ConversionError(f"{where}{problem} (in {layout})")
