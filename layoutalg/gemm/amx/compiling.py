"""From MLIR to machine code of this machine: LLVM lowers and compiles, the C compiler links.

    MLIR -> mlir-opt (PASSES) -> mlir-translate -> LLVM IR -> [rewriting] -> llc -> object file -> cc -> shared library

There are three ways to tiles, and each is safe on the machines that it is for:

    amx       tile instructions, at -O2. For a CPU that has them.
    scalar    LLVM's own loops in their place (--enable-x86-scalar-amx), which exist at -O0 only. bf16 and bytes; they add in
              the order of k, where the manual adds even and odd k apart.
    soft      calls of `soft_tiles.c`, at -O2. Every type, with the bits that the manual describes.

`rewriting` prepares the IR for the last two. They are compiled without the features of AMX, so that no tile instruction can
be left: LLVM would refuse to select it.

>>> checked_how("native")
Traceback (most recent call last):
layoutalg.core.errors.PlanError: how 'native': expected 'amx', 'scalar' or 'soft'
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import one_line
from layoutalg.core.whole_numbers import instance_of, one_of
from layoutalg.gemm.amx.processor import BASE, vector_features
from layoutalg.gemm.amx.rewriting import for_scalar_loops, for_soft_tiles
from layoutalg.gemm.versions import checked_version
from layoutalg.ir.installed import program_path

__all__ = [
    "HOWS",
    "PASSES",
    "WAYS",
    "Programs",
    "assembly",
    "checked_how",
    "features_of",
    "link",
    "llvm_ir",
    "machine_code",
    "programs",
    "refuse_names_of_c",
    "usable_version",
]

WAYS = {"amx": "AMX instructions", "scalar": "LLVM's scalar loops", "soft": "soft tiles"}
"""The ways to run tiles, and what each is called in a sentence."""
HOWS = tuple(WAYS)
PASSES = (
    "--convert-scf-to-cf",
    "--arith-expand=include-bf16=true",  # else a call of __truncsfbf2, or vcvtneps2bf16, which flushes subnormal numbers
    "--convert-math-to-llvm",  # fma becomes an instruction; what has no intrinsic becomes a call of libm
    "--convert-math-to-libm",
    "--convert-func-to-llvm=use-bare-ptr-memref-call-conv=1",  # a memref of static shape is a pointer
    "--convert-to-llvm",
    "--reconcile-unrealized-casts",
)
"""The passes of mlir-opt, the same for LLVM 22, 23 and 24."""
_AMX = ("amx-tile", "amx-bf16", "amx-int8", "amx-fp16")
_SECONDS = 300
_NEWEST_FIRST = (24, 23, 22)
_SOFT_TILES = Path(__file__).with_name("soft_tiles.c")
_INSTALL = {22: "the Debian packages mlir-22-tools and llvm-22"}


@dataclass(frozen=True, slots=True)
class Programs:
    """The paths of a version of LLVM's programs."""

    llvm: int
    mlir_opt: str
    mlir_translate: str
    llc: str


def checked_how(how: object) -> str:
    """One of the three ways; raises `PlanError` for others."""
    return one_of(how, HOWS, "how", PlanError)


def programs(llvm: int) -> Programs:
    """The programs of LLVM 22, 23 or 24.

    Raises `PlanError`: one of them is not installed; says which, and what installs it.

    >>> programs(21)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: llvm = 21: kernels are written for 22, 23, 24
    """
    version = checked_version(llvm)
    names = [f"{tool}-{version}" for tool in ("mlir-opt", "mlir-translate", "llc")]
    paths = [program_path(name) for name in names]
    missing = [name for name, path in zip(names, paths, strict=True) if path is None]
    if missing:
        packages = _INSTALL.get(version, f"LLVM {version} from Debian's sid or experimental")
        raise PlanError(
            f"{', '.join(missing)}: not installed; `make toolchains` installs it, and so do {packages} on the PATH"
        )
    return Programs(version, *(path for path in paths if path is not None))


def usable_version(llvm: int) -> tuple[int, str]:
    """The version of LLVM that compiles here: this one, or the newest other that is installed, with a note that says so.

    Raises `PlanError`: no version is installed.
    """
    wanted = checked_version(llvm)
    for version in (wanted, *(other for other in _NEWEST_FIRST if other != wanted)):
        try:
            programs(version)
        except PlanError:
            continue
        return version, "" if version == wanted else f"LLVM {version} compiled it: LLVM {wanted} is not installed"
    raise PlanError(
        "compiling needs LLVM: mlir-opt, mlir-translate and llc of version 22, 23 or 24, and none of the three is "
        "installed; `make toolchains` installs them, and so do the Debian packages mlir-22-tools and llvm-22"
    )


def llvm_ir(text: str, llvm: int) -> str:
    """The LLVM IR of a module of the builtin dialects and AMX, spelled as this version spells them.

    Raises `PlanError`: LLVM isn't installed, or refuses the text; with its first diagnostic.
    """
    instance_of(text, str, "MLIR", PlanError)
    tools = programs(llvm)
    lowered = _run([tools.mlir_opt, *PASSES], text).decode("utf-8", "replace")
    return _run([tools.mlir_translate, "--mlir-to-llvmir"], lowered).decode("utf-8", "replace")


def features_of(how: str) -> tuple[str, ...]:
    """The CPU features that code is compiled for, in LLVM's names: tile code has a fixed list, the rest this CPU's."""
    return (*_AMX, *BASE) if checked_how(how) == "amx" else vector_features()


def assembly(ir: str, llvm: int = DEFAULT_LLVM, how: str = "amx") -> str:
    """The x86-64 assembly of LLVM IR, with tiles in one of the three ways.

    Raises `PlanError`: LLVM isn't installed or refuses the IR; or the tiles cannot be rewritten.
    """
    return _llc(ir, llvm, how, "asm").decode("utf-8", "replace")


def machine_code(ir: str, llvm: int = DEFAULT_LLVM, how: str = "amx") -> bytes:
    """The object file of LLVM IR, with tiles in one of the three ways.

    Raises `PlanError`: as `assembly`.
    """
    return _llc(ir, llvm, how, "obj")


def _llc(ir: str, llvm: int, how: str, kind: str) -> bytes:
    way = checked_how(how)
    instance_of(ir, str, "LLVM IR", PlanError)
    # Without the features of AMX, LLVM has no way to select one of its instructions: what is left of a tile is an error.
    features = features_of(way)
    if way == "amx":
        options, given = ["-O2"], ir
    elif way == "scalar":
        options, given = ["-O0", "--enable-x86-scalar-amx=true"], for_scalar_loops(ir)
    else:
        options, given = ["-O2"], for_soft_tiles(ir)
    attributes = [f"-mattr={','.join(f'+{feature}' for feature in features)}"] if features else []
    compiler = [programs(llvm).llc, "-mtriple=x86_64-linux-gnu", *options, *attributes]
    return _run([*compiler, "-relocation-model=pic", f"-filetype={kind}", "-o", "-"], given)


def link(library: str | os.PathLike[str], code: bytes, how: str, sources: dict[str, str] | None = None) -> None:
    """Write a shared library of an object file, of soft tiles if they are the way, and of other files (name and text).

    Those are C sources, headers, and a linker's version script (.map).

    Raises `PlanError`: there is no C compiler, or it refuses something; with its first diagnostic.
    """
    way = checked_how(how)
    compiler = program_path("cc")
    if compiler is None:
        raise PlanError("cc: not installed; linking needs a C compiler, such as the Debian package gcc")
    files = {"kernels.o": code, **{name: text.encode() for name, text in (sources or {}).items()}}
    if way == "soft":
        files["soft_tiles.o"] = _soft_tiles(compiler)
    # The path is absolute: a compiler reads its options from a file that is called @name, and takes -name for an option.
    with TemporaryDirectory() as folder:
        for name, contents in files.items():
            Path(folder, name).write_bytes(contents)
        paths = [str(Path(folder, name)) for name in files if name.endswith((".c", ".o"))]
        strict = ["-Wl,-z,noexecstack", "-Wl,--no-undefined"]
        strict += [f"-Wl,--version-script={Path(folder, name)}" for name in files if name.endswith(".map")]
        _run(
            [compiler, "-shared", *_c_options(), *strict, "-o", os.path.abspath(library), *paths, "-lm", "-lpthread"],
            "",
        )


_HEADERS = (
    "assert", "complex", "ctype", "errno", "fcntl", "fenv", "inttypes", "limits", "locale", "math", "pthread", "setjmp",
    "signal",
    "stdarg", "stdbool", "stddef", "stdint", "stdio", "stdlib", "string", "sys/mman", "sys/syscall", "time", "unistd", "wchar",
)  # fmt: skip
"""Headers whose names a library must not take: those of C, and those of POSIX that worker threads and memory need."""


def refuse_names_of_c(*names: str) -> None:
    """Refuse names of functions that the C compiler, or a header of C, has already.

    Raises `PlanError`: there is something of one of these names, or there is no C compiler.

    >>> import pytest; from layoutalg.core.errors import PlanError
    >>> with pytest.raises(PlanError, match="C compiler"):
    ...     refuse_names_of_c("gemm", "sin")
    """
    compiler = program_path("cc")
    if compiler is None:
        raise PlanError("cc: not installed; linking needs a C compiler, such as the Debian package gcc")
    includes = "".join(f"#include <{name}.h>\n" for name in _HEADERS)
    for name in names:
        asked = (
            f"{includes}#ifdef {name}\n#error a macro\n#endif\nstruct of_nobody; int {name}(struct of_nobody *, ...);\n"
        )
        try:
            _run([compiler, "-fsyntax-only", "-std=gnu99", "-x", "c", "-"], asked)
        except PlanError:
            raise PlanError(
                f"name = {name!r}: the C compiler or its headers have that name; choose another one"
            ) from None


def _c_options() -> list[str]:
    """Options of the C compiler; a sum of products is contracted nowhere but where the source says fmaf."""
    features = [f"-m{feature}" for feature in vector_features()]
    return ["-fPIC", "-O2", "-ftree-vectorize", "-std=gnu99", "-ffp-contract=off", "-fvisibility=hidden", *features]


@lru_cache(maxsize=1)
def _soft_tiles(compiler: str) -> bytes:
    """The object file of the soft tiles."""
    with TemporaryDirectory() as folder:
        made = Path(folder, "soft_tiles.o")
        _run([compiler, "-c", *_c_options(), "-o", str(made), str(_SOFT_TILES)], "")
        return made.read_bytes()


def _run(command: list[str], text: str) -> bytes:
    """What a program writes; what it complains of becomes a `PlanError`."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise PlanError(f"{name} did not finish within {_SECONDS} s") from None
    except (OSError, ValueError) as problem:
        raise PlanError(f"{name}: {one_line(str(problem))}") from None
    if done.returncode == 0:
        return done.stdout
    complaint = done.stderr.decode("utf-8", "replace")
    # The linker says what is wrong in its own line; the compiler behind it, that there was an error.
    found = re.search(r"(?:error|Error|ERROR): (?!ld returned)(.*)", complaint) or re.search(
        r"\bld(?:\.\w+)?: (.*)", complaint
    )
    lines = complaint.split("\n")
    said = found[1] if found else f"{lines[0].strip() or 'nothing said'} (it ended with code {done.returncode})"
    raise PlanError(f"{name}: {one_line(said)[:500]}")
