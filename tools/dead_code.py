"""What nothing in the package uses: `make lint` prints it and fails.

    python tools/dead_code.py

What users can import counts as used: the names of `layoutalg` and the members that docs/api lists, methods included. So does
what a decorator registers. Tests don't count: what they alone use belongs to them. There are two questions:

- Which functions, classes and constants does nothing reach from there? Imports are followed. So a namesake in another module
  is no use, and neither are two functions that only use each other.
- Which methods, properties and fields does nobody name? Vulture answers that.

What looks unused and isn't (other libraries call it) stands under [tool.vulture] in pyproject.toml, with the reason.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parent.parent
WRAPPERS = {
    "cache",
    "cached_property",
    "contextmanager",
    "dataclass",
    "lru_cache",
    "runtime_checkable",
    "total_ordering",
}
"""Decorators that register nothing."""

Name = tuple[str, str]
"""A module and a name in it."""
Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass
class Module:
    """One file: what it defines, and what its imports mean."""

    path: Path
    tree: ast.Module
    defined: dict[str, Definition] = field(default_factory=dict[str, Definition])
    imported: dict[str, Name] = field(default_factory=dict[str, Name])


class Package:
    """All modules of a package, read but not imported."""

    def __init__(self, folder: Path) -> None:
        self.modules: dict[str, Module] = {}
        for path in sorted(folder.rglob("*.py")):
            name = ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__")
            self.modules[name] = Module(path, ast.parse(path.read_text(encoding="utf-8")))
        for module in self.modules.values():
            for node in module.tree.body:
                module.defined.update((name, node) for name in _targets(node) if isinstance(node, Definition))
            for node in ast.walk(module.tree):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(folder.name):
                    module.imported.update((a.asname or a.name, (str(node.module), a.name)) for a in node.names)

    def home(self, name: Name) -> Name | None:
        """Where a name is defined, through the modules that only pass it on."""
        for _ in range(20):
            module = self.modules.get(name[0])
            if module is None or name[1] in module.defined:
                return name if module else None
            if name[1] not in module.imported:
                return None
            name = module.imported[name[1]]
        return None

    def used_by(self, where: str, node: ast.AST) -> Iterator[Name]:
        """The names of the package that a piece of a module uses."""
        imported = self.modules[where].imported
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                yield where, part.id
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in imported:
                yield ".".join(imported[part.value.id]), part.attr
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                if match := re.fullmatch(r"([\w.]+):(\w+)", part.value):  # how tables name what is imported later
                    yield match[1], match[2]
                elif len(part.value) < 100:  # a type in quotes
                    yield from ((where, word) for word in re.findall(r"\w+", part.value))

    def reached(self, public: Iterable[Name]) -> set[Name]:
        """All names that public ones, registered ones and the statements of modules use, directly or not."""
        waiting = list(public)
        for where, module in self.modules.items():
            waiting += [
                (where, name)
                for name, node in module.defined.items()
                if not isinstance(node, (ast.Assign, ast.AnnAssign)) and not WRAPPERS.issuperset(_decorators(node))
            ]
            for node in module.tree.body:
                if not isinstance(node, Definition) or not _targets(node):
                    waiting += self.used_by(where, node)
        found: set[Name] = set()
        while waiting:
            name = self.home(waiting.pop())
            if name is not None and name not in found:
                found.add(name)
                waiting += self.used_by(name[0], _without_docstrings(self.modules[name[0]].defined[name[1]]))
        return found

    def documented(self, pages: Path) -> set[Name]:
        """The names that the package's own module exports, and those that pages of the documentation list."""
        package = next(iter(self.modules))
        public = {(package, name) for name in self.modules[package].imported}
        for page in pages.glob("*.md"):
            module = ""
            for line in page.read_text(encoding="utf-8").splitlines():
                if line.startswith("::: "):
                    module = line[4:].strip()
                elif match := re.fullmatch(r"\s+- (\w+)", line):
                    public.add((module, match[1]))
        return {home for home in map(self.home, public) if home is not None}

    def public_classes(self, public: set[Name]) -> set[ast.ClassDef]:
        """The documented classes, and those that they inherit from."""
        waiting, found = list(public), set[ast.ClassDef]()
        while waiting:
            home = self.home(waiting.pop())
            node = self.modules[home[0]].defined[home[1]] if home else None
            if home and isinstance(node, ast.ClassDef) and node not in found:
                found.add(node)
                waiting += [(home[0], base.id) for base in node.bases if isinstance(base, ast.Name)]
        return found


def _targets(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return [name for name in names if not name.startswith("__")]


def _decorators(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    called = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    return [ast.unparse(one).rpartition(".")[2] for one in called]


def _without_docstrings(node: ast.AST) -> ast.AST:
    for part in ast.walk(node):
        if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
            part.body = [
                one for one in part.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            ]
    return node


def unreached(package: Package, public: set[Name], allowed: Iterable[str]) -> list[str]:
    """Functions, classes and constants of modules that nothing uses, as lines for people."""
    allowed = list(allowed)
    roots = [
        (where, name)
        for where, module in package.modules.items()
        for name in module.defined
        if any(fnmatchcase(name, pattern) for pattern in allowed)
    ]
    found = package.reached([*public, *roots])
    return [
        f"{module.path}:{module.defined[name].lineno}: {name}"
        for where, module in package.modules.items()
        for name in module.defined
        if (where, name) not in found
    ]


def unnamed(package: Package, public: set[Name], allowed: list[str]) -> list[str]:
    """Methods, properties, and fields of dataclasses that nobody names, as lines for people."""
    from vulture import Vulture

    seen = Vulture(ignore_names=allowed)
    documented = package.public_classes(public)
    asked: set[tuple[Path, int, str]] = set()
    for module in package.modules.values():
        seen.scan(module.path.read_text(encoding="utf-8"), str(module.path))
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and node not in documented:
                kinds = (ast.FunctionDef, ast.AnnAssign) if "dataclass" in _decorators(node) else ast.FunctionDef
                members = [member for member in node.body if isinstance(member, kinds)]
                asked.update((module.path, *_first_line_and_name(member)) for member in members)
    return [
        f"{item.filename}:{item.first_lineno}: {item.name} ({item.typ})"
        for item in seen.get_unused_code(min_confidence=60)
        if (item.filename, item.first_lineno, item.name) in asked or item.typ == "unreachable_code"
    ]


def _first_line_and_name(member: ast.FunctionDef | ast.AnnAssign) -> tuple[int, str]:
    if isinstance(member, ast.AnnAssign):
        return member.lineno, ast.unparse(member.target)
    return min([member.lineno, *(one.lineno for one in member.decorator_list)]), member.name


def main() -> int:
    """Print what is unused; 1 where something is."""
    package = Package(ROOT / "layoutalg")
    public = package.documented(ROOT / "docs" / "api")
    allowed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["vulture"]["ignore_names"]
    lines = [*unreached(package, public, allowed), *unnamed(package, public, allowed)]
    print("\n".join(lines) if lines else "Everything is used.")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
