"""The end of the XeGPU kernel at lane level: what `arithmetic` makes of the accumulators is stored, one block after the other.

exp and the division are the device's: OpenCL allows 3 and 2.5 units of the last place. Of LLVM 22, whose SPIR-V has no bf16,
the messages move the bits.

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 64, tile=(8, 16), c="bf16", llvm=22))
>>> place, base = kernel.constant(0), kernel.constant(64, "i64")
>>> kernel.writer.arguments += (accumulator := Value("f32", 8, "acc"),)
>>> finish(kernel, base, {(0, 0): accumulator}, place, place)
>>> kernel.writer.text().count("arith.shrui"), in_memory(kernel)
(2, 'i16')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import rules
from layoutalg.gemm.emission.arithmetic import arithmetic, as_computed
from layoutalg.gemm.emission.edges import Lanes, numbers_of_columns
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.operands import descriptor
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.product import with_fractions

__all__ = ["check_epilogue", "finish", "in_memory"]


def check_epilogue(problem: Problem) -> None:
    """Refuse arithmetic that integers can't do.

    Raises `PlanError`: C is s32 and the epilogue needs fractions; says what would fit.

    >>> check_epilogue(Problem.of(64, 64, 64, "s8", alpha=0.5))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: c = 's32' with alpha = 0.5: s32 is stored as the sum of integers, alpha = 1, beta = 0 or \
1, activation None or relu; c = 'f32' takes the others
    """
    if problem.c != "s32":
        return
    if wrong := with_fractions(problem):
        raise PlanError(
            f"c = 's32' with {' and '.join(wrong)}: s32 is stored as the sum of integers, alpha = 1, beta = 0 or 1, "
            "activation None or relu; c = 'f32' takes the others"
        )


def finish(
    kernel: KernelWriter,
    base: Value,
    held: Mapping[tuple[int, int], Value],
    row: Value,
    column: Value,
    *,
    rows: int | None = None,
) -> None:
    """Store the tile whose blocks are `held`, by (row block, column block); its corner is at `row`, `column`.

    A block has `rows` rows, those of a DPAS unless given.
    """
    unit, matrix, problem = kernel.gemm.dpas, kernel.gemm.matrices[2], kernel.gemm.problem
    check_epilogue(problem)
    element = in_memory(kernel)
    rows = unit.m if rows is None else rows
    kind = f"!xegpu.tensor_desc<{rows}x{unit.n}x{element}>"
    lanes = Lanes(kernel, "C", base, (row, column), element) if "C" in problem.edges else None
    described = base if lanes else kernel.named("matrix_c", descriptor(kernel, matrix, base, kind))
    bias = _bias(kernel, row, column, rows, max(held))
    for (i, j), accumulator in held.items():
        place = (kernel.plus(row, i * rows), kernel.plus(column, j * unit.n))
        before = None
        if problem.beta and lanes:
            before = lanes.load((i * unit.m, j * unit.n))
        elif problem.beta:
            form = f"xegpu.load_nd %s[%s, %s] : {kind} -> vector<{rows}x{element}>"
            before = kernel.writer.value(form, (described, *place), element, rows)
        value = arithmetic(kernel, problem, accumulator, bias(i, j), before, stored=element)
        if lanes:
            lanes.store(value, (i * unit.m, j * unit.n))
            continue
        kernel.writer.do(f"xegpu.store_nd %s, %s[%s, %s] : {value.kind}, {kind}", (value, described, *place))


def in_memory(kernel: KernelWriter) -> str:
    """The element of the messages that move C and the bias: C's, but i16 for bf16 with LLVM 22, whose SPIR-V has no bf16.

    >>> from layoutalg.gemm import plan_gemm
    >>> [in_memory(KernelWriter(plan_gemm(64, 64, 64, c="bf16", llvm=llvm))) for llvm in (22, 23)]
    ['i16', 'bf16']
    """
    element = kernel.gemm.element_of("C")
    as_words = element == "bf16" and kernel.gemm.accumulator != "bf16" and not rules(kernel.gemm.llvm).spirv_bf16
    return "i16" if as_words else element


def _bias(
    kernel: KernelWriter, row: Value, column: Value, high: int, last: tuple[int, int]
) -> Callable[[int, int], Value | None]:
    """What gives the bias of a block in the type of the arithmetic; each number is loaded once.

    Blocks are `high` rows each, up to block `last`.
    """
    unit, kind = kernel.gemm.dpas, kernel.gemm.problem.bias
    if kind is None:
        return lambda i, j: None
    if kind == "column":
        blocks = [_bias_of_columns(kernel, kernel.plus(column, j * unit.n), high) for j in range(last[1] + 1)]
        return lambda i, j: blocks[j]
    lanes = unit.subgroup_size
    loaded = [_bias_of_rows(kernel, kernel.plus(row, start)) for start in range(0, (last[0] + 1) * high, lanes)]
    rows: dict[int, Value] = {}

    def of_rows(i: int, j: int) -> Value:
        if i not in rows:
            first = i * high
            rows[i] = _given_to_all(kernel, loaded[first // lanes], first % lanes, high)
        return rows[i]

    return of_rows


def _bias_of_columns(kernel: KernelWriter, column: Value, high: int) -> Value:
    """The numbers of a block's columns: a lane has one column, and its number for all rows.

    They are read as a matrix of one row, which has the width and the pitch of C and so what a block message needs.
    """
    element = in_memory(kernel)
    number = _number_of_column(kernel, column, element)
    number = as_computed(kernel, kernel.gemm.problem, number)
    made = Value(number.element, high)
    return kernel.writer.value(
        f"vector.broadcast %s : {number.kind} to {made.kind}", (number,), made.element, made.size
    )


def _number_of_column(kernel: KernelWriter, column: Value, element: str) -> Value:
    if "C" in kernel.gemm.problem.edges:
        return numbers_of_columns(kernel, column, element)
    kind = f"!xegpu.tensor_desc<1x{kernel.gemm.dpas.n}x{element}>"
    sizes = [kernel.constant(1), *(kernel.index(kernel.arguments[name]) for name in ("n", "ldc"))]
    form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : i64 -> {kind}"
    described = kernel.once("bias", lambda: kernel.writer.value(form, (kernel.arguments["bias"], *sizes), kind))
    place = (described, kernel.constant(0), column)
    loaded = kernel.writer.value(f"xegpu.load_nd %s[%s, %s] : {kind} -> vector<1x{element}>", place, element, 1)
    return kernel.writer.value(f"vector.extract %s[0] : {element} from {loaded.kind}", (loaded,), element)


def _bias_of_rows(kernel: KernelWriter, row: Value) -> Value:
    """The numbers of as many rows as there are lanes: lane l has that of row l. Rows outside of C are not read and give 0.

    A gather, because the m numbers may be fewer than a block message needs.
    """
    writer, element = kernel.writer, in_memory(kernel)
    lane = kernel.once("lane", lambda: kernel.writer.value("gpu.lane_id", (), "index"))
    place = kernel.op("addi", row, lane)
    inside = writer.value("arith.cmpi ult, %s, %s : index", (place, kernel.index(kernel.arguments["m"])), "i1")
    form = f"xegpu.load %s[%s], %s : i64, index, i1 -> {element}"
    loaded = writer.value(form, (kernel.arguments["bias"], place, inside), element)
    loaded = as_computed(kernel, kernel.gemm.problem, loaded)
    zero = kernel.constant(0 if loaded.element == "i32" else 0.0, loaded.element)
    return writer.value(f"arith.select %s, %s, %s : {loaded.kind}", (inside, loaded, zero), loaded.element)


def _given_to_all(kernel: KernelWriter, loaded: Value, first: int, count: int) -> Value:
    """Some lanes' numbers as registers of every lane; shuffles from constant lanes are no more than operands' regions."""
    width = kernel.constant(kernel.gemm.dpas.subgroup_size, "i32")
    numbers: list[Value] = []
    for lane in range(first, first + count):
        number, valid = Value(loaded.element), Value("i1")
        operands = (loaded, kernel.constant(lane, "i32"), width)
        kernel.writer.values(f"gpu.shuffle idx %s, %s, %s : {loaded.kind}", operands, (number, valid))
        numbers.append(number)
    kind = Value(loaded.element, count).kind
    form = f"vector.from_elements {', '.join(['%s'] * count)} : {kind}"
    return kernel.writer.value(form, numbers, loaded.element, count)
