"""`layoutalg convert`: the plan of a conversion between two layouts, and its code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from layoutalg.cli.arguments import (
    TEXT,
    as_option,
    element_option,
    json_option,
    machine_options,
    output_option,
    print_json,
    read_texts,
    readings,
    shape_argument,
    target_option,
)

if TYPE_CHECKING:
    from layoutalg.conversion.triton_way import TritonPrice
    from layoutalg.core.notation import Distributed, Machine

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
@click.option("--picture", type=click.Path(path_type=Path), help="Draw the conversion to a file, FILE.svg.")
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
    from layoutalg.conversion import SymbolicPlan
    from layoutalg.conversion import convert as plan_conversion
    from layoutalg.conversion.ends import completed
    from layoutalg.conversion.price import price
    from layoutalg.core.elements import element_bits
    from layoutalg.core.files import write_files
    from layoutalg.core.notation import Machine

    if source == destination == "-":
        raise click.UsageError("only one of SOURCE and DESTINATION may be '-': standard input is one text")
    if picture is not None and picture.suffix != ".svg":
        raise click.UsageError(f"--picture {picture}: expected a name that ends in .svg")
    pair = read_texts((source, destination), reading)
    bits = element_bits(element)
    paid = price(pair[0], pair[1], shape, element, machine, target)
    ends, _ = completed(pair[0], pair[1], shape, machine)
    triton = _triton_says(pair, shape, element, target)
    plan = plan_conversion(
        ends[0],
        ends[1],
        shape,
        machine=machine | Machine(lanes=paid.lanes),
        element_bits=bits,
        target=target,
        slm_limit=slm_limit,
        level=level,
        workgroups=workgroups,
        regions=regions,
        pressure=pressure,
        portable=portable,
    )
    how = readings(pair, shape, machine)
    facts: dict[str, Any] = {
        "source": str(plan.source),
        "destination": str(plan.destination),
        "element_bits": bits,
        "target": plan.target,
        "level": plan.level,
        "workgroups": plan.workgroups,
        "portable": plan.portable,
        "kind": plan.kind,
        "shuffles": _fact(plan.shuffles),
        "lower_bound": _fact(plan.lower_bound),
        "bound_reason": plan.bound_reason,
        "optimal": plan.optimal,
        "selects": _fact(plan.selects),
        "permutes": _fact(plan.permutes),
        "moves": _fact(plan.moves),
        "slm_bytes": plan.slm_bytes,
        "bank_conflicts": plan.bank_conflicts,
        "barriers": plan.barriers,
        "cost": None if plan.unpriced else _fact(plan.cost),
        "pressure": plan.pressure,
        "pressures": {one: _fact(slots) for one, slots in plan.pressures.items()},
        "price": paid.facts,
        **({} if triton is None else {"triton": triton.facts}),
        **({"readings": how} if how else {}),
        "candidates": [
            {
                "name": one.name,
                "kind": one.kind,
                "work": one.work,
                "slm_bytes": one.slm_bytes,
                "cost": None if plan.unpriced else one.cost,
            }
            for one in plan.candidates
        ],
    }
    code = plan.emit(element) if emitted or output is not None else None
    files: list[tuple[Path, str]] = []
    if output is not None and code is not None:
        files.append((output, code))
        facts["output"] = str(output)
    if picture is not None:
        files.append((picture, plan.svg()))
        facts["picture"] = str(picture)
    write_files(*files)
    if as_json:
        print_json(facts | ({"code": code} if emitted else {}))
        return
    # The code may go on to a compiler: what is said of it is comments there.
    lines = [
        *str(plan).splitlines(),
        *([] if isinstance(plan, SymbolicPlan) or plan.unpriced else [f"{'price':12} {paid}{_regime(plan.pressure)}"]),
        *([] if triton is None else [f"{'triton':12} {triton.text}"]),
        *[f"{'reading':12} {one}" for one in how],
    ]
    print("\n".join(f"{'// ' * emitted}{line}" for line in lines))
    if emitted:
        print(code)
    for path in (output, picture):
        if path is not None:
            print(f"{'// ' if emitted else ''}written to {path}")


def _triton_says(
    pair: Sequence[Distributed], shape: Sequence[int] | None, element: str, target: str
) -> TritonPrice | None:
    """Triton's price between two of its encodings; there are none while nothing has imported them."""
    if "layoutalg.triton.encodings" not in sys.modules:
        return None
    from layoutalg.conversion.triton_way import triton_says

    return triton_says(pair[0], pair[1], shape, element, target)


def _regime(pressure: str) -> str:
    """What the price supposes, where the plan beside it supposes something else."""
    return "" if pressure == "all" else "; all subgroups convert at once"


def _fact(count: Any) -> int | str:
    """A count, as text where it is an expression."""
    return count if isinstance(count, int) else str(count)
