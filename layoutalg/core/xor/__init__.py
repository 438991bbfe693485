"""XOR in the algebra: factors whose bit flips places, so that swizzles and Triton's linear layouts are layouts too.

A **place** is an axis and a weight: `lane:4`. An XOR factor has two values and names the places that it flips:

    d0 = 2@(lane:4^reg) 2@lane:4, d1 = 4@lane        lane bit 2 is (bit 1 of d0) ^ (bit 0 of d0), register is bit 1 of d0

What several bits flip is the XOR of them; then the place counts its weight. Plain factors add, as in any layout:

    L(x)[a] = offset[a] + sum over plain digits + sum over places (a, w) of w * (XOR of the bits that flip it, and of `flip`)

>>> swizzled = Layout.parse("d0 = 2@(lane:4^reg) 2@lane:4, d1 = 4@lane")
>>> swizzled.owner_map("lane").tolist()
[[0, 1, 2, 3], [4, 5, 6, 7], [4, 5, 6, 7], [0, 1, 2, 3]]
>>> print(swizzled.inverse())
sg = 1, lane = 2@(d0) 4@d1, reg = 2@(d0^d0:2)

A place is XORed when an XOR factor or the clause `flip` names it; a plain factor is split there, and its bit joins the XOR.
The rest of the axis may count in any radix, in digits that do not overlap. `Relation.flips` is None for a layout without
XOR, and that is all that such a layout pays.
"""

__all__: list[str] = []
