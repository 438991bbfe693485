"""`layoutalg run`: a kernel of a file, executed on arrays: results, their summary, and what the kernel does wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from layoutalg.cli.arguments import (
    DPAS_CHIP,
    MODULE,
    OneOf,
    format_option,
    json_option,
    read_module_file,
    target_option,
)
from layoutalg.core.errors import LayoutError, ParseError
from layoutalg.core.limits import MOST_ARGUMENT_BYTES, MOST_PRINTED
from layoutalg.core.written import as_shape

if TYPE_CHECKING:
    from layoutalg.cli.arrays import Argument

__all__ = ["as_arguments", "as_grid", "run"]

_LEVEL = OneOf.at("layoutalg.simulate.machine:LEVELS")


@click.command(short_help="Run a kernel on arrays.")
@click.argument("file", type=MODULE)
@click.option("--grid", required=True, help="Workgroups along x, y and z, such as 8x16.")
@click.option(
    "--arg", "given", multiple=True, metavar="ARG", help="An argument: A.npy, A.npy:bf16, C:512x512xf32, 512."
)
@click.option("-o", "--output", "outputs", multiple=True, metavar="FILE", help="Save a result: C.npy, or C=FILE.")
@click.option("--kernel", help="The kernel, where there are several.")
@click.option("--level", type=_LEVEL, help="The level of the kernel (default: as the text has it).")
@target_option("The chip.", DPAS_CHIP)
@click.option("--block", help="Work-items of a workgroup, such as 64 or 16x4 (default: as the kernel has it).")
@click.option("--subgroup-size", type=int, help="Lanes of a subgroup (default: as the kernel has it).")
@click.option("--trace", multiple=True, metavar="NAME", help="Print what a work-item holds in a result, such as %7.")
@click.option("--workgroup", type=click.IntRange(min=0), default=0, help="The workgroup that is traced.")
@click.option("--sg", type=click.IntRange(min=0), default=0, help="The subgroup that is traced.")
@click.option("--lane", type=click.IntRange(min=0), default=0, help="The lane that is traced.")
@format_option
@json_option
def run(
    file: str,
    grid: str,
    given: tuple[str, ...],
    outputs: tuple[str, ...],
    kernel: str | None,
    level: Any,
    target: str,
    block: str | None,
    subgroup_size: int | None,
    trace: tuple[str, ...],
    workgroup: int,
    sg: int,
    lane: int,
    written: str,
    as_json: bool,
) -> int:
    """Run a kernel of the module in FILE on arrays, all work-items at once, and summarise its results.

    An argument is an array of a file (A.npy; A.npy:bf16 for elements that numpy has no letter for), an array for results
    (C:512x512xf32), or a number. Files are inputs, which the kernel must not write, unless -o names them. Exits with 1 where
    the kernel does something wrong: a race, an access out of bounds, an uninitialised read.
    """
    from layoutalg.cli.arrays import saved_bytes
    from layoutalg.cli.findings import write_findings
    from layoutalg.core.files import write_files
    from layoutalg.core.progress import progress_bar

    sizes = as_grid("--grid", grid)
    if trace and workgroup >= prod(sizes):
        raise LayoutError(f"--workgroup {workgroup}: the grid has {prod(sizes)}")
    module = read_module_file(file)
    arguments = as_arguments(given)
    saved = _saved(outputs, arguments)
    for one in arguments:
        if hasattr(one.value, "setflags") and not one.is_output and one.name not in saved:
            one.value.setflags(write=False)
    with progress_bar("workgroups") as progress:
        outcome = module.run(
            [one.value for one in arguments],
            sizes,
            kernel=kernel,
            level=level,
            target=target,
            trace=trace,
            results=[number for number, one in enumerate(arguments) if one.is_output],
            block=None if block is None else as_grid("--block", block),
            subgroup_size=subgroup_size,
            progress=progress,
        )
    failed = any(finding.level == "error" for finding in outcome.findings)
    results = [one for one in arguments if one.is_output or one.name in saved]
    facts = _facts(results, {} if failed else saved)
    if trace:
        facts["trace"] = _traced(outcome.trace, workgroup, sg, lane)
    # last, so that a refusal leaves no file
    write_files(*((saved[one.name], saved_bytes(one.value)) for one in results if one.name in saved and not failed))
    if as_json or written == "json":
        write_findings(outcome.findings, module, "json", _for_json(facts))
        return int(failed)
    if written != "text" or outcome.findings:
        write_findings(outcome.findings, module, written, {})
    if written == "text":
        _print(facts, not_saved=failed and bool(saved))
    return int(failed)


def as_grid(option: str, text: str) -> tuple[int, int, int]:
    """One to three sizes along x, y and z, of this option."""
    try:
        sizes = as_shape(text)
    except ParseError:
        sizes = ()
    except LayoutError as error:
        raise LayoutError(f"{option}: {error}") from None
    if len(sizes) not in (1, 2, 3):
        raise LayoutError(f"{option} {text}: expected one to three sizes, such as 8x16")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def _traced(trace: Mapping[str, Sequence[Any]], workgroup: int, sg: int, lane: int) -> list[dict[str, Any]]:
    """What one work-item held after an operation, each time that it was executed."""
    found: list[dict[str, Any]] = []
    for name, times in trace.items():
        for time, value in enumerate(times):
            place = {"workgroup": workgroup, "sg": sg, "lane": lane}
            # An axis of one is the same for all (or stands for the whole subgroup, the whole workgroup).
            index = [n if size > 1 else 0 for n, size in zip(place.values(), value.shape, strict=False)]
            for axis, n, size in zip(place, index, value.shape, strict=False):
                if n >= size:
                    raise LayoutError(f"--{axis} {n}: {name} has {size}")
            held = value[tuple(index)]
            found.append({"name": name, "time": time, "shape": list(held.shape), "values": held.reshape(-1).tolist()})
    return found


def as_arguments(given: Sequence[str]) -> list[Argument]:
    """The arguments in their order, of a size that is simulated.

    >>> [one.value for one in as_arguments(["512", "0.5"])]
    [512, 0.5]
    """
    from layoutalg.cli.arrays import as_argument

    found: list[Argument] = []
    size = 0
    for text in given:
        one = as_argument(text)
        size += getattr(one.value, "nbytes", 0)
        if size > MOST_ARGUMENT_BYTES:
            raise LayoutError(f"--arg {text}: {size:,} bytes with those before it; at most {MOST_ARGUMENT_BYTES:,}")
        found.append(one)
    return found


def _saved(outputs: Sequence[str], arguments: Sequence[Argument]) -> dict[str, Path]:
    """Which array goes into which file: `-o C=FILE`, or a file that is called as the array."""
    arrays = [one.name for one in arguments if hasattr(one.value, "nbytes")]
    saved: dict[str, Path] = {}
    for text in outputs:
        name, path = _named(text, arrays)
        if arrays.count(name) != 1:
            there = ", ".join(dict.fromkeys(arrays)) or "none"
            many = "several arrays are" if name in arrays else "no array is"
            raise LayoutError(f"-o {text}: {many} called {name}; the arrays are {there} (-o NAME=FILE names one)")
        saved[name] = Path(path)
    return saved


def _named(text: str, arrays: Sequence[str]) -> tuple[str, str]:
    """The array and the file of one `-o`; both may have `=` in their names."""
    said = max((name for name in arrays if text.startswith(f"{name}=")), key=len, default=None)
    if said is not None:
        return said, text[len(said) + 1 :]
    if Path(text).stem in arrays:
        return Path(text).stem, text
    name, _, path = text.rpartition("=")
    return name or Path(path).stem, path


def _facts(results: Sequence[Argument], saved: Mapping[str, Path]) -> dict[str, Any]:
    from layoutalg.cli.arrays import array_summary

    return {
        "results": [
            {"name": one.name, **array_summary(one.value)}
            | ({"saved": str(saved[one.name])} if one.name in saved else {})
            for one in results
        ]
    }


def _for_json(value: Any) -> Any:
    """The same facts with words for the numbers that JSON does not have."""
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: _for_json(one) for name, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_for_json(one) for one in cast("list[Any]", value)]
    return value


def _print(facts: Mapping[str, Any], *, not_saved: bool) -> None:
    for one in facts.get("trace", ()):
        time = f" (time {one['time'] + 1})" if one["time"] else ""
        values = [f"{value:.6g}" for value in one["values"][:MOST_PRINTED]]
        more = len(one["values"]) - MOST_PRINTED
        print(f"{one['name']:9}{time} {' '.join(values)}{f' and {more:,} more' if more > 0 else ''}")
    for one in facts["results"]:
        sizes = "x".join(map(str, [*one["shape"], one["element"]]))
        parts = [f"{name} {one[name]:.6g}" for name in ("min", "max", "mean") if name in one]
        if "nan" in one:
            parts.append(f"{one['nan']:,} NaN")
        first = " ".join(f"{value:.6g}" for value in one["first"])
        dots = " ..." if len(one["first"]) < prod(one["shape"]) else ""
        print(f"{one['name']:9} {sizes}: {', '.join(parts)}; {first}{dots}")
        if "saved" in one:
            print(f"{'':9} saved to {one['saved']}")
    if not_saved:
        print("nothing is saved: the kernel does something wrong")
