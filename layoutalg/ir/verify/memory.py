"""LLVM's rules of the memref dialect: element types, numbers of indices, views and casts.

    %v = memref.load %m[%i] : memref<8x16xf32>

is refused with "incorrect number of indices for load, expected 2 but got 1".
"""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX

from layoutalg.ir.verify.constraints import memory_space
from layoutalg.ir.verify.registry import rule
from layoutalg.ir.verify.shapes import element_of, is_memref, numbers, rank_of, shape_of, typed
from layoutalg.ir.verify.signatures import Subject

__all__: list[str] = []


@rule("memref.load.type", "memref.load")
def _loaded(subject: Subject) -> str | None:
    if element_of(subject.type("memref")) == subject.type("result"):
        return None
    return "failed to verify that result type matches element type of 'memref'"


@rule("memref.store.type", "memref.store")
def _stored(subject: Subject) -> str | None:
    if element_of(subject.type("memref")) == subject.type("value"):
        return None
    return "failed to verify that type of 'value' matches element type of 'memref'"


@rule("memref.copy", "memref.copy")
def _copied(subject: Subject) -> str | None:
    source, target = subject.type("source"), subject.type("target")
    if element_of(source) != element_of(target):
        return "requires the same element type for all operands"
    if not (hasattr(source, "layout") and hasattr(target, "layout")):
        return None  # one without a rank
    fits = len(shape_of(source)) == len(shape_of(target)) and all(
        one == other or DYNAMIC_INDEX in (one, other)
        for one, other in zip(shape_of(source), shape_of(target), strict=True)
    )
    return None if fits else "requires the same shape for all operands"


@rule("vector.memory.stride", "vector.load", "vector.store")
def _unit_stride(subject: Subject) -> str | None:
    vector = subject.type("result" if subject.name == "vector.load" else "valueToStore")
    strides = _strides(subject.type("base")) if prod(shape_of(vector)) != 1 else None
    return "most minor memref dim must have unit stride" if strides and strides[-1] != 1 else None


@rule("memref.indices", "memref.load", "memref.store")
def _indices(subject: Subject) -> str | None:
    rank, count = rank_of(subject.type("memref")), len(subject.values("indices"))
    if rank == count:
        return None
    if subject.llvm > 22:
        return f"invalid number of indices for accessed memref, expected {rank} but got {count}"
    if subject.name == "memref.load":
        return f"incorrect number of indices for load, expected {rank} but got {count}"
    return "store index operand count not equal to memref rank"


@rule("memref.alloc.sizes", "memref.alloc", "memref.alloca")
def _sizes(subject: Subject) -> str | None:
    dynamic = sum(size < 0 for size in shape_of(subject.type("memref")))
    if dynamic == len(subject.values("dynamicSizes")):
        return None
    return f"incorrect number of dynamic sizes, has {len(subject.values('dynamicSizes'))}, expected {dynamic}"


@rule("memref.view", "memref.view")
def _view(subject: Subject) -> str | None:
    source, result = subject.type("source"), subject.type("result")
    if memory_space(source) != memory_space(result):
        return f"different memory spaces specified for base memref type {typed(source)} and view memref type {typed(result)}"
    dynamic = sum(size < 0 for size in shape_of(result))
    return (
        None
        if dynamic == len(subject.values("sizes"))
        else f"incorrect number of size operands for type {typed(result)}"
    )


@rule("memref.cast", "memref.cast", "memref.memory_space_cast")
def _cast(subject: Subject) -> str | None:
    source, dest = subject.type("source"), subject.type("dest")
    fits = element_of(source) == element_of(dest)
    if is_memref(source) and is_memref(dest):
        fits = fits and rank_of(source) == rank_of(dest)
        if subject.name == "memref.memory_space_cast":
            fits = fits and shape_of(source) == shape_of(dest) and source.layout == dest.layout
        else:
            sizes = zip(shape_of(source), shape_of(dest), strict=False)
            fits = (
                fits and all(a == b or a < 0 or b < 0 for a, b in sizes) and memory_space(source) == memory_space(dest)
            )
    if fits:
        return None
    return f"operand type {typed(source)} and result type {typed(dest)} are cast incompatible"


@rule("memref.lists", "memref.subview", "memref.reinterpret_cast")
def _lists(subject: Subject) -> str | None:
    rank = rank_of(subject.type("source" if subject.name == "memref.subview" else "result"))
    counts = [len(numbers(subject.attribute(f"static_{name}"))) for name in ("offsets", "sizes", "strides")]
    so = "so the rank of the result type is well-formed."
    if subject.name == "memref.subview" and counts[0] != counts[1]:
        return f"expected mixed offsets rank to match mixed sizes rank ({counts[0]} vs {counts[1]}) {so}"
    if counts[1] != counts[2]:
        return f"expected mixed sizes rank to match mixed strides rank ({counts[1]} vs {counts[2]}) {so}"
    for name, what in (("offsets", "offset"), ("sizes", "size"), ("strides", "stride")):
        static = numbers(subject.attribute(f"static_{name}"))
        wanted = rank if subject.name == "memref.subview" or name != "offsets" else 1
        if len(static) != wanted:
            return f"expected {wanted} {what} values, got {len(static)}"
        dynamic, given = static.count(DYNAMIC_INDEX), len(subject.values(name))
        if dynamic != given:
            return f"expected {dynamic} dynamic {what} values"
    return None


@rule("memref.reinterpret_cast", "memref.reinterpret_cast")
def _reinterpret(subject: Subject) -> str | None:
    source, result = subject.type("source"), subject.type("result")
    if memory_space(source) != memory_space(result):
        return (
            f"different memory spaces specified for source type {typed(source)} and result memref type {typed(result)}"
        )
    if element_of(source) != element_of(result):
        if subject.llvm == 22:
            return f"different element types specified for source type {typed(source)} and result memref type {typed(result)}"
        return (
            f"source element type ({typed(source.element_type)}) does not match result element type "
            f"({typed(result.element_type)})"
        )
    (offset,), strides = numbers(subject.attribute("static_offsets")), _strides(result)
    if DYNAMIC_INDEX != offset != (own := _offset(result)) and own is not None:
        return f"expected result type with offset = {offset} instead of {own}"
    for d, (size, given) in enumerate(zip(shape_of(result), numbers(subject.attribute("static_sizes")), strict=True)):
        if DYNAMIC_INDEX not in (size, given) and size >= 0 and size != given:
            return f"expected result type with size = {given} instead of {size} in dim = {d}"
    for d, given in enumerate(numbers(subject.attribute("static_strides")) if strides is not None else ()):
        stride = None if strides is None else strides[d]
        if given != DYNAMIC_INDEX and stride is not None and stride != given:
            return f"expected result type with stride = {given} instead of {stride} in dim = {d}"
    return None


def _offset(kind: Any) -> int | None:
    """The offset of a memref in elements, None where it is not known."""
    layout = str(kind.layout)
    if layout == "none":
        return 0
    written = layout.partition("offset: ")[2].rstrip(">")
    if not layout.startswith("strided<") or written == "?":
        return None
    return int(written or 0)


def _strides(kind: Any) -> tuple[int | None, ...] | None:
    """The strides of a memref in elements, None for those that are not known; None for other layouts."""
    layout = str(kind.layout)
    if layout == "none":
        found: list[int | None] = [1]
        for size in reversed(shape_of(kind)[1:]):
            last = found[0]
            found.insert(0, None if last is None or size < 0 else last * size)
        return tuple(found[: rank_of(kind)])
    if not layout.startswith("strided<["):
        return None
    listed = layout[len("strided<[") :].partition("]")[0]
    return tuple(None if one.strip() == "?" else int(one) for one in listed.split(",") if one.strip())


@rule("memref.subview", "memref.subview")
def _subview(subject: Subject) -> str | None:
    source, result = subject.type("source"), subject.type("result")
    offsets, sizes, strides = (numbers(subject.attribute(f"static_{name}")) for name in ("offsets", "sizes", "strides"))
    expected = [None if size == DYNAMIC_INDEX else size for size in sizes]
    found = [None if size < 0 else size for size in shape_of(result)]
    reason = None
    if element_of(source) != element_of(result) and _reduced(expected, found):
        return f"expected result element type to be {typed(source.element_type)}, but got {typed(result)}"
    if not _reduced(expected, found):
        reason = "mismatch of result sizes"
    elif memory_space(source) != memory_space(result):
        reason = "mismatch of result memory space"
    elif not _same_strides(source, result, strides, expected, found) or _offset(result) != _start(source, offsets):
        reason = "mismatch of result layout"
    if reason is None:
        return _past_end(offsets, sizes, strides, shape_of(source))
    wanted = _viewed(source, offsets, sizes, strides)
    return f"expected result type to be {wanted} or a rank-reduced version. ({reason}), but got {typed(result)}"


def _start(source: Any, offsets: tuple[int, ...]) -> int | None:
    """Where a view begins, in elements from the start of the buffer; None where it is not known."""
    start, own = _offset(source), _strides(source) or (None,) * len(offsets)
    for offset, stride in zip(offsets, own, strict=True):
        start = None if start is None or stride is None or offset == DYNAMIC_INDEX else start + offset * stride
    return start


def _past_end(
    offsets: tuple[int, ...], sizes: tuple[int, ...], strides: tuple[int, ...], shape: tuple[int, ...]
) -> str | None:
    for d, (offset, size, stride, whole) in enumerate(zip(offsets, sizes, strides, shape, strict=True)):
        if whole < 0 or offset == DYNAMIC_INDEX:
            continue
        if not 0 <= offset < whole:
            return f"offset {d} is out-of-bounds: {offset} >= {whole}"
        if DYNAMIC_INDEX in (size, stride):
            continue
        end = offset + (size - 1) * stride
        if end >= whole:
            return f"slice along dimension {d} runs out-of-bounds: {end} >= {whole}"
    return None


def _viewed(source: Any, offsets: tuple[int, ...], sizes: tuple[int, ...], strides: tuple[int, ...]) -> str:
    """The type that a view has, as LLVM writes it."""
    own, start = _strides(source), _start(source, offsets)
    if own is None:
        return f"a subview of {typed(source)}"
    made = [None if a is None or b == DYNAMIC_INDEX else a * b for a, b in zip(own, strides, strict=True)]
    listed = ", ".join("?" if one is None else str(one) for one in made)
    place = "" if start == 0 else f", offset: {'?' if start is None else start}"
    shape = "".join(f"{'?' if size == DYNAMIC_INDEX else size}x" for size in sizes)
    space = typed(source).rpartition(", ")[2].rstrip("'") if memory_space(source) else ">"
    end = f", {space}" if memory_space(source) else ">"
    return f"'memref<{shape}{element_of(source)}, strided<[{listed}]{place}>{end}'"


def _reduced(expected: list[int | None], found: list[int | None]) -> bool:
    """Whether a shape is another, perhaps without some dimensions of size 1."""
    rest = list(found)
    for size in expected:
        if rest and rest[0] == size:
            rest.pop(0)
        elif size != 1:
            return False
    return not rest


def _same_strides(
    source: Any, result: Any, strides: tuple[int, ...], expected: list[int | None], found: list[int | None]
) -> bool:
    """Whether the result's strides are the source's times the view's; only where no dimension is dropped."""
    own, given = _strides(source), _strides(result)
    if own is None or given is None or len(expected) != len(found):
        return True
    made = [None if a is None or b == DYNAMIC_INDEX else a * b for a, b in zip(own, strides, strict=True)]
    return made == list(given)
