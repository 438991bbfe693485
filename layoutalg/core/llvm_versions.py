"""What depends on the version of LLVM: a row for each version, measured with that version's programs.

A check, a print or a plan is for `DEFAULT_LLVM` unless `llvm=` (or `--llvm`) says another version.

>>> rules() == rules(DEFAULT_LLVM) == rules(24)
True

LLVM goes on changing how an XeGPU layout is read and what its backends take. What differs is a field here, so that the next
version is a row and not a rewrite. (What a version's verifier says of an operation stands in `ir.verify`.)

>>> [row.llvm for row in map(rules, llvm_versions()) if row.data_with_layout]
[23, 24]

LLVM 22 (22.1.8) looks at all dimensions at once. LLVM 23 (23.1.4) and 24 (2026-10-25) look at one after the other, so that one
dimension may be shared while another goes round robin:

>>> mixed = la.parse("#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 32]>")
>>> mixed.check((64, 32), llvm=22) is None, mixed.check((64, 32), llvm=23) is None
(False, True)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown

__all__ = ["DEFAULT_LLVM", "Rules", "llvm_versions", "rules"]

DEFAULT_LLVM = 24
"""The version of LLVM that is meant where none is said: the newest that the tests run."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What one version of LLVM reads, prints and compiles; the defaults are those of LLVM 22.

    How XeGPU's attributes and types are read:

    `each_dimension`: a level with layout L and data D fits a dimension of size s if L*D divides s, or if s is D and all
    of L hold it; the next level is asked about s / L, all the rounds of an id together, or about s where it is shared.
    Otherwise all dimensions of a level must go round robin, or all of them share, and the next level is asked about D.
    `data_with_layout`: sg_layout and sg_data must be used together, lane_layout and lane_data too.
    `layouts_asked_on`: the operation whose diagnostic `check` repeats for a layout; for a slice it is convert_layout.
    `slice_in_descriptor`: a tensor_desc may carry a slice; LLVM 22 crashes on it.
    `scattered`: there are scattered descriptors.
    `words_in_angles`: `#xegpu.memory_space<slm>`; otherwise `#xegpu<memory_space slm>`. Neither version reads the other's.
    `lane_shuffle`: there is `#xegpu.lane_shuffle_mode`.
    `loops_take_layouts`: the pass that puts in conversions reads `layout_operand_N` of an `scf.for`.

    How text is written:

    `amx_dialect`: the name of the AMX dialect.
    `amx_f8`: its tiles may hold floats of 8 bits.
    `strict_properties`: inherent attributes in `{...}` are refused; they stand in `<{...}>` or beside the operands.
    `truths_as_bytes`: a long list of i1 in hexadecimal has a byte each; otherwise a bit.

    What the way from XeGPU to SPIR-V takes:

    `large_blocks`: 2D block messages of several operands of DPAS, and prefetches of whole cache lines.
    `spirv_bf16`: values of bf16 in messages and shuffles.
    `shuffles_in_functions`: shuffles in functions that are not kernels.
    `dynamic_descriptors`: descriptors of a memref whose sizes are not in its type; without, the passes crash.
    `chunked_messages`: `xegpu.load` and `xegpu.store` with `chunk_size`.
    `barriers_of_spaces`: `gpu.barrier memfence [...]` names the address spaces that it orders; otherwise it orders all.
    `payload_per_message`: the graphics compiler used with it keeps an address payload for each message; the old one that
    distributions have beside LLVM 22 builds each anew from one per shape (IGC 1.0.12504 and 2.40.14).

    >>> rules(24).words_in_angles, rules(23).words_in_angles
    (True, False)
    """

    llvm: int
    each_dimension: bool = False
    data_with_layout: bool = False
    layouts_asked_on: str = "tensor_desc"
    slice_in_descriptor: bool = False
    scattered: bool = True
    words_in_angles: bool = False
    lane_shuffle: bool = False
    loops_take_layouts: bool = False
    amx_dialect: str = "amx"
    amx_f8: bool = False
    strict_properties: bool = False
    truths_as_bytes: bool = False
    large_blocks: bool = False
    spirv_bf16: bool = False
    shuffles_in_functions: bool = False
    dynamic_descriptors: bool = False
    chunked_messages: bool = True
    barriers_of_spaces: bool = False
    payload_per_message: bool = False


_LLVM_22 = Rules(22)
_LLVM_23 = replace(
    _LLVM_22,
    llvm=23,
    each_dimension=True,
    data_with_layout=True,
    layouts_asked_on="convert_layout",
    slice_in_descriptor=True,
    scattered=False,
    loops_take_layouts=True,
    amx_dialect="x86.amx",
    amx_f8=True,
    truths_as_bytes=True,
    large_blocks=True,
    spirv_bf16=True,
    shuffles_in_functions=True,
    barriers_of_spaces=True,
    payload_per_message=True,
)
_LLVM_24 = replace(
    _LLVM_23,
    llvm=24,
    words_in_angles=True,
    lane_shuffle=True,
    strict_properties=True,
    dynamic_descriptors=True,
    chunked_messages=False,
)
_ROWS = {row.llvm: row for row in (_LLVM_22, _LLVM_23, _LLVM_24)}


def rules(llvm: int = DEFAULT_LLVM) -> Rules:
    """The row of a version.

    Raises `LayoutError` for a version that is not in the table.

    >>> rules(3)
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: LLVM 3: the rules of LLVM 22, 23, 24 are known
    """
    row = _ROWS.get(llvm) if type(llvm) is int else None
    if row is None:
        raise LayoutError(f"LLVM {shown(llvm)}: the rules of LLVM {', '.join(map(str, _ROWS))} are known")
    return row


def llvm_versions() -> tuple[int, ...]:
    """The versions whose rules are known.

    >>> llvm_versions()
    (22, 23, 24)
    """
    return tuple(_ROWS)
