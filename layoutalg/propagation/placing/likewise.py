"""The module that LLVM's own propagation makes of a module.

>>> from layoutalg.module import read
>>> print(like(read("gpu.barrier"), 22, "lane", "pvc").source, end="")
builtin.module {
  gpu.barrier
}
"""

from __future__ import annotations

from layoutalg.ir import write_module
from layoutalg.module.module import SEPARATOR, Module
from layoutalg.propagation.malformed import refused_where_malformed

__all__ = ["like"]


def like(module: Module, llvm: int, level: str, target: str) -> Module:
    """The module with the layouts that this version of LLVM propagates.

    Raises `LayoutError` where that version refuses the module.

    >>> from layoutalg.module import read
    >>> like(read("gpu.barrier"), 22, "lane", "pvc").is_read
    True
    """
    from layoutalg.propagation.like_llvm import propagated_like

    with refused_where_malformed(module, llvm):
        made = [propagated_like(part.module, llvm, level, target) for part in module.parts]
        text = SEPARATOR.join(write_module(one, llvm=llvm) for one in made)
    return Module(text, module.file)
