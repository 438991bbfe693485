"""What a step costs, per target: issue slots of one subgroup, as data.

Costs rank candidates; they are no times. A select is one instruction. A shuffle is three: Intel's graphics compiler makes of
`gpu.shuffle` two instructions for the address and one indirect move (read from its listing, pvc); on AMD and NVIDIA GPUs it
is one permute (`ds_bpermute_b32`, `shfl.sync`) that goes through the same unit as shared memory, and is priced as two. A
message to shared memory has a fixed price and one per 4 bytes and lane that are served a bank's width at a time; lanes that
wait for one bank take that many turns; a barrier stalls its subgroup for about as long as a round trip. All but what was read
from the listing is estimated.

>>> cost_of("pvc").shuffle, cost_of(None).name
(3, 'generic')
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from layoutalg.conversion.banks import program_ways
from layoutalg.conversion.program import Barrier, Load, Program, Rotate, Select, Shuffle, Store
from layoutalg.core.errors import PlanError

__all__ = ["Cost", "cost_of"]


@dataclass(frozen=True, slots=True)
class Cost:
    """The prices of one target, in issue slots of a subgroup; `slm_bytes` is its shared memory per workgroup.

    >>> Cost("mine", 1, 1, 1, 8, 1, 32, 65536).name
    'mine'
    """

    name: str
    shuffle: int
    select: int
    move: int
    message: int
    word: int
    """Per word and lane of a message that is free of conflicts, over 16 lanes."""
    barrier: int
    slm_bytes: int

    def of(self, program: Program) -> int:
        """What a program costs.

        >>> from layoutalg.conversion.program import Shuffle
        >>> cost_of("pvc").of(Program(1, 2, 32, 1, 1, pack=(0,), steps=(Shuffle(1, 0, (1, 0)),), unpack=(1,)))
        3
        """
        counts = Counter(map(type, program.steps))
        found = (
            (program.moves + counts[Rotate]) * self.move + counts[Shuffle] * self.shuffle + counts[Select] * self.select
        )
        found += counts[Barrier] * self.barrier
        if program.slm_words:
            served = max(program.lanes // 16, 1)
            accesses = [step for step in program.steps if isinstance(step, (Store, Load))]
            for step, ways in zip(accesses, program_ways(program), strict=True):
                words = step.words if isinstance(step, Store) else step.to
                found += self.message + len(words) * served * self.word * ways
        return found


_TARGETS = {
    "generic": Cost("generic", 2, 1, 1, 8, 1, 32, 65536),
    # Intel: 128 KiB of shared local memory per Xe core on pvc and bmg, 64 KiB per workgroup on the Arc chips of dg2.
    "pvc": Cost("pvc", 3, 1, 1, 8, 1, 32, 131072),
    "bmg": Cost("bmg", 3, 1, 1, 8, 1, 32, 131072),
    "dg2": Cost("dg2", 3, 1, 1, 8, 1, 32, 65536),
    # AMD: 64 KiB of LDS per workgroup.
    "gfx90a": Cost("gfx90a", 2, 1, 1, 8, 1, 32, 65536),
    "gfx942": Cost("gfx942", 2, 1, 1, 8, 1, 32, 65536),
    "gfx1100": Cost("gfx1100", 2, 1, 1, 8, 1, 32, 65536),
    # NVIDIA: 48 KiB that need no opting in.
    "sm_80": Cost("sm_80", 2, 1, 1, 8, 1, 32, 49152),
    "sm_90": Cost("sm_90", 2, 1, 1, 8, 1, 32, 49152),
}


def cost_of(target: str | None) -> Cost:
    """The prices of a target; None for a GPU in general.

    Raises `PlanError` for a target that is not known, naming those that are.

    >>> cost_of("i486")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: target 'i486': expected one of bmg, dg2, generic, gfx1100, gfx90a, gfx942, pvc, sm_80,
    sm_90
    """
    name = "generic" if target is None else target
    if not isinstance(name, str) or name not in _TARGETS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PlanError(f"target {name!r:.60}: expected one of {', '.join(sorted(_TARGETS))}")
    return _TARGETS[name]


def target_names() -> tuple[str, ...]:
    """The names of the targets that are known.

    >>> target_names()[0]
    'generic'
    """
    return tuple(_TARGETS)
