"""What is asked: C = activation(alpha * A B + beta * C + bias), with types, storage and chip.

A is m x k, B is k x n and C is m x n. `trans_a` says that A lies in memory as k x m, `trans_b` that B lies there as n x k; all
are row-major, with a leading dimension (elements from one row in memory to the next). The types of A and B are those of the
matrix instruction (f16, bf16, tf32, s8, u8); `acc` is the type that it adds in, `c` the type of C in memory.

By hand: of a product of 64x32 and 32x128 where B lies transposed, B takes 128 rows of 32 elements.

>>> problem = Problem.of(64, 128, 32, "f16", trans_b=True)
>>> problem.acc, problem.c, [str(matrix) for matrix in problem.matrices]
('f32', 'f32', ['A is 64x32 f16', 'B is 128x32 f16', 'C is 64x128 f32'])
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd, inf
from typing import Protocol

from layoutalg.core.errors import PlanError, VerificationError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_flag, one_of
from layoutalg.gemm.matrix_in_memory import Matrix, check_matrix, whole_number
from layoutalg.hardware import Dpas, SurfaceLimits, dpas, target_info

__all__ = [
    "ACTIVATIONS",
    "BIASES",
    "IN_MEMORY",
    "RESULTS",
    "TYPES",
    "Epilogue",
    "Problem",
    "element_named",
    "finite_factor",
    "leading_dimension",
    "with_epilogue",
    "with_fractions",
]

TYPES = ("f16", "bf16", "tf32", "s8", "u8")
"""The types of A and B that products are planned for."""
RESULTS = {
    "f32": ("f32", "f16", "bf16"),
    "f16": ("f16", "f32"),
    "bf16": ("bf16", "f32"),
    "s32": ("s32", "f32"),
}
"""The types that C may have in memory, for each type of accumulators; the first is the default."""
IN_MEMORY = {"tf32": "f32", "s8": "i8", "u8": "i8", "s32": "i32"}
"""The MLIR type of an element in memory, where the matrix instruction has another name for it."""
ACTIVATIONS = ("relu", "gelu", "silu")
BIASES = ("row", "column")
"""A bias has one number for every row of C, or one for every column."""

ALIGNMENT = SurfaceLimits().base_alignment
"""Alignment of a matrix's address, in bytes."""
_SPELLINGS = {"i8": "s8", "ui8": "u8", "si8": "s8", "i32": "s32", "si32": "s32"}


class Epilogue(Protocol):
    """What is computed behind the sums, of any problem that has these parts.

    >>> epilogue: Epilogue = Problem.of(64, 64, 64, "s8", c="f32", alpha=0.5)
    >>> epilogue.alpha, epilogue.c
    (0.5, 'f32')
    """

    @property
    def alpha(self) -> float:
        """The factor of the sums."""
        ...

    @property
    def beta(self) -> float:
        """The factor of C before; 0 where it isn't read."""
        ...

    @property
    def bias(self) -> str | None:
        """What has a number that is added: a row, a column, or nothing."""
        ...

    @property
    def activation(self) -> str | None:
        """relu, gelu, silu, or nothing."""
        ...

    @property
    def c(self) -> str:
        """The type of C: f32, f16, bf16, s32, s8 or u8."""
        ...


@dataclass(frozen=True)
class Problem:
    """A product to be planned; sizes and leading dimensions in elements. `Problem.of` fills in what is not given.

    >>> Problem.of(40, 80, 160, "s8").acc
    's32'
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str
    acc: str
    target: str
    lda: int
    ldb: int
    ldc: int
    trans_a: bool = False
    trans_b: bool = False
    batch: int = 1
    alpha: float = 1.0
    beta: float = 0.0
    bias: str | None = None
    activation: str | None = None

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
        *,
        acc: str | None = None,
        trans_a: bool = False,
        trans_b: bool = False,
        batch: int = 1,
        alpha: float = 1.0,
        beta: float = 0.0,
        bias: str | None = None,
        activation: str | None = None,
        lda: int | None = None,
        ldb: int | None = None,
        ldc: int | None = None,
    ) -> Problem:
        """A product, checked. B has A's type unless given; the accumulators are f32 or s32, and C has their type.

        Raises:
            PlanError: for types, targets and sizes that are not planned, and for matrices that no message reaches; says what
                would fit.

        >>> Problem.of(64, 64, 64, "f64")
        Traceback (most recent call last):
        layoutalg.core.errors.PlanError: a = 'f64': products are planned for A and B of f16, bf16, tf32, s8, u8
        """
        a = element_named("a", a, TYPES)
        b = a if b is None else element_named("b", b, TYPES)
        target_info(target, dpas=True)
        default = "s32" if a[0] in "su" else "f32"
        acc = default if acc is None else element_named("acc", acc, tuple(RESULTS))
        try:
            dpas(a, b, acc, target=target)
        except VerificationError as problem:
            raise PlanError(str(problem)) from None
        c = RESULTS[acc][0] if c is None else element_named("c", c, ("f32", "f16", "bf16", "s32"))
        if c not in RESULTS[acc]:
            offer = ", ".join(RESULTS[acc])
            raise PlanError(f"c = {shown(c)}: accumulators of {acc} are stored as {offer}")
        trans_a, trans_b = as_flag(trans_a, "trans_a", PlanError), as_flag(trans_b, "trans_b", PlanError)
        m, n, k = whole_number("m", m), whole_number("n", n), whole_number("k", k)
        made = cls(
            m,
            n,
            k,
            a,
            b,
            c,
            acc,
            target,
            lda=leading_dimension("lda", lda, m if trans_a else k),
            ldb=leading_dimension("ldb", ldb, k if trans_b else n),
            ldc=leading_dimension("ldc", ldc, n),
            trans_a=trans_a,
            trans_b=trans_b,
            batch=whole_number("batch", batch, 65535),
            alpha=finite_factor("alpha", alpha),
            beta=finite_factor("beta", beta),
            bias=None if bias is None else one_of(bias, BIASES, "bias", PlanError),
            activation=None if activation is None else one_of(activation, ACTIVATIONS, "activation", PlanError),
        )
        if target_info(target).surface is not None:
            for matrix in made.matrices:
                check_matrix(matrix)
        return made

    @cached_property
    def dpas(self) -> Dpas:
        """The matrix instruction, with 8 rows.

        >>> Problem.of(64, 64, 64, "s8", "u8").dpas.builtin
        'intel_sub_group_i8_u8_matrix_mad_k32'
        """
        return dpas(self.a, self.b, self.acc, target=self.target, m=8)

    @property
    def matrices(self) -> tuple[Matrix, Matrix, Matrix]:
        """A, B and C as they lie in memory; elements are MLIR's types.

        >>> [str(matrix) for matrix in Problem.of(40, 80, 48, "tf32", trans_a=True).matrices]
        ['A is 48x40 f32', 'B is 48x80 f32', 'C is 40x80 f32']
        """
        of_a = (self.k, self.m) if self.trans_a else (self.m, self.k)
        of_b = (self.n, self.k) if self.trans_b else (self.k, self.n)
        a, b, c = (IN_MEMORY.get(name, name) for name in (self.a, self.b, self.c))
        return (
            Matrix("A", *of_a, self.lda, a),
            Matrix("B", *of_b, self.ldb, b),
            Matrix("C", self.m, self.n, self.ldc, c),
        )

    @property
    def strides(self) -> tuple[int, int, int]:
        """Elements from one matrix of a batch to the next, for A, B and C: whole rows.

        Each matrix begins at a multiple of 64 bytes, as block messages need it; up to three rows between them are padding.

        >>> Problem.of(64, 64, 64, batch=3, lda=72).strides
        (4608, 4096, 4096)
        """
        of_a, of_b, of_c = (
            _up(matrix.rows, ALIGNMENT // gcd(ALIGNMENT, matrix.pitch_bytes)) * matrix.pitch for matrix in self.matrices
        )
        return of_a, of_b, of_c

    @property
    def flops(self) -> int:
        """Multiplications and additions of the products.

        >>> Problem.of(64, 64, 64).flops
        524288
        """
        return 2 * self.m * self.n * self.k * self.batch

    def __str__(self) -> str:
        """The problem in a line.

        >>> print(Problem.of(64, 96, 32, trans_b=True, batch=4, alpha=0.5, bias="column", activation="relu"))
        4 x C[64, 96] f32 = relu(0.5 A[64, 32] f16 * B[96, 32]^T f16 + bias[column]) on pvc
        """
        of_a = f"A[{self.k}, {self.m}]^T" if self.trans_a else f"A[{self.m}, {self.k}]"
        of_b = f"B[{self.n}, {self.k}]^T" if self.trans_b else f"B[{self.k}, {self.n}]"
        right = f"{of_a} {self.a} * {of_b} {self.b}"
        right = with_epilogue(self, right)
        many = f"{self.batch} x " if self.batch > 1 else ""
        return f"{many}C[{self.m}, {self.n}] {self.c} = {right} on {self.target}"


def with_epilogue(epilogue: Epilogue, product: str) -> str:
    """A product as text, with what is computed behind its sums.

    >>> with_epilogue(Problem.of(64, 64, 64, alpha=0.5, beta=1, activation="relu"), "A * B")
    'relu(0.5 A * B + C)'
    """
    if epilogue.alpha != 1:
        product = f"{epilogue.alpha:g} {product}"
    if epilogue.beta:
        product += f" + {'' if epilogue.beta == 1 else f'{epilogue.beta:g} '}C"
    if epilogue.bias:
        product += f" + bias[{epilogue.bias}]"
    return f"{epilogue.activation}({product})" if epilogue.activation else product


def with_fractions(epilogue: Epilogue) -> list[str]:
    """The parts of an epilogue that give integer sums a fraction, such as "alpha = 0.5".

    >>> with_fractions(Problem.of(64, 64, 64, "s8", alpha=0.5, beta=1))
    ['alpha = 0.5']
    """
    parts = (
        ("alpha", epilogue.alpha, epilogue.alpha == 1),
        ("beta", epilogue.beta, epilogue.beta in (0, 1)),
        ("activation", epilogue.activation, epilogue.activation in (None, "relu")),
    )
    return [f"{name} = {value!r}" for name, value, stays_whole in parts if not stays_whole]


def element_named(name: str, value: object, known: tuple[str, ...]) -> str:
    """A type that somebody passed for `a`, `b`, `acc` or `c`, as the matrix instructions name it.

    Raises:
        PlanError: the type is not supported.

    >>> element_named("a", "i8", TYPES)
    's8'
    """
    if not isinstance(value, str):
        raise PlanError(f"{name} is of type {type(value).__name__}: expected a name, such as 'f16'")
    found = _SPELLINGS.get(value, value)
    if found not in known:
        what = {"a": "A and B", "b": "A and B", "acc": "accumulators", "c": "C"}[name]
        raise PlanError(f"{name} = {shown(value)}: products are planned for {what} of {', '.join(known)}")
    return found


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def leading_dimension(name: str, value: int | None, default: int) -> int:
    """The elements from one row in memory to the next: as given, or those of a row."""
    return default if value is None else whole_number(name, value)


def finite_factor(name: str, value: object) -> float:
    """A factor of the epilogue, which computes in f32.

    Raises:
        PlanError: not a number, or out of f32's range.

    >>> finite_factor("alpha", 2)
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -inf < value < inf:
        raise PlanError(f"{name} = {shown(value)}: expected a finite number")
    if abs(value) > 3.4028234e38:
        raise PlanError(f"{name} = {shown(value)}: the epilogue computes in f32, whose largest number is 3.4028234e38")
    return float(value)
