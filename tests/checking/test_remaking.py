"""What would avoid a conversion of Triton's, and what keeps one."""

from __future__ import annotations

import json

import pytest

import layoutalg as la
from layoutalg.cli import main

LAYOUTS = """
#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [1, 1], order = [1, 0]}>
#cols = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [0, 1]}>
#rowsT = #ttg.slice<{dim = 1, parent = #rows}>
#colsT = #ttg.slice<{dim = 1, parent = #cols}>
#shared = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 4, order = [1, 0]}>
"""
HEAD = """module attributes {"ttg.num-warps" = 1 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
  tt.func @f(%p: !tt.ptr<f32>, %s: f32, %i: tensor<16x16xf32, #rows>, %q: tensor<16x16x!tt.ptr<f32>, #cols>,
             %m: !ttg.memdesc<16x16xf32, #shared, #ttg.shared_memory>) {
    %t = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #rows>
"""
TAIL = """
    %z = ttg.convert_layout %x : tensor<16x16xf32, #rows> -> tensor<16x16xf32, #cols>
    "test.use"(%z) : (tensor<16x16xf32, #cols>) -> ()
    tt.return
  }
}
"""
TEXTS = {
    "%x = tt.splat %s : f32 -> tensor<16x16xf32, #rows>": "avoidable in the result's layout",
    "%x = tt.load %t : tensor<16x16x!tt.ptr<f32>, #rows>": (
        "avoidable in the result's layout: tt.load (line 11) is 2 of 128 bits, 4 lines each, and becomes 8 of 32 bits, "
        "4 lines each"
    ),
    '%x = tt.load %t : tensor<16x16x!tt.ptr<f32>, #rows> "test.use"(%x) : (tensor<16x16xf32, #rows>) -> ()': (
        "avoidable in the result's layout: tt.load (line 11) is 2 of 128 bits, 4 lines each, and becomes 8 of 32 bits, "
        "4 lines each, beside the one that others need"
    ),
    "%x = tt.load %t {isVolatile = true} : tensor<16x16x!tt.ptr<f32>, #rows>": "needed: tt.load (line 11) fixes the layout",
    "%x = arith.negf %i : tensor<16x16xf32, #rows>": "needed: tt.func (line 8) fixes the layout",
    "%x = ttg.local_load %m : !ttg.memdesc<16x16xf32, #shared, #ttg.shared_memory> -> tensor<16x16xf32, #rows>": (
        "avoidable in the result's layout: ttg.local_load (line 11) is 2 loads of 128 bits per lane: conflict-free, and "
        "becomes 8 loads of 32 bits per lane: 4-way conflicts"
    ),
    "%x = tt.atomic_rmw fadd, relaxed, gpu, %t, %i : (tensor<16x16x!tt.ptr<f32>, #rows>, tensor<16x16xf32, #rows>) "
    "-> tensor<16x16xf32, #rows>": "needed: tt.atomic_rmw (line 11) fixes the layout",
}


@pytest.mark.parametrize("line", TEXTS)
def test_what_makes_the_value_says_whether_it_can_be_made_otherwise(line: str) -> None:
    [conversion] = la.check(LAYOUTS + HEAD + line + TAIL).conversions
    assert str(conversion.remade) == TEXTS[line]


def test_a_store_takes_the_value_as_it_was() -> None:
    """The pointers are made in the other layout too, and a copy of them that is an argument keeps the conversion."""
    text = LAYOUTS + HEAD + "%x = arith.negf %i : tensor<16x16xf32, #rows>" + TAIL
    use = '"test.use"(%z) : (tensor<16x16xf32, #cols>) -> ()'
    made = text.replace(
        use,
        """%u = tt.splat %p : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>, #cols>
    tt.store %u, %z : tensor<16x16x!tt.ptr<f32>, #cols>""",
    )
    given = text.replace(use, "tt.store %q, %z : tensor<16x16x!tt.ptr<f32>, #cols>")
    [one], [other] = la.check(made).conversions, la.check(given).conversions
    assert str(one.remade) == (
        "avoidable in the source's layout: tt.store (line 14) is 2 of 128 bits, 4 lines each, and becomes 8 of 32 bits, "
        "4 lines each"
    )
    assert other.remade is not None
    assert not other.remade.possible


def test_a_loop_carries_the_value_otherwise() -> None:
    loop = """%n = arith.constant 4 : i32
    %zero = arith.constant dense<0.0> : tensor<16x16xf32, #rows>
    %x = scf.for %k = %n to %n step %n iter_args(%a = %zero) -> (tensor<16x16xf32, #rows>) : i32 {
      %v = tt.load %t : tensor<16x16x!tt.ptr<f32>, #rows>
      %b = arith.addf %a, %v : tensor<16x16xf32, #rows>
      scf.yield %b : tensor<16x16xf32, #rows>
    }"""
    [conversion] = la.check(LAYOUTS + HEAD + loop + TAIL).conversions
    assert conversion.remade is not None
    assert [one.operation for one in conversion.remade.accesses] == ["tt.load"]
    assert not conversion.remade.accesses[0].again


def test_a_slice_is_made_from_the_other_parent() -> None:
    row = """%r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32, #rowsT>
    %e = tt.expand_dims %r {axis = 1 : i32} : tensor<16xi32, #rowsT> -> tensor<16x1xi32, #rows>
    %b = tt.broadcast %e : tensor<16x1xi32, #rows> -> tensor<16x16xi32, #rows>
    %x = arith.sitofp %b : tensor<16x16xi32, #rows> to tensor<16x16xf32, #rows>"""
    [conversion] = la.check(LAYOUTS + HEAD + row + TAIL).conversions
    assert conversion.remade is not None
    assert conversion.remade.possible
    assert conversion.remade.lines == (11, 12, 13, 14)


def test_a_redundant_conversion_is_not_asked_about(tmp_path: object) -> None:
    same = (LAYOUTS + HEAD + "%x = arith.negf %i : tensor<16x16xf32, #rows>" + TAIL).replace("#cols", "#rows")
    [conversion] = la.check(same).conversions
    assert conversion.is_redundant
    assert conversion.remade is None


def test_json_has_it(capsys: pytest.CaptureFixture[str], tmp_path: object) -> None:
    from pathlib import Path

    file = Path(str(tmp_path)) / "kernel.ttgir"
    file.write_text(LAYOUTS + HEAD + "%x = tt.load %t : tensor<16x16x!tt.ptr<f32>, #rows>" + TAIL)
    main(["check", str(file), "--json"])
    [found] = json.loads(capsys.readouterr().out)["conversions"]
    assert found["avoidable"]["possible"] is True
    assert [one["operation"] for one in found["avoidable"]["accesses"]] == ["tt.load"]
