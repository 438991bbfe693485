"""Type stubs of the classes that are made from tables, for pyright and editors: `python -m layoutalg.ir.operations.stubs`.

A class that code imports has a name in the table; its operands, results and attributes stand in `operations.pyi` beside the
module that defines it.

>>> print(stub_of("index").partition("class SizeOfOp")[2])
(IRDLOperation):
    result: OpResult
<BLANKLINE>
OPERATIONS: tuple[type[IRDLOperation], ...]
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation

from layoutalg.ir.operations.rows import Row, rows_of

__all__ = ["stub_of", "stubs"]

_VALUES = {
    ("operand", "1"): "Operand",
    ("operand", "?"): "OptOperand",
    ("operand", "*"): "VarOperand",
    ("result", "1"): "OpResult",
    ("result", "?"): "OptOpResult",
    ("result", "*"): "VarOpResult",
}
"""xDSL's types of fields."""


def stubs() -> Iterator[tuple[Path, str]]:
    """The stub files that there should be, and what should stand in them.

    >>> sorted({path.name for path, _ in stubs()})
    ['operations.pyi']
    """
    for path in sorted(Path(__file__).parent.parent.glob("dialects/*/operations.py")):
        yield path.with_suffix(".pyi"), stub_of(path.parent.name)


def stub_of(dialect: str) -> str:
    """The stub of a dialect's classes.

    >>> "class CmpOp(IRDLOperation):" in stub_of("index")
    True
    """
    module = import_module(f"layoutalg.ir.dialects.{dialect}.operations")
    imports: dict[str, set[str]] = {"xdsl.irdl": {"IRDLOperation"}}
    classes: list[str] = []
    for row in sorted(rows_of(dialect).values(), key=lambda row: row.class_name):
        if row.exported and not row.custom:
            fields = list(_fields(row, getattr(module, row.class_name), imports))
            classes += ["", f"class {row.class_name}(IRDLOperation):{'' if fields else ' ...'}", *fields]
    lines = {home: _import(home, sorted(names, key=_order)) for home, names in sorted(imports.items())}
    ours = [line for home, line in lines.items() if home.startswith("layoutalg.")]
    head = f"# Made from {dialect}.txt by `python -m layoutalg.ir.operations.stubs`.\n\n"
    names = "\n".join([line for line in lines.values() if line not in ours] + [""] * bool(ours) + ours)
    return f"{head}{names}\n" + "\n".join([*classes, ""]) + "\nOPERATIONS: tuple[type[IRDLOperation], ...]\n"


def _import(home: str, names: list[str]) -> str:
    """An import as ruff writes it, over several lines where it is long."""
    line = f"from {home} import {', '.join(names)}"
    return line if len(line) <= 120 else f"from {home} import (\n" + "".join(f"    {name},\n" for name in names) + ")"


def _order(name: str) -> tuple[bool, str]:
    """Names in capitals first, as ruff sorts them."""
    return not name.isupper(), name


def _fields(row: Row, operation: type[IRDLOperation], imports: dict[str, set[str]]) -> Iterator[str]:
    for kind, values in (("operand", row.shape.operands), ("result", row.shape.results)):
        for value in values:
            name = _VALUES[kind, value.count]
            imports.setdefault("xdsl.ir" if name == "OpResult" else "xdsl.irdl", set()).add(name)
            yield f"    {value.field}: {name}"
    for one in row.shape.attributes:
        bases = operation.get_irdl_definition().properties[one.name].constr.get_bases() or {Attribute}
        names: list[str] = []
        for base in sorted(bases, key=lambda base: base.__name__):
            imports.setdefault("xdsl.ir" if base is Attribute else base.__module__, set()).add(base.__name__)
            names.append(base.__name__)
        yield f"    {one.field}: {' | '.join(names)}{' | None' if one.optional else ''}"


if __name__ == "__main__":
    for path, text in stubs():
        path.write_text(text, encoding="utf-8")
