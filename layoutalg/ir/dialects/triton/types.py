"""Triton's types: pointers, descriptors of buffers and of tensors, tokens.

>>> from layoutalg.ir import read_module
>>> text = '''#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
... %a = ttg.local_alloc : () -> !ttg.memdesc<2x64x32xf16, #shared, #ttg.shared_memory, mutable>
... %p = "test.op"() : () -> tensor<64x!tt.ptr<f16>>'''
>>> alloc, pointers = read_module(text).ops
>>> alloc.results[0].type.name, pointers.results[0].type.element_type.pointee
('ttg.memdesc', Float16Type())
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from layoutalg.ir.dialects.text_attributes import balanced_text

__all__ = ["ENCODINGS", "AsyncTokenType", "EncodingAttr", "MemDescType", "PointerType", "TensorDescType"]

_GLOBAL = 1
"""The address space that a pointer has if it names none."""


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """`!tt.ptr<f16>`, or `!tt.ptr<f16, 3>` with an address space."""

    name = "tt.ptr"

    pointee: Attribute
    address_space: IntAttr

    @classmethod
    def to(cls, pointee: Attribute) -> PointerType:
        """A pointer to global memory."""
        return cls(pointee, IntAttr(_GLOBAL))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> tuple[Attribute, IntAttr]:
        """Read what is behind the name."""
        with parser.in_angle_brackets():
            pointee = parser.parse_type()
            space = parser.parse_integer() if parser.parse_optional_punctuation(",") else _GLOBAL
        return pointee, IntAttr(space)

    def print_parameters(self, printer: Printer) -> None:
        """Write what is behind the name."""
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee)
            if self.address_space.data != _GLOBAL:
                printer.print_string(f", {self.address_space.data}")


class _Text(ParametrizedAttribute):
    """What is kept as its text, with aliases written out. Each class says `text` itself: xDSL compares its own fields."""

    text: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> tuple[StringAttr]:
        """Read what is behind the name."""
        with parser.in_angle_brackets():
            return (StringAttr(balanced_text(parser)),)

    def print_parameters(self, printer: Printer) -> None:
        """Write what is behind the name."""
        with printer.in_angle_brackets():
            printer.print_string(self.text.data)


@irdl_attr_definition
class MemDescType(_Text, TypeAttribute):
    """A buffer in shared or tensor memory: `!ttg.memdesc<2x64x32xf16, #shared, #smem, mutable>`."""

    name = "ttg.memdesc"

    text: StringAttr


@irdl_attr_definition
class TensorDescType(_Text, TypeAttribute):
    """A tensor in global memory that is copied in blocks: `!tt.tensordesc<64x32xf16, #shared>`."""

    name = "tt.tensordesc"

    text: StringAttr


@irdl_attr_definition
class ArefType(_Text, TypeAttribute):
    """Buffers that groups of warps hand to one another: `!nvws.aref<[!ttg.memdesc<...>]>`."""

    name = "nvws.aref"

    text: StringAttr


@irdl_attr_definition
class SegmentType(_Text, TypeAttribute):
    """A part of a profiler's buffer: `!proton_gpu.segment<2048, #smem, warp>`."""

    name = "proton_gpu.segment"

    text: StringAttr


@irdl_attr_definition
class AsyncTokenType(ParametrizedAttribute, TypeAttribute):
    """What a copy that is under way gives, to wait for it."""

    name = "ttg.async.token"


class EncodingAttr(_Text):
    """A layout of Triton: `#ttg.blocked<{...}>`. What it means, and whether it is right, `layoutalg.triton` says."""


def _encoding(name: str) -> type[EncodingAttr]:
    body = {
        "name": name,
        "__annotations__": {"text": StringAttr},
        "__module__": __name__,
        "__doc__": EncodingAttr.__doc__,
    }
    return irdl_attr_definition(type(f"Attr_{name.replace('.', '_')}", (EncodingAttr,), body))


ENCODINGS = tuple(
    _encoding(name)
    for name in (
        *("ttg.blocked", "ttg.slice", "ttg.linear", "ttg.generic_linear", "ttg.dot_op"),
        *("ttg.nvidia_mma", "ttg.amd_mfma", "ttg.amd_wmma", "ttig.dpas", "ttig.subgroup_2d_block"),
        *("ttg.swizzled_shared", "ttg.amd_rotating_shared", "ttg.padded_shared", "ttg.shared_linear"),
        *("ttg.nvmma_shared", "ttg.partitioned_shared"),
        *("ttng.tensor_memory_encoding", "ttng.tensor_memory_scales_encoding"),
    )
)
"""The layouts with brackets; those without are kept by their names alone."""
