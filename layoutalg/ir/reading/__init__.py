"""MLIR text in: one module, strictly (`read_module`), or whatever stands in a file (`read_file_text`)."""

from layoutalg.ir.reading.files import Part, Reading, read_file_text
from layoutalg.ir.reading.reader import read_module

__all__ = ["Part", "Reading", "read_file_text", "read_module"]
