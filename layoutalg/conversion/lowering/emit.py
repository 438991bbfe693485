"""A conversion's program as MLIR at lane level: a function, or a whole kernel.

The two-lane transpose of `layoutalg.conversion.program` becomes one shuffle and three selects on words of 32 bits:

    %lane_in_0x2 = arith.cmpi ne, %lane, %c0 : i32
    %w2 = arith.select %lane_in_0x2, %w0, %w1 : i32
    %w3, %valid = gpu.shuffle xor %w2, %c1, %c2 : i32
    %w4 = arith.select %lane_in_0x2, %w3, %w0 : i32
    %w5 = arith.select %lane_in_0x2, %w1, %w3 : i32

>>> from layoutalg.conversion.program.program import Program
>>> from layoutalg.conversion.program.steps import Select, Shuffle
>>> steps = (Select(2, 0, 1, "lane", 0b10), Shuffle(3, 2, (1, 0)), Select(4, 3, 0, "lane", 0b10), Select(5, 1, 3, "lane", 0b10))
>>> transpose = Program(1, 2, 32, 2, 2, pack=(0, 1), steps=steps, unpack=(4, 5))
>>> text = emit_function(transpose, "f32", "transpose")
>>> text.count("gpu.shuffle xor"), text.count("arith.select")
(1, 3)
>>> print(text.splitlines()[2].strip())
gpu.func @transpose(%source: vector<2xf32>) -> (vector<2xf32>) attributes {intel_reqd_sub_group_size = 2 : i32} {

The law: run by all lanes of all subgroups, it does what `Program.run` does, bit for bit. The text has one `gpu.shuffle` for
each `Shuffle` (on AMD's chips a `gpu.subgroup_broadcast` where all lanes read one), one `arith.select` for each `Select`, and
one `gpu.barrier` for each `Barrier` of the workgroup (and one between two programs that both use shared local memory). Byte
permutes (`permutes`), moves between register regions (`visa`) and barriers inside a subgroup are written as each chip has them.

Global memory is moved by `xegpu.load` and `xegpu.store` with `chunk_size` for LLVM 22 and 23. LLVM 24 has no chunks ("Value
shape must match mask shape"): there `llvm.load` and `llvm.store` move the same vectors.

What LLVM takes on the way to SPIR-V for Intel GPUs, as it was found by asking LLVM 22, and what follows here:

- Vectors have 2, 3, 4, 8 or 16 elements in SPIR-V: others make an invalid binary (1, 5, 6, 12), or the compiler stops
  ("unable to legalize instruction", above 16). So a fragment of another size is passed as several (24 = 16 + 8), and one
  element as a scalar.
- It has no bf16 ("requires the following SPIR-V extension: SPV_KHR_bfloat16") and no floats of 8 bits: passed as integers.
- Shared local memory is a `memref.global` in address space 3. A `memref.alloca` or `llvm.alloca` there becomes an invalid
  OpVariable, `memref.alloc` a call of malloc, a `workgroup(...)` attribution one more argument of the kernel;
  `#gpu.address_space<workgroup>` is not converted ("conversion of memref memory space ... to integer address space failed").
- `gpu.barrier` is a barrier of the workgroup, in LLVM 23 and 24 with `scope <subgroup>` too, and orders all memory unless
  `memfence` says less, which LLVM 22 does not read. For Intel's GPUs a barrier inside a subgroup, and one that orders shared
  memory alone for LLVM 22, is a call of `__spirv_ControlBarrier` that becomes OpControlBarrier. Of the one their compiler makes
  no instruction (it keeps the order; a thread's messages to shared memory arrive in it), of the other one fence, not two.
- `gpu.shuffle`, in all its modes, needs `intel_reqd_sub_group_size` on a `gpu.func` around it, equal to its width; in a
  `func.func` it is "explicitly marked illegal". `gpu.lane_id` is
  SubgroupLocalInvocationId, `gpu.subgroup_id` SubgroupId.
- Intel's compiler refuses a subgroup size that its chip has not ("Unsupported required sub group size"; on pvc, for 8 lanes,
  "which is unsupported on this platform"), and so does this. (IGC 1.0.12504 doesn't see what the first kernel of a module asks
  for: it gets 16 lanes.)
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

from layoutalg.conversion.levels import check_level
from layoutalg.conversion.lowering.fragment_vectors import cast, vector_sizes
from layoutalg.conversion.lowering.indices import FIXED_WIDTH, Indices, named
from layoutalg.conversion.lowering.operations import write_chain
from layoutalg.conversion.lowering.shared_memory import ALIGNMENT, SHARED, declared_blocks, shared_bytes, shared_type
from layoutalg.conversion.lowering.writer import Value, Writer, typed
from layoutalg.conversion.program.cluster_places import MATRICES_STAY, cluster_bytes, in_cluster
from layoutalg.conversion.program.liveness import liveness_of_chain
from layoutalg.conversion.program.program import Program
from layoutalg.core.elements import element_bits
from layoutalg.core.errors import ConversionError, VerificationError
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.core.messages import shown
from layoutalg.core.plurals import counted
from layoutalg.hardware.chips import target_info

__all__ = ["emit_function", "emit_kernel"]

MESSAGE = 64
"""The bytes that a kernel moves at once, at most; its addresses are multiples of so many."""
_FLOATS = ("f16", "f32", "f64")
_INDENT = " " * 6
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def emit_function(
    programs: Program | Sequence[Program],
    element: str = "i32",
    name: str = "convert",
    target: str = "generic",
    llvm: int = DEFAULT_LLVM,
    workgroups: int = 1,
) -> str:
    """A function from one work-item's source fragment to its destination fragment, in a module of its own.

    A fragment of R elements is a `vector<Rxelement>` where SPIR-V has it (R = 2, 3, 4, 8, 16), otherwise several such
    vectors and scalars, the largest first; elements that SPIR-V has no type for (bf16, 8-bit floats) are integers.

    Several programs are executed one after another, each on the fragments that the one before makes.

    For AMD's and NVIDIA's chips several subgroups are work-items along x: the number of the subgroup is that of the
    work-item, divided by the lanes, and for AMD's the bits of the lane's number are its low ones. `llvm` is the version of
    LLVM that reads the text. The subgroups are those of a cluster of `workgroups`, one after another.

    Raises `ConversionError` for an element type of another size than the program's, for programs that do not fit together,
    a name that is not an identifier, workgroups that do not reach each other's memory on the target, or lanes that the
    target's warps, wavefronts or subgroups do not have; `LayoutError` for a version that is not known.

    >>> swap = Program(1, 16, 16, 6, 2, pack=(0, 1), steps=(), unpack=(1, 0))
    >>> print(emit_function(swap, "bf16", "swap").splitlines()[2].strip().partition(" attributes")[0])
    gpu.func @swap(%source: vector<4xi16>, %source_1: vector<2xi16>) -> (vector<2xi16>)
    """
    chain, cell = _checked(programs, element, name, target, workgroups)
    kind = element if element in _FLOATS else cell
    takes, gives = vector_sizes(chain[0].source_registers), vector_sizes(chain[-1].registers)
    writer = Writer([Value(kind, _size(size), "source") for size in takes])
    indices = Indices(writer, chain[0].subgroups, chain[0].lanes, target, llvm, workgroups)
    source = [cast(indices, argument, cell) for argument in writer.arguments]
    pieces = write_chain(chain, _shared(chain, indices, name), indices, source, gives, calls=True)
    results = [cast(indices, piece, kind) for piece in pieces]
    kinds = ", ".join([typed(size, kind) for size in gives])
    writer.do(f"gpu.return {', '.join(['%s'] * len(results))} : {kinds}", results)
    return _written(chain, name, indices, f" -> ({kinds}){_attributes(chain, indices)}")


def emit_kernel(
    programs: Program | Sequence[Program],
    element: str = "i32",
    name: str = "convert",
    target: str = "generic",
    llvm: int = DEFAULT_LLVM,
    workgroups: int = 1,
) -> str:
    """A kernel that converts a fragment for each work-item, from one array in global memory to another.

    `llvm` is the version of LLVM that reads it. The subgroups are those of a cluster of `workgroups` along x, one after
    another; a grid is whole clusters.

    Its arguments are two addresses (i64), multiples of 64. A workgroup is its subgroups' work-items along x; the
    fragments lie one after another in the order [workgroup, subgroup, lane, register]. For LLVM 22 and 23 they go to and
    from Intel's GPUs by XeGPU's messages of several elements for each lane; LLVM 24 has none, and takes loads of vectors.

    Raises `ConversionError` as `emit_function` does, and for a workgroup that is not a number of whole warps or wavefronts;
    `LayoutError` for a version that is not known.

    >>> swap = Program(2, 16, 32, 2, 2, pack=(0, 1), steps=(), unpack=(1, 0))
    >>> print(emit_kernel(swap, name="swap").splitlines()[2].strip().partition(" attributes")[0])
    gpu.func @swap(%source: i64, %destination: i64) kernel
    """
    chunked = rules(llvm).chunked_messages
    chain, cell = _checked(programs, element, name, target, workgroups)
    source, destination = Value("i64", name="source"), Value("i64", name="destination")
    writer = Writer([source, destination])
    indices = Indices(writer, chain[0].subgroups, chain[0].lanes, target, llvm, workgroups)
    workgroup = chain[0].subgroups // workgroups * chain[0].lanes
    if workgroup % indices.width:
        raise ConversionError(
            f"a workgroup of {workgroup} work-items on {target}: expected a multiple of the {indices.width} that execute "
            "together; a function is emitted for it (kernel=False)"
        )
    own = {"nvidia": _Pointers, "amd": _Offsets}
    memory = own.get(indices.vendor, _Messages if chunked else _FarPointers)(indices, cell)
    needed, takes = _source_messages(chain, cell, shortened=indices.vendor not in FIXED_WIDTH)
    loaded: list[Value] = []
    for place, size, wanted in zip(memory.places(source, takes), takes, needed, strict=True):
        loaded.append(named("source", memory.load(place, size)) if wanted else indices.constant(0, cell))
    gives = _messages(chain[-1].registers, cell)
    pieces = write_chain(chain, _shared(chain, indices, name), indices, loaded, gives, calls=True)
    for place, piece in zip(memory.places(destination, gives), pieces, strict=True):
        memory.store(piece, place)
    writer.do("gpu.return")
    sizes = [f"known_block_size = array<i32: {workgroup}, 1, 1>"]
    if workgroups > 1:
        sizes.append(f"known_cluster_size = array<i32: {workgroups}, 1, 1>")
    return _written(chain, name, indices, f" kernel{_attributes(chain, indices, *sizes)}")


class _Messages:
    """Global memory by XeGPU's scattered messages, from an address as i64."""

    def __init__(self, indices: Indices, cell: str) -> None:
        self.indices, self.writer, self.cell = indices, indices.writer, cell
        self.everyone = named("everyone", self.writer.value("arith.constant true", (), "i1"))

    def places(self, base: Value, sizes: Sequence[int]) -> list[tuple[Value, ...]]:
        """Where the vectors of this work-item's fragment begin."""
        return [(base, place) for place in _places(self.indices, sizes)]

    def load(self, place: tuple[Value, ...], size: int) -> Value:
        form = f"xegpu.load %s[%s], %s{_chunk(size)} : i64, index, i1 -> {typed(size, self.cell)}"
        return self.writer.value(form, (*place, self.everyone), self.cell, _size(size))

    def store(self, value: Value, place: tuple[Value, ...]) -> None:
        form = f"xegpu.store %s, %s[%s], %s{_chunk(value.size or 1)} : {value.kind}, i64, index, i1"
        self.writer.do(form, (value, *place, self.everyone))


class _Pointers:
    """Global memory by LLVM's loads and stores: vectors are as aligned as LLVM takes them to be."""

    def __init__(self, indices: Indices, cell: str) -> None:
        self.indices, self.writer, self.cell = indices, indices.writer, cell

    def places(self, base: Value, sizes: Sequence[int]) -> list[tuple[Value, ...]]:
        """Pointers to the vectors of this work-item's fragment."""
        if not sizes:
            return []
        pointer = self._pointer(base)
        whole = self.indices.binary("muli", self.indices.work_item(), self.indices.constant(sum(sizes)))
        first = self._beyond(pointer, "%s", "i32", (whole,))
        starts = [sum(sizes[:i]) for i in range(1, len(sizes))]
        return [(first,), *((self._beyond(first, str(start), "", ()),) for start in starts)]

    def _pointer(self, base: Value) -> Value:
        return self.writer.value("llvm.inttoptr %s : i64 to !llvm.ptr<1>", (base,), "!llvm.ptr<1>")

    def _beyond(self, pointer: Value, distance: str, kind: str, operands: tuple[Value, ...]) -> Value:
        types = ", ".join(["!llvm.ptr<1>", *[kind] * len(operands)])
        form = f"llvm.getelementptr %s[{distance}] : ({types}) -> !llvm.ptr<1>, {self.cell}"
        return named("place", self.writer.value(form, (pointer, *operands), "!llvm.ptr<1>"))

    def load(self, place: tuple[Value, ...], size: int) -> Value:
        form = f"llvm.load %s : !llvm.ptr<1> -> {typed(size, self.cell)}"
        return self.writer.value(form, place, self.cell, _size(size))

    def store(self, value: Value, place: tuple[Value, ...]) -> None:
        self.writer.do(f"llvm.store %s, %s : {value.kind}, !llvm.ptr<1>", (value, *place))


class _Offsets(_Pointers):
    """The same by a distance of 32 bits without a sign, in bytes: AMD's chips add it to the address of the array themselves."""

    def places(self, base: Value, sizes: Sequence[int]) -> list[tuple[Value, ...]]:
        """Pointers to the vectors of this work-item's fragment."""
        if not sizes:
            return []
        size = sum(sizes) * int(self.cell[1:]) // 8
        whole = self.indices.binary("muli", self.indices.work_item(), self.indices.constant(size))
        far = self.writer.value("arith.extui %s : i32 to i64", (whole,), "i64")
        form = "llvm.getelementptr %s[%s] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8"
        first = named("place", self.writer.value(form, (self._pointer(base), far), "!llvm.ptr<1>"))
        starts = [sum(sizes[:i]) for i in range(1, len(sizes))]
        return [(first,), *((self._beyond(first, str(start), "", ()),) for start in starts)]


class _FarPointers(_Pointers):
    """The same, with distances of 64 bits."""

    def places(self, base: Value, sizes: Sequence[int]) -> list[tuple[Value, ...]]:
        """Pointers to the vectors of this work-item's fragment."""
        if not sizes:
            return []
        pointer = self._pointer(base)
        places = (
            self.writer.value("arith.index_cast %s : index to i64", (place,), "i64")
            for place in _places(self.indices, sizes)
        )
        return [(self._beyond(pointer, "%s", "i64", (place,)),) for place in places]


def _checked(
    programs: Program | Sequence[Program], element: str, name: str, target: str, workgroups: int
) -> tuple[tuple[Program, ...], str]:
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
    chip = target_info(target)
    lanes = chain[0].lanes
    if chip.vendor in FIXED_WIDTH and chip.subgroup_size % lanes:
        whole = lanes % chip.subgroup_size == 0
        instead = f"machine=Machine(lanes={chip.subgroup_size})" if whole else "layouts that say as many"
        raise ConversionError(
            f"subgroups of {counted(lanes, 'lane')} on {chip}: expected {chip.subgroup_size}, or a part of them that divides "
            f"it; plan with {instead}"
        )
    if chip.asked_sizes and lanes not in chip.asked_sizes:
        sizes = [str(size) for size in chip.asked_sizes]
        raise ConversionError(
            f"subgroups of {counted(lanes, 'lane')} on {chip}: a kernel may ask for {', '.join(sizes[:-1])} or {sizes[-1]}; "
            + _other_lanes(lanes, chip.asked_sizes)
        )
    alone = type(workgroups) is int and workgroups == 1
    check_level("workgroup" if alone else "cluster", workgroups, chain[0].subgroups, target)
    if workgroups > 1 and chip.vendor != "nvidia":
        raise ConversionError(
            f"a cluster of workgroups on {chip}: NVIDIA's chips have instructions for it; plan with target='sm_90'"
        )
    placed = in_cluster(chain, workgroups) if workgroups > 1 else chain
    if placed is None:
        raise ConversionError(MATRICES_STAY)
    return placed, f"i{bits}"


def _other_lanes(lanes: int, sizes: Sequence[int]) -> str:
    """What to do about a number of lanes that a chip has not."""
    more = [size for size in sizes if size % lanes == 0]
    if not more:
        return "expected layouts that say as many"
    copies = f"{more[0] // lanes}@lane:{lanes}"
    return f"expected layouts that say as many; where the others hold copies, | replicas {copies} in both"


def _written(chain: Sequence[Program], name: str, indices: Indices, rest: str) -> str:
    """The module: the function with its arguments, what follows them, and its body; and the shared memory if there is some."""
    writer = indices.writer
    names = writer.names()
    takes = ", ".join(f"{names[argument]}: {argument.kind}" for argument in writer.arguments)
    shared = _declared(chain, indices, name)
    body = writer.text(_INDENT)
    shared += [f"    {declaration}" for declaration in indices.functions.values()]
    shared += [f"    {line}" for line in declared_blocks(chain)]
    lines = (
        "builtin.module attributes {gpu.container_module} {",
        f"  gpu.module @{name} {{",
        *shared,
        f"    gpu.func @{name}({takes}){rest} {{",
        body,
        "    }",
        "  }",
        "}",
    )
    return "\n".join(lines) + "\n"


def _size(size: int) -> int | None:
    return None if size == 1 else size


def _attributes(chain: Sequence[Program], indices: Indices, *others: str) -> str:
    """The attributes of the function: the subgroup size where kernels ask for one, and others."""
    asked = [] if indices.vendor in FIXED_WIDTH else [f"intel_reqd_sub_group_size = {chain[0].lanes} : i32"]
    every = ", ".join([*asked, *others])
    return f" attributes {{{every}}}" if every else ""


def _declared(chain: Sequence[Program], indices: Indices, name: str) -> list[str]:
    """The line that declares the shared memory, where there is some: for NVIDIA and AMD as what a pointer points to."""
    kind = shared_type(chain)
    if kind is None:
        return []
    if indices.vendor in FIXED_WIDTH:
        of_memory = f"addr_space = {SHARED} : i32, alignment = {ALIGNMENT} : i64"
        size = cluster_bytes(chain, indices.workgroups) if indices.workgroups > 1 else shared_bytes(chain)
        return [
            f'    "llvm.mlir.global"() <{{{of_memory}, global_type = !llvm.array<{size} x i8>, '
            f'linkage = #llvm.linkage<internal>, sym_name = "{_shared_name(name)}", unnamed_addr = 0 : i64, '
            "visibility_ = 0 : i64}> ({}) : () -> ()"
        ]
    return [
        f'    "memref.global"() <{{sym_name = "{_shared_name(name)}", type = {kind}, initial_value, '
        f'sym_visibility = "private", alignment = {ALIGNMENT} : i64}}> : () -> ()'
    ]


def _shared(chain: Sequence[Program], indices: Indices, name: str) -> Value | None:
    kind = shared_type(chain)
    if kind is None:
        return None
    if indices.vendor in FIXED_WIDTH:
        kind = f"!llvm.ptr<{SHARED}>"
        return named("slm", indices.writer.value(f"llvm.mlir.addressof @{_shared_name(name)} : {kind}", (), kind))
    return named("slm", indices.writer.value(f"memref.get_global @{_shared_name(name)} : {kind}", (), kind))


def _shared_name(name: str) -> str:
    return f"{name}_slm"


def _messages(count: int, cell: str) -> list[int]:
    """The sizes of the vectors that a kernel moves: all the same, so that each lies at a multiple of its size."""
    size = gcd(count, 16, MESSAGE * 8 // int(cell[1:]))
    return [size] * (count // size) if count else []


def _source_messages(chain: Sequence[Program], cell: str, *, shortened: bool) -> tuple[list[bool], list[int]]:
    """The vectors that a kernel loads, and whether they are needed.

    Where some elements are not, and `shortened` vectors make the binary invalid (see `liveness`), single elements.
    """
    cells = liveness_of_chain(chain)[0].cells
    halves = chain[0].element_bits // chain[0].cell_bits
    count = chain[0].source_registers
    parts = [[element * halves + half in cells for half in range(halves)] for element in range(count)]
    needed: list[bool] = []
    takes: list[int] = []
    for size in _messages(count, cell):
        start = sum(takes)
        wanted = [any(one) for one in parts[start : start + size]]
        whole = all(map(all, parts[start : start + size])) or not shortened
        takes += [size] if whole else [1] * size
        needed += [any(wanted)] if whole else wanted
    return needed, takes


def _places(indices: Indices, sizes: Sequence[int]) -> list[Value]:
    """Where the vectors of this work-item's fragment begin in global memory, in elements."""
    item = indices.as_index(indices.work_item())
    first = indices.binary("muli", item, indices.constant(sum(sizes), "index"))
    starts = [sum(sizes[:i]) for i in range(1, len(sizes))]
    later = (indices.binary("addi", first, indices.constant(start, "index")) for start in starts)
    return [named("place", place) for place in (first, *later)][: len(sizes)]


def _chunk(size: int) -> str:
    return f" <{{chunk_size = {size} : i64}}>" if size > 1 else ""
