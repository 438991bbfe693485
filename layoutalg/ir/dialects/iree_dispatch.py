"""What a kernel of IREE begins and ends with: its workgroup's number, constants, buffers, and tensors that it loads and stores.

    %id = hal.interface.workgroup.id[0] : index
    %m = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : memref<16x32xf16>
    %v = iree_tensor_ext.dispatch.tensor.load %t, offsets = [0, 0], sizes = [16, 32], strides = [1, 1]
           : !iree_tensor_ext.dispatch.tensor<readonly:tensor<16x32xf16>> -> tensor<16x32xf16>

>>> from layoutalg.ir import read_module, write_module
>>> print(write_module(read_module("%n = hal.interface.workgroup.id[1] upper_bound 64 : index")).splitlines()[1].strip())
%n = hal.interface.workgroup.id[1] upper_bound 64 : index

The law: `write_module(read_module(text))` is a fixed point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IndexType, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect, Pure

__all__ = ["HAL", "IREE_TENSOR_EXT"]

_INDEX = IndexType()


class _WorkgroupOp(IRDLOperation):
    """A number of the workgroup along a dimension."""

    result = result_def(_INDEX)
    dimension = prop_def(IntegerAttr)
    upper_bound = opt_prop_def(IntegerAttr)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> _WorkgroupOp:
        """Read `[0] upper_bound 64 : index`."""
        with parser.in_square_brackets():
            properties: dict[str, Attribute] = {"dimension": IntegerAttr(parser.parse_integer(), _INDEX)}
        if parser.parse_optional_keyword("upper_bound") is not None:
            properties["upper_bound"] = IntegerAttr(parser.parse_integer(), _INDEX)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(result_types=[parser.parse_type()], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write the same."""
        printer.print_string(f"[{self.dimension.value.data}]")
        if self.upper_bound is not None:
            printer.print_string(f" upper_bound {self.upper_bound.value.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


def _workgroup(mnemonic: str) -> type[_WorkgroupOp]:
    fields = {
        "name": f"hal.interface.workgroup.{mnemonic}",
        "__doc__": f"The workgroup's {mnemonic}.",
        "__module__": __name__,
    }
    return irdl_op_definition(type(f"Workgroup{mnemonic.capitalize()}Op", (_WorkgroupOp,), fields))


def _word(parser: Parser, word: str, read: Callable[[], Any]) -> Any:
    """Read `word(...)`; None where it is not there."""
    if parser.parse_optional_keyword(word) is None:
        return None
    with parser.in_parens():
        return read()


def _number(parser: Parser, word: str) -> IntegerAttr[IndexType] | None:
    found = _word(parser, word, parser.parse_integer)
    return None if found is None else IntegerAttr(found, _INDEX)


def _print_word(printer: Printer, word: str, value: Attribute | None) -> None:
    if value is None:
        return
    printer.print_string(f" {word}(")
    if isinstance(value, IntegerAttr):
        printer.print_string(str(value.value.data))
    else:
        printer.print_attribute(value)
    printer.print_string(")")


def _given(properties: dict[str, Any]) -> dict[str, Attribute]:
    return {name: value for name, value in properties.items() if value is not None}


@irdl_op_definition
class ConstantLoadOp(IRDLOperation):
    """A number that the host gives to a kernel."""

    name = "hal.interface.constant.load"

    result = result_def()
    layout = prop_def()
    ordinal = prop_def(IntegerAttr)
    alignment = opt_prop_def(IntegerAttr)
    values = opt_prop_def(ArrayAttr)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> ConstantLoadOp:
        """Read `layout(#layout) ordinal(0) : i32`."""
        properties = {
            "layout": _word(parser, "layout", parser.parse_attribute),
            "ordinal": _number(parser, "ordinal"),
            "alignment": _number(parser, "alignment"),
            "values": _word(parser, "values", parser.parse_attribute),
        }
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(result_types=[parser.parse_type()], properties=_given(properties), attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write the same."""
        for word in ("layout", "ordinal", "alignment", "values"):
            _print_word(printer, word, self.properties.get(word))
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class BindingSubspanOp(IRDLOperation):
    """A buffer, or a tensor in it, that the host gives to a kernel."""

    name = "hal.interface.binding.subspan"

    byte_offset = opt_operand_def(_INDEX)
    dynamic_dims = var_operand_def(_INDEX)
    result = result_def()
    layout = prop_def()
    binding = prop_def(IntegerAttr)
    alignment = opt_prop_def(IntegerAttr)
    descriptor_flags = opt_prop_def(StringAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> BindingSubspanOp:
        """Read `layout(#layout) binding(0) alignment(64) offset(%c0) flags(ReadOnly) : T{%d}`."""
        properties = {
            "layout": _word(parser, "layout", parser.parse_attribute),
            "binding": _number(parser, "binding"),
            "alignment": _number(parser, "alignment"),
        }
        place = _word(parser, "offset", parser.parse_unresolved_operand)
        words = _word(parser, "flags", lambda: parser.parse_optional_str_literal() or parser.parse_identifier())
        properties["descriptor_flags"] = None if words is None else StringAttr(words)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind, sizes = _sized_type(parser)
        offset = [] if place is None else [parser.resolve_operand(place, _INDEX)]
        return cls.build(
            operands=[offset, sizes], result_types=[kind], properties=_given(properties), attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        """Write the same."""
        for word in ("layout", "binding", "alignment"):
            _print_word(printer, word, self.properties.get(word))
        if self.byte_offset is not None:
            printer.print_string(" offset(")
            printer.print_ssa_value(self.byte_offset)
            printer.print_string(")")
        if self.descriptor_flags is not None:
            words = self.descriptor_flags.data
            printer.print_string(f" flags({words})" if words.isidentifier() else f' flags("{words}")')
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        _print_sized(printer, self.result.type, self.dynamic_dims)


def _sized_type(parser: Parser) -> tuple[Attribute, Sequence[SSAValue]]:
    """Read a type and the sizes that it leaves open: `memref<?x32xf16>{%d}`."""
    kind = parser.parse_type()
    names = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, parser.parse_unresolved_operand)
    return kind, [parser.resolve_operand(name, _INDEX) for name in names or ()]


def _print_sized(printer: Printer, kind: Attribute, sizes: Sequence[SSAValue]) -> None:
    printer.print_attribute(kind)
    if sizes:
        printer.print_string("{")
        printer.print_list(sizes, printer.print_ssa_value)
        printer.print_string("}")


_LISTS = ("offsets", "sizes", "strides")


class _SliceOp(IRDLOperation):
    """A slice of a tensor that lives outside of the kernel: where it begins, its sizes and strides."""

    offsets = var_operand_def(_INDEX)
    sizes = var_operand_def(_INDEX)
    strides = var_operand_def(_INDEX)
    static_offsets = prop_def(DenseArrayBase.constr(i64))
    static_sizes = prop_def(DenseArrayBase.constr(i64))
    static_strides = prop_def(DenseArrayBase.constr(i64))

    @classmethod
    def lists(cls, parser: Parser) -> tuple[dict[str, Attribute], list[list[SSAValue]]]:
        """Read `, offsets = [%i, 0], sizes = [16, 32], strides = [1, 1]`."""
        properties: dict[str, Attribute] = {}
        groups: list[list[SSAValue]] = []
        for name in _LISTS:
            parser.parse_punctuation(",")
            parser.parse_keyword(name)
            parser.parse_punctuation("=")
            found = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parser.parse_optional_unresolved_operand() or parser.parse_integer()
            )
            numbers = [one if isinstance(one, int) else DYNAMIC_INDEX for one in found]
            properties[f"static_{name}"] = DenseArrayBase.from_list(i64, numbers)
            groups.append([parser.resolve_operand(one, _INDEX) for one in found if not isinstance(one, int)])
        return properties, groups

    def print_lists(self, printer: Printer) -> None:
        """Write the same."""
        groups = (
            (self.static_offsets, self.offsets),
            (self.static_sizes, self.sizes),
            (self.static_strides, self.strides),
        )
        for name, (numbers, values) in zip(_LISTS, groups, strict=True):
            printer.print_string(f", {name} = [")
            given = iter(values)
            for place, number in enumerate(numbers.get_values()):
                printer.print_string(", " if place else "")
                if number == DYNAMIC_INDEX:
                    printer.print_ssa_value(next(given))
                else:
                    printer.print_string(str(number))
            printer.print_string("]")


@irdl_op_definition
class TensorLoadOp(_SliceOp):
    """A slice of a tensor outside of the kernel, as a value."""

    name = "iree_tensor_ext.dispatch.tensor.load"

    source = operand_def()
    source_dims = var_operand_def(_INDEX)
    result = result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> TensorLoadOp:
        """Read `%t, offsets = [...], sizes = [...], strides = [...] : T{%d} -> U`."""
        source = parser.parse_unresolved_operand()
        properties, groups = cls.lists(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind, dims = _sized_type(parser)
        parser.parse_punctuation("->")
        made = parser.parse_type()
        values = {
            "source": [parser.resolve_operand(source, kind)],
            "source_dims": dims,
            **dict(zip(_LISTS, groups, strict=True)),
        }
        operands = [values[name] for name, _ in cls.get_irdl_definition().operands]
        return cls.build(operands=operands, result_types=[made], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write the same."""
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        self.print_lists(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        _print_sized(printer, self.source.type, self.source_dims)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class TensorStoreOp(_SliceOp):
    """A value put into a slice of a tensor outside of the kernel."""

    name = "iree_tensor_ext.dispatch.tensor.store"

    value = operand_def()
    target = operand_def()
    target_dims = var_operand_def(_INDEX)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> TensorStoreOp:
        """Read `%v, %t, offsets = [...], sizes = [...], strides = [...] : T -> U{%d}`."""
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        target = parser.parse_unresolved_operand()
        properties, groups = cls.lists(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        stored = parser.resolve_operand(value, parser.parse_type())
        parser.parse_punctuation("->")
        kind, dims = _sized_type(parser)
        values = {"value": [stored], "target": [parser.resolve_operand(target, kind)], "target_dims": dims}
        values |= dict(zip(_LISTS, groups, strict=True))
        operands = [values[name] for name, _ in cls.get_irdl_definition().operands]
        return cls.build(operands=operands, properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write the same."""
        printer.print_string(" ")
        printer.print_list((self.value, self.target), printer.print_ssa_value)
        self.print_lists(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(" -> ")
        _print_sized(printer, self.target.type, self.target_dims)


@irdl_op_definition
class WorkloadOrdinalOp(IRDLOperation):
    """Which number of the workload a value is."""

    name = "iree_tensor_ext.dispatch.workload.ordinal"

    operand = operand_def(_INDEX)
    result = result_def(_INDEX)
    ordinal = prop_def(IntegerAttr)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> WorkloadOrdinalOp:
        """Read `%d, 0 : index`."""
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        properties = {"ordinal": IntegerAttr(parser.parse_integer(), _INDEX)}
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        operands = [parser.resolve_operand(value, kind)]
        return cls.create(operands=operands, result_types=[kind], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        """Write the same."""
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        printer.print_string(f", {self.ordinal.value.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


HAL = Dialect("hal", [*map(_workgroup, ("id", "count", "size")), ConstantLoadOp, BindingSubspanOp], [])
"""What a kernel is given."""
IREE_TENSOR_EXT = Dialect("iree_tensor_ext", [TensorLoadOp, TensorStoreOp, WorkloadOrdinalOp], [])
"""Tensors that live outside of a kernel."""
