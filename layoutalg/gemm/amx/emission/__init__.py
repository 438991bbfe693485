"""A plan's module as MLIR text: `layoutalg.gemm.amx.emission.module` says what is in it."""

__all__: list[str] = []
