"""Which matrices of a product need an edge kernel: those that no 2D block message reaches.

A block message names a whole matrix, and the hardware has rules for it: rows of 64 bytes at least, a multiple of 16 bytes from
row to row, and a base at a multiple of 64 bytes. A matrix that breaks a rule is moved element by element instead: each lane
computes the address of its own element, and a mask says whether the element is inside of the matrix. Only the matrices that
need it are moved so; the others keep their block messages. The products are the same DPAS, so the bits of C are the same too.

By hand, in f16: of 4095x1000x333 A has rows of 666 bytes, no multiple of 16. B and C have rows of 2000 and 4000 bytes, which
are. So A alone is an edge:

>>> from layoutalg.gemm.problem import Problem
>>> Problem.of(4095, 1000, 333).edges["A"]
'its rows of 666 bytes are not a multiple of 4 bytes, as a 2D block message needs; 336 columns would fit (the added ones hold \
zeros)'

Matrices of a batch follow each other without a gap, so the second one may begin where no block message can:

>>> print(*Problem.of(1, 64, 72, "tf32", batch=3).edges.values())
in a batch each begins 288 bytes behind the one before, which is not a multiple of 64 bytes, where a 2D block message can \
begin; a leading dimension lda = 80 would fit

The law: a plan without edges is what it would be if there were none; a plan with edges has the same C, bit for bit, as the
plan of the same numbers in padded rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import gcd
from types import MappingProxyType
from typing import TypeVar

from layoutalg.gemm.matrix_in_memory import Matrix, unreachable
from layoutalg.gemm.product import Product
from layoutalg.hardware import SurfaceLimits

__all__ = ["edges", "loop_edges", "padded"]

LIMITS = SurfaceLimits()
_Product = TypeVar("_Product", bound=Product)


def edges(problem: Product) -> Mapping[str, str]:
    """The matrices that no block message reaches, by name, and for each why and what would fit."""
    found: dict[str, str] = {}
    for matrix in problem.matrices:
        multiple = _multiple(matrix, problem.groups if problem.groups and matrix.name == "B" else problem.batch)
        why = (
            _every_second_row(problem, matrix)
            or unreachable(matrix, multiple)
            or _between_matrices(matrix, multiple)
            or _between_products(problem, matrix)
        )
        if why:
            found[matrix.name] = why
    return MappingProxyType(found)


def loop_edges(problem: Product) -> tuple[str, ...]:
    """Those of A and B that lanes load in every step of the loop.

    >>> from layoutalg.gemm.problem import Problem
    >>> loop_edges(Problem.of(64, 8, 64)), loop_edges(Problem.of(64, 64, 64, ldc=65))
    (('B',), ())
    """
    return tuple(name for name in edges(problem) if name != "C")


def padded(problem: _Product) -> _Product:
    """The product with sizes such that every row in memory is whole cache lines of 64 bytes: what padding would make of it.

    >>> from layoutalg.gemm.problem import Problem
    >>> str(padded(Problem.of(4095, 8, 333))), dict(padded(Problem.of(4095, 8, 333)).edges)
    ('C[4095, 32] f32 = A[4095, 352] f16 * B[352, 32] f16 on pvc', {})
    """
    line = LIMITS.base_alignment // min(matrix.element_bytes for matrix in problem.matrices)
    n, k = (-(-size // line) * line for size in (problem.n, problem.k))
    m = -(-problem.m // line) * line if problem.trans_a else problem.m
    pitches = {"lda": m if problem.trans_a else k, "ldb": k if problem.trans_b else n, "ldc": n}
    return replace(problem, m=m, n=n, k=k, **pitches)


def _multiple(matrix: Matrix, batch: int) -> int:
    """The bytes from row to row are a multiple of this, so that block messages reach every matrix of a batch."""
    if batch == 1:
        return LIMITS.pitch_multiple
    return max(LIMITS.pitch_multiple, LIMITS.base_alignment // gcd(LIMITS.base_alignment, matrix.rows))


def _between_matrices(matrix: Matrix, multiple: int) -> str:
    """Why the second matrix of a batch begins where no block message can."""
    if matrix.pitch_bytes % multiple == 0:
        return ""
    fit = -(-matrix.pitch_bytes // multiple) * multiple // matrix.element_bytes
    return (
        f"in a batch each begins {matrix.rows * matrix.pitch_bytes} bytes behind the one before, which is not a multiple of "
        f"{LIMITS.base_alignment} bytes, where a 2D block message can begin; a leading dimension "
        f"ld{matrix.name.lower()} = {fit} would fit"
    )


def _between_products(problem: Product, matrix: Matrix) -> str:
    """Why the second of a gated pair's products begins where no block message can."""
    if matrix.name != "B" or problem.trans_b or not (problem.gated or problem.halves):
        return ""
    n = problem.n // (2 if problem.halves else 1)
    each = LIMITS.x_multiple(8 * matrix.element_bytes)
    if n % each == 0:
        return ""
    return (
        f"the second product begins {n * matrix.element_bytes} bytes behind the first in a row, and a 2D block message begins "
        f"at a multiple of {each * matrix.element_bytes} bytes; n = {-(-n // each) * each} would fit"
    )


def _every_second_row(problem: Product, matrix: Matrix) -> str:
    """Why a transposed A of bytes is out of reach: its rows are read two at a time."""
    reached = 2 * matrix.pitch_bytes
    if matrix.name != "A" or not problem.trans_a or matrix.element_bytes > 1 or reached <= LIMITS.width_most:
        return ""
    most = LIMITS.width_most // 2
    fit = f"{most} columns" if matrix.columns > most else f"a leading dimension lda = {most}"
    return (
        f"its rows are read two at a time, {reached} bytes apart, and a 2D block message reaches {LIMITS.width_most}; "
        f"{fit} would fit"
    )
