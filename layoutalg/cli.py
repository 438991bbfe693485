"""`layoutalg`: the command line. One thin function per command; every command has `--json`.

    layoutalg show '#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1]>' 8x16 --lane 9
    layoutalg gemm 512 512 512 --run -o build/gemm.mlir

Bad input is answered with one line on standard error and exit code 2.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from layoutalg.core.errors import LayoutError, ParseError

if TYPE_CHECKING:
    from layoutalg.gemm import Gemm

__all__ = ["cli", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    >>> main(["show", "d0 = 4@lane", "--json"]) == 0
    {"input": "d0 = 4@lane", "shape": [4], "layout": "d0 = 4@lane", "axes": {"lane": 4}, "replicas": [],
    "fragment_shape": [1], "index": {"d0": "lane"}}
    True
    """
    try:
        done: object = cli.main(
            args=None if arguments is None else list(arguments), prog_name="layoutalg", standalone_mode=False
        )
        return done if isinstance(done, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        return _refuse("interrupted")
    except click.ClickException as error:
        return _refuse(error.format_message())
    except LayoutError as error:
        return _refuse(str(error))
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        return _refuse(f"{error.filename or 'output'}: {error.strerror}")


def _refuse(message: str) -> int:
    one_line = " ".join(message.split())
    print(f"layoutalg: {one_line}", file=sys.stderr)
    return 2


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="layoutalg")
def cli() -> None:
    """Who holds what: exact layouts of tensors on matrix hardware."""


def _of_nested_layouts(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say on which machine a nested layout is."""
    subgroup = click.option(
        "--subgroup-size", type=int, help="Threads of a subgroup (what the text says; 64 for nested layouts)."
    )
    workgroup = click.option(
        "--workgroup-size", type=int, help="Threads of a workgroup (nested layouts; the fewest that are used)."
    )
    return subgroup(workgroup(command))


@cli.command()
@click.argument("text")
@click.argument("shape", required=False)
@click.option("--sg", type=int, help="List what one subgroup holds.")
@click.option("--lane", type=int, help="List what one lane holds.")
@click.option("--element", default="f32", show_default=True, help="Element type, for the fragment's vector type.")
@_of_nested_layouts
@click.option("--blocks", is_flag=True, help="List the block origins of each id, as LLVM computes them.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def show(
    text: str,
    shape: str | None,
    sg: int | None,
    lane: int | None,
    element: str,
    subgroup_size: int | None,
    workgroup_size: int | None,
    blocks: bool,
    as_json: bool,
) -> None:
    """Show who holds what under an attribute, a type or a layout TEXT, for a tensor of SHAPE (such as 32x64).

    Types and layouts know their shape. TEXT may be `-` for standard input.
    """
    from layoutalg.show import describe

    value = _read(text)
    holder = {axis: one for axis, one in (("sg", sg), ("lane", lane)) if one is not None}
    found = describe(
        value,
        None if shape is None else _shape(shape),
        element,
        holder=holder,
        blocks=blocks,
        subgroup_size=subgroup_size,
        workgroup_size=workgroup_size,
    )
    if as_json:
        print(json.dumps(found.facts))
        return
    from rich.console import Console

    found.print(Console(markup=False, highlight=False, emoji=False))


@cli.command()
@click.argument("text")
@click.argument("shape", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The file: .svg, .png, .pdf or .html; its directory is made.",
)
@click.option("--colour", help="What colours say: subgroup (unless given), lane, register or tile.")
@click.option(
    "--direction",
    default="tensor",
    show_default=True,
    help="tensor: a cell per element; hardware: registers by lanes.",
)
@click.option("--full", is_flag=True, help="Draw every element, folding nothing.")
@click.option("--title", help="The title (the text, unless given).")
@_of_nested_layouts
@click.option("--json", "as_json", is_flag=True, help="Print what was drawn as one JSON object.")
def draw(
    text: str,
    shape: str | None,
    output: Path,
    colour: str | None,
    direction: str,
    full: bool,
    title: str | None,
    subgroup_size: int | None,
    workgroup_size: int | None,
    as_json: bool,
) -> None:
    """Draw who holds what under an attribute, a type or a layout TEXT, for a tensor of SHAPE (such as 32x64).

    Without SHAPE an attribute is drawn on its smallest tensor. TEXT may be `-` for standard input.
    """
    from layoutalg.core.errors import DistributionError
    from layoutalg.core.notation import Distributed
    from layoutalg.notations import machine_of
    from layoutalg.viz import picture_of

    value = _read(text)
    if not isinstance(value, Distributed):
        raise DistributionError(f"{value} distributes nothing: there is no picture of it")
    sizes = None if shape is None else _shape(shape)
    machine = machine_of(None, subgroup_size, workgroup_size)
    picture = picture_of(value, sizes, machine=machine, title=title, colour=colour, direction=direction, full=full)
    picture.save(output)
    drawn = [
        {
            "title": grid.title,
            "rows": grid.shape[0],
            "columns": grid.shape[1],
            "of": [grid.rows.size, grid.columns.size],
        }
        for grid, _, _ in picture.grids()
    ]
    facts = {"output": str(output), "title": picture.title, "colourings": list(picture.colourings), "grids": drawn}
    if as_json:
        print(json.dumps(facts))
        return
    print(f"{output}: " + "; ".join("{rows} of {of[0]} x {columns} of {of[1]} cells".format(**one) for one in drawn))


@cli.command()
@click.argument("source")
@click.argument("destination")
@click.argument("shape", required=False)
@click.option("--element", default="f32", show_default=True, help="Element type.")
@click.option("--target", help="The chip, for costs and the size of shared memory (a GPU in general).")
@_of_nested_layouts
@click.option("--slm-limit", type=int, help="Shared memory that may be used, in bytes (the chip's).")
@click.option("--emit", "emitted", is_flag=True, help="Print the code, a function on one lane's fragment.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the code to a file.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def convert(
    source: str,
    destination: str,
    shape: str | None,
    element: str,
    target: str | None,
    subgroup_size: int | None,
    workgroup_size: int | None,
    slm_limit: int | None,
    emitted: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Plan the conversion of a tensor of SHAPE from the layout SOURCE to DESTINATION, with the fewest moves.

    Both are attributes, types or layouts, of any system; layouts know their shape. One may be `-` for standard input.
    """
    from layoutalg.conversion import convert as plan_conversion
    from layoutalg.core.elements import element_bits
    from layoutalg.notations import machine_of

    if source == destination == "-":
        raise click.UsageError("only one of SOURCE and DESTINATION may be '-': standard input is one text")
    sizes = None if shape is None else _shape(shape)
    pair = [_read(text) for text in (source, destination)]
    machine = machine_of(None, subgroup_size, workgroup_size)
    bits = element_bits(element)
    plan = plan_conversion(
        pair[0], pair[1], sizes, machine=machine, element_bits=bits, target=target, slm_limit=slm_limit
    )
    facts: dict[str, Any] = {
        "source": str(plan.source),
        "destination": str(plan.destination),
        "element_bits": bits,
        "target": plan.target,
        "kind": plan.kind,
        "shuffles": plan.shuffles,
        "lower_bound": plan.lower_bound,
        "selects": plan.selects,
        "moves": plan.moves,
        "slm_bytes": plan.slm_bytes,
        "bank_conflicts": plan.bank_conflicts,
        "barriers": plan.barriers,
        "cost": plan.cost,
        "candidates": [{"name": one.name, "cost": one.cost} for one in plan.candidates],
    }
    code = plan.emit(element) if emitted or output is not None else None
    if output is not None and code is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(code)
        facts["output"] = str(output)
    if as_json:
        print(json.dumps(facts | ({"code": code} if emitted else {})))
        return
    # The code may go on to a compiler: what is said of it is comments there.
    print("\n".join(f"// {line}" for line in str(plan).splitlines()) if emitted else plan)
    if emitted:
        print(code)
    if output is not None:
        print(f"{'// ' if emitted else ''}written to {output}")


def _read(text: str) -> Any:
    from layoutalg.notations import parse

    return parse(sys.stdin.read() if text == "-" else text)


def _shape(text: str) -> tuple[int, ...]:
    parts = text.lower().replace(",", "x").split("x")
    if not all(p.strip().isdecimal() and p.strip().isascii() and len(p) < 12 for p in parts) or len(parts) > 64:
        raise ParseError(text, 0, "a shape, such as 32x64")
    return tuple(int(p) for p in parts)


@cli.command()
@click.argument("m", type=int)
@click.argument("n", type=int)
@click.argument("k", type=int)
@click.option("--a", "a_type", default="f16", show_default=True, help="Element type of A.")
@click.option("--b", "b_type", default=None, help="Element type of B (A's unless given).")
@click.option("--c", "c_type", default="f32", show_default=True, help="Element type of C.")
@click.option("--target", default="pvc", show_default=True, help="The chip.")
@click.option("--tile", default=None, help="The tile of C that a subgroup computes, such as 32x32.")
@click.option("--lda", type=int, help="Elements from one row of A to the next (k unless given).")
@click.option("--ldb", type=int, help="Elements from one row of B to the next (n unless given).")
@click.option("--ldc", type=int, help="Elements from one row of C to the next (n unless given).")
@click.option("--emit", "level", default="lane", show_default=True, help="The level of the kernel.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the kernel to a file.")
@click.option("--run", is_flag=True, help="Execute the kernel in the simulator on random matrices.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For the random matrices.")
@click.option(
    "--check", is_flag=True, help="Ask LLVM 22, if it is installed, whether it accepts and lowers the kernel."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
def gemm(
    m: int,
    n: int,
    k: int,
    a_type: str,
    b_type: str | None,
    c_type: str,
    target: str,
    tile: str | None,
    lda: int | None,
    ldb: int | None,
    ldc: int | None,
    level: str,
    output: Path | None,
    run: bool,
    seed: int,
    check: bool,
    as_json: bool,
) -> None:
    """Plan C[M, N] = A[M, K] * B[K, N], print the plan, and write, run and check its kernel."""
    from layoutalg.gemm import plan_gemm

    plan = plan_gemm(
        m,
        n,
        k,
        a_type,
        b_type or a_type,
        c_type,
        target,
        tile=None if tile is None else _shape(tile),
        lda=lda,
        ldb=ldb,
        ldc=ldc,
    )
    text = plan.emit(level)
    facts = _plan_facts(plan)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text)
        facts["output"] = str(output)
    if run:
        facts["largest_difference"], facts["largest_value"] = _largest_difference(plan, text, seed)
    if check:
        facts["llvm"] = _llvm_sentence(text, level)
    if as_json:
        print(json.dumps(facts | ({} if output is not None else {"kernel": text})))
        return
    _print_plan(facts)
    if output is None and not run and not check:
        print(text)


def _plan_facts(plan: Gemm) -> dict[str, Any]:
    registers = plan.registers
    return {
        "problem": {"m": plan.m, "n": plan.n, "k": plan.k, "a": plan.a, "b": plan.b, "c": plan.c},
        "target": plan.target,
        "tile": [plan.tile.m, plan.tile.n, plan.tile.k],
        "grid": list(plan.grid),
        "workgroup": list(plan.workgroup),
        "k_steps": plan.k_steps,
        "dpas_per_step": plan.dpas_per_step,
        "dpas_total": plan.dpas_total,
        "bytes_per_step": plan.bytes_per_step,
        "registers": {"used": registers.used, "available": registers.available},
        "fragments": {
            f.name: {
                "block": list(f.block),
                "count": f.count,
                "vector": f.vector,
                "fragment_shape": list(f.layout.fragment_shape),
                "layout": str(f.layout),
            }
            for f in plan.fragments
        },
    }


def _print_plan(facts: dict[str, Any]) -> None:
    problem, registers = facts["problem"], facts["registers"]

    def by(sizes: Sequence[int]) -> str:
        return "x".join(map(str, sizes))

    rows = [
        ("problem", "C[{m}, {n}] {c} = A[{m}, {k}] {a} * B[{k}, {n}] {b}".format(**problem) + f" on {facts['target']}"),
        ("tile", f"{by(facts['tile'])} (m x n x k) per subgroup, one subgroup per workgroup"),
        (
            "grid",
            f"{by(facts['grid'])} workgroups of {by(facts['workgroup'])} work-items, {facts['k_steps']} steps over k",
        ),
        ("dpas", f"{facts['dpas_per_step']} per step, {facts['dpas_total']} in all"),
        ("loads", f"{facts['bytes_per_step']} bytes per step and subgroup"),
        ("registers", f"{registers['used']} of {registers['available']} per subgroup"),
    ]
    for name, fragment in facts["fragments"].items():
        lane = f"{by(fragment['fragment_shape'])} per lane ({fragment['vector']})"
        rows.append((f"{name}", f"{fragment['count']} x {by(fragment['block'])}, {lane}: {fragment['layout']}"))
    if "output" in facts:
        rows.append(("kernel", facts["output"]))
    if "largest_difference" in facts:
        difference, value = facts["largest_difference"], facts["largest_value"]
        rows.append(("simulated", f"largest difference from numpy {difference:.3g} (largest element {value:.3g})"))
    if "llvm" in facts:
        rows.append(("LLVM 22", facts["llvm"]))
    for name, value in rows:
        print(f"{name:10}{value}")


def _largest_difference(plan: Gemm, text: str, seed: int) -> tuple[float, float]:
    """The kernel's result on random matrices against numpy's product of the same numbers in f64."""
    import numpy as np

    from layoutalg.gemm.run import check_size
    from layoutalg.simulate import numpy_type

    check_size(plan)

    random = np.random.default_rng(seed)
    a = random.standard_normal((plan.m, plan.k)).astype(numpy_type(plan.a))
    b = random.standard_normal((plan.k, plan.n)).astype(numpy_type(plan.b))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    found = plan.simulate(a, b, text=text)
    return float(np.abs(found - exact).max()), float(np.abs(exact).max())


def _llvm_sentence(text: str, level: str) -> str:
    from layoutalg.ir.llvm import MLIR_OPT, llvm_verdict

    verdict = llvm_verdict(text, level)
    if verdict is None:
        return f"not asked: {MLIR_OPT} is not installed (make toolchains)"
    return "accepts the kernel and lowers it to SPIR-V" if verdict.accepted else f"refuses: {verdict.diagnostic}"


if __name__ == "__main__":
    raise SystemExit(main())
