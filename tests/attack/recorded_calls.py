"""Calls of every public name, as the examples of the documentation make them: what the attack on arguments starts from.

The doctests of the package run once while Python's profiler watches (`sys.setprofile`): each call of a public function,
class or method is kept with its arguments, a few of each.

Public is what the packages name in `__all__`, with the methods; of the rooms, what a page of `docs/api` describes. Not public
are a layout's constructors for parts that another layout has checked (`of_parts`, `as_written`, `trusted`), and the methods by
which a program's own steps are executed and the simulator's memory is read: they get what the library made, at every step.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

_MOST_OF_ONE = 8
_OPERATORS = ("__call__", "__mul__", "__or__", "__eq__", "__getitem__", "__contains__", "__add__")
_UNCHECKED = ("of_parts", "as_written", "trusted")
_EXECUTED = ("layoutalg.conversion.program.", "layoutalg.simulate.memory")
_PAGES = Path(__file__).parents[2] / "docs" / "api"
_CHANGES_THE_REGISTRY = ("register_notation",)


@dataclass(frozen=True)
class Call:
    """A call that worked: `function(*positional, **named)`; the first `kept` arguments (self) stay as they are."""

    name: str
    function: Callable[..., Any]
    positional: tuple[Any, ...]
    named: dict[str, Any]
    kept: int = 0


@dataclass(frozen=True)
class _Target:
    name: str
    function: Callable[..., Any]
    code: CodeType
    makes: bool
    bound: bool


def modules() -> Iterator[Any]:
    import layoutalg

    yield layoutalg
    for info in pkgutil.walk_packages(layoutalg.__path__, "layoutalg."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def _public() -> Iterator[_Target]:
    import layoutalg

    described = _described()
    doors = [m for m in modules() if hasattr(m, "__path__") or m.__name__ == "layoutalg.notations"]
    for door in doors:
        for name in getattr(door, "__all__", ()):
            value = getattr(door, name)
            home = getattr(value, "__module__", "")
            if not str(home).startswith("layoutalg") or name in _CHANGES_THE_REGISTRY:
                continue
            if door is not layoutalg and ((str(home), name) not in described or str(home).startswith(_EXECUTED)):
                continue
            if not inspect.isclass(value):
                yield from _function(f"{door.__name__}.{name}", value)
            elif not issubclass(value, layoutalg.LayoutError):
                yield from _members(f"{door.__name__}.{name}", value)


def _described() -> set[tuple[str, str]]:
    """The module and the name of everything that a page of `docs/api` describes."""
    found: set[tuple[str, str]] = set()
    for page in _PAGES.glob("*.md"):
        for part in page.read_text(encoding="utf-8").split("\n::: ")[1:]:
            module, *lines = part.split("\n")
            found |= {(module.strip(), line.strip()[2:]) for line in lines if line.startswith("        - ")}
            if "members:" not in part:
                room = importlib.import_module(module.strip())
                found |= {(getattr(room, name).__module__, name) for name in room.__all__}
    return found


def _function(name: str, value: Any) -> Iterator[_Target]:
    plain = inspect.unwrap(value)
    if inspect.isfunction(plain):
        yield _Target(name, value, plain.__code__, makes=False, bound=False)


def _members(name: str, owner: type) -> Iterator[_Target]:
    for attribute, value in inspect.getmembers_static(owner):
        if attribute in ("__init__", "__new__"):
            plain = value.__func__ if isinstance(value, staticmethod) else value
            if inspect.isfunction(plain):
                yield _Target(name, owner, plain.__code__, makes=True, bound=True)
        elif (attribute.startswith("_") and attribute not in _OPERATORS) or attribute in _UNCHECKED:
            continue
        elif isinstance(value, classmethod | staticmethod):
            plain = inspect.unwrap(value.__func__)
            yield _Target(
                f"{name}.{attribute}", getattr(owner, attribute), plain.__code__, False, isinstance(value, classmethod)
            )
        else:
            plain = inspect.unwrap(value) if callable(value) else None
            if inspect.isfunction(plain) and plain.__module__ != "enum":
                yield _Target(f"{name}.{attribute}", value, plain.__code__, makes=False, bound=False)


def recorded() -> list[list[Call]]:
    """For each public name that a documented example calls: a few of the calls."""
    import numpy

    import layoutalg

    targets: dict[CodeType, _Target] = {}
    for target in _public():
        targets.setdefault(target.code, target)  # the package itself comes first
    found: defaultdict[str, list[Call]] = defaultdict(list)

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and (target := targets.get(frame.f_code)) is not None:
            call = _as_call(target, frame)
            if call is not None and len(found[call.name]) < _MOST_OF_ONE:
                found[call.name].append(call)

    names = {"la": layoutalg, "Layout": layoutalg.Layout, "Factor": layoutalg.Factor, "np": numpy}
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    finder = doctest.DocTestFinder()
    tests = [one for module in modules() for one in finder.find(module, module.__name__, extraglobs=names)]
    for test in tests:
        sys.setprofile(watch)
        try:
            runner.run(test, out=lambda _words: None)
        finally:
            sys.setprofile(None)
    return [found[name] for name in sorted(found)]


def _as_call(target: _Target, frame: FrameType) -> Call | None:
    code, values = frame.f_code, frame.f_locals
    count = code.co_argcount
    positional = [values[name] for name in code.co_varnames[:count]]
    named = {name: values[name] for name in code.co_varnames[count : count + code.co_kwonlyargcount]}
    rest = count + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        positional += values[code.co_varnames[rest]]
        rest += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named |= values[code.co_varnames[rest]]
    if any(isinstance(value, Iterator) for value in (*positional, *named.values())):
        return None  # it is used up
    if target.bound:
        made = positional[0] if isinstance(positional[0], type) else type(positional[0])
        if target.makes and made is not target.function:
            return None
        positional = positional[1:]
    is_method = not target.bound and "self" in code.co_varnames[:1]
    return Call(target.name, target.function, tuple(positional), named, kept=1 if is_method else 0)
