"""`layoutalg same`: whether two texts mean the same map; the exit code says it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from layoutalg.cli.arguments import (
    as_option,
    json_option,
    machine_options,
    print_json,
    read_texts,
    shape_argument,
)
from layoutalg.core.agreement import readings

if TYPE_CHECKING:
    from layoutalg.core.notation import Machine

__all__ = ["same"]


@click.command(short_help="Compare two layouts.")
@click.argument("a")
@click.argument("b")
@shape_argument
@as_option
@machine_options
@json_option
def same(
    a: str,
    b: str,
    shape: tuple[int, ...] | None,
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
    if as_json:
        element = None if found.element is None else list(found.element)
        facts = {"same": bool(found), "explanation": found.explanation, "element": element, "axes": list(found.axes)}
        places = {"first": [*map(list, found.first)], "second": [*map(list, found.second)]}
        print_json(facts | places | ({"readings": how} if how else {}))
    else:
        print("\n".join([str(found), *how]))
    return int(not found)
