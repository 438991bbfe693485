"""Launching: arguments, host code, traces, threads, and what is refused before it takes time or memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError
from layoutalg.gemm import plan_gemm
from layoutalg.simulate import launch
from layoutalg.simulate.machine import Budget
from tests.simulate.test_kernel import describe, kernel

Array = NDArray[Any]

HOST = """
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @add(%a: memref<64xi32>, %b: memref<64xi32>, %n: i32) kernel
      attributes {intel_reqd_sub_group_size = 16 : i32} {
      %i = gpu.global_id x
      %x = memref.load %a[%i] : memref<64xi32>
      %y = arith.addi %x, %n : i32
      memref.store %y, %b[%i] : memref<64xi32>
      gpu.return
    }
  }
  func.func @main(%a: memref<64xi32>, %c: memref<64xi32>, %times: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c32 = arith.constant 32 : index
    %n = arith.constant 5 : i32
    %p = "gpu.alloc"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> memref<64xi32>
    "gpu.memcpy"(%p, %a) {operandSegmentSizes = array<i32: 0, 1, 1>} : (memref<64xi32>, memref<64xi32>) -> ()
    scf.for %i = %c0 to %times step %c1 {
      "gpu.launch_func"(%c2, %c1, %c1, %c32, %c1, %c1, %p, %p, %n)
        <{kernel = @kernels::@add, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 3, 0>}>
        : (index, index, index, index, index, index, memref<64xi32>, memref<64xi32>, i32) -> ()
    }
    "gpu.memcpy"(%c, %p) {operandSegmentSizes = array<i32: 0, 1, 1>} : (memref<64xi32>, memref<64xi32>) -> ()
    "gpu.dealloc"(%p) {operandSegmentSizes = array<i32: 0, 1>} : (memref<64xi32>) -> ()
    return
  }
}
"""


def test_host_code_allocates_copies_and_launches() -> None:
    a, c = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    outcome = launch(HOST, [a, c, 3], entry="main")
    assert outcome.findings == ()
    assert np.array_equal(c, np.arange(64) + 15)
    assert np.array_equal(a, np.arange(64))


def test_a_module_inside_a_module_runs_as_it_does_alone() -> None:
    a, c = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    outcome = launch(
        f"module @outer {{ {HOST.replace('module attributes', 'module @gemm attributes', 1)} }}",
        [a, c, 3],
        entry="main",
    )
    assert outcome.findings == ()
    assert np.array_equal(c, np.arange(64) + 15)


def test_device_memory_that_nobody_wrote_is_a_finding() -> None:
    text = "\n".join(line for line in HOST.splitlines() if '"gpu.memcpy"(%p, %a)' not in line)
    outcome = launch(text, [np.arange(64, dtype=np.int32), np.zeros(64, np.int32), 1], entry="main")
    assert [finding.rule for finding in outcome.findings][:1] == ["run.uninitialised"]


@pytest.mark.parametrize(
    ("entry", "arguments", "message"),
    [
        ("start", [], "expected a function named start in the text; it has: main"),
        ("main", [], "it takes 3 arguments, and was given 0"),
        ("main", [np.zeros(64, np.int32), np.zeros(63, np.int32), 1], "memref<64xi32>"),
        ("main", [np.zeros(64, np.int32), np.zeros(64, np.int32), "x"], "argument 2 is 'x'"),
    ],
)
def test_a_host_function_is_called_with_what_it_takes(entry: str, arguments: list[Any], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        launch(HOST, arguments, entry=entry)


TRACED = kernel(
    """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0 : i32
    %0 = gpu.lane_id
    %lane = arith.index_cast %0 : index to i32
    %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %zero) -> (i32) {
      %1 = arith.addi %a, %lane : i32
      scf.yield %1 : i32
    }
    %b = gpu.block_id x
    """,
    "",
)


def test_a_trace_has_what_every_lane_holds_each_time_an_operation_is_executed() -> None:
    outcome = launch(TRACED, [], (3, 1, 1), trace=["%1", "b", "%sum"])
    lanes = np.arange(16)
    assert [value.shape for value in outcome.trace["%1"]] == [(3, 1, 16)] * 3
    for time_, value in enumerate(outcome.trace["%1"], 1):
        assert (value == time_ * lanes).all()
    assert np.array_equal(outcome.trace["%b"][0][:, 0, 0], [0, 1, 2])
    assert (outcome.trace["%sum"][0] == 3 * lanes).all()


def test_a_name_that_is_not_there_is_not_traced() -> None:
    with pytest.raises(LayoutError, match=r"'%nowhere': no operation has a result of that name"):
        launch(TRACED, [], (1, 1, 1), trace=["nowhere"])


def test_more_than_fits_is_not_traced_and_said() -> None:
    outcome = launch(TRACED, [], (3, 1, 1), trace=["%1"], budget=Budget(traced=400))
    assert len(outcome.trace["%1"]) == 2
    assert [(finding.rule, finding.level) for finding in outcome.findings] == [("run.not_traced", "warning")]


def test_a_result_does_not_depend_on_the_number_of_threads() -> None:
    gemm = plan_gemm(260, 520, 72)
    rng = np.random.default_rng(5)
    a = rng.standard_normal((260, 72)).astype(np.float16)
    b = rng.standard_normal((72, 520)).astype(np.float16)
    found: list[Array] = []
    for threads in (1, 2, 3):
        c = np.full((260, 520), np.nan, np.float32)
        parts: list[float] = []
        outcome = launch(
            gemm.emit("lane"),
            [a, b, c, *gemm.arguments],
            gemm.grid,
            threads=threads,
            progress=parts.append,
        )
        assert outcome.findings == ()
        assert parts == sorted(parts)
        assert parts[-1] == 1
        found.append(c)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def one_dpas(trips: int) -> str:
    body = (
        describe("o", "dst", 8, 16, "8x16xf32") + "%a = arith.constant dense<1.0> : vector<8xf16>\n"
        "%b = arith.constant dense<1.0> : vector<16xf16>\n%z = arith.constant dense<0.0> : vector<8xf32>\n"
        f"%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n%n = arith.constant {trips} : index\n"
        "%r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %z) -> (vector<8xf32>) {\n"
        "%d = xegpu.dpas %a, %b, %c : vector<8xf16>, vector<16xf16>, vector<8xf32> -> vector<8xf32>\n"
        "scf.yield %d : vector<8xf32> }\n"
        "xegpu.store_nd %r, %o[0, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>"
    )
    return kernel(body, "%dst: i64")


def many_large_values(count: int) -> str:
    return kernel(
        "%f = arith.constant 1.0 : f32\n"
        + "".join(f"%v{i} = vector.broadcast %f : f32 to vector<4096xf32>\n" for i in range(count))
        + "".join(f"%w{i} = arith.addf %v{i}, %v{i} : vector<4096xf32>\n" for i in range(count))
        + "".join(f"%x{i} = arith.addf %w{i}, %w{i} : vector<4096xf32>\n" for i in range(count)),
        "",
        items=1024,
    )


LOOP = (
    "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n%n = arith.constant {trips} : index\n"
    "%f = arith.constant 1.0 : f32\n%v = vector.broadcast %f : f32 to vector<4096xf32>\n"
    "%r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %v) -> (vector<4096xf32>) {{\n"
    "%s = {operation} : vector<4096xf32>\nscf.yield %s : vector<4096xf32> }}"
)
# Each takes minutes or gigabytes if nobody counts; attacks found most of them.
BOMBS = {
    "a dpas in 10^6 trips": (one_dpas(10**6), 1),
    "a dpas in 10^15 trips": (one_dpas(10**15), 1),
    "a large vector, with a space": (kernel("%v = arith.constant dense<1> : vector< 99999999xi32>", ""), 0),
    "a large vector, with a newline": (kernel("%v = arith.constant dense<1> : vector<\n99999999xi32>", ""), 0),
    "a large scalable vector": (kernel("%v = arith.constant dense<1> : vector<[99999999]xi32>", ""), 0),
    "100 constants of 2^20": (
        kernel("".join(f"%v{i} = arith.constant dense<1> : vector<1048576xi32>\n" for i in range(100)), ""),
        0,
    ),
    "100,000 constants": (kernel("".join(f"%c{i} = arith.constant {i} : i32\n" for i in range(100_000)), ""), 0),
    "16 MB of comments": ("//\n" * (16 * 2**20 // 3 - 100) + kernel("", ""), 0),
    "large values at once": (many_large_values(200), 0),
    "large sums in many trips": (kernel(LOOP.format(trips=10**5, operation="arith.addf %a, %v"), "", items=1024), 0),
    "large roots in many trips": (kernel(LOOP.format(trips=10**5, operation="math.sqrt %a"), "", items=1024), 0),
    "a small loop in many workgroups": (
        kernel(LOOP.format(trips=10, operation="arith.addf %a, %v"), "", items=1024),
        -1,
    ),
}
ROOT = Path(__file__).parents[2]
RUN = """
import sys, time
import numpy as np
from layoutalg.core.errors import LayoutError
from layoutalg.simulate import launch
from tests.ir.hostile_texts import peak_megabytes
text = open(sys.argv[1]).read()
before = time.perf_counter()
arguments = [np.zeros((8, 16), np.float32)] * max(0, int(sys.argv[2]))
try:
    launch(text, arguments, (2**20 if sys.argv[2] == "-1" else 1, 1, 1))
    said = "done"
except LayoutError as problem:
    said = str(problem)[:300]
print(time.perf_counter() - before, peak_megabytes(), said)
"""


@pytest.mark.parametrize("what", BOMBS)
def test_what_would_take_too_long_or_too_much_memory_is_refused(what: str, tmp_path: Any) -> None:
    """Within ten seconds (of the process) and one gigabyte."""
    text, arguments = BOMBS[what]
    (tmp_path / "bomb.mlir").write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path / "bomb.mlir"), str(arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    seconds, megabytes, said = done.stdout.split(maxsplit=2)
    assert said.strip() != "done"
    assert float(seconds) < 10
    assert int(megabytes) < 1000


def test_matrices_that_would_take_gigabytes_are_refused() -> None:
    """C of 16384x16384 alone has one gigabyte."""
    with pytest.raises(LayoutError, match="are simulated"):
        plan_gemm(16384, 16384, 32).simulate(np.zeros((16384, 32), np.float16), np.zeros((32, 16384), np.float16))


def test_an_interrupt_stops_all_threads() -> None:
    """Ctrl-C in the middle of a large product: the launch ends at once, and leaves no thread behind."""
    gemm = plan_gemm(2048, 2048, 2048)
    a = b = np.zeros((2048, 2048), np.float16)
    c = np.zeros((2048, 2048), np.float32)
    text = gemm.emit("lane")
    before = threading.active_count()
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it
    try:
        timer.start()
        started = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            launch(text, [a, b, c, *gemm.arguments], gemm.grid, budget=Budget(work=2**40))
        assert time.perf_counter() - started < 6
        timer.join()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert threading.active_count() == before


def test_a_kernel_with_shared_memory_of_its_own_is_launched_with_its_arguments_alone() -> None:
    """The buffer `%s` is an argument of the function's block, and nobody gives it: every workgroup gets its own."""
    text = """gpu.module @m {
      gpu.func @k(%p: memref<16xi32>) workgroup(%s : memref<16xi32, 3>) kernel
          attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
        %lane = gpu.lane_id
        %last = arith.constant 15 : index
        %other = arith.subi %last, %lane : index
        %x = memref.load %p[%lane] : memref<16xi32>
        memref.store %x, %s[%other] : memref<16xi32, 3>
        gpu.barrier
        %y = memref.load %s[%lane] : memref<16xi32, 3>
        memref.store %y, %p[%lane] : memref<16xi32>
        gpu.return
      }
    }"""
    array = np.arange(16, dtype=np.int32)
    assert launch(text, [array], (1, 1, 1)).findings == ()
    assert array.tolist() == list(range(15, -1, -1))
