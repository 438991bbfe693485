"""`layoutalg banks`: how often the lanes of a subgroup meet in a bank of shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from layoutalg.cli.arguments import (
    TEXT,
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
    from layoutalg.instructions import Instruction

__all__ = ["banks"]

_ROWS = "row-major"
_HALF = 16
"""The bits of an element of a matrix instruction, where nothing is said."""


@click.command(short_help="Count the bank conflicts of an access.")
@click.argument("layout", type=TEXT)
@shape_argument
@click.option(
    "--memory", type=TEXT, default=_ROWS, show_default=True, help="The address of each element, swizzled or not."
)
@element_option
@click.option("--banks", "count", type=int, default=32, show_default=True, help="Banks of the memory.")
@click.option("--width", type=int, default=4, show_default=True, help="Bytes of a bank's word.")
@click.option("--vector", type=int, help="Elements per access (the widest possible, up to 16 bytes).")
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
    from layoutalg.core.agreement import agree
    from layoutalg.core.elements import element_bits
    from layoutalg.core.notation import single_operand
    from layoutalg.instructions import Instruction
    from layoutalg.memory import bank_conflicts

    if memory == layout == "-":
        raise click.UsageError("only one of LAYOUT and --memory may be '-': standard input is one text")
    holder = read_text(layout, reading)
    if isinstance(holder, Instruction):
        given = click.get_current_context().get_parameter_source("element") is not ParameterSource.DEFAULT
        bits = element_bits(element) if given else _HALF
        _matrices(holder, memory, shape, bits, (count, width), as_json=as_json)
        return
    how = ""
    if reading is None and holder.how_read():
        # The place of the argument says what it is: without a tile, a layout that cannot be threads and values is refused.
        holder = holder.read_as("tv")
        how = f"{holder} is read as threads and values: LAYOUT says who holds an element"
    held = single_operand(holder, shape, machine).layout
    held_in = None if memory == _ROWS else read_text(memory)
    if held_in is not None and held_in.how_read():
        held_in = held_in.read_as("memory")
    (where,) = (None,) if held_in is None else agree((held_in,), held.shape)
    addresses = None if where is None or where.operand is None else where.operand.layout
    bits = element_bits(element)
    found = bank_conflicts(held, banks=count, width=width, element_bits=bits, memory=addresses, vector=vector)
    if as_json:
        facts = {name: getattr(found, name) for name in ("ways", "cycles", "ideal", "instructions", "vector")}
        print_json(
            {"memory": memory, "layout": str(held), "element_bits": bits} | facts | ({"readings": [how]} if how else {})
        )
        return
    print(found)
    if how:
        print(how)


def _matrices(
    used: Instruction,
    memory: str,
    shape: tuple[int, ...] | None,
    bits: int,
    hardware: tuple[int, int],
    *,
    as_json: bool,
) -> None:
    """What `ldmatrix` or `stmatrix` does with a tile of memory."""
    from layoutalg.core.errors import LayoutError
    from layoutalg.core.factors import Factor
    from layoutalg.core.layout import Layout
    from layoutalg.memory import matrix_load, matrix_store

    if used.family not in ("ldmatrix", "stmatrix"):
        held = [part.role for part in used.parts if part.space == "registers"]
        example = f", such as {used}.{held[-1]}" if held else ""
        raise LayoutError(f"{used}: conflicts are counted of ldmatrix and stmatrix, or of a layout{example}")
    where: str | Layout = memory
    if memory == _ROWS:
        if shape is None or len(shape) != 2:
            raise LayoutError("row-major memory: give its shape, such as 64x64")
        where = Layout([(Factor(shape[0], shape[1], "addr"),), (Factor(shape[1], 1, "addr"),)])
    ask = matrix_load if used.family == "ldmatrix" else matrix_store
    found = ask(used, where, shape, element_bits=bits, banks=hardware[0], width=hardware[1])
    if as_json:
        costs = {name: getattr(found.conflicts, name) for name in ("ways", "cycles", "ideal")}
        facts = {"instruction": str(used), "instructions": found.instructions, "layout": str(found.layout)}
        print_json({"memory": memory, "element_bits": bits} | facts | costs)
        return
    print(found)
    print(f"registers  {found.layout}")
