"""MLIR text in: one module, strictly (`read_module`)."""

from layoutalg.ir.reading.reader import read_module

__all__ = ["read_module"]
