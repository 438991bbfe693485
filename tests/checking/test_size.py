"""Ten thousand operations in one function are checked."""

from __future__ import annotations

import pytest

import layoutalg as la
from layoutalg.checking import check
from tests.checking import modules

WHOLE = modules.subgroups("4, 2", "16, 32", ", lane_layout = [1, 16], lane_data = [1, 1]")


def generated(operations: int) -> str:
    """Sums of rows along a chain of elementwise operations; some say their layouts and some do not."""
    lines = [*modules.load("v0", "64x64", WHOLE)]
    last = 0
    for number in range(operations // 5):
        lines += [
            f"%v{last + 1} = arith.addf %v{last}, %v{max(last - 3, 0)} {{layout_result_0 = {WHOLE}}} : vector<64x64xf32>",
            f"%v{last + 2} = math.exp %v{last + 1} : vector<64x64xf32>",
            f"%z{number} = arith.constant dense<0.0> : vector<64xf32>",
            f"%r{number} = vector.multi_reduction <add>, %v{last + 2}, %z{number} "
            f"{{layout_result_0 = #xegpu.slice<{WHOLE}, dims = [1]>}} [1] : vector<64x64xf32> to vector<64xf32>",
            f"%v{last + 3} = arith.mulf %v{last + 2}, %v{last + 2} : vector<64x64xf32>",
        ]
        last += 3
    return modules.kernel(*lines, items=128)


@pytest.mark.slow
def test_ten_thousand_operations_are_checked() -> None:
    found = check(la.read(generated(10_000)))
    assert found.is_right
    assert found.operations >= 10_000
