"""IREE 3.13's own coordinates: 170 nested layouts, thread by thread, and 149 layouts that its analysis derived."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from math import prod
from typing import Any

import pytest

from layoutalg.core import DistributionError, VerificationError
from layoutalg.nested import NestedLayoutAttr, parse_nested
from tests.oracle.tables import lines

TABLES = lines("nested_tables.jsonl.gz")
DERIVED = lines("nested_derived.jsonl.gz")


def test_none_is_missing() -> None:
    assert (len(TABLES), len(DERIVED)) == (170, 149)


def test_every_coordinate_of_every_thread_agrees() -> None:
    entries = 0
    for row in TABLES:
        attr = parse_nested(row["layout"])
        assert attr.check(row["shape"]) is None
        if row["status"] != "ok":
            continue
        assert list(attr.distributed_shape) == row["distributed_shape"]
        found = attr.thread_coords(row["shape"], row["subgroup_size"], row["workgroup_size"])
        expected = {int(tid): [tuple(c) for c in coords] for tid, coords in row["threads"].items()}
        assert found == expected, row["layout"]
        entries += sum(map(len, expected.values()))
    assert entries > 100_000


def test_a_layout_is_the_table_and_none_means_uncovered() -> None:
    """Where IREE's threads cover the tensor and its factors nest, the layout holds each coordinate; else it says why."""
    exact = refused = 0
    for row in TABLES:
        attr = parse_nested(row["layout"])
        try:
            layout = attr.layout(row["shape"], row["subgroup_size"], row["workgroup_size"])
        except DistributionError as error:
            assert "no exact layout" in str(error)
            if row["status"] == "ok" and row["covers_shape"]:
                holders = Counter(tuple(c) for coords in row["threads"].values() for c in coords)
                uneven = len(set(holders.values())) > 1
                assert uneven or "do not split at a subgroup" in str(error), (row["layout"], error)
            refused += 1
            continue
        assert row["status"] == "ok"
        assert row["covers_shape"]
        held = layout.fragment_map()
        assert held.shape[:3] == (
            row["workgroup_size"] // row["subgroup_size"],
            row["subgroup_size"],
            prod(row["distributed_shape"]),
        )
        flat = held.reshape(row["workgroup_size"], -1, len(row["shape"])).tolist()
        assert dict(enumerate(flat)) == {int(t): c for t, c in row["threads"].items()}
        exact += 1
    assert exact > 80, (exact, refused)


def derive(row: dict[str, Any], attr: NestedLayoutAttr) -> NestedLayoutAttr:
    match row["op"]:
        case "elementwise":
            return attr
        case "transpose":
            return attr.permute(row["permutation"])
        case "transpose_back":
            order = row["permutation"]
            return attr.permute([order.index(d) for d in range(len(order))])
        case "reduce":
            return attr.project(row["reduced_dims"])
        case "broadcast_back":
            return attr.project(range(len(row["shape"]) - len(row["source_shape"])))
        case "gather_back":
            return attr.apply(row["kept_dims"])
        case "contract":
            names = [n.strip() for n in re.match(r"\((.*?)\) ->", row["maps"][0])[1].split(",")]
            loops = [[names.index(n.strip()) for n in m.split("->")[1].strip(" ()").split(",")] for m in row["maps"]]
            return attr.recombine(parse_nested(row["rhs_layout"]), *loops)
    raise AssertionError(row["op"])


def test_every_derived_layout_agrees() -> None:
    for row in DERIVED:
        attr = parse_nested(row["layout"])
        assert attr.check(row["shape"]) is None
        assert str(derive(row, attr)) == row["derived"], row


def test_the_text_is_printed_as_it_was_read() -> None:
    for row in DERIVED:
        assert str(parse_nested(row["derived"])) == row["derived"]
        assert parse_nested(str(parse_nested(row["layout"]))) == parse_nested(row["layout"])


def test_rules_in_irees_words_and_ours() -> None:
    attr = NestedLayoutAttr((1, 1), (1, 1), (1, 1), (4, 16), (1, 1), (0, 0), (16, 1))
    assert attr.check((16,)) == "Rank of vector (1) does not match rank of layout (2)."
    assert attr.check((16, 16)).endswith("at dim 0. Dimension expected by layout: 4 actual: 16")
    with pytest.raises(VerificationError, match="Rank of vector"):
        attr.layout((16,))
    for change in ({"batch_tile": (0, 1)}, {"thread_strides": (-1, 1)}, {"outer_tile": (1,)}, {"outer_tile": "11"}):
        fields = {name: getattr(attr, name) for name in (field.name for field in dataclasses.fields(attr))} | change
        with pytest.raises(VerificationError):
            NestedLayoutAttr(**fields)
    with pytest.raises(DistributionError, match="not a multiple of subgroup_size"):
        attr.layout((4, 16), subgroup_size=64, workgroup_size=96)
    with pytest.raises(DistributionError, match="stride 0: only its first tile"):
        NestedLayoutAttr((1,), (1,), (1,), (4,), (1,), (0,), (0,)).layout((4,))
    empty = NestedLayoutAttr((), (), (), (), (), (), ())
    assert str(empty.layout((), subgroup_size=4)) == "() | replicas 4@lane"
    assert empty.thread_coords((), 4) == {tid: [()] for tid in range(4)}
