"""Kernels at workgroup level, with layouts, and what each computes by numpy's definition.

Each is the text of a `gpu.func` over tensors of the workgroup. mlir-opt distributes them to subgroups and lanes; the numbers
must stay. Operands are small integers where sums should be exact, so that no order of accumulation changes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray

Array = NDArray[Any]

DTYPES: dict[str, Any] = {"f16": np.float16, "bf16": bfloat16, "f32": np.float32, "i32": np.int32, "i8": np.int8}


@dataclass(frozen=True)
class Kernel:
    """A kernel's body, its arguments (element type and shape; the last one is what it writes), and its definition.

    `tolerance` is relative: 0 where every level computes the same bits.
    """

    name: str
    body: str
    arguments: tuple[tuple[str, tuple[int, int]], ...]
    define: Callable[..., Array]
    subgroups: int = 4
    grid: tuple[int, int, int] = (1, 1, 1)
    tolerance: float = 0.0
    fill: str = "integers"

    @property
    def text(self) -> str:
        """The module at workgroup level."""
        names = ", ".join(f"%p{number}: i64" for number in range(len(self.arguments)))
        items = self.subgroups * 16
        head = f"known_block_size = array<i32: {items}, 1, 1>, intel_reqd_sub_group_size = 16 : i32"
        function = f"gpu.func @{self.name}({names}) kernel attributes {{{head}}} {{\n{self.body}\ngpu.return\n}}"
        return f"gpu.module @{self.name} {{\n{function}\n}}\n"

    def spelled_for(self, llvm: int) -> str:
        """The module as a version of LLVM writes it: from 24 on the layouts of a dpas stand in <{..}>."""
        if llvm < 24:
            return self.text
        return re.sub(r"\{(layout_a = [^}]*)\}", r"<{\1}>", self.text)

    def operands(self) -> list[Array]:
        """Arrays for the arguments; the result begins as 77 everywhere."""
        rng = np.random.default_rng(len(self.name))
        arrays: list[Array] = []
        for number, (kind, shape) in enumerate(self.arguments):
            if number == len(self.arguments) - 1:
                arrays.append(np.full(shape, 77).astype(DTYPES[kind]))
            elif self.fill == "reals":
                arrays.append(rng.standard_normal(shape).astype(DTYPES[kind]))
            else:
                arrays.append(rng.integers(-4, 5, shape).astype(DTYPES[kind]))
        return arrays

    def expected(self, arrays: Sequence[Array]) -> Array:
        """The result by definition."""
        return self.define(*arrays[:-1]).astype(arrays[-1].dtype)


def layout(sg: str, data: str, inst: str = "8, 16", lane: str = "1, 16", lane_data: str = "1, 1") -> str:
    """The text of a layout with all levels."""
    return (
        f"#xegpu.layout<sg_layout = [{sg}], sg_data = [{data}], inst_data = [{inst}], lane_layout = [{lane}], "
        f"lane_data = [{lane_data}]>"
    )


def sliced(of: str, dims: str) -> str:
    """The text of a slice of a layout."""
    return f"#xegpu.slice<{of}, dims = [{dims}]>"


class Body:
    """The lines of a kernel, written one operation at a time."""

    def __init__(self) -> None:
        self.lines: list[str] = ["%c0 = arith.constant 0 : index"]

    def add(self, *lines: str) -> Body:
        self.lines.extend(lines)
        return self

    def describe(self, number: int, matrix: tuple[int, int], kind: str, block: str, of: str) -> str:
        """A descriptor %t<number> of argument <number>; returns its type."""
        rows, columns = matrix
        text = f"!xegpu.tensor_desc<{block}x{kind}, {of}>"
        self.add(
            f"%t{number} = xegpu.create_nd_tdesc %p{number}, shape : [{rows}, {columns}], strides : [{columns}, 1]",
            f"  : i64 -> {text}",
        )
        return text

    def load(self, number: int, matrix: tuple[int, int], kind: str, block: str, of: str, at: str = "%c0, %c0") -> str:
        """Load argument <number> into %v<number>; returns the vector's type."""
        text = self.describe(number, matrix, kind, block, of)
        self.add(f"%v{number} = xegpu.load_nd %t{number}[{at}] : {text} -> vector<{block}x{kind}>")
        return f"vector<{block}x{kind}>"

    def store(
        self, value: str, number: int, matrix: tuple[int, int], kind: str, block: str, of: str, at: str = "%c0, %c0"
    ) -> str:
        """Store a value to argument <number>; returns the whole text."""
        text = self.describe(number, matrix, kind, block, of)
        self.add(f"xegpu.store_nd {value}, %t{number}[{at}] : vector<{block}x{kind}>, {text}")
        return "\n".join(self.lines)


TILE = layout("2, 2", "16, 32")
ROWS = layout("4, 1", "8, 32")
SHAPE = (32, 64)


def elementwise(
    name: str, kind: str, lines: Sequence[str], define: Callable[..., Array], count: int = 2, fill: str = "integers"
) -> Kernel:
    """A chain of operations on 32x64 tiles over 2x2 subgroups; `{v}` is the vector's type, `{l}` the layout of its result."""
    body = Body()
    vector = ""
    for number in range(count):
        vector = body.load(number, SHAPE, kind, "32x64", TILE)
    for line in lines:
        body.add(line.replace("{v}", vector).replace("{l}", f"{{layout_result_0 = {TILE}}}"))
    text = body.store("%r", count, SHAPE, kind, "32x64", TILE)
    return Kernel(name, text, ((kind, SHAPE),) * (count + 1), define, fill=fill)


def elementwise_kernels() -> list[Kernel]:
    f32 = np.float32
    return [
        elementwise("add_f32", "f32", ["%r = arith.addf %v0, %v1 {l} : {v}"], lambda a, b: a + b, fill="reals"),
        elementwise("sub_f16", "f16", ["%r = arith.subf %v0, %v1 {l} : {v}"], lambda a, b: a - b, fill="reals"),
        elementwise("multiply_i32", "i32", ["%x = arith.muli %v0, %v1 {l} : {v}", "%r = arith.xori %x, %v0 {l} : {v}"],
                    lambda a, b: (a * b) ^ a),
        elementwise("chain_f32", "f32",
                    ["%x = arith.mulf %v0, %v1 {l} : {v}", "%y = arith.addf %x, %v2 {l} : {v}",
                     "%z = arith.constant {l} dense<0.0> : {v}", "%r = arith.maximumf %y, %z {l} : {v}"],
                    lambda a, b, c: np.maximum(a * b + c, f32(0)), count=3, fill="reals"),
        elementwise("exponential_f32", "f32", ["%x = arith.negf %v0 {l} : {v}", "%r = math.exp %x {l} : {v}"],
                    lambda a: np.exp(-a.astype(np.float64)), count=1),
        elementwise("divide_f32", "f32", ["%x = arith.mulf %v0, %v0 {l} : {v}",
                    "%o = arith.constant {layout_result_0 = " + TILE + "} dense<1.0> : {v}",
                    "%y = arith.addf %x, %o {l} : {v}", "%r = arith.divf %v1, %y {l} : {v}"],
                    lambda a, b: b / (a * a + f32(1)), fill="reals"),
    ]  # fmt: skip


def widening() -> Kernel:
    """f16 in, computed in f32, f16 out."""
    body = Body()
    body.load(0, SHAPE, "f16", "32x64", TILE)
    at = f"{{layout_result_0 = {TILE}}}"
    body.add(
        f"%x = arith.extf %v0 {at} : vector<32x64xf16> to vector<32x64xf32>",
        f"%y = arith.mulf %x, %x {at} : vector<32x64xf32>",
        f"%r = arith.truncf %y {at} : vector<32x64xf32> to vector<32x64xf16>",
    )
    text = body.store("%r", 1, SHAPE, "f16", "32x64", TILE)
    return Kernel(
        "widen_f16", text, (("f16", SHAPE), ("f16", SHAPE)), lambda a: a.astype(np.float32) ** 2, fill="reals"
    )


def grid_kernels() -> list[Kernel]:
    """A place that depends on the workgroup; a loop over tiles; a branch that a workgroup takes as one."""
    matrix = (64, 64)
    body = Body().add("%x = gpu.block_id x", "%n = arith.constant 32 : index", "%row = arith.muli %x, %n : index")
    vector = body.load(0, matrix, "f32", "32x64", TILE, "%row, %c0")
    body.add(f"%r = arith.addf %v0, %v0 {{layout_result_0 = {TILE}}} : {vector}")
    text = body.store("%r", 1, matrix, "f32", "32x64", TILE, "%row, %c0")
    by_group = Kernel("rows_by_workgroup", text, (("f32", matrix), ("f32", matrix)), lambda a: a + a, grid=(2, 1, 1))

    wide = (32, 256)
    body = Body()
    kind = body.describe(0, wide, "f32", "32x64", TILE)
    body.add(
        "%end = arith.constant 256 : index\n%by = arith.constant 64 : index",
        f"%z = arith.constant {{layout_result_0 = {TILE}}} dense<0.0> : vector<32x64xf32>",
        "%r = scf.for %k = %c0 to %end step %by iter_args(%sum = %z) -> (vector<32x64xf32>) {",
        f"  %v = xegpu.load_nd %t0[%c0, %k] : {kind} -> vector<32x64xf32>",
        f"  %s = arith.addf %sum, %v {{layout_result_0 = {TILE}}} : vector<32x64xf32>",
        "  scf.yield %s : vector<32x64xf32>\n}",
    )
    text = body.store("%r", 1, SHAPE, "f32", "32x64", TILE)
    loop = Kernel(
        "sum_of_tiles",
        text,
        (("f32", wide), ("f32", SHAPE)),
        lambda a: sum_in_order(a.reshape(32, 4, 64), 1),
        fill="reals",
    )

    body = Body().add("%x = gpu.block_id x", "%n = arith.constant 32 : index", "%row = arith.muli %x, %n : index")
    vector = body.load(0, matrix, "f32", "32x64", TILE, "%row, %c0")
    kind = body.describe(1, matrix, "f32", "32x64", TILE)
    body.add(
        "%first = arith.cmpi eq, %x, %c0 : index",
        "scf.if %first {",
        f"  %d = arith.mulf %v0, %v0 {{layout_result_0 = {TILE}}} : {vector}",
        f"  xegpu.store_nd %d, %t1[%row, %c0] : {vector}, {kind}",
        "} else {",
        f"  %m = arith.negf %v0 {{layout_result_0 = {TILE}}} : {vector}",
        f"  xegpu.store_nd %m, %t1[%row, %c0] : {vector}, {kind}",
        "}",
    )
    branch = Kernel(
        "branch_by_workgroup",
        "\n".join(body.lines),
        (("f32", matrix), ("f32", matrix)),
        lambda a: np.concatenate([a[:32] * a[:32], -a[32:]]),
        grid=(2, 1, 1),
    )
    return [by_group, loop, branch]


def sum_in_order(value: Array, axis: int) -> Array:
    """A sum along an axis, one element after the other, in the type."""
    parts = np.moveaxis(value, axis, 0)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


A_TILE = layout("2, 2", "32, 32", "8, 16")
B_TILE = layout("2, 2", "32, 32", "16, 16", "1, 16", "2, 1")
C_TILE = layout("2, 2", "32, 32", "8, 16")


def gemm(
    name: str, kind: str, out: str = "f32", after: Sequence[str] = (), define: Callable[[Array], Array] = lambda c: c,
    extra: tuple[tuple[str, tuple[int, int]], ...] = (), accumulate: bool = False, k: int = 64,
) -> Kernel:  # fmt: skip
    """C (64x64) = A (64xk) B (kx64) over 2x2 subgroups, 32 of k at a time; `after` works on %c and gives %r."""
    a_shape, b_shape, c_shape = (64, k), (k, 64), (64, 64)
    a_layout, b_layout = layout("2, 2", "32, 32", "8, 16"), layout("2, 2", "32, 32", "16, 16", "1, 16", "2, 1")
    acc = "f32"
    if kind == "i8":
        a_layout = layout("2, 2", "32, 32", "8, 32", "1, 16", "1, 2")
        b_layout = layout("2, 2", "32, 32", "32, 16", "1, 16", "4, 1")
        acc = out = "i32"
    body = Body()
    ta = body.describe(0, a_shape, kind, "64x32", a_layout)
    tb = body.describe(1, b_shape, kind, "32x64", b_layout)
    zero = "0" if acc == "i32" else "0.0"
    if accumulate:
        body.load(2, c_shape, acc, "64x64", C_TILE)
        body.add("%z = arith.addf %v2, %v2 {layout_result_0 = " + C_TILE + "} : vector<64x64xf32>")
    else:
        body.add(f"%z = arith.constant {{layout_result_0 = {C_TILE}}} dense<{zero}> : vector<64x64x{acc}>")
    product_of = (
        f"{{layout_a = {a_layout}, layout_b = {b_layout}, layout_cd = {C_TILE}}} : "
        f"vector<64x32x{kind}>, vector<32x64x{kind}>, vector<64x64x{acc}> -> vector<64x64x{acc}>"
    )
    if k == 32:
        body.add(
            f"%a = xegpu.load_nd %t0[%c0, %c0] : {ta} -> vector<64x32x{kind}>",
            f"%b = xegpu.load_nd %t1[%c0, %c0] : {tb} -> vector<32x64x{kind}>",
            f"%c = xegpu.dpas %a, %b, %z {product_of}",
        )
    else:
        body.add(
            f"%end = arith.constant {k} : index\n%by = arith.constant 32 : index",
            f"%c = scf.for %k = %c0 to %end step %by iter_args(%sum = %z) -> (vector<64x64x{acc}>) {{",
            f"  %a = xegpu.load_nd %t0[%c0, %k] : {ta} -> vector<64x32x{kind}>",
            f"  %b = xegpu.load_nd %t1[%k, %c0] : {tb} -> vector<32x64x{kind}>",
            f"  %d = xegpu.dpas %a, %b, %sum {product_of}",
            f"  scf.yield %d : vector<64x64x{acc}>\n}}",
        )
    at = f"{{layout_result_0 = {C_TILE}}}"
    body.add(*(line.replace("{l}", at) for line in after))
    last = 2 + len(extra)
    text = body.store("%r" if after else "%c", last, c_shape, out, "64x64", C_TILE)
    arguments = ((kind, a_shape), (kind, b_shape), *extra, (out, c_shape))
    wide: Any = np.int64 if acc == "i32" else np.float64

    def product(a: Array, b: Array, *rest: Array) -> Array:
        total = a.astype(wide) @ b.astype(wide)
        if accumulate:
            total = total + 2 * rest[0].astype(wide)
        return define(total)

    return Kernel(name, text, arguments, product)


def gemm_kernels() -> list[Kernel]:
    c = "vector<64x64xf32>"
    relu = [
        "%n = arith.constant {layout_result_0 = " + C_TILE + "} dense<0.0> : " + c,
        "%r = arith.maximumf %c, %n {l} : " + c,
    ]
    return [
        gemm("gemm_f16", "f16"),
        gemm("gemm_bf16", "bf16"),
        gemm("gemm_deep", "f16", k=128),
        gemm("gemm_i8", "i8"),
        gemm("gemm_once", "f16", k=32),
        gemm("gemm_once_bf16", "bf16", k=32),
        gemm("gemm_once_relu", "f16", k=32, after=relu, define=lambda c: np.maximum(c, 0)),
        gemm("gemm_accumulate", "f16", extra=(("f32", (64, 64)),), accumulate=True),
        gemm("gemm_relu", "f16", after=relu, define=lambda c: np.maximum(c, 0)),
        gemm(
            "gemm_to_f16", "f16", out="f16", after=["%r = arith.truncf %c {l} : vector<64x64xf32> to vector<64x64xf16>"]
        ),
        gemm(
            "gemm_scaled",
            "bf16",
            after=[
                "%s = arith.constant {layout_result_0 = " + C_TILE + "} dense<0.125> : " + c,
                "%r = arith.mulf %c, %s {l} : " + c,
            ],
            define=lambda c: c * 0.125,
        ),
    ]


STRIP = layout("4, 1", "8, 32", "8, 16")
"""32x32 over 4 subgroups, each a strip of 8 whole rows."""
STRIP_ROWS = sliced(STRIP, "1")
SQUARE = (32, 32)


def reduce_rows(number: str, kind: str, value: str, result: str, zero: str) -> list[str]:
    """Rows of a 32x32 tensor reduced, and the result spread over the rows again."""
    return [
        f"%n{number} = arith.constant {{layout_result_0 = {STRIP_ROWS}}} dense<{zero}> : vector<32xf32>",
        f"%m{number} = vector.multi_reduction <{kind}>, {value}, %n{number} {{layout_result_0 = {STRIP_ROWS}}} [1] : "
        "vector<32x32xf32> to vector<32xf32>",
        f"%k{number} = vector.shape_cast %m{number} {{layout_result_0 = {STRIP}}} : vector<32xf32> to vector<32x1xf32>",
        f"{result} = vector.broadcast %k{number} {{layout_result_0 = {STRIP}}} : vector<32x1xf32> to vector<32x32xf32>",
    ]


def softmax(a: Array) -> Array:
    wide = a.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def row_kernels() -> list[Kernel]:
    """Softmax, layer norm and sums over rows that a subgroup holds whole."""
    kernels: list[Kernel] = []
    at = f"{{layout_result_0 = {STRIP}}}"
    whole = "vector<32x32xf32>"
    for name, kind, zero, define in (
        ("sum_of_rows", "add", "0.0", lambda a: np.broadcast_to(a.sum(axis=1, keepdims=True), a.shape)),
        ("largest_of_rows", "maximumf", "0xFF800000", lambda a: np.broadcast_to(a.max(axis=1, keepdims=True), a.shape)),
        ("smallest_of_rows", "minnumf", "0x7F800000", lambda a: np.broadcast_to(a.min(axis=1, keepdims=True), a.shape)),
    ):
        body = Body()
        body.load(0, SQUARE, "f32", "32x32", STRIP)
        body.add(*reduce_rows("0", kind, "%v0", "%r", zero))
        text = body.store("%r", 1, SQUARE, "f32", "32x32", STRIP)
        kernels.append(Kernel(name, text, (("f32", SQUARE), ("f32", SQUARE)), define))
    body = Body()
    body.load(0, SQUARE, "f32", "32x32", STRIP)
    body.add(
        *reduce_rows("0", "maximumf", "%v0", "%most", "0xFF800000"),
        f"%d = arith.subf %v0, %most {at} : {whole}",
        f"%e = math.exp %d {at} : {whole}",
        *reduce_rows("1", "add", "%e", "%total", "0.0"),
        f"%r = arith.divf %e, %total {at} : {whole}",
    )
    text = body.store("%r", 1, SQUARE, "f32", "32x32", STRIP)
    kernels.append(Kernel("softmax", text, (("f32", SQUARE), ("f32", SQUARE)), softmax, tolerance=1e-5, fill="reals"))
    body = Body()
    body.load(0, SQUARE, "f32", "32x32", STRIP)
    body.add(
        f"%inv = arith.constant {at} dense<0.03125> : {whole}",
        f"%eps = arith.constant {at} dense<1.0e-5> : {whole}",
        *reduce_rows("0", "add", "%v0", "%total", "0.0"),
        f"%mean = arith.mulf %total, %inv {at} : {whole}",
        f"%d = arith.subf %v0, %mean {at} : {whole}",
        f"%q = arith.mulf %d, %d {at} : {whole}",
        *reduce_rows("1", "add", "%q", "%squares", "0.0"),
        f"%var = arith.mulf %squares, %inv {at} : {whole}",
        f"%safe = arith.addf %var, %eps {at} : {whole}",
        f"%root = math.rsqrt %safe {at} : {whole}",
        f"%r = arith.mulf %d, %root {at} : {whole}",
    )
    text = body.store("%r", 1, SQUARE, "f32", "32x32", STRIP)

    def layer_norm(a: Array) -> Array:
        wide = a.astype(np.float64)
        centred = wide - wide.mean(axis=1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)

    kernels.append(
        Kernel("layer_norm", text, (("f32", SQUARE), ("f32", SQUARE)), layer_norm, tolerance=1e-5, fill="reals")
    )
    return kernels


COLUMN = layout("1, 4", "32, 16", "8, 16")
COLUMN_SUMS = sliced(COLUMN, "0")


def column_kernels() -> list[Kernel]:
    """Columns that a subgroup holds whole, reduced and spread again."""
    kernels: list[Kernel] = []
    for name, kind, zero, define in (
        ("sum_of_columns", "add", "0.0", lambda a: np.broadcast_to(a.sum(axis=0, keepdims=True), a.shape)),
        (
            "largest_of_columns",
            "maxnumf",
            "0xFF800000",
            lambda a: np.broadcast_to(a.max(axis=0, keepdims=True), a.shape),
        ),
    ):
        body = Body()
        body.load(0, SHAPE, "f32", "32x64", COLUMN)
        body.add(
            f"%n = arith.constant {{layout_result_0 = {COLUMN_SUMS}}} dense<{zero}> : vector<64xf32>",
            f"%m = vector.multi_reduction <{kind}>, %v0, %n {{layout_result_0 = {COLUMN_SUMS}}} [0] : "
            "vector<32x64xf32> to vector<64xf32>",
            f"%k = vector.shape_cast %m {{layout_result_0 = {COLUMN}}} : vector<64xf32> to vector<1x64xf32>",
            f"%r = vector.broadcast %k {{layout_result_0 = {COLUMN}}} : vector<1x64xf32> to vector<32x64xf32>",
        )
        text = body.store("%r", 1, SHAPE, "f32", "32x64", COLUMN)
        kernels.append(Kernel(name, text, (("f32", SHAPE), ("f32", SHAPE)), define))
    return kernels


def broadcast_kernels() -> list[Kernel]:
    """Numbers that are made in the kernel: a constant spread, counting along a dimension, a triangle."""
    body = Body()
    body.load(0, SHAPE, "f32", "32x64", TILE)
    at = f"{{layout_result_0 = {TILE}}}"
    body.add("%s = arith.constant 3.0 : f32", f"%w = vector.broadcast %s {at} : f32 to vector<32x64xf32>",
             f"%r = arith.mulf %v0, %w {at} : vector<32x64xf32>")  # fmt: skip
    text = body.store("%r", 1, SHAPE, "f32", "32x64", TILE)
    spread = Kernel("times_scalar", text, (("f32", SHAPE), ("f32", SHAPE)), lambda a: a * 3)
    body = Body()
    body.load(0, SHAPE, "f32", "32x64", TILE)
    body.load(1, SHAPE, "f32", "32x64", TILE)
    body.add(f"%c = arith.cmpf olt, %v0, %v1 {at} : vector<32x64xf32>",
             f"%r = arith.select %c, %v0, %v1 {at} : vector<32x64xi1>, vector<32x64xf32>")  # fmt: skip
    text = body.store("%r", 2, SHAPE, "f32", "32x64", TILE)
    select = Kernel("select_smaller", text, (("f32", SHAPE),) * 3, lambda a, b: np.where(a < b, a, b), fill="reals")
    return [spread, select]


def convert_kernels() -> list[Kernel]:
    """Layouts that change on the way, and tensors through shared memory."""
    kernels: list[Kernel] = []
    strips = layout("4, 1", "8, 64")
    body = Body()
    body.load(0, SHAPE, "f32", "32x64", TILE)
    body.add(f"%r = xegpu.convert_layout %v0 <{{input_layout = {TILE}, target_layout = {strips}}}> : vector<32x64xf32>")
    text = body.store("%r", 1, SHAPE, "f32", "32x64", strips)
    kernels.append(Kernel("convert_layout", text, (("f32", SHAPE), ("f32", SHAPE)), lambda a: a))
    body = Body()
    body.load(0, SHAPE, "f32", "32x64", TILE)
    body.add(f"%r = xegpu.convert_layout %v0 <{{input_layout = {TILE}, target_layout = {TILE}}}> : vector<32x64xf32>")
    text = body.store("%r", 1, SHAPE, "f32", "32x64", TILE)
    kernels.append(Kernel("convert_to_itself", text, (("f32", SHAPE), ("f32", SHAPE)), lambda a: a))
    turned = layout("2, 2", "32, 16")
    body = Body()
    body.load(0, SHAPE, "f32", "32x64", TILE)
    body.add(
        f"%r = vector.transpose %v0, [1, 0] {{layout_result_0 = {turned}}} : vector<32x64xf32> to vector<64x32xf32>"
    )
    text = body.store("%r", 1, (64, 32), "f32", "64x32", turned)
    kernels.append(Kernel("transpose", text, (("f32", SHAPE), ("f32", (64, 32))), lambda a: a.T))
    for name, target in (("through_shared_memory", TILE), ("through_shared_memory_to_strips", strips)):
        body = Body()
        body.load(0, SHAPE, "f32", "32x64", TILE)
        body.add(
            "%s = memref.alloca() : memref<8192xi8, 3>",
            "%m = xegpu.create_mem_desc %s : memref<8192xi8, 3> -> !xegpu.mem_desc<32x64xf32>",
            f"xegpu.store_matrix %v0, %m[0, 0] <{{layout = {TILE}}}> : vector<32x64xf32>, !xegpu.mem_desc<32x64xf32>",
            "gpu.barrier",
            f"%r = xegpu.load_matrix %m[0, 0] <{{layout = {target}}}> : !xegpu.mem_desc<32x64xf32> -> vector<32x64xf32>",
        )
        text = body.store("%r", 1, SHAPE, "f32", "32x64", target)
        kernels.append(Kernel(name, text, (("f32", SHAPE), ("f32", SHAPE)), lambda a: a))
    return kernels


LINE = "#xegpu.layout<sg_layout = [4], sg_data = [16], inst_data = [16], lane_layout = [16], lane_data = [1]>"


def gather_kernels() -> list[Kernel]:
    """Elements picked one by one: 64 places of a line, backwards and in pairs."""
    kernels: list[Kernel] = []
    line = (1, 64)
    for name, lines, define in (
        ("gather_backwards", ["%last = arith.constant {layout_result_0 = " + LINE + "} dense<63> : vector<64xindex>",
                              "%o = arith.subi %last, %i {layout_result_0 = " + LINE + "} : vector<64xindex>"],
         lambda a: a[:, ::-1]),
        ("gather_in_pairs", ["%one = arith.constant {layout_result_0 = " + LINE + "} dense<1> : vector<64xindex>",
                             "%o = arith.xori %i, %one {layout_result_0 = " + LINE + "} : vector<64xindex>"],
         lambda a: a.reshape(1, 32, 2)[:, :, ::-1].reshape(1, 64)),
    ):  # fmt: skip
        body = Body()
        body.add(
            f"%i = vector.step {{layout_result_0 = {LINE}}} : vector<64xindex>",
            *lines,
            f"%mask = arith.constant {{layout_result_0 = {LINE}}} dense<true> : vector<64xi1>",
            f"%v = xegpu.load %p0[%o], %mask <{{layout = {LINE}}}> : i64, vector<64xindex>, vector<64xi1> -> vector<64xf32>",
            f"xegpu.store %v, %p1[%i], %mask <{{layout = {LINE}}}> : vector<64xf32>, i64, vector<64xindex>, vector<64xi1>",
        )
        kernels.append(Kernel(name, "\n".join(body.lines), (("f32", line), ("f32", line)), define))
    return kernels


def attention() -> Kernel:
    """softmax(Q K^T) V for 32 queries and 32 keys of depth 32, K given as its transpose; 4 subgroups of 8 rows each."""
    q_layout, s_layout = layout("4, 1", "8, 32", "8, 16"), STRIP
    k_layout = layout("4, 1", "32, 32", "16, 16", "1, 16", "2, 1")
    at = f"{{layout_result_0 = {s_layout}}}"
    whole = "vector<32x32xf32>"
    body = Body()
    body.load(0, SQUARE, "f16", "32x32", q_layout)
    body.load(1, SQUARE, "f16", "32x32", k_layout)
    body.load(2, SQUARE, "f16", "32x32", k_layout)
    body.add(
        f"%z = arith.constant {at} dense<0.0> : {whole}",
        f"%s = xegpu.dpas %v0, %v1, %z {{layout_a = {q_layout}, layout_b = {k_layout}, layout_cd = {s_layout}}} : "
        f"vector<32x32xf16>, vector<32x32xf16>, {whole} -> {whole}",
        *reduce_rows("0", "maximumf", "%s", "%most", "0xFF800000"),
        f"%d = arith.subf %s, %most {at} : {whole}",
        f"%e = math.exp %d {at} : {whole}",
        *reduce_rows("1", "add", "%e", "%total", "0.0"),
        f"%w = arith.divf %e, %total {at} : {whole}",
        f"%h = arith.truncf %w {at} : {whole} to vector<32x32xf16>",
        f"%r = xegpu.dpas %h, %v2, %z {{layout_a = {q_layout}, layout_b = {k_layout}, layout_cd = {s_layout}}} : "
        f"vector<32x32xf16>, vector<32x32xf16>, {whole} -> {whole}",
    )
    text = body.store("%r", 3, SQUARE, "f32", "32x32", s_layout)

    def define(q: Array, k: Array, v: Array) -> Array:
        scores = q.astype(np.float64) @ k.astype(np.float64)
        return softmax(scores).astype(np.float16).astype(np.float64) @ v.astype(np.float64)

    return Kernel("attention", text, (*(("f16", SQUARE),) * 3, ("f32", SQUARE)), define, tolerance=2e-3)


KERNELS = {
    kernel.name: kernel
    for kernel in (
        *elementwise_kernels(),
        widening(),
        *grid_kernels(),
        *gemm_kernels(),
        *row_kernels(),
        *column_kernels(),
        *broadcast_kernels(),
        *convert_kernels(),
        *gather_kernels(),
        attention(),
    )
}
