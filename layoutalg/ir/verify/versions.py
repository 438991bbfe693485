"""Which operations a version of LLVM does not have: one table.

>>> absent("xegpu.create_tdesc", 22), absent("xegpu.create_tdesc", 23)[:60]
(None, "unregistered operation 'xegpu.create_tdesc' found in dialect")
"""

from __future__ import annotations

from functools import lru_cache

from layoutalg.ir.operations.rows import row_of

__all__ = ["absent"]

_DIALECTS = {"amx": (22,), "x86.amx": (23, 24), "x86vector": (22,)}
"""Dialects that came or went, and the versions that have them."""

_ELEMENTWISE = (
    "abs", "add", "ceil", "div", "div_unsigned", "erf", "exp", "floor", "log", "max", "min", "mul", "negf", "powf",
    "reciprocal", "round", "rsqrt", "select", "sqrt", "square", "sub", "tanh",
)  # fmt: skip
"""Named operations on elements, which `linalg.elementwise` replaces in LLVM 24."""

_OPERATIONS = {f"linalg.{name}": (22, 23) for name in _ELEMENTWISE}
"""Operations of dialects that stay, and the versions that have them, where no table says it."""


@lru_cache(maxsize=4096)
def absent(name: str, llvm: int) -> str | None:
    """The diagnostic of a version of LLVM for an operation that it does not have; None where it has it or that is not known.

    >>> absent("amx.tile_zero", 24)
    "Dialect `amx' not found for custom op 'amx.tile_zero'"
    """
    dialect = name.rpartition(".")[0]
    versions = _DIALECTS.get(dialect)
    if versions is not None and llvm not in versions:
        return f"Dialect `{dialect}' not found for custom op '{name}'"
    row = row_of(name)
    if dialect == "xegpu" and (row is None or llvm not in row.versions):
        return f"unregistered operation '{name}' found in dialect ('{dialect}') that does not allow unknown operations"
    if llvm not in (row.versions if row is not None else _OPERATIONS.get(name, (llvm,))):
        return f"custom op '{name}' is unknown"
    return None
