"""Texts are read as LLVM reads them: comments of dashes, defaults of descriptors, values without a definition."""

from __future__ import annotations

import re
from itertools import product

import pytest

import layoutalg as la
from tests.oracle.toolchains import require, require_new, run

TWO = "func.func @a() {{\n  return\n}}\n{}\nfunc.func @b() {{\n  return\n}}\n"


@pytest.mark.parametrize("line", ["//-----", "// -----", "// ----", "//  -----", "//------", "  // -----"])
def test_a_text_is_cut_where_mlir_opt_cuts_it(line: str) -> None:
    theirs = run([require("mlir-opt-22"), "--split-input-file"], TWO.format(line))
    assert theirs.returncode == 0, theirs.stderr
    assert len(la.read(TWO.format(line)).parts) == theirs.stdout.count("// -----") + 1


def test_a_comment_of_dashes_inside_of_a_module_is_a_comment() -> None:
    text = (
        "gpu.module @m {\n  gpu.func @a() {\n    gpu.return\n  }\n//-----\n  gpu.func @b() {\n    gpu.return\n  }\n}\n"
    )
    assert not la.read(text).verify(llvm=22)


def test_the_banners_of_a_dump_cut_it() -> None:
    text = "// -----// IR Dump After CSE (cse) //----- //\nmodule {}\n\n"
    text += "//-----// IR Dump After CSE (cse) //-----//\nmodule {}\n"
    assert len(la.read(text).parts) == 2


DEFAULTS = (
    "",
    "memory_space = global",
    "array_length = 1 : i64",
    "boundary_check = true",
    "array_length = 1, memory_space = global",
)
DESCRIBED = """func.func @f(%a: memref<8x16xf32>, %v: vector<8x16xf32>) {{
  %t = xegpu.create_nd_tdesc %a : memref<8x16xf32> -> !xegpu.tensor_desc<8x16xf32{}>
  xegpu.store_nd %v, %t[0, 0] : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32{}>
  return
}}
"""


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_a_descriptor_that_says_the_defaults_is_the_one_that_says_nothing(llvm: int) -> None:
    program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
    for said, other in [*((default, None) for default in DEFAULTS), (DEFAULTS[1], DEFAULTS[2])]:
        one = f", #xegpu.block_tdesc_attr<{said}>"
        two = "" if other is None else f", #xegpu.block_tdesc_attr<{other}>"
        text = DESCRIBED.format(one, two)
        theirs = run([program], text)
        assert theirs.returncode == 0, theirs.stderr
        module = la.read(text)
        assert not module.verify(llvm=llvm)
        types = re.findall(r"!xegpu.tensor_desc<[^>]*>", module.text(llvm))
        assert types == re.findall(r"!xegpu.tensor_desc<[^>]*>", theirs.stdout) == ["!xegpu.tensor_desc<8x16xf32>"] * 2


def test_other_descriptors_are_not_equal() -> None:
    text = DESCRIBED.format(", #xegpu.block_tdesc_attr<boundary_check = false>", "")
    assert run([require("mlir-opt-22")], text).returncode
    assert "previously used or defined with type" in la.read(text).findings[0].message


# Values that are used, and are not visible there

FORWARD = {
    "found": "scf.parallel (%a) = (%c) to (%c2) step (%c1) {\n%c2 =",
    "a bound of its own region": "func.func @f(%c: index) {{\nscf.for %a = %c to %n step %c {{\n"
    "%n = arith.constant 1 : index\n}}\nreturn }}",
    "its own counter": "scf.for %a = %a to %a step %a {{ }}",
    "its own argument": "%x = scf.for %a = %z to %z step %z iter_args(%r = %r) -> (index) {{ scf.yield %r : index }}",
    "its own condition": "func.func @f() {{ scf.if %b {{ %b = arith.constant 1 : i1 }} return }}",
    "defined twice, of two types": "func.func @f(%c: index) {{\nscf.for %a = %c to %n step %c {{\n"
    "%n = arith.constant 1 : i32\n}}\n"
    "%n = arith.constant 1 : i64\nreturn }}",
    "in the generic form": '"foo.bar"(%c) ({{ %c = arith.constant 1 : i1 }}) : (i1) -> ()',
}


@pytest.mark.parametrize("text", FORWARD.values(), ids=FORWARD)
def test_a_value_that_an_operations_own_region_defines_is_not_visible_to_it(text: str) -> None:
    module = la.read(text.replace("{{", "{").replace("}}", "}"))
    for llvm in (22, 24):
        module.verify(llvm=llvm)
        again = la.read(module.text(llvm))
        again.verify(llvm=llvm)
    module.migrate(24)
    assert not module.layouts
    la.check(module)


def test_mlir_opt_refuses_what_we_say_is_not_defined() -> None:
    text = FORWARD["a bound of its own region"].replace("{{", "{").replace("}}", "}")
    assert "use of undeclared SSA value name" in run([require("mlir-opt-22")], text).stderr
    assert [f"{finding.rule} {finding.message}" for finding in la.read(text).findings] == [
        "read.undefined uses %n, which is not defined"
    ]


# Loops and branches that do not give the values that they promise

D = "!xegpu.tensor_desc<8x16xf32>"
BODIES = ("", f"scf.yield %a : {D}", f"scf.yield %a, %a : {D}, {D}", "scf.yield", "cf.br ^x\n^x:\nscf.yield", "foo.bar",
          f"%b = xegpu.update_nd_offset %a, [%n, %n] : {D}\nscf.yield %b : {D}")  # fmt: skip


def halves() -> list[str]:
    found = [f"%r = scf.if %c -> ({D}) {{\n{a}\n}} else {{\n{b}\n}}" for a, b in product(BODIES, BODIES)]
    for body in BODIES:
        found += [
            f"%r = scf.for %i = %n to %n step %n iter_args({given}) -> ({D}) {{\n{body}\n}}"
            for given in ("%q = %a", "%q = %a, %w = %a")
        ]
        condition = body.replace("scf.yield", "scf.condition(%c)")
        found += [
            f"%r = scf.while (%q = %a) : ({D}) -> ({D}) {{\n{first}\n}} do {{\n{entry}{second}\n}}"
            for first, entry, second in product((condition, body), (f"^bb0(%z: {D}):\n", "^bb0:\n", ""), BODIES[:5])
        ]
    return found


@pytest.mark.parametrize("to", [23, 24])
def test_loops_and_branches_without_their_values_are_migrated_as_far_as_it_goes(to: int) -> None:
    before = "func.func @f(%c: i1, %m: memref<8x16xf32>, %n: index) {\n"
    before += f"%a = xegpu.create_nd_tdesc %m[0, 0] : memref<8x16xf32> -> {D}\n"
    for half in halves():
        try:
            la.read(f"{before}{half}\nxegpu.prefetch_nd %r : {D}\nfunc.return }}").migrate(to)
        except la.LayoutError as problem:  # scf.if with branches between blocks has no syntax
            assert "cannot be written" in str(problem)


def test_the_branch_that_was_found_is_migrated() -> None:
    text = "%x = scf.if %c -> (i32) {\n scf.yield %d : i32\n} else {\n}\n"
    assert "scf.if" in str(la.read(text).migrate(23).module)


# Tiles as LLVM 23 and 24 call them


@pytest.mark.parametrize("dialect", ["amx", "x86.amx"])
def test_tiles_are_layouts_in_both_dialects(dialect: str) -> None:
    module = la.read(f"func.func @f() {{\n%t = {dialect}.tile_zero : !{dialect}.tile<16x64xi8>\nreturn }}")
    [use] = module.layouts
    assert (use.operand, use.shape, use.element, str(use.attribute)) == (
        "res",
        (16, 64),
        "i8",
        "!x86.amx.tile<16x64xi8>",
    )


# What was refused, or accepted, in the wrong words


def test_a_descriptor_without_dimensions_is_refused_in_llvms_words() -> None:
    text = "func.func @f(%a: !xegpu.tensor_desc<f32>) {\nreturn\n}\n"
    for llvm in (22, 23, 24):
        program = require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")
        assert "expected non-zero rank tensor" in run([program], text).stderr
        assert [finding.message for finding in la.read(text).verify(llvm=llvm)] == ["expected non-zero rank tensor"]


def test_an_attribute_of_the_rfc_is_not_known_to_llvm() -> None:
    text = """#m = #xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>
func.func @f(%src: memref<?x?xf16>) {
  %1 = xegpu.create_nd_tdesc %src[0, 0] : memref<?x?xf16>
    -> !xegpu.tensor_desc<8x16xf16, #xegpu.block_tdesc_attr<memory_space = slm, map = #m>>
  return
}
"""
    words = "unknown attribute `sg_map` in dialect `xegpu`"
    assert words in run([require("mlir-opt-22")], text).stderr
    messages = [finding.message for finding in la.read(text).verify(llvm=22)]
    assert words in messages
    assert not any("shape 22" in message for message in messages)


QUOTED = {
    "memref.atomic_rmw": '%r = memref.atomic_rmw "addf" %f, %m[%c] : (f32, memref<16xf32>) -> f32',
    "arith.cmpi": '%r = arith.cmpi "slt", %c, %c : index',
    "arith.cmpf": '%r = arith.cmpf "oeq", %f, %f : f32',
    "gpu.thread_id": '%r = gpu.thread_id "x"',
    "xegpu.atomic_rmw": '%r = xegpu.atomic_rmw "addf" %d, %k, %v : !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, '
    "vector<16xi1>, vector<16xf32> -> vector<16xf32>",
}


@pytest.mark.parametrize("operation", QUOTED)
def test_words_in_quotes_are_read_as_mlir_opt_reads_them(operation: str) -> None:
    descriptor = "%d: !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, %k: vector<16xi1>, %v: vector<16xf32>"
    text = f"func.func @f(%f: f32, %m: memref<16xf32>, %c: index, {descriptor}) {{\n{QUOTED[operation]}\nreturn\n}}\n"
    theirs = run([require("mlir-opt-22")], text)
    assert theirs.returncode == 0, theirs.stderr
    module = la.read(text)
    assert not module.verify(llvm=22)
    written = next(line.partition(operation)[2][:6] for line in module.text(22).splitlines() if operation in line)
    assert f"{operation}{written}" in theirs.stdout.replace("  ", " ")


def test_a_word_in_quotes_that_is_none_is_refused() -> None:
    text = QUOTED["memref.atomic_rmw"].replace("addf", "addx")
    text = f"func.func @f(%f: f32, %m: memref<16xf32>, %c: index) {{\n{text}\nreturn\n}}\n"
    assert "expected one of addf" in la.read(text).findings[0].message


def test_a_function_beside_a_module_is_one_module() -> None:
    text = "func.func @f() {\n  return\n}\nmodule attributes {transform.with_named_sequence} {\n}\n"
    assert len(la.read(text).parts) == 1
    theirs = run([require("mlir-opt-22")], text).stdout
    assert re.sub(r"builtin\.|func\.(?=return)", "", str(la.read(text))).split() == theirs.split()


def test_modules_that_follow_one_another_are_parts() -> None:
    assert len(la.read("module {\n}\nmodule {\n}\n").parts) == 2


def test_a_text_that_ends_in_a_location_keeps_the_regions_that_were_read() -> None:
    module = la.read("module {\n  func.func @f() {\n    func.return\n  } loc")
    assert module.findings
    assert "func.return" in {operation.name for operation in module.parts[0].module.walk()}
