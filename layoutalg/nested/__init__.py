"""IREE: `#iree_vector_ext.nested_layout` here, and the `iree_gpu` dialect (matrix intrinsics) in `layoutalg.nested.gpu`.

`attributes` has the attribute and what can be asked of it, `tiles` its fields and derived layouts, `coordinates` the threads'
coordinates as IREE has them, `distribution` the exact layout, `regrouping` and `from_layout` the way back from a `Layout`.

>>> from layoutalg.nested import parse_nested
>>> text = (
...     "#iree_vector_ext.nested_layout<subgroup_tile = [1], batch_tile = [1], outer_tile = [1], thread_tile = [16], "
...     "element_tile = [4], subgroup_strides = [0], thread_strides = [1]>"
... )
>>> print(parse_nested(text).layout((64,), subgroup_size=16))
d0 = 16@lane 4@reg
"""

from layoutalg.nested.attributes import NestedLayoutAttr, parse_nested
from layoutalg.nested.from_layout import to_nested

__all__ = ["NestedLayoutAttr", "parse_nested", "to_nested"]
