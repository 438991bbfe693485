"""Pictures of matrix instructions: the equation is what the vendor's name says, and a notebook's cell is small and whole."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

import layoutalg as la
from layoutalg.core.notation import Distributed
from layoutalg.instructions.registry import rows
from layoutalg.viz.page import marked
from layoutalg.viz.tooltips import elements_of

PTX = re.compile(r"mma\.(?:sp.*?\.)?sync\.\S*\.m(\d+)n(\d+)k(\d+)\.\w+\.\w+\.(\w+)\.(\w+)\.(\w+)\.(\w+)")
"""The sizes, and the types of D, A, B and C (PTX ISA 9.2, 9.7.14.5)."""
AMD = re.compile(r"v_mfma_(\w\d+)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_(\w+)")
"""The type of D and C, the sizes, the blocks, the type of A and B."""


def under(text: str) -> tuple[str, ...]:
    return la.parse(text).subheading()


def test_the_equation_is_that_of_the_mnemonic() -> None:
    seen = 0
    for row in rows().values():
        found = PTX.fullmatch(row.dotted)
        if found is None or "block_scale" in row.dotted or row.name != la.parse(row.dotted).name:  # pyright: ignore[reportAttributeAccessIssue]
            continue
        m, n, k, d, a, b, c = found.groups()
        assert d == c
        first = f"A[{m}x{k}] {a}"
        first = f"sparse({first}, metadata)" if ".sp" in row.dotted else first
        said = re.sub(r"metadata E\[\w+\] b2", "metadata", under(row.dotted)[0])
        assert said == f"D[{m}x{n}] {d} = {first} * B[{k}x{n}] {b} + C; D has the layout of C"
        assert under(row.dotted)[1].startswith(f"M = {m}, N = {n}, K = {k} (summed over); by the ")
        seen += 1
    assert seen > 60


def test_the_equation_of_an_amd_instruction_is_that_of_its_name() -> None:
    seen = 0
    for row in rows().values():
        found = AMD.fullmatch(row.name)
        if found is None:
            continue
        d, m, n, k, blocks, a = found.groups()
        front = f"{blocks}x" if blocks else ""
        a, b = ("bf16", "bf16") if a == "bf16_1k" else (a, a) if "8_" not in a else a.split("_")
        assert under(row.name)[0] == (
            f"D[{front}{m}x{n}] {d} = A[{front}{m}x{k}] {a} * B[{front}{k}x{n}] {b} + C; D has the layout of C"
        )
        seen += 1
    assert seen == 40


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("tdpbssd", "C[16x16] i32 += A[16x64] i8 * B[64x16] i8"),
        ("wgmma.m64n64k16.f32.f16.f16", "C[64x64] f32 += A[64x16] f16 * B[16x64] f16"),
        ("v_smfmac_f32_16x16x32_f16", "C[16x16] f32 += sparse(A[16x32] f16, metadata E[16x8] i4) * B[32x16] f16"),
        (
            "v_mfma_scale_f32_16x16x128_f8f6f4",
            "D[16x16] f32 = (A[16x128] fp4 * SFA[16x4] f8E8M0FNU) * (B[128x16] fp4 * SFB[4x16] f8E8M0FNU) + C; "
            "D has the layout of C",
        ),
    ],
)
def test_what_is_added_in_its_place_scaled_or_sparse_is_said_so(text: str, first: str) -> None:
    assert under(text)[0] == first


@pytest.mark.parametrize("name", ["mma.m16n8k16.f32.f16.f16.f32", "mfma 32x32x8 f16", "v_wmma_f32_16x16x16_f16"])
def test_a_picture_has_the_name_that_was_typed_and_the_full_one_under_it(name: str) -> None:
    value = la.parse(name)
    picture = la.picture(name)
    assert picture.title == name
    assert picture.under[-1].startswith(f"also {value}, on ")
    assert value == la.parse(str(value))


def test_where_a_and_b_are_in_memory_the_lanes_of_c_have_hues_and_one_is_outlined() -> None:
    """64x64 of C on four warps: lane 3 of the first holds 32 elements (PTX ISA 9.2, 9.7.15.5)."""
    picture = la.picture("wgmma.m64n64k16.f32.f16.f16")
    assert picture.by == "own axes"
    *memory, lanes = picture._explained([grid for grid, _, _ in picture.grids()])[2]  # pyright: ignore[reportPrivateUsage]
    assert memory == [[], []]
    assert len(lanes) == 8
    said = " ".join(one.text for one in picture.scene().words)
    assert "A, B: cells: the element's number, as CuTe counts; where it is, a descriptor says" in said
    legend = {one.text for key in picture.scene().legends for one in key.words}
    assert {"A, B: element 0", "C: subgroup 0"} <= legend  # what colours mean is said of the operands that have them
    assert "outlined: what lane 3 of subgroup 0 holds: 32 elements of C" in said


@pytest.mark.parametrize(("text", "names"), [
    ("v_mfma_scale_f32_16x16x128_f8f6f4", ["MK", "KN", "MN", ("M", "K/32"), ("K/32", "N")]),
    ("v_mfma_f32_32x32x1_2b_f32", [("block,M", "K"), ("block", "N"), ("block,M", "N")]),
])  # fmt: skip
def test_rows_and_columns_are_named_as_in_the_equation(text: str, names: list[Any]) -> None:
    assert [grid.axis_names for grid, _, _ in la.picture(text).grids()] == [(one[0], one[1]) for one in names]


def test_a_title_that_is_too_long_is_broken_between_its_parts_and_a_line_behind_a_semicolon() -> None:
    text = "#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16, intrinsics_m = 2, intrinsics_n = 2>"
    lines = [one.text for one in la.picture(text).scene().words]
    assert lines[:3] == [
        "#iree_gpu.data_tiled_mma_layout<",
        "intrinsic = MFMA_F32_16x16x16_F16, intrinsics_m = 2,",
        "intrinsics_n = 2>",
    ]
    at = lines.index("D[32x32] f32 = A[32x16] f16 * B[16x32] f16 + C;")
    assert lines[at + 1] == "D has the layout of C"


CELLS: list[Distributed] = [
    la.parse("v_mfma_f32_32x32x8_f16"),
    la.parse("tdpbssd"),
    la.parse("SM90::GMMA::SPARSE::GMMA_64x72x64_F16E4M3E4M3_RS_TN"),
    la.parse("#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16, intrinsics_m = 2, intrinsics_n = 2>"),
]


@pytest.mark.parametrize("value", CELLS, ids=str)
def test_a_cell_of_a_notebook_is_small_and_has_every_owner(value: Distributed) -> None:
    shown = str(value._repr_html_())  # pyright: ignore[reportPrivateUsage]
    assert len(shown) < 300_000
    packed = re.findall(r'\("([\w+/=]+)"\);</script>', shown)
    drawings = json.loads(zlib.decompress(base64.b64decode(packed[0])))["drawings"]
    whole = replace(value.picture(), paged=False)
    for direction, svg in drawings.items():
        told = re.findall(r"<title>(.*?)</title></rect>", svg)
        assert told == [cell.sentence for cell in whole.scene(direction).cells]
    image = base64.b64decode(re.findall(r"svg\+xml;base64,([^\"]+)", shown)[0]).decode()
    drawn = {fill: steps.count("z") for fill, steps in re.findall(r'<path fill="(#\w+)" d="([^"]+)"', image)}
    assert drawn == Counter(cell.fill for cell in value.picture().scene().cells)


def test_a_word_of_k_is_marked_in_a_and_in_b() -> None:
    """A[m, k] is multiplied with all B[k, n] of its word of k, and with nothing else (Intel SDM, TDPBSSD)."""
    scene = replace(la.picture("tdpbssd"), paged=False).scene()
    groups, members = marked(scene)
    at = [(str(frame.grid.role), element) for frame in scene.frames for element in elements_of(frame.grid)]
    for cell, (role, element) in enumerate(at):
        k = {"A": element[1], "B": element[0]}.get(role)
        word = {(one, which[0] if one == "B" else which[1]) for one, which in (at[i] for i in members[groups[cell]])}
        if k is None:
            assert members[groups[cell]] == [cell]
        else:
            assert word == {(one, 4 * (k // 4) + i) for one in "AB" for i in range(4)}
