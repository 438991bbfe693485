"""Work stays proportional to the module: many operations of constants."""

from __future__ import annotations

import time

import pytest

import layoutalg as la

_ROWS, _COLUMNS = (f"#xegpu.layout<lane_layout = [{lanes}], lane_data = [1, 1]>" for lanes in ("16, 1", "1, 16"))
_HEAD = """gpu.module @m { gpu.func @k(%p: memref<16x16xf32>) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
  %t = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> !xegpu.tensor_desc<16x16xf32>
  %x0 = arith.constant dense<1.0> : vector<16x16xf32>
"""


def doubled(count: int) -> str:
    """A constant that is added to itself again and again, and used in two layouts: without care, 2 to the count visits."""
    added = "".join(f"%x{n + 1} = arith.addf %x{n}, %x{n} : vector<16x16xf32>\n" for n in range(count))
    stores = "".join(
        f"xegpu.store_nd %x{count}, %t[0, 0] <{{layout = {layout}}}> : vector<16x16xf32>, !xegpu.tensor_desc<16x16xf32>\n"
        for layout in (_ROWS, _COLUMNS)
    )
    return f"{_HEAD}{added}{stores}gpu.return }} }}"


@pytest.mark.parametrize("like", ["llvm22", "llvm23", "llvm24"])
@pytest.mark.parametrize("count", [40, 800])
def test_sums_of_constants_are_visited_once(like: str, count: int) -> None:
    start = time.process_time()
    la.propagate(doubled(count), like=like)
    assert time.process_time() - start < 20
