"""How long a tiling takes on a chip, and what limits it: bytes per level, clocks per level, waves of workgroups.

By hand, for 4096x4096x4096 in f16 on B580 with subgroups of 32x64, 8x4 of them in a workgroup, K 64 and 256 registers:

    DPAS of a step             4*4*4 = 64, 16 clocks each; an engine takes turns between 4 subgroups: 4096 clocks a step
    registers <- L1            32 subgroups * (32 + 64) * 64 * 2 bytes = 393216 a step; 256 bytes a clock: 1536 clocks
    L1 <- L3                   (256 + 256) * 64 * 2 bytes = 65536 a step; 64 bytes a clock and core: 1024 clocks
    workgroups                 16 * 16 = 256 on 20 cores: 13 waves, the last one not full

>>> from layoutalg.gemm.tiling import Tile
>>> tiling = Tiling(Tile(32, 64, 64), (8, 4), 256, "shared")
>>> line = roofline(Problem.of(4096, 4096, 4096, target="bmg"), tiling, instructions=92)
>>> line.step_clocks["matrix"], line.step_clocks["L1"], line.step_clocks["L3"]
(4096.0, 1536.0, 1024.0)
>>> line.workgroups, line.waves, line.limit
(256, 13, 'issue')

The rules, and what they leave out:

- An engine issues one instruction a clock, and a DPAS keeps it busy for its clocks; nothing of a subgroup's other instructions
  hides behind another subgroup's DPAS. That is pessimistic, and ranks loops by their instructions.
- L1 holds what the subgroups of a workgroup share: L3 gives each line once to a workgroup. Where two steps (the one computed
  and those on their way) are more than L1, it gives each line to every subgroup.
- Subgroups of a core wait together, because they began together and read the same lines: a step whose data nobody prefetched
  costs the latency of memory, one prefetched into L3 (`lines`) that of L3. `shared` hides what its distance covers.
- A wave begins with an empty L1 and ends with C on its way to L3. Whatever the prefetch, its first step waits for memory, and
  for the bytes of the steps that are asked for with it. So a prefetch saves nothing where there is one step.
- Memory gives every matrix once while A and B fit into L3 together. Beyond that, every wave reads the rows and columns that it
  spans, except for the part of A and B that L3 has room for (as if it replaced lines at random).
- While the cores wait for a step's data, memory gives nothing.
- Where k is in parts, the sums are written to memory and read from L3. A second kernel costs the time between two kernels of a
  queue (2 microseconds, assumed), a latency of memory and its bytes from L3. The last subgroup of a tile waits for its sums to
  be in L3, for its atomic addition there, and for the parts: a latency of L3 each, and one for every time that its registers
  are full (`split_k.loaded_at_once`). All parts of the workgroup's tile come through its own core.

- With stream-K every workgroup has one run. Each tile of it begins with an empty L1. Tiles that are whole are stored, the sums
  of others go to the workspace. A run counts itself at two tiles, and adds the parts of one, as the last subgroup of a tile
  does, but of fewer blocks at once (`stream_k.added_at_once`).

The clock is the product's highest; chips slow down under load. On B580 the fastest published kernels reach 82 % of the peak.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

import numpy as np

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import instance_of
from layoutalg.gemm.options import PREFETCHES, REDUCTIONS, TRANSPOSES
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.product import mlir_type
from layoutalg.gemm.ranking import Numbers, Predicted
from layoutalg.gemm.roles import in_loop
from layoutalg.gemm.split_k import loaded_at_once, pitch_of_parts
from layoutalg.gemm.stream_k import Runs, added_at_once
from layoutalg.gemm.tiling import Tile, Tiling
from layoutalg.hardware import XeChip, xe_chip

__all__ = [
    "CAVEAT",
    "LIMITS",
    "MEMORY_LATENCIES",
    "SECOND_LAUNCH",
    "Forms",
    "Roofline",
    "Times",
    "reduction_clocks",
    "roofline",
    "times",
]

LIMITS = ("matrix", "issue", "L1", "L3", "memory")
"""What can limit a kernel: the matrix engines, the instructions, bytes from L1, from L3, from memory."""
CAVEAT = "computed from published and assumed numbers; nothing ran on the chip; published kernels reach 70 to 82 % of the peak"
_SUM_BYTES = 4
"""Bytes of a sum in the workspace of work split over k."""
SECOND_LAUNCH = 2e-6
"""Seconds between the end of a kernel and the start of the next one in its queue (assumed: nothing was measured)."""
_COUNTED = 2
"""Latencies of L3 until a subgroup knows whether it is the last: of the fence behind its stores, and of the atomic addition.
Both go to L3, where atomic operations are done, as IGC's code for it shows (`fence.ugm.none.gpu`, `atomic_iadd.ugm`); that each
takes as long as a load is assumed."""
MEMORY_LATENCIES = 2
"""Memory is about twice as far away as L3 (assumed)."""


@dataclass(frozen=True)
class Forms:
    """Tilings as columns of numbers: one entry per tiling, so that thousands cost as much as one."""

    m: Numbers
    n: Numbers
    k: Numbers
    rows: Numbers
    columns: Numbers
    registers: Numbers
    prefetch: Numbers
    distance: Numbers
    instructions: Numbers
    parts: Numbers
    transpose: Numbers
    reduction: Numbers
    stream: Numbers

    @classmethod
    def of(cls, tilings: list[tuple[Tiling, float]]) -> Forms:
        """Tilings with the instructions of a step of each."""
        rows = [
            (
                *(t.tile.m, t.tile.n, t.tile.k),
                *t.subgroups,
                t.registers,
                PREFETCHES.index(t.prefetch),
                t.distance,
                count,
                t.split_k,
                TRANSPOSES.index(t.transpose),
                REDUCTIONS.index(t.reduction),
                t.stream_k,
            )
            for t, count in tilings
        ]
        return cls(*np.array(rows, dtype=np.float64).reshape(-1, len(fields(cls))).T)

    def tiling(self, row: int) -> Tiling:
        """One of the tilings."""
        columns = (
            self.m,
            self.n,
            self.k,
            self.rows,
            self.columns,
            self.registers,
            self.prefetch,
            self.distance,
            self.parts,
            self.transpose,
            self.reduction,
            self.stream,
        )
        m, n, k, rows, across, registers, prefetch, distance, parts, turned, added, runs = (
            int(column[row]) for column in columns
        )
        form, transpose, reduction = PREFETCHES[prefetch], TRANSPOSES[turned], REDUCTIONS[added]
        return Tiling(Tile(m, n, k), (rows, across), registers, form, distance, parts, transpose, reduction, runs)

    @property
    def count(self) -> Numbers:
        """Subgroups of a workgroup."""
        return self.rows * self.columns

    @property
    def workgroup_m(self) -> Numbers:
        """Rows of C that a workgroup computes."""
        return self.m * self.rows

    @property
    def workgroup_n(self) -> Numbers:
        """Columns of C that a workgroup computes."""
        return self.n * self.columns


@dataclass(frozen=True)
class Times:
    """The times of `Forms`, in clocks unless said otherwise: of one step of a full wave per limit, and of the whole problem.

    `limits` has the clocks that each limit alone would take for the whole problem, `parts` what all its clocks are made of
    (they add up to `clocks`).
    """

    steps: Mapping[str, Numbers]
    limits: Mapping[str, Numbers]
    parts: Mapping[str, Numbers]
    clocks: Numbers
    workgroups: Numbers
    resident: Numbers
    waves: Numbers
    l1_bytes: Numbers
    l3_bytes: Numbers
    memory_bytes: Numbers

    @property
    def inside(self) -> Numbers:
        """The clocks that would remain if memory gave everything at once."""
        return self.clocks - self.parts["memory"]


@dataclass(frozen=True)
class Roofline(Predicted):
    """What a tiling moves and how long it takes on the chip of its problem.

    Bytes are those of the whole problem: into registers (`l1_bytes`), into the L1 of all cores (`l3_bytes`), from and to memory
    (`memory_bytes`). `step_clocks` says what each limit takes of a step where the core is full, `limit_seconds` of the whole
    problem; `seconds` is the whole time, and `part_seconds` what it is made of: the peak's time, products outside of C or
    beyond k, idle engines, other instructions than DPAS, bytes that the caches don't give in time, waiting for data, the
    beginnings and ends of waves, and what memory adds to all that.

    >>> from layoutalg.gemm.tiling import Tile
    >>> problem = Problem.of(4096, 4096, 4096, target="bmg")
    >>> line = roofline(problem, Tiling(Tile(32, 64, 64), (8, 4), 256, "shared"), 92)
    >>> round(line.seconds * 1e3, 2), round(line.part_of_peak, 2)
    (1.26, 0.94)
    """

    chip: XeChip
    flops: int
    peak: float
    workgroups: int
    resident: int
    waves: int
    l1_bytes: int
    l3_bytes: int
    memory_bytes: int
    step_clocks: Mapping[str, float]
    limit_seconds: Mapping[str, float]
    part_seconds: Mapping[str, float]
    seconds: float
    ridge: float


def times(problem: Problem, forms: Forms, chip: XeChip | None = None) -> Times:
    """The times of many tilings of a problem, by the rules of this module.

    `instructions` of the forms are those that a subgroup issues in a step of the loop, DPAS included.

    >>> from layoutalg.gemm.tiling import Tile
    >>> forms = Forms.of([(Tiling(Tile(32, 64, 64), (8, 4), 256, kind), 92) for kind in ("none", "lines", "shared")])
    >>> times(Problem.of(4096, 4096, 4096, target="bmg"), forms).steps["waiting"].tolist()
    [800.0, 400.0, 0.0]
    """
    chip = xe_chip(problem.target) if chip is None else chip
    unit = problem.dpas
    of_a, of_b, of_c = (element_bits(mlir_type(name)) / 8 for name in (problem.a, problem.b, problem.c))
    of_c /= 2 if problem.halves else 1
    groups = max(1, min(problem.groups, problem.m))
    dpas_clocks = chip.dpas_clocks(problem.a, 2 * unit.m * unit.n * unit.k)
    l3_core = chip.l3_clock_bytes / chip.cores

    high, wide = forms.workgroup_m, forms.workgroup_n
    grid_m, grid_n = np.ceil(problem.m / high), np.ceil(problem.n / wide)
    grid_m = grid_m + np.ceil((groups - 1) / 2)  # a group ends in a block that is half full, as sizes are
    tiles, all_steps = grid_m * grid_n * problem.batch, np.ceil(problem.k / forms.k)
    stream = forms.stream > 0
    run = Runs.of(tiles, all_steps, np.maximum(1.0, forms.stream))
    workgroups = np.where(stream, forms.stream, tiles * forms.parts)
    steps = np.where(stream, run.steps, np.ceil(all_steps / forms.parts))
    split = forms.parts > 1
    room = chip.engines * chip.engine_threads * 128 / forms.registers
    resident = np.maximum(1.0, np.floor(room / forms.count))

    dpas = (forms.m / unit.m) * (forms.n / unit.n) * (forms.k / unit.k)
    step_l1 = forms.count * forms.k * (forms.m * of_a + forms.n * of_b)
    shared = forms.k * (high * of_a + wide * of_b)
    held = np.where(forms.prefetch > 0, 1 + forms.distance, 1.0)
    step_l3 = np.where(resident * shared * held <= chip.l1_bytes, shared, step_l1)
    tile_c = high * wide * np.where(split, _SUM_BYTES, of_c * (2 if problem.beta else 1))

    def wave(count: Numbers) -> dict[str, Numbers]:
        """The clocks of a step by limit, of its wait, and of the ends, where a core has so many workgroups."""
        turns = np.ceil(count * forms.count / chip.engines)
        matrix = turns * dpas * dpas_clocks
        issue = matrix + turns * (forms.instructions - dpas)
        l1, l3 = count * step_l1 / chip.l1_clock_bytes, count * step_l3 / l3_core
        busy = np.maximum(issue, np.maximum(l1, l3))
        far = np.where(forms.prefetch == PREFETCHES.index("lines"), 1, MEMORY_LATENCIES) * chip.l3_latency
        # `shared`: between asking for a step and computing it are `distance` steps, each with its wait.
        hidden = forms.prefetch == PREFETCHES.index("shared")
        wait = np.where(hidden, np.maximum(0.0, far / forms.distance - busy), far)
        first = MEMORY_LATENCIES * chip.l3_latency + count * shared * np.maximum(1, held - 1) / l3_core
        return {
            "matrix": matrix,
            "issue": issue,
            "L1": l1,
            "L3": l3,
            "instructions": issue - matrix,
            "caches": busy - issue,
            "waiting": wait,
            "first": first,
            "stores": count * tile_c / l3_core,
        }

    slots = chip.cores * resident
    full, rest = np.floor(workgroups / slots), workgroups % slots
    last = np.ceil(rest / chip.cores)
    whole, remaining = wave(resident), wave(np.maximum(1.0, last))
    some = np.where(rest > 0, 1.0, 0.0)

    def summed(name: str) -> Numbers:
        return full * whole[name] + some * remaining[name]

    once = problem.batch * (problem.m * problem.k * of_a + groups * problem.k * problem.n * of_b)
    result = problem.batch * problem.m * problem.n * of_c * (2 if problem.beta else 1)
    across = np.minimum(grid_n, slots)
    down = np.minimum(grid_m, np.ceil(slots / grid_n))
    abreast = np.minimum(forms.parts, np.maximum(1.0, slots / (grid_m * grid_n)))  # parts of k in one wave
    spans = np.where(stream, tiles / np.minimum(slots, workgroups), (full + some) * abreast / forms.parts)
    spanned = spans * problem.k * (down * high * of_a + across * wide * of_b)
    lost = max(0.0, 1 - chip.l3_bytes / once)
    sums = np.where(split, forms.parts * problem.batch * problem.m * pitch_of_parts(problem.n) * _SUM_BYTES, 0.0)
    sums = np.where(stream, (run.shared + forms.stream - 1) * high * wide * _SUM_BYTES, sums)
    memory_bytes = result + once + lost * np.maximum(0.0, spanned - once) + sums
    memory = memory_bytes / chip.memory_clock_bytes

    peak = problem.flops / (chip.cores * chip.rate(problem.a)) + 0 * forms.m
    padded = tiles * forms.parts * high * wide * np.ceil(all_steps / forms.parts) * forms.k
    padded = padded / (problem.m * problem.n * problem.k * problem.batch)
    parts = {
        "peak": peak,
        "outside": peak * (padded - 1),
        "idle": steps * summed("matrix") - peak * padded,
        **{name: steps * summed(name) for name in ("instructions", "caches")},
        # no prefetch asks for the first step of a tile: its wait is one of the ends
        "waiting": np.maximum(0.0, steps - np.where(stream, run.begun, 1)) * summed("waiting"),
        "ends": np.where(stream, run.begun, 1) * summed("first") + np.where(stream, run.stored, 1) * summed("stores"),
    }
    if split.any() or stream.any():
        parts["reduction"] = np.where(split, reduction_clocks(problem, forms, chip, grid_m * grid_n), 0.0)
        # a run counts its part of two tiles, and adds the parts of one
        blocks = forms.m / unit.m * forms.n / unit.n
        rounds = np.ceil(blocks / added_at_once(blocks, forms.registers)) * run.parts
        through_core = np.minimum(resident, np.ceil(forms.stream / chip.cores)) * high * wide
        through_core = through_core * ((2 + run.parts) * _SUM_BYTES + of_c)
        added = (2 * _COUNTED + rounds) * chip.l3_latency + through_core / l3_core
        parts["reduction"] = np.where(stream & (run.shared > 0), added, parts["reduction"])
    inside = np.sum(list(parts.values()), axis=0)
    after = parts.get("reduction", 0.0)  # memory has given its bytes before
    parts["memory"] = np.maximum(0.0, memory + parts["waiting"] - (inside - after))
    limits = {name: steps * summed(name) for name in ("matrix", "issue", "L1", "L3")} | {"memory": memory}
    shown = {
        name: np.where(full > 0, whole[name], remaining[name]) for name in ("matrix", "issue", "L1", "L3", "waiting")
    }
    return Times(
        MappingProxyType(shown),
        MappingProxyType(limits),
        MappingProxyType(parts),
        inside + parts["memory"],
        workgroups,
        resident,
        full + some,
        tiles * forms.parts * np.where(stream, all_steps, steps) * step_l1,
        tiles * forms.parts * np.where(stream, all_steps, steps) * step_l3,
        memory_bytes,
    )


def reduction_clocks(problem: Problem, forms: Forms, chip: XeChip, tiles: Numbers) -> Numbers:
    """The clocks until parts of k are added, where each of the batch's matrices has so many `tiles` of workgroups."""
    of_c = element_bits(mlir_type(problem.c)) / 8 / (2 if problem.halves else 1)
    result = problem.batch * problem.m * problem.n * of_c * (2 if problem.beta else 1)
    sums = forms.parts * problem.batch * problem.m * pitch_of_parts(problem.n) * _SUM_BYTES
    # started behind the first kernel; all parts are loaded at once, from L3, where they were just written
    second = SECOND_LAUNCH * chip.clock_ghz * 1e9 + MEMORY_LATENCIES * chip.l3_latency
    second = second + (sums + result) / chip.l3_clock_bytes
    blocks = forms.m / problem.dpas.m * forms.n / problem.dpas.n
    some, together = loaded_at_once(blocks, forms.registers, forms.parts)
    rounds = np.ceil(blocks / some) * forms.parts / together
    each = np.ceil(tiles * problem.batch / chip.cores)
    through_core = each * forms.workgroup_m * forms.workgroup_n * (forms.parts * _SUM_BYTES + of_c)
    last = (_COUNTED + rounds) * chip.l3_latency + through_core * chip.cores / chip.l3_clock_bytes
    return np.where(forms.reduction == REDUCTIONS.index("last"), last, second)


def roofline(problem: Problem, tiling: Tiling, instructions: float, chip: XeChip | None = None) -> Roofline:
    """The roofline of one tiling: `instructions` are those of a step of its loop, DPAS included.

    Raises:
        PlanError: for a target that is not a Xe chip.
        LayoutError: for arguments of other types.

    >>> from layoutalg.gemm.tiling import Tile
    >>> roofline(Problem.of(256, 256, 1024), Tiling(Tile(32, 32, 32), (8, 8)), 25).workgroups
    1
    """
    instance_of(problem, Problem, "problem")
    instance_of(tiling, Tiling, "tiling")
    if problem.gated:
        problem, tiling = in_loop(problem, tiling)
    chip = xe_chip(problem.target) if chip is None else chip
    instance_of(chip, XeChip, "chip")
    if type(instructions) not in (int, float, np.float64, np.int64) or not 0 <= instructions < 2**53:
        raise LayoutError(f"instructions = {shown(instructions)}: expected a number from 0 on")
    found = times(problem, Forms.of([(tiling, float(instructions))]), chip)
    rate = chip.clock_ghz * 1e9
    return Roofline(
        chip,
        problem.flops,
        chip.peak(problem.a),
        int(found.workgroups[0]),
        int(found.resident[0]),
        int(found.waves[0]),
        int(found.l1_bytes[0]),
        int(found.l3_bytes[0]),
        int(found.memory_bytes[0]),
        MappingProxyType({name: float(clocks[0]) for name, clocks in found.steps.items()}),
        MappingProxyType({name: float(clocks[0]) / rate for name, clocks in found.limits.items()}),
        MappingProxyType({name: float(clocks[0]) / rate for name, clocks in found.parts.items()}),
        float(found.clocks[0]) / rate,
        chip.peak(problem.a) / (chip.memory_bandwidth * 1e9),
    )
