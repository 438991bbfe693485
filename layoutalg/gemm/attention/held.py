"""Who holds what in a step of attention: Q, K, S, P, V and O of one subgroup, for long runs of queries and for decode.

Both products are DPAS. S is what the first leaves in registers, P is what the second takes, and both have one layout: so
nothing moves between them. By hand, for 8 rows, 16 keys and heads of 16 on pvc: S is one result of DPAS, row r in register r,
key j in lane j.

>>> from layoutalg.hardware import dpas
>>> held = layouts_of(dpas("f16", "f16", "f32"), rows=1, keys=1, depth=1)
>>> print(held["S"], "=", held["P"])
d0 = 8@reg, d1 = 16@lane = d0 = 8@reg, d1 = 16@lane
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from layoutalg.core import Layout
from layoutalg.core.notation import Distributed, Operand, PictureOptions, one_operand
from layoutalg.core.plurals import counted
from layoutalg.hardware import Dpas

if TYPE_CHECKING:
    from layoutalg.gemm.attention.picture import AttentionPicture

__all__ = ["DrawnStep", "drawn_operands", "layouts_of"]


class DrawnStep(Distributed):
    """A plan whose operands are those of a step of attention; in words it is one line.

    >>> la.plan_attention(64, 64, 64)
    <Attention: O[64, 64] f32 = softmax(0.125 Q[64, 64] K[64, 64]^T) V[64, 64] f16 on pvc; 1 workgroup for each head:
    4 subgroups with 16 queries and all of their keys>
    """

    problem: Any

    def __str__(self) -> str:
        return f"{self.problem}; {self.shares()}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def shares(self) -> str:
        """Who computes how much of O, in words.

        >>> la.plan_attention(64, 64, 64).shares()
        '1 workgroup for each head: 4 subgroups with 16 queries and all of their keys'
        """
        grid, subgroups, rows = (getattr(self, name) for name in ("grid", "subgroups", "rows"))
        who = f"{counted(grid[0], 'workgroup')} for each head: {counted(subgroups, 'subgroup')}"
        return f"{who} with {rows} queries and all of their keys"

    def picture(self, shape: Sequence[int] | None = None, **options: Unpack[PictureOptions]) -> AttentionPicture:
        """A step of one subgroup as a flow: S = Q K^T, softmax, O += P V, with the layouts and the registers of each block.

        It has one size and one colouring: other arguments than `title` are those of pictures in general and say nothing here.

        >>> la.plan_attention(64, 64, 64).picture(title="attention").title
        'attention'
        """
        from layoutalg.gemm.attention.picture import attention_picture

        return attention_picture(self, shape, options)


def layouts_of(unit: Dpas, *, rows: int, keys: int, depth: int) -> dict[str, Layout]:
    """The layouts of a subgroup's tiles, of so many blocks of rows, of 16 keys, and of 16 of d; K and V lie keys by d."""
    return {
        "Q": unit.a.tile((rows, depth)),
        "K": unit.b.permute((1, 0)).tile((keys, depth)),
        "S": unit.c.tile((rows, keys)),
        "P": unit.a.tile((rows, keys)),
        "V": unit.b.tile((keys, depth)),
        "O": unit.c.tile((rows, depth)),
    }


def drawn_operands(unit: Dpas, layouts: Mapping[str, Layout], element: str) -> tuple[Operand, ...]:
    """The layouts with their names, shapes and types, and the matrix instruction's tiles, to draw; `element` is Q's."""
    tiles = {"K": (unit.n, unit.k), "V": (unit.k, unit.n)}
    found: list[Operand] = []
    for name, layout in layouts.items():
        by = "x".join(map(str, layout.shape))
        kind = "f32" if name in "SO" else element
        found += one_operand(f"{name}, {by}x{kind}", layout, tiles.get(name, (unit.m, unit.n)))
    return tuple(found)
