"""What is asked: C = activation(alpha * scale * A B + beta * C + bias), with types, storage and chip.

A is m x k, B is k x n and C is m x n. `trans_a` says that A lies in memory as k x m, `trans_b` that B lies there as n x k; all
are row-major, with a leading dimension (elements from one row in memory to the next). The types of A and B are those of the
matrix instruction (f16, bf16, tf32, s8, u8); `acc` is the type that it adds in, `c` the type of C in memory.

By hand: of a product of 64x32 and 32x128 where B lies transposed, B takes 128 rows of 32 elements.

>>> problem = Problem.of(64, 128, 32, "f16", trans_b=True)
>>> problem.acc, problem.c, [str(matrix) for matrix in problem.matrices]
('f32', 'f32', ['A is 64x32 f16', 'B is 128x32 f16', 'C is 64x128 f32'])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Unpack

from layoutalg.core.errors import PlanError, VerificationError
from layoutalg.core.messages import shown
from layoutalg.gemm.edges import edges
from layoutalg.gemm.gated import check_gated
from layoutalg.gemm.grouped import check_grouped
from layoutalg.gemm.matrix_in_memory import check_pitch
from layoutalg.gemm.options import GpuProductOptions
from layoutalg.gemm.product import Product, checked_fields, element_named, with_fractions
from layoutalg.hardware import Dpas, SurfaceLimits, dpas, target_info
from layoutalg.hardware.chip_names import chip_name

__all__ = ["RESULTS", "TYPES", "Problem", "check_epilogue"]

TYPES = ("f16", "bf16", "tf32", "s8", "u8")
"""The types of A and B that products are planned for."""
RESULTS = {
    "f32": ("f32", "f16", "bf16"),
    "f16": ("f16", "f32"),
    "bf16": ("bf16", "f32"),
    "s32": ("s32", "f32", "f16", "bf16"),
}
"""The types that C may have in memory, for each type of accumulators; the first is the default."""

ALIGNMENT = SurfaceLimits().base_alignment
"""Alignment of a matrix's address, in bytes."""


@dataclass(frozen=True)
class Problem(Product):
    """A product to be planned; sizes and leading dimensions in elements. `Problem.of` fills in what is not given.

    Raises `PlanError`: as `Problem.of`, and for an epilogue whose inputs the other fields don't say.

    >>> Problem.of(40, 80, 160, "s8").acc
    's32'
    """

    @classmethod
    def of(
        cls,
        m: int,
        n: int,
        k: int,
        a: str = "f16",
        b: str | None = None,
        c: str | None = None,
        target: str = "pvc",
        **options: Unpack[GpuProductOptions],
    ) -> Problem:
        """A product, checked. B has A's type unless given; the accumulators are f32 or s32, and C has their type.

        Raises:
            PlanError: for types, targets, sizes and epilogues that are not planned, and for rows that overlap; says what
                would fit.

        >>> Problem.of(64, 64, 64, "f64")
        Traceback (most recent call last):
        layoutalg.core.errors.PlanError: a = 'f64': products are planned for A and B of f16, bf16, tf32, s8, u8
        """
        a = element_named("a", a, TYPES)
        b = a if b is None else element_named("b", b, TYPES)
        target_info(target, dpas=True)
        acc = options.get("acc")
        acc = ("s32" if a[0] in "su" else "f32") if acc is None else element_named("acc", acc, tuple(RESULTS))
        c = RESULTS[acc][0] if c is None else c
        return cls(a=a, b=b, c=c, target=target, **checked_fields(m, n, k, {**options, "acc": acc}))

    def __post_init__(self) -> None:
        """Check all fields, however the problem was made."""
        types = {name: element_named(name, getattr(self, name), TYPES) for name in ("a", "b")}
        types["acc"] = element_named("acc", self.acc, tuple(RESULTS))
        target_info(self.target, dpas=True)
        try:
            dpas(types["a"], types["b"], types["acc"], target=self.target)
        except VerificationError as problem:
            raise PlanError(str(problem)) from None
        types["target"] = chip_name(self.target)
        types["c"] = element_named("c", self.c, ("f32", "f16", "bf16", "s32"))
        if types["c"] not in RESULTS[types["acc"]]:
            offer = ", ".join(RESULTS[types["acc"]])
            raise PlanError(f"c = {shown(self.c)}: accumulators of {types['acc']} are stored as {offer}")
        for name, value in (checked_fields(self.m, self.n, self.k, vars(self)) | types).items():
            object.__setattr__(self, name, value)
        check_epilogue(self)
        if self.gated:
            check_gated(self)
        if self.groups:
            check_grouped(self)
        if target_info(self.target).surface is not None:
            for matrix in self.matrices:
                check_pitch(matrix)

    @cached_property
    def dpas(self) -> Dpas:
        """The matrix instruction, with 8 rows.

        >>> Problem.of(64, 64, 64, "s8", "u8").dpas.builtin
        'intel_sub_group_i8_u8_matrix_mad_k32'
        """
        return dpas(self.a, self.b, self.acc, target=self.target, m=8)

    @property
    def strides(self) -> tuple[int, int, int]:
        """Elements from one matrix of a batch to the next, for A, B and C: they follow each other without a gap.

        >>> Problem.of(1, 64, 72, "tf32", batch=3, ldb=80).strides
        (72, 5760, 64)
        """
        of_a, of_b, of_c = (matrix.rows * matrix.pitch for matrix in self.matrices)
        return of_a, of_b, of_c

    @cached_property
    def edges(self) -> Mapping[str, str]:
        """The matrices that no 2D block message reaches, by name: why, and what would fit. Lanes move their elements.

        >>> list(Problem.of(64, 64, 50).edges), list(Problem.of(64, 64, 64).edges)
        (['A'], [])
        """
        return edges(self)

    @property
    def alignments(self) -> tuple[int, int, int]:
        """At a multiple of how many bytes A, B and C must begin: of 64 for block messages, of an element for lanes.

        >>> Problem.of(64, 64, 50).alignments
        (2, 64, 64)
        """
        of_a, of_b, of_c = (one.element_bytes if one.name in self.edges else ALIGNMENT for one in self.matrices)
        return of_a, of_b, of_c


def check_epilogue(problem: Problem) -> None:
    """Refuse arithmetic that integers can't do.

    Raises `PlanError`: C is s32 and the epilogue needs fractions; says what would fit.

    >>> Problem.of(64, 64, 64, "s8", alpha=0.5)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: c = 's32' with alpha = 0.5: s32 is stored as the sum of integers, alpha = 1, beta = 0 or \
1, no scale, activation None or relu; c = 'f32', 'f16' or 'bf16' takes the others
    """
    if problem.c == "s32" and (wrong := with_fractions(problem)):
        raise PlanError(
            f"c = 's32' with {' and '.join(wrong)}: s32 is stored as the sum of integers, alpha = 1, beta = 0 or 1, "
            "no scale, activation None or relu; c = 'f32', 'f16' or 'bf16' takes the others"
        )
