"""The layouts that Triton's own Gluon tests use: 322 of them, each with what the wheel answered for one to four shapes.

They stand in test_lowerings.py, test_core.py, test_frontend.py and test_layout_format_view.py (`tests` says where), for warps
of 32 and of 64 lanes. Layouts with XOR or padding the wheel does not answer (it aborts): of these the bases are those of the
text.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from layoutalg.core import LayoutError
from layoutalg.triton.conversions import how_triton_converts
from layoutalg.triton.encodings import Encoding, GenericLinear, PaddedShared, parse_encoding
from tests.oracle.tables import lines
from tests.oracle.test_triton_conversions import seeded
from tests.oracle.toolchains import require_module
from tests.oracle.triton_compiled import TARGETS, emitted

ROWS = lines("triton_test_layouts.jsonl.gz")


def bases(encoding: Encoding, shape: list[int]) -> dict[str, list[list[int]]]:
    return {name: [list(basis) for basis in one] for name, one in encoding.to_linear(tuple(shape)).bases}


def test_they_are_of_all_kinds() -> None:
    kinds = [parse_encoding(row["layout"]).inputs for row in ROWS]
    assert [kinds.count(kind) for kind in ("distributed", "shared", "tensor memory")] == [276, 37, 9]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["layout"][:60])
def test_a_layout_of_triton_s_tests_means_what_triton_says(row: dict[str, Any]) -> None:
    encoding = parse_encoding(row["layout"])
    for asked in row["asked"]:
        if asked["bases"] is None:
            with pytest.raises(LayoutError):
                encoding.to_linear(tuple(asked["shape"]))
        else:
            found = bases(encoding, asked["shape"])
            assert {name: found[name] for name in asked["bases"]} == asked["bases"]
    if row.get("generic"):
        assert isinstance(encoding, (GenericLinear, PaddedShared))
        lists = (
            [encoding.offset, encoding.block]
            if isinstance(encoding, PaddedShared)
            else [encoding.register, encoding.lane, encoding.warp, encoding.block]
        )
        own = [1 << max(column).bit_length() for column in zip(*[basis for one in lists for basis in one], strict=True)]
        assert list(bases(encoding, own).values()) == [list(map(list, one)) for one in lists]


@pytest.mark.slow
def test_conversions_between_them_are_lowered_as_triton_does() -> None:
    """A sample of the pairs that test_convert1d_layouts, .._2d_.., .._mma2mma_.. and .._warp_local_.. convert."""
    require_module("triton")
    rng, seed = seeded()
    answered = 0
    for _ in range(400):
        source, result, shape, target, warps = _pair(rng)
        try:
            found = how_triton_converts(source, result, shape, "f16", TARGETS[target])
        except LayoutError:
            continue  # other lanes or warps
        if found.kind == "none":
            continue
        made = emitted(str(source), str(result), shape, "f16", target, warps)
        where = f"seed {seed}: {source} {result} {shape} {target}: {found}"
        assert made is not None, where
        assert made["bytes"] == found.shared_bytes, where
        assert made["shuffles"] == found.shuffles or made["exchanged"], where
        answered += 1
        if answered == 25:
            return
    pytest.fail("too few pairs fit")


def _pair(rng: random.Random) -> tuple[Encoding, Encoding, tuple[int, ...], str, int]:
    test = rng.choice(("convert1d", "convert2d", "mma2mma", "warp_local"))
    few = [row for row in ROWS if any(test in one for one in row["tests"])]
    source, result = (parse_encoding(rng.choice(few)["layout"]) for _ in range(2))
    shape = (rng.choice((64, 128, 256)),) if test == "convert1d" else rng.choice(((64, 64), (64, 128), (32, 32)))
    if source.rank != len(shape) or result.rank != len(shape):
        shape = (1,) * 5  # no layout's
    try:
        linear = source.to_linear(shape)
    except LayoutError:
        return source, result, shape, "sm80", 1
    target = "gfx942" if len(linear.lane) == 6 else rng.choice(("sm80", "sm90"))
    return source, result, shape, target, 1 << len(linear.warp)
