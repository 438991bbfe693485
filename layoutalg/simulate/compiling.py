"""A kernel's text as steps: every operation is compiled once to a numpy closure, then executed for all work-items at once.

The registry maps a class of operations to the function that compiles one:

    @compiled_by(arith.AddfOp)
    def add(op: arith.AddfOp, compiling: Compiling) -> Step:
        return lambda run, values: (values[0] + values[1],)

What can be known from the text (types, shapes, attributes, level) is checked while compiling; a step sees values alone.
Values live in numbered slots of `run.slots`. A `CompiledBlock` has the steps of a block, each with the slots that it reads and
writes. An operation with regions compiles its blocks with `compiling.body` and runs them with `execute`.

>>> from layoutalg.ir import read_module
>>> from layoutalg.simulate.machine import Machine, Run
>>> module = read_module("%a = arith.constant 20 : i32 %b = arith.addi %a, %a : i32")
>>> compiling = Compiling(module, lanes=16, block=(16, 1, 1))
>>> body = compiling.body(module.body.block)
>>> [line.operation.name for line in body.lines]
['arith.constant', 'arith.addi']
>>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), None, slots=compiling.slots())
>>> execute(run, body, [])
[]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from math import prod
from typing import Any, TypeVar

from xdsl.dialects.builtin import IntegerType, ModuleOp, ShapedType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_TENSOR_ELEMENTS, MOST_VECTOR_ELEMENTS
from layoutalg.ir.dialects.amx import TileType, X86TileType
from layoutalg.ir.dialects.unread import UnreadOp
from layoutalg.ir.places import line_of
from layoutalg.simulate.machine import Level, Run, SimulationError, fail
from layoutalg.simulate.operation_modules import SUBJECTS
from layoutalg.simulate.poison import has_poison, tracked

__all__ = ["CompiledBlock", "CompiledStep", "Compiling", "Step", "compiled_by", "execute", "value_shape"]

Step = Callable[[Run, list[Any]], Sequence[Any]]
"""One operation, compiled: the values of its operands to those of its results."""

_Compiler = TypeVar("_Compiler", bound=Callable[..., Step])
_COMPILERS: dict[str, Callable[[Any, Compiling], Step]] = {}
"""By the operation's name, so that a dialect may be declared anew."""
_ON_HOST: dict[str, Callable[[Any, Compiling], Step]] = {}

# What an element costs, and what an operation costs whatever its size, in units of about half a nanosecond. Estimates set by
# hand, in powers of 2: they bound the work of a launch, and predict no time.
_WEIGHTS: tuple[tuple[tuple[str, ...], int, int], ...] = (
    (("memref.", "xegpu.load", "xegpu.store", "xegpu.atomic", "vector.transfer", "vector.gather", "vector.scatter",
      "vector.load", "vector.store", "vector.masked", "llvm.load", "llvm.store"), 64, 1 << 17),
    (("xegpu.dpas",), 1, 1 << 16),
    (("amx.tile_mul", "x86.amx.tile_mul"), 8, 1 << 17),
    (("amx.", "x86.amx."), 64, 1 << 17),
    (("math.", "arith.div", "arith.rem", "arith.ceildiv", "arith.floordiv", "gpu."), 32, 1 << 15),
    (("",), 4, 1 << 14),
)  # fmt: skip


def compiled_by(*operations: type[Operation] | str, host: bool = False) -> Callable[[_Compiler], _Compiler]:
    """Register a function that compiles operations of these classes, or of these names (`"gpu.wait"`).

    With `host`, it compiles those of that name in the code of the host alone, where it comes before any other.

    >>> from xdsl.dialects.test import TestPureOp
    >>> @compiled_by(TestPureOp)
    ... def nothing(op, compiling):
    ...     return lambda run, values: ()
    >>> from layoutalg.ir import read_module
    >>> step = Compiling(read_module("gpu.barrier"), lanes=16, block=(16, 1, 1)).step(TestPureOp())
    >>> step(None, [])
    ()
    """

    def register(function: _Compiler) -> _Compiler:
        table = _ON_HOST if host else _COMPILERS
        for operation in operations:
            table[operation if isinstance(operation, str) else operation.name] = function
        return function

    return register


@cache
def _load_operations() -> None:
    for subject in SUBJECTS:
        import_module(subject)


def _compiler(operation: Operation, level: Level = "lane") -> Callable[[Any, Compiling], Step] | None:
    if level == "host" and operation.name in _ON_HOST:
        return _ON_HOST[operation.name]
    return _COMPILERS.get(operation.name)


def value_shape(kind: Attribute) -> tuple[int, ...]:
    """The axes that a value of this type has after those of the work-items.

    >>> from xdsl.dialects.builtin import VectorType, f32
    >>> value_shape(VectorType(f32, [8])), value_shape(f32)
    ((8,), ())
    """
    if isinstance(kind, TileType | X86TileType):
        return kind.get_shape()
    return tuple(kind.get_shape()) if isinstance(kind, ShapedType) and kind.name == "vector" else ()


@dataclass(frozen=True, slots=True, eq=False)
class CompiledStep:
    """A step with the slots of its operands and results, and those that no later step needs.

    `fixed` and `work` are what it costs: for itself, and for each work-item (each subgroup, each workgroup at those levels).

    >>> from layoutalg.ir import read_module
    >>> module = read_module("%a = arith.constant 20 : i32")
    >>> Compiling(module, lanes=16, block=(16, 1, 1)).body(module.body.block).lines[0].outputs
    (0,)
    """

    operation: Operation
    step: Step
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    free: tuple[int, ...]
    fixed: int
    work: int


@dataclass(frozen=True, slots=True, eq=False)
class CompiledBlock:
    """A block, compiled: the slots of its arguments, its steps, and the slots of what its terminator passes on.

    `peak` is the number of bytes that the values defined in it take at most, for each work-item.

    >>> from layoutalg.ir import read_module
    >>> module = read_module("%a = arith.constant 20 : i32 %b = arith.addi %a, %a : i32")
    >>> Compiling(module, lanes=16, block=(16, 1, 1)).body(module.body.block).peak
    8
    """

    block: Block
    arguments: tuple[int, ...]
    lines: tuple[CompiledStep, ...]
    terminator: Operation | None
    results: tuple[int, ...]
    fixed: int
    work: int
    peak: int

    @property
    def count(self) -> int:
        """The operations that running it once counts as: an empty body is one, too, so that it cannot run without end."""
        return len(self.lines) or 1


@dataclass(eq=False)
class Compiling:
    """What is known while a kernel is compiled: the level, the work-items of a workgroup, the chip, and the module around it.

    >>> from xdsl.dialects.builtin import ModuleOp
    >>> Compiling(ModuleOp([]), lanes=16, block=(64, 1, 1)).subgroups
    4
    """

    module: ModuleOp
    lanes: int
    block: tuple[int, int, int]
    level: Level = "lane"
    target: str = "pvc"
    trace: Mapping[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    _numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    _works: dict[Operation, int] = field(default_factory=dict[Operation, int])
    _shared: set[Operation] = field(default_factory=set[Operation])
    functions: dict[Operation, tuple[Step, int] | None] = field(
        default_factory=dict[Operation, "tuple[Step, int] | None"]
    )
    counts: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """How many operations a function executes at least, with the functions that it calls."""
    peak: int = 0

    @property
    def subgroups(self) -> int:
        """Subgroups of one workgroup."""
        return -(-prod(self.block) // self.lanes)

    @cached_property
    def _has_poison(self) -> bool:
        return has_poison(self.module)

    def slots(self) -> list[Any]:
        """Room for all values of what was compiled."""
        return [None] * len(self._numbers)

    def slot(self, value: SSAValue) -> int:
        """The number of a value's slot."""
        return self._numbers.setdefault(value, len(self._numbers))

    def costs(self, operation: Operation, elements: int) -> None:
        """Say what an operation costs where that is not the number of elements of its largest operand or result."""
        self._works[operation] = elements

    def is_same_for_all(self, operation: Operation) -> None:
        """Say that the results are the same for all work-items, so that they take memory once."""
        self._shared.add(operation)

    def holds(self, size: int) -> None:
        """Say that the operation holds so many bytes for each work-item while it runs (its bodies are counted already)."""
        self.peak = max(self.peak, size)

    def step(self, operation: Operation) -> Step:
        """Compile one operation.

        Raises:
            SimulationError: the operation is not simulated, or not with these types and attributes.
        """
        _load_operations()
        compiler = _compiler(operation, self.level)
        if compiler is None:
            if isinstance(operation, UnreadOp):
                name = operation.called or "text that cannot be read"
            else:
                name = getattr(getattr(operation, "op_name", None), "data", operation.name)
            raise SimulationError(f"line {line_of(operation)}: {name}: this operation is not simulated")
        most = MOST_VECTOR_ELEMENTS if self.level == "lane" else MOST_TENSOR_ELEMENTS
        for result in operation.results:
            if prod(value_shape(result.type)) > most:
                holder = "lane" if self.level == "lane" else "value"
                fail(operation, f"{result.type}: a {holder} has registers for {most} elements at most")
        try:
            return compiler(operation, self)
        except SimulationError:
            raise
        except _PROBLEMS as problem:
            fail(operation, str(problem) or type(problem).__name__)

    def _traced(self, operation: Operation, step: Step) -> Step:
        """The step, which also keeps the values of results that are to be traced."""
        wanted = [
            (number, self.trace[result]) for number, result in enumerate(operation.results) if result in self.trace
        ]
        if not wanted:
            return step

        def keeping(run: Run, values: list[Any]) -> Sequence[Any]:
            results = step(run, values)
            for number, name in wanted:
                run.keep(operation, name, results[number])
            return results

        return keeping

    def _cost(self, operation: Operation) -> tuple[int, int]:
        """What an operation costs for itself, and for each work-item."""
        elements = self._works.get(operation, _largest((*operation.operands, *operation.results)))
        for names, weight, fixed in _WEIGHTS:
            if operation.name.startswith(names):
                return fixed, elements * weight
        raise AssertionError(operation.name)

    def body(self, block: Block) -> CompiledBlock:
        """Compile the operations of a block, up to its terminator."""
        arguments = tuple(self.slot(argument) for argument in block.args)
        operations = list(block.ops)
        before = self.peak
        terminator = operations.pop() if operations and _ends(operations[-1]) else None
        freed = _last_uses(block, [*operations, *([terminator] if terminator else [])])
        lines: list[CompiledStep] = []
        live = peak = sum(_bytes(argument.type) for argument in block.args)
        for number, operation in enumerate(operations):
            self.peak = 0
            step = self.step(operation)
            step = self._traced(operation, tracked(operation, step) if self._has_poison else step)
            inside = self.peak
            free = freed.get(number, ())
            live += sum(_bytes(result.type) for result in operation.results if operation not in self._shared)
            peak = max(peak, live + inside)
            live -= sum(_bytes(value.type) for value in free if value.owner not in self._shared)
            lines.append(
                CompiledStep(
                    operation,
                    step,
                    tuple(self.slot(operand) for operand in operation.operands),
                    tuple(self.slot(result) for result in operation.results),
                    tuple(self.slot(value) for value in free if value_shape(value.type)),
                    *self._cost(operation),
                )
            )
        results = () if terminator is None else tuple(self.slot(operand) for operand in terminator.operands)
        fixed, work = sum(line.fixed for line in lines), sum(line.work for line in lines)
        self.peak = max(before, peak)
        return CompiledBlock(block, arguments, tuple(lines), terminator, results, fixed, work, peak)


_PROBLEMS = (LayoutError, ArithmeticError, LookupError, MemoryError, TypeError, ValueError)


def execute(run: Run, body: CompiledBlock, values: Iterable[Any]) -> list[Any]:
    """Run the steps of a body with these values for its arguments; gives the values of its terminator's operands.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.simulate.machine import Machine
    >>> module = read_module("func.func @f(%a: i32) -> i32 { %b = arith.addi %a, %a : i32 return %b : i32 }")
    >>> compiling = Compiling(module, lanes=16, block=(16, 1, 1))
    >>> body = compiling.body(module.body.block.first_op.body.block)
    >>> run = Run(Machine("pvc", (1, 1, 1), (16, 1, 1), 16, 0, 1), None, slots=compiling.slots())
    >>> import numpy as np
    >>> execute(run, body, [np.full((1, 1, 1), 21)])[0].item()
    42
    """
    slots = run.slots
    for slot, value in zip(body.arguments, values, strict=True):
        slots[slot] = value
    operation = body.lines[0].operation if body.lines else body.terminator or body.block.parent_op()
    if operation is not None:
        run.spend(operation, body.count, body.fixed + body.work * prod(run.machine.items))
    operation = body.terminator
    try:
        for line in body.lines:
            operation = line.operation
            results = line.step(run, [slots[number] for number in line.inputs])
            for number, result in zip(line.outputs, results, strict=True):
                slots[number] = result
            for number in line.free:
                slots[number] = None
    except SimulationError:
        raise
    except _PROBLEMS as problem:
        # The text is somebody's: whatever it makes numpy say is said with the operation and its line.
        assert operation is not None
        fail(operation, str(problem) or type(problem).__name__)
    return [slots[number] for number in body.results]


def _ends(operation: Operation) -> bool:
    return operation.has_trait(IsTerminator)


def _last_uses(block: Block, operations: Sequence[Operation]) -> dict[int, list[SSAValue]]:
    """After which operation of the block each of its values is used no more; the terminator's operands stay."""
    numbers = {operation: number for number, operation in enumerate(operations)}
    last: dict[int, list[SSAValue]] = {}
    for value in (*block.args, *(result for operation in operations for result in operation.results)):
        own = numbers[value.owner] if isinstance(value.owner, Operation) else 0
        used = [own]
        for use in value.uses:
            user: Operation | None = use.operation
            while user is not None and user.parent is not block:
                user = user.parent_op()
            used.append(len(operations) if user is None else numbers[user])
        last.setdefault(max(used), []).append(value)
    return last


def _largest(values: Iterable[SSAValue]) -> int:
    return max((prod(value_shape(value.type)) for value in values), default=1)


def _bytes(kind: Attribute) -> int:
    """The bytes that a work-item's value of this type takes: integers are held in 64 bits."""
    element = getattr(kind, "element_type", kind)
    width = getattr(element, "bitwidth", 64)
    each = 8 if isinstance(element, IntegerType) or not isinstance(width, int) else max(1, width // 8)
    return prod(value_shape(kind)) * each
