"""Operations that are not as their dialect declares: text in the generic form may have them, without operands or attributes.

Asking every operation first would cost more than the work itself, so it is done when the work has failed on one.

>>> from layoutalg.ir.reading import read_file_text
>>> [part] = read_file_text('gpu.barrier "xegpu.prefetch"() : () -> ()').modules
>>> [is_well_formed(op) for op in part.module.body.ops]
[True, False]
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

__all__ = ["MALFORMED", "is_well_formed"]

MALFORMED = (
    AssertionError,
    AttributeError,
    LookupError,
    StopIteration,
    TypeError,
    ValueError,
    VerifyException,
    ZeroDivisionError,
)
"""What working on an operation that does not verify may raise; `LayoutError` is a `ValueError`."""


def is_well_formed(operation: Operation) -> bool:
    """Whether an operation has the operands, results, attributes and regions that its dialect declares.

    >>> from layoutalg.ir import read_module
    >>> is_well_formed(read_module("gpu.barrier"))
    True
    """
    try:
        operation.verify(verify_nested_ops=False)
    except MALFORMED:
        return False
    return True
