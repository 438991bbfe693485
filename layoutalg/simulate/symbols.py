"""What a name means where an operation stands.

>>> from layoutalg.ir import read_module
>>> module = read_module("func.func @f() { return } func.func @g() { func.call @f() : () -> () return }")
>>> symbol_around(module.body.block.last_op.body.block.first_op, "f") is module.body.block.first_op
True
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

__all__ = ["symbol_around"]


def symbol_around(operation: Operation, name: str) -> Operation | None:
    """The nearest operation around this one that declares a name; None if nothing does.

    >>> from layoutalg.ir import read_module
    >>> symbol_around(read_module("func.func @f() { return }").body.block.first_op, "g") is None
    True
    """
    around = operation.parent_op()
    while around is not None:
        for region in around.regions:
            for block in region.blocks:
                for candidate in block.ops:
                    symbol = candidate.get_attr_or_prop("sym_name")
                    if isinstance(symbol, StringAttr) and symbol.data == name:
                        return candidate
        around = around.parent_op()
    return None
