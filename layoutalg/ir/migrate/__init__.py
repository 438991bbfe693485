"""A module in the syntax and with the operations of another version of LLVM: `migrate_module`.

`migration` runs the steps, `carried` follows descriptors through loops and branches, `blocks` and `scattered` rewrite the
operations on them, `layouts` adds the sizes that newer versions require, `amx` renames that dialect.
"""

from layoutalg.ir.migrate.migration import Migration, migrate_module

__all__ = ["Migration", "migrate_module"]
