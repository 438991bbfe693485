"""Branches between blocks, with LLVM's syntax.

    cf.cond_br %c weights([10, 90]), ^bb1(%x : f32), ^bb2

>>> from layoutalg.ir import read_module
>>> module = read_module("func.func @f(%c: i1) { cf.cond_br %c, ^bb1, ^bb1 ^bb1: return }")
>>> [block.last_op.name for block in module.body.block.first_op.body.blocks]
['cf.cond_br', 'func.return']
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from xdsl.dialects.builtin import DenseArrayBase, DenseIntElementsAttr, i1, i32
from xdsl.dialects.cf import SwitchOpCases
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.traits import IsTerminator, Pure

from layoutalg.ir.operations.classes import define

__all__ = ["CF", "BranchOp", "ConditionalBranchOp", "SwitchOp"]


@irdl_op_definition
class BranchOp(IRDLOperation):
    """Go on with another block."""

    name = "cf.br"

    arguments = var_operand_def()
    successor = successor_def()

    traits = traits_def(IsTerminator(), Pure())

    assembly_format = "$successor (`(` $arguments^ `:` type($arguments) `)`)? attr-dict"


@irdl_op_definition
class ConditionalBranchOp(IRDLOperation):
    """Go on with one of two blocks; weights say how often each is expected."""

    name = "cf.cond_br"

    cond = operand_def(i1)
    then_arguments = var_operand_def()
    else_arguments = var_operand_def()
    branch_weights = opt_prop_def(DenseArrayBase.constr(i32))
    then_block = successor_def()
    else_block = successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsTerminator(), Pure())

    assembly_format = (
        "$cond (`weights` `(` $branch_weights^ `)`)? `,` "
        "$then_block (`(` $then_arguments^ `:` type($then_arguments) `)`)? `,` "
        "$else_block (`(` $else_arguments^ `:` type($else_arguments) `)`)? attr-dict"
    )


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """Go on with the block of a number, or the default one."""

    name = "cf.switch"

    flag = operand_def()
    default_operands = var_operand_def()
    case_operands = var_operand_def()
    case_values = opt_prop_def(DenseIntElementsAttr)
    case_operand_segments = prop_def(DenseArrayBase.constr(i32))
    default_block = successor_def()
    case_blocks = var_successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsTerminator(), Pure())
    custom_directives = (SwitchOpCases,)

    assembly_format = (
        "$flag `:` type($flag) `,` `[` `\\n` custom<SwitchOpCases>(ref(type($flag)), $default_block, $default_operands, "
        "type($default_operands), $case_values, $case_blocks, $case_operands, $case_operand_segments, type($case_operands)) "
        "`\\n` `]` attr-dict"
    )

    @property
    def case_operand(self) -> tuple[Sequence[SSAValue], ...]:
        """The operands of each case."""
        ends = list(accumulate(self.case_operand_segments.get_values(), initial=0))
        return tuple(self.case_operands[start:end] for start, end in pairwise(ends))


CF = Dialect("cf", [*define(__name__, "cf"), BranchOp, ConditionalBranchOp, SwitchOp])
"""The dialect."""
