"""`layoutalg banks`: how often the lanes of a subgroup meet in a bank of shared memory."""

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
    read_text,
    shape_argument,
)
from layoutalg.core.banks import BANK_BYTES, BANKS

if TYPE_CHECKING:
    from layoutalg.core.notation import Machine

__all__ = ["banks"]

_ROWS = "row-major"


@click.command(short_help="Count the bank conflicts of an access.")
@click.argument("layout", type=TEXT)
@shape_argument
@click.option(
    "--memory", type=TEXT, default=_ROWS, show_default=True, help="The address of each element, swizzled or not."
)
@element_option
@click.option("--banks", "count", type=int, default=BANKS, show_default=True, help="Banks of the memory.")
@click.option("--width", type=int, default=BANK_BYTES, show_default=True, help="Bytes of a bank's word.")
@click.option("--vector", type=int, help="Elements per access (the widest possible, up to 16 bytes).")
@output_option(
    "Draw row-major memory and that of --memory, bank by bank, to a file: its ending says the format (see draw)."
)
@as_option
@machine_options
@json_option
def banks(
    layout: str,
    shape: tuple[int, ...] | None,
    memory: str,
    element: str,
    count: int,
    width: int,
    vector: int | None,
    output: Path | None,
    reading: str | None,
    machine: Machine,
    as_json: bool,
) -> None:
    """Count the bank conflicts when a tensor of SHAPE with a LAYOUT goes into shared memory or comes from there.

    LAYOUT says who holds each element, --memory at which address it lies (`row-major` for no padding and no swizzle); both are
    attributes, types or layouts, of any notation. One may be `-` for standard input. Of CuTe's texts, that of --memory is
    memory, and LAYOUT is threads and values of a tile of SHAPE, unless `--as` says otherwise of it. LAYOUT may be the name of
    an instruction, such as `ldmatrix.x4.trans`: what it fills or stores, and its conflicts, of elements of 16 bits unless
    `--element` says otherwise.
    """
    from layoutalg.memory.report import describe_banks

    if memory == layout == "-":
        raise click.UsageError("only one of LAYOUT and --memory may be '-': standard input is one text")
    given = click.get_current_context().get_parameter_source("element") is not ParameterSource.DEFAULT
    found = describe_banks(
        read_text(layout, reading),
        memory if memory == _ROWS else read_text(memory),
        shape,
        machine,
        element=element if given else None,
        banks=count,
        width=width,
        vector=vector,
        reading=reading,
    )
    if output is not None:
        found.picture().save(output)
    if as_json:
        print_json(found.facts | {"memory": memory} | ({} if output is None else {"output": str(output)}))
    else:
        print("\n".join(found.lines))
        if output is not None:
            print(f"written to {output}")
