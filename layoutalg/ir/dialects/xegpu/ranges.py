"""`sg_id_range = #xegpu.range<[2, 4]>` on a branch: it is for the subgroups 2 and 3, which layouts in it count from 0.

>>> from layoutalg.ir import read_module
>>> text = '%c = arith.constant true scf.if %c { gpu.barrier } {sg_id_range = #xegpu.range<[2, 4]>}'
>>> range_of(read_module(text).body.block.last_op)
range(2, 4)
"""

from __future__ import annotations

from xdsl.ir import Operation

from layoutalg.ir.dialects.xegpu.attributes import RangeAttr
from layoutalg.xegpu.words import RangeAttr as Range

__all__ = ["range_of"]


def range_of(op: Operation) -> range | None:
    """The subgroups that a branch is for; None where it is for all.

    >>> from xdsl.dialects.test import TestOp
    >>> range_of(TestOp()) is None
    True
    """
    stated = op.attributes.get("sg_id_range", op.properties.get("sg_id_range"))
    value = stated.value if isinstance(stated, RangeAttr) else None
    return value.ids() if isinstance(value, Range) else None
