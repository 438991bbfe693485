"""Asking iree-opt: the newest version, from the package's own environment, and 3.2.0 beside it.

`make toolchains` installs both: `iree-base-compiler`, and version 3.2.0 of it into `iree-3.2` of the environment. The programs
are called directly, many attributes or operations per process.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.oracle.toolchains import require, require_module, run

OLD = str(Path(sys.prefix) / "iree-3.2" / "iree" / "compiler" / "_mlir_libs" / "iree-opt")


def iree_opt(dialect: str | None = None) -> str:
    """The path of iree-opt of a version, or a skip (a failure where oracles are required)."""
    if dialect == "iree-3.2":
        return require(OLD)
    module = require_module("iree.compiler")
    return require(str(Path(module.__path__[0]) / "_mlir_libs" / "iree-opt"))


def reprinted(attributes: Sequence[str], dialect: str | None = None) -> list[str | None]:
    """Each attribute as iree-opt prints it again, None where it refuses it; all in one process."""
    modules = [f"module attributes {{t.a = {text}, t.n = {n}}} {{}}" for n, text in enumerate(attributes)]
    done = run([iree_opt(dialect), "--split-input-file", "--mlir-print-local-scope"], "\n// -----\n".join(modules))
    found: list[str | None] = [None] * len(attributes)
    for match in re.finditer(r"^module attributes \{t\.a = (.*), t\.n = (\d+) : i64\}", done.stdout, re.M):
        found[int(match[2])] = re.sub(r"=  +", "= ", match[1])
    return found


def diagnostics(functions: Sequence[str], dialect: str | None = None) -> list[str | None]:
    """The first error of each module, None where iree-opt accepts it; all in one process."""
    text = "\n// -----\n".join(functions)
    done = run([iree_opt(dialect), "--split-input-file", "-o", "/dev/null"], text)
    starts = [1]
    for one in functions:
        starts.append(starts[-1] + one.count("\n") + 2)
    found: list[str | None] = [None] * len(functions)
    for match in re.finditer(
        r"^(?:<stdin>|within split at <stdin>:(\d+) offset ):(\d+):\d+: error: (.*)$", done.stderr, re.M
    ):
        line = int(match[2]) + (int(match[1]) - 1 if match[1] else 0)
        index = max(i for i, start in enumerate(starts[:-1]) if start <= line)
        found[index] = found[index] or match[3]
    return found


# Coordinates: a copy of a memref through a nested layout, distributed to threads

_FUNCTION = """
func.func @f{number}(%src: memref<{memory}>, %dst: memref<{memory}>) attributes {{
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute>
        workgroup_size = [{workgroup}, 1, 1] subgroup_size = {subgroup}>}} {{
  %c0 = arith.constant 0 : index
  %cst = arith.constant 0.0 : f32
  %v = vector.transfer_read %src[{zeros}], %cst {{in_bounds = [{bounds}]}} : memref<{memory}>, vector<{memory}>
  %l = iree_vector_ext.to_layout %v to layout({layout}) : vector<{memory}>
  vector.transfer_write %l, %dst[{zeros}] {{in_bounds = [{bounds}]}} : vector<{memory}>, memref<{memory}>
  return
}}
"""
_PIPELINE = "builtin.module(func.func(iree-llvmgpu-vector-distribute,canonicalize,cse))"


def distributed(layouts: Sequence[tuple[str, Sequence[int], int, int]]) -> list[NDArray[np.int64] | None]:
    """Where each thread of a workgroup reads its registers: `[thread, register, rank]`, None where IREE leaves the copy alone.

    A layout comes with its shape, the workgroup's size and the subgroup's; all are distributed in one process.
    """
    functions: list[str] = []
    for number, (layout, shape, workgroup, subgroup) in enumerate(layouts):
        memory = "".join(f"{n}x" for n in shape) + "f32"
        zeros, bounds = ", ".join(["%c0"] * len(shape)), ", ".join(["true"] * len(shape))
        functions.append(
            _FUNCTION.format(
                number=number,
                memory=memory,
                workgroup=workgroup,
                subgroup=subgroup,
                zeros=zeros,
                bounds=bounds,
                layout=layout,
            )
        )
    program = [iree_opt(), f"--pass-pipeline={_PIPELINE}", "--mlir-print-local-scope", "--split-input-file"]
    done = run(program, "\n// -----\n".join(functions))
    problems = {line for line in done.stderr.splitlines() if " error: " in line}
    assert all("'func.func' op failed to distribute" in line for line in problems), done.stderr[:2000]
    bodies = re.split(r"^ *func\.func @f(\d+)", done.stdout, flags=re.M)[1:]
    found: list[NDArray[np.int64] | None] = [None] * len(layouts)
    for number, body in zip(map(int, bodies[::2]), bodies[1::2], strict=True):
        found[number] = _read(body, layouts[number][2])
    return found


def _read(body: str, threads: int) -> NDArray[np.int64] | None:
    """Run the index arithmetic of a function for all threads at once; collect the coordinates of its reads.

    The writes would not do: of threads that hold the same data, only one writes.
    """
    if "to_layout" in body:
        return None
    values: dict[str, NDArray[np.int64]] = {}
    found: list[NDArray[np.int64]] = []
    for line in body.splitlines():
        text = line.strip()
        if " = arith.constant " in text:
            match = re.match(r"(%\S+) = arith.constant (-?\d+) : index", text)
            if match is not None:
                values[match[1]] = np.full(threads, int(match[2]))
        elif "gpu.thread_id" in text:
            values[text.split(" ")[0]] = np.arange(threads) if text.endswith("x") else np.zeros(threads, np.int64)
        elif "affine.delinearize_index" in text:
            match = re.match(r"(%\w+)(?::(\d+))? = affine.delinearize_index (\S+) into \(([^)]*)\)", text)
            assert match is not None, text
            basis, results = [int(n) for n in match[4].split(",")], int(match[2] or 1)
            rest, digits = values[match[3]], []
            for n in reversed(basis if results > len(basis) else basis[1:]):
                digits.append(rest % n)
                rest = rest // n
            for i, digit in enumerate([rest, *reversed(digits)]):
                values[f"{match[1]}#{i}" if results > 1 else match[1]] = digit
        elif "affine.linearize_index" in text:
            match = re.match(r"(%\w+) = affine.linearize_index (?:disjoint )?\[([^]]*)\] by \(([^)]*)\)", text)
            assert match is not None, text
            parts, basis = match[2].split(", "), [int(n) for n in match[3].split(",")]
            total = values[parts[0]]
            for part, n in zip(parts[1:], basis[len(basis) - len(parts) + 1 :], strict=True):
                total = total * n + values[part]
            values[match[1]] = total
        elif " = vector.transfer_read" in text:
            match = re.match(r"%\w+ = vector.transfer_read \S+\[([^]]*)\].* vector<([0-9x]*)f32>", text)
            assert match is not None, text
            base = np.stack([values[name] for name in match[1].split(", ")], -1)
            sizes = [int(n) for n in match[2].split("x")[:-1]]
            inside = np.stack(np.unravel_index(np.arange(int(np.prod(sizes))), sizes), -1)
            found.append(base[:, None, :] + inside)
    return np.concatenate(found, 1)
