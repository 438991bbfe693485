"""layoutalg beside other layout libraries, in one run: medians, as a table.

    python benchmarks/run.py              measure, and print the table
    python benchmarks/run.py --keep       and keep the figures as the last row of history.jsonl
    python benchmarks/run.py --page       write the table of the last row into docs/speed.md; with --keep, of the new one

tensor-layouts, pycute (in the wheel nvidia-cutlass) and Triton take part where they are installed. They answer the same
questions about the same tile as far as they can: CuTe's layouts map one integer to one integer, Triton's are linear over
bits. What keeps the comparison fair:

- Every operation is asked of new values, which are built outside the measured time: layoutalg keeps a value's canonical
  form, and would answer faster the second time. Only the row "equality, asked again" asks again.
- Plans of conversions are asked of a process that has read the chip's prices, and remembers nothing else.
- A map as one array is asked of each library in the best way that it offers: pycute's layouts take `np.arange`, those of
  tensor-layouts and Triton one element at a time. A user who is in a hurry computes it from the strides or bases instead,
  and so does the row "the same, by hand in numpy": CuTe's modes are added up by broadcasting, Triton's bases are XORed,
  each doubling the array. Both are first checked against the library's own answers.
- The first map pays for importing numpy; it has a row of its own, in a new process, for every library.
"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib.metadata
import importlib.util
import inspect
import io
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE, HISTORY = ROOT / "docs" / "speed.md", ROOT / "benchmarks" / "history.jsonl"
START, END = "<!-- benchmark table -->", "<!-- end of benchmark table -->"
DISTRIBUTIONS = ("numpy", "layoutalg", "tensor-layouts", "nvidia-cutlass", "triton")

Row = dict[str, Any]
"""A line of the history: date, commit, machine, load, versions, and seconds by library and row of the table."""


@dataclass(frozen=True)
class Measure:
    """A call to be timed; `fresh` builds what it is given, anew for each call, outside the measured time."""

    call: Callable[..., Any]
    fresh: Callable[[], tuple[Any, ...]] = tuple


Column = dict[str, Measure]

ROUNDS = 5
LONG = 0.5
"""Seconds from which a call is timed once per round."""


def samples(measure: Measure, seconds: float = 0.15) -> list[float]:
    """Times of one call, in seconds, over about `seconds` of measuring."""
    call, fresh = measure.call, measure.fresh
    call(*fresh())

    def timed(inner: int) -> float:
        given = [fresh() for _ in range(inner)]
        start = time.perf_counter()
        for one in given:
            call(*one)
        return (time.perf_counter() - start) / inner

    once = max(timed(1), 1e-9)
    if once > LONG:
        return [once]
    inner = max(1, int(2e-4 / once))
    found: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(found) < 3:
        found.append(timed(inner))
    return found


def process_time(code: str) -> float:
    """A new process that runs `code`, less one that runs nothing."""

    def process(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    process(code)
    with_it = statistics.median(process(code) for _ in range(15))
    without = statistics.median(process("pass") for _ in range(15))
    return with_it - without


OF_CHIPS = ("layoutalg.hardware.", "layoutalg.conversion.prices")
"""Modules that remember what depends on a chip alone: a process reads its prices once."""


def forgotten() -> tuple[()]:
    """Empty what layoutalg's functions remember of earlier calls, but for the chips' own figures."""
    for cache in [one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper)]:
        home = cache.__module__ or ""
        if home.startswith("layoutalg") and not home.startswith(OF_CHIPS):
            cache.cache_clear()
    return ()


CHIPS = {"bmg": 32, "sm_80": 32, "sm_90": 32, "gfx942": 64, "gfx950": 64}
"""Chips for which a transposed tile is planned, and their lanes."""

XEGPU = "#xegpu.layout<sg_layout = [8, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>"

ROWS = (
    "import, in a new process",
    "import and first map of 128x128, in a new process",
    "construct, 4 factors",
    "compose, 2 factors",
    "compose, 6 factors",
    "inverse",
    "equality, of new values",
    "equality, asked again",
    "map of 128x128 (512 work-items x 32 registers)",
    "the same, by hand in numpy",
    "map of 4096x4096",
    "that one by hand in numpy",
    "numpy copy of the 128x128 map's bytes",
    "numpy copy of the 4096x4096 map's bytes",
    "parse and layout of a nested attribute",
    "parse an XeGPU attribute",
    "parse a layout's text",
    "from an XeGPU text to its map of 128x128",
    "to_xegpu",
    "to_nested",
    "to_cute",
    "from_cute",
    "to_linear_layout",
    "from_linear_layout",
    "same, equal layouts",
    "same, different layouts",
    "same, an XeGPU and a nested attribute",
    "same, layouts of unequal machines",
    "plan a conversion, 16 lanes x 64 registers",
    *(f"plan a conversion for {chip}" for chip in CHIPS),
    "plan a conversion by tables, 16 lanes x 255 registers",
    "picture of 4096x4096, folded: SVG",
    "the same, interactive (two directions)",
    "the same, PNG",
    "run a planned product of 512x512x512",
)
LARGE_PRODUCT = "run a planned product of 2048x2048x2048"
"""Not in the table: `--large` measures it."""
SMALL_MAP, SMALL_BY_HAND = "map of 128x128 (512 work-items x 32 registers)", "the same, by hand in numpy"
LARGE_MAP, LARGE_BY_HAND = "map of 4096x4096", "that one by hand in numpy"
XEGPU = "#xegpu.layout<sg_layout = [2, 4], sg_data = [32, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
NESTED = (
    "#iree_vector_ext.nested_layout<subgroup_tile = [2, 1], batch_tile = [2, 4], outer_tile = [1, 1], "
    "thread_tile = [16, 4], element_tile = [1, 4], subgroup_strides = [1, 0], thread_strides = [1, 16]>"
)


FACTORS = [[(8, 4, "sg"), (16, 2, "reg")], [(4, 1, "sg"), (2, 1, "reg"), (16, 1, "lane")]]
SPLIT = [[(8, 4, "sg"), (4, 8, "reg"), (4, 2, "reg")], [(4, 1, "sg"), (2, 1, "reg"), (16, 1, "lane")]]


def layoutalg_column() -> Column:
    import layoutalg as la

    def parsed(*texts: str) -> tuple[Any, ...]:
        return tuple(la.Layout.parse(text) for text in texts)

    def attributes() -> tuple[Any, Any]:
        return la.parse(XEGPU), la.parse(counterpart)

    tile, again, large = la.Layout(FACTORS), la.Layout(SPLIT), la.Layout(FACTORS).tile((32, 32))
    assert tile == again
    two = "d0 = 8@lane 8@reg", "d0 = 8@d0, d1 = 8@d0:8"
    six = (
        "d0 = 2@reg:4 2@lane:4 2@reg:2 2@lane:2 2@reg 2@lane",
        "d0 = 2@d0 2@d0:2 2@d0:4 2@d0:8 2@d0:16 2@d0:32",
    )
    counterpart = str(la.to_nested(la.parse(XEGPU).layout((64, 64))))
    nested = str(la.parse(NESTED).layout((64, 64)))
    cute, linear = la.to_cute(*parsed(nested)), la.to_linear_layout(*parsed(nested))
    picture = large.picture()
    exchanged = parsed("d0 = 64@reg, d1 = 16@lane", "d0 = 16@lane 4@reg:16, d1 = 16@reg")
    tabled = parsed("d0 = 16@lane 255@reg", "d0 = 255@reg 16@lane")
    small_copy, large_copy = tile.fragment_map().copy(), large.fragment_map().copy()

    def planned(layouts: tuple[Any, ...]) -> Measure:
        return Measure(lambda: la.convert(*layouts, element_bits=32, target="pvc"), forgotten)

    def transposed(chip: str) -> Measure:
        lanes = CHIPS[chip]
        pair = parsed(f"d0 = {lanes}@reg, d1 = {lanes}@lane", f"d0 = {lanes}@lane, d1 = {lanes}@reg")
        return Measure(lambda: la.convert(*pair, element_bits=32, target=chip), forgotten)

    unequal = (  # its threads leave elements to nobody, so that places are counted through
        la.NestedLayoutAttr((1, 1), (1, 1), (4, 1), (16, 16), (1, 1), (0, 0), (16, 1)),
        la.Layout.parse("d0 = 64@lane, d1 = 16@reg"),
    )

    return {
        "construct, 4 factors": Measure(lambda: la.Layout(FACTORS)),
        "compose, 2 factors": Measure(la.compose, lambda: parsed(*two)),
        "compose, 6 factors": Measure(la.compose, lambda: parsed(*six)),
        "inverse": Measure(la.Layout.inverse, lambda: (la.Layout(FACTORS),)),
        "equality, of new values": Measure(lambda a, b: a == b, lambda: (la.Layout(FACTORS), la.Layout(SPLIT))),
        "equality, asked again": Measure(lambda: tile == again),
        SMALL_MAP: Measure(la.Layout.fragment_map, lambda: (la.Layout(FACTORS),)),
        LARGE_MAP: Measure(la.Layout.fragment_map, lambda: (la.Layout(FACTORS).tile((32, 32)),)),
        "numpy copy of the 128x128 map's bytes": Measure(small_copy.copy),
        "numpy copy of the 4096x4096 map's bytes": Measure(large_copy.copy),
        "parse and layout of a nested attribute": Measure(lambda: la.parse(NESTED).layout((64, 64))),
        "parse an XeGPU attribute": Measure(lambda: la.parse(XEGPU)),
        "parse a layout's text": Measure(lambda: la.Layout.parse("d0 = 8@lane:2 2@reg, d1 = 16@reg")),
        "from an XeGPU text to its map of 128x128": Measure(lambda: la.parse(XEGPU).layout((128, 128)).fragment_map()),
        "to_xegpu": Measure(la.to_xegpu, lambda: parsed("d0 = 2@sg:4 2@reg:8 8@reg, d1 = 4@sg 16@lane")),
        "to_nested": Measure(la.to_nested, lambda: parsed(nested)),
        "to_cute": Measure(la.to_cute, lambda: parsed(nested)),
        "from_cute": Measure(lambda: la.from_cute(cute)),
        "to_linear_layout": Measure(la.to_linear_layout, lambda: parsed(nested)),
        "from_linear_layout": Measure(lambda: la.from_linear_layout(linear)),
        "same, equal layouts": Measure(la.same, lambda: parsed(nested, nested)),
        "same, different layouts": Measure(la.same, lambda: parsed(nested, "d0 = 64@reg, d1 = 2@sg 32@lane")),
        "same, an XeGPU and a nested attribute": Measure(lambda a, b: la.same(a, b, (64, 64)), attributes),
        "same, layouts of unequal machines": Measure(la.same, lambda: unequal),
        "plan a conversion, 16 lanes x 64 registers": planned(exchanged),
        **{f"plan a conversion for {chip}": transposed(chip) for chip in CHIPS},
        "plan a conversion by tables, 16 lanes x 255 registers": planned(tabled),
        "picture of 4096x4096, folded: SVG": Measure(picture.svg),
        "the same, interactive (two directions)": Measure(picture.html),
        "the same, PNG": Measure(lambda: picture.figure().savefig(io.BytesIO(), format="png")),
        "run a planned product of 512x512x512": product(512),
    }


def product(size: int) -> Measure:
    """The planner's kernel for square f16 matrices, executed by the simulator."""
    import numpy as np

    import layoutalg as la

    gemm = la.plan_gemm(size, size, size)
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size)).astype(np.float16) for _ in range(2))
    return Measure(lambda: gemm.simulate(a, b))


def summed(layout: Any) -> Any:
    """The indices of a CuTe layout of two dimensions: its modes' multiples added up, the first mode changing fastest."""
    import numpy as np

    found = np.zeros(1, dtype=np.int64)
    for sizes, strides in zip(layout.shape, layout.stride, strict=True):
        for size, stride in zip(sizes, strides, strict=True):
            found = np.add.outer(np.arange(size) * stride, found).ravel()
    return found


def called(layout: Any) -> Any:
    """The indices of one of pycute's layouts."""
    import numpy as np

    return layout(np.arange(layout.size()))


def xored(layout: Any) -> Any:
    """The coordinates that each (warp, lane, register) of a linear layout holds: each basis doubles the array."""
    import numpy as np

    found = np.zeros((1, 2), dtype=np.int64)
    for _, bases in layout.bases:
        for basis in bases:
            found = np.concatenate([found, found ^ np.array(basis)])
    return found


SHAPE, STRIDE = ((16, 8), (16, 2, 4)), ((2, 4 * 512), (32, 1, 512))
"""The tile as CuTe has it: column-major, one integer of (subgroup, lane, register) per element."""
LARGE = ((16, 8, 32), (16, 2, 4, 32)), ((2, 4 * 512, 128 * 128 * 32), (32, 1, 512, 128 * 128))
"""32x32 of these tiles."""


def tensor_layouts_column() -> Column:
    import tensor_layouts as tl

    def each(layout: Any) -> Any:
        return [layout(i) for i in range(128 * 128)]

    return cute_column(tl.Layout, tl.compose, tl.right_inverse) | {
        SMALL_MAP: Measure(each, lambda: (tl.Layout(SHAPE, STRIDE),))
    }


def pycute_column() -> Column:
    import pycute

    return cute_column(pycute.Layout, pycute.composition, pycute.right_inverse) | {
        SMALL_MAP: Measure(called, lambda: (pycute.Layout(SHAPE, STRIDE),)),
        LARGE_MAP: Measure(called, lambda: (pycute.Layout(*LARGE),)),
    }


def cute_column(layout: Any, compose: Any, inverse: Any) -> Column:
    """The same questions to a library of CuTe's layouts."""
    tile, again = layout(SHAPE, STRIDE), layout(SHAPE, STRIDE)
    for one in (tile, layout(*LARGE)):
        found = summed(one)
        assert all(found[i] == one(i) for i in random.sample(range(len(found)), 100))

    def two() -> tuple[Any, Any]:
        return layout((8, 8), (8, 1)), layout((8, 8), (8, 1))

    def six() -> tuple[Any, Any]:
        return layout((2,) * 6, (1, 8, 2, 16, 4, 32)), layout((2,) * 6, (32, 16, 8, 4, 2, 1))

    return {
        "construct, 4 factors": Measure(lambda: layout(SHAPE, STRIDE)),
        "compose, 2 factors": Measure(compose, two),
        "compose, 6 factors": Measure(compose, six),
        "inverse": Measure(inverse, lambda: (layout(SHAPE, STRIDE),)),
        "equality, of new values": Measure(lambda a, b: a == b, lambda: (layout(SHAPE, STRIDE), layout(SHAPE, STRIDE))),
        "equality, asked again": Measure(lambda: tile == again),
        SMALL_BY_HAND: Measure(summed, lambda: (layout(SHAPE, STRIDE),)),
        LARGE_BY_HAND: Measure(summed, lambda: (layout(*LARGE),)),
    }


BASES = [
    ("register", [[0, 16], [1, 0], [2, 0], [4, 0], [8, 0]]),
    ("lane", [[0, 1], [0, 2], [0, 4], [0, 8]]),
    ("warp", [[0, 32], [0, 64], [16, 0], [32, 0], [64, 0]]),
]
"""The tile as Triton has it."""


def triton_column() -> Column:
    from triton.tools import LinearLayout

    def build(tiles: int = 0) -> Any:
        """The tile, repeated 2**tiles times along each dimension, in further registers."""
        more = [[0, 128 << i] for i in range(tiles)] + [[128 << i, 0] for i in range(tiles)]
        (name, registers), *others = BASES
        return LinearLayout.from_bases([(name, registers + more), *others], ["dim0", "dim1"])

    def line(order: list[int]) -> Any:
        return LinearLayout.from_bases([("x", [[1 << i] for i in order])], ["x"])

    for tiles in (0, 5):
        layout = build(tiles)
        found, registers = xored(layout), 32 << 2 * tiles
        for place in random.sample(range(len(found)), 100):
            warp, lane, register = place // registers // 16, place // registers % 16, place % registers
            asked = layout.apply({"register": register, "lane": lane, "warp": warp})
            assert [asked["dim0"], asked["dim1"]] == found[place].tolist()

    tile, again = build(), build()
    places = [
        {"warp": warp, "lane": lane, "register": register}
        for warp in range(32)
        for lane in range(16)
        for register in range(32)
    ]
    return {
        "construct, 4 factors": Measure(build),
        "compose, 2 factors": Measure(
            lambda a, b: a.compose(b), lambda: (line([3, 4, 5, 0, 1, 2]), line([3, 4, 5, 0, 1, 2]))
        ),
        "compose, 6 factors": Measure(
            lambda a, b: a.compose(b), lambda: (line([0, 3, 1, 4, 2, 5]), line([5, 4, 3, 2, 1, 0]))
        ),
        "inverse": Measure(LinearLayout.invert, lambda: (build(),)),
        "equality, of new values": Measure(lambda a, b: a == b, lambda: (build(), build())),
        "equality, asked again": Measure(lambda: tile == again),
        SMALL_MAP: Measure(lambda layout: [layout.apply(place) for place in places], lambda: (build(),)),
        SMALL_BY_HAND: Measure(xored, lambda: (build(),)),
        LARGE_BY_HAND: Measure(xored, lambda: (build(5),)),
    }


@dataclass(frozen=True)
class Library:
    """Another library or this one: its module, its measures, and a program that computes its first map."""

    module: str
    column: Callable[[], Column]
    first_map: str


def with_source(function: Callable[[Any], Any], imports: str, layout: str) -> str:
    """A program that calls `function`, of this file, with a layout."""
    source = inspect.getsource(function)
    return f"from __future__ import annotations\n{imports}\n{source}\n{function.__name__}({layout})"


LIBRARIES = {
    "layoutalg": Library(
        "layoutalg", layoutalg_column, f"import layoutalg\nlayoutalg.Layout({FACTORS}).fragment_map()"
    ),
    "tensor-layouts": Library(
        "tensor_layouts",
        tensor_layouts_column,
        with_source(summed, "import tensor_layouts", f"tensor_layouts.Layout({SHAPE}, {STRIDE})"),
    ),
    "pycute": Library(
        "pycute", pycute_column, with_source(called, "import pycute", f"pycute.Layout({SHAPE}, {STRIDE})")
    ),
    "Triton LinearLayout": Library(
        "triton.tools",
        triton_column,
        with_source(
            xored,
            "from triton.tools import LinearLayout",
            f"LinearLayout.from_bases({BASES}, ['dim0', 'dim1'])",
        ),
    ),
}


def measured() -> dict[str, dict[str, float]]:
    """Seconds, by library and row."""
    results: dict[str, dict[str, float]] = {}
    columns: dict[str, Column] = {}
    for name, library in LIBRARIES.items():
        if importlib.util.find_spec(library.module.partition(".")[0]) is None:
            print(f"{name} is not installed and left out (make toolchains)", file=sys.stderr)
            continue
        results[name] = dict(
            zip(ROWS, map(process_time, (f"import {library.module}", library.first_map)), strict=False)
        )
        columns[name] = library.column()
    # Every row is measured in several rounds, so that a busy moment of the machine does not fall on one row alone.
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(ROUNDS):
        for name, column in columns.items():
            for row, measure in column.items():
                times.setdefault((name, row), []).append(statistics.median(samples(measure)))
    for (name, row), medians in times.items():
        results[name][row] = statistics.median(medians)
    return results


# The history and the table


def installed(name: str) -> str | None:
    """A package's version; of layoutalg, what is imported here."""
    if name == "layoutalg":
        return importlib.import_module(name).__version__
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def commit() -> str:
    """The commit that is measured, with a `+` where files have been changed since."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def new_row() -> Row:
    """Measure, and say where, when and with what."""
    load = round(os.getloadavg()[0], 1)  # before the measuring adds to it
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": commit(),
        "machine": {
            "processor": processor(),
            "cores": len(os.sched_getaffinity(0)),
            "system": platform.system(),
            "load": load,
        },
        "versions": {"python": platform.python_version()} | {name: installed(name) for name in DISTRIBUTIONS},
        "seconds": measured(),
    }


def shown(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table(row: Row) -> str:
    """A row of the history as a table in Markdown, and below it where and with what it was measured.

    >>> row = {"date": "2026-11-22", "commit": "abc", "machine": {"processor": "a CPU", "cores": 2, "load": 0.1}}
    >>> row |= {"versions": {"python": "3.13.0", "triton": None}, "seconds": {"layoutalg": {"inverse": 9.62e-6}}}
    >>> print(table(row).splitlines()[-1])
    Medians of one run on 2026-11-22 (commit abc): a CPU, 2 cores, load 0.1 at the start; python 3.13.0.
    """
    results, machine = row["seconds"], row["machine"]
    lines = ["| median | " + " | ".join(results) + " |", "|---|" + "---:|" * len(results)]
    rows = [one for one in ROWS if any(one in column for column in results.values())]
    lines += [f"| {one} | " + " | ".join(shown(r.get(one)) for r in results.values()) + " |" for one in rows]
    versions = ", ".join(f"{name} {version}" for name, version in row["versions"].items() if version)
    where = f"{machine['processor']}, {machine['cores']} cores, load {machine['load']} at the start"
    lines += ["", f"Medians of one run on {row['date']} (commit {row['commit']}): {where}; {versions}."]
    return "\n".join(lines)


def last_row() -> Row:
    """The last row of the history."""
    return json.loads(HISTORY.read_text(encoding="utf-8").splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="measure, and add a row to history.jsonl")
    parser.add_argument("--page", action="store_true", help="write the last row's table into docs/speed.md")
    parser.add_argument("--large", action="store_true", help="time a product of 2048x2048x2048 alone, some seconds")
    arguments = parser.parse_args()
    if arguments.large:
        print(f"{LARGE_PRODUCT}: {statistics.median(samples(product(2048))):.2f} s")
        return
    if arguments.keep or not arguments.page:
        row = new_row()
        print(table(row))
    if arguments.keep:
        with HISTORY.open("a", encoding="utf-8") as history:
            history.write(json.dumps(row) + "\n")
    if arguments.page:
        head, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        tail = rest.partition(END)[2]
        PAGE.write_text(f"{head}{START}\n\n{table(last_row())}\n\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
