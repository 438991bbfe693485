"""Weights stored as floats of 8 bits: what a byte is, the arrays, and the operations that make f16 of them in registers.

f8E5M2 has the exponent of f16: a byte is the upper half of the f16 with its value, infinities and NaN too. f8E4M3FN (OCP
8-bit Floating Point Specification, 1.0) has 4 bits of exponent with a bias of 7, no infinities, and a NaN of each sign, 0x7f
and 0xff. Its exponent and fraction in their places of an f16, whose bias is 15, are the value times 2^-8, subnormals too; so
the scale of the group is taken 256 times. A word has two pairs of bytes, and a pair is made at once:

    E5M2    w & 0xff00ff00                          the upper pair; the lower one of w << 8
    E4M3    y = w >> 1 & 0x3f803f80 | w & 0x80008000
            y | y + 0x00800080 & 0x40004000         0x7f and 0xff become NaN: only there all 7 bits are ones, and the sum
                                                    carries into the top of the exponent

Beside bf16 the f16 become f32, whose upper halves are the bf16: a byte has 4 bits of its number at most, so nothing is rounded.
Subnormal f16 become normal numbers there (the compiler's kernels keep them: they set the bits 0x4c0 of cr0).

Nothing is added that would have to be taken away, as for whole numbers: there is no other product, A passes once, and an
infinite element of A gives what it should.

By hand, in E4M3: 0x38 is 1.0 (exponent 7, fraction 0). Its 7 bits at the places of f16 are 0x1c00, 2^(7 - 15) = 2^-8.

>>> weights = Float8Weights(np.array([[0x38], [0xC0]] * 16, np.uint8), np.ones((1, 1)))
>>> weights.numbers[:2, 0].tolist(), weights.sixteen[0, 0] * 256
([1.0, -2.0], np.float16(1.0))

The law: `sixteen` times `FACTORS` is the byte's number, exactly, for all 256 bytes of both types.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from layoutalg.core.elements import numpy_type
from layoutalg.core.errors import PlanError
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.whole_numbers import one_of
from layoutalg.gemm.weights.quantised import QuantisedWeights, checked_group, in_words, matrix, told_of

if TYPE_CHECKING:
    from layoutalg.conversion.lowering.writer import Value
    from layoutalg.gemm.emission.kernel import KernelWriter

__all__ = ["FACTORS", "FLOATS", "OPERATIONS", "TO_BF16", "Float8Weights", "expanded", "quantise_float8"]

FACTORS = {"f8E4M3FN": 256, "f8E5M2": 1}
"""What the f16 of a byte is multiplied by, for each type."""
FLOATS = tuple(FACTORS)
OPERATIONS = {"f8E4M3FN": 11, "f8E5M2": 3}
"""Instructions that make four f16 of a word: a shift, and for each pair those above (a `bfn` takes two of them)."""
TO_BF16 = 12
"""Instructions that make four bf16 of them: two moves for each (out of its word, to f32), a shift and a `bfn` for each pair."""


@dataclass(frozen=True, eq=False, repr=False)
class Float8Weights(NotebookAnswer):
    """A k x n matrix of bytes [k, n], floats of 8 bits, with `scales` [k / group, n] in f32.

    `values` are bytes, or an array of ml_dtypes' `float8_e4m3fn` or `float8_e5m2`. Raises `PlanError` for arrays that do not
    belong together, and for floats of another type.

    >>> Float8Weights(np.zeros((64, 16), np.uint8), np.ones((2, 16)), "f8E5M2").group
    32
    """

    values: NDArray[np.uint8]
    scales: NDArray[np.float32]
    element: str = "f8E4M3FN"
    group: int = field(init=False)
    """Neighbours along k that share a scale."""

    def __post_init__(self) -> None:
        element = one_of(self.element, FLOATS, "element", PlanError)
        values: Any = self.values
        if getattr(values, "dtype", None) == numpy_type(element):
            values = values.view(np.uint8)
        values = matrix("values", values)
        if values.dtype.kind not in "biu":  # floats of another type may be whole numbers, and are not bytes
            raise PlanError(f"values: an array of {values.dtype}; expected bytes, or an array of {numpy_type(element)}")
        held = QuantisedWeights(values, self.scales, None, 8)
        for name in ("values", "scales", "group"):
            object.__setattr__(self, name, getattr(held, name))

    @property
    def shape(self) -> tuple[int, int]:
        """k and n.

        >>> quantise_float8(np.ones((64, 16)), group=32).shape
        (64, 16)
        """
        return self.values.shape[0], self.values.shape[1]

    @property
    def words(self) -> NDArray[np.uint32]:
        """The bytes as a kernel reads them, as `QuantisedWeights.words` of 8 bits: row-major [k / 4, n].

        >>> quantise_float8(np.ones((64, 16)), group=32).words.shape
        (16, 16)
        """
        return in_words(self.values, 8)

    @property
    def numbers(self) -> NDArray[np.float32]:
        """The numbers of the bytes, [k, n], without their scales.

        >>> quantise_float8(np.ones((32, 1)), group=32).numbers[0, 0]
        np.float32(448.0)
        """
        return self.values.view(numpy_type(self.element)).astype(np.float32)

    @property
    def sixteen(self) -> NDArray[np.float16]:
        """The numbers that the matrix instruction multiplies, here in f16: those of the bytes, divided by those of `FACTORS`.

        >>> Float8Weights(np.full((32, 1), 1, np.uint8), np.ones((1, 1))).sixteen[0, 0] == 2.0**-17
        np.True_
        """
        return (self.numbers / np.float32(FACTORS[self.element])).astype(np.float16)

    @property
    def dequantised(self) -> NDArray[np.float32]:
        """The weights that the product multiplies by, [k, n].

        >>> float(quantise_float8(np.linspace(-1, 1, 32)[:, None], group=32).dequantised[0, 0])
        -1.0
        """
        return self.numbers * np.repeat(self.scales, self.group, axis=0)

    def __str__(self) -> str:
        return told_of(self, f"{self.element}, floats q of 8 bits")


def quantise_float8(weights: ArrayLike, element: str = "f8E4M3FN", *, group: int = 128) -> Float8Weights:
    """A matrix of weights [k, n] in floats of 8 bits: the largest of a group becomes the largest number that is finite.

    Each is rounded to the nearest number, the even one of two. `group` neighbours along k share a scale, 32, 64 or a multiple
    of 128; k is a multiple of it.

    Raises:
        PlanError: for arrays that are not a matrix of finite numbers, and for other types and groups.

    >>> matrix = np.random.default_rng(0).standard_normal((256, 64))
    >>> packed = quantise_float8(matrix)
    >>> packed.words.shape, packed.scales.shape
    ((64, 64), (2, 64))
    >>> largest = np.repeat(abs(matrix).reshape(2, 128, 64).max(1), 128, axis=0)
    >>> bool((abs(packed.dequantised - matrix) <= abs(matrix) / 16 * 1.001 + largest / 448 / 2**9).all())
    True
    """
    element, group = one_of(element, FLOATS, "element", PlanError), checked_group(group)
    given = matrix("weights", weights)
    k, n = given.shape
    if k % group:
        raise PlanError(f"weights are {k}x{n}: {k} rows are not a multiple of the group of {group}")
    largest = float(_form(element).max)
    groups = given.astype(np.float64).reshape(-1, group, n)
    scales = (np.abs(groups).max(axis=1) / largest).astype(np.float32)
    scales[scales == 0] = 1
    values = _rounded(np.clip(groups / scales[:, None], -largest, largest), element)
    return Float8Weights(values.reshape(k, n), scales, element)


def _rounded(numbers: NDArray[np.float64], element: str) -> NDArray[np.uint8]:
    """The bytes of the nearest numbers. `astype` alone would round to f32 first, and numbers near a middle to it."""
    form = _form(element)
    exponents = np.maximum(np.frexp(numbers)[1] - 1, form.minexp) - form.nmant
    nearest = np.ldexp(np.rint(np.ldexp(numbers, -exponents)), exponents)
    return nearest.astype(numpy_type(element)).view(np.uint8)


def _form(element: str) -> Any:
    """The largest number, the bits of the fraction and the least exponent of a type."""
    return cast("Any", ml_dtypes.finfo(numpy_type(element)))


def expanded(kernel: KernelWriter, word: Value, element: str, activations: str) -> list[Value]:
    """The two pairs of f16 or bf16, the type of A, in a word of four bytes, in the order of k."""
    made = _in_f16(kernel, word, element)
    return made if activations == "f16" else [_in_bf16(kernel, pair) for pair in made]


def _in_bf16(kernel: KernelWriter, pair: Value) -> Value:
    """Two f16 as two bf16: the upper halves of the same numbers in f32."""
    sixteen = kernel.constant(16, "i32")
    wide: list[Value] = []
    for half in (pair, kernel.op("shrui", pair, sixteen)):
        bits = kernel.writer.value("arith.trunci %s : i32 to i16", (half,), "i16")
        number = kernel.writer.value("arith.bitcast %s : i16 to f16", (bits,), "f16")
        number = kernel.writer.value("arith.extf %s : f16 to f32", (number,), "f32")
        wide.append(kernel.writer.value("arith.bitcast %s : f32 to i32", (number,), "i32"))
    lower = kernel.op("shrui", wide[0], sixteen)
    return kernel.op("ori", lower, kernel.op("andi", wide[1], kernel.constant(-1 << 16, "i32")))


def _in_f16(kernel: KernelWriter, word: Value, element: str) -> list[Value]:
    """The two pairs of f16 in a word of four bytes, in the order of k."""

    def constant(number: int) -> Value:
        signed = number - (number >> 31 << 32)
        return kernel.constant(signed, "i32")

    made: list[Value] = []
    for upper in (kernel.op("shli", word, constant(8)), word):
        if element == "f8E5M2":
            made.append(kernel.op("andi", upper, constant(0xFF00FF00)))
            continue
        bits = kernel.op("andi", kernel.op("shrui", upper, constant(1)), constant(0x3F803F80))
        bits = kernel.op("ori", bits, kernel.op("andi", upper, constant(0x80008000)))
        carried = kernel.op("andi", kernel.op("addi", bits, constant(0x00800080)), constant(0x40004000))
        made.append(kernel.op("ori", bits, carried))
    return made
