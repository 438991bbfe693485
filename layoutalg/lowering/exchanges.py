"""Conversions in the middle of a kernel: fragments in, fragments out, at the place where they are needed.

A lane holds a row of four elements and needs a column. What `layoutalg.convert` plans is written before an operation of the
kernel. What depends on the numbers of lane and subgroup alone stands at the beginning of the kernel, once for all conversions:

>>> import layoutalg as la
>>> from layoutalg.ir import read_module, write_module
>>> module = read_module('''func.func @f(%x: vector<4xf32>) -> vector<4xf32>
...     attributes {intel_reqd_sub_group_size = 4 : i32} {
...   func.return %x : vector<4xf32> }''')
>>> function = module.body.block.first_op
>>> end = function.body.block.last_op
>>> exchanges = Exchanges(function)
>>> plan = la.convert("d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg")
>>> [made] = exchanges.exchange(plan, [function.body.block.args[0]], end)
>>> exchanges.finish()
Shared(bytes=0, starts=(), barriers=0)
>>> str(made.type), sum(op.name == "gpu.shuffle" for op in function.walk()) == plan.shuffles
('vector<4xf32>', True)

A fragment is given in pieces, vectors or single elements, in the order of the registers. Elements have 8 to 64 bits; `index` is
moved as 64 bits and `i1` as 8.

The law: executed by all lanes of all subgroups, the operations do what `plan.apply` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from layoutalg.conversion import ConversionPlan
from layoutalg.conversion.lowering.fragment_vectors import cast, vector_sizes
from layoutalg.conversion.lowering.indices import Indices
from layoutalg.conversion.lowering.operations import write_chain
from layoutalg.conversion.lowering.region_writer import RegionWriter
from layoutalg.conversion.lowering.shared_memory import shared_type
from layoutalg.conversion.lowering.writer import Value, typed
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Shuffle, Store
from layoutalg.core.elements import element_bits
from layoutalg.core.errors import ConversionError
from layoutalg.core.llvm_versions import rules
from layoutalg.core.notation import Machine
from layoutalg.flow.levels import DEFAULT_TARGET, machine_of
from layoutalg.hardware import target_info
from layoutalg.ir.dialects.func import FuncOp as HostFuncOp
from layoutalg.ir.dialects.gpu import FuncOp
from layoutalg.lowering.called_functions import declared_functions, written_for
from layoutalg.lowering.divergence import Differs, Divergence
from layoutalg.lowering.insertion import Insertion
from layoutalg.lowering.shared_memory import Shared, SharedMemory, placeholder

if TYPE_CHECKING:
    from layoutalg.lowering.kernels import KernelText

__all__ = ["Exchanges", "exchange", "moved_bits", "programs_here", "way_to"]

_BYTES, _WORD_BYTES = 16, 4
_WIDER = {"i1": "i8", "index": "i64"}
"""Elements that are moved as others: to these before, and back afterwards."""


def moved_bits(element: str) -> int:
    """The bits of an element while it is moved: what a conversion of such elements is planned for.

    Raises `LayoutError` for what is not an element type.

    >>> moved_bits("bf16"), moved_bits("index"), moved_bits("i1")
    (16, 64, 8)
    """
    return element_bits(_WIDER.get(element, element))


class _KernelIndices(Indices):
    """Numbers of lanes and subgroups, and what is computed from them: at the beginning of the kernel, once."""

    def __init__(self, start: Insertion, subgroups: int, lanes: int, chip: str) -> None:
        super().__init__(start, subgroups, lanes, chip)
        self._start = start

    def _once(self, key: object, make: Callable[[], Value]) -> Value:
        here, self.writer = self.writer, self._start
        try:
            return super()._once(key, make)
        finally:
            self.writer = here


class Exchanges:
    """The conversions of one function: each is written where it is needed, and `finish` gives them their shared memory."""

    def __init__(self, function: Operation, target: str = DEFAULT_TARGET) -> None:
        self.function = function
        self.machine = machine_of(function, target)
        self.target = target
        self.memory: SharedMemory | None = None
        if isinstance(function, FuncOp):
            self.memory = SharedMemory(function, target_info(target).slm_bytes, self.machine.subgroups or 1)
        self._start = Insertion(function.regions[0].blocks[0])
        self._indices: dict[tuple[int, int], _KernelIndices] = {}
        self._divergence: Divergence | None = None

    def exchange(
        self,
        plan: ConversionPlan,
        fragment: Sequence[SSAValue],
        before: Operation,
        sizes: Sequence[int] | None = None,
    ) -> tuple[SSAValue, ...]:
        """The destination's fragment, in pieces of `sizes` (those that SPIR-V has, unless given), made before an operation.

        `fragment` are the pieces of the source, 1-D vectors or single elements of one type.

        Raises `ConversionError` where the kernel cannot do it: another subgroup size than planned for, too few registers,
        control flow that differs between those who take part, shared memory in a function that is not a `gpu.func`.
        """
        element = _element(fragment)
        chain = self._chain(plan, before)
        _check(plan, chain, fragment, element)
        gives = vector_sizes(chain[-1].registers) if sizes is None else list(sizes)
        if sum(gives) != chain[-1].registers:
            raise ConversionError(
                f"pieces of {' + '.join(map(str, gives))} elements: the destination has {chain[-1].registers} registers"
            )
        takes = [_length(piece) for piece in fragment]
        if all(program.idle for program in chain) and takes == gives:
            return tuple(fragment)
        block = before.parent_block()
        if block is None:
            raise ConversionError("the operation after the conversion stands in no block")
        writer = Insertion(block, before)
        self._start.lend(writer)
        indices = self._of(chain[0].subgroups, chain[0].lanes)
        indices.writer = writer
        taken = [writer.taken(piece) for piece in fragment]
        moved = [_moved(indices, piece, element, f"i{plan.element_bits}") for piece in taken]
        made = write_chain(chain, self._shared(chain, writer), indices, moved, gives, calls=True)
        returned = [_returned(indices, piece, element) for piece in made]
        writer.settle()
        return tuple([writer.given(piece) for piece in returned])

    def finish(self) -> Shared:
        """Place what is in shared memory, put in barriers (see `shared_memory`), and declare what is called.

        Raises `SizeError` where the kernel has not enough of it.
        """
        self._start.settle()
        self._declare()
        return Shared(0, (), 0) if self.memory is None else self.memory.finish()

    def _declare(self) -> None:
        """Put the functions that are called into the module, in front of this one, where it does not have them."""
        module, block = self.function.parent_op(), self.function.parent_block()
        if module is None or block is None:
            return
        known = set(declared_functions(module))
        for indices in self._indices.values():
            for name, declaration in indices.functions.items():
                if name not in known:
                    known.add(name)
                    Insertion(block, self.function).do(declaration)

    def _of(self, subgroups: int, lanes: int) -> _KernelIndices:
        key = (subgroups, lanes)
        if key not in self._indices:
            self._indices[key] = _KernelIndices(self._start, subgroups, lanes, written_for(self.target))
        return self._indices[key]

    def _chain(self, plan: ConversionPlan, before: Operation) -> tuple[Program, ...]:
        """The programs of the cheapest way that can be taken here."""
        return programs_here(plan, self.machine, self._differs(before), memory=self.memory is not None)

    def _differs(self, before: Operation) -> Differs:
        if before.parent_block() is self.function.regions[0].first_block:
            return "nowhere"
        if self._divergence is None:
            self._divergence = Divergence(self.function)
        return self._divergence.at(before)

    def _shared(self, chain: Sequence[Program], writer: Insertion) -> Value | None:
        kind = shared_type(chain)
        if kind is None or self.memory is None:
            return None
        view = self.memory.buffer(kind, _owners(chain, self.machine.subgroups))
        taken = writer.taken(view)
        taken.element, taken.size = str(view.type), None
        return taken


def exchange(
    kernel: KernelText,
    plan: ConversionPlan,
    pieces: Sequence[Value],
    sizes: Sequence[int],
    before: Operation | None = None,
) -> list[Value]:
    """Write a plan into the text of a kernel: the pieces of its source become pieces of its destination of these sizes.

    `before` is the operation of the source that needs them, whose control flow decides which way can be taken. Shared memory is
    a placeholder until the text is finished (see `shared_memory`).

    Raises `ConversionError` as `Exchanges.exchange` does.
    """
    differs = "nowhere" if before is None else way_to(before)
    chain = programs_here(
        plan, Machine(lanes=kernel.lanes, subgroups=kernel.subgroups if kernel.is_counted else None), differs
    )
    kind = shared_type(chain)
    shared = None
    if kind is not None:
        kernel.shares = True
        form = placeholder(kind, _owners(chain, kernel.subgroups))
        shared = kernel.writer.value(form, (), kind)
        shared.name = "slm"
    # Numbers of subgroups count from 0 to those of the workgroup, whatever a program within one was planned for.
    programs = [_for(program, kernel.subgroups) for program in chain]
    called = rules(kernel.llvm).shuffles_in_functions
    if shared is None and called and sum(len(program.steps) for program in programs) > _MOST_INLINE:
        return _called(kernel, plan, programs, pieces, sizes)
    return _written(kernel.indices, plan, programs, shared, pieces, sizes)


def _written(
    indices: Indices,
    plan: ConversionPlan,
    programs: Sequence[Program],
    shared: Value | None,
    pieces: Sequence[Value],
    sizes: Sequence[int],
) -> list[Value]:
    """The steps, at the end of the text of `indices.writer`."""
    element = pieces[0].element
    moved = [_moved(indices, piece, element, f"i{plan.element_bits}") for piece in pieces]
    if shared is not None:
        moved = [part for piece in moved for part in _short(indices, piece)]
    made = write_chain(programs, shared, indices, moved, sizes, calls=True)
    return [_returned(indices, piece, element) for piece in made]


_MOST_INLINE = 2048
"""Conversions of more steps than these are functions, written once for all places that call them."""


def _called(
    kernel: KernelText,
    plan: ConversionPlan,
    programs: Sequence[Program],
    pieces: Sequence[Value],
    sizes: Sequence[int],
) -> list[Value]:
    """A call of the conversion's function, which is written the first time."""
    from layoutalg.lowering.kernels import LaneIndices

    element = pieces[0].element
    taken = ", ".join([piece.kind for piece in pieces])
    key = (plan.source, plan.destination, element, taken, tuple(sizes), tuple(programs))
    name = kernel.functions.get(key)
    results = [Value(element, None if size == 1 else size) for size in sizes]
    given = ", ".join([one.kind for one in results])
    if name is None:
        name = kernel.functions[key] = f"{kernel.name}_convert{len(kernel.functions)}"
        arguments = [Value(piece.element, piece.size) for piece in pieces]
        writer = RegionWriter(arguments)
        indices = LaneIndices(writer, kernel.subgroups, kernel.lanes, kernel.llvm, kernel.chip)
        made = _written(indices, plan, programs, None, arguments, sizes)
        places = ", ".join(["%s"] * len(made))
        writer.do(f"func.return {places} : {given}", made)
        body, names = writer.text("  "), writer.names()
        header = ", ".join([f"{names[argument]}: {argument.kind}" for argument in arguments])
        kernel.globals.append(f"func.func private @{name}({header}) -> ({given}) {{\n{body}\n}}")
    places = ", ".join(["%s"] * len(pieces))
    kernel.writer.values(f"func.call @{name}({places}) : ({taken}) -> ({given})", pieces, results)
    return results


def programs_here(
    plan: ConversionPlan, machine: Machine, differs: Differs, *, memory: bool = True
) -> tuple[Program, ...]:
    """The programs of the cheapest way to convert where the way taken differs between these.

    Raises `ConversionError` where no way can be taken, or where the kernel's machine is not the plan's.

    >>> import layoutalg as la
    >>> plan = la.convert("d0 = 2@sg 16@lane", "d0 = 2@lane:8 2@sg 8@lane")
    >>> programs_here(plan, Machine(lanes=16, subgroups=2), "subgroup")
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: subgroups take different ways here, and shared memory may need a barrier of all
    """
    lanes, subgroups = plan.programs[0].lanes, plan.programs[0].subgroups
    if machine.lanes not in (None, lanes):
        raise ConversionError(f"planned for subgroups of {lanes} lanes; those of the kernel have {machine.lanes}")
    if subgroups > 1 and machine.subgroups not in (None, subgroups):
        raise ConversionError(f"planned for {subgroups} subgroups; the kernel has {machine.subgroups}")
    problem = ""
    for candidate in plan.candidates:
        stores = any(program.count(Store) for program in candidate.programs)
        shuffles = any(program.count(Shuffle) for program in candidate.programs)
        if differs == "lane" and (stores or shuffles):
            problem = "lanes take different ways here, and all of a subgroup must take part"
        elif stores and differs == "subgroup":
            problem = "subgroups take different ways here, and shared memory may need a barrier of all"
        elif stores and not memory:
            problem = "it needs shared memory, which only a gpu.func can have"
        elif stores and machine.subgroups is None:
            problem = "it needs shared memory, and how many subgroups share it is not known: say known_block_size"
        else:
            return candidate.programs
    raise ConversionError(problem)


def _owners(chain: Sequence[Program], subgroups: int | None) -> int:
    """How many buffers a workgroup needs: one, or one for each subgroup where each converts for itself."""
    return (subgroups or 1) if chain[0].subgroups == 1 else 1


def _for(program: Program, subgroups: int) -> Program:
    """A program within one subgroup, as all subgroups of the workgroup execute it."""
    if program.subgroups != 1 or subgroups == 1:
        return program
    steps = tuple(
        [
            step._replace(where=step.where * subgroups) if isinstance(step, Store) and step.where else step
            for step in program.steps
        ]
    )
    return replace(program, subgroups=subgroups, steps=steps)


@lru_cache(maxsize=8)
def _divergence_of(function: Operation) -> Divergence:
    return Divergence(function)


def way_to(operation: Operation) -> Differs:
    """Between whom it differs whether an operation of a function is executed."""
    function = operation.parent_op()
    while function is not None and not isinstance(function, FuncOp | HostFuncOp):
        function = function.parent_op()
    if function is None or operation.parent_block() is function.regions[0].first_block:
        return "nowhere"
    return _divergence_of(function).at(operation)


def _element(fragment: Sequence[SSAValue]) -> str:
    kinds = {
        str(piece.type.get_element_type() if isa(piece.type, VectorType[Attribute]) else piece.type)
        for piece in fragment
    }
    if len(kinds) != 1:
        raise ConversionError(f"pieces of {' and '.join(sorted(kinds)) or 'nothing'}: expected elements of one type")
    return kinds.pop()


def _length(piece: SSAValue) -> int:
    return piece.type.element_count() if isa(piece.type, VectorType[Attribute]) else 1


def _check(plan: ConversionPlan, chain: Sequence[Program], fragment: Sequence[SSAValue], element: str) -> None:
    """Whether the pieces are the source's fragment."""
    count = sum(map(_length, fragment))
    if count != chain[0].source_registers:
        raise ConversionError(
            f"a fragment of {count} elements: the source {plan.source} has {chain[0].source_registers}"
        )
    if moved_bits(element) != plan.element_bits:
        raise ConversionError(f"elements of type {element}: planned for {plan.element_bits} bits")
    for piece in fragment:
        if isa(piece.type, VectorType[Attribute]) and len(piece.type.get_shape()) != 1:
            raise ConversionError(f"a piece of type {piece.type}: expected vectors of one dimension")


def _moved(indices: Indices, piece: Value, element: str, integer: str) -> Value:
    """The piece as integers of the size that is moved."""
    if element in _WIDER:
        wider = typed(piece.size, integer) if piece.size != 1 else f"vector<1x{integer}>"
        operation = "extui" if element == "i1" else "index_cast"
        return indices.writer.value(f"arith.{operation} %s : {piece.kind} to {wider}", (piece,), integer, piece.size)
    return cast(indices, piece, integer)


def _short(indices: Indices, piece: Value) -> list[Value]:
    """A piece of bytes in pieces of at most 16: of more, LLVM 22 makes no SPIR-V where they are taken one by one."""
    if piece.element != "i8" or piece.size is None or piece.size <= _BYTES or piece.size % _BYTES:
        return [piece]
    count = piece.size // _WORD_BYTES
    words = indices.writer.value(f"vector.bitcast %s : {piece.kind} to vector<{count}xi32>", (piece,), "i32", count)
    taken = _BYTES // _WORD_BYTES
    found: list[Value] = []
    for start in range(0, count, taken):
        places = ", ".join(map(str, range(start, start + taken)))
        form = f"vector.shuffle %s, %s [{places}] : {words.kind}, {words.kind}"
        part = indices.writer.value(form, (words, words), "i32", taken)
        form = f"vector.bitcast %s : {part.kind} to vector<{_BYTES}xi8>"
        found.append(indices.writer.value(form, (part,), "i8", _BYTES))
    return found


def _returned(indices: Indices, piece: Value, element: str) -> Value:
    """The piece with elements of its own type again."""
    if element in _WIDER:
        kind = Value(element, piece.size).kind
        operation = "trunci" if element == "i1" else "index_cast"
        return indices.writer.value(f"arith.{operation} %s : {piece.kind} to {kind}", (piece,), element, piece.size)
    return cast(indices, piece, element)
