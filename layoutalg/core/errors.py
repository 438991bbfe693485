"""Every error that layoutalg raises on purpose.

`LayoutError` is the root, and a `ValueError`: code that only wants to know "was the input bad?" catches that.
The message is written for the person who pasted the text: it repeats what was read, the shape it met, the dimension
or the column at fault, and what would have been accepted. A shape that does not fit is refused by the notation's own
distribution (`xegpu.distribution`, `nested.distribution`), a machine that does not fit by `core.work_items.cover`.

>>> issubclass(ParseError, LayoutError) and issubclass(LayoutError, ValueError)
True
"""

from __future__ import annotations

from typing import NamedTuple

from layoutalg.core.messages import one_line, shortened

__all__ = [
    "CompositionError",
    "ConversionError",
    "DistributionError",
    "LayoutError",
    "ParseError",
    "PlanError",
    "SizeError",
    "TextPlace",
    "VerificationError",
]


class TextPlace(NamedTuple):
    """A place in a text that was read: `line` and `column` count from 1; `file` is a name, or None for a text alone."""

    text: str
    line: int
    column: int
    file: str | None = None


class LayoutError(ValueError):
    """The root of layoutalg's errors; a message is one line, and cut in its middle over 2,000 characters.

    `place` says where in a text the fault is, where that is known; the command line shows it with a caret.

    >>> raise LayoutError("axis 'lane' has a gap")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: axis 'lane' has a gap
    """

    place: TextPlace | None = None

    def __init__(self, *args: object, place: TextPlace | None = None) -> None:
        if place is not None:
            self.place = place
        super().__init__(*(shortened(one_line(one)) if isinstance(one, str) else one for one in args))


class ParseError(LayoutError):
    """Text that could not be read: where (`line` and `column` count from 1), and what was `expected` there.

    >>> error = ParseError("#xegpu.foo<>", 7, "'layout', 'slice' or 'range'")
    >>> error.line, error.column
    (1, 8)
    >>> print(error)
    line 1, column 8: expected 'layout', 'slice' or 'range', found 'foo<>'
    """

    def __init__(self, text: str, position: int, expected: str, problem: str | None = None) -> None:
        position = min(max(position, 0), len(text))
        self.text = text
        self.position = position
        self.expected = expected
        self.line = text.count("\n", 0, position) + 1
        self.column = position - (text.rfind("\n", 0, position) + 1) + 1
        rest = text[position : position + 20].split("\n", 1)[0]
        found = problem or (f"found {rest!r}" if rest else "found the end of the text")
        place = TextPlace(text, self.line, self.column)
        super().__init__(f"line {self.line}, column {self.column}: expected {expected}, {found}", place=place)

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self), self.__dict__, self.args)


class VerificationError(LayoutError):
    """A rule of a dialect that the text breaks, in the dialect's own words where it has them.

    >>> raise VerificationError("expected sg_layout being used with sg_data")
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: expected sg_layout being used with sg_data
    """


class DistributionError(LayoutError):
    """A layout that cannot tile the shape it was asked for; says which dimension, and what would fit.

    >>> raise DistributionError("dimension 0 of [10, 16]: 10 is not a multiple of lane_layout[0] = 4")
    Traceback (most recent call last):
    layoutalg.core.errors.DistributionError: dimension 0 of [10, 16]: 10 is not a multiple of lane_layout[0] = 4
    """


class CompositionError(LayoutError):
    """Two layouts whose factors have no common refinement: the composition is exact only as a table of indices.

    >>> raise CompositionError("axis 'd0': 3 does not divide 2")
    Traceback (most recent call last):
    layoutalg.core.errors.CompositionError: axis 'd0': 3 does not divide 2
    """


class ConversionError(LayoutError):
    """A layout that cannot be converted or translated as asked.

    >>> raise ConversionError("no counterpart for factor 3@lane")
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: no counterpart for factor 3@lane
    """


class PlanError(LayoutError):
    """A GEMM that cannot be planned as asked; says which limit, and what would fit.

    >>> raise PlanError("k = 50: rows of 100 bytes, the pitch must be a multiple of 16 bytes")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: k = 50: rows of 100 bytes, the pitch must be a multiple of 16 bytes
    """


class SizeError(LayoutError):
    """A result that would be too large to build; says how to ask for a part of it.

    >>> raise SizeError("a fragment map of 2^40 entries; ask for one subgroup with fragment_map(sg=0)")
    Traceback (most recent call last):
    layoutalg.core.errors.SizeError: a fragment map of 2^40 entries; ask for one subgroup with fragment_map(sg=0)
    """


def _restore(kind: type[LayoutError], state: dict[str, object], args: tuple[object, ...]) -> LayoutError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error
