"""`layoutalg same`: whether two texts mean the same map; the exit code says it too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from layoutalg.cli.arguments import (
    TEXT,
    as_option,
    json_option,
    machine_options,
    output_option,
    print_json,
    read_texts,
    shape_argument,
)
from layoutalg.core.agreement import readings

if TYPE_CHECKING:
    from layoutalg.core.notation import Machine

__all__ = ["same"]


@click.command(short_help="Compare two layouts.")
@click.argument("a", type=TEXT)
@click.argument("b", type=TEXT)
@shape_argument
@output_option("Draw the difference to a file: its ending says the format (see draw).")
@as_option
@machine_options
@json_option
def same(
    a: str,
    b: str,
    shape: tuple[int, ...] | None,
    output: Path | None,
    reading: str | None,
    machine: Machine,
    as_json: bool,
) -> int:
    """Say whether A and B mean the same map of a tensor of SHAPE, or the first element that lives elsewhere.

    Both are attributes, types or layouts, of any notation; layouts know their shape. One may be `-` for standard input.
    Exits with 0 if they are the same, with 1 if not.
    """
    from layoutalg.compare import same as compare

    if a == b == "-":
        raise click.UsageError("only one of A and B may be '-': standard input is one text")
    one, other = read_texts((a, b), reading)
    found = compare(one, other, shape, machine=machine)
    how = readings((one, other), shape, machine)
    drawn = None if output is None else found.picture()
    if drawn is not None and output is not None:
        drawn.save(output)
    if as_json:
        element = None if found.element is None else list(found.element)
        facts = {"same": bool(found), "explanation": found.explanation, "element": element, "axes": list(found.axes)}
        places = {"first": [*map(list, found.first)], "second": [*map(list, found.second)]}
        counted = {} if drawn is None else {"output": str(output), "elements": drawn.difference.counts}
        print_json(facts | places | counted | ({"readings": how} if how else {}))
    else:
        counts = [] if drawn is None else [f"{output}: " + ", ".join(text for text, _ in drawn.key())]
        print("\n".join([str(found), *how, *counts]))
    return int(not found)
