"""Why LLVM refuses a layout on a shape: what is said to fit is asked of the verdict, the reason is checked by arithmetic."""

from __future__ import annotations

import re
import time
from itertools import product
from math import log2, prod
from random import Random

import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.xegpu import LayoutAttr, SliceAttr


def _random(rng: Random) -> tuple[LayoutAttr | SliceAttr, tuple[int, ...]]:
    rank = rng.choice((1, 2, 2, 2, 3))

    def sizes(*of: int) -> tuple[int, ...]:
        return tuple(rng.choice(of) for _ in range(rank))

    fields: dict[str, tuple[int, ...]] = {}
    while not {"sg_layout", "inst_data", "lane_layout"} & set(fields):
        fields = {}
        if rng.random() < 0.5:
            fields |= {"sg_layout": sizes(1, 2, 3, 4)} | (
                {"sg_data": sizes(8, 12, 16, 32)} if rng.random() < 0.9 else {}
            )
        if rng.random() < 0.3:
            fields["inst_data"] = sizes(4, 8, 16)
        if rng.random() < 0.7:
            fields |= {"lane_layout": sizes(1, 2, 4, 16)} | (
                {"lane_data": sizes(1, 1, 2)} if rng.random() < 0.9 else {}
            )
    attribute: LayoutAttr | SliceAttr = LayoutAttr(**fields)
    if rank > 1 and rng.random() < 0.3:
        attribute = SliceAttr(attribute, (rng.randrange(rank),))
    return attribute, tuple(rng.choice((1, 7, 8, 12, 16, 24, 32, 48, 64)) for _ in range(attribute.rank))


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_what_is_said_to_fit_does(llvm: int) -> None:
    """Nothing is said of what fits; a shape differs from the given one, an attribute has as many work-items."""
    rng, found = Random(f"refusals {llvm}"), {"accepted": 0, "shape": 0, "attribute": 0, "neither": 0}
    for _ in range(150):
        attribute, shape = _random(rng)
        refusal = attribute.refusal(shape, llvm)
        assert (refusal is None) == (attribute.check(shape, llvm) is None), (attribute, shape)
        if refusal is None:
            found["accepted"] += 1
            continue
        if refusal.shape is not None:
            assert attribute.check(refusal.shape, llvm) is None, (attribute, shape, refusal)
            assert len(refusal.shape) == len(shape)
            assert refusal.shape != shape
            found["shape"] += 1
        if refusal.attribute is not None:
            assert refusal.attribute.check(shape, llvm) is None, (attribute, shape, refusal)
            for name in ("sg_layout", "lane_layout"):
                before, after = (getattr(one.parent_layout(), name) for one in (attribute, refusal.attribute))
                assert (before is None) == (after is None)
                assert before is None or prod(before) == prod(after)
            assert refusal.changed
            for part in re.findall(r"\w+ = \[[\d, ]+\]", refusal.changed):
                assert part in str(refusal.attribute), refusal
                assert part not in str(attribute), refusal
            found["attribute"] += 1
        found["neither"] += refusal.shape is None and refusal.attribute is None
        _numbers_are_true(str(refusal), shape)
    assert min(found["accepted"], found["shape"], found["attribute"]) > 12, found
    assert found["neither"] < 40, found


_MULTIPLE = re.compile(r"has (\d+) \w+: (\d+) \w+ of (\d+) need a multiple of (\d+)(?:, or exactly (\d+))?")
_DIVIDES = re.compile(r"has (\d+) \w+: (?:\w+\[\d+\] = )?(\d+)(?: \w+)? do(?:es)? not divide it")
_DIMENSION = re.compile(r"dimension (\d+) has (\d+) ")


def _numbers_are_true(text: str, shape: tuple[int, ...]) -> None:
    if whole := _DIMENSION.search(text):
        assert shape[int(whole[1])] == int(whole[2]), text
    if found := _MULTIPLE.search(text):
        size, count, data, multiple, exactly = (int(n or 0) for n in found.groups())
        assert count * data == multiple, text
        assert size % multiple, text
        assert size != exactly, text
    elif found := _DIVIDES.search(text):
        assert int(found[1]) % int(found[2]), text
    else:
        assert "stands without" in text, text


def test_the_nearest_shape_is_the_nearest() -> None:
    """By enumeration of all shapes nearby: none that fits changes fewer sizes, or as many by less."""
    rng, seen = Random("nearest"), 0
    while seen < 8:
        attribute, shape = _random(rng)
        refusal = attribute.refusal(shape) if len(shape) < 3 else None
        if refusal is None or refusal.shape is None:
            continue

        def far(other: tuple[int, ...], shape: tuple[int, ...] = shape) -> tuple[int, float]:
            changes = [abs(log2(a / b)) for a, b in zip(other, shape, strict=True) if a != b]
            return len(changes), round(sum(changes), 6)

        near = product(*(range(1, 2 * max(size, said) + 2) for size, said in zip(shape, refusal.shape, strict=True)))
        best = min(far(one) for one in near if attribute.check(one) is None)
        assert far(refusal.shape) == best, (attribute, shape, refusal)
        seen += 1


def test_the_example_of_a_question() -> None:
    layout = LayoutAttr(lane_layout=(1, 16), lane_data=(2, 1))
    said = str(layout.refusal((15, 16)))
    assert (
        said == "dimension 0 has 15 rows: lane_data[0] = 2 does not divide it; 16x16 would fit, or lane_data = [1, 1]"
    )
    assert str(layout.refusal((15, 16), llvm=22)) == said.replace("has", "of what a lane holds has")


def test_large_ranks_and_sizes_take_no_time() -> None:
    started = time.process_time()
    wide = LayoutAttr(lane_layout=(1,) * 15 + (16,), lane_data=(3,) * 16)
    assert "does not divide it" in str(wide.refusal((7,) * 16))
    huge = LayoutAttr(lane_layout=(2**15, 2**15), lane_data=(1, 1))
    assert "need a multiple of" in str(huge.refusal((2**31 - 1, 7)))
    assert time.process_time() - started < 5


def test_no_size_is_named_that_there_is_not() -> None:
    """Sizes end at 2^31, and the numbers of an attribute before."""
    largest = LayoutAttr(sg_layout=(3,), sg_data=(1,)).refusal((2**31,))
    assert largest is not None
    assert largest.shape == (2**31 - 2,)
    assert largest.attribute is None
    blocks = LayoutAttr(inst_data=(2**31 - 1,)).refusal((2**31,))
    assert blocks is not None
    assert blocks.changed == "inst_data = [1]"


def test_tiles_are_tried_that_divide_what_a_subgroup_holds() -> None:
    refusal = LayoutAttr(sg_layout=(4,), sg_data=(24,), inst_data=(16,)).refusal((96,))
    assert refusal is not None
    assert refusal.changed == "inst_data = [24]"


def test_slices_of_slices_take_no_longer() -> None:
    attribute: LayoutAttr | SliceAttr = LayoutAttr(
        sg_layout=(4, 3) * 4, sg_data=(12, 16) * 4, inst_data=(6, 5) * 4, lane_layout=(1, 7) * 4, lane_data=(2, 3) * 4
    )
    for dims in ((0,), *[()] * 60):
        attribute = SliceAttr(attribute, dims)
    started = time.process_time()
    refusal = attribute.refusal((97, 1000, 24, 30, 16, 8, 2**30))
    assert str(refusal) == "dimension 0 has 97 elements: 3 subgroups of 16 need a multiple of 48, or exactly 16"
    assert time.process_time() - started < 2


def test_the_first_of_many_dimensions_is_tried_too() -> None:
    layout = LayoutAttr(sg_layout=(4,) * 8, sg_data=(8,) * 8)
    refusal = layout.refusal((48, *[64] * 7))
    assert refusal is not None
    assert refusal.shape == (64,) * 8
    assert refusal.changed == "sg_data = [12, 8, 8, 8, 8, 8, 8, 8]"


def test_wrong_arguments_are_refused_in_words() -> None:
    layout = LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1))
    assert str(layout.refusal((8,))) == "the layout has 2 dimensions, and the shape 8 has 1"
    for shape in ("8x16", (8, 0), (8, None), None):
        with pytest.raises(LayoutError):
            layout.refusal(shape)  # pyright: ignore[reportArgumentType]
    with pytest.raises(LayoutError):
        layout.refusal((8, 8), llvm=21)
