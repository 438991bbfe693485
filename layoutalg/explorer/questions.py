"""Questions: a mapping out of JSON, whose fields are read one by one, each with its bound and a refusal that names it.

>>> asked = Question({"text": "d0 = 4@lane", "shape": "4"})
>>> asked.value("text"), asked.shape()
(Layout.parse('d0 = 4@lane'), (4,))
>>> asked.choice("direction", ("tensor", "hardware"))
'tensor'
>>> Question({"text": 7}).value("text")
Traceback (most recent call last):
layoutalg.explorer.questions.FieldError: text 7: expected a str
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import LONGEST_ASKED, MAX_EXTENT, MOST_DIMENSIONS
from layoutalg.core.llvm_versions import DEFAULT_LLVM, llvm_versions
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed, Machine
from layoutalg.core.whole_numbers import as_whole, instance_of, listed, one_of, whole_number
from layoutalg.core.written import as_shape

__all__ = ["FieldError", "Question", "about", "needs", "pictured"]

_PACKAGES = ("numpy", "sympy", "networkx", "xdsl", "ml_dtypes", "matplotlib")
"""What an installation may lack: a page without a server has not all of them."""


class FieldError(LayoutError):
    """What is wrong with one field of a question; `line` and `column` where its text cannot be read.

    >>> FieldError("shape", LayoutError("shape 0: expected sizes")).facts
    {'message': 'shape 0: expected sizes', 'field': 'shape'}
    """

    def __init__(self, name: str, problem: LayoutError) -> None:
        super().__init__(str(problem), place=problem.place)
        self.facts: dict[str, Any] = {"message": str(problem), "field": name}
        if problem.place is not None:
            self.facts |= {"line": problem.place.line, "column": problem.place.column}


@contextmanager
def about(name: str) -> Generator[None, None, None]:
    """What is refused inside is about one field, unless something closer said of which.

    >>> with about("first_shape"):
    ...     as_shape("x")
    Traceback (most recent call last):
    layoutalg.explorer.questions.FieldError: line 1, column 1: expected a shape, such as 32x64, found 'x'
    """
    try:
        yield
    except FieldError:
        raise
    except LayoutError as problem:
        raise FieldError(name, problem) from None


def needs(problem: ModuleNotFoundError) -> str:
    """What to do where an installation lacks a package; a module of our own that is not there is a fault, raised again.

    >>> needs(ModuleNotFoundError(name="numpy"))
    'this needs numpy: run `layoutalg serve`'
    """
    package = (problem.name or "").partition(".")[0]
    if package not in _PACKAGES:
        raise problem
    return f"this needs {package}: run `layoutalg serve`"


def pictured(draw: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `draw` gives, with its `svg`; where it has no picture, `no_picture` says why, and `svg` is None.

    >>> pictured(lambda: {"svg": la.parse("d0 = M@reg").picture().svg()})["svg"]
    """
    try:
        return draw()
    except LayoutError as problem:
        return {"svg": None, "no_picture": str(problem)}
    except ModuleNotFoundError as problem:
        return {"svg": None, "no_picture": needs(problem)}


@dataclass(frozen=True, slots=True)
class Question:
    """The fields of a question. A field that is null is left out."""

    fields: Mapping[str, object]

    def get(self, name: str) -> Any:
        """A field as it is, None where it is left out."""
        return self.fields.get(name)

    def text(self, name: str) -> str:
        """A text that has to be there."""
        with about(name):
            found = self.get(name)
            if found is None:
                raise LayoutError(f"{name}: missing")
            instance_of(found, str, name)
            if len(found) > LONGEST_ASKED:
                raise LayoutError(f"{name}: {len(found):,} characters; at most {LONGEST_ASKED:,} are read")
            if not found.strip():
                raise LayoutError(f"{name}: empty")
            return found

    def choice(self, name: str, names: Sequence[str]) -> str:
        """One of some names; the first where the field is left out."""
        with about(name):
            return names[0] if self.get(name) is None else one_of(self.get(name), names, name)

    def whole(self, name: str, low: int = 1, high: int = MAX_EXTENT) -> int | None:
        """A whole number, or None."""
        found = self.get(name)
        with about(name):
            if isinstance(found, str):  # what was typed: a reader of the page knows no type of Python
                raise LayoutError(f"{name} = {shown(found)}: expected a whole number from {low} to {high}")
            return None if found is None else whole_number(found, f"{name} =", low, high)

    def numbers(self, name: str) -> list[int]:
        """A list of whole numbers, such as the coordinates of an element."""
        with about(name):
            return [as_whole(one, name) for one in listed(self.get(name), name, MOST_DIMENSIONS)]

    def place(self, name: str) -> dict[str, int]:
        """A place on the machine: a whole number for each of some axes."""
        with about(name):
            found = self.get(name)
            instance_of(found, Mapping, name)
            if len(found) > MOST_DIMENSIONS:
                raise LayoutError(f"{name}: expected at most {MOST_DIMENSIONS} axes")
            return {axis: as_whole(n, f"{axis} =") for axis, n in cast("Mapping[str, object]", found).items()}

    def value(self, name: str, reading: str = "as") -> Distributed:
        """The value of a text; of CuTe's that may be two things, in the reading that the field `reading` asks for.

        A text that is a module is refused with `file` true: its layouts are a question of their own.
        """
        from layoutalg.module.module import Module
        from layoutalg.module.texts import value_or_module

        text, asked = self.text(name), self.get(reading)
        with about(name):
            found = value_or_module(text)
            if not isinstance(found, Module):
                if asked is None or not found.how_read():
                    return found
                with about(reading):
                    return found.read_as(asked)
            refused = FieldError(name, LayoutError("a module: its values are shown by the question of kind 'file'"))
            refused.facts["file"] = True
            raise refused

    def shape(self, name: str = "shape") -> tuple[int, ...] | None:
        """A shape, written such as 16x64 or as a list, or None."""
        found = self.get(name)
        with about(name):
            if found is None or isinstance(found, str):
                return as_shape(found[:LONGEST_ASKED]) if found else None
            return tuple(whole_number(n, "size =", 0, MAX_EXTENT) for n in listed(found, name, MOST_DIMENSIONS))

    def machine(self) -> Machine:
        """What a text leaves open: `lanes` of a subgroup, `subgroups`."""
        return Machine(self.whole("lanes"), self.whole("subgroups"))

    def element(self) -> str:
        """The element type, f32 where it is left out."""
        found = self.text("element") if self.get("element") is not None else "f32"
        with about("element"):
            element_bits(found)
        return found

    def llvm(self) -> int:
        """The version of LLVM."""
        found = self.get("llvm")
        with about("llvm"):
            if found is not None and (type(found) is not int or found not in llvm_versions()):
                raise LayoutError(f"llvm {shown(found)}: expected one of {', '.join(map(str, llvm_versions()))}")
        return DEFAULT_LLVM if found is None else found
