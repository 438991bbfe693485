"""The vector dialect's enumerations: how values combine, what a loop of a contraction does, what is printed after a value.

>>> from layoutalg.ir import read_module
>>> text = '%v = "test.op"() : () -> vector<8xf32> %s = vector.reduction <add>, %v : vector<8xf32> into f32'
>>> list(read_module(text).ops)[1].kind.data.value
'add'
"""

from __future__ import annotations

from xdsl.dialects.utils import EnumAttribute
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum

from layoutalg.ir.dialects.enumerations import Bracketed

__all__ = [
    "CombiningKindAttr",
    "CombiningKindFlag",
    "IteratorType",
    "IteratorTypeAttr",
    "PrintPunctuation",
    "PrintPunctuationAttr",
]


class IteratorType(StrEnum):
    """What a loop of a contraction does with the result: each step has its own, or all steps add up."""

    Parallel = "parallel"
    Reduction = "reduction"


class PrintPunctuation(StrEnum):
    """What `vector.print` writes after the value."""

    NoPunctuation = "no_punctuation"
    NewLine = "newline"
    Comma = "comma"
    Open = "open"
    Close = "close"


@irdl_attr_definition
class CombiningKindAttr(Bracketed, EnumAttribute[CombiningKindFlag]):
    """`#vector.kind<add>`; LLVM reads the word in quotes too."""

    name = "vector.kind"


@irdl_attr_definition
class IteratorTypeAttr(Bracketed, EnumAttribute[IteratorType]):
    """`#vector.iterator_type<parallel>`."""

    name = "vector.iterator_type"


@irdl_attr_definition
class PrintPunctuationAttr(Bracketed, EnumAttribute[PrintPunctuation]):
    """`#vector.punctuation<comma>`."""

    name = "vector.punctuation"
