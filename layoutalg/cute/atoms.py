"""CUTLASS's atoms by name, in CuTe's layouts: what `MMA_Traits` and `Copy_Traits` say of an instruction.

>>> mma = atom("SM80_16x8x16_F32F16F16F32_TN")
>>> print(mma["CLayout"]); print(mma["ThrID"]); mma.shape_mnk
((4,8),(2,2)):((32,1),(16,8))
32:1
(16, 8, 16)

A value is a thread's value, and the index the element's place in the tile, column by column; B's tile is n x k. The layouts
come from the formulas of `layoutalg.instructions`, and give every thread and value the index that CUTLASS's own give; modes may
be nested in another way, and modes of extent 1 are left out. The instruction itself, with the layouts of its operands in
memory, is `mma.instruction`.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import LayoutError
from layoutalg.core.layout import Layout
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import instance_of
from layoutalg.cute.cute_layout import CuteLayout, to_cute
from layoutalg.cute.reading import parse_cute
from layoutalg.instructions.instruction import Instruction
from layoutalg.instructions.registry import instruction

__all__ = ["Atom", "atom"]


@dataclass(frozen=True, slots=True)
class Atom:
    """The traits of one instruction: layouts by CUTLASS's names.

    >>> atom("SM75_U32x4_LDSM_N").names
    ('ThrID', 'SrcLayout', 'DstLayout', 'RefLayout')
    """

    instruction: Instruction

    def _repr_html_(self) -> str | None:
        return self.instruction._repr_html_()  # pyright: ignore[reportPrivateUsage]

    @property
    def shape_mnk(self) -> tuple[int, ...]:
        """m, n, k of a product; () of a copy.

        >>> atom("SM75_U32x4_LDSM_N").shape_mnk
        ()
        """
        return self.instruction.shape

    def __getitem__(self, name: str) -> CuteLayout:
        """The layout that the traits call so.

        Raises `LayoutError` for a name that they do not have.

        >>> print(atom("SM90_64x8x16_F32F16F16_SS")["ALayout"])
        ((32,4),(64,16)):((0,0),(1,64))
        """
        instance_of(name, str, "name of a layout")
        if name == "ThrID":
            return parse_cute(self.instruction.thread_id or f"{self.instruction.threads}:1")
        found = self.instruction.traits().get(name)
        if found is None:
            raise LayoutError(f"{self.instruction} has no {shown(name)}: it has {', '.join(self.names)}")
        if isinstance(found, Layout):
            return to_cute(found)
        return to_cute(self.instruction[name].layout) if "smem_ptr" in found else parse_cute(found)

    @property
    def names(self) -> tuple[str, ...]:
        """What the traits have.

        >>> atom("SM61_DP4A").names
        ('ThrID', 'ALayout', 'BLayout', 'CLayout')
        """
        return ("ThrID", *self.instruction.traits())

    def __str__(self) -> str:
        return "\n".join([str(self.instruction), *(f"{name:10}{self[name]}" for name in self.names)])


def atom(name: str) -> Atom:
    """The atom of a name: CUTLASS's (with or without `cute::`), or any other that `layoutalg.instruction` takes.

    Raises `LayoutError` for a name that is not known, with the nearest.

    >>> print(atom("cute::SM75_U16x8_LDSM_T"))
    SM75_U16x8_LDSM_T
    ThrID     32:1
    SrcLayout (32,128):(128,1)
    DstLayout ((4,8),(16,2,4)):((256,16),(1,128,1024))
    RefLayout ((4,8),(16,2,4)):((256,16),(1,128,1024))
    """
    return Atom(instruction(name))
