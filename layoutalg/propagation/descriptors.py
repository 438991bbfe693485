"""The layouts of tensor descriptors: those of the loads and stores that use them.

A descriptor that goes through a loop, or is moved by `update_nd_offset`, has one type all the way. Where all uses want one
layout, the type gets it. Where they want several and one operation makes the descriptor, it is made once for each. One whose
type stands elsewhere too (in a call, a branch, a result, a function that others name) stays as it is.

>>> from layoutalg.ir import read_module, write_module
>>> module = read_module('''func.func @f(%p: memref<64x64xf32>) {
...   %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<8x16xf32>
...   %x = xegpu.load_nd %t[0, 0] <{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>
...     : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
...   func.return }''')
>>> write_descriptors(module, 24)
>>> print(next(op for op in module.walk() if op.name == "xegpu.create_nd_tdesc").results[0].type)
!xegpu.tensor_desc<8x16xf32, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, NoneAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from layoutalg.core.llvm_versions import rules
from layoutalg.ir.dialects.xegpu.attributes import LayoutAttr, SliceAttr, TensorDescType
from layoutalg.propagation.refinement import leaves_lanes

__all__ = ["retyped", "write_descriptors"]

_FREE = ("scf.for", "scf.if", "builtin.unrealized_conversion_cast")


def write_descriptors(function: Operation, llvm: int) -> None:
    """Give every descriptor of a function the layout of its loads and stores, unless it has one that says as much."""
    leaders: dict[SSAValue, SSAValue] = {}

    def leader(value: SSAValue) -> SSAValue:
        while leaders[value] is not value:
            leaders[value] = leaders[leaders[value]]
            value = leaders[value]
        return value

    def one(first: SSAValue, second: SSAValue) -> None:
        if first in leaders and second in leaders:
            leaders[leader(first)] = leader(second)

    operations = list(function.walk())
    for operation in operations:
        for value in (*operation.results, *(a for r in operation.regions for b in r.blocks for a in b.args)):
            if isinstance(value.type, TensorDescType) and _is_open(value.type.layout):
                leaders[value] = value  # noqa: PERF403
    if not leaders:
        return
    for operation in operations:
        for first, second in _same(operation):
            one(first, second)
    groups: dict[SSAValue, list[SSAValue]] = {}
    for value in leaders:
        groups.setdefault(leader(value), []).append(value)
    for members in groups.values():
        if not any(_is_fixed(member, function) for member in members):
            _write(members, llvm)
    _state_arguments(function)


def _is_fixed(value: SSAValue, function: Operation) -> bool:
    """Whether the type of a descriptor stands elsewhere too, where it is not written."""
    owner = value.owner
    maker = owner if isinstance(owner, Operation) else owner.parent_op()
    if isinstance(owner, Block) and owner.prev_block is not None:  # branches bring the value
        return True
    if maker is None or (_is_named(function) if maker is function else not _is_free(maker)):
        return True
    users = (use.operation for use in value.uses)
    return not all(_is_free(one.parent_op() if one.name == "scf.yield" else one) for one in users)


def _is_free(operation: Operation | None) -> bool:
    """Whether an operation takes descriptors of any layout."""
    return operation is not None and (operation.name.startswith("xegpu.") or operation.name in _FREE)


def _is_named(function: Operation) -> bool:
    """Whether anything in the module names a function, as calls do."""
    name, root = function.properties.get("sym_name"), function.get_toplevel_object()
    return isinstance(root, Operation) and any(
        name in (held.root_reference, *held.nested_references)
        for operation in root.walk()
        for held in _symbols((*operation.properties.values(), *operation.attributes.values()))
    )


def _symbols(attributes: Iterable[Attribute]) -> Iterator[SymbolRefAttr]:
    """The names of operations in attributes, in lists and dictionaries of them too."""
    for held in attributes:
        if isinstance(held, SymbolRefAttr):
            yield held
        elif isinstance(held, ArrayAttr):
            yield from _symbols(cast("ArrayAttr[Attribute]", held).data)
        elif isinstance(held, DictionaryAttr):
            yield from _symbols(held.data.values())


def _state_arguments(function: Operation) -> None:
    """Write the types of the arguments into the function's own."""
    stated, blocks = function.properties.get("function_type"), [block for r in function.regions for block in r.blocks]
    if isinstance(stated, FunctionType) and blocks:
        inputs = [argument.type for argument in blocks[0].args[: len(stated.inputs)]]
        function.properties["function_type"] = FunctionType.from_lists(inputs, stated.outputs.data)


def _is_open(layout: Attribute) -> bool:
    """Whether a descriptor has no layout, or one that leaves the lanes open: what the operations say refines it."""
    return isinstance(layout, NoneAttr) or (isinstance(layout, LayoutAttr | SliceAttr) and leaves_lanes(layout.value))


def _same(operation: Any) -> list[tuple[SSAValue, SSAValue]]:
    """Descriptors that must have one type."""
    if operation.name == "xegpu.update_nd_offset":
        return [(operation.operands[0], operation.results[0])]
    if operation.name == "scf.for":
        block = operation.body.block
        ends = () if block.last_op is None else block.last_op.operands
        return [
            pair
            for number, result in enumerate(operation.results)
            for pair in (
                (operation.operands[3 + number], result),
                (block.args[1 + number], result),
                *((ends[number], result) for _ in (0,) if number < len(ends)),
            )
        ]
    if operation.name == "scf.if":
        return [
            (operand, result)
            for region in operation.regions
            if region.blocks and region.block.last_op is not None
            for operand, result in zip(region.block.last_op.operands, operation.results, strict=False)
        ]
    return []


def _write(members: list[SSAValue], llvm: int) -> None:
    wanted: dict[LayoutAttr | SliceAttr, list[Operation]] = {}
    for member in members:
        for use in member.uses:
            layout = use.operation.properties.get("layout")
            if isinstance(layout, LayoutAttr | SliceAttr):
                wanted.setdefault(layout, []).append(use.operation)
    fine = [layout for layout in wanted if not leaves_lanes(layout.value)]
    if fine:  # a prefetch that says subgroups alone
        wanted = {layout: wanted[layout] for layout in fine}
    maker = members[0].owner
    for layout in [layout for layout in wanted if not _fits(members[0], layout, llvm)]:
        del wanted[layout]
    if len(wanted) == 1:
        [layout] = wanted
        for member in members:
            retyped(member, layout)
    elif len(wanted) > 1 and len(members) == 1 and isinstance(maker, Operation) and maker.parent is not None:
        first, *others = wanted
        for layout in others:
            copy = maker.clone()
            maker.parent.insert_op_after(copy, maker)
            retyped(copy.results[0], layout)
            for user in wanted[layout]:
                for number, operand in enumerate(user.operands):
                    if operand is members[0]:
                        user.operands[number] = copy.results[0]
        retyped(members[0], first)


def _fits(member: SSAValue, layout: Attribute, llvm: int) -> bool:
    kind = member.type
    if not isinstance(kind, TensorDescType) or not isinstance(layout, LayoutAttr | SliceAttr):
        return False
    if isinstance(layout, SliceAttr) and not rules(llvm).slice_in_descriptor:
        return False
    value: Any = layout.value
    return value.descriptor_problem(tuple(kind.get_shape()), llvm) is None


def retyped(member: SSAValue, layout: LayoutAttr | SliceAttr) -> None:
    """Give a descriptor's type this layout."""
    kind: Any = member.type
    new = TensorDescType(kind.shape, kind.element_type, kind.encoding, layout)
    Rewriter.replace_value_with_new_type(member, new)
