"""Copies told apart: which copy of an element a place of the destination reads, where both sides hold copies.

An element that several lanes hold may be read from any of them. If each copy of the destination has one of the source for
itself, the number of the copy is a digit like those of the tensor: what is left renames bits, and every way to do that is one
here. Two halves of eight lanes hold the same 4x8 words, and each half turns the 2x2 blocks that its own lanes hold:

>>> from layoutalg.memory.machine_bits import view
>>> copies = " | replicas 2@lane:8"
>>> both = [view(Layout.parse(f"d0 = {rows}{copies}")) for rows in ("2@reg 2@reg:2 8@lane", "2@lane 2@reg:2 4@lane:2 2@reg")]
>>> for one in told_apart(*both):
...     print(one.places)
(('lane', 0), ('lane', 1), ('lane', 2), ('reg', 1), ('reg', 0), ('lane', 3))
(('reg', 0), ('lane', 1), ('lane', 2), ('reg', 1), ('lane', 0), ('lane', 3))

A copy stays where it is, if both sides have one there; others are paired in their order. A copy in another subgroup is paired
only where it stays, so no data crosses for it. If one side has more copies, the rest remain copies, and the nearest is read.

The law: a program for the two layouts that are found is one for those that were given. Each place of the destination gets one
element, of one holder, that it may have.
"""

from __future__ import annotations

from layoutalg.memory.machine_bits import Place, View

__all__ = ["told_apart"]


def told_apart(source: View, destination: View) -> tuple[View, View] | None:
    """The two layouts, where digits say which copy it is; None where no copy of one side is one of the other's.

    >>> from layoutalg.memory.machine_bits import view
    >>> told_apart(*[view(Layout.parse(text)) for text in ("d0 = 4@lane", "d0 = 4@reg | replicas 4@lane")])
    """
    free = [_copies(side) for side in (source, destination)]
    same = [place for place in free[0] if place in free[1]]
    moved = [[place for place in side if place not in same and place[0] != "sg"] for side in free]
    pairs = [*zip(same, same, strict=True), *zip(*moved, strict=False)]
    if not pairs:
        return None
    before, after = zip(*pairs, strict=True)
    return View(source.places + before, source.widths), View(destination.places + after, destination.widths)


def _copies(layout: View) -> list[Place]:
    """The bits of subgroups, lanes and registers that no bit of an element is."""
    held = set(layout.places)
    return [(axis, bit) for axis, width in layout.widths.items() for bit in range(width) if (axis, bit) not in held]
