"""What callers give for a linear layout, checked: names, bases, sizes, places.

>>> bases_of_input("lane", [[1, 0], [0, 1]], 2)
((1, 0), (0, 1))
>>> bases_of_input("lane", [[1]], 2)
Traceback (most recent call last):
layoutalg.core.errors.ConversionError: lane basis 0, [1]: expected 2 coordinates, one per output
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, cast

from layoutalg.core.errors import ConversionError, SizeError
from layoutalg.core.limits import LONGEST_NAME, MAX_EXTENT, MOST_COORDINATES, MOST_DIMENSIONS
from layoutalg.core.limits import MOST_LINEAR_BITS as _MOST_BITS
from layoutalg.core.messages import shown
from layoutalg.core.number_arrays import together, whole_array
from layoutalg.core.whole_numbers import found_whole, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Bases",
    "Basis",
    "Sizes",
    "bases_of_input",
    "listing",
    "name_of",
    "names_of",
    "pair_of",
    "places_of",
    "power_of_two",
]

Basis = tuple[int, ...]
Bases = tuple[Basis, ...]
Sizes = tuple[tuple[str, int], ...]


def power_of_two(size: object, what: str) -> int:
    """A size that must be a power of two.

    Raises `ConversionError` for anything else.

    >>> power_of_two(24, "dimension 0")
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: dimension 0 24: expected a power of two
    """
    number = found_whole(size)
    if number is None or number < 1 or number & (number - 1):
        raise ConversionError(f"{what} {shown(size)}: expected a power of two")
    if number > MAX_EXTENT:
        raise ConversionError(f"{what} {shown(size)}: expected at most 2^31")
    return number


def name_of(name: object, what: str) -> str:
    """The name of an input or of an output.

    >>> name_of("lane", "input")
    'lane'
    """
    if not isinstance(name, str) or not name or len(name) > LONGEST_NAME:
        raise ConversionError(f"{what} {shown(name)}: expected a name")
    return name


def names_of(names: object, what: str) -> tuple[str, ...]:
    """Names of inputs or of outputs, each once."""
    found = listed(names, f"names of {what}s", MOST_DIMENSIONS, ConversionError)
    for name in found:
        name_of(name, what)
    if len(set(found)) != len(found):
        raise ConversionError(f"{what}s {listing(found)}: expected each name once")
    return tuple(found)


def pair_of(given: object) -> tuple[str, object]:
    """The name of an input and its bases."""
    try:
        name, bases = cast("tuple[Any, Any]", given)
    except (TypeError, ValueError):
        raise ConversionError(f"bases {shown(given)}: expected a pair of an input's name and its bases") from None
    return name, bases


def bases_of_input(name: str, bases: object, rank: int) -> Bases:
    """The bases of one input, of `rank` coordinates each."""
    found: list[Basis] = []
    for i, given in enumerate(listed(bases, f"bases of {name!r}", _MOST_BITS, ConversionError)):
        basis = tuple(listed(given, f"{name} basis {i},", MOST_DIMENSIONS, ConversionError))
        values = [found_whole(value) for value in basis]
        if len(basis) != rank:
            raise ConversionError(
                f"{name} basis {i}, {shown(list(basis))}: expected {rank} coordinates, one per output"
            )
        if any(value is None or not 0 <= value < MAX_EXTENT for value in values):
            raise ConversionError(f"{name} basis {i}, {shown(list(basis))}: expected coordinates from 0 to 2^31 - 1")
        found.append(tuple([value for value in values if value is not None]))
    return tuple(found)


def places_of(inputs: Mapping[str, Any]) -> dict[str, int | NDArray[Any]]:
    """A place of each input: a whole number, or an array of them; they broadcast to at most `MOST_COORDINATES` places."""
    numbers = {name: found_whole(given) for name, given in inputs.items()}
    arrays = {name: whole_array(inputs[name], name, ConversionError) for name, one in numbers.items() if one is None}
    count = prod(together(arrays, ConversionError)) if arrays else 1
    if count > MOST_COORDINATES:
        raise SizeError(f"{count} places: expected at most {MOST_COORDINATES} at a time")
    return {name: arrays[name] if one is None else one for name, one in numbers.items()}


def listing(names: Sequence[object]) -> str:
    """Names for a message."""
    return ", ".join(map(str, names)) or "(none)"
