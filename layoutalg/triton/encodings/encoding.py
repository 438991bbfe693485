"""What all encodings of Triton have in common: an attribute as a value, which gives a linear layout for a shape.

>>> from layoutalg.triton.encodings import parse_encoding
>>> blocked = parse_encoding(
...     "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [1, 0]}>"
... )
>>> blocked.inputs, blocked.rank
('distributed', 2)
>>> blocked.to_linear((16, 32)).lane
((0, 4), (0, 8), (1, 0), (2, 0), (4, 0))

`str` prints what Triton 3.9 prints. Two encodings are equal when they are the same attribute; whether they mean the same is
asked of their layouts. `notes` says where Triton itself loses or scrambles something, which is answered as Triton has it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, cast

from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT, MOST_LINEAR_BITS
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Notation, Note, Operand, ReportRequest, as_machine, one_operand
from layoutalg.core.whole_numbers import whole_number, whole_numbers
from layoutalg.core.work_items import cover
from layoutalg.triton.encodings.product import Tiling
from layoutalg.triton.given import Bases
from layoutalg.triton.layouts import from_linear_layout
from layoutalg.triton.linear import LinearLayout, bases_text

__all__ = [
    "Distributed",
    "Encoding",
    "InSharedMemory",
    "Inputs",
    "Tiled",
    "as_bases_field",
    "as_sizes_field",
    "check_order",
    "key_text",
    "of_bits",
]

Inputs = Literal["distributed", "shared", "tensor memory"]
_MOST_RANK = 16


@dataclass(frozen=True, slots=True)
class Encoding(Notation, ABC):
    """An encoding attribute of Triton. A tensor's shape gives its layout, onto `sg`, `lane`, `reg`, or onto `addr`.

    >>> from layoutalg.triton.encodings import SwizzledShared
    >>> SwizzledShared(2, 1, 4, (1, 0)).inputs
    'shared'
    >>> print(SwizzledShared(2, 1, 4, (1, 0)).layout((4, 8)))
    d0 = 2@(addr:4^addr:16) 2@(addr:2^addr:8), d1 = 2@(addr:4) 2@(addr:2) 2@addr
    """

    kind: ClassVar[Inputs]

    remarks: tuple[str, ...] = field(default=(), compare=False, kw_only=True, repr=False)
    """What the reader of a text had to say of it."""

    @property
    def inputs(self) -> Inputs:
        """What the layout's inputs are: registers, lanes and warps, an offset in shared memory, or tensor memory's rows."""
        return self.kind

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know: what Triton loses or scrambles in such an attribute."""
        return self.remarks

    @property
    def needs_shape(self) -> bool:
        """Whether the tensor's shape must be given: an encoding fits many."""
        return True

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The layout of a tensor of `shape`, in elements; work-items that it does not use hold copies.

        Without a shape, of the one that the encoding covers once: larger ones repeat it.

        Raises `DistributionError` as `to_linear` does, and without a shape where the encoding says none.

        >>> from layoutalg.triton.encodings import Blocked
        >>> print(Blocked((1, 4), (8, 4), (2, 2), (1, 0)).operands((16, 32))[0].layout)
        d0 = 2@sg:2 8@lane:4, d1 = 2@sg 4@lane 4@reg
        """
        sizes = self._once() if shape is None else shape
        if sizes is None:
            raise DistributionError(f"{self} needs a shape, such as 64x64")
        found = self._layout(self.to_linear(sizes))
        covered = found if machine is None else cover(found, as_machine(machine), self)
        (operand,) = one_operand(self, covered, sized=True)
        return (of_bits(operand, self._bits),)

    @property
    def _bits(self) -> int | None:
        """The bits of an element in shared memory, where the encoding says them."""
        return None

    def _once(self) -> tuple[int, ...] | None:
        """The shape that is covered once, before anything repeats; None where the encoding says none."""
        return None

    def _whole(self, name: str, words: str, lowest: int, highest: int) -> int:
        """The field `name` as a whole number of its range, which the value keeps from now on."""
        value = whole_number(getattr(self, name), words, lowest, highest, VerificationError)
        object.__setattr__(self, name, value)
        return value

    def _layout(self, linear: LinearLayout) -> Layout:
        """The layout that the linear layout of a shape says."""
        return from_linear_layout(linear)

    def _notes(self, shape: Sequence[int] | None, machine: Machine | None, asked: ReportRequest) -> tuple[Note, ...]:
        found = [Note("note", one, "note", one) for one in self.notes]
        if shape is not None:
            linear = self.to_linear(shape)
            found += [Note(name, bases_text(bases), name, bases) for name, bases in linear.bases if bases]
        return tuple(found)

    @property
    @abstractmethod
    def rank(self) -> int:
        """The dimensions of the tensor."""

    def check_element(self, bits: int) -> None:
        """Refuse elements of a width that Triton refuses with this encoding; most take any.

        >>> from layoutalg.triton.encodings import TensorMemory
        >>> TensorMemory(128, 64, 2).check_element(32)
        Traceback (most recent call last):
        layoutalg.core.errors.VerificationError: bitwidth * colStride must be less than or equal to 32. Got 32 and 2
        """
        whole_number(bits, "bits =", 1, 2**20)

    @abstractmethod
    def _linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """The layout for a shape that has been checked: powers of two, of the encoding's rank."""

    def to_linear(self, shape: Sequence[int]) -> LinearLayout:
        """The linear layout for a tensor of `shape`.

        Raises `DistributionError` for a shape of another rank or that is not made of powers of two, and for what Triton
        refuses for this shape.

        >>> from layoutalg.triton.encodings import SwizzledShared
        >>> SwizzledShared(2, 1, 4, (1, 0)).to_linear((32, 24))
        Traceback (most recent call last):
        layoutalg.core.errors.DistributionError: shape must have power-of-2 and non-zero dimensions; got 32, 24
        """
        sizes = whole_numbers(shape, "shape", 0, MAX_EXTENT)
        if len(sizes) != self.rank:
            raise DistributionError(
                f"shape {list(sizes)} of {self}: expected {self.rank} dimensions, found {len(sizes)}"
            )
        if any(size < 1 or size & (size - 1) for size in sizes):
            got = ", ".join(map(str, sizes))
            raise DistributionError(f"shape must have power-of-2 and non-zero dimensions; got {got}")
        return self._linear(sizes)


class Distributed(Encoding):
    """An encoding of tensors in registers: its inputs are register, lane, warp and block.

    >>> from layoutalg.triton.encodings import Blocked
    >>> issubclass(Blocked, Distributed)
    True
    """

    __slots__ = ()
    kind = "distributed"

    def _dot_operand(self, index: int, width: int, shape: tuple[int, ...]) -> Tiling:
        """The pieces of operand A (0) or B (1) of a `tt.dot` whose result has this encoding."""
        raise VerificationError(f"ttg.dot_op unexpected parent layout: {self}")

    def _check_dot(self, index: int, width: int) -> None:
        """Refuse what Triton refuses of `#ttg.dot_op` with this parent."""
        raise VerificationError(f"ttg.dot_op unexpected parent layout: {self}")


class Tiled(Distributed):
    """An encoding of tensors in registers that repeats pieces.

    >>> from layoutalg.triton.encodings import Blocked
    >>> Blocked((1, 4), (8, 4), (2, 2), (1, 0)).operands()[0].layout.shape
    (16, 32)
    """

    __slots__ = ()

    @abstractmethod
    def _tiling(self, shape: tuple[int, ...]) -> Tiling:
        """The pieces, for a shape that has been checked."""

    def _linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """The layout for a shape that has been checked."""
        return self._tiling(shape).fit(shape)

    def _once(self) -> tuple[int, ...]:
        return self._tiling((1,) * self.rank).once


class InSharedMemory(Encoding):
    """An encoding of shared memory: its inputs are the offset, in elements, and the block.

    >>> from layoutalg.triton.encodings import SwizzledShared
    >>> issubclass(SwizzledShared, InSharedMemory)
    True
    """

    __slots__ = ()
    kind = "shared"

    @property
    def alignment(self) -> int:
        """The alignment of the memory, in bytes."""
        return 16


def of_bits(operand: Operand, bits: int | None) -> Operand:
    """An operand in shared memory with the bits of its elements, so that its banks are known; another one as it is.

    >>> from layoutalg.triton.encodings import SwizzledShared
    >>> of_bits(SwizzledShared(2, 1, 4, (1, 0)).operands()[0], 16).bits
    16
    """
    return operand._replace(bits=bits) if operand.layout.codomain == ("addr",) else operand


def as_sizes_field(name: str, value: object, low: int = 1) -> tuple[int, ...]:
    """A field that is a list of powers of two (or, with `low` 0, of any whole numbers), as a tuple.

    >>> as_sizes_field("sizePerThread", [3])
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: Every element in sizePerThread must be a power of two.; found [3]
    """
    found = whole_numbers(value, f"{name} =", low if low == 0 else -MAX_EXTENT, MAX_EXTENT)
    if len(found) > _MOST_RANK:
        raise VerificationError(f"{name} = {shown(list(found))}: expected at most {_MOST_RANK} entries")
    if low and any(size < 1 or size & (size - 1) for size in found):
        raise VerificationError(f"Every element in {name} must be a power of two.; found {list(found)}")
    return found


def as_bases_field(name: str, value: object) -> Bases:
    """A field that is a list of bases, as a tuple of tuples.

    >>> as_bases_field("CGALayout", [[0, 1]])
    ((0, 1),)
    """
    bases = cast("Sequence[object]", value)
    if not isinstance(bases, (tuple, list)) or len(bases) > MOST_LINEAR_BITS:
        raise VerificationError(f"{name} = {shown(bases)}: expected a list of at most {MOST_LINEAR_BITS} bases")
    return tuple([whole_numbers(basis, f"{name}: basis", 0, MAX_EXTENT - 1) for basis in bases])


def check_order(order: Sequence[int]) -> None:
    """Refuse an order that is not a permutation, in Triton's words.

    >>> check_order((1, 1))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: order must be a permutation of 0..(rank-1), but was [1, 1]
    """
    if sorted(order) != list(range(len(order))):
        raise VerificationError(f"order must be a permutation of 0..(rank-1), but was {list(order)}")


def key_text(pairs: dict[str, object]) -> str:
    """`{key = value, ..}` as MLIR prints a dictionary; None leaves a key out.

    >>> key_text({"dim": 1, "transposed": True, "CGALayout": ((0, 1),), "rank": None})
    '{dim = 1, transposed = true, CGALayout = [[0, 1]]}'
    """
    parts = [f"{key} = {_value(value)}" for key, value in pairs.items() if value is not None]
    return f"{{{', '.join(parts)}}}"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        if value and isinstance(value[0], tuple):
            return bases_text(value)  # pyright: ignore[reportUnknownArgumentType]
        return str(list(value))  # pyright: ignore[reportUnknownArgumentType]
    return str(value)
