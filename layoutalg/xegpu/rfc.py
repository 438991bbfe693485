"""The RFC's `sg_map`: the old name of `lane_layout` and `lane_data`.

`#xegpu.sg_map<wi_layout = [1, 16], wi_data = [2, 1]>` is not read by any LLVM today, but the RFC that explains the dialect
uses it. A work item is a lane; `wi_data` is what it holds per distribution:

>>> vnni = SgMapAttr((1, 16), (2, 1))
>>> print(vnni.to_layout())
#xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>
>>> vnni.fragment_shape((16, 16))
(8, 2)

`sg_map_of` goes the other way: from the layout of an operand's fragment to the attribute that the RFC prescribes for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.extents import Extent
from layoutalg.core.factors import Factor, merge_factors, size_of
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.messages import number_text, shown
from layoutalg.core.notation import Machine, Notation, Note, Operand, ReportRequest, as_sizes
from layoutalg.core.whole_numbers import as_ints, whole_number
from layoutalg.xegpu.attributes import LayoutAttr
from layoutalg.xegpu.distribution import as_numbers

__all__ = ["SgMapAttr", "sg_map_of"]


@dataclass(frozen=True, slots=True)
class SgMapAttr(Notation):
    """`#xegpu.sg_map<wi_layout = [..], wi_data = [..]>`, always 2-D.

    Raises `VerificationError` for anything but two sizes of at least 1 each.

    >>> print(SgMapAttr((1, 16), (1, 1)))
    #xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>
    """

    wi_layout: tuple[int, ...]
    wi_data: tuple[int, ...]

    def __post_init__(self) -> None:
        for name, value in (("wi_layout", self.wi_layout), ("wi_data", self.wi_data)):
            object.__setattr__(self, name, as_ints(name, value))
            if len(value) != 2 or not all(1 <= v <= MAX_EXTENT for v in value):
                raise VerificationError(f"{name} = {shown(list(value))}: expected two sizes of at least 1")

    def __str__(self) -> str:
        return f"#xegpu.sg_map<wi_layout = {list(self.wi_layout)}, wi_data = {list(self.wi_data)}>"

    def to_layout(self, rank: int = 2) -> LayoutAttr:
        """The same as a layout attribute; on a 1-D tensor, the one dimension that is not 1.

        >>> print(SgMapAttr((1, 16), (1, 1)).to_layout(1))
        #xegpu.layout<lane_layout = [16], lane_data = [1]>
        """
        rank = whole_number(rank, f"{self} on a tensor of rank", 0, error=VerificationError)
        if rank == 2:
            return LayoutAttr(lane_layout=self.wi_layout, lane_data=self.wi_data)
        if rank == 1 and 1 in self.wi_layout and self.wi_data[0] == 1:
            return LayoutAttr(lane_layout=(max(self.wi_layout),), lane_data=(self.wi_data[1],))
        raise VerificationError(
            f"{self} on a tensor of rank {number_text(rank)}: expected rank 2, or 1 with wi_data[0] = 1"
        )

    def check(self, shape: Sequence[int]) -> str | None:
        """The RFC's size rule: each size divisible by `wi_layout * wi_data`. None where it holds.

        >>> SgMapAttr((1, 16), (1, 1)).check((8, 24))
        'dimension 1 of [8, 24]: 24 is not divisible by wi_layout[1] * wi_data[1] = 16'
        """
        sizes = as_numbers(shape)
        try:
            attr = self.to_layout(len(sizes))
        except VerificationError as error:
            return str(error)
        units = [n * m for n, m in zip(attr.lane_layout or (), attr.lane_data or (), strict=True)]
        for d, (size, unit) in enumerate(zip(sizes, units, strict=True)):
            if size % unit:
                product = f"wi_layout[{d}] * wi_data[{d}]"
                return f"dimension {d} of {list(sizes)}: {size} is not divisible by {product} = {unit}"
        return None

    @property
    def needs_shape(self) -> bool:
        """True: the map fits many shapes.

        >>> SgMapAttr((2, 8), (1, 1)).needs_shape
        True
        """
        return True

    def layout(self, shape: Sequence[Extent] | None = None, machine: Machine | None = None) -> Layout:
        """The exact relation on a tensor of `shape`, on a `machine` (see `LayoutAttr.layout`).

        >>> SgMapAttr((2, 8), (1, 1)).layout((8, 8))
        Layout.parse('d0 = 4@reg 2@lane:8, d1 = 8@lane')
        """
        return self.to_layout(2 if shape is None else len(as_sizes(shape))).layout(shape, machine)

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The layout on `shape` (unless given, one unit of the map), to draw.

        >>> SgMapAttr((2, 8), (1, 2)).operands()[0].layout
        Layout.parse('d0 = 2@lane:8, d1 = 8@lane 2@reg')
        """
        return self.to_layout(2 if shape is None else len(as_sizes(shape))).operands(shape, machine)

    def _notes(self, shape: Sequence[int] | None, machine: Machine | None, asked: ReportRequest) -> tuple[Note, ...]:
        """The verdict of the RFC's size rule."""
        if shape is None:
            raise DistributionError(f"{self} needs a shape, such as 32x64")
        verdict = self.check(shape)
        return (Note("RFC", verdict or "accepts", "rfc", verdict or "accepts", verdict is not None),)

    def fragment_shape(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """The RFC's `WI_data_frag`: how many distributions, and the elements of each.

        Raises `DistributionError` where the map does not tile the shape.

        >>> SgMapAttr((1, 16), (1, 2)).fragment_shape((8, 32))
        (8, 2)
        """
        problem = self.check(shape)
        if problem is not None:
            raise DistributionError(f"{problem} (in {self})")
        each = prod(self.wi_data)
        return prod(as_numbers(shape)) // (prod(self.wi_layout) * each), each


def sg_map_of(fragment: Layout, packed: int) -> SgMapAttr:
    """The `sg_map` of a fragment whose registers hold `packed` elements each.

    The `packed` lowest values of the register factors are what one distribution gives a lane; where they lie in the tensor
    is `wi_data`, and where the lanes lie is `wi_layout`.

    Raises `DistributionError` where no such map gives the fragment.

    >>> print(sg_map_of(Layout.parse("d0 = 16@reg, d1 = 16@lane"), packed=2))
    #xegpu.sg_map<wi_layout = [1, 16], wi_data = [2, 1]>
    """
    if not isinstance(fragment, Layout):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise DistributionError(f"sg_map_of a {type(fragment).__name__}: expected a Layout")
    if type(packed) is not int or not 1 <= packed <= MAX_EXTENT:
        raise DistributionError("packed: expected a whole number of elements per register, at least 1")
    as_numbers(fragment.shape)
    lanes: list[int] = []
    data: list[int] = []
    for factors in fragment.dims:
        lanes.append(size_of([f for f in factors if f.axis == "lane"]))
        data.append(size_of(_within(factors, packed)))
    if len(lanes) != 2 or prod(data) != packed:
        raise DistributionError(f"{fragment} with {packed} elements per register: no sg_map gives it")
    found = SgMapAttr(tuple(lanes), tuple(data))
    if found.check(fragment.shape) is not None or found.layout(fragment.shape) != fragment:
        raise DistributionError(
            f"{fragment} with {packed} elements per register: no sg_map gives it; the nearest is {found}"
        )
    return found


def _within(factors: tuple[Factor, ...], packed: int) -> tuple[Factor, ...]:
    """The part of the register factors that counts below `packed`."""
    inside: list[Factor] = []
    for extent, stride, axis in merge_factors(factors):
        if axis == "reg" and stride < packed:
            inside.append(Factor(min(extent, packed // stride), stride, axis))
    return tuple(inside)
