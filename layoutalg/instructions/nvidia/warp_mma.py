"""`mma.sync`: a warp multiplies m x 8 x k, by one formula for all types.

A register has 32 bits and holds e elements: 2 of f16, 4 of s8, 8 of s4, 32 of b1, one of tf32; one f64 takes two registers, and
counts as e = 1. With g = lane // 4 and t = lane % 4, element j of register r is, for

    A (m x k)    row g + 8 (r % 2),  column t e + j + 4 e (r // 2)        m = 8: row g
    B (k x n)    row t e + j + 4 e r, column g
    C (m x n)    row g + 8 (r // 2), column 2 t + r % 2                   m = 8: row g

In the algebra these are three lines (`warp_operands`). m16n8k16 of f16, by hand: lane 5 has g = 1, t = 1; its A is
rows 1 and 9, columns 2, 3, 10, 11:

>>> a, b, c = warp_operands(16, 8, 16, 2)
>>> print(a)
d0 = 2@reg:2 8@lane:4, d1 = 2@reg:4 4@lane 2@reg
>>> a.coords(lane=5).tolist()
[[1, 2], [1, 3], [9, 2], [9, 3], [1, 10], [1, 11], [9, 10], [9, 11]]

A sparse A (`mma.sp`) is the same with 2 e for e: each pair of stored elements stands for four of the dense row.

Sources: PTX ISA 9.2, section 9.7.14.5 (mma), 9.7.14.6 (mma.sp), has figures and formulas for every shape; CUTLASS's traits
say the same, but for one typo (SM80_16x8x128_..., A). IREE's vector order of a 16-row A (`NV_MMA_SYNC_...`) has the two columns
before the two rows: its own reading.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.whole_numbers import whole_numbers
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.nvidia.chips import since
from layoutalg.instructions.nvidia.cutlass_types import capitals
from layoutalg.instructions.nvidia.sources import IREE, PTX, TRAITS, TRITON
from layoutalg.instructions.registry import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SECTION", "rows", "warp_operands"]

_PER_REGISTER = {
    "f64": 1, "c64": 1, "gc64": 1, "tf32": 1, "f16": 2, "bf16": 2, "s8": 4, "u8": 4,
    "e4m3": 4, "e5m2": 4, "e3m2": 4, "e2m3": 4, "e2m1": 4, "s4": 8, "u4": 8, "b1": 32,
}  # fmt: skip
"""Elements of one 32-bit register. e2m1, e3m2 and e2m3 are kept in 8 bits, but for e2m1 in m16n8k64 (8 elements)."""

SECTION = PTX.format("9.7.14.5")


_MISTAKES = {
    ("A", "b1", (16, 8, 128)): (("typo", "CUTLASS nests its strides deeper than its shape; these are what is meant"),),
    ("B", "4", (16, 8, 32)): (
        ("mistake", "CUTLASS 4.2 has a column every 32 elements, not every 64; today's has these"),
    ),
}
"""What is wrong in CUTLASS, by role, type (4: s4 and u4) and sizes."""


def warp_operands(m: int, n: int, k: int, e: int, ea: int = 0) -> tuple[Layout, Layout, Layout]:
    """The layouts of A, B and C of an m x n x k product with e elements in a register (`ea` in one of a sparse A).

    Raises `LayoutError` for sizes that are not whole fragments.

    >>> [str(one) for one in warp_operands(8, 8, 4, 1)]
    ['d0 = 8@lane:4, d1 = 4@lane', 'd0 = 4@lane, d1 = 8@lane:4', 'd0 = 8@lane:4, d1 = 4@lane 2@reg']
    """
    m, n, k, e, ea = whole_numbers((m, n, k, e, ea or e), "m, n, k and elements of a register:", 1, 1024, 5)
    if k % (4 * e) or k % (4 * ea) or m % 8 or n % 8:
        raise LayoutError(f"m{m}n{n}k{k}: expected m and n of whole 8s, and k of whole {4 * max(e, ea)}s")
    g, t = Factor(8, 4, "lane"), Factor(4, 1, "lane")
    a = Layout([[Factor(m // 8, ea, "reg"), g], [Factor(k // (4 * ea), ea * m // 8, "reg"), t, Factor(ea, 1, "reg")]])
    b = Layout([[Factor(k // (4 * e), e, "reg"), t, Factor(e, 1, "reg")], [Factor(n // 8, k // 4, "reg"), g]])
    c = Layout([[Factor(m // 8, 2, "reg"), g], [t, Factor(2, 1, "reg")]])
    return a.canonical(), b.canonical(), c.canonical()


def _iree_a(m: int, k: int, e: int) -> Layout:
    """A as IREE's vector has it: rows are the slowest registers."""
    columns = k // (4 * e)
    return Layout(
        [
            [Factor(m // 8, columns * e, "reg"), Factor(8, 4, "lane")],
            [Factor(columns, e, "reg"), Factor(4, 1, "lane"), Factor(e, 1, "reg")],
        ]
    ).canonical()


def _dense(
    sm: str, sizes: tuple[int, int, int], d: str, a: str, b: str, ending: str = "", dotted: str = "", iree: str = ""
) -> Row:
    """The row of a dense instruction whose A, B, C are as the formula has them."""
    m, n, k = sizes
    first = f"sm_{sm}"
    name = f"SM{sm}_{m}x{n}x{k}_{capitals(d)}{capitals(a)}{capitals(b)}{capitals(d)}_TN{ending}"
    aliases = (iree,) if iree else ()
    build = partial(_build, name, first, sizes, (a, b, d), aliases, dotted, iree)
    return Row(name, "mma.sync", "mma", "NVIDIA", since(first), build, dotted, aliases)


def _build(
    name: str,
    first: str,
    sizes: tuple[int, int, int],
    types: tuple[str, str, str],
    aliases: tuple[str, ...],
    dotted: str,
    iree: str,
) -> Instruction:
    e = _PER_REGISTER[types[0]]
    layouts = warp_operands(*sizes, e)
    source, confirmed = (SECTION, (TRAITS,)) if dotted else (TRAITS, ())
    if e <= 4 and types[0] not in ("f64", "c64") and (sizes[0], sizes[2]) == (16, 8 * e):
        confirmed = (*confirmed, TRITON)
    parts = tuple(
        InstructionOperand(
            role,
            element,
            layout,
            source=source,
            confirmed=(*confirmed, *((IREE,) if iree and role != "A" else ())),
            notes=_MISTAKES.get((role, types[0][1:] if types[0] != "b1" else "b1", sizes), ()),
        )
        for role, element, layout in zip("ABC", types, layouts, strict=True)
    )
    others: tuple[tuple[str, tuple[InstructionOperand, ...]], ...] = ()
    if iree:
        theirs = _iree_a(sizes[0], sizes[2], e)
        if theirs != layouts[0]:
            others = (
                ("IREE", (InstructionOperand("A", types[0], theirs, source=f"{IREE}, the vector of the attribute"),)),
            )
    more = tuple(one for one in (dotted, *aliases) if one)
    return Instruction(name, "mma.sync", "NVIDIA", "mma", since(first), sizes, 32, parts, aliases=more, others=others)


def _ptx(sizes: tuple[int, int, int], d: str, a: str, b: str, ending: str = "") -> str:
    m, n, k = sizes
    return f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{d}.{a}.{b}.{d}{ending}"


def _integers(sm: str, sizes: tuple[int, int, int], a: str, b: str) -> Iterator[Row]:
    for ending, ptx in (("", ""), ("_SATURATE", ".satfinite")):
        yield _dense(sm, sizes, "s32", a, b, ending, _ptx(sizes, "s32", a, b, ptx))


_IREE_TYPES = {"e4m3": "F8E4M3FN", "e5m2": "F8E5M2"}


def _listed() -> Iterator[Row]:
    """Every instruction in the order of the chips."""

    def floats(sm: str, sizes: tuple[int, int, int], d: str, a: str, iree: str = "") -> Row:
        return _dense(sm, sizes, d, a, a, "", _ptx(sizes, d, a, a), iree)

    yield floats("75", (16, 8, 8), "f32", "f16")
    yield floats("75", (16, 8, 8), "f16", "f16")
    yield _dense("75", (8, 8, 16), "s32", "s8", "s8", "", _ptx((8, 8, 16), "s32", "s8", "s8"))
    yield floats("80", (16, 8, 8), "f16", "f16")
    yield floats("80", (16, 8, 16), "f16", "f16", "NV_MMA_SYNC_F16_16x8x16_F16")
    yield floats("80", (16, 8, 8), "f32", "f16")
    yield floats("80", (16, 8, 16), "f32", "f16", "NV_MMA_SYNC_F32_16x8x16_F16")
    yield floats("80", (16, 8, 8), "f32", "bf16")
    yield floats("80", (16, 8, 16), "f32", "bf16", "NV_MMA_SYNC_F32_16x8x16_BF16")
    yield floats("80", (16, 8, 4), "f32", "tf32")
    yield floats("80", (16, 8, 8), "f32", "tf32")
    yield floats("80", (8, 8, 4), "f64", "f64")
    yield _dense("80", (8, 8, 4), "c64", "c64", "c64")
    yield _dense("80", (8, 8, 4), "gc64", "c64", "c64")
    for a, b in product(("s8", "u8"), repeat=2):
        for sizes in ((8, 8, 16), (16, 8, 16), (16, 8, 32)):
            yield from _integers("80", sizes, a, b)
    for a, b in product(("s4", "u4"), repeat=2):
        for sizes in ((8, 8, 32), (16, 8, 32), (16, 8, 64)):
            yield from _integers("80", sizes, a, b)
    for sizes in ((16, 8, 256), (8, 8, 128), (16, 8, 128)):
        for how in ("xor", "and"):
            ending = f"_{how.upper()}POPC"
            yield _dense("80", sizes, "s32", "b1", "b1", ending, _ptx(sizes, "s32", "b1", "b1", f".{how}.popc"))
    for d, a, b in product(("f32", "f16"), ("e4m3", "e5m2"), ("e4m3", "e5m2")):
        iree = f"NV_MMA_SYNC_F32_16x8x32_{_IREE_TYPES[a]}" if (d, a) == ("f32", b) else ""
        yield _dense("89", (16, 8, 32), d, a, b, "", _ptx((16, 8, 32), d, a, b), iree)
    for k in (4, 8, 16):
        yield floats("90", (16, 8, k), "f64", "f64")
    for k in (4, 8, 16):
        yield _dense("90", (16, 8, k), "c64", "c64", "c64")


def rows() -> tuple[Row, ...]:
    """Every dense `mma.sync` of SM75 to SM90, as rows of the registry.

    >>> len(rows())
    82
    """
    return tuple(_listed())
