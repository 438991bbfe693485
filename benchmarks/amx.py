"""One product for AMX, 512^3 in bf16, in every way that this machine can run it: one table.

    python benchmarks/amx.py              print the table
    python benchmarks/amx.py --size 1024  another size

All rows compute the same C[512, 512] in f32 on one core, and are checked against float64 first. The plan's module is run with
AMX instructions (where the CPU has them), with soft tiles, and as LLVM's scalar loops; beside it stand a loop in C that is
blocked like the plan and reads B as it lies, without packing, and numpy.

LLVM has its scalar loops at -O0 alone, where every element of a tile goes through memory: that row shows that the module is
right without AMX, not how fast AMX is. Its fair neighbour is the C loop at -O0.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported: every row has one core
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from layoutalg.core.errors import PlanError
from layoutalg.gemm.amx import AmxGemm, plan_amx
from layoutalg.gemm.amx.compiling import usable_version
from layoutalg.gemm.amx.operands import Buffer, Operands, memory_type, random_operands
from layoutalg.gemm.amx.processor import native_refusal, vector_features
from layoutalg.gemm.amx.running import loaded
from layoutalg.gemm.amx.timing import best_seconds, measured_clock, timed

SECONDS = 1.0
"""What a row may take; each is called twice at least."""

LOOP = """
#include <stdint.h>
#include <string.h>

static float wide(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float number;
    memcpy(&number, &word, sizeof number);
    return number;
}

/* Blocks of 32x32 of C and 32 of k, as the plan's register blocks and steps; B as it lies. */
void product(const uint16_t *a, const uint16_t *b, float *c)
{
    memset(c, 0, sizeof(float) * M * N);
    for (int j0 = 0; j0 < N; j0 += 32)
        for (int i0 = 0; i0 < M; i0 += 32)
            for (int k0 = 0; k0 < K; k0 += 32)
                for (int i = i0; i < i0 + 32; i++)
                    for (int k = k0; k < k0 + 32; k++) {
                        float left = wide(a[i * K + k]);
                        for (int j = j0; j < j0 + 32; j++)
                            c[i * N + j] += left * wide(b[k * N + j]);
                    }
}
"""

Row = tuple[str, str, Callable[[], float]]


def compiled_loop(folder: Path, level: str, plan: AmxGemm) -> Callable[..., Any]:
    """The loop in C, compiled for this CPU's vectors."""
    source, library = folder / "loop.c", folder / f"loop{level}.so"
    source.write_text(LOOP, encoding="utf-8")
    problem = plan.problem
    sizes = [f"-DM={problem.m}", f"-DN={problem.n}", f"-DK={problem.k}"]
    features = [f"-m{feature}" for feature in vector_features()]
    options = [level, *features, *sizes, "-shared", "-fPIC"]
    subprocess.run(["cc", *options, "-o", str(library), str(source)], check=True)
    return ctypes.CDLL(str(library)).product


def rows(plan: AmxGemm, folder: Path) -> list[Row]:
    """The ways: what it is, how it is compiled, and a call that returns its seconds. Each is checked before."""
    version, _ = usable_version(plan.llvm)
    given = random_operands(plan.problem, 0)
    exact = given["a"].astype(np.float64) @ given["b"].astype(np.float64)
    scale = np.abs(given["a"].astype(np.float64)) @ np.abs(given["b"].astype(np.float64))
    operands = Operands.of(plan, **given)
    addresses = [buffer.address for buffer in operands.buffers]
    found: list[Row] = []

    def add(what: str, how: str, call: Callable[[], float], result: Callable[[], Any]) -> None:
        call()
        if not (np.abs(result() - exact) <= 1e-5 * scale).all():
            raise SystemExit(f"{what}, {how}: the result is wrong")
        found.append((what, how, call))

    def of_module(how: str) -> Callable[[], float]:
        library = loaded(plan.emit(version), version, how)
        return lambda: library.call("gemm", addresses)

    if native_refusal("amx-bf16") is None:
        add("AMX instructions, packs B", f"llc-{version} -O2", of_module("amx"), operands.result)
        packed = Buffer.of(np.zeros(plan.packed_b_shape, memory_type("bf16")))
        loaded(plan.emit(version), version, "amx").call(
            "gemm_pack_b", (addresses[1], packed.address, 0, plan.packed_b_shape[0])
        )
        library = loaded(plan.emit(version, prepacked_b=True), version, "amx")
        prepacked = [addresses[0], packed.address, addresses[2]]
        add(
            "AMX instructions, B packed before",
            f"llc-{version} -O2",
            lambda: library.call("gemm", prepacked),
            operands.result,
        )
    add("soft tiles (C), packs B", "cc -O2", of_module("soft"), operands.result)
    add("LLVM's scalar loops, packs B", f"llc-{version} -O0", of_module("scalar"), operands.result)
    pointers = [ctypes.c_void_p(address) for address in addresses]
    for level in ("-O0", "-O3"):
        loop = compiled_loop(folder, level, plan)
        add("the same blocks without packing", f"cc {level}", timed(lambda loop=loop: loop(*pointers)), operands.result)
    wide = [given[name].astype(np.float32) for name in ("a", "b")]
    add("numpy, float32", "OpenBLAS", timed(lambda: wide[0] @ wide[1]), lambda: wide[0] @ wide[1])

    def converted() -> Any:
        return given["a"].astype(np.float32) @ given["b"].astype(np.float32)

    add("numpy, bf16 through float32", "OpenBLAS", timed(converted), converted)
    return found


def table(size: int) -> str:
    """The table, and what it was measured on."""
    plan = plan_amx(size, size, size, blocking=(2, 2))
    version, note = usable_version(plan.llvm)
    refusal = native_refusal("amx-bf16")
    with TemporaryDirectory() as folder:
        measured = [(what, how, best_seconds(call, SECONDS)) for what, how, call in rows(plan, Path(folder))]
        clock = measured_clock(version)
    lines = [
        f"{plan.problem}; {plan.tiling}",
        f"One core at {clock / 1e9:.1f} GHz, best of the calls in {SECONDS:g} s; "
        f"{'AMX is there' if refusal is None else f'no AMX: {refusal}'}{f'; {note}' if note else ''}",
        "",
        "| 512^3 bf16 | compiled by | ms | GFLOP/s |".replace("512", str(size)),
        "|---|---|---:|---:|",
    ]
    operations = plan.problem.flops
    lines += [f"| {what} | {how} | {1e3 * s:.4g} | {operations / s / 1e9:.4g} |" for what, how, s in measured]
    lines += [
        "",
        "LLVM lowers tiles to scalar loops at -O0 only, with every element in memory: that row shows that the module is right "
        "without AMX, not how fast AMX is.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the table, or what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512, help="m, n and k; a multiple of 32")
    try:
        print(table(parser.parse_args().size))
    except PlanError as problem:
        print(f"AMX: {problem}")


if __name__ == "__main__":
    main()
