"""What a launch executed, against counts made by hand and by brute force."""

import numpy as np
import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.simulate import Memory, launch, run_kernel

ROWS, STEPS = 40, 5

# Two subgroups load blocks of 8x16 of a matrix of f16, one below the other, five steps to the right. Each asks for one block of
# the two, DISTANCE steps ahead: subgroup 0 for the upper, subgroup 1 for the lower.
TEXT = """gpu.module @k { gpu.func @f(%a: i64, %n: index, %c: i64) kernel attributes {intel_reqd_sub_group_size = 16 : i32,
    known_block_size = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %ahead = arith.constant AHEAD : index
  %steps = arith.constant 5 : index
  %bx = gpu.block_id x
  %sg = gpu.subgroup_id : index
  %wg = arith.muli %bx, %c16 : index
  %own = arith.muli %sg, %c8 : index
  %row = arith.addi %wg, %own : index
  %t = xegpu.create_nd_tdesc %a, shape: [40, %n], strides: [88, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
  %zero = arith.constant dense<0.0> : vector<8xf16>
  %s = scf.for %i = %c0 to %steps step %c1 iter_args(%sum = %zero) -> (vector<8xf16>) {
    %x = arith.muli %i, %c16 : index
    %next = arith.addi %x, %ahead : index
    PREFETCH
    %v = xegpu.load_nd %t[%row, %x] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>
    %sum2 = arith.addf %sum, %v : vector<8xf16>
    scf.yield %sum2 : vector<8xf16>
  }
  %out = xegpu.create_nd_tdesc %c, shape: [48, 32], strides: [32, 1] : i64 -> !xegpu.tensor_desc<8x16xf16>
  xegpu.store_nd %s, %out[%row, 0] : vector<8xf16>, !xegpu.tensor_desc<8x16xf16>
  gpu.return } }"""
PREFETCH = "xegpu.prefetch_nd %t[%row, %next] : !xegpu.tensor_desc<8x16xf16>"


def run(prefetch=PREFETCH, ahead=16, columns=80, counted="lines"):
    a, c = np.ones((ROWS, 88), np.float16), np.zeros((48, 32), np.float16)
    a.flags.writeable = False
    text = TEXT.replace("PREFETCH", prefetch).replace("AHEAD", str(ahead))
    return launch(text, [a, columns, c], (3, 1, 1), counted=counted).executed


def test_messages_and_their_bytes_are_those_of_every_subgroup_and_step():
    executed = run(columns=76)
    size = 8 * 16 * 2
    blocks = [(row, 16 * step) for row in range(0, 48, 8) for step in range(STEPS)]

    def inside(row, column):
        return sum(r < ROWS and c < 76 for r in range(row, row + 8) for c in range(column, column + 16)) * 2

    loads, prefetches, stores = (executed.total(kind) for kind in ("load", "prefetch", "store"))
    assert (loads.messages, loads.bytes) == (len(blocks), len(blocks) * size)
    assert loads.inside == sum(inside(*block) for block in blocks)
    assert prefetches.inside == sum(inside(row, column + 16) for row, column in blocks)
    assert (stores.messages, stores.inside) == (6, 6 * size)
    assert set(executed.by_name) == {"read_16b_8r16x1c", "prefetch_16b_8r16x1c", "write_16b_8r16x1c"}
    assert executed.dpas == 0
    # The last subgroup is below the matrix: it sends its messages, and they move nothing.
    assert executed.of(2, 1).total("load") == type(loads)(STEPS, STEPS * size, 0)
    assert executed.of(2, 0).total("load").inside == executed.of(0, 0).total("load").inside


def test_what_prefetches_ask_for_is_clipped_at_the_edges():
    """Rows are 176 bytes apart, so lines are shared by rows and blocks; what is compared are bytes."""
    executed = run(columns=76)
    lines = executed.lines
    assert [len(found) for found in (lines.asked_twice, lines.late, lines.never_loaded, lines.not_prefetched(1))] == [
        0
    ] * 4
    # Nobody asked for what the first step loads: 16 columns of each row, 32 bytes, of the workgroup's rows.
    named = {
        (group, (row * 176 + byte) // 64)
        for group in range(3)
        for row in range(16 * group, min(16 * group + 16, ROWS))
        for byte in range(32)
    }
    first = lines.not_prefetched(0)
    base = 1 << 40 >> 6
    assert set(zip(first.workgroup.tolist(), (first.line - base).tolist(), strict=True)) == named
    every = {
        (group, (row * 176 + byte) // 64)
        for group in range(3)
        for row in range(16 * group, min(16 * group + 16, ROWS))
        for byte in range(152)
    }
    assert set(zip(lines.workgroup.tolist(), (lines.line - base).tolist(), strict=True)) == every


@pytest.mark.parametrize(
    ("prefetch", "ahead", "rules"),
    [
        (PREFETCH, 16, {"prefetch.outside"}),
        (PREFETCH, 0, {"prefetch.late", "prefetch.outside"}),  # in the step of the load
        (PREFETCH + "\n" + PREFETCH, 16, {"prefetch.twice", "prefetch.outside"}),
        (PREFETCH.replace("%row", "%wg"), 16, {"prefetch.twice", "prefetch.missing", "prefetch.outside"}),
        ("", 16, {"prefetch.missing"}),
        (PREFETCH.replace("%next]", "%c8]"), 16, {"prefetch.twice", "prefetch.late", "prefetch.missing", "prefetch.outside"}),
    ],
)  # fmt: skip
def test_findings_of_prefetches(prefetch, ahead, rules):
    assert {finding.rule for finding in run(prefetch, ahead).lines.findings(1)} == rules


def test_two_steps_ahead_leaves_two_steps_without():
    lines = run(ahead=32).lines
    assert len(lines.not_prefetched(1)) > 0
    assert len(lines.not_prefetched(2)) == 0
    assert set(lines.where((lines.asked > 0) & (lines.missed_at < 0)).ahead.tolist()) == {2}


def test_prefetches_of_addresses_ask_for_whole_lines():
    """Every lane of a subgroup asks for a line of its own; the fifth row's are of no buffer's."""
    text = """gpu.module @k { gpu.func @f(%a: i64) kernel attributes {intel_reqd_sub_group_size = 16 : i32,
        known_block_size = array<i32: 16, 1, 1>} {
      %lane = gpu.lane_id
      %c64 = arith.constant 64 : index
      %at = arith.muli %lane, %c64 : index
      %by = arith.index_cast %at : index to i64
      %p = arith.addi %a, %by : i64
      %c0 = arith.constant 0 : index
      xegpu.prefetch %p[%c0] <{offset_align_byte = 4 : i64}> : i64, index
      gpu.return } }"""
    array = np.zeros(12 * 16, np.float32)
    executed = launch(text, [array], (1, 1, 1), counted="lines").executed
    assert executed.total("prefetch") == type(executed.total("load"))(1, 16 * 64, 12 * 64)
    assert (executed.lines.line - (1 << 34)).tolist() == list(range(12))
    assert [finding.rule for finding in executed.lines.findings()] == ["prefetch.unused", "prefetch.outside"]


def test_single_elements_are_counted_by_subgroups():
    text = """gpu.module @k { gpu.func @f(%a: memref<?xf32>, %b: memref<?xf32>) kernel attributes
        {intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: 32, 1, 1>} {
      %i = gpu.thread_id x
      %c24 = arith.constant 24 : index
      %low = arith.cmpi ult, %i, %c24 : index
      scf.if %low {
        %x = memref.load %a[%i] : memref<?xf32>
        memref.store %x, %b[%i] : memref<?xf32>
      }
      gpu.return } }"""
    given, found = np.ones(32, np.float32), np.zeros(32, np.float32)
    executed = launch(text, [given, found], counted="messages").executed
    assert executed.lines is None
    totals = {name: (total.messages, total.inside) for name, total in executed.by_name.items()}
    assert totals == {"memref.load": (2, 96), "memref.store": (2, 96)}


def test_nothing_is_counted_unless_asked_for_and_only_what_can_be():
    assert run(counted=None) is None
    assert run_kernel("gpu.module @k { gpu.func @f() kernel attributes {intel_reqd_sub_group_size = 16 : i32, "
                      "known_block_size = array<i32: 16, 1, 1>} { gpu.return } }", [], (1, 1, 1), Memory()) is None  # fmt: skip
    with pytest.raises(LayoutError, match="counted 'bytes': expected 'messages' or 'lines'"):
        run(counted="bytes")
    executed = run()
    with pytest.raises(LayoutError, match="workgroup = 3: expected a whole number from 0 to 2"):
        executed.of(3, 0)
    with pytest.raises(LayoutError, match="expected 'load', 'store' or 'prefetch'"):
        executed.total("loads")
