"""The functions that lowered kernels call: their module declares each once, and has them for Intel's chips alone.

A conversion within one subgroup waits by a call of OpControlBarrier (see `conversion.lowering.barriers`), which a module that
says so itself has already:

>>> from layoutalg.ir import read_module
>>> list(declared_functions(read_module("llvm.func spir_funccc @wait(i32, i32, i32) attributes {convergent}")))
['wait']
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from layoutalg.hardware.chips import target_info

__all__ = ["declared_functions", "written_for"]


def written_for(target: str) -> str:
    """The chip whose forms are written: XeGPU's kernels are Intel's.

    >>> written_for("bmg"), written_for("sm_90")
    ('bmg', 'generic')
    """
    return target if target_info(target).vendor == "intel" else "generic"


def declared_functions(module: Operation) -> Iterator[str]:
    """The names of the functions of LLVM's dialect that a module has."""
    for operation in module.walk():
        name = operation.properties.get("sym_name") if operation.name == "llvm.func" else None
        if isinstance(name, StringAttr):
            yield name.data
