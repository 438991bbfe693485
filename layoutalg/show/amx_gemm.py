"""What `layoutalg gemm --target amx` prints: the plan of a product for AMX as tables, and the same as facts for a program.

>>> from rich.console import Console
>>> print_amx_plan(la.plan_amx(64, 64, 64, blocking=(2, 2)), Console(width=120), runners_up=0)  # doctest: +ELLIPSIS
C[64, 64] f32 = A[64, 64] bf16 * B[64, 64] bf16 on amx
<BLANKLINE>
  blocking      2x2 tiles of 16x16, 32x32 of C in registers; a step is 32 of k, 2 steps
  registers     7 of 8: C in tmm0 to tmm3; A is held in tmm4, tmm5; B passes through tmm6
  a step        4 tile loads of 1024 bytes, 4 products (tdpbf16ps): 1.00 loads per product
...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from layoutalg.amx import REGISTERS, dialect_of
from layoutalg.core.plurals import counted as number_of
from layoutalg.gemm.amx.packing import must_pack_a
from layoutalg.gemm.amx.strips import Strip, registers_of
from layoutalg.gemm.amx.tiling import TILE
from layoutalg.gemm.amx.walking import walk
from layoutalg.show.tables import (
    Row,
    bytes_text,
    percent_text,
    print_line,
    print_table,
    rate_text,
    runners_up_rows,
    seconds_text,
)

if TYPE_CHECKING:
    from rich.console import Console

    from layoutalg.gemm.amx import AmxGemm
    from layoutalg.gemm.amx.costs import AmxRoofline
    from layoutalg.gemm.amx.listing import AmxListing
    from layoutalg.gemm.amx.search import AmxCandidate

__all__ = ["amx_facts", "listing_facts", "print_amx_plan"]

_TILE_BYTES = 1024
CAVEAT = "computed from published and measured numbers of one core; clocks under load and other programs aren't known"


def print_amx_plan(plan: AmxGemm, console: Console, *, runners_up: int = 5, explain: bool = False) -> None:
    """Print the plan, and so many of those that lost; `explain` adds the walk of a step and how C is computed."""
    print_line(console, str(plan.problem))
    tables = [_choices(plan), _operands(plan), _time(plan)]
    if explain:
        tables.append(_explained(plan))
    if runners_up:
        tables.append(runners_up_rows(_others(plan, runners_up)))
    for rows in tables:
        print_line(console)
        print_table(console, rows)


def amx_facts(plan: AmxGemm, *, runners_up: int = 5) -> dict[str, Any]:
    """The plan as numbers and texts, for `--json`."""
    problem, tiling, steps = plan.problem, plan.tiling, walk(plan.tiling.blocking)
    names = ("m", "n", "k", "a", "b", "c", "acc", "trans_a", "trans_b", "lda", "ldb", "ldc")
    epilogue = ("alpha", "beta", "bias", "scale", "activation")
    return {
        "problem": {name: getattr(problem, name) for name in (*names, *epilogue)},
        "target": problem.target,
        "chip": problem.chip,
        "llvm": plan.llvm,
        "instruction": plan.product.instruction,
        "blocking": [tiling.blocking.rows, tiling.blocking.columns],
        "blocks": [tiling.m_block, tiling.n_block, tiling.k_block],
        "order": tiling.order,
        "cache_blocks": list(plan.cache_blocks),
        "register_blocks": plan.register_blocks,
        "strips": {
            name: [{"first": one.first, "count": one.count, "tiles": list(one.heights)} for one in strips]
            for name, strips in zip(("rows", "columns"), plan.strips, strict=True)
        },
        "step": {"depth": problem.depth, "loads": plan.loads_per_step, "products": plan.products_per_step},
        "k_steps": plan.k_steps,
        "k_rest": plan.k_rest,
        "registers": dict(steps.registers),
        "walk": [str(step) for step in steps.steps],
        "packed": {
            "A": None if plan.packed_a_shape is None else list(plan.packed_a_shape),
            "B": list(plan.packed_b_shape),
            "why_a": _why_packed(plan) if tiling.pack_a else None,
        },
        "layouts": {name: str(layout) for name, layout in plan.layouts.items()},
        "roofline": [
            {
                "chip": line.chip.name,
                "cores": line.cores,
                **line.as_json(),
                "bytes": {"L1": line.l1_bytes, "L2": line.l2_bytes, "L3": line.l3_bytes, "memory": line.memory_bytes},
            }
            for line in _rooflines(plan)
        ],
        "runners_up": [
            {"tiling": str(other.tiling), "clocks": other.clocks, "reason": other.reason}
            for other in _others(plan, runners_up)
        ],
    }


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


def _choices(plan: AmxGemm) -> list[Row]:
    tiling, blocking, depth = plan.tiling, plan.tiling.blocking, plan.problem.depth
    steps = number_of(plan.k_steps, "step")
    rest = f", the last one {plan.k_rest}" if plan.k_rest and plan.k_steps > 1 else ""
    block = f"{TILE * blocking.rows}x{TILE * blocking.columns} of C in registers"
    rows, columns = plan.cache_blocks
    along = {"columns": "down a column of C first", "rows": "along a row of C first"}[tiling.order]
    loads = f"{number_of(plan.loads_per_step, 'tile load')} of {_TILE_BYTES} bytes"
    products = f"{number_of(plan.products_per_step, 'product')} ({plan.product.instruction})"
    found: list[Row] = [
        ("blocking", f"{blocking} tiles of {TILE}x{TILE}, {block}; a step is {depth} of k, {steps}{rest}"),
        ("registers", _registers(plan)),
        ("a step", f"{loads}, {products}: {blocking.loads_per_product:.2f} loads per product"),
        (
            "loops",
            f"{rows}x{columns} cache blocks of {tiling.m_block}x{tiling.n_block}; in one, {tiling.k_block} of k at a time, "
            f"register blocks {along}",
        ),
        ("", _block_bytes(plan)),
    ]
    if edges := _edges(plan):
        found.append(("edges", edges))
    found.append(("written for", f"LLVM {plan.llvm}, as {dialect_of(plan.llvm)}"))
    return found


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


def _edges(plan: AmxGemm) -> str:
    """Where register blocks are not of whole tiles."""
    found: list[str] = []
    whole = (plan.tiling.blocking.rows, plan.tiling.blocking.columns)
    for strips, tiles, name in zip(plan.strips, whole, ("rows", "columns"), strict=True):
        found += [
            f"{_heights(strip)} {name.removesuffix('s') if strip.size == 1 else name} from {strip.first}"
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


def _operands(plan: AmxGemm) -> list[Row]:
    problem = plan.problem
    rows: list[Row] = [("operand", "in memory", "as tiles", "layout of the packed buffer, elements onto addresses")]
    packed = {"A": (plan.packed_a_shape, plan.packed_a), "B": (plan.packed_b_shape, plan.packed_b)}
    types = (problem.a, problem.b, problem.c)
    for matrix, kind in zip(problem.matrices, types, strict=True):
        memory = f"{matrix.rows}x{matrix.columns} {kind}, row {matrix.pitch}"
        shape, layout = packed.get(matrix.name, (None, None))
        if shape is not None:
            rows.append((matrix.name, memory, f"packed, {'x'.join(map(str, shape))}", str(layout)))
        elif matrix.name == "A":
            rows.append((matrix.name, memory, "loaded as it lies", ""))
        else:
            rows.append((matrix.name, memory, "stored as it lies" if problem.direct else "through the epilogue", ""))
    if plan.tiling.pack_a:
        rows.append(("", f"why A is packed: {_why_packed(plan)}"))
    return rows


def _why_packed(plan: AmxGemm) -> str:
    why = must_pack_a(plan.problem)
    return why or "the copy should pay: whole tiles lie on cache lines, and are loaded again for each panel of B"


def _time(plan: AmxGemm) -> list[Row]:
    """What each level of memory moves and how long it takes, on one core and on all."""
    line, whole = _rooflines(plan)
    moved = {"L1": line.l1_bytes, "L2": line.l2_bytes, "L3": line.l3_bytes, "memory": line.memory_bytes}
    limits = ", ".join(f"{name} {seconds_text(seconds)}" for name, seconds in line.limit_seconds.items())
    side = "above" if line.intensity > line.ridge else "below"
    intensity = f"{line.intensity:.{0 if line.intensity >= 10 else 2}f} operations per byte of memory"
    return [
        ("bytes", ", ".join(f"{bytes_text(count)} from {name}" for name, count in moved.items())),
        ("intensity", f"{intensity}, {side} the {line.ridge:.0f} of a core of {line.chip.name}"),
        ("each alone", limits),
        ("predicted", f"{_reached(plan, line)} on one core; limit: {line.limit}"),
        *([("", f"{_reached(plan, whole)} on {whole.cores} cores; limit: {whole.limit}")] if whole.cores > 1 else []),
        ("", f"({CAVEAT})"),
    ]


def _rooflines(plan: AmxGemm) -> tuple[AmxRoofline, AmxRoofline]:
    """On one core, and on as many as there are cache blocks for."""
    from layoutalg.gemm.amx.costs import amx_roofline

    line = amx_roofline(plan.problem, plan.tiling)
    rows, columns = plan.cache_blocks
    return line, amx_roofline(plan.problem, plan.tiling, cores=min(line.chip.cores, rows * columns))


def _reached(plan: AmxGemm, line: AmxRoofline) -> str:
    rate = rate_text(line.flops / line.seconds, "OP/s" if plan.problem.acc == "s32" else "FLOP/s")
    return f"{seconds_text(line.seconds)}, {rate}, {percent_text(line.part_of_peak)} of the peak"


def _explained(plan: AmxGemm) -> list[Row]:
    from layoutalg.gemm.amx.numerics import stated

    line, _ = _rooflines(plan)
    parts = [(name, seconds) for name, seconds in line.part_seconds.items() if seconds > line.seconds * 5e-4]
    steps = [str(step) for step in walk(plan.tiling.blocking).steps]
    return [
        ("the time", ", ".join(f"{name} {seconds_text(seconds)}" for name, seconds in parts)),
        *zip(("a step", *[""] * len(steps)), steps, strict=False),
        *zip(("C", ""), stated(plan.problem), strict=True),
    ]


def _others(plan: AmxGemm, count: int) -> Sequence[AmxCandidate]:
    found = plan.candidates
    best = [] if found.best == plan.tiling else [found[0]]
    others = [one for one in found.runners_up(count + 1) if one.tiling != plan.tiling]
    return [*best, *others][:count]
