"""What is asked: a product whose B is quantised weights, C = activation(alpha * scale * A W + beta * C + bias).

A is m x k in f16 or bf16, W is k x n: (q - z) * s, with whole numbers q of 4 or 8 bits (`u4`, `u8`), a scale s for every group
of neighbouring k and column, and a zero point z alike or in the middle; or q * s, with floats of 8 bits
(`layoutalg.gemm.weights.float8`). `product` is the same product with W in A's type: its
sizes, its A and C in memory, and what is computed behind the sums are those of any product.

By hand: of 4 bits, 128 x 64 weights with groups of 32 are 16 x 64 words and 4 x 64 scales.

>>> problem = WeightsProblem.of(8, 64, 128, group=32)
>>> print(problem)
C[8, 64] f32 = A[8, 128] f16 * W[128, 64] u4 in groups of 32 on pvc
>>> print(problem.words); print(problem.scales)
B is 16x64 i32
group_scales is 4x64 f32
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Unpack

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_flag, one_of
from layoutalg.gemm.matrix_in_memory import Matrix, check_matrix
from layoutalg.gemm.options import GpuEpilogueOptions, check_names
from layoutalg.gemm.problem import ALIGNMENT, Problem
from layoutalg.gemm.weights.float8 import FLOATS
from layoutalg.gemm.weights.quantised import STEPS, checked_group
from layoutalg.hardware import Dpas, target_info

__all__ = ["WeightsProblem"]

_BITS = {"u4": 4, "u8": 8} | dict.fromkeys(FLOATS, 8)
_ACTIVATIONS_OF = ("f16", "bf16")


@dataclass(frozen=True)
class WeightsProblem:
    """A product with quantised weights to be planned. `WeightsProblem.of` checks it and fills in what is not given.

    >>> WeightsProblem.of(8, 64, 128, "bf16").bits
    4
    """

    product: Problem
    b: str = "u4"
    group: int = 128
    zeros: bool = False

    @classmethod
    def of(
        cls,
        m: int,
        n: int,
        k: int,
        a: str = "f16",
        b: str = "u4",
        c: str | None = None,
        target: str = "pvc",
        *,
        group: int = 128,
        zeros: bool = False,
        batch: int = 1,
        **options: Unpack[GpuEpilogueOptions],
    ) -> WeightsProblem:
        """A product, checked.

        Raises:
            PlanError: for types, targets, sizes and epilogues that are not planned; says what would fit.

        >>> WeightsProblem.of(8, 64, 100)
        Traceback (most recent call last):
        layoutalg.core.errors.PlanError: k = 100 with groups of 128: k is a multiple of the group; 128 would fit
        """
        check_names("WeightsProblem.of", options, GpuEpilogueOptions)
        one_of(a, _ACTIVATIONS_OF, "a", PlanError)
        one_of(b, tuple(_BITS), "b", PlanError)
        group, zeros = checked_group(group), as_flag(zeros, "zeros", PlanError)
        if b in FLOATS and zeros:
            raise PlanError(f"zeros = True with b = {shown(b)}: floats have no zero points; leave it out")
        product = Problem.of(m, n, k, a, a, c, target, batch=batch, **options)
        if product.gated:
            raise PlanError("epilogue with acc2: gated pairs are planned for weights that are not quantised")
        if target_info(product.target).surface is None:
            raise PlanError(f"target {shown(target)} has no 2D block messages, which bring the words of the weights")
        if product.k % group:
            fitting = -(-product.k // group) * group
            raise PlanError(
                f"k = {product.k} with groups of {group}: k is a multiple of the group; {fitting} would fit"
            )
        if product.n < 16 or product.n % 4:
            fitting = max(16, -(-product.n // 4) * 4)
            raise PlanError(
                f"n = {product.n}: rows of words are 64 bytes at least and a multiple of 16, so n is 16, 20, 24, ... "
                "(32, 40, 48, ... for C of 16 bits, whose rows have such bytes too); "
                f"{fitting} would fit"
            )
        made = cls(product, b, group, zeros)
        for matrix in (product.matrices[0], made.words, product.matrices[2]):
            check_matrix(matrix)
        made._check_batch()
        return made

    def _check_batch(self) -> None:
        """Refuse a batch whose second matrices begin where no block message can.

        Raises `PlanError`: says which, and what would fit.
        """
        product, (of_a, _, of_c) = self.product, self.product.matrices
        if product.batch == 1:
            return
        for matrix in (of_a, of_c, self.scales):
            if not (apart := matrix.rows * matrix.pitch_bytes) % ALIGNMENT:
                continue
            multiple = ALIGNMENT // matrix.element_bytes
            fitting = -(-matrix.pitch // multiple) * multiple
            name = {"A": "a leading dimension lda", "C": "a leading dimension ldc"}.get(matrix.name, "n")
            raise PlanError(
                f"batch = {product.batch}: {matrix}, and each begins {apart} bytes behind the one before, which is not a "
                f"multiple of {ALIGNMENT}, as a 2D block message needs; {name} = {fitting} would fit"
            )

    @property
    def of_one(self) -> WeightsProblem:
        """The problem of one matrix of the batch.

        >>> WeightsProblem.of(8, 64, 128, batch=3).of_one == WeightsProblem.of(8, 64, 128)
        True
        """
        return replace(self, product=replace(self.product, batch=1))

    @property
    def bits(self) -> int:
        """Bits of a weight.

        >>> WeightsProblem.of(8, 64, 128, b="u8").bits
        8
        """
        return _BITS[self.b]

    @property
    def floats(self) -> bool:
        """Whether weights are floats of 8 bits.

        >>> WeightsProblem.of(8, 64, 128, b="f8E4M3FN").floats
        True
        """
        return self.b in FLOATS

    @property
    def step(self) -> int:
        """Neighbours along k that a step of the loop multiplies: a group, or a part of a large one.

        >>> WeightsProblem.of(8, 64, 128, group=32).step, WeightsProblem.of(8, 64, 1024, group=512).step
        (32, 128)
        """
        return next(step for step in STEPS if self.group % step == 0)

    @property
    def numbers(self) -> dict[str, int]:
        """What the kernel is launched with behind its addresses, by name and in their order.

        >>> WeightsProblem.of(8, 64, 128).numbers
        {'m': 8, 'n': 64, 'k': 128, 'lda': 128, 'ldc': 64}
        """
        return {name: getattr(self.product, name) for name in ("m", "n", "k", "lda", "ldc")} | self.strides

    @property
    def strides(self) -> dict[str, int]:
        """Elements (of words and scales: words and scales) from one matrix of a batch to the next; {} without a batch.

        >>> WeightsProblem.of(8, 64, 128, batch=2).strides
        {'stride_a': 1024, 'stride_b': 1024, 'stride_c': 512, 'stride_groups': 64}
        """
        if self.product.batch == 1:
            return {}
        of_a, _, of_c = self.product.matrices
        held = {"a": of_a, "b": self.words, "c": of_c, "groups": self.scales}
        return {f"stride_{name}": matrix.rows * matrix.pitch for name, matrix in held.items()}

    @property
    def of_groups(self) -> tuple[str, ...]:
        """The arguments that have a number for every group and column.

        >>> WeightsProblem.of(8, 64, 128, zeros=True).of_groups
        ('group_scales', 'group_zeros')
        """
        return ("group_scales", "group_zeros") if self.zeros else ("group_scales",)

    @property
    def target(self) -> str:
        """The chip.

        >>> WeightsProblem.of(8, 64, 128, target="bmg").target
        'bmg'
        """
        return self.product.target

    @property
    def dpas(self) -> Dpas:
        """The matrix instruction, which multiplies in A's type.

        >>> WeightsProblem.of(8, 64, 128).dpas.builtin
        'intel_sub_group_f16_f16_matrix_mad_k16'
        """
        return self.product.dpas

    @property
    def words(self) -> Matrix:
        """The weights in memory, as words of neighbours along k (`QuantisedWeights.words`).

        >>> print(WeightsProblem.of(8, 64, 128, b="u8").words)
        B is 32x64 i32
        """
        n = self.product.n
        return Matrix("B", self.product.k * self.bits // 32, n, n, "i32")

    @property
    def scales(self) -> Matrix:
        """The scales in memory; zero points lie alike.

        >>> WeightsProblem.of(8, 64, 128).scales.rows
        1
        """
        n = self.product.n
        return Matrix("group_scales", self.product.k // self.group, n, n, "f32")

    @property
    def uniform(self) -> bool:
        """Whether all weights are made with one bias, a power of two (`layoutalg.gemm.weights.numerics`).

        >>> WeightsProblem.of(8, 64, 128).uniform, WeightsProblem.of(8, 64, 128, "bf16").uniform
        (False, True)
        """
        return (self.b == "u8") != (self.product.a == "bf16")

    @property
    def halves(self) -> bool:
        """Whether the halves of a byte are multiplied apart: all 8 bits don't fit into the fraction of a bf16.

        >>> WeightsProblem.of(8, 64, 128, "bf16", "u8").halves, WeightsProblem.of(8, 64, 128, "f16", "u8").halves
        (True, False)
        """
        return self.b == "u8" and self.product.a == "bf16"

    @property
    def bytes(self) -> int:
        """Bytes of A, the words, scales, zero points and C.

        >>> WeightsProblem.of(8, 64, 128).bytes
        8448
        """
        of_a, _, of_c = self.product.matrices
        groups = (2 if self.zeros else 1) * self.scales.rows * self.scales.columns
        each = sum(one.rows * one.columns * one.element_bytes for one in (of_a, of_c, self.words)) + 4 * groups
        return self.product.batch * each

    def __str__(self) -> str:
        product = self.product
        written = product.written()
        was = f"B[{product.k}, {product.n}] {product.b}"
        points = " and zero points" if self.zeros else ""
        made = f"W[{product.k}, {product.n}] {self.b}{points}"
        return written.replace(was, made).replace(
            f" on {product.target}", f" in groups of {self.group} on {product.target}"
        )
