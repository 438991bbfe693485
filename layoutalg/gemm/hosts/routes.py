"""Which host programs there are, and the one that writes each.

>>> text = host_of(la.plan_gemm(64, 64, 64), "pyopencl")
>>> text.splitlines()[0].lstrip('"')
'C[64, 64] f32 = A[64, 64] f16 * B[64, 64] f16 on pvc'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import one_of
from layoutalg.gemm.launch import checked_launch

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.plan import Gemm

__all__ = ["ROUTES", "host_of"]

ROUTES = ("opencl-c", "pyopencl", "sycl", "level-zero")
"""The interfaces that hosts are written for."""


def host_of(plan: Gemm | Attention, route: str) -> str:
    """The text of a program that launches the plan's kernel.

    Raises `PlanError` for other routes and where `plan` isn't a plan.

    >>> host_of(la.plan_gemm(64, 64, 64), "cuda")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: host 'cuda': expected 'opencl-c', 'pyopencl', 'sycl' or 'level-zero'
    """
    checked_launch(plan)
    route = one_of(route, ROUTES, "host", PlanError)
    if route == "opencl-c":
        from layoutalg.gemm.hosts.opencl_c import opencl_c as write
    elif route == "pyopencl":
        from layoutalg.gemm.hosts.python_opencl import pyopencl as write
    elif route == "sycl":
        from layoutalg.gemm.hosts.sycl import sycl as write
    else:
        from layoutalg.gemm.hosts.level_zero import level_zero as write
    return write(plan)
