"""Coordinate tables and verdicts that LLVM computed: all of them, none left out.

`xegpu_tables.jsonl.gz` has block origins per id (LLVM 22.1.8); `xegpu_verdicts.jsonl.gz` acceptance with LLVM 22's
diagnostic, and `xegpu_verdicts_llvm23_24.jsonl.gz` what LLVM 23.1.4 and 24 say to the same questions (null where they
accept). Where a table gives the whole fragment ("full", or a `fragment_shape`), the `Layout` is compared too, element by
element.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import prod
from typing import Any

import pytest

from layoutalg.core import DistributionError
from layoutalg.xegpu import LayoutAttr, SliceAttr, parse_attribute
from tests.oracle.tables import lines

TABLES = lines("xegpu_tables.jsonl.gz")
VERDICTS = lines("xegpu_verdicts.jsonl.gz")
LATER_VERDICTS = lines("xegpu_verdicts_llvm23_24.jsonl.gz")


def test_no_table_and_no_verdict_is_missing() -> None:
    assert len(TABLES) == 2094
    assert len(VERDICTS) == 2438
    assert [(row["layout"], row["shape"]) for row in LATER_VERDICTS] == [(r["layout"], r["shape"]) for r in VERDICTS]


def test_every_verdict_and_every_diagnostic_agrees() -> None:
    wrong = []
    for row in VERDICTS:
        found = parse_attribute(row["layout"]).check(row["shape"], llvm=22)
        if found != row["diagnostic"] or (found is None) != row["accepted"]:
            wrong.append((row, found))
    assert not wrong, (len(wrong), wrong[:5])


@pytest.mark.parametrize("llvm", [23, 24])
def test_every_verdict_of_later_versions_agrees_in_their_words(llvm: int) -> None:
    """No question of the table crashed a compiler: none is left out. 628 pairs are judged otherwise than by LLVM 22."""
    wrong = []
    for row in LATER_VERDICTS:
        found = parse_attribute(row["layout"]).check(row["shape"], llvm=llvm)
        if found != row[f"llvm{llvm}"]:
            wrong.append((row, found))
    assert not wrong, (len(wrong), wrong[:5])
    before = [row["diagnostic"] is None for row in VERDICTS]
    assert sum((row[f"llvm{llvm}"] is None) != was for row, was in zip(LATER_VERDICTS, before, strict=True)) == 628


@pytest.mark.parametrize(
    ("level", "asked"), [("workgroup", "workgroup"), ("subgroup", "subgroup"), ("inst", "instruction")]
)
def test_every_block_origin_agrees(level: str, asked: str) -> None:
    rows = [row for row in TABLES if row["level"] == level]
    assert rows
    wrong = []
    for row in rows:
        found = parse_attribute(row["layout"]).blocks(row["shape"], level=asked)
        expected = {int(one or 0): [tuple(o) for o in origins] for one, origins in row["coords"].items()}
        if found != expected:
            wrong.append((row["layout"], row["shape"]))
    assert not wrong, (len(wrong), wrong[:5])


def test_blocks_default_to_the_outermost_level() -> None:
    for row in TABLES:
        attr = parse_attribute(row["layout"])
        if row["level"] == "workgroup" or (row["level"] == "subgroup" and "sg_layout" not in row["layout"]):
            assert attr.blocks(row["shape"]) == attr.blocks(row["shape"], level=row["level"])


def elements(origin: list[int], block: list[int]) -> list[tuple[int, ...]]:
    return [tuple(o + i for o, i in zip(origin, at, strict=True)) for at in product(*(range(n) for n in block))]


def outermost(row: dict[str, Any]) -> LayoutAttr | SliceAttr:
    """The attribute of a row with the one level that its table is about."""
    names = ("sg_layout", "sg_data") if row["level"] == "workgroup" else ("lane_layout", "lane_data")

    def bare(attr: LayoutAttr | SliceAttr) -> LayoutAttr | SliceAttr:
        if isinstance(attr, SliceAttr):
            return SliceAttr(bare(attr.parent), attr.dims)
        return LayoutAttr(**{name: getattr(attr, name) for name in names}, order=attr.order)

    return bare(parse_attribute(row["layout"]))


def test_registers_count_as_llvms_blocks_do() -> None:
    """Without lanes, the blocks of a subgroup one after another, each row-major, are its registers."""
    compared = 0
    for row in TABLES:
        if row["level"] != "workgroup" or row["fragment_shape"] is None or prod(row["shape"]) > 2**18:
            continue
        try:
            held = outermost(row).layout(row["shape"]).fragment_map()
        except DistributionError:
            continue
        for one, origins in row["coords"].items():
            expected = [e for origin in origins for e in elements(origin, row["fragment_shape"])]
            assert [tuple(c) for c in held[int(one), 0].tolist()] == expected, row
        compared += 1
    assert compared > 150


def test_full_hierarchy_of_subgroups_instructions_and_lanes_agrees() -> None:
    rows = [row for row in TABLES if row["level"] == "full"]
    assert len(rows) == 47
    for row in rows:
        held = parse_attribute(row["layout"]).layout(row["shape"]).fragment_map()
        for one, origins in row["coords"].items():
            sg, lane = map(int, one.split(","))
            expected = {e for origin in origins for e in elements(origin, row["fragment_shape"])}
            found = [tuple(c) for c in held[sg, lane].tolist()]
            assert set(found) == expected, row
            assert len(found) == len(expected)


@pytest.mark.parametrize("part", range(8))
def test_every_pair_has_an_exact_layout_or_a_reason(part: int) -> None:
    """The elements of each id are those of LLVM's blocks. Where there is no layout, blocks overrun or share unevenly."""
    compared = refused = 0
    for row in TABLES[part::8]:
        shape = row["shape"]
        if row["level"] not in ("workgroup", "subgroup") or prod(shape) > 4096:
            continue
        attr = outermost(row)
        ids = attr.distribution().level(row["level"])
        data = ids.data or tuple(s // n for s, n in zip(shape, ids.counts, strict=True))
        covers = {
            int(i): [tuple(c % s for c, s in zip(e, shape, strict=True)) for o in origins for e in elements(o, data)]
            for i, origins in row["coords"].items()
        }
        try:
            layout = attr.layout(shape)
        except DistributionError:
            refused += 1
            twice = any(len(set(held)) < len(held) for held in covers.values())
            counts = Counter(e for held in covers.values() for e in held)
            overruns = any(d > s for d, s in zip(data, shape, strict=True))
            cut = any(
                o + d > s for os in row["coords"].values() for p in os for o, d, s in zip(p, data, shape, strict=True)
            )
            assert twice or len(set(counts.values())) > 1 or len(counts) < prod(shape) or overruns or cut, row
            continue
        compared += 1
        held = layout.fragment_map() if row["level"] == "workgroup" else layout.fragment_map().swapaxes(0, 1)
        assert len(held) == len(covers), row
        for one, expected in covers.items():
            found = [tuple(c) for c in held[one].reshape(-1, len(shape)).tolist()]
            assert len(found) == len(expected) == len(set(found))
            assert set(found) == set(expected), row
    assert compared > 180
    assert refused >= 12
