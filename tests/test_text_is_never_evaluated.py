"""No text that a caller gives is ever evaluated: an audit hook watches what Python compiles while every public name is called.

sympy's `sympify`, for one, evaluates the text it is given; so does `eval`. The hook sees the source of both, whatever becomes
of it.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la

MARK = "watched_by_the_test"
TEXT = f"__import__('os').getenv('{MARK}')"
STARTERS = ("layoutalg.explorer.server.Explorer", "layoutalg.explorer.workers.Workers")
"""They open a port and start processes, which `tests/explorer` asks with hostile texts."""
_seen: list[str] = []
_watching = [False]


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching[0] and event == "compile" and MARK in str(arguments[0]):
        _seen.append(str(arguments[0]))


sys.addaudithook(_hook)


def _public() -> Iterator[tuple[str, Callable[..., Any]]]:
    found: dict[int, tuple[str, Callable[..., Any]]] = {}
    for info in pkgutil.walk_packages(la.__path__, "layoutalg."):
        if info.name == "layoutalg.__main__":
            continue
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if callable(value) and getattr(value, "__module__", "").startswith("layoutalg"):
                found.setdefault(id(value), (f"{info.name}.{name}", value))
    return iter(sorted(found.values(), key=lambda pair: pair[0]))


PUBLIC = [one for one in _public() if one[0] not in STARTERS]
LAYOUT = la.Layout.parse("d0 = 4@reg, d1 = 4@lane")
OTHERS: tuple[Any, ...] = (4, LAYOUT, (4, 4), "f32", la.symbol("M"))
"""Values beside the text: one of each kind that parameters take."""


def _parameters(value: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:
        return 1
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


@pytest.mark.parametrize(("name", "value"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_no_public_name_evaluates_a_text(
    name: str,
    value: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # some of the names write files
    del _seen[:]
    count = min(_parameters(value), 4)
    forms = (TEXT, [4, TEXT], {"a": TEXT}, ((TEXT, 1, "reg"),))
    _watching[0] = True
    try:
        for place, form in itertools.product(range(count), forms):
            for other in OTHERS:
                arguments = [other] * count
                arguments[place] = form
                try:
                    value(*arguments)
                except Exception:
                    continue
    finally:
        _watching[0] = False
    assert _seen == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: la.expression_text(TEXT),
        lambda: la.core.row_major([4, TEXT]),
        lambda: la.core.extents.multiply(TEXT, 2),
        lambda: la.core.extents.exact_quotient(TEXT, 2),
        lambda: la.core.extents.exact_quotient(4, TEXT),
        lambda: la.symbol(TEXT),
        lambda: la.Layout.parse("d0 = M@reg").substitute(M=TEXT),  # type: ignore[arg-type]
        lambda: la.Layout([[(TEXT, 1, "reg")]]),
        lambda: la.Layout([[(4, TEXT, "reg")]]),
        lambda: la.parse(TEXT),
    ],
)
def test_text_where_a_number_is_due_is_refused(call: Callable[[], Any]) -> None:
    del _seen[:]
    _watching[0] = True
    try:
        with pytest.raises(la.LayoutError):
            call()
    finally:
        _watching[0] = False
    assert _seen == []


def test_the_hook_sees_an_evaluated_text() -> None:
    """The check can fail: what sympy evaluates is seen."""
    import sympy

    del _seen[:]
    _watching[0] = True
    try:
        sympy.sympify(f"'{MARK}'")
    finally:
        _watching[0] = False
    assert _seen
