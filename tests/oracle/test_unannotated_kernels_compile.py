"""Kernels without layouts, brought to lanes by one call, become machine code: LLVM 24, then Intel's current compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutalg as la
from tests.oracle.toolchains import require_new, run
from tests.propagation.test_unannotated import LOWERED
from tests.propagation.unannotated import UNANNOTATED


@pytest.mark.parametrize("chip", ["pvc", "bmg"])
@pytest.mark.parametrize("name", LOWERED)
def test_a_kernel_without_layouts_becomes_machine_code(name: str, chip: str, tmp_path: Path) -> None:
    compiler, ocloc = require_new("mlir-opt-24"), require_new("ocloc")
    text = str(la.lower(UNANNOTATED[name].text, level="lane", target=chip))
    options = f"xegpu-op-level=lane zebin-chip={chip} binary-format=bin igc-cmd-options=-ze-opt-large-register-file"
    path = f"{Path(ocloc).parent}:/usr/bin:/bin"  # LLVM starts the first ocloc of the PATH
    command = ["/usr/bin/env", f"PATH={path}", compiler, f"--gpu-lower-to-xevm-pipeline={options}"]
    done = run(command, text, timeout=300)
    assert done.returncode == 0, done.stderr[:3000]
    assert "\\7FELF" in done.stdout
    assert done.stdout.count("gpu.binary") == 1
