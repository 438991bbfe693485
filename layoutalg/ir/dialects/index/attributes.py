"""How two indices are compared.

>>> print(IndexCmpPredicateAttr(IndexCmpPredicate.Slt))
#index<cmp_predicate slt>
"""

from __future__ import annotations

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.utils.str_enum import StrEnum

__all__ = ["IndexCmpPredicate", "IndexCmpPredicateAttr"]


class IndexCmpPredicate(StrEnum):
    """How two numbers are compared, signed or unsigned."""

    Eq = "eq"
    Ne = "ne"
    Slt = "slt"
    Sle = "sle"
    Sgt = "sgt"
    Sge = "sge"
    Ult = "ult"
    Ule = "ule"
    Ugt = "ugt"
    Uge = "uge"


@irdl_attr_definition
class IndexCmpPredicateAttr(EnumAttribute[IndexCmpPredicate], SpacedOpaqueSyntaxAttribute):
    """`#index<cmp_predicate slt>`."""

    name = "index.cmp_predicate"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> IndexCmpPredicate:
        """Read `slt` or `<slt>`."""
        bracketed = parser.parse_optional_punctuation("<") is not None
        found = parser.parse_str_enum(IndexCmpPredicate)
        if bracketed:
            parser.parse_punctuation(">")
        return found
