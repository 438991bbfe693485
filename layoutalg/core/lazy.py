"""What is made when it is first asked for: names that a package imports then, and answers that a value keeps.

>>> names = {}
>>> lazy_names("layoutalg.core", names, {"compose": "algebra"})("compose") is names["compose"]
True
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any, NoReturn, TypeVar

__all__ = ["imported", "lazy_names", "once"]

_T = TypeVar("_T")


def imported(name: str) -> ModuleType:
    """A module, after the packages that it is in, from the outermost on.

    Python locks a module before its package. So a thread that asks for a module, and one that imports its package, which
    imports the module, would wait for each other; Python then gives one of them half a module.
    """
    for place, character in enumerate(name):
        if character == ".":
            import_module(name[:place])
    return import_module(name)


def _refuse_call(why: str, *_: object, **__: object) -> NoReturn:
    raise TypeError(why)


def lazy_names(
    package: str,
    namespace: dict[str, Any],
    homes: Mapping[str, str],
    hints: Mapping[str, str] = MappingProxyType({}),
    called: str = "",
) -> Callable[[str], Any]:
    """A `__getattr__` for a package: `homes` says in which of its modules each name lives.

    A module of the package that is not imported yet is imported. Raises `AttributeError` for any other name, as a module does;
    `hints` says what to ask instead, `called` what a call of the package itself raises.
    """
    if called:
        sys.modules[package].__class__ = type(
            "module", (ModuleType,), {"__call__": staticmethod(partial(_refuse_call, called))}
        )

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            try:
                if name.isidentifier() and not name.startswith("_"):
                    return imported(f"{package}.{name}")
            except ModuleNotFoundError as missing:
                if missing.name != f"{package}.{name}":
                    raise
            hint = f": {hints[name]}" if name in hints else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        value = namespace[name] = getattr(imported(f"{package}.{home}"), name)
        return value

    return find


def once(kept: dict[str, Any], what: str, make: Callable[[], _T]) -> _T:
    """The answer that is kept under a name, made when it is asked for first.

    >>> kept = {}
    >>> [once(kept, "size", lambda: 4), once(kept, "size", lambda: 5)]
    [4, 4]
    """
    if what not in kept:
        kept[what] = make()
    return kept[what]
