"""The operations of XeGPU's RFC are read as today's, with a note of today's form.

The text is the page's where it holds together. What a sample leaves open is defined before it. Where one contradicts itself, it
is refused in words that say what is wrong.
"""

from __future__ import annotations

import pytest

import layoutalg as la
from tests.oracle.toolchains import require, require_new, run

BEFORE = """%mem_addr = "test.op"() : () -> ui64
%mref = "test.op"() : () -> memref<1024x1024xbf16>
%offsets:2, %base_shape:2, %base_stride:2 = "test.op"() : () -> (index, index, index, index, index, index)
%points, %mask = "test.op"() : () -> (vector<16xindex>, vector<16xi1>)
"""
INDICES = ": uint64, index, index, index, index, index, index"
MAP = "#sg_map_a = xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>\n"
SCATTER = "#tdesc_attr = !xegpu.tdesc_attr< memory_scope=slm, scattered=true, chunk_size_per_lane=8>\n"
SAMPLES = {
    "create_nd_tdesc": (
        f"%tdesc2 = XeGPU.create_nd_tdesc %mem_addr, %offsets:2, %base_shape:2,%base_stride:2\n\t\t{INDICES}\n"
        "     \tinto tensor_desc<8x16xbf16>",
        "xegpu.create_nd_tdesc",
        "ui64 -> !xegpu.tensor_desc<8x16xbf16>",
    ),
    "array_length": (
        f"%tdesc2 = XeGPU.create_nd_tdesc %mem_addr, %offsets:2, %base_shape:2,%base_stride:2\n{INDICES}\n"
        "into tensor_desc<8x16xbf16, array_length=2>",
        "xegpu.create_nd_tdesc",
        "!xegpu.tensor_desc<8x16xbf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>",
    ),
    "a memref": (
        "%tdesc2 = XeGPU.create_nd_tdesc  %mref, %offsets:2\n\t\t: memref<1024x1024xbf16>, index, index\n"
        "     \tinto tensor_desc<8x16xbf16>",
        "xegpu.create_nd_tdesc",
        "memref<1024x1024xbf16> -> !xegpu.tensor_desc<8x16xbf16>",
    ),
    "a map": (
        f"{MAP}%tdesc_a = XeGPU.create_nd_tdesc %mem_addr, %offsets:2, %base_shape:2,%base_stride:2\n{INDICES}\n"
        "into tensor_desc<8x16xbf16, #sg_map_a>",
        "xegpu.create_nd_tdesc",
        "!xegpu.tensor_desc<8x16xbf16, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>",
    ),
    "shared memory": (
        "#tdesc_attr1 = !xegpu.tdesc_attr< memory_scope=slm, boundary_check=false>\n"
        "%tdesc1 = XeGPU.create_nd_tdesc %mem_addr, %offset:\n\t\tuint64, index into tensor_desc<16xbf16, #tdesc_attr1>",
        "xegpu.create_nd_tdesc",
        "!xegpu.tensor_desc<16xbf16, #xegpu.block_tdesc_attr<memory_space = slm, boundary_check = false>>",
    ),
    "load_nd": (
        "%result = XeGPU.load_nd %tdesc2 {L1_hint = uncached, L3_hint = uncached} :\n"
        "          tensor_desc<8x16xbf16> into vector<8x16xbf16>",
        "xegpu.load_nd",
        "l3_hint = #xegpu.cache_hint<uncached>",
    ),
    "transpose": (
        "%at = XeGPU.load_nd %tdesc2 {transpose = [1,0]} :\n     tensor_desc<16x8xf32> into vector<8x16xf32>",
        "xegpu.load_nd",
        "transpose = array<i64: 1, 0>",
    ),
    "packed": (
        "%bt = XeGPU.load_nd %tdesc2 {packed} :\n     tensor_desc<16x16xbf16> into vector<8x16x2xbf16>",
        "xegpu.load_nd",
        "<{packed}>",
    ),
    "packed before the operand": (
        "%bt = XeGPU.load_nd {packed} %tdesc2:\n     tensor_desc<16x16xbf16> into vector<8x16x2xbf16>",
        "xegpu.load_nd",
        "<{packed}>",
    ),
    "transpose_bit_width": (
        "%at = XeGPU.load_nd %tdesc1 {transpose = [1,0], transpose_bit_width = 32} :\n"
        "     tensor_desc<16x16xfp16> into vector<8x32xfp16>",
        "xegpu.load_nd",
        "vector<8x32xf16>",
    ),
    "dpas": (
        "%d = XeGPU.dpas %vector_a, %vector_b, %vector_c :\n     vector<8x16xbf16>, vector<16x16xbf16>, vector<8x16xfloat>\n"
        "\t   into vector<8x16xfloat>",
        "xegpu.dpas",
        "vector<8x16xf32> -> vector<8x16xf32>",
    ),
    "dpas without an accumulator": (
        "%d = XeGPU.dpas %vector_a, %vector_b :\n     vector<8x16xbf16>, vector<16x16xbf16>\n\t   into vector<8x16xfloat>",
        "xegpu.dpas",
        "vector<16x16xbf16> -> vector<8x16xf32>",
    ),
    "dpas, packed, whose type of C is left out": (
        "%d = XeGPU.dpas %vector_a, %vector_b, %vector_c:\n     vector<8x16xbf16>, vector<8x16x2xbf16>\n"
        "\t   into vector<8x16xfloat>",
        "xegpu.dpas",
        "vector<8x16x2xbf16>, vector<8x16xf32> -> vector<8x16xf32>",
    ),
    "store_nd": (
        "XeGPU.store_nd %value, %tdesc2:\n          vector<8x16xbf16>, tensor_desc<8x16xbf16>",
        "xegpu.store_nd",
        "vector<8x16xbf16>, !xegpu.tensor_desc<8x16xbf16>",
    ),
    "prefetch_nd": (
        "XeGPU.prefetch_nd %tdesc2: tensor_desc<16xbf16>", "xegpu.prefetch_nd", "!xegpu.tensor_desc<16xbf16>",
    ),
    "update_nd_offset": (
        "%tdesc_updated = XeGpu.update_nd_offset %tdesc, %offsets:2 :\n"
        "  \t  tensor_desc<8x16xbf16>, index, index into tensor_desc<8x16xbf16>",
        "xegpu.update_nd_offset",
        "!xegpu.tensor_desc<8x16xbf16>",
    ),
    "create_tdesc": (
        f"{SCATTER}%scatter_tdesc_chunk = XeGPU.create_tdesc, %mem_addr, %points\n"
        "\t\tuint64, vector<16xindex> into tensor_desc<16x8xuint16, #tdesc_attr>",
        "xegpu.create_tdesc",
        "#xegpu.scatter_tdesc_attr<memory_space = slm, chunk_size = 8 : i64>",
    ),
    "load_gather": (
        "%result0 = XeGPU.load_gather %scatter_tdesc0, %mask {L1_hint = cached, L2_hint = uncached} :\n"
        "        \t  tensor_desc<16xuint8, #Scattered>, vector<16xi1> into vector<16xuint8>",
        "xegpu.load",
        "vector<16xi1> -> vector<16xui8>",
    ),
    "store_scatter": (
        "XeGPU.store_scatter %value, %scatter_tdesc1, %mask:\n"
        "     \t vector<16xuint16>, vector<16xi1>, tensor_desc<16xuint16, #scattered>",
        "xegpu.store",
        "!xegpu.tensor_desc<16xui16, #xegpu.scatter_tdesc_attr<>>, vector<16xi1>",
    ),
    "prefetch": (
        "XeGPU.prefetch %scatter_tdesc0: tensor_desc<16xuint8, #scattered>", "xegpu.prefetch", "scatter_tdesc_attr<>>",
    ),
    "update_offset": (
        "%tdesc_updated = XeGpu.update_offsets %scatter_tdesc1, %points:\n"
        "  \ttensor_desc<16xuint16, #scattered>, vector<16xindex>, into tensor_desc<16xuint16, #scattered>",
        "xegpu.update_offset",
        "vector<16xindex>",
    ),
    "atomic_rmw": (
        '%ret_value = XeGPU.atomic_rmw "addf" %value, %scatter_Desc1, %mask:\n'
        "          vector<16xbf16>, tensor_desc<16xbf16, #scattered>, vector<16xi1> to vector<16xbf16>",
        "xegpu.atomic_rmw",
        "addf",
    ),
    "init_nbarrier": (
        "%nbarrier = XeGPU.init_nbarrier %nbarrier_id, %participant_thread_num : i8, i8 into nbarrier",
        "xegpu.init_nbarrier",
        "i8, i8 -> !xegpu.nbarrier",
    ),
    "nbarrier_arrive": ("XeGPU.nbarrier_arrive %nbarrier", "xegpu.nbarrier_arrive", "!xegpu.nbarrier"),
    "nbarrier_wait": ("XeGPU.nbarrier_wait %nbarrier", "xegpu.nbarrier_wait", "!xegpu.nbarrier"),
    "fence": (
        'XeGPU.fence {scope = "gpu",  memory_kind = "global", }', "xegpu.fence", "fence_scope = gpu",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "today", "part"), SAMPLES.values(), ids=SAMPLES)
def test_a_sample_of_the_page_is_read_as_todays_operation(text: str, today: str, part: str) -> None:
    head, _, rest = text.rpartition(">\n") if text.startswith("#") else ("", "", text)
    module = la.read(f"{head}{'>' if head else ''}\n{BEFORE}{rest}")
    assert {finding.rule for finding in module.findings} == {"read.old_spelling"}
    assert any(f"`{today}`" in finding.message for finding in module.findings)
    [line] = [line.strip() for line in module.text(22).splitlines() if f"{today} " in line]
    assert part in line
    assert la.read(module.text(22)).text(22) == module.text(22)


KERNEL = """#sg_map_a = xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>
#sg_map_b = xegpu.sg_map<wi_layout = [1, 16], wi_data = [2, 1]>
func.func @f(%a: memref<64x64xbf16>, %b: memref<64x64xbf16>, %c: memref<64x64xf32>, %o: index) {
  %zero = arith.constant 0 : index
  %ta = XeGPU.create_nd_tdesc %a, %o, %zero : memref<64x64xbf16>, index, index into tensor_desc<8x16xbf16, #sg_map_a>
  %tb = XeGPU.create_nd_tdesc %b, %zero, %o : memref<64x64xbf16>, index, index into tensor_desc<16x16xbf16, #sg_map_b>
  %tc = XeGPU.create_nd_tdesc %c, %o, %o : memref<64x64xf32>, index, index into tensor_desc<8x16xfloat, #sg_map_a>
  %va = XeGPU.load_nd %ta {L1_hint = cached} : tensor_desc<8x16xbf16, #sg_map_a> into vector<8x16xbf16>
  %vb = XeGPU.load_nd %tb : tensor_desc<16x16xbf16, #sg_map_b> into vector<16x16xbf16>
  XeGPU.prefetch_nd %ta : tensor_desc<8x16xbf16, #sg_map_a>
  %vc = XeGPU.dpas %va, %vb : vector<8x16xbf16>, vector<16x16xbf16> into vector<8x16xfloat>
  XeGPU.store_nd %vc, %tc : vector<8x16xfloat>, tensor_desc<8x16xfloat, #sg_map_a>
  XeGPU.fence {scope = "workgroup", memory_kind = "shared"}
  func.return
}
"""


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_migrate_turns_a_kernel_of_the_rfc_into_one_that_llvm_verifies(llvm: int) -> None:
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    module = la.read(KERNEL)
    text = module.text(22) if llvm == 22 else str(module.migrate(llvm).module)
    done = run([program], text)
    assert done.returncode == 0, done.stderr
    assert not la.read(text).verify(llvm=llvm)
    assert "XeGPU" not in text


def test_no_llvm_reads_the_rfc_and_verify_says_so_in_its_words() -> None:
    words = "Dialect `XeGPU' not found for custom op 'XeGPU.create_nd_tdesc'"
    for llvm in (22, 23, 24):
        program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
        kernel = KERNEL[KERNEL.index("func.func") :].replace(", #sg_map_a", "").replace(", #sg_map_b", "")
        assert words in run([program], kernel).stderr
        assert words in [finding.message for finding in la.read(kernel).verify(llvm=llvm)]


CONTRADICTIONS = {
    "an alias that is not defined": (
        "%t = XeGPU.create_nd_tdesc %p, %offset:\n uint64, index into tensor_desc<16xbf16, #tdesc_attr2>",
        "undefined symbol alias '#tdesc_attr2'",
    ),
    "quotes of a word processor": (
        "%r = XeGPU.atomic_rmw “addf” %v, %d, %m:\n vector<16xbf16>, tensor_desc<16xbf16, #scattered>, vector<16xi1> to "
        "vector<16xbf16>",
        "unexpected character '“'",
    ),
    "a number of barriers that is not known": (
        "XeGPU.alloc_nbarrier %total_nbarrier_num: i8",
        "today: `xegpu.alloc_nbarrier 8`, a number (up to 32 barriers)",
    ),
    "a bracket that nobody opened": (
        "%t = XeGPU.create_tdesc %p, %offsets} :\n uint64, Vector<16 x index>, into tensor_desc<16 x uint8, #scattered>",
        "XeGPU.create_tdesc has 2 operands, and 0 types of operands",
    ),
    "too few types": (
        "XeGPU.store_nd %v, %t: vector<8x16xbf16>",
        "XeGPU.store_nd has 2 operands, and 1 types of operands",
    ),
    "a kind that is none": (
        '%r = XeGPU.atomic_rmw "add" %v, %d, %m: vector<16xf32>, tensor_desc<16xf32, #scattered>, vector<16xi1> '
        "to vector<16xf32>",
        "expected one of addf",
    ),
    "12 lanes": (
        "%t = XeGPU.create_tdesc %p, %o: uint64, vector<12xindex> into tensor_desc<12xf32, #scattered>",
        "the number of work items (SIMD lanes) can be 1, 2, 4, 8, 16, 32",
    ),
    "a chunk of 5": (
        "#a = !xegpu.tdesc_attr<scattered=true, chunk_size_per_lane=5>\n"
        "%t = XeGPU.create_tdesc %p, %o: uint64, vector<16xindex> into tensor_desc<16x5xf32, #a>",
        "its default value is 1, but can be set to 2, 3, 4, 8",
    ),
    "one dimension with a boundary": (
        "%t = XeGPU.create_nd_tdesc %p, %offset: uint64, index into tensor_desc<16xbf16>",
        "for a 1D tensor description the attribute boundary_check must be false",
    ),
    "a hint that is none": (
        "%r = XeGPU.load_nd %t {L1_hint = lukewarm} : tensor_desc<8x16xbf16> into vector<8x16xbf16>",
        "lukewarm",
    ),
}


@pytest.mark.parametrize(("text", "problem"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_what_contradicts_itself_is_refused_in_words(text: str, problem: str) -> None:
    messages = [finding.message for finding in la.read(text).findings]
    assert any(problem in message for message in messages), messages


def test_a_number_of_barriers_that_is_a_constant_is_todays_attribute() -> None:
    text = "%n = arith.constant 8 : i8\nXeGPU.alloc_nbarrier %n: i8\n"
    assert "xegpu.alloc_nbarrier 8" in la.read(text).text(22)
