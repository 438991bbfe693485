"""A planned product as a shared library with a C header: for C programs, for ctypes, for anything that calls C.

    plan.build("gemm.so")         writes gemm.so and gemm.h

    int    gemm(const void *a, const void *b, void *c, int threads);
    size_t gemm_packed_bytes(void);
    int    gemm_pack(const void *b, void *packed);
    int    gemm_prepacked(const void *a, const void *packed, void *c, int threads);
    size_t gemm_workspace_bytes(int threads);
    int    gemm_in(const void *a, const void *b, void *c, void *workspace, int threads);
    const char *gemm_error(int code);

A bias and scales are parameters behind `c`. The functions return 0, or a code that the header explains; the first call asks
the kernel for tile registers. Threads take blocks of C from a counter (`worker_loop.c`): the sums of an element are one
thread's, in one order, so the number of threads doesn't change a bit of C.

>>> from layoutalg.gemm.amx import plan_amx
>>> text = header(plan_amx(64, 32, 48, bias="column", lda=64), "product", "amx")
>>> print(next(line for line in text.splitlines() if line.startswith("int product(")))
int product(const void *a, const void *b, void *c, const void *bias, int threads);
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from layoutalg.core.errors import PlanError
from layoutalg.core.files import as_path
from layoutalg.core.messages import one_line, shown
from layoutalg.gemm.amx.compiling import (
    WAYS,
    features_of,
    link,
    llvm_ir,
    machine_code,
    refuse_names_of_c,
    usable_version,
)
from layoutalg.gemm.amx.running import amx_feature, way_of
from layoutalg.gemm.amx.tiling import TILE

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm
    from layoutalg.gemm.amx.problem import AmxProblem

__all__ = ["AmxLibrary", "build_amx", "checked_name", "header", "product_header"]

_WORKER_LOOP = Path(__file__).with_name("worker_loop.c")
_LONGEST_NAME = 60
_OWN = "layoutalg_"
"""What the names of the functions in `worker_loop.c` begin with."""
_KEYWORDS = """alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class
co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
double dynamic_cast else enum explicit export extern false float for friend goto if inline int long main mutable namespace new
noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename
typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq"""
"""Those of C (to C23) and of C++ (to C++23), which both include the header, and `main`."""
_FUNCTIONS = ("in", "prepacked", "prepacked_in", "pack", "packed_bytes", "workspace_bytes", "error")
"""The functions beside the product itself, as their names end."""
_CPUID = {
    "fma": "one[2] >> 12",
    "f16c": "one[2] >> 29",
    "avx2": "seven[1] >> 5",
    "avx512f": "seven[1] >> 16",
    "avx512dq": "seven[1] >> 17",
    "avx512bw": "seven[1] >> 30",
    "avx512vl": "seven[1] >> 31",
    "amx-bf16": "seven[3] >> 22",
    "amx-tile": "seven[3] >> 24",
    "amx-int8": "seven[3] >> 25",
    "amx-fp16": "more[0] >> 21",
}
"""Where CPUID says so (Intel 64 manual, volume 2, CPUID): leaf 1, leaf 7, leaf 7 with subleaf 1; registers eax to edx."""
_C_TYPES = {
    "bf16": "bfloat16 (the upper half of a float)",
    "f16": "half floats (IEEE binary16)",
    "f32": "float",
    "s8": "int8_t",
    "u8": "uint8_t",
    "s32": "int32_t",
}


@dataclass(frozen=True, slots=True)
class AmxLibrary:
    """What was built: the library, its header, the name that its functions begin with, and the way to tiles.

    >>> print(AmxLibrary(Path("gemm.so"), Path("gemm.h"), "gemm", "soft", 24))
    gemm.so and gemm.h: gemm() with soft tiles
    """

    path: Path
    header: Path
    name: str
    how: str
    llvm: int
    note: str = ""

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return f"{self.path} and {self.header}: {self.name}() with {WAYS[self.how]}{note}"


def checked_name(name: object) -> str:
    """A name that C functions can begin with. `build_amx` also asks the compiler for names that C's headers have.

    Raises `PlanError`: it isn't an identifier of C, or it is a keyword, or too long.

    >>> checked_name("int")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: name = 'int': expected a C identifier that isn't a keyword, of at most 60 letters
    """
    fits = isinstance(name, str) and re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) and len(name) <= _LONGEST_NAME
    if not isinstance(name, str) or not fits or name in _KEYWORDS.split():
        raise PlanError(
            f"name = {shown(name)}: expected a C identifier that isn't a keyword, of at most {_LONGEST_NAME} letters"
        )
    return name


@lru_cache(maxsize=1)
def _own_macros() -> frozenset[str]:
    """The macros and constants of `worker_loop.c`: no function can have one of their names."""
    return frozenset(re.findall(r"\b[A-Z][A-Z_]+\b", _WORKER_LOOP.read_text(encoding="utf-8")))


def build_amx(plan: AmxGemm, path: str | os.PathLike[str], name: str = "gemm", how: str = "amx") -> AmxLibrary:
    """Write a shared library and its header, `path` with the ending .h. Any machine with LLVM can build one for AMX.

    Raises `PlanError`: LLVM or the C compiler isn't installed or refuses something; a file cannot be written.

    >>> from layoutalg.gemm.amx import plan_amx
    >>> build_amx(plan_amx(64, 64, 64, "f16"), "gemm.so", how="scalar")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: how = 'scalar': LLVM has no scalar loops for tdpfp16ps; how = 'soft' runs f16 on any CPU
    """
    way, name = way_of(plan.problem, how), checked_name(name)
    library = as_path(path, "path =", PlanError)
    if library.suffix == ".h" or not library.name:
        raise PlanError(f"path = {shown(str(library))}: expected the name of a library, such as 'gemm.so'")
    if not library.parent.is_dir():
        raise PlanError(f"path = {shown(str(library))}: there is no folder {shown(str(library.parent))}")
    beside = library.with_suffix(".h")
    if not _is_ours(beside):
        raise PlanError(f"{shown(str(beside))}: is there, and was not written for such a library; choose another path")
    refuse_names_of_c(name, *(f"{name}_{function}" for function in _FUNCTIONS))
    if name.startswith(_OWN) or name in _own_macros():
        raise PlanError(f"name = {shown(name)}: the C of the library has that name; choose another one")
    version, note = usable_version(plan.llvm)
    code = machine_code(_renamed(llvm_ir(plan.emit(version, part="parts"), version), name), version, way)
    sources = {
        "product.h": product_header(plan, name, way),
        "worker_loop.c": _WORKER_LOOP.read_text(encoding="utf-8"),
        "exports.map": f"{{ global: {name}; {''.join(f'{name}_{function}; ' for function in _FUNCTIONS)}local: *; }};\n",
    }
    try:
        link(library, code, way, sources)
        beside.write_text(header(plan, name, way), encoding="utf-8")
    except OSError as problem:
        raise PlanError(one_line(f"{beside}: {problem.strerror or problem}")) from None
    return AmxLibrary(library, beside, name, way, version, note)


def _is_ours(path: Path) -> bool:
    """Whether the header may be overwritten: it does not exist yet, or layoutalg wrote it."""
    try:
        return _GUARD in path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return True
    except OSError as problem:
        raise PlanError(one_line(f"{path}: {problem.strerror or problem}")) from None


_GUARD = "#ifndef LAYOUTALG_"
"""In every header that layoutalg writes."""


def header(plan: AmxGemm, name: str, how: str) -> str:
    """The header of the library: what the functions take, with sizes, types, strides and codes."""
    problem = plan.problem
    lines = [f"/* {problem}", "", "   All matrices are row-major:"]
    types = (problem.a, problem.b, problem.c)
    for matrix, kind in zip(problem.matrices, types, strict=True):
        lines.append(
            f"     {matrix.name.lower()}       {matrix.name}[{matrix.rows}, {matrix.columns}], {_C_TYPES[kind]}; a row begins "
            f"{matrix.pitch} elements behind the one before"
        )
    if problem.batch > 1:
        lines.append(
            f"             There are {problem.batch} of each, one behind the other, the padding of the last row included."
        )
    if problem.dynamic_m:
        lines.append(f"     rows    how many rows A and C have, 1 to {problem.m}")
    if problem.beta:
        lines.append(f"             C is read first: the result is added to {problem.beta:g} times what it holds.")
    for given, over, kind in problem.vectors:
        lines.append(f"     {given:7} {problem.count(over)} of {_C_TYPES[kind]}, one for every {over} of C")
    more = "".join(f", const void *{given}" for given, _, _ in problem.vectors)
    more += ", long rows" * problem.dynamic_m
    taken = f"const void *a, const void *{{}}, void *c{more}"
    features = ", ".join(_features(problem, how))
    asks = ["   The first call asks the kernel for tile registers."] if how == "amx" else []
    lines += [
        "   Elements have the alignment of their type; 64 bytes are faster. C may not overlap with what is read.",
        "",
        f"   The library needs x86-64 Linux{' and a CPU with these features, which a call checks:' if features else '.'}",
        *([f"   {features}.", *asks] if features else []),
        "   `threads` is how many threads work, the calling one included: 1 to 1024. Calls from several threads are safe.",
        f"   {name}_pack puts B into the order that tiles are loaded in, {name}_packed_bytes() bytes; {name}_prepacked takes",
        "   that, so that B is packed once for many products.",
        f"   {name}_in and {name}_prepacked_in take the memory that they work in, {name}_workspace_bytes(threads) bytes, which",
        "   serves calls with as many threads or fewer, one at a time. The others allocate it, and free it at the end.",
        "",
        f"   Functions return 0 or a code, and {name}_error says what it means:",
        "     1  a pointer is NULL",
        "     2  threads is not a number from 1 to 1024",
        "     3  there is no memory for packed operands",
        "     4  this CPU has not the features that the library was compiled for",
        "     5  the kernel does not permit tile registers",
        "     6  a tile has a size that the hardware refuses (soft tiles only)",
        f"     7  rows is not a number from 1 to {problem.m} */",
        f"{_GUARD}{name.upper()}_H",
        f"#define LAYOUTALG_{name.upper()}_H",
        "",
        "#include <stddef.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"int {name}({taken.format('b')}, int threads);",
        f"int {name}_prepacked({taken.format('packed')}, int threads);",
        f"int {name}_in({taken.format('b')}, void *workspace, int threads);",
        f"int {name}_prepacked_in({taken.format('packed')}, void *workspace, int threads);",
        f"size_t {name}_workspace_bytes(int threads);",
        f"int {name}_pack(const void *b, void *packed);",
        f"size_t {name}_packed_bytes(void);",
        f"const char *{name}_error(int code);",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def product_header(plan: AmxGemm, name: str, how: str) -> str:
    """The plan for `worker_loop.c`: sizes as macros, and the prototypes of the kernels.

    >>> from layoutalg.gemm.amx import plan_amx
    >>> text = product_header(plan_amx(64, 64, 64, blocks=(32, 64, 64)), "gemm", "amx")
    >>> [line for line in text.splitlines() if "BLOCK" in line][:2]
    ['#define BLOCKS_DOWN(rows) (((rows) + 31) / 32)', '#define BLOCKS_ACROSS 1']
    """
    from layoutalg.gemm.amx.emission.blocks import block_arguments

    problem, tiling = plan.problem, plan.tiling
    _, across = plan.cache_blocks
    shape_a = plan.packed_a_shape
    vectors = [given for given, _, _ in problem.vectors]
    names = [*vectors, *["rows"] * problem.dynamic_m]
    rows = ", (rows)" if problem.dynamic_m else ""
    size = problem.element_bytes
    scratch = 0 if problem.direct else tiling.m_block * tiling.n_block * 4
    sources = {"scratch": "scratch"}
    batched = {"a": "A", "c": "C", "packed_a": "PACKED_A", "packed_b": "PACKED_B"}
    arguments = [
        f"(job)->{given} + (z) * {batched[given]}_BYTES" if given in batched else sources.get(given, f"(job)->{given}")
        for given in block_arguments(plan)
    ]
    kernel = f"{name}_kernel_gemm"
    features = _features(problem, how)
    more, of_job = (", int64_t", ", (job)->rows") if problem.dynamic_m else ("", "")
    lines = [
        f"#define PREFIX(suffix) {name}##suffix",
        f"#define BATCH {problem.batch}L",
        *(f"#define {of.name}_BYTES {of.rows * of.pitch_bytes}l" for of in problem.matrices),
        f"#define MOST_ROWS {problem.m}L",
        f"#define GIVEN_ROWS {'rows' if problem.dynamic_m else 'MOST_ROWS'}",
        f"#define PACKS_A {int(shape_a is not None)}",
        f"#define PANELS_A(rows) {'0L' if shape_a is None else f'(((rows) + {TILE - 1}) / {TILE})'}",
        f"#define PANELS_B {plan.packed_b_shape[0]}L",
        f"#define PACKED_A_BYTES {0 if shape_a is None else prod(shape_a) * size}l",
        f"#define PACKED_B_BYTES {prod(plan.packed_b_shape) * size}l",
        f"#define SCRATCH_BYTES {-(-scratch // 64) * 64}l",
        f"#define BLOCKS_DOWN(rows) (((rows) + {tiling.m_block - 1}) / {tiling.m_block})",
        f"#define BLOCKS_ACROSS {across}",
        f"#define DOWN_FIRST {int(tiling.order == 'columns')}",
        f"#define MORE_PARAMETERS {''.join(f', const void *{given}' for given in vectors)}{', long rows' * problem.dynamic_m}",
        f"#define MORE_NAMES {''.join(f', {given}' for given in names)}",
        f"#define MORE_ARGUMENTS {''.join(f', .{given} = {given}' for given in vectors)}",
        f"#define MORE_MISSING {''.join(f' || !{given}' for given in vectors)}",
        f"#define PACK_A(a, packed, panel, rows) {kernel}_pack_a((a), (packed), (panel), (panel) + 1{rows})",
        f"#define PACK_B(b, packed, panel) {kernel}_pack_b((b), (packed), (panel), (panel) + 1)",
        f"#define BLOCK(job, scratch, z, i, j) {kernel}_block({', '.join(arguments)}, (i), (j){of_job})",
        f"#define MISSING_FEATURE {' || '.join(f'!({_CPUID[feature]} & 1)' for feature in features) or '0'}",
        f"#define TILES {int(how == 'amx')}",
        f"#define SOFT {int(how == 'soft')}",
        f"void {kernel}_block({', '.join(['const void *'] * len(arguments))}, int64_t, int64_t{more});",
        f"void {kernel}_pack_b(const void *, void *, int64_t, int64_t);",
        *([f"void {kernel}_pack_a(const void *, void *, int64_t, int64_t{more});"] if shape_a is not None else []),
        *(["const char *soft_tiles_problem(void);"] if how == "soft" else []),
    ]
    return "\n".join(lines) + "\n"


def _features(problem: AmxProblem, how: str) -> tuple[str, ...]:
    """What the CPU must have for the code."""
    found = features_of(how)
    unused = {feature for feature in found if feature.startswith("amx-")} - {"amx-tile", amx_feature(problem)}
    return tuple(feature for feature in found if feature not in unused)


def _renamed(ir: str, name: str) -> str:
    """The functions of the IR, hidden and with names that belong to the library: two libraries don't share one."""
    defined = set(re.findall(r"^define void @(\w+)\(", ir, re.MULTILINE))
    hidden = re.sub(r"^define void @(\w+)\(", "define hidden void @\\1(", ir, flags=re.MULTILINE)
    return re.sub(r"@(\w+)\(", lambda found: f"@{name}_kernel_{found[1]}(" if found[1] in defined else found[0], hidden)
