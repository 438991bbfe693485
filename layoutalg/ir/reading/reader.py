"""MLIR text in: `read_module`.

The reader knows the dialects of `layoutalg.ir.dialects` and takes every other operation in its generic form. What it cannot
read is a `ParseError` with line and column.
Every operation of the module remembers the line it was read from, so that a later complaint (of the simulator, of a
verifier) can name it.

>>> module = read_module("%c = arith.constant 16 : index")
>>> [operation.name for operation in module.ops]
['arith.constant']
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.exceptions import VerifyException

from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.core.limits import MAX_TEXT, MOST_BLOCKS_VERIFIED
from layoutalg.ir.assembly import verify_index_lists
from layoutalg.ir.dialects import known_dialects
from layoutalg.ir.places import line_of
from layoutalg.ir.reading.order import misplaced_uses
from layoutalg.ir.reading.parser import ModuleParser, in_words
from layoutalg.ir.reading.repeated import ReadLine, valid_where_repeated

__all__ = ["read_module"]


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
    context = known_dialects()
    position = 0
    try:
        parser = ModuleParser(context, text, file=file)
        try:
            module = parser.parse_module()
        finally:
            position = parser.pos
    except XdslParseError as problem:
        raise _parse_error(text, problem.span.start, in_words(problem)) from None
    except Exception as problem:
        # Operation parsers of xDSL raise ValueError, VerifyException and more on text that is malformed in
        # unexpected ways. Whatever it is, the reader's promise is a line and a column, and never a traceback.
        raise _parse_error(text, position, in_words(problem)) from None
    _verify(module, parser.repeated.origins)
    return module


def _parse_error(text: str, position: int, message: str) -> ParseError:
    wanted, comma, found = message.partition(", found ")
    if comma and wanted.startswith("expected "):
        return ParseError(text, position, wanted.removeprefix("expected "), f"found {found}")
    return ParseError(text, position, "MLIR text", f"but: {message}")


def _verify(module: ModuleOp, origins: Mapping[Operation, ReadLine]) -> None:
    verified: set[ReadLine] = set()
    for operation, name in misplaced_uses(module):
        raise LayoutError(f"line {line_of(operation)}: {operation.name}: {name} is used before it is defined")
    looked_at = 0
    for operation in module.walk():
        line = origins.get(operation)
        if line in verified and valid_where_repeated(operation):
            continue
        for region in operation.regions:
            looked_at += len(region.blocks) ** 2  # xDSL counts the blocks of a region for each of them
        if looked_at > MOST_BLOCKS_VERIFIED:
            raise LayoutError(f"line {line_of(operation)}: {operation.name}: more than 2048 blocks are not verified")
        try:
            verify_index_lists(operation)
            operation.verify(verify_nested_ops=False)
        except (VerifyException, ValueError) as problem:
            message = " ".join(str(problem).split())
            raise LayoutError(f"line {line_of(operation)}: {operation.name}: {message}") from None
        if line is not None:
            verified.add(line)
