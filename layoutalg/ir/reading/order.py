"""Values that are used where they are not visible: before their definition, or outside its region.

>>> from layoutalg.ir import read_module
>>> list(misplaced_uses(read_module("%a = arith.constant 1 : i32 %b = arith.addi %a, %a : i32")))
[]
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

__all__ = ["misplaced_uses"]


def misplaced_uses(operation: Operation) -> Iterator[tuple[Operation, str]]:
    """The operations inside of one that use a value where it is not visible, and the name of the value.

    >>> from layoutalg.ir.reading.files import read_file_text
    >>> part, = read_file_text("%b = arith.addi %a, %a : i32\\n%a = arith.constant 1 : i32").modules
    >>> [(user.name, name) for user, name in misplaced_uses(part.module)]
    [('arith.addi', '%a')]
    """
    yield from _misplaced(operation, set())


def _misplaced(operation: Operation, visible: set[SSAValue]) -> Iterator[tuple[Operation, str]]:
    for region in operation.regions:
        added: list[SSAValue] = []
        several = len(region.blocks) > 1  # between blocks the order of the text says nothing
        for block in region.blocks:
            added.extend(block.args)
            if several:
                added.extend(result for inner in block.ops for result in inner.results)
        visible.update(added)
        for block in region.blocks:
            for inner in block.ops:
                unknown = {operand: number for number, operand in enumerate(inner.operands) if operand not in visible}
                for operand, number in unknown.items():
                    yield inner, f"%{operand.name_hint}" if operand.name_hint else f"operand {number}"
                if inner.regions:
                    yield from _misplaced(inner, visible)
                visible.update(inner.results)
                added.extend(inner.results)
        visible.difference_update(added)
