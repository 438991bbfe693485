"""What CuTe's algebra costs here, in NVIDIA's pycute and in Meta's tensor-layouts, in one run: microseconds an operation.

    python benchmarks/cute.py

Every case checks first that the three say the same; a case that one of them refuses or gets wrong says so in its place.
"""

from __future__ import annotations

import timeit
import warnings
from collections.abc import Callable
from typing import Any

from layoutalg import cute
from layoutalg.core.errors import LayoutError

CASES = {
    "coalesce a matrix": ("coalesce", "((4,(16,4)),8):((64,(1,16)),256)"),
    "composition, 64x64 by 8x8": ("composition", "(64,64):(64,1)", "(8,8):(1,64)"),
    "composition, nested": ("composition", "((8,8),(8,8)):((1,512),(8,64))", "((4,2),(8,4)):((1,32),(64,8))"),
    "complement": ("complement", "(4,8):(1,32)", 4096),
    "logical_divide": ("logical_divide", "(128,64):(64,1)", "(4,8):(1,128)"),
    "zipped_divide by tile": ("zipped_divide", "(128,64):(64,1)", ("16:1", "8:1")),
    "logical_product": ("logical_product", "(8,8):(8,1)", "(4,2):(1,4)"),
    "right_inverse": ("right_inverse", "(8,16,4):(64,1,16)"),
    "left_inverse": ("left_inverse", "(8,16,4):(64,1,16)"),
    "2^40 elements: composition": ("composition", "(1048576,1048576):(1048576,1)", "(1024,1024):(1024,1048576)"),
}


def ours(name: str, *arguments: Any) -> Callable[[], Any]:
    read = [cute.parse_cute(one) if isinstance(one, str) else one for one in arguments]
    read = [tuple(map(cute.parse_cute, one)) if isinstance(one, tuple) else one for one in read]
    function = getattr(cute, name)
    return lambda: function(*read)


def theirs(library: Any, name: str, *arguments: Any) -> Callable[[], Any]:
    def layout(text: str) -> Any:
        value = cute.parse_cute(text)
        return library.Layout(value.shape, value.stride)

    read = [layout(one) if isinstance(one, str) else one for one in arguments]
    read = [tuple(map(layout, one)) if isinstance(one, tuple) else one for one in read]
    function = getattr(library, {"composition": "compose"}.get(name, name) if library.__name__ != "pycute" else name)
    return lambda: function(*read)


def microseconds(call: Callable[[], Any]) -> float:
    count = 200
    return min(timeit.repeat(call, number=count, repeat=7)) / count * 1e6


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pycute
        import tensor_layouts
    print(f"{'microseconds':28} {'layoutalg':>10} {'pycute':>10} {'tensor-layouts':>15}")
    for title, (name, *arguments) in CASES.items():
        call = ours(name, *arguments)
        wanted = str(call()).replace(" ", "")
        row = [f"{microseconds(call):.1f}"]
        for library in (pycute, tensor_layouts):
            try:
                other = theirs(library, name, *arguments)
                said = str(other()).replace(" ", "").replace(",)", ")")
            except (AssertionError, AttributeError, LayoutError, ValueError) as error:
                row.append(type(error).__name__)
                continue
            row.append(f"{microseconds(other):.1f}{'' if said == wanted else ' (other)'}")
        print(f"{title:28} {row[0]:>10} {row[1]:>10} {row[2]:>15}")


if __name__ == "__main__":
    main()
