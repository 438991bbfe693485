"""`layoutalg convert`: the plan of a conversion between two layouts, and its code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from layoutalg.cli.arguments import (
    TEXT,
    as_option,
    element_option,
    json_option,
    machine_options,
    output_option,
    print_json,
    read_texts,
    shape_argument,
    target_option,
)

if TYPE_CHECKING:
    from layoutalg.core.notation import Machine

__all__ = ["convert"]


@click.command(short_help="Plan a conversion, and write its code.")
@click.argument("source", type=TEXT)
@click.argument("destination", type=TEXT)
@shape_argument
@element_option
@target_option("The chip, for its price and the size of shared memory.")
@as_option
@machine_options
@click.option("--slm-limit", type=int, help="Shared memory that may be used, in bytes (the chip's); 0 for none.")
@click.option(
    "--level",
    type=click.Choice(["subgroup", "workgroup", "cluster"]),
    default="workgroup",
    show_default=True,
    help="How far elements may go.",
)
@click.option(
    "--workgroups", type=int, default=1, help="Workgroups of a cluster, which share the subgroups.  [default: 1]"
)
@click.option(
    "--pressure",
    type=click.Choice(["all", "alone"]),
    default="all",
    show_default=True,
    help="Whether all subgroups of a core convert at once, or one while the others compute.",
)
@click.option("--regions", is_flag=True, help="Weigh moves between register regions too (Intel's chips).")
@click.option("--portable", is_flag=True, help="Keep to functions that every compiler has (Intel's chips).")
@click.option("--emit", "emitted", is_flag=True, help="Print the code, a function on one lane's fragment.")
@output_option("Write the code to a file.")
@click.option(
    "--picture",
    type=click.Path(path_type=Path),
    help="Draw the conversion to a file: its ending says the format (see draw).",
)
@json_option
def convert(
    source: str,
    destination: str,
    shape: tuple[int, ...] | None,
    element: str,
    target: str,
    reading: str | None,
    machine: Machine,
    slm_limit: int | None,
    level: str,
    workgroups: int,
    pressure: str,
    regions: bool,
    portable: bool,
    emitted: bool,
    output: Path | None,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Plan the conversion of a tensor of SHAPE from the layout SOURCE to DESTINATION, with the fewest moves.

    Both are attributes, types or layouts, of any notation; layouts know their shape. One may be `-` for standard input. The
    price is that of the conversion on the chip, with what is assumed: the same as check, propagate, lower and show give.
    """
    from layoutalg.conversion.report import describe_conversion
    from layoutalg.core.files import write_files
    from layoutalg.viz.picture import format_of

    if source == destination == "-":
        raise click.UsageError("only one of SOURCE and DESTINATION may be '-': standard input is one text")
    if picture is not None:
        format_of(picture)
    pair = read_texts((source, destination), reading)
    found = describe_conversion(
        pair[0],
        pair[1],
        shape,
        machine,
        element=element,
        target=target,
        slm_limit=slm_limit,
        level=level,
        workgroups=workgroups,
        regions=regions,
        pressure=pressure,
        portable=portable,
    )
    plan, facts = found.plan, found.facts
    given = click.get_current_context().get_parameter_source("target") is not ParameterSource.DEFAULT
    if not given and all(str(one).startswith("#ttg.") for one in pair):
        click.echo(
            f"layoutalg: priced for {plan.target}: Triton's encodings name no chip; --target names one", err=True
        )
    code = plan.emit(element) if emitted or output is not None else None
    files: list[tuple[Path, str | bytes]] = []
    if output is not None and code is not None:
        files.append((output, code))
        facts["output"] = str(output)
    if picture is not None:
        files.append((picture, plan.picture().encoded(format_of(picture))))
        facts["picture"] = str(picture)
    write_files(*files)
    if as_json:
        print_json(facts | ({"code": code} if emitted else {}))
        return
    # The code may go on to a compiler: what is said of it is comments there.
    print("\n".join(f"{'// ' * emitted}{line}" for line in found.lines()))
    if emitted:
        print(code)
    for path in (output, picture):
        if path is not None:
            print(f"{'// ' if emitted else ''}written to {path}")
