"""`layoutalg conformance`: does a compiler keep the meaning of generated kernels? A matrix, and mistakes as small modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from layoutalg.cli.arguments import json_option, print_json

if TYPE_CHECKING:
    from layoutalg.side.conformance import Conformance

__all__ = ["conformance"]

_WIDE = 160
"""Columns of the table where it does not go to a terminal."""


@click.command(short_help="Say which kernels a compiler gets wrong.")
@click.option(
    "--compiler",
    "compilers",
    multiple=True,
    required=True,
    metavar="PROGRAM",
    help="An mlir-opt (of LLVM 22, 23 or 24) or an iree-opt, by name or path; may be given again.",
)
@click.option("--seeds", default=200, show_default=True, help="Kernels of each level.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The generator's seed.")
@click.option("--only", multiple=True, metavar="OP", help="An operation, or a row of the matrix; may be given again.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="A kind of layout; may be given again.")
@click.option(
    "--level",
    type=click.Choice(("workgroup", "anchors", "plain", "all")),
    default="all",
    show_default=True,
    help="What the kernels state: all layouts, those of loads and stores, or one subgroup's.",
)
@click.option("--no-reduce", is_flag=True, help="Do not cut mistakes down.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Write a table and the mistakes as Markdown.")
@json_option
def conformance(
    compilers: tuple[str, ...],
    seeds: int,
    seed: int,
    only: tuple[str, ...],
    kinds: tuple[str, ...],
    level: str,
    no_reduce: bool,
    as_markdown: bool,
    as_json: bool,
) -> int:
    """Generate kernels, let the compiler distribute them, and run what comes out beside what it should mean.

    Exits with 0 where nothing is wrong, with 1 where a result is wrong, with 2 where the compiler is not there.
    """
    from rich.console import Console

    from layoutalg.core.progress import progress_bar
    from layoutalg.show.conformance import conformance_facts, markdown, mistakes_markdown, print_conformance, sections
    from layoutalg.side.conformance import conformance as asked
    from layoutalg.side.conformance.asking import verdict_of
    from layoutalg.side.conformance.compilers import found

    for name in compilers:
        found(name)
    levels: Sequence[str] = ("workgroup", "anchors", "plain") if level == "all" else (level,)
    results: list[Conformance] = []
    for name in compilers:
        with progress_bar(name) as progress:
            results.append(
                asked(
                    name,
                    seeds=seeds,
                    seed=seed,
                    only=only,
                    kinds=kinds,
                    levels=levels,  # pyright: ignore[reportArgumentType]
                    reduce=not no_reduce,
                    progress=progress,
                )
            )
    if as_json:
        facts = [conformance_facts(result) for result in results]
        print_json(facts[0] if len(facts) == 1 else {"compilers": facts})
    elif as_markdown:
        print(markdown(results))
        paths = {result.compiler.name: result.compiler.path for result in results}
        print(f"\n{mistakes_markdown(sections(results, lambda kernel, name: verdict_of(kernel, paths[name])))}")
    else:
        console = Console()
        if not console.is_terminal:
            console = Console(width=_WIDE)
        for result in results:
            print_conformance(result, console)
    return int(any(result.wrong for result in results))
