"""What the editor shows beside the pointer: who holds what, what the compilers say, what a conversion costs.

>>> text = '''#cols = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
... func.func @f(%t: !xegpu.tensor_desc<8x16xf16, #cols>) {
...   %x = xegpu.load_nd %t[0, 0] <{layout = #cols}> : !xegpu.tensor_desc<8x16xf16, #cols> -> vector<8x16xf16>
...   return
... }'''
>>> print(hover(Document(text), text.index("#cols}")).markdown)
**`#cols`** for `8x16xf16`
<BLANKLINE>
LLVM 22, 23, 24: accept
<BLANKLINE>
```text
input     #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
shape     8x16
LLVM 24   accepts
layout    d0 = 8@reg, d1 = 16@lane
axes      lane 16, reg 8
fragment  8x1
type      per lane: vector<8xf16>
index     d0 = reg
          d1 = lane
owners    lane of d0 x d1
      0-15
───────────
 0-7  0-15
```

On an attribute, a type or an alias that is the layout for the shape that its operation has there; on an operation or a value,
the layouts that are stated and those that follow. In Python, a string that is one of these, or a module, is read alike.

The law: nothing that a text says makes it raise, and nothing in the answer is Markdown or HTML of the text's own.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layoutalg.core.errors import LayoutError
from layoutalg.core.llvm_versions import llvm_versions
from layoutalg.core.messages import printable, shortened
from layoutalg.core.notation import Machine
from layoutalg.core.reader import Reader
from layoutalg.editor.documents import Document, Reading
from layoutalg.ir.places import place_of
from layoutalg.module.module import looks_like_module
from layoutalg.module.uses import distributes
from layoutalg.notations import parse, read_value
from layoutalg.show import describe

if TYPE_CHECKING:
    from layoutalg.core.notation import Distributed
    from layoutalg.module import LayoutUse

__all__ = ["Hover", "alias_at", "hover", "hover_python"]

_SIGIL = re.compile(r"[#!][A-Za-z_$][\w$.]*")
_VALUE = re.compile(r"%[\w$.-]+(?:#[0-9]+)?")
_NAME = re.compile(r"[a-z_]\w*(?:\.\w+)+")
_STRING = re.compile(
    r"(?P<quote>'''|\"\"\")(?P<long>.*?)(?:(?P=quote)|\Z)|'(?P<single>(?:[^'\\\n]|\\.)*)'|\"(?P<double>(?:[^\"\\\n]|\\.)*)\"|#[^\n]*",
    re.DOTALL,
)
_FENCE = re.compile("`+")
_MARKS = re.compile(r"[^\w ,.;:()=/'%-]|_|\s\s")
"""What may mean something in Markdown."""
_WIDTH = 72
"""Characters of a line in what is shown."""
_LONGEST_VALUE = 4096
"""Characters in which an attribute around the pointer is looked for."""
_MOST_SHOWN = 4
"""Layouts of one operation that are shown in full."""


@dataclass(frozen=True, slots=True)
class Hover:
    """What is shown, in Markdown, and the part of the text that it is about."""

    markdown: str
    start: int
    end: int


def hover(document: Document, offset: int) -> Hover | None:
    """What is to be said at an offset of an MLIR text; None where there is nothing.

    >>> hover(Document("module {}"), 3)
    """
    place = document.at(offset)
    if place is None:
        return None
    _, reading, inside = place
    found = _of_value(document, reading, inside) or _of_operation(document, reading, inside)
    if found is None:
        return None
    # In the piece and in the document alike: what is shown stands on one run of the text.
    shift = offset - inside
    return replace(found, start=found.start + shift, end=found.end + shift)


def hover_python(text: str, offset: int, read: Callable[[str], Document]) -> Hover | None:
    """What is to be said at an offset of a Python source: in a string that is a layout, a type or MLIR.

    `read` gives the document of a string.

    >>> found = hover_python("x = la.parse('d0 = 4@lane')", 16, Document)
    >>> found.markdown.splitlines()[0], found.start, found.end
    ('**`d0 = 4@lane`** for `4`', 14, 25)
    """
    for found in _STRING.finditer(text):
        inside = next((group for group in ("long", "single", "double") if found[group] is not None), None)
        if inside is None or not found.start(inside) <= offset <= found.end(inside):
            continue
        string, start = found[inside], found.start(inside)
        shown = hover(read(string), offset - start) if looks_like_module(string) else _of_text(string)
        return None if shown is None else replace(shown, start=shown.start + start, end=shown.end + start)
    return None


def alias_at(text: str, offset: int) -> tuple[str, int, int] | None:
    """The alias whose name stands at an offset, with begin and end; None where none does.

    >>> alias_at("load #cols", 7)
    ('#cols', 5, 10)
    """
    found = _word_at(_SIGIL, text, offset)
    return None if found is None or "." in found[0] else (found[0], found.start(), found.end())


def code(text: str) -> str:
    """A text as code on one line of Markdown, whatever it says.

    >>> code("a`b")
    '``a`b``'
    """
    text = printable(" ".join(text.split()))
    fence = _fence(text, 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def plain(text: str) -> str:
    """A text as it is, or as code where it could be Markdown: not every editor knows escapes.

    >>> plain("4 lanes"), plain("<b>")
    ('4 lanes', '`<b>`')
    """
    return code(text) if _MARKS.search(text) else text


def _fence(text: str, least: int) -> str:
    return "`" * max(least, 1 + max((len(one) for one in _FENCE.findall(text)), default=0))


def _word_at(pattern: re.Pattern[str], text: str, offset: int) -> re.Match[str] | None:
    """The match of a pattern on the line of an offset that the offset is in, or right behind."""
    start = text.rfind("\n", 0, offset) + 1
    for found in pattern.finditer(text, max(start, offset - _LONGEST_VALUE)):
        if found.start() > offset:
            return None
        if offset <= found.end():
            return found
    return None


# An attribute, a type or an alias


def _of_value(document: Document, reading: Reading, offset: int) -> Hover | None:
    text = reading.module.source
    found = list(_values_around(text, offset, reading))
    if not found:
        return None
    value, start, end = found[-1]
    use = _use_of(document, reading, value, start)
    if use is None and len(found) > 1 and value.needs_shape and not found[-2][0].needs_shape:
        value, start, end = found[-2]  # a layout in a type that has the shape
    return Hover(_told(text[start:end], value, use, reading.asked.llvm), start, end)


def _values_around(text: str, offset: int, reading: Reading) -> Iterator[tuple[Distributed, int, int]]:
    """The values whose text is around an offset, the innermost last."""
    begin = max(0, offset - _LONGEST_VALUE)
    reader = Reader(text[begin : offset + _LONGEST_VALUE])
    reader.aliases = dict(reading.aliases)
    tried = 0
    for found in _SIGIL.finditer(text, begin, min(len(text), offset + _LONGEST_VALUE)):
        if found.start() > offset or tried > 64:
            return
        if ";" in text[found.start() : offset] or text.count("\n", found.start(), offset) > 16:
            continue
        reader.position = found.start() - begin
        try:
            value = read_value(reader)
        except (LayoutError, RecursionError):
            continue
        end = begin + reader.position
        if offset <= end and distributes(value):
            tried += 1
            yield value, found.start(), end


def _use_of(document: Document, reading: Reading, value: Distributed, start: int) -> LayoutUse | None:
    """Where the operation at an offset uses a layout, or what uses it first elsewhere."""
    text = str(value)

    def used(there: Reading) -> list[LayoutUse]:
        return [use for use in there.layouts if use.text == text and use.shape is not None]

    near, uses = reading.operation_at(start), used(reading)
    place = None if near is None else place_of(near[1])
    here = next((use for use in uses if use.place == place), None)
    return here or next((use for there in (reading, *document.readings) for use in used(there)), None)


def _told(written: str, value: Distributed, use: LayoutUse | None, llvm: int) -> str:
    """A value with the shape that it is used for."""
    shape = use.sizes if use is not None else None
    element = (None if use is None else use.element) or "f32"
    tensor = "" if use is None or use.shape is None else "x".join([*map(str, use.shape), element])
    try:
        body = _described(value, shape, element, llvm)
    except LayoutError as error:
        return f"**{code(shortened(written, 200))}**\n\n{plain(str(error))}"
    if not tensor:
        tensor = _shape_in(body)
    title = f"**{code(shortened(written, 200))}**" + (f" for {code(tensor)}" if tensor else "")
    return "\n\n".join(filter(None, (title, _verdicts(value, shape, element), body)))


def _shape_in(body: str) -> str:
    found = re.search(r"^shape +(\S+)$", body, re.MULTILINE)
    return "" if found is None else found[1]


def _described(value: Distributed, shape: tuple[int, ...] | None, element: str, llvm: int) -> str:
    """What `layoutalg show` prints."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=_WIDTH, markup=False, highlight=False, emoji=False, color_system=None)
    describe(value, shape, element=element, llvm=llvm).print(console)
    text = "\n".join(printable(line.rstrip()) for line in out.getvalue().rstrip().split("\n"))
    fence = _fence(text, 3)
    return f"{fence}text\n{text}\n{fence}"


def _verdicts(value: Distributed, shape: tuple[int, ...] | None, element: str) -> str:
    """What each version of LLVM says of a value for a shape, those that say the same in one line."""
    said: dict[str, list[int]] = {}
    for llvm in llvm_versions():
        try:
            notes = value.report(shape, Machine(), element=element, llvm=llvm)
        except LayoutError:
            return ""
        verdicts = [note for note in notes if note.refused is not None and note.label.startswith("LLVM")]
        if verdicts:
            reasons = [note.text for note in notes if note.refused]
            said.setdefault("accept" if not verdicts[0].refused else f"refuse: {'; '.join(reasons)}", []).append(llvm)
    return _versions(said)


def _versions(said: dict[str, list[int]]) -> str:
    return "  \n".join(f"LLVM {', '.join(map(str, versions))}: {plain(text)}" for text, versions in said.items())


def _of_text(text: str) -> Hover | None:
    """A string that is one value."""
    if not text.strip() or len(text) > _LONGEST_VALUE:
        return None
    try:
        value = parse(text)
    except (LayoutError, RecursionError):
        return None
    return Hover(_told(text, value, None, max(llvm_versions())), 0, len(text)) if distributes(value) else None


# An operation or a value


def _of_operation(document: Document, reading: Reading, offset: int) -> Hover | None:
    text = reading.module.source
    word = _word_at(_VALUE, text, offset)
    if word is not None:
        return _of_name(reading, word[0], offset, word.span())
    word = _word_at(_NAME, text, offset)
    near = reading.operation_at(offset)
    if word is None or near is None or not word.start() - 1 <= near[0] <= word.start():
        return None
    place = place_of(near[1])
    if place is None:
        return None
    uses = [use for use in reading.uses(str(place.line)) if use.place == place]
    parts = [f"**{code(word[0])}**"]
    verdicts = reading.verdicts(place)
    if any(verdicts.values()):
        said: dict[str, list[int]] = {}
        for llvm, verdict in verdicts.items():
            said.setdefault(f"refuse: {verdict}" if verdict else "accept", []).append(llvm)
        parts.append(_versions(said))
    row = reading.conversions.get(place) if "convert" in word[0] or "to_layout" in word[0] else None
    if row is not None:
        parts += [plain(line) for line in (row.words, row.cost, row.triton) if line]
    parts += _layouts(uses, reading.asked.llvm)
    return Hover("\n\n".join(parts), *word.span()) if len(parts) > 1 else None


def _of_name(reading: Reading, name: str, offset: int, span: tuple[int, int]) -> Hover | None:
    """The layouts of a value, where it is defined last before an offset."""
    text, short = reading.module.source, name.partition("#")[0]
    definition = re.compile(rf"{re.escape(short)}(?::[0-9]+)?(?:[ \t]*,[ \t]*%[\w$.-]+(?::[0-9]+)?)*[ \t]*=(?!=)")
    found = [one for one in definition.finditer(text, 0, min(len(text), span[1] + 200)) if one.start() <= offset]
    uses = reading.uses(short)
    if found:
        near = reading.operation_at(_name_behind(text, found[-1].end()))
        place = None if near is None else place_of(near[1])
        uses = tuple(use for use in reading.uses("" if place is None else str(place.line)) if use.place == place)
        mine = [use for use in uses if use.operand == name or use.operand.startswith(("result", "layout_result"))]
        uses = tuple(mine) or uses[-1:]
    parts = [f"**{code(name)}**", *_layouts(list(uses), reading.asked.llvm)]
    return Hover("\n\n".join(parts), *span) if len(parts) > 1 else None


def _name_behind(text: str, offset: int) -> int:
    found = re.compile(r"\s*").match(text, offset)
    return offset if found is None else found.end()


def _layouts(uses: list[LayoutUse], llvm: int) -> list[str]:
    """Each layout once, with what it is of."""
    parts: list[str] = []
    shown: dict[tuple[str, tuple[int, ...] | None], str] = {}
    for use in uses[: 4 * _MOST_SHOWN]:
        tensor = "" if use.shape is None else "x".join([*map(str, use.shape), use.element or ""]).rstrip("x")
        title = f"{plain(use.operand)} {code(tensor)}" if tensor else plain(use.operand)
        key = (use.text, use.shape)
        if key in shown:
            parts.append(f"{title}: as {shown[key]}")
            continue
        shown[key] = plain(use.operand)
        if use.attribute is None:
            parts.append(f"{title}: {plain(use.problem or use.text)}")
            continue
        try:
            body = _described(use.attribute, use.sizes, use.element or "f32", llvm)
        except LayoutError as error:
            body = plain(str(error))
        parts.append(f"{title}\n\n{body}" if len(shown) <= _MOST_SHOWN else f"{title}: {code(use.text)}")
    return parts
