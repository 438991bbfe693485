"""What every operation does: one module per subject, which registers a function for each class of operations.

The modules are listed in `layoutalg.simulate.operation_modules`. Nobody calls their functions by name.
"""

__all__: list[str] = []
