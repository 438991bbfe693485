"""The end of a kernel whose loop computed C^T: each lane stores what it has of a row of C.

A lane's 8 accumulators are 8 rows of one column of C^T, so 8 neighbours in a row of C: in block (i, j) lane l has row
16 j + l and columns 8 i to 8 i + 7. They are 32 bytes of f32, which two stores of 16 bytes move; of f16 one store does. Rows
and columns outside of C are neither read nor written: one branch a block, behind the loop.

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 64, trans_a=True, trans_b=True, tile=(16, 8), transpose="roles"))
>>> kernel.writer.arguments += (accumulator := Value("f32", 8, "acc"),)
>>> zero = kernel.constant(0)
>>> store_rows(kernel, kernel.arguments["c"], {(0, 0): accumulator}, zero, zero)
>>> kernel.writer.text().count("llvm.store"), kernel.writer.text().count("scf.if")
(2, 1)
"""

from __future__ import annotations

from collections.abc import Mapping

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.elements import element_bits
from layoutalg.gemm.emission.arithmetic import arithmetic
from layoutalg.gemm.emission.epilogue import in_memory, numbers_of_blocks
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.operands import as_elements, cut
from layoutalg.gemm.problem import check_epilogue

__all__ = ["store_rows"]

_BYTES = 16
"""What a lane moves at once at most."""
_POINTER = "!llvm.ptr<1>"


def store_rows(
    kernel: KernelWriter, base: Value, held: Mapping[tuple[int, int], Value], row: Value, column: Value
) -> None:
    """Store the tile of C^T whose blocks are `held`; its corner is at `row`, `column` of C^T."""
    problem, unit = kernel.gemm.problem, kernel.gemm.dpas
    check_epilogue(problem)
    element = in_memory(kernel)
    bias = numbers_of_blocks(kernel, "bias", problem.bias, (row, column), unit.m, max(held))
    numbers = {place: bias(*place) for place in held}
    lane = kernel.once("lane", lambda: kernel.writer.value("gpu.lane_id", (), "index"))
    first, pitch = kernel.op("addi", column, lane), kernel.index(kernel.arguments["ldc"])
    ends = [kernel.index(kernel.arguments[name]) for name in ("n", "m")]
    size = kernel.constant(element_bits(element) // 8)
    for (i, j), accumulator in held.items():
        of_c = kernel.plus(first, j * unit.n), kernel.plus(row, i * unit.m)
        begin = kernel.once(("begin", j), lambda place=of_c[0]: kernel.op("muli", place, pitch), named=False)
        bytes_ = kernel.cast(kernel.op("muli", kernel.op("addi", begin, of_c[1]), size), "i64")
        address = kernel.op("addi", base, bytes_)
        below, beside = (
            kernel.once(("inside", place, end), lambda place=place, end=end: _below(kernel, place, end), named=False)
            for place, end in zip(of_c, ends, strict=True)
        )
        with kernel.region("scf.if %s {", (kernel.op("andi", below, beside),)):
            before = _load(kernel, address, element, unit.m) if problem.beta else None
            _store(kernel, address, arithmetic(kernel, problem, accumulator, numbers[i, j], before, stored=element))


def _below(kernel: KernelWriter, place: Value, end: Value) -> Value:
    return kernel.writer.value("arith.cmpi ult, %s, %s : index", (place, end), "i1")


def _pointer(kernel: KernelWriter, address: Value, further: int) -> Value:
    place = kernel.plus(address, further)
    return kernel.writer.value(f"llvm.inttoptr %s : i64 to {_POINTER}", (place,), _POINTER)


def _load(kernel: KernelWriter, address: Value, element: str, count: int) -> Value:
    """Neighbours in a row of C."""
    each = _BYTES * 8 // element_bits(element)
    parts: list[Value] = []
    for further in range(0, count * element_bits(element) // 8, _BYTES):
        words = Value("i32", _BYTES // 4)
        form = f"llvm.load %s : {_POINTER} -> {words.kind}"
        loaded = kernel.writer.value(form, (_pointer(kernel, address, further),), words.element, words.size)
        parts.append(as_elements(kernel, loaded, element))
    if len(parts) == 1:
        return parts[0]
    return cut(kernel, parts[0], range(2 * each), parts[1])


def _store(kernel: KernelWriter, address: Value, value: Value) -> None:
    """Store neighbours in a row of C."""
    each = _BYTES * 8 // element_bits(value.element)
    for number in range(0, value.size or 1, each):
        part = cut(kernel, value, range(number, number + each))
        words = as_elements(kernel, part, "i32")
        to = _pointer(kernel, address, number * element_bits(value.element) // 8)
        kernel.writer.do(f"llvm.store %s, %s : {words.kind}, {_POINTER}", (words, to))
