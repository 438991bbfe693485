"""Repairs, applied to a module's text as their words say: a conversion before a line, or another layout on a line.

Modules of these tests have one operation per line, and layouts written out or as aliases.
"""

from __future__ import annotations

import re

import layoutalg as la
from layoutalg.checking import Check, Mistake, Repair, check

_STATED = re.compile(r"\b(?:layout_result_0|target_layout|layout_cd|layout) = ")
_DESCRIPTOR = re.compile(r"!xegpu\.tensor_desc<[\dx]+x\w+(, )?")


def _attribute(text: str, start: int) -> str:
    """The attribute that begins there: an alias, or text with balanced brackets."""
    name = re.compile(r"#[\w.]+").match(text, start)
    assert name is not None, text[start:]
    if text[name.end() : name.end() + 1] != "<":
        return name[0]
    depth, at = 0, name.end()
    while True:
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        at += 1
        if not depth:
            return text[start:at]


def _restated(line: str, layout: str, pattern: re.Pattern[str] = _STATED) -> str:
    found = pattern.search(line)
    if found is None:
        return line
    old = _attribute(line, found.end())
    return line[: found.end()] + layout + line[found.end() + len(old) :]


def repaired(text: str, mistake: Mistake, repair: Repair) -> str:
    """The module after one repair."""
    lines = text.split("\n")
    assert repair.place is not None
    at = repair.place.line - 1
    layout = str(repair.layout)
    if repair.restated:
        assert mistake.finding.place is not None
        user = mistake.finding.place.line - 1
        lines[user] = _restated(lines[user], layout, re.compile(rf"\b{repair.restated} = "))
    if repair.kind == "convert":
        kind = re.search(r"vector<[^>]*>", lines[at][lines[at].rindex(" : ") :])
        assert kind is not None
        shape = next(v for v in types_of(text, repair.value))
        new = next(name for name in (f"{repair.value}_{n}" for n in range(99)) if name not in text)
        lines[at] = re.sub(rf"{re.escape(repair.value)}(?![\w$.])", new, lines[at])
        conversion = f"<{{input_layout = {repair.source}, target_layout = {layout}}}>"
        lines.insert(at, f"{new} = xegpu.convert_layout {repair.value} {conversion} : {shape}")
        return "\n".join(lines)
    lines[at] = _restated(lines[at], layout)
    descriptor = _DESCRIPTOR.search(lines[at])
    if descriptor is None or descriptor[1] is None:
        return "\n".join(lines)
    # The descriptor's type stands where it is made and where it is used.
    old = descriptor[0] + _attribute(lines[at], descriptor.end())
    name = re.search(r"load_nd (%\w+)\[", lines[at])
    assert name is not None
    uses = re.compile(rf"{name[1]}(?!\w)")
    return "\n".join(line.replace(old, descriptor[0] + layout) if uses.search(line) else line for line in lines)


def types_of(text: str, name: str) -> list[str]:
    """The vector types of the operation that makes a value."""
    line = next(line for line in text.split("\n") if re.match(rf"\s*{re.escape(name)} = ", line))
    return re.findall(r"vector<[^>]*>", line)[::-1]


def repair_all(text: str, llvm: int = 22, most: int = 8) -> tuple[Check, list[str]]:
    """Apply the first repair of the first mistake until nothing is wrong; the last check and the texts between."""
    texts = [text]
    for _ in range(most):
        found = check(la.read(texts[-1]), llvm=llvm)
        errors = [mistake for mistake in found.mistakes if mistake.finding.level == "error"]
        if not errors:
            return found, texts
        assert errors[0].repairs, errors[0]
        texts.append(repaired(texts[-1], errors[0], errors[0].repairs[0]))
    return check(la.read(texts[-1]), llvm=llvm), texts
