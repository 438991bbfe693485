"""MLIR text in: `read_module`.

The reader knows the dialects that kernels at lane level use (builtin, func, scf, arith, memref, vector, gpu, xegpu)
and takes every other operation in its generic form. What it cannot read is a `ParseError` with line and column.
Every operation of the module remembers the line it was read from, so that a later complaint (of the simulator, of a
verifier) can name it.

>>> module = read_module("%c = arith.constant 16 : index")
>>> [operation.name for operation in module.ops]
['arith.constant']
"""

from __future__ import annotations

import re
from bisect import bisect_right
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.exceptions import VerifyException

from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.core.limits import MAX_TEXT
from layoutalg.core.limits import MOST_MODULE_ELEMENTS as MAX_ELEMENTS
from layoutalg.ir.assembly import verify_index_lists
from layoutalg.ir.dialects import known_dialects
from layoutalg.ir.dialects.old_spellings import keep_old_spellings
from layoutalg.ir.places import line_of

__all__ = ["read_module"]


_NAME = re.compile(r"(?:%[^=\n]*=\s*)?(?P<name>[\w$.]+)")
_SHAPED = re.compile(r"(?:vector|tensor)<(?P<sizes>(?:[0-9]+x)+)")
_STRINGS = re.compile(r'//[^\n]*|"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*(?P<end>"?)')


class _LocatingParser(Parser):
    """xDSL's parser, which in addition notes on every operation where its text begins."""

    def __init__(self, context: Context, text: str, file: str) -> None:
        super().__init__(context, text)
        self.file = StringAttr(file)
        self.line_starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def parse_operation(self) -> Operation:
        start = self.pos
        try:
            operation = super().parse_operation()
        except XdslParseError as problem:
            named = _NAME.match(self.lexer.input.content, start)
            if "unregistered does not have a custom format" not in problem.msg or named is None:
                raise
            message = f"'{named['name']}' is not a known operation (unknown ones are read in generic form)"
            self.raise_error(message, named.start("name"), named.end("name"))
        if isinstance(operation.location, UnknownLoc):
            line = bisect_right(self.line_starts, start)
            column = start - self.line_starts[line - 1] + 1
            operation.location = FileLineColLoc(self.file, IntAttr(line), IntAttr(column))
        keep_old_spellings(self, operation)
        return operation


def read_module(text: str, *, file: str = "text") -> ModuleOp:
    """Read MLIR text into an xDSL module; operations at the top level are wrapped in one.

    Raises:
        ParseError: the text is not MLIR that this reader knows; `line` and `column` say where.
        LayoutError: an operation is well-formed and breaks a rule of its dialect.

    >>> read_module("gpu.module @k { gpu.func @f() kernel { gpu.retrun } }")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 40: expected MLIR text, but: 'gpu.retrun' is not \
a known operation (unknown ones are read in generic form)
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParseError("", 0, "MLIR text", f"found a value of type {type(text).__name__}")
    if len(text) > MAX_TEXT:
        raise LayoutError(f"MLIR text of {len(text)} characters; at most {MAX_TEXT} are read")
    _check_strings(text)
    _check_sizes(text)
    context = known_dialects()
    position = 0
    try:
        parser = _LocatingParser(context, text, file)
        try:
            module = parser.parse_module()
        finally:
            position = parser.pos
    except XdslParseError as problem:
        raise ParseError(text, problem.span.start, "MLIR text", _sentence(problem.msg)) from None
    except RecursionError:
        raise ParseError(text, position, "MLIR text", "it is nested too deeply") from None
    except MemoryError:
        raise ParseError(text, position, "MLIR text", "but there is not enough memory to read it") from None
    except Exception as problem:
        # Operation parsers of xDSL raise ValueError, VerifyException and more on text that is malformed in
        # unexpected ways. Whatever it is, the reader's promise is a line and a column, and never a traceback.
        raise ParseError(text, position, "MLIR text", _sentence(str(problem) or type(problem).__name__)) from None
    _verify(module)
    return module


def _sentence(message: str) -> str:
    return f"but: {' '.join(message.split())}"


def _check_sizes(text: str) -> None:
    """Refuse a vector or tensor type so large that xDSL would write out its constants one by one."""
    for found in _SHAPED.finditer(text):
        sizes = found.group("sizes").split("x")[:-1]
        if any(len(size) > 12 for size in sizes) or prod(map(int, sizes)) > MAX_ELEMENTS:
            raise ParseError(text, found.start(), f"types of at most {MAX_ELEMENTS} elements", "found a larger one")


def _check_strings(text: str) -> None:
    """Refuse a string literal that has no end, which xDSL 0.74 takes exponential time to find out."""
    for found in _STRINGS.finditer(text):
        if found.group(0).startswith('"') and not found.group("end"):
            raise ParseError(text, found.start(), "MLIR text", "a string literal has no end, or an unknown escape")


def _verify(module: ModuleOp) -> None:
    _check_order(module, set())
    for operation in module.walk():
        try:
            verify_index_lists(operation)
            operation.verify(verify_nested_ops=False)
        except (VerifyException, ValueError) as problem:
            message = " ".join(str(problem).split())
            line = line_of(operation)
            raise LayoutError(f"line {line}: {operation.name}: {message}") from None


def _check_order(operation: Operation, visible: set[SSAValue]) -> None:
    """Refuse a value that is used before it is defined, or outside the region that defines it."""
    for region in operation.regions:
        inside = set(visible)
        several = len(region.blocks) > 1  # between blocks the order of the text says nothing
        for part in region.blocks:
            inside.update(part.args)
            if several:
                inside.update(result for op in part.ops for result in op.results)
        for part in region.blocks:
            for op in part.ops:
                for number, operand in enumerate(op.operands):
                    if operand not in inside:
                        name = f"%{operand.name_hint}" if operand.name_hint else f"operand {number}"
                        raise LayoutError(f"line {line_of(op)}: {op.name}: {name} is used before it is defined")
                _check_order(op, inside)
                inside.update(op.results)
