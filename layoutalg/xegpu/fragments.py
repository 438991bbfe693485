"""Fragment types: the vector that one subgroup, or one lane, has of a tensor.

At lane level, values of 2D block messages and of dpas are 1-D, as long as the lane's share. Whether a load is `packed` or
`transpose`d is read off the layout, as LLVM 22 does: more than one row per lane means VNNI, one row per lane in all lanes
means a transposed load.

>>> from layoutalg.xegpu.attributes import LayoutAttr
>>> vnni = LayoutAttr(lane_layout=(1, 16), lane_data=(4, 1))
>>> str(vnni.fragment_type((32, 16), "i8"))
'packed vector<32xi8>'
>>> str(LayoutAttr(lane_layout=(16, 1), lane_data=(1, 2)).fragment_type((16, 16), "f16"))
'transposed vector<16xf16>'
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import DistributionError
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.notation import Note
from layoutalg.core.whole_numbers import as_flag, as_ints, instance_of, whole_number
from layoutalg.xegpu.distribution import Distribution, shortened

__all__ = ["FragmentType", "lane_fragment", "subgroup_fragment"]


@dataclass(frozen=True, slots=True)
class FragmentType:
    """A vector type, how many such vectors the share consists of, and how a load delivers it.

    >>> print(FragmentType((8,), "f16"), "x", FragmentType((8,), "f16", count=2).count)
    vector<8xf16> x 2
    """

    shape: tuple[int, ...]
    element: str
    count: int = 1
    packed: bool = False
    transposed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(whole_number(n, "shape with", 0) for n in as_ints("shape", self.shape)))
        object.__setattr__(self, "count", whole_number(self.count, "count =", 0, MAX_EXTENT))
        instance_of(self.element, str, "element")
        for name in ("packed", "transposed"):
            object.__setattr__(self, name, as_flag(getattr(self, name), name))

    def __str__(self) -> str:
        how = "packed " if self.packed else "transposed " if self.transposed else ""
        return how + self.vector

    @property
    def vector(self) -> str:
        """The MLIR type alone.

        >>> FragmentType((8, 1), "f32").vector
        'vector<8x1xf32>'
        """
        return f"vector<{''.join(f'{n}x' for n in self.shape)}{self.element}>"

    def notes(self, level: str) -> list[Note]:
        """What a report says of the type: of one subgroup or one lane (`level`).

        >>> FragmentType((8,), "f16").notes("lane")[0].text
        'per lane: vector<8xf16>'
        """
        instance_of(level, str, "level")
        vectors = f"{self.count} x {self}" if self.count > 1 else str(self)
        return [
            Note("type", f"per {level}: {vectors}", "fragment_type", str(self)),
            Note("", "", "fragment_count", self.count),
            Note("", "", "fragment_of", level),
        ]


def subgroup_fragment(
    given: Distribution, shape: tuple[int, ...], element: str, text: str, array_length: int = 1
) -> FragmentType:
    """One subgroup's share: vectors of `inst_data`, or of `sg_data` where instructions are not blocked.

    An array of blocks has a leading dimension, as LLVM's `load_nd` gives it.

    >>> str(subgroup_fragment(Distribution(2, sg_layout=(2, 4), sg_data=(16, 16)), (32, 64), "f32", "it"))
    'vector<16x16xf32>'
    """
    element_bits(element)
    block, rounds = shape, 1
    if given.sg_layout is not None:
        held = replace(given, inst_data=None, lane_layout=None, lane_data=None).layout(shape, text).fragment_shape
        block = held if given.sg_data is None else given.sg_data
        rounds = prod(held) // prod(block)
    given.layout(shape, text)  # refuses what cannot be tiled
    tile = block if given.inst_data is None else given.inst_data
    count = rounds * prod(b // t for b, t in zip(block, tile, strict=True))
    return FragmentType(tile if array_length == 1 else (array_length, *tile), element, count)


def lane_fragment(
    given: Distribution, shape: tuple[int, ...], element: str, text: str, array_length: int = 1, block: bool = True
) -> FragmentType:
    """One lane's share: vectors of an instruction tile, distributed over the lanes.

    >>> str(lane_fragment(Distribution(2, lane_layout=(1, 16)), (8, 16), "f16", "it"))
    'vector<8xf16>'
    """
    lanes = given.lane_layout
    if lanes is None:
        raise DistributionError(f"no lane_layout, so a lane's share is not defined (layout {shortened(text)})")
    whole = subgroup_fragment(given, shape, element, text)
    share = replace(given, sg_layout=None, sg_data=None, inst_data=None).layout(whole.shape, text).fragment_shape
    if not block:
        return FragmentType(share, element, whole.count)
    two = len(lanes) == 2
    packed = two and given.lane_data is not None and given.lane_data[0] != 1 and lanes[0] == 1
    transposed = two and lanes[0] > 1 and lanes[1] == 1
    return FragmentType((prod(share) * array_length,), element, whole.count, packed, transposed)
