"""The walk of one step of k: what is prefetched, what messages bring, what DPAS multiplies, and what is stored at the end.

`flow` draws it as boxes with the layouts on the arrows between them; a number on an arrow is that of a frame of `steps`, which
shows the step block by block.

>>> from layoutalg.gemm import plan_gemm
>>> plan = plan_gemm(64, 64, 64, tile=(16, 32), k_step=32, subgroups=(1, 2), registers=256)
>>> [step.title for step in steps(plan)]  # doctest: +NORMALIZE_WHITESPACE
['1. prefetch: the cache lines that each lane asks for', '2. loads: 2 block messages into registers',
 '3. products: 8 dpas of 8x16x16', '4. after the last step: 4 stores']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING

from layoutalg.core.notation import Operand
from layoutalg.core.plurals import counted
from layoutalg.gemm.counting import counted as instructions_of
from layoutalg.gemm.roles import other_name
from layoutalg.gemm.sharing import LINE_BYTES, Shares, Slice, line_elements, lines_of_lanes, shared_rounds, slices
from layoutalg.gemm.turning import SCRATCH, SLM, turns
from layoutalg.viz.colours import hue_of, shade
from layoutalg.viz.marked_blocks import first_key
from layoutalg.viz.panels import (
    DARK,
    INNER,
    MARKED,
    PALE,
    Axis,
    Headings,
    Look,
    Panel,
    headed,
    product_panel,
    stacked,
    table_panel,
    told_panel,
)
from layoutalg.viz.scene import CELL_HEIGHT, CHARACTER
from layoutalg.viz.stages import Arrow, Stage, flow_panel

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = [
    "LAYOUTS",
    "REGISTERS",
    "Blocks",
    "at_the_end",
    "cut_table",
    "flow",
    "products_frame",
    "spans",
    "step_cost",
    "steps",
    "stores_frame",
]

_WIDE = 62
REGISTERS = "cells: r0-7 where registers 0 to 7 of each lane hold this block"
"""What the labels of `Blocks` mean."""
LAYOUTS = (
    "on an arrow: the step that shows it in full, what is done, and who holds what",
    "d0 = 8@reg, d1 = 16@lane: 8 rows (d0) in registers 0 to 7 of each lane, 16 columns (d1) in lanes 0 to 15",
)
"""How the layouts on arrows are read."""
_GATED = ["of B, the first of its two matrices is drawn"]


def _hue(number: int) -> str:
    """The colour of a load message."""
    return shade(hue_of(number), 1.0)  # strong: apart from the pale marks of the first block


def spans(size: int, most: int | None = None) -> Callable[[int], str]:
    """The rows or columns of a block by its number, "16..31", up to `most`; where numbers are long, the first alone.

    >>> spans(16)(1), spans(16, 20)(1), spans(2**20)(2**10)
    ('16..31', '16..19', '1073741824..')
    """

    def span(part: int) -> str:
        end = (part + 1) * size
        text = f"{part * size}..{(end if most is None else min(end, most)) - 1}"
        return text if len(text) <= 16 else f"{part * size}.."

    return span


class Blocks:
    """An operand in the blocks of the matrix instruction: which registers of each lane have a block.

    >>> part = Operand("C, 16x16xf32", Layout.parse("d0 = 2@reg:8 8@reg, d1 = 16@lane"), (8, 16))
    >>> Blocks(part).look((1, 0), "#eeeeee").sentence
    'C: rows 8..15, columns 0..15: registers 8 to 15 of each lane'
    """

    def __init__(self, part: Operand, size: tuple[int, int] | None = None) -> None:
        self.name = str(part.name)[0]
        self.size = size or tuple(int(n) for n in part.tile or part.layout.shape)
        self.registers = part.layout.owner_map("reg")
        self.counts = [int(n) // size for n, size in zip(part.layout.shape, self.size, strict=True)]

    def looks(self, fill: Callable[[int, int], str]) -> dict[tuple[int, int], Look]:
        """The cells of all blocks, each in its colour."""
        rows, columns = self.counts
        return {at: self.look(at, fill(*at)) for at in product(range(rows), range(columns))}

    def look(self, at: tuple[int, int], fill: str) -> Look:
        """The cell of a block."""
        rows, columns = (slice(n * size, (n + 1) * size) for n, size in zip(at, self.size, strict=True))
        held = self.registers[rows, columns]
        low, high = int(held.min()), int(held.max())
        told = f"{self.name}: rows {rows.start}..{rows.stop - 1}, columns {columns.start}..{columns.stop - 1}"
        return Look(fill, f"r{low}-{high}", f"{told}: registers {low} to {high} of each lane")


def cut_table(
    down: Axis, across: Axis, look: Callable[[int, int], Look], sizes: Sequence[int], named: str = "rows"
) -> Panel:
    """Cells of `sizes` rows (`named` so) and columns each, with their numbers, and dots for what is left out."""
    looks = [[None if i is None or j is None else look(i, j) for j in across.numbers] for i in down.numbers]
    rows, columns = (
        ["" if n is None else spans(size)(n) for n in axis.numbers]
        for axis, size in zip((down, across), sizes, strict=True)
    )
    return table_panel("", columns, rows, looks, (across.step, CELL_HEIGHT), corner=f"{named} \N{DOWNWARDS ARROW}")


def flow(plan: Gemm) -> Panel:
    """The step as a flow: memory, registers, products, accumulators, memory."""
    unit, tile = plan.dpas, plan.tile
    parts = {name: part.layout for name, part in zip("ABC", plan.operands(), strict=True)}
    a, b, c = plan.fragments
    numbers = {name: number + 1 for number, (name, _) in enumerate(_frames(plan))}
    memory: list[Stage] = []
    cached: list[Stage] = []
    held: list[Stage] = []
    arrows: list[Arrow] = []
    loaded, ahead = int("prefetch" in numbers), plan.tiling.distance
    for place, (fragment, matrix) in enumerate(zip((a, b), plan.matrices, strict=False)):
        name, shape = fragment.name, "x".join(map(str, parts[fragment.name].shape))
        memory.append(Stage(f"{name} in memory", (f"{shape} {fragment.element} of {matrix.rows}x{matrix.columns}",)))
        if loaded:
            turned = _transposed_at(plan) if name == "A" else None
            cached.append(
                Stage(f"{name} in {turned or 'caches'}", (f"{counted(1 if turned else ahead, 'step')} ahead",))
            )
            note = "loaded, and transposed by the workgroup" if turned else _asked(plan, name)
            arrows.append(Arrow((0, place), (note,), None if turned else numbers["prefetch"]))
        held.append(Stage(f"{name} in registers", (f"{fragment.count} {fragment.vector} in each lane",)))
        arrows.append(Arrow((loaded, place), (_brought(plan, name), f"{shape}: {parts[name]}"), numbers["loads"]))
        told = f"a block, {'x'.join(map(str, fragment.block))}: {fragment.layout}"
        arrows.append(Arrow((loaded + 1, place), (told,), numbers["products"]))
    products = Stage(
        f"{plan.dpas_per_step} dpas of {unit.m}x{unit.n}x{unit.k}",
        (
            "C^T += B^T A^T: A and B change roles"
            if plan.exchanged
            else "C += A B for both matrices of B"
            if plan.problem.gated
            else "C += A B",
        ),
    )
    sums = Stage("C in registers", (f"{c.count} {c.vector} in each lane, kept for {counted(plan.k_steps, 'step')}",))
    arrows.append(
        Arrow(
            (loaded + 2, 0), (f"a block, {'x'.join(map(str, c.block))}: {c.layout}", f"{tile.m}x{tile.n}: {parts['C']}")
        )
    )
    arrows.append(Arrow((loaded + 3, 0), at_the_end(plan), numbers["stores"]))
    behind = [Stage("C in memory", (f"{'x'.join(map(str, parts['C'].shape))} {plan.element_of('C')}",))]
    if plan.tiling.split_k > 1 or plan.tiling.stream_k:
        behind = [Stage("the workspace, then C in memory", ("parts of k are added there",))]
    rows = [memory, *([cached] * loaded), held, [products], [sums], behind]
    return flow_panel("one step of subgroup 0: what moves where", rows, arrows, (loaded + 3, 0), LAYOUTS)


def steps(plan: Gemm) -> tuple[Panel, ...]:
    """The frames of the walk, numbered."""
    return tuple(frame(plan, number + 1) for number, (_, frame) in enumerate(_frames(plan)))


def _frames(plan: Gemm) -> Sequence[tuple[str, Callable[[Gemm, int], Panel]]]:
    found: list[tuple[str, Callable[[Gemm, int], Panel]]] = [
        ("loads", _loads),
        ("products", products_frame),
        ("stores", stores_frame),
    ]
    return found if plan.tiling.prefetch == "none" else [("prefetch", _prefetch), *found]


def step_cost(plan: Gemm) -> str:
    """The instructions of a step, by what they are for."""
    found = instructions_of(plan.problem, plan.tiling, plan.llvm)
    some = [("load", found.loads), ("prefetch", found.prefetches), ("store", found.stores)]
    rest = found.total - found.dpas - sum(count for _, count in some)
    named = [
        f"{count} {name}{'es' if name == 'prefetch' else 's'}" if count > 1 else f"1 {name}"
        for name, count in some
        if count
    ]
    return f"{found.dpas} dpas, {', '.join(named)}, {rest} other instructions (predicted)"


def _brought(plan: Gemm, name: str) -> str:
    """What brings A or B to registers."""
    loads = [message.load.name for message in plan.messages if message.operand == name]
    if name == "A" and (where := _transposed_at(plan)):
        return f"read from {where}, where the workgroup transposed it"
    if not loads:
        return "loaded by lanes, element by element"
    kinds = ", ".join(dict.fromkeys(loads))
    return f"{counted(len(loads), 'load')} {kinds}"


def _asked(plan: Gemm, name: str) -> str:
    """What a workgroup prefetches of A or B in a step."""
    loop = plan.loop
    place = "AB".index(other_name(name) if plan.exchanged else name)
    if plan.tiling.prefetch == "lines":
        return f"{lines_of_lanes(loop.problem, loop.tiling).counts[place]} cache lines, asked for by lanes"
    for shares in shared_rounds(loop.problem, loop.tiling):
        if shares.counts[place]:
            size = f"{shares.rows}x{line_elements(loop.problem) * shares.lines}"
            return f"prefetch: {counted(shares.counts[place], 'block')} of {size} for the workgroup"
    return "not prefetched"


def at_the_end(plan: Gemm) -> tuple[str, ...]:
    """What is done with C after the last step, and how it is stored."""
    return ("after the last step: " + ", ".join([*_done_to_c(plan), _stored(plan)]),)


def _done_to_c(plan: Gemm) -> list[str]:
    """What is done with C before it is stored."""
    problem = plan.problem
    told = [f"times {problem.alpha:g}"] * (problem.alpha != 1) + [f"plus {problem.beta:g} C"] * (problem.beta != 0)
    told += [f"scale by {side}" for side in problem.scaled] + [f"plus the bias of its {problem.bias}"] * (
        problem.bias is not None
    )
    told += [name for name in (problem.activation, problem.epilogue) if name is not None]
    element = plan.element_of("C")
    return told + [f"rounded to {element}"] * (element != plan.accumulator)


def _stored(plan: Gemm) -> str:
    """How a subgroup's tile of C is stored."""
    if "C" in plan.problem.edges:
        return "stored by lanes, element by element"
    return "each lane stores its rows" if plan.exchanged else counted(plan.blocks[0] * plan.blocks[1], "store")


def _transposed_at(plan: Gemm) -> str | None:
    """Where the workgroup transposes A; None where it doesn't."""
    return {SLM: "shared memory", SCRATCH: "a scratch"}.get(plan.tiling.transpose)


def _prefetch(plan: Gemm, number: int) -> Panel:
    """What a step asks for ahead: of A and B, the blocks of each subgroup."""
    loop = plan.loop
    asked, tiling = (loop.problem, loop.tiling), loop.tiling
    ahead = counted(tiling.distance, "step") + " ahead"
    if tiling.prefetch == "lines":
        shares = lines_of_lanes(*asked)
        notes = (
            f"{shares.total} cache lines of {LINE_BYTES} bytes, {ahead}: {shares.counts[0]} of A, then {shares.counts[1]} of B",
            f"work-item w of {plan.workgroup[0]} asks for line w, "
            + (f"then w + {plan.workgroup[0]}, ..." if shares.rounds > 1 else "if there is one"),
        )
        return told_panel(f"{number}. prefetch: the cache lines that each lane asks for", notes)
    note = "cells: sg n, the subgroup that asks for this block, which comes into the cache"
    panels = [told_panel(f"{number}. prefetch: the blocks that each subgroup asks for", [note])]
    message = 0
    for shares in shared_rounds(*asked):
        first = 0
        for part, count in zip(slices(*asked), shares.counts, strict=True):
            if count:
                panels.append(_asked_blocks(plan, part, shares, first, message))
            first += count
        message += shares.rounds
    return stacked(panels, 4)


def _asked_blocks(plan: Gemm, part: Slice, shares: Shares, first: int, message: int) -> Panel:
    """The blocks of A or B, and who asks for each: they count row by row from `first`, a prefetch from `message` on."""
    name = other_name(part.operand) if plan.exchanged else part.operand
    high, wide = shares.rows, line_elements(plan.loop.problem) * shares.lines
    rows, abreast = part.rows // high, part.lines // shares.lines

    def look(i: int, j: int) -> Look:
        turn, who = divmod(first + i * abreast + j, plan.tiling.count)
        told = f"{name} in memory: rows {i * high}..{(i + 1) * high - 1}, columns {j * wide}..{(j + 1) * wide - 1}"
        sentence = f"{told} from the workgroup's corner: prefetch {message + turn} of subgroup {who}"
        return Look(PALE, f"sg {who}", sentence)

    ahead = counted(plan.tiling.distance, "step") + " ahead"
    told = f"{name} as it lies in memory, {ahead}: {counted(rows * abreast, 'block')} of {high}x{wide}"
    axes = Axis.of(rows, CELL_HEIGHT, 4, 1), Axis.within(abreast, 74, INNER - 90)
    return stacked([told_panel("", [told]), cut_table(*axes, look, (high, wide))], 2)


def _loads(plan: Gemm, number: int) -> Panel:
    """The blocks of A and B that messages bring, coloured by the message; C, which stays."""
    (rows, columns), deep = plan.blocks, plan.tile.k // plan.dpas.k
    block_rows, block_columns = plan.fragments[2].block
    looks: dict[str, dict[tuple[int, int], Look]] = {"A": {}, "B": {}, "C": {}}
    for n, message in enumerate(plan.messages):
        for piece in message.pieces:
            place = (piece.block, piece.depth) if message.operand == "A" else (piece.depth, piece.block)
            last = piece.start + piece.count - 1
            sentence = f"message {n}, {message.load.name}: registers {piece.start} to {last} of each lane"
            looks[message.operand][place] = Look(_hue(n), f"load {n}", sentence)
    without = _brought(plan, "A") if turns(plan.tiling) else "loaded by lanes, element by element"
    for place in product(range(rows), range(deep)):
        looks["A"].setdefault(place, Look(PALE, "", without))
    for place in product(range(deep), range(columns)):
        looks["B"].setdefault(place, Look(PALE, "", without))
    for i, j in product(range(rows), range(columns)):
        sentence = f"accumulators of rows {spans(block_rows)(i)}, columns {spans(block_columns)(j)}; {deep} dpas each"
        looks["C"][i, j] = Look(PALE, "stays", sentence)
    notes = ["cells and colours: the load that brings this block into registers; C stays"]
    notes += [f"{name}: {_brought(plan, name)}" for name in "AB"] + _GATED * plan.problem.gated
    title = f"{number}. loads: {counted(len(plan.messages), 'block message')} into registers"
    return _product(plan, title, notes, looks)


def products_frame(plan: Gemm, number: int, right: str = "B") -> Panel:
    """The operands of DPAS by the registers that have them; the first block of C and what it is made of are marked.

    B is called `right`.
    """
    a, b, c = (Blocks(part, fragment.block) for part, fragment in zip(plan.operands(), plan.fragments, strict=True))
    unit = plan.dpas
    looks = {
        "A": a.looks(lambda i, s: MARKED if i == s == 0 else DARK if i == 0 else PALE),
        "B": b.looks(lambda s, j: MARKED if s == j == 0 else DARK if j == 0 else PALE),
        "C": c.looks(lambda i, j: DARK if i == j == 0 else PALE),
    }
    notes = [REGISTERS]
    notes += [
        f"a block of {name}, {'x'.join(map(str, fragment.block))}: {fragment.layout}"
        for name, fragment in zip(("A", right, "C"), plan.fragments, strict=True)
    ]
    notes += _GATED * plan.problem.gated
    title = f"{number}. products: {plan.dpas_per_step} dpas of {unit.m}x{unit.n}x{unit.k}"
    key = first_key("block 0", "the first dpas" * (plan.tile.k > unit.k), "blocks", right)
    return _product(plan, title, notes, looks, key, right)


def _product(
    plan: Gemm,
    title: str,
    notes: Sequence[str],
    looks: dict[str, dict[tuple[int, int], Look]],
    key: Sequence[tuple[str, str]] = (),
    right: str = "B",
) -> Panel:
    """A subgroup's tile in the blocks of DPAS; B is called `right`."""
    (rows, columns), deep = plan.blocks, plan.tile.k // plan.dpas.k
    high, broad = plan.fragments[2].block
    down, along = Axis.of(rows, CELL_HEIGHT), Axis.within(deep, _WIDE, 4 * _WIDE)
    beside = max(len(spans(high)(n)) for n in down.drawn) * CHARACTER + 20
    across = Axis.within(columns, _WIDE, INNER - along.length - beside)
    headings = Headings(spans(high), lambda s: f"k {spans(plan.dpas.k)(s)}", spans(broad))
    return product_panel(title, notes, down, along, across, looks, headings, ("A", right, "C"), key)


def stores_frame(plan: Gemm, number: int) -> Panel:
    """The blocks of C and the registers that they are stored from."""
    fragment = plan.fragments[2]
    blocks = Blocks(plan.operands()[2], fragment.block)
    axes = Axis.of(blocks.counts[0], CELL_HEIGHT), Axis.within(blocks.counts[1], _WIDE, INNER - 90)
    table = cut_table(*axes, lambda i, j: blocks.look((i, j), PALE), fragment.block)
    return headed(f"{number}. after the last step: {_stored(plan)}", [REGISTERS, *_done_to_c(plan)], (), table)
