"""What every operation says about the layouts of its operands and results."""

from __future__ import annotations

from layoutalg.propagation.relations.carrying import given, needed, settled, without
from layoutalg.propagation.relations.relation import (
    Choice,
    Demand,
    Makes,
    Reach,
    Relation,
    Tie,
    identity,
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
    "Relation",
    "Tie",
    "given",
    "identity",
    "needed",
    "relates",
    "relation_of",
    "same_shape",
    "settled",
    "shape_of",
    "without",
]
