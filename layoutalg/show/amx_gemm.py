"""What `layoutalg gemm --target amx` says of a plan: the rows of its report and of its JSON object.

>>> from rich.console import Console
>>> report = amx_report(la.plan_amx(64, 64, 64, blocking=(2, 2)), runners_up=0)
>>> report.print(Console(width=120))  # doctest: +ELLIPSIS
C[64, 64] f32 = A[64, 64] bf16 * B[64, 64] bf16 on amx
<BLANKLINE>
  blocking      2x2 tiles of 16x16, 32x32 of C in registers; a step is 32 of k, 2 steps
  registers     7 of 8: C in tmm0 to tmm3; A is held in tmm4, tmm5; B passes through tmm6
  a step        4 tile loads of 1024 bytes, 4 products (tdpbf16ps): 1.00 loads per product
...
>>> report.as_json()["step"]
{'depth': 32, 'loads': 4, 'products': 4}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from layoutalg.amx import REGISTERS, dialect_of
from layoutalg.core.plurals import counted as number_of
from layoutalg.core.units import bytes_text, rate_text
from layoutalg.gemm.amx.packing import must_pack_a
from layoutalg.gemm.amx.strips import Strip, registers_of
from layoutalg.gemm.amx.tiling import TILE
from layoutalg.gemm.amx.walking import walk
from layoutalg.show.plan_report import PlanReport, PlanRow, columns, explained_table, row, runners_up_table

if TYPE_CHECKING:
    from layoutalg.gemm.amx import AmxGemm
    from layoutalg.gemm.amx.costs import AmxRoofline
    from layoutalg.gemm.amx.listing import AmxListing

__all__ = ["amx_report", "listing_facts"]

_TILE_BYTES = 1024
CAVEAT = "computed from published and measured numbers of one core; clocks under load and other programs aren't known"
_ORDER = {"columns": "down a column of C first", "rows": "along a row of C first"}


def amx_report(
    plan: AmxGemm, results: Sequence[PlanRow] = (), *, runners_up: int = 5, explain: bool = False
) -> PlanReport:
    """The plan, and so many of those that lost; `explain` adds the walk of a step and how C is computed.

    `results` say what was done with it.
    """
    from layoutalg.gemm.amx.costs import amx_roofline
    from layoutalg.gemm.amx.numerics import stated

    line = amx_roofline(plan.problem, plan.tiling)
    rows, columns_of_blocks = plan.cache_blocks
    everywhere = amx_roofline(plan.problem, plan.tiling, cores=min(line.chip.cores, rows * columns_of_blocks))
    unit = "OP/s" if plan.problem.acc == "s32" else "FLOP/s"
    tables = [_choices(plan), _operands(plan), _time(line, everywhere, unit)]
    if explain:
        steps = (
            columns("" if place else "a step", str(one)) for place, one in enumerate(walk(plan.tiling.blocking).steps)
        )
        tables.append(explained_table(line, stated(plan.problem), *steps))
    return PlanReport(str(plan.problem), [*tables, runners_up_table(plan, runners_up), results])


def listing_facts(listing: AmxListing) -> dict[str, Any]:
    """What the machine code has, function by function, for `--json`.

    >>> from layoutalg.gemm.amx.listing import AmxListing
    >>> listing_facts(AmxListing(24, ()))
    {'llvm': 24, 'spills': 0, 'functions': {}}
    """
    return {
        "llvm": listing.llvm,
        "spills": listing.spills,
        "functions": {
            one.name: {"loop": asdict(one.loop), "around": asdict(one.around), "annotated": one.annotated}
            for one in listing.with_tiles
        },
    }


def _choices(plan: AmxGemm) -> Sequence[PlanRow]:
    problem, tiling, blocking, steps = plan.problem, plan.tiling, plan.tiling.blocking, walk(plan.tiling.blocking)
    names = (
        "m", "n", "k", "a", "b", "c", "acc", "trans_a", "trans_b", "batch", "dynamic_m", "aligned", "lda", "ldb", "ldc"
    )  # fmt: skip
    epilogue = ("alpha", "beta", "bias", "scale", "activation")
    strips = {
        name: [{"first": one.first, "count": one.count, "tiles": list(one.heights)} for one in some]
        for name, some in zip(("rows", "columns"), plan.strips, strict=True)
    }
    edges = _edges(plan)
    return [
        row(problem={name: getattr(problem, name) for name in (*names, *epilogue)}),
        row(target=problem.target, chip=problem.chip),
        row(
            "blocking",
            f"{{blocking:x}} tiles of {TILE}x{TILE}, {{_held:x}} of C in registers; "
            "a step is {step[depth]} of k, {k_steps:#step}"
            + ", the last one {k_rest}"
            * bool(plan.k_rest and plan.k_steps > 1),
            blocking=[blocking.rows, blocking.columns],
            k_steps=plan.k_steps,
            k_rest=plan.k_rest,
            _held=(TILE * blocking.rows, TILE * blocking.columns),
        ),
        row("registers", "{_used}", registers=dict(steps.registers), _used=_registers(plan)),
        row(
            "a step",
            f"{{loads:#tile load}} of {_TILE_BYTES} bytes, {{products:#product}} ({{instruction}}): "
            "{_each:.2f} loads per product",
            at="step",
            depth=problem.depth,
            loads=plan.loads_per_step,
            products=plan.products_per_step,
            _each=blocking.loads_per_product,
        ),
        row(
            "loops",
            "{cache_blocks:x} cache blocks of {blocks[0]}x{blocks[1]}; in one, {blocks[2]} of k at a time, "
            "register blocks {_along}" + ", tiles of B asked for {prefetch_b:#step} ahead" * bool(tiling.prefetch_b),
            cache_blocks=plan.cache_blocks,
            blocks=[tiling.m_block, tiling.n_block, tiling.k_block],
            order=tiling.order,
            prefetch_b=tiling.prefetch_b,
            _along=_ORDER[tiling.order],
        ),
        columns("", _block_bytes(plan)),
        row(*(("edges", "{_edges}") if edges else ()), strips=strips, _edges=edges),
        row("written for", "LLVM {llvm}, as {_dialect}", llvm=plan.llvm, _dialect=dialect_of(plan.llvm)),
        row(instruction=plan.product.instruction, register_blocks=plan.register_blocks),
        row(walk=[str(step) for step in steps.steps]),
    ]


def _block_bytes(plan: AmxGemm) -> str:
    """What a cache block reads and writes for one part of k: what should fit into L2."""
    tiling, problem = plan.tiling, plan.problem
    deep = min(tiling.k_block, problem.k_padded) * problem.element_bytes
    height, width = min(tiling.m_block, problem.m), min(tiling.n_block, problem.n)
    reads = f"A {bytes_text(height * deep)}, B {bytes_text(width * deep)}"
    return f"a block has {reads}, and C {bytes_text(height * width * 4)} of {problem.acc}"


def _registers(plan: AmxGemm) -> str:
    steps = walk(plan.tiling.blocking)
    inner, held, passing = (
        _span({steps.registers[name] for name in steps.tiles(one)}) for one in ("C", steps.held, steps.passing)
    )
    used = len(set(steps.registers.values()))
    return (
        f"{used} of {REGISTERS}: C in {inner}; {steps.held} is held in {held}; {steps.passing} passes through {passing}"
    )


def _span(registers: set[int]) -> str:
    names = [f"tmm{number}" for number in sorted(registers)]
    return ", ".join(names) if len(names) < 3 else f"{names[0]} to {names[-1]}"


def _where(plan: AmxGemm, name: str, strip: Strip) -> str:
    return "behind the whole ones" if name == "rows" and plan.problem.dynamic_m else f"from {strip.first}"


def _edges(plan: AmxGemm) -> str:
    """Where register blocks are not of whole tiles."""
    found: list[str] = []
    whole = (plan.tiling.blocking.rows, plan.tiling.blocking.columns)
    for strips, tiles, name in zip(plan.strips, whole, ("rows", "columns"), strict=True):
        found += [
            f"{_heights(strip)} {name.removesuffix('s') if strip.size == 1 else name} {_where(plan, name, strip)}"
            for strip in strips
            if strip.heights != (TILE,) * tiles
        ]
    most = max(registers_of(rows.heights, columns.heights) for rows in plan.strips[0] for columns in plan.strips[1])
    # Where a side has no whole block, the lines above speak of more tiles than any block has.
    sides = zip(plan.strips, whole, strict=True)
    smaller = any(all(strip.heights != (TILE,) * tiles for strip in strips) for strips, tiles in sides)
    said = "C is smaller than a block: " if smaller else "blocks of "
    return f"{said}{', '.join(found)}; {number_of(most, 'register')} at most" if found else ""


def _heights(strip: Strip) -> str:
    return "+".join(map(str, strip.heights))


def _operands(plan: AmxGemm) -> Sequence[PlanRow]:
    problem, shape = plan.problem, plan.packed_a_shape
    why = _why_packed(plan) if shape else None
    packed = ("packed, {packed[%s]:x}", "{layouts[%s]}")
    held = {
        "A": (packed[0] % "A", packed[1] % "A") if shape else ("loaded as it lies", ""),
        "B": (packed[0] % "B", packed[1] % "B"),
        "C": ("stored as it lies" if problem.direct else "through the epilogue", ""),
    }
    memory = "{_matrix.rows}x{_matrix.columns} {_kind}, row {_matrix.pitch}"
    kinds = zip(problem.matrices, (problem.a, problem.b, problem.c), strict=True)
    return [
        columns("operand", "in memory", "as tiles", "layout of the packed buffer, elements onto addresses"),
        *(row(one.name, memory, *held[one.name], _matrix=one, _kind=kind) for one, kind in kinds),
        row(
            *(("", "why A is packed: {why_a}") if why else ()),
            at="packed",
            A=None if shape is None else list(shape),
            B=plan.packed_b_shape,
            why_a=why,
        ),
        row(layouts={name: str(layout) for name, layout in plan.layouts.items()}),
    ]


def _why_packed(plan: AmxGemm) -> str:
    why = must_pack_a(plan.problem)
    return why or "the copy should pay: whole tiles lie on cache lines, and are loaded again for each panel of B"


def _time(line: AmxRoofline, everywhere: AmxRoofline, unit: str) -> Sequence[PlanRow]:
    """What each level of memory moves and how long it takes, on one core and on as many as there are cache blocks for."""
    return [
        row("bytes", ", ".join(f"{{roofline[0][bytes][{name}]:bytes}} from {name}" for name in _moved(line))),
        row(
            "intensity",
            f"{{roofline[0][intensity]:.{0 if line.intensity >= 10 else 2}f}} operations per byte of memory, {{_side}} "
            "the {roofline[0][ridge]:.0f} of a core of {roofline[0][chip]}",
            _side="above" if line.intensity > line.ridge else "below",
        ),
        row("each alone", "{roofline[0][limit_seconds]:seconds}"),
        _reached(line, unit, "predicted"),
        _reached(everywhere, unit, *([""] if everywhere.cores > 1 else [])),
        row("limit", "on one core, {_limited}", _limited=line.limited()),
        *[row("", "on {_cores} cores, {_limited}", _cores=everywhere.cores, _limited=everywhere.limited())]
        * (everywhere.cores > 1),
        columns("", f"({CAVEAT})"),
    ]


def _moved(line: AmxRoofline) -> dict[str, float]:
    return {"L1": line.l1_bytes, "L2": line.l2_bytes, "L3": line.l3_bytes, "memory": line.memory_bytes}


def _reached(line: AmxRoofline, unit: str, *label: str) -> PlanRow:
    """What is predicted on so many cores; printed where it has a label."""
    shown = "{seconds:seconds}, {_rate}, {part_of_peak:percent} of the peak on {_where}"
    return row(
        *((*label, shown) if label else ()),
        at="roofline[]",
        chip=line.chip.name,
        cores=line.cores,
        **line.as_json(),
        bytes=_moved(line),
        _rate=rate_text(line.flops / line.seconds, unit),
        _where="one core" if line.cores == 1 else f"{line.cores} cores",
    )
