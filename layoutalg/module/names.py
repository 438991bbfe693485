"""What the text calls values: `%7`, `%x#1`, or the argument of a region by its number where it has no name.

>>> module = la.read("%7:2 = \\"test.op\\"() : () -> (i32, i32)")
>>> Names(module.lines).of(module.parts[0].module.body.block.first_op.results[1])
'%7#1'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Block, OpResult, SSAValue

if TYPE_CHECKING:
    from layoutalg.module.source import Source

__all__ = ["Names"]


class Names:
    """The names of values in one text."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def of(self, value: SSAValue) -> str:
        """The name of a value; what it is where it has none."""
        if isinstance(value, OpResult):
            name = self.source.result_names(value.op)[value.index]
            return name or f"the result of {value.op.name}"
        if value.name_hint:
            return f"%{value.name_hint}"
        owner = value.owner
        number = owner.args.index(value) if isinstance(owner, Block) else 0  # pyright: ignore[reportArgumentType]
        return f"argument {number}"
