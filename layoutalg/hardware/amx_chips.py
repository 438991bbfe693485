"""Intel's CPUs with AMX in numbers: cores, clocks of the tile instructions, caches and memory, each number with its source.

A core has one tile unit. A product of whole tiles keeps it busy for 16 clocks, a tile that L1 holds is loaded in 8. A product
of bf16 is 2 * 16 * 16 * 32 = 16384 operations, one of bytes twice as many. By hand for Xeon Platinum 8490H: 16384 / 16 = 1024
operations a clock and core, so 60 cores at 1.9 GHz are 116.7 TFLOP/s.

>>> spr = amx_chip("spr")
>>> spr.operations("bf16"), spr.operations("s8")
(1024.0, 2048.0)
>>> round(spr.peak("bf16") / 1e12, 1)
116.7

The ridge is where memory alone would keep all tile units busy: 380 operations of bf16 for each byte.

>>> round(spr.ridge("bf16"))
380

What each number rests on is in `sources`. Where nobody publishes one it says "measured", on a virtual machine with two cores
of a Xeon with AMX and 48 KiB of L1, or "assumed".

>>> print(spr.sources["load_l1"])
Intel 64 and IA-32 Architectures Optimization Reference Manual, "Intel AMX Instructions Throughput and Latency"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import whole_number
from layoutalg.hardware.chip_names import chip_name
from layoutalg.hardware.xe import cited_table

__all__ = ["AMX_TARGETS", "FEATURES", "AmxChip", "amx_chip"]

AMX_TARGETS = ("amx", "spr", "gnr")
"""Any CPU with AMX, Sapphire Rapids, Granite Rapids."""

FEATURES = {"bf16": "amx-bf16", "f16": "amx-fp16", "s8": "amx-int8", "u8": "amx-int8"}
"""The CPU feature that products of each type need, as LLVM names it."""


@dataclass(frozen=True, slots=True)
class AmxChip:
    """What a CPU with AMX can do, and how far its data is away. Sizes in bytes, times in clocks of a core.

    `clock_ghz` is the clock with all cores busy, `single_clock_ghz` that of one core alone. `l1_bytes` and `l2_bytes` belong
    to a core, `l3_bytes` to the chip. `load_l1` to `load_memory` are the clocks between two loads of whole tiles (1 KiB) from
    there; `store_l1` to `store_l3` those of stores. `product` is the clocks between two products, `product_latency` until the
    sums can be stored, `configure` those of LDTILECFG. `memory_bandwidth` is in GB/s.

    >>> amx_chip("gnr").name, amx_chip("gnr").features
    ('Xeon 6980P', ('amx-tile', 'amx-int8', 'amx-bf16', 'amx-fp16'))
    """

    name: str
    features: tuple[str, ...]
    cores: int
    clock_ghz: float
    single_clock_ghz: float
    l1_bytes: int
    l1_ways: int
    l2_bytes: int
    l2_ways: int
    l3_bytes: int
    load_l1: float
    load_l2: float
    load_l3: float
    load_memory: float
    store_l1: float
    store_l2: float
    store_l3: float
    product: float
    product_latency: float
    configure: float
    memory_bandwidth: float
    cited: tuple[tuple[str, str], ...]

    def _repr_html_(self) -> str:
        return cited_table(self)

    @property
    def sources(self) -> Mapping[str, str]:
        """Where each number comes from, by the name of the field.

        >>> amx_chip("gnr").sources["cores"]
        "Intel's specification of Xeon 6980P"
        """
        return MappingProxyType(dict(self.cited))

    def operations(self, element: str) -> float:
        """The operations of a core per clock, for the type of A and B; a multiplication and an addition are two.

        Raises `PlanError` for a type that the chip has no products of.

        >>> amx_chip("gnr").operations("f16")
        1024.0
        >>> amx_chip("spr").operations("f16")
        Traceback (most recent call last):
        layoutalg.core.errors.PlanError: Xeon Platinum 8490H: tile products of 'f16' need amx-fp16; there are amx-tile,
        amx-int8, amx-bf16
        """
        known = type(element) is str and element in FEATURES
        if not known or FEATURES[element] not in self.features:
            needed = FEATURES[element] if known else "an element of " + ", ".join(FEATURES)
            raise PlanError(
                f"{self.name}: tile products of {shown(element)} need {needed}; there are {', '.join(self.features)}"
            )
        return (64 if FEATURES[element] == "amx-int8" else 32) * 2 * 16 * 16 / self.product

    def peak(self, element: str, cores: int | None = None) -> float:
        """The operations per second of all cores, or of so many; one core alone runs at its higher clock.

        >>> round(amx_chip("gnr").peak("bf16") / 1e12), round(amx_chip("gnr").peak("bf16", 1) / 1e12, 1)
        (262, 4.0)
        """
        cores = self._checked(cores)
        return self.operations(element) * cores * self.clock(cores) * 1e9

    def clock(self, cores: int) -> float:
        """The clock in GHz where so many cores are busy.

        >>> amx_chip("spr").clock(1), amx_chip("spr").clock(60)
        (3.5, 1.9)
        """
        return self.single_clock_ghz if self._checked(cores) == 1 else self.clock_ghz

    def ridge(self, element: str, cores: int | None = None) -> float:
        """The operations per byte of memory from which on the tile units are the roof, and memory is not.

        >>> round(amx_chip("gnr").ridge("s8"))
        621
        """
        cores = self._checked(cores)
        return self.peak(element, cores) / (self.bandwidth(cores) * 1e9)

    def bandwidth(self, cores: int) -> float:
        """The GB/s that memory gives so many cores: each takes at most what its loads of tiles allow.

        >>> amx_chip("gnr").bandwidth(128)
        844.8
        """
        cores = self._checked(cores)
        return min(self.memory_bandwidth, cores * self.clock(cores) * 1024 / self.load_memory)

    def _checked(self, cores: int | None) -> int:
        """How many cores: all of them unless given."""
        return whole_number(self.cores if cores is None else cores, "cores =", 1, self.cores, PlanError)


_MANUAL = (
    'Intel 64 and IA-32 Architectures Optimization Reference Manual, "Intel AMX Instructions Throughput and Latency"'
)
_MEASURED = "measured on a virtual machine with two cores of a Xeon with AMX and 48 KiB of L1"


def _cited(name: str, **others: str) -> tuple[tuple[str, str], ...]:
    """The sources of a chip: those of all, and what differs."""
    specification = f"Intel's specification of {name}"
    usual = {
        "features": "Intel Architecture Instruction Set Extensions Programming Reference; CPUID.7.0:EDX and CPUID.7.1:EAX",
        "cores": specification,
        "clock_ghz": f"{specification}: base clock; that AMX code on all cores holds it is assumed",
        "single_clock_ghz": f"{specification}: highest clock; assumed for one core with AMX code",
        "l1_bytes": "Intel's optimization manual, Golden Cove: 48 KiB of L1 data cache",
        "l1_ways": "Intel's optimization manual, Golden Cove: 12 ways",
        "l2_bytes": f"{specification}: 2 MiB of L2 in each core",
        "l2_ways": "CPUID leaf 4 of both chips: 16 ways",
        "l3_bytes": specification,
        "load_l1": _MANUAL,
        "load_l2": f"{_MEASURED}: 21 to 22 clocks, 48 bytes a clock",
        "load_l3": f"{_MEASURED}: 103 to 109 clocks, 10 bytes a clock (its L3 has 480 MiB); assumed for other chips",
        "load_memory": f"{_MEASURED}: 200 clocks, 5 bytes a clock; assumed for other chips",
        "store_l1": f"{_MANUAL}; {_MEASURED}: 16",
        "store_l2": f"{_MEASURED}: 60 clocks where L2 holds the lines",
        "store_l3": f"{_MEASURED}: 110 to 150 clocks where L3 or memory holds the lines",
        "product": _MANUAL,
        "product_latency": _MANUAL,
        "configure": f"{_MANUAL} says 204; {_MEASURED}: 150 to 170",
    }
    return tuple((usual | others).items())


_TILES = ("amx-tile", "amx-int8", "amx-bf16")
_CHIPS = {
    "spr": AmxChip(
        "Xeon Platinum 8490H", _TILES, 60, 1.9, 3.5, 48 * 1024, 12, 2 * 2**20, 16, 225 * 2**19,
        8, 22, 105, 200, 16, 60, 115, 16, 52, 204, 307.2,
        _cited("Xeon Platinum 8490H", memory_bandwidth="Intel's specification: 8 channels of DDR5-4800, 38.4 GB/s each"),
    ),
    "gnr": AmxChip(
        "Xeon 6980P", (*_TILES, "amx-fp16"), 128, 2.0, 3.9, 48 * 1024, 12, 2 * 2**20, 16, 504 * 2**20,
        8, 22, 105, 200, 16, 60, 115, 16, 52, 204, 844.8,
        _cited(
            "Xeon 6980P",
            memory_bandwidth="Intel's specification: 12 channels of MRDIMM-8800, 70.4 GB/s each; DDR5-6400 gives 614.4",
            product=f"{_MANUAL}; that products of f16 take as long as those of bf16 is assumed",
        ),
    ),
}  # fmt: skip


def amx_chip(name: str) -> AmxChip:
    """The numbers of a chip, of the product with the most cores that stands for it.

    Raises `PlanError` for a name that is not a CPU with AMX of the table.

    >>> amx_chip("spr").cores
    60
    >>> amx_chip("skx")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: target 'skx' is not a CPU with AMX: expected one of spr, gnr
    """
    found = _CHIPS.get(chip_name(name)) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if found is None:
        raise PlanError(f"target {shown(name)} is not a CPU with AMX: expected one of {', '.join(_CHIPS)}")
    return found
