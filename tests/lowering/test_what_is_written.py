"""What `lower` writes and what it refuses: no dead code, no conversion twice, nothing that does not verify."""

from __future__ import annotations

import numpy as np
import pytest

import layoutalg as la
from layoutalg.lowering import Lowered, exchanges, lower
from layoutalg.module import Module
from layoutalg.simulate.machine import Level

ROWS = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
COLUMNS = "#xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>"
LANES = "known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32"


def copied(size: int, lines: str, result: str = "%x") -> str:
    """A kernel that loads a tile, does something, and stores a tile."""
    kind, vector = f"!xegpu.tensor_desc<{size}x{size}xf32, {ROWS}>", f"vector<{size}x{size}xf32>"
    tdesc = f"shape : [{size}, {size}], strides : [{size}, 1] : i64 -> {kind}"
    return f"""gpu.module @m {{ gpu.func @k(%p: i64, %q: i64) kernel attributes {{{LANES}}} {{
      %t = xegpu.create_nd_tdesc %p, {tdesc}
      %u = xegpu.create_nd_tdesc %q, {tdesc}
      %x = xegpu.load_nd %t[0, 0] <{{layout = {ROWS}}}> : {kind} -> {vector}
      {lines}
      xegpu.store_nd {result}, %u[0, 0] <{{layout = {ROWS}}}> : {vector}, {kind}
      gpu.return }} }}"""


def conversion(name: str, value: str, there: bool, size: int) -> str:
    source, target = (ROWS, COLUMNS) if there else (COLUMNS, ROWS)
    layouts = f"<{{input_layout = {source}, target_layout = {target}}}>"
    return f"%{name} = xegpu.convert_layout %{value} {layouts} : vector<{size}x{size}xf32>"


def lines_of(made: Lowered) -> list[str]:
    assert made.module is not None, made.findings
    return made.module.source.splitlines()


def test_a_conversion_that_nobody_uses_is_not_written() -> None:
    unused = conversion("y", "x", True, 32) + "\n%z = arith.addf %y, %y : vector<32x32xf32>"
    made = lower(Module(copied(32, unused)))
    assert lines_of(made) == lines_of(lower(Module(copied(32, ""))))
    assert made.exchanges == ()


def test_what_a_loop_carries_for_nobody_is_not_carried() -> None:
    vector = "vector<16x16xf32>"
    loop = f"""%c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %r, %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x, %b = %x) -> ({vector}, {vector}) {{
        %d = arith.addf %a, %a : {vector}
        %e = math.exp %b : {vector}
        scf.yield %d, %e : {vector}, {vector} }}"""
    made = lower(Module(copied(16, loop, "%r")))
    text = "\n".join(lines_of(made))
    assert "math.exp" not in text
    assert text.count("iter_args(%a = ") == 1
    assert "%b" not in text
    x, y = np.random.default_rng(0).random((16, 16), np.float32), np.zeros((16, 16), np.float32)
    assert la.read(text).run([x, y], (1, 1, 1)).findings == ()
    np.testing.assert_array_equal(y, x * 16)


def test_every_value_of_the_lowered_text_is_used() -> None:
    """`%0, %valid = gpu.shuffle` has two results, of which one is."""
    made = lower(Module(copied(32, conversion("y", "x", True, 32) + "\n" + conversion("z", "y", False, 32), "%z")))
    text = "\n".join(lines_of(made))
    for line in lines_of(made):
        names = [name.strip() for name in line.partition(" = ")[0].split(",")] if " = " in line else []
        names = [name for name in names if name.startswith("%")]
        used = [
            name
            for name in names
            if len(text.split(f"{name},")) + len(text.split(f"{name} ")) > 2 or f"{name}]" in text
        ]
        assert used or not names, line


def test_large_conversions_are_written_once_and_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchanges, "_MOST_INLINE", 256)
    chain = [conversion(f"v{n}", f"v{n - 1}" if n else "x", n % 2 == 0, 32) for n in range(8)]
    sizes: dict[int, int] = {}
    for count in (2, 8):
        kernel = copied(32, "\n".join(chain[:count]), f"%v{count - 1}")
        size = "known_block_size = array<i32: 16, 1, 1>, "  # who shares memory is not known without it: shuffles, then
        made = lower(Module(kernel.replace(size, "")))
        text = "\n".join(lines_of(made)).replace("attributes {", f"attributes {{{size}")
        assert text.count("func.func private @k_convert") == 2
        assert text.count("func.call") == count
        sizes[count] = len(text)
        x, y = np.random.default_rng(0).random((32, 32), np.float32), np.zeros((32, 32), np.float32)
        assert la.read(text).run([x, y], (1, 1, 1)).findings == ()
        np.testing.assert_array_equal(y, x)
    assert sizes[8] < 1.5 * sizes[2]


def test_a_module_that_does_not_verify_is_not_lowered() -> None:
    text = copied(16, "").replace("%p: i64", "%p: memref<16x16xf32>").replace("i64 -> ", "memref<16x16xf32> -> ", 1)
    errors = [finding for finding in Module(text).verify(llvm=24) if finding.level == "error"]
    made = lower(Module(text))
    assert errors
    assert made.module is None
    assert [finding for finding in made.findings if finding.level == "error"] == errors


def test_what_llvm_22_says_is_brought_to_todays_words() -> None:
    """Offsets on the descriptor: LLVM 24 refuses them, and `lower` writes them at the load and the store."""
    text = copied(16, "").replace("create_nd_tdesc %p,", "create_nd_tdesc %p[0, 0],").replace("%t[0, 0]", "%t")
    assert any(finding.level == "error" for finding in Module(text).verify(llvm=24))
    lines_of(lower(Module(text)))


WIDE = "#xegpu.layout<sg_layout = [2, 1], sg_data = [8, 16], inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>"


def in_a_range(ids: str, outside: bool = False) -> str:
    """A kernel of four subgroups, of which two double 16x16 elements."""
    kind = f"!xegpu.tensor_desc<16x16xf32, {WIDE}>"
    load = f"xegpu.load_nd %t[0, 0] <{{layout = {WIDE}}}> : {kind} -> vector<16x16xf32>"
    return f"""gpu.module @m {{ gpu.func @k(%p: memref<16x16xf32>, %q: memref<16x16xf32>) kernel
      attributes {{known_block_size = array<i32: 64, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
      %t = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> {kind}
      %u = xegpu.create_nd_tdesc %q : memref<16x16xf32> -> {kind}
      {f"%o = {load}" if outside else ""}
      %two = index.constant 2
      %sg = gpu.subgroup_id : index
      %last = index.add %sg, %two
      %on = index.cmp sge(%last, %two)
      scf.if %on {{
        %x = {load}
        %y = arith.addf %x, {"%o" if outside else "%x"} {{layout_result_0 = {WIDE}}} : vector<16x16xf32>
        xegpu.store_nd %y, %u[0, 0] <{{layout = {WIDE}}}> : vector<16x16xf32>, {kind}
      }} {{sg_id_range = #xegpu.range<[{ids}]>}}
      gpu.return }} }}"""


@pytest.mark.parametrize(("ids", "outside"), [("2, 4", False), ("2, 4", True), ("1, 3", False), ("0, 2", True)])
def test_the_subgroups_of_a_range_are_counted_from_its_first(ids: str, outside: bool) -> None:
    """The page of the dialect: only these subgroups execute it; the layouts in it have as many subgroups as the range."""
    text = in_a_range(ids, outside)
    sources: list[tuple[Level, str]] = [("workgroup", text), ("lane", "\n".join(lines_of(lower(Module(text)))))]
    for level, source in sources:
        x, y = np.random.default_rng(0).random((16, 16), np.float32), np.zeros((16, 16), np.float32)
        assert la.read(source).run([x, y], (1, 1, 1), level=level).findings == ()
        np.testing.assert_array_equal(y, x + x)


def test_a_value_that_a_range_would_count_in_another_way_is_refused() -> None:
    made = lower(Module(in_a_range("1, 3", outside=True)))
    assert made.module is None
    assert [finding.rule for finding in made.findings] == ["lower.range"]


def test_branches_between_blocks_convert_through_shared_memory() -> None:
    tile = "inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
    here = f"#xegpu.layout<sg_layout = [2, 2], sg_data = [16, 32], {tile}"
    there = f"#xegpu.layout<sg_layout = [4, 1], sg_data = [8, 64], {tile}"
    kind, vector = f"!xegpu.tensor_desc<32x64xf32, {here}>", "vector<32x64xf32>"
    tdesc = f"shape : [32, 64], strides : [64, 1] : i64 -> {kind}"
    text = f"""gpu.module @m {{ gpu.func @k(%p: i64, %q: i64, %n: index) kernel
      attributes {{known_block_size = array<i32: 64, 1, 1>, intel_reqd_sub_group_size = 16 : i32}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %t = xegpu.create_nd_tdesc %p, {tdesc}
      %u = xegpu.create_nd_tdesc %q, {tdesc}
      %x = xegpu.load_nd %t[0, 0] <{{layout = {here}}}> : {kind} -> {vector}
      cf.br ^loop(%c0, %x : index, {vector})
      ^loop(%i: index, %a: {vector}):
      %go = arith.cmpi slt, %i, %n : index
      cf.cond_br %go, ^body(%a : {vector}), ^end(%a : {vector})
      ^body(%b: {vector}):
      %m = xegpu.convert_layout %b <{{input_layout = {here}, target_layout = {there}}}> : {vector}
      %d = arith.addf %m, %m {{layout_result_0 = {there}}} : {vector}
      %e = xegpu.convert_layout %d <{{input_layout = {there}, target_layout = {here}}}> : {vector}
      %j = arith.addi %i, %c1 : index
      cf.br ^loop(%j, %e : index, {vector})
      ^end(%f: {vector}):
      xegpu.store_nd %f, %u[0, 0] <{{layout = {here}}}> : {vector}, {kind}
      gpu.return }} }}"""
    made = "\n".join(lines_of(lower(Module(text))))
    assert "gpu.barrier" in made
    x, y = np.random.default_rng(0).random((32, 64), np.float32), np.zeros((32, 64), np.float32)
    assert la.read(made).run([x, y, 3], (1, 1, 1)).findings == ()
    np.testing.assert_array_equal(y, x * 8)
    differs = text.replace("%n : index\n      cf", "%sg : index\n      cf").replace(
        "%c1 = arith", "%sg = gpu.subgroup_id : index\n      %c1 = arith"
    )
    refused = lower(Module(differs))
    assert any("subgroups take different ways" in finding.message for finding in refused.findings)


@pytest.mark.parametrize("place", ["3, 5", "%n, 5"])
def test_a_number_is_inserted_where_its_place_is(place: str) -> None:
    lines = f"""%n = arith.constant 3 : index
      %f = arith.constant 9.0 : f32
      %y = vector.insert %f, %x[{place}] : f32 into vector<16x16xf32>"""
    made = lines_of(lower(Module(copied(16, lines, "%y"))))
    x, y = np.random.default_rng(0).random((16, 16), np.float32), np.zeros((16, 16), np.float32)
    assert la.read("\n".join(made)).run([x, y], (1, 1, 1)).findings == ()
    x[3, 5] = 9
    np.testing.assert_array_equal(y, x)


def test_what_reading_says_is_said_once_where_layouts_are_decided_before() -> None:
    found = la.lower(copied(16, "%e = mydial.foo %x : vector<16x16xf32>", "%e"), level="lane")
    assert found.module is None
    assert [one.rule for one in found.findings] == ["read.operation", "propagate.unknown", "lower.operation"]


def test_a_kernel_of_xevm_is_at_lane_level_and_stays_as_it_is() -> None:
    module = la.read("""gpu.module @m { gpu.func @k(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %n: i32) kernel {
      %x = xevm.blockload2d %p, %n, %n, %n, %n, %n <{elem_size_in_bits = 32 : i32, tile_width = 16 : i32,
        tile_height = 8 : i32, v_blocks = 1 : i32, transpose = false, pack_register = false}>
        : (!llvm.ptr<1>, i32, i32, i32, i32, i32) -> vector<8xi32>
      %y = arith.addi %x, %x : vector<8xi32>
      xevm.blockstore2d %q, %n, %n, %n, %n, %n, %y <{elem_size_in_bits = 32 : i32, tile_width = 16 : i32,
        tile_height = 8 : i32}> : (!llvm.ptr<1>, i32, i32, i32, i32, i32, vector<8xi32>)
      gpu.return } }""")
    found = la.lower(module, level="lane")
    assert str(found.module) == str(module)
    assert [one.rule for one in found.findings] == ["propagate.fragments"]
