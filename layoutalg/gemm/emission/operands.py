"""Loads of A and B, and the operands of DPAS that are cut out of what they deliver.

A cut is a `vector.shuffle` straight after the load: it costs nothing, because the registers are where they shall be.

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 64, tile=(16, 32)))
>>> cut(kernel, kernel.constant(0.0, "f16", 4), 2, 2).kind
'vector<2xf16>'
>>> print(kernel.writer.text())
%0 = arith.constant dense<0.000000e+00> : vector<4xf16>
%1 = vector.shuffle %0, %0 [2, 3] : vector<4xf16>, vector<4xf16>
"""

from __future__ import annotations

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.errors import PlanError
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.messages import Message
from layoutalg.gemm.surface import Matrix

__all__ = ["HINTS", "cut", "descriptor", "descriptor_type", "load", "surface"]

HINTS = "l1_hint = #xegpu.cache_hint<cached>, l2_hint = #xegpu.cache_hint<cached>, l3_hint = #xegpu.cache_hint<cached>"


def descriptor_type(message: Message, element: str) -> str:
    """The type of the descriptor that a message needs.

    >>> from layoutalg.gemm import plan_gemm
    >>> descriptor_type(plan_gemm(64, 64, 64, tile=(32, 32), registers=256, k_step=32).messages[0], "f16")
    '!xegpu.tensor_desc<32x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>'
    """
    load = message.load
    if load.transpose:
        raise PlanError(f"{load.name}: transposed matrices are planned, and no kernel is written for them so far")
    blocks = f", #xegpu.block_tdesc_attr<array_length = {load.count} : i64>" if load.count > 1 else ""
    return f"!xegpu.tensor_desc<{load.rows}x{load.width}x{element}{blocks}>"


def surface(kernel: KernelWriter, matrix: Matrix) -> tuple[Value, Value, Value]:
    """Rows, columns and leading dimension of a matrix in memory, as values.

    >>> from layoutalg.gemm import plan_gemm
    >>> kernel = KernelWriter(plan_gemm(64, 32, 128))
    >>> [size.name for size in surface(kernel, kernel.gemm.matrices[1])]
    ['size_k', 'size_n', 'size_ldb']
    """
    problem, name = kernel.gemm.problem, matrix.name.lower()
    rows, columns = {
        "a": ("k", "m") if problem.trans_a else ("m", "k"),
        "b": ("n", "k") if problem.trans_b else ("k", "n"),
        "c": ("m", "n"),
    }[name]
    found = [kernel.index(kernel.arguments[size]) for size in (rows, columns, f"ld{name}")]
    return found[0], found[1], found[2]


def descriptor(kernel: KernelWriter, matrix: Matrix, base: Value, kind: str) -> Value:
    """A descriptor of a whole matrix in memory, for messages of one shape."""
    form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : {base.kind} -> {kind}"
    return kernel.writer.value(form, (base, *surface(kernel, matrix)), kind)


def load(
    kernel: KernelWriter, message: Message, described: Value, row: Value, column: Value
) -> dict[tuple[int, int], Value]:
    """Write the load and its cuts; returns the operands by (block, depth)."""
    element = kernel.gemm.element_of(message.operand)
    packed = ", packed" if message.load.transform else ""
    form = f"xegpu.load_nd %s[%s, %s] <{{{HINTS}{packed}}}> : {described.kind} -> vector<{message.length}x{element}>"
    loaded = kernel.writer.value(form, (described, row, column), element, message.length)
    found = {(piece.block, piece.depth): cut(kernel, loaded, piece.start, piece.count) for piece in message.pieces}
    for (block, depth), value in found.items():
        kernel.named(f"a{block}x{depth}" if message.operand == "A" else f"b{depth}x{block}", value)
    kernel.named(f"loaded_{message.operand.lower()}", loaded)
    return found


def cut(kernel: KernelWriter, value: Value, start: int, count: int) -> Value:
    """Some neighbouring elements of a lane's vector."""
    if count == value.size:
        return value
    places = ", ".join(map(str, range(start, start + count)))
    form = f"vector.shuffle %s, %s [{places}] : {value.kind}, {value.kind}"
    return kernel.writer.value(form, (value, value), value.element, count)
