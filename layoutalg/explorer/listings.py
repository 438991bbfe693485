"""What is looked up or worked out from a text: the questions `algebra`, `instructions`, `file` and `choices`.

>>> found = algebra(Question({"expression": "logical_divide((4,2):(1,4), 2:2)"}))
>>> found["result"], [one["text"] for one in found["inputs"]]
('(2,(2,2)):(2,(1,4))', ['(4,2):(1,4)', '2:2'])
>>> [row["name"] for row in instructions(Question({"query": "gfx942 f64"}))["rows"]]
['v_mfma_f64_16x16x4_f64', 'v_mfma_f64_4x4x4_4b_f64']
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import LayoutError
from layoutalg.core.limits import MOST_FINDINGS_SENT, MOST_ROWS_SENT
from layoutalg.core.llvm_versions import llvm_versions
from layoutalg.explorer.layouts import drawn
from layoutalg.explorer.questions import Question, about, pictured

if TYPE_CHECKING:
    from layoutalg.ir.findings import Finding
    from layoutalg.module import Module
    from layoutalg.show.modules import LayoutRow

__all__ = ["algebra", "choices", "file", "instructions"]


def algebra(asked: Question) -> dict[str, Any]:
    """An expression of CuTe's algebra: its inputs and its result as texts and pictures, and its steps."""
    from layoutalg.cute.cute_layout import CuteLayout
    from layoutalg.show.cute_algebra import describe_expression

    expression = asked.text("expression")
    with about("expression"):
        found = describe_expression(expression)
    calls = found.evaluated.calls[-1:]
    inputs = [one for call in calls for one in call.arguments if isinstance(one, CuteLayout)]
    answer: dict[str, Any] = {
        "result": found.facts["result"],
        "texts": found.facts["texts"],
        "steps": found.lines(),
        "inputs": [{"text": str(one)} | _drawn(one) for one in inputs],
    }
    return answer | ({"svg": None} if found.after is None else _drawn(found.after))


def _drawn(layout: Any) -> dict[str, Any]:
    """A layout of CuTe as a picture of its numbers."""
    return pictured(lambda: drawn(layout.read_as("memory").picture(colour="addr")))


def instructions(asked: Question) -> dict[str, Any]:
    """The instructions that all words of a query fit; the first, and how many `more`."""
    from layoutalg.instructions.selection import known_instructions
    from layoutalg.show.instruction_table import instruction_row

    words = "" if asked.get("query") in (None, "") else asked.text("query")
    with about("query"):
        found = known_instructions(*words.split())
    return {
        "rows": [instruction_row(one) for one in found[:MOST_ROWS_SENT]],
        "more": max(len(found) - MOST_ROWS_SENT, 0),
    }


def choices(_asked: Question) -> dict[str, Any]:
    """What fields of other questions may say: chips, those that products are planned for, versions of LLVM, formats.

    >>> choices(Question({}))["llvm"]
    [22, 23, 24]
    """
    from layoutalg.hardware.chips import target_info, target_names
    from layoutalg.viz.picture import FORMATS

    planned = [name for name in target_names(dpas=True) if target_info(name).surface is not None]
    with suppress(ModuleNotFoundError):  # without numpy nothing is planned
        from layoutalg.hardware.amx_chips import AMX_TARGETS

        planned += AMX_TARGETS
    return {"targets": [*target_names()], "planned": planned, "llvm": [*llvm_versions()], "formats": [*FORMATS]}


def file(asked: Question) -> dict[str, Any]:
    """A module: every layout in it with its value and its line, and what is wrong with it by `verify` and by `check`."""
    from layoutalg.checking import check
    from layoutalg.module.module import Module, checked
    from layoutalg.show.modules import describe_module

    text, llvm = asked.text("text"), asked.llvm()
    with about("text"):
        module = Module(checked(text, "the text"))
        described = describe_module(module, asked.machine(), llvm=llvm)
        findings = [*module.verify(llvm=llvm)]
    answer: dict[str, Any] = {}
    if module.is_read:
        try:
            found = check(module, llvm=llvm)
            findings += [one for one in found.findings if one not in findings]
            answer["verdict"] = found.verdict
        except LayoutError as problem:
            answer["unchecked"] = str(problem)
    rows = described.rows
    return answer | {
        "values": [_value(row) for row in rows[:MOST_ROWS_SENT]],
        "more": max(len(rows) - MOST_ROWS_SENT, 0),
        "findings": [_finding(one) for one in findings[:MOST_FINDINGS_SENT]],
        "functions": _functions(module),
        "conversions": [
            {"line": place, "words": row.words, "price": row.cost}
            for row in described.conversions[:MOST_ROWS_SENT]
            for place in [None if row.conversion.source.place is None else row.conversion.source.place.line]
        ],
    }


def _value(row: LayoutRow) -> dict[str, Any]:
    """A layout of a module; `shape` is what a question about it alone has to say."""
    use = row.use
    return {
        "name": use.name,
        "operation": use.operation,
        "operand": use.operand,
        "type": row.tensor,
        "layout": use.text,
        "shape": None if use.sizes is None else list(use.sizes),
        "line": None if use.place is None else use.place.line,
        "meaning": row.meaning,
        "refused": row.refused,
    }


def _finding(one: Finding) -> dict[str, Any]:
    from layoutalg.show.findings import words

    return {
        "line": None if one.place is None else one.place.line,
        "column": None if one.place is None else one.place.column,
        "severity": one.level,
        "source": one.source,
        "message": words(one),
        "why": "; ".join(one.notes),
    }


def _functions(module: Module) -> list[dict[str, Any]]:
    from layoutalg.ir.places import place_of

    found: list[dict[str, Any]] = []
    for part in module.parts:
        for operation in part.module.walk():
            name = operation.get_attr_or_prop("sym_name") if operation.name.endswith(".func") else None
            if name is not None:
                place = place_of(operation)
                found.append({"name": str(name).strip('"'), "line": None if place is None else place.line})
    return found
