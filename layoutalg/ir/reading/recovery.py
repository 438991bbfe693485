"""Operations out of a text, tolerantly: what cannot be read is kept as text, and reading goes on behind it.

    %a = arith.constant 1 : i32
    %b = my.strange_op %a with {extra}        // kept as `layoutalg.unread`, with %a as its operand
    %c = arith.addi %a, %b : i32              // says that %b is an i32

An operation that cannot be read becomes an `UnreadOp`. It ends where the next operation begins; regions inside it are read
for themselves, so a mistake in the first line of a function loses that line only. Every loss is a `Finding` that names line
and column and what was expected.

The law: the parser never raises for what a text says, and the time is linear: a region is read once, whatever becomes of the
operation around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from xdsl.context import Context
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import ForwardDeclaredValue, Parser, ParserState
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import MLIRTokenKind

from layoutalg.core.limits import (
    LONGEST_NESTED,
    MOST_ALIASED,
    MOST_OPERANDS,
    MOST_READ_OPERATIONS,
    MOST_UNREAD,
    MOST_WRITTEN_OUT,
)
from layoutalg.ir.dialects import DIALECTS
from layoutalg.ir.dialects.unread import UNREAD, UnreadOp
from layoutalg.ir.operations.old_spellings import notes_now, notes_put_back
from layoutalg.ir.reading.attributes import AttributeParser
from layoutalg.ir.reading.lexer import ModuleLexer, ModuleToken
from layoutalg.ir.reading.names import NamesParser, hint, retype
from layoutalg.ir.reading.parser import in_words
from layoutalg.ir.reading.skimming import (
    ALIAS,
    BEGINS,
    LABEL,
    MENTION,
    NAMED_VALUE,
    NEXT_MARK,
    ONE_RESULT,
    RESULTS,
    STRONG,
)

__all__ = ["TolerantParser"]

_OPENS = {")": "(", "]": "[", "}": "{"}
_NAME = re.compile(r'"?[A-Za-z_][A-Za-z0-9_$.]*+"?')
_SHOWN = re.compile(r'[\w.$%#!@^"]{1,40}|.|\n')
_STARTS = (MLIRTokenKind.PERCENT_IDENT, MLIRTokenKind.BARE_IDENT, MLIRTokenKind.STRING_LIT)
_MOST_RESULTS = 2**16
_MOST_MENTIONS = 256

_ALIAS_USE = re.compile(r'"(?:[^"\\]|\\.)*"|[#!][A-Za-z_][\w$-]*(?![\w$.<-])')
"""A string, or the name of an alias where it is used."""


class _TolerantLexer(ModuleLexer):
    """Gives a token even for characters that are not one, where the strict lexer raises."""

    def _refuse(self, start: int) -> Token[MLIRTokenKind, str]:
        text = self.input.content
        self.pos = start + 1
        if text[start] == '"' or text.startswith('@"', start, self.end):
            line_end = text.find("\n", start, self.end)
            self.pos = self.end if line_end < 0 else line_end
        return ModuleToken(MLIRTokenKind.FILE_METADATA_END, text[start : self.pos], start, self.input)


@dataclass(frozen=True, slots=True)
class _State:
    """What an attempt to read an operation may change, and must leave unchanged when it fails."""

    values: dict[str, tuple[SSAValue, ...]]
    forward: dict[str, dict[int, ForwardDeclaredValue[Any]]]
    blocks: dict[str, tuple[Block, Span | None]]
    forward_blocks: dict[str, list[Span]]
    scopes: int
    names: int
    regions: int
    adopted: int
    notes: dict[str, list[object]]


_OPAQUE = ("transform.",)
"""Operations whose text is kept as it stands: scripts for compilers, which have no layouts."""


class TolerantParser(NamesParser):
    """Reads operations between two positions of a text, whatever stands there.

    >>> from layoutalg.ir.dialects import known_dialects
    >>> parser = TolerantParser(known_dialects(), "my.op to nowhere\\n%a = arith.constant 1 : i32")
    >>> [parser.parse_operation().name, parser.parse_operation().name]
    ['layoutalg.unread', 'arith.constant']
    >>> print(parser.findings[0])
    text:1:1: warning: 'my.op' op cannot be read: its syntax is not known [layoutalg: read.operation]
    """

    def __init__(
        self, context: Context, text: str, start: int = 0, end: int | None = None, *, file: str = "text"
    ) -> None:
        super().__init__(context, text, start, start, file=file)
        self._parser_state = ParserState(_TolerantLexer(Input(text, file), start, end))
        self.regions_read: dict[int, tuple[Region, int]] = {}
        self.aliases_written: dict[str, str] = {}
        self.vain_mentions = 0
        self.header: list[str] = []
        self.unread_operations = self.unread_results = 0
        self.given_up = self.unclosed = False

    def parse_operation(self) -> Operation:
        """Read an operation, or keep its text."""
        start, state = self.pos, self._state()
        if self.full():
            return self.give_up(start)
        try:
            operation = super().parse_operation()
        except Exception as problem:  # xDSL's operations raise much more than parse errors; RecursionError, too
            position, message = self._reason(problem)
            self._restore(state)
            try:
                operation = self.unread(start, position, message)
            except (MemoryError, RecursionError):
                self.deepest = min(self.deepest, len(self.owners))  # nothing so deep is tried again
                self._restore(state)
                operation = self.unread(start, position, message)
        while len(self.regions_read) > state.regions:
            self.regions_read.popitem()
        del self.adopted[state.adopted :]
        return operation

    def parse_strictly(self) -> Operation:
        """Read an operation, or raise as xDSL does; what stands in its regions is read tolerantly."""
        return super().parse_operation()

    def kept_line(self, start: int, end: int, mentions: Sequence[Attribute]) -> UnreadOp:
        """A line that is not MLIR, kept for the attributes in it."""
        words = self.lexer.input.content[start:end].strip()
        self.complain("read.text", "is not MLIR; the attributes in it are read", "text", start, "warning")
        operation = UnreadOp.of(words, [], (), mentions)
        operation.location = self.place(start)
        return operation

    def full(self) -> bool:
        """Whether as many operations were read as are read of one text."""
        return self.operations >= MOST_READ_OPERATIONS or self.unread_operations >= MOST_UNREAD

    def give_up(self, start: int) -> Operation:
        """Leave out the rest of the text."""
        if not self.given_up:
            read = f"{MOST_READ_OPERATIONS} operations, or {MOST_UNREAD} that cannot be read"
            self.complain("read.limit", f"is not read from here on: at most {read}", "module", start)
        self.given_up = True
        self._resume_from(self.lexer.end)
        return UnreadOp.of("...", [])

    def _reason(self, problem: Exception) -> tuple[int, str]:
        """Where reading stopped, and why, in words."""
        message = in_words(problem)
        if not isinstance(problem, XdslParseError):
            return self.pos, message
        position = problem.span.start
        token = self._current_token
        if token.kind is MLIRTokenKind.FILE_METADATA_END and token.span.start == position and token.text != "#-}":
            message = ModuleLexer.complaint(token.text)
        elif "xpected" in message and "found" not in message and "got" not in message:
            found = _SHOWN.match(self.lexer.input.content, position, self.lexer.end)
            message = f"{message[0].lower()}{message[1:]}, found {found.group() if found else 'the end of the text'!r}"
        return position, message

    def _state(self) -> _State:
        return _State(
            self.ssa_values,
            self.forward_ssa_references,
            self.blocks,
            self.forward_block_references,
            len(self.defined),
            len(self.defined[-1]),
            len(self.regions_read),
            len(self.adopted),
            notes_now(self),
        )

    def _restore(self, state: _State) -> None:
        notes_put_back(self, state.notes)
        if self.ssa_values is state.values:
            lost = [name for names in self.defined[state.scopes :] for name in names]
            for name in (*lost, *self.defined[state.scopes - 1][state.names :]):
                self.ssa_values.pop(name, None)
        del self.defined[state.scopes :], self.defined[-1][state.names :]
        self.ssa_values, self.forward_ssa_references = state.values, state.forward
        self.blocks, self.forward_block_references = state.blocks, state.forward_blocks
        for value in self.adopted[state.adopted :]:
            retype(value, UNREAD)

    def operation_class(self, name: str, pretty: bool, span: Span) -> type[Operation]:
        """The class of an operation; the syntax of an unknown one is not known."""
        if pretty and self.known.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack) is None:
            self.raise_error("its syntax is not known", span)
        return super().operation_class(name, pretty, span)

    def _bind(self, operation: Operation, bound: Sequence[tuple[Span, int]], start: Span) -> None:
        try:
            super()._bind(operation, bound, start)
        except XdslParseError:
            for region in operation.regions:
                region.parent = None
            operation.regions = ()
            operation.drop_all_references()
            raise

    def unread(self, start: int, position: int, message: str, level: Literal["error", "warning"] = "error") -> UnreadOp:
        """Keep the text of an operation that cannot be read, and read the regions in it; `position` is where and `message`
        is why reading it failed.
        """
        text, end = self.lexer.input.content, self.lexer.end
        self.unread_operations += 1
        results = RESULTS.match(text, start, end)
        body = start if results is None else self.lexer.skip(results.end())
        found = _NAME.match(text, body, end)
        name = "text" if found is None else found.group().strip('"')
        known = self.known.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if known is None and "." in name and name.partition(".")[0] not in DIALECTS:
            level = "warning"  # of a dialect whose syntax is not known here
        if not name.startswith(_OPAQUE):
            self.complain("read.operation", f"cannot be read: {message}", name, position, level)
        place = self.place(body)
        self.owners.append(UnreadOp if known is None else known)
        try:
            kept, regions, stop = self._skim(body)
        finally:
            self.owners.pop()
        inputs = self._named_values(kept, body, bool(regions))
        mentions = self.mentions(body, stop)
        bound = [] if results is None else ONE_RESULT.findall(results.group())
        sizes = [min(int(size or 1), _MOST_RESULTS) for _, size in bound]
        self.unread_results += sum(sizes)
        if self.unread_results > _MOST_RESULTS:
            bound, sizes = [], []
        written = self._with_aliases_written_out(kept)
        operation = UnreadOp.of(written, list(inputs.values()), list(inputs), mentions, sum(sizes), regions)
        operation.location = place
        first = 0
        for (name, _), size in zip(bound, sizes, strict=True):
            values = operation.results[first : first + size]
            first += size
            if name[1:] not in self.ssa_values:
                with suppress(XdslParseError):  # more of its values were used than there are: those uses stay undefined
                    self._register_ssa_definition(name[1:], values, Span(start, start + 1, self.lexer.input))
        self._resume_from(stop)
        return operation

    def _with_aliases_written_out(self, text: str) -> str:
        """A text that means the same without the definitions of aliases, as far as they are short."""
        remaining = MOST_ALIASED

        def replaced(found: re.Match[str]) -> str:
            nonlocal remaining
            name = found.group()
            length = self.alias_lengths.get(name, 0)
            if name not in self.attribute_aliases or length > remaining or self.written_out > MOST_WRITTEN_OUT:
                return name
            if name not in self.aliases_written:
                self.aliases_written[name] = str(self.attribute_aliases[name])
            written = self.aliases_written[name]
            remaining -= len(written)
            self.written_out += len(written)
            return written

        return _ALIAS_USE.sub(replaced, text) if self.attribute_aliases else text

    def _skim(self, start: int) -> tuple[str, list[Region], int]:
        """From the name of an operation to its end: its text, the regions in it, and where it ends."""
        text, end = self.lexer.input.content, self.lexer.end
        kept: list[str] = []
        regions: list[Region] = []
        opened: list[str] = []
        counts = {"(": 0, "[": 0, "{": 0}
        copied = position = start
        stop = end
        while (found := NEXT_MARK.search(text, position, end)) is not None:
            mark, at, position = found.group(), found.start(), found.end()
            if mark in counts:
                region = self._region_at(at, text[copied:at]) if mark == "{" else None
                if region is not None:
                    kept += (text[copied:at], "{...}")
                    regions.append(region)
                    copied = position = self.closed
                else:
                    opened.append(mark)
                    counts[mark] += 1
            elif mark in _OPENS:
                if not counts[_OPENS[mark]]:
                    if mark == "}":
                        stop = at
                        break
                    continue
                while True:  # brackets in between have no end
                    closed = opened.pop()
                    counts[closed] -= 1
                    if closed == _OPENS[mark]:
                        break
            elif mark == "\n":
                skipping = counts["{"] and len(self.owners) > self.deepest
                if self._begins(position) if not opened else not skipping and STRONG.match(text, position, end):
                    stop = position
                    break
            elif mark[0] == "%" and at > start and not opened:
                stop = at
                break
        kept.append(text[copied:stop])
        return "".join(kept).strip(), regions, stop

    def _begins(self, position: int) -> bool:
        """Whether something else than the rest of an operation stands at the start of a line."""
        text, end = self.lexer.input.content, self.lexer.end
        after = self.lexer.skip(position)
        if text.startswith("}", after, end) or BEGINS.match(text, position, end) or LABEL.match(text, position, end):
            return True
        return len(self.defined) == 1 and ALIAS.match(text, position, end) is not None

    def _region_at(self, position: int, header: str) -> Region | None:
        """The region whose `{` stands at a position: as it was read before, or read now, or None where it is not one."""
        read = self.regions_read.pop(position, None)
        if read is not None:
            region, self.closed = read
            if region.parent is not None:  # its operation was made, and could not stay
                region.parent.detach_region(region)
            return region
        if len(self.owners) > self.deepest or not self._begins_region(position + 1):
            return None
        outside = self.ssa_values.keys() | self.forward_ssa_references.keys()
        self.header = [
            found[1][1:] for found in NAMED_VALUE.finditer(header) if found[1] and found[1][1:] not in outside
        ]
        self._resume_from(position)
        return self.parse_optional_region()

    def _begins_region(self, position: int) -> bool:
        text, end = self.lexer.input.content, self.lexer.end
        position = self.lexer.skip(position)
        if BEGINS.match(text, position, end) or LABEL.match(text, position, end):
            return True
        word = _NAME.match(text, position, end)
        return word is not None and self.known.get_optional_op(word.group()) is not None

    def _named_values(self, kept: str, start: int, around: bool) -> dict[str, SSAValue]:
        """The values that the text of an operation names; a name that is new before a region is that region's."""
        found: dict[str, SSAValue] = {}
        for match in NAMED_VALUE.finditer(kept):
            if match[1] is None or match[1] in found:
                continue
            if len(found) == MOST_OPERANDS:
                break
            name, _, number = match[1][1:].partition("#")
            index = int(number[:9] or 0)
            values = self.ssa_values.get(name)
            if values is not None:
                if index < len(values):
                    found[match[1]] = values[index]
            elif not around:
                references = self.forward_ssa_references.setdefault(name, {})
                value = references.setdefault(index, ForwardDeclaredValue(UNREAD))
                self.first_uses.setdefault(id(value), start)
                found[match[1]] = value
        return found

    def mentions(self, start: int, stop: int) -> list[Attribute]:
        """The attributes and types of known notations in a part of the text that cannot be read."""
        text = self.lexer.input.content
        found: list[Attribute] = []
        while (match := MENTION.search(text, start, stop)) is not None:
            start = match.end()
            if match.group()[-1] not in ".<" and match.group() not in self.attribute_aliases:
                continue
            parser = AttributeParser(self.ctx, text, match.start(), min(stop, start + LONGEST_NESTED))
            parser.attribute_aliases = self.attribute_aliases
            parser.types, parser.attributes = self.types, self.attributes
            try:
                value = parser.parse_type() if match.group()[0] == "!" else parser.parse_attribute()
            except Exception:  # what cannot be read here stays in the operation's text
                self.vain_mentions += 1
                if self.vain_mentions > _MOST_MENTIONS:
                    break
                continue
            found.append(value)
            start = max(start, parser.pos)
            if len(found) == _MOST_MENTIONS:
                break
        return found

    # Regions and blocks

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        """Read `{...}` if it is there, and remember it: the operation around it may fail."""
        start = self.pos
        region = super().parse_optional_region(arguments)
        if region is not None:
            self.regions_read[start] = (region, self.closed)
        return region

    def parse_region_body(self, region: Region, arguments: Iterable[Parser.Argument] | None) -> None:
        """Read the blocks of a region up to its `}`, or up to the end of the text."""
        header, self.header = self.header, []
        if arguments is not None:
            region.add_block(self._entry_block(list(arguments)))
        elif self._current_token.kind is not MLIRTokenKind.R_BRACE and not self._at_label():
            block = Block()
            self._parse_block_body(block)
            region.add_block(block)
        while self._current_token.kind not in (MLIRTokenKind.R_BRACE, MLIRTokenKind.EOF):
            region.add_block(self._parse_block())
        self.closed = self.pos
        if self._current_token.kind is MLIRTokenKind.R_BRACE:
            self.closed += 1
            self._consume_token()
        elif not self.unclosed and not self.given_up:
            self.unclosed = True
            owner = self.owners[-1].name if self.owners else "module"
            self.complain("read.brackets", "has no '}' at its end", owner, self.pos)
        for name, spans in self.forward_block_references.items():
            self.complain("read.block", f"^{name} is not defined in this region", "block", spans[0].start)
            region.add_block(self.blocks[name][0])
        self._bind_header(region, header)

    def _bind_header(self, region: Region, names: Sequence[str]) -> None:
        """Make arguments of the values that an unread operation names before its region, and that are used in it."""
        for name in names:
            for value in self.forward_ssa_references.pop(name, {}).values():
                if value.first_use is not None and region.blocks:
                    argument = region.blocks[0].insert_arg(value.type, len(region.blocks[0].args))
                    value.replace_all_uses_with(argument)
                    hint(argument, name)

    def _at_label(self) -> bool:
        return LABEL.match(self.lexer.input.content, self.pos, self.lexer.end) is not None

    def _parse_block_body(self, block: Block) -> None:
        while True:
            kind = self._current_token.kind
            if kind in _STARTS:
                block.add_op(self.parse_operation())
            elif kind in (MLIRTokenKind.R_BRACE, MLIRTokenKind.EOF) or self._at_label():
                return
            else:
                start = self.pos
                self.operations += 1
                _, message = self._reason(XdslParseError(self._current_token.span, "expected an operation"))
                block.add_op(self.give_up(start) if self.full() else self.unread(start, start, message))

    def _parse_block(self) -> Block:
        start, state = self.pos, self._state()
        if self.full():
            self.give_up(start)
            return Block()
        try:
            return super()._parse_block()
        except (XdslParseError, ValueError) as problem:
            position, message = self._reason(problem)
            self._restore(state)
            block = Block()
            block.add_op(self.unread(start, position, message))
            self._parse_block_body(block)
            return block
