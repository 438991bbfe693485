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
from layoutalg.core.llvm_versions import rules
from layoutalg.gemm.emission.arithmetic import arithmetic, as_computed
from layoutalg.gemm.emission.edges import Lanes, numbers_of_columns
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.operands import descriptor
from layoutalg.gemm.problem import check_epilogue

__all__ = ["finish", "in_memory", "numbers_of_blocks"]


def finish(
    kernel: KernelWriter,
    base: Value,
    held: Mapping[tuple[int, int], Value],
    row: Value,
    column: Value,
    *,
    rows: int | None = None,
) -> None:
    """Store the tile, or some blocks of it, by (row block, column block); its corner is at `row`, `column`.

    A block has `rows` rows, those of a DPAS unless given.
    """
    unit, matrix, problem = kernel.gemm.dpas, kernel.gemm.matrices[2], kernel.behind
    check_epilogue(problem)
    element = in_memory(kernel)
    rows = unit.m if rows is None else rows
    kind = f"!xegpu.tensor_desc<{rows}x{unit.n}x{element}>"
    lanes = Lanes(kernel, "C", base, (row, column), element) if "C" in problem.edges else None
    described = base if lanes else kernel.named("matrix_c", descriptor(kernel, matrix, base, kind))
    second: dict[tuple[int, int], Value] = {}
    if problem.gated:
        half = (max(held)[1] + 1) // 2
        second = {(i, j - half): value for (i, j), value in held.items() if j >= half}
        held = {(i, j): value for (i, j), value in held.items() if j < half}
    corner, last = (row, column), (max(i for i, _ in held), max(j for _, j in held))
    bias = numbers_of_blocks(kernel, "bias", problem.bias, corner, rows, last)
    scales = [numbers_of_blocks(kernel, f"{side}_scale", side, corner, rows, last) for side in problem.scaled]
    for (i, j), accumulator in held.items():
        place = (kernel.plus(row, i * rows), kernel.plus(column, j * unit.n))
        before = None
        if problem.beta and lanes:
            before = lanes.load((i * unit.m, j * unit.n))
        elif problem.beta:
            form = f"xegpu.load_nd %s[%s, %s] : {kind} -> vector<{rows}x{element}>"
            before = kernel.writer.value(form, (described, *place), element, rows)
        factors = [factor for scale in scales if (factor := scale(i, j)) is not None]
        other = second.get((i, j))
        value = arithmetic(
            kernel, problem, accumulator, bias(i, j), before, second=other, scales=factors, stored=element
        )
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


def numbers_of_blocks(
    kernel: KernelWriter, name: str, side: str | None, corner: tuple[Value, Value], high: int, last: tuple[int, int]
) -> Callable[[int, int], Value | None]:
    """What gives a block's numbers of the argument `name`, in the type of the arithmetic; each number is loaded once.

    There is one for each row or column, or (side None) nothing. Blocks are `high` rows each, up to block `last`.
    """
    (row, column), unit = corner, kernel.gemm.dpas
    if side is None:
        return lambda i, j: None
    if side == "column":
        blocks = [_of_columns(kernel, name, kernel.plus(column, j * unit.n), high) for j in range(last[1] + 1)]
        return lambda i, j: blocks[j]
    lanes = unit.subgroup_size
    loaded = [_of_rows(kernel, name, kernel.plus(row, start)) for start in range(0, (last[0] + 1) * high, lanes)]
    rows: dict[int, Value] = {}

    def of_rows(i: int, j: int) -> Value:
        if i not in rows:
            first = i * high
            rows[i] = _given_to_all(kernel, loaded[first // lanes], first % lanes, high)
        return rows[i]

    return of_rows


def _element(kernel: KernelWriter, name: str) -> str:
    """A bias has C's type in memory, scales are f32."""
    return in_memory(kernel) if name == "bias" else "f32"


def _of_columns(kernel: KernelWriter, name: str, column: Value, high: int) -> Value:
    """The numbers of a block's columns: a lane has one column, and its number for all rows.

    A bias is read as a matrix of one row, which has the width and the pitch of C and so what a block message needs. Scales may
    be wider than C, and no message is that wide: they are gathered.
    """
    element = _element(kernel, name)
    gathered = name != "bias" or kernel.turned or "C" in kernel.behind.edges or kernel.behind.groups
    number = (numbers_of_columns if gathered else _row_of_matrix)(kernel, name, column, element)
    number = as_computed(kernel, kernel.behind, number)
    made = Value(number.element, high)
    return kernel.writer.value(
        f"vector.broadcast %s : {number.kind} to {made.kind}", (number,), made.element, made.size
    )


def _row_of_matrix(kernel: KernelWriter, name: str, column: Value, element: str) -> Value:
    kind = f"!xegpu.tensor_desc<1x{kernel.gemm.dpas.n}x{element}>"
    sizes = [kernel.constant(1), *(kernel.index(kernel.arguments[size]) for size in ("n", "ldc"))]
    form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : i64 -> {kind}"
    described = kernel.once(name, lambda: kernel.writer.value(form, (kernel.arguments[name], *sizes), kind))
    place = (described, kernel.constant(0), column)
    loaded = kernel.writer.value(f"xegpu.load_nd %s[%s, %s] : {kind} -> vector<1x{element}>", place, element, 1)
    return kernel.writer.value(f"vector.extract %s[0] : {element} from {loaded.kind}", (loaded,), element)


def _of_rows(kernel: KernelWriter, name: str, row: Value) -> Value:
    """The numbers of as many rows as there are lanes: lane l has that of row l. Rows outside of C are not read and give 0.

    A gather, because the m numbers may be fewer than a block message needs.
    """
    writer, element = kernel.writer, _element(kernel, name)
    lane = kernel.once("lane", lambda: kernel.writer.value("gpu.lane_id", (), "index"))
    place = kernel.op("addi", row, lane)
    inside = writer.value("arith.cmpi ult, %s, %s : index", (place, kernel.index(kernel.arguments["m"])), "i1")
    form = f"xegpu.load %s[%s], %s : i64, index, i1 -> {element}"
    loaded = writer.value(form, (kernel.arguments[name], place, inside), element)
    loaded = as_computed(kernel, kernel.behind, loaded)
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
