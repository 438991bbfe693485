"""What the tests of compiled AMX code share: LLVM's programs, many modules compiled as one, small modules by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from layoutalg.amx.execution import float_chains
from layoutalg.gemm.amx import AmxProblem
from layoutalg.gemm.amx.processor import native_refusal
from layoutalg.gemm.amx.running import amx_feature
from tests.oracle.toolchains import require, require_new

VERSIONS = (22, 23, 24)


def require_llvm(llvm: int) -> None:
    """A version of LLVM and a C compiler, or a skip (a failure where oracles are required)."""
    for tool in ("mlir-opt", "mlir-translate", "llc"):
        (require if llvm == 22 else require_new)(f"{tool}-{llvm}")
    require("cc")


def native(problem: AmxProblem) -> bool:
    """Whether this CPU has the tile products of a problem."""
    return native_refusal(amx_feature(problem)) is None


def joined(modules: Mapping[str, str]) -> str:
    """Modules as one; the functions of each begin with its name: compilers start once."""
    bodies: list[str] = []
    for name, text in modules.items():
        inside = text.strip().removeprefix("builtin.module {").removesuffix("}") if "builtin.module" in text else text
        bodies.append(re.sub(r"@(\w+)", rf"@{name}_\1", inside))
    return "\n".join(bodies)


def in_hardware_order(a: NDArray[np.generic], b: NDArray[np.generic], depth: int) -> NDArray[np.float32]:
    """A B of 16-bit floats as tile products `depth` deep add it up; what is missing in the last one is zero."""
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(0, a.shape[1], depth):
        left, right = a[:, k : k + depth], b[k : k + depth]
        if left.shape[1] % 2:
            left, right = np.pad(left, ((0, 0), (0, 1))), np.pad(right, ((0, 1), (0, 0)))
        total = float_chains(left, right, total)
    return total


def register_block(
    rows: int,
    columns: int,
    llvm: int,
    *,
    shared_zero: bool = False,
    widths: Sequence[int] = (),
    name: str = "block",
) -> str:
    """A function with one register block of bf16, written by hand: its tiles are carried through a loop over k."""
    dialect = "amx" if llvm == 22 else "x86.amx"
    wide = tuple(widths) or (16,) * columns
    pairs = [(r, c) for r in range(rows) for c in range(columns)]
    of_a = f"!{dialect}.tile<16x32xbf16>"
    of_b = [f"!{dialect}.tile<16x{2 * width}xbf16>" for width in wide]
    of_c = [f"!{dialect}.tile<16x{width}xf32>" for width in wide]
    a, b, c = "memref<64x512xbf16>", "memref<8x256x32xbf16>", "memref<64x128xf32>"
    kinds = ", ".join(of_c[column] for _, column in pairs)
    lines = [
        f"func.func @{name}(%a: {a}, %b: {b}, %c: {c}, %k0: index, %k1: index) {{",
        *(f"%c{i} = arith.constant {i} : index" for i in (0, 2, 32)),
        *(f"%row{r} = arith.constant {16 * r} : index" for r in range(rows)),
        *(f"%panel{c} = arith.constant {c} : index" for c in range(columns)),
        *(f"%col{c} = arith.constant {16 * c} : index" for c in range(columns)),
        *(f"%zero{r}{c} = {dialect}.tile_zero : {of_c[c]}" for r, c in (pairs[:1] if shared_zero else pairs)),
    ]
    zeros = {pair: "%zero00" if shared_zero else f"%zero{pair[0]}{pair[1]}" for pair in pairs}
    carried = ", ".join(f"%sum{r}{c} = {zeros[r, c]}" for r, c in pairs)
    lines += [
        f"%end:{len(pairs)} = scf.for %k = %k0 to %k1 step %c32 iter_args({carried}) -> ({kinds}) {{",
        "%word = arith.divui %k, %c2 : index",
        *(f"%a{r} = {dialect}.tile_load %a[%row{r}, %k] : {a} into {of_a}" for r in range(rows)),
    ]
    for column in range(columns):
        load = f"%b{column} = {dialect}.tile_load %b[%panel{column}, %word, %c0] : {b} into {of_b[column]}"
        lines.append(load)
        lines += [
            f"%after{r}{column} = {dialect}.tile_mulf %a{r}, %b{column}, %sum{r}{column} : "
            f"{of_a}, {of_b[column]}, {of_c[column]}"
            for r in range(rows)
        ]
    lines += [f"scf.yield {', '.join(f'%after{r}{c}' for r, c in pairs)} : {kinds}", "}"]
    lines += [
        f"{dialect}.tile_store %c[%row{r}, %col{column}], %end#{i} : {c}, {of_c[column]}"
        for i, (r, column) in enumerate(pairs)
    ]
    return "\n".join([*lines, "return", "}"])
