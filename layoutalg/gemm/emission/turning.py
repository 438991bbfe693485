"""A transposed A through shared local memory, as a kernel: what `gemm.turning` says, written at lane level.

In a loop step:

    %coming = xegpu.load_nd %matrix_a[%k, %m] <{packed}>        the share of the next step
    (two operands at a time: llvm.call @__builtin_IB_simd_block_read_16_local_h(%place), two cuts of 8)
    (the products)
    (16 bytes of %coming at a time: llvm.store to the other buffer)
    gpu.barrier memfence [#gpu.address_space<workgroup>]

The loop carries pointers to where a lane reads and where it writes, and how far the other buffer of the reads is: the size of a
buffer, and in the next step as far back. The step behind the last one loads zeros, because messages read 0 beyond k.

>>> from layoutalg.gemm import plan_gemm
>>> gemm = plan_gemm(64, 64, 64, trans_a=True, tile=(32, 16), k_step=32, subgroups=(1, 1), transpose="slm", prefetch="none")
>>> text = gemm.emit()
>>> text.count("@__builtin_IB_simd_block_read_16_local_h(%"), text.count("gpu.barrier"), text.count("llvm.store")
(4, 2, 16)
"""

from __future__ import annotations

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.operands import HINTS, as_elements, cut, surface
from layoutalg.gemm.emission.places import Places
from layoutalg.gemm.turning import COLUMNS, ROWS, stores_of_lane, turned_by

__all__ = ["Turning"]

_POINTER = "!llvm.ptr<3>"
_READ = "__builtin_IB_simd_block_read_16_local_h"
_SYMBOL = "turned"
_BARRIER = "gpu.barrier memfence [#gpu.address_space<workgroup>]"
_HALF = 16


class Turning:
    """The transposition of A by a workgroup. `carried` are the places where this lane reads and writes, from step to step."""

    def __init__(self, kernel: KernelWriter, places: Places, base: Value) -> None:
        self.kernel = kernel
        gemm = kernel.gemm
        self.share = share = turned_by(gemm.problem, gemm.tiling)
        self.element = gemm.element_of("A")
        memory = f"memref<{share.shared_bytes}xi8, 3 : i64>"
        kernel.functions[_SYMBOL] = (
            f'"memref.global"() <{{sym_name = "{_SYMBOL}", type = {memory}, initial_value, sym_visibility = "private", '
            "alignment = 1024 : i64}> : () -> ()"
        )
        self.shared = self._pointer_to(memory)
        kernel.functions[_READ] = (
            f"llvm.func spir_funccc @{_READ}({_POINTER}) -> vector<16xi16> attributes {{convergent, no_unwind, will_return}}"
        )
        blocks = f", #xegpu.block_tdesc_attr<array_length = {share.abreast} : i64>" if share.abreast > 1 else ""
        self.kind = f"!xegpu.tensor_desc<{ROWS}x{COLUMNS}x{self.element}{blocks}>"
        rows, columns, pitch = surface(kernel, gemm.matrices[0])
        form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : i64 -> {self.kind}"
        self.described = kernel.named("matrix_a", kernel.writer.value(form, (base, rows, columns, pitch), self.kind))
        subgroup = places.subgroup if places.subgroup is not None else kernel.constant(0)
        share_of_m = self._of(subgroup, "remui", share.across)
        share_of_k = self._of(subgroup, "divui", share.across)
        self.column = kernel.op("addi", places.workgroup_row, self._times(share_of_m, COLUMNS * share.abreast))
        self.deep = self._times(share_of_k, ROWS)
        lane = kernel.once("lane", lambda: kernel.writer.value("gpu.lane_id", (), "index"))
        eight = kernel.constant(8)
        blocks_before = kernel.op("addi", self._times(share_of_m, 2 * share.abreast), kernel.op("divui", lane, eight))
        depths = self._times(share_of_k, ROWS // gemm.dpas.k)
        write = kernel.op(
            "addi",
            kernel.op(
                "addi", self._times(blocks_before, share.place((1, 0), 0)), self._times(depths, share.place((0, 1), 0))
            ),
            self._times(kernel.op("remui", lane, eight), share.place((0, 0), 1)),
        )
        row_of_subgroups = self._of(subgroup, "divui", gemm.tiling.subgroups[1])
        read = self._times(row_of_subgroups, share.place((gemm.blocks[0], 0), 0))
        self.carried = [
            kernel.named(name, self._further(self.shared, kernel.cast(value, "i32")))
            for name, value in (("reads_at", read), ("writes_at", write))
        ]
        self.carried.append(kernel.constant(share.buffer_bytes, "i32"))
        self._coming: Value | None = None

    def _of(self, value: Value, name: str, number: int) -> Value:
        return self.kernel.op(name, value, self.kernel.constant(number))

    def _times(self, value: Value, number: int) -> Value:
        return value if number == 1 else self.kernel.op("muli", value, self.kernel.constant(number))

    def begin(self, step: Value) -> None:
        """Bring the operands of the first step, at `step` along k, to the first buffer; the loop writes to the other one."""
        self.load(step)
        self._store(self.carried[1])
        self.kernel.writer.do(_BARRIER, ())
        self.carried[1] = self._further(self.carried[1], self.carried[2])

    def load(self, step: Value) -> None:
        """Load this subgroup's share of the step at `step` along k."""
        kernel, share = self.kernel, self.share
        size = share.load.registers
        form = f"xegpu.load_nd %s[%s, %s] <{{{HINTS}, packed}}> : {self.kind} -> vector<{size}x{self.element}>"
        place = (self.described, kernel.op("addi", step, self.deep), self.column)
        self._coming = kernel.named("coming_a", kernel.writer.value(form, place, self.element, size))

    def read(self, block: int, depth: int) -> tuple[Value, Value]:
        """The operands of a block of rows at a depth and at the next one."""
        kernel = self.kernel
        place = self._beyond(self.carried[0], self.share.place((block, depth), 0))
        form = f"llvm.call spir_funccc @{_READ}(%s) {{convergent, no_unwind, will_return}} : ({_POINTER}) -> vector<16xi16>"
        words = kernel.writer.value(form, (place,), "i16", 16)
        one, other = (
            as_elements(kernel, cut(kernel, words, range(start, start + 8)), self.element) for start in (0, 8)
        )
        return one, other

    def end(self) -> None:
        """Store what was loaded to the other buffer, wait for all subgroups, and change buffers."""
        self._store(self.carried[1])
        self.kernel.writer.do(_BARRIER, ())
        reads, writes, far = self.carried
        back = self.kernel.op("subi", self.kernel.constant(0, "i32"), far)
        self.carried = [self._further(reads, far), self._further(writes, back), back]

    def _store(self, first: Value) -> None:
        kernel, share = self.kernel, self.share
        assert self._coming is not None  # a step loads before it stores
        each = _HALF * 8 // share.load.bits
        of_block = share.load.registers // share.abreast
        for number in range(stores_of_lane(kernel.gemm.problem, kernel.gemm.tiling)):
            start = number * each
            block, inside = divmod(start, of_block)
            depth, rest = divmod(inside, kernel.gemm.dpas.k)
            part = as_elements(kernel, cut(kernel, self._coming, range(start, start + each)), "i32")
            further = share.place((2 * block, depth), 0) + (_HALF if rest else 0)
            kernel.writer.do(f"llvm.store %s, %s : {part.kind}, {_POINTER}", (part, self._beyond(first, further)))

    def _further(self, pointer: Value, distance: Value) -> Value:
        form = f"llvm.getelementptr %s[%s] : ({_POINTER}, i32) -> {_POINTER}, i8"
        return self.kernel.writer.value(form, (pointer, distance), _POINTER)

    def _beyond(self, pointer: Value, distance: int) -> Value:
        if distance == 0:
            return pointer
        form = f"llvm.getelementptr %s[{distance}] : ({_POINTER}) -> {_POINTER}, i8"
        return self.kernel.writer.value(form, (pointer,), _POINTER)

    def _pointer_to(self, memory: str) -> Value:
        kernel = self.kernel
        found = kernel.writer.value(f"memref.get_global @{_SYMBOL} : {memory}", (), memory)
        form = f"memref.extract_aligned_pointer_as_index %s : {memory} -> index"
        number = kernel.cast(kernel.writer.value(form, (found,), "index"), "i64")
        return kernel.named("shared", kernel.writer.value(f"llvm.inttoptr %s : i64 to {_POINTER}", (number,), _POINTER))
