"""Host programs, compiled with warnings as errors and executed.

OpenCL's hosts run on Intel's CPU runtime: the SPIR-V is linked with `builtins_source`, the bodies of the builtins, which hosts
take as a second file; the reference is the host's own. SYCL's run there too, with both linked to one file. Level Zero's run
with Intel's own driver and a chip that it is told to pretend: no kernel runs, and every call is checked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from layoutalg.gemm import Gemm, plan_gemm
from layoutalg.gemm.attention import Attention, plan_attention
from layoutalg.gemm.attention.decode import plan_decode
from layoutalg.gemm.hosts.builtins import builtins_source
from layoutalg.gemm.hosts.folder import write_folder
from layoutalg.gemm.weights import plan_weights
from tests.documentation import ROOT, WALK, pages
from tests.oracle.kernel_cpu import LIBRARIES
from tests.oracle.spirv import with_builtins_once, without_cache_controls
from tests.oracle.toolchains import absent, require, require_module, require_new, require_unpacked, run

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
    "split": plan_gemm(
        40, 80, 256, bias="row", beta=0.5, batch=2, split_k=2, reduction="kernel", **{**SMALL, "tile": (8, 16)}
    ),
    "last": plan_gemm(40, 80, 256, bias="row", batch=2, split_k=4, reduction="last", **{**SMALL, "tile": (8, 16)}),
    "runs": plan_gemm(40, 80, 256, bias="row", stream_k=4, **{**SMALL, "tile": (8, 16)}),
    "runs of a batch": plan_gemm(24, 80, 256, stream_k=5, batch=2, c="f16", **{**SMALL, "tile": (8, 16)}),
    "edges": plan_gemm(37, 29, 51, batch=3, bias="column", activation="relu", **SMALL),
    "weights": plan_weights(13, 48, 128, group=64, zeros=True, bias="row", tile=(8, 16), subgroups=(1, 2)),
    "weights in parts": plan_weights(
        13, 48, 256, group=64, bias="row", tile=(8, 16), subgroups=(1, 2), split_k=4, reduction="last", batch=2
    ),
    "floats of 8 bits": plan_weights(8, 32, 64, b="f8E4M3FN", group=32, bias="row", tile=(8, 16), subgroups=(1, 1)),
    "bytes of weights": plan_weights(8, 32, 64, b="u8", c="f16", group=32, tile=(8, 16), subgroups=(1, 1)),
    "attention": plan_attention(40, 100, 32, heads=4, kv_heads=2, batch=2, causal=True, target="bmg"),
    "decode": plan_decode(100, 64, heads=8, kv_heads=2, batch=3, queries=2, parts=3, target="bmg"),
    "pages": plan_decode(
        90, 64, out="f16", heads=8, kv_heads=2, batch=3, order="nhd", page=16, pages=20, parts=2, target="bmg"
    ),
    "heads side by side": plan_attention(
        24, 40, 32, heads=4, kv_heads=2, batch=2, causal=True, order="bshd", ldq=160, ldo=144, window=9, target="bmg"
    ),
    "sequences": plan_attention(
        45,
        70,
        64,
        heads=2,
        kv_heads=1,
        order="bshd",
        ldv=96,
        starts_q=(0, 5, 5, 37, 45),
        starts_k=(0, 40, 47, 70, 70),
        target="bmg",
    ),
    "causal sequences": plan_attention(
        40,
        90,
        32,
        out="f16",
        heads=4,
        kv_heads=2,
        causal=True,
        window=11,
        order="bshd",
        starts_q=(0, 24, 33, 40),
        starts_k=(0, 16, 56, 90),
        target="bmg",
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
    source.write_text(builtins_source(binary.read_bytes()))
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
        "last",
        "edges",
        "weights",
        "weights in parts",
        "floats of 8 bits",
        "attention",
        "pages",
        "sequences",
        "causal sequences",
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


# Intel's driver for Level Zero with a pretended chip: it takes the calls and checks them, and no kernel runs

PRETENDED = {
    "NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1", "ProductFamilyOverride": "bmg", "UseAubStream": "0",
    "HardwareInfoOverride": "1x4x8", "UseBindlessMode": "0", "UseExternalAllocatorForSshAndDsh": "0",
}  # fmt: skip
"""Debug keys of Intel's compute-runtime: no hardware, nothing behind it, a bmg of one slice. Without the others it crashes."""
ON_BMG: dict[str, Any] = {
    "product": plan_gemm(40, 80, 96, batch=3, bias="column", beta=0.5, target="bmg", **SMALL),
    "split": plan_gemm(40, 80, 256, split_k=2, target="bmg", **{**SMALL, "tile": (8, 16)}),
    "groups": plan_gemm(50, 48, 64, groups=5, target="bmg", **SMALL),
    "weights": plan_weights(8, 48, 128, group=64, zeros=True, tile=(8, 16), subgroups=(1, 2), target="bmg"),
    "sequences": PLANS["sequences"],
    "pages": PLANS["pages"],
}


def on_pretended_chip(text: str, binary: Path) -> subprocess.CompletedProcess[str]:
    """The host, compiled and started with Debian's newest driver, its loader and its C library."""
    require_header("level_zero/ze_api.h", "libze-dev")
    libraries = "usr/lib/x86_64-linux-gnu"
    driver = require_unpacked("ze", f"{libraries}/libze_intel_gpu.so.1")
    compiler = require_unpacked("igc", f"{libraries}/libigdfcl.so.2")
    host = compiled(text, binary.parent, "-lze_loader")
    command = [
        str(driver / "usr/lib64/ld-linux-x86-64.so.2"),
        "--library-path",
        f"{compiler / libraries}:{driver / libraries}",
        str(host),
        str(binary),
    ]
    environment = {"PATH": "/usr/bin:/bin", **PRETENDED}
    return subprocess.run(
        command, cwd=binary.parent, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("kind", ["zebin", "spv"])
@pytest.mark.parametrize("name", ON_BMG)
def test_intel_s_driver_takes_every_call_of_the_host_for_level_zero(name: str, kind: str, tmp_path: Path) -> None:
    """To the last line: it is printed after the launches; C is as it was, so the host says that it is wrong."""
    plan = ON_BMG[name]
    require_new(f"mlir-opt-{plan.llvm}")
    require_new("ocloc")
    done = on_pretended_chip(plan.host("level-zero"), plan.build(tmp_path / f"kernel.{kind}").path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr == ""
    assert " WRONG\n" in done.stdout
    assert re.search(r"^\d+\.\d+ ms a launch, mean of 10$", done.stdout, re.MULTILINE)


REFUSED = {
    "another workgroup": ("workgroup[KERNELS][3] = {{32,", "workgroup[KERNELS][3] = {{64,", "SetGroupSize", "78000013"),
    "another name": ('kernel_names[KERNELS] = {"gemm"', 'kernel_names[KERNELS] = {"other"', "Create", "78000011"),
    "one argument more": ("set(kernels, 4, sizeof m", "set(kernels, 40, sizeof m", "SetArgumentValue", "78000004"),
}
"""What Intel's driver refuses: a host that passes these is not taken because the driver takes anything."""


@pytest.mark.parametrize("mistake", REFUSED)
def test_intel_s_driver_refuses_wrong_calls(mistake: str, tmp_path: Path) -> None:
    plan = ON_BMG["product"]
    require_new(f"mlir-opt-{plan.llvm}")
    require_new("ocloc")
    right, wrong, call, code = REFUSED[mistake]
    text = plan.host("level-zero")
    assert right in text
    done = on_pretended_chip(text.replace(right, wrong), plan.build(tmp_path / "kernel.zebin").path)
    assert (done.returncode, done.stderr) == (2, f"zeKernel{call}: Level Zero error 0x{code}\n")


# SYCL: Intel's headers and runtime, any C++ compiler


def sycl_options() -> tuple[list[str], Path]:
    """What a C++ compiler needs besides, and the folder of the runtime."""
    root = Path(sysconfig.get_path("data"))
    library = next(iter(sorted((root / "lib").glob("libsycl.so.?"))), None)
    if library is None or not (root / "include" / "sycl").is_dir():
        absent("intel-sycl-rt")
    return ["-isystem", str(root / "include"), f"-L{root / 'lib'}", f"-l:{library.name}"], root / "lib"


def compiled_in_cpp(text: str, directory: Path, *options: str) -> None:
    (directory / "host.cpp").write_text(text)
    command = [require("g++"), "-std=c++17", *STRICT, "host.cpp", *options]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("more", [[], ["-DWITH_BUILTINS"]], ids=["gpu", "cpu"])
def test_the_hosts_for_sycl_compile(more: list[str], tmp_path: Path) -> None:
    """All of them, one namespace for each: the headers, which take the time, are read once."""
    options, _ = sycl_options()
    texts = [f"namespace host_{number} {{\n{plan.host('sycl')}\n}}" for number, plan in enumerate(PLANS.values())]
    headers = sorted(set(re.findall(r"^#include .*$", "\n".join(texts), re.MULTILINE)))
    compiled_in_cpp("\n".join([*headers, *texts]), tmp_path, "-fsyntax-only", *more, *options)


def linked(plan: Gemm | Attention, directory: Path) -> Path:
    """One SPIR-V with the kernel and the plain bodies of what it calls: SYCL does not link two."""
    binary, source = binary_with_builtins(plan, directory)
    binary.write_bytes(without_cache_controls(binary.read_bytes()))
    for command in (
        [require_new("ocloc"), "compile", "-file", source.name, "-device", "pvc", "-options", "-cl-std=CL1.2"],
        [require("spirv-link"), "--target-env", "opencl2.2", binary.name, "builtins_pvc.spv", "-o", "linked.spv"],
    ):
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    made = directory / "linked.spv"
    made.write_bytes(with_builtins_once(made.read_bytes()))
    return made


def launched_by_sycl(text: str, binary: Path) -> subprocess.CompletedProcess[str]:
    options, libraries = sycl_options()
    if not (libraries / "libintelocl.so").exists():
        absent(str(libraries / "libintelocl.so"))
    compiled_in_cpp(text, binary.parent, "-o", "host", *options)
    environment = {"LD_LIBRARY_PATH": str(libraries), "OCL_ICD_FILENAMES": str(libraries / "libintelocl.so")}
    command = [str(binary.parent / "host"), str(binary)]
    # attention compiles for 18 s of a CPU that is ours alone
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("name", ["batch", "split", "groups", "weights", "pages", "attention"])
def test_the_host_for_sycl_computes_what_its_reference_says(name: str, tmp_path: Path) -> None:
    sycl_options()
    assert_right(launched_by_sycl(PLANS[name].host("sycl"), linked(PLANS[name], tmp_path)))


def test_the_host_for_sycl_sees_a_wrong_kernel(tmp_path: Path) -> None:
    sycl_options()
    right, other = plan_gemm(40, 80, 96, **SMALL), plan_gemm(40, 80, 96, alpha=1.001, **SMALL)
    done = launched_by_sycl(right.host("sycl"), linked(other, tmp_path))
    assert done.returncode == 1, done.stdout + done.stderr
    assert " WRONG" in done.stdout


# The folder as a user has it: what it says is typed


@pytest.mark.parametrize("route", ["opencl-c", "pyopencl", "sycl"])
def test_a_written_folder_runs_on_a_cpu(route: str, tmp_path: Path) -> None:
    """`make cpu`, with nothing set: the Makefile finds the runtime beside the Python that it is told."""
    require_module("pyopencl")
    require_new(f"mlir-opt-{PLANS['gated'].llvm}")
    if route == "opencl-c":
        require_header("CL/cl.h", "opencl-c-headers")
    elif route == "sycl":
        sycl_options()
    names, missing = write_folder(PLANS["gated"], route, tmp_path / "made")
    assert (names[-1], missing) == ("builtins.cl", "")
    command = [require("make"), "-C", str(tmp_path / "made"), "cpu", f"PYTHON={sys.executable}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OCL_ICD")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert "warning" not in done.stderr
    assert_right(done)


def test_the_walk_of_the_documentation_ends_with_a_number(tmp_path: Path) -> None:
    """Its last two lines, with the Python and the library of this run; the lines before install what is there."""
    require_module("pyopencl")
    require("mlir-opt-22")
    assert WALK in {
        (block.language, block.text) for page in pages() if page.name == "docs/gemm.md" for block in page.blocks()
    }
    command, make = (line.split() for line in WALK[1].splitlines()[-2:])
    assert (command[0], make) == ("layoutalg", ["make", "-C", "launch", "cpu"])
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    planned = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=tmp_path,
        env=path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert planned.returncode == 0, planned.stderr
    done = subprocess.run(
        [*make, f"PYTHON={sys.executable}"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert_right(done)


def test_a_folder_without_its_binary_says_what_makes_it(tmp_path: Path) -> None:
    write_folder(PLANS["gated"], "pyopencl", tmp_path / "made")
    for name in ("gemm.spv", "builtins.cl"):
        (tmp_path / "made" / name).unlink(missing_ok=True)
    done = run([require("make"), "-C", str(tmp_path / "made"), "cpu", f"PYTHON={sys.executable}"])
    assert done.returncode == 2
    assert "gemm.spv is missing: have this folder written where mlir-opt-24 is installed" in done.stderr
