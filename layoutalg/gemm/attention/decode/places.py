"""Where keys lie in memory, and how the kernels of decode are framed.

One head's keys of a sequence are a matrix with one descriptor, whose height is the number of keys that the sequence has: a
message gets zeros for what is behind. So no weight of a key that does not exist meets what memory holds there.

>>> from layoutalg.gemm.attention.decode import plan_decode
>>> print(plan_decode(64, 64, parts=1).emit().partition("kernel")[0].rpartition("(")[2][:60])
%pointer_q: !llvm.ptr<1>, %pointer_k: !llvm.ptr<1>, %pointer
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.region_writer import RegionWriter
from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.attention.writing import LANES, TWO, KernelWriter
from layoutalg.gemm.emission.addresses import POINTER, signature

if TYPE_CHECKING:
    from layoutalg.gemm.attention.decode.plan import Decode

__all__ = ["COMBINE", "KERNEL", "Cache", "function_text", "loaded_number"]

KERNEL, COMBINE = "decode", "decode_combine"


def function_text(plan: Decode, name: str, subgroups: int, writer: RegionWriter, *, pointers: bool) -> str:
    """A kernel's text; both take the same arguments."""
    count = sum(kind == "i64" for _, kind in plan.parameters)
    taken, first = signature(plan.parameters, count if pointers else 0)
    begun = "".join(f"      {line}\n" for line in first)
    lanes = LANES * subgroups
    attributes = f"intel_reqd_sub_group_size = {LANES} : i32, known_block_size = array<i32: {lanes}, 1, 1>"
    return (
        f"    gpu.func @{name}({taken}) kernel attributes {{{attributes}}} {{\n{begun}{writer.text('      ')}\n    }}\n"
    )


def loaded_number(kernel: KernelWriter, array: str, place: Value, name: str) -> Value:
    """One of the whole numbers of an array in memory, the same for all lanes."""
    far = kernel.binary("muli", kernel.let("arith.extui %s : i32 to i64", (place,), "i64"), kernel.number(4, "i64"))
    address = kernel.binary("addi", kernel.arguments[array], far)
    pointer = kernel.let(f"llvm.inttoptr %s : i64 to {POINTER}", (address,), POINTER)
    return kernel.let(f"llvm.load %s : {POINTER} -> i32", (pointer,), "i32", name=name)


class Cache:
    """The keys and values of one head of a sequence."""

    def __init__(self, kernel: KernelWriter, plan: Decode) -> None:
        self.kernel, self.plan = kernel, plan

    def describe(self, sequence: Value, head: Value, length: Value) -> None:
        """Write the descriptors; no message is sent for a sequence without keys, but a surface has a row at least."""
        kernel, problem = self.kernel, self.plan.problem
        rows = kernel.binary("maxsi", length, kernel.number(1))
        height = kernel.cast(rows, "index", "keys_end")
        keys = kernel.let("arith.extui %s : i32 to i64", (kernel.arguments["keys"],), "i64", name="room")
        line = kernel.number(problem.d * 2, "i64")
        heads = kernel.number(problem.kv_heads, "i64")
        of_sequence, of_head = (kernel.let("arith.extui %s : i32 to i64", (one,), "i64") for one in (sequence, head))
        if problem.order == "hnd":
            whole = kernel.binary("addi", kernel.binary("muli", of_sequence, heads), of_head)
            moved = kernel.binary("muli", kernel.binary("muli", whole, keys), line)
        else:
            whole = kernel.binary("muli", kernel.binary("muli", of_sequence, keys), heads)
            moved = kernel.binary("muli", kernel.binary("addi", whole, of_head), line)
        for name in ("K", "V"):
            base = kernel.binary("addi", kernel.arguments[name.lower()], moved, f"{name.lower()}_of_head")
            self._describe(name, base, height)

    def _describe(self, name: str, base: Value, height: Value) -> None:
        kernel, problem, load = self.kernel, self.plan.problem, self.plan.loads[name]
        shapes = [(1, f"{load.rows}x{load.width // 2}xi32", 2)]
        if name == "V":
            shapes = [(2, f"{load.rows}x{load.width}x{problem.type}{TWO}", 1)] * (kernel.depths > 1)
            shapes += [(1, f"{load.rows}x{load.width}x{problem.type}", 1)] * (kernel.depths % 2)
        for count, shape, each in shapes:
            kind = f"!xegpu.tensor_desc<{shape}>"
            width, pitch = problem.d // each, problem.pitch // each
            form = f"xegpu.create_nd_tdesc %s, shape : [%s, {width}], strides : [{pitch}, 1] : i64 -> {kind}"
            kernel.described[name, count] = kernel.let(form, (base, height), kind, name=f"matrix_{name.lower()}")

    def places(self, key: Value, *, masked: bool) -> list[Value]:
        """The rows of the surface where a step's blocks of 16 keys begin."""
        kernel = self.kernel
        row = kernel.cast(key, "index")
        return [kernel.at(row, start) for start in range(0, self.plan.keys_per_step, LANES)]

    @contextmanager
    def values(self, key: Value, block: int, place: Value, *, masked: bool) -> Generator[Value]:
        """The row where the values of a step's `block`-th 16 keys begin, while they are loaded."""
        yield place
