"""Arithmetic of the simulator: what each element type's operations compute, as functions of numpy arrays.

No module here knows an operation of MLIR; `layoutalg.simulate.operations` says which operation is which function.
"""

__all__: list[str] = []
