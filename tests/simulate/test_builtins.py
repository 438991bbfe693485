"""Calls of OpenCL's builtins: names as the Itanium C++ ABI and clang have them, results as the extensions say."""

import numpy as np
import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.ir.builtin_names import Builtin, demangled, mangled
from layoutalg.simulate import SimulationError, launch

# All of them are in the symbol table of the builtins of the graphics compiler (IGC 2.40.14).
NAMES = [
    ("intel_sub_group_i8_i8_matrix_mad_k32", ("short8", "int8", "int8"), "Dv8_sDv8_iS0_"),
    ("intel_sub_group_u8_u8_matrix_mad_k32", ("ushort8", "uint8", "int8"), "Dv8_tDv8_jDv8_i"),
    ("intel_sub_group_i8_u8_matrix_mad_k32", ("short8", "uint8", "int8"), "Dv8_sDv8_jDv8_i"),
    ("intel_sub_group_u8_i8_matrix_mad_k32", ("ushort8", "int8", "int8"), "Dv8_tDv8_iS0_"),
    ("intel_sub_group_f16_f16_matrix_mad_k16", ("int8", "int8", "float8"), "Dv8_iS_Dv8_f"),
    ("fmax", ("float8", "float8"), "Dv8_fS_"),
    ("sub_group_reduce_max", ("float",), "f"),
    ("intel_sub_group_block_read8", ("global const uint*",), "PU3AS1Kj"),
]


@pytest.mark.parametrize(("name", "parameters", "ending"), NAMES)
def test_mangled_names_are_the_compilers_and_lead_back(name, parameters, ending):
    symbol = f"_Z{len(name)}{name}{ending}"
    assert mangled(name, parameters) == symbol
    assert demangled(symbol) == Builtin(name, parameters)


@pytest.mark.parametrize("symbol", ["", "main", "_Z", "_Z99f", "_Z1fS_", "_Z1fDv8_q", "_Z1fX", "_ZN1a1fE"])
def test_other_names_are_no_builtins(symbol):
    assert demangled(symbol) is None


def test_a_type_that_is_not_opencls_is_refused():
    with pytest.raises(LayoutError, match="expected a type of OpenCL C"):
        mangled("f", ["vector<8xf32>"])


def kernel(body, declarations="", lanes=16, arguments="%a: i64, %b: i64, %c: i64"):
    return f"""gpu.module @k {{ {declarations}
    gpu.func @f({arguments}) kernel attributes {{intel_reqd_sub_group_size = {lanes} : i32,
      known_block_size = array<i32: {lanes}, 1, 1>}} {{ {body} gpu.return }} }}"""


PRODUCT = """
    %ta = xegpu.create_nd_tdesc %a, shape: [8, 64], strides: [64, 1] : i64 -> !xegpu.tensor_desc<8x32xi8>
    %tb = xegpu.create_nd_tdesc %b, shape: [32, 64], strides: [64, 1] : i64 -> !xegpu.tensor_desc<32x16xi8>
    %tc = xegpu.create_nd_tdesc %c, shape: [8, 16], strides: [16, 1] : i64 -> !xegpu.tensor_desc<8x16xi32>
    %x = xegpu.load_nd %ta[0, 0] : !xegpu.tensor_desc<8x32xi8> -> vector<16xi8>
    %y = xegpu.load_nd %tb[0, 0] <{packed}> : !xegpu.tensor_desc<32x16xi8> -> vector<32xi8>
    %xs = vector.bitcast %x : vector<16xi8> to vector<8xi16>
    %ys = vector.bitcast %y : vector<32xi8> to vector<8xi32>
    %zero = arith.constant dense<7> : vector<8xi32>
    %d = llvm.call spir_funccc @NAME(%xs, %ys, %zero) : (vector<8xi16>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
    xegpu.store_nd %d, %tc[0, 0] : vector<8xi32>, !xegpu.tensor_desc<8x16xi32>"""
DECLARED = "llvm.func spir_funccc @NAME(vector<8xi16>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>"


def product(symbol, a, b):
    c = np.zeros((8, 16), np.int32)
    launch(kernel(PRODUCT, DECLARED).replace("NAME", symbol), [a, b, c])
    return c


@pytest.mark.parametrize("first", ["i8", "u8"])
@pytest.mark.parametrize("second", ["i8", "u8"])
def test_products_of_8_bits_of_any_signs(first, second):
    rng = np.random.default_rng(14)
    a, b = rng.integers(0, 256, (8, 64), np.uint8), rng.integers(0, 256, (32, 64), np.uint8)
    of = {"i8": ("", np.int8), "u8": ("u", np.uint8)}
    name = f"intel_sub_group_{first}_{second}_matrix_mad_k32"
    symbol = mangled(name, (f"{of[first][0]}short8", f"{of[second][0]}int8", "int8"))
    expected = a[:, :32].view(of[first][1]).astype(int) @ b[:, :16].view(of[second][1]).astype(int) + 7
    assert np.array_equal(product(symbol, a.view(np.int8), b.view(np.int8)), expected)


@pytest.mark.parametrize(
    ("symbol", "said"),
    [
        ("_Z36intel_sub_group_s8_s8_matrix_mad_k32Dv8_sDv8_iS0_", "is not a function with a body"),
        ("_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_sDv8_jDv8_i", "has _Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_sD"),
        ("_Z36intel_sub_group_u8_i8_matrix_mad_k32Dv8_sDv8_iS0_", "has _Z36intel_sub_group_u8_i8_matrix_mad_k32Dv8_tDv8_iS0_"),
        ("_Z36intel_sub_group_i8_i8_matrix_mad_k16Dv8_sDv8_iS0_", "of 8 bits it multiplies k32"),
        ("_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv4_sDv8_iS0_", "takes (short4, int8, int8)"),
    ],
)  # fmt: skip
def test_a_name_that_the_graphics_compiler_does_not_have_is_refused(symbol, said):
    with pytest.raises(SimulationError) as problem:
        product(symbol, np.zeros((8, 64), np.int8), np.zeros((32, 64), np.int8))
    assert said in str(problem.value)


def test_tf32_in_integers_of_32_bits_keeps_its_numbers():
    a, b, c = (np.zeros(shape, np.float32) for shape in ((8, 16), (8, 16), (8, 16)))
    a[:, :8], b[:] = np.arange(64).reshape(8, 8) / 4, np.arange(128).reshape(8, 16) / 8
    body = """
    %ta = xegpu.create_nd_tdesc %a, shape: [8, 16], strides: [16, 1] : i64 -> !xegpu.tensor_desc<8x8xf32>
    %tb = xegpu.create_nd_tdesc %b, shape: [8, 16], strides: [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
    %tc = xegpu.create_nd_tdesc %c, shape: [8, 16], strides: [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
    %x = xegpu.load_nd %ta[0, 0] : !xegpu.tensor_desc<8x8xf32> -> vector<4xf32>
    %y = xegpu.load_nd %tb[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
    %xs = vector.bitcast %x : vector<4xf32> to vector<4xi32>
    %ys = vector.bitcast %y : vector<8xf32> to vector<8xi32>
    %zero = arith.constant dense<0.0> : vector<8xf32>
    %d = xevm.mma %xs, %ys, %zero {shape = <m = 8, n = 16, k = 8>, types = <d = f32, a = tf32, b = tf32, c = f32>}
      : (vector<4xi32>, vector<8xi32>, vector<8xf32>) -> vector<8xf32>
    xegpu.store_nd %d, %tc[0, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>"""
    launch(kernel(body), [a, b, c])
    assert np.array_equal(c, a[:, :8] @ b)


def test_reductions_functions_and_messages_of_one_block():
    body = """
    %p = llvm.inttoptr %a : i64 to !llvm.ptr<1>
    %q = llvm.inttoptr %b : i64 to !llvm.ptr<1>
    %x = llvm.call spir_funccc @_Z27intel_sub_group_block_read2PU3AS1Kj(%p) : (!llvm.ptr<1>) -> vector<2xi32>
    %f = vector.bitcast %x : vector<2xi32> to vector<2xf32>
    %f0 = vector.extract %f[0] : f32 from vector<2xf32>
    %f1 = vector.extract %f[1] : f32 from vector<2xf32>
    %m = llvm.call spir_funccc @_Z20sub_group_reduce_maxf(%f0) : (f32) -> f32
    %s = llvm.call spir_funccc @_Z20sub_group_reduce_addf(%f1) : (f32) -> f32
    %y = vector.from_elements %m, %s : vector<2xf32>
    %e = llvm.call spir_funccc @_Z11native_exp2Dv2_f(%y) : (vector<2xf32>) -> vector<2xf32>
    %i = vector.bitcast %e : vector<2xf32> to vector<2xi32>
    llvm.call spir_funccc @_Z28intel_sub_group_block_write2PU3AS1jDv2_j(%q, %i) : (!llvm.ptr<1>, vector<2xi32>) -> ()"""
    declarations = """
    llvm.func spir_funccc @_Z27intel_sub_group_block_read2PU3AS1Kj(!llvm.ptr<1>) -> vector<2xi32>
    llvm.func spir_funccc @_Z28intel_sub_group_block_write2PU3AS1jDv2_j(!llvm.ptr<1>, vector<2xi32>)
    llvm.func spir_funccc @_Z20sub_group_reduce_maxf(f32) -> f32
    llvm.func spir_funccc @_Z20sub_group_reduce_addf(f32) -> f32
    llvm.func spir_funccc @_Z11native_exp2Dv2_f(vector<2xf32>) -> vector<2xf32>"""
    given, found = np.zeros(32, np.float32), np.zeros(32, np.float32)
    given[:16], given[16:] = np.arange(16) / 4, 0.25
    launch(kernel(body, declarations), [given, found, 0])
    # Lane i reads elements i and 16 + i: the largest of the first is 15 / 4, the others add up to 4.
    assert (found[:16] == np.float32(2**3.75)).all()
    assert (found[16:] == 16).all()


def test_eight_lanes_of_the_first_arc_multiply_rows_of_32_bits():
    rng = np.random.default_rng(8)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((8, 16), (16, 8)))
    # Row r of A is register r, two elements for each of 8 lanes; row pair p of B is register p, a column for each lane.
    packed = np.ascontiguousarray(b.reshape(8, 2, 8).transpose(0, 2, 1))
    c = np.zeros((8, 8), np.float32)
    body = """
    %p = llvm.inttoptr %a : i64 to !llvm.ptr<1>
    %q = llvm.inttoptr %b : i64 to !llvm.ptr<1>
    %r = llvm.inttoptr %c : i64 to !llvm.ptr<1>
    %x = llvm.call spir_funccc @_Z27intel_sub_group_block_read8PU3AS1Kj(%p) : (!llvm.ptr<1>) -> vector<8xi32>
    %y = llvm.call spir_funccc @_Z27intel_sub_group_block_read8PU3AS1Kj(%q) : (!llvm.ptr<1>) -> vector<8xi32>
    %zero = arith.constant dense<0.0> : vector<8xf32>
    %d = llvm.call spir_funccc @_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_iS_Dv8_f(%x, %y, %zero)
      : (vector<8xi32>, vector<8xi32>, vector<8xf32>) -> vector<8xf32>
    %i = vector.bitcast %d : vector<8xf32> to vector<8xi32>
    llvm.call spir_funccc @_Z28intel_sub_group_block_write8PU3AS1jDv8_j(%r, %i) : (!llvm.ptr<1>, vector<8xi32>) -> ()"""
    declarations = """
    llvm.func spir_funccc @_Z27intel_sub_group_block_read8PU3AS1Kj(!llvm.ptr<1>) -> vector<8xi32>
    llvm.func spir_funccc @_Z28intel_sub_group_block_write8PU3AS1jDv8_j(!llvm.ptr<1>, vector<8xi32>)
    llvm.func spir_funccc @_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_iS_Dv8_f(vector<8xi32>, vector<8xi32>,
      vector<8xf32>) -> vector<8xf32>"""
    launch(kernel(body, declarations, lanes=8), [a, packed, c], target="dg2")
    assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_subgroups_have_matrices_of_their_own():
    """The subgroup's number selects base, sizes and pitch, as a shared prefetch does; here it loads what it selected."""
    body = """
    %sg = gpu.subgroup_id : index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %first = arith.cmpi eq, %sg, %zero : index
    %p = arith.select %first, %a, %b : i64
    %c8 = arith.constant 8 : index
    %c5 = arith.constant 5 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %h = arith.select %first, %c8, %c5 : index
    %w = arith.select %first, %c16, %c32 : index
    %t = xegpu.create_nd_tdesc %p, shape: [%h, %w], strides: [%w, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
    %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
    %d = xegpu.create_nd_tdesc %c, shape: [16, 16], strides: [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
    %r = arith.muli %sg, %c8 : index
    xegpu.store_nd %x, %d[%r, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>"""
    a, b = np.arange(128, dtype=np.float32).reshape(8, 16), np.arange(200, 360, dtype=np.float32).reshape(5, 32)
    c = np.full((16, 16), np.nan, np.float32)
    text = kernel(body).replace("array<i32: 16, 1, 1>", "array<i32: 32, 1, 1>")
    launch(text, [a, b, c])
    assert np.array_equal(c[:8], a)
    assert np.array_equal(c[8:13], b[:, :16])
    assert (c[13:] == 0).all()


def test_a_subgroup_whose_matrix_no_message_reaches_is_refused():
    body = """
    %sg = gpu.subgroup_id : index
    %c20 = arith.constant 20 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %off = arith.muli %sg, %c20 : index
    %w = arith.subi %c20, %sg : index
    %t = xegpu.create_nd_tdesc %a, shape: [%c8, %w], strides: [%c20, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>"""
    text = kernel(body).replace("array<i32: 16, 1, 1>", "array<i32: 32, 1, 1>")
    with pytest.raises(SimulationError, match="rows of 40 bytes; a block message takes multiples of 4 from 64"):
        launch(text, [np.zeros(200, np.float16), 0, 0])
