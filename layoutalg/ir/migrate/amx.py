"""AMX under its new name: `amx.tile_load` and `!amx.tile` of LLVM 22 are `x86.amx.tile_load` and `!x86.amx.tile` in 23 and 24.

>>> from layoutalg.ir import read_module, write_module
>>> module = read_module("%z = amx.tile_zero : !amx.tile<16x16xf32>")
>>> rename_amx(module)
>>> print(write_module(module).splitlines()[1].strip())
%z = x86.amx.tile_zero : !x86.amx.tile<16x16xf32>
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, FunctionType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.hints import isa

from layoutalg.ir.dialects import known_dialects
from layoutalg.ir.dialects.amx import TileType, X86TileType

__all__ = ["rename_amx"]


def rename_amx(module: Operation) -> None:
    """Give every AMX operation and tile type of a module its name in LLVM 23 and 24.

    >>> from xdsl.dialects.builtin import ModuleOp
    >>> rename_amx(ModuleOp([]))
    """
    context = known_dialects()
    for op in list(module.walk()):
        values: list[SSAValue] = [*op.results]
        values += [value for region in op.regions for block in region.blocks for value in block.args]
        for value in values:
            renamed = _renamed(value.type)
            if renamed is not value.type:
                Rewriter.replace_value_with_new_type(value, renamed)
        for held in (op.properties, op.attributes):
            held.update({name: _renamed(attribute) for name, attribute in held.items()})
    for op in list(module.walk()):
        block = op.parent_block()
        if not op.name.startswith("amx.") or block is None:
            continue
        new = context.get_op(f"x86.{op.name}").create(
            operands=list(op.operands),
            result_types=[result.type for result in op.results],
            properties=op.properties,
            attributes=op.attributes,
        )
        new.location = op.location
        block.insert_op_before(new, op)
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
            old.replace_all_uses_with(result)
        op.detach()
        op.erase()


def _renamed(attribute: Attribute) -> Attribute:
    """A type with the new name of tiles, wherever one stands in it."""
    if isinstance(attribute, TileType):
        return X86TileType.new([attribute.shape, attribute.element_type])
    if isinstance(attribute, FunctionType):
        inputs, outputs = ([_renamed(kind) for kind in kinds] for kinds in (attribute.inputs, attribute.outputs))
        return attribute if _same(inputs, attribute.inputs.data) and _same(outputs, attribute.outputs.data) else (
            FunctionType.from_lists(inputs, outputs)
        )  # fmt: skip
    if isa(attribute, ArrayAttr[Attribute]):
        items = [_renamed(item) for item in attribute]
        return attribute if _same(items, attribute.data) else ArrayAttr(items)
    return attribute


def _same(new: list[Attribute], old: tuple[Attribute, ...]) -> bool:
    return all(a is b for a, b in zip(new, old, strict=True))
