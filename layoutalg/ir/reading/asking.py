"""What the installed LLVM reads and we do not: its mlir-opt writes the generic form, and says where each operation stood.

    %b = math.some_new_op %a fast : f32          // line 2 of the text
    %0 = "math.some_new_op"(%arg0) : (f32) -> f32 loc("<stdin>":2:8)

The law: operations of the generic form have the lines and columns of the text that was asked about. The names of values are
LLVM's.

>>> generic_form("module {}", program="no-such-program") is None
True
"""

from __future__ import annotations

import re
import shutil
import subprocess

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr
from xdsl.utils.mlir_lexer import MLIRTokenKind

from layoutalg.ir.reading.recovery import TolerantParser

__all__ = ["AskedParser", "generic_form"]

_PROGRAMS = ("mlir-opt-24", "mlir-opt-23", "mlir-opt-22", "mlir-opt")
_OPTIONS = (
    "--mlir-print-op-generic",
    "--mlir-print-debuginfo",
    "--allow-unregistered-dialect",
    "--mlir-very-unsafe-disable-verifier-on-parsing",
)
_SECONDS = 20
_ALIAS = re.compile(r'^#(loc[0-9]*) = loc\("[^"\n]*":([0-9]{1,9}):([0-9]{1,9})\)$', re.MULTILINE)


def generic_form(text: str, *, program: str | None = None) -> str | None:
    """A text in generic form, every operation with its place; None where no mlir-opt is installed or none reads the text.

    >>> generic_form("this is not MLIR", program="no-such-program") is None
    True
    """
    for name in _PROGRAMS if program is None else (program,):
        path = shutil.which(name)
        if path is None:
            continue
        try:
            done = subprocess.run(
                [path, *_OPTIONS, "-"],
                input=text.encode("utf-8", "replace"),
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace")
    return None


class AskedParser(TolerantParser):
    """Reads a generic form; places are those of the text that it was made of.

    >>> from layoutalg.ir.dialects import known_dialects
    >>> generic = '%0 = "a.b"() : () -> i32 loc(#loc)\\n#loc = loc("<stdin>":1:6)'
    >>> operation = AskedParser(known_dialects(), generic, "\\n%b = a.b", 1, file="k.mlir").parse_operation()
    >>> print(operation.location)
    loc("k.mlir":2:6)
    """

    def __init__(self, context: Context, generic: str, text: str, start: int, *, file: str = "text") -> None:
        super().__init__(context, generic, file=file)
        self.before = text.count("\n", 0, start)
        self.named = {found[1]: (int(found[2]), int(found[3])) for found in _ALIAS.finditer(generic)}

    def parse_optional_location(self) -> LocationAttr | None:
        """Read `loc(...)` if it is there: the place that it names, or the one that its alias stands for."""
        start = self.pos
        if self._current_token.kind is MLIRTokenKind.BARE_IDENT and self._current_token.text == "loc":
            found = re.compile(r"loc\(#(loc[0-9]*)\)").match(self.lexer.input.content, start)
            if found is not None:
                self._resume_from(found.end())
                return FileLineColLoc(self.file, *map(IntAttr, self.named.get(found[1], (0, 0))))
        return super().parse_optional_location()

    def located(self, written: LocationAttr, place: LocationAttr) -> LocationAttr:
        """Where an operation stood in the text."""
        if not isinstance(written, FileLineColLoc):
            return FileLineColLoc(self.file, IntAttr(self.before + 1), IntAttr(1))
        line, column = max(1, written.line.data), max(1, written.column.data)
        return FileLineColLoc(self.file, IntAttr(self.before + line), IntAttr(column))
