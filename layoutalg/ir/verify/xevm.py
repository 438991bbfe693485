"""LLVM's rules of XeVM's operations for small floats: `truncf` and `mma_mx`, in LLVM 23 and 24.

    %b = xevm.truncf %a {src_etype = f16, dst_etype = bf8} : (vector<16xf16>) -> vector<8xi8>

is refused by LLVM 24 with "dst should be 128 bits wide to hold 16 value(s) of 8 bits, but it is 64".
"""

from __future__ import annotations

from layoutalg.ir.verify.registry import rule
from layoutalg.ir.verify.shapes import count_of, element_of, is_vector, width_of
from layoutalg.ir.verify.signatures import Subject

__all__: list[str] = []


@rule("xevm.truncf.types", "xevm.truncf", since=23, until=23)
def _both(subject: Subject) -> str | None:
    same = is_vector(subject.type("src")) == is_vector(subject.type("dst"))
    return None if same else "both src and dst should be vector types or both should be scalar types"


@rule("xevm.truncf.bits", "xevm.truncf", since=24)
def _bits(subject: Subject) -> str | None:
    values, made = count_of(subject.type("src")), subject.type("dst")
    bits = 4 if "e2m1" in str(subject.attribute("dst_etype")) else 8
    held = count_of(made) * width_of(element_of(made))
    if held == values * bits:
        return None
    return f"dst should be {values * bits} bits wide to hold {values} value(s) of {bits} bits, but it is {held}"


@rule("xevm.mma_mx.sum", "xevm.mma_mx")
def _sum(subject: Subject) -> str | None:
    added = subject.type("c")
    return None if added is None or added == subject.type("d") else "type of C operand must match result type"
