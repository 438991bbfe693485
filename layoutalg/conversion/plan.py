"""Conversion plans: from any layout of a tensor to any other, the cheapest way.

A 16x16 tile of f32 in 16 lanes, a row per register, is to become a column per register:

>>> rows, columns = Layout.parse("d0 = 16@reg, d1 = 16@lane"), Layout.parse("d0 = 16@lane, d1 = 16@reg")
>>> plan = convert(rows, columns, element_bits=32, target="pvc")
>>> plan.kind, plan.shuffles, plan.lower_bound, plan.slm_bytes
('shared memory', 0, 15, 1248)
>>> tile = np.arange(256, dtype=np.int32).reshape(16, 16)
>>> bool((plan.apply(tile.T[None]) == tile[None]).all())      # [sg, lane, reg]
True

Here every lane needs a word from each of 15 others, so 15 shuffles are the minimum. On pvc a way through shared memory has
fewer instructions. Inside registers and lanes, 32 shuffles that exchange a bit at a time take fewer than the 15. Without a
target, the fewest shuffles are taken:

>>> convert(rows, columns, target="pvc", level="subgroup").shuffles, convert(rows, columns).shuffles
(32, 15)

`conversion.candidates` knows the ways to convert, and takes the cheapest (`conversion.cost`). A plan (`conversion_plan`) is one
to three programs (`conversion.program`), executed one after another; `apply` executes them, `emit` writes them as MLIR. Where
extents are symbols, it is that of one block (`symbolic_plan`).
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutalg.conversion.conversion_plan import ConversionPlan
from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.ends import LANES_MISSING, ends_on_chip
from layoutalg.conversion.strategies.symbolic_blocks import has_symbols
from layoutalg.conversion.symbolic_plan import SymbolicPlan
from layoutalg.core.notation import Distributed, Machine
from layoutalg.hardware.chips import target_info

__all__ = ["ConversionPlan", "SymbolicPlan", "convert"]


def convert(
    source: Distributed | str,
    destination: Distributed | str,
    shape: Sequence[int] | None = None,
    *,
    machine: Machine | None = None,
    element_bits: int = 32,
    target: str | None = None,
    slm_limit: int | None = None,
    level: str = "workgroup",
    workgroups: int = 1,
    regions: bool = False,
    pressure: str = "all",
    portable: bool = False,
) -> ConversionPlan:
    """The plan from one layout of a tensor to another: each a `Layout`, a value of any notation, or its text.

    `shape` is needed where neither says the tensor's. What `machine` leaves open is what the two say themselves, the larger
    number of lanes and of subgroups: one that uses fewer holds copies in the others, and where both use fewer lanes than the
    subgroups of `target` have, so do both (a `Layout` says its lanes once and for all). Lanes that both leave open are dealt as
    `conversion.ends` says; where nobody says how many there are, whole subgroups are planned, and `cost` is refused.
    `slm_limit` is the shared memory that may be used, in bytes (the target's unless given; 0: none). `level` says how far
    elements may go: "subgroup" (registers and shuffles alone), "workgroup" (shared memory and barriers too), or "cluster":
    the subgroups are those of so many `workgroups`, which share their memories (see `conversion.levels`). Extents of registers
    that stay where they are may be symbols: then the plan is a `SymbolicPlan`.
    With `regions`, for Intel's targets, moves between regions of registers are weighed too: a transpose is a few strided moves.
    They are emitted as inline assembly, which `--gpu-lower-to-xevm-pipeline` alone does not take (docs/conversions.md).
    `pressure` says who else wants shared memory: "all" (every subgroup of a core converts at once) or "alone" (one converts
    while the others compute); the plan prints what it costs in both (see `conversion.cost`).
    On Intel's chips what goes through shared memory may take block messages, by names that only Intel's graphics compiler
    knows; a plan that is `portable` does without, and its text says what that costs.

    Raises `ConversionError` for layouts of different tensors or on different machines, for elements that are not 8, 16, 32 or
    64 bits, for `regions` on other chips, and for another `pressure`; `PlanError` for an unknown target; `SizeError` for a plan
    of more than 2^16 steps, and where what has to be in shared memory at a time is more than the limit.

    >>> from layoutalg.xegpu import LayoutAttr
    >>> plain, vnni = (LayoutAttr(lane_layout=(1, 16), lane_data=(n, 1)) for n in (1, 2))
    >>> convert(plain, vnni, (16, 16), element_bits=16).kind
    'identity'
    """
    cost = cost_of(target, pressure)
    lanes = 0 if target is None else target_info(cost.name).subgroup_size
    ends = ends_on_chip(source, destination, shape, machine, lanes, literally=True)
    symbols = has_symbols(ends.source) or has_symbols(ends.result)
    plan = (SymbolicPlan if symbols else ConversionPlan)(
        ends.source,
        ends.result,
        element_bits,
        cost.name,
        slm_limit,
        level,
        workgroups,
        regions,
        pressure,
        portable,
        "" if ends.lanes is not None or symbols else LANES_MISSING,
    )
    _ = plan.chosen  # worked out once, and kept: what can't be planned is an error here
    return plan
