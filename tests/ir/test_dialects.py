"""The dialects of the pages: a module per operation, the pages' effects, older spellings that become today's with a note."""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation
from xdsl.traits import MemoryEffectKind, get_effects, is_side_effect_free

from layoutalg.core.errors import LayoutError
from layoutalg.ir import read_module, write_module
from layoutalg.ir.dialects import amx, iree_codegen, iree_gpu, iree_vector_ext, xegpu
from layoutalg.ir.dialects.xegpu.operations import CreateNdDescOp
from layoutalg.ir.operations.old_spellings import old_spellings
from layoutalg.ir.verify import verify_module
from tests.ir.module_files import WrittenModule, written_modules

DIALECTS = [
    xegpu.XEGPU,
    amx.AMX,
    amx.X86,
    iree_gpu.IREE_GPU,
    iree_vector_ext.IREE_VECTOR_EXT,
    iree_codegen.IREE_CODEGEN,
]
OPERATIONS = {
    operation.name: operation
    for dialect in DIALECTS
    for operation in dialect.operations
    if issubclass(operation, IRDLOperation)
}

TILE = "!xegpu.tensor_desc<8x16xf16>"


def values(*types: str) -> str:
    """An operation that gives %a, %b, ... of these types."""
    names = ", ".join(f"%{'abcdefgh'[n]}" for n in range(len(types)))
    return f'{names} = "test.op"() : () -> ({", ".join(types)})\n'


def notes(module: ModuleOp) -> list[str]:
    return [note for op in module.walk() for note in old_spellings(op)]


# -- every operation has a module

GONE = {"xegpu.mem_desc_subview", "xegpu.compile_hint"}  # no LLVM from 22 on has them


def test_every_operation_is_in_a_module_that_compilers_were_asked_about() -> None:
    written = {name for module in written_modules() for name in re.findall(r"[a-z_]\w*(?:\.\w+)+", module.text)}
    assert OPERATIONS.keys() - written == GONE


def test_every_inherent_attribute_is_in_a_module() -> None:
    files = ("xegpu*.mlir", "amx.mlir", "iree.mlir")
    texts = "\n".join(module.text for pattern in files for module in written_modules(pattern))
    named = {name for op in OPERATIONS.values() for name in op.get_irdl_definition().properties}
    shown_by_a_word = {"isZextLhs", "mode", "cluster_size", "cluster_stride"}  # `zext`, `pack`, `cluster(size = 4)`
    shown_by_its_place = {
        "function_ref", "keys", "msg", "static_sizes", "swizzle", "tensor_type", "transfer_type", "u_kernel_fn_name",
    }  # fmt: skip
    of_no_installed_version = {"indexed", "indexed_maps", "permutations"}
    missing = {name for name in named if not re.search(rf"\b{name}\b", texts)}
    assert missing == shown_by_a_word | shown_by_its_place | of_no_installed_version


@pytest.mark.parametrize("module", written_modules(), ids=str)
def test_what_we_print_is_read_again_for_every_version(module: WrittenModule) -> None:
    read = read_module(module.text)
    for llvm in (22, 23, 24):
        printed = write_module(read, llvm=llvm)
        assert write_module(read_module(printed), llvm=llvm) == printed


@pytest.mark.parametrize(
    "module", [m for f in ("xegpu*", "amx", "vector") for m in written_modules(f"{f}.mlir")], ids=str
)
def test_the_verifier_accepts_a_module_for_the_versions_that_do(module: WrittenModule) -> None:
    # The compilers are asked the same in tests/oracle/test_dialect_syntax.py.
    read = read_module(module.text)
    for llvm in (22, 23, 24):
        said = [str(finding) for finding in verify_module(read, llvm=llvm) if finding.source == f"LLVM {llvm}"]
        assert bool(said) != (str(llvm) in module.compilers), said


# -- traits and memory effects, as the pages have them

PURE = """
    xegpu.convert_layout xegpu.create_mem_desc xegpu.create_nd_tdesc xegpu.create_tdesc xegpu.dpas xegpu.mem_desc_subview
    xegpu.update_nd_offset amx.tile_mulf amx.tile_muli iree_gpu.multi_mma iree_gpu.value_barrier iree_gpu.yield
"""
READ = ["xegpu.load", "xegpu.load_nd", "xegpu.load_matrix"]
WRITE = ["xegpu.store", "xegpu.store_nd", "xegpu.store_matrix", "amx.tile_store", "amx.tile_zero"]
BOTH = ["xegpu.atomic_rmw"]
UNKNOWN = """
    xegpu.alloc_nbarrier xegpu.fence xegpu.init_nbarrier xegpu.nbarrier_arrive xegpu.nbarrier_wait xegpu.prefetch
    xegpu.prefetch_nd
"""


def bare(name: str) -> Operation:
    operation = OPERATIONS[name]
    return operation.create()


def kinds(name: str) -> set[MemoryEffectKind] | None:
    effects = get_effects(bare(name))
    return None if effects is None else {effect.kind for effect in effects}


@pytest.mark.parametrize("name", PURE.split())
def test_pure_operations(name: str) -> None:
    assert is_side_effect_free(bare(name))


@pytest.mark.parametrize(
    ("name", "expected"),
    [(name, {MemoryEffectKind.READ}) for name in READ]
    + [(name, {MemoryEffectKind.WRITE}) for name in WRITE]
    + [(name, {MemoryEffectKind.READ, MemoryEffectKind.WRITE}) for name in BOTH]
    + [(name, None) for name in UNKNOWN.split()],
)
def test_memory_effects(name: str, expected: set[MemoryEffectKind] | None) -> None:
    assert kinds(name) == expected


# -- older spellings


@pytest.mark.parametrize(
    ("text", "today", "note"),
    [
        (
            values("!xegpu.tensor_desc<8x16xbf16, #xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>>"),
            "8x16xbf16, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>",
            "`#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>`",
        ),
        (
            values("!xegpu.tensor_desc<16xf32, #xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>>"),
            "16xf32, #xegpu.layout<lane_layout = [16], lane_data = [1]>>",
            "lane_layout",
        ),
        (
            "#t = #xegpu.tdesc_attr<memory_scope=slm, boundary_check=false>\n"
            + values("!xegpu.tensor_desc<64xf32, #t>"),
            "64xf32, #xegpu.block_tdesc_attr<memory_space = slm, boundary_check = false>>",
            "`#xegpu.block_tdesc_attr<memory_space = slm, boundary_check = false>`",
        ),
        (
            values(
                "!xegpu.tensor_desc<16x8xf32, #xegpu.tdesc_attr<memory_scope = slm, scattered = true, chunk_size_per_lane = 8>>"
            ),
            "16x8xf32, #xegpu.scatter_tdesc_attr<memory_space = slm, chunk_size = 8 : i64>>",
            "scatter_tdesc_attr",
        ),
        (
            values("!xegpu.tensor_desc<8x16xbf16, array_length = 2, memory_scope = global>"),
            "8x16xbf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>",
            "block_tdesc_attr",
        ),
        (
            values("!xegpu.tensor_desc<16x16xf16>")
            + "%v = xegpu.load_nd %a {vnni_axis = 0} : !xegpu.tensor_desc<16x16xf16> -> vector<8x16x2xf16>",
            "xegpu.load_nd %a <{packed}> :",
            "`packed`",
        ),
        (
            values(TILE)
            + f"%v = xegpu.load_nd %a {{mode = 1 : i32, transpose_bit_width = 32}} : {TILE} -> vector<16x8xf16>",
            f"xegpu.load_nd %a : {TILE}",
            "today: nothing",
        ),
        (
            values(TILE) + f"%v = xegpu.load_nd %a <{{no_such = 1}}> : {TILE} -> vector<8x16xf16>",
            f"xegpu.load_nd %a : {TILE}",
            "`no_such = 1 : i64` is an older spelling; today: nothing, LLVM drops it",
        ),
        (
            values("vector<8x32xi8>", "vector<32x16xi8>")
            + "%v = xegpu.dpas_mx %a, %b : vector<8x32xi8>, vector<32x16xi8> "
            "-> vector<8x16xf32>",
            "xegpu.dpas_mx %a, %b : (vector<8x32xi8>, vector<32x16xi8>) -> vector<8x16xf32>",
            "(...) -> ...",
        ),
        ("xegpu.compile_hint", "xegpu.compile_hint", "LLVM never had it"),
    ],
)
def test_an_older_spelling_becomes_todays_with_a_note(text: str, today: str, note: str) -> None:
    module = read_module(text)
    assert today in write_module(module)
    assert any(note in found for found in notes(module)), notes(module)


def test_an_older_attribute_outside_a_descriptor_stays_as_it_is_with_a_note() -> None:
    module = read_module("func.func private @f() attributes {a = #xegpu.sg_map<wi_layout = [1, 16], wi_data = [2, 1]>}")
    assert "#xegpu.sg_map<wi_layout = [1, 16], wi_data = [2, 1]>" in write_module(module)
    assert any("`#xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>`" in note for note in notes(module))


# -- what cannot be read is an error at its place


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            f"xegpu.prefetch_nd %a[0, 0] <{{l1_hint = 3 : i32}}> : {TILE}",
            "Invalid attribute `l1_hint` in property conversion",
        ),
        (f"xegpu.prefetch_nd %a[0, : {TILE}", "expected"),
        (f"%v = xegpu.load_nd %a[0, 0] #xegpu.cache_hint<cached> : {TILE} -> vector<8x16xf16>", "dictionary"),
        (f"xegpu.update_nd_offset %a, : {TILE}", "list of indices"),
        (f"%v = xegpu.create_nd_tdesc %a, shape : 3 : {TILE} -> {TILE}", "list of indices"),
        (f"%v = xegpu.atomic_rmw subf %a, %a, %a : {TILE}, {TILE}, {TILE} -> f32", "expected"),
        (f"%v = xegpu.load_matrix %a[%a] : {TILE} -> f32", "got 2 operands and 1 types"),
        (f"%v = xegpu.dpas_mx %a, %a : ({TILE}) -> f32", "2 operands and 1 types"),
        (f"%v = xegpu.lane_shuffle %a spread : {TILE}", "expected"),
    ],
)
def test_malformed_syntax_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(LayoutError) as caught:
        read_module(values(TILE) + text)
    assert says in str(caught.value)
    assert "line 2" in str(caught.value)


def test_what_the_dictionary_says_of_the_offsets_counts() -> None:
    # LLVM 22, 23 and 24 print `%arg0[1, 1]` for this.
    text = f"{values(TILE)}xegpu.prefetch_nd %a[0, 0] <{{const_offsets = array<i64: 1, 1>}}> : {TILE}"
    assert "xegpu.prefetch_nd %a[1, 1] :" in write_module(read_module(text))


def test_types_that_llvm_refuses_are_read_for_the_verifier_to_refuse() -> None:
    text = (
        values("vector<8x16xf16>", "vector<4x4x4x4xi1>")
        + "%v = xegpu.dpas %a, %b : vector<8x16xf16>, vector<4x4x4x4xi1> -> vector<7xf64>"
    )
    assert "-> vector<7xf64>" in write_module(read_module(text))


def test_generic_form_of_every_version_has_the_same_operands() -> None:
    text = f"""{values("i64", "index")}%v = "xegpu.create_nd_tdesc"(%a, %b, %b) <{{
        const_shape = array<i64: 8, -9223372036854775808>, const_strides = array<i64: -9223372036854775808, 1>,
        operandSegmentSizes = array<i32: 1, 1, 1>}}> : (i64, index, index) -> {TILE}"""
    (found,) = (op for op in read_module(text).walk() if isinstance(op, CreateNdDescOp))
    assert [len(found.offsets), len(found.shape), len(found.strides)] == [0, 1, 1]
