"""AMD's matrix instructions by name: the parts of a name, and the spellings that mean it.

A mnemonic says nearly everything:

>>> print(MatrixName.read("v_mfma_f32_32x32x4_2b_f16"))
v_mfma_f32_32x32x4_2b_f16
>>> MatrixName.read("v_smfmac_f32_16x16x64_bf8_fp8")[2:]
(16, 16, 64, 1, 'bf8', 'fp8', False)

Before gfx942 the blocks stood in the manual alone, and there was no line before the type: `v_mfma_f32_32x32x4f16` is
the same instruction. People type it as the assembler has it, in capitals, as LLVM's intrinsic or as Clang's builtin, with the
chip in front (`gfx942/v_mfma_...`) and for RDNA with the size of the wave behind (`..._w64`, `/w64`):

>>> spelling("__builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12")
Spelling(mnemonic='v_wmma_f32_16x16x16_f16', chip='gfx12', wave=32)
>>> spelling("cdna3/V_MFMA_F32_16X16X16_F16").mnemonic
'v_mfma_f32_16x16x16_f16'
>>> spelling("llvm.amdgcn.mfma.f32.16x16x16f16").mnemonic
'v_mfma_f32_16x16x16_f16'
"""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutalg.hardware.chip_names import GENERATIONS

__all__ = ["FAMILIES", "MatrixName", "Spelling", "bits_of", "old_spelling", "spelling"]

FAMILIES = {"mfma": "MFMA", "smfmac": "SMFMAC", "wmma": "WMMA", "swmmac": "SWMMAC"}

_SIZES = {64: "f64", 32: "f32 i32 xf32 bf16f32", 16: "f16 bf16", 8: "i8 iu8 fp8 bf8 f8f6f4", 4: "iu4 f4 fp4"}
_BITS = {element: bits for bits, elements in _SIZES.items() for element in elements.split()}

_TYPES = "f64|f32|xf32|f16|bf16|i8|iu8|iu4|fp8|bf8|f8f6f4|f4"
_NAME = re.compile(
    r"v_(?P<family>mfma|smfmac|wmma|swmmac)_(?P<scale>scale(?:16)?_)?(?P<c>bf16f32|f64|f32|i32|f16|bf16)_"
    r"(?P<m>\d{1,2})x(?P<n>\d{1,2})x(?P<k>\d{1,3})(?:_(?P<blocks>\d{1,2})b)?_?"
    rf"(?P<a>{_TYPES})(?:_(?P<b>fp8|bf8))?(?P<one_k>_1k)?"
)


def bits_of(element: str) -> int:
    """The bits of an element, by AMD's name for its type.

    >>> bits_of("bf8"), bits_of("iu4")
    (8, 4)
    """
    return _BITS[element]


class MatrixName(NamedTuple):
    """What a mnemonic says: C has the type `c`, A the type `a` and is m x k, B has `b`; `blocks` such products at once.

    >>> MatrixName.read("v_wmma_i32_16x16x32_iu4").k
    32
    """

    family: str
    c: str
    m: int
    n: int
    k: int
    blocks: int
    a: str
    b: str
    scaled: bool

    @staticmethod
    def read(mnemonic: str) -> MatrixName | None:
        """The parts of a mnemonic in gfx942's spelling; None for what is not one."""
        found = _NAME.fullmatch(mnemonic)
        if found is None:
            return None
        m, n, k, blocks = (int(found[part] or 1) for part in ("m", "n", "k", "blocks"))
        a = found["a"]
        return MatrixName(found["family"], found["c"], m, n, k, blocks, a, found["b"] or a, bool(found["scale"]))

    @property
    def sparse(self) -> bool:
        """Whether A keeps two elements of four."""
        return self.family in ("smfmac", "swmmac")

    def __str__(self) -> str:
        blocks = f"_{self.blocks}b" if self.blocks > 1 else ""
        types = self.a if self.a not in ("fp8", "bf8") else f"{self.a}_{self.b}"
        scale = "scale_" if self.scaled else ""
        return f"v_{self.family}_{scale}{self.c}_{self.m}x{self.n}x{self.k}{blocks}_{types}"


def old_spelling(mnemonic: str) -> str:
    """A mnemonic as it was before gfx942: without the blocks, and without the line before the type.

    >>> old_spelling("v_mfma_f32_32x32x4_2b_f16"), old_spelling("v_mfma_f32_16x16x32_fp8_bf8")
    ('v_mfma_f32_32x32x4f16', 'v_mfma_f32_16x16x32_fp8_bf8')
    """
    return re.sub(r"(x\d+)(?:_\d+b)?_(f64|f32|xf32|f16|bf16|i8)$", r"\1\2", mnemonic)


class Spelling(NamedTuple):
    """What a name says: the mnemonic in the assembler's spelling, and the chip and the lanes of a wave where it names them."""

    mnemonic: str
    chip: str = ""
    wave: int = 0


_PREFIX = re.compile(r"(?:llvm\.)?amdgcn[._]|__builtin_amdgcn_|rocdl\.|amdgpu\.")
_CHIP = re.compile(r"(gfx\w+|[cr]dna\d|mi\d{3}[ax]?)[/:]")
_TAIL = re.compile(r"(?:[_./](?:w(?P<wave>32|64)|(?P<chip>gfx\d+\w*)|tied|e64|vgprcd))$")


def spelling(name: str) -> Spelling | None:
    """The mnemonic that a name of any spelling has, with chip and wave; None where it is no matrix instruction's name.

    >>> spelling("mfma16x16") is None
    True
    """
    text, chip, wave = name.strip().lower(), "", 0
    front = _CHIP.match(text)
    if front is not None:
        chip, text = GENERATIONS.get(front[1], front[1]), text[front.end() :]
    while (tail := _TAIL.search(text)) is not None:
        wave = int(tail["wave"] or wave)
        chip = tail["chip"] or chip
        text = text[: tail.start()]
    text = _PREFIX.sub("", text, count=1).replace(".", "_")
    text = text if text.startswith("v_") else f"v_{text}"
    mnemonic = re.sub(r"(x\d+(?:_\d+b)?)(f64|f32|xf32|f16|bf16|i8)(_1k)?$", r"\1_\2\3", text)
    return Spelling(mnemonic, chip, wave) if _NAME.fullmatch(mnemonic) else None
