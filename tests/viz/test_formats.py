"""Pictures as TikZ, CSV and Markdown: each is read back and compared with the owners that the layout lists."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from layoutalg.viz.picture import FORMATS
from layoutalg.viz.tikz import latex
from tests.cli.printed import Capture, out

WG = "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
LAYOUTS = {
    "tile": la.Layout.parse("d0 = 8@reg, d1 = 16@lane"),
    "subgroups": la.parse(WG).layout((32, 64)),
    "copies": la.Layout.parse("row = 4@reg 2@lane:4 | replicas 4@lane"),
    "memory": la.swizzled(la.Layout.parse("d0 = 8@addr:8, d1 = 8@addr"), la.Swizzle(3, 0, 3)),
    "three": la.Layout.parse("d0 = 2@sg, d1 = 3@reg, d2 = 4@lane"),
    "offset": la.Layout.parse("d0 = 4@lane, d1 = 8@reg | offset 3@sg 16@lane 32@reg"),
}
HOSTILE = [
    r"\input{/etc/passwd}",
    r"}\end{document}\write18{x}",
    "50% & #1_2^3~{}$x$",
    "a\nb\tc",
    "^^41",
    "\u202eλ🙂",
    "größe naïve Žluťoučký кот Σλ",
    "<b>|`'\"--,,?`",
]
COMMANDS = {
    "documentclass", "usepackage", "definecolor", "begin", "end", "filldraw", "fill", "node", "draw", "fontsize", "ttfamily",
    "bfseries", "textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar", "textquotedbl",
    "textasciigrave", "textquotesingle", "cdots", "vdots", "ldots", "rightarrow", "downarrow", "times",
    "lambda", "Sigma",
}  # fmt: skip


def check_latex(text: str) -> None:
    """Braces are balanced, every command is one of ours, math is cdots and the like alone, and statements end."""
    depth = 0
    for found in re.finditer(r"\\([a-zA-Z]+|.)|[{}$%&#^~_]", text):
        if found[0].startswith("\\"):
            assert found[1] in COMMANDS or found[1] in "{}$&#%_", found[0]
        elif found[0] in "{}":
            depth += 1 if found[0] == "{" else -1
            assert depth >= 0
        else:
            assert found[0] == "$", text[found.start() - 20 : found.end() + 20]
    assert depth == 0
    assert all(
        math in (r"\cdots", r"\vdots", r"\rightarrow", r"\downarrow", r"\times", r"\lambda", r"\Sigma")
        for math in re.findall(r"(?<!\\)\$(.*?)\$", text)
    )
    lines = text.splitlines()
    assert lines[0].startswith(r"\documentclass")
    assert lines[-1] == r"\end{document}"
    assert all(line.endswith(";") for line in lines if re.match(r"\\(filldraw|fill|node|draw)\b", line))


@pytest.mark.parametrize("name", LAYOUTS)
def test_tikz_has_every_cell_with_its_place_colour_and_label(name: str) -> None:
    picture = LAYOUTS[name].picture()
    text, scene = picture.tikz(), picture.scene()
    check_latex(text)
    colours = dict(re.findall(r"\\definecolor{(\w+)}{HTML}{(\w+)}", text))
    drawn = re.findall(r"\\filldraw\[fill=(\w+),[^]]*\] \(([\d.]+),([\d.]+)\) rectangle \(([\d.]+),([\d.]+)\);", text)
    assert [(f"#{colours[fill].lower()}", float(x), float(y)) for fill, x, y, _, _ in drawn] == [
        (cell.fill, cell.x, cell.y) for cell in scene.cells
    ]
    labels = re.findall(
        r"\\node\[font=\\fontsize{8.2}{8.2}\\ttfamily,text=\w+,anchor=base\] at \(([\d.]+),([\d.]+)\) {(.*)};", text
    )
    assert [(float(x), float(y), label) for x, y, label in labels[: len(scene.cells)]] == [
        (cell.x + cell.width / 2, cell.y + cell.height / 2 + 4, latex(cell.label)) for cell in scene.cells
    ]


def compile_it(text: str, folder: Path) -> None:
    """Let pdflatex read it, where there is one."""
    program = shutil.which("pdflatex")
    if program is None:
        return
    if not subprocess.run(["kpsewhich", "standalone.cls"], capture_output=True, check=False).stdout:
        text = text.replace(r"\documentclass[tikz]{standalone}", r"\documentclass{article}\usepackage{tikz}")
    (folder / "x.tex").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [program, "-interaction=batchmode", "-halt-on-error", "x.tex"],
        cwd=folder,
        check=False,
        timeout=120,
        capture_output=True,
    )
    assert done.returncode == 0, (folder / "x.log").read_text(encoding="utf-8", errors="replace")[-2000:]


@pytest.mark.slow
def test_pdflatex_takes_them_where_it_is_there(tmp_path: Path) -> None:
    for picture in (LAYOUTS["subgroups"].picture(title=" ".join(HOSTILE)), PLANS["gemm"](), PLANS["difference"]()):
        compile_it(picture.tikz(), tmp_path)


@pytest.mark.parametrize("title", HOSTILE)
def test_no_title_is_a_command_of_latex_a_line_of_csv_or_a_mark_of_markdown(title: str) -> None:
    picture = LAYOUTS["tile"].picture(title=title)
    check_latex(picture.tikz())
    assert len(list(csv.reader(io.StringIO(picture.csv())))) == 1 + 8 * 16
    head = picture.markdown().split("\n\n")[0]
    assert head.startswith("**")
    assert "\n" not in head
    assert not re.search(r"(?<!\\)[<>`|\[\]]", head)


def test_letters_of_latex_stay_letters() -> None:
    assert latex(HOSTILE[-2]) == r"größe naïve Žluťoučký ??? $\Sigma$$\lambda$"


@pytest.mark.parametrize("name", LAYOUTS)
def test_csv_has_the_owner_of_every_drawn_element(name: str) -> None:
    layout = LAYOUTS[name]
    head, *lines = list(csv.reader(io.StringIO(layout.picture(full=True).csv())))
    names = [str(one) for one in layout.names]
    seen: set[tuple[int, ...]] = set()
    for line in lines:
        facts = dict(zip(head, line, strict=True))
        element = tuple(int(facts[one]) for one in names)
        owners = layout.owners(element)
        place = tuple(int(facts.get(axis, 0)) for axis in layout.codomain)
        assert place in owners
        assert int(facts["owners"]) == len(owners)
        seen.add(element)
    count = 1
    for n in layout.shape:
        count *= int(n)
    assert len(seen) == len(lines) == count


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a page in Markdown: rows of cells, without the line of dashes."""
    found: list[list[list[str]]] = []
    before = False
    for line in text.splitlines():
        if line.startswith("|"):
            if not before:
                found.append([])
            if not set(line) <= set("|-"):
                found[-1].append([re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        before = line.startswith("|")
    return found


@pytest.mark.parametrize("name", LAYOUTS)
def test_markdown_has_the_labels_of_the_picture_where_they_stand(name: str) -> None:
    picture = LAYOUTS[name].picture()
    for (grid, _, _), table in zip(picture.grids(), tables(picture.markdown()), strict=True):
        assert table[0][1:] == grid.columns.headers()
        labels = iter(grid.labels())
        for row, band in zip(table[1:], grid.rows.bands, strict=True):
            if band.gap:
                continue
            assert [cell for cell, other in zip(row[1:], grid.columns.bands, strict=True) if not other.gap] == next(
                labels
            )


def test_a_large_layout_is_folded_in_each() -> None:
    picture = la.Layout.parse("d0 = 256@sg 16@reg, d1 = 256@reg:16 16@lane").picture()
    for text in (picture.tikz(), picture.csv(), picture.markdown()):
        assert len(text) < 2**19
    assert r"$\cdots$" in picture.tikz()
    check_latex(picture.tikz())
    for method in ("csv", "markdown", "tikz"):
        with pytest.raises(la.SizeError):
            getattr(la.Layout.parse("d0 = 512@reg, d1 = 512@lane").picture(full=True), method)()


def test_operands_of_a_product_are_tables_of_their_own() -> None:
    picture = la.mma("MFMA_F32_16x16x16_F16").picture()
    assert len(tables(picture.markdown())) == 3
    assert {line[0][0] for line in list(csv.reader(io.StringIO(picture.csv())))[1:]} == {"A", "B", "C"}


PLANS: dict[str, Any] = {
    "gemm": lambda: la.plan_gemm(4096, 4096, 4096).picture(),
    "amx": lambda: la.plan_amx(512, 512, 512).picture(),
    "difference": lambda: la.same("d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg").picture(),
}


@pytest.mark.parametrize("name", PLANS)
def test_panels_have_the_formats_too(name: str) -> None:
    picture = PLANS[name]()
    scene = picture.scene()
    check_latex(picture.tikz())
    lines = list(csv.reader(io.StringIO(picture.csv())))[1:]
    assert [line[2] for line in lines] == [cell.sentence for cell in scene.cells]
    cells = [cell for table in tables(picture.markdown()) for row in table for cell in row if cell]
    assert sorted(cells) == sorted(line[1] for line in lines if line[1])


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_of_each_format_is_written_by_draw(kind: str, tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / f"tile.{kind}"
    out(capsys, "draw", "d0 = 8@reg, d1 = 16@lane", "-o", str(target))
    begins = {
        "svg": b"<svg",
        "png": b"\x89PNG",
        "pdf": b"%PDF",
        "html": b"<!DOC",
        "tex": b"\\doc",
        "csv": b"of,",
        "md": b"**",
    }
    assert target.read_bytes().startswith(begins[kind])
