"""IREE's names of AMD's matrix instructions, in both directions.

IREE writes `MFMA_F32_16x16x16_F16`, with the blocks behind k (`MFMA_F32_4x4x4x16B_F16`), `WMMAR3` and `WMMAR4` for RDNA 3 and
4, `WMMA` for gfx1250 (in IREE 3.2: for RDNA 3), and types as MLIR does:

>>> iree_spelling("MFMA_F32_4x4x4x16B_F16"), iree_spelling("WMMAR4_F32_16x16x16_F8E4M3FN_F8E5M2")
('v_mfma_f32_4x4x4_16b_f16', 'rdna4/v_wmma_f32_16x16x16_fp8_bf8/w32')
>>> iree_spelling("MFMA_F32_16x16x128_F8E5M2"), iree_spelling("WMMA_F32_16x16x32_F16")
('v_mfma_f32_16x16x128_f8f6f4', 'v_wmma_f32_16x16x32_f16')
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutalg.instructions.amd.matrix_table import Entry

__all__ = ["iree_names", "iree_spelling"]

_NAME = re.compile(r"(MFMA|WMMAR3|WMMAR4|WMMA)_([A-Z]+\d+)_(\d+)x(\d+)x(\d+)(?:x(\d+)B)?_([A-Z0-9]+)(?:_([A-Z0-9]+))?")
_FLOATS = {
    "fp8": ("F8E4M3FN", "F8E4M3FNUZ"),
    "bf8": ("F8E5M2", "F8E5M2FNUZ"),
}
"""AMD's word for a type, and IREE's on gfx950 and RDNA 4 and on gfx942."""
_WORDS = {theirs: ours for ours, both in _FLOATS.items() for theirs in both}
_GENERATIONS = {"WMMAR3": "rdna3", "WMMAR4": "rdna4"}


def iree_spelling(name: str) -> str | None:
    """AMD's name of an intrinsic of IREE, generation and wave included; None for another text.

    >>> iree_spelling("VMFMA_F32_16x16x32_F16")
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    kind, c, m, n, k, blocks, a, b = found.groups()
    family, generation = ("mfma", "") if kind == "MFMA" else ("wmma", _GENERATIONS.get(kind, ""))
    first = _WORDS.get(a, a.lower())
    types = f"{first}_{_WORDS.get(b or a, a.lower())}" if a in _WORDS else first
    if family == "mfma" and a in _WORDS and int(k) >= 64:
        types = "f8f6f4"
    if family == "wmma":
        types = types.replace("i8", "iu8")
        if kind == "WMMA" and (k == "16" and m == n == "16"):  # as IREE 3.2 calls RDNA 3's
            generation = "rdna3"
    mnemonic = f"v_{family}_{c.lower()}_{m}x{n}x{k}{f'_{blocks}b' if blocks else ''}_{types}"
    return f"{generation}/{mnemonic}/w32" if generation else mnemonic


def iree_names(entry: Entry) -> tuple[str, ...]:
    """What IREE 3.13 calls an instruction: nothing where it does not know it.

    >>> from layoutalg.instructions.amd.matrix_table import TABLE
    >>> [iree_names(one) for one in TABLE if one.mnemonic == "v_mfma_f32_32x32x8_f16"]
    [('MFMA_F32_32x32x8_F16',)]
    """
    name, mnemonic = entry.name, entry.mnemonic
    if name.sparse or name.scaled or not entry.described or name.a in ("xf32", "iu4"):
        return ()
    if mnemonic == "v_mfma_f32_32x32x2_f32" or (name.a == "bf16" and name.blocks > 1 and "gfx908" in entry.chips):
        return ()
    family = {"cdna": "MFMA", "rdna3": "WMMAR3", "rdna4": "WMMAR4", "gfx1250": "WMMA"}[entry.generation]
    blocks = f"x{name.blocks}B" if name.blocks > 1 else ""
    head = f"{family}_{name.c.upper()}_{name.m}x{name.n}x{name.k}{blocks}_"
    return tuple(head + types for types in _types(entry))


def _types(entry: Entry) -> tuple[str, ...]:
    name = entry.name
    if name.a not in ("fp8", "bf8", "f8f6f4"):
        return (name.a.replace("iu", "i").upper(),)
    kinds = (0, 1) if "gfx942" in entry.chips else (0,)
    pairs = product(("bf8", "fp8"), repeat=2) if name.a == "f8f6f4" else [(name.a, name.b)]
    found: list[str] = []
    for (a, b), kind in product(pairs, kinds):
        first, second = _FLOATS[a][kind], _FLOATS[b][kind]
        found.append(first if a == b else f"{first}_{second}")
    return tuple(found)
