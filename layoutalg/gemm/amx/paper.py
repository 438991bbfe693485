"""On paper: the roofs over a product, from the tile units down to memory, and which of them holds.

Each level gives so many bytes for the whole product; operations per byte, times its bytes in a second, are a roof.
By hand, for 4096x4096x4096 in bf16 on one core of Granite Rapids at 3.9 GHz, with blocks of 256x1024 and k cut every 1024: the
tile unit does 1024 operations a clock, 4.0 TOP/s. L3 gives 1 KiB in 105 clocks and 1088 MiB in all, 120 operations a byte: 4.6
TOP/s. L2 gives 1 KiB in 22 clocks, and has to give 8 times as much: 2.8 TOP/s.

>>> from layoutalg.gemm.amx.tiling import Blocking
>>> tiling = AmxTiling(Blocking(2, 2), 256, 1024, 1024, "columns", True)
>>> print(amx_paper(AmxProblem.of(4096, 4096, 4096, target="gnr"), tiling))
2x2 tiles, blocks of 256x1024, 1024 of k, columns first, A packed on Xeon 6980P, one core at 3.9 GHz
                   gives   operations per byte           roof
tile unit                                           4.0 TOP/s
L1              8192 MiB                    16      8.0 TOP/s
L2              8640 MiB                    15      2.8 TOP/s   the lowest roof
L3              1088 MiB                   120      4.6 TOP/s
memory           128 MiB                  1024     20.4 TOP/s   ridge at 200 operations per byte
all together                                        1.7 TOP/s, 43 % of the peak

The roofs are those of each level alone. All together is less: loads from L3 do not run beside products, and C, packing and the
calls come on top (`costs` has the rules, and what was measured).
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import instance_of
from layoutalg.gemm.amx.costs import AMX_LIMITS, AmxRoofline, amx_roofline
from layoutalg.gemm.amx.problem import AmxProblem
from layoutalg.gemm.amx.search import search_amx
from layoutalg.gemm.amx.tiling import AmxTiling

__all__ = ["AmxPaper", "Roof", "amx_paper"]


@dataclass(frozen=True)
class Roof:
    """The operations per second that one level allows: its bytes for the whole product, and the operations for each of them.

    The tile unit has no bytes.
    """

    level: str
    bytes_given: int
    intensity: float
    operations_per_second: float


@dataclass(frozen=True)
class AmxPaper:
    """The roofs of a tiling, on some cores of a chip.

    >>> amx_paper(AmxProblem.of(64, 64, 64)).bound
    'memory'
    """

    tiling: AmxTiling
    roofline: AmxRoofline

    def __post_init__(self) -> None:
        instance_of(self.tiling, AmxTiling, "tiling", PlanError)
        instance_of(self.roofline, AmxRoofline, "roofline", PlanError)

    @property
    def roofs(self) -> tuple[Roof, ...]:
        """A roof for the tile units and for each level of the memory.

        >>> [round(roof.intensity) for roof in amx_paper(AmxProblem.of(2048, 2048, 2048, target="gnr")).roofs[1:]]
        [16, 16, 131, 512]
        """
        line = self.roofline
        given = {"L1": line.l1_bytes, "L2": line.l2_bytes, "L3": line.l3_bytes, "memory": line.memory_bytes}
        return tuple(
            Roof(
                level,
                given.get(level, 0),
                line.flops / given[level] if given.get(level) else float("inf"),
                line.flops / line.limit_seconds[level] if line.limit_seconds[level] else float("inf"),
            )
            for level in AMX_LIMITS
        )

    @property
    def bound(self) -> str:
        """The level with the lowest roof.

        >>> amx_paper(AmxProblem.of(4096, 4096, 4096, target="gnr"), cores=128).bound
        'L2'
        """
        return self.roofline.limit

    def __str__(self) -> str:
        line = self.roofline
        where = "one core" if line.cores == 1 else f"{line.cores} cores"
        rows = [
            f"{self.tiling} on {line.chip.name}, {where} at {line.chip.clock(line.cores):g} GHz",
            f"{'':<12}  {'gives':>10}   {'operations per byte':>19}   {'roof':>12}",
        ]
        for roof in self.roofs:
            given, each = (_mebibytes(roof.bytes_given), f"{roof.intensity:.0f}") if roof.bytes_given else ("", "")
            notes = ["the lowest roof"] * (roof.level == self.bound)
            notes += [f"ridge at {line.ridge:.0f} operations per byte"] * (roof.level == "memory")
            text = f"{roof.level:<12}  {given:>10}   {each:>19}   {roof.operations_per_second / 1e12:>6.1f} TOP/s"
            rows.append("   ".join([text, ", ".join(notes)]).rstrip())
        rate = f"{line.flops / line.seconds / 1e12:>6.1f} TOP/s"
        rows.append(f"{'all together':<12}  {'':>10}   {'':>19}   {rate}, {100 * line.part_of_peak:.0f} % of the peak")
        return "\n".join(rows)


def amx_paper(problem: AmxProblem, tiling: AmxTiling | None = None, cores: int = 1) -> AmxPaper:
    """The roofs over a product, with a tiling (the best one that the search finds, unless given) on so many cores.

    Raises:
        PlanError: for arguments of other types, and for more cores than the chip has.

    >>> amx_paper(AmxProblem.of(64, 4096, 4096, target="gnr"), cores=64).bound
    'memory'
    """
    instance_of(problem, AmxProblem, "problem", PlanError)
    chosen = search_amx(problem).best_on(cores) if tiling is None else tiling
    return AmxPaper(chosen, amx_roofline(problem, chosen, cores=cores))


def _mebibytes(size: int) -> str:
    """Four digits at least, where there are so many."""
    return f"{size / 2**20:.0f} MiB" if size >= 2**30 else f"{size / 2**20:.4g} MiB"
