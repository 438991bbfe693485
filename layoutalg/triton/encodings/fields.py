"""The dictionary of an attribute, `{order = [1, 0], vec = 8 : i32}`: read once, then asked for by name.

Each value remembers where it stands, so that a wrong one is an error with line and column; what nobody asked for is unknown.

>>> fields = Fields.read(Reader("{dim = 1 : i32, cga = [[0, 1]], ok = true}"), "#x", lambda reader: None)
>>> fields.integer("dim"), fields.bases("cga"), fields.flag("ok"), fields.unknown()
(1, ((0, 1),), True, [])
>>> Fields.read(Reader("{dims = 1}"), "#x", lambda reader: None).integer("dim")
Traceback (most recent call last):
layoutalg.core.errors.ParseError: line 1, column 1: expected 'dim' in #x, found 'dims'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, cast

from layoutalg.core.limits import MOST_GIVEN
from layoutalg.core.reader import Reader, did_you_mean

__all__ = ["Fields"]

_MISSING = object()


class Fields:
    """The values of a dictionary by key, with their places.

    >>> sorted(Fields.read(Reader("{b = 1, a = [2]}"), "#x", lambda reader: None).values)
    ['a', 'b']
    """

    def __init__(self, reader: Reader, name: str, start: int) -> None:
        self.reader = reader
        self.name = name
        self.start = start
        self.values: dict[str, tuple[object, int]] = {}
        self.asked: set[str] = set()

    @classmethod
    def read(cls, reader: Reader, name: str, nested: Callable[[Reader], object]) -> Fields:
        """Read `{key = value, ..}`; `nested` reads a value that is an attribute."""
        found = cls(reader, name, reader.skip())
        reader.expect("{")
        found.rest(nested, "}")
        return found

    def rest(self, nested: Callable[[Reader], object], end: str) -> None:
        """Read `key = value, ..` up to and with `end`."""
        while not self.reader.accept(end):
            if self.values:
                self.reader.expect(",")
            at = self.reader.skip()
            key = self.reader.word("a key")
            if key in self.values:
                self.reader.fail("each key once", f"found {key!r} again", at=at)
            self.reader.expect("=")
            place = self.reader.skip()
            self.values[key] = (self.reader.nested(lambda: self._value(nested)), place)

    def _value(self, nested: Callable[[Reader], object]) -> object:
        reader = self.reader
        if reader.looking_at("#"):
            return nested(reader)
        if reader.looking_at("{"):
            return Fields.read(reader, self.name, nested)
        if reader.accept("["):
            items: list[object] = []
            while not reader.accept("]"):
                if items:
                    reader.expect(",")
                if len(items) == MOST_GIVEN:
                    reader.fail(f"at most {MOST_GIVEN} entries")
                items.append(reader.nested(lambda: self._value(nested)))
            return tuple(items)
        number = reader.accept_integer()
        if number is not None:
            if reader.accept(":"):
                reader.word("a type, such as i32")
            return number
        word = reader.word("a value")
        return {"true": True, "false": False}.get(word, word)

    def has(self, key: str) -> bool:
        """Whether the dictionary has a key."""
        return key in self.values

    def _get(self, key: str, default: object) -> object:
        self.asked.add(key)
        if key in self.values:
            return self.values[key][0]
        if default is _MISSING:
            close = next(
                (f"found {k!r}" for k in self.values if k not in self.asked and did_you_mean(k, (key,))),
                "which is missing",
            )
            self.reader.fail(f"'{key}' in {self.name}", close, at=self.start)
        return default

    def _refuse(self, key: str, expected: str) -> NoReturn:
        self.reader.fail(f"{expected} for {key}", at=self.values[key][1])

    def integer(self, key: str, default: object = _MISSING) -> Any:
        """The value of a key that is a whole number."""
        value: Any = self._get(key, default)
        if key in self.values and type(value) is not int:
            self._refuse(key, "an integer")
        return value

    def flag(self, key: str, default: object = _MISSING) -> Any:
        """The value of a key that is true or false."""
        value: Any = self._get(key, default)
        if key in self.values and type(value) is not bool:
            self._refuse(key, "true or false")
        return value

    def integers(self, key: str, default: object = _MISSING) -> Any:
        """The value of a key that is a list of whole numbers."""
        value: Any = self._get(key, default)
        if key in self.values and not _all_integers(value):
            self._refuse(key, "a list of integers")
        return value

    def bases(self, key: str, default: object = _MISSING) -> Any:
        """The value of a key that is a list of lists of whole numbers, none negative."""
        value: Any = self._get(key, default)
        if key in self.values and not _all_bases(value):
            self._refuse(key, "a list of bases, such as [[0, 1], [1, 0]],")
        return value

    def inner(self, key: str, default: object = _MISSING) -> Any:
        """The value of a key that is a dictionary."""
        value: Any = self._get(key, default)
        if key in self.values and not isinstance(value, Fields):
            self._refuse(key, "a dictionary, such as {warp = [[0, 1]]},")
        return value

    def attribute(self, key: str, kind: type) -> Any:
        """The value of a key that is an attribute of a class."""
        value: Any = self._get(key, _MISSING)
        if not isinstance(value, kind):
            self._refuse(
                key, "a distributed encoding" if kind.__name__ == "Distributed" else "an encoding of shared memory"
            )
        return value

    def unknown(self) -> list[str]:
        """The keys that nobody asked for."""
        return [key for key in self.values if key not in self.asked]

    def refuse_unknown(self) -> None:
        """Raise for a key that nobody asked for."""
        for key in self.unknown():
            wanted = tuple(sorted(self.asked))
            place = self.values[key][1]
            self.reader.fail(f"keys {', '.join(wanted)}", f"found {key[:40]!r}{did_you_mean(key, wanted)}", at=place)


def _all_integers(value: object) -> bool:
    return isinstance(value, tuple) and all(type(one) is int for one in cast("tuple[Any]", value))


def _all_bases(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_all_integers, cast("tuple[Any]", value)))
