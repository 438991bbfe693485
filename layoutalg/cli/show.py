"""`layoutalg show`: who holds what, as lines and a grid."""

from __future__ import annotations

import click

from layoutalg.cli.arguments import (
    OneOf,
    as_numbers,
    as_shape,
    json_option,
    machine_options,
    machine_said,
    print_json,
    read_text,
)

__all__ = ["show"]


def _llvm_versions() -> tuple[int, ...]:
    from layoutalg.xegpu.rules import llvm_versions

    return llvm_versions()


@click.command(short_help="Show who holds what.")
@click.argument("text")
@click.argument("shape", required=False)
@click.option("--sg", type=int, help="List what one subgroup holds.")
@click.option("--lane", type=int, help="List what one lane holds (of subgroup 0, unless --sg).")
@click.option("--at", "element_at", metavar="ELEMENT", help="List who holds an element, such as 21,50.")
@click.option("--element", default="f32", show_default=True, help="Element type, for the fragment's vector type.")
@click.option("--llvm", type=OneOf(_llvm_versions), help="The version of LLVM whose verdict is given.  [default: 22]")
@click.option("--strict", is_flag=True, help="Exit with 1 where the verdict is a refusal.")
@click.option("--blocks", is_flag=True, help="List the block origins of each id, as LLVM computes them.")
@machine_options
@json_option
def show(
    text: str,
    shape: str | None,
    sg: int | None,
    lane: int | None,
    element_at: str | None,
    element: str,
    llvm: int | None,
    strict: bool,
    blocks: bool,
    subgroup_size: int | None,
    subgroups: int | None,
    workgroup_size: int | None,
    as_json: bool,
) -> int:
    """Show who holds what under an attribute, a type or a layout TEXT, for a tensor of SHAPE (such as 32x64).

    Types and layouts know their shape. TEXT may be `-` for standard input.
    """
    from layoutalg.show import describe

    found = describe(
        read_text(text),
        None if shape is None else as_shape(shape),
        machine_said(subgroup_size, subgroups, workgroup_size),
        element=element,
        holder={axis: one for axis, one in (("sg", sg), ("lane", lane)) if one is not None},
        at=None if element_at is None else as_numbers(element_at, "an element"),
        blocks=blocks,
        llvm=llvm,
    )
    if as_json:
        print_json(found.facts)
    else:
        from rich.console import Console

        found.print(Console(markup=False, highlight=False, emoji=False))
    return int(strict and found.refused)
