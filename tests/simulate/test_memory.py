"""What must not happen to memory is found, with byte, operations and work-items, and what is allowed is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError
from layoutalg.gemm import plan_gemm
from layoutalg.simulate import Memory, run_kernel
from layoutalg.simulate.launching import launch
from layoutalg.simulate.memory.atomics import KINDS, combined
from tests.simulate.kernels import found, kernel, run

Array = NDArray[Any]

ARGUMENTS = "%a: memref<64xi32>, %c: memref<64xi32>"
NEIGHBOUR = "%o = arith.xori %t, %c1 : index"
FAR = "%o = arith.xori %t, %c16 : index"
PUT, GET = "memref.store %x, %slm[%t] : memref<64xi32, 3>", "%y = memref.load %slm[%o] : memref<64xi32, 3>"
OUT = "memref.store %y, %c[%t] : memref<64xi32>"


def arrays() -> list[Array]:
    return [np.arange(100, 164, dtype=np.int32), np.zeros(64, np.int32)]


TRIPS = {
    "another lane reads": (
        f"{NEIGHBOUR}\n{PUT}\n{GET}\n{OUT}",
        "run.race",
        "memref.load",
        "work-item 0 of workgroup 0 reads byte 4 of shared memory slm, which work-item 1 of workgroup 0 wrote at line 5 "
        "(memref.store) with no barrier between",
    ),
    "another subgroup reads": (
        f"{FAR}\n{PUT}\n{GET}\n{OUT}",
        "run.race",
        "memref.load",
        "work-item 0 of workgroup 0 reads byte 64 of shared memory slm, which work-item 16 of workgroup 0 wrote at line 5",
    ),
    "a fence is not a barrier": (
        f"{FAR}\n{PUT}\nxegpu.fence memory_kind = slm, fence_scope = workgroup\n{GET}\n{OUT}",
        "run.race",
        "memref.load",
        "byte 64 of shared memory slm, which work-item 16 of workgroup 0 wrote at line 5 (memref.store) with no barrier",
    ),
    "a barrier that comes too early": (
        f"{FAR}\ngpu.barrier\n{PUT}\n{GET}\n{OUT}",
        "run.race",
        "memref.load",
        "byte 64 of shared memory slm, which work-item 16 of workgroup 0 wrote at line 6 (memref.store)",
    ),
    "written again before all have read": (
        f"{FAR}\n{PUT}\ngpu.barrier\n{GET}\nmemref.store %y, %slm[%t] : memref<64xi32, 3>\n{OUT}",
        "run.race",
        "memref.store",
        "work-item 0 of workgroup 0 writes byte 0 of shared memory slm, which work-item 16 of workgroup 0 read at line 7 "
        "(memref.load) with no barrier between",
    ),
    "two write different values in one operation": (
        "memref.store %x, %slm[%c3] : memref<64xi32, 3>",
        "run.race",
        "memref.store",
        "two work-items write different values to byte 12 of shared memory slm: work-item 0 of workgroup 0 and",
    ),
    "two write different values one after another": (
        "%o = arith.shrui %t, %c1 : index %odd = arith.andi %t, %c1 : index\n%even = arith.cmpi eq, %odd, %c0 : index\n"
        "scf.if %even {\nmemref.store %x, %slm[%o] : memref<64xi32, 3>\n} else {\n"
        "memref.store %x, %slm[%o] : memref<64xi32, 3>\n}",
        "run.race",
        "memref.store",
        "two work-items write different values to byte 0 of shared memory slm: work-item 0 of workgroup 0 here, work-item 1 of "
        "workgroup 0 at line 9 (memref.store), with no barrier between",
    ),
    "a part of what another one wrote": (
        "%v = memref.get_global @bytes : memref<256xi8, 3>\n"
        "%w = memref.view %v[%c0][] : memref<256xi8, 3> to memref<64xi32, 3>\n"
        "memref.store %x, %w[%t] : memref<64xi32, 3>\n%b = memref.load %v[%c16] : memref<256xi8, 3>",
        "run.race",
        "memref.load",
        "read byte 16 of shared memory bytes, which work-item 4 of workgroup 0 wrote at line 6 (memref.store)",
    ),
    "global memory": (
        f"{FAR}\nmemref.store %x, %c[%t] : memref<64xi32>\n%y = memref.load %c[%o] : memref<64xi32>",
        "run.race",
        "memref.load",
        "work-item 0 of workgroup 0 reads byte 64 of buffer c, which work-item 16 of workgroup 0 wrote at line 5",
    ),
    "atomic, then plain": (
        "%z = memref.atomic_rmw addi %x, %slm[%c0] : (i32, memref<64xi32, 3>) -> i32".replace("%slm", "%c").replace(
            ", 3>", ">"
        )
        + "\n%y = memref.load %c[%c0] : memref<64xi32>",
        "run.race",
        "memref.load",
        "byte 0 of buffer c, which several work-items of workgroup 0 wrote at line 4 (memref.atomic_rmw)",
    ),
    "shared memory that nobody wrote": (
        "%y = memref.load %slm[%t] : memref<64xi32, 3>",
        "run.uninitialised",
        "memref.load",
        "work-item 0 of workgroup 0 reads byte 0 of shared memory slm, which nobody wrote",
    ),
    "private memory that nobody wrote": (
        "%p = memref.alloca() : memref<4xi32>\nmemref.store %x, %p[%c1] : memref<4xi32>\n"
        "%y = memref.load %p[%c2] : memref<4xi32>",
        "run.uninitialised",
        "memref.load",
        "work-item 0 of workgroup 0 reads byte 8 of private memory p, which nobody wrote",
    ),
    "private memory that only some wrote": (
        "%p = memref.alloca() : memref<4xi32>\n%few = arith.cmpi ult, %t, %c4 : index\nscf.if %few {\n"
        "memref.store %x, %p[%c1] : memref<4xi32>\n}\n%y = memref.load %p[%c1] : memref<4xi32>",
        "run.uninitialised",
        "memref.load",
        "work-item 4 of workgroup 0 reads byte 4 of private memory p",
    ),
    "beyond the end": (
        "%e = arith.constant 10000 : i64 %b = arith.addi %p, %e : i64\n"
        "%y = xegpu.load %b[%t], %yes : i64, index, i1 -> i32",
        "run.out_of_bounds",
        "xegpu.load",
        "access to byte 10124 of buffer p, which has 256 bytes: work-item 31 of workgroup 0",
    ),
    "beyond a memref": (
        "%o = arith.addi %t, %c64 : index\n%y = memref.load %a[%o] : memref<64xi32>",
        "run.out_of_bounds",
        "memref.load",
        "element [64] of a memref of 64 elements",
    ),
    "beyond a window inside the buffer": (
        "%w = memref.subview %a[8] [8] [1] : memref<64xi32> to memref<8xi32, strided<[1], offset: 8>>\n"
        "%y = memref.load %w[%c8] : memref<8xi32, strided<[1], offset: 8>>",
        "run.out_of_bounds",
        "memref.load",
        "element [8] of a memref of 8 elements",
    ),
    "a window beyond its memref": (
        "%w = memref.subview %a[%c64] [8] [1] : memref<64xi32> to memref<8xi32, strided<[1], offset: ?>>",
        "run.out_of_bounds",
        "memref.subview",
        "element [71] of a memref of 64 elements",
    ),
    "half of a vector": (
        "%o = arith.addi %t, %c32 : index\n%y = vector.load %a[%o] : memref<64xi32>, vector<4xi32>",
        "run.out_of_bounds",
        "vector.load",
        "element [64] of a memref of 64 elements",
    ),
    "a scattered offset beyond its memref": (
        "%y = xegpu.load %a[%c64], %yes : memref<64xi32>, index, i1 -> i32",
        "run.out_of_bounds",
        "xegpu.load",
        "element 64 of a memref of 64 elements",
    ),
    "before the beginning": (
        "%o = arith.subi %t, %c1 : index\n%y = memref.load %a[%o] : memref<64xi32>",
        "run.out_of_bounds",
        "memref.load",
        "element [-1] of a memref of 64 elements",
    ),
    "a barrier that some do not reach": (
        "%few = arith.cmpi ult, %t, %c4 : index\nscf.if %few {\ngpu.barrier\n}",
        "run.divergent_barrier",
        "gpu.barrier",
        "4 of 32 work-items of a workgroup arrive at the barrier: work-item 0 of workgroup 0 waits, and work-item 4",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRIPS)
def test_what_must_not_happen_is_found(name: str) -> None:
    body, rule, operation, words = TRIPS[name]
    pointers = "%p" in body.split("[")[0] and "alloca" not in body
    before = 'memref.global "private" @slm : memref<64xi32, 3> memref.global "private" @bytes : memref<256xi8, 3>'
    text = kernel(body, "%p: i64, %c: i64" if pointers else ARGUMENTS)
    text = text.replace('memref.global "private" @slm : memref<64xi32, 3> {alignment = 64 : i64}', before)
    outcome = launch(text, arrays(), (1, 1, 1))
    assert [(finding.rule, finding.operation) for finding in outcome.findings] == [(rule, operation)], outcome.findings
    assert words in outcome.findings[0].message


FINE = {
    "a barrier between": f"{FAR}\n{PUT}\ngpu.barrier\n{GET}\n{OUT}",
    "own data": f"{PUT}\n%y = memref.load %slm[%t] : memref<64xi32, 3>\n{OUT}",
    "the same value by all": f"memref.store %i3, %slm[%c3] : memref<64xi32, 3>\n"
    f"%y = memref.load %slm[%c3] : memref<64xi32, 3>\n{OUT}",
    "the same value twice": (
        "%o = arith.shrui %t, %c1 : index %v = arith.index_cast %o : index to i32 %odd = arith.andi %t, %c1 : index\n"
        "%even = arith.cmpi eq, %odd, %c0 : index\nscf.if %even {\nmemref.store %v, %slm[%o] : memref<64xi32, 3>\n} else {\n"
        "memref.store %v, %slm[%o] : memref<64xi32, 3>\n}"
    ),
    "a barrier before writing again": (
        f"{FAR}\n{PUT}\ngpu.barrier\n{GET}\ngpu.barrier\nmemref.store %y, %slm[%t] : memref<64xi32, 3>\n{OUT}"
    ),
    "writing again what was there": (
        f"{FAR}\n{PUT}\ngpu.barrier\n{GET}\nmemref.store %x, %slm[%t] : memref<64xi32, 3>\n{OUT}"
    ),
    "atomic operations of all": (
        "%z = memref.atomic_rmw addi %x, %c[%c0] : (i32, memref<64xi32>) -> i32\n"
        "%w = memref.atomic_rmw maxs %x, %c[%c0] : (i32, memref<64xi32>) -> i32"
    ),
    "atomic, a barrier, then plain": (
        "%z = memref.atomic_rmw addi %x, %c[%c0] : (i32, memref<64xi32>) -> i32\ngpu.barrier\n"
        "%y = memref.load %c[%c0] : memref<64xi32>"
    ),
    "private memory of each": (
        "%p = memref.alloca() : memref<4xi32>\nmemref.store %x, %p[%c1] : memref<4xi32>\n"
        "%y = memref.load %p[%c1] : memref<4xi32>\n"
        f"{OUT}"
    ),
    "a mask that leaves out what is beyond": (
        "%o = arith.addi %t, %c32 : index %s = arith.addi %o, %c16 : index %some = arith.cmpi ult, %s, %c64 : index\n"
        "%y = xegpu.load %a[%s], %some : memref<64xi32>, index, i1 -> i32"
    ),
    "an inactive work-item": (
        "%s = arith.addi %t, %c48 : index %some = arith.cmpi ult, %s, %c64 : index\nscf.if %some {\n"
        "%y = memref.load %a[%s] : memref<64xi32>\n}"
    ),
    "a barrier of a whole workgroup in a branch": (
        "%one = arith.cmpi eq, %g, %c0 : index\nscf.if %one {\ngpu.barrier\n}"
    ),
    "a read-only table for all": f"%y = memref.load %a[%c3] : memref<64xi32>\n{OUT}",
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_what_may_happen_is_not_reported(name: str) -> None:
    body = "%c48 = arith.constant 48 : index\n" + FINE[name]
    assert found(run(body, ARGUMENTS, arrays())) == []


def test_the_launch_goes_on_after_a_finding() -> None:
    values = arrays()
    run(f"{FAR}\n{PUT}\n{GET}\n{OUT}", ARGUMENTS, values)
    assert np.array_equal(values[1][:32], np.arange(32) ^ 16)


def test_out_of_bounds_reads_zero_and_is_not_written() -> None:
    values = arrays()
    body = "%o = arith.addi %t, %c48 : index\n%y = memref.load %a[%o] : memref<64xi32>\n"
    body += "memref.store %y, %c[%o] : memref<64xi32>"
    outcome = run("%c48 = arith.constant 48 : index\n" + body, ARGUMENTS, values)
    assert found(outcome) == [("run.out_of_bounds", 6), ("run.out_of_bounds", 7)]
    assert np.array_equal(values[1][48:], values[0][48:])
    assert (values[1][:48] == 0).all()


# Workgroups

WORKGROUPS = {
    "reads what another one writes": (
        "%o = arith.xori %g, %c1 : index %v = arith.index_cast %g : index to i32 %w = arith.addi %v, %i1 : i32\n"
        "memref.store %w, %c[%g] : memref<64xi32>\n%y = memref.load %c[%o] : memref<64xi32>",
        "run.other_workgroup",
        "memref.load",
        "several work-items of workgroup 0 read byte 4 of buffer c, which several work-items of workgroup 1 wrote at line 5",
    ),
    "writes what another one has read": (
        "%o = arith.xori %g, %c1 : index %v = arith.index_cast %g : index to i32 %w = arith.addi %v, %i1 : i32\n"
        "%y = memref.load %c[%o] : memref<64xi32>\nmemref.store %w, %c[%g] : memref<64xi32>",
        "run.other_workgroup",
        "memref.store",
        "writes byte 0 of buffer c, which several work-items of workgroup 1 read at line 5 (memref.load) in the same launch",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKGROUPS)
@pytest.mark.parametrize("grid", [2, 600])
def test_workgroups_do_not_see_what_others_write(name: str, grid: int) -> None:
    """600 workgroups of 32 work-items are three groups that run one after another."""
    body, rule, operation, words = WORKGROUPS[name]
    kinds = f"%a: memref<{max(64, grid)}xi32>, %c: memref<{max(64, grid)}xi32>"
    values = [np.zeros(max(64, grid), np.int32) for _ in range(2)]
    outcome = run(body.replace("<64x", f"<{max(64, grid)}x"), kinds, values, grid)
    assert (outcome.findings[0].rule, outcome.findings[0].operation) == (rule, operation)
    assert words in outcome.findings[0].message


def test_workgroups_read_their_own_and_share_what_nobody_writes() -> None:
    body = (
        "%o = arith.muli %g, %c32 : index %p = arith.addi %o, %t : index\nmemref.store %x, %c[%p] : memref<64xi32>\n"
        "%y = memref.load %c[%p] : memref<64xi32>\n%z = memref.load %a[%t] : memref<64xi32>"
    )
    assert found(run(body, ARGUMENTS, arrays(), 2)) == []


def test_workgroups_may_write_the_same_value() -> None:
    assert found(run("memref.store %x, %c[%t] : memref<64xi32>", ARGUMENTS, arrays(), 3)) == []


def test_shared_memory_is_fresh_in_every_workgroup() -> None:
    body = (
        "%v = arith.index_cast %g : index to i32\nmemref.store %v, %slm[%t] : memref<64xi32, 3>\n"
        "%y = memref.load %slm[%t] : memref<64xi32, 3>\n%o = arith.muli %g, %c32 : index %p = arith.addi %o, %t : index\n"
        "memref.store %y, %c[%p] : memref<19200xi32>"
    )
    values = [np.zeros(19200, np.int32) for _ in range(2)]
    assert found(run(body, "%a: memref<19200xi32>, %c: memref<19200xi32>", values, 600)) == []
    assert np.array_equal(values[1], np.arange(19200) // 32)


# Buffers

STORE = "%o = arith.addi %t, %c{0} : index\nxegpu.store %x, %c[%o], %yes : i32, i64, index, i1"


def buffer_kernel(first: int) -> str:
    return kernel(STORE.format(first), "%a: i64, %c: i64")


def refused(text: str, memory: Memory, addresses: list[int]) -> str:
    with pytest.raises(LayoutError) as raised:
        run_kernel(text, addresses, (1, 1, 1), memory)
    return str(raised.value)


def test_padding_is_not_written() -> None:
    array = np.zeros((4, 32), np.int32)
    memory = Memory()
    addresses = [0, memory.bind("C", array, extent=(4, 20))]
    words = refused(buffer_kernel(0), memory, addresses)
    assert "line 5: xegpu.store: writes byte 80 of buffer C, which is padding: it holds 4 rows of 80 bytes" in words
    assert np.array_equal(array[0], [*range(20), *[0] * 12])
    memory = Memory()
    run_kernel(buffer_kernel(0), [0, memory.bind("C", array, extent=(1, 32))], (1, 1, 1), memory)
    memory = Memory()
    assert "padding" in refused(buffer_kernel(32), memory, [0, memory.bind("C", array, extent=(1, 32))])


@pytest.mark.parametrize("extent", [(0, 4), (5, 4), (4, 33), (4, 0)])
def test_an_extent_is_inside_the_array(extent: tuple[int, int]) -> None:
    with pytest.raises(LayoutError, match="extent"):
        Memory().bind("C", np.zeros((4, 32)), extent=extent)


def test_inputs_are_not_written() -> None:
    array = np.zeros(64, np.int32)
    array.flags.writeable = False
    memory = Memory()
    assert "writes byte 0 of buffer A: buffer A is read-only, an input" in refused(
        buffer_kernel(0), memory, [0, memory.bind("A", array)]
    )
    assert not array.any()
    outcome = launch(buffer_kernel(0), [array, array], (1, 1, 1))
    assert [finding.rule for finding in outcome.findings] == ["run.input_written"]


def test_an_output_holds_nothing_before_it_is_written() -> None:
    read = "%y = xegpu.load %c[%t], %yes : i64, index, i1 -> i32"
    write = "xegpu.store %x, %c[%t], %yes : i32, i64, index, i1"
    memory = Memory()
    addresses = [0, memory.bind("C", np.zeros(64, np.int32), initialised=False)]
    assert "work-item 0 of workgroup 0 reads byte 0 of buffer C, which nobody wrote" in refused(
        kernel(read, "%a: i64, %c: i64"), memory, addresses
    )
    run_kernel(kernel(f"{write}\n{read}", "%a: i64, %c: i64"), addresses, (1, 1, 1), memory)
    run_kernel(kernel(read, "%a: i64, %c: i64"), addresses, (1, 1, 1), memory)


# Levels


@pytest.mark.parametrize(("level", "who"), [("subgroup", "subgroup 1 of workgroup 0"), ("workgroup", None)])
def test_subgroups_race_and_a_workgroup_as_a_whole_does_not(level: str, who: str | None) -> None:
    """Every subgroup writes 32 rows of its own and reads those of the other one."""
    body = (
        "%m = xegpu.create_mem_desc %raw : memref<256xi8, 3> -> !xegpu.mem_desc<2x32xf32>\n"
        "%v = arith.constant dense<1.0> : vector<1x32xf32>\nxegpu.store_matrix %v, %m[%s, 0] : vector<1x32xf32>, "
        "!xegpu.mem_desc<2x32xf32>, index\n%o = arith.subi %c1, %s : index\n"
        "%y = xegpu.load_matrix %m[%o, 0] : !xegpu.mem_desc<2x32xf32>, index -> vector<1x32xf32>"
    )
    before = 'memref.global "private" @raw : memref<256xi8, 3>'
    number = "gpu.subgroup_id : index" if level == "subgroup" else "arith.constant 1 : index"
    body = f"%raw = memref.get_global @raw : memref<256xi8, 3> %s = {number}\n{body}"
    text = kernel(body, "%a: i64", before=before).replace("%t = gpu.thread_id x", "%t = arith.constant 0 : index")
    outcome = launch(text, [0], (1, 1, 1), level=level)  # pyright: ignore[reportArgumentType]
    if who is None:
        assert [finding.rule for finding in outcome.findings] == ["run.uninitialised"]
    else:
        assert [finding.rule for finding in outcome.findings] == ["run.race"]
        assert f"reads byte 128 of shared memory raw, which {who} wrote" in outcome.findings[0].message


# Named barriers

PRODUCERS = """
%n = arith.constant 3 : i8 %both = arith.constant 2 : i8 %s = gpu.subgroup_id : index
xegpu.alloc_nbarrier 8
%b = xegpu.init_nbarrier %n, %both : i8, i8 -> !xegpu.nbarrier
%o = arith.xori %t, %c16 : index
memref.store %x, %slm[%t] : memref<64xi32, 3>
ARRIVE
WAIT
%y = memref.load %slm[%o] : memref<64xi32, 3>
memref.store %y, %c[%t] : memref<64xi32>
"""
ARRIVE, WAIT = "xegpu.nbarrier_arrive %b : !xegpu.nbarrier", "xegpu.nbarrier_wait %b : !xegpu.nbarrier"


def test_a_named_barrier_orders_its_participants() -> None:
    values = arrays()
    body = PRODUCERS.replace("ARRIVE", ARRIVE).replace("WAIT", WAIT)
    assert found(run(body, ARGUMENTS, values)) == []
    assert np.array_equal(values[1][:32], np.arange(32) ^ 16)


def test_arriving_without_waiting_orders_nothing() -> None:
    body = PRODUCERS.replace("ARRIVE", ARRIVE).replace("WAIT", "")
    assert found(run(body, ARGUMENTS, arrays())) == [("run.race", 12)]


def test_a_named_barrier_does_not_order_the_others() -> None:
    """Four subgroups; 0 and 1 meet at barrier 3, 2 and 3 at barrier 4: reading across the pairs is a race."""
    number = "%high = arith.shrui %s, %c1 : index %h = arith.index_cast %high : index to i8 %k = arith.addi %n, %h : i8"
    for distance, rules in ((16, []), (32, [("run.race", 12)])):
        body = PRODUCERS.replace("ARRIVE", ARRIVE).replace("WAIT", WAIT).replace("%t, %c16", f"%t, %c{distance}")
        body = body.replace("xegpu.alloc_nbarrier 8", f"xegpu.alloc_nbarrier 8 {number}").replace(
            "%n, %both", "%k, %both"
        )
        assert found(run(body, ARGUMENTS, arrays(), items=64)) == rules, distance


def test_waiting_for_nobody_is_a_deadlock() -> None:
    body = PRODUCERS.replace("ARRIVE", "").replace("WAIT", WAIT)
    outcome = run(body, ARGUMENTS, arrays())
    assert found(outcome) == [("run.deadlock", 11)]
    assert "0 of 2 have arrived" in outcome.findings[0].message


# Atomic operations


@pytest.mark.parametrize("kind", KINDS)
def test_atomic_operations_are_done_one_after_another(kind: str) -> None:
    rng = np.random.default_rng(3)
    dtype = np.float32 if kind.endswith("f") else np.int32
    for _ in range(20):
        cells = rng.integers(-5, 6, 4).astype(dtype)
        places, values = rng.integers(0, 4, 12), rng.integers(-5, 6, 12).astype(dtype)
        expected, before = cells.copy(), np.zeros(12, dtype)
        for i, (place, value) in enumerate(zip(places, values, strict=True)):
            old = before[i] = expected[place]
            expected[place] = _one(kind, old, value)
        assert np.array_equal(combined(kind, cells, places, values), before)
        assert np.array_equal(cells, expected)


def _one(kind: str, old: Any, new: Any) -> Any:
    """By the kind's definition, on Python's numbers."""
    a, b = old.item(), new.item()
    bits = (1 << 32) - 1
    match kind:
        case "addf" | "addi":
            return a + b
        case "mulf" | "muli":
            return np.int64(a * b).astype(np.int32) if kind == "muli" else a * b
        case "andi":
            return a & b
        case "ori":
            return a | b
        case "xori":
            return a ^ b
        case "assign":
            return b
        case "maxu":
            return a if (a & bits) > (b & bits) else b
        case "minu":
            return a if (a & bits) < (b & bits) else b
        case _:
            return max(a, b) if kind.startswith("max") else min(a, b)


def test_a_nan_wins_in_maximumf_and_loses_in_maxnumf() -> None:
    for kind, expected in (("maximumf", np.nan), ("minimumf", np.nan), ("maxnumf", 3.0), ("minnumf", 3.0)):
        cells = np.array([np.nan], np.float32)
        combined(kind, cells, np.array([0]), np.array([3.0], np.float32))
        assert np.array_equal(cells, np.array([expected], np.float32), equal_nan=True)


def test_zeros_have_an_order_in_maximumf() -> None:
    for kind, sign in (("maximumf", False), ("minimumf", True)):
        for first, second in ((0.0, -0.0), (-0.0, 0.0)):
            cells = np.array([first], np.float32)
            combined(kind, cells, np.array([0]), np.array([second], np.float32))
            assert np.signbit(cells[0]) == sign


# What launches leave alone


def test_a_product_in_two_launches_is_no_race() -> None:
    gemm = plan_gemm(16, 32, 32)
    memory, c = Memory(), np.zeros((16, 32), np.float32)
    addresses = [memory.bind(n, np.ones(s, np.float16)) for n, s in (("A", (16, 32)), ("B", (32, 32)))]
    addresses.append(memory.bind("C", c))
    for _ in range(2):
        run_kernel(gemm.emit("lane"), [*addresses, *gemm.arguments], gemm.grid, memory)
    assert (c == 32).all()


# Scattered descriptors, at subgroup level


@pytest.mark.parametrize("kind", ["addi", "maxs", "minu", "xori", "assign"])
def test_scattered_descriptors_move_their_points(kind: str) -> None:
    """Every subgroup of 16 has points at 3 * its lane, moves them by one, and combines them with what was there."""
    tdesc = "!xegpu.tensor_desc<16xi32, #xegpu.scatter_tdesc_attr<chunk_size = 1 : i64>>"
    body = (
        "%n = arith.constant dense<[0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45]> : vector<16xindex>\n"
        "%ones = arith.constant dense<1> : vector<16xindex> %v = arith.constant dense<-7> : vector<16xi32>\n"
        "%mask = arith.constant dense<[true, true, true, true, false, true, true, true, true, true, true, true, true, true, "
        f"true, false]> : vector<16xi1>\n%d = xegpu.create_tdesc %a, %n : memref<64xi32>, vector<16xindex> -> {tdesc}\n"
        f"%e = xegpu.update_offset %d, %ones : {tdesc}, vector<16xindex>\n"
        f"%old = xegpu.atomic_rmw {kind} %e, %mask, %v : {tdesc}, vector<16xi1>, vector<16xi32> -> vector<16xi32>\n"
        f"%f = xegpu.create_tdesc %c, %n : memref<64xi32>, vector<16xindex> -> {tdesc}\n"
        f"xegpu.store %old, %f, %mask : vector<16xi32>, {tdesc}, vector<16xi1>"
    )
    values = arrays()
    text = kernel(body, ARGUMENTS, items=16).replace("%t = gpu.thread_id x", "%t = arith.constant 0 : index")
    assert found(launch(text, values, (1, 1, 1), level="subgroup")) == []
    places = np.delete(np.arange(16), [4, 15]) * 3
    given = arrays()[0]
    expected = given.copy()
    expected[places + 1] = [_one(kind, old, np.int32(-7)) for old in given[places + 1]]
    assert np.array_equal(values[0], expected)
    assert np.array_equal(values[1][places], given[places + 1])


@pytest.mark.parametrize("most", [1 << 17, (1 << 17) + 1])
def test_shared_memory_is_what_the_chip_has(most: int) -> None:
    """A grid of many workgroups with all the shared memory there is needs no more than a few of them at a time."""
    before = f'memref.global "private" @big : memref<{most}xi8, 3>'
    body = (
        f"%s = memref.get_global @big : memref<{most}xi8, 3> %b = arith.constant 1 : i8\n"
        f"memref.store %b, %s[%t] : memref<{most}xi8, 3>\n%y = memref.load %s[%t] : memref<{most}xi8, 3>"
    )
    text = kernel(body, ARGUMENTS, before=before, items=16)
    if most == 1 << 17:
        assert launch(text, arrays(), (600, 1, 1)).findings == ()
    else:
        with pytest.raises(LayoutError, match="131073 bytes of shared memory; a workgroup on pvc has 131072 at most"):
            launch(text, arrays(), (1, 1, 1))
