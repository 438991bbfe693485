"""Bridges between notations: whether two of them mean the same, and CuTe's and Triton's forms of a `Layout`.

`same` compares anything that has a layout, `cute` and `linear` translate to and from CuTe's and Triton's layouts. The ways
back into a dialect stand with the dialect: `layoutalg.xegpu.from_layout`, `layoutalg.nested.from_layout`. No other notation
names dimensions: what comes back has d0, d1, ...

>>> from layoutalg.core import Layout
>>> from layoutalg.bridges import same, to_cute, to_linear_layout
>>> tile = Layout.parse("d0 = 2@reg, d1 = 4@lane")
>>> print(to_cute(tile)); print(to_linear_layout(tile))
(4,2):(2,1)
#ttg.linear<{register = [[1, 0]], lane = [[0, 1], [0, 2]], warp = [], block = []}>
>>> bool(same(to_cute(tile), to_linear_layout(tile)))
True
"""

from layoutalg.bridges.cute import CuteLayout, from_cute, parse_cute, to_cute
from layoutalg.bridges.linear import LinearLayout, from_linear_layout, parse_linear_layout, to_linear_layout
from layoutalg.bridges.same import Same, same

__all__ = [
    "CuteLayout",
    "LinearLayout",
    "Same",
    "from_cute",
    "from_linear_layout",
    "parse_cute",
    "parse_linear_layout",
    "same",
    "to_cute",
    "to_linear_layout",
]
