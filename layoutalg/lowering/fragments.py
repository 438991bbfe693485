"""A value at lane level: the registers of its layout, in order, as a tuple of vectors.

Each vector is what one message or matrix instruction moves: an 8x16 tile of f32 is `vector<8xf32>` in each of 16 lanes, and a
lane has two of them of a 16x16 tile. A single register is a scalar.

>>> first, second = Value("f32", 8), Value("f32", 8)
>>> tile = Fragment(Layout.parse("d0 = 2@reg:8 8@reg, d1 = 16@lane"), (first, second))
>>> tile.sizes, tile.count
((8, 8), 16)

Registers are renamed (`picked`) and put into vectors of other sizes (`regrouped`) without moving anything between work-items:

>>> writer = Writer([first, second])
>>> [rows] = picked(writer, tile.pieces, (0, 8), (2,))
>>> print(writer.text())
%2 = vector.shuffle %0, %1 [0, 8] : vector<8xf32>, vector<8xf32>

The law: a vector that is asked for as it stands is not written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.conversion.lowering.fragment_vectors import vector_sizes
from layoutalg.conversion.lowering.writer import Value, Writer
from layoutalg.core.layout import Layout
from layoutalg.core.whole_numbers import instance_of

__all__ = ["Fragment", "length", "picked", "piece_sizes", "regrouped", "vector_size"]


@dataclass(frozen=True, slots=True)
class Fragment:
    """The pieces of a value in each work-item: vectors (or single elements), the next registers of `layout` each.

    >>> Fragment(Layout.parse("d0 = 16@lane"), (Value("f32"),)).count
    1
    """

    layout: Layout
    pieces: tuple[Value, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The registers of each piece."""
        return tuple([length(piece) for piece in self.pieces])

    @property
    def count(self) -> int:
        """The registers of all of them."""
        return sum(self.sizes)


def length(piece: Value) -> int:
    """The registers of one piece."""
    return 1 if piece.size is None else piece.size


def vector_size(count: int) -> int | None:
    """The size of a vector of so many elements; None for one, which is a scalar."""
    return None if count == 1 else count


def piece_sizes(count: int, tile: int | None = None) -> tuple[int, ...]:
    """The sizes of the pieces of so many registers, of which an instruction moves `tile` at once.

    >>> piece_sizes(16, 8), piece_sizes(24), piece_sizes(6, 3)
    ((8, 8), (16, 8), (3, 3))
    """
    instance_of(count, int, "count")
    instance_of(tile, (int, type(None)), "tile")
    if tile is None or tile < 1 or count % tile:
        return tuple(vector_sizes(count))
    return tuple(vector_sizes(tile)) * (count // tile)


def regrouped(writer: Writer, pieces: Sequence[Value], sizes: Sequence[int]) -> list[Value]:
    """The same registers in vectors of these sizes."""
    if tuple([length(piece) for piece in pieces]) == tuple(sizes):
        return list(pieces)
    return picked(writer, pieces, range(sum(sizes)), sizes)


def picked(writer: Writer, pieces: Sequence[Value], registers: Sequence[int], sizes: Sequence[int]) -> list[Value]:
    """These registers of the pieces, in this order, in vectors of these sizes."""
    homes = [(piece, place) for piece in pieces for place in range(length(piece))]
    found: list[Value] = []
    start = 0
    for size in sizes:
        found.append(_joined(writer, [homes[register] for register in registers[start : start + size]]))
        start += size
    return found


def _joined(writer: Writer, homes: Sequence[tuple[Value, int]]) -> Value:
    """The vector of single registers, by the shortest text: itself, a shuffle of one or two vectors, or one by one.

    LLVM 23 takes a shuffle of bytes that were words as one of words, and crashes where less than a word is left (2 or 3 bytes).
    """
    first, size = homes[0][0], len(homes)
    pieces = list(dict.fromkeys(piece for piece, _ in homes))
    if (
        len(pieces) == 1
        and [place for _, place in homes] == list(range(length(first)))
        and (size > 1 or first.size is None)
    ):
        return first
    if size == 1:
        return _element(writer, *homes[0])
    bytes_of_a_word = size < 4 and first.element in ("i8", "f8E4M3FN", "f8E5M2")
    if (
        not bytes_of_a_word
        and len(pieces) <= 2
        and all(piece.size is not None and piece.size == first.size for piece in pieces)
    ):
        one, other = pieces[0], pieces[-1]
        after = 0 if one is other else length(one)
        mask = ", ".join([str(place if piece is one else after + place) for piece, place in homes])
        form = f"vector.shuffle %s, %s [{mask}] : {one.kind}, {other.kind}"
        return writer.value(form, (one, other), first.element, size)
    places = ", ".join(["%s"] * size)
    elements = [_element(writer, *home) for home in homes]
    return writer.value(
        f"vector.from_elements {places} : vector<{size}x{first.element}>", elements, first.element, size
    )


def _element(writer: Writer, piece: Value, place: int) -> Value:
    if piece.size is None:
        return piece
    return writer.value(f"vector.extract %s[{place}] : {piece.element} from {piece.kind}", (piece,), piece.element)
