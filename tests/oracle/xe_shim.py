"""OpenCL C that gives bodies to the builtins that LLVM's lowering calls, for compilers and runtimes without them.

LLVM lowers a 2D block load of 8 rows of 16 f16 to a call of `intel_sub_group_2d_block_read_16b_8r16x1c`. The Intel
compiler of Debian 12 (IGC 1.0.12504) doesn't know that name, and a CPU doesn't have that message. The name and its mangled
parameters say everything, so a body is written from them, by one rule, in two forms: `assembly`, with the vISA instruction
that it stands for, to see the machine code; and `plain`, with loops and sub-group shuffles, to run the kernel on a CPU.

    builtins_of(["_Z41intel_sub_group_2d_block_read_16b_8r16x1cPU3AS1viiiDv2_iPt"])

is one `BlockBuiltin`. A block message moves `blocks` blocks of `rows` x `columns` elements that stand side by side. A register
of 64 bytes holds 16 units, one for each lane; a block begins a register and fills it and the next ones in the order of rows.

    read         units of an element (8 bits: of two side by side)     unit n of a block is at row n / units of a row
    transform    units of 32 bits, elements of the same column         unit n has rows 2 (n / columns) and the next (16 bits)
    transpose    units of an element, in the order of columns          unit n is at row n % rows, column n / rows

Both forms are written from cl_intel_subgroup_2d_block_io, cl_intel_subgroup_matrix_multiply_accumulate and the vISA manual, and
know nothing of layoutalg.

    python -m tests.oracle.xe_shim gemm.spv > builtins.cl      the plain bodies of what a SPIR-V file calls
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

READ, TRANSFORM, TRANSPOSE = "read", "read_transform", "read_transpose"
WRITE, PREFETCH = "write", "prefetch"

LANES = 16
REGISTER = 64
"""Bytes of a register of pvc and bmg."""
MOST_REGISTERS = 16
"""Registers that one inline instruction can write: an OpenCL vector has 16 components at most."""

SIGNATURE = "global void *base, int width, int height, int pitch, int2 place"
MESSAGE = '"rw.u"(base), "rw.u"(width - 1), "rw.u"(height - 1), "rw.u"(pitch - 1), "rw.u"(place.x), "rw.u"(place.y)'
_UNSIGNED = {8: "uchar", 16: "ushort", 32: "uint"}
_BLOCK_NAME = re.compile(r"intel_sub_group_2d_block_([a-z_]+)_(\d+)b_(\d+)r(\d+)x(\d+)c")
_MATRIX_NAME = re.compile(r"intel_sub_group_([a-z]+\d+)_([a-z]+\d+)_matrix_mad_k\d+")


@dataclass(frozen=True)
class BlockBuiltin:
    """One 2D block message for 16 lanes; `pointer` is the type that the lane's registers are passed as."""

    kind: str
    bits: int
    rows: int
    columns: int = 16
    blocks: int = 1
    pointer: str = "ushort"

    @property
    def name(self) -> str:
        return f"intel_sub_group_2d_block_{self.kind}_{self.bits}b_{self.rows}r{self.columns}x{self.blocks}c"

    @property
    def unit(self) -> int:
        """The bits of a unit, which a lane has for itself."""
        return (
            32 if self.kind == TRANSFORM else max(self.bits, self.columns * self.bits // LANES if self.bits == 8 else 0)
        )

    @property
    def packed(self) -> int:
        """The elements of a unit."""
        return self.unit // self.bits

    @property
    def units(self) -> int:
        """The units of a block."""
        return self.rows * self.columns // self.packed

    @property
    def each(self) -> int:
        """The units of a block that a lane has."""
        return -(-self.units // LANES)

    @property
    def registers(self) -> int:
        """The registers of all blocks; each begins its own."""
        return self.blocks * self._padded * LANES * self.unit // 8 // REGISTER

    @property
    def _padded(self) -> int:
        """The units of a block that a lane has, those of half a register that stays empty included."""
        whole = REGISTER * 8 // self.unit // LANES
        return -(-self.each // whole) * whole

    @property
    def head(self) -> str:
        lane = "" if self.kind == PREFETCH else f", private {self.pointer} *registers"
        return f"OV void {self.name}({SIGNATURE}{lane})"

    def assembly(self) -> str:
        """The body as the machine's own message; of a load or a prefetch, the header is made in parts that can be hoisted."""
        scalar, count = _UNSIGNED[self.unit], self.blocks * self._padded
        if self.kind == WRITE:
            vector = _vector(scalar, self.each)
            shape = f"d{self.bits}.{self.columns}x{self.rows}nn"
            return (
                f"{self.head} {{ {vector} v = *(private {vector} *)registers;\n"
                f'  __asm__ volatile("lsc_store_block2d.ugm (M1,1) flat[%0,%1,%2,%3,%4,%5] %6:{shape}" '
                f':: {MESSAGE}, "rw"(v)); }}'
            )
        if count > MOST_REGISTERS and self.kind != PREFETCH:
            raise ValueError(f"{self.name} fills {self.registers} registers, more than a variable of OpenCL C has")
        shape = self.columns - 1 | self.rows - 1 << 8 | self.blocks - 1 << 16
        header = f"uint header = MESSAGE_HEADER(0x{shape:x})"
        if self.kind == PREFETCH:
            send = f"raw_sends.15.1.0.0 (M1,1) 0x0:ud 0x{self._descriptor:x}:ud %0.0 %%null.0 %%null.0"
            return f'{self.head} {{ {header};\n  __asm__ volatile("{send}" :: "rw"(header)); }}'
        send = f"raw_sends.15.1.0.{self.registers} (M1,1) 0x0:ud 0x{self._descriptor:x}:ud %1.0 %%null.0 %0.0"
        vector = _vector(scalar, count)
        if self._padded == self.each:
            out = f"*(private {vector} *)registers = v;"
        else:
            out = f"private {scalar} *lane = (private {scalar} *)registers, *all = (private {scalar} *)&v; " + " ".join(
                f"lane[{b * self.each + i}] = all[{b * self._padded + i}];"
                for b in range(self.blocks)
                for i in range(self.each)
            )
        return (
            f'{self.head} {{ {vector} v; {header};\n  __asm__ volatile("{send}" : "=rw"(v) : "rw"(header));\n  {out} }}'
        )

    @property
    def _descriptor(self) -> int:
        """The descriptor of a load: what, of which size, how many registers come back; of a prefetch, into which caches."""
        size = {8: 0, 16: 1, 32: 2}[self.bits] << 9
        order = {TRANSFORM: 1 << 7, TRANSPOSE: 1 << 15}.get(self.kind, 0)
        back = 4 << 17 if self.kind == PREFETCH else self.registers << 20
        return 3 | size | order | back | 1 << 25

    def plain(self) -> str:
        """The body as a call of the loops that all messages of these types share."""
        if self.kind == PREFETCH:
            return f"{self.head} {{ }}"
        where = "base, width, height, pitch, place, registers"
        shape = f"{self.rows}, {self.columns}, {self.blocks}, {self.each}, {self.packed}"
        order = {TRANSFORM: "DOWN", TRANSPOSE: "ACROSS"}.get(self.kind, "ALONG")
        return f"{self.head} {{ {self.loops_name}({where}, {shape}, {order}); }}"

    @property
    def loops_name(self) -> str:
        return f"{'write' if self.kind == WRITE else 'read'}_{self.bits}_in_{self.unit}"

    def loops(self) -> str:
        """The loops over blocks and registers: reads outside the matrix give 0, writes outside it are dropped.

        One function for all messages of these types, which the CPU's compiler sees once.
        """
        unit, element = _UNSIGNED[self.unit], _UNSIGNED[self.bits]
        cell, value = f"((global {element} *)((global char *)base + (long)y * pitch))[x]", "lane[b * each + i]"
        if self.kind == WRITE:
            move, before, after = f"{cell} = ({element})({value} >> {self.bits} * q);", "", ""
        else:
            move = f"v |= ({unit}){cell} << {self.bits} * q;"
            before, after = f"{unit} v = 0; ", f" {value} = v;"
        return f"""
__attribute__((noinline)) void {self.loops_name}({SIGNATURE}, private void *registers, int rows, int columns, int blocks,
    int each, int packed, int order) {{
  private {unit} *lane = (private {unit} *)registers;
  int line = order == ALONG ? columns / packed : order == DOWN ? columns : rows;
  for (int b = 0; b < blocks; b++) for (int i = 0; i < each; i++) {{
    int n = {LANES} * i + get_sub_group_local_id(), high = n / line, low = n % line;
    {before}for (int q = 0; n < rows * columns / packed && q < packed; q++) {{
      int x = place.x + columns * b + (order == ALONG ? low * packed + q : order == DOWN ? low : high);
      int y = place.y + (order == ALONG ? high : order == DOWN ? high * packed + q : low);
      if (x >= 0 && y >= 0 && (x + 1) * {self.bits // 8} <= width && y < height) {move}
    }}{after}
  }}
}}"""


@dataclass(frozen=True)
class MatrixBuiltin:
    """One product of dpas for 16 lanes: C of up to 8x16 plus A times B, the types as OpenCL C has them."""

    name: str
    a: str
    b: str
    types: tuple[str, str, str]

    @property
    def rows(self) -> int:
        return _length(self.types[2])

    @property
    def bits(self) -> int:
        return 32 if self.a == "tf32" else int(re.sub("[a-z]", "", self.a))

    @property
    def head(self) -> str:
        a, b, c = self.types
        return f"OV {c} {self.name}({a} a, {b} b, {c} acc)"

    def assembly(self) -> str:
        """Nothing for what IGC 1.0.12504 knows; else its own name for the same product."""
        a, b, c = self.types
        if self.a == "tf32":
            own = f"__builtin_IB_sub_group16_fdpas_f_f_tf32_tf32_8_{self.rows}"
            return f"{c} {own}({c} acc, {a} a, {b} b);\n{self.head} {{ return {own}(acc, a, b); }}"
        if self.bits == 16:
            return ""
        own = self.name.replace("s8", "i8")
        signs = ["u" if name[0] == "u" else "" for name in (self.a, self.b)]
        theirs = [sign + kind.removeprefix("u") for sign, kind in zip(signs, (a, b), strict=True)]
        if own == self.name and theirs == [a, b]:
            return ""
        return (
            f"OV {c} {own}({theirs[0]} a, {theirs[1]} b, {c} acc);\n"
            f"{self.head} {{ return {own}(as_{theirs[0]}(a), as_{theirs[1]}(b), acc); }}"
        )

    def plain(self) -> str:
        """A chain of links, the products of 32 bits each: element k of a row of A is in lane k, or with others in one."""
        a, _, c = self.types
        packed, sum_type = 32 // self.bits, "uint" if self.bits == 8 else "float"
        products: list[str] = []
        for part in range(packed):
            if self.bits == 32:
                row, lane, shift = "i / 2", "d + 8 * (i % 2)", 0
            else:
                row, shift = "i", part * self.bits % 16
                lane = f"{packed // (16 // self.bits)} * d + {part * self.bits // 16}"
            left = f"(uint)intel_sub_group_shuffle((int)rows[{row}], {lane}) >> {shift}"
            products.append(f"{_WIDE[self.a]}({left}) * {_WIDE[self.b]}(words[d] >> {part * self.bits})")
        cell = {"float": "float", "int": "int", "half": "half", "short": "short"}[_scalar(c)]
        wide, narrow = {
            "float": ("", ""),
            "int": ("(uint)", "(int)"),
            "half": ("(float)", "convert_half_rte"),
            "short": ("WIDE_bf16", "(short)rounded_to_bf16"),
        }[cell]
        held = {"tf32": "uint"}.get(self.a, _scalar(a))
        return f"""__attribute__((noinline)) {self.head} {{
  private {held} *rows = (private {held} *)&a; private uint *words = (private uint *)&b;
  {c} result; private {cell} *from = (private {cell} *)&acc, *to = (private {cell} *)&result;
  for (int i = 0; i < {self.rows}; i++) {{
    {sum_type} sum = {wide}(from[i]);
    for (int d = 0; d < 8; d++) sum = sum + ({" + ".join(products)});
    to[i] = {narrow}(sum);
  }}
  return result;
}}"""


Builtin = BlockBuiltin | MatrixBuiltin

_WIDE = {"f16": "WIDE_f16", "bf16": "WIDE_bf16", "tf32": "WIDE_tf32", "u8": "WIDE_u8", "s8": "WIDE_s8", "i8": "WIDE_s8"}

PRELUDE = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#pragma OPENCL FP_CONTRACT OFF
"""
ASSEMBLY_PRELUDE = """#define OV __attribute__((overloadable))
#define IN_LANE(n, value) ((uint)(value) & (uint)-(int)(get_sub_group_local_id() == n))
#define MATRIX_HEADER(shape) (IN_LANE(0, (ulong)base) | IN_LANE(1, (ulong)base >> 32) | IN_LANE(2, width - 1) \\
  | IN_LANE(3, height - 1) | IN_LANE(4, pitch - 1) | IN_LANE(7, shape))
#define MESSAGE_HEADER(shape) (MATRIX_HEADER(shape) + IN_LANE(5, place.x) + IN_LANE(6, place.y))
"""
"""The header of a block message is a register: lane n holds its word n. Base, sizes and shape do not change in a loop, so IGC
makes that part once; the place is added for each message."""
PLAIN_PRELUDE = """#define OV __attribute__((overloadable))
enum { ALONG, DOWN, ACROSS };
#define WIDE_f16(x) ((float)as_half((ushort)(x)))
#define WIDE_bf16(x) (as_float((uint)(ushort)(x) << 16))
#define WIDE_tf32(x) (as_float((uint)(x) & 0xffffe000u))
#define WIDE_u8(x) ((uint)(uchar)(x))
#define WIDE_s8(x) ((uint)(int)(char)(x))
ushort rounded_to_bf16(float x) {
  uint u = as_uint(x);
  return isnan(x) ? (u >> 16 | 0x40u) : (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
}
"""
"""What has a loop stays a function: with it inside, 128 dpas cost the CPU's compiler four minutes, not five seconds."""


def builtins_of(names: Iterable[str]) -> list[Builtin]:
    """The builtins among mangled names, each once; names of other functions are left out."""
    found: dict[str, Builtin] = {}
    for mangled in names:
        name, types = signature(mangled)
        block, matrix = _BLOCK_NAME.fullmatch(name), _MATRIX_NAME.fullmatch(name)
        if block is not None:
            kind, *numbers = block.groups()
            pointer = types[-1].split()[-1] if kind != PREFETCH else ""
            found[mangled] = BlockBuiltin(kind, *map(int, numbers), pointer=pointer)
        elif matrix is not None:
            found[mangled] = MatrixBuiltin(name, matrix[1], matrix[2], (types[0], types[1], types[2]))
    return list(found.values())


def assembly_source(builtins: Iterable[Builtin]) -> str:
    """For IGC, which has the matrix instruction and lacks the block messages."""
    return PRELUDE + ASSEMBLY_PRELUDE + "\n".join(builtin.assembly() for builtin in builtins) + "\n"


def plain_source(builtins: Iterable[Builtin]) -> str:
    """For a CPU, which lacks both."""
    given = list(builtins)
    messages = [one for one in given if isinstance(one, BlockBuiltin) and one.kind != PREFETCH]
    loops = {message.loops_name: message.loops() for message in messages}
    return PRELUDE + PLAIN_PRELUDE + "\n".join([*loops.values(), *(builtin.plain() for builtin in given)]) + "\n"


_SCALARS = {"v": "void", "c": "char", "h": "uchar", "s": "short", "t": "ushort", "i": "int", "j": "uint", "l": "long",
            "m": "ulong", "f": "float", "d": "double", "Dh": "half"}  # fmt: skip


def signature(mangled: str) -> tuple[str, tuple[str, ...]]:
    """The name and the parameters' types of a function, from the part of the Itanium mangling that OpenCL C uses.

    A name that isn't mangled has no parameters; a pointer is the last word of `private ushort`.
    """
    head = re.match(r"_Z(\d+)", mangled)
    if head is None:
        return mangled, ()
    end = head.end() + int(head[1])
    name, rest, seen = mangled[head.end() : end], mangled[end:], list[str]()

    def one() -> str:
        nonlocal rest
        found = re.match(r"S(\d*)_|Dv(\d+)_|PU3AS(\d)|P|Dh|[a-z]", rest)
        if found is None:
            raise ValueError(f"{mangled}: cannot read the type at {rest!r}")
        rest, text = rest[found.end() :], found[0]
        if text[0] == "S":
            return seen[int(found[1]) + 1 if found[1] else 0]
        if found[2]:
            made = f"{one()}{found[2]}"
        elif text[0] == "P":
            space = {"1": "global", "3": "local"}.get(found[3], "private")
            made = f"{space} {one()}"
            if found[3]:
                seen.append(made)  # the qualified type counts, and so does the pointer to it
        else:
            return _SCALARS[text]
        seen.append(made)
        return made

    types: list[str] = []
    while rest:
        types.append(one())
    return name, tuple(types)


def _vector(scalar: str, count: int) -> str:
    return scalar if count == 1 else f"{scalar}{count}"


def _length(kind: str) -> int:
    return int(re.sub("[a-z]", "", kind) or 1)


def _scalar(kind: str) -> str:
    return re.sub(r"\d+$", "", kind)


if __name__ == "__main__":
    from pathlib import Path
    from sys import argv

    from tests.oracle.spirv import imports_of

    print(plain_source(builtins_of(imports_of(Path(argv[1]).read_bytes()))), end="")
