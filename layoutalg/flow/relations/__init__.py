"""What every operation says about the layouts of its operands and results: `docs/relations.md` has the table.

>>> from layoutalg.core.layout import Layout
>>> from layoutalg.ir import read_module
>>> text = '%a = "test.op"() : () -> vector<8x16xf32> %b = vector.transpose %a, [1, 0] : vector<8x16xf32> to vector<16x8xf32>'
>>> [tie] = relation_of(read_module(text).body.block.last_op).ties
>>> print(tie.relation, "|", needed(tie.relation, Layout.parse("d0 = 16@lane, d1 = 8@reg")))
d0 = 16@d1, d1 = 8@d0 | d0 = 8@reg, d1 = 16@lane
"""

from __future__ import annotations

from layoutalg.core.carrying import covering, given, needed, part_of, settled, without
from layoutalg.flow.relations.reductions import Reduction, reduction
from layoutalg.flow.relations.relation import (
    Choice,
    Demand,
    Makes,
    Reach,
    Relation,
    Tie,
    identity,
    related,
    related_operations,
    relates,
    relation_of,
    same_shape,
    shape_of,
)

__all__ = [
    "Choice",
    "Demand",
    "Makes",
    "Reach",
    "Reduction",
    "Relation",
    "Tie",
    "covering",
    "given",
    "identity",
    "needed",
    "part_of",
    "reduction",
    "related",
    "related_operations",
    "relates",
    "relation_of",
    "same_shape",
    "settled",
    "shape_of",
    "without",
]
