"""Rules that no version of LLVM has: what the page, the hardware or a crash says.

>>> from layoutalg.ir import read_module
>>> from layoutalg.ir.verify import verify_module
>>> found, = verify_module(read_module("xegpu.alloc_nbarrier -1"))
>>> found.source, found.notes[0]
('layoutalg', 'the operand is a count of barriers that the workgroup gets')
"""

from __future__ import annotations

from typing import Any

from layoutalg.ir.verify.registry import Subject, ours

__all__: list[str] = []


@ours("ours.negative_barriers", "xegpu.alloc_nbarrier")
def _negative_barriers(subject: Subject) -> tuple[str, ...] | None:
    count: Any = subject.attribute("nbarrier_num")
    if count.value.data >= 0:
        return None
    return (
        f"reserves {count.value.data} named barriers; expected at least 0",
        "the operand is a count of barriers that the workgroup gets",
    )
