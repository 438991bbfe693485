"""`layoutalg cute`: an expression of CuTe's algebra, evaluated exactly, with its steps."""

from __future__ import annotations

from pathlib import Path

import click

from layoutalg.cli.arguments import json_option, output_option, print_json

__all__ = ["cute"]


@click.command(short_help="Evaluate an expression of CuTe's algebra, step by step.")
@click.argument("expression")
@click.option(
    "--style",
    type=click.Choice(["python", "c++", "mlir"]),
    help="How layouts are written.  [default: (4,2):(1,4)]",
)
@output_option("Draw the inputs and the result side by side to a file: its ending says the format (see draw).")
@json_option
def cute(expression: str, style: str | None, output: Path | None, as_json: bool) -> None:
    """Evaluate an EXPRESSION of CuTe's operations, such as 'logical_divide((8,8):(1,8), 4:2)', exactly.

    Layouts may be written as C++, Python or MLIR print them; a tiler is a tuple, `_` or None keeps a mode, SW128 is a swizzle.
    Prints the definition, the steps and the result of each call, and the layout before and after as grids. What cannot be
    expressed exactly is refused, with the leaf that does not fit.
    """
    from rich.console import Console

    from layoutalg.show.cute_algebra import describe_expression

    found = describe_expression(expression, style)
    if output is not None:
        found.picture().save(output)
    if as_json:
        print_json(found.facts | ({} if output is None else {"output": str(output)}))
        return
    found.print(Console(markup=False, highlight=False, emoji=False))
    if output is not None:
        print(f"written to {output}")
