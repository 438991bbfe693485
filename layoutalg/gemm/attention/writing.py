"""What the kernel of attention is written with: its values, the matrices in memory, and the messages that load from them.

Of every matrix a subgroup has a descriptor for each shape of message; a message is at a row, which is a value, and a column,
which is a number of the kernel's text:

    %q = xegpu.load_nd %matrix_q[%row_index, 32] <{...}> : !xegpu.tensor_desc<16x16xf16, array_length = 2> -> vector<32xf16>

>>> from layoutalg.gemm.attention import plan_attention
>>> plan = plan_attention(64, 64, 80, target="bmg")
>>> kernel = KernelWriter(plan, RegionWriter([Value(kind, name=name) for name, kind in plan.parameters]))
>>> kernel.pairs()
[(0, 2), (2, 2), (4, 1)]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.region_writer import RegionWriter
from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.addresses import POINTER

if TYPE_CHECKING:
    from layoutalg.gemm.attention.plan import Attention

__all__ = ["CACHED", "LANES", "ROWS", "TWO", "KernelWriter"]

CACHED = ", ".join(f"l{level}_hint = #xegpu.cache_hint<cached>" for level in (1, 2, 3))
TWO = ", #xegpu.block_tdesc_attr<array_length = 2 : i64>"
ROWS = 8
"""Rows of one DPAS: a block of rows in registers is `vector<8x..>` in each lane, a register for each row."""
LANES = 16


class KernelWriter:
    """Writes the values of a planned kernel."""

    def __init__(self, plan: Attention, writer: RegionWriter) -> None:
        self.plan = plan
        self.problem = plan.problem
        self.writer = writer
        self.arguments = {str(value.name): value for value in writer.arguments}
        self.constants: dict[tuple[str, str], Value] = {}
        self.begins: dict[str, Value] = {}
        self.head: Value | None = None
        """Where the rows of a packed sequence begin, by matrix, and the head that a subgroup has of it."""
        self.row_blocks = plan.row_blocks
        self.depths = plan.depth_blocks
        self.scale = self.floats(f"{plan.problem.exponent_scale:.9e}", "scale")

    def let(self, form: str, operands: Sequence[Value], element: str, size: int | None = None, name: str = "") -> Value:
        """The result of an operation, written with `%s` for its operands."""
        value = self.writer.value(form, operands, element, size)
        value.name = name or None
        return value

    def constant(self, text: str, element: str, size: int | None = None, name: str = "") -> Value:
        """A constant, written once, at the beginning of the kernel."""
        kind = element if size is None else f"vector<{size}x{element}>"
        if (text, kind) not in self.constants:
            with self.writer.at_entry():
                self.constants[text, kind] = self.let(f"arith.constant {text} : {kind}", (), element, size, name)
        return self.constants[text, kind]

    def number(self, number: int, element: str = "i32") -> Value:
        """A whole number."""
        name = f"c{number}".replace("-", "m") + ("" if element == "index" else f"_{element}")
        return self.constant(str(number), element, name=name)

    def floats(self, text: str, name: str) -> Value:
        """A number of f32 for each of eight rows."""
        return self.constant(f"dense<{text}>", "f32", ROWS, name)

    def binary(self, operation: str, left: Value, right: Value, name: str = "") -> Value:
        """An operation of `arith` on two values of one type."""
        return self.let(f"arith.{operation} %s, %s : {left.kind}", (left, right), left.element, left.size, name)

    def cast(self, value: Value, element: str, name: str = "") -> Value:
        """A whole number as an index, or an index as a whole number."""
        return self.let(f"arith.index_cast %s : {value.kind} to {element}", (value,), element, name=name)

    def larger(self, left: Value, right: Value, name: str = "") -> Value:
        """Compared and selected: of both forms of a maximum the one that becomes one instruction (`sel`)."""
        return self.select(self.compared("ogt", left, right), left, right, name)

    def compared(self, order: str, left: Value, right: Value, name: str = "") -> Value:
        """Whether numbers are above others, or in another order: `ogt`, `olt`, `oge`, `oeq`; `ugt` holds for a NaN as well."""
        return self.let(f"arith.cmpf {order}, %s, %s : {left.kind}", (left, right), "i1", left.size, name)

    def select(self, condition: Value, left: Value, right: Value, name: str = "") -> Value:
        """The left value where the condition holds, else the right one."""
        kinds = left.kind if condition.size is None else f"{condition.kind}, {left.kind}"
        return self.let(f"arith.select %s, %s, %s : {kinds}", (condition, left, right), left.element, left.size, name)

    def exp2(self, value: Value, name: str) -> Value:
        """`afn` allows the hardware's own exp2 (math.exp), without a treatment of denormal numbers around it."""
        return self.let(f"math.exp2 %s fastmath<afn> : {value.kind}", (value,), value.element, value.size, name)

    def gathered(self, parts: Sequence[Value]) -> Value:
        """Numbers of eight rows as one value."""
        marks = ", ".join(["%s"] * len(parts))
        kind = f"vector<{len(parts)}xf32>"
        return self.let(f"vector.from_elements {marks} : {kind}", parts, "f32", len(parts))

    def rows_of(self, value: Value) -> list[Value]:
        """The numbers of the eight rows."""
        return [self.let(f"vector.extract %s[{row}] : f32 from {value.kind}", (value,), "f32") for row in range(ROWS)]

    def loaded_number(self, array: str, place: Value, name: str) -> Value:
        """One of the whole numbers of an array in memory, the same for all lanes."""
        far = self.binary("muli", self.let("arith.extui %s : i32 to i64", (place,), "i64"), self.number(4, "i64"))
        address = self.binary("addi", self.arguments[array], far)
        pointer = self.let(f"llvm.inttoptr %s : i64 to {POINTER}", (address,), POINTER)
        return self.let(f"llvm.load %s : {POINTER} -> i32", (pointer,), "i32", name=name)

    # Matrices in memory

    def describe(self) -> None:
        """Of every matrix one descriptor for each shape of message: the last one of a row may have to bring one block."""
        sizes = {name: self.arguments[name] for name in ("queries", "keys")}
        head = self.head
        if head is not None:  # a sequence may have no row
            sizes = {name: self.binary("maxsi", size, self.number(1)) for name, size in sizes.items()}
        elif self.plan.grid[2] > 1:
            head = self.let("gpu.block_id z", (), "index")
        queries, keys = (self.cast(size, "index", f"{name}_index") for name, size in sizes.items())
        self.described: dict[tuple[str, int], Value] = {}
        d, store, element = self.problem.d, self.plan.store, self.problem.type
        self.pitches = {name: self._pitch(name, 1) for name in "QKVO"}
        shapes = [("O", 1, f"{store.rows}x{store.width}x{self.problem.out}", d)]
        for name, load in self.plan.loads.items():
            if load.transpose:
                shapes.append((name, 1, f"{load.rows}x{load.width // 2}xi32", d // 2))
                continue
            shapes += [(name, 2, f"{load.rows}x{load.width}x{element}{TWO}", d)] * (self.depths > 1)
            shapes += [(name, 1, f"{load.rows}x{load.width}x{element}", d)] * (self.depths % 2)
        self.pointers = {name: self._of_head(name, head) for name in "QKVO"}
        for name, count, shape, width in shapes:
            kind = f"!xegpu.tensor_desc<{shape}>"
            pitch = self.pitches[name] if width == d else self._pitch(name, 2)
            matrix, height = self.pointers[name], keys if name in "KV" else queries
            self.described[name, count] = self.matrix(matrix, height, width, pitch, kind, f"matrix_{name.lower()}")

    def matrix(self, pointer: Value, height: Value, width: int, pitch: Value | None, kind: str, name: str) -> Value:
        """A descriptor; where no pitch is given, rows follow one another."""
        if pitch is None:
            form = f"xegpu.create_nd_tdesc %s, shape : [%s, {width}], strides : [{width}, 1] : i64 -> {kind}"
            return self.let(form, (pointer, height), kind, name=name)
        form = f"xegpu.create_nd_tdesc %s, shape : [%s, {width}], strides : [%s, 1] : i64 -> {kind}"
        return self.let(form, (pointer, height, pitch), kind, name=name)

    def _pitch(self, name: str, each: int) -> Value | None:
        """From row to row of a matrix with gaps, in units of `each` elements.

        The lowering multiplies by the bytes of a unit. Of a number halved and then multiplied by four the graphics compiler
        makes one that it writes into every message anew; the hidden zero keeps it from that.
        """
        if self.problem.without_gaps:
            return None
        pitch = self.arguments[f"ld{name.lower()}"]
        if each > 1:
            pitch = self.binary("divui", pitch, self.number(each))
            pitch = self.binary("xori", pitch, self.binary("shrsi", self.arguments["keys"], self.number(31)))
        return self.cast(pitch, "index", f"pitch_{name.lower()}")

    def _of_head(self, name: str, head: Value | None) -> Value:
        """Where the matrix of this head begins."""
        pointer = self.arguments[name.lower()]
        if head is None:
            return pointer
        problem, group = self.problem, self.problem.heads // self.problem.kv_heads
        matrix = head
        if problem.order == "bshd" and not self.begins:
            heads = self.number(problem.heads, "index")
            matrix, head = self.binary("divui", head, heads), self.binary("remui", head, heads)
        if name in "KV" and group > 1:
            head = self.binary("divui", head, self.number(group, "index"))
        if problem.order == "bhsd":
            matrix = head
        if self.begins:
            row = self.let("arith.extui %s : i32 to i64", (self.begins[name],), "i64")
            pitch = self.let("arith.extui %s : i32 to i64", (self.arguments[f"ld{name.lower()}"],), "i64")
            return self._column(name, pointer, self.binary("muli", row, pitch), head)
        stride = self.arguments["stride_kv" if problem.without_gaps and name in "KV" else f"stride_{name.lower()}"]
        elements = self.binary("muli", self.cast(matrix, "i64"), stride)
        return self._column(name, pointer, elements, head)

    def _column(self, name: str, pointer: Value, elements: Value, head: Value) -> Value:
        """The address some elements further on, at the columns of a head where heads are side by side."""
        problem = self.problem
        if problem.order == "bshd":
            column = self.binary("muli", self.cast(head, "i64"), self.number(problem.d, "i64"))
            elements = self.binary("addi", elements, column, f"{name.lower()}_of_head")
        wide = name == "O" and problem.out == "f32"
        return self.binary("addi", pointer, self.binary("muli", elements, self.number(4 if wide else 2, "i64")))

    def load(self, name: str, count: int, place: tuple[Value, int], result: tuple[str, int], word: str = "") -> Value:
        """A message of `count` blocks side by side, at a row and a column."""
        matrix, (row, column), (element, size) = self.described[name, count], place, result
        properties = ", ".join(filter(None, (CACHED, word)))
        form = f"xegpu.load_nd %s[%s, {column}] <{{{properties}}}> : {matrix.kind} -> vector<{size}x{element}>"
        return self.let(form, (matrix, row), element, size, name.lower())

    def part(self, value: Value, start: int, count: int) -> Value:
        """Some neighbouring elements of a value."""
        if count == value.size:
            return value
        places = ", ".join(str(start + place) for place in range(count))
        form = f"vector.shuffle %s, %s [{places}] : {value.kind}, {value.kind}"
        return self.let(form, (value, value), value.element, count)

    def at(self, base: Value, offset: int) -> Value:
        """A row as an index, some rows further on."""
        if not offset:
            return base
        return self.binary("addi", base, self.number(offset, "index"))

    def pairs(self) -> list[tuple[int, int]]:
        """The blocks along d by messages: the first one's number and how many there are, 2 or 1."""
        return [(first, min(2, self.depths - first)) for first in range(0, self.depths, 2)]

    def queries(self, row: Value, first: int, count: int) -> list[list[Value]]:
        """From a row on, blocks of 16 columns of Q as DPAS wants A, each in blocks of 8 rows."""
        rows = self.plan.rows
        held = self.load("Q", count, (row, 16 * first), (self.problem.type, count * rows))
        starts = [half * rows for half in range(count)]
        return [[self.part(held, start + i * ROWS, ROWS) for i in range(self.row_blocks)] for start in starts]

    def keys(self, row: Value, depth: int) -> Value:
        """16 keys as DPAS wants B, 16 deep. The message transposes pairs of elements as numbers of 32 bits."""
        word = "transpose = array<i64: 1, 0>"
        held = self.load("K", 1, (row, 8 * depth), ("i32", 8), word)
        element = self.problem.type
        return self.let(f"vector.bitcast %s : {held.kind} to vector<16x{element}>", (held,), element, 16)

    # Arithmetic

    def dpas(self, a: Value, b: Value, c: Value, name: str) -> Value:
        """C + A B."""
        form = f"xegpu.dpas %s, %s, %s : {a.kind}, {b.kind}, {c.kind} -> {c.kind}"
        return self.let(form, (a, b, c), c.element, c.size, name)

    def rounded(self, value: Value, element: str) -> Value:
        """Numbers of eight rows in another type."""
        if element == "f32":
            return value
        return self.let(f"arith.truncf %s : {value.kind} to vector<{ROWS}x{element}>", (value,), element, ROWS)

    def less(self, left: Value, right: Value) -> Value:
        """Whether whole numbers are below others."""
        return self.let(f"arith.cmpi slt, %s, %s : {left.kind}", (left, right), "i1", left.size)

    def spread(self, value: Value) -> Value:
        """A number for each of eight rows."""
        form = f"vector.broadcast %s : {value.kind} to vector<{ROWS}x{value.kind}>"
        return self.let(form, (value,), value.element, ROWS)
