"""What a subgroup holds of an operand in a step: blocks, one for each matrix instruction, spread over lanes and registers.

>>> from layoutalg.gemm import plan_gemm
>>> of_a = plan_gemm(64, 64, 64).fragments[0]
>>> of_a.block, str(of_a.layout), of_a.vector
((8, 16), 'd0 = 8@reg, d1 = 16@lane', 'vector<8xf16>')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutalg.core import Layout
from layoutalg.core.notation import Distributed, Machine, Operand, one_operand, own_sizes

__all__ = ["Fragment"]


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
