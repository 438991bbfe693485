"""A plan's module as MLIR text: `layoutalg.gemm.amx.emission.module` says what is in it."""

from layoutalg.gemm.amx.emission.module import emit_module

__all__ = ["emit_module"]
