"""A kernel for XeGPU while it is written: a function with the arguments of a plan, in a module for the device.

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 64, tile=(16, 32)))
>>> row = kernel.plus(kernel.index(kernel.arguments["m"]), 8)
>>> print(kernel.writer.text())
%c8 = arith.constant 8 : index
%size_m = arith.index_cast %m : i32 to index
%0 = arith.addi %size_m, %c8 : index
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.emission.addresses import signature
from layoutalg.gemm.emission.function import FunctionWriter
from layoutalg.gemm.roles import other_name

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm
    from layoutalg.gemm.problem import Problem

__all__ = ["KERNEL", "REDUCE", "KernelWriter"]

REDUCE = "gemm_reduce"
"""The name of the second kernel, where k is in parts."""
KERNEL = "gemm"
"""The name of the kernel, and of its gpu.module."""


class KernelWriter(FunctionWriter):
    """One kernel while it is written. `static` writes the sizes as constants; else they are the kernel's arguments.

    With `pointers` its matrices are arguments of a pointer type, else numbers of 64 bits. Where A and B change roles, `gemm` is
    the plan of the loop (`Gemm.loop`), and `arguments` are by their names there: its "a" is the argument `b`.
    """

    def __init__(self, gemm: Gemm, *, static: bool = False, pointers: bool = False) -> None:
        self.launched = gemm
        self.gemm = gemm.loop
        self.static = static
        self.pointers = pointers
        named = other_name if self.turned else str
        self.arguments = {named(name): Value(kind, name=name) for name, kind in gemm.parameters}
        super().__init__(tuple(self.arguments.values()))
        self.functions: dict[str, str] = {}
        """Declarations of functions that the kernel calls: name to text."""
        self.aliases: dict[str, str] = {}
        """Attributes that the text names: `#name = text`."""
        self.busy: Value | None = None
        """Whether this workgroup has rows, where it looks for its group (`layoutalg.gemm.grouped`)."""
        self._sizes: dict[Value, Value] = {}

    @property
    def turned(self) -> bool:
        """Whether A and B have changed roles, so that C of the loop lies transposed in memory."""
        return self.launched.exchanged

    @property
    def behind(self) -> Problem:
        """The problem as it is behind the loop: what is computed there, and which C is stored."""
        return self.launched.problem if self.launched.problem.gated else self.gemm.problem

    def index(self, argument: Value) -> Value:
        """An argument of the kernel as an index, or the number that it will have in a static kernel; made once."""
        if argument not in self._sizes:
            plan = self.launched
            numbers = dict(zip([name for name, kind in plan.parameters if kind == "i32"], plan.arguments, strict=False))
            if self.static and argument.name in numbers:
                self._sizes[argument] = self.constant(numbers[argument.name])
            else:
                self._sizes[argument] = self.named(f"size_{argument.name}", self.cast(argument, "index"))
        return self._sizes[argument]

    def function(self, name: str, subgroups: int) -> list[str]:
        """The lines of the kernel, with so many subgroups in a workgroup."""
        lanes = self.gemm.problem.dpas.subgroup_size
        plan = self.launched
        count = len(plan.parameters) - len(plan.arguments)
        parameters, first = signature(plan.parameters, count if self.pointers else 0)
        attributes = (
            f"intel_reqd_sub_group_size = {lanes} : i32, known_block_size = array<i32: {lanes * subgroups}, 1, 1>"
        )
        return [
            f"    gpu.func @{name}({parameters}) kernel attributes {{{attributes}}} {{",
            *(f"      {line}" for line in first),
            self.writer.text("      "),
            "      gpu.return",
            "    }",
        ]

    def text(self, others: Sequence[str] = ()) -> str:
        """The whole module; `others` are the lines of other kernels in it."""
        lines = [
            *(f"#{name} = {attribute}" for name, attribute in self.aliases.items()),
            "builtin.module attributes {gpu.container_module} {",
            f"  gpu.module @{KERNEL} {{",
            *(f"    {declaration}" for declaration in self.functions.values()),
            *self.function(KERNEL, self.gemm.tiling.count),
            *others,
            "  }",
            "}",
        ]
        return "\n".join(lines) + "\n"
