"""A planned conversion in the text of a kernel: from the pieces of a fragment to the pieces of another.

>>> from layoutalg.conversion import convert
>>> from layoutalg.core.layout import Layout
>>> from layoutalg.core.notation import Machine
>>> from layoutalg.propagation.lowering.kernels import KernelText
>>> kernel = KernelText("k", Machine(lanes=2, subgroups=1), subgroups=1)
>>> plan = convert(Layout.parse("d0 = 2@reg, d1 = 2@lane"), Layout.parse("d0 = 2@lane, d1 = 2@reg"))
>>> [made] = exchange(kernel, plan, [Value("f32", 2)], (2,))
>>> made.kind
'vector<2xf32>'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from layoutalg.conversion import ConversionPlan
from layoutalg.conversion.lowering.operations import cast, write_chain
from layoutalg.conversion.lowering.writer import Value

if TYPE_CHECKING:
    from layoutalg.propagation.lowering.kernels import KernelText

__all__ = ["exchange"]


def exchange(kernel: KernelText, plan: ConversionPlan, pieces: Sequence[Value], sizes: Sequence[int]) -> list[Value]:
    """Write a plan: the pieces of its source, the next registers each, become pieces of its destination of these sizes.

    >>> from layoutalg.conversion import convert
    >>> from layoutalg.core.layout import Layout
    >>> from layoutalg.core.notation import Machine
    >>> from layoutalg.propagation.lowering.kernels import KernelText
    >>> kernel = KernelText("k", Machine(lanes=2, subgroups=1), subgroups=1)
    >>> layout = Layout.parse("d0 = 2@reg, d1 = 2@lane")
    >>> [made.kind for made in exchange(kernel, convert(layout, layout), [Value("f32", 2)], (1, 1))]
    ['f32', 'f32']
    """
    element = pieces[0].element
    words = f"i{plan.element_bits}"
    source = [cast(kernel.indices, piece, words) for piece in pieces]
    count = max(program.slm_words for program in plan.programs)
    shared = kernel.buffer(f"memref<{count}xi32, 3 : i64>", "slm") if count else None
    if shared is not None:
        kernel.writer.do("gpu.barrier")
    made = write_chain(plan.programs, shared, kernel.indices, source, sizes)
    return [cast(kernel.indices, piece, element) for piece in made]
