"""The picture of an attention plan: a step of one subgroup as a flow, S = Q K^T, softmax, O += P V, with the layouts on it.

Each product has its left operand left, the right one above, the result in the corner. A cell is what one matrix instruction
takes of an operand; its label says the registers that each lane has of it. Each block of keys has a hue, in K and S, and in P
and V, so that the colours show what is multiplied with what:

>>> from layoutalg.gemm.attention import plan_attention
>>> picture = plan_attention(64, 64, 32).picture()
>>> [words.text for words in picture.scene().words if words.bold][-3:]
['S = Q K^T', 'softmax', 'O += P V']
>>> next(cell.sentence for cell in picture.scene().cells if cell.sentence.startswith("S"))
'S: rows 0..7, columns 0..15: registers 0 to 7 of each lane'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from layoutalg.core.notation import Operand, PictureOptions
from layoutalg.core.plurals import counted
from layoutalg.gemm.picture import parts_and_title
from layoutalg.viz.colours import HUES, hue_of, shade
from layoutalg.viz.panels import PALE, Axis, Look, Panel, PanelPicture, arrow_down, product_panel, stacked, told_panel
from layoutalg.viz.scene import CELL_HEIGHT

if TYPE_CHECKING:
    from layoutalg.gemm.attention.held import DrawnStep

__all__ = ["AttentionPicture", "attention_picture"]

_WIDE = 58


@dataclass(frozen=True, slots=True, repr=False)
class AttentionPicture(PanelPicture):
    """The picture of a plan; its `parts` are Q, K, S, P, V and O of one subgroup in a step.

    `notes` says of an operand what brings it, `softmax` what happens between the products.
    """

    notes: Mapping[str, str] = field(kw_only=True)
    softmax: tuple[str, ...] = field(kw_only=True)

    def panels(self) -> Sequence[Panel]:
        """The two products, and the softmax between them."""
        parts = {str(part.name)[0]: part for part in self.parts if isinstance(part, Operand)}
        softmax = stacked([told_panel("softmax", []), arrow_down(self.softmax)], 2)
        return (
            self._product("S = Q K^T", [parts[name] for name in "QKS"], turned=True),
            softmax,
            self._product("O += P V", [parts[name] for name in "PVO"], turned=False),
        )

    def widest(self) -> float:
        """One below the other."""
        return 0.0

    def subtitle(self) -> str:
        """What a cell is."""
        return "a cell: the block of one matrix instruction, and the registers of it that each lane has"

    def key(self) -> Sequence[tuple[str, str]]:
        """The hues of keys."""
        keys = next(part for part in self.parts if isinstance(part, Operand) and str(part.name)[0] == "K")
        size = int(keys.tile[0]) if keys.tile else 1
        count = int(keys.layout.shape[0]) // size
        some = [
            (f"{'keys ' * (not i)}{i * size}..{i * size + size - 1}", _hue(i)) for i in range(min(count, len(HUES)))
        ]
        return [*some, ("no keys", PALE)]

    def _product(self, title: str, parts: Sequence[Operand], *, turned: bool) -> Panel:
        """A product of the instruction's blocks; `turned` where the right operand lies columns by depth."""
        left, right, result = parts
        grids = [_Blocks(one) for one in parts]
        down, deep = grids[0].counts
        across = grids[2].counts[1]
        looks = {
            "A": {at: grids[0].look(at, None if turned else at[1]) for at in product(range(down), range(deep))},
            "B": {
                at: grids[1].look((at[1], at[0]) if turned else at, at[1] if turned else at[0])
                for at in product(range(deep), range(across))
            },
            "C": {at: grids[2].look(at, at[1] if turned else None) for at in product(range(down), range(across))},
        }
        notes = [f"{part.name}: {part.layout}{self.notes.get(str(part.name)[0], '')}" for part in parts]
        names = (str(left.name)[0], str(right.name)[0] + "^T" * turned, str(result.name)[0])
        axes = Axis.of(down, CELL_HEIGHT), Axis.of(deep, _WIDE, 2, 1), Axis.of(across, _WIDE, 3, 1)
        return product_panel(title, notes, *axes, looks, names)


class _Blocks:
    """An operand in the blocks of the matrix instruction."""

    def __init__(self, part: Operand) -> None:
        self.name = str(part.name)[0]
        self.size = [int(n) for n in part.tile or part.layout.shape]
        self.registers = part.layout.owner_map("reg")
        self.counts = [int(n) // size for n, size in zip(part.layout.shape, self.size, strict=True)]

    def look(self, at: tuple[int, int], keys: int | None) -> Look:
        """The cell of a block; `keys` is the number of its block of keys."""
        rows, columns = (slice(n * size, (n + 1) * size) for n, size in zip(at, self.size, strict=True))
        held = self.registers[rows, columns]
        low, high = int(held.min()), int(held.max())
        told = f"{self.name}: rows {rows.start}..{rows.stop - 1}, columns {columns.start}..{columns.stop - 1}"
        fill = PALE if keys is None else _hue(keys)
        return Look(fill, f"{low}-{high}", f"{told}: registers {low} to {high} of each lane")


def attention_picture(plan: DrawnStep, shape: Sequence[int] | None, options: PictureOptions) -> AttentionPicture:
    """The picture of a plan for long runs of queries, or for decode."""
    parts, title = parts_and_title(plan, shape, options, plan.heading())
    step, loads, layouts, instructions = (getattr(plan, name) for name in ("step", "loads", "layouts", "instructions"))
    notes = {
        name: f"; {counted(count, 'message')} {loads[name].name}" for name, count in step.loads.items() if name in loads
    }
    told = ["the largest score of each row, the weights P = exp(scale (S - m)), and their sums"]
    told += [
        f"{name}: {counted(instructions[name], 'instruction')}"
        for name in ("maximum", "weights")
        if name in instructions
    ]
    same = layouts["S"] == layouts["P"]
    told.append(
        f"S and P have one layout, {layouts['P']}: nothing moves between lanes" if same else f"P: {layouts['P']}"
    )
    return AttentionPicture(parts, title, notes=notes, softmax=tuple(told))


def _hue(number: int) -> str:
    return shade(hue_of(number), 0.4)
