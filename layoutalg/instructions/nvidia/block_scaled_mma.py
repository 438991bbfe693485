"""`mma.sync` of SM120: 4-, 6- and 8-bit floats, dense or sparse, with or without scales for blocks of k.

A, B and C are `warp_mma`'s with four elements in a register: 4- and 6-bit types are kept in 8 bits here. Where both are e2m1
and scaled, eight are packed into a register and k doubles. A sparse A has twice as many places in a register (each two stored
elements stand for four of the dense row), and metadata E. Lane l, with its lowest bits b0, b1:

    E      row 8 b0 + l // 4, column (k // 2) b1 + register         two bits for each two stored elements
    SFA    row 8 b0 + l // 4, column register                       lanes with b1 set hold copies
    SFB    column l // 4, row register                              the four lanes of a quad hold copies

A register of SFA or SFB stands for one column: the scale of 16, 32 or 64 neighbouring columns is the same.

>>> mma = _scaled_layouts(32, 4, 4)
>>> print(mma["SFA"]); print(mma["SFB"])
d0 = 2@lane 8@lane:4, d1 = 32@reg | replicas 2@lane:2
d0 = 32@reg, d1 = 8@lane:4 | replicas 4@lane

Sources: A, B, C from PTX ISA 9.2, 9.7.14.5; E and the scales from CUTLASS's traits alone.
"""

from __future__ import annotations

from functools import partial
from itertools import product

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.nvidia.cutlass_types import cpp_of
from layoutalg.instructions.nvidia.sources import TRAITS
from layoutalg.instructions.nvidia.warp_mma import SECTION, warp_operands
from layoutalg.instructions.registry import Row

__all__ = ["rows"]

_CHIPS = ("sm_120", "sm_121")
_SMALL = ("e4m3", "e5m2", "e2m1", "e3m2", "e2m3")


def _metadata_layout(k: int) -> Layout:
    """E, the metadata of a sparse A: of 16 rows and k dense columns.

    >>> print(_metadata_layout(64))
    d0 = 2@lane 8@lane:4, d1 = 2@lane:2 32@reg
    """
    row = (Factor(2, 1, "lane"), Factor(8, 4, "lane"))
    return Layout([row, (Factor(2, 2, "lane"), Factor(k // 2, 1, "reg"))])


def _scaled_layouts(k: int, e: int, ea: int) -> dict[str, Layout]:
    """The layouts of all operands: e elements of B in a register, ea places of A."""
    a, b, c = warp_operands(16, 8, k, e, ea)
    depth = Factor(k, 1, "reg")
    sfa = Layout([(Factor(2, 1, "lane"), Factor(8, 4, "lane")), (depth,)], (Factor(2, 2, "lane"),))
    sfb = Layout([(depth,), (Factor(8, 4, "lane"),)], (Factor(4, 1, "lane"),))
    return {"A": a, "B": b, "C": c, "E": _metadata_layout(k), "SFA": sfa, "SFB": sfb}


def _row(k: int, a: str, b: str, sparse: bool, scale: str = "", vector: int = 0) -> Row:
    """The row of one instruction; `scale` is the type of scales that `vector` columns share."""
    spaces = "::".join([*(["BLOCKSCALED"] if scale else []), *(["SPARSE"] if sparse else [])])
    arguments = [cpp_of(one) for one in (a, b, "f32", *((scale,) if scale else ()))] + ([str(vector)] if vector else [])
    kind = f"SM120_{'SPARSE_' if sparse else ''}16x8x{k}_TN{'_VS' if scale else ''}<{','.join(arguments)}>"
    name = f"SM120::{spaces}::{kind}" if spaces else kind
    packed = k == (128 if sparse else 64)
    dotted = _mnemonic(k, a, b, sparse, scale, vector, packed)
    family = "mma.sync.sp" if sparse else "mma.sync"
    build = partial(_build, name, family, (16, 8, k), (a, b), scale, vector, packed, dotted)
    aliases = (name.rpartition("::")[2],) if spaces else ()
    return Row(name, family, "mma", "NVIDIA", _CHIPS, build, dotted, aliases)


def _mnemonic(k: int, a: str, b: str, sparse: bool, scale: str, vector: int, packed: bool) -> str:
    if packed:
        times, kind = k // vector, "kind::mxf4nvf4"
    else:
        times, kind = 1, "kind::mxf8f6f4" if scale else "kind::f8f6f4"
    words = ["mma", "sync", "aligned", kind, *(["sp::ordered_metadata"] if sparse else [])]
    words += ["block_scale", f"scale_vec::{times}X"] if scale else []
    words += [f"m16n8k{k}", "row", "col", "f32", a, b, "f32", *((scale,) if scale else ())]
    return ".".join(words)


def _build(
    name: str,
    family: str,
    sizes: tuple[int, int, int],
    types: tuple[str, str],
    scale: str,
    vector: int,
    packed: bool,
    dotted: str,
) -> Instruction:
    sparse = family == "mma.sync.sp"
    e = 8 if packed else 4
    layouts = _scaled_layouts(sizes[2], e, 2 * e if sparse else e)
    elements = {"A": types[0], "B": types[1], "C": "f32", "E": "b2", "SFA": scale, "SFB": scale}
    roles = ["A", "B", "C", *(["E"] if sparse else []), *(["SFA", "SFB"] if scale else [])]
    notes = _notes(types, sparse, vector, packed)
    parts = tuple(
        InstructionOperand(
            role,
            elements[role],
            layouts[role],
            source=SECTION if role in ("A", "B", "C") else TRAITS,
            confirmed=(TRAITS,) if role in ("A", "B", "C") else (),
            notes=notes.get(role, ()),
        )
        for role in roles
    )
    return Instruction(name, family, "NVIDIA", "mma", _CHIPS, sizes, 32, parts, aliases=(dotted,))


def _notes(types: tuple[str, str], sparse: bool, vector: int, packed: bool) -> dict[str, tuple[tuple[str, str], ...]]:
    """What to know of each operand beyond its layout."""
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for role, element in zip("AB", types, strict=True):
        if not packed and element in ("e2m1", "e3m2", "e2m3"):
            where = "in bits 2 to 5" if element == "e2m1" else "in its low six bits"
            found[role] = (("stored", f"each element in 8 bits ({where})"),)
    if sparse:
        said = ("sparse", "columns are of the dense row: two of each four are stored, and E says which")
        found["A"] = (*found.get("A", ()), said)
    if vector:
        found["SFA"] = found["SFB"] = (("scales", f"{vector} neighbouring elements of k share one"),)
    return found


def rows() -> tuple[Row, ...]:
    """Every combination of types.

    >>> len(rows()), rows()[0].name
    (130, 'SM120_16x8x32_TN<float_e4m3_t,float_e4m3_t,float>')
    """
    found: list[Row] = []
    for a, b in product(_SMALL, repeat=2):
        found += [_row(32, a, b, False), _row(32, a, b, False, "ue8m0", 32)]
        found += [_row(64, a, b, True), _row(64, a, b, True, "ue8m0", 64), _row(64, a, b, True, "ue8m0", 32)]
    found += [_row(64, "e2m1", "e2m1", False, "ue8m0", 32), _row(64, "e2m1", "e2m1", False, "ue4m3", 16)]
    found += [
        _row(128, "e2m1", "e2m1", True, scale, vector)
        for scale, vector in (("ue8m0", 32), ("ue8m0", 64), ("ue4m3", 32))
    ]
    return tuple(found)
