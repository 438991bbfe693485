"""What import-linter cannot say of the modules (`make lint` has the order of the rooms and the circles between siblings)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import layoutalg

PACKAGE = Path(layoutalg.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules that are imported when the code runs, inside functions too; imports for type checkers are left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, f"line {node.lineno}: a relative import"
            # `from package import module` imports the module, `from package import name` the package.
            folder = PACKAGE.parent / node.module.replace(".", "/")
            for alias in node.names:
                is_module = (folder / alias.name).is_dir() or (folder / f"{alias.name}.py").is_file()
                yield f"{node.module}.{alias.name}" if is_module else node.module
        yield from imported(node)


def ancestors(path: Path) -> set[str]:
    """The packages that a module is in, from the innermost to `layoutalg`."""
    folders = [folder for folder in path.parents if folder.is_relative_to(PACKAGE)]
    if path.name == "__init__.py":
        del folders[0]  # the package itself; its own ancestors stay
    return {".".join(folder.relative_to(PACKAGE.parent).parts) for folder in folders}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE.parent).as_posix())
def test_no_module_imports_a_package_that_it_is_in(path: Path) -> None:
    assert not ancestors(path) & set(imported(ast.parse(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import layoutalg", {"layoutalg"}),
        ("def f():\n    from layoutalg import parse", {"layoutalg"}),
        ("from layoutalg.core import errors", {"layoutalg.core.errors"}),
        ("from layoutalg import core", {"layoutalg.core"}),
        ("if TYPE_CHECKING:\n    import layoutalg\nelse:\n    pass", set()),
    ],
)
def test_imports_are_found_where_they_stand(code: str, found: set[str]) -> None:
    assert set(imported(ast.parse(code))) == found


def test_a_package_is_not_in_itself() -> None:
    assert ancestors(PACKAGE / "core" / "__init__.py") == {"layoutalg"}
    assert ancestors(PACKAGE / "core" / "errors.py") == {"layoutalg", "layoutalg.core"}
