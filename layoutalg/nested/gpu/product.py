"""What MMA kinds, data-tiled kinds and schedules have in common: sizes and types of their product, and layouts on a machine.

>>> la.mma("MFMA_F32_16x16x16_F16").product()
Product(sizes=(16, 16, 16), types=('f16', 'f16', 'f32'), subgroup_size=64, subgroups=1, blocks=0, note=None)

A report needs no more than this and the `operands`. Where no layout is published, `operands` raises and `note` says so:

>>> la.mma("NV_WMMA_F32_16x16x16_F16").product().note
'opaque: no layout of its fragments is published'
"""

from __future__ import annotations

from typing import NamedTuple

from layoutalg.core.errors import DistributionError
from layoutalg.core.layout import Layout
from layoutalg.core.notation import Machine, as_machine
from layoutalg.core.work_items import cover

__all__ = ["OPAQUE", "Product", "cover_all", "machine_for"]

OPAQUE = "opaque: no layout of its fragments is published"
"""The note of an intrinsic whose fragments nobody describes."""


class Product(NamedTuple):
    """A matrix product: m, n, k in elements, the element types of A, B and C, and who executes it.

    `blocks` products are computed side by side (0: one, and no such dimension); `note` is a remark in words.

    >>> la.mma("MFMA_F32_4x4x4x16B_F16").product().text()
    '16 blocks of 4x4x4, f16 x f16 + f32'
    """

    sizes: tuple[int, int, int]
    types: tuple[str, str, str]
    subgroup_size: int
    subgroups: int = 1
    blocks: int = 0
    note: str | None = None

    def text(self) -> str:
        """Sizes and types in one line.

        >>> Product((16, 16, 32), ("bf16", "bf16", "f32"), 64).text()
        '16x16x32, bf16 x bf16 + f32'
        """
        a, b, c = self.types
        blocks = f"{self.blocks} blocks of " if self.blocks else ""
        return f"{blocks}{'x'.join(map(str, self.sizes))}, {a} x {b} + {c}"


def machine_for(machine: Machine | None, lanes: int, who: object) -> Machine:
    """The machine that an instruction of so many lanes runs on.

    Raises `DistributionError` for a machine whose subgroups have another number of lanes.

    >>> machine_for(Machine(lanes=16), 32, "WMMA")
    Traceback (most recent call last):
    layoutalg.core.errors.DistributionError: a machine of 16 lanes: WMMA is executed by 32 lanes together
    """
    on = as_machine(machine)
    if on.lanes not in (None, lanes):
        raise DistributionError(f"a machine of {on.lanes} lanes: {who} is executed by {lanes} lanes together")
    return on | Machine(lanes=lanes)


def cover_all(layouts: tuple[Layout, ...], machine: Machine, who: object) -> tuple[Layout, ...]:
    """Layouts on a whole machine: subgroups that they do not use hold copies.

    >>> [str(one) for one in cover_all((Layout.parse("d0 = 32@lane"),), Machine(lanes=32, subgroups=2), "WMMA")]
    ['d0 = 32@lane | replicas 2@sg']
    """
    return tuple(cover(layout, machine, who) for layout in layouts)
