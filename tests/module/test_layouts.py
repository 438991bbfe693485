"""Which layouts a module has: each with its place, its value and its shape, as a reader of the text finds them by hand."""

from __future__ import annotations

import pytest

from layoutalg.module import LayoutUse, read
from layoutalg.xegpu import LayoutAttr

A = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
B = "#xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>"

GEMM = f"""\
#a = {A}
#b = {B}
gpu.module @k {{
  gpu.func @f(%p: memref<64x64xf16>, %d: !xegpu.tensor_desc<8x16xf32, #a>) kernel {{
    %0 = xegpu.create_nd_tdesc %p : memref<64x64xf16> -> !xegpu.tensor_desc<8x16xf16, #a>
    %1 = xegpu.create_nd_tdesc %p : memref<64x64xf16> -> !xegpu.tensor_desc<16x16xf16, #b>
    %2 = xegpu.load_nd %0[0, 0] : !xegpu.tensor_desc<8x16xf16, #a> -> vector<8x16xf16>
    %3 = xegpu.load_nd %1[0, 0] {{layout_result_0 = #b}} : !xegpu.tensor_desc<16x16xf16, #b> -> vector<16x16xf16>
    %4 = xegpu.dpas %2, %3 {{layout_a = #a, layout_b = #b, layout_cd = #a}}
      : vector<8x16xf16>, vector<16x16xf16> -> vector<8x16xf32>
    %5 = arith.addf %4, %4 {{layout_result_0 = #a}} : vector<8x16xf32>
    xegpu.store_nd %5, %d[0, 0] : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32, #a>
    gpu.return
  }}
}}
"""


def rows(text: str) -> list[tuple[int, str, str, str, tuple[int, ...] | None, str | None, str]]:
    return [
        (use.place.line if use.place else 0, use.name, use.operation, use.operand, use.shape, use.element, use.text)
        for use in read(text).layouts
    ]


def test_a_gemm_has_its_layouts_where_they_are_written() -> None:
    assert rows(GEMM) == [
        (4, "", "gpu.func", "d", (8, 16), "f32", A),
        (5, "%0", "xegpu.create_nd_tdesc", "descriptor", (8, 16), "f16", A),
        (6, "%1", "xegpu.create_nd_tdesc", "descriptor", (16, 16), "f16", B),
        (7, "%2", "xegpu.load_nd", "descriptor", (8, 16), "f16", A),
        (8, "%3", "xegpu.load_nd", "descriptor", (16, 16), "f16", B),
        (8, "%3", "xegpu.load_nd", "layout_result_0", (16, 16), "f16", B),
        (9, "%4", "xegpu.dpas", "layout_a", (8, 16), "f16", A),
        (9, "%4", "xegpu.dpas", "layout_b", (16, 16), "f16", B),
        (9, "%4", "xegpu.dpas", "layout_cd", (8, 16), "f32", A),
        (11, "%5", "arith.addf", "layout_result_0", (8, 16), "f32", A),
        (12, "", "xegpu.store_nd", "descriptor", (8, 16), "f32", A),
    ]


def test_columns_are_those_of_the_text() -> None:
    assert [str(use.place) for use in read(GEMM).layouts][:3] == ["text:4:3", "text:5:10", "text:6:10"]


def test_loops_do_not_repeat_what_goes_through_them() -> None:
    text = f"""
    func.func @f(%t: !xegpu.tensor_desc<8x16xf16, {A}>, %a: index, %b: index, %c: index) {{
      %r:2 = scf.for %i = %a to %b step %c iter_args(%u = %t, %j = %a) -> (!xegpu.tensor_desc<8x16xf16, {A}>, index) {{
        %n = xegpu.update_nd_offset %u, [8, 0] : !xegpu.tensor_desc<8x16xf16, {A}>
        scf.yield %n, %j : !xegpu.tensor_desc<8x16xf16, {A}>, index
      }}
      func.return
    }}"""
    assert [(row[1], row[2], row[3]) for row in rows(text)] == [
        ("", "func.func", "t"),
        ("%r", "scf.for", "res[0]"),
        ("%n", "xegpu.update_nd_offset", "descriptor"),
        ("%n", "xegpu.update_nd_offset", "result"),
    ]


def test_layouts_of_operations_that_nobody_knows() -> None:
    text = f"""%3:2 = "foo.bar"()
      {{config = {{deep = [1 : i32, {A}]}}, layout_result_1 = {B}, cache = #xegpu.cache_hint<cached>}}
      : () -> (i32, vector<16x16xf16>)"""
    assert rows(text) == [
        (1, "%3", "foo.bar", "config.deep[1]", None, None, A),
        (1, "%3", "foo.bar", "layout_result_1", (16, 16), "f16", B),
    ]


def test_a_layout_of_a_slice_and_of_a_scalar() -> None:
    text = f"""%0 = "foo.sum"() {{layout_result_0 = #xegpu.slice<{A}, dims = [0]>}} : () -> vector<16xf32>
    %1 = "foo.sum"() {{layout_result_0 = #xegpu.slice<{A}, dims = [0, 1]>}} : () -> f32"""
    one, two = read(text).layouts
    assert str(one.layout()) == "d0 = 16@lane"
    assert two.shape is None


def test_tiles_and_matrices_have_shapes_of_their_own() -> None:
    text = """%t = "foo.tile"() : () -> !amx.tile<16x64xi8>
    %m = "foo.slm"() : () -> !xegpu.mem_desc<32x32xf16, #xegpu.mem_layout<block = [16, 16], stride = [1, 32]>>
    %e = "foo.encoded"() : () -> tensor<2x4xf32,
      #ttg.linear<{register = [], lane = [[0, 1], [0, 2], [1, 0]], warp = [], block = []}>>"""
    assert [(row[3], row[4], row[5]) for row in rows(text)] == [
        ("result", (16, 64), "i8"),
        ("result", (32, 32), "f16"),
        ("result", (2, 4), "f32"),
    ]
    assert str(read(text).layouts[2].layout()) == "d0 = 2@lane:4, d1 = 4@lane"


def test_an_instruction_has_three_layouts() -> None:
    text = """func.func @f(%a: vector<2x3x4xf16>, %b: vector<3x5x4xf16>, %c: vector<2x5x4xf32>) {
    %d = iree_gpu.multi_mma %a, %b, %c {
      indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = [#iree_gpu.iterator_type<parallel>, #iree_gpu.iterator_type<parallel>,
        #iree_gpu.iterator_type<reduction>],
      kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>
    } : vector<2x3x4xf16>, vector<3x5x4xf16> into vector<2x5x4xf32>
    func.return }"""
    assert [(row[1], row[3], row[4]) for row in rows(text)] == [
        ("%d", "lhs", (16, 16)),
        ("%d", "rhs", (16, 16)),
        ("%d", "acc", (16, 16)),
    ]
    assert str(read(text).layouts[2].layout()) == "d0 = 4@lane:16 4@reg, d1 = 16@lane"


def test_a_nested_layout_of_iree() -> None:
    nested = (
        "#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [1, 1], outer_tile = [1, 1], "
        "thread_tile = [1, 16], element_tile = [8, 1], subgroup_strides = [0, 0], thread_strides = [0, 1]>"
    )
    text = f"""%0 = "foo.source"() : () -> vector<8x16xf16>
    %1 = "iree_vector_ext.to_layout"(%0) <{{layout = {nested}}}> : (vector<8x16xf16>) -> vector<8x16xf16>"""
    (use,) = read(text).layouts
    assert (use.name, use.operand, use.shape, use.element, use.text) == ("%1", "layout", (8, 16), "f16", nested)


def test_a_layout_that_cannot_be_read_is_named_with_its_line() -> None:
    module = read("""gpu.barrier
"foo.bar"() {l = #iree_vector_ext.nested_layout<subgroup_tile = [2, 1]>} : () -> ()
%0 = "foo.bar"() {layout_result_0 = #xegpu.layout<lane_layout = [1, 16]>} : () -> vector<8x16xf16>""")
    assert [use.name for use in module.layouts] == ["%0"]
    (finding,) = module.findings
    assert (str(finding.place), finding.operation) == ("text:2:71", "foo.bar")


def test_layouts_in_operations_and_lines_that_cannot_be_read() -> None:
    text = f"""#a = {A}
module {{
  %4 = my.strange op with #a and !xegpu.tensor_desc<16x16xf16, {B}> ok
  gpu.barrier
}}
// -----
remark: %9 gets {A} here
"""
    module = read(text)
    assert [(row[0], row[1], row[2], row[4], row[6]) for row in rows(text)] == [
        (3, "%4", "my.strange", None, A),
        (3, "%4", "my.strange", (16, 16), B),
        (7, "", "", None, A),
    ]
    assert [finding.place.line for finding in module.findings if finding.place] == [3, 7]


def test_every_pass_of_a_dump_is_a_part() -> None:
    dump = "".join(f"// -----// IR Dump After {name} //----- //\n{GEMM}\n" for name in ("CSE (cse)", "Next (next)"))
    module = read(dump)
    assert [part.title for part in module.parts] == ["IR Dump After CSE (cse)", "IR Dump After Next (next)"]
    lines = [use.place.line for use in module.layouts if use.place]
    assert lines == [
        use.place.line + 1 + n for n in (0, GEMM.count("\n") + 2) for use in read(GEMM).layouts if use.place
    ]
    assert len({use.text for use in module.layouts}) == 2


def test_a_layout_whose_shape_is_not_known_says_so() -> None:
    use = LayoutUse(None, "foo.bar", "", "l", None, None, LayoutAttr(lane_layout=(1, 16)))
    with pytest.raises(ValueError, match="the shape of the tensor is not known"):
        use.layout()
    assert (
        str(LayoutUse(None, "", "", "l", (8, 32), None, use.attribute).layout()) == "d0 = 8@reg:2, d1 = 16@lane 2@reg"
    )
