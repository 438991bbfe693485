"""`layoutalg banks`: how often the lanes of a subgroup meet in a bank of shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from layoutalg.cli.arguments import (
    as_option,
    element_option,
    json_option,
    machine_options,
    print_json,
    read_text,
    shape_argument,
)

if TYPE_CHECKING:
    from layoutalg.core.notation import Machine

__all__ = ["banks"]


@click.command(short_help="Count the bank conflicts of an access.")
@click.argument("memory")
@click.argument("layout")
@shape_argument
@element_option
@click.option("--banks", "count", type=int, default=32, show_default=True, help="Banks of the memory.")
@click.option("--width", type=int, default=4, show_default=True, help="Bytes of a bank's word.")
@click.option("--vector", type=int, help="Elements per access (the widest possible, up to 16 bytes).")
@as_option
@machine_options
@json_option
def banks(
    memory: str,
    layout: str,
    shape: tuple[int, ...] | None,
    element: str,
    count: int,
    width: int,
    vector: int | None,
    reading: str | None,
    machine: Machine,
    as_json: bool,
) -> None:
    """Count the bank conflicts when a tensor of SHAPE with a LAYOUT goes into shared MEMORY or comes from there.

    MEMORY says the address of each element (`row-major` for no padding and no swizzle), LAYOUT who holds it; both are
    attributes, types or layouts, of any notation. One may be `-` for standard input. Of CuTe's texts, MEMORY is memory, and
    LAYOUT is threads and values of a tile of SHAPE, unless `--as` says otherwise of it. LAYOUT may be the name of an
    instruction, such as `ldmatrix.x4.trans`: what it fills or stores, and its conflicts, of elements of 16 bits unless
    `--element` says otherwise.
    """
    from layoutalg.memory.report import describe_banks

    if memory == layout == "-":
        raise click.UsageError("only one of MEMORY and LAYOUT may be '-': standard input is one text")
    given = click.get_current_context().get_parameter_source("element") is not ParameterSource.DEFAULT
    found = describe_banks(
        memory if memory == "row-major" else read_text(memory),
        read_text(layout, reading),
        shape,
        machine,
        element=element if given else None,
        banks=count,
        width=width,
        vector=vector,
        reading=reading,
    )
    if as_json:
        print_json(found.facts | {"memory": memory})
    else:
        print("\n".join(found.lines))
