"""A plan as a shared library: from ctypes, from C, with threads, without AMX; and what valgrind and the sanitizers say."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm.amx import AmxGemm, compiling, plan_amx
from layoutalg.gemm.amx.building import AmxLibrary, header, product_header
from layoutalg.gemm.amx.compiling import features_of
from layoutalg.gemm.amx.numerics import computed
from layoutalg.gemm.amx.operands import Buffer, Operands, random_operands
from layoutalg.gemm.amx.processor import missing_features
from layoutalg.gemm.amx.running import Loaded
from tests.oracle.amx_code import native, require_llvm
from tests.oracle.toolchains import require, run

STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1")


def way(plan: AmxGemm) -> str:
    """Tile instructions where this CPU has them."""
    return "amx" if native(plan.problem) else "soft"


def workspace_bytes(library: AmxLibrary, threads: int) -> int:
    count = getattr(ctypes.CDLL(str(library.path)), f"{library.name}_workspace_bytes")
    count.restype = ctypes.c_size_t
    return int(count(threads))


def called(
    library: AmxLibrary,
    plan: AmxGemm,
    given: dict[str, Any],
    threads: int,
    *,
    packed: bool = False,
    within: Buffer | None = None,
) -> Any:
    """C, from the library's function; `within` is the workspace."""
    compiled = ctypes.CDLL(str(library.path))
    operands = Operands.of(plan, **given)
    addresses = [ctypes.c_void_p(argument) for argument in operands.arguments]
    if packed:
        count = getattr(compiled, f"{library.name}_packed_bytes")
        count.restype = ctypes.c_size_t
        buffer = Buffer.of(np.full(count(), 85, np.uint8))
        assert getattr(compiled, f"{library.name}_pack")(addresses[1], ctypes.c_void_p(buffer.address)) == 0
        assert buffer.untouched
        addresses[1] = ctypes.c_void_p(buffer.address)
    ending = "_prepacked" if packed else ""
    if within is not None:  # a workspace need not begin at a multiple of anything
        addresses.append(ctypes.c_void_p(within.address + 3))
        ending += "_in"
        assert within.array.size >= workspace_bytes(library, threads) + 3
    function = getattr(compiled, f"{library.name}{ending}")
    assert function(*addresses, threads) == 0
    return operands.result()


PLANS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((100, 92, 70), {"blocks": (32, 32, 64), "bias": "column", "c": "bf16", "activation": "relu"}),
    ((61, 130, 99, "s8", "u8"), {"trans_a": True, "c": "s8", "scale": "row", "blocks": (32, 64, 64), "ldc": 131}),
    ((61, 130, 99, "s8", "s8"), {"c": "bf16", "scale": "both", "blocks": (32, 64, 64)}),
    ((61, 130, 98, "bf16", "s8"), {"trans_b": True, "scale": "column", "blocks": (32, 64, 64), "prefetch_b": 2}),
    ((33, 33, 40), {"trans_b": True, "order": "rows", "blocks": (32, 32, 32), "beta": 1.0}),
    (
        (40, 36, 70, "u8", "s8"),
        {"batch": 3, "c": "s8", "scale": "row", "bias": "column", "blocks": (32, 32, 64), "ldc": 40},
    ),
    ((17, 50, 33), {"batch": 5, "c": "bf16", "lda": 37, "ldb": 51, "beta": 2.0}),
)


@pytest.mark.parametrize(
    ("size", "given"), PLANS, ids=["bias", "scale", "both", "bytes", "direct", "batch of bytes", "batch"]
)
def test_one_to_four_threads_and_packed_operands_give_the_same_bits(
    size: tuple[Any, ...], given: dict[str, Any], tmp_path: Path
) -> None:
    require_llvm(24)
    plan = plan_amx(*size, **({"blocking": (2, 2)} | given))
    library = plan.build(tmp_path / "product.so", name="product", how=way(plan))
    inputs = random_operands(plan.problem, 4)
    expected = computed(plan.problem, **inputs).tobytes()
    workspace = Buffer.of(np.full(workspace_bytes(library, 4) + 3, 85, np.uint8))
    for threads in (1, 2, 3, 4):
        assert called(library, plan, inputs, threads).tobytes() == expected, threads
        assert called(library, plan, inputs, threads, within=workspace).tobytes() == expected, threads
        assert called(library, plan, inputs, threads, packed=True, within=workspace).tobytes() == expected, threads
        assert workspace.untouched
        assert called(library, plan, inputs, threads, packed=True).tobytes() == expected, threads


@pytest.mark.parametrize("size", [(640, 640, 320), (64, 64, 16384)], ids=["many blocks", "long panels"])
def test_workers_who_run_at_once_give_the_same_bits(size: tuple[int, int, int], tmp_path: Path) -> None:
    """Each has a scratch of its own, which many blocks show, and waits for the panels of the others, which long ones show."""
    require_llvm(24)
    plan = plan_amx(*size, "u8", "s8", c="f32", scale="row", trans_a=True, blocking=(2, 2), blocks=(32, 32, 64))
    library = plan.build(tmp_path / "many.so", name="many", how=way(plan))
    given = random_operands(plan.problem, 6)
    expected = called(library, plan, given, 1)
    for threads in (2, 4, 16) * 12:  # a worker that is late by chance hides a mistake once, not every time
        assert np.array_equal(called(library, plan, given, threads), expected), threads


@pytest.mark.parametrize("blocking", [(2, 2), (3, 1), (1, 4)])
def test_one_library_takes_any_number_of_rows(blocking: tuple[int, int], tmp_path: Path) -> None:
    require_llvm(24)
    chosen: dict[str, Any] = {"c": "bf16", "bias": "row", "lda": 72, "blocking": blocking, "blocks": (96, 64, 32)}
    plan = plan_amx(100, 36, 70, dynamic_m=True, **chosen)
    library = plan.build(tmp_path / "rows.so", name="rows", how=way(plan))
    workspace = Buffer.of(np.full(workspace_bytes(library, 3) + 3, 85, np.uint8))
    for rows in (1, 15, 16, 17, 32, 33, 47, 48, 49, 64, 95, 96, 97, 100):
        inputs = random_operands(plan.problem.with_rows(rows), rows)
        expected = computed(plan_amx(rows, 36, 70, **chosen).problem, **inputs)
        assert same_bits(called(library, plan, inputs, 3), expected), rows
        assert same_bits(called(library, plan, inputs, 2, packed=True, within=workspace), expected), rows
        assert workspace.untouched
    compiled = ctypes.CDLL(str(library.path))
    compiled.rows_error.restype = ctypes.c_char_p
    addresses = [ctypes.c_void_p(buffer.address) for buffer in Operands.of(plan, **inputs).buffers]
    assert compiled.rows(*addresses, ctypes.c_long(101), 1) == compiled.rows(*addresses, ctypes.c_long(0), 1) == 7
    assert compiled.rows_error(7) == b"rows is not a number from 1 to as many as are planned"


def same_bits(one: Any, other: Any) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def test_wrong_arguments_are_codes_with_a_text(tmp_path: Path) -> None:
    require_llvm(24)
    plan = plan_amx(16, 16, 32, bias="row")
    library = plan.build(str(tmp_path / "one.so"), name="one", how="soft")
    compiled = ctypes.CDLL(str(library.path))
    compiled.one_error.restype = ctypes.c_char_p
    operands = Operands.of(plan, np.ones((16, 32)), np.ones((32, 16)), bias=np.ones(16))
    a, b, c, bias = (ctypes.c_void_p(buffer.address) for buffer in operands.buffers)
    codes = {
        compiled.one(a, b, None, bias, 1): b"a pointer is NULL",
        compiled.one(a, b, c, bias, 0): b"threads is not a number from 1 to 1024",
        compiled.one(a, b, c, bias, 1): b"no error",
    }
    assert {code: compiled.one_error(code) for code in codes} == codes
    assert sorted(codes) == [0, 1, 2]
    assert compiled.one(a, b, c, None, 1) == 1
    assert compiled.one_pack(b, None) == 1
    assert compiled.one(a, b, c, bias, 1025) == 2
    assert compiled.one_error(99) == b"unknown code"
    # Nothing but the functions of the header leaves the library.
    names = run([require("nm"), "-D", "--defined-only", str(library.path)]).stdout.split()[2::3]
    endings = ("", "_error", "_in", "_pack", "_packed_bytes", "_prepacked", "_prepacked_in", "_workspace_bytes")
    assert sorted(names) == [f"one{ending}" for ending in endings]
    assert compiled.one_in(a, b, c, bias, None, 1) == compiled.one_prepacked_in(a, b, c, bias, None, 1) == 1
    assert compiled.one_workspace_bytes(0) == compiled.one_workspace_bytes(1025) == 0


PROGRAM = """
#include "gemm.h"
#include <stdio.h>
#include <stdlib.h>

static signed char a[100 * 70], b[70 * 60];
static int c[100 * 60];

int main(void)
{{
    int wrong = 0, threads, i, j, k, code;
    void *packed = malloc(gemm_packed_bytes());
    for (i = 0; i < 100 * 70; i++)
        a[i] = (signed char)(i * 7 % 251 - 125);
    for (i = 0; i < 70 * 60; i++)
        b[i] = (signed char)(i * 5 % 241 - 120);
    if (!packed || (code = gemm_pack(b, packed)) != 0)
        return 2;
    for (threads = 1; threads <= 4; threads++) {{
        code = threads % 2 ? gemm(a, b, c, threads) : gemm_prepacked(a, packed, c, threads);
        if (code) {{
            puts(gemm_error(code));
            return 2;
        }}
        for (i = 0; i < 100; i++)
            for (j = 0; j < 60; j++) {{
                int sum = 0;
                for (k = 0; k < 70; k++)
                    sum += a[i * 70 + k] * b[k * 60 + j];
                wrong += sum != c[i * 60 + j];
            }}
    }}
    free(packed);
    printf("%d wrong\\n", wrong);
    return wrong != 0;
}}
""".replace("{{", "{").replace("}}", "}")


def c_program(folder: Path, how: str, *options: str) -> list[str]:
    """A program that checks four products against loops in C, linked with the library that a plan builds."""
    plan = plan_amx(100, 60, 70, "s8", blocking=(2, 2), blocks=(32, 32, 64))
    plan.build(folder / "gemm.so", how=how)
    (folder / "main.c").write_text(PROGRAM)
    program = str(folder / "main")
    done = run([require("cc"), *STRICT, *options, "-o", program, str(folder / "main.c"), str(folder / "gemm.so")])
    assert done.returncode == 0, done.stderr
    return [program]


def check_program(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    done = run(["env", f"LD_LIBRARY_PATH={folder}", *command])
    assert (done.returncode, done.stdout) == (0, "0 wrong\n"), done.stderr[-2000:]
    return done


@pytest.mark.parametrize("how", ["amx", "soft"])
@pytest.mark.usefixtures("_own_soft_tiles")
def test_a_c_program_compiles_without_a_warning_and_finds_nothing_wrong(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does the library's own C give one."""
    require_llvm(24)
    options = [*compiling._c_options(), "-Wall", "-Wextra", "-Werror"]  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(compiling, "_c_options", lambda: options)
    command = c_program(tmp_path, how)
    if how == "soft" or native(plan_amx(16, 16, 64, "s8").problem):
        check_program(command, tmp_path)
    else:  # it says that the CPU lacks something, and does not end with an illegal instruction
        done = run(["env", f"LD_LIBRARY_PATH={tmp_path}", *command])
        assert done.returncode == 2


def test_cpp_reads_the_header_too(tmp_path: Path) -> None:
    (tmp_path / "gemm.h").write_text(header(plan_amx(64, 64, 64), "gemm", "amx"))
    (tmp_path / "main.cpp").write_text('#include "gemm.h"\n#include "gemm.h"\nint main() { return 0; }\n')
    done = run([require("c++"), "-Wall", "-Werror", "-fsyntax-only", str(tmp_path / "main.cpp")])
    assert done.returncode == 0, done.stderr


@pytest.fixture
def _own_soft_tiles() -> Iterator[None]:
    """Soft tiles are compiled once in a process: those with a sanitizer are for one test."""
    compiling._soft_tiles.cache_clear()  # pyright: ignore[reportPrivateUsage]
    yield
    compiling._soft_tiles.cache_clear()  # pyright: ignore[reportPrivateUsage]


def sanitised(folder: Path, monkeypatch: pytest.MonkeyPatch, sanitizer: str) -> list[str]:
    """The program and the C part of the library with a sanitizer; the kernels are LLVM's, as always."""
    options = [*compiling._c_options(), "-g", f"-fsanitize={sanitizer}"]  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(compiling, "_c_options", lambda: options)
    return c_program(folder, "soft", f"-fsanitize={sanitizer}", "-g")


@pytest.mark.exhaustive
@pytest.mark.usefixtures("_own_soft_tiles")
@pytest.mark.parametrize("sanitizer", ["thread", "address", "undefined"])
def test_the_worker_loop_passes_the_sanitizers(sanitizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_llvm(24)
    done = check_program(sanitised(tmp_path, monkeypatch, sanitizer), tmp_path)
    assert done.stderr == ""


@pytest.mark.exhaustive
def test_valgrind_finds_no_error_and_no_leak(tmp_path: Path) -> None:
    require_llvm(24)
    options = ["--error-exitcode=9", "--leak-check=full", "--quiet"]
    check_program([require("valgrind"), *options, *c_program(tmp_path, "soft")], tmp_path)


def test_a_library_that_needs_what_the_cpu_lacks_returns_a_code(tmp_path: Path) -> None:
    """amx-fp16: a CPU without it gets code 4; the check comes before any instruction of the kernels."""
    require_llvm(24)
    plan = plan_amx(16, 16, 32, "f16")
    library = plan.build(tmp_path / "half.so", name="half")
    compiled = ctypes.CDLL(str(library.path))
    operands = Operands.of(plan, np.ones((16, 32)), np.ones((32, 16)))
    code = compiled.half(*(ctypes.c_void_p(buffer.address) for buffer in operands.buffers), 1)
    lacks = bool(missing_features(tuple(f for f in features_of("amx") if f not in ("amx-bf16", "amx-int8"))))
    assert code == (4 if lacks else 0)


def test_bad_names_and_paths_are_refused_in_words(tmp_path: Path) -> None:
    plan = plan_amx(16, 16, 32)
    refused: tuple[tuple[tuple[Any, ...], dict[str, Any], str], ...] = (
        ((tmp_path / "a.so",), {"name": "2x"}, "name = '2x': expected a C identifier"),
        ((tmp_path / "a.so",), {"name": "while"}, "name = 'while': expected a C identifier"),
        ((tmp_path / "a.so",), {"name": 3}, "name = 3: expected a C identifier"),
        ((tmp_path / "none" / "a.so",), {}, "there is no folder"),
        ((tmp_path / "a.h",), {}, "expected the name of a library, such as 'gemm.so'"),
        ((5,), {}, "path = 5: expected the name of a file"),
        ((tmp_path / "a.so",), {"how": "fast"}, "how 'fast': expected 'amx', 'scalar' or 'soft'"),
    )
    for arguments, given, message in refused:
        with pytest.raises(PlanError, match=message):
            plan.build(*arguments, **given)
    assert not list(tmp_path.iterdir())


def test_a_library_that_cannot_be_written_or_loaded_is_refused_in_words(tmp_path: Path) -> None:
    require_llvm(24)
    (tmp_path / "folder.so").mkdir()
    with pytest.raises(PlanError, match=r"^cc: cannot open output file .*folder\.so: Is a directory"):
        plan_amx(16, 16, 32).build(tmp_path / "folder.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(PlanError, match=r"^the compiled code cannot be loaded: .*text\.so"):
        Loaded(str(tmp_path / "text.so"), "soft")


def test_the_sizes_in_the_c_source_are_those_of_the_plan() -> None:
    text = product_header(plan_amx(100, 60, 200, trans_a=True, c="bf16", blocks=(64, 64, 64)), "gemm", "soft")
    sizes = dict(line.split(" ")[1:3] for line in text.splitlines() if line.startswith("#define PA"))
    assert sizes["PACKS_A"] == "1"
    assert sizes["PANELS_A(rows)"] == "(((rows)"
    assert sizes["PANELS_B"] == "4L"
    assert sizes["PACKED_A_BYTES"] == f"{7 * 7 * 1024}l"
    assert sizes["PACKED_B_BYTES"] == f"{4 * 100 * 64}l"
    assert "#define SCRATCH_BYTES 16384l" in text
