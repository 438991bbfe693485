"""Which matrix instructions each of AMD's chips has: one line for instructions that differ in types alone.

A line has the chips, and mnemonics in the spelling of gfx942, or in the only one that there was. Earlier assemblers spelled
some differently, and bf16 twice: `_1k` has four elements in a lane (gfx90a on), without it two (gfx908, gfx90a). gfx942 drops
`_1k`, so the same letters mean two instructions, and the chip decides:

>>> for one in TABLE:
...     if "v_mfma_f32_32x32x4bf16" in (one.mnemonic, *one.spellings):
...         print(one.mnemonic, one.chips)
v_mfma_f32_32x32x4bf16 ('gfx908', 'gfx90a')
v_mfma_f32_32x32x4_2b_bf16 ('gfx90a', 'gfx942', 'gfx950')

Source: the assembler of LLVM 22 takes exactly these, of these sizes of registers; the tests ask it. AMD matrix instruction
calculator 1.3.2 lists those of gfx908 to gfx942, gfx11 and gfx12. fp8 and bf8 are f8E4M3FNUZ and f8E5M2FNUZ on gfx942, the
OCP's f8E4M3FN and f8E5M2 on the others.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from layoutalg.instructions.amd.names import MatrixName, old_spelling

__all__ = ["TABLE", "Entry", "generation_of"]

_CDNA = ("gfx908", "gfx90a", "gfx942", "gfx950")
_CDNA_2, _CDNA_3 = _CDNA[1:], _CDNA[2:]
_RDNA_3 = tuple(f"gfx11{tail}" for tail in ("00", "01", "02", "03", "50", "51", "52", "53"))
_RDNA_4 = ("gfx1200", "gfx1201")
_GFX1250 = ("gfx1250", "gfx1251")

_F8 = tuple("_".join(pair) for pair in product(("bf8", "fp8"), repeat=2))


class Entry(NamedTuple):
    """A mnemonic on chips that have it alike: `generation` is the beginning of its key in AMD's calculator ("cdna" for all).

    `spellings` are the mnemonics of earlier assemblers, `described` says whether a source has the layouts.
    """

    mnemonic: str
    generation: str
    chips: tuple[str, ...]
    name: MatrixName
    spellings: tuple[str, ...] = ()
    described: bool = True


def generation_of(chip: str) -> str:
    """The generation of a chip, or of the beginning of its name.

    >>> generation_of("gfx942"), generation_of("gfx12"), generation_of("gfx1250")
    ('cdna', 'rdna4', 'gfx1250')
    """
    if chip.startswith(("gfx125", "gfx13")):
        return "gfx1250"
    return "rdna4" if chip.startswith("gfx12") else "rdna3" if chip.startswith("gfx11") else "cdna"


def _entries() -> tuple[Entry, ...]:
    found: list[Entry] = []

    def add(
        chips: tuple[str, ...],
        family: str,
        sizes: str,
        types: tuple[str, ...],
        blocks: int = 1,
        only_old: bool = False,
        known: bool = True,
    ) -> None:
        """Instructions `v_FAMILY_C_SIZES_A`, for types "C_A" and sizes with spaces between them."""
        for one, (c, a) in product(sizes.split(), (pair.split("_", 1) for pair in types)):
            family_c = family.replace("$", c)
            mnemonic = f"v_{family_c}_{one}_{a}"
            name = MatrixName.read(mnemonic)
            assert name is not None
            name = name._replace(blocks=max(blocks, name.blocks))
            before = old_spelling(mnemonic) if family.startswith("mfma") else mnemonic
            spelled = [] if before == mnemonic or only_old else [before]
            if chips == _CDNA_2 and a == "bf16":
                spelled.insert(0, f"{before}_1k")
            listed = before if only_old else mnemonic
            found.append(Entry(listed, generation_of(chips[0]), chips, name, tuple(spelled), known))

    # CDNA: f32 and f16 of gfx908 are on all that followed
    f16, f32, i8, bf16 = ("f32_f16",), ("f32_f32",), ("i32_i8",), ("f32_bf16",)
    add(_CDNA, "mfma_$", "32x32x1_2b 16x16x1_4b 4x4x1_16b 32x32x2 16x16x4", f32)
    add(_CDNA, "mfma_$", "32x32x4_2b 16x16x4_4b 4x4x4_16b 32x32x8 16x16x16", f16)
    add(_CDNA, "mfma_$", "32x32x4_2b 16x16x4_4b 4x4x4_16b", i8)
    add(_CDNA[:2], "mfma_$", "32x32x8 16x16x16", i8, only_old=True)
    for size, blocks in (("32x32x2", 2), ("16x16x2", 4), ("4x4x2", 16), ("32x32x4", 1), ("16x16x8", 1)):
        add(_CDNA[:2], "mfma_$", size, bf16, blocks, only_old=True)
    add(_CDNA_2, "mfma_$", "32x32x4_2b 16x16x4_4b 4x4x4_16b 32x32x8 16x16x16", bf16)
    add(_CDNA_2, "mfma_$", "16x16x4 4x4x4_4b", ("f64_f64",))
    add(("gfx942",), "mfma_$", "16x16x8 32x32x4", ("f32_xf32",))
    add(_CDNA_3, "mfma_$", "32x32x16 16x16x32", i8)
    add(_CDNA_3, "mfma_$", "16x16x32 32x32x16", tuple(f"f32_{pair}" for pair in _F8))
    add(("gfx950",), "mfma_$", "16x16x32 32x32x16", (*f16, *bf16))
    add(("gfx950",), "mfma_$", "16x16x64 32x32x32", i8)
    add(("gfx950",), "mfma_$", "16x16x128 32x32x64", ("f32_f8f6f4",))
    add(("gfx950",), "mfma_scale_$", "16x16x128 32x32x64", ("f32_f8f6f4",))
    sparse_f8 = tuple(f"f32_{pair}" for pair in _F8)
    add(_CDNA_3, "smfmac_$", "16x16x32 32x32x16", (*f16, *bf16))
    add(_CDNA_3, "smfmac_$", "16x16x64 32x32x32", (*i8, *sparse_f8))
    add(("gfx950",), "smfmac_$", "16x16x64 32x32x32", (*f16, *bf16), known=False)
    add(("gfx950",), "smfmac_$", "16x16x128 32x32x64", (*i8, *sparse_f8), known=False)
    # RDNA
    halves = ("f32_f16", "f32_bf16", "f16_f16", "bf16_bf16")
    add(_RDNA_3, "wmma_$", "16x16x16", (*halves, "i32_iu8", "i32_iu4"))
    add(_RDNA_4, "wmma_$", "16x16x16", (*halves, "i32_iu8", "i32_iu4"))
    add(_RDNA_4, "wmma_$", "16x16x32", ("i32_iu4",))
    add(_RDNA_4, "wmma_$", "16x16x16", sparse_f8)
    add(_RDNA_4, "swmmac_$", "16x16x32", (*halves, "i32_iu8", "i32_iu4"))
    add(_RDNA_4, "swmmac_$", "16x16x64", ("i32_iu4",))
    add(_RDNA_4, "swmmac_$", "16x16x32", sparse_f8)
    f8 = tuple(f"{c}_{pair}" for c in ("f32", "f16") for pair in _F8)
    add(_GFX1250, "wmma_$", "16x16x4", f32)
    add(_GFX1250, "wmma_$", "16x16x32", halves)
    add(_GFX1250, "wmma_$", "16x16x64", (*f8, "i32_iu8"))
    add(_GFX1250, "wmma_$", "16x16x128", f8)
    add(_GFX1250, "wmma_$", "16x16x32", ("bf16f32_bf16",), known=False)
    add(_GFX1250, "wmma_$", "16x16x128", ("f32_f8f6f4",), known=False)
    add(_GFX1250, "wmma_$", "32x16x128", ("f32_f4",), known=False)
    for scale in ("scale", "scale16"):
        add(_GFX1250, f"wmma_{scale}_$", "16x16x128", ("f32_f8f6f4",), known=False)
        add(_GFX1250, f"wmma_{scale}_$", "32x16x128", ("f32_f4",), known=False)
    add(_GFX1250, "swmmac_$", "16x16x64", (*halves, "bf16f32_bf16"), known=False)
    add(_GFX1250, "swmmac_$", "16x16x128", (*f8, "i32_iu8"), known=False)
    return tuple(found)


TABLE = _entries()
"""Every matrix instruction, in the order of the chips."""
