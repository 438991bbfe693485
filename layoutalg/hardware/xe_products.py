"""Intel's Xe products, one row each: what is bought, beside the target whose kernels it runs; and your own, from a file.

A target names instructions: `bmg` is all of the second generation of Arc. How fast a plan is depends on the product: a B570 has
18 cores and 380 GB/s where a B580 has 20 and 456. The name of a product is taken wherever that of a target is; a target's name
stands for the product that most have (`bmg` for B580, `pvc` for one stack of Max 1550).

By hand for B570: 18 cores, 2048 operations a clock in f16, 2.75 GHz, so 101.4 TFLOP/s.

>>> xe_chip("b570").target, round(xe_chip("b570").peak("f16") / 1e12, 1)
('bmg', 101.4)
>>> xe_chip("b570").memory_bandwidth / xe_chip("bmg").memory_bandwidth
0.8333333333333334

A board that is not here is a file in TOML that says which row it is `like`, and what differs:

>>> board = chip_from_text('like = "b580"\\nproduct = "my board"\\ncores = 18\\nclock_ghz = 2.4', "board.toml")
>>> board.cores, board.l1_bytes, board.sources["cores"]
(18, 262144, 'board.toml')
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from os import PathLike
from typing import Any

from layoutalg.core.errors import PlanError
from layoutalg.core.files import as_path, read_file
from layoutalg.core.messages import printable, shortened, shown
from layoutalg.core.whole_numbers import instance_of
from layoutalg.hardware.chip_names import chip_name
from layoutalg.hardware.xe import XeChip

__all__ = ["chip_from_text", "device_target", "product_names", "product_target", "read_chip", "xe_chip"]

_LONGEST_NAME = 80

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
    "Arc B580", 20, 8, 8, _XMX_XE2, 2.85, 256 * 1024, 256, 18 * 2**20, 20 * 64, 400, 456.0, True, "bmg", "bmg",
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
    False, "pvc", "pvc",
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
    "Arc 140V in Core Ultra 9 288V", 8, 8, 8, _XMX_XE2, 2.05, 192 * 1024, 256, 8 * 2**20, 8 * 64, 400, 136.5, True,
    "lnl-m", "lnl",
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
        memory_bandwidth, False, device, device,
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


def _like(row: XeChip, changed: dict[str, Any], cited: dict[str, str]) -> XeChip:
    """A product that differs from a row, with the sources of what differs.

    The cache that all cores share has 64 bytes per clock and core (see its source), so more cores have more of it.
    """
    if "cores" in changed and "l3_clock_bytes" not in changed:
        changed = changed | {"l3_clock_bytes": row.l3_clock_bytes // row.cores * changed["cores"]}
    return replace(row, **changed, cited=tuple((dict(row.cited) | cited).items()))


def _arc(product: str, cores: int, clock_ghz: float, memory: float, board: str, l3: tuple[int, str]) -> XeChip:
    """A board of Xe2: cores, clock and memory from Intel's specification, `board` says what that has."""
    source = f"Intel's specification of {product}: {board}"
    l3_bytes, said = l3
    return _like(
        _B580,
        {"product": product, "cores": cores, "clock_ghz": clock_ghz, "memory_bandwidth": memory, "l3_bytes": l3_bytes},
        {
            "cores": source,
            "clock_ghz": f"{source}, which is this clock",
            "memory_bandwidth": source,
            "l1_bytes": "the same core as Arc B580",
            "l3_bytes": said,
        },
    )


_G21 = 18 * 2**20, "the 18 MiB of BMG-G21, the silicon of Arc B580 (TechPowerUp): assumed to be whole on this board"
_G31 = 24 * 2**20, "assumed: as much for each bit of memory's width as Arc B580 has (18 MiB for 192 bits)"
_B570 = _arc("Arc B570", 18, 2.75, 380.0, "18 Xe cores, 203 TOPS in int8, GDDR6 of 160 bits, 380 GB/s", _G21)
_B50 = _arc("Arc Pro B50", 16, 2.6, 224.0, "16 Xe cores, 170 TOPS in int8, GDDR6 of 128 bits, 224 GB/s", _G21)
_B60 = _arc("Arc Pro B60", 20, 2.4, 456.0, "20 Xe cores, 197 TOPS in int8, GDDR6 of 192 bits, 456 GB/s", _G21)
_B65 = _arc("Arc Pro B65", 20, 2.4, 608.0, "20 Xe cores, 197 TOPS in int8, GDDR6 of 256 bits, 608 GB/s", _G31)
_B70 = _arc("Arc Pro B70", 32, 2.8, 608.0, "32 Xe cores, 367 TOPS in int8, GDDR6 of 256 bits, 608 GB/s", _G31)
_MAX_1100 = _like(
    _MAX_1550,
    {"product": "Data Center GPU Max 1100", "cores": 56, "clock_ghz": 1.55, "memory_bandwidth": 1228.8},
    {
        "cores": "Intel's specification of Data Center GPU Max 1100: 56 Xe cores",
        "clock_ghz": "Intel's specification of Data Center GPU Max 1100: up to 1.55 GHz",
        "l3_bytes": "assumed: as on a stack of Max 1550, 204 MiB",
        "memory_bandwidth": "Intel's specification of Data Center GPU Max 1100: HBM2e, 1228.8 GB/s",
    },
)
_XE3 = 'Intel, "Xe3" at Tech Tour 2025: Panther Lake with 12 Xe cores'
_PANTHER_LAKE = _like(
    _LUNAR_LAKE,
    {
        "product": "Arc B390 in Core Ultra X9 388H", "cores": 12, "clock_ghz": 2.5, "l1_bytes": 256 * 1024,
        "l3_bytes": 16 * 2**20, "memory_bandwidth": 153.6, "device": "ptl-h", "target": "ptl",
    },
    {
        "cores": _XE3,
        "engines": _XE3,
        "engine_threads": "Intel's compute-runtime for Xe3: 8 threads of 128 registers, 4 of 256",
        "operations": f"{_XE3}: engines of 2048 bits, as Xe2's; tf32 assumed, half the rate of f16",
        "clock_ghz": "120 TOPS in int8 of 12 cores (Intel at Tech Tour 2025) are 2.44 GHz; up to 2.5 in its specification",
        "l1_bytes": f"{_XE3}: a third more than Lunar Lake's 192 KiB",
        "l3_bytes": f"{_XE3}: 16 MiB of L2",
        "memory_bandwidth": "Intel's specification: LPDDR5X-9600 of 128 bits, shared with the processor",
        "immediate_offsets": "assumed: the same messages as Xe2",
    },
)  # fmt: skip
_A770 = _alchemist("Arc A770 (16 GB)", 32, 2.1, 16, 560.0, "dg2")
_CHIPS = {
    "pvc": _MAX_1550,
    "bmg": _B580,
    "lnl": _LUNAR_LAKE,
    "ptl": _PANTHER_LAKE,
    "dg2": _A770,
    "acm": _A770,
    "acm-g10": _alchemist("Arc A770 (16 GB)", 32, 2.1, 16, 560.0, "acm-g10"),
    "acm-g11": _alchemist("Arc A380", 8, 2.0, 4, 186.0, "acm-g11"),
    "ats-m150": _alchemist("Data Center GPU Flex 170", 32, 2.05, 16, 576.0, "ats-m150"),
}
"""The product that stands for a target."""
_PRODUCTS = {
    "b580": _B580,
    "b570": _B570,
    "b50": _B50,
    "b60": _B60,
    "b65": _B65,
    "b70": _B70,
    "max1550": _MAX_1550,
    "max1100": _MAX_1100,
    "140v": _LUNAR_LAKE,
    "b390": _PANTHER_LAKE,
}
_OWN = {
    "cores": (1, 1024),
    "clock_ghz": (0.1, 10.0),
    "l1_bytes": (2**14, 2**24),
    "l1_clock_bytes": (1, 2**16),
    "l3_bytes": (2**16, 2**34),
    "l3_clock_bytes": (1, 2**20),
    "l3_latency": (1, 10**5),
    "memory_bandwidth": (1.0, 10.0**6),
}
"""What a file may say of a board, and between which numbers it lies; the rest belongs to the target."""


def product_names() -> tuple[str, ...]:
    """The names of products, which are taken where a target's is.

    >>> product_names()[:3]
    ('b580', 'b570', 'b50')
    """
    return tuple(_PRODUCTS)


def product_target(name: object) -> object:
    """The target of a product's name, or of another name of a chip (`chip_names`); anything else as it is.

    >>> product_target("b70"), product_target("pvc"), product_target("H100")
    ('bmg', 'pvc', 'sm_90')
    """
    meant = chip_name(name) if isinstance(name, str) else name
    found = _PRODUCTS.get(meant) if isinstance(meant, str) else None
    return meant if found is None else found.target


_MODEL = re.compile(r"\b(?:(?:Max|Flex) \d{3,4}|[AB]\d{2,3}|\d{3}V)\b")


def device_target(name: str) -> str | None:
    """The target of a GPU by the name that its driver gives; None for one whose model is not in the table.

    >>> device_target("Intel(R) Arc(TM) B580 Graphics"), device_target("Intel(R) Data Center GPU Max 1100")
    ('bmg', 'pvc')
    >>> device_target("Intel(R) UHD Graphics 770") is None
    True
    """
    models: dict[str, str] = {}
    for chip in (_CHIPS | _PRODUCTS).values():
        if found := _MODEL.search(chip.product):
            models.setdefault(found[0], chip.target)
    found = _MODEL.search(name)
    return None if found is None else models.get(found[0])


def xe_chip(name: str) -> XeChip:
    """The numbers of a product, or of that which stands for a target.

    Raises `PlanError` for a name that is not a Xe chip of the table.

    >>> xe_chip("acm").product, xe_chip("acm").device
    ('Arc A770 (16 GB)', 'dg2')
    >>> xe_chip("max1100").cores, xe_chip("b390").target
    (56, 'ptl')
    >>> xe_chip("sm_90")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: target 'sm_90' is not a Xe chip: expected one of pvc, bmg, lnl, ptl, dg2, acm, acm-g10,
    acm-g11, ats-m150, b580, b570, b50, b60, b65, b70, max1550, max1100, 140v, b390
    """
    known = _CHIPS | _PRODUCTS
    found = known.get(chip_name(name)) if isinstance(name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if found is None:
        raise PlanError(f"target {shown(name)} is not a Xe chip: expected one of {', '.join(known)}")
    return found


def read_chip(path: str | PathLike[str]) -> XeChip:
    """A board of your own, from a file as `chip_from_text` reads it.

    Raises `PlanError` for what the file does not say rightly, `LayoutError` where it cannot be read.

    >>> read_chip("nowhere/board.toml")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: nowhere/board.toml: no such file or directory
    """
    file = as_path(path, "chip")
    return chip_from_text(read_file(file), str(file))


def chip_from_text(text: str, source: str = "the text") -> XeChip:
    """A board in TOML: `like` is a product or a target, `product` its name, and the numbers that differ.

    `cores`, `clock_ghz`, `memory_bandwidth` (GB/s), `l1_bytes` (of a core), `l1_clock_bytes`, `l3_bytes` (of the chip),
    `l3_clock_bytes`, `l3_latency` (clocks) are those of `XeChip`. `source` is what stands beside them in `sources`.

    Raises `PlanError`: for text that is not TOML, names that are not among these, and numbers out of range.

    >>> chip_from_text('like = "b580"\\nspeed = 2.4')
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: the text: 'speed': expected like, product, cores, clock_ghz, l1_bytes, l1_clock_bytes,
    l3_bytes, l3_clock_bytes, l3_latency, memory_bandwidth
    """
    instance_of(text, str, "chip", PlanError)
    instance_of(source, str, "source", PlanError)
    source = shortened(printable(source))
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise PlanError(f"{source}: not TOML: {shortened(printable(str(problem)))}") from None
    for name in table:
        if name not in ("like", "product", *_OWN):
            raise PlanError(f"{source}: {shown(name)}: expected {', '.join(('like', 'product', *_OWN))}")
    if "like" not in table:
        raise PlanError(
            f'{source}: expected like = "NAME" of the chip that it is most like: {", ".join(_CHIPS | _PRODUCTS)}'
        )
    try:
        row = xe_chip(table["like"])
    except PlanError as problem:
        raise PlanError(f"{source}: like: {problem}") from None
    changed: dict[str, Any] = {"product": _product(table.get("product", f"a board like {row.product}"), source)}
    for name, (low, high) in _OWN.items():
        if name in table:
            changed[name] = _number(name, table[name], low, high, source)
    return _like(row, changed, dict.fromkeys(set(changed) - {"product"}, source))


def _product(value: object, source: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or not value.isprintable():
        raise PlanError(f"{source}: product = {shown(value)}: expected a name of at most {_LONGEST_NAME} letters")
    return value


def _number(name: str, value: object, low: float, high: float, source: str) -> float:
    kinds = (int,) if isinstance(low, int) else (int, float)
    if type(value) not in kinds or not low <= value <= high:  # pyright: ignore[reportOperatorIssue]  it is a number here
        kind = "a whole number" if isinstance(low, int) else "a number"
        raise PlanError(f"{source}: {name} = {shown(value)}: expected {kind} from {low} to {high}")
    return float(value) if isinstance(low, float) else value  # pyright: ignore[reportArgumentType, reportReturnType]
