"""Where new operations go: into one block, for one thread at a time.

Inside `with ImplicitBuilder(block)` xDSL adds an operation to the block as it is made. For that it changes a method of all
operations of the process, and changes it back at the end; two threads that write at the same time undo each other's change, and
operations get lost or are added twice. So everything here that writes MLIR uses `written_into`, which lets one thread in:

>>> from xdsl.dialects import arith
>>> from xdsl.dialects.builtin import IntegerAttr, i32
>>> from xdsl.ir import Block
>>> block = Block()
>>> with written_into(block):
...     zero = arith.ConstantOp(IntegerAttr(0, i32))
>>> block.first_op is zero
True
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import RLock

from xdsl.builder import ImplicitBuilder
from xdsl.ir import Block

__all__ = ["written_into"]

_one_at_a_time = RLock()


@contextmanager
def written_into(block: Block) -> Generator[None]:
    """Add the operations that this thread makes to the end of a block, until the `with` ends; blocks may be nested.

    >>> from xdsl.ir import Block
    >>> with written_into(Block()), written_into(inner := Block()):
    ...     pass
    >>> inner.first_op
    """
    with _one_at_a_time, ImplicitBuilder(block):
        yield
