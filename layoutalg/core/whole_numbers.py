"""Is it a whole number, a truth value, a name of a list? One place says so for sizes, fields and arguments of all kinds.

A whole number is an `int`, or what Python can use as one (numpy's integers); a bool is not, a float is not, text is not.

>>> whole_number(np.int64(16), "lanes =", 1, 2**31), whole_numbers([16, 8], "tile", 1, 2**31)
(16, (16, 8))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from operator import index
from typing import Any, SupportsIndex, cast

from layoutalg.core.errors import LayoutError, VerificationError
from layoutalg.core.limits import MAX_START, MOST_DIGITS, MOST_GIVEN
from layoutalg.core.messages import number_text, shown

__all__ = [
    "as_flag",
    "as_ints",
    "as_whole",
    "found_whole",
    "instance_of",
    "listed",
    "one_of",
    "whole_number",
    "whole_numbers",
]

_WHOLE = {int}
_UNPRINTABLE = 10**MOST_DIGITS


def found_whole(value: object) -> int | None:
    """The value as an `int`; None for what is not a whole number.

    >>> found_whole(7), found_whole(True), found_whole(7.0), found_whole("7")
    (7, None, None, None)
    """
    if type(value) is int:
        return value
    if isinstance(value, bool):
        return None
    try:
        return index(cast(SupportsIndex, value))
    except TypeError:
        return None


def whole_number(
    value: object,
    what: str,
    low: int = 1,
    high: int | None = None,
    error: type[LayoutError] = LayoutError,
    hint: str = "",
) -> int:
    """A whole number from `low` to `high` that a caller gave; `what` begins the message, `hint` ends it.

    Raises `error` for anything else.

    >>> whole_number(0, "lanes =", 1, 2**31)
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: lanes = 0: expected a whole number from 1 to 2147483648
    >>> whole_number(1.5, "lanes =")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: lanes = 1.5: expected a whole number, got float
    """
    number = found_whole(value)
    if number is None:
        raise error(f"{what} {shown(value)}: expected a whole number, got {type(value).__name__}{hint}")
    if number < low or (high is not None and number > high):
        accepted = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise error(f"{what} {number_text(number)}: expected a whole number {accepted}{hint}")
    return number


def as_flag(value: object, what: str, error: type[LayoutError] = LayoutError) -> bool:
    """A truth value that a caller gave, numpy's included; 0 and 1 are taken for one.

    Raises `error` for anything else.

    >>> as_flag(True, "full"), as_flag(0, "full")
    (True, False)
    >>> as_flag("no", "full")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: full = 'no': expected True or False
    """
    if isinstance(value, bool):
        return value
    number = int(cast(Any, value)) if type(value).__name__ in ("bool", "bool_") else found_whole(value)
    if number not in (0, 1):
        raise error(f"{what} = {shown(value)}: expected True or False")
    return bool(number)


def one_of(value: object, names: Sequence[str], what: str, error: type[LayoutError] = LayoutError) -> str:
    """A name out of a list that a caller gave.

    Raises `error` for anything else.

    >>> one_of("lane", ("subgroup", "lane"), "level")
    'lane'
    >>> one_of("warp", ("subgroup", "lane"), "level")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: level 'warp': expected 'subgroup' or 'lane'
    """
    if type(value) is not str or value not in names:
        *others, last = map(repr, names)
        raise error(f"{what} {shown(value)}: expected {', '.join(others)}{' or ' * bool(others)}{last}")
    return value


def instance_of(
    value: object, kind: type | tuple[type, ...], what: str, error: type[LayoutError] = LayoutError
) -> None:
    """Refuse what is not of a class, or of one of several.

    >>> instance_of(4, (str, type(None)), "name")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: name 4: expected a str or None
    """
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        names = ["None" if one is type(None) else f"{_article(one)} {one.__name__}" for one in kinds]
        raise error(f"{what} {shown(value)}: expected {' or '.join(names)}")


def _article(kind: type) -> str:
    return "an" if kind.__name__[0] in "AEIOaeio" else "a"


def listed(
    values: object, what: str, most: int = MOST_GIVEN, error: type[LayoutError] = LayoutError
) -> tuple[Any, ...] | list[Any]:
    """What a caller gave for a list: a tuple or a list as it is, anything else that can be counted through as a tuple.

    Raises `LayoutError` for a text and for what has no entries, `error` for more than `most` of them.

    >>> listed(range(3), "shape"), listed([4, 8], "shape")
    ((0, 1, 2), [4, 8])
    >>> listed(range(10**30), "shape")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: shape range(0, 1000000000000000000000000000000): expected at most 65536 entries
    """
    given = values
    if isinstance(values, (tuple, list)):
        found = cast("tuple[Any, ...] | list[Any]", values)
    else:
        try:
            whole = isinstance(values, (str, bytes))
            many = isinstance(values, range) and values and abs(values[-1] - values[0]) // abs(values.step) >= most
            found = () if whole or many else tuple(islice(cast("Iterable[Any]", values), most + 1))
            if many:
                raise error(f"{what} {shown(given)}: expected at most {most} entries")
        except TypeError:
            whole, found = True, ()
        if whole:
            raise LayoutError(f"{what} {shown(given)}: expected a list, got {type(given).__name__}")
    if len(found) > most:
        raise error(f"{what} {shown(given)}: expected at most {most} entries")
    return found


def as_whole(value: object, what: str) -> int:
    """Check a whole number that may be negative (an offset or an origin)."""
    return whole_number(value, what, -MAX_START, MAX_START)


def whole_numbers(values: object, what: str, low: int, high: int, count: int | None = None) -> tuple[int, ...]:
    """A list or tuple of whole numbers from `low` to `high`, as many as `count` says, as a tuple.

    Raises `VerificationError` for anything else; of a large value only the beginning is shown.

    >>> whole_numbers([16, True], "tile", 1, 2**31)
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: tile [16, True]: expected whole numbers from 1 to 2147483648
    """
    given = values
    if isinstance(values, (tuple, list)):
        found = tuple(cast("Sequence[Any]", values))
        if all(type(value) is int and low <= value <= high for value in found) and count in (None, len(found)):
            return found
    alone = f", in a list or a tuple: ({given},)" if type(given) is int and low <= given <= high else ""
    raise VerificationError(f"{what} {shown(given)}: expected whole numbers from {low} to {high}{alone}")


def as_ints(name: str, value: object) -> tuple[int, ...]:
    """Check a field of an attribute that is a list of whole numbers; a list becomes a tuple.

    Raises `VerificationError` for anything else, for a list of more than 2^16, and for a number that Python does not print.

    >>> as_ints("sg_layout", [2, 4])
    (2, 4)
    >>> as_ints("sg_layout", range(10**9))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: sg_layout = range(0, 1000000000): expected at most 65536 entries
    """
    whole = value
    if isinstance(value, (tuple, list, range)):
        given = tuple(listed(cast("Sequence[Any]", value), f"{name} =", MOST_GIVEN, VerificationError))
        if set(map(type, given)) <= _WHOLE:
            if not given or max(max(given), -min(given)) < _UNPRINTABLE:
                return given
            raise VerificationError(f"{name} = {shown(whole)}: expected whole numbers of at most {MOST_DIGITS} digits")
    raise VerificationError(f"{name} = {shown(whole)}: expected a list of whole numbers")
