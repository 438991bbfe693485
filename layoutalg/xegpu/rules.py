"""What depends on the version of LLVM: one row per version, every field measured with that version's mlir-opt.

LLVM goes on changing how an XeGPU layout is read. Everything that does is a field here, LLVM 22 the default, so that the
next version is a row and not a rewrite. The rules themselves are in `distribution` (`accepts`), `attributes` and `descriptors`.

>>> [row.llvm for row in map(rules, (22, 23, 24)) if row.data_with_layout]
[23, 24]

LLVM 22 (22.1.8) looks at all dimensions at once. LLVM 23 (23.1.4) and 24 (2026-10-25) look at one after the other, so that one
dimension may be shared while another goes round robin:

>>> from layoutalg.xegpu.attributes import LayoutAttr
>>> mixed = LayoutAttr(sg_layout=(2, 4), sg_data=(16, 32))
>>> mixed.check((64, 32), llvm=22) is None, mixed.check((64, 32), llvm=23) is None
(False, True)
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown

__all__ = ["DEFAULT_LLVM", "Rules", "llvm_versions", "rules"]

DEFAULT_LLVM = 22
"""The version whose rules hold unless another is asked for."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How one version of LLVM reads XeGPU's attributes and types.

    `each_dimension`: a level with layout L and data D fits a dimension of size s if L*D divides s, or if s is D and all
    of L hold it; the next level is asked about s / L, all the rounds of an id together, or about s where it is shared.
    Otherwise all dimensions of a level must go round robin, or all of them share, and the next level is asked about D.
    `data_with_layout`: sg_layout and sg_data must be used together, lane_layout and lane_data too.
    `layouts_asked_on`: the operation whose diagnostic `check` repeats for a layout; for a slice it is convert_layout.
    `slice_in_descriptor`: a tensor_desc may carry a slice; LLVM 22 crashes on it.
    `scattered`: there are scattered descriptors.
    `words_in_angles`: `#xegpu.memory_space<slm>`; otherwise `#xegpu<memory_space slm>`. Neither version reads the other's.
    `lane_shuffle`: there is `#xegpu.lane_shuffle_mode`.

    >>> rules(24).words_in_angles, rules(23).words_in_angles
    (True, False)
    """

    llvm: int
    each_dimension: bool
    data_with_layout: bool
    layouts_asked_on: str
    slice_in_descriptor: bool
    scattered: bool
    words_in_angles: bool
    lane_shuffle: bool


_ROWS = {
    row.llvm: row
    for row in (
        Rules(
            22,
            each_dimension=False,
            data_with_layout=False,
            layouts_asked_on="tensor_desc",
            slice_in_descriptor=False,
            scattered=True,
            words_in_angles=False,
            lane_shuffle=False,
        ),
        Rules(
            23,
            each_dimension=True,
            data_with_layout=True,
            layouts_asked_on="convert_layout",
            slice_in_descriptor=True,
            scattered=False,
            words_in_angles=False,
            lane_shuffle=False,
        ),
        Rules(
            24,
            each_dimension=True,
            data_with_layout=True,
            layouts_asked_on="convert_layout",
            slice_in_descriptor=True,
            scattered=False,
            words_in_angles=True,
            lane_shuffle=True,
        ),
    )
}


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
    """The versions whose rules are known."""
    return tuple(_ROWS)
