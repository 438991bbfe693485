"""The documentation's list of operations, made from the tables: `listing`.

>>> print(next(line for line in listing().splitlines() if "`shuffle`" in line).partition(" Rec")[0])
| `shuffle` | value, offset, width → shuffleResult, valid {mode} | 22, 23, 24 |

Operations whose class reads and prints them are listed with the sentence of the class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation

from layoutalg.ir.dialects import DIALECTS, known_dialects
from layoutalg.ir.operations.rows import Row, Value, rows_of

__all__ = ["listing"]


def listing() -> str:
    """A Markdown table for each dialect that is declared here.

    >>> "### vector" in listing().splitlines()
    True
    """
    context = known_dialects()
    found: list[str] = []
    for dialect, home in DIALECTS.items():
        if home.startswith("layoutalg."):
            rows = [_row(row) for row in rows_of(dialect).values()]
            context.get_optional_op(f"{dialect}.nothing")  # loads the dialect
            loaded = next(one for one in context.loaded_dialects if one.name == dialect)
            rows += _by_hand(dialect, list(loaded.operations))
            found += [
                f"### {dialect}",
                "",
                "| operation | operands and results | LLVM | |",
                "|---|---|---|---|",
                *rows,
                "",
            ]
    return "\n".join(found)


def _row(row: Row) -> str:
    shape = row.shape
    attributes = f" {{{', '.join(one.name for one in shape.attributes)}}}" if shape.attributes else ""
    values = " → ".join(filter(None, (_names(shape.operands), _names(shape.results)))) if shape.results else ""
    values = values or _names(shape.operands)
    versions = ", ".join(map(str, row.versions)) or "older pages"
    return f"| `{row.name.partition('.')[2]}` | {values}{attributes} | {versions} | {row.says} |"


def _names(values: Sequence[Value]) -> str:
    return ", ".join(value.name + {"1": "", "?": " (optional)", "*": " ..."}[value.count] for value in values)


def _by_hand(dialect: str, operations: Sequence[type[Operation]]) -> Iterator[str]:
    """The operations that no table has."""
    known = rows_of(dialect)
    for operation in sorted(operations, key=lambda operation: operation.name):
        if operation.name not in known:
            says = " ".join((operation.__doc__ or "").strip().split("\n\n")[0].split())
            name = operation.name.removeprefix(f"{dialect}.")
            yield f"| `{name}` | | | {says} |"
