"""A transposed A through shared local memory, as a kernel: what `gemm.turning` says, written at lane level.

In a loop step:

    %coming = xegpu.load_nd %matrix_a[%k, %m] <{packed}>        the share of the next step
    (two operands at a time: llvm.call @__builtin_IB_simd_block_read_16_local_h(%place), two cuts of 8)
    (the products)
    (16 bytes of %coming at a time: llvm.store to the other buffer)
    gpu.barrier memfence [#gpu.address_space<workgroup>]

The loop carries pointers to where a lane reads and where it writes, and how far the other buffer of the reads is: the size of a
buffer, and in the next step as far back. The step behind the last one loads zeros, because messages read 0 beyond k. In a
scratch in global memory it carries a row and an address, and the reads are block messages.

>>> from layoutalg.gemm import plan_gemm
>>> gemm = plan_gemm(64, 64, 64, trans_a=True, tile=(32, 16), k_step=32, subgroups=(1, 1), transpose="slm", prefetch="none")
>>> text = gemm.emit()
>>> text.count("@__builtin_IB_simd_block_read_16_local_h(%"), text.count("gpu.barrier"), text.count("llvm.store")
(4, 2, 16)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.operands import HINTS, as_elements, cut, descriptor_type, surface
from layoutalg.gemm.emission.places import Places, another
from layoutalg.gemm.messages import messages_of_scratch
from layoutalg.gemm.turning import COLUMNS, ROWS, SCRATCH, check_turning, stores_of_lane, turned_by
from layoutalg.hardware import xe_chip

__all__ = ["Turning", "turning_of"]

_POINTER, _FAR_POINTER = "!llvm.ptr<3>", "!llvm.ptr<1>"
_READ = "__builtin_IB_simd_block_read_16_local_h"
_SYMBOL = "turned"
_HALF = 16


class Turning(ABC):
    """The transposition of A by a workgroup. `carried` are the places where this lane reads and writes, from step to step."""

    space = ""
    """The memory that a barrier makes visible."""

    def __init__(self, kernel: KernelWriter, places: Places, base: Value) -> None:
        self.kernel = kernel
        gemm = kernel.gemm
        self.share = share = turned_by(gemm.problem, gemm.tiling)
        self.element = gemm.element_of("A")
        blocks = f", #xegpu.block_tdesc_attr<array_length = {share.abreast} : i64>" if share.abreast > 1 else ""
        self.kind = f"!xegpu.tensor_desc<{ROWS}x{COLUMNS}x{self.element}{blocks}>"
        rows, columns, pitch = surface(kernel, gemm.matrices[0])
        form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : i64 -> {self.kind}"
        self.described = kernel.named("matrix_a", kernel.writer.value(form, (base, rows, columns, pitch), self.kind))
        subgroup = places.subgroup if places.subgroup is not None else kernel.constant(0)
        self.share_of_m, self.share_of_k = (self._of(subgroup, name, share.across) for name in ("remui", "divui"))
        self.row_of_subgroups = self._of(subgroup, "divui", gemm.tiling.subgroups[1])
        self.column = kernel.op("addi", places.workgroup_row, self._times(self.share_of_m, COLUMNS * share.abreast))
        self.deep = self._times(self.share_of_k, ROWS)
        self.lane = kernel.once("lane", lambda: kernel.writer.value("gpu.lane_id", (), "index"))
        self._coming: Value | None = None
        self.carried = self._first()

    @abstractmethod
    def _first(self) -> list[Value]:
        """Where this lane reads and writes in the first buffer, and what else the loop carries."""

    @abstractmethod
    def _exchanged(self, *, writes_alone: bool = False) -> list[Value]:
        """The same in the other buffer; before the loop only the writes change."""

    @abstractmethod
    def _store(self, part: Value, first: Value, block: int, depth: int, half: int) -> None:
        """Store 16 bytes of this lane: the `half`-th of its row of operand (block, depth), from `first` on."""

    @abstractmethod
    def read(self, depth: int) -> Mapping[tuple[int, int], Value]:
        """The operands that come at a depth, by (row block, depth)."""

    def begin(self, step: Value) -> None:
        """Bring the operands of the first step, at `step` along k, to the first buffer; the loop writes to the other one."""
        self.load(step)
        self._finish()
        self.carried = self._exchanged(writes_alone=True)

    def end(self) -> None:
        """Store what was loaded to the other buffer, wait for all subgroups, and change buffers."""
        self._finish()
        self.carried = self._exchanged()

    def load(self, step: Value) -> None:
        """Load this subgroup's share of the step at `step` along k."""
        kernel, share = self.kernel, self.share
        size = share.load.registers
        form = f"xegpu.load_nd %s[%s, %s] <{{{HINTS}, packed}}> : {self.kind} -> vector<{size}x{self.element}>"
        place = (self.described, kernel.op("addi", step, self.deep), self.column)
        self._coming = kernel.named("coming_a", kernel.writer.value(form, place, self.element, size))

    def _finish(self) -> None:
        kernel, share, unit = self.kernel, self.share, self.kernel.gemm.dpas
        assert self._coming is not None  # a step loads before it stores
        each, of_block = _HALF * 8 // share.load.bits, share.load.registers // share.abreast
        for number in range(stores_of_lane(kernel.gemm.problem, kernel.gemm.tiling)):
            start = number * each
            block, inside = divmod(start, of_block)
            depth, rest = divmod(inside, unit.k)
            part = as_elements(kernel, cut(kernel, self._coming, range(start, start + each)), "i32")
            self._store(part, self.carried[1], 2 * block, depth, 1 if rest else 0)
        kernel.writer.do(f"gpu.barrier memfence [#gpu.address_space<{self.space}>]", ())

    def _of(self, value: Value, name: str, number: int) -> Value:
        return self.kernel.op(name, value, self.kernel.constant(number))

    def _times(self, value: Value, number: int) -> Value:
        return value if number == 1 else self.kernel.op("muli", value, self.kernel.constant(number))

    def _sum(self, *values: Value) -> Value:
        total = values[0]
        for value in values[1:]:
            total = self.kernel.op("addi", total, value)
        return total


class _InSharedMemory(Turning):
    """Operands of 256 bytes in shared local memory, read by block messages, two at a time."""

    space = "workgroup"

    def _first(self) -> list[Value]:
        kernel, share, gemm = self.kernel, self.share, self.kernel.gemm
        memory = f"memref<{share.shared_bytes}xi8, 3 : i64>"
        kernel.functions[_SYMBOL] = (
            f'"memref.global"() <{{sym_name = "{_SYMBOL}", type = {memory}, initial_value, sym_visibility = "private", '
            "alignment = 1024 : i64}> : () -> ()"
        )
        kernel.functions[_READ] = (
            f"llvm.func spir_funccc @{_READ}({_POINTER}) -> vector<16xi16> attributes {{convergent, no_unwind, will_return}}"
        )
        shared = self._pointer_to(memory)
        blocks = self._sum(self._times(self.share_of_m, 2 * share.abreast), self._of(self.lane, "divui", 8))
        write = self._sum(
            self._times(blocks, share.place((1, 0), 0)),
            self._times(self._times(self.share_of_k, ROWS // gemm.dpas.k), share.place((0, 1), 0)),
            self._times(self._of(self.lane, "remui", 8), share.place((0, 0), 1)),
        )
        read = self._times(self.row_of_subgroups, share.place((gemm.blocks[0], 0), 0))
        found = [
            kernel.named(name, self._further(shared, kernel.cast(value, "i32")))
            for name, value in (("reads_at", read), ("writes_at", write))
        ]
        return [*found, kernel.constant(share.buffer_bytes, "i32")]

    def _exchanged(self, *, writes_alone: bool = False) -> list[Value]:
        reads, writes, far = self.carried
        if writes_alone:
            return [reads, self._further(writes, far), far]
        back = self.kernel.op("subi", self.kernel.constant(0, "i32"), far)
        return [self._further(reads, far), self._further(writes, back), back]

    def _store(self, part: Value, first: Value, block: int, depth: int, half: int) -> None:
        to = self._beyond(first, self.share.place((block, depth), 0) + half * _HALF)
        self.kernel.writer.do(f"llvm.store %s, %s : {part.kind}, {_POINTER}", (part, to))

    def read(self, depth: int) -> Mapping[tuple[int, int], Value]:
        kernel, found = self.kernel, dict[tuple[int, int], Value]()
        if depth % 2:
            return found
        form = f"llvm.call spir_funccc @{_READ}(%s) {{convergent, no_unwind, will_return}} : ({_POINTER}) -> vector<16xi16>"
        for block in range(kernel.gemm.blocks[0]):
            place = self._beyond(self.carried[0], self.share.place((block, depth), 0))
            words = kernel.writer.value(form, (place,), "i16", 16)
            for more in (0, 1):
                half = cut(kernel, words, range(8 * more, 8 * more + 8))
                found[block, depth + more] = as_elements(kernel, half, self.element)
        return found

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


class _InScratch(Turning):
    """Rows of A in a matrix in global memory, one for each workgroup, read by the block messages of an A that lies so.

    The loop carries a row and an address. A place and the same place in the other buffer have a sum that does not change, so
    the other one is that sum less this one.
    """

    space = "global"

    def _first(self) -> list[Value]:
        kernel, share, gemm = self.kernel, self.share, self.kernel.gemm
        bits = share.load.bits
        self.pitch = gemm.tile.k * bits // 8
        base = kernel.named("scratch", kernel.op("addi", kernel.arguments["workspace"], self._of_workgroup()))
        self.reads = messages_of_scratch(gemm.problem, gemm.tiling, gemm.llvm)
        self.matrices: list[Value] = []
        sizes = [kernel.constant(size) for size in (2 * share.rows, gemm.tile.k, gemm.tile.k)]
        apart = not xe_chip(gemm.target).immediate_offsets
        described: dict[tuple[int, str], Value] = {}
        for number, message in enumerate(self.reads):
            key = number if apart else 0, descriptor_type(message, self.element)
            if key not in described:
                form = f"xegpu.create_nd_tdesc %s, shape : [%s, %s], strides : [%s, 1] : i64 -> {key[1]}"
                made = kernel.writer.value(form, (another(kernel, base, key[0]), *sizes), key[1])
                described[key] = kernel.named("matrix_of_scratch", made)
            self.matrices.append(described[key])
        rows = self._sum(self._times(self.share_of_m, COLUMNS * share.abreast), self.lane)
        inside = self._sum(self._times(rows, self.pitch), self._times(self.share_of_k, ROWS * bits // 8))
        write = kernel.op("addi", base, kernel.cast(inside, "i64"))
        read = kernel.cast(self._times(self.row_of_subgroups, gemm.tile.m), "i32")
        whole = [kernel.constant(share.rows, "i32"), kernel.constant(share.buffer_bytes, "i64")]
        self.sums = [
            kernel.named("both", kernel.op("addi", kernel.op("addi", place, place), size))
            for place, size in zip((read, write), whole, strict=True)
        ]
        return [kernel.named("reads_at", read), kernel.named("writes_at", write)]

    def _of_workgroup(self) -> Value:
        """How many bytes of the workspace belong to the workgroups before this one."""
        kernel, gemm = self.kernel, self.kernel.gemm
        x, y, across, down = (
            kernel.writer.value(f"gpu.{name}", (), "index")
            for name in ("block_id x", "block_id y", "grid_dim x", "grid_dim y")
        )
        if gemm.problem.batch > 1:
            z = kernel.once("z", lambda: kernel.writer.value("gpu.block_id z", (), "index"), named=False)
            y = kernel.op("addi", kernel.op("muli", z, down), y)
        number = kernel.cast(kernel.op("addi", kernel.op("muli", y, across), x), "i64")
        return kernel.op("muli", number, kernel.constant(self.share.shared_bytes, "i64"))

    def _exchanged(self, *, writes_alone: bool = False) -> list[Value]:
        (reads, writes), (of_reads, of_writes) = self.carried, self.sums
        others = self.kernel.op("subi", of_writes, writes)
        return [reads if writes_alone else self.kernel.op("subi", of_reads, reads), others]

    def _store(self, part: Value, first: Value, block: int, depth: int, half: int) -> None:
        kernel = self.kernel
        further = block * 8 * self.pitch + depth * kernel.gemm.dpas.k * self.share.load.bits // 8 + half * _HALF
        place = kernel.plus(first, further)
        to = kernel.writer.value(f"llvm.inttoptr %s : i64 to {_FAR_POINTER}", (place,), _FAR_POINTER)
        kernel.writer.do(f"llvm.store %s, %s : {part.kind}, {_FAR_POINTER}", (part, to))

    def read(self, depth: int) -> Mapping[tuple[int, int], Value]:
        kernel, found = self.kernel, dict[tuple[int, int], Value]()
        row = self.carried[0]
        for message, described in zip(self.reads, self.matrices, strict=True):
            if min(piece.depth for piece in message.pieces) != depth:
                continue
            down, across = message.offset
            place = kernel.cast(kernel.plus(row, down), "index"), kernel.constant(across)
            form = (
                f"xegpu.load_nd %s[%s, %s] <{{{HINTS}}}> : {described.kind} -> vector<{message.length}x{self.element}>"
            )
            loaded = kernel.writer.value(form, (described, *place), self.element, message.length)
            kernel.named("loaded_a", loaded)
            for piece in message.pieces:
                found[piece.block, piece.depth] = cut(kernel, loaded, piece.registers)
        return found


def turning_of(kernel: KernelWriter, places: Places, base: Value) -> Turning:
    """How the kernel's workgroups transpose A, which begins at `base`."""
    gemm = kernel.gemm
    check_turning(gemm.problem, gemm.tiling.transpose, gemm.llvm)
    kind = _InScratch if kernel.gemm.tiling.transpose == SCRATCH else _InSharedMemory
    return kind(kernel, places, base)
