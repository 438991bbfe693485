"""`layoutalg cute`: an expression of CuTe's algebra, evaluated exactly, with its steps."""

from __future__ import annotations

from pathlib import Path

import click

from layoutalg.cli.arguments import json_option, print_json

__all__ = ["cute"]


@click.command(short_help="Evaluate an expression of CuTe's algebra, step by step.")
@click.argument("expression")
@click.option(
    "--style",
    type=click.Choice(["python", "c++", "mlir"]),
    help="How layouts are written.  [default: (4,2):(1,4)]",
)
@click.option("--picture", type=click.Path(path_type=Path), help="Draw before and after to a file, FILE.svg.")
@json_option
def cute(expression: str, style: str | None, picture: Path | None, as_json: bool) -> None:
    """Evaluate an EXPRESSION of CuTe's operations, such as 'logical_divide((8,8):(1,8), 4:2)', exactly.

    Layouts may be written as C++, Python or MLIR print them; a tiler is a tuple, `_` or None keeps a mode, SW128 is a swizzle.
    Prints the definition, the steps and the result of each call, and draws the layout before and after. What cannot be
    expressed exactly is refused, with the leaf that does not fit.
    """
    from rich.console import Console

    from layoutalg.core.files import write_files
    from layoutalg.show.cute_algebra import describe_expression

    if picture is not None and picture.suffix != ".svg":
        raise click.UsageError(f"--picture {picture}: expected a name that ends in .svg")
    found = describe_expression(expression, style)
    if picture is not None:
        write_files((picture, found.picture().svg()))
    if as_json:
        print_json(found.facts | ({} if picture is None else {"picture": str(picture)}))
        return
    found.print(Console(markup=False, highlight=False, emoji=False))
    if picture is not None:
        print(f"written to {picture}")
