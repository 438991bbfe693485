"""What host programs know of weights in words: how to take a weight out, in C and in Python, and which words they make up.

Pair i of a word's weights is nibble i, or byte i, of both of its halves (`layoutalg.gemm.weights.quantised`). Of whole numbers
a weight is (q - z) * s; of floats of 8 bits it is the number of the byte, by its exponent and fraction, times s.

>>> from layoutalg.gemm.weights import WeightsProblem
>>> [line.strip() for line in weight_in_c(WeightsProblem.of(8, 64, 128)).splitlines() if "return" in line]
['return (q - 8.0) * load(&matrices[3], data[3], z, k / 128, c);']

Words are random bits; those of floats without the bits that make a byte infinite or NaN:

>>> hex(0xFFFFFFFF & FINITE)
'0xb7b7b7b7'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutalg.gemm.weights.problem import WeightsProblem

__all__ = ["FINITE", "weight_in_c", "weights_in_python"]

FINITE = 0xB7B7B7B7
"""The bits that words of floats of 8 bits have in hosts: no byte is infinite or NaN."""
_FORMS = {"f8E4M3FN": (3, 7), "f8E5M2": (2, 15)}
"""Bits of the fraction, and the bias of the exponent."""


def weight_in_c(problem: WeightsProblem) -> str:
    """A function that takes a weight out of its word."""
    product, bits = problem.product, problem.bits
    scales = 3 + len(product.scaled) + (product.bias is not None)
    scale, point = (f"load(&matrices[{at}], data[{at}], z, k / {problem.group}, c)" for at in (scales, scales + 1))
    middle = point if problem.zeros else f"{1 << bits - 1}.0"
    found = f"  return (q - {middle}) * {scale};\n"
    if problem.floats:
        fraction, bias = _FORMS[problem.b]
        found = f"""  const int power = (int)(q >> {fraction} & {(1 << 7 - fraction) - 1}), least = power ? {1 << fraction} : 0;
  const double size = ldexp((int)(q & {(1 << fraction) - 1}) + least, (power ? power : 1) - {bias + fraction});
  return (q < 128 ? size : -size) * {scale};
"""
    return f"""static double weight(const unsigned char *const *data, size_t z, size_t k, size_t c) {{
  const uint32_t word = (uint32_t)load(&matrices[1], data[1], z, k / {32 // bits}, c);
  const uint32_t q = word >> ({bits} * (k % {32 // bits} / 2) + 16 * (k % 2)) & {(1 << bits) - 1};
{found}}}
"""


def weights_in_python(problem: WeightsProblem) -> str:
    """A function that gives all of them."""
    bits = problem.bits
    point = f"np.repeat(values['group_zeros'][z], {problem.group}, axis=0)" if problem.zeros else str(1 << bits - 1)
    what, found = "(q - z) * s", f"    weight = q - {point}\n"
    if problem.floats:
        fraction, bias = _FORMS[problem.b]
        what = "floats of 8 bits, times their scales"
        found = f"""    q = q.astype(np.int64)
    power, fraction = q >> {fraction} & {(1 << 7 - fraction) - 1}, q & {(1 << fraction) - 1}
    size = np.ldexp(fraction + np.where(power > 0, {1 << fraction}, 0.0), np.maximum(power, 1) - {bias + fraction})
    weight = np.where(q < 128, size, -size)
"""
    return f"""def weights(values, z):
    \"\"\"The weights [k, n] of a matrix, taken out of their words: {what}.\"\"\"
    words = values["b"][z].astype(np.uint32)
    places = {bits} * np.arange({16 // bits}, dtype=np.uint32)[:, None] + np.array([0, 16], np.uint32)
    q = words[:, None, :] >> places.reshape(1, -1, 1) & np.uint32({(1 << bits) - 1})
    q = q.reshape(-1, words.shape[1]).astype(np.float64)
{found}    return weight * np.repeat(values["group_scales"][z], {problem.group}, axis=0)


"""
