"""`wgmma`: four warps multiply 64 x n x k, with A in registers or in shared memory and B in shared memory.

With g = lane // 4 and t = lane % 4, warp w holds 16 rows; element j of register r (e elements in 32 bits) is

    C (64 x n)   row 16 w + g + 8 (r // 2 % 2), column 8 (r // 4) + 2 t + r % 2
    A (64 x k)   row 16 w + g + 8 (r % 2), column t e + j + 4 e (r // 2)          from registers (RS)

C of m64n8, by hand: lane 5 of warp 1 has g = 1, t = 1: rows 17 and 25, columns 2 and 3.

>>> print(_c_layout(8))
d0 = 4@sg 2@reg:2 8@lane:4, d1 = 4@lane 2@reg
>>> _c_layout(8).coords(sg=1, lane=5).tolist()
[[17, 2], [17, 3], [25, 2], [25, 3]]

What is in shared memory is found by a descriptor: its places are those of a canonical layout (see `shared_memory_atoms`), and
the axis `element` only counts the tile. A sparse A (`wgmma.sp`) has 2 e for e in registers, twice the k, and metadata E.

Sources: PTX ISA 9.2, 9.7.15.5 (C, A); CUTLASS's traits for all; Triton's nvidia_mma version 3 for C and A where n is a power of
two. E comes from CUTLASS's traits alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.whole_numbers import instance_of
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.nvidia.cutlass_types import bits_of, capitals
from layoutalg.instructions.nvidia.sources import PTX, TRAITS, TRITON
from layoutalg.instructions.registry import Row, row_named

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["rows", "with_parameters"]

_CHIPS = ("sm_90a",)
_PTX = PTX.format("9.7.15.5")
_SUBGROUP, _HALF, _G, _T = Factor(4, 1, "sg"), Factor(2, 2, "reg"), Factor(8, 4, "lane"), Factor(4, 1, "lane")
_INTEGER_N = (8, 16, 24, *range(32, 257, 16))


def _c_layout(n: int) -> Layout:
    """The accumulator, 64 x n."""
    return Layout([(_SUBGROUP, _HALF, _G), (Factor(n // 8, 4, "reg"), _T, Factor(2, 1, "reg"))]).canonical()


def _a_layout(k: int, e: int) -> Layout:
    """A from registers, 64 x k, with e places in a register.

    >>> print(_a_layout(16, 2))
    d0 = 4@sg 2@reg:2 8@lane:4, d1 = 2@reg:4 4@lane 2@reg
    """
    return Layout(
        [(_SUBGROUP, Factor(2, e, "reg"), _G), (Factor(k // (4 * e), 2 * e, "reg"), _T, Factor(e, 1, "reg"))]
    ).canonical()


def _metadata_layout(k: int, bits: int) -> Layout:
    """E, the metadata of a sparse A of elements of so many bits.

    >>> print(_metadata_layout(32, 16)); print(_metadata_layout(64, 8))
    d0 = 4@sg 2@reg:16 8@lane:4, d1 = 2@lane 16@reg | replicas 2@lane:2
    d0 = 4@sg 2@lane 8@lane:4, d1 = 2@lane:2 32@reg
    """
    half = k // 2
    if bits == 8:
        return Layout([(_SUBGROUP, Factor(2, 1, "lane"), _G), (Factor(2, 2, "lane"), Factor(half, 1, "reg"))])
    rows_of = (_SUBGROUP, Factor(2, half, "reg"), _G)
    return Layout([rows_of, (Factor(2, 1, "lane"), Factor(half, 1, "reg"))], (Factor(2, 2, "lane"),))


def _in_memory(role: str, element: str, rows: int, columns: int) -> InstructionOperand:
    """An operand in shared memory: rows x columns are m x k of A, n x k of B."""
    tile = Layout([(Factor(rows, 1, "element"),), (Factor(columns, rows, "element"),)])
    seen = Layout(
        [(Factor(rows, 1, "reg"),), (Factor(columns, rows, "reg"),)], (Factor(4, 1, "sg"), Factor(32, 1, "lane"))
    )
    place = ("in memory", f"by a descriptor, in a canonical layout, such as Layout_K_SW128_Atom of {element}")
    return InstructionOperand(
        role,
        element,
        tile.permute((1, 0)) if role == "B" else tile,
        "shared memory",
        seen,
        source=_PTX,
        confirmed=(TRAITS,),
        notes=(place,),
    )


def _build(
    name: str,
    sizes: tuple[int, int, int],
    types: tuple[str, str, str],
    registers: bool,
    sparse: bool,
    aliases: tuple[str, ...],
) -> Instruction:
    m, n, k = sizes
    bits = bits_of(types[0])
    e = 32 // bits * (2 if sparse else 1)
    how = (("sparse", "columns are of the dense row: E says which of them are stored"),) if sparse else ()
    a = _in_memory("A", types[0], m, k)
    if registers:
        confirmed = (TRAITS,) if sparse else (TRAITS, TRITON)
        a = InstructionOperand("A", types[0], _a_layout(k, e), source=_PTX, confirmed=confirmed)
    parts = [
        replace(a, notes=(*a.notes, *how)),
        _in_memory("B", types[1], n, k),
        InstructionOperand(
            "C", types[2], _c_layout(n), source=_PTX, confirmed=(TRAITS, *([] if n & (n - 1) else [TRITON]))
        ),
    ]
    if sparse:
        parts.append(InstructionOperand("E", "b2", _metadata_layout(k, bits), source=TRAITS))
    family = "wgmma.sp" if sparse else "wgmma"
    other = name.replace("_RS", "_SS") if registers else name.replace("_SS", "_RS")
    where = ("shared memory" if registers else "registers", other)
    remarks = (("A", f"from {'registers' if registers else 'shared memory'}; from {where[0]}: {where[1]}"),)
    return Instruction(
        name, family, "NVIDIA", "mma", _CHIPS, sizes, 128, tuple(parts), aliases=aliases, remarks=remarks
    )


def _rows_of(d: str, a: str, b: str, sparse: bool) -> Iterator[Row]:
    integer = d == "s32"
    k = 256 // bits_of(a) * (2 if sparse else 1)
    family = "wgmma.sp" if sparse else "wgmma"
    words = f"wgmma.mma_async{'.sp' if sparse else ''}.sync.aligned"
    ending = "" if bits_of(a) == 16 else "_TN"
    for n, saturate, where in product(
        _INTEGER_N if integer else range(8, 257, 8), (False, True) if integer else (False,), ("SS", "RS")
    ):
        body = f"64x{n}x{k}_{capitals(d)}{capitals(a)}{capitals(b)}_{where}"
        more = "_SATURATE" if saturate else ""
        tail = f"{body}{ending}{more}"
        name = f"SM90::GMMA::SPARSE::GMMA_{tail}" if sparse else f"SM90_{tail}"
        aliases = [f"SM90::GMMA::SPARSE::MMA_{tail}"] if sparse else [f"SM90::GMMA::MMA_{tail}"]
        if not ending:
            aliases += [f"{one}_TN" for one in (name, *aliases)]
        dotted = f"{words}.m64n{n}k{k}.{d}.{a}.{b}{'.satfinite' if saturate else ''}"
        build = partial(_build, name, (64, n, k), (a, b, d), where == "RS", sparse, (dotted, aliases[0]))
        yield Row(name, family, "mma", "NVIDIA", _CHIPS, build, dotted, tuple(aliases))


def rows() -> tuple[Row, ...]:
    """Every `wgmma` and `wgmma.sp`.

    >>> len(rows())
    2112
    """
    found: list[Row] = []
    small = list(product(("e4m3", "e5m2"), repeat=2))
    for sparse in (False, True):
        for d, a, b in (("f16", "f16", "f16"), ("f32", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32")):
            found += _rows_of(d, a, b, sparse)
        for a, b in product(("s8", "u8"), repeat=2):
            found += _rows_of("s32", a, b, sparse)
        for (a, b), d in product(small, ("f16", "f32")):
            found += _rows_of(d, a, b, sparse)
    return tuple(found)


_PARAMETER = re.compile(r"(?:GMMA::|SM90::GMMA::)?(?:Major::(K|MN)|ScaleIn::(?:One|Neg)|SparseSel::(?:Zero|One))\Z")
_NAME = re.compile(r"(SM90\w*(?:::\w+)*_64x\w+)<([^<>]*)>\Z", re.IGNORECASE)


def with_parameters(name: str) -> Instruction | None:
    """An atom with C++'s parameters, `<GMMA::Major::K,GMMA::Major::MN>`: how A and B lie in memory; None for other texts.

    >>> with_parameters("SM90_64x128x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::MN>")["B"].notes[0][1]
    'MN-major'
    """
    instance_of(name, str, "name")
    match = _NAME.match(name)
    row = None if match is None else row_named(match[1])
    if match is None or row is None or not row.family.startswith("wgmma"):
        return None
    given = [_PARAMETER.match(one) for one in match[2].split(",")]
    if not all(given):
        return None
    majors = [one[1] for one in given if one is not None and one[1]]
    built = row.build()
    said = dict(zip("AB", majors, strict=False))
    parts = tuple(
        replace(one, notes=(("major", f"{said[one.role]}-major"), *one.notes))
        if one.role in said and one.space == "shared memory"
        else one
        for one in built.parts
    )
    return replace(built, name=f"{row.name}<{match[2]}>", parts=parts)
