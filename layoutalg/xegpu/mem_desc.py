"""`!xegpu.mem_desc` and `#xegpu.mem_layout`: a matrix in shared local memory, and how its elements lie there.

A memory layout is a `Layout` onto the axis `addr`, in elements. Two rows of 2x2 blocks:

>>> blocked = MemDescType((4, 4), "f16", MemLayoutAttr(block=(2, 2)))
>>> blocked.layout()
Layout.parse('d0 = 2@addr:8 2@addr:2, d1 = 2@addr:4 2@addr')
>>> blocked.layout().owner_map("addr").tolist()
[[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.extents import Extent
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Notation, Operand, one_operand, own_sizes
from layoutalg.core.whole_numbers import as_ints
from layoutalg.xegpu.integers import integers_text, verify_integer

__all__ = ["MemDescType", "MemLayoutAttr", "verify_shape"]


@dataclass(frozen=True, slots=True)
class MemLayoutAttr(Notation):
    """`#xegpu.mem_layout<stride = [..], block = [..]>`: strides in elements; elements of one block are contiguous.

    `stride_types` and `block_types` are the integer types of the numbers where they are not all i64.

    >>> print(MemLayoutAttr(stride=(1, 128), block=(8, 8)))
    #xegpu.mem_layout<block = [8, 8], stride = [1, 128]>
    >>> print(MemLayoutAttr(stride=(32, 1), stride_types=("i64", "i32")))
    #xegpu.mem_layout<stride = [32, 1 : i32]>
    """

    stride: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    stride_types: tuple[str, ...] | None = None
    block_types: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name, given, types in (("stride", self.stride, self.stride_types), ("block", self.block, self.block_types)):
            value = None if given is None else as_ints(name, given)
            object.__setattr__(self, name, value)
            object.__setattr__(self, f"{name}_types", _types(name, value, types))
            if value is not None and (not value or not all(1 <= v <= MAX_EXTENT for v in value)):
                raise VerificationError(
                    f"{name} = {shown(list(value))}: expected sizes of at least 1 (LLVM 22 accepts this)"
                )
        if self.stride is None and self.block is None:
            raise VerificationError("expected valid attribute name: stride or block")

    def __str__(self) -> str:
        fields = (("block", self.block, self.block_types), ("stride", self.stride, self.stride_types))
        parts = [f"{name} = {integers_text(value, types)}" for name, value, types in fields if value is not None]
        return f"#xegpu.mem_layout<{', '.join(parts)}>"


def _types(name: str, values: tuple[int, ...] | None, types: Sequence[str] | None) -> tuple[str, ...] | None:
    """The types of a list of integers, checked; None where all are i64."""
    if types is None:
        return None
    kinds = tuple(types) if isinstance(types, (tuple, list)) else ()
    if values is None or len(kinds) != len(values):
        raise VerificationError(f"{name}_types: expected one type for each number of {name}")
    for value, kind in zip(values, kinds, strict=True):
        verify_integer(name, value, kind)
    return None if set(kinds) <= {"i64"} else kinds


@dataclass(frozen=True, slots=True)
class MemDescType(Notation):
    """`!xegpu.mem_desc<128x128xf16, mem_layout>`: a matrix in shared local memory; row-major unless it says otherwise.

    >>> MemDescType((4, 8), "f16").layout()
    Layout.parse('d0 = 4@addr:8, d1 = 8@addr')
    """

    shape: tuple[int, ...]
    element: str
    mem_layout: MemLayoutAttr | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", as_ints("shape", self.shape))
        if self.mem_layout is not None and not isinstance(self.mem_layout, MemLayoutAttr):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"mem_layout {shown(self.mem_layout)}: expected #xegpu.mem_layout")
        if not self.shape:
            raise VerificationError("expected non-zero rank mem_desc (LLVM 22 accepts this)")
        verify_shape("mem_desc", self.shape)
        element_bits(self.element)
        if self.mem_layout is not None:
            for name, value in (("stride", self.mem_layout.stride), ("block", self.mem_layout.block)):
                if value is not None and len(value) != len(self.shape):
                    raise VerificationError(
                        f"{name} = {shown(list(value))} of a mem_desc of rank {len(self.shape)}: expected {len(self.shape)} "
                        "numbers (LLVM 22 accepts this, and goes wrong later)"
                    )

    def __str__(self) -> str:
        shape = f"{''.join(f'{n}x' for n in self.shape)}{self.element}"
        return f"!xegpu.mem_desc<{shape}{'' if self.mem_layout is None else f', {self.mem_layout}'}>"

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """Where each element lies, to draw; raises as `layout` does, and for another shape than the type's.

        >>> MemDescType((4, 4), "f16").operands()[0].layout
        Layout.parse('d0 = 4@addr:4, d1 = 4@addr')
        """
        tile = None if self.mem_layout is None else self.mem_layout.block
        (found,) = one_operand(self, self.layout(shape, machine), tile)
        return (found._replace(bits=element_bits(self.element)),)

    def layout(self, shape: Sequence[Extent] | None = None, machine: Machine | None = None) -> Layout:
        """Where each element lies: a `Layout` onto `addr`, in elements from the start of the buffer.

        Blocks follow one another in the order of the strides, elements inside a block too: with `stride = [1, 128]` both
        run down the columns. A stride larger than the shape needs (padding) widens the matrix that is cut into blocks.

        LLVM 22 honours that padding with a `block` only: without one, `stride = [32, 1]` on 8x16 elements is addressed
        as if it were `[16, 1]`. Here a stride is what it says.

        Raises `DistributionError` where a block does not divide the matrix, and for another shape than the type's.

        >>> MemDescType((4, 4), "f16", MemLayoutAttr(block=(2, 2))).layout()
        Layout.parse('d0 = 2@addr:8 2@addr:2, d1 = 2@addr:4 2@addr')
        """
        own_sizes(self, self.shape, shape)
        spec = self.mem_layout or MemLayoutAttr(stride=self._row_major())
        stride = spec.stride or self._row_major()
        if spec.block is None:
            plain = [[Factor(n, s, "addr")] for n, s in zip(self.shape, stride, strict=True)]
            return Layout(plain, codomain=("addr",)).canonical()
        outer_to_inner = sorted(range(len(stride)), key=lambda d: (-stride[d], d))
        counts: dict[int, int] = {}
        for i, d in enumerate(outer_to_inner):
            whole = self.shape[d] if i == 0 else stride[outer_to_inner[i - 1]] // stride[d]
            for size in (whole, self.shape[d]):
                if size % spec.block[d]:
                    raise DistributionError(
                        f"dimension {d} of {self}: blocks of {spec.block[d]} do not divide {size} elements; "
                        f"a divisor of {size} would fit"
                    )
            counts[d] = whole // spec.block[d]
        inside, between = 1, prod(spec.block)
        dims: list[list[Factor]] = [[] for _ in stride]
        for d in reversed(outer_to_inner):
            n = self.shape[d] // spec.block[d]
            dims[d] = [Factor(n, between, "addr"), Factor(spec.block[d], inside, "addr")]
            between *= counts[d]
            inside *= spec.block[d]
        return Layout(dims, codomain=("addr",)).canonical()

    def _row_major(self) -> tuple[int, ...]:
        return tuple(prod(self.shape[d + 1 :]) for d in range(len(self.shape)))


def verify_shape(what: str, shape: tuple[int, ...]) -> None:
    """Check the sizes of a type.

    >>> verify_shape("mem_desc", (8, 0))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: mem_desc of shape [8, 0]: dimension 1 has size 0, expected 1 to 2^31
    (LLVM 22 accepts this)
    """
    for d, size in enumerate(shape):
        if type(size) is not int or not 1 <= size <= MAX_EXTENT:
            raise VerificationError(
                f"{what} of shape {shown(list(shape))}: dimension {d} has size {shown(size)}, expected 1 to 2^31 "
                "(LLVM 22 accepts this)"
            )
