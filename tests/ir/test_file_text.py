"""What engineers paste is read: dumps, single operations, lines of a log, broken modules; losses are named with their place."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.ir import Finding, Part, line_of, read_file_text, read_module, write_module
from layoutalg.ir.dialects.unread import UndefinedOp, UnreadOp

TILE = "!xegpu.tensor_desc<8x16xf16>"
LAYOUT = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
KERNEL = """module {
  gpu.module @k {
    gpu.func @f(%p: i64, %n: index) kernel {
      %c = arith.constant 4 : index
      %t = xegpu.create_nd_tdesc %p, shape : [%n, 64], strides : [64, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
      scf.for %i = %c to %n step %c {
        %v = xegpu.load_nd %t[%i, 0] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>
        xegpu.store_nd %v, %t[0, %i] : vector<8xf16>, !xegpu.tensor_desc<8x16xf16>
      }
      gpu.return
    }
  }
}
"""


def only(text: str) -> Part:
    """The one module of a text that is read without a finding."""
    reading = read_file_text(text)
    assert reading.findings == ()
    (part,) = reading.modules
    return part


def unread(module: ModuleOp) -> list[UnreadOp]:
    return [op for op in module.walk() if isinstance(op, UnreadOp)]


def named(module: Operation, name: str) -> list[Operation]:
    return [op for op in module.walk() if op.name == name]


def places(findings: tuple[Finding, ...]) -> list[tuple[int, int]]:
    return [(one.place.line, one.place.column) for one in findings if one.place is not None]


def test_a_module_is_read_as_read_module_reads_it() -> None:
    assert write_module(only(KERNEL).module) == write_module(read_module(KERNEL))


def test_a_dump_of_passes_has_a_part_per_banner_with_its_own_aliases() -> None:
    text = """// -----// IR Dump After CSE (cse) //----- //
#map = affine_map<(d0) -> (d0)>
func.func @f() attributes {m = #map} {
  return
}

// -----// IR Dump Before Canonicalizer (canonicalize) ('func.func' operation: @f) //----- //
#map = affine_map<(d0) -> (d0 * 2)>
func.func @f() attributes {m = #map} {
  return
}
"""
    reading = read_file_text(text, file="dump.mlir")
    assert reading.findings == ()
    assert [(part.title, part.line) for part in reading.modules] == [
        ("IR Dump After CSE (cse)", 3),
        ("IR Dump Before Canonicalizer (canonicalize) ('func.func' operation: @f)", 9),
    ]
    maps = [str(named(part.module, "func.func")[0].attributes["m"]) for part in reading.modules]
    assert maps == ["affine_map<(d0) -> (d0)>", "affine_map<(d0) -> ((d0 * 2))>"]
    assert [line_of(part.module.body.block.first_op or part.module) for part in reading.modules] == [3, 9]


def test_several_modules_in_one_text_are_parts() -> None:
    cut = read_file_text("module @a {}\n// -----\nmodule @b {}\n")
    beside = read_file_text("module @a {}\nmodule @b {}\n")
    for reading in (cut, beside):
        assert [str(part.module.sym_name) for part in reading.modules] == ['"a"', '"b"']
    assert cut.findings == beside.findings == ()


@pytest.mark.parametrize(
    ("text", "types"),
    [
        (f"%v = xegpu.load_nd %t[%x, 0] : {TILE} -> vector<8xf16>", ["index", TILE]),
        ("%2 = arith.addi %0, %1 : i32", ["i32", "i32"]),
        (f"xegpu.prefetch_nd %t : {TILE}", [TILE]),
    ],
)
def test_operands_of_a_single_operation_have_the_types_of_their_use(text: str, types: list[str]) -> None:
    first = only(text).module.body.block.first_op
    assert isinstance(first, UndefinedOp)
    assert sorted(str(result.type) for result in first.results) == sorted(types)


@pytest.mark.parametrize(
    ("before", "column"),
    [
        ("", 1),
        ("k.mlir:12:3: note: see current operation: ", 43),
        ("2026-01-31T12:00:00 [pass] ", 28),
        ("error: 'xegpu.load_nd' op is wrong here: ", 42),
    ],
)
def test_an_operation_in_a_line_of_a_log_is_read_where_it_stands(before: str, column: int) -> None:
    line = f'{before}%0 = "xegpu.load_nd"(%1) <{{operandSegmentSizes = array<i32: 1, 0>}}> : ({TILE}) -> vector<8xf16>'
    reading = read_file_text(line)
    (load,) = named(reading.modules[0].module, "xegpu.load_nd")
    assert str(load.location) == f'loc("text":1:{column})'
    assert all(finding.level == "warning" for finding in reading.findings)


def test_layouts_in_a_line_of_a_log_are_found() -> None:
    reading = read_file_text(f"conflict: {LAYOUT} against {TILE}, and #nothing<of, this>")
    (line,) = unread(reading.modules[0].module)
    assert line.mentions is not None
    assert [str(one) for one in line.mentions] == [LAYOUT, TILE]


def test_an_unknown_operation_is_kept_and_its_values_stay_in_use() -> None:
    text = """func.func @f(%a: i32, %b: i32) -> i32 {
  %x:2 = my.op %a with (%b)
    and more
  %y = arith.addi %x#1, %a : i32
  return %y : i32
}
"""
    reading = read_file_text(text, file="k.mlir")
    (kept,) = unread(reading.modules[0].module)
    assert kept.text.data == "my.op %a with (%b)\n    and more"
    assert [operand.name_hint for operand in kept.operands] == ["a", "b"]
    assert [str(result.type) for result in kept.results] == ["!layoutalg.unread_type", "i32"]
    assert len(named(reading.modules[0].module, "arith.addi")) == 1
    assert [str(finding) for finding in reading.findings] == [
        "k.mlir:2:10: warning: 'my.op' op cannot be read: its syntax is not known [layoutalg: read.operation]"
    ]


def test_operations_inside_an_unknown_one_are_read() -> None:
    text = """func.func @f(%a: index) {
  my.loop %i = %a to %a step %a {
    %b = arith.addi %i, %a : index
    my.nested {
      %c = arith.muli %b, %i : index
    } {flag}
  } {done = 1 : i32}
  return
}
"""
    reading = read_file_text(text)
    module = reading.modules[0].module
    assert [op.name for op in module.walk() if op.name.startswith("arith.")] == ["arith.addi", "arith.muli"]
    loop, nested = unread(module)
    assert loop.text.data == "my.loop %i = %a to %a step %a {...} {done = 1 : i32}"
    assert nested.text.data == "my.nested {...} {flag}"
    assert [argument.name_hint for argument in loop.bodies[0].block.args] == ["i"]


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ("%d = arith.addi %n, : index", (4, 27), "operand expected, found ':'"),
        ("%d = arith.addi %n, %n : index, index", (4, 37), "expected an operation, found ','"),
        ("%d = arith.constant 4 : idx", (4, 31), "found 'idx'"),
        ("%d = arith.addi %c, %p : index", (4, 27), "operand is used with type index, but"),
        ("%d, %e = arith.constant 4 : index", (4, 7), "Operation has 1 results, but was given 2"),
        ("%d = arith.constant & : index", (4, 27), "unexpected character '&'"),
        ('%d = arith.constant "no end : index', (4, 27), "a string literal has no end"),
        ("gpu.barier", (4, 7), "its syntax is not known"),
    ],
)
def test_a_broken_line_loses_that_line_only(line: str, place: tuple[int, int], message: str) -> None:
    lines = KERNEL.splitlines()
    lines = [*lines[:3], "      " + line, *lines[4:]]
    reading = read_file_text("\n".join(lines))
    broken = [finding for finding in reading.findings if finding.rule == "read.operation"]
    assert message in broken[0].message
    assert places(tuple(broken))[0] == place
    module = reading.modules[0].module
    for name in ("gpu.func", "xegpu.create_nd_tdesc", "scf.for", "xegpu.load_nd", "xegpu.store_nd", "gpu.return"):
        assert len(named(module, name)) == 1


def test_a_broken_function_keeps_its_body() -> None:
    reading = read_file_text(KERNEL.replace("%n: index)", "%n: index"))
    module = reading.modules[0].module
    (function,) = unread(module)
    assert function.text.data.startswith("gpu.func @f(%p: i64, %n: index kernel {...}")
    assert [str(argument.type) for argument in function.bodies[0].block.args] == ["i64", "index"]
    assert len(named(module, "xegpu.load_nd")) == 1
    assert places(reading.findings) == [(3, 36)]


def test_brackets_that_do_not_match_are_named() -> None:
    missing = read_file_text(KERNEL.rstrip()[:-1])
    assert [finding.message for finding in missing.findings] == ["has no '}' at its end"]
    surplus = read_file_text(KERNEL + "}\n")
    assert places(surplus.findings) == [(14, 1)]
    for reading in (missing, surplus):
        assert write_module(reading.modules[0].module) == write_module(read_module(KERNEL))


def test_an_undefined_value_in_a_function_is_a_finding_and_in_a_fragment_is_none() -> None:
    reading = read_file_text(KERNEL.replace("%v, %t[0, %i]", "%w, %t[0, %i]"))
    assert [(finding.rule, finding.message) for finding in reading.findings] == [
        ("read.undefined", "uses %w, which is not defined")
    ]
    assert places(reading.findings) == [(8, 24)]


def test_functions_do_not_see_each_others_values() -> None:
    text = "func.func @a() {\n  my.use %x\n  return\n}\nfunc.func @b(%x: i32) {\n  return\n}"
    reading = read_file_text(text)
    assert [finding.rule for finding in reading.findings] == ["read.operation", "read.undefined"]


def test_a_use_before_the_definition_is_a_finding() -> None:
    reading = read_file_text(
        "func.func @f() {\n  %b = arith.addi %a, %a : i32\n  %a = arith.constant 1 : i32\n  return\n}"
    )
    assert [(finding.rule, places((finding,))) for finding in reading.findings] == [("read.order", [(2, 3)])]


def test_locations_are_stepped_over_and_places_are_those_of_the_text() -> None:
    text = """#loc = loc("gemm.py":1:2)
func.func @f(%a: i32 loc("gemm.py":1:2)) {
  %b = arith.addi %a, %a : i32 loc(#later)
  %c = arith.addi %b, %b : i32 loc(callsite("x"("y.py":7:8) at fused<"pass">["a", #loc]))
  return loc(unknown)
} loc(#loc)
#later = loc(fused[#loc, "gemm.py":3:4])
"""
    module = only(text).module
    assert [line_of(op) for op in named(module, "arith.addi")] == [3, 4]


@pytest.mark.parametrize(
    "text",
    [
        "module attributes {gpu.container_module, dlti.dl_spec = #dlti.dl_spec<index = 32>} {}",
        "module @named attributes {a} {}",
        "!t = vector<8xf16>\n#m = affine_map<(d0, d1)[s0] -> (d1 floordiv 8, d0 + s0 mod 4)>\n"
        "func.func private @f(!t, memref<8x8xf32, #m>)",
        "func.func private @f(memref<8x16xf32, strided<[16, 1], offset: ?>, 3>, memref<*xf16>, vector<4x[8]xi8>)",
        "func.func private @f(memref<4xf32, #gpu.address_space<workgroup>>, tensor<4x?xbf16, 1 : i32>)",
        "func.func private @f(tf32, f8E4M3FN, f8E5M2, f8E8M0FNU, f4E2M1FN, f6E3M2FN, f8E4M3FNUZ, si8, ui4, i1, complex<f32>)",
        "func.func private @f(tuple<i32, (f16) -> ()>, none) attributes {x = @a::@b, y = [1, -2.5, true, unit], z = {q}}",
        '"a.b"() {x = dense<"0x0100000002000000"> : tensor<2xi32>, y = dense<> : tensor<0xf32>} : () -> ()',
        '"a.b"() {x = dense<1.5> : vector<4xbf16>, y = dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>} : () -> ()',
        '"a.b"() {x = dense_resource<blob> : tensor<2xf32>} : () -> ()\n{-#\n  dialect_resources: {\n    builtin: {\n'
        '      blob: "0x0400000001000000"\n    }\n  },\n  external_resources: {\n    x: { y: "z" }\n  }\n#-}',
        "%a:2 = \"a.b\"() : () -> (i32, i64)\n%0 = builtin.unrealized_conversion_cast %a#1 : i64 to index",
        "func.func @f(%c: i1) {\n  cf.cond_br %c, ^bb1, ^bb2\n^bb1:  // pred: ^bb0\n  return\n^bb2:\n  return\n}",
    ],
)  # fmt: skip
def test_what_real_files_hold_around_kernels_is_read(text: str) -> None:
    module = only(text).module
    again = write_module(module)
    assert write_module(read_module(again)) == again


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    plain = only(KERNEL).module
    damaged = only("\ufeff" + KERNEL.replace("\n", "\r\n")).module
    assert write_module(damaged) == write_module(plain)
    assert [line_of(op) for op in damaged.walk()] == [line_of(op) for op in plain.walk()]
    assert [str(op.location) for op in damaged.walk()] == [str(op.location) for op in plain.walk()]


def test_a_text_without_mlir_says_so() -> None:
    assert read_file_text("").findings[0].message == "holds no MLIR"
    assert read_file_text("// only a comment\n").findings[0].rule == "read.nothing"
    reading = read_file_text("Dear colleague,\nthe kernel is slow.\n")
    assert reading.modules == ()
    assert [(finding.rule, finding.level) for finding in reading.findings] == [("read.text", "warning")]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(ParseError, match="bytes"):
        read_file_text(b"module {}")  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="characters"):
        read_file_text(" " * (16 * 2**20 + 1))


def test_names_in_other_scripts_are_named_with_their_column() -> None:
    reading = read_file_text("%größe = arith.constant 1 : i32\n%b = arith.constant 2 : i32")
    assert len(named(reading.modules[0].module, "arith.constant")) == 1
    assert reading.findings[0].place is not None
    assert reading.findings[0].place.line == 1
