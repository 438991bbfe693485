"""`layoutalg list`: the matrix and copy instructions that are known, as a table."""

from __future__ import annotations

import click

from layoutalg.cli.arguments import TEXT, json_option, print_json

__all__ = ["list_instructions"]


@click.command("list", short_help="List the matrix and copy instructions that are known.")
@click.argument("filters", nargs=-1, type=TEXT)
@json_option
def list_instructions(filters: tuple[str, ...], as_json: bool) -> None:
    """List instructions that all FILTERS fit: name, shape, types, chips, threads, and where the layouts come from.

    A filter is a kind (mma, copy), a family (WMMA, mma.sync), a vendor, a chip or the beginning of its name (sm_80, gfx12,
    bmg), a generation (hopper, cdna3, rdna4, xe), an element type (f16, fp8) or a shape (16x16x16, m16n8k16).
    """
    from layoutalg.instructions.selection import known_instructions
    from layoutalg.show.instruction_table import instruction_facts, print_instructions

    found = known_instructions(*filters)
    if as_json:
        print_json({"filters": list(filters), "instructions": [instruction_facts(one) for one in found]})
        return
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    if found:
        print_instructions(console, found)
    console.print(f"{len(found)} instruction{'s' * (len(found) != 1)}", soft_wrap=True)
