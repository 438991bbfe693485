"""Kernels of a subgroup as users write them: their text, their arrays, and what numpy says that they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_SUBGROUP = "kernel attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32}"


@dataclass(frozen=True)
class RealKernel:
    """A kernel without layouts, its arrays (the last one is written), numbers after them, and its definition."""

    name: str
    text: str
    inputs: Callable[[np.random.Generator], Sequence[Array]]
    output: tuple[tuple[int, int], Any]
    define: Callable[[Sequence[Array]], Array]
    numbers: tuple[int, ...] = ()

    def arrays(self) -> list[Any]:
        """Random inputs, an output of zeros, the numbers."""
        made = self.inputs(np.random.default_rng(7))
        return [*made, np.zeros(*self.output), *self.numbers]


def kernel(arguments: str, body: str, functions: str = "") -> str:
    """A kernel of one subgroup, with functions beside it."""
    return f"gpu.module @m {{ {functions} gpu.func @k({arguments}) {_SUBGROUP} {{\n{body}\n gpu.return }} }}"


def tdesc(name: str, pointer: str, shape: tuple[int, int], block: str) -> str:
    """A descriptor of rows of a matrix at an address."""
    rows, columns = shape
    return (
        f"%{name} = xegpu.create_nd_tdesc %{pointer}, shape : [{rows}, {columns}], strides : [{columns}, 1] : i64 -> "
        f"!xegpu.tensor_desc<{block}>"
    )


def _halves(*shapes: tuple[int, int]) -> Callable[[np.random.Generator], Sequence[Array]]:
    return lambda rng: [(rng.integers(-8, 9, shape) / 4).astype(np.float16) for shape in shapes]


def _floats(*shapes: tuple[int, int]) -> Callable[[np.random.Generator], Sequence[Array]]:
    return lambda rng: [(rng.integers(-64, 65, shape) / 8).astype(np.float32) for shape in shapes]


def _bytes(*shapes: tuple[int, int]) -> Callable[[np.random.Generator], Sequence[Array]]:
    return lambda rng: [rng.integers(-128, 128, shape).astype(np.int8) for shape in shapes]


def _wide(a: Array, b: Array) -> Array:
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float32)


_PAIR = "32x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>"
_TILE, _OF_TILE = "!xegpu.tensor_desc<16x16xf32>", "vector<16x16xf32>"

KERNELS = {
    one.name: one
    for one in (
        RealKernel(
            "integers_without_an_accumulator",
            kernel(
                "%a: i64, %b: i64, %c: i64",
                f"""{tdesc("ta", "a", (16, 64), "16x64xi8")} {tdesc("tb", "b", (64, 64), "64x32xi8")}
                {tdesc("tc", "c", (16, 32), "16x32xi32")}
                %x = xegpu.load_nd %ta[0, 0] : !xegpu.tensor_desc<16x64xi8> -> vector<16x64xi8>
                %y = xegpu.load_nd %tb[0, 0] : !xegpu.tensor_desc<64x32xi8> -> vector<64x32xi8>
                %z = xegpu.dpas %x, %y : vector<16x64xi8>, vector<64x32xi8> -> vector<16x32xi32>
                xegpu.store_nd %z, %tc[0, 0] : vector<16x32xi32>, !xegpu.tensor_desc<16x32xi32>""",
            ),
            _bytes((16, 64), (64, 64)),
            ((16, 32), np.int32),
            lambda of: of[0].astype(np.int32) @ of[1][:, :32].astype(np.int32),
        ),
        RealKernel(
            "blocks_side_by_side",
            kernel(
                "%a: i64, %b: i64, %c: i64",
                f"""{tdesc("ta", "a", (32, 32), "32x32xf16")} {tdesc("tb", "b", (32, 32), _PAIR)}
                {tdesc("tc", "c", (32, 32), "32x16xf32")}
                %x = xegpu.load_nd %ta[0, 0] : !xegpu.tensor_desc<32x32xf16> -> vector<32x32xf16>
                %y = xegpu.load_nd %tb[0, 0] : !xegpu.tensor_desc<{_PAIR}> -> vector<2x32x16xf16>
                %y0 = vector.extract %y[0] : vector<32x16xf16> from vector<2x32x16xf16>
                %y1 = vector.extract %y[1] : vector<32x16xf16> from vector<2x32x16xf16>
                %z0 = xegpu.dpas %x, %y0 : vector<32x32xf16>, vector<32x16xf16> -> vector<32x16xf32>
                %z1 = xegpu.dpas %x, %y1 : vector<32x32xf16>, vector<32x16xf16> -> vector<32x16xf32>
                xegpu.store_nd %z0, %tc[0, 0] : vector<32x16xf32>, !xegpu.tensor_desc<32x16xf32>
                xegpu.store_nd %z1, %tc[0, 16] : vector<32x16xf32>, !xegpu.tensor_desc<32x16xf32>""",
            ),
            _halves((32, 32), (32, 32)),
            ((32, 32), np.float32),
            lambda of: _wide(of[0], of[1]),
        ),
        RealKernel(
            "packed_rows",
            kernel(
                "%a: i64, %b: i64, %c: i64",
                f"""{tdesc("ta", "a", (8, 32), "8x16xf16")} {tdesc("tb", "b", (16, 32), "16x16xf16")}
                {tdesc("tc", "c", (8, 16), "8x16xf32")}
                %x = xegpu.load_nd %ta[0, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8x16xf16>
                %y = xegpu.load_nd %tb[0, 0] <{{packed}}> : !xegpu.tensor_desc<16x16xf16> -> vector<8x16x2xf16>
                %z = xegpu.dpas %x, %y : vector<8x16xf16>, vector<8x16x2xf16> -> vector<8x16xf32>
                xegpu.store_nd %z, %tc[0, 0] : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32>""",
            ),
            _halves((8, 32), (16, 32)),
            ((8, 16), np.float32),
            lambda of: _wide(of[0][:, :16], of[1][:, :16]),
        ),
        RealKernel(
            "rows_in_turns",
            kernel(
                "%a: i64, %c: i64",
                f"""{tdesc("ta", "a", (16, 16), "8x16xf32")} {tdesc("tc", "c", (16, 16), "16x16xf32")}
                %x = xegpu.load_nd %ta[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
                %y = xegpu.load_nd %ta[8, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
                %z = vector.shuffle %x, %y [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]
                  : vector<8x16xf32>, vector<8x16xf32>
                xegpu.store_nd %z, %tc[0, 0] : {_OF_TILE}, {_TILE}""",
            ),
            _floats((16, 16)),
            ((16, 16), np.float32),
            lambda of: of[0].reshape(2, 8, 16).transpose(1, 0, 2).reshape(16, 16),
        ),
        RealKernel(
            "blocks_and_branches",
            kernel(
                "%a: i64, %c: i64, %n: index",
                f"""{tdesc("ta", "a", (16, 16), "16x16xf32")} {tdesc("tc", "c", (16, 16), "16x16xf32")}
                %c0 = arith.constant 0 : index
                %c1 = arith.constant 1 : index
                %x = xegpu.load_nd %ta[0, 0] : {_TILE} -> {_OF_TILE}
                cf.br ^loop(%c0, %x : index, {_OF_TILE})
                ^loop(%i: index, %y: {_OF_TILE}):
                %on = arith.cmpi slt, %i, %n : index
                cf.cond_br %on, ^body(%y : {_OF_TILE}), ^end(%y : {_OF_TILE})
                ^body(%v: {_OF_TILE}):
                %w = arith.addf %v, %v : {_OF_TILE}
                %j = arith.addi %i, %c1 : index
                cf.br ^loop(%j, %w : index, {_OF_TILE})
                ^end(%z: {_OF_TILE}):
                xegpu.store_nd %z, %tc[0, 0] : {_OF_TILE}, {_TILE}""",
            ),
            _floats((16, 16)),
            ((16, 16), np.float32),
            lambda of: of[0] * 8,
            numbers=(3,),
        ),
        RealKernel(
            "functions_that_call_functions",
            kernel(
                "%a: i64, %c: i64",
                f"""{tdesc("ta", "a", (16, 16), "16x16xf32")} {tdesc("tc", "c", (16, 16), "16x16xf32")}
                %x = xegpu.load_nd %ta[0, 0] : {_TILE} -> {_OF_TILE}
                %y = func.call @square_less(%x, %x) : ({_OF_TILE}, {_OF_TILE}) -> {_OF_TILE}
                %z = func.call @square_less(%y, %x) : ({_OF_TILE}, {_OF_TILE}) -> {_OF_TILE}
                xegpu.store_nd %z, %tc[0, 0] : {_OF_TILE}, {_TILE}""",
                f"""func.func private @both(%x: {_OF_TILE}) -> ({_OF_TILE}, {_OF_TILE}) {{
                  %y = arith.mulf %x, %x : {_OF_TILE}
                  func.return %x, %y : {_OF_TILE}, {_OF_TILE} }}
                func.func private @square_less(%x: {_OF_TILE}, %y: {_OF_TILE}) -> {_OF_TILE} {{
                  %same, %square = func.call @both(%x) : ({_OF_TILE}) -> ({_OF_TILE}, {_OF_TILE})
                  %z = arith.subf %square, %y : {_OF_TILE}
                  func.return %z : {_OF_TILE} }}""",
            ),
            _floats((16, 16)),
            ((16, 16), np.float32),
            lambda of: ((of[0] * of[0] - of[0]) ** 2 - of[0]).astype(np.float32),
        ),
        RealKernel(
            "sizes_known_when_it_runs",
            kernel(
                "%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>",
                """%c0 = arith.constant 0 : index
                %c1 = arith.constant 1 : index
                %c32 = arith.constant 32 : index
                %depth = memref.dim %a, %c1 : memref<?x?xf16>
                %ta = xegpu.create_nd_tdesc %a : memref<?x?xf16> -> !xegpu.tensor_desc<32x32xf16>
                %tb = xegpu.create_nd_tdesc %b : memref<?x?xf16> -> !xegpu.tensor_desc<32x32xf16>
                %tc = xegpu.create_nd_tdesc %c : memref<?x?xf32> -> !xegpu.tensor_desc<32x32xf32>
                %zero = arith.constant dense<0.0> : vector<32x32xf32>
                %r = scf.for %k = %c0 to %depth step %c32 iter_args(%s = %zero) -> (vector<32x32xf32>) {
                  %x = xegpu.load_nd %ta[%c0, %k] : !xegpu.tensor_desc<32x32xf16> -> vector<32x32xf16>
                  %y = xegpu.load_nd %tb[%k, %c0] : !xegpu.tensor_desc<32x32xf16> -> vector<32x32xf16>
                  %d = xegpu.dpas %x, %y, %s : vector<32x32xf16>, vector<32x32xf16>, vector<32x32xf32> -> vector<32x32xf32>
                  scf.yield %d : vector<32x32xf32> }
                xegpu.store_nd %r, %tc[%c0, %c0] : vector<32x32xf32>, !xegpu.tensor_desc<32x32xf32>""",
            ),
            _halves((32, 96), (96, 32)),
            ((32, 32), np.float32),
            lambda of: _wide(of[0], of[1]),
        ),
    )
}
