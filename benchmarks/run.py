"""layoutalg beside other layout libraries, in one run: medians, as a table.

    python benchmarks/run.py              print the table
    python benchmarks/run.py --readme     and write it into README.md

tensor-layouts, pycute (in the wheel nvidia-cutlass) and Triton take part where they are installed. They answer the same
questions about the same tile as far as they can: CuTe's layouts map one integer to one integer, Triton's are bit-linear;
none of them has a map of all work-items as an array, so there each element is asked for in a loop.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

README = Path(__file__).parent.parent / "README.md"
START, END = "<!-- benchmark table -->", "<!-- end of benchmark table -->"

Measure = Callable[[], Any]
Column = dict[str, Measure]


ROUNDS = 5


def samples(call: Measure, seconds: float = 0.15) -> list[float]:
    """Times of one call, in seconds, over about `seconds` of measuring."""
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-9)
    inner = max(1, int(2e-4 / once))
    found: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(found) < 3:
        start = time.perf_counter()
        for _ in range(inner):
            call()
        found.append((time.perf_counter() - start) / inner)
    return found


def import_time(module: str) -> float:
    """A cold process that imports `module`, less one that imports nothing."""

    def process(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - start

    process(f"import {module}")
    with_it = statistics.median(process(f"import {module}") for _ in range(15))
    without = statistics.median(process("pass") for _ in range(15))
    return with_it - without


TILE = "d0 = 8@sg:4 16@reg:2, d1 = 4@sg 2@reg 16@lane"
ROWS = (
    "import, cold",
    "construct, 4 factors",
    "compose, 2 factors",
    "compose, 6 factors",
    "inverse",
    "equality",
    "map of 128x128 (512 work-items x 32 registers)",
    "map of 4096x4096",
    "numpy copy of the 128x128 map's bytes",
    "numpy copy of the 4096x4096 map's bytes",
    "parse and layout of a nested attribute",
    "to_xegpu",
    "to_nested",
    "to_cute",
    "from_cute",
    "to_linear_layout",
    "from_linear_layout",
    "same, equal layouts",
    "same, different layouts",
    "same, an XeGPU and a nested attribute",
    "plan a conversion, 16 lanes x 64 registers",
    "plan a conversion by tables, 16 lanes x 255 registers",
    "picture of 4096x4096, folded: SVG",
    "the same, interactive (two directions)",
    "the same, PNG",
)
NESTED = (
    "#iree_vector_ext.nested_layout<subgroup_tile = [2, 1], batch_tile = [2, 4], outer_tile = [1, 1], "
    "thread_tile = [16, 4], element_tile = [1, 4], subgroup_strides = [1, 0], thread_strides = [1, 16]>"
)


def layoutalg_column() -> Column:
    import layoutalg as la
    from layoutalg.conversion.candidates import candidates_of

    factors = [[(8, 4, "sg"), (16, 2, "reg")], [(4, 1, "sg"), (2, 1, "reg"), (16, 1, "lane")]]
    tile, again = la.Layout.parse(TILE), la.Layout.parse(TILE.replace("16@reg:2", "4@reg:8 4@reg:2"))
    large = tile.tile((32, 32))
    two = la.Layout.parse("d0 = 8@lane 8@reg"), la.Layout.parse("d0 = 8@d0, d1 = 8@d0:8")
    six = (
        la.Layout.parse("d0 = 2@reg:4 2@lane:4 2@reg:2 2@lane:2 2@reg 2@lane"),
        la.Layout.parse("d0 = 2@d0 2@d0:2 2@d0:4 2@d0:8 2@d0:16 2@d0:32"),
    )
    nested = la.parse(NESTED).layout((64, 64))
    xegpu = la.Layout.parse("d0 = 2@sg:4 2@reg:8 8@reg, d1 = 4@sg 16@lane")
    attribute = la.parse(
        "#xegpu.layout<sg_layout = [2, 4], sg_data = [32, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
    )
    counterpart = la.to_nested(attribute.layout((64, 64)))
    cute, linear = la.to_cute(nested), la.to_linear_layout(nested)
    same_again, other = la.parse(NESTED).layout((64, 64)), la.Layout.parse("d0 = 64@reg, d1 = 2@sg 32@lane")
    picture = large.picture()
    planned = candidates_of.__wrapped__  # what la.convert remembers, worked out each time
    exchanged = la.Layout.parse("d0 = 64@reg, d1 = 16@lane"), la.Layout.parse("d0 = 16@lane 4@reg:16, d1 = 16@reg")
    tabled = la.Layout.parse("d0 = 16@lane 255@reg"), la.Layout.parse("d0 = 255@reg 16@lane")
    small_bytes, large_bytes = tile.fragment_map(), large.fragment_map()
    small_copy, large_copy = small_bytes.copy(), large_bytes.copy()
    return {
        "construct, 4 factors": lambda: la.Layout(factors),
        "compose, 2 factors": lambda: la.compose(*two),
        "compose, 6 factors": lambda: la.compose(*six),
        "inverse": tile.inverse,
        "equality": lambda: tile == again,
        "map of 128x128 (512 work-items x 32 registers)": tile.fragment_map,
        "map of 4096x4096": large.fragment_map,
        "numpy copy of the 128x128 map's bytes": small_copy.copy,
        "numpy copy of the 4096x4096 map's bytes": large_copy.copy,
        "parse and layout of a nested attribute": lambda: la.parse(NESTED).layout((64, 64)),
        "to_xegpu": lambda: la.to_xegpu(xegpu),
        "to_nested": lambda: la.to_nested(nested),
        "to_cute": lambda: la.to_cute(nested),
        "from_cute": lambda: la.from_cute(cute),
        "to_linear_layout": lambda: la.to_linear_layout(nested),
        "from_linear_layout": lambda: la.from_linear_layout(linear),
        "same, equal layouts": lambda: la.same(nested, same_again),
        "same, different layouts": lambda: la.same(nested, other),
        "same, an XeGPU and a nested attribute": lambda: la.same(attribute, counterpart, (64, 64)),
        "plan a conversion, 16 lanes x 64 registers": lambda: planned(*exchanged, 32, "pvc", None),
        "plan a conversion by tables, 16 lanes x 255 registers": lambda: planned(*tabled, 32, "pvc", None),
        "picture of 4096x4096, folded: SVG": picture.svg,
        "the same, interactive (two directions)": picture.html,
        "the same, PNG": lambda: picture.figure().savefig(io.BytesIO(), format="png"),
    }


def tensor_layouts_column() -> Column:
    import tensor_layouts as tl

    return cute_column(tl.Layout, tl.compose, tl.right_inverse)


def pycute_column() -> Column:
    import pycute

    return cute_column(pycute.Layout, pycute.composition, pycute.right_inverse)


def cute_column(layout: Any, compose: Any, inverse: Any) -> Column:
    """The same tile as CuTe has it: column-major digits, one integer of (subgroup, lane, register) per element."""
    shape, stride = ((16, 8), (16, 2, 4)), ((2, 4 * 512), (32, 1, 512))
    tile, again = layout(shape, stride), layout(shape, stride)
    two = layout((8, 8), (8, 1)), layout((8, 8), (8, 1))
    six = layout((2,) * 6, (1, 8, 2, 16, 4, 32)), layout((2,) * 6, (32, 16, 8, 4, 2, 1))
    return {
        "construct, 4 factors": lambda: layout(shape, stride),
        "compose, 2 factors": lambda: compose(*two),
        "compose, 6 factors": lambda: compose(*six),
        "inverse": lambda: inverse(tile),
        "equality": lambda: tile == again,
        "map of 128x128 (512 work-items x 32 registers)": lambda: [tile(i) for i in range(128 * 128)],
    }


def triton_column() -> Column:
    from triton.tools import LinearLayout

    def build() -> Any:
        registers = [[0, 16], [1, 0], [2, 0], [4, 0], [8, 0]]
        lanes = [[0, 1], [0, 2], [0, 4], [0, 8]]
        warps = [[0, 32], [0, 64], [16, 0], [32, 0], [64, 0]]
        return LinearLayout.from_bases([("register", registers), ("lane", lanes), ("warp", warps)], ["dim0", "dim1"])

    def line(order: list[int]) -> Any:
        return LinearLayout.from_bases([("x", [[1 << i] for i in order])], ["x"])

    tile, again = build(), build()
    two, six = (line([3, 4, 5, 0, 1, 2]),) * 2, (line([0, 3, 1, 4, 2, 5]), line([5, 4, 3, 2, 1, 0]))
    places = [
        {"warp": warp, "lane": lane, "register": register}
        for warp in range(32)
        for lane in range(16)
        for register in range(32)
    ]
    return {
        "construct, 4 factors": build,
        "compose, 2 factors": lambda: two[0].compose(two[1]),
        "compose, 6 factors": lambda: six[0].compose(six[1]),
        "inverse": tile.invert,
        "equality": lambda: tile == again,
        "map of 128x128 (512 work-items x 32 registers)": lambda: [tile.apply(place) for place in places],
    }


LIBRARIES: dict[str, tuple[str, Callable[[], Column]]] = {
    "layoutalg": ("layoutalg", layoutalg_column),
    "tensor-layouts": ("tensor_layouts", tensor_layouts_column),
    "pycute": ("pycute", pycute_column),
    "Triton LinearLayout": ("triton.tools", triton_column),
}


def shown(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table() -> str:
    results: dict[str, dict[str, float]] = {}
    columns: dict[str, Column] = {}
    for name, (module, column) in LIBRARIES.items():
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            print(f"{name} is not installed and left out (make toolchains)", file=sys.stderr)
            continue
        results[name] = {"import, cold": import_time(module)}
        columns[name] = column()
    # Every row is measured in several rounds, so that a busy moment of the machine does not fall on one row alone.
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(ROUNDS):
        for name, column in columns.items():
            for row, call in column.items():
                times.setdefault((name, row), []).append(statistics.median(samples(call)))
    for (name, row), medians in times.items():
        results[name][row] = statistics.median(medians)
    lines = ["| median of one run | " + " | ".join(results) + " |", "|---|" + "---:|" * len(results)]
    lines += [f"| {row} | " + " | ".join(shown(r.get(row)) for r in results.values()) + " |" for row in ROWS]
    return "\n".join(lines)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--readme", action="store_true", help="write the table into README.md")
    into_readme = arguments.parse_args().readme
    text = table()
    print(text)
    if into_readme:
        readme = README.read_text()
        head, _, rest = readme.partition(START)
        tail = rest.partition(END)[2]
        README.write_text(f"{head}{START}\n\n{text}\n\n{END}{tail}")


if __name__ == "__main__":
    main()
