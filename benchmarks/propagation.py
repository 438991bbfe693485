"""Checking and propagating layouts: seconds of CPU for 2,500 to 20,000 operations, beside mlir-opt in the same run.

    python benchmarks/propagation.py      print the table

The text is one kernel at subgroup level, in blocks of fourteen operations (a softmax of the rows of a tile, a transpose of
every other tile, a chain of values through all blocks), with layouts on loads and stores alone. `check` looks at what was
propagated. Each size runs in a process of its own, after a small kernel that loads what both need; memory is the peak of that
process.
mlir-opt propagates the same text to lanes and prints nothing; its time includes starting it.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import time
from pathlib import Path

from compilers import SIZES, size_table

COMPILER = "mlir-opt-24"
PASSES = (
    "--pass-pipeline=builtin.module(xevm-attach-target{chip=pvc},gpu.module(xegpu-propagate-layout{layout-kind=lane}))"
)

HEAD = """#rows = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
gpu.module @m {
gpu.func @k(%p: memref<4096x4096xf32>, %q: memref<4096x4096xf32>) kernel
  attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
%c0 = arith.constant 0 : index
%t = xegpu.create_nd_tdesc %p : memref<4096x4096xf32> -> !xegpu.tensor_desc<16x16xf32>
%u = xegpu.create_nd_tdesc %q : memref<4096x4096xf32> -> !xegpu.tensor_desc<16x16xf32>
%last0 = arith.constant dense<1.0> : vector<16x16xf32>
"""
BLOCK = """%at@ = arith.constant @ : index
%x@ = xegpu.load_nd %t[%c0, %at@] <{layout = #rows}> : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
%l@ = arith.constant dense<0.0> : vector<16xf32>
%m@ = vector.multi_reduction <maxnumf>, %x@, %l@ [1] : vector<16x16xf32> to vector<16xf32>
%n@ = vector.shape_cast %m@ : vector<16xf32> to vector<16x1xf32>
%b@ = vector.broadcast %n@ : vector<16x1xf32> to vector<16x16xf32>
%d@ = arith.subf %x@, %b@ : vector<16x16xf32>
%e@ = math.exp %d@ : vector<16x16xf32>
%s@ = vector.multi_reduction <add>, %e@, %l@ [1] : vector<16x16xf32> to vector<16xf32>
%w@ = vector.shape_cast %s@ : vector<16xf32> to vector<16x1xf32>
%v@ = vector.broadcast %w@ : vector<16x1xf32> to vector<16x16xf32>
%y@ = arith.divf %e@, %v@ : vector<16x16xf32>
%last^ = arith.addf %y@, %last@ : vector<16x16xf32>
xegpu.store_nd %last^, %u[%c0, %at@] <{layout = #rows}> : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32>
"""
TRANSPOSED = "%last^ = arith.addf %y@, %z@ : vector<16x16xf32>"
TRANSPOSE = "%z@ = vector.transpose %last@, [1, 0] : vector<16x16xf32> to vector<16x16xf32>\n"


def kernel(operations: int) -> str:
    """A module of about so many operations."""
    lines = [HEAD]
    for block in range(operations // 14):
        text = BLOCK
        if block % 2:
            text = text.replace("%last^ = arith.addf %y@, %last@ : vector<16x16xf32>", TRANSPOSE + TRANSPOSED)
        lines.append(text.replace("@", str(block)).replace("^", str(block + 1)))
    return "".join([*lines, "gpu.return\n}\n}\n"])


def measured(operations: int) -> dict[str, float]:
    """In this process: seconds of propagating and of checking what came out, and megabytes at the peak."""
    import layoutalg as la

    text = kernel(operations)
    small = la.propagate(la.read(kernel(30)), level="lane", llvm=24)
    la.check(small.module, llvm=24)
    module = la.read(text)
    count = sum(1 for part in module.parts for _ in part.module.walk())
    start = time.process_time()
    done = la.propagate(la.read(text), level="lane", llvm=24)
    middle = time.process_time()
    found = la.check(la.read(str(done.module)), llvm=24)
    end = time.process_time()
    assert found.is_right, found.findings[0]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "operations": count,
        "propagated": middle - start,
        "checked": end - middle,
        "each": 1e6 * (end - start) / count,
        "megabytes": peak,
    }


def compiler() -> str | None:
    """mlir-opt: the one that `make toolchains` unpacks, or the one on the PATH."""
    folders = [os.environ.get("LAYOUTALG_NEWTOOLS"), str(Path(__file__).parents[1] / ".venv" / "newtools")]
    found = (shutil.which(COMPILER, path=f"{folder}/bin") for folder in folders if folder)
    return next((path for path in found if path), shutil.which(COMPILER))


def table() -> str:
    """All sizes as a Markdown table."""
    columns = {"propagated": "propagate", "checked": "read and check"}
    program = compiler()
    command = None if program is None else [program, PASSES]
    return size_table(__file__, SIZES, columns, kernel, f"{COMPILER} propagates", command)


def main() -> None:
    """Print the table, or what one size takes."""
    print(json.dumps(measured(int(sys.argv[1]))) if len(sys.argv) > 1 else table())


if __name__ == "__main__":
    main()
