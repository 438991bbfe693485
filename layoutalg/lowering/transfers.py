"""How a block moves between memory and registers: by messages, by messages and an exchange, or element by element.

`hardware.messages` knows which messages move a layout. A subgroup has four tiles of 8x16 of a 32x64 tensor over 2x2 subgroups:

>>> layout = Layout.parse("d0 = 2@sg:2 2@reg:16 8@reg, d1 = 2@sg 2@reg:8 16@lane")
>>> found = transfers(layout, 32, "load", "pvc")[0]
>>> found.message.name, found.origins
('read_32b_16r16x1c', ((0, 0), (0, 16)))

Where no message moves a layout, messages may move another one in which every subgroup has the same elements; an exchange
follows. What costs less is done, that or an access for every element:

>>> turned = Layout.parse("d0 = 16@lane, d1 = 16@reg")
>>> cheapest(turned, 64, "load", "pvc").delivery is None, cheapest(turned, 32, "store", "pvc").layout == turned
(True, False)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from layoutalg.conversion import convert
from layoutalg.conversion.cost import cost_of
from layoutalg.core.errors import LayoutError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.flow.relations import settled
from layoutalg.flow.relations.blocks import WRITER, slots_of
from layoutalg.hardware import TargetInfo, target_info
from layoutalg.hardware.messages import Delivery, Way, messages_for, messages_of

__all__ = ["Transfer", "cheapest", "deliverable", "factors_above", "transfers", "writer_of"]

_PLACE = 6
"""What the address (64 bits, two slots a sum) and the bounds of one element cost, in issue slots."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """How a block is moved: by messages in `layout`, or (without) element by element."""

    layout: Layout
    delivery: Delivery | None


def writer_of(llvm: int) -> str:
    """Which of the chip's messages are written for a version of LLVM."""
    return WRITER if rules(llvm).large_blocks else f"{WRITER}22"


def transfers(layout: Layout, bits: int, way: Way, target: str, llvm: int = DEFAULT_LLVM) -> tuple[Delivery, ...]:
    """The messages that move a block in this layout, those to be written first; none where none does."""
    return messages_for(layout, bits, way, target, writer_of(llvm))


def cheapest(layout: Layout, bits: int, way: Way, target: str, llvm: int = DEFAULT_LLVM) -> Transfer:
    """How a block is moved that no message moves: in another layout with an exchange, or element by element."""
    return _cheapest(layout, bits, way, target_info(target), writer_of(llvm))


@lru_cache(maxsize=1 << 10)
def _cheapest(layout: Layout, bits: int, way: Way, chip: TargetInfo, writer: str) -> Transfer:
    cost, registers = cost_of(chip.name), int(layout.axes.get("reg", 1))
    words = -(-registers * bits // 32)
    best, price = Transfer(layout, None), registers * (cost.message + _PLACE) + words * cost.word
    for other in deliverable(layout, bits, way, chip, writer):
        found = messages_for(other, bits, way, chip, writer)
        if not found:
            continue
        try:
            ends = (other, layout) if way != "store" else (layout, other)
            plan = convert(*ends, element_bits=bits, target=chip.name, portable=True)
        except LayoutError:
            continue
        whole = slots_of(found[0], chip) + plan.cost
        if whole < price:
            best, price = Transfer(other, found[0]), whole
    return best


def deliverable(layout: Layout, bits: int, way: Way, chip: TargetInfo, writer: str = WRITER) -> Iterator[Layout]:
    """Layouts that messages move, in which every subgroup has the elements that it has in this one.

    >>> print(next(deliverable(Layout.parse("d0 = 2@sg 16@lane, d1 = 16@reg"), 32, "load", target_info("pvc"))))
    d0 = 2@sg 16@reg, d1 = 16@lane
    """
    if len(layout.dims) != 2:
        return
    for message in messages_of(chip, bits, way, writer):
        if message.kind not in ("plain", "store"):
            continue
        outside: list[list[Factor]] = []
        for factors, size in zip(layout.dims, message.shape, strict=True):
            own = [factor if factor.axis == "sg" else Factor(factor.extent, 0, None) for factor in factors]
            above = factors_above(own, size)
            if above is None:
                break
            outside.append(above)
        if len(outside) == 2:
            copies = [factor for factor in layout.replicas if factor.axis == "sg"]
            yield settled(Layout(outside, copies)) * message.layout


def factors_above(factors: Sequence[Factor], inner: int) -> list[Factor] | None:
    """The factors above a tile of `inner` elements; None where one goes across its border, or subgroups are inside it.

    >>> factors_above([Factor(2, 1, "sg"), Factor(16, 1, "reg")], 8)
    [Factor(extent=2, stride=1, axis='sg'), Factor(extent=2, stride=8, axis='reg')]
    """
    found: list[Factor] = []
    left = inner
    for factor in reversed(factors):
        extent, stride = int(factor.extent), int(factor.stride)
        if left == 1:
            found.insert(0, factor)
        elif factor.axis == "sg" and extent != 1:
            return None
        elif left % extent == 0:
            left //= extent
        elif extent % left == 0:
            found.insert(0, Factor(extent // left, stride * left, factor.axis))
            left = 1
        else:
            return None
    return found if left == 1 else None
