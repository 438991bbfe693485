"""Attributes and types that a version of LLVM refuses while it reads the text.

The words are those of `layoutalg.xegpu`, the one place that knows the fields of XeGPU's attributes:

>>> from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr
>>> layout = LayoutAttr("lane_layout = [1, 16]")
>>> refused(layout, 22), refused(layout, 24)
(None, 'lane_layout and lane_data must be used together')
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
    UnitAttr,
    UnregisteredAttr,
)
from xdsl.ir import Attribute

from layoutalg.core.errors import LayoutError
from layoutalg.ir.dialects.xegpu import attributes as xegpu
from layoutalg.ir.verify.shapes import is_memref, is_vector, rank_of, shape_of, typed
from layoutalg.xegpu import parse_attribute

__all__ = ["doubtful", "inside", "layout_value", "refused"]

_PLAIN = (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    StringAttr,
    UnitAttr,
)


def refused(attribute: Attribute, llvm: int) -> str | None:
    """The diagnostic of a version of LLVM for an attribute or type, or for one nested in it; None where it accepts.

    >>> from xdsl.dialects.builtin import VectorType, f16
    >>> refused(VectorType(f16, [8, 16]), 22)
    """
    return None if isinstance(attribute, _PLAIN) else _refused(attribute, llvm)


_PIPELINES = ("iree_gpu.pipeline", "iree_gpu.spirv_pipeline")
"""Attributes of IREE that are kept as text."""


@lru_cache(maxsize=65536)
def _refused(attribute: Attribute, llvm: int) -> str | None:
    kept = attribute.attr_name.data if isinstance(attribute, UnregisteredAttr) else ""
    if kept.startswith("iree_gpu.") and kept not in _PIPELINES:
        return f"unknown attribute `{kept.partition('.')[2]}` in dialect `iree_gpu`"
    if is_vector(attribute):
        sizes = ", ".join(map(str, shape_of(attribute)))
        positive = all(size > 0 for size in shape_of(attribute))
        return None if positive else f"vector types must have positive constant sizes but got {sizes}"
    if is_memref(attribute) and str(getattr(attribute, "layout", "")).startswith("strided<["):
        listed = str(getattr(attribute, "layout", ""))[len("strided<[") :].partition("]")[0]
        if len([one for one in listed.split(",") if one.strip()]) != rank_of(attribute):
            return "expected the number of strides to match the rank"
    if attribute.name in _TILES:
        known = _TILES[attribute.name]
        if str(getattr(attribute, "element_type", "")) not in known:
            return f"failed to verify 'elementType': {' or '.join(known.values())}"
    for one in inside(attribute):
        problem = refused(one, llvm)
        if problem is not None:
            return problem
    return _xegpu_problem(attribute, llvm) if attribute.name.startswith("xegpu.") else None


_TILE = {
    "f32": "32-bit float",
    "f16": "16-bit float",
    "bf16": "bfloat16 type",
    "i32": "32-bit signless integer",
    "i8": "8-bit signless integer",
}
_TILES = {"amx.tile": _TILE, "x86.amx.tile": {**_TILE, "f8E4M3FN": "f8E4M3FN type", "f8E5M2": "f8E5M2 type"}}
"""The element types of AMX tiles."""


def inside(attribute: Any) -> tuple[Attribute, ...]:
    """The attributes and types that an attribute or type is made of.

    >>> from xdsl.dialects.builtin import FunctionType, f16, f32
    >>> [str(one) for one in inside(FunctionType.from_lists([f16], [f32]).inputs)]
    ['f16']
    """
    data: Any = getattr(attribute, "data", ())
    if attribute.name == "array":
        return tuple(data)
    if attribute.name == "dictionary":
        return tuple(data.values())
    return tuple(getattr(attribute, "parameters", ()))


def _xegpu_problem(attribute: Attribute, llvm: int) -> str | None:
    said, ours = _judged(attribute, llvm)
    return None if ours else said


@lru_cache(maxsize=16384)
def _judged(attribute: Any, llvm: int) -> tuple[str | None, bool]:
    """What is wrong with one of XeGPU's attributes, and whether it is we who say so."""
    if llvm > 22 and attribute.name == "xegpu.scatter_tdesc_attr":
        return "unknown attribute `scatter_tdesc_attr` in dialect `xegpu`", False
    if llvm > 22 and attribute.name == "xegpu.tensor_desc" and not isinstance(attribute.element_type, _NUMBERS):
        return f"unsupported element type {typed(attribute.element_type)}: expected integer or float", False
    if attribute.name in _UNKNOWN:
        return f"unknown attribute `{attribute.name.partition('.')[2]}` in dialect `xegpu`", False
    if attribute.name == "xegpu.tensor_desc" and not attribute.get_shape():
        return "expected non-zero rank tensor", False
    try:
        value: Any = parse_attribute(str(attribute), llvm=llvm)
        if isinstance(attribute, xegpu.LayoutAttr | xegpu.SliceAttr):
            return value.incomplete(llvm), False
        said = value.check(llvm) if hasattr(value, "check") else None
    except LayoutError as problem:
        said = str(problem)
    if llvm == 22 and "slice<" in str(attribute) and attribute.name == "xegpu.tensor_desc":
        return f"{attribute}: expected a #xegpu.layout, not a slice (LLVM 22 crashes on it sooner or later)", True
    return said, said is not None and any(word in said for word in _OURS)


_UNKNOWN = ("xegpu.sg_map", "xegpu.tdesc_attr", "xegpu.scattered_tdesc_attr")
"""Attributes of the RFC, which no LLVM of these has; what reads them as today's says so itself."""
_NUMBERS = (AnyFloat, IntegerType)
_OURS = ("LLVM 22 accepts", "LLVM 22 crashes", "element type", "expected 1 to")


def doubtful(attribute: Attribute, llvm: int) -> str | None:
    """Our finding about an attribute or type that LLVM reads, and later crashes on or miscompiles; None where nothing is wrong.

    >>> from xdsl.dialects.builtin import IndexType
    >>> doubtful(xegpu.TensorDescType.of([8, 16], IndexType()), 22)[:21]
    "element type 'index':"
    """
    if not attribute.name.startswith("xegpu."):
        return None
    said, ours = _judged(attribute, llvm)
    return said if ours else None


@lru_cache(maxsize=4096)
def layout_value(attribute: Attribute, llvm: int | None = None) -> Any:
    """The layout or slice that an attribute of a module is.

    >>> layout_value(xegpu.LayoutAttr("lane_layout = [1, 16]")).rank
    2
    """
    return parse_attribute(str(attribute), llvm=llvm)
