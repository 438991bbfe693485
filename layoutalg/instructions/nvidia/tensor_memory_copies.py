"""`tcgen05.ld`, `tcgen05.st` and `tcgen05.cp` (SM100): between tensor memory and registers, and from shared memory to it.

A warp reads 16 or 32 lanes of tensor memory. With g = lane // 4 and t = lane % 4, register r of a lane is, in lanes and columns
of tensor memory (columns of 32 bits):

    32x32b       lane lane, column r
    16x256b      lane g + 8 (r // 2 % 2), column 8 (r // 4) + 2 t + r % 2
    16x128b      lane g + 8 (r % 2), column 4 (r // 2) + t
    16x64b       lane g + 8 (t % 2), column 2 r + t // 2
    16x32bx2     lane lane % 16, column r; for lanes 16 to 31, of a second block of columns

16x256b.x1, lane 5 (g = 1, t = 1), by hand: lane 1 and 9, columns 2 and 3.

>>> print(_held("16dp256b", 1)); _held("16dp256b", 1).coords(lane=5).tolist()
d0 = 2@reg:2 8@lane:4, d1 = 4@lane 2@reg
[[1, 2], [1, 3], [9, 2], [9, 3]]

`.pack::16b` and `.unpack::16b` (`_16b`) put the low halves of two neighbouring columns into one register: twice the columns,
`reg` counts halves. Warp w of a warpgroup reaches the lanes from 32 w on; lanes count from there.

Sources: CUTLASS's traits; Triton, whose loads of tensor memory are these, for registers of 32 bits. PTX ISA 9.2, 9.7.16.2.3
has figures.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.nvidia.in_bits import in_bits
from layoutalg.instructions.nvidia.sources import TRAITS, TRITON
from layoutalg.instructions.registry import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["rows"]

_CHIPS = ("sm_100a", "sm_103a")
_LANE = 2**21
"""Bits of addresses between two lanes of tensor memory, as CUTLASS counts them."""
_SHAPES = {
    "16dp256b": ("16x256b", 32),
    "16dp128b": ("16x128b", 64),
    "16dp64b": ("16x64b", 128),
    "16dp32b": ("16x32bx2", 128),
    "32dp32b": ("32x32b", 128),
}
"""CUTLASS's names of the shapes: PTX's, and the largest count."""


def _held(shape: str, count: int) -> Layout:
    """What each lane holds of the tile in tensor memory, lanes x columns of 32 bits.

    >>> print(_held("16dp64b", 2))
    d0 = 2@lane 8@lane:4, d1 = 2@reg 2@lane:2
    """
    g, t = Factor(8, 4, "lane"), Factor(4, 1, "lane")
    if shape == "32dp32b":
        dims = [(Factor(32, 1, "lane"),), (Factor(count, 1, "reg"),)]
    elif shape == "16dp256b":
        dims = [(Factor(2, 2, "reg"), g), (Factor(count, 4, "reg"), t, Factor(2, 1, "reg"))]
    elif shape == "16dp128b":
        dims = [(Factor(2, 1, "reg"), g), (Factor(count, 2, "reg"), t)]
    elif shape == "16dp64b":
        dims = [(Factor(2, 1, "lane"), g), (Factor(count, 1, "reg"), Factor(2, 2, "lane"))]
    else:
        dims = [(Factor(16, 1, "lane"),), (Factor(2, 16, "lane"), Factor(count, 1, "reg"))]
    return Layout(dims).canonical()


def _halves(layout: Layout) -> Layout:
    """The same with two columns of 16 bits for each of 32."""
    wide = in_bits(layout, 2)
    return wide.permute((1, 0))


def _build(name: str, shape: str, count: int, load: bool, halves: bool, dotted: str, stat: bool = False) -> Instruction:
    words = _held(shape, count)
    layout, element, bits = (_halves(words), "b16", 16) if halves else (words, "b32", 32)
    lanes, columns = (int(str(size)) for size in layout.shape)
    traits = in_bits(layout, bits)
    row = columns * bits
    whole = f"(32,{lanes * row}):(0,1)"
    valid = f"((16,{columns}),{lanes}):((1,32),{_LANE})" if halves else f"({row},{lanes}):(1,{_LANE})"
    memory = Layout([(Factor(lanes, 1, "tmem_lane"),), (Factor(columns, 1, "tmem_column"),)])
    in_registers = InstructionOperand(
        "destination" if load else "source",
        element,
        layout,
        traits=traits,
        source=TRAITS,
        confirmed=() if halves else (TRITON,),
    )
    in_memory = InstructionOperand(
        "source" if load else "destination", element, memory, "tensor memory", whole, source=TRAITS
    )
    family = f"tcgen05.{'ld' if load else 'st'}"
    remarks: list[tuple[str, str]] = [("lanes", "warp w of a warpgroup reaches tensor memory's lanes from 32 w on")]
    if shape == "16dp32b":
        remarks.append(
            ("second", "the second block starts at a distance that the instruction says; drawn next to the first")
        )
    if stat:
        remarks.append(("reduced", "one more register has the maximum of a lane's columns"))
    return Instruction(
        name,
        family,
        "NVIDIA",
        "copy",
        _CHIPS,
        (),
        32,
        (in_memory, in_registers) if load else (in_registers, in_memory),
        aliases=(dotted,),
        more_traits=(("RefLayout", whole), ("ValID", valid)),
        remarks=tuple(remarks),
    )


def _loads_and_stores() -> Iterator[Row]:
    for load in (True, False):
        family, word = ("tcgen05.ld", "pack::16b") if load else ("tcgen05.st", "unpack::16b")
        for shape, (ptx, most) in _SHAPES.items():
            for count in (2**power for power in range(most.bit_length())):
                for halves in (False, True):
                    name = f"SM100_TMEM_{'LOAD' if load else 'STORE'}_{shape}{count}x{'_16b' if halves else ''}"
                    dotted = f"{family}.sync.aligned.{ptx}.x{count}.{word + '.' if halves else ''}b32"
                    build = partial(_build, name, shape, count, load, halves, dotted)
                    yield Row(name, family, "copy", "NVIDIA", _CHIPS, build, dotted)
    for count in (32, 128):
        name, dotted = f"SM100_TMEM_LOAD_STAT_32dp32b{count}x", f"tcgen05.ld.red.sync.aligned.32x32b.x{count}.max.f32"
        build = partial(_build, name, "32dp32b", count, True, False, dotted, True)
        yield Row(name, "tcgen05.ld", "copy", "NVIDIA", _CHIPS, build, dotted)


_COPIES = {
    "128dp256bit": ("128x256b", 256, "128", "128@tmem_lane", ""),
    "128dp128bit": ("128x128b", 128, "128", "128@tmem_lane", ""),
    "4dp256bit": ("4x256b", 256, "4", "4@tmem_lane:32", ""),
    "4x32dp128bit": ("32x128b.warpx4", 128, "32", "32@tmem_lane", "4@tmem_lane:32"),
    "2x64dp128bitlw0213": ("64x128b.warpx2::02_13", 128, "64", "64@tmem_lane", "2@tmem_lane:64"),
    "2x64dp128bitlw0123": ("64x128b.warpx2::01_23", 128, "64", "2@tmem_lane:64 32@tmem_lane", "2@tmem_lane:32"),
}
"""`tcgen05.cp`: PTX's shape, the bits of a row, its rows in shared memory, the lanes of each row, and of its copies."""


def _cp_traits(shape: str, sms: int) -> tuple[str, str, str]:
    """CUTLASS's source, destination and ValID: bits counted lane by lane, as its traits have it."""
    threads = f"({sms},"
    bits = _COPIES[shape][1]
    if shape.startswith("128dp"):
        whole = f"{threads}{128 * bits}):(0,1)"
        return whole, whole, f"(128,{bits}):({_LANE},1)"
    if shape.startswith("4dp"):
        part = f"{threads}(4,{bits})):(0,(32,128))"
        return part, part, f"(128,{bits}):({_LANE},1)"
    whole = f"{threads}16384):(0,1)"
    if shape.startswith("4x32"):
        return f"{threads}(32,128,4)):(0,(1,32,0))", whole, f"(32,128,4):({_LANE},1,{32 * _LANE})"
    if shape.endswith("0213"):
        return f"{threads}(64,128,2)):(0,(1,64,0))", whole, f"(64,128,2):({_LANE},1,{64 * _LANE})"
    source = f"{threads}(32,128,2,2)):(0,(1,32,4096,0))"
    return source, whole, f"(32,128,2,2):({_LANE},1,{64 * _LANE},{32 * _LANE})"


def _copy(name: str, shape: str, sms: int, dotted: str) -> Instruction:
    _, bits, lines, lanes, copies = _COPIES[shape]
    seen, placed, valid = _cp_traits(shape, sms)
    size = bits // 8
    both = ["2@sm"] if sms == 2 else []
    replicas = ", ".join([f"{one}" for one in (copies, *both) if one]).replace(", ", " ")
    there = f"d0 = {lanes}, d1 = {size}@tmem_column" + (f" | replicas {replicas}" if replicas else "")
    here = f"d0 = {lines}@element, d1 = {size}@element:{lines}" + (f" | replicas {both[0]}" if both else "")
    parts = (
        InstructionOperand(
            "source",
            "b8",
            Layout.parse(here),
            "shared memory",
            seen,
            TRAITS,
            notes=(("in memory", "by a descriptor, as the operands of tcgen05.mma"),),
        ),
        InstructionOperand("destination", "b8", Layout.parse(there), "tensor memory", placed, TRAITS),
    )
    return Instruction(
        name,
        "tcgen05.cp",
        "NVIDIA",
        "copy",
        _CHIPS,
        (),
        sms,
        parts,
        sms,
        aliases=(dotted,),
        thread_id="2:1" if sms == 2 else "1:0",
        more_traits=(("RefLayout", placed), ("ValID", valid)),
    )


def rows() -> tuple[Row, ...]:
    """Every load, store and copy.

    >>> [row.dotted for row in rows() if row.name == "SM100_TMEM_LOAD_16dp256b4x"]
    ['tcgen05.ld.sync.aligned.16x256b.x4.b32']
    """
    found = list(_loads_and_stores())
    for shape, (ptx, *_) in _COPIES.items():
        for sms in (1, 2):
            name, dotted = f"SM100_UTCCP_{shape}_{sms}cta", f"tcgen05.cp.cta_group::{sms}.{ptx}"
            build = partial(_copy, name, shape, sms, dotted)
            found.append(Row(name, "tcgen05.cp", "copy", "NVIDIA", _CHIPS, build, dotted))
    return tuple(found)
