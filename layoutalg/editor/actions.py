"""What the editor offers to change: a repair, a conversion less, an older spelling, layouts that are not written yet.

>>> text = '''func.func @f(%x: vector<16x16xf32>) -> vector<16x16xf32> {
...   %y = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>}> : vector<16x16xf32>
...   return %y : vector<16x16xf32>
... }'''
>>> document, at = Document(text), text.index("xegpu.convert")
>>> removal = actions(document, at, at)[0]
>>> removal.title
'Remove the conversion, which moves nothing'
>>> print(applied(text, removal.edits(document)))
func.func @f(%x: vector<16x16xf32>) -> vector<16x16xf32> {
  return %x : vector<16x16xf32>
}

The law: a repair is offered only where `check`, asked again about the piece with the repair in it, finds that mistake no
more, and the verifiers refuse nothing new. What else is wrong afterwards has repairs of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from layoutalg.core.errors import LayoutError
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.editor.cutting import Piece, end_of, functions_of
from layoutalg.editor.documents import Document, Mark, Reading
from layoutalg.ir.places import place_of
from layoutalg.module import Module
from layoutalg.propagation import propagate
from layoutalg.show.findings import words

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from layoutalg.checking import CheckedConversion, Mistake, Repair

__all__ = ["Action", "Edit", "actions", "applied"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of a text that is replaced."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    """A change that is offered, worked out when it is taken: `edits` gives what to replace in the document it was offered for.

    It raises `LayoutError` where the change cannot be made.
    """

    title: str
    kind: Literal["quickfix", "refactor.rewrite"]
    edits: Callable[[Document], list[Edit]]
    mark: Mark | None = None


def applied(text: str, edits: Sequence[Edit]) -> str:
    """A text after edits that do not overlap.

    >>> applied("a b", [Edit(0, 1, "x"), Edit(2, 3, "")])
    'x '
    """
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def actions(document: Document, start: int, end: int) -> list[Action]:
    """What is offered for a part of the text.

    >>> actions(Document("func.func @f() { return }"), 0, 0)
    []
    """
    place = document.at(start)
    if place is None:
        return []
    piece, reading, _ = place
    begin, line_end = document.statement(start)
    stop = max(end, line_end)
    return [
        *_repairs(document, piece, reading, begin, stop),
        *_removals(piece, reading, begin, stop),
        *_rewrites(piece, reading),
    ]


# Repairs


def _repairs(document: Document, piece: Piece, reading: Reading, start: int, end: int) -> Iterator[Action]:
    mistakes = {mistake.finding: mistake for mistake in reading.checked.mistakes}
    for mark in document.marks_of(piece, reading):
        mistake = mistakes.get(mark.finding)
        if mistake is None or not start <= mark.start <= end:
            continue
        for repair in mistake.repairs:
            edits = _edits_of(reading, mistake, repair)
            if edits and _repairs_it(reading, mistake, edits):
                title = document.in_words(str(repair), piece, reading)
                yield Action(title[0].upper() + title[1:], "quickfix", _placed(piece, edits), mark)


def _placed(piece: Piece, edits: Sequence[Edit]) -> Callable[[Document], list[Edit]]:
    """Edits of a piece as edits of the document."""
    found = [Edit(piece.outside(one.start), piece.outside(one.start) + one.end - one.start, one.text) for one in edits]
    return lambda document: found


def _repairs_it(reading: Reading, mistake: Mistake, edits: Sequence[Edit]) -> bool:
    """Whether a mistake is gone after an edit, and the verifiers refuse no more than before."""
    after = Reading(applied(reading.module.source, edits), reading.asked)
    same = (mistake.finding.rule, mistake.finding.message)
    gone = all((one.finding.rule, one.finding.message) != same for one in after.checked.mistakes)

    def refused(one: Reading) -> int:
        return sum(found.level == "error" for found in one.verified(one.asked.llvm))

    return gone and refused(after) <= refused(reading)


def _edits_of(reading: Reading, mistake: Mistake, repair: Repair) -> list[Edit]:
    """A repair as edits of the piece; none where the text does not say enough for it."""
    found = _operation(reading, repair)
    user = _operation(reading, mistake.finding)
    if found is None or user is None:
        return []
    at, operation = found
    layout = str(repair.layout)
    if not layout.startswith("#"):
        return []  # no attribute of XeGPU says it
    edits = _restated(reading, user[0], layout, re.compile(rf"\b{repair.restated} = ")) if repair.restated else []
    if repair.restated and not edits:
        return []
    if repair.kind == "state":
        stated = _restated(reading, at, layout, _STATED)
        return [*edits, *stated, *_descriptor(reading, operation, layout)] if stated else []
    return [*edits, *_conversion(reading, at, operation, repair)] if repair.source is not None else []


def _operation(reading: Reading, of: Repair | object) -> tuple[int, Operation] | None:
    """The operation that a repair or a finding is at."""
    place = getattr(of, "place", None)
    return next(((at, one) for at, one in reading.operations if place is not None and place_of(one) == place), None)


_STATED = re.compile(r"\b(?:layout_result_0|target_layout|layout_cd|layout) = ")
_ATTRIBUTE = re.compile(r"#[A-Za-z_$][\w$.]*")
_LINE_END = re.compile(r"\r?\n")


def _restated(reading: Reading, at: int, layout: str, pattern: re.Pattern[str]) -> list[Edit]:
    """Another layout where an operation states one."""
    text = reading.module.source
    found = pattern.search(text, at, at + end_of(text[at:]))
    return [] if found is None else _in_place_of(text, found.end(), layout)


def _in_place_of(text: str, start: int, layout: str) -> list[Edit]:
    """Another layout in place of the attribute that begins there."""
    name = _ATTRIBUTE.match(text, start)
    if name is None:
        return []
    end, depth = name.end(), 0
    while end < len(text) and (depth or text[end] == "<"):
        depth += {"<": 1, ">": -1}.get(text[end], 0)
        end += 1
        if not depth:
            break
    return [Edit(start, end, layout)]


def _descriptor(reading: Reading, operation: Operation, layout: str) -> list[Edit]:
    """The layout in the type of the descriptor of a load, where the descriptor is made and wherever it is used."""
    name = next((name for name, kind in _operands(reading, operation) if kind.startswith("!xegpu.tensor_desc")), None)
    if name is None:
        return []
    text, edits = reading.module.source, list[Edit]()
    typed = re.compile(r"!xegpu\.tensor_desc<[\dx]+x\w+, ?")
    used = re.compile(rf"{re.escape(name)}(?![\w$.-])")
    for at, one in reading.operations:
        if one.regions:
            continue
        begin, end = text.rfind("\n", 0, at) + 1, at + end_of(text[at:])
        if used.search(text, begin, end):
            for found in typed.finditer(text, begin, end):
                edits += _in_place_of(text, found.end(), layout)
    return list(dict.fromkeys(edits))


def _operands(reading: Reading, operation: Operation) -> Iterator[tuple[str, str]]:
    """The operands of an operation as the text calls them, with their types."""
    from xdsl.ir import OpResult

    for value in operation.operands:
        name = f"%{value.name_hint}"
        if isinstance(value, OpResult):
            name = reading.module.lines.result_names(value.op)[value.index]
        yield name, str(value.type)


def _conversion(reading: Reading, at: int, operation: Operation, repair: Repair) -> list[Edit]:
    """A conversion on a line of its own before an operation, which takes its result."""
    text = reading.module.source
    kind = next((kind for name, kind in _operands(reading, operation) if name == repair.value), None)
    if kind is None:
        return []
    plain = re.sub(r"\W", "_", repair.value[1:])
    new = next(
        name
        for number in range(1, 10**6)
        if not re.search(rf"{re.escape(name := f'%{plain}_as_{number}')}(?![\w$.-])", text)
    )
    begin, end = text.rfind("\n", 0, at) + 1, at + end_of(text[at:])
    indent = text[begin:][: len(text[begin:at]) - len(text[begin:at].lstrip())]
    fields = f"input_layout = {repair.source}, target_layout = {repair.layout}"
    line = f"{indent}{new} = xegpu.convert_layout {repair.value} <{{{fields}}}> : {kind}\n"
    used = re.compile(rf"{re.escape(repair.value)}(?![\w$.#-])")
    return [
        Edit(begin, begin, line),
        *(Edit(*one.span(), new) for one in used.finditer(text, at, end)),
    ]


# Conversions that move nothing


def _removals(piece: Piece, reading: Reading, start: int, end: int) -> Iterator[Action]:
    for conversion in reading.checked.redundant:
        if conversion.place is None:
            continue
        at = reading.module.lines.offset(conversion.place)
        edits = _without(reading, at, conversion) if start <= piece.outside(at) <= end else []
        if edits:
            yield Action("Remove the conversion, which moves nothing", "quickfix", _placed(piece, edits))


def _without(reading: Reading, at: int, conversion: CheckedConversion) -> list[Edit]:
    """A module without a conversion: its operand stands for its result, if the two have one type."""
    text = reading.module.source
    operation = next(one for place, one in reading.operations if place == at)
    [(operand, kind)] = list(_operands(reading, operation))[:1] or [("", "")]
    begin, end = text.rfind("\n", 0, at) + 1, at + end_of(text[at:])
    alone = re.fullmatch(rf"\s*{re.escape(conversion.name)} = ", text[begin:at]) is not None
    if not alone or kind != str(operation.results[0].type):
        return []
    used = re.compile(rf"{re.escape(conversion.name)}(?![\w$.#-])")
    function = next((stop for _, first, stop in functions_of(text) if first <= at < stop), len(text))
    broken = _LINE_END.match(text, end)
    return [
        Edit(begin, broken.end() if broken else end, ""),
        *(Edit(*one.span(), operand) for one in used.finditer(text, end, function)),
    ]


# Functions written anew


def _rewrites(piece: Piece, reading: Reading) -> Iterator[Action]:
    """The piece's functions in the newest spelling, or with all layouts."""
    if not piece.names:
        return
    named = ", ".join(f"@{name}" for name in piece.names)
    lost = "rewrites the function" if len(piece.names) == 1 else "rewrites the functions"
    newest = DEFAULT_LLVM
    old = any(one.rule == "read.old_spelling" for one in reading.module.findings) or any(
        one.rule.endswith((".spelling", ".unknown")) for one in reading.verified(newest)
    )
    if old and not rules(newest).scattered:
        yield Action(
            f"Migrate {named} to LLVM {newest} ({lost}, without comments)",
            "refactor.rewrite",
            lambda document: _rewritten(document, piece, str(reading.module.migrate(llvm=newest))),
        )
    if reading.checked.unsaid or _unstated(reading):
        asked, target = reading.asked, reading.checked.target
        yield Action(
            f"Complete the layouts of {named} for {target} ({lost}, without comments)",
            "refactor.rewrite",
            lambda document: _rewritten(
                document, piece, str(propagate(reading.module, target=target, llvm=asked.llvm))
            ),
        )


def _unstated(reading: Reading) -> bool:
    """Whether XeGPU's values are spread in the piece, and some say nothing of their layout."""
    from layoutalg.flow.graph import flows_of

    if not any("xegpu." in use.operation for use in reading.layouts):
        return False
    return any(
        not value.stated for part in reading.module.parts for flow in flows_of(part.module) for value in flow.values
    )


def _rewritten(document: Document, piece: Piece, text: str) -> list[Edit]:
    """The functions of a text in place of those of a piece.

    Raises `LayoutError` where the text does not have each of them once, and where it cannot be read.
    """
    wrong = next((one for one in Module(text).findings if one.level == "error"), None)
    if wrong is not None and not any(one.level == "error" for one in Module(piece.text).findings):
        raise LayoutError(f"what would be written cannot be read: {words(wrong)}")
    written = {name: text[start:end].rstrip() for name, start, end in functions_of(text)}
    edits: list[Edit] = []
    for name, (start, end) in zip(piece.names, piece.own, strict=True):
        if name not in written or len(set(piece.names)) != len(piece.names):
            raise LayoutError(f"@{name}: not written anew, its text is not understood")
        old = document.text[start:end]
        edits.append(Edit(start, start + len(old.rstrip()), _indented(written[name], old)))
    return edits


def _indented(new: str, old: str) -> str:
    """A text indented as another."""
    have, want = (len(one) - len(one.lstrip(" \t")) for one in (new, old))
    lines = [line.removeprefix(new[:have]) for line in new.split("\n")]
    return "\n".join(old[:want] + line if line else line for line in lines)
