"""What every matrix product has, for GPUs and for AMX: sizes, types, storage, and what is computed behind the sums.

C = activation(alpha * scale * A B + beta * C + bias), row-major. A is m x k (in memory k x m with `trans_a`), B is k x n (n x k
with `trans_b`). Which types and targets there are is said by `Problem` and `AmxProblem`.

>>> from layoutalg.gemm.problem import Problem
>>> product: Product = Problem.of(64, 128, 64, "s8", c="f32", trans_b=True, alpha=0.5)
>>> [str(matrix) for matrix in product.matrices], with_fractions(product)
(['A is 64x64 i8', 'B is 128x64 i8', 'C is 64x128 f32'], ['alpha = 0.5'])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import as_flag, one_of
from layoutalg.core.whole_numbers import whole_number as whole
from layoutalg.gemm.expressions import inputs_of, planned, read_epilogue
from layoutalg.gemm.matrix_in_memory import Matrix, whole_number
from layoutalg.gemm.options import ACTIVATIONS, BIASES, GATES, MOST_GROUPS, SCALES

__all__ = ["MOST_ALONG_Z", "Product", "checked_fields", "element_named", "fuses_scale", "mlir_type", "with_fractions"]

_MLIR_TYPES = {"tf32": "f32", "s8": "i8", "u8": "i8", "s32": "i32"}
_SPELLINGS = {"i8": "s8", "ui8": "u8", "si8": "s8", "i32": "s32", "si32": "s32"}
MOST_ALONG_Z = 65535
"""Workgroups along z of a grid: matrices of a batch, parts of k, heads."""
_LARGEST_F32 = (2 - 2**-23) * 2.0**127


def mlir_type(element: str) -> str:
    """The MLIR type of an element in memory, where the matrix instruction may have another name for it."""
    return _MLIR_TYPES.get(element, element)


@dataclass(frozen=True)
class Product:
    """A product to be planned; sizes and leading dimensions in elements.

    `alpha` is the factor of the sums, `beta` that of C before (which isn't read where it is 0). `bias` says what has a number
    that is added: a row, a column, or nothing; `scale` what has one (f32) that sums are multiplied by: also both, or nothing.
    `activation` is relu, gelu, silu, or nothing. `epilogue` is an expression that says what C is instead of all these; bias,
    scale and beta (1 for a residual) say then what it reads. With `gated` it has two products (`layoutalg.gemm.gated`), whose
    loop has the two `halves` of B's columns apart; with `groups` the rows belong to so many groups (`layoutalg.gemm.grouped`).

    >>> Product(8, 16, 32, "f16", "f16", "f32", "f32", "pvc", lda=32, ldb=16, ldc=16).batch
    1
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
    scale: str | None = None
    activation: str | None = None
    epilogue: str | None = None
    gated: bool = False
    halves: bool = False
    groups: int = 0

    @property
    def matrices(self) -> tuple[Matrix, Matrix, Matrix]:
        """A, B and C as they lie in memory; elements are MLIR's types.

        >>> from layoutalg.gemm import Problem
        >>> [str(matrix) for matrix in Problem.of(40, 80, 48, "tf32", trans_a=True).matrices]
        ['A is 48x40 f32', 'B is 48x80 f32', 'C is 40x80 f32']
        """
        of_a = (self.k, self.m) if self.trans_a else (self.m, self.k)
        wide = self.n * (2 if self.gated else 1)
        of_b = (wide, self.k) if self.trans_b else (self.k, wide)
        return (
            Matrix("A", *of_a, self.lda, mlir_type(self.a)),
            Matrix("B", *of_b, self.ldb, mlir_type(self.b)),
            Matrix("C", self.m, self.n, self.ldc, mlir_type(self.c)),
        )

    @property
    def flops(self) -> int:
        """Multiplications and additions of the products.

        >>> from layoutalg.gemm import Problem
        >>> Problem.of(64, 64, 64).flops
        524288
        """
        return 2 * self.m * self.n * self.k * self.batch * (2 if self.gated else 1)

    def count(self, side: str) -> int:
        """How many numbers a bias has (or scales have), one for every "row" or every "column" of C, of each group.

        >>> from layoutalg.gemm import Problem
        >>> Problem.of(64, 96, 32).count("column")
        96
        """
        return self.m if one_of(side, BIASES, "side", PlanError) == "row" else self.n * max(1, self.groups)

    @property
    def scaled(self) -> tuple[str, ...]:
        """What has a number that sums are multiplied by, in the order of the multiplications.

        >>> from layoutalg.gemm import Problem
        >>> Problem.of(64, 96, 32, scale="both").scaled
        ('row', 'column')
        """
        return {None: (), "both": BIASES}.get(self.scale, (str(self.scale),))

    def written(self) -> str:
        """The problem in a line.

        >>> from layoutalg.gemm import Problem
        >>> print(Problem.of(64, 96, 32, trans_b=True, batch=4, alpha=0.5, bias="column", activation="relu").written())
        4 x C[64, 96] f32 = relu(0.5 A[64, 32] f16 * B[96, 32]^T f16 + bias[column]) on pvc
        """
        of_a = f"A[{self.k}, {self.m}]^T" if self.trans_a else f"A[{self.m}, {self.k}]"
        wide, each = self.n * (2 if self.gated else 1), f"{self.groups}, " if self.groups else ""
        of_b = f"B[{each}{wide}, {self.k}]^T" if self.trans_b else f"B[{each}{self.k}, {wide}]"
        scales = "".join(f"scale[{side}] * " for side in self.scaled)
        many = f"{self.batch} x " if self.batch > 1 else ""
        if self.epilogue is not None:
            names = "acc, acc2" if self.gated else "acc"
            right = f"{self.epilogue} with {names} = {of_a} {self.a} * {of_b} {self.b}"
            return f"{many}C[{self.m}, {self.n}] {self.c} = {right} on {self.target}"
        right = f"{scales}{of_a} {self.a} * {of_b} {self.b}"
        if self.alpha != 1:
            right = f"{self.alpha:g} {right}"
        if self.beta:
            right += f" + {'' if self.beta == 1 else f'{self.beta:g} '}C"
        if self.bias:
            right += f" + bias[{self.bias}]"
        if self.activation:
            right = f"{self.activation}({right})"
        return f"{many}C[{self.m}, {self.n}] {self.c} = {right} on {self.target}"

    def __str__(self) -> str:
        return self.written()


def checked_fields(m: object, n: object, k: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a product with what its types don't decide: `given`, checked and with its leading dimensions filled in.

    Raises `PlanError`: for a size, a factor or a name that no product has.
    """
    trans_a, trans_b = (as_flag(given.get(name, False), name, PlanError) for name in ("trans_a", "trans_b"))
    m, n, k = whole_number("m", m), whole_number("n", n), whole_number("k", k)
    again = "halves" in given  # the fields of a product
    behind = _as_said(given) if again else _behind(given)
    wide = 2 * n if behind.get("gated") else n
    pitches = {"lda": m if trans_a else k, "ldb": k if trans_b else wide, "ldc": n}
    checked: dict[str, Any] = {"m": m, "n": n, "k": k}
    for name, least in pitches.items():
        pitch = given.get(name)
        checked[name] = least if pitch is None else whole_number(name, pitch)
    checked |= {"trans_a": trans_a, "trans_b": trans_b}
    if "batch" in given:
        checked["batch"] = whole_number("batch", given["batch"], MOST_ALONG_Z)
    checked |= {name: _factor(name, given[name]) for name in ("alpha", "beta") if name in given}
    for name, names in (("bias", BIASES), ("scale", SCALES), ("activation", ACTIVATIONS)):
        if given.get(name) is not None:
            checked[name] = one_of(given[name], names, name, PlanError)
    if not again:
        groups = given.get("groups")
        checked["groups"] = 0 if groups is None else whole_number("groups", groups, MOST_GROUPS)
    return {**given, **checked, **behind}


def _behind(given: Mapping[str, Any]) -> dict[str, Any]:
    """An expression, or the one that `gated` is short for, and the fields that say what it reads."""
    text, gate = given.get("epilogue"), given.get("gated")
    if gate is not None:
        one_of(gate, GATES, "gated", PlanError)
        if text is not None:
            raise PlanError(f"gated = {shown(gate)} with an epilogue: write {gate}(acc) * acc2 in it")
        text = f"{gate}(acc) * acc2"
    return {"gated": False} if text is None else _of_epilogue(text, given)


def _as_said(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a product behind its sums, where each is there already: an epilogue reads what they say."""
    flags = {name: as_flag(given[name], name, PlanError) for name in ("gated", "halves")}
    groups = whole(given["groups"], "groups =", 0, MOST_GROUPS, PlanError)
    if given["epilogue"] is not None:
        read = _of_epilogue(given["epilogue"], {name: given[name] for name in ("alpha", "activation")})
        for name, value in read.items():
            if given[name] != value:
                raise PlanError(
                    f"{name} = {shown(given[name])} with epilogue = {shown(given['epilogue'])}: expected {value!r}"
                )
    elif flags["gated"]:
        raise PlanError("gated = True without an epilogue: it says what is made of both products")
    return {**flags, "groups": groups}


def _of_epilogue(text: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """An expression as it is printed, and the fields that say what it reads."""
    for name, plain in (("alpha", 1), ("beta", 0), ("bias", None), ("scale", None), ("activation", None)):
        if given.get(name, plain) != plain:
            how = f"write {given[name]}_{name}" if name == "bias" or given[name] in BIASES else "write it there"
            raise PlanError(f"{name} = {shown(given[name])} with an epilogue: the expression says all of it; {how}")
    read = read_epilogue(text)
    planned(str(read))  # refuses numbers that are not finite
    found = inputs_of(read)
    sides = {name: [side for side in BIASES if f"{side}_{name}" in found] for name in ("bias", "scale")}
    return {
        "epilogue": str(read),
        "gated": "acc2" in found,
        "beta": 1.0 if "residual" in found else 0.0,
        **{name: "both" if len(of) == 2 else of[0] if of else None for name, of in sides.items()},
    }


def _factor(name: str, value: object) -> float:
    """A factor of the epilogue, which computes in f32."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -inf < value < inf:
        raise PlanError(f"{name} = {shown(value)}: expected a finite number")
    if abs(value) > _LARGEST_F32:
        raise PlanError(
            f"{name} = {shown(value)}: the epilogue computes in f32, whose largest number is {_LARGEST_F32:.8g}"
        )
    return float(value)


def fuses_scale(product: Product) -> bool:
    """Whether the last scale and the addition behind it are one fma on GPUs: compilers there may join a product and a sum.

    >>> from layoutalg.gemm import Problem
    >>> fuses_scale(Problem.of(64, 96, 32, scale="row", bias="row")), fuses_scale(Problem.of(64, 96, 32, scale="row"))
    (True, False)
    """
    if product.epilogue is not None:
        return False
    return product.scale is not None and product.alpha == 1 and (product.bias is not None or product.beta == 1)


def with_fractions(product: Product) -> list[str]:
    """The parts of an epilogue that give integer sums a fraction, such as "alpha = 0.5"."""
    parts = (
        ("alpha", product.alpha, product.alpha == 1),
        ("beta", product.beta, product.beta in (0, 1)),
        ("scale", product.scale, product.scale is None),
        ("activation", product.activation, product.activation in (None, "relu")),
        ("epilogue", product.epilogue, product.epilogue is None),
    )
    return [f"{name} = {value!r}" for name, value, stays_whole in parts if not stays_whole]


def element_named(name: str, value: object, known: tuple[str, ...]) -> str:
    """A type that somebody passed for `a`, `b`, `acc` or `c`, as the matrix instructions name it.

    Raises `PlanError`: the type is not supported.

    >>> element_named("a", "i8", ("f16", "s8"))
    's8'
    """
    if not isinstance(value, str):
        raise PlanError(f"{name} is of type {type(value).__name__}: expected a name, such as 'f16'")
    found = _SPELLINGS.get(value, value)
    if found not in known:
        what = {"a": "A and B", "b": "A and B", "acc": "accumulators", "c": "C"}[name]
        raise PlanError(f"{name} = {shown(value)}: products are planned for {what} of {', '.join(known)}")
    return found
