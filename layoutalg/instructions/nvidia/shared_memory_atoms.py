"""The canonical layouts of shared memory that `wgmma` and `tcgen05.mma` read by a descriptor: CUTLASS's `Layout_..._Atom`.

An atom is eight rows of 16, 32, 64 or 128 bytes, whose 16-byte pieces are XORed by the row (SW32, SW64, SW128; INTER: not).
K-major atoms have k along the bytes, MN-major ones m or n. Of f16 with 128 bytes, row 3, element 8 (the second piece):
3 * 64 + 8, and the piece 1 becomes 1 ^ 3 = 2, so 3 * 64 + 16 = 208.

>>> atom = with_parameters("Layout_K_SW128_Atom<half_t>")
>>> atom["layout"].layout.owners((3, 8))
[(208,)]
>>> atom["layout"].traits
'Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)'

Larger tiles repeat the atom, at distances that the descriptor says (LBO, SBO). `addr` counts elements. Source: CUTLASS's
headers; Triton's `#ttg.nvmma_shared` has the same of 32, 64 and 128 bytes.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import product

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.whole_numbers import instance_of
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.nvidia.cutlass_types import bits_of, cpp_of, element_of
from layoutalg.instructions.nvidia.sources import HEADERS, TRITON
from layoutalg.instructions.registry import Row

__all__ = ["rows", "with_parameters"]

_CHIPS = ("sm_90a", "sm_100a", "sm_103a")
_BITS = {"INTER": 0, "SW32": 1, "SW64": 2, "SW128": 3}
_NAME = re.compile(r"(?:(?:SM90::)?GMMA::|UMMA::)?Layout_(MN|K)_(INTER|SW32|SW64|SW128|SW128_32B)_Atom<([\w:]+)>\Z")


def _build(name: str, major: str, swizzle: str, element: str) -> Instruction:
    from layoutalg.core.swizzle import Swizzle, swizzled

    bits = bits_of(element)
    wide = swizzle == "SW128_32B"
    count, base, shift = (2, 5, 2) if wide else (_BITS[swizzle], 4, 3)
    length, lines = (1024 if wide else 128 << count) // bits, 4 if wide else 8
    plain = Layout([(Factor(lines, length, "addr"),), (Factor(length, 1, "addr"),)])
    # The swizzle is over bytes, and the layout over elements.
    in_elements = base + 3 - (bits.bit_length() - 1)
    layout = swizzled(plain, Swizzle(count, in_elements, shift), "addr") if count else plain
    shape, stride = f"({lines},{length})", f"({length},1)"
    if major == "MN":
        layout, shape, stride = layout.permute((1, 0)), f"({length},{lines})", f"(1,{length})"
    text = f"Sw<{count},{base},{shift}> o smem_ptr[{bits}b](unset) o {shape}:{stride}"
    confirmed = (TRITON,) if count and not wide and bits in (8, 16, 32) else ()
    part = InstructionOperand("layout", element, layout, "shared memory", text, HEADERS, confirmed)
    remarks = (
        ("major", f"{'k' if major == 'K' else 'm or n'} along the bytes, {length * bits // 8} of them in a line"),
    )
    return Instruction(name, "shared memory atom", "NVIDIA", "layout", _CHIPS, (), 1, (part,), remarks=remarks)


def _listed() -> list[tuple[str, str, str, str]]:
    plain = product(("MN", "K"), _BITS, ("u8", "f16", "f32"))
    found = [(f"Layout_{m}_{s}_Atom<{cpp_of(e)}>", m, s, e) for m, s, e in plain]
    return [*found, ("UMMA::Layout_MN_SW128_32B_Atom<float>", "MN", "SW128_32B", "f32")]


def rows() -> tuple[Row, ...]:
    """The atoms of bytes, halves and words.

    >>> len(rows())
    25
    """
    return tuple(
        Row(name, "shared memory atom", "layout", "NVIDIA", _CHIPS, partial(_build, name, major, swizzle, element))
        for name, major, swizzle, element in _listed()
    )


def with_parameters(name: str) -> Instruction | None:
    """The atom of any element type; None for other texts.

    >>> print(with_parameters("Layout_MN_SW32_Atom<bfloat16_t>")["layout"].layout.shape)
    (16, 8)
    """
    instance_of(name, str, "name")
    match = _NAME.match(name)
    element = None if match is None else element_of(match[3])
    if match is None or element is None or bits_of(element) not in (4, 8, 16, 32, 64):
        return None
    return _build(name, match[1], match[2], element)
