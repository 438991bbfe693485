"""OpenCL C with assembly that gives bodies to the builtins that LLVM's lowering calls, for a graphics compiler without them.

The Intel compiler of Debian 12 (IGC 1.0.12504) doesn't know the names of 2D block messages. A body is written from the name
(`layoutalg.gemm.hosts.builtins` reads it, and writes those for a CPU) with the vISA instruction that it stands for, to see the
machine code. Written from cl_intel_subgroup_2d_block_io, cl_intel_subgroup_matrix_multiply_accumulate and the vISA manual.
"""

from __future__ import annotations

from collections.abc import Iterable

from layoutalg.gemm.hosts.builtins import (
    LANES,
    PREFETCH,
    PRELUDE,
    TRANSFORM,
    TRANSPOSE,
    UNSIGNED,
    WRITE,
    BlockBuiltin,
    Builtin,
    MatrixBuiltin,
)

REGISTER = 64
"""Bytes of a register of pvc and bmg."""
MOST_REGISTERS = 16
"""Registers that one inline instruction can write: an OpenCL vector has 16 components at most."""

MESSAGE = '"rw.u"(base), "rw.u"(width - 1), "rw.u"(height - 1), "rw.u"(pitch - 1), "rw.u"(place.x), "rw.u"(place.y)'


def padded(block: BlockBuiltin) -> int:
    """The units of a block that a lane has, those of half a register that stays empty included."""
    whole = REGISTER * 8 // block.unit // LANES
    return -(-block.each // whole) * whole


def registers(block: BlockBuiltin) -> int:
    """The registers of all blocks; each begins its own."""
    return block.blocks * padded(block) * LANES * block.unit // 8 // REGISTER


def block_assembly(block: BlockBuiltin) -> str:
    """The body as the machine's own message; of a load or a prefetch, the header is made in parts that can be hoisted."""
    scalar, count = UNSIGNED[block.unit], block.blocks * padded(block)
    if block.kind == WRITE:
        vector = _vector(scalar, block.each)
        shape = f"d{block.bits}.{block.columns}x{block.rows}nn"
        return (
            f"{block.head} {{ {vector} v = *(private {vector} *)registers;\n"
            f'  __asm__ volatile("lsc_store_block2d.ugm (M1,1) flat[%0,%1,%2,%3,%4,%5] %6:{shape}" '
            f':: {MESSAGE}, "rw"(v)); }}'
        )
    if count > MOST_REGISTERS and block.kind != PREFETCH:
        raise ValueError(f"{block.name} fills {registers(block)} registers, more than a variable of OpenCL C has")
    shape = block.columns - 1 | block.rows - 1 << 8 | block.blocks - 1 << 16
    header = f"uint header = MESSAGE_HEADER(0x{shape:x})"
    if block.kind == PREFETCH:
        send = f"raw_sends.15.1.0.0 (M1,1) 0x0:ud 0x{_descriptor(block):x}:ud %0.0 %%null.0 %%null.0"
        return f'{block.head} {{ {header};\n  __asm__ volatile("{send}" :: "rw"(header)); }}'
    send = f"raw_sends.15.1.0.{registers(block)} (M1,1) 0x0:ud 0x{_descriptor(block):x}:ud %1.0 %%null.0 %0.0"
    vector = _vector(scalar, count)
    if padded(block) == block.each:
        out = f"*(private {vector} *)registers = v;"
    else:
        out = f"private {scalar} *lane = (private {scalar} *)registers, *all = (private {scalar} *)&v; " + " ".join(
            f"lane[{b * block.each + i}] = all[{b * padded(block) + i}];"
            for b in range(block.blocks)
            for i in range(block.each)
        )
    return f'{block.head} {{ {vector} v; {header};\n  __asm__ volatile("{send}" : "=rw"(v) : "rw"(header));\n  {out} }}'


def _descriptor(block: BlockBuiltin) -> int:
    """The descriptor of a load: what, of which size, how many registers come back; of a prefetch, into which caches."""
    size = {8: 0, 16: 1, 32: 2}[block.bits] << 9
    order = {TRANSFORM: 1 << 7, TRANSPOSE: 1 << 15}.get(block.kind, 0)
    back = 4 << 17 if block.kind == PREFETCH else registers(block) << 20
    return 3 | size | order | back | 1 << 25


def matrix_assembly(matrix: MatrixBuiltin) -> str:
    """Nothing for what IGC 1.0.12504 knows; else its own name for the same product."""
    a, b, c = matrix.types
    if matrix.a == "tf32":
        own = f"__builtin_IB_sub_group16_fdpas_f_f_tf32_tf32_8_{matrix.rows}"
        return f"{c} {own}({c} acc, {a} a, {b} b);\n{matrix.head} {{ return {own}(acc, a, b); }}"
    if matrix.bits == 16:
        return ""
    own = matrix.name.replace("s8", "i8")
    signs = ["u" if name[0] == "u" else "" for name in (matrix.a, matrix.b)]
    theirs = [sign + kind.removeprefix("u") for sign, kind in zip(signs, (a, b), strict=True)]
    if own == matrix.name and theirs == [a, b]:
        return ""
    return (
        f"OV {c} {own}({theirs[0]} a, {theirs[1]} b, {c} acc);\n"
        f"{matrix.head} {{ return {own}(as_{theirs[0]}(a), as_{theirs[1]}(b), acc); }}"
    )


ASSEMBLY_PRELUDE = """#define OV __attribute__((overloadable))
#define IN_LANE(n, value) ((uint)(value) & (uint)-(int)(get_sub_group_local_id() == n))
#define MATRIX_HEADER(shape) (IN_LANE(0, (ulong)base) | IN_LANE(1, (ulong)base >> 32) | IN_LANE(2, width - 1) \\
  | IN_LANE(3, height - 1) | IN_LANE(4, pitch - 1) | IN_LANE(7, shape))
#define MESSAGE_HEADER(shape) (MATRIX_HEADER(shape) + IN_LANE(5, place.x) + IN_LANE(6, place.y))
"""
"""The header of a block message is a register: lane n holds its word n. Base, sizes and shape do not change in a loop, so IGC
makes that part once; the place is added for each message."""


def assembly_source(builtins: Iterable[Builtin]) -> str:
    """For IGC, which has the matrix instruction and lacks the block messages."""
    bodies = [block_assembly(one) if isinstance(one, BlockBuiltin) else matrix_assembly(one) for one in builtins]
    return PRELUDE + ASSEMBLY_PRELUDE + "\n".join(bodies) + "\n"


def _vector(scalar: str, count: int) -> str:
    return scalar if count == 1 else f"{scalar}{count}"
