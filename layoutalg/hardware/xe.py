"""Intel's Xe chips in numbers: cores, engines, threads, rates, caches and memory, each number with its source.

A chip is a row of Xe cores. A core has vector engines, each with a matrix engine beside it; an engine takes turns between its
hardware threads, and a subgroup is one thread. With 256 registers a thread takes the place of two.

By hand for B580: a DPAS of 8x16x16 in f16 is 2*8*16*16 = 4096 operations; a core does 2048 a clock on 8 engines, so one engine
is busy for 4096 / (2048 / 8) = 16 clocks. The chip's peak is 20 cores * 2048 operations * 2.85 GHz = 116.7 TFLOP/s.

>>> b580 = xe_chip("bmg")
>>> b580.dpas_clocks("f16", 2 * 8 * 16 * 16)
16.0
>>> round(b580.peak("f16") / 1e12, 1)
116.7
>>> b580.threads(128), b580.threads(256)
(64, 32)

What each number rests on is in `sources`; where nobody publishes one it says "assumed", and every time that is computed from it
is worth no more than that.

>>> print(b580.sources["l3_clock_bytes"])
assumed: 64 bytes per clock and core, as Intel states for Data Center GPU Max
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import found_whole, whole_number

__all__ = ["XeChip", "xe_chip"]


@dataclass(frozen=True, slots=True)
class XeChip:
    """What a Xe chip can do in a clock, and how far its data is away. Sizes in bytes, per core unless said otherwise.

    `operations` has pairs (type of A and B, operations per clock of a core; a multiplication and an addition are two).
    `l3` is the cache that all cores share (Intel calls it L2): its size and bytes per clock are the whole chip's, `l3_latency`
    the clocks until a line of it is in a register. `memory_bandwidth` is in GB/s. `immediate_offsets`: whether a 2D block
    message takes a constant offset beside its payload. `device` is the chip's name for `ocloc -device`.

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
    cited: tuple[tuple[str, str], ...]

    @property
    def sources(self) -> Mapping[str, str]:
        """Where each number comes from, by the name of the field.

        >>> xe_chip("lnl").sources["cores"]
        'Intel, "Xe2 and Lunar Lake GPU", Tech Tour Taipei 2024'
        """
        return MappingProxyType(dict(self.cited))

    def threads(self, registers: int) -> int:
        """The hardware threads (subgroups) that a core has room for where each has 128 or 256 registers.

        A workgroup lives on one core, so it has no more subgroups than this; OpenCL's 1024 work-items are as many.

        Raises `PlanError` for another number of registers.

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

        >>> xe_chip("bmg").rate("s8"), xe_chip("bmg").rate("tf32")
        (4096, 1024)
        """
        rates = dict(self.operations)
        if type(element) is not str or element not in rates:
            raise PlanError(f"{self.product}: no rate is known for {shown(element)}; there are {', '.join(rates)}")
        return rates[element]

    def peak(self, element: str) -> float:
        """The operations per second of the whole chip.

        >>> round(xe_chip("pvc").peak("f16") / 1e12)
        419
        """
        return self.cores * self.rate(element) * self.clock_ghz * 1e9

    def dpas_clocks(self, element: str, operations: int) -> float:
        """The clocks that one DPAS of so many operations keeps an engine busy.

        Raises `LayoutError` for what is not a number of operations, `PlanError` for a type whose rate is not known.

        >>> xe_chip("pvc").dpas_clocks("f16", 4096), xe_chip("dg2").dpas_clocks("f16", 2048)
        (8.0, 16.0)
        """
        return whole_number(operations, "operations =", 1, 2**40) / (self.rate(element) / self.engines)

    @property
    def memory_clock_bytes(self) -> float:
        """The bytes that memory gives the whole chip in one clock of its cores.

        >>> xe_chip("bmg").memory_clock_bytes
        160.0
        """
        return self.memory_bandwidth / self.clock_ghz


_XE2 = 'Intel, "Xe2 and Lunar Lake GPU", Tech Tour Taipei 2024'
_MAX = 'Intel, "Data Center GPU Max Series Technical Overview", and its talk at Hot Chips 34 (2022)'
_HPG = 'Intel, "Introduction to the Xe-HPG Architecture" (white paper 758302)'
_OCCUPANCY = "Intel's GPU Occupancy Calculator (oneAPI-samples)"
_GRF = "halved with 256 registers: ze_info of the graphics compiler for each device"
_LATENCY = "assumed: of the order that microbenchmarks of Xe chips show for the shared cache under no load"
_MEASURED = 'chipsandcheese.com, "Intel\'s Battlemage Architecture": 512 stated, about 256 measured'

_XMX_XE2 = (("f16", 2048), ("bf16", 2048), ("tf32", 1024), ("s8", 4096), ("u8", 4096), ("s4", 8192), ("u4", 8192))
_XMX_MAX = (("f16", 4096), ("bf16", 4096), ("tf32", 2048), ("s8", 8192), ("u8", 8192), ("s4", 8192), ("u4", 8192))
_XMX_HPG = (("f16", 2048), ("bf16", 2048), ("s8", 4096), ("u8", 4096), ("s4", 8192), ("u4", 8192))


def _cited(architecture: str, **others: str) -> tuple[tuple[str, str], ...]:
    """The sources of a chip: one document for the most, and what differs."""
    usual = {
        "cores": architecture,
        "engines": architecture,
        "engine_threads": f"{_OCCUPANCY}; {_GRF}",
        "operations": architecture,
        "l1_bytes": architecture,
        "l3_bytes": architecture,
        "l3_latency": _LATENCY,
    }
    return tuple((usual | others).items())


_B580 = XeChip(
    "Arc B580", 20, 8, 8, _XMX_XE2, 2.85, 256 * 1024, 256, 18 * 2**20, 20 * 64, 400, 456.0, True, "bmg",
    _cited(
        _XE2,
        cores="Intel's specification of Arc B580: 20 Xe cores, 160 XMX engines",
        operations=f"{_XE2}; tf32 assumed, half the rate of f16 as on Data Center GPU Max",
        clock_ghz="Intel's specification of Arc B580 (2.67 GHz, up to 2.85): the clock of its peak, 116.7 TFLOP/s",
        l1_bytes="Intel at the launch of Arc B580: 256 KiB of L1 and shared memory in a core",
        l1_clock_bytes=_MEASURED,
        l3_bytes="Intel's specification of Arc B580: 18 MiB of L2",
        l3_clock_bytes="assumed: 64 bytes per clock and core, as Intel states for Data Center GPU Max",
        memory_bandwidth="Intel's specification of Arc B580: GDDR6 of 192 bits, 456 GB/s",
        immediate_offsets="listings of the graphics compiler for bmg: load_block2d with constant offsets",
    ),
)  # fmt: skip
_MAX_1550 = XeChip(
    "Data Center GPU Max 1550, one stack", 64, 8, 8, _XMX_MAX, 1.6, 512 * 1024, 512, 204 * 2**20, 64 * 64, 400, 1638.4,
    False, "pvc",
    _cited(
        _MAX,
        operations=f"{_MAX}: tf32 2048, f16 and bf16 4096, int8 8192; 4 bits assumed, as int8",
        clock_ghz="Intel's specification of Data Center GPU Max 1550: up to 1.6 GHz",
        l1_clock_bytes="Intel at Hot Chips 34: 105 TB/s of L1 over 128 cores at 1.6 GHz, 512 bytes per clock and core",
        l3_bytes=f"{_MAX}: 408 MiB of L2 on two stacks",
        l3_clock_bytes="Intel at Hot Chips 34: 13 TB/s of L2 over 128 cores at 1.6 GHz, 64 bytes per clock and core",
        memory_bandwidth="Intel's specification of Data Center GPU Max 1550: 3276.8 GB/s on two stacks",
        immediate_offsets="listings of the graphics compiler for pvc: every load_block2d has a payload of its own",
    ),
)  # fmt: skip
_LUNAR_LAKE = XeChip(
    "Arc 140V in Core Ultra 9 288V", 8, 8, 8, _XMX_XE2, 2.05, 192 * 1024, 256, 8 * 2**20, 8 * 64, 400, 136.5, True, "lnl-m",
    _cited(
        _XE2,
        operations=f"{_XE2}; tf32 assumed, half the rate of f16 as on Data Center GPU Max",
        clock_ghz="Intel's specification of Core Ultra 9 288V: 2.05 GHz, the clock of its 67 TOPS in int8",
        l1_clock_bytes=f"assumed, the same core as bmg: {_MEASURED}",
        l3_clock_bytes="assumed: 64 bytes per clock and core, as Intel states for Data Center GPU Max",
        memory_bandwidth="Intel's specification of Core Ultra 9 288V: LPDDR5X-8533 of 128 bits, shared with the processor",
        immediate_offsets="the same messages as bmg: Xe2",
    ),
)  # fmt: skip


def _alchemist(
    product: str, cores: int, clock_ghz: float, l3_megabytes: int, memory_bandwidth: float, device: str
) -> XeChip:
    return XeChip(
        product, cores, 16, 8, _XMX_HPG, clock_ghz, 192 * 1024, 256, l3_megabytes * 2**20, cores * 64, 400,
        memory_bandwidth, False, device,
        _cited(
            _HPG,
            cores=f"Intel's specification of {product}",
            clock_ghz=f"Intel's specification of {product}: graphics clock",
            l1_clock_bytes="assumed, as measured on Xe2",
            l3_bytes=f"Intel's specification of {product}",
            l3_clock_bytes="assumed: 64 bytes per clock and core",
            memory_bandwidth=f"Intel's specification of {product}",
            immediate_offsets="there are no 2D block messages that could take one",
        ),
    )  # fmt: skip


_A770 = _alchemist("Arc A770 (16 GB)", 32, 2.1, 16, 560.0, "dg2")
_CHIPS = {
    "pvc": _MAX_1550,
    "bmg": _B580,
    "lnl": _LUNAR_LAKE,
    "dg2": _A770,
    "acm": _A770,
    "acm-g10": _alchemist("Arc A770 (16 GB)", 32, 2.1, 16, 560.0, "acm-g10"),
    "acm-g11": _alchemist("Arc A380", 8, 2.0, 4, 186.0, "acm-g11"),
    "ats-m150": _alchemist("Data Center GPU Flex 170", 32, 2.05, 16, 576.0, "ats-m150"),
}


def xe_chip(name: str) -> XeChip:
    """The numbers of a target: of the product that stands for it.

    Raises `PlanError` for a name that is not a Xe chip of the table.

    >>> xe_chip("acm").product, xe_chip("acm").device
    ('Arc A770 (16 GB)', 'dg2')
    >>> xe_chip("sm_90")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: target 'sm_90' is not a Xe chip: expected one of pvc, bmg, lnl, dg2, acm, acm-g10, acm-g11,
    ats-m150
    """
    found = _CHIPS.get(name) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if found is None:
        raise PlanError(f"target {shown(name)} is not a Xe chip: expected one of {', '.join(_CHIPS)}")
    return found
