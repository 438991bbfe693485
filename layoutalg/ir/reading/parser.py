"""Operations out of a text, strictly: xDSL's parser, which also notes where every operation stands.

>>> from layoutalg.ir.dialects import known_dialects
>>> from layoutalg.ir.places import place_of
>>> parser = ModuleParser(known_dialects(), "%c = arith.constant 16 : index", file="k.mlir")
>>> print(place_of(parser.parse_operation()))
k.mlir:1:6

Unlike xDSL's parser, a region costs what stands in it, not what stands before it; names of values inside an operation that
is isolated from above are its own, as in MLIR; and operations are bounded in number and nesting.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnregisteredOp
from xdsl.ir import AttributeInvT, Block, Operation, Region, SSAValue
from xdsl.parser import ForwardDeclaredValue, Parser, UnresolvedOperand
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from layoutalg.core.limits import MAX_NESTING, MOST_OPERANDS, MOST_READ_OPERATIONS, MOST_WRITTEN_OUT
from layoutalg.ir.operations.old_spellings import (
    keep_old_spellings,
    note_old_spelling,
    notes_put_back,
    notes_set_aside,
    todays_name,
)
from layoutalg.ir.reading.attributes import AttributeParser
from layoutalg.ir.reading.lines import Lines
from layoutalg.ir.reading.repeated import LINE, ReadLine, RepeatedLines

__all__ = ["ModuleParser", "in_words"]


def in_words(problem: Exception) -> str:
    """What an exception that a parser raised for a text says, in one line.

    >>> in_words(ValueError("two\\nlines"))
    'two lines'
    """
    if isinstance(problem, RecursionError):
        return "it is nested too deeply"
    if isinstance(problem, MemoryError):
        return "there is not enough memory to read it"
    words = " ".join((problem.msg if isinstance(problem, ParseError) else str(problem)).split())
    return "a number has too many digits" if "limit (4300 digits)" in words else words or type(problem).__name__


class ModuleParser(AttributeParser):
    """Reads operations between two positions of a text.

    >>> from layoutalg.ir.dialects import known_dialects
    >>> [operation.name for operation in ModuleParser(known_dialects(), "gpu.barrier gpu.barrier").parse_module().ops]
    ['gpu.barrier', 'gpu.barrier']
    """

    def __init__(
        self, context: Context, text: str, start: int = 0, end: int | None = None, *, file: str = "text"
    ) -> None:
        super().__init__(context, text, start, end)
        self.file = StringAttr(file)
        self.lines = Lines(text)
        self.repeated = RepeatedLines()
        self.known = context.clone()
        self.known.allow_unregistered = False
        self.classes: dict[str, type[Operation]] = {}
        self.owners: list[type[Operation]] = []
        self.defined: list[list[str]] = [[]]
        self.deepest = MAX_NESTING
        self.operations: int = 0
        self.operands = self.closed = self.written_out = 0
        self.forward_names: dict[SSAValue, tuple[str, int]] = {}

    def place(self, position: int) -> LocationAttr:
        """A position as xDSL notes it on operations."""
        line, column = self.lines.at(position)
        place = FileLineColLoc.__new__(FileLineColLoc)  # its constructor checks, which takes 10 times as long
        object.__setattr__(place, "filename", self.file)
        object.__setattr__(place, "line", IntAttr(line))
        object.__setattr__(place, "column", IntAttr(column))
        return place

    # Operations

    def parse_operation(self) -> Operation:
        """Read an operation, in its own syntax or in the generic form."""
        self.count()
        self.operands = self.aliased = 0
        if len(self.owners) >= self.deepest:
            self.raise_error("it is nested too deeply")
        start = self._current_token.span
        line = LINE.match(self.lexer.input.content, self.pos, self.lexer.end)
        found = None if line is None else self.repeated.lookup(line, self.ssa_values, self.listed)
        if line is not None and found is not None:
            return self._repeat(line, *found)
        listed = self.listed
        bound = self._parse_op_result_list()
        token = self._current_token
        place = self.place(token.span.start)  # as LLVM does: the operation's name, behind its results
        pretty = token.kind is MLIRTokenKind.BARE_IDENT
        name = self._consume_token().text if pretty else self.expect(self.parse_str_literal, "operation name expected")
        written, name = name, todays_name(name)
        kind = self.operation_class(name, pretty, token.span)
        dialects, owners = len(self._parser_state.dialect_stack), len(self.owners)
        notes = notes_set_aside(self) if self.owners else {}  # at the top: those of aliases, for the first operation
        if written != name:
            note_old_spelling(self, f"`{written}`", f"`{name}`")
        self._parser_state.dialect_stack.append(kind.dialect_name())
        self.owners.append(kind)
        try:
            if pretty:
                operation = kind.parse(self)
                self.parse_optional_location()
            else:
                operation = self._parse_generic_operation(kind)
        finally:
            del self._parser_state.dialect_stack[dialects:], self.owners[owners:]
        self.written_out += self.aliased
        if self.written_out > MOST_WRITTEN_OUT:
            self.raise_error(f"aliases that stand for more than {MOST_WRITTEN_OUT} characters in all are not read")
        operation.location = self.located(operation.location, place)
        keep_old_spellings(self, operation)
        notes_put_back(self, notes)
        if line is not None and self.pos == line.end() and not self.aliased:
            self.repeated.remember(line, operation, self.ssa_values, self.listed - listed)
        self._bind(operation, bound, start)
        return operation

    def _repeat(self, line: re.Match[str], read: ReadLine, operands: Sequence[SSAValue]) -> Operation:
        """The operation of a line that was read before, with these operands."""
        self.listed += read.listed
        self._resume_from(line.end())
        operation = self.repeated.operation(read, operands)
        operation.location = self.located(operation.location, self.place(line.start(2)))
        if (
            not self.owners
        ):  # the line itself has no older spelling; those of aliases before it are the first operation's
            keep_old_spellings(self, operation)
        name = Span(*line.span(1), self.lexer.input)
        self._bind(operation, () if line[1] is None else ((name, 1),), name)
        return operation

    def count(self) -> None:
        """Count one more operation, block or alias: a text has at most so many."""
        self.operations += 1
        if self.operations > MOST_READ_OPERATIONS:
            self.raise_error(f"more than {MOST_READ_OPERATIONS} operations, blocks and aliases are not read")

    def _parse_alias_def(self) -> None:
        self.count()
        super()._parse_alias_def()

    def located(self, written: LocationAttr, place: LocationAttr) -> LocationAttr:
        """Where an operation stands: in the text that is read, whatever `loc(...)` says about where it came from."""
        return place

    def _bind(self, operation: Operation, bound: Sequence[tuple[Span, int]], start: Span) -> None:
        if operation.regions:
            self._keep_forward_references(operation, start)
        count = sum(size for _, size in bound)
        if count and len(operation.results) != count:
            self.raise_error(f"Operation has {len(operation.results)} results, but was given {count} to bind.", start)
        first = 0
        for span, size in bound:
            self._register_ssa_definition(span.text[1:], operation.results[first : first + size], span)
            first += size

    def _keep_forward_references(self, operation: Operation, start: Span) -> None:
        """Operands that a definition inside of the operation's own regions took away: it is not visible here."""
        for number, operand in enumerate(operation.operands):
            if not isinstance(operand, ForwardDeclaredValue):
                continue
            name, index = self.forward_names.get(operand, ("", 0))
            values = self.ssa_values.get(name)
            references = self.forward_ssa_references.setdefault(name, {}) if values is None else {}
            kept = references.setdefault(index, operand) if values is None else (*values, operand)[index]
            if kept.type != operand.type:
                self.raise_error(f"%{name} is used with type {operand.type}, and has type {kept.type}", start)
            operation.operands[number] = kept

    def operation_class(self, name: str, pretty: bool, span: Span) -> type[Operation]:
        """The class of an operation; a name without a dialect is looked for in the dialects of the enclosing ones."""
        known = self.known.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if known is not None:
            return known
        if pretty:
            self.raise_error(f"'{name}' is not a known operation (unknown ones are read in generic form)", span)
        if name not in self.classes:
            self.classes[name] = UnregisteredOp.with_name(name)
        return self.classes[name]

    # Names of values

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        """The value that an operand names."""
        self.operands += 1
        if self.operands > MOST_OPERANDS:
            self.raise_error(f"operations with more than {MOST_OPERANDS} operands are not read", operand.span)
        resolved = super().resolve_operand(operand, type)
        if isinstance(resolved, ForwardDeclaredValue):
            self.forward_names[resolved] = operand.operand_name, operand.index
        return resolved

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        self.defined[-1].append(name)

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        """Read `{...}` if it is there; names that are defined in it end with it."""
        if self.parse_optional_punctuation("{") is None:
            return None
        isolated = bool(self.owners) and self.owners[-1].has_trait(IsolatedFromAbove, value_if_unregistered=False)
        values, forward = self.ssa_values, self.forward_ssa_references
        blocks, forward_blocks = self.blocks, self.forward_block_references
        self.blocks, self.forward_block_references = {}, defaultdict(list)
        self.defined.append([])
        if isolated:
            self.ssa_values, self.forward_ssa_references = {}, {}
        region = Region()
        self.parse_region_body(region, arguments)
        if isolated:
            self.undefined(region)
            self.ssa_values, self.forward_ssa_references = values, forward
        for name in self.defined.pop():
            self.ssa_values.pop(name, None)
        self.blocks, self.forward_block_references = blocks, forward_blocks
        return region

    def parse_region_body(self, region: Region, arguments: Iterable[Parser.Argument] | None) -> None:
        """Read the blocks of a region, and its `}`."""
        kind = self._current_token.kind
        if arguments is not None:
            if kind is MLIRTokenKind.CARET_IDENT:
                self.raise_error("invalid block name in region with named arguments")
            region.add_block(self._entry_block(list(arguments)))
        elif kind is not MLIRTokenKind.CARET_IDENT and kind is not MLIRTokenKind.R_BRACE:
            block = Block()
            self._parse_block_body(block)
            region.add_block(block)
        while self._current_token.kind is not MLIRTokenKind.R_BRACE:
            region.add_block(self._parse_block())
        self.closed = self.pos + 1
        self.parse_punctuation("}")
        if self.forward_block_references:
            names = ", ".join(f"^{name}" for name in self.forward_block_references)
            self.raise_error(f"region ends with missing block declarations for block(s) {names}")

    def parse_optional_successor(self) -> Block | None:
        """A block that an operation goes to, by a number too."""
        token = self._parse_optional_token(MLIRTokenKind.CARET_IDENT)
        return None if token is None else self._get_block_from_name(token.span)

    def _parse_block(self) -> Block:
        """Read a block as xDSL does, which forgets where one begins that was named before, and takes no number as a name."""
        self.count()
        name = self._current_token.text[1:]
        if name in self.blocks and name not in self.forward_block_references:
            self.raise_error(f"re-declaration of block '{name}'")
        token = self._parse_token(MLIRTokenKind.CARET_IDENT, " in block definition")
        self.forward_block_references.pop(name, None)
        block = self.blocks[name][0] if name in self.blocks else Block()
        self.blocks[name] = (block, token.span)
        if Block.is_valid_name(name) and not Block.is_default_block_name(name):
            block.name_hint = name
        self._parse_optional_block_arg_list(block)
        self.parse_punctuation(":")
        self._parse_block_body(block)
        return block

    def _entry_block(self, arguments: Sequence[Parser.Argument]) -> Block:
        block = Block(arg_types=[argument.type for argument in arguments])
        for value, argument in zip(block.args, arguments, strict=True):
            self._register_ssa_definition(argument.name.text[1:], (value,), argument.name)
        self._parse_block_body(block)
        return block

    def undefined(self, region: Region) -> None:
        """Refuse values that were used in an isolated region, and not defined."""
        if self.forward_ssa_references:
            names = ", ".join(f"%{name}" for name in self.forward_ssa_references)
            self.raise_error(f"values used but not defined: [{names}]")
