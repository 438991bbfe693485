"""Who holds what of AMD's matrix instructions: one rule for the matrix cores of CDNA, one for each generation of RDNA.

**CDNA (MFMA).** A wave has 64 lanes. They go over the M rows of A, then over its blocks, then over k, and each holds neighbours
along k. The accumulator's lanes go over N columns; four rows at a time (f64: one) are in the registers of a lane. By hand,
16x16x16 with f16: 64 lanes / 16 rows leave 4 lanes along k, 16 / 4 = 4 elements for each:

>>> a, b, c = mfma_layouts(16, 16, 16)
>>> print(a); print(c)
d0 = 16@lane, d1 = 4@lane:16 4@reg
d0 = 4@lane:16 4@reg, d1 = 16@lane

**RDNA 3 (WMMA).** 16 lanes hold A, a row each, and the other 16 (of a wave of 64: 48) hold copies. **RDNA 4** shares k among
them, in pieces of 4 elements where these have 16 bits; **gfx1250** gives each half of the lanes half of k.

Registers count elements; several blocks are the first dimension. A sparse A (SMFMAC, SWMMAC) has four elements of k in the
place of two: its layout is in the coordinates of the whole A, and registers count those (`index_layout` says where the
indices are that pick two of four).

The law: A, B and C hold every element of their tiles, once for each copy. Sources: AMD matrix instruction calculator 1.3.2,
which the tests compare with element by element; for what it lacks, IREE 3.13 and Triton 3.9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.whole_numbers import instance_of, whole_number

__all__ = [
    "index_layout",
    "iree_accumulator",
    "mfma_layouts",
    "wmma_gfx11_layouts",
    "wmma_gfx12_layouts",
    "wmma_gfx1250_layouts",
]

Layouts: TypeAlias = tuple[Layout, Layout, Layout]


def mfma_layouts(m: int, n: int, k: int, blocks: int = 1, *, f64: bool = False, sparse: bool = False) -> Layouts:
    """A, B and C of `v_mfma` (`sparse`: of `v_smfmac`) on 64 lanes; with several blocks, the block is the first dimension.

    >>> [print(one) for one in mfma_layouts(4, 4, 4, 16)][0]
    d0 = 16@lane:4, d1 = 4@lane, d2 = 4@reg
    d0 = 16@lane:4, d1 = 4@reg, d2 = 4@lane
    d0 = 16@lane:4, d1 = 4@reg, d2 = 4@lane
    >>> print(mfma_layouts(16, 16, 4, f64=True)[2])
    d0 = 4@reg 4@lane:16, d1 = 16@lane
    """
    m, n, k, blocks = (whole_number(size, "size", 1, 128) for size in (m, n, k, blocks))
    if m != n or m not in (4, 16, 32) or 64 % (m * blocks) or k % (64 // (m * blocks)):
        raise LayoutError(
            f"{m}x{n}x{k}, blocks = {blocks}: MFMA has 4x4, 16x16 and 32x32, in lanes that share k evenly"
        )
    run = 1 if f64 else 4
    abreast = 64 // n
    together = max(1, abreast * run // m)  # blocks side by side in one register
    groups = abreast // together
    rows = [
        Factor(m // (run * groups), run, "reg"),
        Factor(groups, n * together, "lane"),
        Factor(run, 1, "reg"),
    ]
    which = [Factor(blocks // together, m * n // 64, "reg"), Factor(together, n, "lane")]
    acc = [which, rows, [Factor(n, 1, "lane")]]
    return _input(m, k, blocks, "A"), _input(n, k, blocks, "B"), _layout(acc if blocks > 1 else acc[1:])


def iree_accumulator(m: int, n: int, blocks: int) -> Layout:
    """C of several blocks as IREE's vector has it: groups of rows come before blocks. Only of 32x32 is that another order.

    >>> print(iree_accumulator(32, 32, 2)); print(mfma_layouts(32, 32, 4, 2)[2])
    d0 = 2@reg:4, d1 = 4@reg:8 2@lane:32 4@reg, d2 = 32@lane
    d0 = 2@reg:16, d1 = 4@reg:4 2@lane:32 4@reg, d2 = 32@lane
    """
    m, n, blocks = (whole_number(size, "size", 1, 64) for size in (m, n, blocks))
    if (m, n) != (32, 32) or blocks == 1:
        return mfma_layouts(m, n, 4, blocks)[2]
    which, (*_, run), columns = mfma_layouts(m, n, 4, blocks)[2].dims
    groups = 64 // n
    rows = [Factor(m // (run.extent * groups), run.extent * blocks, "reg"), Factor(groups, n, "lane"), run]
    block = [Factor(one.extent, run.extent, "reg") for one in which]
    return _layout([block, rows, [Factor(columns[0].extent, 1, "lane")]])


def _input(outer: int, k: int, blocks: int, role: str) -> Layout:
    """A (rows, k) or B (k, columns) of MFMA: lanes go over rows, blocks, k; each has neighbours along k."""
    along = 64 // (outer * blocks)
    depth = [Factor(along, outer * blocks, "lane"), Factor(k // along, 1, "reg")]
    lines = [Factor(outer, 1, "lane")]
    dims = [lines, depth] if role == "A" else [depth, lines]
    return _layout([[Factor(blocks, outer, "lane")], *dims] if blocks > 1 else dims)


def wmma_gfx11_layouts(wave: int) -> Layouts:
    """A, B and C of `v_wmma_*_16x16x16_*` of RDNA 3, on a wave of 32 or 64 lanes.

    An accumulator of 16 bits has one element per register, in its low half (OPSEL: in its high half).

    >>> for one in wmma_gfx11_layouts(32): print(one)
    d0 = 16@lane, d1 = 16@reg | replicas 2@lane:16
    d0 = 16@reg, d1 = 16@lane | replicas 2@lane:16
    d0 = 8@reg 2@lane:16, d1 = 16@lane
    """
    wave = _one_of(wave, "wave", 32, 64)
    copies = [Factor(wave // 16, 16, "lane")]
    line, depth = [Factor(16, 1, "lane")], [Factor(16, 1, "reg")]
    rows = [Factor(256 // wave, 1, "reg"), Factor(wave // 16, 16, "lane")]
    return Layout([line, depth], copies), Layout([depth, line], copies), Layout([rows, line])


def wmma_gfx12_layouts(k: int, bits: int, wave: int, *, sparse: bool = False) -> Layouts:
    """A, B and C of `v_wmma` (`sparse`: of `v_swmmac`) of RDNA 4 on a wave of 32 or 64 lanes; `bits` are those of A's elements.

    Reading of AMD's calculator: pieces of 4 elements (sparse: 8) of 16 bits alternate between the halves of the lanes. IREE and
    Triton count k from the first register of the first half to the last (see `wmma_gfx1250_layouts`): the product is the same,
    since A and B change alike, and what a load has to bring is not. Of 4 bits with k = 16 (a sparse A: 32), 32 lanes hold
    A, and those from 32 on are not read.

    >>> for one in wmma_gfx12_layouts(16, 16, 32): print(one)
    d0 = 16@lane, d1 = 2@reg:4 2@lane:16 4@reg
    d0 = 2@reg:4 2@lane:16 4@reg, d1 = 16@lane
    d0 = 2@lane:16 8@reg, d1 = 16@lane
    """
    wave, bits = _one_of(wave, "wave", 32, 64), _one_of(bits, "bits", 4, 8, 16)
    k = _one_of(k, "k", 16, 32, 64)
    line = [Factor(16, 1, "lane")]
    half = 8 if wave == 32 else 4
    rows = [Factor(2, 16, "lane"), *([Factor(2, 32, "lane")] if wave == 64 else []), Factor(half, 1, "reg")]
    depth_a, depth_b = (_gfx12_depth(k, bits, wave, sparse, role) for role in "AB")
    return _layout([line, depth_a]), _layout([depth_b, line]), _layout([rows, line])


def _gfx12_depth(k: int, bits: int, wave: int, sparse: bool, role: str) -> list[Factor]:
    run = 8 if sparse else 4
    if bits == 16 and wave == 32:
        return [Factor(k // (2 * run), run, "reg"), Factor(2, 16, "lane"), Factor(run, 1, "reg")]
    if bits == 16:
        return [Factor(4, 16, "lane"), Factor(k // 4, 1, "reg")]
    half_idle = bits == 4 and (k == 16 or (k == 32 and sparse and role == "A"))
    if wave == 32 or half_idle:
        return [Factor(2, 16, "lane"), Factor(k // 2, 1, "reg")]
    return [Factor(2, 16, "lane"), Factor(2, 32, "lane"), Factor(k // 4, 1, "reg")]


def wmma_gfx1250_layouts(k: int) -> Layouts:
    """A, B and C of `v_wmma` of gfx1250, on 32 lanes: each half of the lanes has half of k. The reading of IREE and Triton.

    >>> for one in wmma_gfx1250_layouts(32): print(one)
    d0 = 16@lane, d1 = 2@lane:16 16@reg
    d0 = 2@lane:16 16@reg, d1 = 16@lane
    d0 = 2@lane:16 8@reg, d1 = 16@lane
    """
    k = _one_of(k, "k", 4, 32, 64, 128, 16)
    line, depth = [Factor(16, 1, "lane")], [Factor(2, 16, "lane"), Factor(k // 2, 1, "reg")]
    rows = [Factor(2, 16, "lane"), Factor(8, 1, "reg")]
    return _layout([line, depth]), _layout([depth, line]), _layout([rows, line])


def index_layout(a: Layout) -> Layout:
    """Where the indices of a sparse A are: an element is 4 bits, which say the two of each four along k that are kept.

    Lanes are those of A; registers count pieces of 4 bits, from the place on that ABID (RDNA 4: OPSEL) chooses.

    >>> print(index_layout(mfma_layouts(16, 16, 32, sparse=True)[0]))
    d0 = 16@lane, d1 = 4@lane:16 2@reg
    """
    instance_of(a, Layout, "layout of A")
    *rest, depth = a.dims
    pieces = [Factor(one.extent, one.stride // 4, "reg") if one.axis == "reg" else one for one in depth[:-1]]
    last = depth[-1]
    return _layout([*rest, [*pieces, Factor(last.extent // 4, 1, "reg")]])


def _one_of(size: int, name: str, *sizes: int) -> int:
    if whole_number(size, f"{name} =", 1, 128) not in sizes:
        raise LayoutError(f"{name} = {size}: expected {', '.join(map(str, sizes[:-1]))} or {sizes[-1]}")
    return int(size)


def _layout(dims: Sequence[Sequence[Factor]]) -> Layout:
    return Layout(dims).canonical()
