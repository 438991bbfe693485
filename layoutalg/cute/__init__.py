"""CuTe's layouts: nested shapes and strides, of memory or of threads and values, to and from a `Layout`, and CuTe's algebra.

>>> print(to_cute(Layout.parse("d0 = 2@reg, d1 = 4@lane")))
(4,2):(2,1)

The algebra has CuTe's names and its order of arguments; a layout is given as a value or as text, and None is CuTe's `_`:

>>> print(composition("(6,2):(8,2)", "(4,3):(3,1)"), logical_divide("(8,6)", (2, 3)))
((2,2),3):((24,2),8) ((2,4),(3,2)):((1,2),(8,24))

An operation is exact, or it is refused: no result has other values than its definition says. `explain` shows the steps.
"""

from layoutalg.cute.atoms import Atom, atom
from layoutalg.cute.bases import ScaledBasis
from layoutalg.cute.casting import downcast, recast, upcast
from layoutalg.cute.composing import composition
from layoutalg.cute.coordinates import crd2crd, crd2idx, dice, idx2crd, slice, slice_and_offset
from layoutalg.cute.cute_layout import CuteLayout, from_cute, to_cute
from layoutalg.cute.explaining import OPERATIONS, Explanation, Operation, explain
from layoutalg.cute.expressions import Evaluated, evaluate
from layoutalg.cute.inverses import (
    complement,
    left_inverse,
    max_common_layout,
    max_common_vector,
    nullspace,
    pseudo_inverse,
    right_inverse,
)
from layoutalg.cute.modes import (
    coalesce,
    cosize,
    depth,
    filter,
    filter_zeros,
    flatten,
    get,
    group,
    make_identity_layout,
    make_layout,
    make_ordered_layout,
    rank,
    size,
)
from layoutalg.cute.printing import text
from layoutalg.cute.reading import parse_cute
from layoutalg.cute.steps import Step
from layoutalg.cute.swizzles import Swizzle, get_nonswizzle_portion, get_swizzle_portion
from layoutalg.cute.tiling import (
    blocked_product,
    flat_divide,
    flat_product,
    logical_divide,
    logical_product,
    raked_product,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    zipped_divide,
    zipped_product,
)

__all__ = [
    "OPERATIONS", "Atom", "CuteLayout", "Evaluated", "Explanation", "Operation", "ScaledBasis", "Step", "Swizzle", "atom",
    "blocked_product",
    "coalesce", "complement", "composition", "cosize", "crd2crd", "crd2idx", "depth", "dice", "downcast", "evaluate",
    "explain", "filter", "filter_zeros", "flat_divide", "flat_product", "flatten", "from_cute", "get",
    "get_nonswizzle_portion", "get_swizzle_portion", "group", "idx2crd", "left_inverse", "logical_divide", "logical_product",
    "make_identity_layout", "make_layout", "make_ordered_layout", "max_common_layout", "max_common_vector", "nullspace",
    "parse_cute", "pseudo_inverse", "raked_product", "rank", "recast", "right_inverse", "size", "slice", "slice_and_offset",
    "text", "tile_to_shape", "tiled_divide", "tiled_product", "to_cute", "upcast", "zipped_divide", "zipped_product",
]  # fmt: skip
