"""Conversions within one warp: what layoutalg plans beside what Triton's compiler emits for the same two layouts.

    python benchmarks/conversions.py      print the table

Triton lowers `ttg.convert_layout` between `#ttg.linear` layouts to LLVM IR on any machine, for a GPU that is named and not
there (here sm_80, 32 lanes). So each conversion becomes a kernel that loads a tensor in the source's layout, converts it and
stores it in the destination's; the same kernel without the conversion is subtracted, and what is left is counted. An example
to check by hand: of a tensor of 2x32 words every lane has a column, and lanes 0 to 15 are to have row 0, the others row 1, two
columns each. So every lane keeps one of its words and gives the other to the lane 16 away: one shuffle. Which word goes is
one select; what stays and what comes change places in the upper lanes, two more: three, for layoutalg and for Triton.

Triton 3.9 takes shuffles where at most one lane bit becomes a register bit, and shared memory where more do. Its attribute
`force_warp_shuffle` makes it shuffle all the same: the last two columns. Counted are words of 32 bits: a select of 64 bits
is two. Triton picks among packed elements with byte permutes (`prmt`), which count as selects; the packing of elements
below 32 bits counts on neither side.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import layoutalg as la

ELEMENTS = {8: "i8", 16: "f16", 32: "f32", 64: "f64"}
CAPABILITY = 80
LANE_BITS = 5

Conversion = tuple[str, int, str, str]
CONVERSIONS: tuple[Conversion, ...] = (
    ("registers renamed", 32, "d0 = 2@reg:4 4@reg, d1 = 32@lane", "d0 = 2@reg 4@reg:2, d1 = 32@lane"),
    ("lane bits rotated", 32, "d0 = 2@lane 16@lane:2", "d0 = 16@lane 2@lane:16"),
    ("lanes in bit-reversed order", 64, "d0 = 32@lane", "d0 = 2@lane 2@lane:2 2@lane:4 2@lane:8 2@lane:16"),
    ("lanes transposed, 8 registers", 16, "d0 = 8@reg, d1 = 4@lane:8 8@lane", "d0 = 8@reg, d1 = 4@lane 8@lane:4"),
    ("lanes transposed, 8 registers", 8, "d0 = 8@reg, d1 = 4@lane:8 8@lane", "d0 = 8@reg, d1 = 4@lane 8@lane:4"),
    ("one bit", 32, "d0 = 2@reg, d1 = 32@lane", "d0 = 2@lane:16, d1 = 2@reg 16@lane"),
    ("one bit, the others permuted", 64, "d0 = 2@reg, d1 = 32@lane", "d0 = 2@lane, d1 = 2@reg 16@lane:2"),
    ("one bit, 8 registers", 16, "d0 = 8@reg, d1 = 32@lane", "d0 = 4@reg:2 2@lane, d1 = 2@reg 16@lane:2"),
    ("one bit, of values that two lanes hold", 32, "d0 = 2@reg 16@lane | replicas 2@lane:16", "d0 = 2@lane 16@lane:2"),
    ("two bits, 16 registers", 32, "d0 = 16@reg, d1 = 32@lane", "d0 = 4@reg:4 4@lane:8, d1 = 4@reg 8@lane"),
    ("two bits, the others permuted", 16, "d0 = 16@reg, d1 = 32@lane", "d0 = 4@reg:4 4@lane, d1 = 8@lane:4 4@reg"),
    ("mma's accumulator 16x16 to rows", 16, "d0 = 2@reg:2 8@lane:4, d1 = 2@reg:4 4@lane 2@reg",
     "d0 = 16@lane:2, d1 = 2@lane 8@reg"),
    ("three bits", 32, "d0 = 8@reg, d1 = 32@lane", "d0 = 8@lane:4, d1 = 8@reg 4@lane"),
    ("four bits: two tiles of 16x16 transposed", 32, "d0 = 16@reg, d1 = 2@lane:16 16@lane",
     "d0 = 16@lane, d1 = 2@lane:16 16@reg"),
)  # fmt: skip


def kernel(source: la.Layout, destination: la.Layout, element_bits: int, middle: str) -> str:
    """TTGIR that copies in the source's layout and stores `%x`, which `middle` defines, in the destination's."""
    one, other = la.to_linear_layout(source), la.to_linear_layout(destination)
    if {len(one.lane), len(other.lane)} != {LANE_BITS} or one.warp or other.warp:
        raise ValueError(f"{source}, {destination}: expected layouts in one warp of {1 << LANE_BITS} lanes")
    shape, element = "x".join(map(str, source.shape)), ELEMENTS[element_bits]
    return f"""
!s = tensor<{shape}x{element}, {one}>
!d = tensor<{shape}x{element}, {other}>
!at_s = tensor<{shape}x!tt.ptr<{element}>, {one}>
!at_d = tensor<{shape}x!tt.ptr<{element}>, {other}>
module attributes {{ttg.target = "cuda:{CAPABILITY}", "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32,
                   "ttg.threads-per-warp" = {1 << LANE_BITS} : i32}} {{
  tt.func public @convert(%in: !at_s, %copy: !at_s, %other: !at_d, %out: !at_d) {{
    %v = tt.load %in : !at_s
    tt.store %copy, %v : !at_s
    {middle}
    tt.store %out, %x : !at_d
    tt.return
  }}
}}
"""


def compiled(ttgir: str) -> Counter[str]:
    """What Triton makes of a kernel, counted in its LLVM IR; no driver is asked, and nothing stays in Triton's cache."""
    triton: Any = import_module("triton")
    target = import_module("triton.backends.compiler").GPUTarget("cuda", CAPABILITY, 1 << LANE_BITS)
    with TemporaryDirectory() as folder, patch.dict(os.environ, TRITON_CACHE_DIR=folder):
        file = Path(folder, "convert.ttgir")
        file.write_text(ttgir)
        found = triton.compile(str(file), target=target, options={"enable_fp_fusion": True})
        text: str = found.asm["llir"]
        shared: int = found.metadata.shared
    selects: list[str] = re.findall(r"= select [^,]+, (\S+)", text)
    return Counter(
        shuffles=len(re.findall(r"call .*@llvm\.nvvm\.shfl\.sync", text)),
        selects=sum(2 if kind in ("i64", "double") else 1 for kind in selects)
        + len(re.findall(r"call .*@llvm\.nvvm\.prmt", text)),
        accesses=len(re.findall(r"\b(?:load|store) .*addrspace\(3\)|call .*@llvm\.nvvm\.(?:ld|st)matrix", text)),
        slm_bytes=shared,
    )


def triton_counts(
    source: la.Layout, destination: la.Layout, element_bits: int, forced: bool = False
) -> dict[str, int] | None:
    """Shuffles, selects, accesses of shared memory and its bytes in Triton's code; None where triton is not installed.

    `forced` asks for shuffles where Triton would take shared memory. Both layouts must be in one warp of 32 lanes.
    """
    if importlib.util.find_spec("triton") is None:
        return None
    how = " {force_warp_shuffle}" if forced else ""
    with_it = compiled(kernel(source, destination, element_bits, f"%x = ttg.convert_layout %v{how} : !s -> !d"))
    without = compiled(kernel(source, destination, element_bits, "%x = tt.load %other : !at_d"))
    return {name: count - without[name] for name, count in with_it.items()}


def table() -> str:
    """All conversions as a Markdown table, and under it which Triton was asked."""
    lines = [
        "| exchanged within a warp | element | layoutalg: shuffles | selects | shared bytes "
        "| Triton: shuffles | selects | shared bytes | accesses | Triton, forced: shuffles | selects |",
        "|---|---|" + "---:|" * 9,
    ]
    for name, bits, *texts in CONVERSIONS:
        source, destination = map(la.Layout.parse, texts)
        plan = la.convert(source, destination, element_bits=bits)
        cells: list[object] = [name, ELEMENTS[bits], plan.shuffles, plan.selects, plan.slm_bytes]
        freely = triton_counts(source, destination, bits)
        forced = triton_counts(source, destination, bits, forced=True)
        if freely is None or forced is None:
            cells += [""] * 6
        else:
            cells += [freely[name] for name in ("shuffles", "selects", "slm_bytes", "accesses")]
            cells += [forced[name] for name in ("shuffles", "selects")]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    asked = "triton is not installed: its columns are empty."
    if importlib.util.find_spec("triton") is not None:
        asked = f"Triton {importlib.metadata.version('triton')}, sm_{CAPABILITY}."
    return "\n".join([*lines, "", asked])


def main() -> None:
    print(table())


if __name__ == "__main__":
    main()
