"""Small wrong modules and LLVM's words for them, for worked examples and for the compilers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from layoutalg.ir.reading.files import read_file_text


def module_of(text: str) -> ModuleOp:
    """The one module of a text, whether it is right or wrong."""
    (part,) = read_file_text(text).modules
    return part.module


def _all(words: str | None) -> dict[int, str | None]:
    return {22: words, 23: words, 24: words}


def _loop(yielded: str) -> str:
    return f"""
    func.func @f(%a: index, %x: f32) {{
      %r = "scf.for"(%a, %a, %a, %x) ({{
      ^bb0(%i: index, %y: f32):
        {yielded}
      }}) : (index, index, index, f32) -> f32
      return
    }}"""


_YIELD_23 = (
    "along control flow edge from Operation scf.yield to Region #0: successor operand type #0 'index' should match successor "
    "input type #0 'f32'"
)

STRUCTURE: dict[str, dict[int, str | None]] = {
    "func.func @f() -> f32 { return }": _all("has 0 operands, but enclosing function (@f) returns 1"),
    "func.func @f(%c: i32) -> f32 { return %c : i32 }": _all(
        "type of return operand 0 ('i32') doesn't match function result type ('f32') in function @f"
    ),
    "func.func @f(%a: f32) { %r = func.call @g(%a) : (f32) -> f32 return }": _all(
        "'g' does not reference a valid function"
    ),
    "func.func private @g(i32) -> f32 func.func @f(%a: f32) { %r = func.call @g(%a) : (f32) -> f32 return }": _all(
        "operand type mismatch: expected operand type 'i32', but provided 'f32' for operand number 0"
    ),
    "func.func private @g(f32) -> i32 func.func @f(%a: f32) { %r = func.call @g(%a) : (f32) -> f32 return }": _all(
        "result type mismatch at index 0"
    ),
    "gpu.module @m { gpu.func @k() -> f32 { gpu.return } }": _all("expected 1 result operands"),
    "gpu.module @m { gpu.func @k(%x: f32) -> f32 kernel { gpu.return %x : f32 } }": _all(
        "expected void return type for kernel function"
    ),
    "func.func @f(%x: f32) { %r = gpu.all_reduce and %x {} : (f32) -> f32 return }": _all(
        "`and` reduction operation is not compatible with type 'f32'"
    ),
    "func.func @f(%x: i32) { %r = gpu.subgroup_reduce maximumf %x : (i32) -> i32 return }": _all(
        "`maximumf` reduction operation is not compatible with type 'i32'"
    ),
    "func.func @f(%x: f32) { %r = gpu.subgroup_reduce add %x cluster(size = 3) : (f32) -> f32 return }": _all(
        "cluster size 3 is not a power of two"
    ),
    "func.func @f(%x: f32) { %r = gpu.subgroup_reduce add %x cluster(size = 4, stride = 3) : (f32) -> f32 return }": _all(
        "cluster stride 3 is not a power of two"
    ),
    "func.func @f(%x: vector<2xf32>) { %r = gpu.subgroup_reduce maxnumf %x : (vector<2xf32>) -> vector<2xf32> return }": _all(
        None
    ),
    "func.func @f(%x: memref<4xf32>, %y: memref<4xf16>) { memref.copy %x, %y : memref<4xf32> to memref<4xf16> return }": _all(
        "requires the same element type for all operands"
    ),
    "func.func @f(%x: memref<4xf32>, %y: memref<5xf32>) { memref.copy %x, %y : memref<4xf32> to memref<5xf32> return }": _all(
        "requires the same shape for all operands"
    ),
    "func.func @f(%x: memref<4xf32>, %y: memref<?xf32>) { memref.copy %x, %y : memref<4xf32> to memref<?xf32> return }": _all(
        None
    ),
    """
    func.func @f(%m: memref<4x4xf32, strided<[1, 4]>>, %i: index) {
      %v = vector.load %m[%i, %i] : memref<4x4xf32, strided<[1, 4]>>, vector<4xf32>
      return
    }""": _all("most minor memref dim must have unit stride"),
    """
    func.func @f(%m: memref<4x4xf32, strided<[1, 4]>>, %i: index) {
      %v = vector.load %m[%i, %i] : memref<4x4xf32, strided<[1, 4]>>, vector<1xf32>
      return
    }""": _all(None),
    "func.func @f() { gpu.return }": _all("expects parent op 'gpu.func'"),
    _loop('"scf.yield"(%y) : (f32) -> ()'): _all(None),
    _loop('"scf.yield"(%i) : (index) -> ()'): {
        22: "0-th region iter_arg and 0-th yielded value have different type: 'f32' != 'index'",
        23: _YIELD_23,
        24: _YIELD_23,
    },
    _loop('"scf.yield"() : () -> ()'): _all(
        "along control flow edge from Operation scf.yield to Region #0: region branch point has 0 operands, but region "
        "successor needs 1 inputs"
    ),
    """
    func.func @f(%x: f32) {
      cf.br ^bb1(%x : f32)
    ^bb1(%i: i32):
      return
    }""": _all("type mismatch for bb argument #0 of successor #0"),
    """
    func.func @f(%x: f32) {
      %s = "arith.addf"(%t, %t) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %t = "arith.addf"(%x, %x) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      return
    }""": _all("operand #0 does not dominate this use"),
    """
    func.func @f(%c: i1, %x: f32) {
      cf.cond_br %c, ^bb1, ^bb2
    ^bb1:
      %t = arith.addf %x, %x : f32
      cf.br ^bb2
    ^bb2:
      %s = arith.addf %t, %t : f32
      return
    }""": _all("operand #0 does not dominate this use"),
    """
    func.func @f(%c: i1, %x: f32) {
      %t = arith.addf %x, %x : f32
      cf.cond_br %c, ^bb1, ^bb2
    ^bb1:
      cf.br ^bb2
    ^bb2:
      %s = arith.addf %t, %t : f32
      return
    }""": _all(None),
    "func.func @f() { return } func.func @f() { return }": _all("redefinition of symbol named 'f'"),
    "memref.global @g : memref<4xf32> func.func @f() { %g = memref.get_global @g : memref<8xf32> return }": _all(
        "result type 'memref<8xf32>' does not match type 'memref<4xf32>' of the global memref @g"
    ),
}
"""Modules, and the first words of each version about them; None where it accepts."""


@dataclass(frozen=True)
class Example:
    """A module that a rule of ours refuses, and the versions of LLVM that accept it."""

    rule: str
    text: str
    versions: tuple[int, ...] = (22, 23, 24)
    target: str | None = None


def _function(arguments: str, body: str) -> str:
    return f"func.func @f({arguments}) {{\n{body}\nreturn\n}}\n"


_LANES = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
_ROWS = "#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1]>"
_B = "!xegpu.tensor_desc<16x16xf16>"
_POINTS = "!xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>"
_TILE = "!xegpu.tensor_desc<8x16xf16>"


def _described(shape: str, strides: str, base: str = "%p", tile: str = _TILE) -> str:
    body = "%c = arith.constant 40 : i64\n"
    body += f"%t = xegpu.create_nd_tdesc {base}, shape : {shape}, strides : {strides} : i64 -> {tile}"
    return _function("%p: i64", body)


OURS = (
    Example("ours.negative_barriers", _function("", "xegpu.alloc_nbarrier -1")),
    Example("ours.too_many_barriers", _function("", "xegpu.alloc_nbarrier 33")),
    Example(
        "ours.unknown_sizes",
        _function(
            "%m: memref<?x?xf32>", "%t = xegpu.create_nd_tdesc %m : memref<?x?xf32> -> !xegpu.tensor_desc<8x16xf32>"
        ),
        (22, 23),
    ),
    Example(
        "ours.packed_transpose",
        _function(
            f"%t: {_B}",
            f"%v = xegpu.load_nd %t[0, 0] <{{packed, transpose = array<i64: 1, 0>}}> : {_B} -> vector<8x16x2xf16>",
        ),
    ),
    Example(
        "ours.transpose_order",
        _function(
            f"%t: {_B}", f"%v = xegpu.load_nd %t[0, 0] <{{transpose = array<i64: 0, 0>}}> : {_B} -> vector<16x16xf16>"
        ),
    ),
    Example(
        "ours.vnni_factor",
        _function(f"%t: {_B}", f"%v = xegpu.load_nd %t[0, 0] <{{packed}}> : {_B} -> vector<4x16x4xf16>"),
    ),
    Example(
        "ours.vnni_factor",
        _function(
            "%a: vector<8x16xf16>, %b: vector<4x16x4xf16>",
            "%c = xegpu.dpas %a, %b : vector<8x16xf16>, vector<4x16x4xf16> -> vector<8x16xf32>",
        ),
    ),
    Example(
        "ours.descriptor_rank",
        _function(
            "%m: memref<4x64x64xf16>",
            "%t = xegpu.create_nd_tdesc %m : memref<4x64x64xf16> -> !xegpu.tensor_desc<2x8x16xf16>",
        ),
    ),
    Example(
        "ours.offsets_rank",
        _function(f"%t: {_TILE}", f"%v = xegpu.load_nd %t[0] : {_TILE} -> vector<8xf16>"),
    ),
    Example(
        "ours.offsets_rank",
        _function(
            "%m: !xegpu.mem_desc<16x32xf16>",
            "%v = xegpu.load_matrix %m[0] : !xegpu.mem_desc<16x32xf16> -> vector<8x16xf16>",
        ),
    ),
    Example(
        "ours.atomic_mask",
        _function(
            f"%t: {_POINTS}, %m: vector<8xi1>, %v: vector<16xf32>",
            f"%r = xegpu.atomic_rmw addf %t, %m, %v : {_POINTS}, vector<8xi1>, vector<16xf32> -> vector<16xf32>",
        ),
        (22,),
    ),
    Example(
        "ours.dpas_fragment",
        _function(
            "%a: vector<8xf16>, %b: vector<8xf16>",
            "%c = xegpu.dpas %a, %b : vector<8xf16>, vector<8xf16> -> vector<7xf32>",
        ),
    ),
    Example(
        "ours.layout_rank",
        _function(
            "%m: !xegpu.mem_desc<16x32xf16>",
            f"%v = xegpu.load_matrix %m[0, 0] <{{layout = {_LANES}}}> : !xegpu.mem_desc<16x32xf16> -> vector<16xf16>",
        ),
    ),
    Example(
        "ours.layout_fits",
        _function(
            "%m: !xegpu.mem_desc<16x32xf16>",
            f"%v = xegpu.load_matrix %m[0, 0] <{{layout = {_LANES}}}> : !xegpu.mem_desc<16x32xf16> -> vector<8x15xf16>",
        ),
        (22,),
    ),
    Example(
        "ours.load_layout",
        _function(
            f"%t: !xegpu.tensor_desc<8x16xf16, {_ROWS}>",
            f"%v = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf16, {_ROWS}> -> vector<8x16xf16>",
        ),
    ),
    Example(
        "ours.matrix_rank",
        _function(
            "%m: !xegpu.mem_desc<64xf16>",
            "%v = xegpu.load_matrix %m[0] : !xegpu.mem_desc<64xf16> -> vector<4x16xf16>",
        ),
        (23, 24),
    ),
    Example(
        "ours.subgroup_share",
        _function(f"%t: {_TILE}", f"%v = xegpu.load_nd %t[0, 0] : {_TILE} -> vector<2xf16>"),
    ),
    Example("ours.surface", _described("[64, 50]", "[50, 1]"), target="pvc"),
    Example("ours.surface", _described("[64, 64]", "[32, 1]"), target="pvc"),
    Example("ours.surface", _described("[64, 16]", "[64, 1]"), target="pvc"),
    Example("ours.surface", _described("[64, 64]", "[64, 2]"), target="bmg"),
    Example("ours.surface", _described("[64, 64]", "[64, 1]", "%c"), target="pvc"),
    Example(
        "ours.x_alignment",
        _function(f"%t: {_TILE}", f"%v = xegpu.load_nd %t[0, 3] : {_TILE} -> vector<8xf16>"),
        target="pvc",
    ),
    Example(
        "ours.block_size",
        _function(
            "%t: !xegpu.tensor_desc<8x48xf16>",
            "%v = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x48xf16> -> vector<24xf16>",
        ),
        target="pvc",
    ),
    Example(
        "ours.block_size",
        _function(f"%t: {_TILE}", f"%v = xegpu.load_nd %t[0, 0] : {_TILE} -> vector<8xf16>"),
        target="dg2",
    ),
)
"""What LLVM does not check: modules that it accepts, and the rule of ours that refuses them."""
