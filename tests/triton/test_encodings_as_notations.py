"""Encodings are a notation: what Triton's bases say is what layouts, comparison and bank conflicts answer."""

from __future__ import annotations

import random
from math import prod
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.triton import from_linear_layout, to_linear_layout
from layoutalg.triton.encodings import PaddedShared, parse_encoding
from layoutalg.triton.encodings.gluon import of_triton
from tests.oracle.tables import lines

SWIZZLED = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
AXES = {"register": "reg", "lane": "lane", "warp": "sg", "offset": "addr"}


def by_bases(bases: dict[str, list[list[int]]], place: dict[str, int]) -> tuple[int, ...]:
    """The element at a place: the XOR of the bases of the bits that are set."""
    rank = len(next(basis for one in bases.values() for basis in one))
    found = [0] * rank
    for name, one in bases.items():
        for bit, basis in enumerate(one):
            if place.get(name, 0) >> bit & 1:
                found = [a ^ b for a, b in zip(found, basis, strict=True)]
    return tuple(found)


ROWS = [row for row in lines("triton_encodings.jsonl.gz") if any(row.get("bases", {}).values())]


@pytest.mark.parametrize("part", range(10))
def test_the_layout_holds_what_tritons_bases_say(part: int) -> None:
    for row in ROWS[part::10]:
        value: Any = parse_encoding(row["text"])
        if isinstance(value, PaddedShared):
            continue
        shape = row["shape"][-value.rank :]
        if prod(shape) > 2**14:
            continue
        layout = value.layout(shape)
        draw = random.Random(row["text"])
        for _ in range(20):
            place = {name: draw.randrange(1 << len(one)) for name, one in row["bases"].items()}
            element = by_bases(row["bases"], place)
            named = {AXES.get(name, name): at for name, at in place.items()}
            assert tuple(named.get(axis, 0) for axis in layout.codomain) in layout.owners(element), (row["text"], place)


def test_every_distributed_layout_comes_back_from_a_layout() -> None:
    for row in ROWS:
        linear = parse_encoding(row["text"]).to_linear(row["shape"][-parse_encoding(row["text"]).rank :])
        if linear.is_distributed:
            assert to_linear_layout(from_linear_layout(linear)) == linear, row["text"]


def test_padding_is_part_of_the_address() -> None:
    padded = la.parse("#ttg.padded_shared<[32:+8, 128:+4] {order = [1, 0], shape = [16, 32]}>")
    assert isinstance(padded, PaddedShared)
    found = padded.layout((16, 32)).owner_map("addr")
    offsets = np.arange(16 * 32).reshape(16, 32)
    assert np.array_equal(found, offsets + offsets // 32 * 8 + offsets // 128 * 4)


def test_aliases_memory_spaces_and_types_are_read() -> None:
    value = la.parse(f"#s = {SWIZZLED}\n#smem = #ttg.shared_memory\n!ttg.memdesc<3x64x64xf16, #s, #smem, mutable>")
    assert value.layout() == la.parse(SWIZZLED).layout((64, 64))
    tensor = la.parse(f"#b = {BLOCKED}\n#t = #ttg.slice<{{dim = 0, parent = #b}}>\ntensor<64xf32, #t>")
    assert tensor.layout() == la.parse(f"#ttg.slice<{{dim = 0, parent = {BLOCKED}}}>").layout((64,))
    linear = "#ttg.linear<{register = [[1, 0]], lane = [[0, 1], [0, 2]], warp = [], block = []}>"
    assert la.parse(f"#l = {linear}\n#ttg.slice<{{dim = 0, parent = #l}}>").layout((4,)).axes == {"lane": 4}


def test_gluon_is_read_as_text_and_as_an_object() -> None:
    text = "gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])"
    assert la.same(text, BLOCKED, (64, 64))
    with pytest.raises(la.ConversionError, match=r"7 of type int"):
        of_triton(7)


def test_an_encoding_needs_a_shape() -> None:
    with pytest.raises(la.LayoutError, match=r"needs a shape, such as"):
        la.parse(BLOCKED).layout()
    with pytest.raises(la.LayoutError, match=r"power-of-2"):
        la.parse(BLOCKED).layout((48, 64))


ONCE = {
    BLOCKED: (16, 32),
    f"#ttg.slice<{{dim = 0, parent = {BLOCKED}}}>": (32,),
    "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>": (64, 8),
    "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>": (64, 64),
    "#ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>": (8, 32),
    "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 16}>": (32, 8),
    "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0], "
    "CGALayout = [[1, 0]]}>": (32, 32),
}


@pytest.mark.parametrize("text", ONCE)
def test_without_a_shape_it_is_drawn_on_the_tensor_that_it_covers_once(text: str) -> None:
    """Elements of a thread times threads times warps; an instruction for each warp; the rows and columns of a swizzle."""
    title = la.picture(text).title
    shape = "x".join(map(str, ONCE[text])) + " elements" * (len(ONCE[text]) == 1)
    assert title == f"{la.parse(text)}, {shape}"


def test_an_encoding_that_repeats_nothing_has_no_picture_without_a_shape() -> None:
    plain = "#ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 16}>"
    with pytest.raises(la.LayoutError, match=r"needs a shape, such as 64x64"):
        la.picture(plain)


def test_same_names_the_first_element_that_differs() -> None:
    found = la.same(SWIZZLED, "(64,64):(64,1)", (64, 64))
    assert not found
    assert found.element == (1, 0)
    assert str(found) == "element (1, 0) is in addr 72 in the first and in addr 64 in the second"


def test_same_says_that_only_the_order_of_registers_differs() -> None:
    one = la.Layout.parse("d0 = 2@(reg^reg:2) 2@(reg) 4@lane")
    found = la.same(one, la.Layout.parse("d0 = 4@reg 4@lane"))
    assert "another register order" in str(found)


@pytest.mark.parametrize(("phases", "most"), [(8, 1), (1, 8)])
def test_bank_conflicts_of_a_swizzle_are_counted(phases: int, most: int) -> None:
    """Eight lanes read a column of a 64x64 f16 tile, 16 bytes each: brute force over 32 banks of 4 bytes."""
    shared = la.parse(f"#ttg.swizzled_shared<{{vec = 8, perPhase = 1, maxPhase = {phases}, order = [1, 0]}}>")
    memory = shared.layout((64, 64)).restrict(0, 0, 8).restrict(1, 0, 8)
    words = memory.owner_map("addr").astype(int) * 2 // 4
    banks = [{int(word) % 32 for word in row} for row in words]
    assert max(sum(bank in one for one in banks) for bank in range(32)) == most
    read = la.Layout.parse("d0 = 8@lane, d1 = 8@reg")
    found = la.bank_conflicts(read, element_bits=16, memory=memory, vector=8)
    assert found.ways == most


def test_text_is_read_back() -> None:
    for text in (SWIZZLED, BLOCKED):
        assert str(la.parse(text)) == text
