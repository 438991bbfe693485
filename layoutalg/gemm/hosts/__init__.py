"""Host programs for planned kernels: complete texts that load the binary, allocate, launch, check and time.

    opencl-c      C, with OpenCL's headers and loader
    pyopencl      Python, with pyopencl and numpy
    sycl          C++, with Intel's SYCL; any C++17 compiler makes it
    level-zero    C, with Level Zero's headers and loader

Every program knows one plan alone: sizes, strides, types and the epilogue stand in its text, from `plan.launch`. It fills the
matrices, launches once, compares with a reference that the host computes in f64, launches ten times more, and prints the
largest error and the milliseconds of one launch. It ends with 0 where the result is right, 1 where it is wrong, and another
where a call fails.

>>> text = host_of(la.plan_gemm(64, 64, 64), "opencl-c")
>>> text.count("int main("), "clEnqueueNDRangeKernel" in text
(1, True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.core.errors import PlanError
from layoutalg.core.whole_numbers import one_of

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.plan import Gemm

__all__ = ["ROUTES", "host_of"]

ROUTES = ("opencl-c", "pyopencl", "sycl", "level-zero")
"""The interfaces that hosts are written for."""


def host_of(plan: Gemm | Attention, route: str) -> str:
    """The text of a program that launches the plan's kernel.

    Raises `PlanError` for other routes.
    """
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
