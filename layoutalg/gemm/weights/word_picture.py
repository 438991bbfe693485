"""Words of quantised weights, cell by cell: which bits hold which weight, what operations make operands, whose scale it is.

`packed_layout` says where the weights of a step are in a subgroup's registers: the register and lane of a word, and the first
bit in it. By hand, of 4 bits: pair i of the 8 neighbours along k is nibble i of both halves, so k = 1 begins at bit 16.

>>> from layoutalg.gemm.weights import plan_weights
>>> plan = plan_weights(8, 64, 256, tile=(8, 64))
>>> layout = packed_layout(plan)
>>> print(layout)
d0 = 16@reg 4@bit:4 2@bit:16, d1 = 4@reg:16 16@lane
>>> [dict(zip(layout.codomain, owner)) for owner in layout.owners((9, 17))]
[{'sg': 0, 'lane': 1, 'reg': 17, 'bit': 16}]
>>> [cell.sentence for cell in words_frame(plan, 1).cells][:2]  # doctest: +NORMALIZE_WHITESPACE
['W row 7, column 0: bits 28..31 of the word in register 0, lane 0',
 'W row 5, column 0: bits 24..27 of the word in register 0, lane 0']
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING

from layoutalg.core import Layout
from layoutalg.core.plurals import counted
from layoutalg.gemm.step_picture import cut_table
from layoutalg.gemm.weights.emission import PAIRS, UPPER
from layoutalg.gemm.weights.float8 import FACTORS
from layoutalg.viz.colours import hue_of, shade
from layoutalg.viz.panels import DARK, INNER, PALE, Axis, Look, Panel, headed, table_panel
from layoutalg.viz.scene import CELL_HEIGHT

if TYPE_CHECKING:
    from layoutalg.gemm.weights.plan import WeightsGemm

__all__ = ["EXPANDED", "operands_frame", "packed_layout", "scales_frame", "unpacked", "words_frame"]

EXPANDED = {
    "f8E5M2": ("(w << 8) & 0xff00ff00", "w & 0xff00ff00"),
    "f8E4M3FN": tuple(
        f"y = ({word} >> 1) & 0x3f803f80 | {word} & 0x80008000; y | (y + 0x00800080) & 0x40004000"
        for word in ("(w << 8)", "w")
    ),
}
"""The operations on a word w that make two f16 of its four floats (`float8.expanded`), in the order of k."""
_WIDE = 58


def packed_layout(plan: WeightsGemm) -> Layout:
    """Where a subgroup has the weights of a step, k x n: the register and the lane of the word, and its first bit in it."""
    problem, unit = plan.problem, plan.dpas
    rows, pairs = problem.step * problem.bits // 32, 16 // problem.bits
    columns = plan.tiling.tile.n // unit.n
    text = f"d0 = {rows}@reg {pairs}@bit:{problem.bits} 2@bit:16, d1 = {columns}@reg:{rows} {unit.n}@lane"
    return Layout.parse(text).canonical()


def unpacked(plan: WeightsGemm) -> str:
    """What the words of a step become, in words: the form of the numbers, and the instructions."""
    problem = plan.problem
    if problem.floats:
        made = f"{problem.product.a}: {_factored(problem.b)}"
    else:
        pairs = (*PAIRS[problem.product.a, problem.bits], *(UPPER if problem.halves else ()))
        made = f"{problem.product.a}: " + ", ".join(dict.fromkeys(_made(pair.bias) for pair in pairs))
    return f"{plan.unpacking} instructions, {plan.unpacking // plan.words_per_step} for each word, make {made}"


def _factored(element: str) -> str:
    """The f16 of a float q of 8 bits."""
    return f"q / {FACTORS[element]}" if FACTORS[element] > 1 else "q"


def _made(bias: int) -> str:
    """What an operation makes of a q: of the upper half of a byte 16 times as much."""
    return "2048 + 16 (q // 16)" if bias == UPPER[0].bias else f"{bias} + q"


def _hue(pair: int) -> str:
    return shade(hue_of(pair), 0.4)


def _key(plan: WeightsGemm) -> list[tuple[str, str]]:
    """The hues of pairs."""
    count = 16 // plan.problem.bits
    return [(f"{'pair of k: ' * (not i)}{2 * i}, {2 * i + 1}", _hue(i)) for i in range(count)]


def words_frame(plan: WeightsGemm, number: int) -> Panel:
    """The words of a step in registers: each cell is the bits that hold one weight."""
    layout, bits = packed_layout(plan), plan.problem.bits
    k, n = map(int, layout.shape)
    each = 32 // bits
    axes = [layout.codomain.index(axis) for axis in ("reg", "lane", "bit")]
    high = plan.words_per_step // (n // plan.dpas.n)
    held = {
        tuple(owner[axis] for axis in axes): at
        for row, column in {*product((0, 1, high - 1), (0, 1, 15)), (high - 1, n - 1)}
        for at in ((row * each + one, column) for one in range(each))
        for owner in layout.owners(at)
    }
    places = sorted({(reg, lane) for reg, lane, _ in held})
    rows: list[list[Look | None]] = []
    named: list[str] = []
    for (reg, lane), (next_reg, next_lane) in pairwise([*places, places[-1]]):
        rows.append([])
        for bit in range(32 - bits, -1, -bits):
            row, column = held[reg, lane, bit]
            told = (
                f"W row {row}, column {column}: bits {bit}..{bit + bits - 1} of the word in register {reg}, lane {lane}"
            )
            rows[-1].append(Look(_hue(row % each // 2), f"{row},{column}", told))
        named.append(f"reg {reg}, lane {lane}")
        if (next_reg, next_lane) not in ((reg, lane), (reg, lane + 1), (reg + 1, 0)) or (lane < 15 and next_lane == 0):
            rows.append([None] * each)
            named.append("")
    part = "nibble" if bits == 4 else "byte"
    notes = [
        "row, column of W in a cell; a row of cells is a word of 32 bits, its highest bits first, as a number is written",
        f"a word has {each} neighbours along k of one column: pair i is {part} i of both halves, of 16 bits each",
        f"{k}x{n}: {layout}; in memory words are row-major, {plan.problem.words.rows}x{plan.problem.words.columns}",
    ]
    heads = [f"{bit}..{bit + bits - 1}" for bit in range(32 - bits, -1, -bits)]
    table = table_panel("", heads, named, rows, (_WIDE, CELL_HEIGHT), corner="bits")
    title = f"{number}. words: where each weight is"
    return headed(title, notes, _key(plan), table)


def operands_frame(plan: WeightsGemm, number: int) -> Panel:
    """How a word w becomes operands: an operation for each pair, and what both halves of its result are."""
    problem = plan.problem
    element, each = problem.product.a, 32 // problem.bits
    if problem.floats:
        steps = [(i, told, _factored(problem.b)) for i, told in enumerate(EXPANDED[problem.b])]
    else:
        pairs = PAIRS[element, problem.bits]
        steps = [(i, pair.told(element), f"{pair.bias} + q") for i, pair in enumerate(pairs)]
        if problem.halves:
            steps = [(i, told, made.replace("q", "q % 16")) for i, told, made in steps]
            steps += [(i, pair.told(element), _made(pair.bias)) for i, pair in enumerate(UPPER)]
    looks = [
        [
            Look(
                _hue(i),
                f"k {2 * i + half}: {made}",
                f"k {2 * i + half} of the word: bits {16 * half}..{16 * half + 15} of {told}: {made}",
            )
            for half in (1, 0)
        ]
        for i, told, made in steps
    ]
    wide = 6.8 * (5 + max(len(made) for _, _, made in steps)) + 20
    kind = "f16" if problem.floats else element
    names = [chr(97 + row) for row in range(len(steps))]
    table = table_panel("", ["upper half", "lower half"], names, looks, (wide, CELL_HEIGHT), corner=f"two {kind}")
    notes = [
        f"w: a word with {each} weights q; a row of cells: two {kind} of each lane, neighbours along k, as dpas takes them"
    ]
    notes += [f"{chr(97 + row)}: {told}" for row, (_, told, _) in enumerate(steps)]
    notes += _about(plan)
    return headed(f"{number}. operands: what is made of a word", notes, _key(plan), table)


def _about(plan: WeightsGemm) -> list[str]:
    """What the operations are about, and how it is undone."""
    problem = plan.problem
    if not problem.floats:
        taken = "and the middle " * (not problem.zeros) + "is taken away by products with A"
        halves = "; the halves of a byte are multiplied one after the other" * problem.halves
        return [f"q is put into the fraction of a power of two, without a conversion; what was added {taken}{halves}"]
    about = {
        "f8E5M2": "a byte is the upper half of its f16",
        "f8E4M3FN": f"exponent and fraction are put where f16 has them, which is {_factored('f8E4M3FN')}; NaN stays NaN",
    }[problem.b]
    return [about] + ["then each f16 becomes an f32, whose upper half is the bf16"] * (problem.product.a == "bf16")


def scales_frame(plan: WeightsGemm, number: int) -> Panel:
    """The scales in memory by groups of k and blocks of columns; those of the first step of subgroup 0 are marked."""
    problem, unit = plan.problem, plan.dpas
    groups, columns = problem.scales.rows, -(-problem.scales.columns // unit.n)
    mine = plan.tiling.tile.n // unit.n
    steps = problem.group // problem.step
    points = "scales and zero points" if problem.zeros else "scales"

    def look(g: int, j: int) -> Look:
        last = min((j + 1) * unit.n, problem.scales.columns) - 1
        first, end = g * problem.group, (g + 1) * problem.group - 1
        told = (
            f"{points}, row {g}, columns {j * unit.n}..{last}: of W rows {first}..{end}, columns {j * unit.n}..{last}"
        )
        return Look(DARK if g == 0 and j < mine else PALE, f"row {g}", told)

    across = Axis.within(columns, 74, INNER - 120)
    table = cut_table(Axis.of(groups, CELL_HEIGHT, 4, 1), across, look, (problem.group, unit.n), "k")
    each = f"{counted(steps, 'step')} of {problem.step}" if steps > 1 else "one step"
    notes = [
        f"a cell: row g of the {points} in memory, one f32 for each column, in lane column % {unit.n}",
        f"a group is {problem.group} neighbours along k, {each}; {counted(groups, 'group')}",
    ]
    key = [("those of the first step of subgroup 0", DARK), ("others", PALE)]
    return headed(f"{number}. {points}: one for each group and column", notes, key, table)
