"""What cannot be run is refused in words, before it takes time."""

from __future__ import annotations

import time

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.errors import LayoutError
from layoutalg.simulate.launching import launch
from tests.simulate.kernels import kernel, run

BEFORE = {
    "an operation before": "%x1 = arith.index_cast %y1 : i32 to index\n%y1 = arith.constant 1 : i32",
    "an access before": "%x1 = memref.load %c[%y1] : memref<64xi32>\n%y1 = arith.constant 1 : index",
    "a store before": "memref.store %y1, %c[%t] : memref<64xi32>\n%y1 = arith.constant 1 : i32",
    "in a loop": "scf.for %i = %c0 to %c8 step %c1 { memref.store %y1, %c[%t] : memref<64xi32> }\n"
    "%y1 = arith.constant 1 : i32",
    "between blocks": "cf.br ^b\n^a:\n%y1 = arith.constant 1 : i32\ncf.br ^d\n^b:\ncf.cond_br %yes, ^a, ^d\n^d:\n"
    "memref.store %y1, %c[%t] : memref<64xi32>",
}


@pytest.mark.parametrize("body", BEFORE.values(), ids=BEFORE)
def test_a_value_that_is_used_before_it_is_defined_is_refused(body: str) -> None:
    problem = "%y1 is used before it is defined"
    with pytest.raises(LayoutError, match=problem):
        run(body, "%c: memref<64xi32>", [np.zeros(64, np.int32)])
    with pytest.raises(LayoutError, match=problem):
        la.read(kernel(body, "%c: memref<64xi32>")).run([np.zeros(64, np.int32)], [1])


def test_a_message_whose_offset_is_defined_behind_it_is_refused() -> None:
    text = """%d = xegpu.create_nd_tdesc %c : memref<8x16xf32> -> !xegpu.tensor_desc<8x16xf32>
%v = xegpu.load_nd %d[%y1, %c0] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
%y1 = arith.constant 0 : index"""
    with pytest.raises(LayoutError, match="%y1 is used before it is defined"):
        run(text, "%c: memref<8x16xf32>", [np.zeros((8, 16), np.float32)])


def test_a_called_function_that_uses_a_value_before_it_is_defined_is_refused() -> None:
    before = "func.func @g() { %x1 = arith.addi %y1, %y1 : i32 %y1 = arith.constant 1 : i32 return }"
    with pytest.raises(LayoutError, match="%y1 is used before it is defined"):
        launch(kernel("func.call @g() : () -> ()", "%c: memref<64xi32>", before=before), [np.zeros(64, np.int32)])


def test_a_host_function_that_uses_a_value_before_it_is_defined_is_refused() -> None:
    text = "func.func @main() { %x = arith.addi %y, %y : i32 %y = arith.constant 1 : i32 return }"
    with pytest.raises(LayoutError, match="%y is used before it is defined"):
        launch(text, [], entry="main")


AT_TOP = "{}"
YES = "%yes = arith.constant true "
IN_BOTH_BRANCHES = (
    f"{YES}%b = scf.if %yes -> (f32) {{{{ {{0}} scf.yield %b : f32 }}}} else {{{{ {{0}} scf.yield %b : f32 }}}}"
)
IN_ONE_BRANCH = (
    "%yes = arith.constant true %b = scf.if %yes -> (f32) {{ {} scf.yield %b : f32 }} else {{ scf.yield %x : f32 }}"
)
IN_THE_OTHER = (
    "%yes = arith.constant true %b = scf.if %yes -> (f32) {{ scf.yield %x : f32 }} else {{ {} scf.yield %b : f32 }}"
)
IN_A_REGION = "%b = scf.execute_region -> f32 {{ {} scf.yield %b : f32 }}"


def calls(depth: int, around: str = AT_TOP) -> str:
    """Functions that each call the next one twice."""
    call = "%{} = func.call @f{}(%{}) : (f32) -> f32"
    functions = [
        f"func.func @f{n}(%x: f32) -> f32 {{ "
        + around.format(f"{call.format('a', n + 1, 'x')} {call.format('b', n + 1, 'a')}")
        + " return %b : f32 }"
        for n in range(depth)
    ]
    last = f"func.func @f{depth}(%x: f32) -> f32 {{ %b = arith.addf %x, %x : f32 return %b : f32 }}"
    body = "%v = memref.load %c[%t] : memref<64xf32>\n%w = func.call @f0(%v) : (f32) -> f32\n" + (
        "memref.store %w, %c[%t] : memref<64xf32>"
    )
    return kernel(body, "%c: memref<64xf32>", before="\n".join([*functions, last]))


@pytest.mark.parametrize("around", [AT_TOP, IN_BOTH_BRANCHES, IN_A_REGION])
def test_a_tree_of_calls_is_refused_with_how_many_operations_it_executes(around: str) -> None:
    start = time.process_time()
    with pytest.raises(LayoutError, match=r"@f0 executes \d{13} operations; a launch of more than 1048576 is not"):
        launch(calls(40, around), [np.ones(64, np.float32)])
    assert time.process_time() - start < 5


@pytest.mark.slow
def test_a_tree_of_calls_in_a_branch_that_is_taken_does_not_run_without_end() -> None:
    start = time.process_time()
    with pytest.raises(LayoutError, match="a launch may take"):
        launch(calls(40, IN_ONE_BRANCH), [np.ones(64, np.float32)])
    assert time.process_time() - start < 10


def test_a_tree_of_calls_in_a_branch_that_is_not_taken_runs() -> None:
    array = np.ones(64, np.float32)
    launch(calls(40, IN_THE_OTHER), [array])
    assert (array == 1).all()


@pytest.mark.parametrize("around", [AT_TOP, IN_BOTH_BRANCHES, IN_ONE_BRANCH, IN_A_REGION])
def test_a_small_tree_of_calls_runs(around: str) -> None:
    array = np.ones(64, np.float32)
    launch(calls(4, around), [array])
    assert array[0] == 2.0**16
    assert array[63] == 1


LOOPS = (
    "scf.for %i = %c0 to %n step %c1 { }",
    "scf.parallel (%i) = (%c0) to (%n) step (%c1) { scf.reduce }",
    "scf.for %i = %c0 to %thousands step %c1 { scf.for %j = %c0 to %thousands step %c1 { } }",
    "scf.for %i = %c0 to %thousands step %c1 { scf.parallel (%j) = (%c0) to (%thousands) step (%c1) { scf.reduce } }",
    "scf.while : () -> () { scf.condition(%yes) } do { scf.yield }",
)


@pytest.mark.parametrize("loop", LOOPS)
def test_an_empty_loop_does_not_run_without_end(loop: str) -> None:
    sizes = "%n = arith.constant 1099511627776 : index\n%thousands = arith.constant 1048575 : index\n"
    start = time.process_time()
    with pytest.raises(LayoutError, match=r"(more operations|operations of a launch|more than \d+)"):
        run(sizes + loop, "%c: memref<64xi32>", [np.zeros(64, np.int32)])
    assert time.process_time() - start < 8


@pytest.mark.slow
def test_a_function_of_many_blocks_is_verified_in_seconds() -> None:
    count = 10_000
    blocks = "".join(f"^b{n}:\n%v{n} = arith.addi %a, %a : i32\ncf.br ^b{n + 1}\n" for n in range(count))
    module = la.read(f"func.func @f(%a: i32) {{\ncf.br ^b0\n{blocks}^b{count}:\nfunc.return }}")
    start = time.process_time()
    assert not module.verify(llvm=24)
    assert time.process_time() - start < 8
