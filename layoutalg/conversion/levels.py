"""How far a conversion may reach: lanes of one subgroup, subgroups of one workgroup, or workgroups of one cluster.

A plan at level "subgroup" uses registers and shuffles alone, so that one subgroup can execute it by itself. An element that
has to go to another subgroup is an error that names its dimension and factor:

>>> la.convert("d0 = 2@sg 2@reg", "d0 = 2@reg 2@sg", level="subgroup")
Traceback (most recent call last):
layoutalg.core.errors.ConversionError: d0 // 2: 2@sg becomes 2@reg, so elements go to other subgroups, and level 'subgroup'
has neither shared memory nor barriers; use level 'workgroup'

"workgroup" may use the shared memory and the barriers of a workgroup. At level "cluster" the subgroups of `sg` are those of
several workgroups, one after another: subgroup s is in workgroup `s // (subgroups / workgroups)`. That is what Triton calls
`block` in a LinearLayout (its number stands above `warp`), what the gpu dialect counts as `gpu.cluster_block_id`, and what CUDA
calls a thread block cluster: 2 to 16 workgroups that reach each other's shared memory (distributed shared memory, sm_90 and
up; 8 workgroups at most unless the kernel asks for more), and wait for each other with a barrier of the cluster.
"""

from __future__ import annotations

from math import prod

from layoutalg.conversion.strategies.common_factors import common_factors
from layoutalg.core.errors import ConversionError
from layoutalg.core.layout import Layout
from layoutalg.core.limits import MOST_CLUSTER
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import one_of
from layoutalg.hardware.chips import target_info

__all__ = ["LEVELS", "changes", "check_level", "crossing"]

LEVELS = ("subgroup", "workgroup", "cluster")
"""The levels, the narrowest first."""


def check_level(level: object, workgroups: object, subgroups: int, target: str) -> None:
    """Refuse a level that does not exist, or that the number of workgroups or the chip does not have.

    >>> check_level("cluster", 3, 4, "sm_90")
    Traceback (most recent call last):
    layoutalg.core.errors.ConversionError: workgroups=3 do not divide 4 subgroups: expected as many in each workgroup
    """
    one_of(level, LEVELS, "level", ConversionError)
    if type(workgroups) is not int or not 1 <= workgroups <= MOST_CLUSTER:
        raise ConversionError(f"workgroups={shown(workgroups)}: expected a whole number from 1 to {MOST_CLUSTER}")
    if level != "cluster" and workgroups > 1:
        raise ConversionError(f"workgroups={workgroups} at level {level!r}: several workgroups are level 'cluster'")
    if subgroups % workgroups:
        raise ConversionError(
            f"workgroups={workgroups} do not divide {subgroups} subgroups: expected as many in each workgroup"
        )
    if level == "cluster" and target_info(target).cluster < 2:
        raise ConversionError(
            f"level 'cluster' on {target}: its workgroups do not reach each other's shared memory; expected sm_90 or generic"
        )


def changes(source: Layout, destination: Layout) -> list[tuple[str, str, str]]:
    """What moves, factor by factor: the part of the coordinate, and what it is before and after; those that stay left out.

    >>> changes(Layout.parse("d0 = 2@sg 3@reg"), Layout.parse("d0 = 2@reg:3 3@reg"))
    [('d0 // 3', '2@sg', '2@reg:3')]
    """
    found: list[tuple[str, str, str]] = []
    pairs = zip(source.canonical().dims, destination.canonical().dims, strict=True)
    if source.flips is not None or destination.flips is not None:
        for name, (before, after) in zip(source.names, pairs, strict=True):
            if before != after:
                old, new = (" ".join(map(str, side)) or "1" for side in (before, after))
                found.append((name, old, new))
        return found
    for name, size, (before, after) in zip(source.names, source.shape, pairs, strict=True):
        factors = common_factors(before, after)
        if prod(factor.extent for factor in factors) < size:
            found.append((name, " ".join(map(str, before)), " ".join(map(str, after))))
            continue
        for weight, extent, old, new in reversed(factors):
            if old != new:
                above = f" // {weight}" if weight > 1 else ""
                below = f" % {extent}" if weight * extent < size else ""
                found.append((f"{name}{above}{below}", str(old), str(new)))
    return found


def crossing(source: Layout, destination: Layout) -> str | None:
    """What takes elements to other subgroups, in words: the first factor of subgroups that is another one after it."""
    for what, before, after in changes(source, destination):
        if "@sg" in before:
            return f"{what}: {before} becomes {after}"
    return None
