"""The xevm dialect: what LLVM's pipeline makes of XeGPU at lane level, with LLVM's syntax.

    %0 = xevm.blockload2d %p, %w, %h, %pitch, %x, %y <{elem_size_in_bits = 16 : i32, ...}> : (!llvm.ptr<1>, i32, ...) -> ...
    %1 = xevm.mma %a, %b, %c {shape = <m = 8, n = 16, k = 16>, types = <d = f32, a = f16, b = f16, c = f32>} : ...

Cache hints and memory spaces are attributes whose text is kept.

>>> from layoutalg.ir import read_module, write_module
>>> print(write_module(read_module("%l = xevm.lane_id : i32")).splitlines()[1].strip())
%l = xevm.lane_id : i32
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from layoutalg.ir.operations.classes import define

__all__ = ["XEVM", "DstEtypeAttr", "MMAShapeAttr", "MMATypesAttr", "SrcEtypeAttr"]


@irdl_attr_definition
class MMAShapeAttr(ParametrizedAttribute):
    """`#xevm.mma_shape<m = 8, n = 16, k = 16>`: the extents of a product."""

    name = "xevm.mma_shape"

    m: IntAttr
    n: IntAttr
    k: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Read `<m = 8, n = 16, k = 16>`."""
        with parser.in_angle_brackets():
            found: list[Attribute] = []
            for letter in "mnk":
                if found:
                    parser.parse_punctuation(",")
                parser.parse_keyword(letter)
                parser.parse_punctuation("=")
                found.append(IntAttr(parser.parse_integer(allow_boolean=False)))
        return found

    def print_parameters(self, printer: Printer) -> None:
        """Write `<m = 8, n = 16, k = 16>`."""
        printer.print_string(f"<m = {self.m.data}, n = {self.n.data}, k = {self.k.data}>")


@irdl_attr_definition
class MMATypesAttr(ParametrizedAttribute):
    """`#xevm.mma_types<d = f32, a = f16, b = f16, c = f32>`: the element types of a product; c only with an accumulator."""

    name = "xevm.mma_types"

    types: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Read `<d = f32, a = f16, b = f16, c = f32>`."""
        with parser.in_angle_brackets():
            found: list[Attribute] = []
            for letter in "dabc":
                if found and parser.parse_optional_punctuation(",") is None:
                    break
                parser.parse_keyword(letter)
                parser.parse_punctuation("=")
                found.append(StringAttr(parser.parse_identifier("an element type, such as f16 or s8")))
        return [ArrayAttr(found)]

    def print_parameters(self, printer: Printer) -> None:
        """Write `<d = f32, a = f16, b = f16, c = f32>`."""
        with printer.in_angle_brackets():
            for position, (letter, kind) in enumerate(zip("dabc", self.types.data, strict=False)):
                printer.print_string(f"{', ' if position else ''}{letter} = ")
                printer.print_string(kind.data if isinstance(kind, StringAttr) else str(kind))


class _ElementTypeAttr(ParametrizedAttribute, SpacedOpaqueSyntaxAttribute):
    """An element type by its name: `#xevm<src_etype src_etype = f16>` in generic form."""

    word: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Read `src_etype = f16`."""
        parser.parse_keyword(cls.name.partition(".")[2])
        parser.parse_punctuation("=")
        return [StringAttr(parser.parse_identifier("an element type, such as f16 or bf8"))]

    def print_parameters(self, printer: Printer) -> None:
        """Write `src_etype = f16`."""
        printer.print_string(f"{self.name.partition('.')[2]} = {self.word.data}")


@irdl_attr_definition
class SrcEtypeAttr(_ElementTypeAttr):
    """The type that is rounded: f16 or bf16."""

    name = "xevm.src_etype"


@irdl_attr_definition
class DstEtypeAttr(_ElementTypeAttr):
    """The type that it is rounded to: bf8, f8 or e2m1."""

    name = "xevm.dst_etype"


_WORDS = {"mma_shape": MMAShapeAttr, "mma_types": MMATypesAttr, "src_etype": SrcEtypeAttr, "dst_etype": DstEtypeAttr}

XEVM = Dialect("xevm", list(define(__name__, "xevm", attributes=_WORDS, assumed=True)), list(_WORDS.values()))
"""The dialect."""
