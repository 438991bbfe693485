"""MLIR modules on xDSL: the dialects that kernels use, reading, writing, verifying, migrating.

>>> from layoutalg.ir import read_module, write_module
>>> "arith.constant 16 : index" in write_module(read_module("%c = arith.constant 16 : index"))
True

`dialects` declares operations and types; `reading` makes a module of a text, `writing` a text of a module; `verify` has the
rules of each version of LLVM and our own; `findings` is what they report, `places` where.
Loading this package loads xDSL (0.2 s); the rest of layoutalg does so only when it reads or writes MLIR.
"""

from layoutalg.ir.findings import Finding
from layoutalg.ir.places import Place, line_of, place_of
from layoutalg.ir.reading import Part, Reading, read_file_text, read_module
from layoutalg.ir.writing import write_module

__all__ = [
    "Finding",
    "Part",
    "Place",
    "Reading",
    "line_of",
    "place_of",
    "read_file_text",
    "read_module",
    "write_module",
]
