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
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.dialects.func import Func
from xdsl.dialects.memref import MemRef
from xdsl.dialects.scf import Scf
from xdsl.dialects.vector import Vector
from xdsl.ir import Dialect, Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError as XdslParseError
from xdsl.utils.exceptions import VerifyException

from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.ir import block, scatter, shared
from layoutalg.ir.attributes import ATTRIBUTES
from layoutalg.ir.gpu import GPU

__all__ = ["XEGPU", "line_of", "read_module", "write_module"]

XEGPU = Dialect("xegpu", [*block.OPERATIONS, *scatter.OPERATIONS, *shared.OPERATIONS], list(ATTRIBUTES))

MAX_TEXT = 16 * 2**20

_NAME = re.compile(r"(?:%[^=\n]*=\s*)?(?P<name>[\w$.]+)")
_STRINGS = re.compile(r'//[^\n]*|"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*(?P<end>"?)')


class _LocatingParser(Parser):
    """xDSL's parser, which in addition notes on every operation where its text begins."""

    def parse_operation(self) -> Operation:
        start = self.pos
        try:
            operation = super().parse_operation()
        except XdslParseError as problem:
            named = _NAME.match(self.lexer.input.content, start)
            if "unregistered does not have a custom format" not in problem.msg or named is None:
                raise
            message = f"'{named['name']}' is no operation that is known here (unknown ones are read in generic form)"
            self.raise_error(message, named.start("name"), named.end("name"))
        if isinstance(operation.location, UnknownLoc):
            text = self.lexer.input.content
            line = text.count("\n", 0, start) + 1
            column = start - text.rfind("\n", 0, start)
            operation.location = FileLineColLoc(StringAttr("text"), IntAttr(line), IntAttr(column))
        return operation


def read_module(text: str) -> ModuleOp:
    """Read MLIR text into an xDSL module; operations at the top level are wrapped in one.

    Raises:
        ParseError: the text is no MLIR that this reader knows; `line` and `column` say where.
        LayoutError: an operation is well-formed and breaks a rule of its dialect.

    >>> read_module("gpu.module @k { gpu.func @f() kernel { gpu.retrun } }")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 40: expected MLIR text, 'gpu.retrun' is no operation \
that is known here (unknown ones are read in generic form)
    """
    if len(text) > MAX_TEXT:
        raise LayoutError(f"MLIR text of {len(text)} characters; at most {MAX_TEXT} are read")
    _check_strings(text)
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Func, Scf, Arith, MemRef, Vector, GPU, XEGPU):
        context.load_dialect(dialect)
    position = 0
    try:
        parser = _LocatingParser(context, text)
        try:
            module = parser.parse_module()
        finally:
            position = parser.pos
    except XdslParseError as problem:
        raise ParseError(text, problem.span.start, "MLIR text", " ".join(problem.msg.split())) from None
    except RecursionError:
        raise ParseError(text, position, "MLIR text", "it is nested too deeply") from None
    except Exception as problem:
        # Operation parsers of xDSL raise ValueError, VerifyException and more on text that is malformed in
        # unexpected ways. Whatever it is, the reader's promise is a line and a column, and never a traceback.
        raise ParseError(text, position, "MLIR text", " ".join(str(problem).split())) from None
    _verify(module)
    return module


def _check_strings(text: str) -> None:
    """Refuse a string literal that has no end, which xDSL 0.74 takes exponential time to find out."""
    for found in _STRINGS.finditer(text):
        if found.group(0).startswith('"') and not found.group("end"):
            raise ParseError(text, found.start(), "MLIR text", "a string literal has no end, or an unknown escape")


def _verify(module: ModuleOp) -> None:
    for operation in module.walk():
        try:
            operation.verify(verify_nested_ops=False)
        except VerifyException as problem:
            message = " ".join(str(problem).split())
            line = line_of(operation)
            raise LayoutError(f"line {line}: {operation.name}: {message}") from None


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
    Printer(stream=stream).print_op(module)
    return stream.getvalue() + "\n"
