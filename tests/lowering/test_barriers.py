"""Kernels in which some conversions wait for their subgroup alone: no race, whatever bytes they share, and no more of them."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.lowering.placed_text import Placed, placed
from layoutalg.lowering.together import together
from tests.lowering.conversion_modules import MODULES

LANES, SUBGROUPS = 16, 4
ITEMS = LANES * SUBGROUPS
BARRIERS = {
    "workgroup": "gpu.barrier",
    "subgroup": "llvm.call spir_funccc @_Z22__spirv_ControlBarrieriii(%c3, %c3, %c264) {convergent} : (i32, i32, i32) -> ()",
}


def use(number: int, taken: str, places: int, parts: int, scope: str, other: str) -> list[str]:
    """Store a word, wait, and load that of the work-item `other` says, from a buffer of so many parts."""
    at, kind = ("%lane" if parts > 1 else "%item"), f"memref<{places}xi32, 3 : i64>"
    return [
        f"%x{number} = builtin.unrealized_conversion_cast to {kind} {{subgroups = {parts} : i64}}",
        f"memref.store {taken}, %x{number}[{at}] : {kind}",
        BARRIERS[scope],
        f"%v{number} = memref.load %x{number}[{other}] : {kind}",
    ]


def random_body(seed: int) -> tuple[list[str], Any, int]:
    """Conversions one after another, inside subgroups or between them; what is stored at the end; how many of the first."""
    rng, lines, held, inside = Random(f"barriers {seed}"), list[str](), np.arange(100, 100 + ITEMS), 0
    taken = "%a"
    for number in range(rng.randint(2, 6)):
        turned = held.reshape(SUBGROUPS, LANES)[:, ::-1].reshape(-1)
        match rng.choice(["own", "own", "shared", "all"]):
            case "own":  # bytes of its own for each subgroup
                lines += use(number, taken, rng.choice([16, 16, 48]), SUBGROUPS, "subgroup", "%lane_back")
                held, inside = turned, inside + 1
            case "shared":  # each subgroup keeps to its part of one buffer
                lines += use(number, taken, ITEMS, 1, "subgroup", "%own_back")
                held, inside = turned, inside + 1
            case _:
                lines += use(number, taken, ITEMS, 1, "workgroup", "%item_back")
                held = held[::-1]
        taken = f"%v{number}"
    return [*lines, f"memref.store {taken}, %out[%item] : memref<{ITEMS}xi32>", "gpu.return"], held, inside


HEAD = (
    "%c0 = arith.constant 0 : index",
    "%item = gpu.thread_id x",
    f"%lanes = arith.constant {LANES} : index",
    "%lane = arith.remui %item, %lanes : index",
    f"%last_lane = arith.constant {LANES - 1} : index",
    f"%last = arith.constant {ITEMS - 1} : index",
    "%lane_back = arith.subi %last_lane, %lane : index",
    "%item_back = arith.subi %last, %item : index",
    "%first = arith.subi %item, %lane : index",
    "%own_back = arith.addi %first, %lane_back : index",
    "%c3 = arith.constant 3 : i32",
    "%c264 = arith.constant 264 : i32",
    f"%a = memref.load %in[%item] : memref<{ITEMS}xi32>",
)


def run(found: Placed) -> tuple[Any, set[str]]:
    text = f"""gpu.module @m {{
llvm.func spir_funccc @_Z22__spirv_ControlBarrieriii(i32, i32, i32) attributes {{convergent}}
gpu.func @k(%in: memref<{ITEMS}xi32>, %out: memref<{ITEMS}xi32>) workgroup(%slm : memref<{found.bytes}xi8, 3 : i64>) kernel
  attributes {{intel_reqd_sub_group_size = {LANES} : i32, known_block_size = array<i32: {ITEMS}, 1, 1>}} {{
{found.body}
}} }}"""
    given, out = np.arange(100, 100 + ITEMS, dtype=np.int32), np.zeros(ITEMS, np.int32)
    done = la.read(text).run([given, out], (1, 1, 1))
    return out, {finding.rule for finding in done.findings}


@pytest.mark.parametrize("seed", range(10))
def test_conversions_inside_subgroups_and_between_them_do_not_meet(seed: int) -> None:
    lines, wanted, inside = random_body(seed)
    for limit in (1024, 1 << 16):
        found = placed("\n".join([*HEAD, *lines]), "%slm", limit, subgroups=SUBGROUPS)
        assert found.bytes <= limit
        assert found.body.count("ControlBarrier") == inside
        out, rules = run(found)
        assert not rules, found.body
        assert np.array_equal(out, wanted)


@pytest.mark.parametrize(
    ("sizes", "bytes_", "added"),
    [
        ([(64, 4)] * 4, 2048, 0),  # divided alike: a subgroup meets nobody in its part, two places are enough
        ([(64, 4), (32, 4)] * 2, 1536, 0),
        ([(64, 4), (64, 1)] * 2, 1536, 0),
        ([(2048, 1)] * 4, 16384, 1),  # more bytes than a subgroup's share: then all wait once more
    ],
)
def test_bytes_are_shared_with_those_that_are_divided_alike(
    sizes: list[tuple[int, int]], bytes_: int, added: int
) -> None:
    lines, taken = list(HEAD), "%a"
    for number, (places, parts) in enumerate(sizes):
        lines += use(number, taken, places, parts, "subgroup", "%lane_back" if parts > 1 else "%own_back")
        taken = f"%v{number}"
    lines += [f"memref.store {taken}, %out[%item] : memref<{ITEMS}xi32>", "gpu.return"]
    found = placed("\n".join(lines), "%slm", 65536, subgroups=SUBGROUPS)
    assert (found.bytes, found.barriers) == (bytes_, added)
    assert not run(found)[1]


@pytest.mark.parametrize(("first", "second"), list(product(BARRIERS, repeat=2)))
def test_whom_a_barrier_waits_for_is_enough_for_what_stores_before_it(first: str, second: str) -> None:
    """Two conversions of one value store together, but not one of the workgroup before a barrier of a subgroup."""
    back = {"subgroup": "%own_back", "workgroup": "%item_back"}
    lines = [*use(0, "%a", ITEMS, 1, first, back[first]), *use(1, "%a", ITEMS, 1, second, back[second])]
    lines += ["%sum = arith.addi %v0, %v1 : i32", f"memref.store %sum, %out[%item] : memref<{ITEMS}xi32>", "gpu.return"]
    body = "\n".join([*HEAD, *lines])
    merged = together(body, 1 << 16)
    waits = [line for line in merged.splitlines() if line in BARRIERS.values()]
    assert len(waits) == (2 if (first, second) == ("subgroup", "workgroup") else 1)
    assert waits[0] == BARRIERS[first]
    found = placed(body, "%slm", 1 << 16, subgroups=SUBGROUPS)
    assert not run(found)[1]


def test_each_module_of_kernels_declares_the_call_once() -> None:
    """Two kernels in one module, one in another, and one in a module that declares it itself."""
    kernel = MODULES["transpose_f16"].module
    function = kernel[kernel.index("gpu.func") : kernel.rindex("}")]
    named = [function.replace("@transpose_f16(", f"@k{number}(") for number in range(4)]
    own = "llvm.func spir_funccc @_Z22__spirv_ControlBarrieriii(i32, i32, i32) attributes {convergent}"
    groups = [named[:2], named[2:3], [own, *named[3:]]]
    text = "\n".join([f"gpu.module @m{number} {{ {' '.join(group)} }}" for number, group in enumerate(groups)])
    made = la.lower(la.read(text)).module
    assert made is not None
    parts = made.source.split("gpu.module")[1:]
    assert [part.count("llvm.func") for part in parts] == [1, 1, 1]
    assert [part.count("llvm.call") for part in parts] == [4, 2, 2]


@pytest.mark.parametrize(("order", "added"), [(0x108, 0), (0x110, 0), (0x208, 1), (0x100, 1), (0, 1)])
def test_a_call_that_does_not_order_shared_memory_is_no_barrier(order: int, added: int) -> None:
    """A kernel's own OpControlBarrier between two conversions that share bytes: in 256 there is room for one."""
    between = BARRIERS["subgroup"].replace("%c3", "%c2").replace("%c264", "%o")
    first, second = (use(n, f"%v{n - 1}" if n else "%a", ITEMS, 1, "workgroup", "%item_back") for n in range(2))
    lines = ["%c2 = arith.constant 2 : i32", f"%o = arith.constant {order} : i32", *first, between, *second]
    found = placed("\n".join([*HEAD, *lines, "gpu.return"]), "%slm", 256, subgroups=SUBGROUPS)
    assert (found.bytes, found.barriers) == (256, added)


def in_place(name: str) -> str:
    """A kernel of four subgroups at lane level: each turns its tile in place, there, back and there, and doubles it."""
    here, turned = (f"#xegpu.layout<lane_layout = {one}, lane_data = [1, 1]>" for one in ([1, 16], [16, 1]))
    ends = [("16x1", here, turned), ("1x16", turned, here), ("16x1", here, turned)]
    lines = [
        f"%x{n} = vector.shape_cast %v{n} : vector<16xf16> to vector<{kind}xf16>\n"
        f"%y{n} = xegpu.convert_layout %x{n} <{{input_layout = {a}, target_layout = {b}}}> : vector<{kind}xf16>\n"
        f"%z{n} = vector.shape_cast %y{n} : vector<{kind}xf16> to vector<16xf16>\n"
        f"%v{n + 1} = arith.addf %z{n}, %z{n} : vector<16xf16>"
        for n, (kind, a, b) in enumerate(ends)
    ]
    memory, flat = f"memref<{ITEMS}x16xf16>", "vector<16xf16>"
    return "\n".join(
        [
            f"gpu.func @{name}(%p: {memory}, %q: {memory}) kernel attributes {{",
            f"known_block_size = array<i32: {ITEMS}, 1, 1>, intel_reqd_sub_group_size = {LANES} : i32}} {{",
            "%c0 = arith.constant 0 : index",
            "%item = gpu.thread_id x",
            f"%v0 = vector.load %p[%item, %c0] : {memory}, {flat}",
            *lines,
            f"vector.store %v3, %q[%item, %c0] : {memory}, {flat}",
            "gpu.return }",
        ]
    )


def test_fragments_converted_in_place_wait_for_their_subgroup_alone() -> None:
    """Two kernels of a module that declares the call once; without any one of the barriers there is a race."""
    made = la.lower(la.read(f"gpu.module @m {{ {in_place('k')} {in_place('other')} }}")).module
    assert made is not None
    assert made.source.count("llvm.func") == 1
    text = la.lower(la.read(f"gpu.module @m {{ {in_place('k')} }}")).module
    assert text is not None
    lines = text.source.splitlines()
    barriers = [number for number, line in enumerate(lines) if "llvm.call" in line or "gpu.barrier" in line]
    assert ["llvm.call" in lines[number] for number in barriers] == [True] * 3
    for left_out in (None, *barriers):
        given, out = np.arange(ITEMS * LANES, dtype=np.float16).reshape(ITEMS, LANES), np.zeros((ITEMS, LANES), "f2")
        kept = "\n".join([line for number, line in enumerate(lines) if number != left_out])
        rules = {finding.rule for finding in la.read(kept).run([given, out], (1, 1, 1)).findings}
        assert rules == (set() if left_out is None else {"run.race"})
        if left_out is None:
            tiles = given.reshape(SUBGROUPS, LANES, LANES)
            assert np.array_equal(out.reshape(tiles.shape), 8 * tiles.swapaxes(1, 2))
