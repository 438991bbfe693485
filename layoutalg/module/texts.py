"""What a text is that somebody pasted: a value of a notation, or MLIR with operations.

>>> type(value_or_module("gpu.barrier")).__name__, str(value_or_module("d0 = 4@lane"))
('Module', 'd0 = 4@lane')
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.core.errors import LayoutError
from layoutalg.module.module import Module, looks_like_module
from layoutalg.notations import parse

if TYPE_CHECKING:
    from layoutalg.core.notation import Notation

__all__ = ["value_or_module"]


def value_or_module(source: str, name: str = "text") -> Notation | Module:
    """The value or the module that a text is; `name` is that of its file, `-` for standard input.

    Raises `ParseError` for a text that is neither, `LayoutError` with the name for such a file.
    """
    from layoutalg.instructions.registry import looks_like_name

    try:
        return parse(source)
    except LayoutError as error:
        if looks_like_module(source) and not looks_like_name(source):
            return Module(source, name)
        if name == "text":
            raise
        place = None if error.place is None else error.place._replace(file=name)
        raise LayoutError(f"{'standard input' if name == '-' else name}: {error}", place=place) from None
