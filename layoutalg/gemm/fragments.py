"""What a subgroup holds of an operand in a step: blocks, one for each matrix instruction, spread over lanes and registers.

>>> from layoutalg.gemm import plan_gemm
>>> of_a = plan_gemm(64, 64, 64).fragments[0]
>>> of_a.block, str(of_a.layout), of_a.vector
((8, 16), 'd0 = 8@reg, d1 = 16@lane', 'vector<8xf16>')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layoutalg.core import Layout
from layoutalg.core.notation import Distributed, Machine, Operand, one_operand, own_sizes, product_operands

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm

__all__ = ["Fragment", "fragments_of", "operands_of"]


@dataclass(frozen=True)
class Fragment(Distributed):
    """One operand in registers: the block that one DPAS takes, how many of them a step has, and who holds which element.

    `layout` maps the block (rows, columns) to lane and register; `vector` is the type of one lane's share.

    >>> from layoutalg.gemm import plan_gemm
    >>> plan_gemm(64, 64, 64).fragments[1].vector
    'vector<16xf16>'
    """

    name: str
    block: tuple[int, int]
    count: int
    element: str
    layout: Layout
    vector: str

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """One block, to draw.

        >>> from layoutalg.gemm import plan_gemm
        >>> plan_gemm(64, 64, 64).fragments[2].operands()[0].name
        'C, 8x16xf32'
        """
        name = f"{self.name}, {'x'.join(map(str, self.block))}x{self.element}"
        own_sizes(name, self.layout.shape, shape)
        return one_operand(name, self.layout, self.block)

    def turned(self, name: str) -> Fragment:
        """The same registers as a fragment of the transposed matrix.

        >>> from layoutalg.gemm import plan_gemm
        >>> str(plan_gemm(64, 64, 64).fragments[2].turned("C").layout)
        'd0 = 16@lane, d1 = 8@reg'
        """
        return replace(self, name=name, block=self.block[::-1], layout=self.layout.permute((1, 0)))


def fragments_of(gemm: Gemm) -> tuple[Fragment, Fragment, Fragment]:
    """What a subgroup of a plan holds of A, B and C in a step.

    Where A and B change roles, they are those of the loop, as parts of A, B and C: A is what DPAS takes as B, transposed.

    >>> from layoutalg.gemm import plan_gemm
    >>> plan = plan_gemm(64, 64, 64, trans_a=True, trans_b=True, tile=(32, 32), k_step=32, transpose="roles")
    >>> [(one.name, one.block, one.count) for one in plan.fragments]
    [('A', (16, 16), 4), ('B', (16, 8), 8), ('C', (16, 8), 8)]
    """
    if gemm.exchanged:
        of_b, of_a, of_c = fragments_of(gemm.loop)
        return of_a.turned("A"), of_b.turned("B"), of_c.turned("C")
    unit, (rows, columns), lanes = gemm.dpas, gemm.blocks, gemm.dpas.subgroup_size
    deep = gemm.tile.k // unit.k

    def fragment(name: str, block: tuple[int, int], count: int, element: str, layout: Layout) -> Fragment:
        return Fragment(name, block, count, element, layout, f"vector<{block[0] * block[1] // lanes}x{element}>")

    return (
        fragment("A", (unit.m, unit.k), rows * deep, gemm.element_of("A"), unit.a),
        fragment(
            "B", (unit.k, unit.n), columns * deep * (2 if gemm.problem.gated else 1), gemm.element_of("B"), unit.b
        ),
        fragment("C", (unit.m, unit.n), rows * columns, gemm.accumulator, unit.c),
    )


def operands_of(gemm: Gemm, shape: Sequence[int] | None = None) -> tuple[Operand, ...]:
    """A, B and C of a subgroup in a step, as layouts to draw; registers count through the blocks, row by row.

    Raises `DistributionError` for a shape: a plan has its own sizes.

    >>> from layoutalg.gemm import plan_gemm
    >>> [part.layout.shape for part in operands_of(plan_gemm(64, 64, 64, tile=(16, 32), k_step=32))]
    [(16, 32), (32, 32), (16, 32)]
    """
    sizes = (gemm.tile.m, gemm.tile.n, gemm.tile.k)
    own_sizes(str(gemm.problem), sizes, shape)
    (rows, columns), deep, fragments = gemm.blocks, gemm.tile.k // gemm.dpas.k, gemm.fragments
    counts = ((rows, deep), (deep, columns), (rows, columns))
    layouts = [one.layout.tile(count) for one, count in zip(fragments, counts, strict=True)]
    return product_operands(layouts, [one.element for one in fragments], sizes, (*fragments[2].block, gemm.dpas.k))
