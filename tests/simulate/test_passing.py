"""What atomic operations pass on between workgroups: the last one reads what all others wrote, and nobody else may."""

from __future__ import annotations

import random
from time import process_time

import numpy as np
import pytest

from layoutalg.simulate import Memory, SimulationError, run_kernel
from layoutalg.simulate.memory.passing import Passed

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


ONE_WORD = """
gpu.module @m {
  gpu.func @k(%%counter: !llvm.ptr<1>)
    kernel attributes {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: %d, 1, 1>} {
    %%zero = arith.constant 0 : i32
    %%one = arith.constant 1 : i32
    %%two = arith.constant 2 : i32
    %%index = gpu.block_id x
    %%group = arith.index_cast %%index : index to i32
    %s
    gpu.return
  }
}
"""
ADD = 'llvm.atomicrmw add %counter, %one syncscope("device") '


def run_word(body: str, workgroups: int, size: int) -> int:
    memory, counter = Memory(), np.zeros(1, np.int32)
    run_kernel(ONE_WORD % (size, body), [memory.bind("counter", counter)], (workgroups, 1, 1), memory)
    return int(counter[0])


@pytest.mark.parametrize(("order", "ordered"), [("acq_rel", True), ("monotonic", False), ("acquire", False)])
def test_a_store_behind_atomic_operations_that_released_nothing_is_found(order: str, ordered: bool) -> None:
    """Workgroups 0 and 1 count, workgroup 2 counts and sets the counter: it has to know both."""
    text = f"""
    %a = arith.cmpi eq, %group, %zero : i32
    scf.if %a {{ %x = {ADD}{order} : !llvm.ptr<1>, i32 }}
    %b = arith.cmpi eq, %group, %one : i32
    scf.if %b {{ %x = {ADD}acq_rel : !llvm.ptr<1>, i32 }}
    %c = arith.cmpi eq, %group, %two : i32
    scf.if %c {{
      %x = {ADD}acq_rel : !llvm.ptr<1>, i32
      llvm.store %zero, %counter : i32, !llvm.ptr<1>
    }}"""
    if ordered:
        assert run_word(text, 3, 16) == 0
        return
    with pytest.raises(SimulationError, match="different values"):
        run_word(text, 3, 16)


def test_many_subgroups_on_one_counter_take_time_for_each_and_not_for_each_pair() -> None:
    """4096 subgroups: about a second; it was a minute where each had a list of all that it knows."""
    begin = process_time()
    assert run_word(f"%x = {ADD}acq_rel : !llvm.ptr<1>, i32", 256, 256) == 256 * 256
    assert process_time() - begin < 20


@pytest.mark.parametrize("seed", range(20))
def test_what_is_known_is_what_vector_clocks_say(seed: int) -> None:
    """The definition: a clock for each subgroup and each place, which operations take the greatest of."""
    draw, passed, count = random.Random(seed), Passed(), 5
    clocks, places = [[0] * count for _ in range(count)], [[0] * count for _ in range(3)]
    epochs, last = [1] * count, [[0] * count for _ in range(3)]
    for _ in range(60):
        who, place = draw.randrange(count), draw.randrange(3)
        if draw.random() < 0.1:
            some = draw.sample(range(count), 2)
            passed.together(some)
            both = [max(pair) for pair in zip(*(clocks[one] for one in some), strict=True)]
            for one in some:
                clocks[one] = list(both)
            continue
        acquire, release = draw.random() < 0.6, draw.random() < 0.6
        passed.through(place, who, {}, epochs[who], acquire=acquire, release=release)
        last[place][who] = epochs[who]
        if acquire:
            clocks[who] = [max(pair) for pair in zip(clocks[who], places[place], strict=True)]
        if release:
            places[place] = [max(pair) for pair in zip(places[place], clocks[who], strict=True)]
            places[place][who] = epochs[who]
            epochs[who] += 1
        for one in range(count):
            known = [passed.known(one, other) for other in range(count)]
            assert known[:one] + known[one + 1 :] == clocks[one][:one] + clocks[one][one + 1 :]
            for number, touched in enumerate(last):
                if any(touched):
                    knows = all(other == one or clocks[one][other] >= touched[other] for other in range(count))
                    assert passed.covers(one, number) == knows
