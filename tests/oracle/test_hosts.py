"""Host programs, compiled with warnings as errors and executed.

OpenCL's hosts run on Intel's CPU runtime: the SPIR-V is linked with plain bodies for the builtins (`xe_shim`), which hosts
take as a second file; the reference is the host's own. SYCL's and Level Zero's are compiled; Level Zero's is started, to see
that it says which call fails.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.attention import Attention, plan_attention
from layoutalg.gemm.attention.decode import plan_decode
from layoutalg.gemm.weights import plan_weights
from tests.oracle.kernel_cpu import LIBRARIES
from tests.oracle.spirv import imports_of
from tests.oracle.toolchains import absent, require, require_module, require_new, run
from tests.oracle.xe_shim import builtins_of, plain_source

SMALL: dict[str, Any] = {"tile": (16, 32), "k_step": 32, "subgroups": (1, 2), "prefetch": "none"}
PLANS: dict[str, Any] = {
    "batch": plan_gemm(40, 80, 96, batch=3, bias="column", activation="gelu", alpha=1.25, beta=0.5, lda=104, **SMALL),
    "integers": plan_gemm(40, 80, 160, "s8", "u8", trans_b=True, bias="row", **SMALL),
    "scales": plan_gemm(40, 80, 160, "s8", c="f16", scale="both", bias="column", beta=1, activation="silu", **SMALL),
    "tf32": plan_gemm(
        40,
        80,
        48,
        "tf32",
        c="f16",
        trans_a=True,
        bias="column",
        beta=0.5,
        batch=2,
        activation="silu",
        **{**SMALL, "tile": (8, 32), "k_step": 16},
    ),
    "expression": plan_gemm(
        40,
        80,
        96,
        c="f16",
        epilogue="gelu(acc * row_scale + bias) + residual * 0.5 - clamp(tanh(acc), -1, 0.5)",
        **SMALL,
    ),
    "gated": plan_gemm(40, 80, 96, c="f16", gated="silu", **SMALL),
    "groups": plan_gemm(50, 48, 64, groups=5, epilogue="relu(acc * scale + bias) + residual", c="f16", **SMALL),
    "gated groups": plan_gemm(37, 29, 51, groups=9, gated="gelu", **{**SMALL, "tile": (8, 16)}),
    "split": plan_gemm(40, 80, 256, bias="row", beta=0.5, batch=2, split_k=2, **{**SMALL, "tile": (8, 16)}),
    "edges": plan_gemm(37, 29, 51, batch=3, bias="column", activation="relu", **SMALL),
    "weights": plan_weights(13, 48, 128, group=64, zeros=True, bias="row", tile=(8, 16), subgroups=(1, 2)),
    "floats of 8 bits": plan_weights(8, 32, 64, b="f8E4M3FN", group=32, bias="row", tile=(8, 16), subgroups=(1, 1)),
    "bytes of weights": plan_weights(8, 32, 64, b="u8", c="f16", group=32, tile=(8, 16), subgroups=(1, 1)),
    "attention": plan_attention(40, 100, 32, heads=4, kv_heads=2, batch=2, causal=True),
    "decode": plan_decode(100, 64, heads=8, kv_heads=2, batch=3, queries=2, parts=3),
    "pages": plan_decode(90, 64, out="f16", heads=8, kv_heads=2, batch=3, order="nhd", page=16, pages=20, parts=2),
    "heads side by side": plan_attention(
        24, 40, 32, heads=4, kv_heads=2, batch=2, causal=True, order="bshd", ldq=160, ldo=144, window=9
    ),
}
LOADER = (f"-L{LIBRARIES}", f"-Wl,-rpath-link,{LIBRARIES}", "-l:libOpenCL.so.1")
STRICT = ["-O1", "-Wall", "-Wextra", "-Werror"]


def require_header(name: str, package: str) -> None:
    """A header that the C compiler finds, or a skip."""
    if run([require("gcc"), "-E", "-x", "c", "-"], f"#include <{name}>\n").returncode:
        absent(package)


def compiled(text: str, directory: Path, *libraries: str) -> Path:
    (directory / "host.c").write_text(text)
    made = directory / "host"
    command = [require("gcc"), "-std=c11", *STRICT, "host.c", "-o", str(made), *libraries, "-lm"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return made


def binary_with_builtins(plan: Gemm | Attention, directory: Path) -> tuple[Path, Path]:
    """The SPIR-V, and OpenCL C with what it calls."""
    require_new(f"mlir-opt-{plan.llvm}")
    binary = plan.build(directory / "kernel.spv").path
    source = directory / "builtins.cl"
    source.write_text(plain_source(builtins_of(imports_of(binary.read_bytes()))))
    return binary, source


def environment_of_cpu(directory: Path) -> dict[str, str]:
    library = LIBRARIES / "libintelocl.so"
    if not library.exists():
        absent(str(library))
    (directory / "icd").mkdir()
    (directory / "icd" / "intel.icd").write_text(f"{library}\n")
    return {"OCL_ICD_VENDORS": str(directory / "icd"), "LD_LIBRARY_PATH": str(LIBRARIES), "PATH": "/usr/bin:/bin"}


def launched(command: list[str], directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=directory,
        env=environment_of_cpu(directory),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def assert_right(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(
        r"largest error \S+ \(largest element \S+\), \d+ of \d+ elements checked: all right\n", done.stdout
    )
    assert re.search(r"^\d+\.\d+ ms a launch, mean of 10$", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("name", PLANS)
def test_the_host_in_c_computes_what_its_reference_says(name: str, tmp_path: Path) -> None:
    require_module("pyopencl")  # brings OpenCL's loader
    require_header("CL/cl.h", "opencl-c-headers")
    files = binary_with_builtins(PLANS[name], tmp_path)
    host = compiled(PLANS[name].host("opencl-c"), tmp_path, *LOADER)
    assert_right(launched([str(host), *map(str, files)], tmp_path))


@pytest.mark.parametrize(
    "name",
    [
        "tf32",
        "expression",
        "gated groups",
        "groups",
        "split",
        "edges",
        "weights",
        "floats of 8 bits",
        "attention",
        "pages",
    ],
)
def test_the_host_in_python_computes_what_numpy_says(name: str, tmp_path: Path) -> None:
    require_module("pyopencl")
    files = binary_with_builtins(PLANS[name], tmp_path)
    (tmp_path / "host.py").write_text(PLANS[name].host("pyopencl"))
    assert_right(launched([sys.executable, "-W", "error", "host.py", *map(str, files)], tmp_path))


@pytest.mark.parametrize("route", ["opencl-c", "pyopencl"])
def test_a_wrong_kernel_is_seen(route: str, tmp_path: Path) -> None:
    """The binary of another product: the host of this one says WRONG, and where."""
    require_module("pyopencl")
    right, other = plan_gemm(40, 80, 96, **SMALL), plan_gemm(40, 80, 96, alpha=1.001, **SMALL)
    files = binary_with_builtins(other, tmp_path)
    if route == "pyopencl":
        (tmp_path / "host.py").write_text(right.host(route))
        command = [sys.executable, "host.py"]
    else:
        require_header("CL/cl.h", "opencl-c-headers")
        command = [str(compiled(right.host(route), tmp_path, *LOADER))]
    done = launched([*command, *map(str, files)], tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert " WRONG" in done.stdout


def test_a_host_that_leaves_the_second_kernel_out_is_wrong(tmp_path: Path) -> None:
    """The workspace is then filled, and C is as it was."""
    require_module("pyopencl")
    files = binary_with_builtins(PLANS["split"], tmp_path)
    text = PLANS["split"].host("pyopencl")
    line = next(line for line in text.splitlines(keepends=True) if line.startswith("    ('gemm_reduce', "))
    (tmp_path / "host.py").write_text(text.replace(line, ""))
    done = launched([sys.executable, "host.py", *map(str, files)], tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert " WRONG" in done.stdout


def test_the_host_in_c_says_which_call_fails(tmp_path: Path) -> None:
    require_module("pyopencl")
    require_header("CL/cl.h", "opencl-c-headers")
    text = (
        PLANS["integers"]
        .host("opencl-c")
        .replace('kernel_names[KERNELS] = {"gemm"', 'kernel_names[KERNELS] = {"other"')
    )
    files = binary_with_builtins(PLANS["integers"], tmp_path)
    done = launched([str(compiled(text, tmp_path, *LOADER)), *map(str, files)], tmp_path)
    assert done.returncode == 2
    assert "clCreateKernel: OpenCL error -46" in done.stderr  # CL_INVALID_KERNEL_NAME


@pytest.mark.parametrize("name", PLANS)
def test_the_host_for_level_zero_compiles(name: str, tmp_path: Path) -> None:
    require_header("level_zero/ze_api.h", "libze-dev")
    host = compiled(PLANS[name].host("level-zero"), tmp_path, "-lze_loader")
    (tmp_path / "kernel.zebin").write_bytes(b"\x7fELF" + bytes(40))
    done = subprocess.run(
        [str(host), "kernel.zebin"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.search(r"ze\w+(: no \w+)?: Level Zero error 0x\w+", done.stderr)


@pytest.mark.parametrize("name", ["batch", "split", "attention"])
def test_the_host_for_sycl_compiles(name: str, tmp_path: Path) -> None:
    """Intel's headers come with 172 MB, which `make toolchains` leaves out; pip install intel-sycl-rt brings them."""
    root = Path(sysconfig.get_path("data"))
    library = next(iter(sorted((root / "lib").glob("libsycl.so.?"))), None)
    if library is None or not (root / "include" / "sycl").is_dir():
        pytest.skip("Intel's SYCL is not installed: pip install intel-sycl-rt")
    assert shutil.which("g++") is not None, "g++"
    (tmp_path / "host.cpp").write_text(PLANS[name].host("sycl"))
    include = ["-isystem", str(root / "include"), f"-L{root / 'lib'}", f"-l:{library.name}"]
    command = ["g++", "-std=c++17", *STRICT, "host.cpp", "-o", "host", *include]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
