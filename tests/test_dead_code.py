"""`tools/dead_code.py` on a small package: what is reached is used, whatever else has the same name."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
FILES = {
    "layoutalg/__init__.py": "from layoutalg.room import shown\n",
    "layoutalg/room.py": '''
        from layoutalg.table import register, HOMES
        LIMIT, OLD = 5, 6
        def shown(): "like other"; return _helper(LIMIT)
        def _helper(n): return n
        def other(): return another()
        def another(): return other()
        @register
        def rule(): return HOMES
    ''',
    "layoutalg/table.py": '''
        HOMES = {"later": "layoutalg.lazy:loaded"}
        def register(rule): return rule
        def listed(): pass
        def _helper(): pass
    ''',
    "layoutalg/lazy.py": '''
        from dataclasses import dataclass
        @dataclass
        class Loaded:
            field: int
            forgotten: int
            def method(self): return self.field
            def missing(self): return self.method()
        def loaded(): return Loaded(1, 2)
    ''',
    "docs/api/page.md": "::: layoutalg.table\n      members:\n        - listed\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = spec_from_file_location("dead_code", ROOT / "tools" / "dead_code.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, "dead_code", module)
        spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(tmp_path: Path, tool: Any) -> Any:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return tool.Package(tmp_path / "layoutalg")


def names(lines: list[str]) -> list[str]:
    return sorted(line.split(": ")[1] for line in lines)


def test_namesakes_and_functions_that_use_only_each_other_are_unused(tool: Any, package: Any, tmp_path: Path) -> None:
    public = package.documented(tmp_path / "docs" / "api")
    assert public == {("layoutalg.room", "shown"), ("layoutalg.table", "listed")}
    # OLD stands in one assignment with LIMIT, and is a name of its own.
    assert names(tool.unreached(package, public, [])) == ["OLD", "_helper", "another", "other"]
    assert names(tool.unreached(package, public, ["oth*", "OLD"])) == ["_helper"]


def test_methods_and_fields_that_nobody_names_are_unused(tool: Any, package: Any) -> None:
    pytest.importorskip("vulture", reason="installed with the other linters (make lint)")
    assert names(tool.unnamed(package, set(), [])) == ["forgotten (variable)", "missing (method)"]
    assert tool.unnamed(package, {("layoutalg.lazy", "Loaded")}, []) == []
