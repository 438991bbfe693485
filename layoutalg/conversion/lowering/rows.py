"""Moves among lanes by AMD's ALUs, as operations: data parallel primitives (DPP), and swaps of rows of lanes.

>>> from layoutalg.conversion.lowering.writer import Writer
>>> writer = Writer([Value("i32", name="a")])
>>> made = moved_by_dpp(Indices(writer, 1, 64, "gfx942"), writer.arguments[0], 0xB1)
>>> print(writer.text().splitlines()[-1])
%1 = llvm.call_intrinsic "llvm.amdgcn.update.dpp.i32"(%c0, %a, %c177, %c15, %c15, %0) : (i32, i32, i32, i32, i32, i1) -> i32

LLVM 22 to 24 read these intrinsics alike. All lanes execute them, so that what stands in place of lanes that don't, 0, is not
needed; LLVM's optimizer leaves it out.
"""

from __future__ import annotations

from layoutalg.conversion.lowering.indices import Indices
from layoutalg.conversion.lowering.writer import Value

__all__ = ["moved_by_dpp", "swapped_lanes"]

_ALL = 15
"""The mask of all rows, and of all banks of four lanes in a row."""


def _flag(indices: Indices, value: bool) -> Value:
    text = str(value).lower()
    return indices.once(("flag", value), lambda: indices.writer.value(f"arith.constant {text}", (), "i1"))


def moved_by_dpp(indices: Indices, word: Value, control: int) -> Value:
    """The word of the lane that a control says (see `program.dpp`)."""
    everyone, none = indices.constant(_ALL), indices.constant(0)
    operands = (none, word, indices.constant(control), everyone, everyone, _flag(indices, value=True))
    form = 'llvm.call_intrinsic "llvm.amdgcn.update.dpp.i32"(%s, %s, %s, %s, %s, %s) : (i32, i32, i32, i32, i32, i1) -> i32'
    return indices.writer.value(form, operands, "i32")


def swapped_lanes(indices: Indices, one: Value, other: Value, bit: int) -> list[Value]:
    """The two words that change places with a bit of the lane's number, 4 or 5 (see `LaneSwap`)."""
    kind, plain = "!llvm.struct<(i32, i32)>", _flag(indices, value=False)
    form = f'llvm.call_intrinsic "llvm.amdgcn.permlane{1 << bit}.swap"(%s, %s, %s, %s) : (i32, i32, i1, i1) -> {kind}'
    made = indices.writer.value(form, (one, other, plain, plain), kind)
    return [indices.writer.value(f"llvm.extractvalue %s[{i}] : {kind}", (made,), "i32") for i in range(2)]
