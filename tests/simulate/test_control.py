"""Control flow that differs between work-items, against Python that runs the lanes one by one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.simulate import launch
from tests.simulate.test_kernel import describe, kernel

LANE = "%l = gpu.lane_id\n%lane = arith.index_cast %l : index to i32\n" + "".join(
    f"%c{n} = arith.constant {n} : index\n%k{n} = arith.constant {n} : i32\n" for n in range(10)
)
STORE = """
%fl = arith.sitofp %r : i32 to f32
%v = vector.broadcast %fl : f32 to vector<1xf32>
"""


def lanes(body: str, functions: str = "") -> list[int]:
    """What `%r : i32` is in each of 16 lanes."""
    target = np.zeros((1, 16), np.float32)
    text = kernel(
        LANE
        + body
        + STORE
        + describe("o", "dst", 1, 16, "1x16xf32")
        + "xegpu.store_nd %v, %o[0, 0] : vector<1xf32>, !xegpu.tensor_desc<1x16xf32>",
        "%dst: i64",
    )
    outcome = launch(text.replace("gpu.module @k {", "gpu.module @k {" + functions), [target], (1, 1, 1))
    assert not outcome.findings, outcome.findings
    return [int(value) for value in target[0]]


def test_both_sides_of_a_branch_run_and_each_lane_keeps_its_own() -> None:
    body = """
      %low = arith.cmpi slt, %l, %c5 : index
      %r = scf.if %low -> (i32) {
        %even = arith.remsi %lane, %k2 : i32
        %is = arith.cmpi eq, %even, %k0 : i32
        %x = scf.if %is -> (i32) { scf.yield %k7 : i32 } else { scf.yield %k8 : i32 }
        scf.yield %x : i32
      } else {
        %q = arith.divsi %k9, %lane : i32
        scf.yield %q : i32
      }
    """
    assert lanes(body) == [(7 if i % 2 == 0 else 8) if i < 5 else 9 // i for i in range(16)]


def test_a_division_by_zero_on_the_side_that_no_lane_with_a_zero_takes_is_fine() -> None:
    body = """
      %some = arith.cmpi ne, %lane, %k0 : i32
      %r = scf.if %some -> (i32) { %q = arith.divsi %k9, %lane : i32  scf.yield %q : i32 } else { scf.yield %k1 : i32 }
    """
    assert lanes(body) == [1, *(9 // i for i in range(1, 16))]


def test_a_loop_runs_for_each_lane_as_often_as_its_bounds_say() -> None:
    body = """
      %by = arith.addi %l, %c1 : index
      %r = scf.for %i = %l to %c9 step %by iter_args(%acc = %k1) -> (i32) {
        %n = arith.index_cast %i : index to i32
        %m = arith.muli %acc, %k3 : i32
        %next = arith.addi %m, %n : i32
        scf.yield %next : i32
      }
    """

    def one(lane: int) -> int:
        total = 1
        for i in range(lane, 9, lane + 1):
            total = 3 * total + i
        return total

    assert lanes(body) == [one(lane) for lane in range(16)]


def collatz(lane: int, most: int = 10**6) -> int:
    n, count = lane + 1, 0
    while n != 1 and count < most:
        n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
    return count


def test_a_while_loop_lets_each_lane_go_when_it_is_done() -> None:
    body = """
      %first = arith.addi %lane, %k1 : i32
      %last, %r = scf.while (%n = %first, %count = %k0) : (i32, i32) -> (i32, i32) {
        %on = arith.cmpi ne, %n, %k1 : i32
        scf.condition(%on) %n, %count : i32, i32
      } do {
      ^bb0(%n: i32, %count: i32):
        %half = arith.divsi %n, %k2 : i32
        %three = arith.muli %n, %k3 : i32
        %odd = arith.addi %three, %k1 : i32
        %rest = arith.remsi %n, %k2 : i32
        %even = arith.cmpi eq, %rest, %k0 : i32
        %next = arith.select %even, %half, %odd : i32
        %more = arith.addi %count, %k1 : i32
        scf.yield %next, %more : i32, i32
      }
    """
    assert lanes(body) == [collatz(lane) for lane in range(16)]


def test_a_switch_takes_the_region_of_its_number() -> None:
    body = """
      %r = scf.index_switch %l -> i32
      case 2 { scf.yield %k7 : i32 }
      case 5 { scf.yield %lane : i32 }
      default { %q = arith.muli %lane, %k2 : i32  scf.yield %q : i32 }
    """
    assert lanes(body) == [7 if i == 2 else i if i == 5 else 2 * i for i in range(16)]


def test_a_parallel_loop_reduces_in_row_major_order() -> None:
    body = """
      %r = "scf.parallel"(%c1, %c0, %c4, %c3, %c1, %c2, %k1) <{operandSegmentSizes = array<i32: 2, 2, 2, 1>}> ({
      ^bb0(%i: index, %j: index):
        %a = arith.muli %i, %c3 : index
        %b = arith.addi %a, %j : index
        %n = arith.index_cast %b : index to i32
        scf.reduce(%n : i32) {
        ^bb0(%x: i32, %y: i32):
          %twice = arith.muli %x, %k2 : i32
          %z = arith.addi %twice, %y : i32
          scf.reduce.return %z : i32
        }
      }) : (index, index, index, index, index, index, i32) -> i32
    """
    total = 1
    for i in range(1, 4):
        for j in range(0, 3, 2):
            total = 2 * total + 3 * i + j
    assert lanes(body) == [total] * 16


BLOCKS = """
      %r = scf.execute_region -> i32 {
        %first = arith.addi %lane, %k1 : i32
        cf.br ^head(%first, %k0 : i32, i32)
      ^head(%n: i32, %count: i32):
        %done = arith.cmpi eq, %n, %k1 : i32
        cf.cond_br %done, ^exit, ^body
      ^exit:
        scf.yield %count : i32
      ^body:
        %rest = arith.remsi %n, %k2 : i32
        %more = arith.addi %count, %k1 : i32
        %odd = arith.cmpi eq, %rest, %k1 : i32
        cf.cond_br %odd, ^odd, ^even
      ^even:
        %half = arith.divsi %n, %k2 : i32
        cf.br ^head(%half, %more : i32, i32)
      ^odd:
        %three = arith.muli %n, %k3 : i32
        %up = arith.addi %three, %k1 : i32
        cf.br ^head(%up, %more : i32, i32)
      }
"""


def test_branches_between_blocks_keep_a_place_for_every_lane() -> None:
    """`%count` is defined in the loop's head and read behind the loop, by lanes that left it at different times."""
    assert lanes(BLOCKS) == [collatz(lane) for lane in range(16)]


def test_lanes_meet_again_behind_a_loop_that_they_leave_at_different_times() -> None:
    """The barrier behind the loop sees everybody, also where the exit stands before the loop's body in the text."""
    assert lanes(BLOCKS.replace("^exit:\n", "^exit:\n gpu.barrier\n")) == [collatz(lane) for lane in range(16)]


def test_a_switch_between_blocks() -> None:
    body = """
      %r = scf.execute_region -> i32 {
        cf.switch %lane : i32, [
          default: ^other(%k9 : i32),
          3: ^other(%k1 : i32),
          4: ^four
        ]
      ^four:
        cf.br ^other(%k2 : i32)
      ^other(%x: i32):
        scf.yield %x : i32
      }
    """
    assert lanes(body) == [{3: 1, 4: 2}.get(i, 9) for i in range(16)]


def test_functions_are_called_under_the_mask_of_who_calls() -> None:
    function = """
      func.func @third(%n: i32) -> i32 {
        %z = arith.constant 0 : i32
        %k60 = arith.constant 60 : i32
        %q = arith.divsi %k60, %n : i32
        %small = arith.cmpi slt, %q, %n : i32
        cf.cond_br %small, ^low, ^high(%q : i32)
      ^low:
        return %z : i32
      ^high(%x: i32):
        return %x : i32
      }
    """
    body = """
      %some = arith.cmpi ne, %lane, %k0 : i32
      %one = func.call @third(%k6) : (i32) -> i32
      %two = scf.if %some -> (i32) {
        %q = func.call @third(%lane) : (i32) -> i32
        scf.yield %q : i32
      } else { scf.yield %k1 : i32 }
      %r = arith.addi %one, %two : i32
    """
    expected = [10 + (1 if i == 0 else 0 if 60 // i < i else 60 // i) for i in range(16)]
    assert lanes(body, function) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%r = func.call @nobody(%lane) : (i32) -> i32", "@nobody"),
        ("%r = func.call @again(%lane) : (i32) -> i32", "@again calls itself"),
        (
            "%r = scf.while (%n = %lane) : (i32) -> (i32) { %on = arith.constant true scf.condition(%on) %n : i32 } do {\n"
            "^bb0(%n: i32): scf.yield %n : i32 }",
            r"(seconds are left of what a launch may take|a launch of more than 1048576 is not simulated)",
        ),
        (
            "%r = scf.for %i = %c0 to %c9 step %l iter_args(%a = %lane) -> (i32) { scf.yield %a : i32 }",
            "the step is not positive for some work-items",
        ),
    ],
)
def test_what_does_not_end_or_is_not_there_is_refused(body: str, message: str) -> None:
    again = "func.func @again(%n: i32) -> i32 { %m = func.call @again(%n) : (i32) -> i32 return %m : i32 }"
    with pytest.raises((LayoutError, AssertionError), match=message):
        lanes(body, again)


@pytest.mark.parametrize("seed", range(6))
def test_random_nests_of_branches_and_loops_are_what_each_lane_would_do_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 0

    def fresh(name: str) -> str:
        nonlocal count
        count += 1
        return f"%{name}_{count}"

    def build(depth: int, value: str) -> tuple[str, str, Callable[[int, int], int]]:
        """Text that computes a new value from `value`, its name, and the same in Python: (lane, value) to value."""
        kind = rng.integers(0, 4) if depth else 0
        n = int(rng.integers(1, 8))
        if kind == 0:
            name = fresh("s")
            pick = rng.integers(0, 3)
            if pick == 0:
                return f"{name} = arith.addi {value}, %k{n} : i32\n", name, lambda lane, x: x + n
            if pick == 1:
                return f"{name} = arith.xori {value}, %lane : i32\n", name, lambda lane, x: x ^ lane
            return f"{name} = arith.remsi {value}, %k{n} : i32\n", name, lambda lane, x: x % n if x >= 0 else -(-x % n)
        if kind == 1:
            one, a, f = build(depth - 1, value)
            two, b, g = build(depth - 1, a)
            return one + two, b, lambda lane, x: g(lane, f(lane, x))
        if kind == 2:
            one, a, f = build(depth - 1, value)
            two, b, g = build(depth - 1, value)
            rest, is_, name = fresh("q"), fresh("c"), fresh("i")
            text = (
                f"{rest} = arith.andi {value}, %k{n} : i32\n{is_} = arith.cmpi eq, {rest}, %k0 : i32\n"
                f"{name} = scf.if {is_} -> (i32) {{\n{one}scf.yield {a} : i32\n}} else {{\n{two}scf.yield {b} : i32\n}}\n"
            )
            return text, name, lambda lane, x: f(lane, x) if x & n == 0 else g(lane, x)
        inner, name, low, i = fresh("a"), fresh("f"), fresh("b"), fresh("i")
        one, a, f = build(depth - 1, inner)
        text = (
            f"{low} = arith.remsi %l, %c{n} : index\n"
            f"{name} = scf.for {i} = {low} to %c4 step %c1 iter_args({inner} = {value}) -> (i32) {{\n"
            f"{one}scf.yield {a} : i32\n}}\n"
        )

        def loop(lane: int, x: int) -> int:
            for _ in range(lane % n, 4):
                x = f(lane, x)
            return x

        return text, name, loop

    text, name, function = build(5, "%lane")
    body = text + f"%m = arith.constant 4095 : i32\n%r = arith.andi {name}, %m : i32\n"
    assert lanes(body) == [function(lane, lane) & 4095 for lane in range(16)]
