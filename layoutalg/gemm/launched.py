"""What plans have in common: a line of words, and what one for a GPU is made into: a host program, and its binary.

Products and attention have both. A plan says in `launch` what a host has to know (`layoutalg.gemm.launch`); the rest follows:

>>> plan = la.plan_gemm(64, 64, 64)
>>> plan.launch.kernel in plan.host("pyopencl")
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import os

    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.building import KernelFile
    from layoutalg.gemm.plan import Gemm

__all__ = ["Launched", "Planned"]


class Planned:
    """A product and how it is tiled; in words that is one line.

    >>> str(la.plan_gemm(64, 64, 64, target="bmg")).partition(": ")[0]
    'C[64, 64] f32 = A[64, 64] f16 * B[64, 64] f16 on bmg'
    """

    problem: Any
    tiling: Any

    def __str__(self) -> str:
        return f"{self.problem}: {self.tiling}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"


class Launched:
    """A plan with a `launch`: hosts launch its kernels, and its binary can be written.

    >>> isinstance(la.plan_gemm(64, 64, 64), Launched)
    True
    """

    def host(self, route: str = "opencl-c") -> str:
        """A complete program that loads the kernel's binary, launches it, checks the result and times it.

        `route` is "opencl-c" (C), "pyopencl" (Python), "sycl" (C++) or "level-zero" (C). Raises `PlanError` for others.

        >>> "clEnqueueNDRangeKernel" in la.plan_gemm(64, 64, 64).host("opencl-c")
        True
        """
        from layoutalg.gemm.hosts.routes import host_of

        return host_of(cast("Gemm | Attention", self), route)

    def build(self, path: str | os.PathLike[str]) -> KernelFile:
        """Write the kernel at lane level as a host loads it: SPIR-V for a name that ends with .spv, machine code for .zebin.

        Raises:
            PlanError: for other names, where a compiler is not installed or refuses the kernel, and where the file cannot be
                written or exists and isn't a kernel.

        >>> la.plan_gemm(64, 64, 64).build("gemm.so")
        Traceback (most recent call last):
        layoutalg.core.errors.PlanError: path = 'gemm.so': expected a name that ends with .spv or .zebin
        """
        from layoutalg.gemm.building import build_kernel

        return build_kernel(cast("Gemm | Attention", self), path)
