"""The arrays of a product as they lie in memory for its compiled code: rows with their pitch, and a margin behind.

What belongs to nobody is filled so that reading it shows, with NaN or with 85 between integers: the padding of rows, C before a
product that does not read it, and 64 bytes behind each matrix. After the run the padding must be as it was.

>>> from layoutalg.gemm.amx import plan_amx
>>> laid = Operands.of(plan_amx(2, 3, 4, "s8", lda=8), np.ones((2, 4)), np.full((4, 3), 2))
>>> laid.a.array[0].tolist(), [buffer.address % 64 for buffer in laid.buffers]
([1, 1, 1, 1, 85, 85, 85, 85], [0, 0, 0])
>>> laid.c.array[:] = 8
>>> laid.result().tolist()
[[8, 8, 8], [8, 8, 8]]
"""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import PlanError
from layoutalg.gemm.operand_arrays import POISON, check_given, held, poisoned
from layoutalg.gemm.product import mlir_type

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm
    from layoutalg.gemm.amx.problem import AmxProblem
    from layoutalg.gemm.matrix_in_memory import Matrix

__all__ = ["Buffer", "Operands", "Scales", "at_call", "each_scale", "memory_type", "random_operands"]

Array = NDArray[Any]
Scales = ArrayLike | tuple[ArrayLike, ArrayLike]
"""The scales of rows, of columns, or of both."""

_ALIGNMENT = 64


@dataclass(frozen=True, eq=False)
class Buffer:
    """An array that begins at a multiple of 64 bytes, with 64 bytes behind it that nobody may write.

    >>> buffer = Buffer.of(np.arange(6, dtype=np.float32).reshape(2, 3))
    >>> buffer.address % 64, buffer.array.tolist(), buffer.untouched
    (0, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], True)
    """

    array: Array
    margin: NDArray[np.uint8]

    @classmethod
    def of(cls, values: Array) -> Buffer:
        """A copy of an array."""
        size = values.nbytes
        raw = np.empty(size + 2 * _ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % _ALIGNMENT
        array = raw[start : start + size].view(values.dtype).reshape(values.shape)
        array[...] = values
        margin = raw[start + size : start + size + _ALIGNMENT]
        margin[:] = POISON
        return cls(array, margin)

    def at(self, place: int) -> Buffer:
        """One entry of the first dimension, in the same memory."""
        return Buffer(self.array[place], self.margin)

    @property
    def address(self) -> int:
        """Where it begins."""
        return int(self.array.ctypes.data)

    @property
    def untouched(self) -> bool:
        """Whether the margin is as it was."""
        return bool((self.margin == POISON).all())


@dataclass(frozen=True, eq=False)
class Operands:
    """A, B, C, and the bias and scales where the plan has them, as buffers.

    `problem` is the plan's with the rows of these arrays, where the plan leaves their number to the call.

    >>> from layoutalg.gemm.amx import plan_amx
    >>> Operands.of(plan_amx(2, 2, 4, "u8"), np.ones((2, 4)), np.full((4, 2), 256))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: B has the value 256, which u8 cannot hold
    """

    plan: AmxGemm
    problem: AmxProblem
    a: Buffer
    b: Buffer
    c: Buffer
    vectors: tuple[Buffer, ...]
    """The bias and the scales, as `AmxProblem.vectors` has them."""

    @classmethod
    def of(
        cls,
        plan: AmxGemm,
        a: ArrayLike,
        b: ArrayLike,
        c: ArrayLike | None = None,
        bias: ArrayLike | None = None,
        scale: Scales | None = None,
    ) -> Operands:
        """Lay arrays out in memory, in the types of the plan.

        Raises:
            PlanError: an array has another shape than the plan, or values that its type can't hold, or isn't asked for.
        """
        problem = at_call(plan.problem, a)
        check_given(problem, c, "has", bias=bias, scale=scale)
        vectors = (*([] if bias is None else [bias]), *each_scale(problem, scale))
        of_a, of_b, of_c = problem.matrices
        before = _poisoned(problem, of_c, problem.c) if c is None else _laid(problem, of_c, c, problem.c)
        return cls(
            plan,
            problem,
            Buffer.of(_laid(problem, of_a, a, problem.a)),
            Buffer.of(_laid(problem, of_b, b, problem.b)),
            Buffer.of(before),
            tuple(
                _vector(name, values, problem.count(over), kind)
                for (name, over, kind), values in zip(problem.vectors, vectors, strict=True)
            ),
        )

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """In the order of the function's parameters."""
        return self.a, self.b, self.c, *self.vectors

    @property
    def arguments(self) -> tuple[int, ...]:
        """What the function takes: the addresses, and the number of rows where that is an argument."""
        addresses = tuple(buffer.address for buffer in self.buffers)
        return (*addresses, self.problem.m) if self.plan.problem.dynamic_m else addresses

    def result(self) -> Array:
        """C [m, n] after the run; [batch, m, n] of a batch.

        Raises `PlanError`: the code wrote to the padding of C's rows or behind an array.
        """
        problem = self.problem
        padding = self.c.array[..., problem.n :]
        expected = _poisoned(problem, problem.matrices[2], problem.c)[..., problem.n :]
        if padding.tobytes() != expected.tobytes() or not all(buffer.untouched for buffer in self.buffers):
            raise PlanError("the compiled code wrote outside of C: please report this plan as a bug")
        return self.c.array[..., : problem.n].copy()

    @cached_property
    def each(self) -> tuple[Operands, ...]:
        """The operands of each product of the batch: views of the same memory.

        >>> from layoutalg.gemm.amx import plan_amx
        >>> laid = Operands.of(plan_amx(2, 3, 4, "s8", batch=2), np.ones((2, 2, 4)), np.full((2, 4, 3), 2))
        >>> [one.a.address - laid.a.address for one in laid.each]
        [0, 8]
        """
        if self.plan.problem.batch == 1:
            return (self,)
        one = self.problem.one
        plan = replace(self.plan, problem=one)
        return tuple(
            replace(self, plan=plan, problem=one, a=self.a.at(place), b=self.b.at(place), c=self.c.at(place))
            for place in range(self.plan.problem.batch)
        )


def at_call(problem: AmxProblem, a: ArrayLike) -> AmxProblem:
    """The problem with the rows of the A that is given, where their number is an argument.

    Raises `PlanError`: A has more rows than are planned, or none.

    >>> from layoutalg.gemm.amx.problem import AmxProblem
    >>> at_call(AmxProblem.of(64, 16, 32, dynamic_m=True), np.ones((5, 32))).m
    5
    """
    if not problem.dynamic_m:
        return problem
    rows = len(a) if isinstance(a, Sized) and np.ndim(a) else 0
    return problem.with_rows(rows)


def memory_type(element: str) -> np.dtype[Any]:
    """The numpy type of a problem's elements in memory."""
    return np.dtype(np.uint8) if element == "u8" else numpy_type(mlir_type(element))


def random_operands(problem: AmxProblem, seed: int) -> dict[str, Any]:
    """Random arguments of `plan.run` for a problem: floats of a normal distribution, all bytes, scales around 1/k in all."""
    rng = np.random.default_rng(seed)

    def drawn(kind: str, *shape: int) -> Array:
        dtype = memory_type(kind)
        if dtype.kind in "iu":
            least, most = (-(2**20), 2**20) if kind == "s32" else (np.iinfo(dtype).min, np.iinfo(dtype).max + 1)
            return rng.integers(least, most, shape).astype(dtype)
        return rng.standard_normal(shape).astype(dtype)

    of_a, of_b, of_c = problem.matrices
    kinds = {"a": (problem.a, of_a), "b": (problem.b, of_b)} | ({"c": (problem.c, of_c)} if problem.beta else {})
    found: dict[str, Any] = {
        name: drawn(kind, *_shape(problem, of.rows, of.columns)) for name, (kind, of) in kinds.items()
    }
    if problem.bias:
        found["bias"] = drawn(problem.bias_type, problem.count(problem.bias))
    if problem.scale:
        least = (1 / problem.k) ** (1 / len(problem.scaled))
        scales = [
            (rng.random(problem.count(side)) + 0.5).astype(np.float32) * np.float32(least) for side in problem.scaled
        ]
        found["scale"] = scales[0] if len(scales) == 1 else (scales[0], scales[1])
    return found


def each_scale(problem: AmxProblem, scale: Scales | None) -> tuple[ArrayLike, ...]:
    """The scales of each side, in the order of `problem.scaled`: of both they are a pair.

    Raises `PlanError`: the problem has scales of both sides, and `scale` is not a pair.

    >>> from layoutalg.gemm.amx.problem import AmxProblem
    >>> both = AmxProblem.of(2, 3, 4, "s8", c="f32", scale="both")
    >>> each_scale(both, (np.ones(2), np.ones(3)))[1].shape
    (3,)
    >>> each_scale(both, np.ones(2))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: scale: the plan has scales of both; expected a pair, 2 numbers for rows and 3 for columns
    """
    if scale is None:
        return ()
    if problem.scale != "both":
        return (cast("ArrayLike", scale),)
    pair = cast("tuple[ArrayLike, ArrayLike]", scale)
    if not isinstance(scale, (tuple, list)) or len(pair) != 2:
        rows, columns = map(problem.count, problem.scaled)
        raise PlanError(
            f"scale: the plan has scales of both; expected a pair, {rows} numbers for rows and {columns} for columns"
        )
    return pair[0], pair[1]


def _shape(problem: AmxProblem, rows: int, columns: int) -> tuple[int, ...]:
    """The shape of a matrix, with the batch in front where there is one."""
    return (rows, columns) if problem.batch == 1 else (problem.batch, rows, columns)


def _poisoned(problem: AmxProblem, matrix: Matrix, kind: str) -> Array:
    return poisoned(_shape(problem, matrix.rows, matrix.pitch), memory_type(kind))


def _laid(problem: AmxProblem, matrix: Matrix, values: ArrayLike, kind: str) -> Array:
    given = held(matrix.name, values, _shape(problem, matrix.rows, matrix.columns), kind)
    made = _poisoned(problem, matrix, kind)
    made[..., : matrix.columns] = given.view(made.dtype)
    return made


def _vector(name: str, values: ArrayLike | None, count: int, kind: str) -> Buffer:
    return Buffer.of(held(name, [] if values is None else values, (count,), kind))
