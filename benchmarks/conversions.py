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
is two. Byte permutes (`prmt`) that pick other bytes in other lanes count as selects, on both sides (`picks`); those that are
the same in all lanes pack elements below 32 bits, and packing counts on neither side.

Where elements cross warps both take shared memory. For 64 random pairs of layouts in 2 to 8 warps, with elements of 8, 16 and
32 bits, the bytes are compared: those that Triton's pass for the allocation of shared memory gives the conversion.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import layoutalg as la
from layoutalg.conversion import Permute, Program, Select

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


def crossing_pairs(count: int = 64, seed: int = 1) -> list[tuple[la.Layout, la.Layout]]:
    """Random pairs of layouts, bit by bit, between which elements cross warps; lane and warp bits left over are replicas."""
    rng = Random(seed)
    found: list[tuple[la.Layout, la.Layout]] = []
    while len(found) < count:
        warp_bits, bits = rng.randint(1, 3), rng.randint(5, 12)
        rows = rng.randint(0, bits)
        machine = [("lane", bit) for bit in range(LANE_BITS)] + [("sg", bit) for bit in range(warp_bits)]
        pair: list[la.Layout] = []
        for _ in range(2):
            registers = rng.randint(max(0, bits - len(machine)), min(bits, 6))
            taken = rng.sample(machine, bits - registers)
            places = [(2, 1 << bit, axis) for axis, bit in taken] + [(2, 1 << bit, "reg") for bit in range(registers)]
            rng.shuffle(places)
            free = [(2, 1 << bit, axis) for axis, bit in machine if (axis, bit) not in taken]
            pair.append(la.Layout([places[:rows], places[rows:]], free))
        if la.convert(pair[0], pair[1]).kind == "shared memory":
            found.append((pair[0], pair[1]))
    return found


@cache
def allocator() -> Any:
    """Triton's reader of modules, its pass that allocates shared memory, and a context for both."""
    library: Any = import_module("triton._C.libtriton")
    context = library.ir.context()
    library.ir.load_dialects(context)
    library.nvidia.load_dialects(context)
    return library, context


def triton_shared_bytes(source: la.Layout, destination: la.Layout, element_bits: int) -> int:
    """The bytes of shared memory that Triton allocates for a conversion alone, in any number of warps."""
    library, context = allocator()
    one, other = la.to_linear_layout(source), la.to_linear_layout(destination)
    shape = "x".join([*map(str, source.shape), ELEMENTS[element_bits]])
    text = f"""
module attributes {{ttg.target = "cuda:{CAPABILITY}", "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {1 << len(one.warp)} : i32,
                   "ttg.threads-per-warp" = {1 << LANE_BITS} : i32}} {{
  tt.func public @convert(%v: tensor<{shape}, {one}>) -> tensor<{shape}, {other}> {{
    %x = ttg.convert_layout %v : tensor<{shape}, {one}> -> tensor<{shape}, {other}>
    tt.return %x : tensor<{shape}, {other}>
  }}
}}
"""
    with TemporaryDirectory() as folder:
        file = Path(folder, "convert.ttgir")
        file.write_text(text)
        module = library.ir.parse_mlir_module(str(file), context)
    passes = library.ir.pass_manager(context)
    library.nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(passes, CAPABILITY, CAPABILITY)
    passes.run(module, "allocate")
    return int(module.get_int_attr("ttg.shared"))


def shared_bytes() -> list[tuple[str, str, int, int, int]]:
    """Source, destination, bits of an element, our bytes and Triton's, for each of 192 conversions."""
    return [
        (str(a), str(b), bits, la.convert(a, b, element_bits=bits).slm_bytes, triton_shared_bytes(a, b, bits))
        for a, b in crossing_pairs()
        for bits in (8, 16, 32)
    ]


def shared_table() -> str:
    """The bytes of all conversions that cross warps, added up; empty where triton is not installed."""
    if importlib.util.find_spec("triton") is None:
        return ""
    found = shared_bytes()
    lines = [
        "| across warps: shared bytes | conversions | layoutalg | Triton | layoutalg above Triton |",
        "|---|---:|---:|---:|---:|",
    ]
    for bits in (8, 16, 32):
        pairs = [(ours, theirs) for _, _, of, ours, theirs in found if of == bits]
        above = sum(ours > theirs for ours, theirs in pairs)
        ours, theirs = map(sum, zip(*pairs, strict=True))
        lines.append(f"| {ELEMENTS[bits]} | {len(pairs)} | {ours} | {theirs} | {above} |")
    return "\n".join(lines)


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


def picks(programs: Sequence[Program]) -> int:
    """Selects of a way, and byte permutes whose selectors differ by lane."""
    steps = [step for program in programs for step in program.steps]
    return sum(
        isinstance(step, Select) or (isinstance(step, Permute) and len(set(step.selectors)) > 1) for step in steps
    )


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
        cells: list[object] = [name, ELEMENTS[bits], plan.shuffles, picks(plan.programs), plan.slm_bytes]
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
    print(f"\n{shared_table()}".rstrip())


if __name__ == "__main__":
    main()
