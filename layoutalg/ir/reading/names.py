"""The names of values in a text that is not whole: used without a definition, or defined twice.

A value that an unread operation gives has no type until something uses it with one. What is never defined gets a definition at
the beginning of its region (`layoutalg.undefined`), with the types of its uses:

>>> from layoutalg.ir.reading import read_file_text
>>> [made, use] = read_file_text("%b = arith.addi %a, %a : i32").modules[0].module.ops
>>> made.name, str(made.results[0].type)
('layoutalg.undefined', 'i32')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from xdsl.context import Context
from xdsl.ir import Attribute, AttributeInvT, Block, Region, SSAValue
from xdsl.parser import ForwardDeclaredValue, UnresolvedOperand
from xdsl.utils.lexer import Span

from layoutalg.core.limits import MOST_FINDINGS
from layoutalg.ir.dialects.unread import UNREAD, UndefinedOp
from layoutalg.ir.findings import Finding
from layoutalg.ir.places import Place
from layoutalg.ir.reading.parser import ModuleParser

__all__ = ["NamesParser", "hint", "retype"]


class NamesParser(ModuleParser):
    """Reads operations whose values may have no definition, and notes what is wrong.

    >>> from layoutalg.ir.dialects import known_dialects
    >>> NamesParser(known_dialects(), "").findings
    []
    """

    def __init__(
        self, context: Context, text: str, start: int = 0, end: int | None = None, *, file: str = "text"
    ) -> None:
        super().__init__(context, text, start, end, file=file)
        self.findings: list[Finding] = []
        self.adopted: list[SSAValue] = []
        self.first_uses: dict[int, int] = {}

    def complain(
        self, rule: str, message: str, operation: str, position: int, level: Literal["error", "warning"] = "error"
    ) -> None:
        """Note a finding, up to `MOST_FINDINGS` of them."""
        if len(self.findings) < MOST_FINDINGS:
            place = Place(self.file.data, *self.lines.at(position))
            self.findings.append(Finding(rule, message, operation, place, level=level))

    # Operations

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        """The value that an operand names; a value of an unread operation gets the type of its first use."""
        values = self.ssa_values.get(operand.operand_name)
        if values is None:
            value = self.forward_ssa_references.get(operand.operand_name, {}).get(operand.index)
            if value is not None and value.first_use is None:
                retype(value, type)
        else:
            value = values[operand.index] if operand.index < len(values) else None
        if value is not None and value.type == UNREAD:
            retype(value, type)
            self.adopted.append(value)
        resolved = super().resolve_operand(operand, type)
        if isinstance(resolved, ForwardDeclaredValue):
            self.first_uses.setdefault(id(resolved), operand.span.start)
        return resolved

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        if len(self.defined) == 1 and name in self.ssa_values:
            self.complain("read.redefined", f"%{name} is defined a second time", "module", span.start, "warning")
            del self.ssa_values[name]
        if name not in self.ssa_values:
            for index, reference in self.forward_ssa_references.get(name, {}).items():
                if index >= len(values):
                    self.raise_error(f"%{name}#{index} is used, and %{name} has {len(values)} values", span)
                elif reference.type == UNREAD or reference.first_use is None:
                    retype(reference, values[index].type)
                elif values[index].type == UNREAD:
                    retype(values[index], reference.type)
                elif reference.type != values[index].type:
                    used = f"but used with type {reference.type}"
                    self.raise_error(f"Result %{name} is defined with type {values[index].type}, {used}", span)
        super()._register_ssa_definition(name, values, span)

    def undefined(self, region: Region) -> None:
        """Give the values that were used in an isolated region, and never defined, a definition at its beginning."""
        self.define(region.blocks[0] if region.blocks else None, complain=True)

    def define(self, block: Block | None, *, complain: bool) -> None:
        """Define what was used without a definition at the beginning of a block, with the types of its uses."""
        used = [
            (name, value)
            for name, values in self.forward_ssa_references.items()
            for value in values.values()
            if value.first_use is not None
        ]
        self.forward_ssa_references.clear()
        if not used or block is None:
            return
        definition = UndefinedOp.of([value.type for _, value in used])
        definition.location = self.place(self.first_uses.get(id(used[0][1]), 0))
        for (name, value), result in zip(used, definition.results, strict=True):
            if complain:
                use = value.first_use
                user = "value" if use is None else use.operation.name
                at = self.first_uses.get(id(value), self.pos)
                self.complain("read.undefined", f"uses %{name}, which is not defined", user, at)
            value.replace_all_uses_with(result)
            hint(result, name)
        first = block.first_op
        if first is None:
            block.add_op(definition)
        else:
            block.insert_op_before(definition, first)


def retype(value: SSAValue, type: Attribute) -> None:
    """Give a value its type afterwards.

    >>> from xdsl.dialects.builtin import i32
    >>> retype(value := UndefinedOp.of([UNREAD]).results[0], i32)
    >>> value.type == i32
    True
    """
    value._type = type  # pyright: ignore[reportPrivateUsage]


def hint(value: SSAValue, name: str) -> None:
    """Name a value as the text does, where MLIR can write the name.

    >>> hint(value := UndefinedOp.of([UNREAD]).results[0], "a")
    >>> value.name_hint
    'a'
    """
    if SSAValue.is_valid_name(name):
        value.name_hint = name
