"""Whatever an engineer pastes: `read_file_text` reads modules, dumps, single operations and lines of a log.

    // -----// IR Dump After CSE (cse) //----- //
    gpu.func @f(%t: !xegpu.tensor_desc<8x16xf16>) { ... }

A text is cut at the banners of pass dumps and at `// -----`. Each piece is a `Part`, a module of its own; in a piece with
several modules, each of them is. What surrounds operations in a log is left out, and what cannot be read is kept as text:

>>> reading = read_file_text('k.mlir:3:8: note: see current operation: "xegpu.nbarrier_wait"(%1) : (!xegpu.nbarrier) -> ()')
>>> [operation.name for operation in reading.modules[0].module.ops]
['layoutalg.undefined', 'xegpu.nbarrier_wait']
>>> reading = read_file_text("pattern failed for #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]> here")
>>> [str(mention) for operation in reading.modules[0].module.ops for mention in operation.mentions]
['#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>']

The law: `read_file_text` reads everything that `read_module` reads, to the same module; lines and columns are those of the
text; and it never raises for what the text says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.mlir_lexer import MLIRTokenKind

from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.core.limits import MAX_TEXT, MOST_FINDINGS, MOST_PARTS
from layoutalg.ir.dialects import known_dialects
from layoutalg.ir.findings import Finding
from layoutalg.ir.operations.old_spellings import old_spellings
from layoutalg.ir.places import Place, line_of, place_of
from layoutalg.ir.reading.asking import AskedParser, generic_form
from layoutalg.ir.reading.lines import Lines
from layoutalg.ir.reading.order import misplaced_uses
from layoutalg.ir.reading.parser import in_words
from layoutalg.ir.reading.recovery import TolerantParser
from layoutalg.ir.reading.skimming import ALIAS, BEGINS, INSIDE_A_LINE, WORTH_A_LOOK

__all__ = ["Part", "Reading", "pieces_of", "read_file_text"]

_CUT = re.compile(
    r"^[ \t]*(?://[ \t]*-----//[ \t]*(?P<title>IR Dump [^\n]*?)[ \t]*//-----[ \t]*//|// -----)[ \t]*\r?$"
    r"|^[^\n]{0,200}?\*\*\* (?P<older>IR Dump [^\n]*?) \*\*\*[^\n]*$",
    re.MULTILINE,
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_LINE = re.compile(r"[^\n]{0,60}+")
_CLOSING = re.compile(r"\}[\s}]*+")
_TRIED = 64
"""Places in one line at which an operation is looked for."""


@dataclass(frozen=True, slots=True)
class Part:
    """One module of a text: the banner of the dump before it (or `""`), and the line where it begins.

    >>> read_file_text("// -----// IR Dump After CSE (cse) //----- //\\nmodule {}").modules[0].title
    'IR Dump After CSE (cse)'
    """

    module: ModuleOp
    title: str
    line: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a text: its modules, and what could not be read or was wrong.

    >>> read_file_text("").findings[0].message
    'holds no MLIR'
    """

    modules: tuple[Part, ...]
    findings: tuple[Finding, ...]


def read_file_text(text: str, *, file: str = "text", ask: bool = False) -> Reading:
    """Read a module, a dump of passes, operations, or lines of a log.

    Every operation that cannot be read is a `layoutalg.unread` with its text, and a finding; `file` is the name in places.
    With `ask`, an installed mlir-opt is asked for the generic form of what has such operations.

    Raises:
        ParseError: the text is not a str.
        LayoutError: it has more than 16 Mi characters.

    >>> reading = read_file_text("module {\\n  my.op %x\\n  gpu.barrier\\n}", file="k.mlir")
    >>> print(reading.findings[0])
    k.mlir:2:3: warning: 'my.op' op cannot be read: its syntax is not known [layoutalg: read.operation]
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParseError("", 0, "MLIR text", f"found a value of type {type(text).__name__}")
    if len(text) > MAX_TEXT:
        raise LayoutError(f"MLIR text of {len(text)} characters; at most {MAX_TEXT} are read")
    text = _SURROGATES.sub("\ufffd", text.removeprefix("\ufeff"))
    context = known_dialects()
    parts: list[Part] = []
    findings: list[Finding] = []
    lines = Lines(text)
    read = unread = 0
    for start, end, title in pieces_of(text):
        piece = _Piece(context, text, start, end, file)
        piece.lines, piece.operations, piece.unread_operations = lines, read, unread
        blocks = piece.read()
        if ask and piece.unread_operations > unread:
            asked = _asked(context, text, start, end, file)
            if asked is not None and asked[1].unread_operations < piece.unread_operations - unread:
                blocks, piece.findings = [[asked[0]]], asked[1].findings
        read, unread = piece.operations, piece.unread_operations
        parts += [_part(block, title) for block in blocks]
        findings += piece.findings
        if piece.given_up:
            break
        if len(parts) >= MOST_PARTS:
            message = f"more than {MOST_PARTS} modules in one text are not read"
            findings.append(Finding("read.limit", message, "module", Place(file, *lines.at(end))))
            break
    for part in parts:
        findings += _order(part.module)
        findings += _old_spellings(part.module)
    if not parts and not findings:
        findings = [Finding("read.nothing", "holds no MLIR", "text", Place(file, 1, 1))]
    return Reading(tuple(parts), tuple(sorted(findings, key=_where)[:MOST_FINDINGS]))


def _asked(context: Context, text: str, start: int, end: int, file: str) -> tuple[ModuleOp, AskedParser] | None:
    """A piece of a text as an installed mlir-opt reads it; None where none does."""
    generic = generic_form(text[start:end])
    if generic is None:
        return None
    parser = AskedParser(context, generic, text, start, file=file)
    try:
        return parser.parse_module(), parser
    except XdslParseError:  # an alias or a value that LLVM knows and we do not: then our own reading stays
        return None


def _where(finding: Finding) -> tuple[int, int]:
    return (0, 0) if finding.place is None else (finding.place.line, finding.place.column)


_SOMETHING = re.compile(r"\S")


def pieces_of(text: str) -> Iterator[tuple[int, int, str]]:
    """Begin, end and title of what stands between the banners of a text."""
    start, title = 0, ""
    may_cut = "-----" in text or "*** IR Dump" in text  # the pattern looks at every line
    for found in _CUT.finditer(text) if may_cut else ():
        if _SOMETHING.search(text, start, found.start()) is not None:
            yield start, found.start(), title
        start, title = found.end(), found["title"] or found["older"] or ""
    yield start, len(text), title


def _order(module: ModuleOp) -> Iterator[Finding]:
    for operation, name in misplaced_uses(module):
        yield Finding("read.order", f"uses {name} before it is defined", operation.name, place_of(operation))


def _old_spellings(module: ModuleOp) -> Iterator[Finding]:
    for operation in module.walk():
        for message in old_spellings(operation):
            yield Finding("read.old_spelling", message, operation.name, place_of(operation), level="warning")


def _part(operations: Sequence[Operation], title: str) -> Part:
    line = line_of(operations[0])
    if len(operations) == 1 and isinstance(operations[0], ModuleOp):
        return Part(operations[0], title, line)
    block = Block()
    for operation in operations:
        operation.detach()
        block.add_op(operation)
    return Part(ModuleOp(Region(block)), title, line)


class _Piece(TolerantParser):
    """Reads what stands between two banners: operations, aliases, and text around them."""

    def __init__(self, context: Context, text: str, start: int, end: int, file: str) -> None:
        super().__init__(context, text, start, end, file=file)
        self.prose = -2
        """The line that was last left out."""

    def read(self) -> list[list[Operation]]:
        """Read to the end; each list is a module."""
        block = Block()
        while self._current_token.kind is not MLIRTokenKind.EOF:
            self._read_next(block)
        self.define(block, complain=False)
        operations = list(block.ops)
        if any("sym_name" in one.properties and not isinstance(one, ModuleOp) for one in operations):
            return [operations]  # functions beside modules: all of it is one module, as LLVM reads it
        if not any(isinstance(operation, ModuleOp) for operation in operations):
            return [operations] if operations else []
        modules: list[list[Operation]] = []
        for operation in operations:
            if isinstance(operation, ModuleOp) or not modules or isinstance(modules[-1][0], ModuleOp):
                modules.append([operation])
            else:
                modules[-1].append(operation)
        return modules

    def _read_next(self, block: Block) -> None:
        text, position, end = self.lexer.input.content, self.pos, self.lexer.end
        if self.full():
            block.add_op(self.give_up(position))
        elif BEGINS.match(text, position, end):
            block.add_op(self.parse_operation())
        elif ALIAS.match(text, position, end):
            self._read_alias(block)
        elif text.startswith("{-#", position, end):
            self._read_metadata(position)
        elif (closing := _CLOSING.match(text, position, end)) is not None:
            self.complain("read.brackets", "closes nothing", "}", position)
            self._resume_from(closing.end())
        else:
            self._read_line(block, position)

    def _read_alias(self, block: Block) -> None:
        start, name = self.pos, self._current_token.text
        if self.attribute_aliases.pop(name, None) is not None:  # what was read with it means something else now
            for read in (self.types, self.attributes, self.aliases_written):
                read.clear()
        try:
            self._parse_alias_def()
        except Exception as problem:
            position, message = self._reason(problem)
            block.add_op(self.unread(start, position, message))

    def _read_metadata(self, position: int) -> None:
        try:
            self._parse_file_metadata_dictionary()
        except XdslParseError as problem:
            self.complain("read.metadata", in_words(problem), "module", position)
            self._resume_from(self.lexer.end)

    def _read_line(self, block: Block, position: int) -> None:
        """A line that does not begin with MLIR: an operation may stand further on, or attributes; or nothing, for pages."""
        text = self.lexer.input.content
        found = WORTH_A_LOOK.search(text, position, self.lexer.end)
        stop = self.lexer.end if found is None else found.start()
        end = text.rfind("\n", position, stop) + 1
        if found is None or end > position:
            self._leave_out(position, end or stop)
            self._resume_from(end or stop)
            return
        end = text.find("\n", stop, self.lexer.end)
        end = self.lexer.end if end < 0 else end
        for inside in islice(INSIDE_A_LINE.finditer(text, position, end), _TRIED):
            self._resume_from(inside.start())
            state = self._state()
            try:
                operation = self.parse_strictly()
            except Exception:  # then it is text like the rest of the line
                self._restore(state)
                continue
            self._leave_out(position, inside.start())
            block.add_op(operation)
            return
        mentions = self.mentions(position, end)
        if mentions:
            block.add_op(self.kept_line(position, end, mentions))
        else:
            self._leave_out(position, end)
        self._resume_from(end)

    def _leave_out(self, start: int, end: int) -> None:
        """Say once for lines that follow one another that they were left out."""
        line, _ = self.lines.at(start)
        if line > self.prose + 1:
            found = _LINE.match(self.lexer.input.content, start, end)
            words = "" if found is None else found.group().strip()
            self.complain("read.text", f"is left out, it is not MLIR: {words!r}", "text", start, "warning")
        self.prose, _ = self.lines.at(end)
