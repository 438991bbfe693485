"""Conversions of a module that do nothing: the same work-items hold the same elements before (or before others) and after.

What is redundant is decided by `layoutalg.conversion.price.redundant`; here it is removed.

>>> from layoutalg.ir import read_module
>>> module = read_module('''func.func @f(%x: vector<16x16xf32>) -> vector<16x16xf32> {
...   %a = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>}> : vector<16x16xf32>
...   %b = xegpu.convert_layout %a <{input_layout = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>,
...     target_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [2, 1]>}> : vector<16x16xf32>
...   func.return %b : vector<16x16xf32> }''')
>>> [str(source) == str(result) for _, source, result in remove_redundant(module)]
[False, False]
>>> next(op for op in module.walk() if op.name == "func.return").operands[0].name_hint
'x'
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.ir import Attribute, Operation, SSAValue

from layoutalg.conversion.price import redundant
from layoutalg.core.notation import Distributed
from layoutalg.flow.relations import shape_of
from layoutalg.ir.dialects.xegpu.operations import ConvertLayoutOp
from layoutalg.xegpu.attributes import DistributeLayout

__all__ = ["remove_redundant"]


def remove_redundant(
    module: Operation, *, tiles: bool = False
) -> list[tuple[ConvertLayoutOp, Distributed, Distributed]]:
    """Take redundant conversions out of the way of their uses; what nobody uses any more is returned, to be erased.

    With `tiles`, those that change the tiles of instructions stay, though they move nothing: for the passes that cut by them.
    """
    conversions = [op for op in module.walk() if isinstance(op, ConvertLayoutOp) and _is_whole(op)]
    short: list[ConvertLayoutOp] = []
    for conversion in conversions:
        shape = shape_of(conversion.result)
        for source in _sources(conversion):
            before, after = _value(source.input_layout), _value(conversion.target_layout)
            if shape is not None and redundant(before, after, shape) and not (tiles and _cuts(before) != _cuts(after)):
                _state(source.source, source.input_layout)
                conversion.result.replace_all_uses_with(source.source)
                short.append(conversion)
                break
    return [(op, _value(op.input_layout), _value(op.target_layout)) for op in _unused(conversions, short)]


def _is_whole(conversion: ConvertLayoutOp) -> bool:
    """Whether it has its operand and both layouts; the generic form may lack them."""
    written = {*conversion.properties, *conversion.attributes}
    return len(conversion.operands) == 1 and written >= {"input_layout", "target_layout"}


def _sources(conversion: ConvertLayoutOp) -> Iterator[ConvertLayoutOp]:
    """The conversion itself, and those whose result it converts again."""
    one: Any = conversion
    for _ in range(64):
        yield one
        one = one.source.owner
        if not isinstance(one, ConvertLayoutOp) or not _is_whole(one):
            return


def _cuts(layout: Distributed) -> tuple[int, ...] | None:
    """The tile of one instruction, where a layout says it."""
    return layout.parent_layout().inst_data if isinstance(layout, DistributeLayout) else None


def _value(attribute: Any) -> Distributed:
    return attribute.value


def _state(member: SSAValue, attribute: Attribute) -> None:
    """What a conversion says of its operand stays said when the conversion goes."""
    owner = member.owner
    if isinstance(owner, Operation) and not isinstance(owner, ConvertLayoutOp):
        written = {**owner.properties, **owner.attributes}
        if not any(name.startswith("layout") for name in written) and not owner.name.startswith("xegpu."):
            owner.attributes[f"layout_result_{list(owner.results).index(member)}"] = attribute  # pyright: ignore[reportArgumentType]


def _unused(conversions: list[ConvertLayoutOp], short: list[ConvertLayoutOp]) -> list[ConvertLayoutOp]:
    """What was short-circuited, and what fed nothing but that; users first."""
    gone = set(short)
    for conversion in reversed(conversions):
        uses = [use.operation for use in conversion.result.uses]
        if conversion not in gone and uses and all(user in gone for user in uses):
            gone.add(conversion)
    return [op for op in reversed(conversions) if op in gone]
