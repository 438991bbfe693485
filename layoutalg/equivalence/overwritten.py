"""Layouts that a module states and a later version of it changes.

>>> from layoutalg.ir import read_module
>>> rows, columns = (f"#xegpu.layout<lane_layout = {lanes}, lane_data = [1, 1]>" for lanes in ("[1, 16]", "[16, 1]"))
>>> text = '''func.func @f(%x: vector<16x16xf32>) {
...   %y = math.exp %x {layout_result_0 = LAYOUT} : vector<16x16xf32>
...   func.return }'''
>>> [one] = overwritten(*(read_module(text.replace("LAYOUT", layout)) for layout in (rows, columns)))
>>> print(one)
text:2:8: warning: 'math.exp' op states another layout_result_0 than before: lane_layout = [16, 1], lane_data = [1, 1]
instead of lane_layout = [1, 16], lane_data = [1, 1]: element (0, 1) is in lane 1, register 0 in the first and in lane 0,
register 1 in the second [layoutalg: keeps.layout]
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from xdsl.ir import Operation

from layoutalg.compare import Same, same
from layoutalg.core.errors import LayoutError
from layoutalg.core.notation import Distributed, single_operand
from layoutalg.flow.levels import levels_of
from layoutalg.flow.relations import shape_of, without
from layoutalg.flow.written_layouts import WrittenLayout, statements_of
from layoutalg.ir.findings import Finding
from layoutalg.ir.places import Place, place_of

__all__ = ["Overwritten", "overwritten"]

_MADE = frozenset({"xegpu.convert_layout"})
"""Operations that a propagation adds: they are not counted when the two versions are matched."""


@dataclass(frozen=True, slots=True)
class Overwritten:
    """One statement that changed its meaning: where it stands after, its name, and the two layouts.

    >>> Overwritten(None, "math.exp", "layout", "#a", "#b", "").operation
    'math.exp'
    """

    place: Place | None
    operation: str
    name: str
    before: str
    after: str
    reason: str

    @property
    def finding(self) -> Finding:
        """The same as a finding.

        >>> Overwritten(None, "math.exp", "layout", "#a", "#b", "").finding.level
        'warning'
        """
        before, after = (_short(text) for text in (self.before, self.after))
        reason = f": {self.reason}" if self.reason else ""
        message = f"states another {self.name} than before: {after} instead of {before}{reason}"
        return Finding("keeps.layout", message, self.operation, self.place, level="warning")

    def __str__(self) -> str:
        return str(self.finding)


def overwritten(before: Operation, after: Operation) -> tuple[Overwritten, ...]:
    """The statements of `before` that `after` has with another meaning.

    Operations are matched by name and order, where both versions have the same number of them.
    """
    found: list[Overwritten] = []
    old, new = _by_name(before), _by_name(after)
    for name, operations in old.items():
        matched = new.get(name, [])
        if len(matched) != len(operations):
            continue
        for one, other in zip(operations, matched, strict=True):
            stated = {(s.name, s.number): s for s in statements_of(other)}
            for statement in statements_of(one):
                now = stated.get((statement.name, statement.number))
                if now is not None and now.attribute != statement.attribute:
                    found.extend(_changed(statement, now))
    return tuple(found)


def _by_name(module: Operation) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = defaultdict(list)
    for operation in module.walk():
        if operation.name not in _MADE:
            found[operation.name].append(operation)
    return found


def _changed(before: WrittenLayout, after: WrittenLayout) -> list[Overwritten]:
    """Nothing where the two are one map under two names."""
    shape = shape_of(before.value)
    common = levels_of(before.attribute) & levels_of(after.attribute)
    if shape is None or shape != shape_of(after.value) or not common:
        return []  # it was distributed, or the two speak of other levels
    try:
        equal = _same_at(before.attribute, after.attribute, shape, common)
    except LayoutError:
        equal = None  # one of them does not fit
    if equal:
        return []
    reason = "" if equal is None else str(equal)
    return [
        Overwritten(
            place_of(after.user), after.user.name, after.name, str(before.attribute), str(after.attribute), reason
        )
    ]


def _same_at(before: Distributed, after: Distributed, shape: tuple[int, ...], levels: frozenset[str]) -> Same:
    """Whether two layouts are one map; registers count where both say how lanes hold them."""
    if "lane" in levels and levels_of(before) == levels_of(after):
        return same(before, after, shape)
    axes = ("reg",) if "lane" in levels else ("lane", "reg")
    first, second = (without(single_operand(a, shape, None).layout, axes) for a in (before, after))
    return same(first, second)


def _short(text: str) -> str:
    """What stands in the brackets of `#xegpu.layout<...>`."""
    prefix = "#xegpu.layout<"
    return text[len(prefix) : -1] if text.startswith(prefix) else text
