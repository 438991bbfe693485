"""Kernels run on numpy arrays with all work-items at once.

`launch` runs MLIR text on arrays and a grid of workgroups. `run_kernel` does so on a `Memory` that the caller has laid
out: it gives arrays the addresses that kernels take.

>>> from layoutalg.simulate import Memory, run_kernel
>>> run_kernel("gpu.module @k { gpu.func @f() kernel { gpu.return } }", [], (1, 1, 1), Memory())
Traceback (most recent call last):
layoutalg.simulate.machine.SimulationError: line 1: gpu.func: intel_reqd_sub_group_size = 16 : i32 or the argument \
subgroup_size (--subgroup-size) is needed to know the lanes
"""

from layoutalg.simulate.cases import Cases, launch_cases
from layoutalg.simulate.executed import Executed
from layoutalg.simulate.kernel import run_kernel
from layoutalg.simulate.launching import Outcome, launch
from layoutalg.simulate.machine import SimulationError
from layoutalg.simulate.memory import Memory
from layoutalg.simulate.numerics import numpy_type

__all__ = [
    "Cases",
    "Executed",
    "Memory",
    "Outcome",
    "SimulationError",
    "launch",
    "launch_cases",
    "numpy_type",
    "run_kernel",
]
