"""Encodings: aliases, spellings of older Tritons, types, errors that say where and what, and damaged texts.

What encodings mean is compared with Triton's wheel in tests/oracle/test_triton_encodings.py.
"""

from __future__ import annotations

import pickle
import random
from types import SimpleNamespace
from typing import Any

import pytest

from layoutalg.core import LayoutError
from layoutalg.triton.encodings import (
    AmdMfma,
    AmdWmma,
    Blocked,
    NvidiaMma,
    NvmmaShared,
    PaddedShared,
    Slice,
    SwizzledShared,
    TensorMemory,
    as_encoding,
    encoding_of,
    parse_encoding,
    parse_typed,
)
from layoutalg.triton.linear import LinearLayout
from tests.oracle.tables import lines

ROWS = lines("triton_encodings.jsonl.gz")
BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [1, 0]}>"
MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"


# Texts


def test_keys_come_in_any_order_and_with_types() -> None:
    shuffled = "#ttg.swizzled_shared<{order = [1, 0], maxPhase = 8 : i32, vec = 4 : i32, perPhase = 2}>"
    assert parse_encoding(shuffled) == SwizzledShared(4, 2, 8, (1, 0))


def test_aliases_are_resolved_through_one_another() -> None:
    preamble = f"""
        #blocked = {BLOCKED}  // of the loads
        #mma = {MMA}
        #loc = loc("kernel.py":12:3)
        #smem = #ttg.shared_memory
        #dot = #ttg.dot_op<{{opIdx = 1, parent = #mma, kWidth = 2}}>
    """
    mma = NvidiaMma(2, 0, (2, 2), (16, 8))
    assert parse_encoding(f"{preamble} #mma") == mma
    assert parse_encoding(f"{preamble} #ttg.slice<{{dim = 1, parent = #mma}}>") == Slice(1, mma)
    assert parse_encoding(preamble) == parse_encoding(f"{preamble} #dot")
    assert parse_typed(f"{preamble} tensor<64x64xf16, #blocked>").encoding == parse_encoding(BLOCKED)


def test_memory_is_laid_out_as_it_was_allocated() -> None:
    shared = "#s = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>\n"
    whole = parse_typed(f"{shared} !ttg.memdesc<64x64xf16, #s, #smem, mutable>")
    part = parse_typed(f"{shared} !ttg.memdesc<64x32xf16, #s, #smem, mutable, 64x64>")
    stages = parse_typed(f"{shared} !ttg.memdesc<3x64x64xf16, #s, #ttg.shared_memory>")
    assert whole.to_linear() == part.to_linear() == stages.to_linear()
    assert str(part).endswith("#ttg.shared_memory, mutable, 64x64>")
    old = parse_typed(
        "!tt.memdesc<64x64xf16, #triton_gpu.shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>>"
    )
    assert old.to_linear() == whole.to_linear()


def test_a_tensor_may_hold_pointers() -> None:
    value = parse_typed(f"tensor<64x64x!tt.ptr<f16>, {BLOCKED}>")
    assert (value.shape, value.element) == ((64, 64), "!tt.ptr<f16>")


# What older Tritons wrote


def test_ctas_of_older_tritons_are_a_cluster() -> None:
    text = BLOCKED[:-2] + ", CTAsPerCGA = [4, 1], CTASplitNum = [2, 1], CTAOrder = [1, 0]}>"
    assert parse_encoding(text) == Blocked((1, 4), (8, 4), (2, 2), (1, 0), ((1, 0), (0, 0)))


@pytest.mark.parametrize(("prefix", "cga"), [("#ttg.", ()), ("#triton_gpu.", ((1, 0),))])
def test_ctas_of_an_old_mma_are_lost_in_what_triton_still_reads(prefix: str, cga: Any) -> None:
    text = (
        f"{prefix}nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], CTAsPerCGA = [2, 1], "
        "CTASplitNum = [2, 1], CTAOrder = [1, 0], instrShape = [16, 64, 16]}>"
    )
    found = parse_encoding(text)
    assert found == NvidiaMma(3, 0, (4, 1), (16, 64, 16), cga)
    assert ("CTAsPerCGA" in " ".join(found.notes)) == (not cga)


def test_an_old_mfma_has_its_version() -> None:
    text = (
        "#triton_gpu.amd_mfma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [32, 32], "
        "isTransposed = true}>"
    )
    found = parse_encoding(text)
    assert found == AmdMfma(3, (2, 2), (32, 32), True)
    assert found.to_linear((64, 64)) == AmdMfma(3, (2, 2), (32, 32, 8), True).to_linear((64, 64))
    assert parse_encoding(str(found)) == found
    assert found.notes


def test_an_old_wmma_s_warps_count_along_the_last_dimension_first() -> None:
    found = parse_encoding("#triton_gpu.amd_wmma<{version = 1, isTranspose = false, warpsPerCTA = [2, 4]}>")
    assert found == AmdWmma(1, False, ((0, 1), (0, 2), (1, 0)))
    assert found.notes


def test_unknown_keys_are_ignored_where_triton_ignores_them() -> None:
    found = parse_encoding(MMA[:-2] + ", colour = 3}>")
    assert found == parse_encoding(MMA)
    assert found.notes == ("Triton ignores the unknown key 'colour'",)


def test_what_triton_scrambles_is_said() -> None:
    assert NvmmaShared(128, True, 16, dims=3).notes
    assert not NvmmaShared(128, True, 16).notes
    assert AmdWmma(1, False, ((0, 0, 1),), dims=3).notes


# Errors


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1, column 1: expected an encoding of Triton"),
        (
            "#mma",
            "expected an encoding of Triton, such as '#ttg.blocked<', or an alias with its definition, found '#mma'",
        ),
        ("#ttg.blocked", "column 13: expected '<'"),
        (BLOCKED + " x", "expected the end of the text"),
        (
            BLOCKED.replace("order", "oder"),
            "expected keys CGALayout, order, sizePerThread, threadsPerWarp, warpsPerCTA",
        ),
        (BLOCKED.replace("[8, 4]", "8"), "column 56: expected a list of integers for threadsPerWarp"),
        (BLOCKED.replace("[8, 4]", "[8, [4]]"), "expected a list of integers for threadsPerWarp"),
        (BLOCKED.replace("[2, 2]", "[2, 3]"), "Every element in warpsPerCTA must be a power of two."),
        (BLOCKED.replace("[2, 2]", "[2]"), "must all have the same rank"),
        ("#ttg.slice<{parent = #ttg.blocked<{}>}>", "must all have the same rank|at least one"),
        (f"#ttg.slice<{{parent = {BLOCKED}}}>", "column 12: expected 'dim' in #ttg.slice"),
        ("#ttg.slice<{dim = 0, parent = 3}>", "expected a distributed encoding for parent"),
        (f"#ttg.dot_op<{{opIdx = 2, parent = {MMA}, kWidth = 2}}>", "opIdx parameter can be 0 or 1, got: 2"),
        (MMA.replace(", instrShape = [16, 8]", ""), "expected 'instrShape' in #ttg.nvidia_mma"),
        (MMA.replace("[16, 8]", "[16, 24]"), r"instrShape = \[16, 24\]: expected \[16, 8\] or \[8, 8\]"),
        ("#ttg.swizzled_shared<{vec = 8, order = [1, 0]}>", "perPhase = 0: expected a power of two"),
        ("#ttg.linear<{register = [[1], [2, 0]], lane = [], warp = [], block = []}>", "bases of 1 and 2 coordinates"),
        ("#ttg.linear<{register = [], lane = [], warp = [], block = []}>", "Empty Layout not supported"),
        ("#gluon.auto_encoding<>", "a placeholder whose layout Gluon decides later"),
        ("#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8]}>", "expected 'isTransposed'"),
        ("gl.AutoLayout()", "placeholder"),
        ("gl.BlockedLayout([1], [32], [4])", "expected order of BlockedLayout, which is missing"),
        ("gl.BlockedLayout([1], [32], [4], [0], order=[0])", "each of .* at most once, found 'order'"),
        ("gl.BlockedLayout([1], [32], [4], f())", "expected 'True' or 'False' or 'None'"),
        ("gl.BlockedLayout(1, 2, 3, 4)", "expected"),
        ("gl.SliceLayout(1, 3)", "expected a layout of Gluon, such as BlockedLayout"),
        ("#ttg.padded_shared<[4:2] {order = [0], shape = [4]}>", r"expected '\+'"),
    ],
)
def test_errors_say_where_and_what(text: str, said: str) -> None:
    with pytest.raises(LayoutError, match=said):
        parse_encoding(text)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((64,), "expected 2 dimensions"),
        ((32, 24), "power-of-2"),
        ((0, 4), "power-of-2"),
        ("64", "expected whole numbers"),
    ],
)
def test_shapes_are_checked(shape: Any, said: str) -> None:
    with pytest.raises(LayoutError, match=said):
        parse_encoding(BLOCKED).to_linear(shape)


def test_elements_fit_the_cells_of_tensor_memory() -> None:
    with pytest.raises(LayoutError, match="Got 32 and 2"):
        parse_typed(f"!ttg.memdesc<128x64xf32, {TensorMemory(128, 64, 2)}, #ttng.tensor_memory>")


def test_damaged_texts_are_refused_in_words() -> None:
    rng = random.Random(7)
    texts = [row["text"] for row in ROWS] + [row["gluon"] for row in ROWS if "gluon" in row]
    refused = 0
    for _ in range(3000):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text))
            piece = rng.choice(
                ["", "[", "]", "{", "}", "9", "0", "-", ",", "<", "#", "999999999999", "true", text[at : at + 9]]
            )
            text = text[:at] + piece + text[at + rng.randint(0, 2) :]
        try:
            found = parse_encoding(text)
            found.to_linear([1 << rng.randint(0, 12) for _ in range(found.rank)])
            assert str(found)
        except LayoutError:
            refused += 1
    assert refused > 1000


# Values


def test_values_are_values() -> None:
    for row in ROWS:
        if "bases" in row:
            one = parse_encoding(row["text"])
            assert hash(one) == hash(parse_encoding(row["text"]))
            assert pickle.loads(pickle.dumps(one)) == one
            if "amd_wmma" not in row["text"]:  # Triton does not print what it reads there
                assert parse_encoding(str(one)) == one


def test_objects_of_gluon_are_recognised_by_their_class() -> None:
    class BlockedLayout(SimpleNamespace):
        pass

    given = BlockedLayout(
        size_per_thread=[1, 4], threads_per_warp=[8, 4], warps_per_cta=[2, 2], order=[1, 0], cga_layout=[]
    )
    assert as_encoding(given) == parse_encoding(BLOCKED)
    with pytest.raises(LayoutError, match="has no order"):
        as_encoding(BlockedLayout(size_per_thread=[1], threads_per_warp=[1], warps_per_cta=[1]))


def test_padding_is_counted_before_an_element() -> None:
    shared = PaddedShared.in_order(((32, 8), (128, 4)), (1, 0), (16, 16))
    assert [shared.address(o) for o in (0, 31, 32, 127, 128)] == [0, 31, 40, 151, 164]


# The way back


def test_a_layout_finds_an_encoding_that_means_it() -> None:
    kinds: set[str] = set()
    for row in ROWS:
        if row["space"] != "tensor" or "bases" not in row or "generic" in row["text"]:
            continue
        linear = parse_encoding(row["text"]).to_linear(row["shape"])
        try:
            found = encoding_of(linear)
        except LayoutError:
            assert not linear.is_surjective() or any(sum(map(bool, b)) > 1 for _, bases in linear.bases for b in bases)
            continue
        assert found.to_linear(row["shape"]) == linear
        kinds.add(type(found).__name__)
    assert kinds >= {"Blocked", "NvidiaMma", "AmdMfma", "Linear"}


def test_blocked_layouts_are_said_as_blocked() -> None:
    for text, shape in ((BLOCKED, (32, 64)), (BLOCKED, (16, 32)), (BLOCKED.replace("[1, 0]", "[0, 1]"), (64, 64))):
        linear = parse_encoding(text).to_linear(shape)
        found = encoding_of(linear)
        assert isinstance(found, Blocked)
        assert found.to_linear(shape) == linear
    assert isinstance(encoding_of(LinearLayout(lane=((2,), (1,)), shape=(4,))), type(parse_encoding(
        "#ttg.linear<{register = [], lane = [[2], [1]], warp = [], block = []}>"
    )))  # fmt: skip
