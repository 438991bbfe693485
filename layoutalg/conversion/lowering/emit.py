"""A conversion's program as MLIR at lane level: a function, or a whole kernel.

The two-lane transpose of `layoutalg.conversion.program` becomes one shuffle and three selects on words of 32 bits:

    %lane_in_0x2 = arith.cmpi ne, %lane, %c0 : i32
    %w2 = arith.select %lane_in_0x2, %w0, %w1 : i32
    %w3, %valid = gpu.shuffle xor %w2, %c1, %c2 : i32
    %w4 = arith.select %lane_in_0x2, %w3, %w0 : i32
    %w5 = arith.select %lane_in_0x2, %w1, %w3 : i32

>>> from layoutalg.conversion.program.program import Program, Select, Shuffle
>>> steps = (Select(2, 0, 1, "lane", 0b10), Shuffle(3, 2, (1, 0)), Select(4, 3, 0, "lane", 0b10), Select(5, 1, 3, "lane", 0b10))
>>> transpose = Program(1, 2, 32, 2, 2, pack=(0, 1), steps=steps, unpack=(4, 5))
>>> text = emit_function(transpose, "f32", "transpose")
>>> text.count("gpu.shuffle xor"), text.count("arith.select")
(1, 3)
>>> print(text.splitlines()[2].strip())
gpu.func @transpose(%source: vector<2xf32>) -> (vector<2xf32>) attributes {intel_reqd_sub_group_size = 2 : i32} {

The law: run by all lanes of all subgroups, it does what `Program.run` does, bit for bit, and the text has one
`gpu.shuffle` for each `Shuffle`, one `arith.select` for each `Select`, one `gpu.barrier` for each `Barrier` (and one between
two programs that both use shared local memory).

What LLVM 22 takes on the way to SPIR-V for Intel GPUs, as it was found by asking it, and what follows here:

- Vectors have 2, 3, 4, 8 or 16 elements in SPIR-V: others make an invalid binary (1, 5, 6, 12), or the compiler stops
  ("unable to legalize instruction", above 16). So a fragment of another size is passed as several (24 = 16 + 8), and one
  element as a scalar.
- It has no bf16 ("requires the following SPIR-V extension: SPV_KHR_bfloat16") and no floats of 8 bits: passed as integers.
- Shared local memory is a `memref.global` in address space 3. A `memref.alloca` or `llvm.alloca` there becomes an invalid
  OpVariable, `memref.alloc` a call of malloc, a `workgroup(...)` attribution one more argument of the kernel;
  `#gpu.address_space<workgroup>` is not converted ("conversion of memref memory space ... to integer address space failed").
- `gpu.shuffle`, in all its modes, needs `intel_reqd_sub_group_size` on a `gpu.func` around it, equal to its width; in a
  `func.func` it is "explicitly marked illegal". `gpu.lane_id` is SubgroupLocalInvocationId, `gpu.subgroup_id` SubgroupId.
- A reversal of bits that its optimizer finds in masks and shifts stops the backend (see `indices`), a loaded vector that it
  shortens makes the binary invalid (see `program.liveness`).
- No operation calls a `gpu.func` that is not a kernel, and nothing is inlined into a `gpu.func`: a compiler takes the body, a
  linker of SPIR-V the function.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import gcd

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from layoutalg.conversion.lowering.indices import Indices, named
from layoutalg.conversion.lowering.operations import ALIGNMENT, cast, typed, vector_sizes, write_chain
from layoutalg.conversion.program.liveness import liveness_of_chain
from layoutalg.conversion.program.program import Program
from layoutalg.core.elements import element_bits
from layoutalg.core.errors import ConversionError, VerificationError
from layoutalg.core.messages import shown
from layoutalg.ir import write_module
from layoutalg.ir.building import written_into
from layoutalg.ir.dialects import gpu
from layoutalg.ir.dialects.xegpu import scatter

__all__ = ["emit_function", "emit_kernel"]

MESSAGE = 64
"""The bytes that a kernel moves at once, at most; its addresses are multiples of so many."""
SHARED = 3
"""The address space of shared local memory."""

_FLOATS = {"f16": Float16Type(), "f32": Float32Type(), "f64": Float64Type()}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def emit_function(programs: Program | Sequence[Program], element: str = "i32", name: str = "convert") -> str:
    """A function from one work-item's source fragment to its destination fragment, in a module of its own.

    A fragment of R elements is a `vector<Rxelement>` where SPIR-V has it (R = 2, 3, 4, 8, 16), otherwise several such
    vectors and scalars, the largest first; elements that SPIR-V has no type for (bf16, 8-bit floats) are integers.

    Several programs are executed one after another, each on the fragments that the one before makes.

    Raises `ConversionError` for an element type of another size than the program's, for programs that do not fit together, or
    a name that is not an identifier.

    >>> swap = Program(1, 16, 16, 6, 2, pack=(0, 1), steps=(), unpack=(1, 0))
    >>> print(emit_function(swap, "bf16", "swap").splitlines()[2].strip().partition(" attributes")[0])
    gpu.func @swap(%source: vector<4xi16>, %source_1: vector<2xi16>) -> (vector<2xi16>)
    """
    chain, cell = _checked(programs, element, name)
    kind = _FLOATS.get(element, cell)
    takes, gives = vector_sizes(chain[0].source_registers), vector_sizes(chain[-1].registers)
    block = Block(arg_types=[typed(size, kind) for size in takes])
    with written_into(block):
        source = [cast(named("source", argument), cell) for argument in block.args]
        indices = Indices(chain[0].subgroups, chain[0].lanes)
        pieces = write_chain(chain, _shared(chain, name), indices, source, gives)
        gpu.ReturnOp.build(operands=[[cast(piece, kind) for piece in pieces]])
    function = gpu.FuncOp.build(
        properties={"function_type": FunctionType.from_lists(block.arg_types, [typed(size, kind) for size in gives])},
        attributes={"sym_name": StringAttr(name), "intel_reqd_sub_group_size": IntegerAttr(chain[0].lanes, i32)},
        regions=[Region(block)],
    )
    return _written(chain, name, function)


def emit_kernel(programs: Program | Sequence[Program], element: str = "i32", name: str = "convert") -> str:
    """A kernel that converts a fragment for each work-item, from one array in global memory to another.

    Its arguments are two addresses (i64), multiples of 64. A workgroup is `subgroups * lanes` work-items along x; the
    fragments lie one after another in the order [workgroup, subgroup, lane, register].

    Raises `ConversionError` as `emit_function` does.

    >>> swap = Program(2, 16, 32, 2, 2, pack=(0, 1), steps=(), unpack=(1, 0))
    >>> print(emit_kernel(swap, name="swap").splitlines()[2].strip().partition(" attributes")[0])
    gpu.func @swap(%source: i64, %destination: i64) kernel
    """
    chain, cell = _checked(programs, element, name)
    indices = Indices(chain[0].subgroups, chain[0].lanes)
    block = Block(arg_types=[i64, i64])
    with written_into(block):
        source, destination = (
            named(text, one) for text, one in zip(("source", "destination"), block.args, strict=True)
        )
        everyone = named("everyone", arith.ConstantOp(IntegerAttr(-1, i1)).result)
        needed, takes = _source_messages(chain, cell)
        loaded: list[SSAValue] = []
        for place, size, wanted in zip(_places(indices, takes), takes, needed, strict=True):
            if wanted:
                load = scatter.LoadOp.build(
                    operands=[source, [place], everyone], result_types=[typed(size, cell)], properties=_chunk(size)
                )
                loaded.append(named("source", load.value))
            else:
                loaded.append(indices.constant(0, cell))
        gives = _messages(chain[-1].registers, cell)
        pieces = write_chain(chain, _shared(chain, name), indices, loaded, gives)
        for place, size, piece in zip(_places(indices, gives), gives, pieces, strict=True):
            scatter.StoreOp.build(operands=[piece, destination, [place], everyone], properties=_chunk(size))
        gpu.ReturnOp.build(operands=[[]])
    workgroup = (chain[0].subgroups * chain[0].lanes, 1, 1)
    return _written(chain, name, gpu.FuncOp.kernel_of(name, Region(block), workgroup, chain[0].lanes))


def _checked(programs: Program | Sequence[Program], element: str, name: str) -> tuple[tuple[Program, ...], IntegerType]:
    """The programs and the integer type of an element's size, if everything fits together."""
    chain = (programs,) if isinstance(programs, Program) else tuple(programs)
    if not chain:
        raise ConversionError("no program to emit")
    try:
        bits = element_bits(element if isinstance(element, str) else shown(element))  # pyright: ignore[reportUnnecessaryIsInstance]
    except VerificationError as problem:
        raise ConversionError(str(problem)) from None
    for program in chain:
        cells = program.registers * program.element_bits // program.cell_bits
        if len(program.unpack) != cells or len(program.pack) % program.parts:
            raise ConversionError(
                f"a program packs {len(program.pack)} cells and unpacks {len(program.unpack)}: "
                f"expected a multiple of {program.parts}, and {cells}"
            )
    for before, after in pairwise(chain):
        made, taken = ((one.subgroups, one.lanes, one.element_bits) for one in (before, after))
        if (*made, before.registers) != (*taken, after.source_registers):
            raise ConversionError(
                f"a program for {made[0]} subgroups of {made[1]} lanes makes {before.registers} registers of {made[2]} bits; "
                f"the next, for {taken[0]} of {taken[1]}, takes {after.source_registers} of {taken[2]}"
            )
    if bits != chain[0].element_bits:
        wanted = chain[0].element_bits
        raise ConversionError(f"element type {element} has {bits} bits; the program moves elements of {wanted}")
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConversionError(f"name {shown(name)}: expected letters, digits and _, such as convert")
    return chain, IntegerType(bits)


def _written(chain: Sequence[Program], name: str, function: gpu.FuncOp) -> str:
    operations: list[Operation] = [function]
    kind = _shared_type(chain)
    if kind is not None:
        operations.insert(0, memref.GlobalOp.get(StringAttr(_shared_name(name)), kind, UnitAttr(), alignment=ALIGNMENT))
    module = ModuleOp([gpu.ModuleOp.of(name, operations)], {"gpu.container_module": UnitAttr()})
    module.verify()
    return write_module(module)


def _shared(chain: Sequence[Program], name: str) -> SSAValue | None:
    kind = _shared_type(chain)
    return named("slm", memref.GetGlobalOp(_shared_name(name), kind).memref) if kind is not None else None


def _shared_name(name: str) -> str:
    return f"{name}_slm"


def _shared_type(chain: Sequence[Program]) -> MemRefType[IntegerType] | None:
    words = max(program.slm_words for program in chain)
    return MemRefType(i32, [words], memory_space=IntegerAttr(SHARED, i64)) if words else None


def _messages(count: int, cell: IntegerType) -> list[int]:
    """The sizes of the vectors that a kernel moves: all the same, so that each lies at a multiple of its size."""
    size = gcd(count, 16, MESSAGE * 8 // cell.width.data)
    return [size] * (count // size) if count else []


def _source_messages(chain: Sequence[Program], cell: IntegerType) -> tuple[list[bool], list[int]]:
    """The vectors that a kernel loads, and whether they are needed: single elements where some are not (see `liveness`)."""
    cells = liveness_of_chain(chain)[0].cells
    halves = chain[0].element_bits // chain[0].cell_bits
    count = chain[0].source_registers
    parts = [[element * halves + half in cells for half in range(halves)] for element in range(count)]
    needed: list[bool] = []
    takes: list[int] = []
    for size in _messages(count, cell):
        start = sum(takes)
        whole = all(map(all, parts[start : start + size]))
        takes += [size] if whole else [1] * size
        needed += [True] if whole else map(any, parts[start : start + size])
    return needed, takes


def _places(indices: Indices, sizes: Sequence[int]) -> list[SSAValue]:
    """Where the vectors of this work-item's fragment begin in global memory, in elements."""
    item = arith.IndexCastOp(indices.work_item(), IndexType()).result
    first = arith.MuliOp(item, indices.constant(sum(sizes), IndexType())).result
    starts = [sum(sizes[:i]) for i in range(1, len(sizes))]
    later = (arith.AddiOp(first, indices.constant(start, IndexType())).result for start in starts)
    return [named("place", place) for place in (first, *later)][: len(sizes)]


def _chunk(size: int) -> dict[str, Attribute]:
    return {"chunk_size": IntegerAttr(size, i64)} if size > 1 else {}
