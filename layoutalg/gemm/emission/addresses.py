"""How a kernel takes its matrices: as pointers, which every host can pass, or as numbers of 64 bits.

A kernel computes with addresses as numbers, because `xegpu.create_nd_tdesc` takes an i64. As an argument a number is a trap: an
OpenCL host that passes a buffer is told CL_SUCCESS, since both have 8 bytes, and the kernel reads where the handle is. A driver
for a GPU doesn't make memory resident either whose address hides in a number. So the argument is a pointer to global memory
(address space 1 of SPIR-V's OpenCL), and the first lines of the body make the number; the machine code stays the same.

>>> print(*signature([("a", "i64"), ("m", "i32")], 1), sep="\\n")
%pointer_a: !llvm.ptr<1>, %m: i32
['%a = llvm.ptrtoint %pointer_a : !llvm.ptr<1> to i64']
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["POINTER", "signature"]

POINTER = "!llvm.ptr<1>"
"""The type of a pointer to global memory."""


def signature(parameters: Sequence[tuple[str, str]], pointers: int) -> tuple[str, list[str]]:
    """The arguments as a gpu.func has them, the first `pointers` of them as pointers; the first lines of its body."""
    taken = [
        f"%pointer_{name}: {POINTER}" if place < pointers else f"%{name}: {kind}"
        for place, (name, kind) in enumerate(parameters)
    ]
    made = [f"%{name} = llvm.ptrtoint %pointer_{name} : {POINTER} to {kind}" for name, kind in parameters[:pointers]]
    return ", ".join(taken), made
