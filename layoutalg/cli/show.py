"""`layoutalg show`: who holds what, as lines and a grid; of a whole module, every layout in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from layoutalg.cli.arguments import (
    ELEMENT,
    TEXT,
    as_option,
    file_target_option,
    json_option,
    llvm_option,
    machine_options,
    print_json,
    read_value_or_module,
    say_assumed_chip,
    shape_argument,
)
from layoutalg.core.errors import LayoutError
from layoutalg.core.written import as_numbers

if TYPE_CHECKING:
    from rich.console import Console

    from layoutalg.core.notation import Machine
    from layoutalg.module import Module
    from layoutalg.show.modules import ModuleDescription
    from layoutalg.show.report import Description

__all__ = ["show"]


@click.command(short_help="Show who holds what, of one layout or of all in a module.")
@click.argument("text", type=TEXT)
@shape_argument
@click.option("--warp", "--sg", "sg", type=click.IntRange(min=0), help="List what one subgroup (warp) holds.")
@click.option("--lane", type=click.IntRange(min=0), help="List what one lane holds (of subgroup 0, unless --sg).")
@click.option(
    "--at", "element_at", metavar="ELEMENT", help="List who holds an element, such as 21,50, and what else is there."
)
@click.option(
    "--op",
    "operation",
    help="Of a module: one operation in full, by result (%7), name or line; stated layouts, and those that follow.",
)
@click.option(
    "--element", type=ELEMENT, default="f32", show_default=True, help="Element type, for the fragment's vector type."
)
@llvm_option("The version of LLVM whose verdict is given.")
@file_target_option("The chip that conversions are for.")
@click.option("--strict", is_flag=True, help="Exit with 1 where the verdict is a refusal.")
@click.option("--blocks", is_flag=True, help="List the block origins of each id, as LLVM computes them.")
@as_option
@machine_options
@json_option
def show(
    text: str,
    shape: tuple[int, ...] | None,
    sg: int | None,
    lane: int | None,
    element_at: str | None,
    operation: str | None,
    element: str,
    llvm: int,
    target: str | None,
    strict: bool,
    blocks: bool,
    reading: str | None,
    machine: Machine,
    as_json: bool,
) -> int:
    """Show who holds what under an attribute, a type or a layout TEXT, for a tensor of SHAPE (such as 32x64).

    Types and layouts know their shape. TEXT may be the name of a file, or `-` for standard input. Of MLIR with operations (a
    file, a dump, one operation, a line of a log) every layout is shown, with its line, its value and its shape. A conversion
    that does not say what it converts, and an operation of --op that states no layout, have the layout that check finds.
    """
    from rich.console import Console

    from layoutalg.module import Module
    from layoutalg.show import describe

    found = read_value_or_module(text)
    asked: dict[str, Any] = {
        "holder": {axis: one for axis, one in (("sg", sg), ("lane", lane)) if one is not None},
        "at": None if element_at is None else as_numbers(element_at, "an element"),
        "llvm": llvm,
    }
    console = Console(markup=False, highlight=False, emoji=False)
    if isinstance(found, Module):
        if reading is not None:
            raise LayoutError(f"--as {reading}: of one layout of CuTe, not of a module")
        say_assumed_chip(found, target)
        if shape is not None:
            raise LayoutError(f"SHAPE {'x'.join(map(str, shape))}: the values of a module have shapes of their own")
        if operation is not None:
            asked["blocks"] = blocks
            return _show_operation(found, operation, machine, target, asked, strict, as_json, console)
        if blocks:
            raise LayoutError("--blocks: of a module, name the operation with --op")
        return _show_module(found, machine, asked | {"target": target}, strict, as_json, console)
    if operation is not None:
        raise LayoutError(f"--op {operation}: {found} is one value; --op names an operation of a module")
    asked_for = found if reading is None else found.read_as(reading)
    described = describe(asked_for, shape, machine, element=element, blocks=blocks, **asked)
    return _shown(described, strict, as_json, console)


def _show_module(
    module: Module, machine: Machine, asked: dict[str, Any], strict: bool, as_json: bool, console: Console
) -> int:
    from layoutalg.show.modules import describe_module

    found = describe_module(module, machine, **asked)
    return _shown(found, strict, as_json, console)


def _shown(found: Description | ModuleDescription, strict: bool, as_json: bool, console: Console) -> int:
    if as_json:
        print_json(found.facts)
    else:
        found.print(console)
    return int(strict and found.refused)


def _show_operation(
    module: Module,
    operation: str,
    machine: Machine,
    target: str | None,
    asked: dict[str, Any],
    strict: bool,
    as_json: bool,
    console: Console,
) -> int:
    """Each layout of an operation, as it would be shown alone; of what states none, the one that the flow has."""
    from layoutalg.show import describe
    from layoutalg.show.modules import place_facts
    from layoutalg.show.operation_layouts import layout_uses_of

    refused = False
    listed: list[dict[str, Any]] = []
    for use in layout_uses_of(module, operation, target):
        facts = place_facts(use)
        where = "" if use.place is None else f"{use.place}: "
        title = f"{where}{' = '.join(filter(None, (use.name, use.operation)))} {use.operand}".rstrip()
        if not as_json:
            console.print(f"{title}", style="bold", soft_wrap=True)
        try:
            if use.attribute is None:
                raise LayoutError(use.problem)
            found = describe(use.attribute, use.sizes, machine, element=use.element or "f32", **asked)
        except LayoutError as error:
            facts["reason"] = str(error)
            if not as_json:
                console.print(f"{use.text}\n{error}\n", soft_wrap=True)
        else:
            refused = refused or found.refused
            facts |= found.facts
            if not as_json:
                found.print(console)
                console.print()
        listed.append(facts)
    if as_json:
        print_json({"file": module.file, "layouts": listed})
    return int(strict and refused)
