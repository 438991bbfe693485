"""`layoutalg sweep`: thousands of products planned, one row each, resumable."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from layoutalg.cli.arguments import Suggested, json_option, llvm_option, output_option, print_json

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from pathlib import Path

    from layoutalg.gemm.plan_row import Row

__all__ = ["sweep"]


@click.command(short_help="Plan thousands of matrix products, a row for each.")
@click.argument("file", type=Suggested())
@click.option("--a", default=None, help="Element type of A where a problem has none (f16).")
@click.option("--target", default=None, help="The chip where a problem has none (pvc).")
@llvm_option("The version that kernels are for.")
@click.option("--jobs", type=click.IntRange(1, 1024), default=1, show_default=True, help="Processes that plan.")
@output_option("A file for the rows, a line of JSON each; problems whose rows are there already are not planned again.")
@json_option
def sweep(
    file: str,
    a: str | None,
    target: str | None,
    llvm: int,
    jobs: int,
    output: Path | None,
    as_json: bool,
) -> int:
    """Plan the products of FILE (- is standard input), one a line: M N K, or a JSON object of arguments of plan_gemm.

    Exit code 1 where a product could not be planned; its row says why.
    """
    from layoutalg.gemm.sweep import sweep as planned

    problems = [{"a": a, "target": target} | one for one in _problems(file)]
    given = [{name: value for name, value in one.items() if value is not None} for one in problems]
    with _workers(jobs) as executor:
        rows = planned(given, executor, file=output, llvm=llvm)
    if as_json:
        print_json({"rows": rows})
    else:
        _print(rows)
    return int(any(row["error"] for row in rows))


def _problems(file: str) -> list[dict[str, Any]]:
    from layoutalg.core.errors import LayoutError
    from layoutalg.core.files import read_file, text_of
    from layoutalg.core.limits import MAX_TEXT

    if file == "-":
        name, text = "standard input", text_of(sys.stdin.buffer.read(MAX_TEXT + 1), "standard input")
    else:
        name, text = file, read_file(file)
    found: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        said = line.strip()
        if said and not said.startswith("#"):
            try:
                found.append(_problem(said))
            except LayoutError as error:
                raise LayoutError(f"{name}, line {number}: {error}") from None
    if not found:
        raise LayoutError(f"{name}: no problems; expected lines such as 4096 4096 4096")
    return found


def _problem(line: str) -> dict[str, Any]:
    import json

    from layoutalg.core.errors import LayoutError
    from layoutalg.core.messages import shown
    from layoutalg.gemm.plan_row import arguments_of

    if line.startswith("{"):
        try:
            return arguments_of(json.loads(line))
        except (ValueError, RecursionError) as error:
            if isinstance(error, LayoutError):
                raise
            raise LayoutError(f"{shown(line)}: not a JSON object") from None
    words = line.replace("x", " ").replace(",", " ").split()
    if len(words) != 3 or not all(word.isascii() and word.isdigit() and len(word) < 20 for word in words):
        raise LayoutError(f"{shown(line)}: expected three sizes, such as 4096 4096 4096, or a JSON object")
    return arguments_of([int(word) for word in words])


@contextmanager
def _workers(jobs: int) -> Generator[Executor | None]:
    if jobs == 1:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _print(rows: list[Row]) -> None:
    head = (
        "m",
        "n",
        "k",
        "types",
        "chip",
        "tile",
        "subgroups",
        "registers",
        "prefetch",
        "split_k",
        "limit",
        "time",
        "TFLOP/s",
    )
    table = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[place]) for line in table) for place in range(len(head))]
    for cells, row in zip(table, ({"error": ""}, *rows), strict=True):
        if row["error"]:
            print(
                f"{'  '.join(cell.ljust(width) for cell, width in zip(cells[:5], widths, strict=False))}  {row['error']}"
            )
        else:
            print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())


def _cells(row: Row) -> tuple[str, ...]:
    types = " ".join(str(row[name]) for name in ("a", "b", "c") if row[name] is not None)
    first = (str(row["m"]), str(row["n"]), str(row["k"]), types, str(row["target"] or ""))
    if row["error"]:
        return (*first, *[""] * 8)
    told = (str(row[name]) for name in ("tile", "subgroups", "registers", "prefetch", "split_k", "limit"))
    return (*first, *told, f"{row['microseconds']:.1f} us", f"{row['tflops']:.1f}")
