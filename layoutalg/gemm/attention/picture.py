"""The picture of an attention plan: a step of one subgroup as a flow, S = Q K^T, softmax, O += P V, with the layouts on it.

The flow has boxes, and on the arrows between them what brings an operand and the layout in which it arrives; a number is that
of a frame, which shows the step block by block. Each product has its left operand left, the right one above, the result in the
corner. A cell is what one matrix instruction takes of an operand; its label says the registers that each lane has of it. Each
block of keys has a hue, in K and S, and in P and V, so that the colours show what is multiplied with what:

>>> from layoutalg.gemm.attention import plan_attention
>>> picture = plan_attention(64, 64, 32).picture()
>>> [panel.title for panel in (*picture.panels(), *picture.frames())]  # doctest: +NORMALIZE_WHITESPACE
['one step of a subgroup: what moves where',
'1. S = Q K^T: scores', '2. softmax: P of S, in registers', '3. O += P V: sums of values']
>>> next(cell.sentence for cell in picture.scene().cells if cell.sentence.startswith("S: "))
'S: rows 0..7, columns 0..15: registers 0 to 7 of each lane'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from layoutalg.core.notation import Operand, PictureOptions
from layoutalg.core.plurals import counted
from layoutalg.core.units import bytes_text, seconds_text
from layoutalg.gemm.picture import parts_and_title
from layoutalg.gemm.step_picture import LAYOUTS, REGISTERS, Blocks, cut_table, spans
from layoutalg.viz.colours import HUES, hue_of, shade
from layoutalg.viz.panel_picture import PanelPicture
from layoutalg.viz.panels import (
    INNER,
    PALE,
    Axis,
    Headings,
    Look,
    Panel,
    arrow_down,
    headed,
    product_panel,
    stacked,
    told_panel,
)
from layoutalg.viz.scene import CELL_HEIGHT
from layoutalg.viz.stages import Arrow, Stage, flow_panel

if TYPE_CHECKING:
    from layoutalg.gemm.attention.held import DrawnStep

__all__ = ["AttentionPicture", "attention_picture"]

_WIDE = 62


@dataclass(frozen=True, slots=True, repr=False)
class AttentionPicture(PanelPicture):
    """The picture of a plan; its `parts` are Q, K, S, P, V and O of one subgroup in a step.

    `notes` says of an operand what brings it, of P how it is made; `instructions` are those of a step, by what they are for.
    """

    notes: Mapping[str, str] = field(kw_only=True)
    instructions: Mapping[str, int] = field(kw_only=True)
    told: Sequence[tuple[str, str]] = field(kw_only=True)

    def panels(self) -> Sequence[Panel]:
        """The flow of a step."""
        return (self._flow(),)

    def frames(self) -> Sequence[Panel]:
        """The two products, and the softmax between them."""
        return (
            self._product("1. S = Q K^T: scores", "QKS", turned=True),
            self._softmax(),
            self._product("3. O += P V: sums of values", "PVO", turned=False),
        )

    def facts(self) -> Sequence[tuple[str, str]]:
        """What is computed, who computes how much, and what a step costs."""
        count = ", ".join(f"{name} {count}" for name, count in self.instructions.items() if count)
        step = f"each subgroup {sum(self.instructions.values())} instructions (predicted): {count}"
        return [*self.told[:-2], ("a step costs", step), *self.told[-2:]]

    def keys(self, without: str = "") -> Sequence[tuple[str, str]]:
        """The hues of keys, and the operand that has none."""
        keys = next(part for part in self.parts if isinstance(part, Operand) and str(part.name)[0] == "K")
        size = int(keys.tile[0]) if keys.tile else 1
        count = int(keys.layout.shape[0]) // size
        some = [
            (f"{'keys ' * (not i)}{i * size}..{i * size + size - 1}", _hue(i)) for i in range(min(count, len(HUES)))
        ]
        return [*some, *[(f"{without}: no keys", PALE)] * bool(without)]

    @property
    def _by_name(self) -> dict[str, Operand]:
        return {str(part.name)[0]: part for part in self.parts if isinstance(part, Operand)}

    def _flow(self) -> Panel:
        """Q and K to S, S to P, P and V to O: what brings each, and the layout in which it arrives."""
        parts = self._by_name

        def memory(name: str) -> Stage:
            return Stage(f"{name} in memory", (f"{parts[name].name}".partition(", ")[2],))

        def arrives(name: str) -> tuple[str, ...]:
            return *filter(None, [self.notes.get(name)]), str(parts[name].layout)

        (down, deep), (_, across) = (Blocks(parts[name]).counts for name in "QS")
        each = down * deep * across
        names = [name for name in ("maximum", "weights", "rescaling") if name in self.instructions]
        softmax = [f"{name}: {counted(self.instructions[name], 'instruction')}" for name in names]
        softmax.append(f"sums of rows: {self.instructions['dpas'] - 2 * each} dpas")
        rows = [
            [memory("Q"), memory("K")],
            [Stage("S = Q K^T", (f"{each} dpas",))],
            [Stage("softmax: P", tuple(softmax)), memory("V")],
            [Stage("O += P V", (f"{each} dpas",))],
            [Stage("O in registers", ("on to the next keys; after the last, divided by the sums and stored",))],
        ]
        arrows = [
            Arrow((0, 0), arrives("Q"), 1),
            Arrow((0, 1), arrives("K"), 1),
            Arrow((1, 0), (f"S: {parts['S'].layout}",), 2),
            Arrow((2, 0), (f"P: {parts['P'].layout}",), 3),
            Arrow((2, 1), arrives("V"), 3),
            Arrow((3, 0), (f"O: {parts['O'].layout}",)),
        ]
        return flow_panel("one step of a subgroup: what moves where", rows, arrows, (4, 0), LAYOUTS)

    def _softmax(self) -> Panel:
        """The blocks of S and those of P that are made of them."""
        scores, weights = (Blocks(self._by_name[name]) for name in "SP")

        def table(of: Blocks) -> Panel:
            axes = Axis.of(of.counts[0], CELL_HEIGHT), Axis.within(of.counts[1], _WIDE, INNER - 90)
            return cut_table(*axes, lambda i, j: of.look((i, j), _hue(j)), of.size, "queries")

        both = [told_panel("", ["S, in registers"]), table(scores), arrow_down(self.notes["P"].split("; "))]
        drawn = stacked([*both, told_panel("", ["P, in registers"]), table(weights)], 4)
        return headed("2. softmax: P of S, in registers", [REGISTERS], self.keys(), drawn)

    def _product(self, title: str, operands: str, *, turned: bool) -> Panel:
        """A product of the instruction's blocks; `turned` where the right operand lies columns by depth."""
        parts = [self._by_name[name] for name in operands]
        left, right, result = (Blocks(one) for one in parts)
        (down, deep), across = left.counts, result.counts[1]

        def of_right(s: int, j: int) -> Look:
            return right.look((j, s), _hue(j)) if turned else right.look((s, j), _hue(s))

        looks = {
            "A": left.looks(lambda _, s: PALE if turned else _hue(s)),
            "B": {(s, j): of_right(s, j) for s, j in product(range(deep), range(across))},
            "C": result.looks(lambda _, j: _hue(j) if turned else PALE),
        }
        notes = [REGISTERS, *(f"{part.name}: {part.layout}" for part in parts)]
        within, names = ("d", ("queries", "d", "keys")) if turned else ("keys", ("queries", "keys", "d"))
        headings = Headings(
            spans(left.size[0]), lambda s: f"{within} {spans(left.size[1])(s)}", spans(result.size[1]), names
        )
        axes = Axis.of(down, CELL_HEIGHT), Axis.of(deep, _WIDE, 2, 1), Axis.within(across, _WIDE, 4 * _WIDE)
        shown = left.name, right.name + "^T" * turned, result.name
        return product_panel(
            title, notes, *axes, looks, headings, shown, self.keys(left.name if turned else result.name)
        )


def attention_picture(plan: DrawnStep, shape: Sequence[int] | None, options: PictureOptions) -> AttentionPicture:
    """The picture of a plan for long runs of queries, or for decode."""
    parts, title = parts_and_title(plan, shape, options, plan.heading())
    step, loads, layouts, instructions = (getattr(plan, name) for name in ("step", "loads", "layouts", "instructions"))
    notes = {
        name: f"{counted(count, 'load')} {loads[name].name}" for name, count in step.loads.items() if name in loads
    }
    notes["P"] = "m: the largest score of each row; P = exp(scale (S - m)), rounded; the sums of its rows; "
    notes["P"] += "S and P have one layout: nothing moves between lanes" * (layouts["S"] == layouts["P"])
    return AttentionPicture(parts, title, notes=notes, instructions=instructions, told=_facts(plan))


def _facts(plan: DrawnStep) -> list[tuple[str, str]]:
    """What is computed, who computes how much, and the predicted time."""
    problem, step, times, instructions = (getattr(plan, name) for name in ("problem", "step", "times", "instructions"))
    usual = abs(problem.scale * problem.d**0.5 - 1) < 1e-6
    scores = f"Q K^T / sqrt({problem.d})" if usual else f"{problem.scale:.6g} Q K^T"
    each = problem.heads // problem.kv_heads
    heads = f"{problem.heads} of Q, {problem.kv_heads} of K and V: {each} of Q share one"
    return [
        ("computes", f"O = softmax({scores}) V for each head; O is {problem.out}"),
        *[("heads", heads)] * (each > 1),
        ("who computes O", plan.shares()),
        ("a step", f"{step.keys} keys, {bytes_text(step.bytes)} into registers of a subgroup; O stays there"),
        ("predicted time", f"{seconds_text(times.seconds)} for all of O"),
        ("what limits it", times.limited((step.dpas, sum(instructions.values())))),
    ]


def _hue(number: int) -> str:
    return shade(hue_of(number), 0.4)
