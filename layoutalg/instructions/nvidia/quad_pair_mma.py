"""`mma.m8n8k4` of f16 (SM70), which eight threads execute: four quad pairs of a warp, each with a product of its own.

Quad pair q has the lanes 4 q to 4 q + 3 and 16 + 4 q to 16 + 4 q + 3. CUTLASS counts its threads 0 to 7 and gives
`ThrID = (4,2):(1,16)`, the lanes of quad pair 0; `lane` counts the same 0 to 7 here. A row-major A (T) gives a row to each
thread, a column-major A (N) half a column:

>>> print(_a_layout(row=True)); print(_a_layout(row=False))
d0 = 8@lane, d1 = 4@reg
d0 = 2@lane:4 4@reg, d1 = 4@lane

B is the same with n for m. C of f16 has a row in each thread, C of f32 has the bits of row and column dealt out in turns.

Sources: PTX ISA 9.2, 9.7.14.5.1 and CUTLASS's traits. The name of a product has A's and B's order: T is row-major for A, N
column-major (`row.col` is TN).
"""

from __future__ import annotations

from functools import partial
from itertools import product

from layoutalg.core.layout import Layout
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.nvidia.chips import since
from layoutalg.instructions.nvidia.cutlass_types import capitals
from layoutalg.instructions.nvidia.sources import PTX, TRAITS
from layoutalg.instructions.registry import Row

__all__ = ["rows"]

_SOURCE = PTX.format("9.7.14.5.1")
_C = {
    "f16": "d0 = 8@lane, d1 = 8@reg",
    "f32": "d0 = 2@lane:4 2@reg:2 2@lane, d1 = 2@reg:4 2@lane:2 2@reg",
}


def _a_layout(row: bool) -> Layout:
    """A (m x k), row-major or column-major."""
    return Layout.parse("d0 = 8@lane, d1 = 4@reg" if row else "d0 = 2@lane:4 4@reg, d1 = 4@lane")


def _build(name: str, dotted: str, d: str, order: str) -> Instruction:
    b = _a_layout(row=order[1] == "N").permute((1, 0))
    layouts = (_a_layout(row=order[0] == "T"), b, Layout.parse(_C[d]))
    parts = tuple(
        InstructionOperand(role, element, layout, source=_SOURCE, confirmed=(TRAITS,))
        for role, element, layout in zip("ABC", ("f16", "f16", d), layouts, strict=True)
    )
    remarks = (("quad pair", "thread t of quad pair q is lane 4*q + t % 4 + 16*(t // 4); a warp has four products"),)
    return Instruction(
        name,
        "mma.sync",
        "NVIDIA",
        "mma",
        since("sm_70"),
        (8, 8, 4),
        8,
        parts,
        8,
        (dotted,),
        thread_id="(4,2):(1,16)",
        remarks=remarks,
    )


def rows() -> tuple[Row, ...]:
    """The eight products of SM70.

    >>> rows()[0].name, rows()[0].dotted
    ('SM70_8x8x4_F16F16F16F16_TN', 'mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16')
    """
    found: list[Row] = []
    for d, order in product(("f16", "f32"), ("TN", "NT", "NN", "TT")):
        name = f"SM70_8x8x4_{capitals(d)}F16F16{capitals(d)}_{order}"
        majors = ("row" if order[0] == "T" else "col", "col" if order[1] == "N" else "row")
        dotted = f"mma.sync.aligned.m8n8k4.{majors[0]}.{majors[1]}.{d}.f16.f16.{d}"
        build = partial(_build, name, dotted, d, order)
        found.append(Row(name, "mma.sync", "mma", "NVIDIA", since("sm_70"), build, dotted))
    return tuple(found)
