"""`layoutalg draw`: the picture of who holds what, as a file."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from layoutalg.cli.arguments import (
    TEXT,
    as_option,
    json_option,
    machine_options,
    output_option,
    print_json,
    read_text,
    shape_argument,
)
from layoutalg.core.agreement import readings

__all__ = ["draw"]


@click.command(short_help="Draw who holds what, as a file.")
@click.argument("text", type=TEXT)
@shape_argument
@output_option("The file: .svg, .png, .pdf, .html, .tex (TikZ), .csv or .md; its directory is made.")
@click.option(
    "--colour",
    metavar="[subgroup|lane|register|tile|AXIS]",
    help="What colours say (subgroup, or the first axis of memory, unless given).",
)
@click.option(
    "--direction",
    type=click.Choice(["tensor", "hardware"]),
    default="tensor",
    show_default=True,
    help="tensor: a cell per element; hardware: registers by lanes.",
)
@click.option("--full", is_flag=True, help="Draw every element, folding nothing.")
@click.option("--title", help="The title (the text, unless given).")
@as_option
@machine_options
@json_option
def draw(
    text: str,
    shape: tuple[int, ...] | None,
    output: Path | None,
    full: bool,
    reading: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Draw who holds what under an attribute, a type or a layout TEXT, for a tensor of SHAPE (such as 32x64).

    Without SHAPE an attribute is drawn on the tensor that it covers once; the title says which. TEXT may be `-` for
    standard input.
    """
    if output is None:
        raise click.UsageError(
            "where does the picture go? -o FILE, such as -o picture.svg (or .png, .pdf, .html, .tex, .csv, .md)"
        )
    from rich.console import Console

    from layoutalg.show import picture
    from layoutalg.show.pictures import shared_places

    # A full picture of many elements takes seconds: a terminal shows that it is being drawn, a file or a pipe sees nothing.
    with Console(stderr=True).status(f"drawing {output}") if full else nullcontext():
        value = read_text(text, reading)
        drawn = picture(value, shape, full=full, **options)
        drawn.save(output)
    drawn_grids = replace(drawn, paged=output.suffix.lower() != ".html").grids()
    grids = [
        {
            "title": grid.title,
            "rows": grid.shape[0],
            "columns": grid.shape[1],
            "of": [grid.rows.count, grid.columns.count],
        }
        for grid, _, _ in drawn_grids
    ]
    how = readings((value,), shape, options["machine"])
    shared = shared_places(value, shape, options["machine"])
    if as_json:
        facts = {"output": str(output), "title": drawn.title, "colourings": list(drawn.colourings), "grids": grids}
        print_json(facts | ({"readings": how} if how else {}) | ({"shared_places": shared} if shared else {}))
        return
    kinds = ({"blocks": "blocks", "block": "cells of one"}.get(grid.shows, "cells") for grid, _, _ in drawn_grids)
    counts = ("{rows} of {of[0]} x {columns} of {of[1]}".format(**one) for one in grids)
    print(f"{output}: " + "; ".join(f"{count} {kind}" for count, kind in zip(counts, kinds, strict=True)))
    for line in (*how, *[f"two elements in one place: {one}" for one in shared]):
        print(line)
