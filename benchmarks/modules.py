"""Reading and verifying MLIR: seconds of CPU for 2,500 to 50,000 operations, beside LLVM's mlir-opt in the same run.

    python benchmarks/modules.py      print the table

The text is the kernel of a GEMM at lane level, its function repeated under other names. Each size is read in a new process of
its own: by `read_module`, which reads strictly; by xDSL's parser and verifier, with the same dialects; and as `layoutalg verify
--llvm 24` reads and verifies a file. A small text first loads what all need; memory is that process's peak, xDSL left out.
mlir-opt parses and verifies the same text and prints nothing; its time includes starting it. A row is linear where the time
per operation is the one of the row above.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time

from compilers import compiler_seconds

SIZES = (2_500, 5_000, 10_000, 20_000, 50_000)
COMPILER = "mlir-opt-22"


def kernels(operations: int) -> tuple[str, int]:
    """A module of about so many operations, and how many it has."""
    import layoutalg as la

    lines = la.plan_gemm(256, 256, 256, a="f16", b="f16", c="f32", target="pvc").emit("lane").splitlines()
    first = next(number for number, line in enumerate(lines) if "gpu.func" in line)
    last = next(number for number, line in enumerate(lines) if "gpu.return" in line) + 1
    function = lines[first : last + 1]
    each = sum(line.strip() != "}" for line in function)
    copies = round(operations / each)
    repeated = [line.replace("@gemm(", f"@gemm{copy}(") for copy in range(copies) for line in function]
    return "\n".join([*lines[:first], *repeated, *lines[last + 1 :]]), copies * each


def measured(operations: int) -> dict[str, float]:
    """In this process: seconds of reading strictly, of reading a file and verifying it, and megabytes at the peak."""
    from xdsl.parser import Parser

    from layoutalg.ir import read_module
    from layoutalg.ir.dialects import known_dialects
    from layoutalg.module import read

    text, count = kernels(operations)
    small, _ = kernels(50)
    read_module(small)
    read(small).verify(llvm=24)
    start = time.process_time()
    read_module(text)
    middle = time.process_time()
    findings = read(text).verify(llvm=24)
    end = time.process_time()
    assert not findings
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    Parser(known_dialects(), text).parse_module().verify()
    other = time.process_time()
    return {
        "operations": count,
        "strict": middle - start,
        "verified": end - middle,
        "xdsl": other - end,
        "megabytes": peak,
    }


def table() -> str:
    """All sizes as a Markdown table."""
    lines = [
        f"| operations | read_module | xDSL | read and verify | each | peak memory | {COMPILER} |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    program = shutil.which(COMPILER)
    for size in SIZES:
        done = subprocess.run([sys.executable, __file__, str(size)], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        other = None if program is None else compiler_seconds([program], kernels(size)[0])
        cells = [
            f"{found['operations']:,}",
            f"{found['strict']:.2f} s",
            f"{found['xdsl']:.2f} s",
            f"{found['verified']:.2f} s",
            f"{1e6 * found['verified'] / found['operations']:.0f} µs",
            f"{found['megabytes']:.0f} MB",
            "" if other is None else f"{other:.2f} s",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, or what one size takes."""
    print(json.dumps(measured(int(sys.argv[1]))) if len(sys.argv) > 1 else table())


if __name__ == "__main__":
    main()
