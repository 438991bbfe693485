"""The operations of `gpu.txt` as classes."""

from __future__ import annotations

from layoutalg.ir.dialects.directives import EnumWord
from layoutalg.ir.dialects.gpu.attributes import (
    AllReduceOperationAttr,
    AsyncTokenType,
    BarrierScopeAttr,
    BroadcastTypeAttr,
    DimensionAttr,
    ShuffleModeAttr,
)
from layoutalg.ir.dialects.gpu.directives import (
    AsyncDependencies,
    Broadcast,
    Cluster,
    PrintedValues,
    ReductionKind,
    Scope,
    UpperBound,
)
from layoutalg.ir.operations.classes import define

__all__ = ["OPERATIONS"]

OPERATIONS = define(
    __name__,
    "gpu",
    attributes={
        "broadcast": BroadcastTypeAttr,
        "dimension": DimensionAttr,
        "reduction": AllReduceOperationAttr,
        "scope": BarrierScopeAttr,
        "shuffle": ShuffleModeAttr,
    },
    types={"async token type": AsyncTokenType()},
    directives=(
        AsyncDependencies,
        Broadcast,
        Cluster,
        EnumWord,
        PrintedValues,
        ReductionKind,
        Scope,
        UpperBound,
    ),
)
"""The classes, in the order of the table."""
