"""Shuffles of pieces: what another lane of the subgroup has, word by word.

A piece of eight f32 takes eight shuffles; of eight f16, four, as two of them are a word. Elements of 64 bits are two words.

>>> from layoutalg.core.notation import Machine
>>> kernel = KernelText("k", Machine(lanes=16, subgroups=1), subgroups=1)
>>> kernel.writer.arguments = (halves := Value("f16", 4),)
>>> from_distance(kernel, halves, 8).kind, kernel.writer.text().count("gpu.shuffle xor")
('vector<4xf16>', 2)
"""

from __future__ import annotations

from layoutalg.conversion.lowering.fragment_vectors import cast as as_bits
from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.elements import element_bits
from layoutalg.lowering.fragments import length, picked
from layoutalg.lowering.kernels import KernelText

__all__ = ["from_distance", "from_lane"]


def from_distance(kernel: KernelText, piece: Value, distance: int) -> Value:
    """A piece of the lane whose number differs by XOR with `distance`."""
    return _shuffled(kernel, piece, f"xor:{distance}")


def from_lane(kernel: KernelText, piece: Value, lane: int) -> Value:
    """A piece of one lane, for all of its subgroup."""
    return _shuffled(kernel, piece, f"idx:{lane}")


def _shuffled(kernel: KernelText, piece: Value, other: str) -> Value:
    """Words of 32 bits, one after another."""
    writer = kernel.writer
    if piece.element == "index" or (bits := element_bits(piece.element)) > 32:
        return _by_elements(kernel, piece, other, "i64", 64)
    if piece.element == "f32":  # a shuffle moves it as it is
        elements = picked(writer, [piece], range(length(piece)), (1,) * length(piece))
        received = [_shuffle(kernel, one, other) for one in elements]
        return picked(writer, received, range(len(received)), (length(piece),))[0]
    per = 32 // bits
    if piece.size is None or piece.size % per:
        return _by_elements(kernel, piece, other, f"i{bits}", bits)
    count = piece.size // per
    words = writer.value(f"vector.bitcast %s : {piece.kind} to vector<{count}xi32>", (piece,), "i32", count)
    moved = [_shuffle(kernel, word, other) for word in picked(writer, [words], range(count), (1,) * count)]
    places = ", ".join(["%s"] * count)
    together = writer.value(f"vector.from_elements {places} : vector<{count}xi32>", moved, "i32", count)
    return writer.value(f"vector.bitcast %s : {together.kind} to {piece.kind}", (together,), piece.element, piece.size)


def _by_elements(kernel: KernelText, piece: Value, other: str, integer: str, bits: int) -> Value:
    """A piece whose elements do not fill words, moved element by element."""
    writer = kernel.writer
    elements = picked(writer, [piece], range(length(piece)), (1,) * length(piece))
    moved: list[Value] = []
    for one in elements:
        number = (
            as_bits(kernel.indices, one, integer)
            if one.element != "index"
            else _cast(kernel, one, "index_cast", integer)
        )
        if bits < 32:
            wide = _shuffle(kernel, _cast(kernel, number, "extui", "i32"), other)
            number = _cast(kernel, wide, "trunci", integer)
        elif bits == 32:
            number = _shuffle(kernel, number, other)
        else:
            low = _shuffle(kernel, _cast(kernel, number, "trunci", "i32"), other)
            up = kernel.indices.constant(32, "i64")
            high = _cast(kernel, kernel.indices.binary("shrui", number, up), "trunci", "i32")
            high = _cast(kernel, _shuffle(kernel, high, other), "extui", "i64")
            number = kernel.indices.binary(
                "ori", _cast(kernel, low, "extui", "i64"), kernel.indices.binary("shli", high, up)
            )
        back = (
            _cast(kernel, number, "index_cast", "index")
            if one.element == "index"
            else as_bits(kernel.indices, number, one.element)
        )
        moved.append(back)
    if piece.size is None:
        return moved[0]
    form = f"vector.from_elements {', '.join(['%s'] * len(moved))} : {piece.kind}"
    return writer.value(form, moved, piece.element, piece.size)


def _cast(kernel: KernelText, value: Value, operation: str, to: str) -> Value:
    return kernel.writer.value(f"arith.{operation} %s : {value.kind} to {to}", (value,), to)


def _shuffle(kernel: KernelText, word: Value, other: str) -> Value:
    mode, _, number = other.partition(":")
    received = Value(word.element)
    operands = (word, kernel.indices.constant(int(number)), kernel.indices.constant(kernel.lanes))
    form = f"gpu.shuffle {mode} %s, %s, %s : {word.element}"
    kernel.writer.values(form, operands, (received, Value("i1", name="valid")))
    return received
