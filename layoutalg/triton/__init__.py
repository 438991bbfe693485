"""Triton's layouts: `LinearLayout`, the form that its compiler works in, to and from a `Layout`.

>>> print(to_linear_layout(Layout.parse("d0 = 2@reg, d1 = 4@lane")))
#ttg.linear<{register = [[1, 0]], lane = [[0, 1], [0, 2]], warp = [], block = []}>
"""

from layoutalg.triton.conversions import TritonConversion, how_triton_converts
from layoutalg.triton.layouts import from_linear_layout, to_linear_layout
from layoutalg.triton.linear import LinearLayout, as_bases, parse_linear_layout

__all__ = [
    "LinearLayout",
    "TritonConversion",
    "as_bases",
    "from_linear_layout",
    "how_triton_converts",
    "parse_linear_layout",
    "to_linear_layout",
]
