"""Loads of A and B, and the operands of DPAS that are cut out of what they deliver.

A cut is a `vector.shuffle` straight after the load. Where the registers are in the operand's order it costs nothing:

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 64, tile=(16, 32)))
>>> cut(kernel, kernel.constant(0.0, "f16", 4), (2, 3)).kind
'vector<2xf16>'
>>> print(kernel.writer.text())
%0 = arith.constant dense<0.000000e+00> : vector<4xf16>
%1 = vector.shuffle %0, %0 [2, 3] : vector<4xf16>, vector<4xf16>

A transposed matrix is read through messages of 32 bits, so a matrix of 64x48 elements of f16 is one of 64x24 for them, and the
place along its rows is halved. Along k that place is the loop's counter: it counts in the largest unit that a message has, and
where another message needs elements, the counter is multiplied:

>>> gemm = plan_gemm(64, 64, 48, tile=(16, 32), trans_b=True)
>>> kernel = KernelWriter(gemm)
>>> counter_unit(gemm.messages)
2
>>> depth = Depth(kernel, kernel.constant(8, "i32"), unit=2)
>>> places = depth.at(0, unit=1), depth.at(16, unit=2)
>>> print(*kernel.writer.text().splitlines()[3:], sep="\\n")
%half_step = arith.index_cast %c8_i32 : i32 to index
%step = arith.muli %half_step, %c2 : index
%0 = arith.addi %half_step, %c8 : index
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.elements import element_bits
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.places import another, hidden
from layoutalg.gemm.matrix_in_memory import Matrix
from layoutalg.gemm.messages import Message, Piece

__all__ = ["HINTS", "Depth", "Loads", "Operands", "counter_unit", "cut", "descriptor", "descriptor_type", "surface"]

HINTS = "l1_hint = #xegpu.cache_hint<cached>, l2_hint = #xegpu.cache_hint<cached>, l3_hint = #xegpu.cache_hint<cached>"


def descriptor_type(message: Message, element: str) -> str:
    """The type of the descriptor that a message needs, for a matrix of these elements.

    >>> from layoutalg.gemm import plan_gemm
    >>> descriptor_type(plan_gemm(64, 64, 64, tile=(32, 32), registers=256, k_step=32).messages[0], "f16")
    '!xegpu.tensor_desc<32x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>'
    >>> descriptor_type(plan_gemm(64, 64, 64, trans_b=True).messages[-1], "f16")
    '!xegpu.tensor_desc<16x8xi32>'
    """
    load = message.load
    blocks = f", #xegpu.block_tdesc_attr<array_length = {load.count} : i64>" if load.count > 1 else ""
    return f"!xegpu.tensor_desc<{load.rows}x{load.width // message.unit}x{_moved(message, element)}{blocks}>"


def _moved(message: Message, element: str) -> str:
    """The MLIR type of what the message counts: the matrix's elements, or integers that hold several."""
    return f"i{message.unit * message.load.bits}" if message.unit > 1 else element


def surface(kernel: KernelWriter, matrix: Matrix) -> tuple[Value, Value, Value]:
    """Rows, columns and leading dimension of a matrix in memory, as values."""
    problem, name = kernel.gemm.problem, matrix.name.lower()
    rows, columns = {
        "a": ("k", "m") if problem.trans_a else ("m", "k"),
        "b": ("n", "k") if problem.trans_b else ("k", "n"),
        "c": ("m", "n"),
    }[name]
    found = [kernel.index(kernel.arguments[size]) for size in (rows, columns, f"ld{name}")]
    if name == "b" and problem.halves:
        found[0 if problem.trans_b else 1] = other_half(kernel, kernel.index(kernel.arguments["n"]))
    return found[0], found[1], found[2]


def other_half(kernel: KernelWriter, column: Value) -> Value:
    """Where a column is in the second of two products whose B lie side by side."""

    def make() -> Value:
        return kernel.op("addi", column, kernel.index(kernel.arguments["n"]))

    return kernel.once(("other half", column), make, named=False)


def descriptor(kernel: KernelWriter, matrix: Matrix, base: Value, kind: str, message: Message | None = None) -> Value:
    """A descriptor of a whole matrix in memory, as messages of one shape see it."""
    sizes = surface(kernel, matrix)
    if message is not None:
        sizes = _seen(kernel, message, *sizes)
    form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : {base.kind} -> {kind}"
    return kernel.writer.value(form, (base, *sizes), kind)


def _seen(
    kernel: KernelWriter, message: Message, rows: Value, columns: Value, pitch: Value
) -> tuple[Value, Value, Value]:
    """The sizes of a matrix as a message sees it: every n-th row of it, in units of several elements.

    Every second row of a matrix is a matrix with twice the pitch. The odd rows begin a pitch to the right in the first row of
    it, so that the base stays where it is, at a multiple of 64 bytes. With a single row there are no odd rows, and the block
    lies outside of the matrix that is left.
    """
    one = kernel.constant(1)
    if message.every == 2:
        if message.offset[0] % 2:
            others = kernel.op("minui", kernel.plus(rows, -1), one)
            columns = kernel.op("addi", columns, kernel.op("muli", pitch, others))
            rows = kernel.op("maxui", kernel.op("shrui", rows, one), one)
        else:
            rows = kernel.op("shrui", kernel.plus(rows, 1), one)
        pitch = kernel.op("shli", pitch, one)
    if message.unit > 1:
        # hidden, because the compiler does not keep a payload whose sizes it sees as divisions
        columns, pitch = (_hidden(kernel, over(kernel, size, message.unit)) for size in (columns, pitch))
    return rows, columns, pitch


def _hidden(kernel: KernelWriter, value: Value) -> Value:
    return value if kernel.static else hidden(kernel, value)


def over(kernel: KernelWriter, value: Value, number: int) -> Value:
    """A value divided by 1, 2 or 4."""
    if number == 1:
        return value
    made = kernel.op("shrui", value, kernel.constant(number.bit_length() - 1, value.kind))
    return kernel.named(f"{value.name or 'value'}_over_{number}", made)


def counter_unit(loads: Sequence[Message]) -> int:
    """How many elements of k the loop's counter counts as one."""
    return max((message.depth_unit for message in loads), default=1)


class Depth:
    """The place of a step along k, in elements or in units of 2 or 4, from a counter in units; each is made once."""

    def __init__(self, kernel: KernelWriter, counter: Value, unit: int) -> None:
        self.kernel = kernel
        self.unit = unit
        name = {1: "step", 2: "half_step", 4: "quarter_step"}[unit]
        self._scaled = {unit: kernel.named(name, kernel.cast(counter, "index"))}

    def at(self, offset: int, unit: int = 1) -> Value:
        """The place `offset` elements behind the step, in units."""
        if unit not in self._scaled:
            made = self.kernel.op("muli", self._scaled[self.unit], self.kernel.constant(self.unit // unit))
            self._scaled[unit] = self.kernel.named("step" if unit == 1 else "half_step", made)
        return self.kernel.plus(self._scaled[unit], offset // unit)


class Loads:
    """What the loads of a kernel share: the descriptors, and the places that do not change with k.

    `row` and `column` are the corner of the subgroup's tile of C. With `apart` every depth has descriptors of its own, over
    addresses that the compiler takes for different ones: then each message keeps its own payload.

    >>> from layoutalg.gemm import plan_gemm
    >>> kernel = KernelWriter(plan_gemm(64, 64, 64, tile=(16, 32)))
    >>> bases = {name: kernel.arguments[name.lower()] for name in "AB"}
    >>> loads = Loads(kernel, bases, kernel.constant(0), kernel.constant(0))
    >>> operands = loads.at(kernel.constant(16, "i32"))
    >>> for message in kernel.gemm.messages:
    ...     operands.load(message)
    >>> operands["A", 1, 0].kind, operands["B", 1, 0].kind
    ('vector<8xf16>', 'vector<16xf16>')
    """

    def __init__(
        self, kernel: KernelWriter, bases: Mapping[str, Value], row: Value, column: Value, *, apart: bool = False
    ) -> None:
        self.kernel = kernel
        self.apart = apart
        self.unit = counter_unit(kernel.gemm.messages)
        self.described: dict[tuple[str, str, int, int], Value] = {}
        self.corners: dict[tuple[str, int, int, int], Value] = {}
        corner = {"A": row, "B": column}
        for message in kernel.gemm.messages:
            operand = message.operand
            matrix = kernel.gemm.matrices["AB".index(operand)]
            key = self._key(message)
            if key not in self.described:
                base = another(kernel, bases[operand], key[3])
                made = descriptor(kernel, matrix, base, key[1], message)
                self.described[key] = kernel.named(f"matrix_{operand.lower()}", made)
            place = (operand, message.unit, _parity(message), half := self._half(message))
            at = other_half(kernel, corner[operand]) if half else corner[operand]
            if message.down and place not in self.corners:
                begin = over(kernel, at, message.unit)
                if place[2]:
                    begin = kernel.op("addi", begin, over(kernel, surface(kernel, matrix)[2], message.unit))
                self.corners[place] = begin
            elif not message.down:
                self.corners[place] = at

    def _key(self, message: Message) -> tuple[str, str, int, int]:
        """Messages with the same key share a descriptor."""
        kind = descriptor_type(message, self.kernel.gemm.element_of(message.operand))
        along = message.offset[0 if message.down else 1]
        number = (along - _parity(message) if self.apart else 0) + 5 * bool(self._half(message))
        return message.operand, kind, _parity(message), number

    def _half(self, message: Message) -> int:
        """The column of the tile where the second of two products begins, for its messages; else 0."""
        gemm = self.kernel.gemm
        if message.operand == "A" or not gemm.problem.halves:
            return 0
        columns = message.offset[1 if message.down else 0]
        return gemm.tile.n // 2 if columns >= gemm.tile.n // 2 else 0

    def at(self, counter: Value) -> Operands:
        """The loads of one step, in the loop."""
        return Operands(self, counter)

    def place(self, message: Message, depth: Depth) -> tuple[Value, Value]:
        """Row and column of a message's block in its matrix, as the message counts them."""
        half = self._half(message)
        corner = self.corners[message.operand, message.unit, _parity(message), half]
        down, across = message.offset
        if message.down:
            across = (across - half) // message.unit
            return depth.at(down - _parity(message), message.every), self.kernel.plus(corner, across)
        return self.kernel.plus(corner, down - half), depth.at(across, message.unit)


def _parity(message: Message) -> int:
    return message.offset[0] % message.every


class Operands:
    """The operands that the loads of one step have brought so far, by operand, block and depth."""

    def __init__(self, loads: Loads, counter: Value) -> None:
        self.kernel = loads.kernel
        self.loads = loads
        self.depth = Depth(loads.kernel, counter, loads.unit)
        self._parts: dict[tuple[str, int, int], list[tuple[Piece, Value]]] = {}
        self._whole: dict[tuple[str, int, int], Value] = {}

    def __getitem__(self, place: tuple[str, int, int]) -> Value:
        return self._whole[place]

    def __setitem__(self, place: tuple[str, int, int], operand: Value) -> None:
        numbers = place[1:] if place[0] == "A" else place[:0:-1]
        self._whole[place] = self.kernel.named(f"{place[0].lower()}{numbers[0]}x{numbers[1]}", operand)

    def load(self, message: Message) -> None:
        """Write a load, and the cuts of the operands that are complete with it."""
        kernel, operand = self.kernel, message.operand
        element = kernel.gemm.element_of(operand)
        moved, size = _moved(message, element), message.length // message.unit
        described = self.loads.described[self.loads._key(message)]  # pyright: ignore[reportPrivateUsage]
        how = (
            ", transpose = array<i64: 1, 0>" if message.load.transpose else ", packed" if message.load.transform else ""
        )
        form = f"xegpu.load_nd %s[%s, %s] <{{{HINTS}{how}}}> : {described.kind} -> vector<{size}x{moved}>"
        loaded = kernel.writer.value(form, (described, *self.loads.place(message, self.depth)), moved, size)
        kernel.named(f"loaded_{operand.lower()}", loaded)
        for piece in message.pieces:
            place = (operand, piece.block, piece.depth)
            parts = self._parts.setdefault(place, [])
            parts.append((piece, _part(kernel, piece, loaded, element)))
            wanted = kernel.gemm.dpas.a if operand == "A" else kernel.gemm.dpas.b
            if sum(part.count for part, _ in parts) == wanted.axes["reg"]:
                numbers = (piece.block, piece.depth) if operand == "A" else (piece.depth, piece.block)
                self._whole[place] = kernel.named(
                    f"{operand.lower()}{numbers[0]}x{numbers[1]}", joined(kernel, parts, element)
                )


def _part(kernel: KernelWriter, piece: Piece, loaded: Value, element: str) -> Value:
    """A piece of what a message delivers. Of integers that hold several elements it is cut as such: then the compiler moves no
    element that another operand takes."""
    unit = element_bits(loaded.element) // element_bits(element)
    first, count = piece.start, piece.count
    if unit > 1 and piece.registers == tuple(range(first, first + count)) and first % unit == count % unit == 0:
        return cut(kernel, loaded, range(first // unit, (first + count) // unit))
    return cut(kernel, as_elements(kernel, loaded, element), piece.registers)


def joined(kernel: KernelWriter, parts: Sequence[tuple[Piece, Value]], element: str) -> Value:
    """An operand of one part, or of two that take turns: the even and the odd registers of 8 bits."""
    if len(parts) == 1:
        return as_elements(kernel, parts[0][1], element)
    (_, even), (_, odd) = sorted(parts, key=lambda part: part[0].places)
    return interleaved(kernel, even, odd)


def interleaved(kernel: KernelWriter, even: Value, odd: Value) -> Value:
    """Bytes of two vectors of i32 in turn, as a vector of i16; the even ones in the low bytes.

    By hand: 0x44332211 and 0xDDCCBBAA are 0xAA11, 0xBB22, 0xCC33, 0xDD44. As pairs of 16 bits, bytes 0 and 2 of both make
    0xCC33AA11, and bytes 1 and 3 make 0xDD44BB22; each is then cut into halves. A `vector.shuffle` of bytes says the same, and
    the compiler makes nearly twice as many instructions of it.
    """
    size = even.size or 1

    def number(value: int) -> Value:
        return kernel.constant(value, "i32", size)

    low, high, eight = number(0x00FF00FF), number(0xFF00FF00 - 2**32), number(8)
    pairs = (
        (kernel.op("andi", even, low), kernel.op("andi", kernel.op("shli", odd, eight), high)),
        (kernel.op("andi", kernel.op("shrui", even, eight), low), kernel.op("andi", odd, high)),
    )
    made: list[Value] = []
    for one, other in pairs:
        both = kernel.op("ori", one, other)
        halves = [_halves(kernel, half) for half in (both, kernel.op("shrui", both, number(16)))]
        made.append(cut(kernel, halves[0], range(2 * size), halves[1]))
    order = [start + size * half for start in range(size) for half in (0, 2, 1, 3)]
    return cut(kernel, made[0], order, made[1])


def _halves(kernel: KernelWriter, value: Value) -> Value:
    """The low halves of 32 bits."""
    size = value.size or 1
    return kernel.writer.value(f"arith.trunci %s : {value.kind} to vector<{size}xi16>", (value,), "i16", size)


def as_elements(kernel: KernelWriter, value: Value, element: str) -> Value:
    """What a message delivers, as the matrix's elements: two of 16 bits for each of 32."""
    if value.element == element or value.size is None:
        return value
    size = value.size * element_bits(value.element) // element_bits(element)
    return kernel.writer.value(f"vector.bitcast %s : {value.kind} to vector<{size}x{element}>", (value,), element, size)


def cut(kernel: KernelWriter, value: Value, registers: Sequence[int], other: Value | None = None) -> Value:
    """Some elements of a lane's vector, or of two vectors, the second one's behind the first one's.

    >>> from layoutalg.gemm import plan_gemm
    >>> kernel = KernelWriter(plan_gemm(64, 64, 64))
    >>> zeros = kernel.constant(0.0, "f16", 4)
    >>> cut(kernel, zeros, (0, 1, 2, 3)) is zeros
    True
    """
    other = value if other is None else other
    if other is value and tuple(registers) == tuple(range(value.size or 1)):
        return value
    places = ", ".join(map(str, registers))
    form = f"vector.shuffle %s, %s [{places}] : {value.kind}, {other.kind}"
    return kernel.writer.value(form, (value, other), value.element, len(registers))
