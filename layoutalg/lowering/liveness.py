"""What of a kernel is needed: operations with an effect, and what they are made of. The rest is not lowered.

A load whose value nobody uses, and a conversion of it, write nothing; nor does what a loop carries for nobody:

>>> from layoutalg.ir import read_module
>>> module = read_module('''func.func @f(%m: memref<8xf32>, %n: index) {
...   %x = memref.load %m[%n] : memref<8xf32>
...   %y = arith.addf %x, %x : f32
...   %z = arith.mulf %x, %x : f32
...   memref.store %y, %m[%n] : memref<8xf32>
...   func.return }''')
>>> live = Live(module.body.block.first_op)
>>> [op.name for op in module.body.block.first_op.body.block.ops if not live.needs(op)]
['arith.mulf']

The law: what is left out has no effect, and nothing that is written uses its results.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue

__all__ = ["HINTS", "Live", "is_free"]

HINTS = frozenset(("xegpu.compile_hint",))
"""Operations that only advise a compiler, Intel's own; they are not written."""

_FREE_DIALECTS = ("arith", "math", "index", "vector", "complex", "ub", "affine", "tensor")
_FREE = frozenset(
    (
        "builtin.unrealized_conversion_cast",
        *(f"gpu.{name}" for name in ("block_dim", "block_id", "global_id", "grid_dim", "lane_id", "num_subgroups")),
        *(f"gpu.{name}" for name in ("shuffle", "subgroup_id", "subgroup_size", "thread_id")),
        *(f"memref.{name}" for name in ("cast", "dim", "extract_aligned_pointer_as_index", "get_global", "load")),
        *(f"memref.{name}" for name in ("extract_strided_metadata", "memory_space_cast", "reinterpret_cast")),
        *(f"memref.{name}" for name in ("collapse_shape", "expand_shape", "rank", "subview", "view", "transpose")),
        *(f"xegpu.{name}" for name in ("convert_layout", "create_mem_desc", "create_nd_tdesc", "create_tdesc")),
        *(f"xegpu.{name}" for name in ("dpas", "dpas_mx", "load", "load_matrix", "load_nd", "mem_desc_subview")),
        *(f"xegpu.{name}" for name in ("update_nd_offset", "update_offset", "lane_shuffle")),
        "xevm.mma",
    )
)  # fmt: skip
"""Operations that compute or load, and change nothing: unused, they are left out, as LLVM does."""
_NOT_FREE = frozenset(
    (
        *(f"vector.{name}" for name in ("print", "store", "scatter", "maskedstore", "compressstore", "transfer_write")),
        *("vector.yield", "affine.yield", "affine.store", "affine.vector_store", "affine.dma_start", "affine.dma_wait"),
        *("affine.prefetch", "affine.for", "affine.if", "affine.parallel", "vector.mask", "vector.warp_execute_on_lane_0"),
    )
)  # fmt: skip
_LOOPS = ("scf.for",)
_BRANCHES = ("scf.if", "scf.index_switch", "scf.execute_region")


def is_free(name: str) -> bool:
    """Whether an operation of this name changes nothing but its results."""
    if name in _NOT_FREE:
        return False
    if name in HINTS:
        return True
    return name in _FREE or name.partition(".")[0] in _FREE_DIALECTS


class Live:
    """The values of a function that are needed, worked out once."""

    def __init__(self, function: Operation) -> None:
        self._function = function
        self._operations: set[Operation] = set()
        self._values: set[SSAValue] = set()
        self._open: list[SSAValue] = []
        for operation in function.walk():
            if not is_free(operation.name) and not self._is_structure(operation):
                self._need(operation)
        while self._open:
            self._follow(self._open.pop())

    def needs(self, operation: Operation) -> bool:
        """Whether an operation is written."""
        return operation in self._operations

    def is_live(self, value: SSAValue) -> bool:
        """Whether a value is used by something that is written."""
        return value in self._values

    def _is_structure(self, operation: Operation) -> bool:
        """What is needed only with its results or with what stands in it: loops, branches and what ends them."""
        if operation.name in (*_LOOPS, *_BRANCHES):
            return True
        around = operation.parent_op()
        return around is not None and around.name in (*_LOOPS, *_BRANCHES) and operation.name.endswith(".yield")

    def _need(self, operation: Operation) -> None:
        """Write an operation, and all around it."""
        if operation in self._operations:
            return
        self._operations.add(operation)
        around = operation.parent_op()
        if around is not None and around is not self._function:
            self._need(around)
        taken = operation.operands
        if operation.name in _LOOPS:
            taken = operation.operands[: len(operation.operands) - len(operation.results)]
        if not self._is_structure(operation) or operation.name in (*_LOOPS, *_BRANCHES):
            for value in taken:
                self._use(value)
        if operation.regions and operation.name not in (*_LOOPS, *_BRANCHES):
            for end in _ends(operation):  # what another operation does with them is not known
                self._need(end)

    def _use(self, value: SSAValue) -> None:
        if value not in self._values:
            self._values.add(value)
            self._open.append(value)

    def _follow(self, value: SSAValue) -> None:
        """What a value is made of."""
        owner = value.owner
        if isinstance(owner, Block):
            self._of_argument(value, owner)
            return
        self._need(owner)
        number = next(at for at, result in enumerate(owner.results) if result is value)
        if owner.name in _LOOPS:
            self._carried(owner, number)
        elif owner.name in _BRANCHES:
            for end in _ends(owner):  # a region of several blocks has branches among them
                if end.name.endswith("yield") and number < len(end.operands):
                    self._use(end.operands[number])

    def _of_argument(self, value: SSAValue, block: Block) -> None:
        around = block.parent_op()
        if around is None or around is self._function:
            return  # branches between blocks have an effect: all that they pass on is needed
        number = next(at for at, argument in enumerate(block.args) if argument is value)
        if around.name in _LOOPS:
            if number:
                self._carried(around, number - 1)
            else:
                self._need(around)
            return
        self._need(around)

    def _carried(self, loop: Operation, number: int) -> None:
        """A value that a loop carries: before it, in it, after it."""
        self._need(loop)
        block = loop.regions[0].blocks[0]
        first = len(loop.operands) - len(loop.results)
        self._use(loop.results[number])
        self._use(block.args[1 + number])
        self._use(loop.operands[first + number])
        if block.last_op is not None and number < len(block.last_op.operands):
            self._use(block.last_op.operands[number])


def _ends(operation: Operation) -> Iterator[Operation]:
    for region in operation.regions:
        for block in region.blocks:
            if block.last_op is not None:
                yield block.last_op
