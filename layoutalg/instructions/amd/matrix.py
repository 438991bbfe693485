"""AMD's matrix instructions as rows and values: MFMA and SMFMAC of CDNA, WMMA and SWMMAC of RDNA and gfx1250.

`matrix_table` says which chips have which, `matrix_layouts` who holds what, `names` what people type. On CDNA a mnemonic is one
instruction on every chip that has it. RDNA's mean one for each generation and size of a wave, so these are in the name:

>>> from layoutalg.instructions import instruction
>>> wmma = instruction("rdna4/v_wmma_f32_16x16x16_f16/w32")
>>> wmma.chips, wmma.threads, wmma.readings
(('gfx1200', 'gfx1201'), 32, ('IREE', 'Triton'))
>>> print(wmma["A"].layout); print(wmma.read_by("IREE")["A"].layout)
d0 = 16@lane, d1 = 2@reg:4 2@lane:16 4@reg
d0 = 16@lane, d1 = 2@lane:16 8@reg

The mnemonic alone is the first of them (gfx11, a wave of 32), and the answer says so:

>>> instruction("V_WMMA_F32_16X16X16_F16").name
'rdna3/v_wmma_f32_16x16x16_f16/w32'

IREE's names (`MFMA_F32_16x16x16_F16`) are found too; the operands are then as IREE reads them, and the answer says whose
they are.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeAlias

from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.instructions.amd.iree_names import iree_names, iree_spelling
from layoutalg.instructions.amd.matrix_layouts import (
    index_layout,
    iree_accumulator,
    mfma_layouts,
    wmma_gfx11_layouts,
    wmma_gfx12_layouts,
    wmma_gfx1250_layouts,
)
from layoutalg.instructions.amd.matrix_table import TABLE, Entry
from layoutalg.instructions.amd.names import FAMILIES, bits_of, spelling
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.registry import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["find", "rows"]

CALCULATOR = "AMD matrix instruction calculator 1.3.2"
IREE = "IREE 3.13"
TRITON = "Triton 3.9"

_NOT_DESCRIBED = (
    "the assembler of LLVM 22 has it, and no source that the tests can ask says who holds what of its operands"
)
_HALVES = "one in the low half of each 32-bit register (OPSEL: in the high half)"
_IDLE = "lanes 0 to 31; the others are not read"
_PAIRS = "registers count the whole row: two of each four along k are stored, and E says which"

_Layouts: TypeAlias = tuple[Layout, Layout, Layout]
_Readings: TypeAlias = tuple[tuple[str, tuple[InstructionOperand, ...]], ...]


def rows() -> tuple[Row, ...]:
    """One row for each instruction, and on RDNA for each size of a wave.

    >>> [row.name for row in rows() if row.name.endswith("swmmac_i32_16x16x64_iu4/w64")]
    ['rdna4/v_swmmac_i32_16x16x64_iu4/w64']
    """
    return tuple(_rows())


def _rows() -> Iterator[Row]:
    bare: set[str] = set()
    for entry in TABLE:
        family = FAMILIES[entry.name.family]
        for wave in _waves(entry):
            aliases = (*(() if wave == 64 and entry.generation != "cdna" else iree_names(entry)), *entry.spellings)
            if entry.generation != "cdna":
                aliases = (*aliases, *_keys(entry, wave))
            if entry.mnemonic not in bare and _canonical(entry, wave) != entry.mnemonic:
                aliases = (entry.mnemonic, *aliases)
            bare.add(entry.mnemonic)
            name = _canonical(entry, wave)
            yield Row(name, family, "mma", "AMD", entry.chips, partial(_built, entry, wave, aliases), "", aliases)


def _waves(entry: Entry) -> tuple[int, ...]:
    return {"cdna": (64,), "gfx1250": (32,)}.get(entry.generation, (32, 64))


def _canonical(entry: Entry, wave: int) -> str:
    if entry.generation in ("rdna3", "rdna4"):
        return f"{entry.generation}/{entry.mnemonic}/w{wave}"
    return entry.mnemonic


def _keys(entry: Entry, wave: int) -> tuple[str, ...]:
    """Clang's builtin of an instruction of RDNA."""
    if entry.generation == "gfx1250":
        return ()
    ending = "_gfx12" if entry.generation == "rdna4" and entry.name.family == "wmma" else ""
    return (f"__builtin_amdgcn_{entry.mnemonic[2:]}_w{wave}{ending}",)


@lru_cache(maxsize=1)
def _by_spelling() -> dict[str, tuple[Entry, ...]]:
    found: dict[str, list[Entry]] = {}
    for entry in TABLE:
        for one in dict.fromkeys(
            said.mnemonic for said in map(spelling, (entry.mnemonic, *entry.spellings)) if said is not None
        ):
            found.setdefault(one, []).append(entry)
    return {name: tuple(entries) for name, entries in found.items()}


def find(name: str) -> Instruction | None:
    """The instruction of a name in any spelling (see `names`); None for what is no such name.

    Raises `LayoutError` where the chip in the name does not have it.

    >>> find("gfx942/v_mfma_f32_32x32x4bf16").name, find("gfx90a/v_mfma_f32_32x32x4bf16").name
    ('v_mfma_f32_32x32x4_2b_bf16', 'v_mfma_f32_32x32x4bf16')
    >>> find("gfx950/v_mfma_f32_16x16x8_xf32")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: gfx950 has no v_mfma_f32_16x16x8_xf32: it is an instruction of gfx942
    """
    bare = name.removeprefix("iree/")
    said = spelling(iree_spelling(bare) or bare)
    if said is None:
        return None
    entries = _by_spelling().get(said.mnemonic, ())
    if not entries:
        return None
    fitting = [one for one in entries if not said.chip or any(chip.startswith(said.chip) for chip in one.chips)]
    if not fitting:
        chips = ", ".join(dict.fromkeys(chip for one in entries for chip in one.chips))
        raise LayoutError(f"{said.chip} has no {entries[0].mnemonic}: it is an instruction of {chips}")
    entry = fitting[0]
    waves = _waves(entry)
    if said.wave and said.wave not in waves:
        chip = said.chip or entry.chips[0]
        raise LayoutError(f"{entry.mnemonic} on {chip}: waves have {waves[0]} lanes, not {said.wave}")
    wave = said.wave or waves[0]
    from layoutalg.instructions.registry import rows as all_rows

    return all_rows()[_canonical(entry, wave)].build()


def _built(entry: Entry, wave: int, aliases: tuple[str, ...]) -> Instruction:
    name = entry.name
    shape = (name.m, name.n, name.k)
    ours = Instruction(
        _canonical(entry, wave),
        FAMILIES[name.family],
        "AMD",
        "mma",
        entry.chips,
        shape,
        wave,
        (),
        lanes=wave,
        aliases=aliases,
        named_types=(("A", name.a), ("B", name.b), ("C", name.c)),
        remarks=_remarks(entry, wave),
    )
    if not entry.described:
        return replace(ours, refusal=_NOT_DESCRIBED)
    parts, others = _parts(entry, wave)
    return replace(ours, parts=parts, others=others)


def _layouts(entry: Entry, wave: int) -> _Layouts:
    name = entry.name
    if entry.generation == "cdna":
        return mfma_layouts(name.m, name.n, name.k, name.blocks, f64=name.c == "f64", sparse=name.sparse)
    if entry.generation == "rdna3":
        return wmma_gfx11_layouts(wave)
    if entry.generation == "rdna4":
        return wmma_gfx12_layouts(name.k, bits_of(name.a), wave, sparse=name.sparse)
    return wmma_gfx1250_layouts(name.k)


def _parts(entry: Entry, wave: int) -> tuple[tuple[InstructionOperand, ...], _Readings]:
    """The operands, and whose readings of them there are."""
    name, layouts = entry.name, _layouts(entry, wave)
    types = ("fp4", "fp4", name.c) if name.scaled else (name.a, name.b, name.c)
    source, confirmed = _sources(entry, wave)
    theirs = _theirs(entry, wave, layouts)
    parts: list[InstructionOperand] = []
    for place, (role, element, layout) in enumerate(zip("ABC", types, layouts, strict=True)):
        agree = tuple(who for who in confirmed if theirs.get(who.split()[0], layouts)[place] == layout)
        parts.append(
            InstructionOperand(role, element, layout, source=source, confirmed=agree, notes=_said(entry, wave, role))
        )
    if name.sparse:
        notes = (("indices", "4 bits for each four of A"),)
        parts.append(InstructionOperand("E", "i4", index_layout(layouts[0]), source=source, notes=notes))
    if name.scaled:
        parts += _scales(name.m, name.n, name.k // 32)
    return tuple(parts), _readings(entry, types, layouts, theirs)


def _theirs(entry: Entry, wave: int, layouts: _Layouts) -> dict[str, _Layouts]:
    """What IREE and Triton say of A, B and C, where they say anything."""
    name = entry.name
    found: dict[str, _Layouts] = {}
    if iree_names(entry) and wave == _waves(entry)[0]:
        found["IREE"] = layouts
    if entry.generation == "cdna" and name.blocks > 1 and name.m == 32 and "IREE" in found:
        found["IREE"] = (*layouts[:2], iree_accumulator(name.m, name.n, name.blocks))
    if entry.generation == "rdna4" and not name.sparse and wave == 32 and bits_of(name.a) == 16:
        found["IREE"] = found["Triton"] = wmma_gfx1250_layouts(name.k)
    if entry.mnemonic == "v_wmma_i32_16x16x32_iu4" and wave == 32:
        found["Triton"] = (*wmma_gfx12_layouts(32, 16, 32, sparse=True)[:2], layouts[2])  # in pieces of 8, too
    return found


def _readings(entry: Entry, types: tuple[str, ...], layouts: _Layouts, theirs: dict[str, _Layouts]) -> _Readings:
    """Whose readings there are: the operands that they see differently, with whom they agree."""
    said = {"IREE": IREE, "Triton": f"{TRITON}, kWidth = 8" if entry.name.a == "iu4" else TRITON}
    found: list[tuple[str, tuple[InstructionOperand, ...]]] = []
    for whose, seen in theirs.items():
        alike = tuple(said[who] for who, other in theirs.items() if who != whose and other == seen)
        parts = [
            InstructionOperand(role, element, layout, source=said[whose], confirmed=alike)
            for role, element, layout, own in zip("ABC", types, seen, layouts, strict=True)
            if layout != own
        ]
        found.append((whose, tuple(parts)))
    return tuple(found)


def _sources(entry: Entry, wave: int) -> tuple[str, tuple[str, ...]]:
    """Where the layouts come from, and what confirms them: the tests ask each."""
    name = entry.name
    triton = (
        (name.family == "mfma" and name.blocks == 1 and not name.scaled) or (name.family == "wmma" and wave == 32)
    ) and entry.generation != "gfx1250"
    if entry.generation == "rdna4" and name.a == "iu4" and name.k == 16:
        triton = False
    iree = bool(iree_names(entry)) and wave == _waves(entry)[0]
    if name.scaled:
        return TRITON, ()
    if entry.chips[0] == "gfx950" or entry.generation == "gfx1250":
        return IREE, ((TRITON,) if triton else ())
    return CALCULATOR, (*((IREE,) if iree else ()), *((TRITON,) if triton else ()))


def _said(entry: Entry, wave: int, role: str) -> tuple[tuple[str, str], ...]:
    """What is to be known of an operand beside its layout."""
    name = entry.name
    if role == "C" and entry.generation == "rdna3" and bits_of(name.c) == 16:
        return (("place", _HALVES),)
    if role == "A" and name.sparse:
        return (("sparse", _PAIRS),)
    if role != "C" and wave == 64 and entry.generation == "rdna4" and name.a == "iu4" and name.k == 16:
        return (("lanes", _IDLE),)
    return ()


def _remarks(entry: Entry, wave: int) -> tuple[tuple[str, str], ...]:
    """What is to be known of an instruction beside its operands."""
    name = entry.name
    found: list[tuple[str, str]] = []
    if name.blocks > 1:
        found.append(("blocks", f"{name.blocks} products at once; the block is the first dimension"))
    if entry.generation in ("rdna3", "rdna4"):
        found.append(
            ("wave", f"{wave} lanes, on {entry.chips[0][:5]}; other layouts: {', '.join(_namesakes(entry, wave))}")
        )
    if entry.mnemonic == "v_mfma_f32_32x32x4bf16":
        found.append(("name", "gfx942 calls v_mfma_f32_32x32x4_2b_bf16 so too: gfx942/v_mfma_f32_32x32x4bf16"))
    if {name.a, name.b} & {"fp8", "bf8"} and entry.chips[0] == "gfx942":
        found.append(("types", "fp8 is f8E4M3FNUZ on gfx942 and f8E4M3FN on gfx950, bf8 f8E5M2FNUZ and f8E5M2"))
    if name.a == "f8f6f4" and entry.described:
        found.append(("types", "CBSZ says A's and BLGP B's: fp8, bf8, fp6, bf6 or fp4"))
    if name.scaled and entry.described:
        found.append(
            ("scaled", "of fp4; which k an element of fp8 or fp6 has beside its scale, no source that is asked says")
        )
    return tuple(found)


def _namesakes(entry: Entry, wave: int) -> list[str]:
    """The same mnemonic on waves with other lanes, and on other generations."""
    alike = [(one, lanes) for one in TABLE if one.mnemonic == entry.mnemonic for lanes in _waves(one)]
    return [_canonical(one, lanes) for one, lanes in alike if (one, lanes) != (entry, wave)]


def _scales(m: int, n: int, blocks: int) -> list[InstructionOperand]:
    """One scale for each 32 elements along k: in the lane that holds these."""
    row, column, block = (Factor(extent, stride, "lane") for extent, stride in ((m, 1), (n, 1), (blocks, m)))
    of_a, of_b = Layout([[row], [block]]), Layout([[block], [column]])
    byte = (("byte", "of the register's four, the one that OPSEL says"),)
    return [
        InstructionOperand(role, "f8E8M0FNU", layout, source=TRITON, notes=byte)
        for role, layout in (("SFA", of_a), ("SFB", of_b))
    ]
