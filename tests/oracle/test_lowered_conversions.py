"""Kernels with conversions that mlir-opt cannot lower: `la.lower` lowers them, and then every compiler and the CPU take them.

Each kernel of `conversion_modules` is asked of LLVM 22, 23 and 24 as it stands. What `la.lower` makes of it goes through their
pipelines to SPIR-V, through Intel's graphics compilers to machine code for pvc and bmg, and runs as work-items on Intel's
OpenCL runtime for CPUs.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import layoutalg as la
from tests.oracle import distribution
from tests.oracle.kernel_cpu import Launch, launch_binaries, module_of
from tests.oracle.toolchains import require, require_new, run
from tests.oracle.xe_shim import READ, TRANSFORM, WRITE, BlockBuiltin, plain_source
from tests.oracle.xe_toolchain import PIPELINE, payload, run_tool
from tests.propagation.lowering.conversion_modules import MODULES, ConversionModule

Array = NDArray[Any]

ILLEGAL = "failed to legalize operation 'xegpu.convert_layout'"
BFLOAT = tuple(name for name, module in MODULES.items() if any(element == "bf16" for element, _ in module.arrays))
"""LLVM 22 has no bf16 in SPIR-V ("requires the following SPIR-V extension: SPV_KHR_bfloat16")."""
BUILTINS = (
    *(BlockBuiltin(kind, bits, rows) for kind in (READ, WRITE) for bits in (8, 16, 32) for rows in (1, 2, 4, 8, 16, 32)),
    BlockBuiltin(TRANSFORM, 16, 16),
)


def names_for(version: int) -> list[str]:
    """The kernels that a version can compile once they are lowered."""
    return [name for name in MODULES if version > 22 or name not in BFLOAT]


@cache
def lowered(name: str, version: int) -> str:
    """A kernel at lane level."""
    made = la.lower(la.read(MODULES[name].module), llvm=version)
    assert made.module is not None, made.findings
    assert "convert_layout" not in made.module.source
    text = made.module.source
    return text[text.index("gpu.func") : text.rstrip().rindex("}", 0, -1)]


@cache
def binary(version: int, directory: Path) -> Path:
    """The SPIR-V of all kernels that a version can compile, which spirv-val accepts."""
    module = module_of([lowered(name, version) for name in names_for(version)])
    pipeline = PIPELINE if version == 22 else PIPELINE.replace("binary-format=bin", "binary-format=isa")
    done = run([distribution.program(version), pipeline], module, timeout=300)
    assert done.returncode == 0, done.stderr[:3000]
    path = directory / f"lowered_{version}.spv"
    path.write_bytes(payload(done.stdout))
    if version == 22:  # what 23 and 24 write has capabilities that Debian's validator does not know
        run_tool([require("spirv-val"), str(path)], directory)
    return path
