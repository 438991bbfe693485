"""What atomic operations pass on between workgroups: the last one reads what all others wrote, and nobody else may."""

from __future__ import annotations

import numpy as np
import pytest

from layoutalg.simulate import Memory, SimulationError, run_kernel

KERNEL = """
gpu.module @m {
  gpu.func @k(%parts: !llvm.ptr<1>, %counter: !llvm.ptr<1>, %result: !llvm.ptr<1>) workgroup(%told: memref<1xi32, 3>)
    kernel attributes {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %item = gpu.thread_id x
    %group = gpu.block_id x
    %row = arith.muli %group, %c32 : index
    %place = arith.addi %row, %item : index
    %place_i64 = arith.index_cast %place : index to i64
    %value = arith.index_cast %place : index to i32
    %to = llvm.getelementptr %parts[%place_i64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
    llvm.store %value, %to : i32, !llvm.ptr<1>
    gpu.barrier
    %first = arith.cmpi eq, %item, %c0 : index
    scf.if %first {
      %before = llvm.atomicrmw add %counter, %one syncscope("device") acq_rel : !llvm.ptr<1>, i32
      memref.store %before, %told[%c0] : memref<1xi32, 3>
    }
    gpu.barrier
    %seen = memref.load %told[%c0] : memref<1xi32, 3>
    %last = arith.cmpi eq, %seen, %three : i32
    scf.if %last {
      %item_i64 = arith.index_cast %item : index to i64
      %step = arith.constant 32 : i64
      %end = arith.constant 128 : i64
      %sum = scf.for %from = %item_i64 to %end step %step iter_args(%total = %zero) -> (i32) : i64 {
        %at = llvm.getelementptr %parts[%from] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
        %part = llvm.load %at : !llvm.ptr<1> -> i32
        %more = arith.addi %total, %part : i32
        scf.yield %more : i32
      }
      %out = llvm.getelementptr %result[%item_i64] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i32
      llvm.store %sum, %out : i32, !llvm.ptr<1>
      llvm.store %zero, %counter : i32, !llvm.ptr<1>
    }
    gpu.return
  }
}
"""
"""Four workgroups of two subgroups write 32 numbers each; the last one adds them, by columns."""


def run(text: str) -> np.ndarray:
    memory = Memory()
    arrays = [np.zeros(count, np.int32) for count in (128, 1, 32)]
    names = zip(("parts", "counter", "result"), arrays, strict=True)
    run_kernel(text, [memory.bind(name, array) for name, array in names], (4, 1, 1), memory)
    assert not arrays[1].any()
    return arrays[2]


def test_the_last_workgroup_reads_what_all_others_wrote() -> None:
    assert np.array_equal(run(KERNEL), np.arange(128).reshape(4, 32).sum(0))


@pytest.mark.parametrize("text", [" seq_cst", ' syncscope("device") seq_cst', ' syncscope("all_svm_devices") acq_rel'])
def test_other_scopes_and_orders_pass_it_on_too(text: str) -> None:
    assert run(KERNEL.replace(' syncscope("device") acq_rel', text)).any()


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('syncscope("device") acq_rel', "monotonic", "in the same launch"),
        ("acq_rel", "acquire", "in the same launch"),
        ("acq_rel", "release", "in the same launch"),
        ('"device"', '"workgroup"', "in the same launch"),
        ("arith.cmpi eq, %seen, %three", "arith.cmpi ule, %seen, %three", "in the same launch"),
        ("arith.cmpi eq, %seen, %three", "arith.cmpi eq, %seen, %one", "in the same launch"),
        # Subgroup 1 has not met the one that counts, or not the one that learnt
        ("    gpu.barrier\n    %first", "    %first", "in the same launch"),
        ("    gpu.barrier\n    %seen", "    %seen", "with no barrier between"),
        ("      %before = llvm", "      llvm.store %one, %to : i32, !llvm.ptr<1>\n      %before = llvm", None),
        (
            "      memref.store %before",
            "      llvm.store %three, %to : i32, !llvm.ptr<1>\n      memref.store %before",
            "reads",
        ),
    ],
)
def test_what_nothing_orders_is_found(right: str, wrong: str, said: str | None) -> None:
    assert KERNEL.count(right) == 1
    text = KERNEL.replace(right, wrong)
    if said is None:  # what is written before the release is passed on
        assert run(text)[0] == 32 + 64 + 96 + 4 - 96 - 64 - 32
        return
    with pytest.raises(SimulationError, match=said):
        run(text)


def test_combinations_that_are_not_simulated_are_named() -> None:
    with pytest.raises(SimulationError, match="uinc_wrap is not simulated"):
        run(KERNEL.replace("atomicrmw add", "atomicrmw uinc_wrap"))


@pytest.mark.parametrize("spelled", ["llvm.atomicrmw plus", "llvm.atomicrmw", "llvm.atomicrmw volatile"])
def test_what_is_no_atomic_operation_is_refused(spelled: str) -> None:
    with pytest.raises(ValueError, match="atomic operation"):
        run(KERNEL.replace("llvm.atomicrmw add", spelled))
