"""`layoutalg convert`: the plan of a conversion between two layouts, and its code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from layoutalg.cli.arguments import (
    CHIP,
    as_shape,
    element_option,
    json_option,
    machine_options,
    machine_said,
    output_option,
    print_json,
    read_text,
)

__all__ = ["convert"]


@click.command(short_help="Plan a conversion, and write its code.")
@click.argument("source")
@click.argument("destination")
@click.argument("shape", required=False)
@element_option
@click.option("--target", type=CHIP, help="The chip, for costs and the size of shared memory.  [default: generic]")
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
@click.option("--emit", "emitted", is_flag=True, help="Print the code, a function on one lane's fragment.")
@output_option("Write the code to a file.")
@json_option
def convert(
    source: str,
    destination: str,
    shape: str | None,
    element: str,
    target: str | None,
    subgroup_size: int | None,
    subgroups: int | None,
    workgroup_size: int | None,
    slm_limit: int | None,
    level: str,
    workgroups: int,
    emitted: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Plan the conversion of a tensor of SHAPE from the layout SOURCE to DESTINATION, with the fewest moves.

    Both are attributes, types or layouts, of any notation; layouts know their shape. One may be `-` for standard input.
    """
    from layoutalg.conversion import convert as plan_conversion
    from layoutalg.core.elements import element_bits
    from layoutalg.core.files import write_file

    if source == destination == "-":
        raise click.UsageError("only one of SOURCE and DESTINATION may be '-': standard input is one text")
    sizes = None if shape is None else as_shape(shape)
    pair = [read_text(text) for text in (source, destination)]
    machine = machine_said(subgroup_size, subgroups, workgroup_size)
    bits = element_bits(element)
    plan = plan_conversion(
        pair[0],
        pair[1],
        sizes,
        machine=machine,
        element_bits=bits,
        target=target,
        slm_limit=slm_limit,
        level=level,
        workgroups=workgroups,
    )
    facts: dict[str, Any] = {
        "source": str(plan.source),
        "destination": str(plan.destination),
        "element_bits": bits,
        "target": plan.target,
        "level": plan.level,
        "workgroups": plan.workgroups,
        "kind": plan.kind,
        "shuffles": plan.shuffles,
        "lower_bound": plan.lower_bound,
        "bound_reason": plan.bound_reason,
        "optimal": plan.optimal,
        "selects": plan.selects,
        "permutes": plan.permutes,
        "moves": plan.moves,
        "slm_bytes": plan.slm_bytes,
        "bank_conflicts": plan.bank_conflicts,
        "barriers": plan.barriers,
        "cost": plan.cost,
        "candidates": [
            {"name": one.name, "kind": one.kind, "work": one.work, "slm_bytes": one.slm_bytes, "cost": one.cost}
            for one in plan.candidates
        ],
    }
    code = plan.emit(element) if emitted or output is not None else None
    if output is not None and code is not None:
        write_file(output, code)
        facts["output"] = str(output)
    if as_json:
        print_json(facts | ({"code": code} if emitted else {}))
        return
    # The code may go on to a compiler: what is said of it is comments there.
    print("\n".join(f"// {line}" for line in str(plan).splitlines()) if emitted else plan)
    if emitted:
        print(code)
    if output is not None:
        print(f"{'// ' if emitted else ''}written to {output}")
