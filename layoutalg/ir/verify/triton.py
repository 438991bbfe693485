"""Triton's rules: shapes, elements and layouts of what its operations take and make, in the words of its verifiers.

    %y = ttg.convert_layout %x : tensor<16x32xf32, #a> -> tensor<32x16xf32, #b>

is refused with "requires the same shape for all operands and results". Layouts are compared where both types say one; that
work-items hold what they need is what `layoutalg check` says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1
from xdsl.ir import Attribute, Operation

from layoutalg.core.errors import LayoutError
from layoutalg.ir.dialects.triton.types import MemDescType, PointerType
from layoutalg.ir.operations.rows import rows_of
from layoutalg.ir.verify.registry import rule
from layoutalg.ir.verify.shapes import element_of, is_tensor, numbers, shape_of, typed, width_of
from layoutalg.ir.verify.signatures import Subject
from layoutalg.triton.encodings import Blocked, DotOperand, Dpas, Encoding, Slice, parse_encoding
from layoutalg.triton.encodings.types import MemDescType as Memory
from layoutalg.triton.encodings.types import parse_typed

__all__: list[str] = []

_ELEMENTWISE = (
    "tt.addptr", "tt.bitcast", "tt.clampf", "tt.extern_elementwise", "tt.fp_to_fp", "tt.int_to_ptr", "tt.mulhiui",
    "tt.precise_divf", "tt.precise_sqrt", "tt.ptr_to_int",
)  # fmt: skip


def _shape(kind: Attribute | None) -> tuple[int, ...]:
    """The sizes of a tensor; none of a scalar."""
    return shape_of(kind) if is_tensor(kind) else ()


@lru_cache(maxsize=4096)
def _encoding(kind: Attribute | None) -> Encoding | None:
    """The layout that a tensor's type says, if it can be read."""
    if not isinstance(kind, TensorType) or "<" not in str(kind.encoding):
        return None
    try:
        return parse_encoding(str(kind.encoding))
    except LayoutError:
        return None


@lru_cache(maxsize=4096)
def _memory(kind: Attribute | None) -> Memory | None:
    """A descriptor of memory, if it can be read."""
    if not isinstance(kind, MemDescType):
        return None
    try:
        found = parse_typed(str(kind))
    except LayoutError:
        return None
    return found if isinstance(found, Memory) else None


def _differ(one: Attribute | None, other: Attribute | None) -> bool:
    """Whether both types say a layout, and not the same one."""
    first, second = _encoding(one), _encoding(other)
    return first is not None and second is not None and first != second


def _kinds(subject: Subject) -> list[Attribute]:
    return [*subject.operation.operand_types, *subject.operation.result_types]


def _inferred(wanted: str, found: Attribute) -> str:
    return f"inferred type(s) '{wanted}' are incompatible with return type(s) of operation {typed(found)}"


def _tensor(shape: Sequence[int], element: Attribute | None, encoding: Encoding | None) -> str:
    """A type as it is written: of no dimensions, the element's."""
    if not shape:
        return str(element)
    behind = "" if encoding is None else f", {encoding}"
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}{behind}>"


def _number(subject: Subject, name: str) -> int | None:
    found: Any = subject.attribute(name)
    value = getattr(getattr(found, "value", None), "data", None)
    return value if isinstance(value, int) else None


# Layouts that fit their tensors, and the module


_HELD = {
    "ttg.threads-per-warp": ("lane", "threads per warp"),
    "ttg.num-warps": ("warp", "warps per CTA"),
    "ttg.num-ctas": ("block", "CTAs per CGA"),
}
"""What a module says of its machine: the input of a layout, and Triton's words."""
_LAID_OUT = [name for dialect in ("tt", "ttg") for name in rows_of(dialect) if name not in ("tt.call", "tt.return")]


@rule("triton.layout", *_LAID_OUT, "tt.reduce", "tt.scan")
def _layout(subject: Subject) -> str | None:
    said = None
    ends = [("operand", subject.operation.operand_types), ("result", subject.operation.result_types)]
    for end, number, kind in ((end, at, one) for end, kinds in ends for at, one in enumerate(kinds)):
        found = _counts(kind)
        if found is None:
            continue
        if isinstance(found, str):
            return f"{end} #{number} has an invalid layout: {found}"
        said = _said(subject.operation) if said is None else said
        for name, (axis, words) in _HELD.items():
            if said.get(name, found[axis]) != found[axis]:
                told = f"Layout has {found[axis]} {words}, but the context requires {said[name]} {words}"
                return f"{end} #{number} has an invalid layout: {told}"
    return None


@lru_cache(maxsize=4096)
def _counts(kind: Attribute) -> dict[str, int] | str | None:
    """How many lanes and warps a tensor's layout counts; why it does not fit the shape."""
    encoding = _encoding(kind)
    if encoding is None:
        return None
    try:
        linear: Any = encoding.to_linear(_shape(kind))
    except LayoutError as error:
        return str(error)
    if "lane" not in linear.get_in_dim_names():
        return None
    return {axis: 1 << len(linear.bases_of(axis)) for axis, _ in _HELD.values()}


def _said(operation: Operation) -> dict[str, int]:
    """The counts that the module says; none inside a group of warps, which has its own."""
    found: dict[str, int] = {}
    around = operation.parent_op()
    while around is not None:
        if around.name == "ttg.warp_specialize.partitions":
            return {}
        for name in _HELD:
            number: Any = around.attributes.get(name)
            if isinstance(number, IntegerAttr):
                found.setdefault(name, number.value.data)
        around = around.parent_op()
    return found


# What operands and results have in common


@rule("triton.same_shape", "ttg.convert_layout")
def _shapes(subject: Subject) -> str | None:
    kinds = _kinds(subject)
    return "requires the same shape for all operands and results" if len(set(map(_shape, kinds))) > 1 else None


@rule("triton.same_element", "ttg.convert_layout", "tt.broadcast", "tt.reshape", "tt.splat")
def _elements(subject: Subject) -> str | None:
    found = {element_of(kind) if is_tensor(kind) else kind for kind in _kinds(subject)}
    return "requires the same element type for all operands and results" if len(found) > 1 else None


@rule("triton.elementwise", *_ELEMENTWISE)
def _elementwise(subject: Subject) -> str | None:
    tensors = [kind for kind in _kinds(subject) if is_tensor(kind)]
    if len({_shape(kind) for kind in tensors}) > 1 or (tensors and not is_tensor(_kinds(subject)[-1])):
        return "all non-scalar operands/results must have the same shape and base type"
    return None


@rule("triton.same_encoding", *_ELEMENTWISE, "tt.scan", "tt.splat")
def _same_encoding(subject: Subject) -> str | None:
    first, *others = _kinds(subject) or [None]
    differ = any(_differ(first, other) for other in others)
    return "requires the same encoding for all operands and results" if differ else None


# Memory with addresses


def _pointee(kind: Any) -> Attribute | None:
    """What a pointer, or each of a tensor of them, points to."""
    if isinstance(kind, PointerType):
        return kind.pointee
    element: Any = element_of(kind) if is_tensor(kind) else None
    return TensorType(element.pointee, kind.get_shape(), kind.encoding) if isinstance(element, PointerType) else None


def _fits(pointers: Attribute | None, values: Attribute | None) -> bool:
    """Whether values are of the type that pointers have (a layout may be spelled otherwise)."""
    wanted = _pointee(pointers)
    if wanted is None or values is None or wanted == values:
        return True
    alike = is_tensor(wanted) and is_tensor(values) and _shape(wanted) == _shape(values)
    return alike and element_of(wanted) == element_of(values) and not _differ(wanted, values)


def _masks(pointers: Attribute | None, mask: Attribute | None) -> bool:
    """Whether a mask has an element for each pointer."""
    if pointers is None or mask is None:
        return True
    alike = is_tensor(pointers) == is_tensor(mask) and _shape(pointers) == _shape(mask)
    return alike and (element_of(mask) == i1 or mask == i1) and not _differ(pointers, mask)


_POINTED = {
    "result": "result matches ptr type",
    "value": "value type matches ptr type",
    "val": "ptr type matches value type",
    "cmp": "ptr type matches cmp type",
    "mask": "mask type matches ptr type",
    "other": "other matches ptr type",
}


@rule("triton.pointers", "tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas")
def _pointed(subject: Subject) -> str | None:
    pointers = subject.type("ptr")
    for name, words in _POINTED.items():
        kind = subject.type(name) if name != "result" or subject.name == "tt.load" else None
        if not (_masks if name == "mask" else _fits)(pointers, kind):
            return f"failed to verify that {words}"
    return None


# Shapes


@rule("triton.range", "tt.make_range")
def _range(subject: Subject) -> str | None:
    start, end, shape = _number(subject, "start"), _number(subject, "end"), _shape(subject.type("result"))
    if start is None or end is None:
        return None
    if start >= end:
        return "start must be less than end"
    if len(shape) != 1:
        return "return type must be a 1D tensor"
    if shape[0] == end - start:
        return None
    size = f"size of range [{start}, {end}), which has {end - start} elements"
    return f"number of elements in returned tensor, {shape[0]}, must match {size}"


@rule("triton.broadcast", "tt.broadcast")
def _broadcast(subject: Subject) -> str | None:
    before, after = _shape(subject.type("src")), _shape(subject.type("result"))
    if len(before) != len(after):
        return "rank of source must be same as rank of result"
    for at, (one, other) in enumerate(zip(before, after, strict=True)):
        if one not in (1, other):
            said = f"Different dimensions at index {at} between source and result."
            return f"{said}  Broadcast requires the source dimension to be 1."
    return None


@rule("triton.trans", "tt.trans")
def _trans(subject: Subject) -> str | None:
    source, result, order = subject.type("src"), subject.type("result"), numbers(subject.attribute("order"))
    shape = _shape(source)
    if len(order) != len(shape):
        return "order must have the same size as the rank of the operand and result"
    if sorted(order) != list(range(len(shape))):
        return "order must be a permutation of [0, ..., rank - 1]"
    made = tuple([shape[dim] for dim in order])
    if _shape(result) != made:
        return "result shape must match the permutation of the source shape"
    held, found = _encoding(source), _encoding(result)
    if not isinstance(held, Blocked) or found is None or held.cga or held.rank != len(order):
        return None
    fields = (held.size_per_thread, held.threads_per_warp, held.warps_per_cta)
    each, lanes, warps = (tuple([sizes[dim] for dim in order]) for sizes in fields)
    wanted = Blocked(each, lanes, warps, tuple([order.index(dim) for dim in held.order]))
    return None if found == wanted else _inferred(_tensor(made, element_of(source), wanted), result)


@rule("triton.reshape", "tt.reshape")
def _reshape(subject: Subject) -> str | None:
    before, after = _shape(subject.type("src")), _shape(subject.type("result"))
    return None if prod(before) == prod(after) else "number of src and dst elements of reshape must be the same"


@rule("triton.expand_dims", "tt.expand_dims")
def _expand_dims(subject: Subject) -> str | None:
    source, result, axis = subject.type("src"), subject.type("result"), _number(subject, "axis")
    shape = _shape(source)
    if axis is None or not 0 <= axis <= len(shape):
        return None if axis is None else "Incompatible slice dimension for ExpandDimsOp operand"
    made, held = (*shape[:axis], 1, *shape[axis:]), _encoding(source)
    if held is not None and not isinstance(held, Slice):
        return "ExpandDimsOp operand encoding must be SliceEncodingAttr"
    if held is not None and held.dim != axis:
        return "Incompatible slice dimension for ExpandDimsOp operand"
    parent, found = None if held is None else held.parent, _encoding(result)
    alike = _shape(result) == made and element_of(result) == element_of(source)
    if alike and (parent is None or found is None or parent == found):
        return None
    return _inferred(_tensor(made, element_of(source), parent), result)


@rule("triton.reduce", "tt.reduce", "tt.scan")
def _along(subject: Subject) -> str | None:
    sources, results = subject.operation.operand_types, subject.operation.result_types
    axis = _number(subject, "axis")
    if axis is None or not sources:
        return None
    shape = _shape(sources[0])
    if not 0 <= axis < len(shape):
        return f"axis out of bounds for operand rank {len(shape)}"
    if any(element_of(one) != (element_of(two) or two) for one, two in zip(sources, results, strict=False)):
        return "operand types and result types must agree"
    if subject.name == "tt.scan":
        return None
    for source, result in zip(sources, results, strict=False):
        made, held, found = (*shape[:axis], *shape[axis + 1 :]), _encoding(source), _encoding(result)
        wanted = Slice(axis, held) if held is not None and made and held.rank == len(shape) else None  # pyright: ignore[reportArgumentType]
        alike = _shape(result) == made and is_tensor(result) == bool(made)
        if not alike or (found is not None and wanted is not None and found != wanted):
            return _inferred(_tensor(made, element_of(source), wanted), result)
    return None


@rule("triton.join", "tt.join")
def _join(subject: Subject) -> str | None:
    shape, made = _shape(subject.type("lhs")), _shape(subject.type("result"))
    if made == (*shape, 2):
        return None
    wanted, found = (", ".join(map(str, sizes)) for sizes in ((*shape, 2), made))
    return f"result shape must be ({wanted}), but got {found}"


@rule("triton.split", "tt.split")
def _split(subject: Subject) -> str | None:
    shape = _shape(subject.type("src"))
    return None if shape[-1:] == (2,) else "last dimension of input tensor must be 2"


@rule("triton.gather", "tt.gather")
def _gather(subject: Subject) -> str | None:
    source, indices, result = (subject.type(name) for name in ("src", "indices", "result"))
    axis, shape, numbered = _number(subject, "axis"), _shape(source), _shape(indices)
    if numbered != _shape(result):
        return "indices and output shapes must match"
    if element_of(source) != element_of(result):
        return "input and output element types must match"
    if len(shape) != len(numbered):
        return "input and indices ranks must match"
    if axis is not None and not 0 <= axis < len(shape):
        return "gather dimension must be less than the input rank"
    for dim, (one, other) in enumerate(zip(shape, numbered, strict=True)):
        if dim != axis and one != other:
            return f"indices dimension {dim} must match the corresponding input dimension"
    return "indices and output encodings must match" if _differ(indices, result) else None


@rule("triton.cat", "tt.cat")
def _cat(subject: Subject) -> str | None:
    given, made = (
        sum(prod(_shape(one)) for one in kinds)
        for kinds in (subject.operation.operand_types, subject.operation.result_types)
    )
    if given == made:
        return None
    return f"result element count must equal the sum of the operand element counts, expected {given} but got {made}"


@rule("triton.unsplat", "tt.unsplat")
def _unsplat(subject: Subject) -> str | None:
    return None if prod(_shape(subject.type("src"))) == 1 else "source tensor must have exactly one element"


# Numbers


@rule("triton.bitcast", "tt.bitcast")
def _bitcast(subject: Subject) -> str | None:
    ends = [element_of(kind) if is_tensor(kind) else kind for kind in _kinds(subject)]
    if any(isinstance(kind, PointerType) for kind in ends):
        both = all(isinstance(kind, PointerType) for kind in ends)
        return None if both else "Cannot bitcast pointer to non-pointer type"
    one, other = map(width_of, ends)
    return None if one == other else f"Cannot bitcast data-type of size {one} to data-type of size {other}"


@rule("triton.rounding", "tt.fp_to_fp")
def _rounding(subject: Subject) -> str | None:
    one, other = (width_of(element_of(kind) if is_tensor(kind) else kind) for kind in _kinds(subject))
    if other < one and subject.attribute("rounding") is None:
        return "Rounding mode is required for FP downcast"
    return None


# Products


@rule("triton.dot", "tt.dot")
def _dot(subject: Subject) -> str | None:
    return next(_dot_problems(subject), None)


def _dot_problems(subject: Subject) -> Iterator[str]:
    one, other, added = kinds = [subject.type(name) for name in "abc"]
    first, second, third = map(_shape, kinds)
    if len(first) not in (2, 3):
        yield "expected operands to be 2d or 3d"
    elif len({len(first), len(second), len(third)}) > 1:
        yield "expected all operands to have the same rank"
    elif first[-1] != second[-2]:
        before, behind = "the last dimension of the first operand", "the second-to-last dimension of the second operand"
        yield f"expected {before} to be equal to {behind}"
    elif (first[-2], second[-1]) != third[-2:]:
        ends = "the last dimension of the first operand and the last dimension of the second"
        yield f"expected the output shape to be the concatenation of {ends}"
    else:
        yield from _layout_problems(*map(_encoding, (one, other, added)))
        widths = [width_of(element_of(kind)) for kind in (one, other)]
        if _encoding(one) is not None and widths[0] != widths[1]:
            yield "element types of operands A and B must have same bit width"


def _layout_problems(one: Encoding | None, other: Encoding | None, added: Encoding | None) -> Iterator[str]:
    if (one is None) != (other is None) or type(one) is not type(other):
        yield "mismatching encoding between A and B operands"
    elif one is not None and added is None:
        yield "miss encoding of C operand"
    elif one is not None and not (isinstance(one, DotOperand) and isinstance(other, DotOperand)):
        yield "Dot's a/b's encoding should be of DotOperandEncodingAttr"
    elif isinstance(one, DotOperand) and isinstance(other, DotOperand):
        if (one.op_idx, other.op_idx) != (0, 1):
            yield "Wrong opIdx"
        elif one.k_width != other.k_width and not isinstance(added, Dpas):
            yield "mismatching kWidth between A and B operands"
        elif added not in (one.parent, other.parent):
            yield "mismatching MMA encoding"


# Shared memory


@rule("triton.allocation", "ttg.local_alloc")
def _allocation(subject: Subject) -> str | None:
    source, found = subject.type("src"), _memory(subject.type("result"))
    if found is None:
        return None
    if source is None:
        return None if found.mutable else "uninitialized alloc must have a mutable memdesc type"
    return _moved(source, subject.type("result"))


@rule("triton.local", "ttg.local_load", "ttg.local_store")
def _local(subject: Subject) -> str | None:
    if subject.name == "ttg.local_load":
        return _moved(subject.type("src"), subject.type("result"))
    found = _memory(subject.type("dst"))
    if found is not None and not found.mutable:
        return "Cannot store into immutable memory"
    return _moved(subject.type("src"), subject.type("dst"))


def _sized(kind: Attribute) -> tuple[tuple[int, ...], str]:
    found = _memory(kind)
    return (_shape(kind), str(element_of(kind))) if found is None else (found.shape, found.element)


def _moved(source: Attribute | None, result: Attribute | None) -> str | None:
    """Between registers and shared memory: the same shape, and the same elements."""
    if source is None or result is None or (_memory(source) is None and _memory(result) is None):
        return None
    (one, first), (other, second) = _sized(source), _sized(result)
    if one != other:
        return f"source shape [{', '.join(map(str, one))}] must match [destination shape {', '.join(map(str, other))}]"
    if first != second:
        return f"source element type {typed(source)} must match destination element type '{second}'"
    return None


@rule("triton.memory_view", "ttg.memdesc_index", "ttg.memdesc_subslice", "ttg.memdesc_trans")
def _view(subject: Subject) -> str | None:
    source, result = _memory(subject.type("src")), _memory(subject.type("result"))
    if source is None or result is None:
        return None
    if subject.name == "ttg.memdesc_index":
        if len(result.shape) != len(source.shape) - 1:
            return "result rank must be input rank - 1"
        return (
            None if result.shape == source.shape[1:] else "result shape must equal to input shape excluding the 1st dim"
        )
    if source.element != result.element:
        return "result element type must match desc element type"
    if subject.name == "ttg.memdesc_subslice":
        return None if source.encoding == result.encoding else "src and result must have the same encoding"
    order = numbers(subject.attribute("order"))
    if len(order) != len(source.shape) or sorted(order) != list(range(len(order))):
        return "order must be a permutation of [0, ..., rank - 1]"
    made = tuple([source.shape[dim] for dim in order])
    return None if made == result.shape else "result shape must match the permutation of the source shape"
