"""What stands in a module for text that could not be read: the operation `layoutalg.unread`, and values without a definition.

An unread operation keeps its text; `{...}` in it stands for a region whose operations were read. The values that it names
are its operands, so that they stay in use, and its results have the types of their uses. `mentions` are the attributes and
types in the text that could be read: the layouts of an unknown operation.

>>> from xdsl.dialects.builtin import StringAttr
>>> UnreadOp.of("my.op %a", []).text.data
'my.op %a'
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)

__all__ = ["LAYOUTALG", "UNREAD", "UndefinedOp", "UnreadOp", "UnreadType"]

_CALLED = re.compile(r"""(?:%[^=\n]{1,200}=[ \t]*)?"?([a-z_]\w*\.[a-z_][\w.]*)""")


@irdl_attr_definition
class UnreadType(ParametrizedAttribute, TypeAttribute):
    """The type of a value that no operation uses with a type: `!layoutalg.unread_type`."""

    name = "layoutalg.unread_type"


UNREAD = UnreadType()


@irdl_op_definition
class UnreadOp(IRDLOperation):
    """An operation whose syntax is unknown or broken, or a line of a log that names layouts."""

    name = "layoutalg.unread"

    text = prop_def(StringAttr)
    names = opt_prop_def(ArrayAttr[StringAttr])
    """How the text calls the operands."""
    mentions = opt_prop_def(ArrayAttr[Attribute])
    """The attributes and types in the text that could be read."""
    inputs = var_operand_def()
    outputs = var_result_def()
    bodies = var_region_def()

    @property
    def called(self) -> str:
        """What the text calls the operation; empty for text that is not one.

        >>> UnreadOp.of("my.op %a", []).called
        'my.op'
        """
        found = _CALLED.match(self.text.data)
        return "" if found is None else found[1]

    @classmethod
    def of(
        cls,
        text: str,
        inputs: Sequence[SSAValue],
        names: Sequence[str] = (),
        mentions: Sequence[Attribute] = (),
        results: int = 0,
        bodies: Sequence[Region] = (),
    ) -> UnreadOp:
        """An unread operation with this text; its results have no types yet."""
        properties: dict[str, Attribute] = {"text": StringAttr(text)}
        if names:
            properties["names"] = ArrayAttr([StringAttr(name) for name in names])
        if mentions:
            properties["mentions"] = ArrayAttr(mentions)
        types = [UNREAD] * results
        return cls.create(operands=inputs, result_types=types, properties=properties, regions=bodies)


@irdl_op_definition
class UndefinedOp(IRDLOperation):
    """Values that a text uses and does not define, such as the operands of a single operation."""

    name = "layoutalg.undefined"

    outputs = var_result_def()

    @classmethod
    def of(cls, types: Sequence[Attribute]) -> UndefinedOp:
        """Values of these types."""
        return cls.build(result_types=[list(types)])


LAYOUTALG = Dialect("layoutalg", [UnreadOp, UndefinedOp], [UnreadType])
