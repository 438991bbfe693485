"""`scf.parallel` on the host: all iterations at once, the same result as one after the other, and their races."""

from __future__ import annotations

import numpy as np
import pytest

from layoutalg.simulate import Outcome, launch

CONSTANTS = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 4, 8, 64))


def function(body: str, before: str = "") -> str:
    return f"{before}\nfunc.func @f(%x: memref<64xi32>, %y: memref<64xi32>) {{\n{CONSTANTS}\n{body}\nreturn\n}}"


def run(body: str, before: str = "") -> tuple[Outcome, np.ndarray]:
    x, y = np.arange(100, 164, dtype=np.int32), np.zeros(64, np.int32)
    return launch(function(body, before), [x, y], entry="f"), y


def test_iterations_have_the_numbers_of_their_ranges() -> None:
    outcome, y = run("""scf.parallel (%i, %j) = (%c1, %c0) to (%c8, %c8) step (%c3, %c2) {
      %row = arith.muli %i, %c8 : index
      %at = arith.addi %row, %j : index
      %v = arith.index_cast %at : index to i32
      memref.store %v, %y[%at] : memref<64xi32>
    }""")
    assert outcome.findings == ()
    expected = {8 * i + j for i in range(1, 8, 3) for j in range(0, 8, 2)}
    assert {int(n) for n in y[y != 0]} == expected
    assert all(y[n] == n for n in expected)


def test_no_iteration_runs_where_a_range_is_empty() -> None:
    outcome, y = run("""scf.parallel (%i, %j) = (%c0, %c4) to (%c8, %c4) step (%c1, %c1) {
      %v = arith.constant 1 : i32
      memref.store %v, %y[%i] : memref<64xi32>
    }""")
    assert outcome.findings == ()
    assert not y.any()


def test_loops_and_calls_in_iterations_are_their_own() -> None:
    """Bounds that differ between iterations, a call, memory of each iteration, and a parallel loop inside."""
    helper = """func.func private @sum(%x: memref<64xi32>, %n: index) -> i32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %m = memref.alloc() : memref<1xi32>
      memref.store %zero, %m[%c0] : memref<1xi32>
      scf.for %i = %c0 to %n step %c1 {
        %v = memref.load %x[%i] : memref<64xi32>
        %s = memref.load %m[%c0] : memref<1xi32>
        %t = arith.addi %s, %v : i32
        memref.store %t, %m[%c0] : memref<1xi32>
      }
      %r = memref.load %m[%c0] : memref<1xi32>
      memref.dealloc %m : memref<1xi32>
      return %r : i32
    }"""
    outcome, y = run(
        """scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
      %s = func.call @sum(%x, %i) : (memref<64xi32>, index) -> i32
      scf.parallel (%j) = (%c0) to (%c8) step (%c1) {
        %row = arith.muli %i, %c8 : index
        %at = arith.addi %row, %j : index
        memref.store %s, %y[%at] : memref<64xi32>
      }
    }""",
        helper,
    )
    assert outcome.findings == ()
    assert (y.reshape(8, 8) == np.array([sum(range(100, 100 + n)) for n in range(8)])[:, None]).all()


def test_a_loop_inside_may_have_bounds_of_each_iteration() -> None:
    """Iteration i fills the i first columns of the rows from i on, in a parallel loop and in one that counts."""
    outcome, y = run("""scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
      %two = arith.addi %i, %c1 : index
      scf.parallel (%r, %c) = (%i, %c0) to (%two, %i) step (%c1, %c1) {
        %row = arith.muli %r, %c8 : index
        %at = arith.addi %row, %c : index
        %v = arith.index_cast %two : index to i32
        memref.store %v, %y[%at] : memref<64xi32>
      }
    }""")
    assert outcome.findings == ()
    expected = np.zeros((8, 8), np.int32)
    for i in range(4):
        expected[i, :i] = i + 1
    assert (y.reshape(8, 8) == expected).all()


def test_parallel_loops_follow_each_other() -> None:
    """Each round of the outer loop reads what the round before it wrote: that is no race."""
    outcome, y = run("""scf.for %round = %c0 to %c4 step %c1 {
      scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
        %old = memref.load %y[%i] : memref<64xi32>
        %more = memref.load %x[%i] : memref<64xi32>
        %new = arith.addi %old, %more : i32
        memref.store %new, %y[%i] : memref<64xi32>
      }
      %first = memref.load %y[%c0] : memref<64xi32>
      memref.store %first, %y[%c0] : memref<64xi32>
    }""")
    assert outcome.findings == ()
    assert (y == 4 * np.arange(100, 164)).all()


RACES = {
    "a neighbour reads": (
        """%next = arith.addi %i, %c1 : index
        %v = memref.load %y[%next] : memref<64xi32>
        %w = arith.addi %v, %one : i32
        memref.store %w, %y[%i] : memref<64xi32>""",
        "iteration 1 writes byte 4 of buffer y, which iteration 0 read at line 15 (memref.load) in the same scf.parallel",
    ),
    "two write one place": (
        """%half = arith.divui %i, %c2 : index
        %v = arith.index_cast %i : index to i32
        memref.store %v, %y[%half] : memref<64xi32>""",
        "two iterations write different values to byte 0 of buffer y",
    ),
    "inside a function": (
        "func.call @put(%y, %i) : (memref<64xi32>, index) -> ()",
        "two iterations write different values to byte 0 of buffer y",
    ),
}


@pytest.mark.parametrize("what", RACES)
def test_iterations_that_meet_in_memory_are_found(what: str) -> None:
    body, message = RACES[what]
    put = """func.func private @put(%y: memref<64xi32>, %i: index) { %c0 = arith.constant 0 : index
    %v = arith.index_cast %i : index to i32
    memref.store %v, %y[%c0] : memref<64xi32> return }"""
    outcome, _ = run(
        f"%one = arith.constant 1 : i32\nscf.parallel (%i) = (%c0) to (%c8) step (%c1) {{\n{body}\n}}", put
    )
    assert any(message in one.message for one in outcome.findings), outcome.findings


def test_more_iterations_than_run_together_race_too() -> None:
    """The last iteration writes what the first one wrote, thousands of iterations before."""
    text = """func.func @f(%y: memref<16384xi32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 16385 : index
      %m = arith.constant 16384 : index
      scf.parallel (%i) = (%c0) to (%n) step (%c1) {
        %at = arith.remui %i, %m : index
        %v = arith.index_cast %i : index to i32
        memref.store %v, %y[%at] : memref<16384xi32>
      }
      return
    }"""
    found = launch(text, [np.zeros(16384, np.int32)], entry="f").findings
    assert len(found) == 1
    assert found[0].message.startswith(
        "two iterations write different values to byte 0 of buffer y: iteration 16384 here, iteration 0 at line 9"
    )


def test_reductions_are_added_in_order() -> None:
    text = """func.func @f(%y: memref<1xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %big = arith.constant 1.677722e+07 : f32
      %s = scf.parallel (%i) = (%c0) to (%c4) step (%c1) init (%big) -> f32 {
        %one = arith.constant 1.0 : f32
        scf.reduce(%one : f32) { ^bb0(%l: f32, %r: f32): %t = arith.addf %l, %r : f32 scf.reduce.return %t : f32 }
      }
      memref.store %s, %y[%c0] : memref<1xf32>
      return
    }"""
    y = np.zeros(1, np.float32)
    assert launch(text, [y], entry="f").findings == ()
    assert y[0] == np.float32(16777220)


def test_memory_that_was_freed_is_out_of_bounds() -> None:
    """A scratch buffer in a loop is another one each time; who uses it too late, or frees it twice, is found."""
    loop = """scf.for %i = %c0 to %c4 step %c1 {
      %m = memref.alloc() : memref<64xi32>
      memref.copy %x, %m : memref<64xi32> to memref<64xi32>
      memref.copy %m, %y : memref<64xi32> to memref<64xi32>
      memref.dealloc %m : memref<64xi32>
    }"""
    outcome, y = run(loop)
    assert outcome.findings == ()
    assert y[63] == 163
    late = "%m = memref.alloc() : memref<64xi32>\nmemref.dealloc %m : memref<64xi32>\n"
    outcome, _ = run(f"{late}memref.copy %x, %m : memref<64xi32> to memref<64xi32>")
    assert [one.rule for one in outcome.findings] == ["run.out_of_bounds"]
    assert "of buffer m, which was freed" in outcome.findings[0].message
    outcome, y = run("memref.dealloc %x : memref<64xi32>\nmemref.copy %x, %y : memref<64xi32> to memref<64xi32>")
    assert (outcome.findings, y[0]) == ((), 100)
    outcome, _ = run(f"{late}memref.dealloc %m : memref<64xi32>")
    assert [one.message for one in outcome.findings] == [
        "there is nothing to free at byte 0 of buffer m, which was freed"
    ]


def test_iterations_that_free_the_same_memory_are_found() -> None:
    """Memory of an iteration's own is its own to free."""
    parallel = "scf.parallel (%i) = (%c0) to (%c4) step (%c1) {\n"
    outcome, _ = run(f"%m = memref.alloc() : memref<64xi32>\n{parallel}memref.dealloc %m : memref<64xi32>\n}}")
    assert [one.message for one in outcome.findings] == ["4 iterations free byte 0 of buffer m"]
    outcome, _ = run(f"{parallel}%m = memref.alloc() : memref<64xi32>\nmemref.dealloc %m : memref<64xi32>\n}}")
    assert outcome.findings == ()


def test_several_iterations_read_what_another_one_wrote() -> None:
    body = """scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
      %own = memref.load %x[%i] : memref<64xi32>
      memref.store %own, %y[%i] : memref<64xi32>
      %first = memref.load %y[%c0] : memref<64xi32>
    }"""
    outcome, _ = run(body)
    assert [one.message.partition(" wrote")[0] for one in outcome.findings] == [
        "several iterations read byte 0 of buffer y, which iteration 0"
    ]
