"""IREE's GPU dialect: matrix products of fragments, and barriers on values.

    %d = iree_gpu.multi_mma %a, %b, %c {indexing_maps = [...], iterator_types = [...],
           kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>} : vector<2x3x4xf16>, vector<3x5x4xf16> into vector<2x5x4xf32>
    %s = iree_gpu.value_barrier %d : vector<2x5x4xf32>

`multi_mma` is an operation of IREE 3.2 and of the dialect's page; today's IREE says `iree_codegen.inner_tiled`. The attributes
are read by `layoutalg.nested.gpu`.

>>> from layoutalg.ir import read_module, write_module
>>> text = '%a = "test.op"() : () -> vector<4xf32> %b = iree_gpu.value_barrier %a : vector<4xf32>'
>>> print(write_module(read_module(text)).splitlines()[2].strip())
%b = iree_gpu.value_barrier %a : vector<4xf32>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Dialect, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer

from layoutalg.core.errors import LayoutError
from layoutalg.ir.dialects.directives import OperandBeforeTrait, SameType
from layoutalg.ir.dialects.gpu.directives import Cluster
from layoutalg.ir.dialects.iree_directives import SourceIndexTypes, WordsInAnyOrder
from layoutalg.ir.dialects.text_attributes import TextAttribute
from layoutalg.ir.operations.classes import define
from layoutalg.ir.operations.old_spellings import note_old_spelling

if TYPE_CHECKING:
    from layoutalg.nested.gpu.reading import GpuAttr

__all__ = ["IREE_GPU", "OPERATIONS", "GpuTextAttr"]


class GpuTextAttr(TextAttribute):
    """An attribute of the dialect; `value` is what layoutalg.nested.gpu makes of it."""

    @classmethod
    def read(cls, text: str) -> GpuAttr:
        """The value that a text says."""
        from layoutalg.nested.gpu import parse_gpu

        return parse_gpu(text)

    @property
    def value(self) -> GpuAttr:
        """What the text says, as a value of layoutalg.nested.gpu."""
        return self.read(str(self))


def _attribute(mnemonic: str, *, brackets: bool = True) -> type[GpuTextAttr]:
    fields = {"name": f"iree_gpu.{mnemonic}", "BRACKETS": brackets, "__doc__": f"`#iree_gpu.{mnemonic}`."}
    return irdl_attr_definition(type(f"{mnemonic}_attr", (GpuTextAttr,), fields))


class _WordAttr(GpuTextAttr, SpacedOpaqueSyntaxAttribute):
    """An attribute that is one word: `#iree_gpu<mma_intrinsic MFMA_F32_16x16x16_F16>`."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        """Read the word."""
        start, word = parser.pos, parser.parse_optional_identifier()
        if word is None:
            parser.raise_error(f"expected #{cls.name.replace('.', '<')} NAME>, as IREE writes it")
        try:
            cls.read(f"#{cls.name.replace('.', '<')} {word}>")
        except LayoutError as problem:
            parser.raise_error(str(problem).split(": ", 1)[-1], start)
        return word

    def print_parameter(self, printer: Printer) -> None:
        """Write the word."""
        printer.print_string(self.data)


def _word(mnemonic: str) -> type[GpuTextAttr]:
    fields = {"name": f"iree_gpu.{mnemonic}", "__doc__": f"`#iree_gpu<{mnemonic} ...>`."}
    return irdl_attr_definition(type(f"{mnemonic}_attr", (_WordAttr,), fields))


_WORDS = ("mma_intrinsic", "virtual_mma_intrinsic")
_WITH_BRACKETS = (
    "conditional_transpose", "data_tiled_mma_layout", "data_tiled_scaled_mma_layout", "gpu_encoding_layout",
    "gpu_encoding_resolver", "iterator_type", "lane_constant", "lane_id", "lane_increment", "lowering_config",
    "mma_layout", "mma_schedule", "mma_semantics", "pipeline_options", "promote_with_cache_swizzle",
    "reorder_workgroups_strategy", "scaled_mma_layout",
    "swizzle_operand", "target", "target_chip", "target_wgp", "ukernel_config", "virtual_mma_layout",
)  # fmt: skip
_WITHOUT = ("derived_thread_config", "lane_scope", "subgroup_scope", "use_global_load_dma")


@irdl_custom_directive
class BarrierInputs(CustomDirective):
    """`ins(%a : tensor<4xf32>)`, or nothing; the page's example has `%a`, and the types at the end."""

    inputs: VariadicOperandVariable
    types: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read either form."""
        if parser.parse_optional_keyword("ins") is None:
            self.inputs.parse(parser, state)
            return
        with parser.in_parens():
            self.inputs.parse(parser, state)
            parser.parse_punctuation(":")
            self.types.parse(parser, state)

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the inputs with their types."""
        inputs = self.inputs.get(op)
        if inputs:
            printer.print_string(" ins")
            with printer.in_parens():
                printer.print_list(inputs, printer.print_ssa_value)
                printer.print_string(" : ")
                printer.print_list(inputs.types, printer.print_attribute)


@irdl_custom_directive
class BarrierTypes(CustomDirective):
    """The types of the results; in the page's example, those of the inputs and an arrow before them."""

    outputs: TypeDirective
    inputs: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Read either form."""
        self.outputs.parse(parser, state)
        if parser.parse_optional_punctuation("->") is None:
            if state.operand_types[0] is None:
                self.inputs.inner.set_types(state, ())
            return
        self.inputs.inner.set_types(state, state.result_types[0] or ())
        self.outputs.parse(parser, state)
        note_old_spelling(
            parser, "`barrier_region %a {...} : type -> type`", "`barrier_region ins(%a : type) {...} : type`"
        )

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Write the types of the results."""
        self.outputs.print(printer, state, op)


OPERATIONS = define(
    __name__,
    "iree_gpu",
    directives=(
        BarrierInputs,
        BarrierTypes,
        Cluster,
        OperandBeforeTrait,
        SameType,
        SourceIndexTypes,
        WordsInAnyOrder,
    ),
    fields={"iree_gpu.multi_mma": {"LOOSE": True}},
)
"""The classes, in the order of the table."""

IREE_GPU = Dialect(
    "iree_gpu",
    list(OPERATIONS),
    [
        *map(_attribute, _WITH_BRACKETS),
        *map(_word, _WORDS),
        *(_attribute(mnemonic, brackets=False) for mnemonic in _WITHOUT),
    ],
)
"""The operations and attributes of the dialect."""
