"""Intel's Xe chips in numbers: cores, engines, threads, rates, caches and memory, each number with its source.

A chip is a row of Xe cores. A core has vector engines, each with a matrix engine beside it; an engine takes turns between its
hardware threads, and a subgroup is one thread. With 256 registers a thread takes the place of two.

By hand for B580: a DPAS of 8x16x16 in f16 is 2*8*16*16 = 4096 operations; a core does 2048 a clock on 8 engines, so one engine
is busy for 4096 / (2048 / 8) = 16 clocks. The chip's peak is 20 cores * 2048 operations * 2.85 GHz = 116.7 TFLOP/s.

>>> from layoutalg.hardware import xe_chip
>>> b580 = xe_chip("b580")
>>> b580.dpas_clocks("f16", 2 * 8 * 16 * 16)
16.0
>>> round(b580.peak("f16") / 1e12, 1)
116.7
>>> b580.threads(128), b580.threads(256)
(64, 32)

The products are rows of `hardware.xe_products`. What each number rests on is in `sources`; where nobody publishes one it says
"assumed", and every time that is computed from it is worth no more than that.

>>> print(b580.sources["l3_clock_bytes"])
assumed: 64 bytes per clock and core, as Intel states for Data Center GPU Max
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.notebook import table
from layoutalg.core.whole_numbers import found_whole, whole_number

__all__ = ["XeChip"]


@dataclass(frozen=True, slots=True)
class XeChip:
    """What a Xe chip can do in a clock, and how far its data is away. Sizes in bytes, per core unless said otherwise.

    `operations` has pairs (type of A and B, operations per clock of a core; a multiplication and an addition are two).
    `l3` is the cache that all cores share (Intel calls it L2): its size and bytes per clock are the whole chip's, `l3_latency`
    the clocks until a line of it is in a register. `memory_bandwidth` is in GB/s. `immediate_offsets`: whether a 2D block
    message takes a constant offset beside its payload. `device` is the chip's name for `ocloc -device`, `target` that of the
    target whose kernels it runs.

    >>> from layoutalg.hardware import xe_chip
    >>> xe_chip("pvc").product
    'Data Center GPU Max 1550, one stack'
    >>> xe_chip("pvc").immediate_offsets, xe_chip("lnl").immediate_offsets
    (False, True)
    """

    product: str
    cores: int
    engines: int
    engine_threads: int
    operations: tuple[tuple[str, int], ...]
    clock_ghz: float
    l1_bytes: int
    l1_clock_bytes: int
    l3_bytes: int
    l3_clock_bytes: int
    l3_latency: int
    memory_bandwidth: float
    immediate_offsets: bool
    device: str
    target: str
    cited: tuple[tuple[str, str], ...]

    def _repr_html_(self) -> str:
        return cited_table(self)

    @property
    def sources(self) -> Mapping[str, str]:
        """Where each number comes from, by the name of the field.

        >>> from layoutalg.hardware import xe_chip
        >>> xe_chip("lnl").sources["cores"]
        'Intel, "Xe2 and Lunar Lake GPU", Tech Tour Taipei 2024'
        """
        return MappingProxyType(dict(self.cited))

    def threads(self, registers: int) -> int:
        """The hardware threads (subgroups) that a core has room for where each has 128 or 256 registers.

        A workgroup lives on one core, so it has no more subgroups than this; OpenCL's 1024 work-items are as many.

        Raises `PlanError` for another number of registers.

        >>> from layoutalg.hardware import xe_chip
        >>> xe_chip("dg2").threads(128), xe_chip("dg2").threads(256)
        (128, 64)
        """
        number = found_whole(registers)
        if number not in (128, 256):
            raise PlanError(f"registers = {shown(registers)}: a thread has 128 or 256")
        return self.engines * self.engine_threads * 128 // number

    def rate(self, element: str) -> int:
        """The operations of a core per clock, for the type of A and B.

        Raises `PlanError` for a type whose rate is not known.

        >>> from layoutalg.hardware import xe_chip
        >>> xe_chip("bmg").rate("s8"), xe_chip("bmg").rate("tf32")
        (4096, 1024)
        """
        rates = dict(self.operations)
        if type(element) is not str or element not in rates:
            raise PlanError(f"{self.product}: no rate is known for {shown(element)}; there are {', '.join(rates)}")
        return rates[element]

    def peak(self, element: str) -> float:
        """The operations per second of the whole chip.

        >>> from layoutalg.hardware import xe_chip
        >>> round(xe_chip("pvc").peak("f16") / 1e12)
        419
        """
        return self.cores * self.rate(element) * self.clock_ghz * 1e9

    def dpas_clocks(self, element: str, operations: int) -> float:
        """The clocks that one DPAS of so many operations keeps an engine busy.

        Raises `LayoutError` for what is not a number of operations, `PlanError` for a type whose rate is not known.

        >>> from layoutalg.hardware import xe_chip
        >>> xe_chip("pvc").dpas_clocks("f16", 4096), xe_chip("dg2").dpas_clocks("f16", 2048)
        (8.0, 16.0)
        """
        return whole_number(operations, "operations =", 1, 2**40) / (self.rate(element) / self.engines)

    @property
    def memory_clock_bytes(self) -> float:
        """The bytes that memory gives the whole chip in one clock of its cores.

        >>> from layoutalg.hardware import xe_chip
        >>> xe_chip("bmg").memory_clock_bytes
        160.0
        """
        return self.memory_bandwidth / self.clock_ghz


def cited_table(chip: Any) -> str:
    """The numbers of a chip as a table for a notebook, with their sources."""
    sources = chip.sources
    told = [
        (one.name, getattr(chip, one.name), sources.get(one.name, "")) for one in fields(chip) if one.name != "cited"
    ]
    return table(["", "value", "source"], told)
