"""Kernels with conversions that mlir-opt cannot lower: `la.lower` lowers them, and then every compiler and the CPU take them.

Each kernel of `conversion_modules` is asked of LLVM 22, 23 and 24 as it stands. What `la.lower` makes of it goes through their
pipelines to SPIR-V, through Intel's graphics compilers to machine code for pvc and bmg, and runs as work-items on Intel's
OpenCL runtime for CPUs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import layoutalg as la
from layoutalg.gemm.hosts.spirv import imports_of
from tests.lowering.conversion_modules import COLUMNS, MODULES, ROWS, ConversionModule
from tests.lowering.test_exchanges import on_fragments
from tests.oracle import distribution
from tests.oracle.kernel_cpu import Launch, launch_binaries, module_of
from tests.oracle.toolchains import require, require_new, run
from tests.oracle.xe_toolchain import PIPELINE, PIPELINES, payload, run_tool, shim_of

BFLOAT = tuple(name for name, module in MODULES.items() if any(element == "bf16" for element, _ in module.arrays))
"""LLVM 22 has no bf16 in SPIR-V ("requires the following SPIR-V extension: SPV_KHR_bfloat16")."""
LONG = 14_000
"""Kernels of more characters take the CPU's compiler seconds each; those run in the simulator alone."""
REFUSED = 60


def names_for(version: int) -> list[str]:
    """The kernels that a version can compile once they are lowered."""
    return [name for name in MODULES if version > 22 or name not in BFLOAT]


@cache
def lowered(name: str, version: int) -> str:
    """A module with a kernel at lane level."""
    made = la.lower(la.read(MODULES[name].module), llvm=version)
    assert made.module is not None, made.findings
    text = made.module.source
    assert "convert_layout" not in text
    return text


def kernel_text(module: str) -> str:
    """The only gpu.func of a module."""
    return module[module.index("gpu.func") : module.rstrip().rindex("}", 0, -1)]


def batch(modules: Sequence[str]) -> str:
    """The kernels of several modules in one, which declares what they declare."""
    declared = [line for module in modules for line in module.splitlines() if line.strip().startswith("llvm.func ")]
    return module_of([*dict.fromkeys(declared), *map(kernel_text, modules)])


@cache
def binary(version: int, directory: Path) -> Path:
    """The SPIR-V of all kernels that a version can compile."""
    module = batch([lowered(name, version) for name in names_for(version)])
    return _spirv(module, version, directory / f"lowered_{version}.spv")


def _spirv(module: str, version: int, path: Path) -> Path:
    done = run([distribution.program(version), PIPELINES[version]], module, timeout=300)
    assert done.returncode == 0, done.stderr[:3000]
    path.write_bytes(payload(done.stdout))
    if version == 22:  # what 23 and 24 write has capabilities that Debian's validator does not know
        run_tool([require("spirv-val"), str(path)], path.parent)
    return path


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lowered")


def test_mlir_opt_refuses_or_leaves_the_conversions() -> None:
    """Of 22 and 23, which lower a conversion by patterns, one or both end with it still there, for 60 kernels and more."""
    kept: set[str] = set()
    for version in (22, 23):
        for level in ("subgroup", "workgroup"):
            modules = [module for module in MODULES.values() if (module.subgroups > 1) == (level == "workgroup")]
            kept |= distribution.keeping("xegpu.convert_layout", {m.name: m.module for m in modules}, version, level)
    assert len(kept) >= REFUSED, sorted(set(MODULES) - kept)


@pytest.mark.parametrize(("version", "device"), [(23, "pvc"), (24, "bmg")])
def test_the_lowered_kernels_become_machine_code(version: int, device: str, directory: Path) -> None:
    """Intel's current compiler takes the SPIR-V of LLVM 23 and 24; the block messages stay messages."""
    ocloc = require_new("ocloc")
    path = binary(version, directory)
    options = ["-device", device, "-out_dir", device]
    log = run_tool([ocloc, "compile", "-file", str(path), "-spirv_input", *options], directory)
    assert "Build succeeded" in log
    assert "spill" not in log.lower()
    compiled = next((directory / device).glob("*.bin")).read_bytes()
    assert all(name.encode() in compiled for name in MODULES)


def test_the_lowered_kernels_become_machine_code_in_debian(directory: Path) -> None:
    """Debian's compiler takes the SPIR-V of LLVM 22, with bodies for the block messages."""
    ocloc, path = require("ocloc"), binary(22, directory)
    bodies = str(shim_of(directory, imports_of(path.read_bytes())))
    run_tool(
        [ocloc, "link", "-file", str(path), "-file", bodies, "-out_format", "LLVM_BC", "-out", "all.bc"], directory
    )
    log = run_tool([ocloc, "compile", "-file", "all.bc", "-llvm_input", "-device", "pvc", "-out_dir", "old"], directory)
    assert "Build succeeded" in log
    compiled = next((directory / "old").glob("*.bin")).read_bytes()
    assert all(name.encode() in compiled for name in names_for(22))


def test_the_lowered_kernels_compute_what_the_tensors_mean_on_the_cpu(directory: Path) -> None:
    """Work-items of Intel's CPU runtime; shared memory is an argument, after the others."""
    texts = {name: lowered(name, 22) for name in names_for(22)}
    texts = {name: text for name, text in texts.items() if len(kernel_text(text)) <= LONG}
    assert len(texts) >= 30
    path = _spirv(batch(list(texts.values())), 22, directory / "run.spv")
    launches = [launch_of(MODULES[name], kernel_text(text)) for name, text in texts.items()]
    after = launch_binaries(dict.fromkeys(texts, path), launches, directory)
    wrong = [name for name, arrays in after.items() if not np.array_equal(arrays[-1], MODULES[name].expected())]
    assert not wrong


def launch_of(module: ConversionModule, text: str) -> Launch:
    """One workgroup, with the shared memory that the kernel's first line says."""
    local = tuple(int(size) for size in re.findall(r"%\w+ : memref<(\d+)xi8, 3", text.splitlines()[0]))
    return Launch(module.name, tuple(module.operands()), block=(16 * module.subgroups, 1, 1), local=local)


@pytest.mark.parametrize("version", [22, 23, 24])
def test_fragments_converted_in_place_are_lowered(version: int, directory: Path) -> None:
    """As they stand, LLVM 22 refuses to read them, and 23 and 24 to lower them."""
    texts = [on_fragments(element, (16, 16), ROWS, COLUMNS, 16) for element in ("f32", "f16", "i8", "i32")]
    refused = run([distribution.program(version), PIPELINE], la.read(texts[0]).text(llvm=version))
    assert refused.returncode != 0
    assert "xegpu.convert_layout" in refused.stderr
    made = [la.lower(la.read(text), llvm=version).module for text in texts]
    functions = [one.source.replace("@k(", f"@k{number}(") for number, one in enumerate(made) if one is not None]
    assert len(functions) == len(texts)
    assert _spirv(batch(functions), version, directory / f"fragments_{version}.spv").stat().st_size
