"""Kernels of a workgroup without a single layout, as users write them, and what each computes by numpy's definition.

Every kernel loads blocks, computes and stores. Who holds what is for the propagation to say, from subgroups to lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray

Array = NDArray[Any]

DTYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": bfloat16, "f32": np.float32, "i32": np.int32, "i8": np.int8, "index": np.int64,
}  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """A kernel's body; its arguments, of which the last one is what it writes; numbers after them; its definition."""

    name: str
    body: str
    arguments: tuple[tuple[str, tuple[int, ...]], ...]
    define: Callable[..., Array]
    subgroups: int = 4
    numbers: tuple[int, ...] = ()
    tolerance: float = 1e-5

    @property
    def text(self) -> str:
        """The module, without layouts."""
        names = [f"%p{number}: i64" for number in range(len(self.arguments))]
        names += [f"%n{number}: index" for number in range(len(self.numbers))]
        items = self.subgroups * 16
        head = f"known_block_size = array<i32: {items}, 1, 1>, intel_reqd_sub_group_size = 16 : i32"
        constants = "\n".join(
            f"%c{number} = arith.constant {number} : index" for number in (0, 1, 2, 4, 8, 16, 32, 64, 128)
        )
        function = f"gpu.func @{self.name}({', '.join(names)}) kernel attributes {{{head}}} {{"
        return f"gpu.module @m {{\n{function}\n{constants}\n{self.body}\ngpu.return\n}}\n}}\n"

    def operands(self) -> list[Array]:
        """Arrays for the arguments; the result begins as 77 everywhere."""
        rng = np.random.default_rng(len(self.name))
        arrays: list[Array] = []
        for kind, shape in self.arguments[:-1]:
            values = rng.integers(-4, 5, shape) if kind in ("i8", "i32", "index") else rng.normal(size=shape)
            arrays.append(values.astype(DTYPES[kind]))
        kind, shape = self.arguments[-1]
        return [*arrays, np.full(shape, 77).astype(DTYPES[kind])]

    def expected(self, operands: list[Array]) -> Array:
        """What the definition says, in double precision where it is a number of floating point."""
        wide = [one.astype(np.float64) if one.dtype.kind not in "iu" else one.astype(np.int64) for one in operands[:-1]]
        return np.asarray(self.define(*wide, *self.numbers))


class Body:
    """The lines of a body."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, *lines: str) -> Body:
        """Further lines."""
        self.lines += lines
        return self

    def load(self, name: str, number: int, whole: tuple[int, ...], kind: str, tile: tuple[int, ...], *at: str) -> Body:
        """%name is a block of argument `number` of shape `whole`, from `at` on."""
        descriptor = self._descriptor(f"%t_{name}", number, whole, kind, tile)
        places = ", ".join(at or ["%c0"] * len(tile))
        return self.add(f"%{name} = xegpu.load_nd %t_{name}[{places}] : {descriptor} -> {vector(tile, kind)}")

    def store(self, name: str, number: int, whole: tuple[int, ...], kind: str, tile: tuple[int, ...], *at: str) -> Body:
        """%name goes to argument `number`."""
        descriptor = self._descriptor(f"%u_{name}", number, whole, kind, tile)
        places = ", ".join(at or ["%c0"] * len(tile))
        return self.add(f"xegpu.store_nd %{name}, %u_{name}[{places}] : {vector(tile, kind)}, {descriptor}")

    def _descriptor(self, name: str, number: int, whole: tuple[int, ...], kind: str, tile: tuple[int, ...]) -> str:
        descriptor = f"!xegpu.tensor_desc<{'x'.join(map(str, tile))}x{kind}>"
        strides = [int(np.prod(whole[dim + 1 :])) for dim in range(len(whole))]
        shape = ", ".join(map(str, whole))
        self.add(
            f"{name} = xegpu.create_nd_tdesc %p{number}, shape : [{shape}], strides : [{', '.join(map(str, strides))}]"
            f" : i64 -> {descriptor}"
        )
        return descriptor

    def fill(self, name: str, value: str, shape: tuple[int, ...], kind: str) -> Body:
        """%name is a constant."""
        return self.add(f"%{name} = arith.constant dense<{value}> : {vector(shape, kind)}")

    def reduce(self, name: str, how: str, of: str, start: str, shape: tuple[int, ...], kind: str, dim: int = 1) -> Body:
        """%name is %of reduced along a dimension, from the value `start` on."""
        kept = tuple(size for at, size in enumerate(shape) if at != dim)
        self.fill(f"{name}_start", start, kept, kind)
        kinds = f"{vector(shape, kind)} to {vector(kept, kind)}"
        return self.add(f"%{name} = vector.multi_reduction <{how}>, %{of}, %{name}_start [{dim}] : {kinds}")

    def spread(self, name: str, of: str, shape: tuple[int, int], kind: str) -> Body:
        """%name has the value of a row in every column."""
        column = vector((shape[0], 1), kind)
        return self.add(
            f"%{name}_column = vector.shape_cast %{of} : {vector(shape[:1], kind)} to {column}",
            f"%{name} = vector.broadcast %{name}_column : {column} to {vector(shape, kind)}",
        )

    def two(self, name: str, operation: str, left: str, right: str, shape: tuple[int, ...], kind: str) -> Body:
        """%name is an operation on two values."""
        return self.add(f"%{name} = {operation} %{left}, %{right} : {vector(shape, kind)}")

    def one(self, name: str, operation: str, of: str, shape: tuple[int, ...], kind: str) -> Body:
        """%name is an operation on one value."""
        return self.add(f"%{name} = {operation} %{of} : {vector(shape, kind)}")

    def cast(self, name: str, operation: str, of: str, shape: tuple[int, ...], source: str, result: str) -> Body:
        """%name is a value with other elements."""
        return self.add(f"%{name} = {operation} %{of} : {vector(shape, source)} to {vector(shape, result)}")

    def dpas(self, name: str, a: str, b: str, c: str | None, m: int, n: int, k: int, kind: str, out: str) -> Body:
        """%name is a product."""
        inputs, types = [f"%{a}", f"%{b}"], [vector((m, k), kind), vector((k, n), kind)]
        if c is not None:
            inputs, types = [*inputs, f"%{c}"], [*types, vector((m, n), out)]
        return self.add(f"%{name} = xegpu.dpas {', '.join(inputs)} : {', '.join(types)} -> {vector((m, n), out)}")

    def __str__(self) -> str:
        return "\n".join(self.lines)


def vector(shape: tuple[int, ...], kind: str) -> str:
    """A vector type."""
    return f"vector<{'x'.join(map(str, shape))}x{kind}>"


def _softmax_of(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def _gelu_of(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3))))


def _softmax_lines(body: Body, of: str, name: str, shape: tuple[int, int]) -> Body:
    body.reduce("row_most", "maxnumf", of, "0xFF800000", shape, "f32").spread("most", "row_most", shape, "f32")
    body.two("shifted", "arith.subf", of, "most", shape, "f32").one("power", "math.exp", "shifted", shape, "f32")
    body.reduce("row_sum", "add", "power", "0.0", shape, "f32").spread("sum", "row_sum", shape, "f32")
    return body.two(name, "arith.divf", "power", "sum", shape, "f32")


def softmax() -> Kernel:
    """The softmax of rows."""
    whole = (64, 64)
    body = Body().load("x", 0, whole, "f32", whole)
    _softmax_lines(body, "x", "y", whole).store("y", 1, whole, "f32", whole)
    return Kernel("softmax", str(body), (("f32", whole), ("f32", whole)), _softmax_of)


def layer_norm() -> Kernel:
    """Rows with mean 0 and variance 1, scaled and shifted by column."""
    whole, columns = (64, 64), (64,)
    body = Body().load("x", 0, whole, "f32", whole).load("g", 1, columns, "f32", columns)
    body.load("b", 2, columns, "f32", columns)
    body.fill("size", "64.0", columns, "f32").fill("epsilon", "1.0e-5", columns, "f32")
    body.reduce("total", "add", "x", "0.0", whole, "f32").two("mean", "arith.divf", "total", "size", columns, "f32")
    body.spread("means", "mean", whole, "f32").two("d", "arith.subf", "x", "means", whole, "f32")
    body.two("dd", "arith.mulf", "d", "d", whole, "f32").reduce("squares", "add", "dd", "0.0", whole, "f32")
    body.two("variance", "arith.divf", "squares", "size", columns, "f32")
    body.two("safe", "arith.addf", "variance", "epsilon", columns, "f32").one("r", "math.rsqrt", "safe", columns, "f32")
    body.spread("rs", "r", whole, "f32").two("n", "arith.mulf", "d", "rs", whole, "f32")
    body.add(f"%gs = vector.broadcast %g : {vector(columns, 'f32')} to {vector(whole, 'f32')}")
    body.add(f"%bs = vector.broadcast %b : {vector(columns, 'f32')} to {vector(whole, 'f32')}")
    body.two("s", "arith.mulf", "n", "gs", whole, "f32").two("y", "arith.addf", "s", "bs", whole, "f32")
    body.store("y", 3, whole, "f32", whole)

    def define(x: Array, g: Array, b: Array) -> Array:
        return np.asarray((x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * g + b)

    arguments = (("f32", whole), ("f32", columns), ("f32", columns), ("f32", whole))
    return Kernel("layer_norm", str(body), arguments, define)


def rms_norm() -> Kernel:
    """Rows divided by the root of their mean square, in f16 with sums in f32."""
    whole, rows = (64, 128), (64,)
    body = Body().load("h", 0, whole, "f16", whole).cast("x", "arith.extf", "h", whole, "f16", "f32")
    body.two("xx", "arith.mulf", "x", "x", whole, "f32").reduce("squares", "add", "xx", "0.0", whole, "f32")
    body.fill("size", "128.0", rows, "f32").two("mean", "arith.divf", "squares", "size", rows, "f32")
    body.one("r", "math.rsqrt", "mean", rows, "f32").spread("rs", "r", whole, "f32")
    body.two("y", "arith.mulf", "x", "rs", whole, "f32").cast("z", "arith.truncf", "y", whole, "f32", "f16")
    body.store("z", 1, whole, "f16", whole)

    def define(x: Array) -> Array:
        return np.asarray(x / np.sqrt((x * x).mean(1, keepdims=True)))

    return Kernel("rms_norm", str(body), (("f16", whole), ("f16", whole)), define, tolerance=2e-3)


def _product_loop(
    body: Body, m: int, n: int, k: int, step: int, loads: str, kind: str = "f16", out: str = "f32"
) -> Body:
    zero = "0" if out == "i32" else "0.0"
    body.fill("zero", zero, (m, n), out)
    body.add(
        f"%ck = arith.constant {k} : index",
        f"%cs = arith.constant {step} : index",
        f"%acc = scf.for %kk = %c0 to %ck step %cs iter_args(%c = %zero) -> ({vector((m, n), out)}) {{",
        loads,
    )
    body.dpas("d", "a", "b", "c", m, n, step, kind, out)
    return body.add(f"scf.yield %d : {vector((m, n), out)}", "}")


def gemm_bias_gelu() -> Kernel:
    """A product with a bias by column and the GELU of the sum."""
    m, n, k = 64, 64, 128
    body = Body()
    loads = Body().load("a", 0, (m, k), "f16", (m, 32), "%c0", "%kk").load("b", 1, (k, n), "f16", (32, n), "%kk", "%c0")
    _product_loop(body, m, n, k, 32, str(loads)).load("bias", 2, (n,), "f32", (n,))
    shape = (m, n)
    body.add(f"%bs = vector.broadcast %bias : {vector((n,), 'f32')} to {vector(shape, 'f32')}")
    body.two("y", "arith.addf", "acc", "bs", shape, "f32")
    for name, value in (("k3", "0.044715"), ("k2", "0.7978845608"), ("unit", "1.0"), ("part", "0.5")):
        body.fill(name, value, shape, "f32")
    body.two("y2", "arith.mulf", "y", "y", shape, "f32").two("y3", "arith.mulf", "y2", "y", shape, "f32")
    body.two("i1", "arith.mulf", "y3", "k3", shape, "f32").two("i2", "arith.addf", "y", "i1", shape, "f32")
    body.two("i3", "arith.mulf", "i2", "k2", shape, "f32").one("th", "math.tanh", "i3", shape, "f32")
    body.two("both", "arith.addf", "th", "unit", shape, "f32").two("h1", "arith.mulf", "y", "part", shape, "f32")
    body.two("r", "arith.mulf", "h1", "both", shape, "f32").store("r", 3, shape, "f32", shape)

    def define(a: Array, b: Array, bias: Array) -> Array:
        return _gelu_of(a @ b + bias)

    arguments = (("f16", (m, k)), ("f16", (k, n)), ("f32", (n,)), ("f32", shape))
    return Kernel("gemm_bias_gelu", str(body), arguments, define, subgroups=8, tolerance=1e-4)


def gemm_transposed() -> Kernel:
    """A product whose second operand lies transposed in memory."""
    m, n, k = 64, 64, 64
    loads = (
        Body().load("a", 0, (m, k), "f16", (m, 32), "%c0", "%kk").load("bt", 1, (n, k), "f16", (n, 32), "%c0", "%kk")
    )
    loads.add(f"%b = vector.transpose %bt, [1, 0] : {vector((n, 32), 'f16')} to {vector((32, n), 'f16')}")
    body = _product_loop(Body(), m, n, k, 32, str(loads)).store("acc", 2, (m, n), "f32", (m, n))
    arguments = (("f16", (m, k)), ("f16", (n, k)), ("f32", (m, n)))
    return Kernel(
        "gemm_transposed", str(body), arguments, lambda a, b: np.asarray(a @ b.T), subgroups=8, tolerance=1e-4
    )


def gemm_batched() -> Kernel:
    """Four products, one after the other."""
    m, n, k = 32, 64, 32
    body = Body().add("scf.for %i = %c0 to %c4 step %c1 {", "%row_a = arith.muli %i, %c32 : index")
    body.load("a", 0, (4 * m, k), "bf16", (m, k), "%row_a", "%c0")
    body.load("b", 1, (4 * k, n), "bf16", (k, n), "%row_a", "%c0").dpas("d", "a", "b", None, m, n, k, "bf16", "f32")
    body.store("d", 2, (4 * m, n), "f32", (m, n), "%row_a", "%c0").add("}")

    def define(a: Array, b: Array) -> Array:
        return np.asarray((a.reshape(4, m, k) @ b.reshape(4, k, n)).reshape(4 * m, n))

    arguments = (("bf16", (4 * m, k)), ("bf16", (4 * k, n)), ("f32", (4 * m, n)))
    return Kernel("gemm_batched", str(body), arguments, define, tolerance=1e-4)


def gemm_i8_dequantised() -> Kernel:
    """A product of bytes, scaled by row and by column."""
    m, n, k = 64, 64, 64
    body = Body()
    loads = Body().load("a", 0, (m, k), "i8", (m, 32), "%c0", "%kk").load("b", 1, (k, n), "i8", (32, n), "%kk", "%c0")
    shape = (m, n)
    _product_loop(body, m, n, k, 32, str(loads), "i8", "i32").cast("f", "arith.sitofp", "acc", shape, "i32", "f32")
    body.load("sa", 2, (m,), "f32", (m,)).load("sb", 3, (n,), "f32", (n,)).spread("rows", "sa", shape, "f32")
    body.add(f"%columns = vector.broadcast %sb : {vector((n,), 'f32')} to {vector(shape, 'f32')}")
    body.two("half", "arith.mulf", "f", "rows", shape, "f32").two("r", "arith.mulf", "half", "columns", shape, "f32")
    body.store("r", 4, shape, "f32", shape)

    def define(a: Array, b: Array, sa: Array, sb: Array) -> Array:
        return np.asarray((a @ b) * sa[:, None] * sb)

    arguments = (("i8", (m, k)), ("i8", (k, n)), ("f32", (m,)), ("f32", (n,)), ("f32", shape))
    return Kernel("gemm_i8_dequantised", str(body), arguments, define, subgroups=8)


def attention() -> Kernel:
    """One head: the softmax of Q times K transposed, times V."""
    q, s, d = 64, 64, 64
    body = (
        Body()
        .load("q", 0, (q, d), "f16", (q, d))
        .load("k", 1, (s, d), "f16", (s, d))
        .load("v", 2, (s, d), "f16", (s, d))
    )
    body.add(f"%kt = vector.transpose %k, [1, 0] : {vector((s, d), 'f16')} to {vector((d, s), 'f16')}")
    body.dpas("scores", "q", "kt", None, q, s, d, "f16", "f32")
    _softmax_lines(body, "scores", "p32", (q, s)).cast("p", "arith.truncf", "p32", (q, s), "f32", "f16")
    body.dpas("o", "p", "v", None, q, d, s, "f16", "f32").store("o", 3, (q, d), "f32", (q, d))
    arguments = (("f16", (q, d)), ("f16", (s, d)), ("f16", (s, d)), ("f32", (q, d)))
    return Kernel("attention", str(body), arguments, lambda q, k, v: _softmax_of(q @ k.T) @ v, tolerance=4e-3)


def flash_attention(part: int = 32) -> Kernel:
    """One head, 32 keys at a time (or `part`): the rows' maximum and sum are carried along."""
    q, s, d = 64, 128, 64
    rows, wide, scores = (q,), (q, d), (q, part)
    body = Body().load("q", 0, (q, d), "f16", (q, d)).fill("none", "0xFF800000", rows, "f32")
    body.fill("nothing", "0.0", rows, "f32").fill("empty", "0.0", wide, "f32")
    kinds = ", ".join((vector(wide, "f32"), vector(rows, "f32"), vector(rows, "f32")))
    body.add(
        f"%keys = arith.constant {s} : index",
        f"%out:3 = scf.for %at = %c0 to %keys step %c{part} iter_args(%o = %empty, %m = %none, %l = %nothing) "
        f"-> ({kinds}) {{",
    )
    body.load("k", 1, (s, d), "f16", (part, d), "%at", "%c0").load("v", 2, (s, d), "f16", (part, d), "%at", "%c0")
    body.add(f"%kt = vector.transpose %k, [1, 0] : {vector((part, d), 'f16')} to {vector((d, part), 'f16')}")
    body.dpas("scores", "q", "kt", None, q, part, d, "f16", "f32")
    body.reduce("now", "maxnumf", "scores", "0xFF800000", scores, "f32").two(
        "most", "arith.maxnumf", "m", "now", rows, "f32"
    )
    body.spread("mosts", "most", scores, "f32").two("shifted", "arith.subf", "scores", "mosts", scores, "f32")
    body.one("power", "math.exp", "shifted", scores, "f32").reduce("sum", "add", "power", "0.0", scores, "f32")
    body.two("less", "arith.subf", "m", "most", rows, "f32").one("factor", "math.exp", "less", rows, "f32")
    body.two("kept", "arith.mulf", "l", "factor", rows, "f32").two("total", "arith.addf", "kept", "sum", rows, "f32")
    body.spread("factors", "factor", wide, "f32").two("scaled", "arith.mulf", "o", "factors", wide, "f32")
    body.cast("p", "arith.truncf", "power", scores, "f32", "f16")
    body.dpas("next", "p", "v", "scaled", q, d, part, "f16", "f32")
    body.add(f"scf.yield %next, %most, %total : {kinds}", "}")
    body.add(f"%sums_column = vector.shape_cast %out#2 : {vector(rows, 'f32')} to {vector((q, 1), 'f32')}")
    body.add(f"%sums = vector.broadcast %sums_column : {vector((q, 1), 'f32')} to {vector(wide, 'f32')}")
    body.add(f"%r = arith.divf %out#0, %sums : {vector(wide, 'f32')}").store("r", 3, wide, "f32", wide)
    arguments = (("f16", (q, d)), ("f16", (s, d)), ("f16", (s, d)), ("f32", (q, d)))
    return Kernel("flash_attention", str(body), arguments, lambda q, k, v: _softmax_of(q @ k.T) @ v, tolerance=4e-3)


def causal_mask() -> Kernel:
    """The softmax of scores of which a row sees no later column."""
    shape, line = (64, 64), (64,)
    body = Body().load("x", 0, shape, "f32", shape).add(f"%step = vector.step : {vector(line, 'index')}")
    body.add(f"%columns = vector.broadcast %step : {vector(line, 'index')} to {vector(shape, 'index')}")
    body.spread("rows", "step", shape, "index").fill("never", "0xFF800000", shape, "f32")
    body.add(f"%later = arith.cmpi ugt, %columns, %rows : {vector(shape, 'index')}")
    body.add(f"%seen = arith.select %later, %never, %x : {vector(shape, 'i1')}, {vector(shape, 'f32')}")
    _softmax_lines(body, "seen", "y", shape).store("y", 1, shape, "f32", shape)

    def define(x: Array) -> Array:
        return _softmax_of(np.where(np.triu(np.ones(shape), 1) > 0, -np.inf, x))

    return Kernel("causal_mask", str(body), (("f32", shape), ("f32", shape)), define)


def argmax() -> Kernel:
    """For each row the first column of its maximum."""
    shape, rows = (64, 64), (64,)
    body = Body().load("x", 0, shape, "f32", shape)
    body.reduce("row_most", "maxnumf", "x", "0xFF800000", shape, "f32").spread("most", "row_most", shape, "f32")
    body.add(f"%step = vector.step : {vector(rows, 'index')}")
    body.cast("count", "arith.index_cast", "step", rows, "index", "i32")
    body.add(f"%columns = vector.broadcast %count : {vector(rows, 'i32')} to {vector(shape, 'i32')}")
    body.fill("behind", "64", shape, "i32").add(f"%is = arith.cmpf oeq, %x, %most : {vector(shape, 'f32')}")
    body.add(f"%where = arith.select %is, %columns, %behind : {vector(shape, 'i1')}, {vector(shape, 'i32')}")
    body.reduce("first", "minsi", "where", "64", shape, "i32").store("first", 1, rows, "i32", rows)
    return Kernel("argmax", str(body), (("f32", shape), ("i32", rows)), lambda x: x.argmax(1))


def row_sums() -> Kernel:
    """The sum of every row."""
    shape, rows = (64, 128), (64,)
    body = Body().load("x", 0, shape, "f32", shape).reduce("s", "add", "x", "0.0", shape, "f32")
    body.store("s", 1, rows, "f32", rows)
    return Kernel("row_sums", str(body), (("f32", shape), ("f32", rows)), lambda x: x.sum(1), tolerance=1e-4)


def column_sums() -> Kernel:
    """The sum of every column, over all subgroups' rows."""
    shape, columns = (64, 128), (128,)
    body = Body().load("x", 0, shape, "f32", shape).reduce("s", "add", "x", "0.0", shape, "f32", 0)
    body.store("s", 1, columns, "f32", columns)
    return Kernel("column_sums", str(body), (("f32", shape), ("f32", columns)), lambda x: x.sum(0), tolerance=1e-4)


def total() -> Kernel:
    """The sum of all elements, subtracted from each."""
    shape = (64, 64)
    body = Body().load("x", 0, shape, "f32", shape).add("%none = arith.constant 0.0 : f32")
    body.add(f"%s = vector.multi_reduction <add>, %x, %none [0, 1] : {vector(shape, 'f32')} to f32")
    body.add(f"%all = vector.broadcast %s : f32 to {vector(shape, 'f32')}")
    body.two("y", "arith.subf", "x", "all", shape, "f32").store("y", 1, shape, "f32", shape)
    return Kernel("total", str(body), (("f32", shape), ("f32", shape)), lambda x: x - x.sum(), tolerance=1e-4)


def rope() -> Kernel:
    """Halves of rows rotated by an angle of their own, in two loads and two stores."""
    whole, half = (64, 128), (64, 64)
    body = Body().load("x", 0, whole, "f32", half).load("y", 0, whole, "f32", half, "%c0", "%c64")
    body.load("angle", 1, half, "f32", half).one("c", "math.cos", "angle", half, "f32").one(
        "s", "math.sin", "angle", half, "f32"
    )
    body.two("xc", "arith.mulf", "x", "c", half, "f32").two("ys", "arith.mulf", "y", "s", half, "f32")
    body.two("xs", "arith.mulf", "x", "s", half, "f32").two("yc", "arith.mulf", "y", "c", half, "f32")
    body.two("first", "arith.subf", "xc", "ys", half, "f32").two("second", "arith.addf", "xs", "yc", half, "f32")
    body.store("first", 2, whole, "f32", half).store("second", 2, whole, "f32", half, "%c0", "%c64")

    def define(x: Array, angle: Array) -> Array:
        first, second = x[:, :64], x[:, 64:]
        c, s = np.cos(angle), np.sin(angle)
        return np.concatenate([first * c - second * s, first * s + second * c], 1)

    return Kernel("rope", str(body), (("f32", whole), ("f32", half), ("f32", whole)), define)


def rope_interleaved() -> Kernel:
    """Neighbours in a row rotated by an angle: they are told apart, rotated, and put together."""
    whole, half = (32, 128), (32, 64)
    body = Body().load("x", 0, whole, "f32", whole).load("angle", 1, half, "f32", half)
    body.add(f"%even, %odd = vector.deinterleave %x : {vector(whole, 'f32')} -> {vector(half, 'f32')}")
    body.one("c", "math.cos", "angle", half, "f32").one("s", "math.sin", "angle", half, "f32")
    body.two("xc", "arith.mulf", "even", "c", half, "f32").two("ys", "arith.mulf", "odd", "s", half, "f32")
    body.two("xs", "arith.mulf", "even", "s", half, "f32").two("yc", "arith.mulf", "odd", "c", half, "f32")
    body.two("first", "arith.subf", "xc", "ys", half, "f32").two("second", "arith.addf", "xs", "yc", half, "f32")
    body.add(f"%y = vector.interleave %first, %second : {vector(half, 'f32')} -> {vector(whole, 'f32')}")
    body.store("y", 2, whole, "f32", whole)

    def define(x: Array, angle: Array) -> Array:
        even, odd, c, s = x[:, ::2], x[:, 1::2], np.cos(angle), np.sin(angle)
        return np.stack([even * c - odd * s, even * s + odd * c], -1).reshape(whole)

    return Kernel("rope_interleaved", str(body), (("f32", whole), ("f32", half), ("f32", whole)), define)


def gather() -> Kernel:
    """Elements of a table at places that are computed from loaded numbers."""
    line = (256,)
    body = Body().load("i", 0, line, "i32", line).fill("most", "7", line, "i32").fill("all", "true", line, "i1")
    body.two("small", "arith.andi", "i", "most", line, "i32").cast(
        "at", "arith.index_cast", "small", line, "i32", "index"
    )
    kinds = f"i64, {vector(line, 'index')}, {vector(line, 'i1')}"
    body.add(f"%x = xegpu.load %p1[%at], %all : {kinds} -> {vector(line, 'f32')}")
    body.store("x", 2, line, "f32", line)
    arguments = (("i32", line), ("f32", (8,)), ("f32", line))
    return Kernel("gather", str(body), arguments, lambda i, table: table[i & 7])


def transpose() -> Kernel:
    """A block, transposed."""
    body = Body().load("x", 0, (64, 128), "f32", (64, 128))
    body.add(f"%y = vector.transpose %x, [1, 0] : {vector((64, 128), 'f32')} to {vector((128, 64), 'f32')}")
    body.store("y", 1, (128, 64), "f32", (128, 64))
    return Kernel("transpose", str(body), (("f32", (64, 128)), ("f32", (128, 64))), lambda x: x.T)


def gemm_dynamic() -> Kernel:
    """A product over a depth that is known when the kernel starts."""
    m, n, k = 64, 64, 128
    loads = Body().load("a", 0, (m, k), "f16", (m, 32), "%c0", "%kk").load("b", 1, (k, n), "f16", (32, n), "%kk", "%c0")
    body = _product_loop(Body(), m, n, k, 32, str(loads)).store("acc", 2, (m, n), "f32", (m, n))
    text = str(body).replace("to %ck step", "to %n0 step")
    arguments = (("f16", (m, k)), ("f16", (k, n)), ("f32", (m, n)))

    def define(a: Array, b: Array, depth: int) -> Array:
        return np.asarray(a[:, :depth] @ b[:depth])

    return Kernel("gemm_dynamic", text, arguments, define, subgroups=8, numbers=(96,), tolerance=1e-4)


def array_length() -> Kernel:
    """Two blocks side by side by one message."""
    kind = "!xegpu.tensor_desc<16x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>"
    body = Body().add(f"%t = xegpu.create_nd_tdesc %p0, shape : [16, 32], strides : [32, 1] : i64 -> {kind}")
    body.add(f"%x = xegpu.load_nd %t[%c0, %c0] : {kind} -> vector<2x16x16xf16>")
    body.add("%l = vector.extract %x[0] : vector<16x16xf16> from vector<2x16x16xf16>")
    body.add("%r = vector.extract %x[1] : vector<16x16xf16> from vector<2x16x16xf16>")
    body.two("s", "arith.addf", "l", "r", (16, 16), "f16").store("s", 1, (16, 16), "f16", (16, 16))
    arguments = (("f16", (16, 32)), ("f16", (16, 16)))
    return Kernel("array_length", str(body), arguments, lambda x: x[:, :16] + x[:, 16:], subgroups=1, tolerance=2e-3)


MAKERS = (
    softmax, layer_norm, rms_norm, gemm_bias_gelu, gemm_transposed, gemm_batched, gemm_i8_dequantised, attention,
    flash_attention, causal_mask, argmax, row_sums, column_sums, total, rope, rope_interleaved, gather, transpose,
    gemm_dynamic, array_length,
)  # fmt: skip
UNANNOTATED = {made.name: made for made in (maker() for maker in MAKERS)}
