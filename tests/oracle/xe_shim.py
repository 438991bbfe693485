"""OpenCL C that gives bodies to the builtins that LLVM's lowering calls, for compilers and runtimes without them.

LLVM 22 lowers a 2D block load of 8 rows of 16 f16 to a call of `intel_sub_group_2d_block_read_16b_8r16x1c`. The Intel
compiler of Debian 12 (IGC 1.0.12504) doesn't know that name, and a CPU doesn't have that message. A `BlockBuiltin`
writes the same function in two forms: `assembly`, with the vISA instruction that it stands for, to see the machine
code; and `plain`, with loops and sub-group shuffles, to run the kernel on a CPU.

Both forms are written from cl_intel_subgroup_2d_block_io and the vISA manual, and know nothing of layoutalg.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

READ, TRANSFORM, WRITE = "read", "read_transform", "write"

SIGNATURE = "global void *base, int width, int height, int pitch, int2 place"
MESSAGE = '"rw.u"(base), "rw.u"(width - 1), "rw.u"(height - 1), "rw.u"(pitch - 1), "rw.u"(place.x), "rw.u"(place.y)'


@dataclass(frozen=True)
class BlockBuiltin:
    """One 2D block message of 16 elements per row, or 32 bytes, for 16 lanes; a lane has two bytes of a row side by side."""

    kind: str
    bits: int
    rows: int

    @property
    def name(self) -> str:
        return f"intel_sub_group_2d_block_{self.kind}_{self.bits}b_{self.rows}r{self.columns}x1c"

    @property
    def columns(self) -> int:
        """The elements of a row."""
        return 32 if self.bits == 8 else 16

    @property
    def registers(self) -> tuple[str, int]:
        """The OpenCL type of a lane's registers, and their number."""
        if self.kind == TRANSFORM:
            return "uint", self.rows * self.bits // 32
        return {8: "ushort", 16: "ushort", 32: "uint"}[self.bits], self.rows

    def head(self) -> str:
        scalar = "uchar" if self.bits == 8 else self.registers[0]
        return f"OV void {self.name}({SIGNATURE}, private {scalar} *{'bytes' if self.bits == 8 else 'lane'})"

    def assembly(self) -> str:
        """The body as the machine's own message."""
        scalar, count = self.registers
        lane = "bytes" if self.bits == 8 else "lane"
        vector = scalar + (str(count) if count > 1 else "")
        shape = f"d{self.bits}.{self.columns}x{self.rows}n{'t' if self.kind == TRANSFORM else 'n'}"
        if self.kind == WRITE:
            place = "flat[%0,%1,%2,%3,%4,%5]"
            return (
                f"{self.head()} {{ {vector} v = *(private {vector} *){lane};\n"
                f'  __asm__ volatile("lsc_store_block2d.ugm (M1,1) {place} %6:{shape}" :: {MESSAGE}, "rw"(v)); }}'
            )
        place = "flat[%1,%2,%3,%4,%5,%6]"
        return (
            f"{self.head()} {{ {vector} v;\n"
            f'  __asm__ volatile("lsc_load_block2d.ugm (M1,1) %0:{shape} {place}" : "=rw"(v) : {MESSAGE});\n'
            f"  *(private {vector} *){lane} = v; }}"
        )

    def plain(self) -> str:
        """The body as loops: reads outside the matrix give 0, writes outside it are dropped."""
        scalar, count = self.registers
        element = {8: "ushort", 16: "ushort", 32: "uint"}[self.bits]
        size = 4 if element == "uint" else 2
        first = "place.x / 2 + l" if self.bits == 8 else "place.x + l"
        inside = f"{first} >= 0 && y >= 0 && y < height && ({first} + 1) * {size} <= width"
        cell = f"((global {element} *)((global char *)base + (long)y * pitch))[{first}]"
        if self.kind == TRANSFORM:
            per = 32 // self.bits
            take = f"int y = place.y + {per} * i + q; if ({inside}) v |= (uint){cell} << ({self.bits} * q);"
            each = f"uint v = 0; for (int q = 0; q < {per}; q++) {{ {take} }} lane[i] = v;"
        elif self.kind == READ:
            each = f"int y = place.y + i; lane[i] = ({inside}) ? {cell} : ({scalar})0;"
        else:
            each = f"int y = place.y + i; if ({inside}) {cell} = lane[i];"
        loop = f"for (int i = 0; i < {count}; i++) {{ {each} }}"
        pairs = "private ushort *lane = (private ushort *)bytes; " if self.bits == 8 else ""
        return f"{self.head()} {{ int l = get_sub_group_local_id(); {pairs}{loop} }}"


# What a product of 16-bit floats with f32 accumulators uses.
GEMM_BUILTINS = (BlockBuiltin(READ, 16, 8), BlockBuiltin(TRANSFORM, 16, 16), BlockBuiltin(WRITE, 32, 8))

PRELUDE = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#pragma OPENCL FP_CONTRACT OFF
#define OV __attribute__((overloadable))
"""


def assembly_source(builtins: Iterable[BlockBuiltin] = GEMM_BUILTINS) -> str:
    """For IGC, which has the matrix instruction and lacks the block messages."""
    return PRELUDE + "\n".join(builtin.assembly() for builtin in builtins) + "\n"


def plain_source(builtins: Iterable[BlockBuiltin] = GEMM_BUILTINS) -> str:
    """For a CPU, which lacks both."""
    matrix = [_matrix_mad("f16", "(float)as_half((ushort)(x))"), _matrix_mad("bf16", "as_float((uint)(x) << 16)")]
    return PRELUDE + "\n".join([*(builtin.plain() for builtin in builtins), *matrix]) + "\n"


def _matrix_mad(name: str, to_float: str) -> str:
    """8x16x16 on 16 lanes: row i of A is register i over the lanes, B has two rows in a register."""
    return f"""
#define WIDEN_{name}(x) ({to_float})
OV float8 intel_sub_group_{name}_{name}_matrix_mad_k16(short8 a, int8 b, float8 acc) {{
  float result[8]; private short *rows = (private short *)&a; private int *pairs = (private int *)&b;
  for (int i = 0; i < 8; i++) {{
    float sum = ((private float *)&acc)[i];
    for (int d = 0; d < 8; d++) {{
      float a0 = WIDEN_{name}((ushort)intel_sub_group_shuffle((int)rows[i], 2 * d));
      float a1 = WIDEN_{name}((ushort)intel_sub_group_shuffle((int)rows[i], 2 * d + 1));
      float p0 = a0 * WIDEN_{name}((uint)pairs[d] & 0xffffu), p1 = a1 * WIDEN_{name}((uint)pairs[d] >> 16);
      sum = sum + (p0 + p1);
    }}
    result[i] = sum;
  }}
  return vload8(0, result);
}}"""
