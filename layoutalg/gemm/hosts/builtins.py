"""OpenCL C that gives bodies to the builtins that LLVM's lowering calls, so that a CPU runs the kernels.

LLVM lowers a 2D block load of 8 rows of 16 f16 to a call of `intel_sub_group_2d_block_read_16b_8r16x1c`, and dpas to one of
`intel_sub_group_f16_f16_matrix_mad_k16`. Intel's GPUs have an instruction for each; a CPU has neither. The name and its mangled
parameters say everything, so a body is written from them by one rule, with loops and sub-group shuffles:

>>> (load,) = builtins_of(["_Z41intel_sub_group_2d_block_read_16b_8r16x1cPU3AS1viiiDv2_iPt"])
>>> load.rows, load.columns, load.blocks, load.bits, load.each
(8, 16, 1, 16, 8)
>>> load.plain().split("{")[1]
' read_16_in_16(base, width, height, pitch, place, registers, 8, 16, 1, 8, 1, ALONG); }'

A block message moves `blocks` blocks of `rows` x `columns` elements that stand side by side. A register holds 16 units, one for
each lane; a block fills registers in the order of its rows.

    read         units of an element (8 bits: of two side by side)     unit n of a block is at row n / units of a row
    transform    units of 32 bits, elements of the same column         unit n has rows 2 (n / columns) and the next (16 bits)
    transpose    units of an element, in the order of columns          unit n is at row n % rows, column n / rows

A product adds its links one after the other in f32, as a chain; integers wrap. All is written from Intel's extensions
cl_intel_subgroup_2d_block_io and cl_intel_subgroup_matrix_multiply_accumulate, and knows nothing of plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.gemm.hosts.spirv import imports_of

__all__ = ["builtins_source"]

READ, TRANSFORM, TRANSPOSE = "read", "read_transform", "read_transpose"
WRITE, PREFETCH = "write", "prefetch"
LANES = 16

SIGNATURE = "global void *base, int width, int height, int pitch, int2 place"
UNSIGNED = {8: "uchar", 16: "ushort", 32: "uint"}
_KINDS = f"{READ}|{TRANSFORM}|{TRANSPOSE}|{WRITE}|{PREFETCH}"
_BLOCK_NAME = re.compile(rf"intel_sub_group_2d_block_({_KINDS})_(8|16|32)b_([1-9]\d?)r([1-9]\d?)x([1-9])c")
_TYPES = "f16|bf16|tf32|u8|s8|i8"
_MATRIX_NAME = re.compile(rf"intel_sub_group_({_TYPES})_({_TYPES})_matrix_mad_k\d+")
_LONGEST_TYPES = 100
"""Characters of mangled parameters that are read; those of a builtin have at most 30."""


def builtins_source(binary: bytes) -> str:
    """OpenCL C 1.2 with a body for each of Intel's builtins that a kernel calls; `binary` is its SPIR-V.

    Raises `PlanError` where `binary` isn't SPIR-V.

    >>> builtins_source(b"PK")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: SPIR-V: expected five words of 32 bits or more, the first 0x07230203, not 2 bytes b'PK'
    """
    return plain_source(builtins_of(imports_of(binary)))


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
        if self.kind == TRANSFORM:
            return 32
        return max(self.bits, self.columns * self.bits // LANES if self.bits == 8 else 0)

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
    def head(self) -> str:
        lane = "" if self.kind == PREFETCH else f", private {self.pointer} *registers"
        return f"OV void {self.name}({SIGNATURE}{lane})"

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
        unit, element = UNSIGNED[self.unit], UNSIGNED[self.bits]
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
        return int(re.sub("[a-z]", "", self.types[2]) or 1)

    @property
    def bits(self) -> int:
        return 32 if self.a == "tf32" else int(re.sub("[a-z]", "", self.a))

    @property
    def head(self) -> str:
        a, b, c = self.types
        return f"OV {c} {self.name}({a} a, {b} b, {c} acc)"

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
        cell = _scalar(c)
        wide, narrow = _CELLS[cell]
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
_CELLS = {
    "float": ("", ""),
    "int": ("(uint)", "(int)"),
    "half": ("(float)", "convert_half_rte"),
    "short": ("WIDE_bf16", "(short)rounded_to_bf16"),
}
"""How an element of C becomes the sum's type, and the sum one of C; bf16 is passed as short."""

PRELUDE = """#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#pragma OPENCL FP_CONTRACT OFF
"""
_PLAIN_PRELUDE = """#define OV __attribute__((overloadable))
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
    """The builtins among mangled names, each once; names of other functions are left out.

    >>> [one.name for one in builtins_of(["_Z12get_group_idj", "_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_sDv8_iDv8_f"])]
    ['intel_sub_group_f16_f16_matrix_mad_k16']
    """
    found: dict[str, Builtin] = {}
    for mangled in names:
        name, rest = _split(mangled)
        block, matrix = _BLOCK_NAME.fullmatch(name), _MATRIX_NAME.fullmatch(name)
        if block is not None:
            kind, *numbers = block.groups()
            pointer = _types(rest, mangled)[-1].split()[-1] if kind != PREFETCH else ""
            message = BlockBuiltin(kind, *map(int, numbers), pointer=pointer)
            if message.unit in UNSIGNED:
                found[mangled] = message
        elif matrix is not None:
            types = _types(rest, mangled)
            if len(types) == 3 and _scalar(types[2]) in _CELLS:
                found[mangled] = MatrixBuiltin(name, matrix[1], matrix[2], types)
    return list(found.values())


def plain_source(builtins: Iterable[Builtin]) -> str:
    """The bodies, what they share first."""
    given = list(builtins)
    messages = [one for one in given if isinstance(one, BlockBuiltin) and one.kind != PREFETCH]
    loops = {message.loops_name: message.loops() for message in messages}
    return PRELUDE + _PLAIN_PRELUDE + "\n".join([*loops.values(), *(builtin.plain() for builtin in given)]) + "\n"


_SCALARS = {"v": "void", "c": "char", "h": "uchar", "s": "short", "t": "ushort", "i": "int", "j": "uint", "l": "long",
            "m": "ulong", "f": "float", "d": "double", "Dh": "half"}  # fmt: skip


def _split(mangled: str) -> tuple[str, str]:
    """The name of a function, and its mangled parameters; a name that isn't mangled has none."""
    head = re.match(r"_Z(\d{1,4})", mangled)
    if head is None:
        return mangled, ""
    end = head.end() + int(head[1])
    return mangled[head.end() : end], mangled[end:]


def _types(rest: str, mangled: str) -> tuple[str, ...]:
    """The parameters' types, from the part of the Itanium mangling that OpenCL C uses: `private ushort` is a pointer."""
    seen: list[str] = []

    def refuse() -> NoReturn:
        raise PlanError(f"{shown(mangled)}: cannot read its parameters from {shown(rest)} on")

    def one() -> str:
        nonlocal rest
        found = re.match(r"S(\d?)_|Dv(\d{1,2})_|PU3AS(\d)|P|Dh|[a-z]", rest)
        if found is None or len(rest) > _LONGEST_TYPES:
            refuse()
        rest, text = rest[found.end() :], found[0]
        if text[0] == "S":
            place = int(found[1]) + 1 if found[1] else 0
            return seen[place] if place < len(seen) else refuse()
        if found[2]:
            made = f"{one()}{found[2]}"
        elif text[0] == "P":
            space = {"1": "global", "3": "local"}.get(found[3], "private")
            made = f"{space} {one()}"
            if found[3]:
                seen.append(made)  # the qualified type counts, and so does the pointer to it
        else:
            return _SCALARS.get(text) or refuse()
        seen.append(made)
        return made

    types: list[str] = []
    while rest:
        types.append(one())
    return tuple(types or ["void"])


def _scalar(kind: str) -> str:
    return re.sub(r"\d+$", "", kind)
