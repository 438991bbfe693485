"""`mma.sp` (SM80, and of fp8 SM89): a warp multiplies a sparse A, of which half the elements are stored, with a dense B.

Of each four neighbours in a row of A two are stored (of tf32: one of two; of 4-bit types: two pairs of four pairs). A register
holds e stored elements, and stands for 2 e columns of the dense row; so A is `warp_mma`'s A with 2 e for e, over all of k. B
and C are the dense ones. m16n8k32 of f16, by hand: lane 5 (g = 1, t = 1) has in register 0 two of row 1's columns 4 to 7, in
register 2 two of columns 20 to 23:

>>> mma = rows()[1].build()
>>> mma.name
'mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16'
>>> mma["A"].layout.coords(lane=5)[:4].tolist(), mma["A"].layout.coords(lane=5)[8:12].tolist()
([[1, 4], [1, 5], [1, 6], [1, 7]], [[1, 20], [1, 21], [1, 22], [1, 23]])

Which of them are stored is in the metadata, two bits for each stored element, in one or two lanes of each quad that a selector
names. PTX has figures for where; they are not given here, but where CUTLASS has E for the same shape (SM120).

Source: PTX ISA 9.2, 9.7.14.6.2, formulas for every shape. CUTLASS has no atoms for these.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.nvidia.chips import since
from layoutalg.instructions.nvidia.cutlass_types import bits_of
from layoutalg.instructions.nvidia.sources import PTX
from layoutalg.instructions.nvidia.warp_mma import warp_operands
from layoutalg.instructions.registry import Row

__all__ = ["rows"]

_SECTION = PTX.format("9.7.14.6.2")
_STORED = {32: "one of two", 4: "two pairs of each four pairs"}


def _build(name: str, first: str, k: int, types: tuple[str, str, str], ordered: str) -> Instruction:
    e = 32 // bits_of(types[0])
    stored = (("sparse", f"columns are of the dense row: {_STORED.get(32 // e, 'two of each four')} are stored"),)
    parts = tuple(
        InstructionOperand(role, element, layout, source=_SECTION, notes=stored if role == "A" else ())
        for role, element, layout in zip("ABC", types, warp_operands(16, 8, k, e, 2 * e), strict=True)
    )
    remarks = (("metadata", "which elements are stored: a register of one or two lanes of each quad, by a selector"),)
    return Instruction(
        name, "mma.sync.sp", "NVIDIA", "mma", since(first), (16, 8, k), 32, parts, aliases=(ordered,), remarks=remarks
    )


def _listed() -> Iterator[tuple[str, int, str, str, str, str]]:
    """The first chip, k, the types of D, A and B, and a qualifier."""
    for d, a, k in product(("f16", "f32"), ("f16",), (16, 32)):
        yield "sm_80", k, d, a, a, ""
    for a, sizes in (("bf16", (16, 32)), ("tf32", (8, 16))):
        for k in sizes:
            yield "sm_80", k, "f32", a, a, ""
    for pair, sizes in ((("s8", "u8"), (32, 64)), (("s4", "u4"), (64, 128))):
        for a, b, k, more in product(pair, pair, sizes, ("", ".satfinite")):
            yield "sm_80", k, "s32", a, b, more
    for a, b in product(("e4m3", "e5m2"), repeat=2):
        yield "sm_89", 64, "f32", a, b, ""


def rows() -> tuple[Row, ...]:
    """Every sparse product of SM80 and SM89.

    >>> len(rows())
    44
    """
    found: list[Row] = []
    for first, k, d, a, b, more in _listed():
        body = f"sync.aligned.m16n8k{k}.row.col{more}.{d}.{a}.{b}.{d}"
        name, ordered = f"mma.sp.{body}", f"mma.sp::ordered_metadata.{body}"
        build = partial(_build, name, first, k, (a, b, d), ordered)
        found.append(Row(name, "mma.sync.sp", "mma", "NVIDIA", since(first), build, name, (ordered,)))
    return tuple(found)
