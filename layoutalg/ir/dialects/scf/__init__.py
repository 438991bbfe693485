"""Structured control flow with LLVM's syntax: branches, loops, loops without an order.

>>> from layoutalg.ir import read_module, write_module
>>> text = "%c = arith.constant true scf.if %c { }"
>>> print(write_module(read_module(text)).splitlines()[2].strip())
scf.if %c {
"""

from __future__ import annotations

from xdsl.ir import Dialect

from layoutalg.ir.dialects.scf.branches import (
    ExecuteRegionOp,
    IfOp,
    IndexSwitchOp,
)
from layoutalg.ir.dialects.scf.loops import (
    ForOp,
    WhileOp,
)
from layoutalg.ir.dialects.scf.operations import OPERATIONS, ConditionOp, ReduceReturnOp, YieldOp
from layoutalg.ir.dialects.scf.parallel import (
    ForallOp,
    InParallelOp,
    ParallelOp,
    ReduceOp,
)

__all__ = [
    "SCF",
    "ConditionOp",
    "ExecuteRegionOp",
    "ForOp",
    "ForallOp",
    "IfOp",
    "InParallelOp",
    "IndexSwitchOp",
    "ParallelOp",
    "ReduceOp",
    "ReduceReturnOp",
    "WhileOp",
    "YieldOp",
]

SCF = Dialect(
    "scf",
    [*OPERATIONS, ExecuteRegionOp, ForOp, ForallOp, IfOp, InParallelOp, IndexSwitchOp, ParallelOp, ReduceOp, WhileOp],
)
"""The dialect."""
