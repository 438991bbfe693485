"""Host programs for planned kernels: complete texts that load the binary, allocate, launch, check and time.

    opencl-c      C, with OpenCL's headers and loader
    pyopencl      Python, with pyopencl and numpy
    sycl          C++, with Intel's SYCL; any C++17 compiler makes it
    level-zero    C, with Level Zero's headers and loader

Every program knows one plan alone: sizes, strides, types and the epilogue stand in its text, from `plan.launch`. It fills the
matrices, launches once, compares with a reference that the host computes in f64, launches ten times more, and prints the
largest error and the milliseconds of one launch. It ends with 0 where the result is right, 1 where it is wrong, and another
where a call fails.

>>> from layoutalg.gemm.hosts import host_of
>>> text = host_of(la.plan_gemm(64, 64, 64), "opencl-c")
>>> text.count("int main("), "clEnqueueNDRangeKernel" in text
(1, True)
"""

from typing import TYPE_CHECKING

from layoutalg.core.lazy import lazy_names

if TYPE_CHECKING:
    from layoutalg.gemm.hosts.routes import ROUTES, host_of

__all__ = ["ROUTES", "host_of"]
_HOMES = {"ROUTES": "routes", "host_of": "routes"}
__getattr__ = lazy_names(__name__, globals(), _HOMES)
