"""At which level a kernel is: whether a value is a lane's fragment, the tensor of a subgroup, or that of the workgroup.

A layout with `sg_layout` anywhere says workgroup. Without one, the block operations say it: a block of 8x16 is
`vector<8xf16>` for each of 16 lanes, and `vector<8x16xf16>` for a subgroup.

>>> from layoutalg.ir import read_module
>>> text = '''%p = arith.constant 64 : i64
... %t = xegpu.create_nd_tdesc %p, shape: [8, 32], strides: [32, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
... %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>'''
>>> level_of(read_module(text))
'subgroup'
>>> level_of(read_module(text.replace("vector<8x16xf16>", "vector<8xf16>")))
'lane'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from xdsl.ir import Attribute, Operation

from layoutalg.ir.dialects.xegpu import operations as block
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr, MemDescType, SliceAttr, TensorDescType
from layoutalg.ir.well_formed import MALFORMED
from layoutalg.simulate.compiling import value_shape
from layoutalg.simulate.machine import Level

__all__ = ["level_of", "works_on_fragments"]

_SCATTERED = ("xegpu.load", "xegpu.store", "xegpu.prefetch", "xegpu.atomic_rmw")


def level_of(function: Operation) -> Level:
    """The level that a kernel's operations and layouts show; lane, where nothing shows another.

    >>> from layoutalg.ir import read_module
    >>> level_of(read_module("%a = arith.constant 1 : i32"))
    'lane'
    """
    found: Level = "lane"
    for operation in function.walk():
        if any("sg_layout" in str(attribute) for attribute in _layouts(operation)):
            return "workgroup"
        if _shows(_is_whole, operation):
            found = "subgroup"
    return found


def works_on_fragments(function: Operation) -> bool:
    """Whether an operation shows that values are what one lane holds: a load of less than its block, a mask of one bit.

    >>> from layoutalg.ir import read_module
    >>> text = '''%p = arith.constant 64 : i64
    ... %t = xegpu.create_nd_tdesc %p, shape: [8, 32], strides: [32, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
    ... %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>'''
    >>> works_on_fragments(read_module(text)), works_on_fragments(read_module(text.replace("vector<8x", "vector<8x16x")))
    (True, False)
    """
    return any(_shows(_is_fragment, operation) for operation in function.walk())


def _shows(what: Callable[[Operation], bool], operation: Operation) -> bool:
    """What an operation shows; nothing if it lacks operands, as the generic form may have it."""
    try:
        return what(operation)
    except MALFORMED:
        return False


def _is_fragment(operation: Operation) -> bool:
    match operation:
        case block.LoadNdOp() | block.StoreNdOp():
            kind: Attribute = operation.descriptor.type
            return isinstance(kind, TensorDescType) and prod(value_shape(operation.value.type)) < prod(kind.get_shape())
        case block.DpasOp():
            return len(value_shape(operation.result.type)) == 1
        case _ if operation.name in _SCATTERED:
            return not _mask_shape(operation)
        case _ if operation.name.startswith(
            "xevm."
        ):  # the instructions of a lane, over which layouts have nothing to say
            return any(value_shape(value.type) for value in (*operation.operands, *operation.results))
        case _:
            return False


def _layouts(operation: Operation) -> Iterator[Attribute]:
    """The layouts that stand on an operation, and in the types of its results and operands."""
    for attribute in (*operation.properties.values(), *operation.attributes.values()):
        if isinstance(attribute, LayoutAttr | SliceAttr):
            yield attribute
    for value in (*operation.results, *operation.operands):
        if isinstance(value.type, TensorDescType):
            yield value.type.layout
        elif isinstance(value.type, MemDescType):
            yield value.type.mem_layout


def _is_whole(operation: Operation) -> bool:
    """Whether a value of this operation is more than a lane holds."""
    match operation:
        case block.LoadNdOp() | block.StoreNdOp():
            kind: Attribute = operation.descriptor.type
            rank = len(value_shape(operation.value.type))
            return isinstance(kind, TensorDescType) and len(kind.shape) <= rank > 1
        case block.DpasOp():
            return len(value_shape(operation.result.type)) > 1
        case _ if operation.name in _SCATTERED:
            # The mask is i1 for one lane, and a vector of so many for a subgroup.
            mask = _mask_shape(operation)
            return bool(mask) and mask[0] > 1
        case _:
            return False


def _mask_shape(operation: Operation) -> tuple[int, ...]:
    masks = [value_shape(value.type) for value in operation.operands if _is_mask(value.type)]
    return masks[-1] if masks else ()


def _is_mask(kind: Attribute) -> bool:
    return str(getattr(kind, "element_type", kind)) == "i1"
