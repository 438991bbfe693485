"""What is asked of AMX: C = activation(alpha * scale * A B + beta * C + bias), with types, storage and chip.

A is m x k, B is k x n and C is m x n, row-major; `trans_a` says that A lies in memory as k x m, `trans_b` that B lies there as
n x k. The names are those of the XeGPU planner's `Problem`. A and B are bf16 or f16 (both the same), or bytes, signed or not.
The tile unit adds in f32 or s32; `c` is the type of C in memory, and of s32 it may be s8 or u8: each number is scaled, rounded
to the nearest integer and clamped.

Weights of 8 bits come in two ways. B of bytes with A of bytes is multiplied as it is, and `scale` ("row", "column" or "both")
makes numbers of the sums: rows have the scales of the activations, columns those of the weights. B of bytes with A of bf16 or
f16 becomes A's type when it is packed, exactly: no byte has more digits than a bf16, which has 8.

>>> print(AmxProblem.of(64, 96, 32, "s8", c="bf16", scale="both"))
C[64, 96] bf16 = scale[row] * scale[column] * A[64, 32] s8 * B[32, 96] s8 on amx
>>> AmxProblem.of(64, 96, 32, "bf16", "s8", scale="column").acc
'f32'

By hand: the bytes of a product of 64x32 and 32x128, where B lies transposed, are added in s32, and B takes 128 rows of 32
bytes.

>>> problem = AmxProblem.of(64, 128, 32, "s8", "u8", trans_b=True)
>>> problem.acc, problem.c, [str(matrix) for matrix in problem.matrices]
('s32', 's32', ['A is 64x32 i8', 'B is 128x32 i8', 'C is 64x128 i32'])
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Unpack

from layoutalg.amx import vnni_factor
from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_flag, one_of
from layoutalg.core.whole_numbers import whole_number as whole
from layoutalg.gemm.options import AmxProductOptions
from layoutalg.gemm.product import Product, checked_fields, element_named, mlir_type, with_fractions
from layoutalg.hardware.amx_chips import AMX_TARGETS as TARGETS
from layoutalg.hardware.chip_names import chip_name

__all__ = ["RESULTS", "TARGETS", "TYPES", "AmxProblem"]

TYPES = ("bf16", "f16", "s8", "u8")
"""The types of A and B."""
RESULTS = {"f32": ("f32", "bf16", "f16"), "s32": ("s32", "f32", "s8", "u8", "bf16", "f16")}
"""The types that C may have in memory, for each type of the accumulators; the first is the default."""
_BYTES = ("s8", "u8")


@dataclass(frozen=True)
class AmxProblem(Product):
    """A product to be planned for AMX; sizes and leading dimensions in elements. `AmxProblem.of` fills in what is not given.

    With `dynamic_m` the number of rows of A and C is an argument of the code, from 1 to m.

    >>> AmxProblem.of(40, 80, 160, "u8").acc
    's32'
    """

    dynamic_m: bool = False
    aligned: bool = False
    """Whether A begins at a multiple of 64 bytes: then rows of its tiles lie on cache lines where its pitch is one too."""

    @classmethod
    def of(
        cls,
        m: int,
        n: int,
        k: int,
        a: str = "bf16",
        b: str | None = None,
        c: str | None = None,
        target: str = "amx",
        **options: Unpack[AmxProductOptions],
    ) -> AmxProblem:
        """A product, checked. B has A's type unless given, and C that of the accumulators.

        `bias` and `scale` name what has one number for each: every row of C, or every column; scales may be of both.

        Raises:
            PlanError: for types, targets, sizes and epilogues that are not planned; says what would fit.

        >>> AmxProblem.of(64, 64, 64, "bf16", "f16")
        Traceback (most recent call last):
        layoutalg.core.errors.PlanError: A is bf16 and B is f16: B has A's type, or is s8 or u8
        """
        a = element_named("a", a, TYPES)
        acc = "s32" if a in _BYTES else "f32"
        fields = checked_fields(m, n, k, options)
        return cls(a=a, b=a if b is None else b, c=acc if c is None else c, acc=acc, target=target, **fields)

    def __post_init__(self) -> None:
        a, b = element_named("a", self.a, TYPES), element_named("b", self.b, TYPES)
        if a != b and b not in _BYTES:
            raise PlanError(f"A is {a} and B is {b}: B has A's type, or is s8 or u8")
        acc = "s32" if a in _BYTES else "f32"
        if not isinstance(self.acc, str) or self.acc != acc:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise PlanError(f"acc = {shown(self.acc)}: products of {a} are added in {acc}")
        c = element_named("c", self.c, ("f32", "bf16", "f16", "s32", "s8", "u8"))
        if c not in RESULTS[acc]:
            raise PlanError(f"c = {shown(c)}: accumulators of {acc} are stored as {', '.join(RESULTS[acc])}")
        target = one_of(chip_name(self.target), TARGETS, "target", PlanError)
        if a == "f16" and target == "spr":
            raise PlanError(
                "target 'spr' with f16: Sapphire Rapids has no amx-fp16; bf16 is planned, and f16 for 'gnr'"
            )
        checked = checked_fields(self.m, self.n, self.k, vars(self)) | {"a": a, "b": b, "c": c, "target": target}
        for name in ("epilogue", "gated", "halves", "groups"):
            if given := checked[name]:
                raise PlanError(
                    f"{name} = {shown(given)}: planned for GPUs; AMX has alpha, beta, bias, scale, activation"
                )
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        for matrix in self.matrices:
            if matrix.pitch < matrix.columns:
                raise PlanError(
                    f"{matrix}: a row has {matrix.columns} elements, so the leading dimension is {matrix.columns} at least"
                )
        self._check_integers()
        object.__setattr__(self, "dynamic_m", as_flag(self.dynamic_m, "dynamic_m", PlanError))
        object.__setattr__(self, "aligned", as_flag(self.aligned, "aligned", PlanError))
        if self.dynamic_m and self.trans_a:
            raise PlanError("dynamic_m with trans_a: a row of a transposed A has m elements, so m must be fixed")
        if self.dynamic_m and self.batch > 1:
            raise PlanError(
                f"dynamic_m with batch = {self.batch}: where the second product begins depends on m, so m must be fixed"
            )

    @property
    def chip(self) -> str:
        """The chip whose figures are used: for `amx` the oldest one that has the types.

        >>> AmxProblem.of(64, 64, 64, "bf16").chip, AmxProblem.of(64, 64, 64, "f16").chip
        ('spr', 'gnr')
        """
        return ("gnr" if self.a == "f16" else "spr") if self.target == "amx" else self.target

    @property
    def on_lines(self) -> bool:
        """Whether the rows of a tile of A as it lies are each on one cache line.

        >>> AmxProblem.of(64, 64, 64, aligned=True).on_lines, AmxProblem.of(64, 64, 60, aligned=True).on_lines
        (True, False)
        """
        return self.aligned and self.lda * self.element_bytes % 64 == 0

    @property
    def widens_b(self) -> bool:
        """Whether B lies in memory as bytes and becomes A's type when it is packed.

        >>> AmxProblem.of(64, 64, 64, "bf16", "u8").widens_b, AmxProblem.of(64, 64, 64, "s8", "u8").widens_b
        (True, False)
        """
        return self.b in _BYTES and self.a not in _BYTES

    @property
    def element_bytes(self) -> int:
        """Bytes of an element of A, and of B as tiles have it.

        >>> AmxProblem.of(64, 64, 64, "bf16").element_bytes
        2
        """
        return 4 // self.vnni

    @property
    def vnni(self) -> int:
        """How many elements along k share a word of 4 bytes.

        >>> AmxProblem.of(64, 64, 64, "u8").vnni
        4
        """
        return vnni_factor(mlir_type(self.a))

    @property
    def depth(self) -> int:
        """How deep a whole tile is: elements of k in 64 bytes.

        >>> AmxProblem.of(64, 64, 64, "bf16").depth, AmxProblem.of(64, 64, 64, "s8").depth
        (32, 64)
        """
        return 16 * self.vnni

    @property
    def one(self) -> AmxProblem:
        """One product of the batch.

        >>> print(AmxProblem.of(64, 96, 32, batch=3).one)
        C[64, 96] f32 = A[64, 32] bf16 * B[32, 96] bf16 on amx
        """
        return replace(self, batch=1)

    def with_rows(self, rows: int) -> AmxProblem:
        """What one call of code with `dynamic_m` computes: the problem with so many rows, from 1 to m.

        Raises `PlanError`: for more rows, and for another number than m where that is fixed.

        >>> AmxProblem.of(64, 96, 32, dynamic_m=True).with_rows(3).m
        3
        """
        rows = whole(rows, "rows =", 1, self.m, PlanError)
        if not self.dynamic_m and rows != self.m:
            raise PlanError(f"rows = {rows}: planned for {self.m}; with dynamic_m the code takes fewer rows too")
        return replace(self, m=rows, dynamic_m=False)

    @property
    def k_padded(self) -> int:
        """K with the zeros that fill its last word.

        >>> AmxProblem.of(13, 10, 33, "s8").k_padded
        36
        """
        return -(-self.k // self.vnni) * self.vnni

    @property
    def bias_type(self) -> str:
        """The type of the bias: C's, but f32 where C is of bytes.

        >>> AmxProblem.of(64, 64, 64, "s8", c="s8", bias="column").bias_type
        'f32'
        """
        return "f32" if self.c in _BYTES else self.c

    @property
    def vectors(self) -> tuple[tuple[str, str, str], ...]:
        """The bias and the scales that there are, in the order of the code's arguments: names, "row" or "column", types.

        >>> for scale in ("row", "both"):
        ...     print(AmxProblem.of(64, 64, 64, "s8", c="f32", scale=scale, bias="column").vectors)
        (('bias', 'column', 'f32'), ('scale', 'row', 'f32'))
        (('bias', 'column', 'f32'), ('row_scale', 'row', 'f32'), ('column_scale', 'column', 'f32'))
        """
        bias = () if self.bias is None else (("bias", self.bias, self.bias_type),)
        sides = self.scaled
        return (*bias, *((f"{side}_scale" if len(sides) > 1 else "scale", side, "f32") for side in sides))

    @property
    def direct(self) -> bool:
        """Whether tiles are stored to C as they are: nothing is computed behind the sums, nothing rounded, and C has all rows.

        >>> AmxProblem.of(64, 64, 64).direct, AmxProblem.of(64, 64, 64, c="bf16").direct
        (True, False)
        """
        computes = self.alpha != 1 or self.beta or self.bias or self.scale or self.activation
        return self.c == self.acc and not computes and not self.dynamic_m

    def _check_integers(self) -> None:
        """Refuse an epilogue with fractions where C holds the sums themselves."""
        if self.c != "s32":
            return
        if wrong := with_fractions(self):
            raise PlanError(
                f"c = 's32' with {' and '.join(wrong)}: s32 is stored as the sum of integers, alpha = 1, beta = 0 or 1, "
                "no scale, activation None or relu; c = 'f32', 's8' or 'u8' takes the others"
            )

    def __str__(self) -> str:
        """The problem in a line.

        >>> print(AmxProblem.of(64, 96, 32, "s8", c="u8", trans_b=True, scale="column", bias="column", activation="relu"))
        C[64, 96] u8 = relu(scale[column] * A[64, 32] s8 * B[96, 32]^T s8 + bias[column]) on amx
        """
        written = self.written()
        return written.replace("C[", "C[up to ", 1).replace("A[", "A[up to ", 1) if self.dynamic_m else written
