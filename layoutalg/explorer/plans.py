"""Plans of matrix products: the question `gemm`, answered by the planner of `layoutalg gemm`.

>>> found = gemm(Question({"m": 256, "n": 256, "k": 256, "target": "pvc"}))
>>> found["title"], found["tables"][0][0][0], len(found["candidates"])
('C[256, 256] f32 = A[256, 256] f16 * B[256, 256] f16 on pvc', 'tiles', 5)
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import LayoutError
from layoutalg.explorer.questions import Question, about, pictured

if TYPE_CHECKING:
    from layoutalg.gemm import Gemm
    from layoutalg.gemm.amx import AmxGemm
    from layoutalg.show.plan_report import PlanReport

__all__ = ["gemm", "gemm_text", "planned"]

_WIDE = 160
"""Columns of a report as text."""


def gemm(asked: Question) -> dict[str, Any]:
    """A plan: its report as tables of rows of cells, the tilings that lost and why, and its picture."""
    plan = planned(asked)
    report = _report(plan)
    facts, (*tables, _) = report.as_json(), report.shown()
    others = [{"tiling": one["tiling"], "why": one["reason"]} for one in facts["runners_up"]]
    rows = [[[*row] for row in table] for table in tables]
    answer = {"title": report.heading, "tables": rows, "candidates": others}
    return answer | pictured(lambda: {"svg": plan.picture().svg()})


def planned(asked: Question) -> Gemm | AmxGemm:
    """The plan for the sizes, the types and the target that are asked for."""
    from layoutalg.conversion.price import DEFAULT_CHIP
    from layoutalg.gemm import plan_gemm

    sizes: list[int] = []
    for name in ("m", "n", "k"):
        size = asked.whole(name)
        with about(name):
            if size is None:
                raise LayoutError(f"{name}: missing")
        sizes.append(size)
    m, n, k = sizes
    a, b, c = (None if asked.get(name) is None else asked.text(name) for name in ("a", "b", "c"))
    target = DEFAULT_CHIP if asked.get("target") is None else asked.text("target")
    with about("target"):
        return plan_gemm(m, n, k, a, b, c, target)


def gemm_text(asked: Question) -> str:
    """The plan as `layoutalg gemm` prints it."""
    from rich.console import Console

    out = io.StringIO()
    _report(planned(asked)).print(Console(file=out, width=_WIDE, markup=False, highlight=False, emoji=False))
    return out.getvalue()


def _report(plan: Gemm | AmxGemm) -> PlanReport:
    from layoutalg.gemm import Gemm
    from layoutalg.show.amx_gemm import amx_report
    from layoutalg.show.gemm import gemm_report

    return gemm_report(plan) if isinstance(plan, Gemm) else amx_report(plan)
