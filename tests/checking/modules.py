"""Small modules, each with one mistake that a compiler makes or lets pass."""

from __future__ import annotations

HEAD = (
    "gpu.module @m {\n"
    "gpu.func @k(%p: memref<64x64xf32>, %q: memref<64x64xf32>, %s: memref<4096xi8, 3>) kernel attributes "
    "{intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: ITEMS, 1, 1>} {\n"
    "%c0 = arith.constant 0 : index\n"
)
FOOT = "\ngpu.return\n}\n}\n"


def kernel(*lines: str, items: int = 16) -> str:
    """A kernel of some lines; %p and %q are matrices in memory, %s is shared memory."""
    return HEAD.replace("ITEMS", str(items)) + "\n".join(lines) + FOOT


def lanes(layout: str, data: str, rest: str = "") -> str:
    return f"#xegpu.layout<lane_layout = [{layout}], lane_data = [{data}]{rest}>"


def subgroups(layout: str, data: str, rest: str = "") -> str:
    return f"#xegpu.layout<sg_layout = [{layout}], sg_data = [{data}]{rest}>"


def load(name: str, shape: str, layout: str, element: str = "f32", source: str = "%p") -> tuple[str, str]:
    """A descriptor without a layout, and a load with one."""
    kind = f"!xegpu.tensor_desc<{shape}x{element}>"
    return (
        f"%t{name} = xegpu.create_nd_tdesc {source} : memref<64x64x{element}> -> {kind}",
        f"%{name} = xegpu.load_nd %t{name}[%c0, %c0] <{{layout = {layout}}}> : {kind} -> vector<{shape}x{element}>",
    )


COLUMNS, ROWS = lanes("1, 16", "1, 1"), lanes("16, 1", "1, 1")

STORE_MATRIX = kernel(
    *load("x", "8x16", COLUMNS),
    "%m = xegpu.create_mem_desc %s : memref<4096xi8, 3> -> !xegpu.mem_desc<32x32xf32>",
    f"xegpu.store_matrix %x, %m[%c0, %c0] <{{layout = {COLUMNS}}}> : "
    "vector<8x16xf32>, !xegpu.mem_desc<32x32xf32>, index, index",
)
LOAD_MATRIX = kernel(
    "%m = xegpu.create_mem_desc %s : memref<4096xi8, 3> -> !xegpu.mem_desc<32x32xf32>",
    f"%x = xegpu.load_matrix %m[%c0, %c0] <{{layout = {COLUMNS}}}> : "
    "!xegpu.mem_desc<32x32xf32>, index, index -> vector<8x32xf32>",
    f"%y = math.exp %x {{layout_result_0 = {COLUMNS}}} : vector<8x32xf32>",
)
DELETED_CONVERSION = kernel(
    f"%t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<16x16xf32, {ROWS}>",
    f"%u = xegpu.create_nd_tdesc %q : memref<64x64xf32> -> !xegpu.tensor_desc<16x16xf32, {COLUMNS}>",
    f"%x = xegpu.load_nd %t[%c0, %c0] <{{layout = {COLUMNS}}}> : !xegpu.tensor_desc<16x16xf32, {ROWS}> -> vector<16x16xf32>",
    f"%y = xegpu.convert_layout %x <{{input_layout = {ROWS}, target_layout = {COLUMNS}}}> : vector<16x16xf32>",
    f"xegpu.store_nd %y, %u[%c0, %c0] <{{layout = {COLUMNS}}}> : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32, {COLUMNS}>",
)
"""What LLVM 22 makes of a module whose load has `layout = [16, 1]`: `test_checked_mistakes` asks it."""

_A, _B, _C = (
    subgroups("2, 2", "32, 32", f", lane_layout = [1, 16], lane_data = [{data}, 1]{rest}")
    for data, rest in ((1, ", order = [0, 1]"), (2, ""), (1, ""))
)
DPAS_ROWS = kernel(
    *load("a", "64x32", _A, "f16"),
    *load("b", "32x64", _B, "f16"),
    f"%d = xegpu.dpas %a, %b {{layout_a = {_A}, layout_b = {_B}, layout_cd = {_C}}} : "
    "vector<64x32xf16>, vector<32x64xf16> -> vector<64x64xf32>",
    items=64,
).replace("memref<64x64xf32>", "memref<64x64xf16>")

_INST = {
    name: f"#xegpu.layout<inst_data = [{tile}]>" for name, tile in (("a", "8, 16"), ("b", "16, 16"), ("c", "8, 16"))
}
HALF_DEPTH = (
    kernel(
        *load("a", "32x32", _INST["a"], "i8"),
        *load("b", "32x32", _INST["b"], "i8"),
        f"%d = xegpu.dpas %a, %b {{layout_a = {_INST['a']}, layout_b = {_INST['b']}, layout_cd = {_INST['c']}}} : "
        "vector<32x32xi8>, vector<32x32xi8> -> vector<32x32xi32>",
        "%u = xegpu.create_nd_tdesc %q : memref<64x64xi32> -> !xegpu.tensor_desc<32x32xi32>",
        "xegpu.store_nd %d, %u[%c0, %c0] : vector<32x32xi32>, !xegpu.tensor_desc<32x32xi32>",
    )
    .replace("%q: memref<64x64xf32>", "%q: memref<64x64xi32>")
    .replace("memref<64x64xf32>", "memref<64x64xi8>")
)
"""What LLVM 22 makes of an i8 product without inst_data."""

_SQUARE = subgroups("4, 2", "8, 16")


def broadcast(dims: str) -> str:
    """32 elements broadcast to 32 rows, as a slice of the result: `dims` are those that it drops."""
    row = f"#xegpu.slice<{_SQUARE}, dims = [{dims}]>"
    return kernel(
        f"%row = arith.constant {{layout_result_0 = {row}}} dense<1.0> : vector<32xf32>",
        f"%x = vector.broadcast %row {{layout_result_0 = {_SQUARE}}} : vector<32xf32> to vector<32x32xf32>",
        items=128,
    )


def transpose(before: str, after: str) -> str:
    """A 16x32 tensor transposed, over 8 subgroups."""
    return kernel(
        f"%x = arith.constant {{layout_result_0 = {before}}} dense<1.0> : vector<16x32xf32>",
        f"%y = vector.transpose %x, [1, 0] {{layout_result_0 = {after}}} : vector<16x32xf32> to vector<32x16xf32>",
        items=128,
    )


SUMS = {
    "directly": ("", "%y"),
    "exp": ("%w = math.exp %y LAYOUT : vector<16xf32>", "%w"),
    "exp twice": ("%v = math.exp %y LAYOUT : vector<16xf32>\n%w = math.exp %v LAYOUT : vector<16xf32>", "%w"),
    "sum with itself": ("%w = arith.addf %y, %y LAYOUT : vector<16xf32>", "%w"),
    "compared": (
        "%m = arith.cmpf olt, %y, %z LAYOUT : vector<16xf32>\n"
        "%w = arith.select %m, %z, %z LAYOUT : vector<16xi1>, vector<16xf32>",
        "%w",
    ),
    "other types": (
        "%v = arith.truncf %y LAYOUT : vector<16xf32> to vector<16xf16>\n"
        "%w = arith.extf %v LAYOUT : vector<16xf16> to vector<16xf32>",
        "%w",
    ),
    "loop": (
        "%c1 = arith.constant 1 : index\n%c4 = arith.constant 4 : index\n"
        "%w = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %y) -> (vector<16xf32>) {\n"
        "%v = arith.addf %a, %a LAYOUT : vector<16xf32>\nscf.yield %v : vector<16xf32>\n} LAYOUT",
        "%w",
    ),
    "branch": (
        "%c = arith.constant true\n%w = scf.if %c -> (vector<16xf32>) {\nscf.yield %y : vector<16xf32>\n} else {\n"
        "scf.yield %z : vector<16xf32>\n} LAYOUT",
        "%w",
    ),
}
"""What is computed from sums %y before something is stored: all of it reaches the store in the store's layout."""
NO_SUMS = {
    "not stored": ("%w = math.exp %y LAYOUT : vector<16xf32>", "%z"),
    "converted": (
        "%v = xegpu.convert_layout %y <{input_layout = SLICE, target_layout = PLAIN}> : vector<16xf32>\n"
        "%w = math.exp %v LAYOUT : vector<16xf32>",
        "%w",
    ),
    "converted later": (
        "%v = math.exp %y {layout_result_0 = SLICE} : vector<16xf32>\n"
        "%w = xegpu.convert_layout %v <{input_layout = SLICE, target_layout = PLAIN}> : vector<16xf32>",
        "%w",
    ),
}
"""The same where nothing goes wrong."""


def computed_sums(lines: str, stored: str, result: str, source: str = COLUMNS) -> str:
    """Rows of 16x16 added up to %y, with these lines behind it, and a store in the layout of lanes."""
    plain = lanes("16", "1")
    text = reduction(result, source).replace("xegpu.store_nd %y", f"{lines}\nxegpu.store_nd {stored}")
    text = text.replace("LAYOUT", f"{{layout_result_0 = {plain}}}").replace("SLICE", SLICE).replace("PLAIN", plain)
    before, _, after = text.rpartition("<{layout = ")
    return f"{before}<{{layout = {plain}}}>{after[after.index('}>') + 2 :]}"


SLICE = f"#xegpu.slice<{COLUMNS}, dims = [1]>"


def reduction(result: str, source: str = COLUMNS) -> str:
    """Rows of 16x16 added up and stored, with this layout of the result."""
    return kernel(
        *load("x", "16x16", source),
        f"%z = arith.constant {{layout_result_0 = {result}}} dense<0.0> : vector<16xf32>",
        f"%y = vector.multi_reduction <add>, %x, %z {{layout_result_0 = {result}}} [1] : vector<16x16xf32> to vector<16xf32>",
        "%u = xegpu.create_nd_tdesc %q : memref<64xf32> -> !xegpu.tensor_desc<16xf32>",
        f"xegpu.store_nd %y, %u[%c0] <{{layout = {result}}}> : vector<16xf32>, !xegpu.tensor_desc<16xf32>",
    ).replace("%q: memref<64x64xf32>", "%q: memref<64xf32>")
