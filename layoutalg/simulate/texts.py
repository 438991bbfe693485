"""The text of a kernel to run: its size is checked before it is read, because reading takes longer.

>>> read_kernel("%a = arith.constant 1 : i32\\n" * 20000)
Traceback (most recent call last):
layoutalg.core.errors.LayoutError: 20000 operations; a kernel of at most 16384 is run
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import ModuleOp

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_KERNEL_OPERATIONS, MOST_KERNEL_TEXT
from layoutalg.ir import read_module

__all__ = ["read_kernel"]

_RESULT = re.compile(r"%[\w$.-]+(?:[ \t]*:[ \t]*\d+)?\s*=")


def read_kernel(text: str) -> ModuleOp:
    """Read the text, unless it is too long or has too many operations.

    Raises:
        ParseError: the text can't be read.
        LayoutError: it is too long to be run.

    >>> read_kernel("func.func @f() { return }").body.block.first_op.name
    'func.func'
    """
    if isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        if len(text) > MOST_KERNEL_TEXT:
            raise LayoutError(f"a text of {len(text)} characters; a kernel of at most {MOST_KERNEL_TEXT} is run")
        count = sum(1 for _ in _RESULT.finditer(text))
        if count > MOST_KERNEL_OPERATIONS:
            raise LayoutError(f"{count} operations; a kernel of at most {MOST_KERNEL_OPERATIONS} is run")
    return read_module(text)
