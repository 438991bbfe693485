"""CUTLASS's own C++ headers, compiled with g++ alone: what CuTe itself answers, and the layouts of all its atoms.

The wheel nvidia-cutlass has the headers. They include CUDA's runtime header, which Triton's wheel has, and `cuda/std`, from
the wheel nvidia-cuda-cccl. Nothing of that runs on a GPU: layouts are types, and the program that prints them is a host
program. `evaluate` asks many expressions in one program:

    evaluate(["coalesce(make_layout(make_shape(_2{}, _4{}), make_stride(_1{}, _2{})))"])  ->  ["_8:_1"]

CuTe refuses by static assertions, which stop the compiler. Each expression stands on a line of its own (`#line`), the compiler
goes on to the next one after an error, and what it names is left out of the second compilation. A refusal is a `Refusal` with
the assertion's words.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.oracle.toolchains import absent, require

_COMPILATIONS = 12
"""How often a program is compiled: a type that two lines share is only named for one of them, so the other fails later."""
_SECONDS = 900


@dataclass(frozen=True)
class Refusal:
    """An expression that CuTe does not compile, with the compiler's words."""

    words: str


@lru_cache
def include_folders() -> tuple[Path, ...]:
    """Where the headers are, or a skip (a failure where oracles are required)."""
    folders: list[Path] = []
    for package, inside, header, named in (
        ("cutlass_library", "source/include", "cute/layout.hpp", "nvidia-cutlass"),
        ("triton", "backends/nvidia/include", "cuda_runtime_api.h", "triton"),
        ("nvidia.cu13", "include/cccl", "cuda/std/utility", "nvidia-cuda-cccl"),
    ):
        folders.append(_folder(package, inside, header) or absent(named))
    return tuple(folders)


def _folder(package: str, inside: str, header: str) -> Path | None:
    """The folder of a package that holds a header; the package is not imported."""
    top, _, rest = package.partition(".")
    found = find_spec(top)
    for place in (found.submodule_search_locations or ()) if found is not None else ():
        folder = Path(place) / rest / inside
        if (folder / header).is_file():
            return folder
    return None


def compiled(source: str, folder: Path) -> tuple[Path | None, str]:
    """The program of a source, or None and what the compiler says."""
    (folder / "ask.cpp").write_text(source, encoding="utf-8")
    command = [require("g++"), "-std=c++17", "-O0", "-w", "-fno-diagnostics-show-caret", "-ftemplate-backtrace-limit=0"]
    command += [part for place in include_folders() for part in ("-isystem", str(place))]
    done = subprocess.run(
        [*command, "ask.cpp", "-o", "ask"], cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    return (folder / "ask" if done.returncode == 0 else None), done.stderr


_BEGINNING = """
#define CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED
{includes}
#include <cstdio>
using namespace cute;
template <class T> void show(int number, T const& value) {{ std::printf("%d\\t", number); print(value); std::printf("\\n"); }}
{more}
"""
_ALGEBRA = """#include <cute/layout.hpp>
#include <cute/layout_composed.hpp>
#include <cute/swizzle_layout.hpp>
#include <cute/pointer_flagged.hpp>
#include <cute/tensor.hpp>"""


def evaluate(expressions: Sequence[str], includes: str = _ALGEBRA, more: str = "") -> list[str | Refusal]:
    """What CuTe prints for each C++ expression, or why it does not compile."""
    statements = [f"show({number}, {expression});" for number, expression in enumerate(expressions)]
    printed, refused = run_statements(statements, includes, more)
    by_number = dict(printed)
    return [refused[i] if i in refused else by_number[i] for i in range(len(expressions))]


def run_statements(
    statements: Sequence[str], includes: str = _ALGEBRA, more: str = ""
) -> tuple[list[tuple[int, str]], dict[int, Refusal]]:
    """Compile and run statements that print `number<tab>text` lines; those that do not compile are refused by number."""
    refused: dict[int, Refusal] = {}
    head = _BEGINNING.format(includes=includes, more=more)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(_COMPILATIONS):
            asked = [i for i in range(len(statements)) if i not in refused]
            bodies = "\n".join(f'#line {i + 1} "question"\nvoid ask{i}() {{ {statements[i]} }}' for i in asked)
            calls = "".join(f"ask{i}();\n" for i in asked)
            program, said = compiled(f"{head}{bodies}\nint main() {{\n{calls}}}\n", folder)
            if program is not None:
                done = subprocess.run([str(program)], capture_output=True, text=True, timeout=120, check=True)
                lines = (line.split("\t", 1) for line in done.stdout.splitlines())
                return [(int(number), text) for number, text in lines], refused
            found = _refusals(said)
            assert found.keys() - refused.keys(), said[:4000]
            refused |= found
    raise AssertionError(f"still refused after {_COMPILATIONS} compilations")


_QUESTION = re.compile(r"^question:(\d+):", re.MULTILINE)
_ERROR = re.compile(r"error: (.*)")


def _refusals(said: str) -> dict[int, Refusal]:
    """The questions that a compiler's message names, each with the first error behind its first mention."""
    refused: dict[int, Refusal] = {}
    waiting: list[int] = []
    for line in said.splitlines():
        named = _QUESTION.match(line)
        if named is not None:
            waiting.append(int(named[1]) - 1)
        error = _ERROR.search(line)
        if error is not None:
            for number in waiting:
                refused.setdefault(number, Refusal(error[1]))
            waiting.clear()
    return refused


def cpp(value: Any) -> str:
    """A nested tuple of numbers as a static C++ expression; None is `_`, a pair of strings a basis stride.

    `("basis", scale, path)` is scale@path, as in 1@0@1.
    """
    if value is None:
        return "_"
    if isinstance(value, tuple) and value and value[0] == "basis":
        _, scale, path = value
        return f"(Int<{scale}>{{}} * E<{','.join(map(str, path))}>{{}})"
    if isinstance(value, int):
        return f"Int<{value}>{{}}"
    return f"make_tuple({','.join(map(cpp, value))})"


def cpp_layout(shape: Any, stride: Any) -> str:
    """A static layout as a C++ expression."""
    return f"make_layout({cpp(shape)}, {cpp(stride)})"


# Atoms: the layouts in MMA_Traits and Copy_Traits, by the names that CUTLASS gives the instructions.

_ATOMS = """#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/copy_traits_sm100.hpp>"""
ATOM_FIELDS = (
    "Shape_MNK", "ThrID", "ALayout", "BLayout", "CLayout", "ELayout", "SFALayout", "SFBLayout",
    "SrcLayout", "DstLayout", "RefLayout",
)  # fmt: skip
"""The names that traits give shapes and layouts; an atom has some of them."""
_PRINT_TRAITS = (
    "\n".join(
        f"""template <class T, class = void> struct Print{name} {{ static void at(int) {{}} }};
template <class T> struct Print{name}<T, std::void_t<typename T::{name}>> {{
  static void at(int n) {{ std::printf("%d\\t{name}=", n); print(typename T::{name}{{}}); std::printf("\\n"); }} }};"""
        for name in ATOM_FIELDS
    )
    + "\ntemplate <class T> void show_traits(int n) {\n"
    + "\n".join(f"Print{f}<T>::at(n);" for f in ATOM_FIELDS)
    + "\n}"
)
_FILLED = {
    "GMMA::Major": "GMMA::Major::K",
    "GMMA::ScaleIn": "GMMA::ScaleIn::One",
    "GMMA::SparseSel": "GMMA::SparseSel::Zero",
    "UMMA::Major": "UMMA::Major::K",
    "UMMA::ScaleIn": "UMMA::ScaleIn::One",
    "UMMA::Saturate": "UMMA::Saturate::False",
}
"""What stands for a template's argument that a name leaves out; none of them changes a layout."""
_SPECIALIZED = re.compile(
    r"template\s*<([^{};]*?)>\s*struct\s+(MMA|Copy)_Traits\s*<([^{};]*?)>\s*(?:[:{]|$)", re.MULTILINE
)


@dataclass(frozen=True)
class AtomTemplate:
    """One specialization of traits: which kind, its arguments as written, and its parameters as (kind, name)."""

    kind: str
    written: str
    parameters: tuple[tuple[str, str], ...]


@lru_cache
def atom_templates() -> dict[str, AtomTemplate]:
    """Every operation that the headers have traits for, by name."""
    found: dict[str, AtomTemplate] = {}
    for path in sorted((include_folders()[0] / "cute" / "atom").glob("*_traits*.hpp")):
        text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        for given, kind, written in _SPECIALIZED.findall(text):
            name = re.split("[<,]", written, maxsplit=1)[0].strip()
            pairs = [part.strip().rsplit(None, 1) for part in given.split(",") if part.strip()]
            parameters = tuple((pair[0], pair[1]) for pair in pairs if len(pair) == 2)
            if "..." not in written + given:
                found.setdefault(name, AtomTemplate(kind, " ".join(written.split()), parameters))
    return found


def atom_type(name: str) -> str | None:
    """The C++ type of the traits of an atom, such as SM90_64x8x16_F16F16F16_SS; None where the headers have none.

    A name may give the first arguments of a template: `SM100_MMA_F16BF16_SS<half_t,half_t,float,64,64>`.
    """
    base, _, rest = name.partition("<")
    template = atom_templates().get(base)
    if template is None:
        return None
    given = [part.strip() for part in rest.removesuffix(">").split(",") if part.strip()]
    written = template.written
    for i, (kind, parameter) in enumerate(template.parameters):
        if i < len(given):
            value = given[i]
        elif kind in _FILLED:
            value = _FILLED[kind]
        elif kind == "class" and given:
            value = given[0]
        else:
            return None
        written = re.sub(rf"\b{parameter}\b", value, written)
    return f"{template.kind}_Traits<{written}>"


def atoms(names: Sequence[str]) -> dict[str, dict[str, str] | Refusal]:
    """The shapes and layouts in the traits of each atom, as CuTe prints them; names that the headers do not have are left out.

    `atoms(["SM70_8x8x4_F32F16F16F32_TN"])` gives its `ThrID` as `(_4,_2):(_1,_16)`, its `CLayout` and so on.
    """
    types = {name: kind for name in names if (kind := atom_type(name)) is not None}
    found: dict[str, dict[str, str] | Refusal] = {}
    listed = [*types]
    for start in range(0, len(listed), _AT_ONCE):
        part = listed[start : start + _AT_ONCE]
        lines, refused = run_atoms([types[name] for name in part])
        for i, name in enumerate(part):
            found[name] = refused[i] if i in refused else lines.get(i, {})
    return found


_AT_ONCE = 600


def run_atoms(types: Sequence[str]) -> tuple[dict[int, dict[str, str]], dict[int, Refusal]]:
    """The fields of traits types, by number, and those that do not compile."""
    statements = [f"show_traits<{kind}>({i});" for i, kind in enumerate(types)]
    pairs, refused = run_statements(statements, _ATOMS, _PRINT_TRAITS)
    fields: dict[int, dict[str, str]] = {}
    for number, text in pairs:
        name, _, layout = text.partition("=")
        fields.setdefault(number, {})[name] = layout
    return fields, refused
