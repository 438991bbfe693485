"""A kernel's text, run at a level, against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutalg.simulate import launch
from tests.simulate.levels.kernels import Kernel

Array = NDArray[Any]


def computed(kernel: Kernel, text: str, level: Any) -> tuple[Array, list[str]]:
    """What a launch of the text writes, and the rules of what it found."""
    arrays = kernel.operands()
    outcome = launch(text, arrays, kernel.grid, level=level)
    return arrays[-1], [finding.rule for finding in outcome.findings]


def matches(kernel: Kernel, result: Array) -> bool:
    """Whether a result is the definition's: the same values, or within the kernel's relative tolerance."""
    expected = kernel.expected(kernel.operands())
    if not kernel.tolerance:
        return bool((result == expected).all())
    wide, exact = result.astype(np.float64), expected.astype(np.float64)
    return bool((np.abs(wide - exact) <= kernel.tolerance * np.maximum(np.abs(exact), np.abs(exact).max() / 64)).all())


def check(kernel: Kernel, text: str, level: str) -> Array:
    """Run a text and compare it; gives what was computed."""
    result, rules = computed(kernel, text, level)
    assert not rules
    assert matches(kernel, result)
    return result
