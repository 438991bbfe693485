"""IREE's matrix intrinsics: sizes, element types, and who holds what of each operand.

The name says the sizes and the types: `MFMA_F32_16x16x16_F16` multiplies a 16x16 tile of f16 with another one and adds
f32. Operands are A (`Lhs`, M x K), B (`Rhs`, K x N) and C (`Acc`, M x N), all of one subgroup:

>>> mfma = intrinsic("MFMA_F32_16x16x16_F16")
>>> for fragment in MMAFragment:
...     print(fragment.name, mfma.operand(fragment).layout(mfma.subgroup_size))
Lhs d0 = 16@lane, d1 = 4@lane:16 4@reg
Rhs d0 = 4@lane:16 4@reg, d1 = 16@lane
Acc d0 = 4@lane:16 4@reg, d1 = 16@lane

A dimension of an operand is cut into `outer` x `thread` x `element`; with `tstrides` saying where a thread factor sits in the
lane,

    virtual thread = (lane // tstrides[d]) % thread[d]
    coordinate[d]  = (outer * thread[d] + virtual thread) * element[d] + element
    register       = row-major over (outer dimensions, element dimensions)

so an operand is a nested layout of one subgroup. A block intrinsic (`MFMA_F32_4x4x4x16B_F16`: 16 products of 4x4x4)
has the block as its first dimension.

Source: iree-opt 3.13.0. The 25 intrinsics of its page that AMD's matrix calculator knows agree with it, register by
register. Registers are counted as IREE's vectors count them; for the Lhs of mma.sync that is not PTX's own order (there the
two rows of a lane come before its two halves of k; Triton has it so). The layouts follow a few rules of the hardware
families; the table that IREE gave is in the tests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import TypeAlias

from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.layout import Layout
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine
from layoutalg.nested.attributes import NestedLayoutAttr
from layoutalg.nested.gpu.enums import MMAFragment, VirtualMMAIntrinsic
from layoutalg.nested.gpu.iree_versions import IREE_3_2, check_dialect

__all__ = ["INTRINSICS", "VIRTUAL_INTRINSICS", "Intrinsic", "OperandLayout", "fragment_of", "intrinsic"]

Ints: TypeAlias = tuple[int, ...]

_F8 = ("F8E5M2", "F8E5M2_F8E4M3FN", "F8E4M3FN_F8E5M2", "F8E4M3FN")
_F8_FNUZ = ("F8E5M2FNUZ", "F8E5M2FNUZ_F8E4M3FNUZ", "F8E4M3FNUZ", "F8E4M3FNUZ_F8E5M2FNUZ")

INTRINSICS: tuple[str, ...] = (
    *(f"MFMA_F32_{s}" for s in ("16x16x4_F32", "16x16x16_F16", "32x32x8_F16")),
    *(f"MFMA_I32_{s}_I8" for s in ("16x16x16", "32x32x8", "16x16x32", "32x32x16", "16x16x64", "32x32x32")),
    *(f"MFMA_F32_{s}_BF16" for s in ("16x16x8", "32x32x4", "16x16x16", "32x32x8", "16x16x32", "32x32x16")),
    *(f"MFMA_F32_{s}_F16" for s in ("16x16x32", "32x32x16")),
    "MFMA_F64_16x16x4_F64",
    *(f"MFMA_F32_{s}_{t}" for s in ("16x16x32", "32x32x16") for t in (*_F8_FNUZ, *_F8)),
    *(f"MFMA_F32_{s}_{t}" for s in ("16x16x128", "32x32x64") for t in _F8),
    *(f"MFMA_F32_{s}_{t}" for t in ("F16", "BF16") for s in ("4x4x4x16B", "16x16x4x4B", "32x32x4x2B")),
    *(f"MFMA_F32_{s}_F32" for s in ("4x4x1x16B", "16x16x1x4B", "32x32x1x2B")),
    *(f"MFMA_I32_{s}_I8" for s in ("4x4x4x16B", "16x16x4x4B", "32x32x4x2B")),
    "MFMA_F64_4x4x4x4B_F64",
    *(
        f"{family}_{c}_16x16x16_{a}"
        for family in ("WMMAR3", "WMMAR4")
        for c, a in (("F32", "F16"), ("F16", "F16"), ("F32", "BF16"), ("BF16", "BF16"), ("I32", "I8"))
    ),
    *(f"WMMAR4_F32_16x16x16_{t}" for t in _F8),
    *(f"WMMA_{c}_16x16x{k}_{t}" for c in ("F32", "F16") for k in (64, 128) for t in _F8),
    *(f"WMMA_{s}" for s in ("F32_16x16x4_F32", "F32_16x16x32_F16", "F32_16x16x32_BF16")),
    *(f"WMMA_{s}" for s in ("F16_16x16x32_F16", "BF16_16x16x32_BF16", "I32_16x16x64_I8")),
    "NV_WMMA_F32_16x16x16_F16",
    "NV_WMMA_F16_16x16x16_F16",
    *(f"NV_MMA_SYNC_{s}" for s in ("F32_16x8x16_F16", "F16_16x8x16_F16", "F32_16x8x16_BF16")),
    *(f"NV_MMA_SYNC_F32_16x8x32_{t}" for t in ("F8E4M3FN", "F8E5M2")),
)
"""The 98 intrinsics that IREE 3.13 knows, by their names there."""

VIRTUAL_INTRINSICS: tuple[str, ...] = (
    *(one.name for one in VirtualMMAIntrinsic),
    *(f"VDMFMA_F32_8x16x64x{p}_{t}" for p in (2, 1) for t in ("F16", "BF16")),
    *(f"VDMFMA_I32_8x16x128x{p}_I8" for p in (2, 1)),
    *(f"VDMFMA_F32_8x16x128x2_{t}" for t in _F8_FNUZ),
    *(f"VDMFMA_F32_8x16x128x1_{t}" for t in _F8),
)
"""The virtual intrinsics; of VDMFMA only names, sizes and types are known."""

_VALUES = {
    "MFMA_F32_16x16x4_F32": 4112,
    "MFMA_F32_16x16x16_F16": 4128,
    "MFMA_F32_32x32x8_F16": 4129,
    "MFMA_I32_16x16x16_I8": 4288,
    "MFMA_I32_32x32x8_I8": 4289,
    "MFMA_F64_16x16x4_F64": 4352,
    "MFMA_F32_16x16x8_BF16": 4384,
    "MFMA_F32_32x32x4_BF16": 4385,
    "MFMA_F32_16x16x16_BF16": 4640,
    "MFMA_F32_32x32x8_BF16": 4641,
    "MFMA_F32_16x16x32_F8E5M2FNUZ": 4656,
    "MFMA_F32_16x16x32_F8E5M2FNUZ_F8E4M3FNUZ": 4657,
    "MFMA_F32_16x16x32_F8E4M3FNUZ": 4658,
    "MFMA_F32_16x16x32_F8E4M3FNUZ_F8E5M2FNUZ": 4659,
    "MFMA_F32_32x32x16_F8E5M2FNUZ": 4660,
    "MFMA_F32_32x32x16_F8E5M2FNUZ_F8E4M3FNUZ": 4661,
    "MFMA_F32_32x32x16_F8E4M3FNUZ": 4662,
    "MFMA_F32_32x32x16_F8E4M3FNUZ_F8E5M2FNUZ": 4663,
    "MFMA_I32_16x16x32_I8": 4800,
    "MFMA_I32_32x32x16_I8": 4801,
    "WMMAR3_F32_16x16x16_F16": 6176,
    "WMMAR3_F16_16x16x16_F16": 6177,
    "WMMAR3_F32_16x16x16_BF16": 6178,
    "WMMAR3_BF16_16x16x16_BF16": 6179,
    "WMMAR3_I32_16x16x16_I8": 6336,
    "NV_WMMA_F32_16x16x16_F16": 8224,
    "NV_WMMA_F16_16x16x16_F16": 8225,
    **{one.name: one.value for one in VirtualMMAIntrinsic},
}
"""The enum's values, as IREE's page has them; they are also the names that IREE 3.2 knows (WMMAR3 is WMMA there)."""

_NAME = re.compile(
    r"(?P<family>V?D?MFMA|WMMAR3|WMMAR4|WMMA|NV_WMMA|NV_MMA_SYNC)_(?P<c>[A-Z]+[0-9]+)_"
    r"(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)(?:x(?P<blocks>\d+)B|x[12])?_(?P<a>[A-Z0-9]+)(?:_(?P<b>[A-Z0-9]+))?"
)


@dataclass(frozen=True, slots=True)
class OperandLayout:
    """An operand of one intrinsic: per dimension, outer x thread x element, and each thread factor's stride in the lane.

    The stride of a unit factor is kept as 0.

    >>> OperandLayout((1, 1), (16, 4), (1, 16), (1, 4)).shape
    (16, 16)
    """

    outer: Ints
    thread: Ints
    tstrides: Ints
    element: Ints

    @property
    def shape(self) -> Ints:
        """The operand's sizes, in elements.

        >>> OperandLayout((4, 1), (2, 32), (32, 1), (4, 1)).shape
        (32, 32)
        """
        return self.nested.shape

    @property
    def registers(self) -> int:
        """The elements that one lane holds.

        >>> OperandLayout((4, 1), (2, 32), (32, 1), (4, 1)).registers
        16
        """
        return prod(self.outer) * prod(self.element)

    @property
    def nested(self) -> NestedLayoutAttr:
        """The same as a nested layout of one subgroup.

        >>> OperandLayout((1, 1), (16, 4), (1, 16), (1, 4)).nested.thread_strides
        (1, 16)
        """
        ones = (1,) * len(self.outer)
        return NestedLayoutAttr(ones, ones, self.outer, self.thread, self.element, (0,) * len(ones), self.tstrides)

    def layout(self, subgroup_size: int) -> Layout:
        """The exact relation from the operand's coordinates to lanes and registers; idle lanes hold copies.

        >>> OperandLayout((1, 1), (16, 1), (1, 0), (1, 16)).layout(32)
        Layout.parse('d0 = 16@lane, d1 = 16@reg | replicas 2@lane:16')
        """
        return self.nested.layout(self.shape, Machine(lanes=subgroup_size, subgroups=1))

    def transposed(self) -> OperandLayout:
        """The last two dimensions exchanged.

        >>> OperandLayout((1, 1), (4, 16), (16, 1), (4, 1)).transposed().thread
        (16, 4)
        """

        def swap(values: Ints) -> Ints:
            return (*values[:-2], values[-1], values[-2])

        return OperandLayout(swap(self.outer), swap(self.thread), swap(self.tstrides), swap(self.element))


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One instruction, or a virtual one: `blocks` products of M x K with K x N elements (0: one, and no such dimension).

    >>> wmma = intrinsic("WMMAR3_F16_16x16x16_F16")
    >>> wmma.a_type, wmma.c_type, wmma.subgroup_size, wmma.value
    ('f16', 'f16', 32, 6177)
    """

    name: str
    family: str
    m: int
    n: int
    k: int
    blocks: int
    a_type: str
    b_type: str
    c_type: str

    @property
    def subgroup_size(self) -> int:
        """The lanes that execute it together: 64 for MFMA, 32 for the others.

        >>> intrinsic("MFMA_F32_16x16x4_F32").subgroup_size
        64
        """
        return 64 if self.family.endswith("MFMA") else 32

    @property
    def value(self) -> int | None:
        """The value of the enum on IREE's page; None for an intrinsic that came later.

        >>> intrinsic("NV_WMMA_F16_16x16x16_F16").value
        8225
        """
        return _VALUES.get(self.name)

    @property
    def is_virtual(self) -> bool:
        """Whether it stands for native ones whose registers are read in another order.

        >>> intrinsic("VMFMA_F32_16x16x32_F16").is_virtual
        True
        """
        return self.family in ("VMFMA", "VDMFMA")

    @property
    def is_opaque(self) -> bool:
        """Whether nobody publishes who holds what.

        >>> intrinsic("NV_WMMA_F32_16x16x16_F16").is_opaque
        True
        """
        return self.family in ("NV_WMMA", "VDMFMA")

    @property
    def types(self) -> tuple[str, str, str]:
        """The element types of A, B and C.

        >>> intrinsic("MFMA_I32_16x16x16_I8").types
        ('i8', 'i8', 'i32')
        """
        return self.a_type, self.b_type, self.c_type

    def shape(self, fragment: MMAFragment) -> Ints:
        """An operand's sizes in elements, the block first where there are several.

        >>> intrinsic("MFMA_F32_4x4x4x16B_F16").shape(MMAFragment.Lhs)
        (16, 4, 4)
        """
        sizes = {
            MMAFragment.Lhs: (self.m, self.k),
            MMAFragment.Rhs: (self.k, self.n),
            MMAFragment.Acc: (self.m, self.n),
        }[fragment_of(fragment)]
        return (self.blocks, *sizes) if self.blocks else sizes

    def element_type(self, fragment: MMAFragment) -> str:
        """An operand's element type.

        >>> intrinsic("MFMA_I32_16x16x16_I8").element_type(MMAFragment.Acc)
        'i32'
        """
        return self.types[fragment_of(fragment)]

    def operand(self, fragment: MMAFragment) -> OperandLayout:
        """Who holds what of an operand.

        Raises `DistributionError` for NV_WMMA and VDMFMA, whose layouts are not published.

        >>> intrinsic("WMMAR4_F32_16x16x16_F16").operand(MMAFragment.Lhs).element
        (1, 8)
        """
        if self.is_opaque:
            raise DistributionError(
                f"{self.name} is opaque: its sizes and types are known, and no layout of its fragments is published"
            )
        return _operand(self, fragment_of(fragment))

    def spelling(self, dialect: str | None = None) -> str:
        """The name in a version of IREE.

        Raises `VerificationError` where that version has no such intrinsic.

        >>> intrinsic("WMMAR3_F32_16x16x16_F16").spelling("iree-3.2")
        'WMMA_F32_16x16x16_F16'
        """
        if check_dialect(dialect) != IREE_3_2:
            return self.name
        if self.name not in _VALUES:
            raise VerificationError(f"IREE 3.2 has no intrinsic {self.name}")
        return self.name.replace("WMMAR3_", "WMMA_")


def fragment_of(name: str | int) -> MMAFragment:
    """The operand that `lhs`, `Rhs`, `acc` or 0, 1, 2 names.

    Raises `VerificationError` for anything else.
    """
    if isinstance(name, (str, int)):  # pyright: ignore[reportUnnecessaryIsInstance]
        for fragment in MMAFragment:
            if name == fragment.value or (isinstance(name, str) and name.lower() == fragment.name.lower()):
                return fragment
    raise VerificationError(f"operand {shown(name)}: expected Lhs, Rhs or Acc")


def intrinsic(name: str) -> Intrinsic:
    """The intrinsic of that name, in the spelling of IREE 3.13 or of IREE 3.2 and its page.

    Raises `VerificationError` with what is near.

    >>> intrinsic("WMMA_F32_16x16x16_F16").name
    'WMMAR3_F32_16x16x16_F16'
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise VerificationError(f"intrinsic {shown(name)}: expected a name such as MFMA_F32_16x16x16_F16")
    return _intrinsic(name)


@cache
def _intrinsic(name: str) -> Intrinsic:
    newest = name if name in INTRINSICS or name in VIRTUAL_INTRINSICS else name.replace("WMMA_", "WMMAR3_", 1)
    if newest not in INTRINSICS and newest not in VIRTUAL_INTRINSICS:
        raise VerificationError(f"unknown intrinsic {name[:80]!r}: expected one of {_near(name)}")
    found = _NAME.fullmatch(newest)
    assert found is not None
    a, b, c = (_element(found[part] or found["a"]) for part in "abc")
    sizes = (int(found["m"]), int(found["n"]), int(found["k"]), int(found["blocks"] or 0))
    return Intrinsic(newest, found["family"], *sizes, a, b, c)


def _near(name: str) -> str:
    from difflib import get_close_matches

    names = [*INTRINSICS, *VIRTUAL_INTRINSICS]
    close = get_close_matches(name[:80], names, 3, 0.5)
    parts = name[:80].split("_")
    if len(parts) == 4 and (today := "_".join([parts[0], parts[3], parts[2], parts[1]])) in names:
        # Until 2024 IREE wrote the operands' type first and the accumulator's last.
        close = [today, *(one for one in close if one != today)][:3]
    return f"{', '.join(close)}, ..." if close else f"the {len(names)} names such as {', '.join(names[:2])}"


def _element(name: str) -> str:
    return name.lower() if not name.startswith("F8") else f"f{name[1:]}"


@cache
def _operand(one: Intrinsic, fragment: MMAFragment) -> OperandLayout:
    rows = _FAMILIES[one.family](one) if one.family in _FAMILIES else _matrix_core(one)
    return rows[fragment]


def _layout(*dims: tuple[int, int, int, int]) -> OperandLayout:
    """From (outer, thread, tstride, element) per dimension."""
    outer, thread, tstrides, element = zip(*dims, strict=True)
    strides = tuple(0 if n == 1 else s for n, s in zip(thread, tstrides, strict=True))
    return OperandLayout(outer, thread, strides, element)


def _matrix_core(one: Intrinsic) -> tuple[OperandLayout, OperandLayout, OperandLayout]:
    """MFMA on 64 lanes: lanes go over rows (and blocks), then over k; an accumulator's lane holds 4 rows (f64: 1) at a time."""
    blocks = one.blocks or 1
    depth = 64 // (blocks * one.m)
    each = one.k // depth
    # A virtual f8 kind reads k in halves.
    parts = 2 if one.is_virtual and one.a_type.startswith("f8") else 1
    along_k = (parts, depth, blocks * one.m, each // parts)
    rows = 1 if one.c_type == "f64" else 4
    groups = 64 // one.n
    on_lanes = min(blocks, max(1, groups * rows // one.m))
    row_groups = groups // on_lanes
    lhs = ((1, one.m, 1, 1), along_k)
    rhs = (along_k, (1, one.n, 1, 1))
    acc = ((one.m // (rows * row_groups), row_groups, one.n * on_lanes, rows), (1, one.n, 1, 1))
    if not one.blocks:
        return _layout(*lhs), _layout(*rhs), _layout(*acc)
    return (
        _layout((1, blocks, one.m, 1), *lhs),
        _layout((1, blocks, one.n, 1), *rhs),
        _layout((1, on_lanes, one.n, blocks // on_lanes), *acc),
    )


def _wave_r3(one: Intrinsic) -> tuple[OperandLayout, OperandLayout, OperandLayout]:
    """WMMA of RDNA 3: both halves of the 32 lanes hold A and B; accumulators alternate rows between the halves."""
    deep, wide = (1, 1, 0, one.k), (1, 16, 1, 1)
    return _layout(wide, deep), _layout(deep, wide), _layout((8, 2, 16, 1), wide)


def _wave(one: Intrinsic) -> tuple[OperandLayout, OperandLayout, OperandLayout]:
    """WMMA of RDNA 4 and later: the halves of the 32 lanes share k, and the rows of the accumulator."""
    deep, wide = (1, 2, 16, one.k // 2), (1, 16, 1, 1)
    return _layout(wide, deep), _layout(deep, wide), _layout((1, 2, 16, 8), wide)


def _mma_sync(one: Intrinsic) -> tuple[OperandLayout, OperandLayout, OperandLayout]:
    """NVIDIA's mma.sync m16n8: 8 groups of 4 lanes; a group has a row (a column of B), a lane some of k."""
    deep, row = (2, 4, 1, one.k // 8), (2, 8, 4, 1)
    return _layout(row, deep), _layout(deep, (1, 8, 4, 1)), _layout(row, (1, 4, 1, 2))


_FAMILIES = {"WMMAR3": _wave_r3, "WMMAR4": _wave, "WMMA": _wave, "NV_MMA_SYNC": _mma_sync}
