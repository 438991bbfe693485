"""How two indices are compared.

>>> print(IndexCmpPredicateAttr(IndexCmpPredicate.Slt))
#index<cmp_predicate slt>
"""

from __future__ import annotations

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum

from layoutalg.ir.dialects.enumerations import EitherForm

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
class IndexCmpPredicateAttr(EitherForm, EnumAttribute[IndexCmpPredicate], SpacedOpaqueSyntaxAttribute):
    """`#index<cmp_predicate slt>`."""

    name = "index.cmp_predicate"
