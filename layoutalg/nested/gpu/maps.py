"""Indexing maps: which loop each dimension of an operand runs over.

>>> read_map("affine_map<(i, j, k) -> (i, k)>")
IndexingMap(loops=3, dims=(0, 2))
>>> print(read_map("(m, n, k) -> (k, m)"))
affine_map<(d0, d1, d2) -> (d2, d0)>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from layoutalg.core.errors import VerificationError
from layoutalg.core.limits import MOST_LOOPS as _MOST_LOOPS
from layoutalg.core.messages import shown
from layoutalg.core.reader import Reader
from layoutalg.core.whole_numbers import as_ints

__all__ = ["IndexingMap", "as_map", "read_map"]


MapLike: TypeAlias = "IndexingMap | str | tuple[int, Sequence[int]]"


@dataclass(frozen=True, slots=True)
class IndexingMap:
    """A projected permutation: dimension i of an operand runs over loop `dims[i]` of `loops`.

    Raises `VerificationError` in IREE's words for a loop that stands twice.
    """

    loops: int
    dims: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dims", as_ints("dims", self.dims))
        if type(self.loops) is not int or not 0 <= self.loops <= _MOST_LOOPS:
            raise VerificationError(f"{shown(self.loops)} loops: expected 0 to {_MOST_LOOPS}")
        if any(not 0 <= d < self.loops for d in self.dims):
            raise VerificationError(f"dims {shown(list(self.dims))}: expected loops of 0..{self.loops - 1}")
        if len(set(self.dims)) != len(self.dims):
            raise VerificationError(f"expected {self} to be a projected permutation of its inputs")

    def __str__(self) -> str:
        names = ", ".join(f"d{i}" for i in range(self.loops))
        return f"affine_map<({names}) -> ({', '.join(f'd{d}' for d in self.dims)})>"


def read_map(text: str) -> IndexingMap:
    """Read `affine_map<(i, j, k) -> (i, k)>`, or the part inside.

    Raises `ParseError` with the column; expressions other than a loop are refused.

    >>> read_map("(i) -> (i + 1)")
    Traceback (most recent call last):
    layoutalg.core.errors.ParseError: line 1, column 11: expected ',' or ')', found '+': only projected permutations index
    an operand
    """
    reader = Reader(text)
    wrapped = reader.accept("affine_map")
    if wrapped:
        reader.expect("<")
    loops = _names(reader, None)
    reader.expect("->")
    dims = _names(reader, loops)
    if wrapped:
        reader.expect(">")
    reader.finish()
    return IndexingMap(len(loops), tuple(loops.index(name) for name in dims))


def _names(reader: Reader, known: list[str] | None) -> list[str]:
    reader.expect("(")
    found: list[str] = []
    while not reader.accept(")"):
        if found and not reader.accept(","):
            reader.fail("',' or ')'", _found(reader))
        at = reader.skip()
        name = reader.word("a loop")
        if known is None and name in found:
            reader.fail("another name", f"{name[:40]!r} stands twice", at=at)
        if known is not None and name not in known:
            reader.fail(f"one of {', '.join(known)}", at=at)
        found.append(name)
    return found


def _found(reader: Reader) -> str:
    rest = reader.text[reader.skip() :][:1]
    return f"found {rest!r}: only projected permutations index an operand" if rest else "found the end"


def as_map(value: MapLike) -> IndexingMap:
    """A map from a map, a text, or (loops, dims)."""
    if isinstance(value, IndexingMap):
        return value
    if isinstance(value, str):
        return read_map(value)
    if not isinstance(value, (tuple, list)) or len(value) != 2:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise VerificationError(f"indexing map {shown(value)}: expected a text or (loops, dims)")
    return IndexingMap(value[0], as_ints("dims", value[1]))
