"""MLIR text in and out: `read_module` and `write_module`.

The reader knows the dialects that kernels at lane level use (builtin, func, scf, arith, memref, vector, gpu, xegpu)
and takes every other operation in its generic form. What it cannot read is a `ParseError` with line and column.
Every operation of the module remembers the line it was read from, so that a later complaint (of the simulator, of a
verifier) can name it.

>>> module = read_module("%c = arith.constant 16 : index")
>>> print(write_module(module), end="")
builtin.module {
  %c = arith.constant 16 : index
}

The law: `write_module(read_module(text))` is a fixed point; writing what was written changes nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from io import StringIO
from math import prod

from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.dialects.func import Func
from xdsl.dialects.memref import MemRef
from xdsl.dialects.scf import Scf
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.exceptions import VerifyException

from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.core.limits import MAX_TEXT
from layoutalg.core.limits import MOST_MODULE_ELEMENTS as MAX_ELEMENTS
from layoutalg.ir import block, scatter, shared
from layoutalg.ir.assembly import verify_index_lists
from layoutalg.ir.attributes import ATTRIBUTES
from layoutalg.ir.gpu import GPU
from layoutalg.ir.vectors import VECTOR

__all__ = ["XEGPU", "line_of", "read_module", "write_module"]

XEGPU = Dialect("xegpu", [*block.OPERATIONS, *scatter.OPERATIONS, *shared.OPERATIONS], list(ATTRIBUTES))


_NAME = re.compile(r"(?:%[^=\n]*=\s*)?(?P<name>[\w$.]+)")
_SHAPED = re.compile(r"(?:vector|tensor)<(?P<sizes>(?:[0-9]+x)+)")
_STRINGS = re.compile(r'//[^\n]*|"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*(?P<end>"?)')


class _LocatingParser(Parser):
    """xDSL's parser, which in addition notes on every operation where its text begins."""

    def __init__(self, context: Context, text: str) -> None:
        super().__init__(context, text)
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
            operation.location = FileLineColLoc(StringAttr("text"), IntAttr(line), IntAttr(column))
        return operation


def read_module(text: str) -> ModuleOp:
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
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Func, Scf, Arith, MemRef, VECTOR, GPU, XEGPU):
        context.load_dialect(dialect)
    position = 0
    try:
        parser = _LocatingParser(context, text)
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


def line_of(operation: Operation) -> int:
    """The line that an operation was read from, or 0 where it was built by a program.

    >>> [line_of(op) for op in read_module("%a = arith.constant 1 : i32\\n%b = arith.constant 2 : i32").ops]
    [1, 2]
    """
    location = operation.location
    return location.line.data if isinstance(location, FileLineColLoc) else 0


def write_module(module: Operation) -> str:
    """The text of a module (or of any operation) in LLVM's syntax, ending in a newline.

    >>> print(write_module(read_module("gpu.module @k { gpu.func @f(%p: i64) kernel { gpu.return } }")), end="")
    builtin.module {
      gpu.module @k {
        gpu.func @f(%p: i64) kernel {
          gpu.return
        }
      }
    }
    """
    stream = StringIO()
    try:
        Printer(stream=stream).print_op(module)
    except (LookupError, StopIteration, TypeError, ValueError) as problem:
        raise LayoutError(f"the module cannot be written: {problem or type(problem).__name__}") from None
    return stream.getvalue() + "\n"
