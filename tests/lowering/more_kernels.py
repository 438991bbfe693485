"""Kernels whose operations are not among those of tests/simulate/levels/kernels.py, with what they compute by definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.simulate.levels.kernels import ROWS, SHAPE, TILE, Array, Body, Kernel, layout, sliced

QUARTER, WHOLE = layout("1, 1", "16, 32"), layout("1, 1", "32, 64")
SOME = layout("1, 1", "32, 4", "32, 4", "16, 1", "1, 1")
ROWS_IN_LANES = layout("2, 2", "16, 32", "16, 8", "16, 1")


def made(
    name: str,
    lines: Sequence[str],
    define: Callable[..., Array],
    *,
    kind: str = "f32",
    of: str = TILE,
    stored: str = TILE,
    out: tuple[int, int] = SHAPE,
    out_kind: str | None = None,
) -> Kernel:
    """%v0 is 32x64 in layout `of`, %r what is stored; `{v}` is the type of %v0, `{l}` its layout as a result's."""
    body = Body()
    vector = body.load(0, SHAPE, kind, "32x64", of)
    body.add(*(line.replace("{v}", vector).replace("{l}", f"{{layout_result_0 = {of}}}") for line in lines))
    text = body.store("%r", 1, out, out_kind or kind, f"{out[0]}x{out[1]}", stored)
    return Kernel(name, text, ((kind, SHAPE), (out_kind or kind, out)), define)


def _inserted(a: Array) -> Array:
    found = a.copy()
    found[8:24, 16:48] = a[:16, :32] * 2
    return found


def _striped(a: Array) -> Array:
    found = a.copy()
    found[:, 6:10] = 5
    return found


def _interleaved(a: Array) -> Array:
    return np.stack([a, a * 3], axis=-1).reshape(32, 128)


def _bytes(a: Array) -> Array:
    return np.ascontiguousarray(a).view(np.int8)


WIDE = layout("2, 2", "16, 64", "8, 32", "1, 16", "1, 2")
BYTES = layout("2, 2", "16, 128", "8, 64", "1, 16", "1, 4")

TILES = f"!xegpu.tensor_desc<32x64xf32, {TILE}>"
THERE = f"<{{input_layout = {TILE}, target_layout = {ROWS}}}>"
BACK = f"<{{input_layout = {ROWS}, target_layout = {TILE}}}>"
"""Between subgroups: through shared memory, with barriers, which all subgroups have to reach."""
DOUBLED = [
    f"%a = xegpu.convert_layout %y {THERE} : {{v}}",
    f"%b = arith.addf %a, %a {{layout_result_0 = {ROWS}}} : {{v}}",
    f"%d = xegpu.convert_layout %b {BACK} : {{v}}",
]

LIST = ", ".join(str(n * n % 7) for n in range(64))

MORE = {
    kernel.name: kernel
    for kernel in (
        made(
            "insert_slice",
            [
                "%p = vector.extract_strided_slice %v0 "
                f"{{offsets = [0, 0], sizes = [16, 32], strides = [1, 1], layout_result_0 = {QUARTER}}}"
                " : {v} to vector<16x32xf32>",
                "%q = arith.addf %p, %p : vector<16x32xf32>",
                "%r = vector.insert_strided_slice %q, %v0 {offsets = [8, 16], strides = [1, 1], layout_result_0 = "
                f"{WHOLE}}} : vector<16x32xf32> into {{v}}",
            ],
            _inserted,
            of=WHOLE,
            stored=layout("4, 1", "8, 64"),
        ),
        made(
            "interleave",
            [
                "%c = arith.constant {l} dense<3.0> : {v}",
                "%t = arith.mulf %v0, %c {l} : {v}",
                f"%r = vector.interleave %v0, %t {{layout_result_0 = {WIDE}}} : {{v}} -> vector<32x128xf32>",
            ],
            _interleaved,
            stored=layout("2, 2", "16, 64"),
            out=(32, 128),
        ),
        made(
            "narrowed_by_bitcast",
            [f"%r = vector.bitcast %v0 {{layout_result_0 = {BYTES}}} : {{v}} to vector<32x256xi8>"],
            _bytes,
            kind="i32",
            stored=layout("2, 2", "16, 128", "8, 32", "1, 16", "1, 2"),
            out=(32, 256),
            out_kind="i8",
        ),
        made(
            "all_of_it_into_one_number",
            [
                "%z = arith.constant 0.0 : f32",
                "%n = vector.multi_reduction <add>, %v0, %z [0, 1] : {v} to f32",
                "%r = vector.broadcast %n {l} : f32 to {v}",
            ],
            lambda a: np.full_like(a, a.sum()),
        ),
        made(
            "column_sums_across_subgroups",
            [
                f"%z = arith.constant {{layout_result_0 = {sliced(TILE, '0')}}} dense<0.0> : vector<64xf32>",
                f"%n = vector.multi_reduction <add>, %v0, %z {{layout_result_0 = {sliced(TILE, '0')}}} [0]"
                " : {v} to vector<64xf32>",
                "%k = vector.shape_cast %n : vector<64xf32> to vector<1x64xf32>",
                "%r = vector.broadcast %k {l} : vector<1x64xf32> to {v}",
            ],
            lambda a: np.broadcast_to(a.sum(axis=0), a.shape),
        ),
        made(
            "element_taken_out",
            [
                "%x = vector.extract %v0[5, 9] : f32 from {v}",
                "%w = vector.broadcast %x {l} : f32 to {v}",
                "%r = arith.addf %v0, %w {l} : {v}",
            ],
            lambda a: a + a[5, 9],
            of=WHOLE,
            stored=WHOLE,
        ),
        made(
            "while_it_doubles",
            [
                "%one = arith.constant 1 : index",
                "%four = arith.constant 4 : index",
                "%r, %n = scf.while (%x = %v0, %i = %c0) : ({v}, index) -> ({v}, index) {",
                "  %on = arith.cmpi slt, %i, %four : index",
                "  scf.condition(%on) %x, %i : {v}, index",
                "} do {\n^bb0(%y: {v}, %j: index):",
                "  %d = arith.addf %y, %y {l} : {v}",
                "  %next = arith.addi %j, %one : index",
                "  scf.yield %d, %next : {v}, index\n}",
            ],
            lambda a: a * 16,
        ),
        made(
            "while_it_doubles_in_strips",
            [
                "%one = arith.constant 1 : index",
                "%four = arith.constant 4 : index",
                "%r, %n = scf.while (%x = %v0, %i = %c0) : ({v}, index) -> ({v}, index) {",
                "  %on = arith.cmpi slt, %i, %four : index",
                "  scf.condition(%on) %x, %i : {v}, index",
                "} do {\n^bb0(%y: {v}, %j: index):",
                *DOUBLED,
                "  %next = arith.addi %j, %one : index",
                "  scf.yield %d, %next : {v}, index\n}",
            ],
            lambda a: a * 16,
        ),
        made(
            "every_second_step_doubles_in_strips",
            [
                "%one = arith.constant 1 : index",
                "%two = arith.constant 2 : index",
                "%five = arith.constant 5 : index",
                "%r, %n = scf.for %i = %c0 to %five step %one iter_args(%y = %v0, %j = %c0) -> ({v}, index) {",
                "  %odd = arith.remui %j, %two : index",
                "  %on = arith.cmpi eq, %odd, %c0 : index",
                "  %x = scf.if %on -> ({v}) {",
                *DOUBLED,
                "    scf.yield %d : {v}\n} else {\n    scf.yield %y : {v}\n}",
                "  %next = arith.addi %j, %one : index",
                "  scf.yield %x, %next : {v}, index\n}",
            ],
            lambda a: a * 8,
        ),
        made(
            "switch",
            [
                "%one = arith.constant 1 : index",
                "%five = arith.constant 5 : index",
                "%r, %n = scf.for %i = %c0 to %five step %one iter_args(%y = %v0, %j = %c0) -> ({v}, index) {",
                "  %x, %m = scf.index_switch %i -> {v}, index",
                "  case 1 {",
                *DOUBLED,
                "    scf.yield %d, %j : {v}, index\n}",
                "  case 3 {",
                "    %e = arith.addf %y, %v0 {l} : {v}",
                "    scf.yield %e, %j : {v}, index\n}",
                "  default {",
                "    %k = arith.addi %j, %one : index",
                "    scf.yield %y, %k : {v}, index\n}",
                "  scf.yield %x, %m : {v}, index\n}",
            ],
            lambda a: a * 3,
        ),
        made(
            "switch_that_stores",
            [
                "%one = arith.constant 1 : index",
                "%three = arith.constant 3 : index",
                "%z = arith.addf %v0, %v0 {l} : {v}",
                f"%w = xegpu.create_nd_tdesc %p1, shape : [32, 64], strides : [64, 1] : i64 -> {TILES}",
                "scf.for %i = %c0 to %three step %one {",
                "  scf.index_switch %i",
                "  case 2 {",
                f"    xegpu.store_nd %z, %w[%c0, %c0] <{{layout = {TILE}}}> : {{v}}, {TILES}",
                "    scf.yield\n}",
                "  default {",
                "    scf.yield\n}\n}",
                f"%r = xegpu.load_nd %w[%c0, %c0] <{{layout = {TILE}}}> : {TILES} -> {{v}}",
            ],
            lambda a: a * 2,
        ),
        made(
            "region_of_one_block",
            [
                "%r = scf.execute_region -> {v} {",
                "  %x = arith.addf %v0, %v0 {l} : {v}",
                "  scf.yield %x : {v}\n}",
            ],
            lambda a: a * 2,
        ),
        made(
            "region_of_blocks",
            [
                "%one = arith.constant 1 : index",
                "%five = arith.constant 5 : index",
                "%r, %n = scf.for %i = %c0 to %five step %one iter_args(%x = %v0, %m = %c0) -> ({v}, index) {",
                "  %u, %o = scf.execute_region -> ({v}, index) {",
                "    %on = arith.cmpi eq, %m, %c0 : index",
                "    cf.cond_br %on, ^bb1(%x, %m : {v}, index), ^bb2(%m : index)",
                "  ^bb1(%y: {v}, %j: index):",
                *DOUBLED,
                "    %next = arith.addi %j, %one : index",
                "    scf.yield %d, %next : {v}, index",
                "  ^bb2(%k: index):",
                "    %e = arith.addf %x, %v0 {l} : {v}",
                "    scf.yield %e, %k : {v}, index",
                "  }",
                "  scf.yield %u, %o : {v}, index\n}",
            ],
            lambda a: a * 6,
        ),
        made(
            "listed_constant",
            [
                f"%c = arith.constant {{layout_result_0 = {sliced(TILE, '0')}}} dense<[{LIST}]> : vector<64xi32>",
                "%k = vector.shape_cast %c : vector<64xi32> to vector<1x64xi32>",
                "%w = vector.broadcast %k {l} : vector<1x64xi32> to {v}",
                "%r = arith.addi %v0, %w {l} : {v}",
            ],
            lambda a: a + np.array([n * n % 7 for n in range(64)], np.int32),
            kind="i32",
        ),
        made(
            "triangle",
            [
                "%n = arith.constant 5 : index",
                "%m = arith.constant 40 : index",
                "%t = vector.create_mask %n, %m {l} : vector<32x64xi1>",
                "%z = arith.constant {l} dense<0.0> : {v}",
                "%r = arith.select %t, %v0, %z {l} : vector<32x64xi1>, {v}",
            ],
            lambda a: np.where((np.arange(32)[:, None] < 5) & (np.arange(64) < 40), a, 0),
        ),
        made(
            "rows_in_lanes",
            [f"%r = arith.addf %v0, %v0 {{layout_result_0 = {ROWS_IN_LANES}}} : {{v}}"],
            lambda a: a + a,
            of=ROWS_IN_LANES,
            stored=ROWS_IN_LANES,
        ),
        made(
            "rows_in_lanes_f16",
            [f"%r = arith.addf %v0, %v0 {{layout_result_0 = {ROWS_IN_LANES}}} : {{v}}"],
            lambda a: a + a,
            kind="f16",
            of=ROWS_IN_LANES,
            stored=TILE,
        ),
    )
}

REFUSED = made(
    "insert_across_lanes",
    [
        f"%p = arith.constant {{layout_result_0 = {SOME}}} dense<5.0> : vector<32x4xf32>",
        "%r = vector.insert_strided_slice %p, %v0 {offsets = [0, 6], strides = [1, 1], layout_result_0 = "
        f"{WHOLE}}} : vector<32x4xf32> into {{v}}",
    ],
    _striped,
    of=WHOLE,
    stored=WHOLE,
)
"""A part whose columns other lanes hold: there is no plan for conversions of parts."""
