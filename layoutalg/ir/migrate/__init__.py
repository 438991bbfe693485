"""A module in the syntax and with the operations of another version of LLVM: `migrate_module`.

`migration` is the way through, `carried` follows descriptors through loops and branches, `blocks` and `scattered` rewrite the
operations on them, `layouts` completes what newer versions want written, `amx` has the new names of that
dialect.
"""

from layoutalg.ir.migrate.migration import Migration, migrate_module

__all__ = ["Migration", "migrate_module"]
