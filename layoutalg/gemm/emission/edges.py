"""Matrices that no block message reaches, moved element by element: each lane its own, under a mask.

A layout is separable: the row of register r in lane l is one number for r plus one for l, and so is the column. A lane computes
its part once, and a register adds a constant. By hand, A of f16: lane l has column l, and register r is row r, so element
(row + r, step + l) is at offset `(row + r) * lda + step + l` in elements:

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 50, tile=(8, 16)))
>>> lanes = Lanes(kernel, "A", kernel.arguments["a"], (kernel.constant(0), kernel.constant(0)))
>>> lanes.load((0, 0)).kind
'vector<8xf16>'
>>> kernel.writer.text().count("xegpu.load"), kernel.writer.text().count("arith.muli")
(8, 8)

Elements outside of the matrix are not touched: they read as 0, which adds nothing to a sum, and are not stored. Elements of 16
bits move as integers, because LLVM 22 has no bf16 in SPIR-V.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.factors import Factor
from layoutalg.core.fragments import fragment_map
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.operands import surface

__all__ = ["Lanes", "numbers_of_columns"]


class Lanes:
    """One matrix as lanes see it: fragments of A, B or C at a place, loaded and stored by elements.

    `corner` is where the tile begins: row and column of the operand, not of the matrix in memory. `element` is what fragments
    are made of, the matrix's unless given.
    """

    def __init__(
        self, kernel: KernelWriter, operand: str, base: Value, corner: tuple[Value, Value], element: str = ""
    ) -> None:
        self.kernel = kernel
        self.operand = operand
        self.base = base
        problem, unit = kernel.gemm.problem, kernel.gemm.dpas
        self.matrix = kernel.gemm.matrices["ABC".index(operand)]
        self.element = element or self.matrix.element
        self.transposed = {"A": problem.trans_a, "B": problem.trans_b, "C": False}[operand]
        self.layout = {"A": unit.a, "B": unit.b, "C": unit.c}[operand]
        rows, columns, self.pitch = surface(kernel, self.matrix)
        self.ends = (columns, rows) if self.transposed else (rows, columns)
        self.corner = corner
        self.of_registers = fragment_map(self.layout, lane=0).reshape(-1, 2).tolist()
        """Row and column of each register in lane 0; a lane adds its own part."""

    @property
    def moved(self) -> str:
        """The MLIR type that a load or store moves."""
        element = self.matrix.element
        return "i16" if element == "bf16" else element

    def load(self, offset: tuple[int, int], step: Value | None = None) -> Value:
        """The fragment at an offset from the corner, as the matrix's elements; `step` is added along k."""
        kernel, loaded = self.kernel, list[Value]()
        zero = kernel.constant(0 if self.moved[0] == "i" else 0.0, self.moved)
        for place, inside in self._places(offset, step):
            form = f"xegpu.load %s[%s], %s : i64, index, i1 -> {self.moved}"
            found = kernel.writer.value(form, (self.base, place, inside), self.moved)
            form = f"arith.select %s, %s, %s : {self.moved}"
            loaded.append(kernel.writer.value(form, (inside, found, zero), self.moved))
        form = f"vector.from_elements {', '.join(['%s'] * len(loaded))} : vector<{len(loaded)}x{self.moved}>"
        return self._as(kernel.writer.value(form, loaded, self.moved, len(loaded)), self.element)

    def store(self, value: Value, offset: tuple[int, int]) -> None:
        """Store a fragment at an offset from the corner."""
        kernel, value = self.kernel, self._as(value, self.moved)
        for number, (place, inside) in enumerate(self._places(offset, None)):
            element = kernel.writer.value(
                f"vector.extract %s[{number}] : {value.element} from {value.kind}", (value,), value.element
            )
            form = f"xegpu.store %s, %s[%s], %s : {self.moved}, i64, index, i1"
            kernel.writer.do(form, (element, self.base, place, inside))

    def _as(self, value: Value, element: str) -> Value:
        if value.element == element:
            return value
        made = Value(element, value.size)
        return self.kernel.writer.value(
            f"vector.bitcast %s : {value.kind} to {made.kind}", (value,), element, value.size
        )

    def _places(self, offset: tuple[int, int], step: Value | None) -> Sequence[tuple[Value, Value]]:
        """For every register: the offset of this lane's element in the matrix, in elements, and whether it is inside."""
        kernel = self.kernel
        along = {"A": 1, "B": 0, "C": None}[self.operand]
        starts = [self._start(axis, step if axis == along else None) for axis in (0, 1)]
        found: list[tuple[Value, Value]] = []
        for own in self.of_registers:
            place = [kernel.plus(start, more + part) for start, more, part in zip(starts, offset, own, strict=True)]
            row, column = place[::-1] if self.transposed else place
            begin = self._begin(row)
            inside = [self._inside(one, end) for one, end in zip(place, self.ends, strict=True)]
            found.append((kernel.op("addi", begin, column), kernel.op("andi", *inside)))
        return found

    def _begin(self, row: Value) -> Value:
        """The offset at which a row begins, in elements."""
        return self._shared("row", (row,), lambda: self.kernel.op("muli", row, self.pitch))

    def _start(self, axis: int, step: Value | None) -> Value:
        """This lane's row or column in the fragment at the corner."""
        kernel = self.kernel

        def make() -> Value:
            place = self.corner[axis] if step is None else step
            if (own := _lane_part(kernel, self.layout.dims[axis])) is not None:
                place = kernel.op("addi", place, own)
            return place

        return self._shared(f"start {axis}", (self.corner[axis] if step is None else step,), make)

    def _inside(self, place: Value, end: Value) -> Value:
        def make() -> Value:
            return self.kernel.writer.value("arith.cmpi ult, %s, %s : index", (place, end), "i1")

        return self._shared("inside", (place, end), make)

    def _shared(self, name: str, of: tuple[Value, ...], make: Callable[[], Value]) -> Value:
        """A value that the fragments of a region share."""
        return self.kernel.once((self.operand, name, *of), make, named=False)


def _lane_part(kernel: KernelWriter, factors: Sequence[Factor]) -> Value | None:
    """The part of a coordinate that the lane decides; nothing where it decides none."""
    lane = kernel.once("lane", lambda: kernel.writer.value("gpu.lane_id", (), "index"))
    lanes, weight = kernel.gemm.dpas.subgroup_size, 1
    total: Value | None = None
    for factor in reversed(factors):
        extent, stride = int(factor.extent), int(factor.stride)
        if factor.axis == "lane":
            part = lane if stride == 1 else kernel.op("divui", lane, kernel.constant(stride))
            part = part if stride * extent == lanes else kernel.op("remui", part, kernel.constant(extent))
            part = part if weight == 1 else kernel.op("muli", part, kernel.constant(weight))
            total = part if total is None else kernel.op("addi", total, part)
        weight *= extent
    return total


def numbers_of_columns(kernel: KernelWriter, column: Value, element: str) -> Value:
    """The bias of this lane's column, from a column on; columns outside of C are not read and give 0."""
    writer = kernel.writer
    lane = kernel.once("lane", lambda: writer.value("gpu.lane_id", (), "index"))
    place = kernel.op("addi", column, lane)
    inside = writer.value("arith.cmpi ult, %s, %s : index", (place, kernel.index(kernel.arguments["n"])), "i1")
    form = f"xegpu.load %s[%s], %s : i64, index, i1 -> {element}"
    loaded = writer.value(form, (kernel.arguments["bias"], place, inside), element)
    zero = kernel.constant(0 if element[0] == "i" else 0.0, element)
    return writer.value(f"arith.select %s, %s, %s : {element}", (inside, loaded, zero), element)
