"""The stages of compilers: which passes take a kernel down to subgroups, to lanes, and to plain memory accesses.

>>> [stage.name for stage in stages(22, "workgroup")]
['subgroup', 'lane', 'memory']

The passes are those of each version's `--gpu-lower-to-xevm-pipeline`, in its order. A stage begins where the kernel does, not
where the stage before it ended: what is printed and read again is not what a compiler sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from layoutalg.side.conformance.kernel import Level

__all__ = ["Stage", "StageName", "stages"]

_BEFORE = "cse,xevm-attach-target{chip=pvc},lower-affine"
_SUBGROUPS = {22: "xegpu-wg-to-sg-distribute,cse"}
_LATER_SUBGROUPS = "xegpu-propagate-layout{layout-kind=subgroup},xegpu-wg-to-sg-distribute,cse,lower-affine,cse"
_LANES = {
    22: "xegpu-propagate-layout{layout-kind=inst},xegpu-blocking,canonicalize,cse,xegpu-propagate-layout{layout-kind=lane},"
    "xegpu-subgroup-distribute,canonicalize,cse,loop-invariant-code-motion,cse,xegpu-vector-linearize"
}
_LATER_LANES = (
    "xegpu-propagate-layout{layout-kind=inst},xegpu-blocking,cse,xegpu-propagate-layout{layout-kind=lane},"
    "xegpu-optimize-peephole,cse,xegpu-propagate-layout{layout-kind=lane},xegpu-sg-to-lane-distribute,canonicalize,cse,"
    "loop-invariant-code-motion,cse,xegpu-vector-linearize,canonicalize,cse"
)
_ALONE = {
    22: "xegpu-propagate-layout{layout-kind=lane},xegpu-subgroup-distribute,canonicalize,cse",
}
_LATER_ALONE = "xegpu-propagate-layout{layout-kind=lane},xegpu-sg-to-lane-distribute,canonicalize,cse"
"""Lanes without blocking before: tiles are instructions already."""
_MEMORY = "convert-xegpu-to-xevm,canonicalize,cse"


StageName = Literal["subgroup", "alone", "lane", "memory"]
"""`alone` is distribution without propagation before it, to subgroups, or of a subgroup's tensors to lanes without the passes
that cut them into instructions. Only what is wrong or crashes there counts."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: what it is called, its pipeline, and the level at which its result runs in the simulator."""

    name: StageName
    pipeline: str
    level: Literal["subgroup", "lane"]


def stages(llvm: int, level: Level) -> tuple[Stage, ...]:
    """The stages of a version of LLVM for kernels of a level, in order."""
    inside = [_SUBGROUPS.get(llvm, _LATER_SUBGROUPS)] if level != "plain" else []
    first = _stage("subgroup", inside) if inside else _stage("alone", [_ALONE.get(llvm, _LATER_ALONE)])
    found = [first]
    if level == "workgroup" and llvm not in _SUBGROUPS:
        found.insert(0, _stage("alone", ["xegpu-wg-to-sg-distribute,cse"], "subgroup"))
    inside.append(_LANES.get(llvm, _LATER_LANES))
    found.append(_stage("lane", inside))
    inside.append(_MEMORY)
    found.append(_stage("memory", inside))
    return tuple(found)


def _stage(name: StageName, passes: list[str], level: Literal["subgroup", "lane"] | None = None) -> Stage:
    pipeline = f"builtin.module({_BEFORE},gpu.module({','.join(passes)}))"
    return Stage(name, pipeline, level or ("subgroup" if name == "subgroup" else "lane"))
