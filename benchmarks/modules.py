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
import sys
import time

from compilers import SIZES, size_table

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
        "xdsl": other - end,
        "verified": end - middle,
        "each": 1e6 * (end - middle) / count,
        "megabytes": peak,
    }


def table() -> str:
    """All sizes as a Markdown table."""
    columns = {"strict": "read_module", "xdsl": "xDSL", "verified": "read and verify"}
    program = shutil.which(COMPILER)
    command = None if program is None else [program]
    return size_table(__file__, (*SIZES, 50_000), columns, lambda size: kernels(size)[0], COMPILER, command)


def main() -> None:
    """Print the table, or what one size takes."""
    print(json.dumps(measured(int(sys.argv[1]))) if len(sys.argv) > 1 else table())


if __name__ == "__main__":
    main()
