"""The intrinsics, their operands in contractions and data-tiled kinds against tables that IREE 3.13 gave."""

from __future__ import annotations

from typing import Any

import pytest

from layoutalg.core import DistributionError
from layoutalg.nested.gpu import (
    INTRINSICS,
    VIRTUAL_INTRINSICS,
    DataTiledMMAAttr,
    MMAFragment,
    contraction_operands,
    intrinsic,
    mma,
    parse_gpu,
)
from tests.oracle.tables import lines

TABLE = lines("mma_intrinsics.jsonl.gz")
KNOWN = [row for row in TABLE if row["kind"] != "names_only"]
SCHEDULES = lines("mma_nested.jsonl.gz")
TILED = lines("data_tiled.jsonl.gz")


def test_none_is_missing() -> None:
    assert (len(KNOWN), len(SCHEDULES), len(TILED)) == (102, 58, 74)
    assert {row["name"] for row in TABLE if row["name"][:10] != "MFMA_SCALE"} == {*INTRINSICS, *VIRTUAL_INTRINSICS}


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: row["name"])
def test_sizes_types_and_layouts_of_every_intrinsic(row: dict[str, Any]) -> None:
    one = intrinsic(row["name"])
    assert (one.m, one.n, one.k, one.blocks) == (row["M"], row["N"], row["K"], row["blocks"])
    assert (one.a_type, one.b_type, one.c_type) == (row["a"], row["b"], row["c"])
    assert one.subgroup_size == row["subgroup_size"]
    for name in row.get("documented_names", ()):
        assert intrinsic(name) == one
    if row["kind"] == "opaque":
        with pytest.raises(DistributionError, match="opaque"):
            _ = mma(row["name"]).lhs
        return
    for fragment in MMAFragment:
        expected, operand = row["layout"][fragment.name], one.operand(fragment)
        # The stride of a unit factor means nothing; IREE's nested layouts store it as 0.
        strides = [0 if n == 1 else s for n, s in zip(expected["thread"], expected["tstrides"], strict=True)]
        assert [list(operand.outer), list(operand.thread)] == [expected["outer"], expected["thread"]]
        assert [list(operand.tstrides), list(operand.element)] == [strides, expected["element"]]


@pytest.mark.parametrize("row", [r for r in KNOWN if r["kind"] != "opaque"], ids=lambda row: row["name"])
def test_each_operand_is_a_layout_that_the_table_s_formula_enumerates(row: dict[str, Any]) -> None:
    """By brute force from the table's own formula: every lane and register holds that element, and no other does."""
    from itertools import product
    from math import prod

    kind = mma(row["name"])
    for fragment in MMAFragment:
        table, layout = row["layout"][fragment.name], kind.operand_layout(fragment)
        held = layout.fragment_map()[0]
        copies = 0
        for lane in range(row["subgroup_size"]):
            virtual = [(lane // s) % n if n > 1 else 0 for n, s in zip(table["thread"], table["tstrides"], strict=True)]
            slots = product(product(*map(range, table["outer"])), product(*map(range, table["element"])))
            for register, (outer, element) in enumerate(slots):
                expected = [
                    (o * n + t) * size + e
                    for o, n, t, size, e in zip(outer, table["thread"], virtual, table["element"], element, strict=True)
                ]
                assert held[lane, register].tolist() == expected
                copies += 1
        assert copies == prod(layout.shape) * prod(f.extent for f in layout.replicas)


@pytest.mark.parametrize("row", SCHEDULES, ids=lambda row: f"{row['intrinsic']}-{row['sizes']}")
def test_operands_of_contractions(row: dict[str, Any]) -> None:
    kind = mma(row["intrinsic"], row["col_major"])
    found = contraction_operands(kind, row["sizes"], *row["subgroup_basis"], maps=row["maps"])
    assert [str(one) for one in found] == row["layouts"]


@pytest.mark.parametrize("row", TILED, ids=lambda row: row["kind"][50:90])
def test_data_tiled_kinds(row: dict[str, Any]) -> None:
    kind = parse_gpu(row["kind"])
    assert isinstance(kind, DataTiledMMAAttr)
    assert str(kind) == row["kind"]
    assert row["workers"] == [kind.subgroups * kind.subgroup_size]
    for fragment in MMAFragment:
        swizzle = kind.swizzle(fragment)
        expected = expansion(row, fragment)
        if "permutation" in expected:
            assert [list(digits) for digits in swizzle.expand] == expected["expand"]
            assert list(swizzle.permutation) == expected["permutation"]
        else:
            # IREE folded a transposition that moves only factors of extent 1: in memory it is the plain tile.
            assert [[n for n in digits if n > 1] for digits in swizzle.expand] == [
                [n for n in digits if n > 1] for digits in expected["expand"]
            ]
            moved = [i for i in swizzle.permutation if [n for d in swizzle.expand for n in d][i] > 1]
            assert moved == sorted(moved)
        if "tile_shapes" in row:
            assert list(swizzle.tile_shape) == row["tile_shapes"][fragment]
    for tid, slices in row["thread_slices"].items():
        for fragment in MMAFragment:
            found = kind.swizzle(fragment).slice_of(int(tid), kind.subgroup_size)
            assert [list(part) for part in found] == slices[fragment]


def expansion(row: dict[str, Any], fragment: MMAFragment) -> dict[str, Any]:
    if row["source"] == "encoding":
        iree: dict[str, Any] = row["operands"][fragment]["iree"]
        return iree
    return {
        "expand": [[digit[1] for digit in digits] for digits in row["expand"][fragment]],
        "permutation": row["permutation"][fragment],
    }


@pytest.mark.parametrize("row", TILED[::5], ids=lambda row: row["kind"][50:90])
def test_a_data_tiled_layout_is_its_thread_slices(row: dict[str, Any]) -> None:
    """By brute force: walk a thread's slice in memory order; its n-th element is the thread's register n."""
    from itertools import product

    kind = parse_gpu(row["kind"])
    assert isinstance(kind, DataTiledMMAAttr)
    for fragment in MMAFragment:
        expected = expansion(row, fragment)
        extents = [n for digits in expected["expand"] for n in digits]
        order = expected.get("permutation", list(range(len(extents))))
        if len(order) != len(row["thread_slices"]["0"][fragment][0]):
            continue
        held = kind.operand_layout(fragment).fragment_map()
        first = len(expected["expand"][0])
        for tid, slices in list(row["thread_slices"].items())[:64]:
            offsets, sizes = slices[fragment]
            lane = divmod(int(tid), kind.subgroup_size)
            for register, place in enumerate(product(*map(range, sizes))):
                digits = [0] * len(extents)
                for at, where in enumerate(order):
                    digits[where] = offsets[at] + place[at]
                element = [row_major(digits[:first], extents[:first]), row_major(digits[first:], extents[first:])]
                assert held[(*lane, register)].tolist() == element


def row_major(digits: list[int], extents: list[int]) -> int:
    place = 0
    for digit, extent in zip(digits, extents, strict=True):
        place = place * extent + digit
    return place
