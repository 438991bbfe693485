"""CuTe's layouts: nested shapes and strides, of memory or of threads and values, to and from a `Layout`.

>>> print(to_cute(Layout.parse("d0 = 2@reg, d1 = 4@lane")))
(4,2):(2,1)
"""

from layoutalg.cute.atoms import Atom, atom
from layoutalg.cute.cute_layout import CuteLayout, from_cute, parse_cute, to_cute

__all__ = ["Atom", "CuteLayout", "atom", "from_cute", "parse_cute", "to_cute"]
