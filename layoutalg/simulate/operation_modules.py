"""Which modules say what operations do, one line each: they are loaded when the first kernel is compiled.

>>> SUBJECTS[0]
'layoutalg.simulate.operations.amx'
"""

__all__ = ["SUBJECTS"]

SUBJECTS = (
    "layoutalg.simulate.operations.amx",
    "layoutalg.simulate.operations.arith",
    "layoutalg.simulate.operations.barriers",
    "layoutalg.simulate.operations.builtins",
    "layoutalg.simulate.operations.clusters",
    "layoutalg.simulate.operations.control",
    "layoutalg.simulate.operations.dpas",
    "layoutalg.simulate.operations.exchange",
    "layoutalg.simulate.operations.gpu",
    "layoutalg.simulate.operations.host",
    "layoutalg.simulate.operations.indices",
    "layoutalg.simulate.operations.inline_assembly",
    "layoutalg.simulate.operations.intrinsics",
    "layoutalg.simulate.operations.llvm",
    "layoutalg.simulate.operations.layouts",
    "layoutalg.simulate.operations.math",
    "layoutalg.simulate.operations.matrix",
    "layoutalg.simulate.operations.memref",
    "layoutalg.simulate.operations.regions",
    "layoutalg.simulate.operations.scattered",
    "layoutalg.simulate.operations.vector",
    "layoutalg.simulate.operations.vector_memory",
    "layoutalg.simulate.operations.vector_products",
    "layoutalg.simulate.operations.xevm",
)
"""The modules that register what operations do, one line each."""
