"""Times of planned products: figures where the CPU has AMX, a reason in words where it has not."""

from __future__ import annotations

from typing import Any

import pytest

from layoutalg.core.errors import PlanError, SizeError
from layoutalg.gemm.amx import plan_amx, timing
from layoutalg.gemm.amx.processor import cpu_flags
from layoutalg.gemm.amx.timing import measured_clock
from tests.oracle.amx_code import native, require_llvm


@pytest.mark.parametrize("dynamic_m", [False, True])
def test_a_timing_is_below_the_peak_and_above_a_thousandth_of_it(dynamic_m: bool) -> None:
    require_llvm(24)
    plan = plan_amx(256, 256, 256, dynamic_m=dynamic_m)
    if not native(plan.problem):
        with pytest.raises(PlanError, match=r"^time: this .*; plan\.run computes the product without AMX"):
            plan.time(0.1)
        return
    found = plan.time(0.1)
    assert found.operations == 2 * 256**3
    for seconds in (found.seconds, found.seconds_prepacked):
        assert 0.001 < found.operations / seconds / found.peak < 1.1
    assert 1024 * 0.5e9 < found.peak < 1024 * 8e9
    assert "B packed before" in str(found)
    assert "GHz, measured behind the products" in str(found)


def test_a_cpu_without_amx_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("layoutalg.gemm.amx.processor.cpu_flags", lambda: cpu_flags() - {"amx_tile"})
    with pytest.raises(PlanError, match=r"this CPU has no amx-tile.*; plan\.run computes the product without AMX"):
        plan_amx(64, 64, 64).time()


def test_the_clock_is_that_of_a_cpu() -> None:
    require_llvm(24)
    assert 0.5e9 < measured_clock(24) < 8e9


def test_what_is_too_large_or_no_time_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "native_refusal", lambda _feature: None)
    wrong: tuple[Any, ...] = (0, -1.0, 1e9, "long", None, True, float("nan"))
    for seconds in wrong:
        with pytest.raises(PlanError, match="expected a number above 0, at most 600"):
            plan_amx(64, 64, 64).time(seconds)
    with pytest.raises(SizeError, match="at most 134217728 are measured"):
        plan_amx(2**14, 2**14, 64).time()
