"""The factors that a layout is made of.

The factor `4@reg:2` takes the values 0..3 and moves 2 apiece along `reg`. Two neighbours of one dimension that count as
one, `4@reg:2 2@reg`, are the factor `8@reg`:

>>> [str(f) for f in merge_factors([Factor(4, 2, "reg"), Factor(2, 1, "reg")])]
['8@reg']
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from layoutalg.core.errors import LayoutError
from layoutalg.core.extents import Extent, as_extent, conditions, extent_text, multiply
from layoutalg.core.limits import MAX_EXTENT, MAX_START, MOST_FACTORS
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import listed, whole_number

__all__ = [
    "Factor",
    "FactorLike",
    "Place",
    "Places",
    "XorFactor",
    "XorFoundError",
    "as_factor",
    "as_name",
    "as_places",
    "default_names",
    "merge_factors",
    "natural_order",
    "size_of",
    "xor_factor",
]


Place: TypeAlias = tuple[str, int]
"""A digit of a codomain axis: the axis, and what the digit weighs."""


class Places(tuple[Place, ...]):
    """The places that the bit of an XOR factor flips, each once, in order.

    >>> str(Places([("lane", 4), ("reg", 1)]))
    '(lane:4^reg)'
    """

    __slots__ = ()

    def __str__(self) -> str:
        return "(" + "^".join(axis if weight == 1 else f"{axis}:{weight}" for axis, weight in self) + ")"

    def __reduce__(self) -> tuple[object, ...]:
        return Places, (tuple(self),)


class Factor(NamedTuple):
    """A factor of a coordinate: `extent` values that move `stride` apiece along codomain axis `axis` (None: along none).

    >>> str(Factor(2, 4, "sg")), str(Factor(16, 1, "lane")), str(Factor(8))
    ('2@sg:4', '16@lane', '8@_')
    """

    extent: Extent
    stride: Extent = 0
    axis: str | None = None

    def __str__(self) -> str:
        extent, stride, axis = self
        if axis is None:
            return f"{extent_text(extent)}@_"
        return f"{extent_text(extent)}@{axis}" + ("" if stride == 1 else f":{extent_text(stride)}")


class XorFactor(Factor):
    """A factor of two values that flips places (see `layoutalg.core.xor`).

    It is no stride along an axis, and code that reads it as one would be wrong: it refuses to be taken apart.

    >>> extent, stride, axis = xor_factor([("lane", 4), ("reg", 1)])
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: 2@(lane:4^reg) flips places (XOR): expected a factor with a stride along one axis
    """

    __slots__ = ()

    def __iter__(self) -> Any:
        raise self._refused()

    @property
    def axis(self) -> Any:  # type: ignore[override]
        """Refused: there are several, or one that others flip too."""
        raise self._refused()

    @property
    def stride(self) -> Any:  # type: ignore[override]
        """Refused, as `axis` is."""
        raise self._refused()

    def _refused(self) -> LayoutError:
        return LayoutError(f"{self} flips places (XOR): expected a factor with a stride along one axis")

    @property
    def places(self) -> Places:
        """The places that the bit flips."""
        return cast("Places", self[2])

    def __str__(self) -> str:
        return f"2@{self[2]}"

    def __repr__(self) -> str:
        return f"XorFactor({self})"

    def __reduce__(self) -> tuple[object, ...]:
        return xor_factor, (tuple(self.places),)


def xor_factor(places: Iterable[Place]) -> XorFactor:
    """The factor that flips places; nothing is checked, and `Places` are in order already.

    >>> xor_factor([("reg", 1), ("lane", 4)])
    XorFactor(2@(lane:4^reg))
    """
    parts: Any = (2, 1, places if type(places) is Places else Places(sorted(places)))
    return tuple[Any, ...].__new__(XorFactor, parts)


FactorLike: TypeAlias = Factor | tuple[Any, Any, str | Sequence[Place] | None]


def size_of(factors: Sequence[Factor]) -> Extent:
    """The number of values that a list of factors takes: the product of the extents."""
    size: Extent = 1
    for factor in factors:
        extent = factor[0]
        size = size * extent if type(size) is int and type(extent) is int else multiply(size, extent)
    return size


def as_name(value: object, what: str) -> str:
    """Check a name of a dimension or an axis."""
    if not isinstance(value, str) or not value.isidentifier() or not value.isascii() or value == "_":
        raise LayoutError(f"{what} name {shown(value)}: expected an identifier such as 'lane'")
    return value


class XorFoundError(Exception):
    """A factor that flips places stands among those of a plain layout."""


def as_factor(given: FactorLike, xor: bool = False) -> Factor:
    """Check a factor that a caller gave as a tuple; with `xor` one whose axis is a list of places, (2, 1, places).

    >>> as_factor((16, 1, "lane"))
    Factor(extent=16, stride=1, axis='lane')
    >>> as_factor((2, 1, [("reg", 1), ("lane", 4)]), xor=True)
    XorFactor(2@(lane:4^reg))
    """
    if not isinstance(given, tuple) or len(given) != 3:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"factor {shown(given)}: expected (extent, stride, axis)")
    if type(given[2]) is not str and isinstance(given[2], (tuple, list)):
        if not xor:
            raise XorFoundError(given)
        if type(given) is XorFactor:
            return given
        if type(given[0]) is not int or type(given[1]) is not int or given[:2] != (2, 1) or not given[2]:
            raise LayoutError(f"factor {shown(given)}: expected (2, 1, places) of a factor that flips places")
        return xor_factor(as_places(cast("Any", given[2])))
    extent, stride, axis = given
    if type(extent) is not int or not 1 <= extent <= MAX_EXTENT:
        extent = as_extent(extent)
    if axis is None or (type(stride) is int and stride == 0):
        return Factor(extent)
    if type(stride) is not int or not 0 < stride <= MAX_START:
        stride = as_extent(stride, f"stride on axis {axis!r}", low=0, high=MAX_START)
    return Factor(extent, stride, as_name(axis, "axis"))


def as_places(given: Iterable[Place]) -> Places:
    """Check places that a caller gave: pairs of an axis and a weight.

    >>> as_places([("reg", 1), ("lane", 4)])
    (('lane', 4), ('reg', 1))
    """
    found: set[Place] = set()
    pairs: Sequence[object] = listed(given, "places", MOST_FACTORS)
    for pair in pairs:
        found_pair: Sequence[object] = cast("Any", pair) if isinstance(pair, (tuple, list)) else ()
        if len(found_pair) != 2:
            raise LayoutError(
                f"place {shown(cast('object', pair))}: expected an axis and a weight, such as ('lane', 4)"
            )
        axis, weight = found_pair
        found.add((as_name(axis, "axis"), whole_number(weight, f"weight on axis {axis!r}", 1, MAX_START)))
    if len(found) != len(pairs):
        raise LayoutError(f"places {shown(given)}: expected each once")
    return Places(sorted(found))


def merge_factors(factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """Merge neighbouring factors of one dimension that together count as one; drop extents of 1."""
    merged: list[Factor] = []
    for factor in factors:
        extent, stride, axis = factor
        if extent == 1:
            continue
        if merged:
            above, step, along = merged[-1]
            if along == axis and step == multiply(extent, stride):
                whole = multiply(above, extent)
                # M/8 * 8 is M, but only where 8 divides M: a factor that says so stays.
                if type(whole) is int or not set(conditions([above, extent])) - set(conditions([whole])):
                    merged[-1] = Factor(whole, stride, axis)
                    continue
        merged.append(factor)
    return tuple(merged)


_NAMES = tuple(f"d{i}" for i in range(16))


def default_names(rank: int) -> tuple[str, ...]:
    """The names of the dimensions of a tensor that has none of its own."""
    return _NAMES[:rank] if rank <= len(_NAMES) else tuple(f"d{i}" for i in range(rank))


def natural_order(name: str) -> tuple[str, int, str]:
    """A sort key that puts d2 before d10."""
    stem = name.rstrip("0123456789")
    return stem, int(name[len(stem) :][:18] or -1), name
