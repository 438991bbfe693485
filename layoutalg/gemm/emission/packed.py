"""The kernel of packed operands: block reads of whole fragments and DPAS as calls of OpenCL's subgroup builtins.

For a tile of 8x8 in f16 the loop is:

    %c:3 = scf.for %step = %zero to %steps step %one iter_args(%c0x0 = %zeros, %at_a = %a0, %at_b = %b0) ... {
      %a0 = llvm.call @(block read of 8 words)(%at_a)      one fragment of A: 256 bytes, 8 words for each of 8 lanes
      %b0 = llvm.call @(block read of 8 words)(%at_b)
      %d0x0 = llvm.call @intel_sub_group_f16_f16_matrix_mad_k16(%a0, %b0, %c0x0)
      scf.yield ..., with both addresses 256 bytes on
    }

A and B are packed so that a subgroup reads from one end to the other: an address is all that moves.

Two things are not as they could be. LLVM's SPIR-V backend refuses OpenCL's `intel_sub_group_block_read8` ("requires the
following SPIR-V extension: SPV_INTEL_subgroups", LLVM 24), so the block reads have the graphics compiler's own names. And
the pipeline writes 16 lanes into every `gpu.kernel`, so the kernel is an `llvm.func` that says 8 itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutalg.gemm.packed import PackedGemm

__all__ = ["emit_packed", "mangled_product"]

_READ = "__builtin_IB_simd_block_read_8_global"
_WRITE = "__builtin_IB_simd_block_write_1_global"
_BYTES = 256
"""Of a fragment of A or B: 8 words for each of 8 lanes."""


def mangled_product(a: str, b: str, builtin: str) -> str:
    """The name that OpenCL C gives the matrix builtin on 8 lanes, with 8 rows: A and B are 8 words, C is 8 numbers.

    >>> mangled_product("f16", "f16", "intel_sub_group_f16_f16_matrix_mad_k16")
    '_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_iS_Dv8_f'
    >>> mangled_product("u8", "s8", "intel_sub_group_u8_i8_matrix_mad_k32")
    '_Z36intel_sub_group_u8_i8_matrix_mad_k32Dv8_jDv8_iS0_'
    """
    kinds = ["Dv8_j" if name == "u8" else "Dv8_i" for name in (a, b)]
    kinds.append("Dv8_i" if a in ("s8", "u8") else "Dv8_f")
    seen: list[str] = []
    written = ""
    for kind in kinds:
        if kind in seen:
            place = seen.index(kind)
            written += "S_" if place == 0 else f"S{place - 1}_"
        else:
            seen.append(kind)
            written += kind
    return f"_Z{len(builtin)}{builtin}{written}"


def emit_packed(plan: PackedGemm) -> str:
    """The text of the kernel."""
    problem, unit = plan.problem, plan.dpas
    rows, columns = plan.blocks
    product = mangled_product(problem.a, problem.b, unit.builtin)
    element = "i32" if problem.acc == "s32" else "f32"
    held, words, pointer = f"vector<8x{element}>", "vector<8xi32>", "!llvm.ptr<1>"
    across = plan.tiling.subgroups[1]
    cells = [(i, j) for i in range(rows) for j in range(columns)]
    lines = [
        "%zero = arith.constant 0 : i32",
        "%one = arith.constant 1 : i32",
        f"%zeros = arith.constant dense<{'0' if element == 'i32' else '0.0'}> : {held}",
        "%x = gpu.block_id x",
        "%y = gpu.block_id y",
        "%item = gpu.thread_id x",
        f"%lanes = arith.constant {unit.subgroup_size} : index",
        f"%across = arith.constant {across} : index",
        f"%down = arith.constant {plan.tiling.subgroups[0]} : index",
        "%subgroup = arith.divui %item, %lanes : index",
        "%subgroup_row = arith.divui %subgroup, %across : index",
        "%subgroup_column = arith.remui %subgroup, %across : index",
        "%first_row = arith.muli %y, %down : index",
        "%first_column = arith.muli %x, %across : index",
        "%tile_row = arith.addi %first_row, %subgroup_row : index",
        "%tile_column = arith.addi %first_column, %subgroup_column : index",
        "%row64 = arith.index_cast %tile_row : index to i64",
        "%column64 = arith.index_cast %tile_column : index to i64",
        "%steps64 = arith.extsi %steps : i32 to i64",
        *_panel("a", rows, "%row64"),
        *_panel("b", columns, "%column64"),
    ]
    names = [f"%c{i}x{j}" for i, j in cells]
    carried = ", ".join([*(f"{name} = %zeros" for name in names), "%at_a = %a_begin", "%at_b = %b_begin"])
    kinds = ", ".join([*([held] * len(cells)), "i64", "i64"])
    lines.append(
        f"%r:{len(cells) + 2} = scf.for %step = %zero to %steps step %one iter_args({carried}) -> ({kinds}) : i32 {{"
    )
    inside = [*_reads("a", rows), *_reads("b", columns)]
    for i, j in cells:
        inside.append(
            f"%d{i}x{j} = llvm.call spir_funccc @{product}(%a{i}, %b{j}, %c{i}x{j}) : ({words}, {words}, {held}) -> {held}"
        )
    for name, count in (("a", rows), ("b", columns)):
        inside += [
            f"%{name}_bytes = arith.constant {_BYTES * count} : i64",
            f"%{name}_next = arith.addi %at_{name}, %{name}_bytes : i64",
        ]
    results = ", ".join([*(f"%d{i}x{j}" for i, j in cells), "%a_next", "%b_next"])
    inside.append(f"scf.yield {results} : {kinds}")
    lines += [f"  {line}" for line in inside]
    lines += ["}", *_stores(plan, cells, held)]
    body = "\n".join(f"      {line}" for line in lines)
    items = plan.workgroup[0]
    parameters = "%a: i64, %b: i64, %c: i64, %steps: i32, %ldc: i32"
    attributes = (
        f"intel_reqd_sub_group_size = {unit.subgroup_size} : i32, reqd_work_group_size = array<i32: {items}, 1, 1>"
    )
    return f"""module attributes {{gpu.container_module}} {{
  gpu.module @gemm {{
    llvm.func spir_funccc @{_READ}({pointer}) -> {words} attributes {{convergent}}
    llvm.func spir_funccc @{_WRITE}({pointer}, i32) attributes {{convergent}}
    llvm.func spir_funccc @{product}({words}, {words}, {held}) -> {held} attributes {{convergent}}
    llvm.func spir_kernelcc @gemm({parameters}) attributes {{{attributes}}} {{
{body}
      llvm.return
    }}
  }}
}}
"""


def _panel(name: str, count: int, which: str) -> list[str]:
    """Where the packed tiles of a subgroup begin: `count` fragments in each step."""
    return [
        f"%{name}_step = arith.constant {_BYTES * count} : i64",
        f"%{name}_panel = arith.muli %steps64, %{name}_step : i64",
        f"%{name}_past = arith.muli {which}, %{name}_panel : i64",
        f"%{name}_begin = arith.addi %{name}, %{name}_past : i64",
    ]


def _reads(name: str, count: int) -> list[str]:
    lines: list[str] = []
    for number in range(count):
        lines += [
            f"%{name}_offset{number} = arith.constant {_BYTES * number} : i64",
            f"%{name}_at{number} = arith.addi %at_{name}, %{name}_offset{number} : i64",
            f"%{name}_pointer{number} = llvm.inttoptr %{name}_at{number} : i64 to !llvm.ptr<1>",
            f"%{name}{number} = llvm.call spir_funccc @{_READ}(%{name}_pointer{number}) : (!llvm.ptr<1>) -> vector<8xi32>",
        ]
    return lines


def _stores(plan: PackedGemm, cells: list[tuple[int, int]], held: str) -> list[str]:
    """C row by row: 8 words of a row at a time."""
    tile, unit = plan.tiling.tile, plan.dpas
    lines = [
        "%ldc64 = arith.extsi %ldc : i32 to i64",
        "%word = arith.constant 4 : i64",
        "%pitch = arith.muli %ldc64, %word : i64",
        f"%tile_pitch = arith.constant {tile.m} : i64",
        f"%tile_bytes = arith.constant {4 * tile.n} : i64",
        "%rows_past = arith.muli %row64, %tile_pitch : i64",
        "%bytes_past = arith.muli %rows_past, %pitch : i64",
        "%columns_past = arith.muli %column64, %tile_bytes : i64",
        "%row_begin = arith.addi %c, %bytes_past : i64",
        "%c_begin = arith.addi %row_begin, %columns_past : i64",
    ]
    for number, (i, j) in enumerate(cells):
        lines.append(f"%w{i}x{j} = vector.bitcast %r#{number} : {held} to vector<8xi32>")
        for row in range(unit.m):
            at = f"{i}x{j}_{row}"
            lines += [
                f"%row{at} = arith.constant {unit.m * i + row} : i64",
                f"%down{at} = arith.muli %pitch, %row{at} : i64",
                f"%along{at} = arith.constant {4 * unit.n * j} : i64",
                f"%line{at} = arith.addi %c_begin, %down{at} : i64",
                f"%place{at} = arith.addi %line{at}, %along{at} : i64",
                f"%pointer{at} = llvm.inttoptr %place{at} : i64 to !llvm.ptr<1>",
                f"%word{at} = vector.extract %w{i}x{j}[{row}] : i32 from vector<8xi32>",
                f"llvm.call spir_funccc @{_WRITE}(%pointer{at}, %word{at}) : (!llvm.ptr<1>, i32) -> ()",
            ]
    return lines
