"""Descriptors: the types that name a piece of memory, and the attributes they carry.

`!xegpu.tensor_desc` is a block (or a scattered set) of elements with a layout, `!xegpu.mem_desc` a matrix in shared local
memory. A memory layout is a `Layout` onto the axis `addr` (in elements):

>>> from layoutalg.xegpu.reading import parse_attribute
>>> blocked = parse_attribute("!xegpu.mem_desc<32x256xf16, #xegpu.mem_layout<stride = [1, 32], block = [16, 8]>>")
>>> blocked.layout()
Layout.parse('d0 = 2@addr:128 16@addr, d1 = 32@addr:256 8@addr:16')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.extents import Extent, as_ints
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Machine, Notation, Note, Operand, one_operand, own_sizes
from layoutalg.core.reader import MAX_EXTENT
from layoutalg.hardware import block_load
from layoutalg.xegpu.attributes import LayoutAttr, SliceAttr, fragment_notes
from layoutalg.xegpu.fragments import FragmentType

__all__ = [
    "CACHE_POLICIES",
    "FENCE_SCOPES",
    "MEMORY_SPACES",
    "BlockTensorDescAttr",
    "EnumAttr",
    "MemDescType",
    "MemLayoutAttr",
    "NbarrierType",
    "RangeAttr",
    "ScatterTensorDescAttr",
    "TensorDescType",
]

CACHE_POLICIES = ("cached", "uncached", "streaming", "read_invalidate", "write_back", "write_through")
MEMORY_SPACES = ("global", "slm")
FENCE_SCOPES = ("workgroup", "gpu")
_WORDS = {"cache_hint": CACHE_POLICIES, "memory_space": MEMORY_SPACES, "fence_scope": FENCE_SCOPES}


@dataclass(frozen=True, slots=True)
class EnumAttr(Notation):
    """`#xegpu.cache_hint<cached>`, `#xegpu.memory_space<slm>`, `#xegpu.fence_scope<gpu>`: one word of a list.

    >>> print(EnumAttr("cache_hint", "cached"))
    #xegpu.cache_hint<cached>
    """

    name: str
    value: str

    def __post_init__(self) -> None:
        if self.value not in _WORDS.get(self.name, ()):
            known = ", ".join(_WORDS.get(self.name, _WORDS))
            raise VerificationError(f"#xegpu.{self.name}<{self.value}>: expected one of {known}")

    def __str__(self) -> str:
        return f"#xegpu.{self.name}<{self.value}>"


@dataclass(frozen=True, slots=True)
class RangeAttr(Notation):
    """`#xegpu.range<[start, end]>`: the half-open range `start <= id < end`.

    Raises `VerificationError` in LLVM's words unless `start < end`.

    >>> print(RangeAttr(2, 4), list(RangeAttr(2, 4).ids()))
    #xegpu.range<[2 : i64, 4 : i64]> [2, 3]
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        as_ints("range", [self.start, self.end])
        if self.end <= self.start:
            raise VerificationError(f"'end' : {self.end} must be greater than 'start' : {self.start}")

    def __str__(self) -> str:
        return f"#xegpu.range<[{self.start} : i64, {self.end} : i64]>"

    def ids(self) -> range:
        """The ids in the range.

        >>> 3 in RangeAttr(2, 4).ids()
        True
        """
        return range(self.start, self.end)


@dataclass(frozen=True, slots=True)
class BlockTensorDescAttr(Notation):
    """`#xegpu.block_tdesc_attr<memory_space, array_length, boundary_check>`.

    `array_length` blocks lie side by side: a tensor of 8x16 with array_length = 2 is 8x32 elements.

    >>> print(BlockTensorDescAttr(array_length=2))
    #xegpu.block_tdesc_attr<array_length = 2 : i64>
    """

    memory_space: str = "global"
    array_length: int = 1
    boundary_check: bool = True

    def __post_init__(self) -> None:
        EnumAttr("memory_space", self.memory_space)
        as_ints("array_length", [self.array_length])
        if not 1 <= self.array_length <= MAX_EXTENT:
            raise VerificationError(
                f"array_length = {self.array_length}: expected at least 1 (LLVM 22 accepts this, and goes wrong later)"
            )

    def __str__(self) -> str:
        parts = [] if self.memory_space == "global" else [f"memory_space = {self.memory_space}"]
        if self.array_length != 1:
            parts.append(f"array_length = {self.array_length} : i64")
        if not self.boundary_check:
            parts.append("boundary_check = false")
        return f"#xegpu.block_tdesc_attr<{', '.join(parts)}>"


@dataclass(frozen=True, slots=True)
class ScatterTensorDescAttr(Notation):
    """`#xegpu.scatter_tdesc_attr<memory_space, chunk_size>`: `chunk_size` contiguous elements at each offset.

    Raises `VerificationError` in LLVM's words for a chunk size below 1.

    >>> print(ScatterTensorDescAttr(chunk_size=8))
    #xegpu.scatter_tdesc_attr<chunk_size = 8 : i64>
    """

    memory_space: str = "global"
    chunk_size: int = 1

    def __post_init__(self) -> None:
        EnumAttr("memory_space", self.memory_space)
        as_ints("chunk_size", [self.chunk_size])
        if not 1 <= self.chunk_size <= MAX_EXTENT:
            raise VerificationError("invalid chunk size")

    def __str__(self) -> str:
        parts = [] if self.memory_space == "global" else [f"memory_space = {self.memory_space}"]
        if self.chunk_size != 1:
            parts.append(f"chunk_size = {self.chunk_size} : i64")
        return f"#xegpu.scatter_tdesc_attr<{', '.join(parts)}>"


@dataclass(frozen=True, slots=True)
class TensorDescType(Notation):
    """`!xegpu.tensor_desc<8x16xf16, encoding, layout>`: a block of elements, or (scattered) one chunk per lane.

    Raises `VerificationError` in LLVM's words.

    >>> print(TensorDescType((8, 16), "f16", layout=LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))))
    !xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>
    """

    shape: tuple[int, ...]
    element: str
    encoding: BlockTensorDescAttr | ScatterTensorDescAttr | None = None
    attr: LayoutAttr | SliceAttr | None = None

    def __init__(
        self,
        shape: tuple[int, ...],
        element: str,
        encoding: BlockTensorDescAttr | ScatterTensorDescAttr | None = None,
        layout: LayoutAttr | SliceAttr | None = None,
    ) -> None:
        if encoding == BlockTensorDescAttr():
            encoding = None  # LLVM prints the default as nothing
        for name, value in (
            ("shape", as_ints("shape", shape)),
            ("element", element),
            ("encoding", encoding),
            ("attr", layout),
        ):
            object.__setattr__(self, name, value)
        self._verify()

    def _verify(self) -> None:
        """LLVM's rules, in its order and its words (mlir-opt-22), then what it crashes on."""
        if not self.shape:
            raise VerificationError("expected non-zero rank tensor")
        _verify_shape("tensor_desc", self.shape)
        bits = element_bits(self.element)
        scatter = self.encoding if isinstance(self.encoding, ScatterTensorDescAttr) else None
        if (
            isinstance(self.encoding, BlockTensorDescAttr)
            and self.encoding.memory_space == "slm"
            and len(self.shape) > 1
        ):
            raise VerificationError("SLM is only supported for 1D block tensor")
        per_register = 32 // bits if bits < 32 else 1
        if scatter is not None:
            if len(self.shape) == 1 and scatter.chunk_size != 1:
                raise VerificationError("expected non-contiguous elements for 1D tensor")
            last = self.shape[len(self.shape) - 1]
            if scatter.chunk_size > 1 and last != scatter.chunk_size:
                raise VerificationError("expected last dim of tensor to match chunk size")
            if scatter.chunk_size > 1 and last % per_register:
                raise VerificationError(f"expected last dim of tensor to be a multiple of {per_register}")
        if self.attr is None:
            return
        if isinstance(self.attr, SliceAttr):
            raise VerificationError(
                f"{self.attr} on a tensor_desc: expected #xegpu.layout (LLVM 22 crashes on a slice here)"
            )
        if self.attr.rank != len(self.shape):
            raise VerificationError("expected layout rank to match tensor rank")
        data = self.attr.lane_data
        if scatter is not None and scatter.chunk_size > 1 and data is not None and data[-1] % per_register:
            raise VerificationError(f"expected last dim of lane_data to be a multiple of: {per_register}")
        problem = self.attr.check(self.shape)
        if problem is not None:
            raise VerificationError(problem)

    def __str__(self) -> str:
        parts = [f"{''.join(f'{n}x' for n in self.shape)}{self.element}"]
        parts += [str(part) for part in (self.encoding, self.attr) if part is not None]
        return f"!xegpu.tensor_desc<{', '.join(parts)}>"

    @property
    def array_length(self) -> int:
        """How many blocks of `shape` lie side by side.

        >>> TensorDescType((8, 16), "f16", BlockTensorDescAttr(array_length=2)).array_length
        2
        """
        return self.encoding.array_length if isinstance(self.encoding, BlockTensorDescAttr) else 1

    def layout(self, shape: Sequence[Extent] | None = None, machine: Machine | None = None) -> Layout:
        """The exact relation of the type's layout on its shape (its blocks in registers one after another).

        Raises `DistributionError` for a type without a layout, and for another shape than the type's.

        >>> TensorDescType((32,), "f32", layout=LayoutAttr(lane_layout=(16,), lane_data=(2,))).layout()
        Layout.parse('d0 = 16@lane 2@reg')
        """
        if self.attr is None:
            raise DistributionError(
                f"{self} has no layout; write one, such as #xegpu.layout<lane_layout = [1, 16], ...>"
            )
        found = self.attr.layout(self.shape, machine)
        if self.array_length != 1:
            found = found.tile((1,) * (len(self.shape) - 1) + (self.array_length,))
        own_sizes(self, found.shape, shape)
        return found

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The type's layout, to draw; raises as `layout` does, and for another shape than the type's.

        >>> TensorDescType((32,), "f32", layout=LayoutAttr(lane_layout=(16,), lane_data=(2,))).operands()[0].layout
        Layout.parse('d0 = 16@lane 2@reg')
        """
        tile = None if self.attr is None else self.attr.distribution().inst_data
        return one_operand(self, self.layout(shape, machine), tile)

    def report(
        self,
        shape: Sequence[int] | None = None,
        machine: Machine | None = None,
        *,
        element: str = "f32",
        llvm: int | None = None,
        blocks: bool = False,
    ) -> tuple[Note, ...]:
        """The type of a fragment, and where a 2D block load delivers something else.

        >>> TensorDescType((8, 16), "f16", layout=LayoutAttr(lane_layout=(1, 16))).report()[0].text
        'per lane: vector<8xf16>'
        """
        if self.attr is None:
            return ()
        level = "lane" if self.attr.distribution().lane_layout is not None else "subgroup"
        found = fragment_notes(self.fragment_type(level), level)
        mismatch = self.load_mismatch()
        return tuple(found if mismatch is None else [*found, Note("load_nd", mismatch, "load_mismatch", mismatch)])

    def fragment_type(self, level: str = "lane") -> FragmentType:
        """The vector type that a load of this descriptor gives one subgroup or one lane.

        >>> attr = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
        >>> str(TensorDescType((8, 16), "f16", BlockTensorDescAttr(array_length=2), attr).fragment_type())
        'vector<16xf16>'
        """
        if self.attr is None:
            raise DistributionError(
                f"{self} has no layout; write one, such as #xegpu.layout<lane_layout = [1, 16], ...>"
            )
        if isinstance(self.encoding, ScatterTensorDescAttr):
            share = self.attr.fragment_type(self.shape, self.element, level, block=False)
            if level == "lane":
                return FragmentType((prod(share.shape),), self.element, share.count)
            return share
        return self.attr.fragment_type(self.shape, self.element, level, self.array_length)

    def load_mismatch(self) -> str | None:
        """Whether a 2D block load delivers what the type's lane layout says: None where it does, else a sentence.

        The message has one way to spread a tile over the lanes (packed and transposed loads included). LLVM 22 takes any
        lane layout on `load_nd`, and ignores it. Types without a lane layout of their own, and scattered ones, are not
        judged.

        >>> two_rows = LayoutAttr(lane_layout=(2, 8), lane_data=(1, 1))
        >>> TensorDescType((8, 16), "f16", layout=two_rows).load_mismatch()
        'element (0, 8): the layout says lane 0, register 1; a 2D block load delivers lane 8, register 0'
        >>> TensorDescType((8, 8), "tf32", layout=two_rows).load_mismatch()
        """
        attr = self.attr
        if attr is None or len(self.shape) != 2 or isinstance(self.encoding, ScatterTensorDescAttr):
            return None
        fields = attr.distribution()
        if fields.lane_layout is None or fields.sg_layout is not None or fields.inst_data is not None:
            return None
        bits, lanes = element_bits(self.element), prod(fields.lane_layout)
        share = self.fragment_type()
        unit = bits * (1 if fields.lane_data is None else fields.lane_data[1]) if share.transposed else None
        try:
            load = block_load(*self.shape, bits, self.array_length, share.packed, share.transposed, unit, lanes)
        except VerificationError as error:
            return str(error)
        declared, delivered = self.layout(), load.layout
        if declared == delivered:
            return None
        for element in product(*map(range, declared.shape)):
            said, real = declared.owners(element), delivered.owners(element)
            if said != real:
                return f"element {element}: the layout says {_places(said)}; a 2D block load delivers {_places(real)}"
        return None


def _places(owners: list[tuple[int, ...]]) -> str:
    return " and ".join(f"lane {lane}, register {register}" for _, lane, register in owners)


@dataclass(frozen=True, slots=True)
class MemLayoutAttr(Notation):
    """`#xegpu.mem_layout<stride = [..], block = [..]>`: strides in elements; elements of one block are contiguous.

    >>> print(MemLayoutAttr(stride=(1, 128), block=(8, 8)))
    #xegpu.mem_layout<block = [8, 8], stride = [1, 128]>
    """

    stride: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for name, given in (("stride", self.stride), ("block", self.block)):
            value = None if given is None else as_ints(name, given)
            object.__setattr__(self, name, value)
            if value is not None and (not value or not all(1 <= v <= MAX_EXTENT for v in value)):
                raise VerificationError(f"{name} = {list(value)}: expected sizes of at least 1 (LLVM 22 accepts this)")
        if self.stride is None and self.block is None:
            raise VerificationError("expected valid attribute name: stride or block")

    def __str__(self) -> str:
        parts = ((name, value) for name, value in (("block", self.block), ("stride", self.stride)) if value is not None)
        return f"#xegpu.mem_layout<{', '.join(f'{name} = {list(value)}' for name, value in parts)}>"


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
        if not self.shape:
            raise VerificationError("expected non-zero rank mem_desc (LLVM 22 accepts this)")
        _verify_shape("mem_desc", self.shape)
        element_bits(self.element)
        if self.mem_layout is not None:
            for name, value in (("stride", self.mem_layout.stride), ("block", self.mem_layout.block)):
                if value is not None and len(value) != len(self.shape):
                    raise VerificationError(
                        f"{name} = {list(value)} of a mem_desc of rank {len(self.shape)}: expected {len(self.shape)} "
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
        return one_operand(self, self.layout(shape, machine), tile)

    def layout(self, shape: Sequence[Extent] | None = None, machine: Machine | None = None) -> Layout:
        """Where each element lies: a `Layout` onto `addr`, in elements from the start of the buffer.

        Blocks follow one another in the order of the strides, elements inside a block too: with `stride = [1, 128]` both
        run down the columns. A stride larger than the shape needs (padding) widens the matrix that is cut into blocks.

        LLVM 22 honours that padding with a `block` only: without one, `stride = [32, 1]` on 8x16 elements is addressed
        as if it were `[16, 1]`. Here a stride is what it says.

        Raises `DistributionError` where a block does not divide the matrix.

        >>> MemDescType((4, 4), "f16", MemLayoutAttr(block=(2, 2))).layout()
        Layout.parse('d0 = 2@addr:8 2@addr:2, d1 = 2@addr:4 2@addr')
        """
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


@dataclass(frozen=True, slots=True)
class NbarrierType(Notation):
    """`!xegpu.nbarrier`: a named barrier.

    >>> print(NbarrierType())
    !xegpu.nbarrier
    """

    def __str__(self) -> str:
        return "!xegpu.nbarrier"


def _verify_shape(what: str, shape: tuple[int, ...]) -> None:
    for d, size in enumerate(shape):
        if type(size) is not int or not 1 <= size <= MAX_EXTENT:
            raise VerificationError(
                f"{what} of shape {list(shape)}: dimension {d} has size {size}, expected 1 to 2^31 (LLVM 22 accepts this)"
            )
