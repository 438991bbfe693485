"""Values that no one may depend on: which elements of a value are poison, while it flows through a kernel.

`vector.shuffle %e, %e [0, -1]` has a second element that is poison: any value may stand there, so storing it is a mistake. A
value with such elements is a `Poisoned` array, which says where they are; a kernel without a source of poison has none, and
pays nothing. An operation that moves elements (a slice, a shuffle, a select) moves their marks; any other one makes poison of
what it computes from poison. By hand: of `[a, poison]`, `vector.extract [0]` is `a`, and `a + poison` is poison.

>>> value = poisoned(np.array([[[1, 2]]]), np.array([[[False, True]]]))
>>> mark_of(value).tolist(), mark_of(np.array([[[1, 2]]])) is None
([[[False, True]]], True)
>>> poisoned(np.array([[[1, 2]]]), np.array([[[False, False]]]))
array([[[1, 2]]])

Stores are run a second time with the marks in place of the values, so that what a mask or the edge of a block leaves out is no
mistake. What was stored is memory's: it is poison there no more, and was reported once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from layoutalg.ir.assembly import property_of, static_numbers
from layoutalg.simulate.machine import Run

if TYPE_CHECKING:
    from layoutalg.simulate.memory.launched import LaunchMemory

__all__ = ["Poisoned", "has_poison", "mark_of", "merged_mark", "poisoned", "tracked"]

Array = NDArray[Any]
Step = Callable[[Run, list[Any]], Sequence[Any]]
_MOVES = (
    "vector.extract", "vector.insert", "vector.shuffle", "vector.shape_cast", "vector.broadcast", "vector.transpose",
    "vector.extract_strided_slice", "vector.insert_strided_slice", "vector.interleave", "vector.deinterleave",
    "vector.from_elements", "vector.to_elements", "vector.splat", "vector.extractelement", "vector.insertelement",
    "vector.scalable.extract", "vector.scalable.insert",
)  # fmt: skip
_INDEXED = ("vector.extract", "vector.insert", "vector.extractelement", "vector.insertelement")


class Poisoned(np.ndarray[Any, np.dtype[Any]]):
    """A value some of whose elements are poison: those where `mark` is set.

    >>> poisoned(np.zeros((1, 1, 1)), np.ones((1, 1, 1), bool)).mark.item()
    True
    """

    mark: Array


def poisoned(value: Any, mark: Array | None) -> Any:
    """The value, with its marks where there are any.

    >>> [type(poisoned(np.zeros((1, 1, 1)), np.full((1, 1, 1), bad))).__name__ for bad in (False, True)]
    ['ndarray', 'Poisoned']
    """
    if mark is None or not _is_array(value) or not mark.any():
        return value
    made = np.asarray(value).view(Poisoned)
    made.mark = mark
    return made


def _is_array(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray)


def mark_of(value: object) -> Array | None:
    """The marks of a value; None of one without poison.

    >>> print(mark_of(np.zeros((1, 1, 1))))
    None
    """
    return getattr(value, "mark", None) if type(value) is Poisoned else None


def merged_mark(where: Array, new: object, old: object) -> Array | None:
    """The marks of a value that is the new one for some work-items, and the old one for the others.

    >>> bad = poisoned(np.zeros((1, 1, 2)), np.array([[[True, False]]]))
    >>> merged_mark(np.array([[[True, False]]]), np.zeros((1, 1, 2)), bad).tolist()
    [[[False, False]]]
    """
    marks = [mark_of(new), mark_of(old)]
    if marks[0] is None and marks[1] is None:
        return None
    return np.where(np.asarray(where), *(np.False_ if mark is None else mark for mark in marks))


def has_poison(module: Operation) -> bool:
    """Whether an operation of a module makes poison.

    >>> from layoutalg.ir import read_module
    >>> has_poison(read_module("%a = arith.constant 1 : i32")), has_poison(read_module("%a = ub.poison : i32"))
    (False, True)
    """
    return any(_makes(operation) is not None for operation in module.walk())


def _makes(operation: Operation) -> Array | None:
    """Which elements of its result an operation makes poison of, whatever it is given; None where it makes none."""
    if operation.name in ("ub.poison", "llvm.mlir.poison", "llvm.mlir.undef"):
        return np.ones((), np.bool_)
    if operation.name == "vector.shuffle":
        chosen = np.array(static_numbers(property_of(operation, "mask")), np.int64) == -1
        return chosen if chosen.any() else None
    return None


def tracked(operation: Operation, step: Step) -> Step:
    """The step of an operation, which also says which elements of its results are poison, and finds those that are stored.

    >>> from layoutalg.ir import read_module
    >>> add = read_module("%a = arith.constant 1 : i32 %b = arith.addi %a, %a : i32").body.block.last_op
    >>> step = tracked(add, lambda run, values: [values[0] + values[1]])
    >>> bad = poisoned(np.array([[[1, 2]]]), np.array([[[False, True]]]))
    >>> mark_of(step(None, [bad, np.array([[[3]]])])[0]).tolist()
    [[[False, True]]]
    """
    if operation.regions or operation.has_trait(IsTerminator) or operation.name in ("func.call", "gpu.launch_func"):
        return step  # values go into the bodies, and come out of them, as they are
    made = _makes(operation)
    moves = operation.name in _MOVES

    def run_tracked(run: Run, values: list[Any]) -> Sequence[Any]:
        marks = [mark_of(value) for value in values]
        if made is None and all(mark is None for mark in marks):
            return step(run, values)
        if not operation.results and _place_is_poison(operation, marks):
            run.report(operation, "run.poison", "takes a place that is poison: no operation gives it a value")
            return ()
        plain = [value if mark is None else np.asarray(value) for value, mark in zip(values, marks, strict=True)]
        results = step(run, plain)
        if not operation.results or ".atomic" in operation.name:
            _stored(run, operation, step, plain, marks)
        if made is not None and not moves:
            return [poisoned(result, np.broadcast_to(made, np.shape(result))) for result in results]
        if operation.name == "arith.select" and marks[0] is None:
            condition = np.reshape(plain[0], (*np.shape(plain[0]), *(1,) * (np.ndim(results[0]) - np.ndim(plain[0]))))
            mark = merged_mark(condition, *(poisoned(*pair) for pair in zip(plain[1:], marks[1:], strict=True)))
            return [results[0] if mark is None else poisoned(results[0], np.broadcast_to(mark, np.shape(results[0])))]
        found = _moved(run, operation, step, plain, marks) if moves else None
        if found is None:
            return [poisoned(result, _spread(marks, result)) for result in results]
        if made is not None:
            axes = np.shape(results[0])
            across = made.reshape(made.shape + (1,) * (len(axes) - 4))
            found = [np.broadcast_to(one, axes) | across for one in found]
        return [poisoned(result, np.asarray(mark)) for result, mark in zip(results, found, strict=True)]

    return run_tracked


def _place_is_poison(operation: Operation, marks: Sequence[Array | None]) -> bool:
    """Whether one of the indices that an operation is given is poison."""
    pairs = zip(operation.operands, marks, strict=True)
    return any(mark is not None and str(operand.type) == "index" for operand, mark in pairs)


def _moved(
    run: Run, operation: Operation, step: Step, plain: list[Any], marks: list[Array | None]
) -> Sequence[Any] | None:
    """The marks of what an operation moves, by moving them in place of the values; None where a position is poison."""
    values: list[Any] = []
    for operand, value, mark in zip(operation.operands, plain, marks, strict=True):
        is_place = str(operand.type) == "index" and operation.name in _INDEXED
        if is_place and mark is not None:
            return None
        if is_place:
            values.append(value)
        else:
            values.append(np.zeros(np.shape(value), np.bool_) if mark is None else mark)
    return step(run, values)


def _spread(marks: Sequence[Array | None], result: Any) -> Array:
    """The marks of what is computed element by element; of anything else, of all that a work-item has."""
    present = [mark for mark in marks if mark is not None]
    shape = np.shape(result)
    if all(mark.shape[3:] == shape[3:] for mark in present):
        together = present[0]
        for mark in present[1:]:
            together = together | mark
        return np.broadcast_to(together, np.broadcast_shapes(together.shape, shape))
    found: Array = np.zeros((1, 1, 1), np.bool_)
    for mark in present:
        found = found | mark.reshape(*mark.shape[:3], -1).any(-1)
    found = found.reshape(*found.shape, *(1,) * (len(shape) - 3))
    return np.broadcast_to(found, np.broadcast_shapes(found.shape, shape))


def _stored(run: Run, operation: Operation, step: Step, plain: list[Any], marks: list[Array | None]) -> None:
    """Report poison that an operation stores: its step runs again, and memory looks at the marks that arrive."""
    values: list[Any] = []
    for value, mark in zip(plain, marks, strict=True):
        if mark is None:
            values.append(value)
            continue
        wide = np.broadcast_to(mark, np.broadcast_shapes(mark.shape, np.shape(value)))
        values.append(wide.astype(value.dtype))
    before = run.memory, run.counter, run.findings
    probe = _Probe(run.memory)
    run.memory, run.counter, run.findings = cast("Any", probe), None, []
    try:
        step(run, values)
    finally:
        run.memory, run.counter, run.findings = before
    if probe.stored:
        run.report(operation, "run.poison", f"stores poison: {probe.stored} elements that no operation gives a value")


class _Probe:
    """Memory that is given marks, writes nothing, and counts the marks that would be written."""

    def __init__(self, memory: LaunchMemory) -> None:
        self._memory = memory
        self.stored = 0

    def write(
        self, run: Run, op: Operation, addresses: Array, mask: Array | None, values: Array, *, together: bool = False
    ) -> None:
        """Count the marks that are stored."""
        bad = np.broadcast_to(np.asarray(values) != 0, np.broadcast_shapes(addresses.shape, np.shape(values)))
        bad = run.where(bad)
        self.stored += int((bad if mask is None else bad & mask).sum())

    def atomic(self, run: Run, op: Operation, addresses: Array, mask: Array | None, values: Array, kind: str) -> Array:
        """As a write; what was there before is not read."""
        self.write(run, op, addresses, mask, values)
        return np.zeros(np.broadcast_shapes(addresses.shape, np.shape(values)), np.asarray(values).dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)
