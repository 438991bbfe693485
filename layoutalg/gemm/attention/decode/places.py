"""Where keys lie in memory, and how the kernels of decode are framed.

One head's keys of a sequence are a matrix with one descriptor, whose height is the number of keys that the sequence has: a
message gets zeros for what is behind. So no weight of a key that does not exist meets what memory holds there.

Pages of a pool are rows of one matrix. A step of 32 keys looks up where its page is, or its two pages of 16; all lanes read
the same number. Scores of keys behind the sequence are masked, whatever the page holds there. But 0 times a NaN is not 0: so in
a step with a mask V has descriptors of its own, which end where the sequence does. A page that the sequence does not have is
never looked up: the last one is instead, and its rows are behind every matrix.

    rows of page p     p * page (nhd), (p * kv_heads + head) * page (hnd)

>>> from layoutalg.gemm.attention.decode import plan_decode
>>> print(plan_decode(64, 64, parts=1, target="bmg").emit().partition("kernel")[0].rpartition("(")[2][:60])
%pointer_q: !llvm.ptr<1>, %pointer_k: !llvm.ptr<1>, %pointer
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.region_writer import RegionWriter
from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.attention.writing import LANES, TWO, KernelWriter
from layoutalg.gemm.emission.addresses import signature

if TYPE_CHECKING:
    from layoutalg.gemm.attention.decode.plan import Decode

_BEHIND = 2**24
"""A row behind every matrix."""

__all__ = ["COMBINE", "KERNEL", "Cache", "function_text"]

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


class Cache:
    """The keys and values of one head of a sequence."""

    def __init__(self, kernel: KernelWriter, plan: Decode) -> None:
        self.kernel, self.plan, self.problem = kernel, plan, plan.problem
        self.span = plan.loads["V"].rows
        """Keys that lie in one page."""

    def describe(self, sequence: Value, head: Value, length: Value) -> None:
        """Write the descriptors; no message is sent for a sequence without keys, but a surface has a row at least."""
        kernel, problem = self.kernel, self.problem
        self.length, self.head = length, head
        line, heads = kernel.number(problem.d * 2, "i64"), kernel.number(problem.kv_heads, "i64")
        of_sequence, of_head = (kernel.let("arith.extui %s : i32 to i64", (one,), "i64") for one in (sequence, head))
        if problem.page:
            each = problem.page * (problem.kv_heads if problem.order == "hnd" else 1)
            rows = kernel.binary("muli", kernel.arguments["pages"], kernel.number(each))
            of_one = kernel.binary("addi", kernel.arguments["keys"], kernel.number(problem.page - 1))
            of_one = kernel.binary("divui", of_one, kernel.number(problem.page), "pages_of_sequence")
            self.entries = kernel.binary("muli", sequence, of_one, "entries")
            last = kernel.binary("maxsi", kernel.binary("subi", length, kernel.number(1)), kernel.number(0))
            self.last_page = kernel.binary("divui", last, kernel.number(problem.page), "last_page")
            moved = None if problem.order == "hnd" else kernel.binary("muli", of_head, line)
        else:
            rows = kernel.binary("maxsi", length, kernel.number(1))
            keys = kernel.let("arith.extui %s : i32 to i64", (kernel.arguments["keys"],), "i64", name="room")
            if problem.order == "hnd":
                whole = kernel.binary("addi", kernel.binary("muli", of_sequence, heads), of_head)
                moved = kernel.binary("muli", kernel.binary("muli", whole, keys), line)
            else:
                whole = kernel.binary("muli", kernel.binary("muli", of_sequence, keys), heads)
                moved = kernel.binary("muli", kernel.binary("addi", whole, of_head), line)
        height = kernel.cast(rows, "index", "keys_end")
        self.bases: dict[str, Value] = {}
        for name in ("K", "V"):
            base = kernel.arguments[name.lower()]
            self.bases[name] = base if moved is None else kernel.binary("addi", base, moved, f"{name.lower()}_of_head")
            kernel.described.update(self._described(name, height))

    def _described(self, name: str, height: Value) -> dict[tuple[str, int], Value]:
        kernel, problem, load = self.kernel, self.problem, self.plan.loads[name]
        shapes = [(1, f"{load.rows}x{load.width // 2}xi32", 2)]
        if name == "V":
            shapes = [(2, f"{load.rows}x{load.width}x{problem.type}{TWO}", 1)] * (kernel.depths > 1)
            shapes += [(1, f"{load.rows}x{load.width}x{problem.type}", 1)] * (kernel.depths % 2)
        made: dict[tuple[str, int], Value] = {}
        for count, shape, each in shapes:
            kind = f"!xegpu.tensor_desc<{shape}>"
            width, pitch = problem.d // each, problem.pitch // each
            form = f"xegpu.create_nd_tdesc %s, shape : [%s, {width}], strides : [{pitch}, 1] : i64 -> {kind}"
            operands = self.bases[name], height
            made[name, count] = kernel.let(form, operands, kind, name=f"matrix_{name.lower()}")
        return made

    def places(self, key: Value, *, masked: bool) -> list[Value]:
        """The rows of the surface where a step's blocks of 16 keys begin."""
        kernel = self.kernel
        if not self.problem.page:
            row = kernel.cast(key, "index")
            return [kernel.at(row, start) for start in range(0, self.plan.keys_per_step, LANES)]
        found: list[Value] = []
        self.rows: list[Value] = []
        for start in range(0, self.plan.keys_per_step, self.span):
            row = self._row_in_pool(kernel.binary("addi", key, kernel.number(start)) if start else key, masked=masked)
            self.rows.append(row)
            first = kernel.cast(row, "index", "row_of_keys")
            found += [kernel.at(first, more) for more in range(0, self.span, LANES)]
        return found

    def _row_in_pool(self, key: Value, *, masked: bool) -> Value:
        kernel, problem = self.kernel, self.problem
        number = kernel.binary("divui", key, kernel.number(problem.page), "number_of_page")
        if masked:
            number = kernel.binary("minsi", number, self.last_page)
        page = kernel.loaded_number("table", kernel.binary("addi", self.entries, number), "page")
        if problem.order == "hnd":
            page = kernel.binary("addi", kernel.binary("muli", page, kernel.number(problem.kv_heads)), self.head)
        row = kernel.binary("muli", page, kernel.number(problem.page), "row_of_page")
        if problem.page > self.span:
            row = kernel.binary("addi", row, kernel.binary("andi", key, kernel.number(problem.page - 1)))
        if not masked:
            return row
        return kernel.select(kernel.less(key, self.length), row, kernel.number(_BEHIND))

    @contextmanager
    def values(self, key: Value, block: int, place: Value, *, masked: bool) -> Generator[Value]:
        """The row where the values of a step's `block`-th 16 keys begin, while they are loaded."""
        kernel = self.kernel
        if not (self.problem.page and masked):
            yield place
            return
        start, row = block * LANES, self.rows[block * LANES // self.span]
        first = kernel.binary("addi", key, kernel.number(start)) if start else key
        left = kernel.binary("minsi", kernel.binary("subi", self.length, first), kernel.number(self.span))
        end = kernel.select(
            kernel.less(first, self.length), kernel.binary("addi", row, left), kernel.number(1), "values_end"
        )
        before = dict(kernel.described)
        kernel.described.update(self._described("V", kernel.cast(end, "index")))
        yield place
        kernel.described.update(before)
