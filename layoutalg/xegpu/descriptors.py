"""Tensor descriptors: `!xegpu.tensor_desc`, a block or a scattered set of elements in memory, with a layout.

>>> from layoutalg.xegpu.reading import parse_attribute
>>> desc = parse_attribute("!xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>")
>>> desc.layout()
Layout.parse('d0 = 8@reg, d1 = 16@lane')

A descriptor is verified when it is made: by the version that is given, otherwise some version must accept it. Any version can
be asked for its verdict:

>>> whole = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
>>> column = TensorDescType((8, 1), "f16", layout=whole, llvm=24)
>>> column.check(llvm=24) is None, column.check(llvm=22)[:24]
(True, 'cannot distribute [8, 1]')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import DistributionError, VerificationError
from layoutalg.core.extents import Extent
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MAX_EXTENT
from layoutalg.core.llvm_versions import DEFAULT_LLVM, llvm_versions, rules
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Notation, Note, Operand, ReportRequest, one_operand, own_sizes
from layoutalg.core.whole_numbers import as_flag, as_ints
from layoutalg.hardware import block_load
from layoutalg.xegpu.attributes import DistributeLayout, LayoutAttr, SliceAttr
from layoutalg.xegpu.fragments import FragmentType
from layoutalg.xegpu.integers import integer_text, verify_integer
from layoutalg.xegpu.mem_desc import verify_shape
from layoutalg.xegpu.words import EnumAttr

__all__ = ["BlockTensorDescAttr", "Encoding", "ScatterTensorDescAttr", "TensorDescType"]


class Encoding(Notation):
    """What a `tensor_desc` says about its memory: blocks side by side, or chunks at offsets.

    >>> isinstance(BlockTensorDescAttr(), Encoding)
    True
    """

    __slots__ = ()

    @property
    def blocks(self) -> int:
        """How many blocks lie side by side; 1 for a scattered tensor.

        >>> BlockTensorDescAttr(array_length=2).blocks, ScatterTensorDescAttr(chunk_size=8).blocks
        (2, 1)
        """
        return 1

    @property
    def chunk(self) -> int | None:
        """How many elements lie at each offset; None for blocks.

        >>> BlockTensorDescAttr(array_length=2).chunk, ScatterTensorDescAttr(chunk_size=8).chunk
        (None, 8)
        """
        return None


@dataclass(frozen=True, slots=True)
class BlockTensorDescAttr(Encoding):
    """`#xegpu.block_tdesc_attr<memory_space, array_length, boundary_check>`.

    `array_length` blocks lie side by side: a tensor of 8x16 with array_length = 2 is 8x32 elements.

    >>> print(BlockTensorDescAttr(array_length=2))
    #xegpu.block_tdesc_attr<array_length = 2 : i64>
    """

    memory_space: str = "global"
    array_length: int = 1
    boundary_check: bool = True
    array_length_type: str = "i64"

    def __post_init__(self) -> None:
        EnumAttr("memory_space", self.memory_space)
        object.__setattr__(self, "boundary_check", as_flag(self.boundary_check, "boundary_check", VerificationError))
        verify_integer("array_length", self.array_length, self.array_length_type)
        if not 1 <= self.array_length <= MAX_EXTENT:
            raise VerificationError(
                f"array_length = {self.array_length}: expected at least 1 (LLVM 22 accepts this, and goes wrong later)"
            )

    def __str__(self) -> str:
        parts = [] if self.memory_space == "global" else [f"memory_space = {self.memory_space}"]
        if (self.array_length, self.array_length_type) != (1, "i64"):
            parts.append(f"array_length = {integer_text(self.array_length, self.array_length_type)}")
        if not self.boundary_check:
            parts.append("boundary_check = false")
        return f"#xegpu.block_tdesc_attr<{', '.join(parts)}>"

    @property
    def blocks(self) -> int:
        """`array_length`.

        >>> BlockTensorDescAttr(array_length=2).blocks
        2
        """
        return self.array_length


@dataclass(frozen=True, slots=True)
class ScatterTensorDescAttr(Encoding):
    """`#xegpu.scatter_tdesc_attr<memory_space, chunk_size>`: `chunk_size` contiguous elements at each offset.

    LLVM 23 and later have no scattered descriptors. Raises `VerificationError` in LLVM's words for a chunk size below 1.

    >>> print(ScatterTensorDescAttr(chunk_size=8))
    #xegpu.scatter_tdesc_attr<chunk_size = 8 : i64>
    """

    memory_space: str = "global"
    chunk_size: int = 1
    chunk_size_type: str = "i64"

    def __post_init__(self) -> None:
        EnumAttr("memory_space", self.memory_space)
        verify_integer("chunk_size", self.chunk_size, self.chunk_size_type)
        if not 1 <= self.chunk_size <= MAX_EXTENT:
            raise VerificationError("invalid chunk size")

    def __str__(self) -> str:
        parts = [] if self.memory_space == "global" else [f"memory_space = {self.memory_space}"]
        if (self.chunk_size, self.chunk_size_type) != (1, "i64"):
            parts.append(f"chunk_size = {integer_text(self.chunk_size, self.chunk_size_type)}")
        return f"#xegpu.scatter_tdesc_attr<{', '.join(parts)}>"

    @property
    def chunk(self) -> int:
        """`chunk_size`.

        >>> ScatterTensorDescAttr(chunk_size=8).chunk
        8
        """
        return self.chunk_size


@dataclass(frozen=True, slots=True)
class TensorDescType(Notation):
    """`!xegpu.tensor_desc<8x16xf16, encoding, layout>`: a block of elements, or (scattered) one chunk per lane.

    Raises `VerificationError` in the words of the version of LLVM that `llvm` names (22 unless given).

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
        *,
        llvm: int | None = None,
    ) -> None:
        if isinstance(encoding, BlockTensorDescAttr) and encoding == BlockTensorDescAttr(
            array_length_type=encoding.array_length_type
        ):
            encoding = None  # LLVM prints the default as nothing
        for name, value in (
            ("shape", as_ints("shape", shape)),
            ("element", element),
            ("encoding", encoding),
            ("attr", layout),
        ):
            object.__setattr__(self, name, value)
        if encoding is not None and not isinstance(encoding, Encoding):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"encoding {shown(encoding)}: expected a block_tdesc_attr or a scatter_tdesc_attr")
        if layout is not None and not isinstance(layout, DistributeLayout):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"layout {shown(layout)}: expected #xegpu.layout or #xegpu.slice")
        if self.shape:
            verify_shape("tensor_desc", self.shape)
        problem = self._refused_by_all() if llvm is None else self.check(llvm)
        if problem is not None:
            raise VerificationError(problem)

    def _refused_by_all(self) -> str | None:
        """The words of the newest version that has such descriptors; None where some version accepts the type."""
        scattered = self.encoding is not None and self.encoding.chunk is not None
        versions = [version for version in llvm_versions()[::-1] if rules(version).scattered or not scattered]
        problems = [self.check(version) for version in versions]
        return None if None in problems else problems[0]

    def check(self, llvm: int = DEFAULT_LLVM) -> str | None:
        """The verdict of a version of LLVM on the type: None where it accepts, else its words.

        Raises `LayoutError` for a version that is not known, `VerificationError` for an element type without a size.

        >>> TensorDescType((16, 8), "f32", ScatterTensorDescAttr(chunk_size=8)).check(llvm=24)
        'unknown attribute `scatter_tdesc_attr` in dialect `xegpu`'
        """
        version = rules(llvm)
        chunk = None if self.encoding is None else self.encoding.chunk
        if chunk is not None and not version.scattered:
            return "unknown attribute `scatter_tdesc_attr` in dialect `xegpu`"
        incomplete = None if self.attr is None else self.attr.incomplete(llvm)
        if incomplete is not None:
            return incomplete
        if not self.shape:
            return "expected non-zero rank tensor"
        bits = element_bits(self.element)
        in_slm = self.encoding is not None and self.encoding.memory_space == "slm"
        if in_slm and chunk is None and len(self.shape) > 1:
            return "SLM is only supported for 1D block tensor"
        per_register = 32 // bits if bits < 32 else 1
        last = self.shape[len(self.shape) - 1]
        if chunk is not None and len(self.shape) == 1 and chunk != 1:
            return "expected non-contiguous elements for 1D tensor"
        if chunk is not None and chunk > 1:
            if last != chunk:
                return "expected last dim of tensor to match chunk size"
            if last % per_register:
                return f"expected last dim of tensor to be a multiple of {per_register}"
        if self.attr is None:
            return None
        if self.attr.parent_layout() is not self.attr and not version.slice_in_descriptor:
            return f"expected #xegpu.layout on a tensor_desc, found {self.attr} (LLVM {llvm} crashes on a slice here)"
        if self.attr.rank == len(self.shape) and chunk is not None and chunk > 1:
            data = self.attr.distribution().lane_data
            if data is not None and data[-1] % per_register:
                return f"expected last dim of lane_data to be a multiple of: {per_register}"
        return self.attr.descriptor_problem(self.shape, llvm)

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
        return 1 if self.encoding is None else self.encoding.blocks

    @property
    def scattered(self) -> bool:
        """Whether the elements lie in chunks at offsets.

        >>> TensorDescType((16, 8), "f32", ScatterTensorDescAttr(chunk_size=8)).scattered
        True
        """
        return self.encoding is not None and self.encoding.chunk is not None

    def layout(self, shape: Sequence[Extent] | None = None, machine: Machine | None = None) -> Layout:
        """The exact relation of the type's layout on its shape (its blocks in registers one after another).

        Raises `DistributionError` for a type without a layout, and for another shape than the type's.

        >>> TensorDescType((32,), "f32", layout=LayoutAttr(lane_layout=(16,), lane_data=(2,))).layout()
        Layout.parse('d0 = 16@lane 2@reg')
        """
        if self.attr is None:
            raise DistributionError(
                f"the type has no layout; write one, such as #xegpu.layout<lane_layout = [1, 16], ...> (in {self})"
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

    def _notes(self, shape: Sequence[int] | None, machine: Machine | None, asked: ReportRequest) -> tuple[Note, ...]:
        """The type of a fragment, and where a 2D block load delivers something else."""
        if self.attr is None:
            return ()
        level = "lane" if self.attr.distribution().lane_layout is not None else "subgroup"
        found = self.fragment_type(level).notes(level)
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
                f"the type has no layout; write one, such as #xegpu.layout<lane_layout = [1, 16], ...> (in {self})"
            )
        if self.scattered:
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
        if attr is None or len(self.shape) != 2 or self.scattered:
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
