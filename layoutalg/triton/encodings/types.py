"""Types that carry an encoding: `tensor<64x64xf16, #blocked>` and `!ttg.memdesc<64x64xf16, #shared, #smem, mutable>`.

>>> value = parse_typed('''
...     #s = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
...     !ttg.memdesc<3x64x64xf16, #s, #ttg.shared_memory, mutable>''')
>>> value.shape, value.encoding.rank, len(value.to_linear().bases_of("offset"))
((3, 64, 64), 2, 12)

The layout of memory is that of its allocation, where the type says one, and without the leading dimension of its stages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.limits import MAX_EXTENT, MOST_DIMENSIONS
from layoutalg.core.notation import Machine, Notation, Note, Operand, ReportRequest, own_sizes
from layoutalg.core.reader import Reader
from layoutalg.core.whole_numbers import as_flag, instance_of, whole_numbers
from layoutalg.triton.encodings.encoding import Encoding, of_bits
from layoutalg.triton.encodings.reading import read_definitions, read_encoding
from layoutalg.triton.linear import LinearLayout

__all__ = ["MemDescType", "TensorType", "parse_typed", "read_notation", "read_typed"]

_SIZE = re.compile(r"([0-9]++)x")
_ELEMENT = re.compile(r"!?[A-Za-z_][A-Za-z0-9_.]*+")
_SPACE = re.compile(r"#[A-Za-z_][A-Za-z0-9_.]*+")
_MEMDESC = ("!ttg.memdesc<", "!triton_gpu.memdesc<", "!tt.memdesc<", "memdesc<")


@dataclass(frozen=True, slots=True)
class _Typed(Notation):
    """A type with an encoding: the layout is the encoding's for the type's own shape."""

    shape: tuple[int, ...]
    element: str
    encoding: Encoding

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", whole_numbers(self.shape, "shape", 0, MAX_EXTENT))
        instance_of(self.element, str, "element type", VerificationError)
        instance_of(self.encoding, Encoding, "encoding", VerificationError)

    def to_linear(self) -> LinearLayout:
        """The linear layout of the type."""
        raise NotImplementedError

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The layout of the tensor, or of the memory without its stages.

        Raises `DistributionError` for another shape than its own.

        >>> print(parse_typed("tensor<64xf32, #ttg.linear<{register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [],"
        ...     " block = []}>>").operands()[0].layout)
        d0 = 32@lane 2@reg
        """
        linear = self.to_linear()
        own_sizes(self, linear.shape, shape)
        return self.encoding.operands(linear.shape, machine)

    def _notes(self, shape: Sequence[int] | None, machine: Machine | None, asked: ReportRequest) -> tuple[Note, ...]:
        return self.encoding.report(self.to_linear().shape)


@dataclass(frozen=True, slots=True)
class TensorType(_Typed):
    """`tensor<SHAPExELEMENT, ENCODING>`.

    >>> from layoutalg.triton.encodings import Blocked
    >>> print(TensorType((64,), "f32", Blocked((1,), (32,), (2,), (0,))))
    tensor<64xf32, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [2], order = [0]}>>
    """

    def __str__(self) -> str:
        return f"tensor<{_text(self.shape)}{self.element}, {self.encoding}>"

    def to_linear(self) -> LinearLayout:
        """The layout of this tensor.

        >>> from layoutalg.triton.encodings import Blocked
        >>> TensorType((64,), "f32", Blocked((1,), (32,), (2,), (0,))).to_linear().warp
        ((32,),)
        """
        return self.encoding.to_linear(self.shape)


@dataclass(frozen=True, slots=True)
class MemDescType(_Typed):
    """`!ttg.memdesc<SHAPExELEMENT, ENCODING, SPACE[, mutable][, ALLOCATION]>`.

    Raises `VerificationError` for elements that do not fit the encoding's cells.

    >>> from layoutalg.triton.encodings import TensorMemory
    >>> print(MemDescType((128, 64), "f32", TensorMemory(128, 64), "#ttng.tensor_memory", True))
    !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>, #ttng.tensor_memory,
    mutable>
    """

    space: str = "#ttg.shared_memory"
    mutable: bool = False
    allocation: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _Typed.__post_init__(self)
        instance_of(self.space, str, "memory space", VerificationError)
        object.__setattr__(self, "mutable", as_flag(self.mutable, "mutable", VerificationError))
        object.__setattr__(self, "allocation", whole_numbers(self.allocation, "allocation", 0, MAX_EXTENT))
        self.encoding.check_element(self._bits)

    @property
    def _bits(self) -> int:
        """The bits of an element; pointers have 64."""
        return 64 if self.element.startswith("!") else element_bits(self.element)

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The layout of the memory, without its stages.

        Raises `DistributionError` for another shape than its own.

        >>> text = "!ttg.memdesc<8x8xf16, #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>, #smem>"
        >>> parse_typed(text).operands()[0].bits
        16
        """
        return tuple([of_bits(one, self._bits) for one in _Typed.operands(self, shape, machine)])

    def __str__(self) -> str:
        rest = ", mutable" * self.mutable + (f", {'x'.join(map(str, self.allocation))}" if self.allocation else "")
        return f"!ttg.memdesc<{_text(self.shape)}{self.element}, {self.encoding}, {self.space}{rest}>"

    def to_linear(self) -> LinearLayout:
        """The layout of the memory: of its allocation, without the dimension of its stages.

        Raises `DistributionError` for a shape of another rank than the encoding's.
        """
        shape = self.allocation or self.shape
        if len(shape) == self.encoding.rank + 1:
            shape = shape[1:]
        if len(shape) != self.encoding.rank:
            raise DistributionError(f"{self}: expected {self.encoding.rank} dimensions, or one more for stages")
        return self.encoding.to_linear(shape)


def _text(shape: tuple[int, ...]) -> str:
    return "".join(f"{size}x" for size in shape)


def parse_typed(text: str) -> TensorType | MemDescType:
    """Read the type of a tensor or of memory, behind the aliases that it uses.

    Raises `ParseError` with line and column.

    >>> parse_typed("tensor<64xf32>")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 14: expected ', ' and an encoding, found '>'
    """
    reader = Reader(text)
    read_definitions(reader)
    value = read_typed(reader)
    reader.finish()
    return value


def read_typed(reader: Reader) -> TensorType | MemDescType:
    """Read one such type and leave the reader behind it."""
    memory = any(map(reader.looking_at, _MEMDESC))
    if memory:
        reader.position += len(next(one for one in _MEMDESC if reader.looking_at(one)))
    else:
        if not reader.accept("tensor"):
            reader.fail("'tensor<' or '!ttg.memdesc<'")
        reader.expect("<")
    shape = _sizes(reader)
    element = _element(reader)
    if not reader.accept(","):
        reader.fail("', ' and an encoding")
    encoding = read_encoding(reader)
    if not memory:
        reader.expect(">")
        return TensorType(shape, element, encoding)
    space, mutable, allocation = _memory_space(encoding), False, ()
    while reader.accept(","):
        match = _SPACE.match(reader.text, reader.skip())
        if match is not None:
            reader.position = match.end()
            if match.group() in ("#ttng.tensor_memory", "#tmem"):
                space = "#ttng.tensor_memory"
        elif reader.accept("mutable"):
            mutable = True
        else:
            allocation = _allocation(reader)
    reader.expect(">")
    return MemDescType(shape, element, encoding, space, mutable, allocation)


def _memory_space(encoding: Encoding) -> str:
    return "#ttng.tensor_memory" if encoding.inputs == "tensor memory" else "#ttg.shared_memory"


def read_notation(reader: Reader) -> Encoding | TensorType | MemDescType:
    """Read an encoding or a type that carries one, and leave the reader behind it."""
    typed = reader.looking_at("tensor<") or any(map(reader.looking_at, _MEMDESC))
    return read_typed(reader) if typed else read_encoding(reader)


def _sizes(reader: Reader) -> tuple[int, ...]:
    found: list[int] = []
    reader.skip()
    while match := _SIZE.match(reader.text, reader.position):
        if len(found) == MOST_DIMENSIONS or len(match.group()) > 12 or int(match.group(1)) > MAX_EXTENT:
            reader.fail(f"at most {MOST_DIMENSIONS} sizes of at most 2^31")
        found.append(int(match.group(1)))
        reader.position = match.end()
    return tuple(found)


def _allocation(reader: Reader) -> tuple[int, ...]:
    sizes = _sizes(reader)
    return (*sizes, reader.integer(0, MAX_EXTENT))


def _element(reader: Reader) -> str:
    at = reader.skip()
    match = _ELEMENT.match(reader.text, at)
    if match is None:
        reader.fail("a size and 'x', or an element type")
    reader.position = match.end()
    if reader.looking_at("<"):  # a pointer: !tt.ptr<f16>
        depth = 0
        for position in range(reader.position, len(reader.text)):
            depth += {"<": 1, ">": -1}.get(reader.text[position], 0)
            if not depth:
                reader.position = position + 1
                return reader.text[at : reader.position]
        reader.fail("'>' of the element type")
    return match.group()
