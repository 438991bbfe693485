"""The public surface: what users import has docstrings with examples, and importing costs nothing that is not used."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import layoutalg

ROOT = Path(__file__).parent.parent
MODULES = sorted(m.name for m in pkgutil.walk_packages(layoutalg.__path__, "layoutalg.") if "._" not in m.name)


PACKAGES = [
    "layoutalg",
    *(
        f"layoutalg.{p}"
        for p in (
            "core",
            "xegpu",
            "hardware",
            "nested",
            "nested.gpu",
            "amx",
            "triton",
            "cute",
            "compare",
            "show",
            "ir",
            "conversion",
            "simulate",
            "module",
            "gemm",
            "gemm.attention",
            "gemm.attention.decode",
            "gemm.weights",
            "viz",
        )
    ),
]


def exported(module_name: str) -> list[tuple[str, object]]:
    """The functions and classes that a module exports."""
    module = importlib.import_module(module_name)
    values = ((name, getattr(module, name)) for name in module.__all__)
    return [(name, v) for name, v in values if inspect.isfunction(v) or (inspect.isclass(v) and v is not Any)]


def members(value: type) -> list[tuple[str, object]]:
    """The public methods and properties that a class of ours defines."""
    kinds = (property, staticmethod, classmethod)
    return [
        (f"{value.__name__}.{name}", member)
        for owner in value.__mro__
        if owner.__module__.startswith("layoutalg")
        for name, member in vars(owner).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, kinds))
    ]


def without_example(names: list[tuple[str, object]]) -> list[str]:
    return [name for name, value in names if ">>>" not in (inspect.getdoc(value) or "")]


@pytest.mark.parametrize("module_name", ["layoutalg", *MODULES])
def test_every_module_tells_its_story_and_exports_by_name(module_name: str) -> None:
    module = importlib.import_module(module_name)
    assert module.__doc__
    assert isinstance(module.__all__, list)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_and_member_has_a_docstring_with_an_example(package: str) -> None:
    names = exported(package)
    for _, value in list(names):
        if inspect.isclass(value):
            names += members(value)
    assert not without_example(names)


# An operation of a dialect is a declaration; the module's examples read and print them.
DECLARATIONS = {module for module in MODULES if module.startswith("layoutalg.ir.dialects.")}


PAGES = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.md"))
LISTED = {
    (module, name)
    for module, names in re.findall(r"^::: ([\w.]+)\n((?: .*\n?)*)", PAGES, re.MULTILINE)
    for name in re.findall(r"^ +- (\w+)$", names, re.MULTILINE)
}
"""The module and the name of what the pages of docs/api list."""


@pytest.mark.parametrize("module_name", sorted(set(MODULES) - set(PACKAGES) - DECLARATIONS))
def test_what_pages_list_has_an_example_and_every_module_shows_one(module_name: str) -> None:
    """What docs/api lists has an example of its own; what a room exports is asked about above.

    Other names serve the package alone: a docstring says what each one is, and their module shows at least one example.
    """
    module, names = importlib.import_module(module_name), exported(module_name)
    assert not without_example([(n, v) for n, v in names if (module_name, n) in LISTED])
    assert all(value.__doc__ for _, value in names)
    assert hasattr(module, "__path__") or not names or ">>>" in inspect.getsource(module)


def test_type_checkers_see_the_names_of_the_table() -> None:
    tree = ast.parse(Path(layoutalg.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.asname: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == alias.asname
    }
    assert sorted(filter(None, seen)) == layoutalg.__all__
    for name, module in seen.items():
        assert getattr(importlib.import_module(str(module)), str(name)) is getattr(layoutalg, str(name))


FIRST_NAMES = """CompositionError ConversionError CuteLayout DistributionError Factor Layout LayoutAttr LayoutError LinearLayout
MemDescType NestedLayoutAttr ParseError PlanError Same SgMapAttr SizeError SliceAttr Swizzle Swizzled Table TensorDescType
TileConfig TileProduct TileType VerificationError bank_conflicts best_swizzle block_load block_store coalescing collect compose
compose_exactly convert distribute dpas expression_text from_cute from_linear_layout gather known_target mma pack_vnni parse
parse_cute parse_linear_layout plan_gemm same symbol to_cute to_linear_layout to_nested to_xegpu unpack_vnni"""


def test_no_public_name_is_ever_lost() -> None:
    assert set(FIRST_NAMES.split()) <= set(layoutalg.__all__)


@pytest.mark.parametrize("name", layoutalg.__all__)
def test_stable_names_are_there(name: str) -> None:
    assert getattr(layoutalg, name) is not None


def test_importing_layoutalg_loads_nothing_heavy() -> None:
    heavy = "('numpy', 'sympy', 'xdsl', 'rich', 'click', 'networkx')"
    code = f"import sys, layoutalg; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_parsing_and_layouts_load_neither_sympy_nor_xdsl() -> None:
    code = (
        "import sys, layoutalg as la; la.parse('#xegpu.layout<lane_layout = [1, 16]>').layout((8, 16)).fragment_map();"
        "la.plan_gemm(64, 64, 64); print([m for m in ('sympy', 'xdsl', 'networkx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_names_that_people_try_say_what_to_call() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'draw': la.picture\(value, shape\) draws"):
        layoutalg.draw  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'no_such_name'$"):
        layoutalg.no_such_name  # noqa: B018
    with pytest.raises(AttributeError):
        getattr(layoutalg, "no.such")
    with pytest.raises(TypeError, match=r"la.picture\(value, shape\) draws, la.show.describe"):
        layoutalg.show("d0 = 4@lane")


@pytest.mark.parametrize("room", ["cute", "memory", "xegpu", "triton", "show"])
def test_a_room_is_imported_when_it_is_first_named(room: str) -> None:
    code = f"import sys, layoutalg as la; assert 'layoutalg.{room}' not in sys.modules; print(la.{room}.__name__)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == f"layoutalg.{room}\n"
    )
