"""Pictures are read as a person reads them: a cell's owner from its label, its element from the numbers beside the grid.

What they must show comes from `fragment_map` and `owners`, which the compilers' tables check.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import layoutalg as la
from layoutalg.cli import main
from layoutalg.core.notation import Operand
from layoutalg.viz.colouring import legend
from layoutalg.viz.colours import channels, ramp
from layoutalg.viz.folding import ExtentRun, fold
from layoutalg.viz.grid import tensor_grid
from layoutalg.viz.picture import Picture, picture_of
from layoutalg.viz.shapes import PAPER
from tests.viz.reading import SIGN, SVG, numbers_of, read_grids, texts

PAGE = "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
INSTRUCTIONS = PAGE.replace("[2, 4]", "[2, 2]").replace("[16, 16], ", "[16, 32], inst_data = [8, 16], ")
SHARED = f"#xegpu.slice<{PAGE.replace('2, 4', '2, 2')}, dims = [0]>"
MFMA, WMMA = la.mma("MFMA_F32_16x16x16_F16"), la.mma("WMMA_F32_16x16x16_F16")
DPAS = la.dpas("f16", "f16", "f32")

LAYOUTS = {
    "xegpu": la.parse(PAGE).layout((32, 64)),
    "xegpu, instruction tiles": la.parse(INSTRUCTIONS).layout((32, 64)),
    "xegpu, slice": la.parse(SHARED).layout((32,)),
    "xegpu, round robin": la.parse("#xegpu.layout<lane_layout = [2, 8], lane_data = [2, 2]>").layout((8, 32)),
    "xegpu, subgroups only": la.parse("#xegpu.layout<sg_layout = [2, 2], sg_data = [4, 4]>").layout((8, 8)),
    "dpas b": DPAS.b,
    "dpas a, i8": la.dpas("s8", "s8", "s32").a,
    "block load": la.block_load(16, 16, 16, transpose=True, transpose_bits=32).layout,
    "nested": la.to_nested(MFMA.acc).layout((16, 16)),
    "mfma a": MFMA.lhs,
    "mfma c": MFMA.acc,
    "wmma a": WMMA.lhs,
    "mma.sync b": la.mma("NV_MMA_SYNC_F32_16x8x16_F16").rhs,
    "four small products": la.mma("MFMA_F32_4x4x4x16B_F16").acc,
    "triton": la.to_linear_layout(MFMA.rhs).layout(),
    "cute": la.parse_cute("((4,8),2):((16,1),8)").layout(),
    "many subgroups": la.Layout.parse("d0 = 3@sg:5 4@reg, d1 = 5@sg 3@lane"),
    "XOR": la.parse("#ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 4, order = [1, 0]}>").layout((8, 8)),
    "XOR of lanes": la.Layout.parse("d0 = 2@(lane:2^lane) 2@reg, d1 = 2@(lane)"),
    "primes": la.Layout.parse("d0 = 3@lane 5@reg, d1 = 7@lane:3 2@reg:5"),
    "three dimensions": la.Layout.parse("d0 = 2@reg:6, d1 = 3@lane, d2 = 6@reg"),
    "large": la.Layout.parse("d0 = 64@sg:4 64@reg:64, d1 = 4@sg 64@lane 16@reg:4096"),
    "one element": la.Layout([[], []]),
    "scalar": la.Layout([]),
    "amx tile": la.parse("!amx.tile<16x64xi8>").layout(),
    "amx b": la.TileProduct(16, 16, 32, "bf16", "bf16").rhs,
    "memory": la.parse("!xegpu.mem_desc<16x32xf16, #xegpu.mem_layout<block = [8, 16]>>").layout(),
    "wmma c, replicas of a slice": la.parse(SHARED).layout((64,)),
    "shared by all lanes": la.Layout.parse("d0 = 4@reg 2@lane:4 | replicas 4@lane"),
    "neighbours overlap": la.Layout.parse("d0 = 4@lane, d1 = 2@reg | replicas 2@lane"),
    "offset": la.Layout.parse("d0 = 4@lane, d1 = 8@reg | offset 3@sg 16@lane 32@reg"),
}


def read(svg: str) -> dict[tuple[int, ...], tuple[str, str]]:
    """Label and colour of the cell at every coordinate, found by the numbers above and beside it."""
    (one,) = read_grids(svg, [sum(anchor == "label" for _, _, anchor, _ in texts(svg))])
    rows, columns = ([name for name in side if not SIGN.fullmatch(name)] for side in (one.rows, one.columns))
    found: dict[tuple[int, ...], tuple[str, str]] = {}
    for row, labels, fills in zip(rows, one.labels, one.fills, strict=True):
        for column, label, fill in zip(columns, labels, fills, strict=True):
            numbers = ",".join(part for part in (row, column) if part)
            found[tuple(int(number) for number in re.split("[,/]", numbers) if number)] = (label, fill)
    return found


def element(layout: la.Layout, shown: Sequence[int], rows: int) -> tuple[int, ...]:
    """The coordinate that a cell's numbers name: those of dimensions of size 1 are left out (but for a side's only one)."""
    shown = list(shown)
    sizes: list[Any] = list(layout.shape)
    sides = [range(rows), range(rows, layout.rank)]
    full = [0] * layout.rank
    for side in sides:
        wide = [d for d in side if sizes[d] > 1] or list(side)[-1:]
        for d in wide:
            full[d] = shown.pop(0)
    assert not shown
    return tuple(full)


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_drawn_owner_of_every_cell_is_the_owner(name: str) -> None:
    layout = LAYOUTS[name]
    cells = read(replace(layout.picture(), example=False).svg())
    assert cells
    axes = layout.codomain
    hue: dict[int, set[str]] = {}
    for shown, (label, fill) in cells.items():
        owner = dict(zip(axes, layout.owners(element(layout, shown, max(layout.rank - 1, 0)))[0], strict=True))
        reach: dict[str, Any] = layout.axes
        if "lane" not in axes:
            named = [axis for axis in axes if reach.get(axis, 1) > 1]
        elif reach.get("lane", 1) > 1:
            several = len(
                {one[axes.index("sg")] for one in layout.owners(element(layout, shown, max(layout.rank - 1, 0)))}
            )
            named = ["sg"] * (reach.get("sg", 1) > 8 or several > 1) + ["lane", "reg"]
        else:
            named = ["sg", "reg"] if reach.get("sg", 1) > 1 else ["reg"]
        told = [one if isinstance(one, int) else one[0] for one in numbers_of(label)] if label else []
        assert told == [owner[axis] for axis in named], (shown, label)
        if "lane" in axes:
            hue.setdefault(owner["sg"] * 1024 + owner["lane"], set()).add(fill)
    assert all(len(fills) == 1 for fills in hue.values()), "one lane has one colour"
    drawn = {key: fills.pop() for key, fills in hue.items()}
    groups = {key // 1024 for key in drawn}
    assert len(groups) > 1 or len(set(drawn.values())) == len(drawn), "and the lanes of one subgroup have theirs"
    if layout.axes.get("sg", 1) <= 8:
        for a in drawn:
            for b in drawn:
                if a // 1024 != b // 1024:
                    assert drawn[a] != drawn[b], "subgroups have colours of their own"


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name not in ("scalar", "one element", "amx b")])
def test_the_hardware_picture_shows_what_each_register_holds(name: str) -> None:
    layout = LAYOUTS[name]
    picture = layout.picture()
    if picture.directions == ("tensor",):
        with pytest.raises(la.LayoutError, match=r"gap|overlap"):
            layout.picture(direction="hardware")
        return
    axes = [axis for axis in layout.codomain if axis != "reg"]
    axes = ["reg", *axes] if "reg" in layout.codomain else axes
    slots = layout.inverse()
    sizes = {axis: int(slots.shape[d]) for d, axis in enumerate(layout.codomain)}
    down, across = (axes[:1], axes[1:]) if "reg" in axes else (axes[:-1], axes[-1:])
    holders: dict[tuple[int, ...], tuple[int, ...]] = {}
    for at in np.ndindex(*layout.shape) if np.prod(layout.shape) < 2**14 else []:
        for place in layout.owners(at):
            holders.setdefault(place, at)
    cells = read(layout.picture(direction="hardware").svg())
    told = layout.picture(direction="hardware").scene().cells
    assert len(cells) == len(told)
    for shown, (label, _) in cells.items():
        numbers = list(shown)
        place = {axis: layout.offsets.get(axis, 0) for axis in layout.codomain}
        for side in (down, across):
            for axis in [a for a in side if sizes[a] > 1] or side[-1:]:
                place[axis] = numbers.pop(0)
        where = tuple(place[axis] for axis in layout.codomain)
        if holders:
            assert label == ",".join(map(str, holders[where])), shown
        assert tuple(layout.owners(tuple(map(int, label.split(",")))))
        assert where in layout.owners(tuple(map(int, label.split(","))))
    for cell in told:
        element, owner, others = said(cell.sentence)
        words = {"subgroup": "sg", "register": "reg"}
        here = {words.get(name, name): value for name, value in owner.items()}
        where = tuple(here.get(axis, layout.offsets.get(axis, 0)) for axis in layout.codomain)
        every = layout.owners(element)
        assert where in every
        assert len(others) == min(len(every) - 1, 8)
        for other in others:
            elsewhere = here | {words.get(name, name): value for name, value in other.items()}
            assert elsewhere != here
            assert tuple(elsewhere.get(axis, layout.offsets.get(axis, 0)) for axis in layout.codomain) in every


def said(sentence: str) -> tuple[tuple[int, ...], dict[str, int], list[dict[str, int]]]:
    """The element, the owner and the other places that a sentence names."""
    found = re.fullmatch(
        r"element \(([-\d, ]*)\): ([^;]*)(?:; tile [^;]*)?(?:; also in (.*?)(?: and \d+ more)?)?", sentence
    )
    assert found is not None, sentence

    def places(text: str, between: str) -> dict[str, int]:
        words = text.replace(",", "").split()
        return {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}

    element = tuple(int(n) for n in found[1].split(", ") if n)
    others = [places(one, " ") for one in found[3].split(", ")] if found[3] else []
    return element, places(found[2], ", "), others


def test_nothing_is_folded_that_fits_and_everything_is_there_on_request() -> None:
    layout = la.Layout.parse("d0 = 24@reg, d1 = 30@lane")
    assert len(read(replace(layout.picture(), paged=False).svg())) == 24 * 30
    large = la.Layout.parse("d0 = 2@sg 40@reg, d1 = 40@lane")
    assert len(large.picture().scene().cells) < len(read(replace(large.picture(), example=False).svg())) < 80 * 40
    assert len(read(large.picture(full=True).svg())) == 80 * 40


@pytest.mark.parametrize(
    "digits", [(4096,), (2, 16), (5, 7, 3), (2,) * 12, (1, 1), (), (64, 1, 64), (2**31, 2**31 - 1)]
)
@pytest.mark.parametrize("most", [1, 2, 7, 32])
def test_bands_cover_a_side_once_and_no_more_than_asked_are_drawn(digits: tuple[int, ...], most: int) -> None:
    bands = fold([ExtentRun(n) for n in digits], most)
    assert bands[0].start == 0
    assert all(b.start == a.start + a.size for a, b in pairwise(bands))
    size = 1
    for n in digits:
        size *= n
    assert bands[-1].start + bands[-1].size == size
    drawn = sum(not band.gap for band in bands)
    kept = [min(n, 2) for n in digits if n > 1]  # of every run, what stands before and behind its dots
    inner = [n for n in digits if n > 1][-1:]
    if inner and inner[0] <= 4:
        kept[-1] = inner[0]  # a group of neighbours is whole
    assert 1 <= drawn <= max(most, np.prod(kept, dtype=int))
    assert not any(a.gap and b.gap for a, b in pairwise(bands))


def test_a_product_lines_up_around_its_corner() -> None:
    for value in (DPAS, MFMA, WMMA, la.TileProduct(8, 16, 32, "bf16", "bf16"), la.plan_gemm(64, 64, 64)):
        picture = picture_of(value)
        a, b, c = picture.scene().frames
        assert a.rows == c.rows
        assert b.columns == c.columns
        assert max(a.columns) < min(c.columns)
        assert max(b.rows) < min(c.rows)
        for part, (grid, _, _) in zip(value.operands(), picture.grids(), strict=True):
            assert [*grid.rows.shape, *grid.columns.shape] == list(part.layout.shape)
            owners = grid.owner["lane" if "lane" in grid.owner else "row"].rows
            assert (len(owners), len(owners[0])) == grid.shape


def test_k_folds_alike_on_both_operands() -> None:
    a, b, _ = la.mma("MFMA_F32_16x16x128_F8E4M3FN").picture().grids()
    assert a[0].columns.bands == b[0].rows.bands
    assert a[0].shape[1] < 128


def test_the_name_below_a_title_stays_inside_the_picture() -> None:
    text = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
    root = ElementTree.fromstring(la.parse(text).picture((16, 16), title="rows").svg())
    words = [one for one in root.iter(f"{SVG}text") if one.get("font-weight") == "bold"]
    assert " ".join(str(one.text) for one in words) == f"rows {text}, 16x16"
    for one in words:  # a letter of DejaVu Sans Mono is 0.602 of its size wide
        assert float(one.get("x", 0)) + 0.602 * float(one.get("font-size", 0)) * len(one.text or "") <= float(
            root.get("width", 0)
        )


HOSTILE = [
    "<script>alert(1)</script>",
    "a\"b'c & <d>",
    "]]> -->",
    "</title></svg>",
    "\u2028\x00\x1b\ufffe",
    "名前 🙂",
    "x" * 3000,
    "",
    " ",
]


@pytest.mark.parametrize("title", HOSTILE, ids=range(len(HOSTILE)))
def test_a_title_is_text_whatever_it_holds(title: str, tmp_path: Path) -> None:
    picture = DPAS.c.picture(title=title)
    root = ElementTree.fromstring(picture.svg())
    assert {one.tag for one in root.iter()} == {
        f"{SVG}{tag}" for tag in ("svg", "title", "style", "rect", "g", "text", "path")
    }
    named = root.find(f"{SVG}title")
    legal = re.sub(r"[\x00\x1b\ufffe]", "\N{REPLACEMENT CHARACTER}", title)
    assert named is not None
    assert (named.text or "") == legal
    page = picture.html()
    assert page.count("<script") == page.count("</script") == 1
    assert picture._repr_html_().count("<script") == 1
    picture.save(tmp_path / "picture.pdf")


def test_nothing_is_loaded_from_anywhere() -> None:
    for text in (DPAS.picture().html(), DPAS.picture()._repr_html_(), DPAS.picture().svg()):
        assert not re.search(r"https?://|//[a-z]+\.", text.replace("http://www.w3.org/2000/svg", ""))
        assert not re.search(r"@import|url\(|<link|<iframe|srcset", text)


def test_colours_by_lane_register_and_tile() -> None:
    tile = replace(la.parse(INSTRUCTIONS).picture((32, 64)), example=False)
    lanes, registers = (replace(tile, colour=by).svg() for by in ("lane", "register"))
    layout = la.parse(INSTRUCTIONS).layout((32, 64))
    for svg, axis in ((lanes, "lane"), (registers, "reg")):
        owner = layout.owner_map(axis)
        seen: dict[int, set[str]] = {}
        for at, (_, fill) in read(svg).items():
            seen.setdefault(int(owner[at]), set()).add(fill)
        assert all(len(fills) == 1 for fills in seen.values())
        assert len({fill for fills in seen.values() for fill in fills}) == len(seen)
    tiles: dict[tuple[int, int], set[str]] = {}
    for at, (_, fill) in read(replace(tile, colour="tile").svg()).items():
        tiles.setdefault((at[0] // 8, at[1] // 16), set()).add(fill)
    assert all(len(fills) == 1 for fills in tiles.values())
    for i, j in tiles:
        for other in ((i + 1, j), (i, j + 1)):
            assert tiles[i, j] != tiles.get(other)


@pytest.mark.parametrize("by", ["subgroup", "lane", "register", "row", "col"])
def test_one_number_has_one_colour_in_all_operands_and_in_the_legend(by: str) -> None:
    values = [DPAS, la.dpas("s8", "s8", "s32"), WMMA, la.mma("MFMA_F32_32x32x8_F16"), la.plan_gemm(64, 64, 64)]
    values += [la.TileProduct(4, 4, 64, "i8", "i8")]
    for value in values:
        picture = picture_of(value)
        if by not in picture.colourings:
            continue
        scene = picture.scene(colour=by)
        seen: dict[tuple[int, ...], set[str]] = {}
        for cell in scene.cells:
            _, owner, _ = said(cell.sentence)
            key = (owner["subgroup"], owner["lane"]) if by == "subgroup" else (owner[by],)
            seen.setdefault(key, set()).add(cell.fill)
        assert all(len(fills) == 1 for fills in seen.values())
        (legend,) = [one for one in scene.legends if one.by == by]
        assert len(legend.swatches) <= 8
        if by != "subgroup":
            beside = [words.text for words in legend.words if words.text != "\N{MIDLINE HORIZONTAL ELLIPSIS}"]
            numbers = [int(text.split()[-1]) for text in beside[: len(legend.swatches)]]
            assert numbers == sorted(numbers)
            for number, swatch in zip(numbers, legend.swatches, strict=True):
                assert seen.get((number,), {swatch.fill}) == {swatch.fill}


def test_a_layout_between_two_machines_tells_them_apart() -> None:
    between = la.compose(la.Layout.parse("d0 = 2@reg 4@lane"), la.Layout.parse("d0 = 4@lane 2@reg").inverse())
    for cell in between.picture().scene().cells:
        element, owner, _ = said(cell.sentence)
        assert between.owners(element) == [(owner["subgroup"], owner["lane"], owner["register"])]


def test_the_copies_of_swizzled_memory_are_where_the_swizzle_puts_them() -> None:
    memory = la.swizzled(la.Layout.parse("d0 = 4@addr | replicas 2@addr:4"), la.Swizzle(2, 0, 2))
    for cell in memory.picture().scene().cells:
        element, owner, others = said(cell.sentence)
        assert {owner["addr"], *(other["addr"] for other in others)} == {at for (at,) in memory.owners(element)}


def test_of_thousands_of_copies_a_page_is_made_quickly() -> None:
    layout = la.Layout.parse("d0 = 4096@reg, d1 = 32@lane | replicas 4096@sg")
    start = perf_counter()
    assert "also in subgroup 1" in layout.picture().html()
    assert perf_counter() - start < 5


def test_a_text_has_a_picture() -> None:
    picture = la.picture(PAGE, (32, 64))
    assert picture.svg() == la.parse(PAGE).picture((32, 64)).svg()
    assert picture.svg() == la.picture(la.parse(PAGE), (32, 64)).svg()
    with pytest.raises(la.ParseError):
        la.picture("bogus")
    with pytest.raises(la.LayoutError, match="expected a Layout"):
        la.picture(5)  # type: ignore[arg-type]


def test_numbers_that_no_script_can_hold_are_right() -> None:
    cells = la.Layout.parse("d0 = 2@addr | offset 4611686018427387000@addr").picture().scene().cells
    assert [said(cell.sentence)[1]["addr"] for cell in cells] == [4611686018427387000, 4611686018427387001]


@pytest.mark.parametrize(
    "text", ["d0 = 33554432@reg", "d0 = 8388608@reg, d1 = 8388608@lane", "d0 = 65537@reg, d1 = 256@lane"]
)
def test_a_full_picture_that_is_too_large_is_refused_before_it_is_made(text: str) -> None:
    with pytest.raises(la.SizeError, match="at most 2\\^24"):
        la.Layout.parse(text).picture(full=True)


@pytest.mark.slow
def test_a_long_thin_full_picture_is_drawn(tmp_path: Path) -> None:
    la.Layout.parse("d0 = 65536@lane").picture(full=True).save(tmp_path / "w.png")
    la.Layout.parse("d0 = 256@reg, d1 = 128@lane").picture(full=True).save(tmp_path / "v.png")
    assert (tmp_path / "w.png").stat().st_size > 1000


@pytest.mark.parametrize("ending", ["svg", "html", "png", "pdf"])
def test_a_title_that_no_file_can_hold_is_mended(ending: str, tmp_path: Path) -> None:
    DPAS.c.picture(title="a\udcff\x00").save(tmp_path / f"a.{ending}")
    with pytest.raises(la.LayoutError):
        DPAS.c.picture().save(f"{tmp_path}/a\x00.{ending}")


def test_lines_stand_between_subgroups_and_between_instruction_tiles() -> None:
    scene = replace(la.parse(INSTRUCTIONS).picture((32, 64)), example=False).scene()
    (frame,) = scene.frames
    lines = [line for line in scene.lines if line.fill != PAPER]
    wide = [line for line in lines if line.width > 2]
    columns, rows = {line.x for line in wide if line.x == line.to_x}, {line.y for line in wide if line.y == line.to_y}
    layout = la.parse(INSTRUCTIONS).layout((32, 64))
    groups = layout.owner_map("sg")
    xs = [int(c) for c in frame.grid.columns.first[0]]
    ys = [int(r) for r in frame.grid.rows.first[0]]
    assert columns == {
        frame.columns[i]
        for i in range(1, len(xs))
        if xs[i] == xs[i - 1] + 1 and groups[0, xs[i]] != groups[0, xs[i - 1]]
    }
    assert rows == {
        frame.rows[i] for i in range(1, len(ys)) if ys[i] == ys[i - 1] + 1 and groups[ys[i], 0] != groups[ys[i - 1], 0]
    }
    thin = {line.y for line in lines if line.width < 2 and line.y == line.to_y}
    assert thin == {frame.rows[i] for i, y in enumerate(ys) if i and y % 8 == 0}
    assert "thin lines: between instruction tiles of 8x16" in " ".join(words.text for words in scene.words)


def test_lines_stand_where_the_innermost_of_nested_modes_begins_again() -> None:
    """Rows count modes (4,8): every four rows the inner one begins again; the mode of the columns is not nested."""
    scene = la.picture("((4,8),2):((16,1),8)").scene()
    (frame,) = scene.frames
    thin = [line for line in scene.lines if line.fill != PAPER and line.width < 2]
    assert {(line.y, line.to_y) for line in thin} == {(frame.rows[i],) * 2 for i in range(4, 32, 4)}
    assert "thin lines: between blocks of 4x2" in [words.text for words in scene.words]
    flat = la.picture("(32,2):(1,32)").scene()
    assert not [line for line in flat.lines if line.fill != PAPER and line.width < 2]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("#ttg.linear<{register = [[0, 1]], lane = [[1, 0], [2, 0]], warp = [], block = []}>", "4x2"),
        (
            "#iree_vector_ext.nested_layout<subgroup_tile = [2, 1], batch_tile = [1, 2], outer_tile = [1, 1], "
            "thread_tile = [4, 16], element_tile = [4, 1], subgroup_strides = [1, 0], thread_strides = [16, 1]>",
            "32x32",
        ),
        (SHARED, "32 elements"),
    ],
)
def test_a_title_says_the_shape_and_is_not_cut_inside_a_field(text: str, shape: str) -> None:
    scene = la.picture(text).scene()
    assert scene.title.endswith(f", {shape}")
    title = [words.text for words in scene.words if words.bold and words.size == 13]
    assert " ".join(title).replace("< ", "<") == scene.title
    assert not any(
        line.startswith((",", "=")) or re.search(r"[=,]$|\[[\d, ]*$", line.removesuffix(",")) for line in title
    )


# The command line, files and notebooks


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "html"])
def test_draw_writes_each_format(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "deep" / f"picture.{ending}"
    assert main(["draw", PAGE, "32x64", "-o", str(target), "--colour", "lane"]) == 0
    inside = f"16 of 16 x {16 if ending == 'html' else 8} of 16 cells of one"
    assert f": 2 of 2 x 4 of 4 blocks; {inside}" in capsys.readouterr().out
    start = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!DOCTYPE"}[ending]
    assert target.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["draw", PAGE, "32x64", "-o", "x.gif"], "expected a name that ends in"),
        (["draw", PAGE, "32x64"], "-o FILE, such as -o picture.svg"),
        (["draw", PAGE, "31x64", "-o", "x.svg"], "has size 31"),
        (["draw", PAGE, "32x64", "-o", "x.svg", "--colour", "pink"], "subgroup, lane, register, tile"),
        (["draw", PAGE, "32x64", "-o", "x.svg", "--direction", "up"], "'tensor', 'hardware'"),
        (["draw", "!xegpu.nbarrier", "-o", "x.svg"], "distributes nothing"),
        (["draw", "d0 = M@lane", "-o", "x.svg"], "has symbols"),
        (["draw", "d0 = 65536@reg, d1 = 65536@lane", "-o", "x.png", "--full"], "at most 2^24"),
        (["draw", "d0 = 4@lane", "-o", "/proc/x.svg"], "/proc/x.svg"),
    ],
)
def test_draw_refuses_in_one_line(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_draw_takes_the_threads_of_a_nested_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = str(la.to_nested(DPAS.c))
    assert main(["draw", text, "8x16", "-o", str(tmp_path / "a.svg"), "--subgroup-size", "16", "--json"]) == 0
    assert '"rows": 8, "columns": 16' in capsys.readouterr().out
    assert "each element is in" not in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize(
    "value",
    [
        DPAS.c,
        la.parse(PAGE),
        la.parse(SHARED),
        la.parse("#xegpu.sg_map<wi_layout = [1, 16], wi_data = [1, 1]>"),
        la.parse("!xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>"),
        la.parse("!xegpu.mem_desc<16x16xf16>"),
        la.to_nested(MFMA.acc),
        MFMA,
        la.parse("#iree_gpu.data_tiled_mma_layout<intrinsic = MFMA_F32_16x16x16_F16, intrinsics_n = 2>"),
        la.parse(
            "#iree_gpu.mma_schedule<intrinsic = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, subgroup_m_count = 1, "
            "subgroup_n_count = 4>"
        ),
        DPAS,
        la.block_load(8, 16, 16),
        la.block_store(8, 16, 32),
        la.parse("!amx.tile<16x64xi8>"),
        la.TileProduct(16, 16, 64, "i8", "i8"),
        la.to_cute(DPAS.c),
        la.parse_cute("Sw<2,0,2> o 0 o (4,4):(4,1)"),
        la.to_linear_layout(DPAS.c),
        la.plan_gemm(64, 64, 64),
        la.plan_gemm(64, 64, 64).fragments[1],
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_notebook_shows_every_value_with_a_layout(value: Any) -> None:
    shown = value._repr_html_()
    assert shown.startswith('<div class="layoutalg" data-of=')
    assert 'src="data:image/svg+xml;base64,' in shown
    assert value.draw()._repr_png_().startswith(b"\x89PNG")


def test_what_has_no_picture_shows_its_text() -> None:
    assert la.Layout.parse("d0 = M@lane")._repr_html_() is None
    assert la.parse("!xegpu.tensor_desc<8x16xf16>")._repr_html_() is None


def test_a_large_full_picture_is_an_image() -> None:
    layout = la.Layout.parse("d0 = 32@sg:4 16@reg, d1 = 4@sg 16@lane 8@reg:16")
    image = layout.draw(full=True, colour="register").axes[0].images[0].get_array()
    assert image.shape == (512, 512, 3)
    registers = layout.owner_map("reg")
    assert tuple(image[7, 100]) == channels(ramp(registers[7, 100] / 127))
    with pytest.raises(la.SizeError, match="save a full picture as PNG"):
        layout.picture(full=True).svg()


def test_a_picture_is_the_same_every_time() -> None:
    first, second = (DPAS.picture() for _ in range(2))
    assert first.html() == second.html()
    assert DPAS.draw()._repr_png_() == DPAS.draw()._repr_png_()


@pytest.mark.parametrize("shape", ["8x16", 5, 8.5, object()])
def test_a_shape_that_is_none_is_said_so(shape: Any) -> None:
    for value in (DPAS.c, la.parse(PAGE), MFMA, la.parse("!amx.tile<16x64xi8>")):
        with pytest.raises(la.LayoutError, match="expected sizes"):
            value.picture(shape)


@pytest.mark.parametrize(
    "text",
    [
        "Sw<2,0,2> o 5 o (4,4):(4,1)",
        "Sw<2,3,3> o 0 o (8,96):(128,1)",
        "Sw<2,1,-3> o 0 o (8,8):(8,1)",
        "Sw<3,1,-3> o 32 o (1,1):(1,1)",
    ],
)
def test_memory_that_a_swizzle_leaves_no_factors_is_drawn_by_its_addresses(text: str) -> None:
    memory = la.parse(text)
    assert isinstance(memory, la.CuteLayout)
    picture = memory.picture()
    assert picture.directions == ("tensor",)
    for cell in picture.scene().cells:
        element, owner, _ = said(cell.sentence)
        address = int(memory(*element))  # pyright: ignore[reportArgumentType]
        assert owner == {"addr": address, "bank": address % 32}


def test_a_row_behind_a_lane_s_address_is_labelled_by_lane_and_place() -> None:
    source, destination = la.instruction("ldmatrix.x4").operands()
    labels = tensor_grid(source).labels()
    assert labels == [[f"{row}:{place}" for place in range(8)] for row in range(32)]
    assert tensor_grid(source).forms.endswith("cells: lane:addr")
    assert tensor_grid(destination).forms.endswith("cells: lane:register")


LEGENDS = [("dpas.f16.f16.f32", "0 1 2 ⋯ 15"), ("tdpbf16ps", "0 ⋯ 15"), ("d0 = 4@reg, d1 = 4@lane", "0 1 2 3")]


@pytest.mark.parametrize(("text", "shown"), LEGENDS)
def test_a_legend_has_dots_where_it_leaves_numbers_out(text: str, shown: str) -> None:
    picture = la.picture(text)
    entries = " ".join(words for words, _ in legend([grid for grid, _, _ in picture.grids()], picture.by))
    assert re.sub(r"^\D+", "", entries).startswith(shown)


@pytest.mark.parametrize("flag", ["full", "paged", "example"])
def test_a_flag_of_a_picture_is_one(flag: str) -> None:
    picture = la.Layout.parse("d0 = 4@lane").picture()
    for wrong in ("no", np.array([1.0, 2.0])):
        with pytest.raises(la.LayoutError, match=f"{flag} = .*expected True or False"):
            replace(picture, **{flag: wrong})


def test_operands_without_names_are_drawn() -> None:
    lanes, registers = (Operand("", la.Layout.parse(text)) for text in ("d0 = 4@lane", "d0 = 4@reg"))
    assert len(Picture((lanes,), "").scene().cells) == 4
    assert len(Picture((lanes, registers), "").scene().cells) == 8
