"""AMD's loads that transpose: lanes say addresses of rows, and get columns.

`ds_read_b64_tr_b16` (gfx950) works on 16 lanes at a time. Each reads 64 bits, four halfwords, at its own address; so four lanes
cover a row of 16, and sixteen lanes a tile of 4 x 16. Then lane l gets column l, its four rows in its registers:

>>> load = transposed(16, 4, 64)
>>> for one in load: print(one)
d0 = 4@lane:16, d1 = 4@lane:4, d2 = 4@lane 4@reg
d0 = 4@lane:16, d1 = 4@reg, d2 = 16@lane

The first dimension counts these tiles in the wave. Lane 6's second halfword is row 1 of column 6: of what lane
4 * 1 + 6 // 4 = 5 had read, halfword 6 % 4 = 2.

The loads of 128 bits (`global_load_tr_b128` of gfx12, `global_load_tr16_b128` and `ds_load_tr16_b128` of gfx1250) take 8 x 8
tiles of halfwords among 8 lanes: a lane reads a row and gets a column.

Sources: for gfx950 the simulator in ROCm's rocm-systems (pull request 10175, compared with hardware) and Triton (pull request
8525); for gfx12 Triton (pull request 7616) and IREE (pull request 24467); for gfx1250 that simulator, which has them alike. Of
those of 8, 6 and 4 bits, and of a wave of 64 on gfx12, no description that was compared with hardware was found: they are
refused. CDNA 4's instruction set guide (11.4) wants all lanes to be active.
"""

from __future__ import annotations

from functools import partial

from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.whole_numbers import whole_number
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.registry import Row

__all__ = ["rows", "transposed"]

_ROCM = "ROCm/rocm-systems, pull request 10175"
_ISA = "CDNA 4 instruction set guide, 11.4"
_UNKNOWN = "no description of which element lands in which lane was found that was compared with hardware"

_KNOWN = (
    (
        "ds_read_b64_tr_b16",
        ("gfx950",),
        64,
        (16, 4),
        (_ROCM, "Triton, pull request 8525"),
        ("ds_read_tr16_b64", "ds_read_tr"),
    ),
    (
        "global_load_tr_b128",
        ("gfx1200", "gfx1201"),
        32,
        (8, 8),
        ("Triton, pull request 7616", "IREE, pull request 24467"),
        ("global_load_tr_b128_w32", "global_load_tr"),
    ),
    ("global_load_tr16_b128", ("gfx1250", "gfx1251"), 32, (8, 8), (_ROCM,), ()),
    ("ds_load_tr16_b128", ("gfx1250", "gfx1251"), 32, (8, 8), (_ROCM,), ("ds_load_tr",)),
)
"""Name, chips, lanes of a wave, (lanes together, halfwords of each), who says so, other names."""

_NOT_KNOWN = (
    ("ds_read_b64_tr_b8", ("gfx950",), 64, "b8", ("ds_read_tr8_b64",)),
    ("ds_read_b96_tr_b6", ("gfx950",), 64, "b6", ("ds_read_tr6_b96",)),
    ("ds_read_b64_tr_b4", ("gfx950",), 64, "b4", ("ds_read_tr4_b64",)),
    ("global_load_tr_b64", ("gfx1200", "gfx1201"), 32, "b8", ()),
    ("global_load_tr_b128_w64", ("gfx1200", "gfx1201"), 64, "b16", ()),
    ("global_load_tr_b64_w64", ("gfx1200", "gfx1201"), 64, "b8", ()),
    *(
        (f"{where}_load_tr{bits}_{width}", ("gfx1250", "gfx1251"), 32, f"b{bits}", ())
        for where in ("ds", "global")
        for bits, width in ((8, "b64"), (6, "b96"), (4, "b64"))
    ),
)


def transposed(together: int, each: int, wave: int) -> tuple[Layout, Layout]:
    """What a wave reads, and what it has then: tiles x rows x columns of halfwords, `each` in a lane, `together` lanes a tile.

    >>> for one in transposed(8, 8, 32): print(one)
    d0 = 4@lane:8, d1 = 8@lane, d2 = 8@reg
    d0 = 4@lane:8, d1 = 8@reg, d2 = 8@lane
    """
    together, each, wave = (whole_number(size, "size", 1, 64) for size in (together, each, wave))
    if together % each or wave % together:
        raise LayoutError(f"{each} of {together} lanes of {wave}: expected a divisor of a divisor of the lanes")
    tiles = [Factor(wave // together, together, "lane")]
    across = together // each
    read = [tiles, [Factor(each, across, "lane")], [Factor(across, 1, "lane"), Factor(each, 1, "reg")]]
    got = [tiles, [Factor(each, 1, "reg")], [Factor(together, 1, "lane")]]
    return Layout(read).canonical(), Layout(got).canonical()


def rows() -> tuple[Row, ...]:
    """One row for each load.

    >>> [row.name for row in rows()][:2]
    ['ds_read_b64_tr_b16', 'global_load_tr_b128']
    """
    known = [
        Row(name, "transposed load", "copy", "AMD", chips, partial(_known, name), "", (*_spelled(name), *aliases))
        for name, chips, _, _, _, aliases in _KNOWN
    ]
    unknown = [
        Row(name, "transposed load", "copy", "AMD", chips, partial(_unknown, name), "", (*_spelled(name), *aliases))
        for name, chips, _, _, aliases in _NOT_KNOWN
    ]
    return (*known, *unknown)


def _spelled(name: str) -> tuple[str, ...]:
    """LLVM's intrinsic: its words are the name's, in another order on gfx950."""
    words = name.removesuffix("_w64").split("_")
    if words[1] == "read":
        words = [*words[:2], f"tr{words[4][1:]}", words[2]]
    dotted = ".".join(words)
    return () if name.endswith("_w64") else (f"llvm.amdgcn.{dotted}", f"rocdl.{dotted}")


def _known(name: str) -> Instruction:
    [(_, chips, wave, (together, each), sources, aliases)] = [one for one in _KNOWN if one[0] == name]
    layouts = transposed(together, each, wave)
    parts = tuple(
        InstructionOperand(role, "i16", layout, source=sources[0], confirmed=sources[1:], notes=(("means", meaning),))
        for role, layout, meaning in zip(
            ("source", "destination"),
            layouts,
            ("what lies at the lane's own address", "what the lane has then"),
            strict=True,
        )
    )
    remarks = (
        ("tile", f"{each}x{together} halfwords for {together} lanes; the first dimension counts the wave's tiles"),
        *((("lanes", f"all must be active ({_ISA})"),) if chips == ("gfx950",) else ()),
    )
    return Instruction(
        name, "transposed load", "AMD", "copy", chips, (), wave, parts, lanes=wave, aliases=aliases, remarks=remarks
    )


def _unknown(name: str) -> Instruction:
    [(_, chips, wave, element, aliases)] = [one for one in _NOT_KNOWN if one[0] == name]
    return Instruction(
        name,
        "transposed load",
        "AMD",
        "copy",
        chips,
        (),
        wave,
        (),
        lanes=wave,
        aliases=aliases,
        named_types=(("source", element),),
        refusal=_UNKNOWN,
    )
