"""The vectors of a fragment: their sizes, and how elements are taken out of them and put together.

>>> from layoutalg.conversion.lowering.writer import Writer
>>> writer = Writer([held := Value("f16", 4, "held")])
>>> indices = Indices(writer, 1, 16)
>>> print(together(indices, [element_at(indices, held, 3)] * 2).kind)
vector<2xf16>
>>> print(writer.text())
%0 = vector.extract %held[3] : f16 from vector<4xf16>
%1 = vector.from_elements %0, %0 : vector<2xf16>
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutalg.conversion.lowering.indices import Indices
from layoutalg.conversion.lowering.writer import Value

__all__ = ["bitcast", "cast", "element_at", "length", "together", "vector_of", "vector_sizes"]

_SIZES = (16, 8, 4, 3, 2, 1)
"""The sizes of vectors in SPIR-V, and the scalar."""


def vector_sizes(count: int) -> list[int]:
    """The sizes of the vectors that hold so many elements.

    >>> vector_sizes(16), vector_sizes(7)
    ([16], [4, 3])
    """
    found: list[int] = []
    for size in _SIZES:
        found += [size] * ((count - sum(found)) // size)
    return found


def cast(indices: Indices, value: Value, element: str) -> Value:
    """The same bits as elements of another type of the same size.

    >>> from layoutalg.conversion.lowering.writer import Writer
    >>> zero = Value("i32")
    >>> cast(Indices(Writer(), 1, 16), zero, "f32").kind, cast(Indices(Writer(), 1, 16), zero, "i32") is zero
    ('f32', True)
    """
    if value.element == element:
        return value
    if value.size is None:
        return indices.writer.value(f"arith.bitcast %s : {value.kind} to {element}", (value,), element)
    return bitcast(indices, value, value.size, element)


def bitcast(indices: Indices, value: Value, size: int, element: str) -> Value:
    """The same bits as a vector of `size` elements of another type."""
    form = f"vector.bitcast %s : {value.kind} to vector<{size}x{element}>"
    return indices.writer.value(form, (value,), element, size)


def element_at(indices: Indices, value: Value, position: int) -> Value:
    """An element of a vector (or of a scalar, itself)."""
    if value.size is None:
        return value
    form = f"vector.extract %s[{position}] : {value.element} from {value.kind}"
    return indices.writer.value(form, (value,), value.element)


def vector_of(indices: Indices, elements: Sequence[Value]) -> Value:
    """The vector of these elements."""
    element, size = elements[0].element, len(elements)
    places = ", ".join(["%s"] * size)
    return indices.writer.value(f"vector.from_elements {places} : vector<{size}x{element}>", elements, element, size)


def together(indices: Indices, elements: Sequence[Value]) -> Value:
    """The vector of these elements, or the only one."""
    return elements[0] if len(elements) == 1 else vector_of(indices, elements)


def length(piece: Value) -> int:
    """The elements of a vector; 1 of a scalar."""
    return 1 if piece.size is None else piece.size
