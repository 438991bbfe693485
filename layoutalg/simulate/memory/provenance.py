"""Which buffers a kernel may write: reads need to be tracked for those alone.

Every operation that writes memory names an address; the address is followed back through the text to the arguments of the
kernel that it comes from. Where its origin is not known, every buffer may be written.

>>> from layoutalg.ir import read_module
>>> module = read_module('''func.func @k(%a: memref<4xi32>, %c: memref<4xi32>, %i: index) {
...   %x = memref.load %a[%i] : memref<4xi32>
...   memref.store %x, %c[%i] : memref<4xi32>
...   return
... }''')
>>> sorted(written_arguments(module.body.block.first_op.body.block))
[1]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from xdsl.dialects.builtin import MemRefType, SymbolRefAttr
from xdsl.dialects.llvm import LLVMArrayType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.hints import isa

from layoutalg.core.limits import MEMORY_SPAN as SPAN
from layoutalg.ir.builtin_names import demangled
from layoutalg.simulate.memory.views import View, dtype_of, is_shared
from layoutalg.simulate.symbols import symbol_around

__all__ = ["buffers_of", "shared_bytes", "written_arguments", "written_buffers", "written_outside"]

WRITES = {
    "amx.tile_store": 0,
    "llvm.atomicrmw": 0,
    "llvm.store": 1,
    "memref.atomic_rmw": 1,
    "memref.copy": 1,
    "memref.store": 1,
    "vector.compressstore": 0,
    "vector.maskedstore": 0,
    "vector.scatter": 0,
    "vector.store": 1,
    "vector.transfer_write": 1,
    "x86.amx.tile_store": 0,
    "xegpu.atomic_rmw": 0,
    "xegpu.store": 1,
    "xegpu.store_matrix": 1,
    "xegpu.store_nd": 1,
}
"""The number of the operand that says where each operation writes."""

PURE = (
    "affine.",
    "amx.",
    "arith.",
    "cf.",
    "index.",
    "math.",
    "scf.",
    "ub.",
    "vector.",
    "x86.amx.",
    "xegpu.",
    "memref.",
    "llvm.",
    "gpu.",
    "func.return",
)
"""Operations whose names begin so and that are not in WRITES write nothing that a launch is given."""

VIEWS = (
    "llvm.getelementptr", "memref.cast", "memref.memory_space_cast", "memref.reinterpret_cast", "memref.subview",
    "memref.view", "memref.extract_aligned_pointer_as_index", "memref.extract_strided_metadata", "memref.collapse_shape",
    "memref.expand_shape", "xegpu.create_mem_desc", "xegpu.create_nd_tdesc", "xegpu.create_tdesc", "xegpu.mem_desc_subview",
    "xegpu.update_nd_offset", "xegpu.update_offset",
)  # fmt: skip
"""Operations whose result lies in the memory of their first operand."""


def written_buffers(entry: Block, given: Sequence[Any]) -> set[int] | None:
    """The numbers of the buffers that a kernel may write, launched with these values; None for all.

    >>> import numpy as np
    >>> from layoutalg.ir import read_module
    >>> module = read_module("func.func @k(%a: i64) { return }")
    >>> written_buffers(module.body.block.first_op.body.block, [np.full((1, 1, 1), 1 << 40)])
    set()
    """
    found = written_arguments(entry)
    if found is None:
        return None
    values = (given[number] for number in found if number < len(given))  # what follows is shared memory of its own
    return buffers_of(values)


def buffers_of(values: Iterable[Any]) -> set[int]:
    """The numbers of the buffers that memrefs and addresses begin in.

    >>> import numpy as np
    >>> buffers_of([np.full((1, 1, 1), 3 << 40)])
    {2}
    """
    bases = (value.base if isinstance(value, View) else value for value in values)
    return {int(number) // SPAN - 1 for base in bases for number in base.reshape(-1)[:1]}


def written_arguments(entry: Block) -> set[int] | None:
    """The arguments of a block that something in it may write to; None where that can't be told.

    >>> from layoutalg.ir import read_module
    >>> written_arguments(read_module('"other.thing"() : () -> ()').body.block) is None
    True
    """
    places = _written_places(entry, {})
    roots = None if places is None else _roots(places, entry)
    return None if roots is None else {root.index for root in roots if isinstance(root, BlockArgument)}


def written_outside(around: Operation) -> list[SSAValue] | None:
    """The values from outside of an operation's regions that something in them may write to; None where that can't be told.

    >>> from layoutalg.ir import read_module
    >>> module = read_module('''func.func @f(%c: memref<4xi32>, %n: index, %x: i32) {
    ...   scf.for %i = %n to %n step %n {
    ...     memref.store %x, %c[%i] : memref<4xi32>
    ...   }
    ...   return
    ... }''')
    >>> [value.name_hint for value in written_outside(module.body.block.first_op.body.block.first_op)]
    ['c']
    """
    entry = around.regions[0].block
    places = _written_places(entry, {})
    return None if places is None else _roots(places, entry)


def _written_places(entry: Block, known: dict[Block, list[int] | None]) -> list[SSAValue] | None:
    """The operands that say where a block writes; of a call, those whose arguments the function may write to.

    `known` has the functions that were looked at: the numbers of those arguments, or None where they can't be told.
    """
    places: list[SSAValue] = []
    for operation in _walk(entry):
        if operation.name in WRITES:
            places.append(operation.operands[WRITES[operation.name]])
        elif operation.name == "llvm.call":
            name = _builtin(operation)
            if _WRITING.match(name):
                places.append(operation.operands[0])
            elif not _PURE_BUILTINS.match(name):
                return None
        elif operation.name == "func.call":
            body = _called(operation)
            numbers = None if body is None else _written_by(body, known)
            if numbers is None:
                return None
            places += [operation.operands[number] for number in numbers]
        elif not operation.name.startswith(PURE):
            return None
    return places


def _written_by(body: Block, known: dict[Block, list[int] | None]) -> list[int] | None:
    """The numbers of the arguments that a function may write to; each function is looked at once."""
    if body not in known:
        known[body] = None  # of a function that calls itself it can't be told
        places = _written_places(body, known)
        roots = None if places is None else _roots(places, body)
        known[body] = None if roots is None else [root.index for root in roots if isinstance(root, BlockArgument)]
    return known[body]


def _called(call: Operation) -> Block | None:
    """The body of the function that a `func.call` names, if it is one block."""
    callee: Any = call.get_attr_or_prop("callee")
    found = symbol_around(call, callee.string_value()) if isinstance(callee, SymbolRefAttr) else None
    return found.regions[0].block if found is not None and len(found.regions[0].blocks) == 1 else None


_WRITING = re.compile("intel_sub_group_block_write")
_PURE_BUILTINS = re.compile(
    "intel_sub_group_(.*_matrix_mad_|block_read)|sub_group_reduce_|native_|half_|"
    "(exp|log|sin|cos|tan|sqrt|rsqrt|tanh|erf|fabs|fmax|fmin|fma|mad|floor|ceil|trunc|rint|cbrt)"
)
"""Builtins of OpenCL that write no memory."""


def _builtin(call: Operation) -> str:
    """The builtin function that a call names by its mangled name; nothing for other functions."""
    callee: Any = call.properties.get("callee")
    found = demangled(callee.string_value()) if isinstance(callee, SymbolRefAttr) else None
    return "" if found is None else found.name


def _walk(entry: Block) -> Iterable[Operation]:
    for operation in entry.ops:
        yield from operation.walk()


def _roots(places: list[SSAValue], entry: Block) -> list[SSAValue] | None:
    """The arguments of a block, and the values from outside of it, that places are computed from."""
    places, found = list(places), list[SSAValue]()
    seen: set[SSAValue] = set()
    while places:
        value = places.pop()
        if value in seen:
            continue
        seen.add(value)
        if not _is_inside(value, entry):
            found.append(value)
            continue
        if isinstance(value, BlockArgument):
            if value.block is entry:
                found.append(value)
                continue
            sources = _passed(value)
            if sources is None:
                return None
            places += sources
            continue
        operation = value.owner
        assert isinstance(operation, Operation)
        if operation.name in VIEWS:
            places.append(operation.operands[0])
        elif operation.name.startswith(("arith.", "scf.", "vector.", "llvm.inttoptr", "llvm.ptrtoint", "index.")):
            places += operation.operands
            places += [operand for region in operation.regions for block in region.blocks for operand in _left(block)]
        elif not operation.name.startswith(("memref.alloc", "memref.get_global", "gpu.", "memref.dim", "llvm.mlir")):
            return None
    return found


def _is_inside(value: SSAValue, entry: Block) -> bool:
    block: Block | None = value.block if isinstance(value, BlockArgument) else value.owner.parent_block()  # pyright: ignore[reportAttributeAccessIssue]
    while block is not None and block is not entry:
        block = block.parent_block()
    return block is entry


def _passed(value: BlockArgument) -> list[SSAValue] | None:
    """What may be passed to a block's argument: the operands of the operation around it, and of its terminators."""
    around = value.block.parent_op()
    if around is None or len(value.block.parent.blocks if value.block.parent else ()) != 1:
        return None
    inside = [operand for region in around.regions for block in region.blocks for operand in _left(block)]
    return [*around.operands, *inside]


def _left(block: Block) -> Sequence[SSAValue]:
    return block.last_op.operands if block.last_op is not None else ()


def shared_bytes(function: Operation, most: int) -> int:
    """About how much shared memory a workgroup uses, in bytes; `most` where it takes all there is.

    >>> from layoutalg.ir import read_module
    >>> module = read_module("func.func @k() { %p = memref.alloc() : memref<4xi32, 3> return }")
    >>> shared_bytes(module, 65536)
    16
    """
    sizes: dict[object, int] = {}
    for operation in function.walk():
        if operation.name == "gpu.dynamic_shared_memory":
            return most
        if operation.name in ("memref.alloc", "memref.alloca", "memref.get_global"):
            kind: Attribute | None = operation.results[0].type
            if isa(kind, MemRefType[Attribute]) and is_shared(kind):
                key = operation.properties.get("name", operation)
                sizes[key] = prod(max(1, size) for size in kind.get_shape()) * dtype_of(kind.element_type).itemsize
        if operation.name == "llvm.mlir.addressof":
            name = operation.properties.get("global_name")
            declared = symbol_around(operation, name.string_value()) if isinstance(name, SymbolRefAttr) else None
            kind = None if declared is None else declared.properties.get("global_type")
            if isinstance(kind, LLVMArrayType):
                sizes[name] = kind.size.data * dtype_of(kind.type).itemsize
    return min(most, sum(sizes.values()))
