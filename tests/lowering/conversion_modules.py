"""Kernels with conversions that mlir-opt refuses, deletes or changes, with what they compute as numpy arrays.

A kernel is written at subgroup level (16 lanes) or at workgroup level. It loads, converts once or several times, computes in
between, and stores. What it means is written in numpy beside it: at these levels a conversion changes no value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray

Array = NDArray[Any]

DTYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": bfloat16, "f32": np.float32, "i8": np.int8, "i16": np.int16, "i32": np.int32,
    "f64": np.float64, "i64": np.int64,
}  # fmt: skip


@dataclass(frozen=True)
class ConversionModule:
    """A kernel by name: its text (a gpu.func), the tiles that it loads and (the last) stores, and what it computes."""

    name: str
    text: str
    arrays: tuple[tuple[str, tuple[int, ...]], ...]
    meaning: Callable[..., Array]
    subgroups: int = 1
    blocks: bool = True
    """Whether block messages move the tiles, which need rows of 64 bytes."""

    @property
    def module(self) -> str:
        """The text of a module that has it alone."""
        return f"gpu.module @kernels {{\n{self.text}}}\n"

    def operands(self) -> list[Array]:
        """Small integers, which every type holds exactly; the result is all ones before."""
        rng = np.random.default_rng(len(self.name))
        sizes = [surface(element, shape) if self.blocks else shape for element, shape in self.arrays]
        found = [
            rng.integers(-8, 9, size).astype(DTYPES[one]) for (one, _), size in zip(self.arrays, sizes, strict=True)
        ]
        found[-1][:] = 1
        return found

    def expected(self) -> Array:
        """The last array after the launch."""
        tiles = [
            array[tuple(map(slice, shape))] for array, (_, shape) in zip(self.operands(), self.arrays, strict=True)
        ]
        last = self.operands()[-1]
        last[tuple(map(slice, self.arrays[-1][1]))] = self.meaning(*tiles[:-1])
        return last


def surface(element: str, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of an array with such a tile in its corner: rows of at least 64 bytes, which a block message needs."""
    return (*shape[:-1], max(shape[-1], 64 // np.dtype(DTYPES[element]).itemsize))


def lanes(layout: Sequence[int], data: Sequence[int] = (1, 1), **more: Sequence[int]) -> str:
    """A layout of lanes."""
    fields = {"lane_layout": layout, "lane_data": data, **more}
    return f"#xegpu.layout<{', '.join(f'{name} = {list(sizes)}' for name, sizes in fields.items())}>"


def of_subgroups(
    layout: Sequence[int], data: Sequence[int], inst: Sequence[int] = (8, 16), **more: Sequence[int]
) -> str:
    """A layout of subgroups, whose tiles are a row per register."""
    fields = {
        "sg_layout": layout,
        "sg_data": data,
        "inst_data": inst,
        "lane_layout": [1, 16],
        "lane_data": [1, 1],
        **more,
    }
    return f"#xegpu.layout<{', '.join(f'{name} = {list(sizes)}' for name, sizes in fields.items())}>"


class Body:
    """The lines of a kernel while they are written."""

    def __init__(self) -> None:
        self.lines: list[str] = ["%c0 = arith.constant 0 : index"]

    def add(self, line: str) -> None:
        self.lines.append(line)

    def load(self, name: str, pointer: str, element: str, shape: Sequence[int], layout: str) -> None:
        """A tile of an array that is as large as the tile."""
        at, kind, vector = self._described(f"%t_{name}", pointer, element, shape, layout)
        self.add(f"%{name} = xegpu.load_nd {at} <{{layout = {layout}}}> : {kind} -> {vector}")

    def convert(self, name: str, value: str, source: str, target: str, kind: str) -> None:
        self.add(
            f"%{name} = xegpu.convert_layout %{value} <{{input_layout = {source}, target_layout = {target}}}> : vector<{kind}>"
        )

    def store(self, value: str, pointer: str, element: str, shape: Sequence[int], layout: str) -> None:
        at, kind, vector = self._described(f"%s_{value}", pointer, element, shape, layout)
        self.add(f"xegpu.store_nd %{value}, {at} <{{layout = {layout}}}> : {vector}, {kind}")

    def _described(
        self, name: str, pointer: str, element: str, shape: Sequence[int], layout: str
    ) -> tuple[str, str, str]:
        """Describe the tile; where it begins, and the types of its descriptor and its vector."""
        sizes = "x".join(map(str, shape))
        kind = f"!xegpu.tensor_desc<{sizes}x{element}, {layout}>"
        self._describe(name, pointer, surface(element, shape), kind)
        return f"{name}[{', '.join(['%c0'] * len(shape))}]", kind, f"vector<{sizes}x{element}>"

    def _describe(self, name: str, pointer: str, shape: Sequence[int], kind: str) -> None:
        strides = [1]
        for size in reversed(shape[1:]):
            strides.insert(0, strides[0] * size)
        self.add(
            f"{name} = xegpu.create_nd_tdesc %{pointer}, shape : {list(shape)}, strides : {strides} : i64 -> {kind}"
        )

    def kernel(self, name: str, pointers: int, subgroups: int = 1) -> str:
        arguments = ", ".join(f"%p{number}: i64" for number in range(pointers))
        attributes = f"known_block_size = array<i32: {16 * subgroups}, 1, 1>, intel_reqd_sub_group_size = 16 : i32"
        lines = "".join(f"  {line}\n" for line in self.lines)
        return f"gpu.func @{name}({arguments}) kernel attributes {{{attributes}}} {{\n{lines}  gpu.return\n}}\n"


def adds(element: str) -> str:
    """The addition of a type."""
    return "arith.addi" if element.startswith("i") else "arith.addf"


def there_and_back(
    name: str, element: str, shape: tuple[int, ...], here: str, there: Sequence[str], subgroups: int = 1
) -> ConversionModule:
    """Load, convert to each layout in turn, double after each, convert back and store: x times two for each.

    Nothing is doubled in bf16, which SPIR-V of LLVM 22 can't compute with.
    """
    kind = f"{'x'.join(map(str, shape))}x{element}"
    body = Body()
    body.load("x", "p0", element, shape, here)
    value, layout, factor = "x", here, 1
    for number, other in enumerate(there):
        body.convert(f"y{number}", value, layout, other, kind)
        value, layout = f"y{number}", other
        if element != "bf16":
            body.add(f"%z{number} = {adds(element)} %{value}, %{value} {{layout_result_0 = {other}}} : vector<{kind}>")
            value, factor = f"z{number}", 2 * factor
    body.convert("back", value, layout, here, kind)
    body.store("back", "p1", element, shape, here)
    arrays = ((element, shape), (element, shape))
    return ConversionModule(
        name, body.kernel(name, 2, subgroups), arrays, lambda x: x * x.dtype.type(factor), subgroups
    )


ROWS, COLUMNS = lanes([1, 16]), lanes([16, 1])
TILES = lanes([1, 16], inst_data=[8, 16])
"""The same lanes, the registers in tiles of 8x16."""
BYTES = lanes([1, 16], [1, 2])
"""A row of 32 bytes in a register's place: what a block message delivers."""


def _transposes() -> list[ConversionModule]:
    """A row per register to a column per register, and back: LLVM's open pattern for tiles that are transposed."""
    return [
        *(
            there_and_back(f"transpose_{element}", element, (16, 16), ROWS, [COLUMNS])
            for element in ("f16", "bf16", "f32", "i16", "i32")
        ),
        there_and_back("transpose_i8", "i8", (16, 32), BYTES, [COLUMNS]),
        there_and_back("transpose_pairs_i8", "i8", (32, 32), BYTES, [lanes([16, 1], [2, 1])]),
        there_and_back("transpose_wide", "f32", (16, 32), TILES, [COLUMNS]),
        there_and_back("transpose_tall", "f32", (32, 16), ROWS, [COLUMNS]),
        there_and_back("transpose_twice", "f16", (32, 16), ROWS, [COLUMNS, lanes([16, 1], [2, 1])]),
    ]


def _grids() -> list[ConversionModule]:
    """Lanes as a grid of 2x8, 4x4 or 8x2, in both orders, with several elements together."""
    made: list[ConversionModule] = []
    for rows in (2, 4, 8):
        grid = [rows, 16 // rows]
        made.append(there_and_back(f"grid_{rows}_f32", "f32", (16, 16), ROWS, [lanes(grid)]))
        made.append(there_and_back(f"grid_{rows}_f16", "f16", (16, 16), ROWS, [lanes(grid)]))
        made.append(there_and_back(f"grid_{rows}_columns", "f32", (16, 16), ROWS, [lanes(grid, order=[0, 1])]))
        made.append(there_and_back(f"grid_{rows}_pairs", "f16", (16, 16), ROWS, [lanes(grid, [1, 2])]))
        made.append(there_and_back(f"grid_{rows}_i32", "i32", (16, 16), ROWS, [lanes(grid, [2, 1])]))
        made.append(there_and_back(f"grid_{rows}_tall_pairs", "bf16", (16, 16), ROWS, [lanes(grid, [2, 1])]))
    made.append(there_and_back("grid_squares", "f32", (16, 16), ROWS, [lanes([4, 4], [2, 2])]))
    made.append(
        there_and_back("grids", "f32", (16, 16), ROWS, [lanes([4, 4]), lanes([2, 8]), lanes([8, 2], order=[0, 1])])
    )
    return made


def _repacks() -> list[ConversionModule]:
    """Other numbers of neighbours in a lane: what operands of other element sizes need."""
    made: list[ConversionModule] = []
    for element, wide in (("f16", 2), ("bf16", 2), ("f32", 2), ("i32", 2), ("f16", 4), ("i16", 4)):
        packed = lanes([1, 16], [1, wide])
        name = f"repack_{element}_{wide}"
        made.append(there_and_back(name, element, (8, 16 * wide), TILES, [packed]))
    made.append(there_and_back("repack_rows", "f16", (16, 32), TILES, [lanes([1, 16], [2, 2]), lanes([1, 16], [1, 2])]))
    made.append(there_and_back("repack_bytes", "i8", (8, 64), BYTES, [lanes([1, 16], [1, 4])]))
    made.append(there_and_back("repack_bytes_apart", "i8", (8, 32), BYTES, [ROWS]))
    made.append(there_and_back("repack_bytes_tall", "i8", (32, 32), BYTES, [lanes([1, 16], [4, 1])]))
    made.append(there_and_back("repack_columns", "f16", (16, 32), TILES, [lanes([16, 1], [1, 2])]))
    return made


def _across() -> list[ConversionModule]:
    """From one subgroup to another."""
    square = of_subgroups([2, 2], [16, 32])
    made: list[ConversionModule] = []
    for name, element, there in (
        ("rows", "f32", of_subgroups([4, 1], [8, 64])),
        ("columns", "f32", of_subgroups([1, 4], [32, 16])),
        ("order", "f32", of_subgroups([2, 2], [16, 32], order=[0, 1])),
        ("round_robin", "f32", of_subgroups([2, 2], [8, 16])),
        ("rows_f16", "f16", of_subgroups([4, 1], [8, 64])),
        ("round_robin_f16", "f16", of_subgroups([2, 2], [8, 16])),
        ("columns_i16", "i16", of_subgroups([1, 4], [32, 16])),
        ("columns_bf16", "bf16", of_subgroups([1, 4], [32, 16])),
        ("rows_i32", "i32", of_subgroups([4, 1], [8, 64])),
        ("order_f16", "f16", of_subgroups([2, 2], [16, 32], order=[0, 1])),
        ("shared_rows", "f32", of_subgroups([4, 1], [16, 64])),
        ("turned_bytes", "i8", of_subgroups([4, 1], [8, 64], [8, 32], lane_data=[1, 2])),
        ("copies", "f32", of_subgroups([4, 1], [32, 64])),
    ):
        here = square if element != "i8" else of_subgroups([2, 2], [16, 32], [8, 32], lane_data=[1, 2])
        made.append(there_and_back(f"across_{name}", element, (32, 64), here, [there], 4))
    turned = [of_subgroups([4, 1], [8, 64]), of_subgroups([1, 4], [32, 16]), of_subgroups([2, 2], [8, 16])]
    made.append(there_and_back("across_in_turn", "f32", (32, 64), square, turned, 4))
    both = of_subgroups([1, 2], [16, 16], [16, 16], lane_layout=[16, 1])
    made.append(there_and_back("across_and_inside", "f32", (16, 32), of_subgroups([2, 1], [8, 32]), [both], 2))
    return [*made, *_inside()]


def _inside() -> list[ConversionModule]:
    """Each of several subgroups for itself: turned through memory, in parts of one size and of several."""
    here = of_subgroups([4, 1], [16, 16], [16, 16])
    turned, dealt = (of_subgroups([4, 1], [16, 16], [16, 16], lane_layout=one) for one in ([16, 1], [4, 4]))
    return [
        there_and_back("inside_turned", "f32", (64, 16), here, [turned], 4),
        there_and_back("inside_in_turn", "f32", (64, 16), here, [turned, dealt, turned], 4),
    ]


def _loops() -> list[ConversionModule]:
    """Conversions that are executed several times, and where a branch is taken."""
    made: list[ConversionModule] = []
    for name, element, shape, here, there, subgroups in (
        ("loop_transpose", "f32", (16, 16), ROWS, COLUMNS, 1),
        ("loop_grid", "f16", (16, 16), ROWS, lanes([4, 4], [1, 2]), 1),
        ("loop_across", "f32", (32, 64), of_subgroups([2, 2], [16, 32]), of_subgroups([4, 1], [8, 64]), 4),
        ("loop_across_f16", "f16", (32, 64), of_subgroups([2, 2], [16, 32]), of_subgroups([1, 4], [32, 16]), 4),
    ):
        kind = f"{'x'.join(map(str, shape))}x{element}"
        body = Body()
        body.add("%c1 = arith.constant 1 : index")
        body.add("%c3 = arith.constant 3 : index")
        body.load("x", "p0", element, shape, here)
        body.add(f"%r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> (vector<{kind}>) {{")
        body.convert("y", "a", here, there, kind)
        body.add(f"%z = {adds(element)} %y, %y {{layout_result_0 = {there}}} : vector<{kind}>")
        body.convert("b", "z", there, here, kind)
        body.add(f"scf.yield %b : vector<{kind}>")
        body.add("} {layout_result_0 = " + here + "}")
        body.store("r", "p1", element, shape, here)
        arrays = ((element, shape), (element, shape))
        text = body.kernel(name, 2, subgroups)
        made.append(ConversionModule(name, text, arrays, lambda x: x * x.dtype.type(8), subgroups))
    return made


def _between() -> list[ConversionModule]:
    """Several conversions with work between them, of one value and of several."""
    made: list[ConversionModule] = []
    for element in ("f32", "f16"):
        kind = f"16x16x{element}"
        body = Body()
        body.load("x", "p0", element, (16, 16), ROWS)
        body.load("y", "p1", element, (16, 16), ROWS)
        body.convert("u", "x", ROWS, COLUMNS, kind)
        body.convert("v", "y", ROWS, COLUMNS, kind)
        body.add(f"%m = arith.mulf %u, %v {{layout_result_0 = {COLUMNS}}} : vector<{kind}>")
        body.convert("w", "m", COLUMNS, lanes([4, 4]), kind)
        body.add(f"%n = arith.addf %w, %w {{layout_result_0 = {lanes([4, 4])}}} : vector<{kind}>")
        body.convert("back", "n", lanes([4, 4]), ROWS, kind)
        body.add(f"%sum = arith.addf %back, %x {{layout_result_0 = {ROWS}}} : vector<{kind}>")
        body.store("sum", "p2", element, (16, 16), ROWS)
        name = f"between_{element}"
        arrays = ((element, (16, 16)),) * 3
        made.append(ConversionModule(name, body.kernel(name, 3), arrays, lambda x, y: x * y + x * y + x))
    body = Body()
    body.load("x", "p0", "f32", (16, 16), ROWS)
    body.add(f"%h = arith.truncf %x {{layout_result_0 = {ROWS}}} : vector<16x16xf32> to vector<16x16xf16>")
    body.convert("u", "h", ROWS, COLUMNS, "16x16xf16")
    body.add(f"%wide = arith.extf %u {{layout_result_0 = {COLUMNS}}} : vector<16x16xf16> to vector<16x16xf32>")
    body.convert("back", "wide", COLUMNS, ROWS, "16x16xf32")
    body.store("back", "p1", "f32", (16, 16), ROWS)
    arrays = (("f32", (16, 16)), ("f32", (16, 16)))
    made.append(ConversionModule("between_sizes", body.kernel("between_sizes", 2), arrays, lambda x: x))
    return made


def _scales() -> list[ConversionModule]:
    """The three patterns that LLVM is adding, for the scales of `dpas_mx`, on 8x2 (pull request 222693), and their inverses.

    Gathers and scatters move the tiles, so that a store shows in which layout the value is.
    """
    everywhere = "#xegpu.slice<#xegpu.layout<lane_layout = [1, 1, 16], lane_data = [1, 1, 1]>, dims = [2]>"
    groups = (
        "#xegpu.slice<#xegpu.layout<lane_layout = [8, 1, 2], lane_data = [1, 1, 1], order = [0, 2, 1]>, dims = [0]>"
    )
    rows = lanes([8, 1])
    return [
        gathered(f"{name}_{element}", element, (8, 2), here, there)
        for name, here, there in (
            ("scales_everywhere_to_rows", everywhere, rows),
            ("scales_groups_to_rows", groups, rows),
            ("scales_everywhere_to_groups", everywhere, groups),
            ("scales_rows_to_everywhere", rows, everywhere),
            ("scales_rows_to_groups", rows, groups),
        )
        for element in ("f32", "i8")
    ]


def gathered(name: str, element: str, shape: tuple[int, ...], here: str, *there: str) -> ConversionModule:
    """Gather in one layout, convert to each of the others in turn, scatter in the last."""
    kind = "x".join(map(str, shape))
    offsets = np.arange(np.prod(shape)).reshape(shape).tolist()
    body = Body()
    for layout, suffix in ((here, ""), (there[-1], "2")):
        body.add(f"%o{suffix} = arith.constant {{layout_result_0 = {layout}}} dense<{offsets}> : vector<{kind}xindex>")
        body.add(f"%m{suffix} = arith.constant {{layout_result_0 = {layout}}} dense<true> : vector<{kind}xi1>")
    offset_kinds = f"vector<{kind}xindex>, vector<{kind}xi1>"
    body.add(f"%y = xegpu.load %p0[%o], %m <{{layout = {here}}}> : i64, {offset_kinds} -> vector<{kind}x{element}>")
    value, layout = "y", here
    for number, other in enumerate(there):
        body.convert(f"y{number}", value, layout, other, f"{kind}x{element}")
        value, layout = f"y{number}", other
    body.add(
        f"xegpu.store %{value}, %p1[%o2], %m2 <{{layout = {layout}}}> : vector<{kind}x{element}>, i64, {offset_kinds}"
    )
    return ConversionModule(name, body.kernel(name, 2), ((element, shape),) * 2, lambda x: x, blocks=False)


def _gathers() -> list[ConversionModule]:
    """Other conversions whose result is scattered as it is."""
    rows, columns = lanes([1, 16]), lanes([16, 1])
    return [
        gathered("gather_columns", "f32", (16, 16), rows, columns),
        gathered("gather_rows", "f16", (16, 16), columns, rows),
        gathered("gather_bytes", "i8", (16, 16), rows, columns),
        gathered("gather_grid", "f32", (8, 16), rows, lanes([4, 4], [1, 2])),
        gathered("gather_order", "f32", (8, 16), rows, lanes([4, 4], order=[0, 1])),
        gathered("gather_repacked", "f16", (4, 64), rows, lanes([1, 16], [1, 4])),
        gathered("gather_64_bits", "f64", (4, 16), rows, lanes([4, 4])),
        gathered("gather_long", "i64", (4, 16), rows, lanes([2, 8])),
    ]


def _attention() -> list[ConversionModule]:
    """Two products in a row: the accumulator of the first is operand A of the second, which a subgroup has elsewhere."""
    body = Body()
    body.load("q", "p0", "f16", (8, 16), lanes([1, 16]))
    body.load("k", "p1", "f16", (16, 16), lanes([1, 16], [2, 1]))
    body.load("v", "p2", "f16", (16, 16), lanes([1, 16], [2, 1]))
    plain, packed = lanes([1, 16]), lanes([1, 16], [2, 1])
    product = "vector<8x16xf16>, vector<16x16xf16> -> vector<8x16xf32>"
    body.add(f"%s = xegpu.dpas %q, %k {{layout_a = {plain}, layout_b = {packed}, layout_cd = {plain}}} : {product}")
    grid = lanes([2, 8])
    body.convert("g", "s", plain, grid, "8x16xf32")
    body.add(f"%e = arith.addf %g, %g {{layout_result_0 = {grid}}} : vector<8x16xf32>")
    body.add(f"%h = arith.truncf %e {{layout_result_0 = {grid}}} : vector<8x16xf32> to vector<8x16xf16>")
    body.convert("p", "h", grid, plain, "8x16xf16")
    body.add(f"%o = xegpu.dpas %p, %v {{layout_a = {plain}, layout_b = {packed}, layout_cd = {plain}}} : {product}")
    body.store("o", "p3", "f32", (8, 16), plain)
    arrays = (("f16", (8, 16)), ("f16", (16, 16)), ("f16", (16, 16)), ("f32", (8, 16)))

    def meaning(q: Array, k: Array, v: Array) -> Array:
        s = q.astype(np.float32) @ k.astype(np.float32)
        return (s + s).astype(np.float16).astype(np.float32) @ v.astype(np.float32)

    return [ConversionModule("attention", body.kernel("attention", 4), arrays, meaning)]


def _slices() -> list[ConversionModule]:
    """A row of a tile, of which all lanes of a column, or of a row, of a grid of lanes have copies."""
    here = f"#xegpu.slice<{ROWS}, dims = [0]>"
    return [
        gathered(
            f"slice_{name}",
            element,
            (32,),
            here,
            *(f"#xegpu.slice<{lanes(grid)}, dims = [{dim}]>" for grid, dim in there),
        )
        for name, element, there in (
            ("columns", "f32", [([4, 4], 0)]),
            ("rows", "f32", [([4, 4], 1)]),
            ("columns_f16", "f16", [([2, 8], 0)]),
            ("rows_f16", "f16", [([8, 2], 1)]),
            ("rows_i32", "i32", [([2, 8], 1)]),
            ("everywhere", "f32", [([16, 1], 1), ([16, 1], 0)]),
            ("in_turn", "f32", [([4, 4], 0), ([4, 4], 1)]),
        )
    ]


MODULES = {
    module.name: module
    for module in (
        *_transposes(), *_grids(), *_repacks(), *_across(), *_slices(), *_scales(), *_gathers(), *_loops(), *_between(),
        *_attention(),
    )
}  # fmt: skip
