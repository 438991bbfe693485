"""The layouts that LLVM 23 and 24 give to anchors: dpas, and what moves memory.

Where the hardware fixes lanes (block messages, dpas), the tile of an instruction is a multiple of them. Gathers take what their
user wants, scatters put lanes along the innermost dimension.

>>> from layoutalg.side.llvm_passes.block_sizes import STORE
>>> print(block_message((24, 32), 16, "inst", None, STORE))
#xegpu.layout<inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>
>>> print(block_message((32, 32), 16, "workgroup", 4, STORE))
#xegpu.layout<sg_layout = [2, 2], sg_data = [16, 16]>
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd, isqrt, prod

from layoutalg.core.errors import LayoutError
from layoutalg.side.llvm_passes.block_sizes import (
    DEPTHS,
    LANES,
    LOAD,
    ROWS,
    Blocks,
    largest_divisor,
    tile,
    whole_bytes,
)
from layoutalg.side.llvm_passes.fields import Attribute, fits, lanes, numbers_of
from layoutalg.xegpu import LayoutAttr, SliceAttr

__all__ = [
    "block_lanes",
    "block_load",
    "block_message",
    "divided",
    "generic_load",
    "product",
    "scattered",
    "scattered_lanes",
    "subgroup_shapes",
]

Ints = tuple[int, ...]
_PACKED_A = 16
_PACKED_B = 32
_MESSAGE = 16
_WIDEST = 16
"""Of a scatter: how much of one lane, which LLVM counts in elements here and in bytes elsewhere."""


def block_lanes(shape: Sequence[int], bits: int, packed: int, *, transformed: bool = False) -> tuple[Ints, Ints]:
    """The lanes along a row, and how many small elements each packs: along the row, or down a column for B of a dpas.

    >>> block_lanes((8, 16), 16, 16), block_lanes((32, 16), 8, 32, transformed=True)
    (((1, 16), (1, 1)), ((1, 16), (4, 1)))
    """
    rank = len(shape)
    data = [1] * rank
    data[rank - 2 if transformed else rank - 1] = packed // bits if bits < packed else 1
    count = min(LANES, shape[-1] // data[-1])
    return (*(1,) * (rank - 1), count), tuple(data)


def subgroup_shapes(shape: Sequence[int], inst: Sequence[int], count: int) -> list[Ints]:
    """How `count` subgroups can lie over a tensor so that each has whole instructions; the squarest first.

    >>> subgroup_shapes((128, 64), (8, 16), 32)
    [(8, 4), (16, 2)]
    """
    found = [
        each
        for each in _factorings(count, shape)
        if all(
            size % part == 0 and size // part % unit == 0 for size, part, unit in zip(shape, each, inst, strict=True)
        )
    ]
    return sorted(found, key=lambda each: (max(each) - min(each), each))


def _factorings(total: int, shape: Sequence[int]) -> Iterator[Ints]:
    """Products of `total` whose factors divide the sizes, but for the last one."""
    if len(shape) == 1:
        yield (total,)
        return
    for first in _divisors(gcd(total, shape[0])):
        for rest in _factorings(total // first, shape[1:]):
            yield (first, *rest)


def _divisors(number: int) -> list[int]:
    small = [first for first in range(1, isqrt(number) + 1) if number % first == 0]
    return sorted({*small, *(number // first for first in small)})


def divided(shape: Sequence[int], subgroups: Sequence[int], whole: int | None = None) -> LayoutAttr:
    """A tensor divided among subgroups; dimension `whole` is not.

    >>> print(divided((64, 32), (2, 4), whole=1))
    #xegpu.layout<sg_layout = [2, 4], sg_data = [32, 32]>
    """
    data = (
        size if dim == whole else size // count for dim, (size, count) in enumerate(zip(shape, subgroups, strict=True))
    )
    return LayoutAttr(sg_layout=tuple(subgroups), sg_data=tuple(data))


def block_message(
    shape: Sequence[int], bits: int, level: str, count: int | None, blocks: Blocks, *, goes_on: bool = False
) -> LayoutAttr | None:
    """What a block store or a prefetch demands.

    `goes_on`: LLVM 23 takes -1 for a size that no block divides, which divides everything where it divides among subgroups.
    """
    count_of_lanes, data = block_lanes(shape, bits, _MESSAGE)
    if level == "lane":
        return lanes(count_of_lanes, data)
    if len(shape) == 1 and level == "inst":
        raise LayoutError(f"a block of {shape[0]} elements: {UNDEFINED}: LLVM reads the height of a line")
    inst = tile(shape, blocks, whole_bytes(bits), otherwise=1 if goes_on and level == "workgroup" else None)
    if inst is None:
        return None
    if level == "inst":
        return lanes(count_of_lanes, data, inst)
    found = subgroup_shapes(shape, inst, count or 0)
    return divided(shape, found[0]) if found else None


def block_load(shape: Sequence[int], bits: int, level: str, wanted: Attribute, *, rigid: bool) -> Attribute | None:
    """What a block load makes for a user that wants a layout; None where it can't. `rigid`: lanes are the message's.

    >>> print(block_load((16, 16), 16, "inst", lanes((1, 16), (2, 1), (8, 16)), rigid=True))
    #xegpu.layout<inst_data = [16, 16], lane_layout = [1, 16], lane_data = [2, 1]>
    """
    if level != "inst":
        return wanted
    counts, data, inst = (numbers_of(wanted, field) for field in ("lane_layout", "lane_data", "inst_data"))
    if counts is None or data is None or inst is None:
        raise LayoutError(
            f"xegpu.load_nd: {UNDEFINED}: LLVM reads the tile and the lanes of {wanted}, which has not both"
        )
    if len(shape) == 1:
        # LLVM reads the lanes of a row that is not there; for the line that a block's rows are copies of, LLVM 24 finds none.
        if rigid and bits == 32 and isinstance(wanted, SliceAttr):
            return lanes((LANES,), (1,), (LANES,))
        raise LayoutError(
            f"xegpu.load_nd of {shape[0]} elements: {UNDEFINED}: LLVM reads the lanes of a row above the line"
        )
    transposed = counts[-2] > 1 and counts[-1] == 1
    transformed = not transposed and data[-2] > 1 and data[-1] == 1
    block = LOAD.get((bits, "transposed" if transposed else "transformed" if transformed else ""))
    if block is None:
        return None
    order = wanted.parent_layout().order if isinstance(wanted, LayoutAttr) else None
    if rigid:
        counts, data, order = _loaded(len(shape), bits, transposed=transposed, transformed=transformed)
    counts = tuple(max(LANES, count) if count > 1 else 1 for count in counts)
    height, width = inst[-2:]
    widest = max(block.widths)
    wide = width in block.widths or (width % widest == 0 and width // widest < max(block.counts))
    if not (wide and height in block.heights):
        inst = tile(shape, LOAD, bits, transformed=transformed, transposed=transposed)
        if inst is None and not rigid:
            raise LayoutError(f"xegpu.load_nd: LLVM 23 writes inst_data = -1 for a block of {tuple(shape)}")
        if inst is None:
            return None
    if rigid and not fits(inst, counts, data):
        return None
    return LayoutAttr(inst_data=inst, lane_layout=counts, lane_data=data, order=order)


def _loaded(rank: int, bits: int, *, transposed: bool, transformed: bool) -> tuple[Ints, Ints, Ints | None]:
    """The lanes, the data and the order that a block load has: along rows, packed down columns, or one row for each lane."""
    ones = (1,) * (rank - 2)
    pairs = max(1, 32 // bits)
    if transposed:
        return (*ones, LANES, 1), (*ones, 1, pairs), (*range(rank - 2, rank), *range(rank - 3, -1, -1))
    if transformed:
        return (*ones, 1, LANES), (*ones, pairs, 1), None
    return (*ones, 1, LANES), (*ones, 1, max(1, _MESSAGE // bits)), None


def generic_load(shape: Sequence[int], level: str, wanted: Attribute) -> Attribute:
    """What a gather or a load from shared memory makes: what is wanted, without what it does not need.

    >>> print(generic_load((16,), "inst", lanes((16,), (1,))))
    #xegpu.layout<inst_data = [16], lane_layout = [16], lane_data = [1]>
    """
    if level == "workgroup":
        return wanted
    counts, data = numbers_of(wanted, "lane_layout"), numbers_of(wanted, "lane_data")
    if counts is None or data is None:
        raise LayoutError(f"a load that is demanded in {wanted}: LLVM reads lanes that are not there")
    if level == "lane":
        return lanes(counts, data)
    inst = numbers_of(wanted, "inst_data")
    return lanes(counts, data, inst or (a * b for a, b in zip(counts, data, strict=True)))


def scattered_lanes(shape: Sequence[int], chunk: int) -> tuple[Ints, Ints]:
    """The lanes of a scatter along the innermost dimension, each with up to `chunk` neighbours.

    >>> scattered_lanes((16, 32), 8)
    ((1, 16), (1, 2))
    """
    ones = (1,) * (len(shape) - 1)
    count = min(LANES, shape[-1])
    return (*ones, count), (*ones, min(shape[-1] // count, chunk))


def scattered(shape: Sequence[int], level: str, chunk: int, count: int | None = None) -> LayoutAttr | None:
    """What a scatter, or a store to shared memory, demands; None where `count` subgroups can't divide it."""
    counts, data = scattered_lanes(shape, min(chunk, _WIDEST))
    if level == "workgroup":
        found = subgroup_shapes(shape, [a * b for a, b in zip(counts, data, strict=True)], count or 0)
        return divided(shape, found[0]) if found else None
    if level == "lane":
        return lanes(counts, data)
    return lanes(counts, data, (a * b for a, b in zip(counts, data, strict=True)))


def product(
    shapes: Sequence[Sequence[int]],
    bits: Sequence[int],
    level: str,
    count: int | None,
    wanted: Attribute | None,
    *,
    by_result: bool = False,
) -> tuple[LayoutAttr, LayoutAttr, LayoutAttr] | None:
    """What a dpas demands of A and B, and makes as C; None where no instruction divides them.

    Subgroups divide A and B as they divide C. `by_result`: A and B need not be divided so along the depth (LLVM 24).
    """
    a, b, c = shapes
    spread = (
        block_lanes(a, bits[0], _PACKED_A),
        block_lanes(b, bits[1], _PACKED_B, transformed=True),
        block_lanes(c, bits[2], bits[2]),
    )
    rows, columns, depth = largest_divisor(a[-2], ROWS), largest_divisor(b[-1], (LANES,)), DEPTHS.get(bits[0])
    if rows is None or columns is None:
        return None
    if level == "lane":
        of_a, of_b, of_c = (lanes(*each) for each in spread)
        return of_a, of_b, of_c
    if depth is None:
        raise LayoutError(f"xegpu.dpas: {UNDEFINED}: LLVM has no depth for elements of {bits[0]} bits")
    ones = (1,) * (len(a) - 2)
    tiles = ((*ones, rows, depth), (*ones, depth, columns), (*ones, rows, columns))
    if level == "inst":
        of_a, of_b, of_c = (lanes(*each, inst) for each, inst in zip(spread, tiles, strict=True))
        return of_a, of_b, of_c
    return _divided_product((a, b, c), tiles, count or 0, wanted, by_result=by_result)


def _divided_product(
    shapes: tuple[Sequence[int], ...], tiles: tuple[Ints, ...], count: int, wanted: Attribute | None, *, by_result: bool
) -> tuple[LayoutAttr, LayoutAttr, LayoutAttr] | None:
    a, b, c = shapes
    of_a, of_b, of_c = (subgroup_shapes(shape, inst, count) for shape, inst in zip(shapes, tiles, strict=True))
    common = [each for each in of_b if each in of_a and each in of_c and a[-1] // each[1] == b[0] // each[0]]
    common = of_c if by_result else common
    if not common:
        return None
    best = numbers_of(wanted, "sg_layout") if wanted is not None else None
    chosen = best if best in common else common[0]
    return divided(a, chosen, len(a) - 1), divided(b, chosen, len(b) - 2), divided(c, chosen)


UNDEFINED = "what happens is not defined"


def completed(inst: Ints, counts: Ints, data: Ints, order: Ints | None = None) -> LayoutAttr | None:
    """A tile that the user gave, with these lanes; None where they do not divide it.

    >>> print(completed((8, 16), (1, 16), (1, 1)))
    #xegpu.layout<inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>
    """
    if not fits(inst, counts, data):
        return None
    return LayoutAttr(inst_data=inst, lane_layout=counts, lane_data=data, order=order)


def count_of(wanted: Attribute | None, block: Sequence[int] | None, *, binary: bool = False) -> int | None:
    """The number of subgroups: what the user's layout has (with what is sliced off), or what the kernel says.

    `binary`: a power of two, or not known.

    >>> count_of(None, (64, 2, 1)), count_of(None, None), count_of(None, (48, 1, 1), binary=True)
    (8, None, None)
    """
    subgroups = None if wanted is None else wanted.parent_layout().sg_layout
    if subgroups:
        return prod(subgroups)
    found = None if block is None else prod(block) // LANES
    return None if binary and found is not None and found & (found - 1) else found
