"""`ldmatrix`, `stmatrix`, `movmatrix` and the copies of one thread: what each lane holds of the matrices in shared memory.

A matrix is 8 rows of 16 bytes; x1, x2, x4 say how many, one below the other. Lane 8 q + i gives the address of row i of matrix
q; the 16 bytes from there on are its row. With g = lane // 4 and t = lane % 4, register q of 32 bits holds of matrix q

    plain        row g, columns 2 t and 2 t + 1          (columns of 16 bits)
    trans        rows 2 t and 2 t + 1, column g

So `trans` hands each lane a piece of a column. Matrix 0, lane 5 (g = 1, t = 1), by hand: (2, 1) and (3, 1).

>>> print(_registers(1, trans=True)); _registers(1, trans=True).coords(lane=5).tolist()
d0 = 4@lane 2@reg, d1 = 8@lane:4
[[2, 1], [3, 1]]

`stmatrix` is the other way round, with the same layouts. In memory, `lane` says who gives the address, and `addr` counts
elements from there. Where fewer than 32 lanes give addresses, CUTLASS writes the other lanes as copies; PTX ignores what
they give.

Of bytes (SM100), `ldmatrix.m16n16.trans.b8` takes 16 rows of 16 bytes. CUTLASS's atoms reorder its registers, so that they fit
`stmatrix`: the instruction's own order is the reading "PTX", which its mnemonic means.

Sources: PTX ISA 9.2, 9.7.14.5.15 (ldmatrix), 9.7.14.5.16 (stmatrix), 9.7.14.5.17 (movmatrix); CUTLASS's traits.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.nvidia.chips import since
from layoutalg.instructions.nvidia.cutlass_types import bits_of, cpp_of
from layoutalg.instructions.nvidia.in_bits import in_bits
from layoutalg.instructions.nvidia.sources import PTX, TRAITS
from layoutalg.instructions.registry import Row

__all__ = ["rows"]

_SM100 = ("sm_100a", "sm_103a", "sm_120a", "sm_121a")
_PTX = {"ldmatrix": PTX.format("9.7.14.5.15"), "stmatrix": PTX.format("9.7.14.5.16")}
_G, _T = Factor(8, 4, "lane"), Factor(4, 1, "lane")


def _registers(count: int, trans: bool) -> Layout:
    """What each lane holds of `count` matrices of 8 x 8 halves, 8 count x 8.

    >>> print(_registers(4, trans=False))
    d0 = 4@reg:2 8@lane:4, d1 = 4@lane 2@reg
    """
    matrix, pair = Factor(count, 2, "reg"), Factor(2, 1, "reg")
    return Layout([(matrix, _T, pair), (_G,)] if trans else [(matrix, _G), (_T, pair)]).canonical()


def _bytes(count: int, order: str) -> Layout:
    """What each lane holds of 8 count x 16 bytes: unpacked into bytes, or transposed for `stmatrix`."""
    matrix = Factor(count, 4, "reg")
    if order == "unpacked":
        return Layout([(matrix, _G), (_T, Factor(4, 1, "reg"))]).canonical()
    return Layout([(matrix, _T, Factor(2, 1, "reg")), (Factor(2, 2, "reg"), _G)]).canonical()


def _square_bytes(count: int, whose: str) -> Layout:
    """What each lane holds of `count` matrices of 16 x 16 bytes, transposed."""
    if whose == "PTX":
        low, high = (Factor(count, 8, "reg"), Factor(2, 2, "reg")), Factor(2, 4, "reg")
    else:
        low, high = (Factor(2 * count, 4, "reg"),), Factor(2, 2, "reg")
    return Layout([(*low, _T, Factor(2, 1, "reg")), (high, _G)]).canonical()


def _addresses(rows_of: int, columns: int) -> Layout:
    """Who gives the address of each row, and the elements from there on."""
    copies = (Factor(32 // rows_of, rows_of, "lane"),) if rows_of < 32 else ()
    return Layout([(Factor(rows_of, 1, "lane"),), (Factor(columns, 1, "addr"),)], copies)


def _square_addresses(count: int) -> Layout:
    low = (Factor(2, 2, "lane"), Factor(4, 4, "lane"), Factor(2, 1, "lane"))
    if count == 2:
        return Layout([(Factor(2, 16, "lane"), *low), (Factor(16, 1, "addr"),)])
    return Layout([low, (Factor(16, 1, "addr"),)], (Factor(2, 16, "lane"),))


def _on_registers(layout: Layout) -> Layout:
    """A layout of memory whose elements count as a thread's values, as CUTLASS has it."""
    return Layout.parse(str(layout).replace("@addr", "@reg"))


class _Copy(NamedTuple):
    """A copy between registers and shared memory."""

    name: str
    dotted: str
    chips: tuple[str, ...]
    element: str
    held: Layout
    memory: Layout
    ptx: Layout | None = None
    aliases: tuple[str, ...] = ()
    remarks: tuple[tuple[str, str], ...] = ()


def _build(copy: _Copy) -> Instruction:
    family = copy.dotted.partition(".")[0]
    load = family == "ldmatrix"
    bits = bits_of(copy.element)
    traits = in_bits(copy.held, bits)
    known = copy.element == "b16"
    source, confirmed = (_PTX[family], (TRAITS,)) if known else (TRAITS, ())
    held = InstructionOperand(
        "destination" if load else "source", copy.element, copy.held, "registers", traits, source, confirmed
    )
    memory = InstructionOperand(
        "source" if load else "destination",
        copy.element,
        copy.memory,
        "shared memory",
        in_bits(_on_registers(copy.memory), bits),
        source,
        confirmed,
        (("addresses", "lane says whose address the row starts at, addr counts elements from there"),),
    )
    others: tuple[tuple[str, tuple[InstructionOperand, ...]], ...] = ()
    if copy.ptx is not None:
        theirs = InstructionOperand(
            held.role,
            copy.element,
            copy.ptx,
            "registers",
            in_bits(copy.ptx, bits),
            "CUTLASS's code around the instruction",
        )
        others = (("PTX", (theirs,)),)
    parts = (memory, held) if load else (held, memory)
    return Instruction(
        copy.name,
        family,
        "NVIDIA",
        "copy",
        copy.chips,
        (),
        32,
        parts,
        aliases=(copy.dotted, *copy.aliases),
        others=others,
        more_traits=(("RefLayout", traits),),
        remarks=copy.remarks,
    )


def _matrices() -> list[_Copy]:
    found: list[_Copy] = []
    for family, first, short in (("ldmatrix", "75", "LDSM"), ("stmatrix", "90", "STSM")):
        for trans in (False, True):
            for count in (1, 2, 4):
                name = f"SM{first}_U{'16' if trans else '32'}x{2 * count if trans else count}_{short}_{'T' if trans else 'N'}"
                dotted = f"{family}.sync.aligned.m8n8.x{count}{'.trans' if trans else ''}.shared.b16"
                chips = since(f"sm_{first}")
                held, memory = _registers(count, trans), _addresses(8 * count, 8)
                found.append(_Copy(name, dotted, chips, "b16", held, memory))
    for count, name in ((1, "SM100_U8x8_LDSM_T"), (2, "SM100_U8x16_LDSM_T")):
        dotted = f"ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.b8"
        held, own = _square_bytes(count, "CUTLASS"), _square_bytes(count, "PTX")
        found.append(_Copy(name, dotted, _SM100, "b8", held, _square_addresses(count), own))
    for count in (1, 2, 4):
        for bits, pad in ((4, 64), (6, 32)):
            dotted = f"ldmatrix.sync.aligned.m8n16.x{count}.shared.b8x16.b{bits}x16_p{pad}"
            remark = (
                ("unpacked", f"memory has 16 elements of {bits} bits and {pad} unused bits in a row; registers bytes"),
            )
            name = f"SM100_SU{bits}_DU8x16_x{count}_LDSM_N"
            found.append(
                _Copy(name, dotted, _SM100, "b8", _bytes(count, "unpacked"), _addresses(8 * count, 16), remarks=remark)
            )
    for count in (1, 2, 4):
        dotted = f"stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8"
        held = _bytes(count, "trans")
        found.append(_Copy(f"SM100_U8x{4 * count}_STSM_T", dotted, _SM100, "b8", held, _addresses(8 * count, 16)))
    return found


def _movmatrix(name: str) -> Instruction:
    same = in_bits(_registers(1, trans=False), 16)
    source = InstructionOperand(
        "source", "b16", _registers(1, trans=False), "registers", same, PTX.format("9.7.14.5.17"), (TRAITS,)
    )
    note = (("traits", "CUTLASS's say the same of source and destination; the transposition is not in them"),)
    destination = InstructionOperand(
        "destination", "b16", _registers(1, trans=True), "registers", same, PTX.format("9.7.14.5.17"), notes=note
    )
    dotted = "movmatrix.sync.aligned.m8n8.trans.b16"
    return Instruction(
        name,
        "movmatrix",
        "NVIDIA",
        "copy",
        since("sm_75"),
        (),
        32,
        (source, destination),
        aliases=(dotted,),
        more_traits=(("RefLayout", same),),
    )


def _shuffle(name: str) -> Instruction:
    """CUTLASS's transposition of 2 x 2 words between lanes whose numbers differ in one bit."""
    far = name.endswith("XOR4")
    before = Layout.parse("d0 = 32@lane, d1 = 2@reg")
    after = Layout.parse("d0 = 4@lane:8 2@reg 4@lane, d1 = 2@lane:4" if far else "d0 = 16@lane:2 2@reg, d1 = 2@lane")
    parts = tuple(
        InstructionOperand(role, "b32", layout, "registers", in_bits(layout, 32), TRAITS)
        for role, layout in (("source", before), ("destination", after))
    )
    more = (("RefLayout", in_bits(before, 32)),)
    return Instruction(name, "shuffle", "NVIDIA", "copy", since("sm_70"), (), 32, parts, more_traits=more)


def _one_thread(name: str, family: str, chips: tuple[str, ...], bits: int, spaces: tuple[str, str]) -> Instruction:
    """A copy of one thread: so many bits in a row."""
    text = f"(1,{bits}):(0,1)"
    parts = tuple(
        InstructionOperand(
            role,
            "b8",
            Layout([(Factor(bits // 8, 1, "reg" if space == "registers" else "addr"),)]),
            space,
            text,
            TRAITS,
        )
        for role, space in zip(("source", "destination"), spaces, strict=True)
    )
    return Instruction(
        name, family, "NVIDIA", "copy", chips, (), 1, parts, 1, thread_id="1:0", more_traits=(("RefLayout", text),)
    )


def _single() -> list[Row]:
    """Copies that one thread does alone."""
    found: list[Row] = []
    any_chip = since("sm_70")

    def add(
        name: str, family: str, chips: tuple[str, ...], bits: int, spaces: tuple[str, str], dotted: str = ""
    ) -> None:
        build = partial(_one_thread, name, family, chips, bits, spaces)
        found.append(Row(name, family, "copy", "NVIDIA", chips, build, dotted))

    for element in ("u8", "u16", "u32", "u64", "u128"):
        add(f"UniversalCopy<{cpp_of(element)}>", "copy", any_chip, bits_of(element), ("memory", "registers"))
    for element in ("u32", "u64", "u128"):
        name, size = f"SM80_CP_ASYNC_CACHEALWAYS<{cpp_of(element)}>", bits_of(element)
        dotted = f"cp.async.ca.shared.global.{size // 8}"
        add(name, "cp.async", since("sm_80"), size, ("global memory", "shared memory"), dotted)
    name = "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>"
    add(name, "cp.async", since("sm_80"), 128, ("global memory", "shared memory"), "cp.async.cg.shared.global.16")
    memory = ("global memory", "registers")
    for word, spaces, dotted in (("LOAD", memory, "ld.global.L1::no_allocate.v8.f32"), ("STORE", memory[::-1], "")):
        name = f"SM100_{word}_256bit_CACHE_NOALLOCATION"
        add(name, "copy", _SM100, 256, (spaces[0], spaces[1]), dotted or "st.global.L1::no_allocate.v8.f32")
    return found


def rows() -> tuple[Row, ...]:
    """Every copy of matrices, and those of one thread.

    >>> [row.name for row in rows() if row.dotted.startswith("ldmatrix")][:3]
    ['SM75_U32x1_LDSM_N', 'SM75_U32x2_LDSM_N', 'SM75_U32x4_LDSM_N']
    """
    found = [
        Row(copy.name, copy.dotted.partition(".")[0], "copy", "NVIDIA", copy.chips, partial(_build, copy), copy.dotted)
        for copy in _matrices()
    ]
    moved = "SM75_U32x1_MOVM_T"
    dotted = "movmatrix.sync.aligned.m8n8.trans.b16"
    found.append(Row(moved, "movmatrix", "copy", "NVIDIA", since("sm_75"), partial(_movmatrix, moved), dotted))
    shuffles = ("SM50_Shuffle_U32_2x2Trans_XOR1", "SM50_Shuffle_U32_2x2Trans_XOR4")
    found += [Row(name, "shuffle", "copy", "NVIDIA", since("sm_70"), partial(_shuffle, name)) for name in shuffles]
    return (*found, *_single())
