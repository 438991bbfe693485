"""Intel's 2D block messages by name: OpenCL's builtins, and SPIR-V's and MLIR's operations with their sizes.

A builtin's name has all of it: bits, rows, columns, blocks side by side.

>>> from layoutalg.instructions import instruction
>>> load = instruction("intel_sub_group_2d_block_read_16b_8r16x2c")
>>> print(load["destination"].layout)
d0 = 8@reg, d1 = 2@reg:8 16@lane
>>> print(instruction("intel_sub_group_2d_block_read_transpose_32b_16r8x1c")["destination"].layout)
d0 = 16@lane, d1 = 8@reg

Operations that have their sizes as attributes or operands are written with them, MLIR's by its names, others in their order
(bits, or bytes in SPIR-V's, then columns, rows, blocks):

>>> instruction("xevm.blockload2d<elem_size_in_bits = 16, tile_width = 16, tile_height = 8, v_blocks = 2>").name
'intel_sub_group_2d_block_read_16b_8r16x2c'
>>> instruction("__spirv_Subgroup2DBlockLoadINTEL<2, 16, 8, 2>").name
'intel_sub_group_2d_block_read_16b_8r16x2c'

`hardware.block_messages` has the layouts, from the block in memory to lanes and registers, which count elements.
"""

from __future__ import annotations

import re
from functools import partial

from layoutalg.core.errors import LayoutError
from layoutalg.hardware.block_messages import BlockLoad, BlockStore, block_load, block_store
from layoutalg.hardware.chips import target_info, target_names
from layoutalg.instructions.instruction import Instruction, InstructionOperand
from layoutalg.instructions.registry import Row

__all__ = ["find", "rows"]

_SOURCE = "cl_intel_subgroup_2d_block_io 1.1.0"
_CONFIRMED = ("SPV_INTEL_2d_block_io rev 1",)
_PREFIX = "intel_sub_group_2d_block_"

_SIZES = re.compile(
    rf"(?:{_PREFIX})?(read|write)_(transform_|transpose_)?(\d{{1,2}})b_(\d{{1,2}})r(\d{{1,2}})x(\d)c(?:_.*)?"
)
_OPERATION = re.compile(
    r"(?:__spirv_|spirv\.|op)?subgroup2dblock(load|store)(transform|transpose)?intel|xevm\.block(load|store)2d"
    r"|(?:lsc_)?(load|store)_block2d[.\w]*"
)
_NAMES = ("elem_size_in_bits", "tile_width", "tile_height", "v_blocks", "transpose", "pack_register")


def rows() -> tuple[Row, ...]:
    """One row for each message of Xe-HPC and Xe2.

    >>> len(rows()), rows()[0].name
    (75, 'intel_sub_group_2d_block_read_8b_1r32x1c')
    """
    table = target_info("pvc").blocks
    found: list[Row] = []
    for kind in ("plain", "packed", "transposed", "store"):
        for bits, tall, width, count in () if table is None else table.all_sizes(kind):
            block = _block(kind, bits, tall, width, count)
            if _full(block):
                name = _name(block)
                aliases = (name.removeprefix(_PREFIX),)
                found.append(Row(name, "2D block", "copy", "Intel", _chips(), partial(_built, block), "", aliases))
    return tuple(found)


def _block(kind: str, bits: int, tall: int, width: int, count: int) -> BlockLoad | BlockStore:
    if kind == "store":
        return block_store(tall, width, bits)
    packed, turned = kind == "packed", kind == "transposed"
    return block_load(tall, width, bits, count, transform=packed, transpose=turned)


def _full(block: BlockLoad | BlockStore) -> bool:
    """Whether every lane gets a part: the layouts of smaller messages are not described."""
    try:
        return int(block.layout.axes.get("lane", 1)) == block.subgroup_size
    except LayoutError:
        return False


def _chips() -> tuple[str, ...]:
    return tuple(name for name in target_names() if target_info(name).blocks is not None)


def _name(block: BlockLoad | BlockStore) -> str:
    if isinstance(block, BlockLoad):
        return _PREFIX + block.name
    return f"{_PREFIX}write_{block.bits}b_{block.rows}r{block.width}x1c"


def find(name: str) -> Instruction | None:
    """The message of a name; None for a name that is not of one.

    Raises `LayoutError` for an operation without its sizes; `VerificationError` for a message that no chip has.

    >>> find("xevm.blockload2d")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: xevm.blockload2d has no sizes in its name: expected
    xevm.blockload2d<elem_size_in_bits = 16, tile_width = 16, tile_height = 8, v_blocks = 1>, or a builtin such as
    intel_sub_group_2d_block_read_16b_8r16x1c
    """
    lower = name.lower()
    said = _SIZES.fullmatch(lower)
    if said is not None:
        bits, tall, width, count = (int(part) for part in said.groups()[2:])
        return _of(said[1] == "write", said[2] or "", bits, tall, width, count)
    head, _, rest = lower.partition("<")
    operation = _OPERATION.fullmatch(head)
    if operation is None:
        return None
    store = "store" in (operation[1], operation[3], operation[4])
    sizes = _sizes(rest.rstrip(">"), in_bytes="subgroup2d" in head)
    if sizes is None or not all(len(one) < 4 for one in rest.split(",") if one.strip().isdecimal()):
        raise LayoutError(
            f"{name.partition('<')[0]} has no sizes in its name: expected xevm.block{'store' if store else 'load'}2d"
            "<elem_size_in_bits = 16, tile_width = 16, tile_height = 8, v_blocks = 1>, or a builtin such as "
            f"{_PREFIX}{'write' if store else 'read'}_16b_8r16x1c"
        )
    kind = operation[2] or ("transpose" if sizes[4] else "transform" if sizes[5] else "")
    return _of(store, f"{kind}_" if kind else "", sizes[0], sizes[2], sizes[1], sizes[3])


def _sizes(text: str, *, in_bytes: bool) -> tuple[int, int, int, int, int, int] | None:
    """Bits, width, height, blocks, transpose, packed of `name = value` pairs, or of numbers in this order."""
    found: dict[str, int] = {}
    for place, part in enumerate(text.split(",") if text else ()):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        value = {"true": "1", "false": "0"}.get(value or key, value or key)
        key = key if sign else (_NAMES[place] if place < len(_NAMES) else "")
        if not value.isdecimal() or len(value) > 4:
            return None
        found[key] = int(value)
    if not {"elem_size_in_bits", "tile_width", "tile_height"} <= set(found):
        return None
    bits = found["elem_size_in_bits"] * (8 if in_bytes else 1)
    blocks = found.get("v_blocks", 1)
    return (
        bits,
        found["tile_width"],
        found["tile_height"],
        blocks,
        found.get("transpose", 0),
        found.get("pack_register", 0),
    )


def _of(store: bool, kind: str, bits: int, tall: int, width: int, count: int) -> Instruction:
    if store:
        if count != 1 or kind:
            raise LayoutError(
                "a 2D block store writes one block, as it lies: expected x1c, without transform and transpose"
            )
        return _built(block_store(tall, width, bits))
    return _built(block_load(tall, width, bits, count, transform=kind == "transform_", transpose=kind == "transpose_"))


def _built(block: BlockLoad | BlockStore) -> Instruction:
    held = "source" if isinstance(block, BlockStore) else "destination"
    part = InstructionOperand(held, f"i{block.bits}", block.layout, source=_SOURCE, confirmed=_CONFIRMED)
    name = _name(block)
    return Instruction(
        name,
        "2D block",
        "Intel",
        "copy",
        _chips(),
        (),
        block.subgroup_size,
        (part,),
        lanes=block.subgroup_size,
        aliases=(name.removeprefix(_PREFIX),),
    )
