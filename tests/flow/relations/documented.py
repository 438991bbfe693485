"""The tables of docs/relations.md: what stands in them, and what the code gives for their examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.ir import Operation

from layoutalg.core.layout import Layout
from layoutalg.flow.relations import Relation, Tie, relation_of
from layoutalg.ir import read_module
from layoutalg.ir.operations.rows import names_with

PAGE = Path(__file__).parents[3] / "docs" / "relations.md"
_DEMANDS = {
    "BlockDemand": "block message",
    "DpasDemand": "fragment",
    "AddressedDemand": "any layout, at a price",
}
_MADE = {"equal": "equal elements", "counted": "counted from positions", "listed": "listed elements"}


@dataclass(frozen=True)
class Row:
    """A line of a table: the operations that it is about, an example of the first, and what is said of it."""

    operations: tuple[str, ...]
    example: str
    ties: str
    reach: str
    demand: str


def values(page: str) -> str:
    """The declaration of the values that the examples use."""
    found = re.search(r">>> values = read_module\('{3}\n(.*?)'{3}\)", page, re.DOTALL)
    assert found is not None
    return found[1].replace("... ", "")


def rows(page: str) -> Iterator[Row]:
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == 5:
            yield Row(tuple(_operations(re.findall(r"`([^`]*)`", cells[0]))), cells[1].strip("`"), *cells[2:])


def _operations(written: list[str]) -> Iterator[str]:
    """The operations of a cell; a trait stands for those that have it and are not named."""
    for word in written:
        named = (word,) if "." in word else names_with(word, "arith", "math", "vector")
        yield from (name for name in named if name == word or name not in written)


def asked(row: Row, declared: str) -> tuple[str, str, str]:
    """Ties, reach and demand of the example, as the table writes them."""
    first = row.operations[0]
    module = read_module(declared + row.example)
    operation = next(op for op in reversed(list(module.walk())) if op.name == first)
    relation = relation_of(operation)
    assert relation is not None, f"{first} has no relation"
    return _ties(operation, relation), _reach(relation), _demand(relation)


def _ties(operation: Operation, relation: Relation) -> str:
    found = [_tie(operation, tie) for tie in relation.ties]
    found += [f"{_tie(operation, tie)} (a scalar for all)" for tie in relation.uniform]
    found += [f"{_tie(operation, tie)} (of another function)" for tie in relation.calls]
    if relation.one:
        found.append("argument and result are one")
    if relation.makes is not None:
        found.append(
            {"equal": "equal elements", "counted": "counted from positions", "listed": "listed elements"}[
                relation.makes
            ]
        )
    return "<br>".join(found) or "none"


def _tie(operation: Operation, tie: Tie) -> str:
    who = "" if tie.user is operation else f"{tie.user.name} "
    text = f"{who}{tie.number}: `{_text(tie.relation)}`"
    return text if tie.covered is None else f"{text} but `{_text(tie.covered)}`"


def _text(relation: Layout) -> str:
    """Without the bars, which would end a cell."""
    return str(relation).replace(" | ", "; ")


def _reach(relation: Relation) -> str:
    found: list[str] = []
    for tie in (*relation.ties, *relation.uniform, *relation.calls):
        reach = f"{tie.reach}, combines" if tie.combines else tie.reach
        if reach not in found:
            found.append(reach)
    return "; ".join(found) or "-"


def _demand(relation: Relation) -> str:
    found: list[str] = []
    for demand in relation.demands:
        kind: Any = demand
        what = "result" if demand.number is None else str(demand.number)
        found.append(f"{what}: {_DEMANDS[type(kind).__name__]}{f' of {kind.role}' if hasattr(kind, 'role') else ''}")
    return "<br>".join(found) or "-"
