"""The layout propagation of LLVM 22, 23 and 24, reproduced: the layouts that those compilers write, to compare with."""

from __future__ import annotations

from layoutalg.side.llvm_passes.dispatching import propagate
from layoutalg.side.llvm_passes.propagating import propagated_like

__all__ = ["propagate", "propagated_like"]
