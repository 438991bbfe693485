"""Affine expressions with symbols as factors and divisors: `d0 * s0`, `d0 ceildiv s0`, which LLVM calls semi-affine.

xDSL reads numbers there alone. As in LLVM, what stands on the right of `mod`, `floordiv` and `ceildiv`, and one of two factors,
has no dimensions in it:

>>> from layoutalg.ir import read_module
>>> print(next(iter(read_module('"test.op"() {a = affine_map<(d0)[s0] -> (s0 * d0)>} : () -> ()').ops)).attributes["a"])
affine_map<(d0)[s0] -> ((d0 * s0))>
"""

from __future__ import annotations

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr
from xdsl.parser.affine_parser import AffineParser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.mlir_lexer import MLIRToken

__all__ = ["SemiAffineParser"]

_KINDS = {
    "*": AffineBinaryOpKind.Mul,
    "ceildiv": AffineBinaryOpKind.CeilDiv,
    "floordiv": AffineBinaryOpKind.FloorDiv,
    "mod": AffineBinaryOpKind.Mod,
}


class SemiAffineParser(AffineParser):
    """Reads affine maps and sets, semi-affine ones too."""

    def _create_binop_expr(self, lhs: AffineExpr, rhs: AffineExpr, binop: MLIRToken) -> AffineExpr:
        kind = _KINDS.get(binop.text)
        if kind is None or isinstance(rhs, AffineConstantExpr):
            return super()._create_binop_expr(lhs, rhs, binop)
        if kind is AffineBinaryOpKind.Mul and isinstance(lhs, AffineConstantExpr):
            return super()._create_binop_expr(lhs, rhs, binop)
        if rhs.used_dims() and kind is AffineBinaryOpKind.Mul:
            lhs, rhs = rhs, lhs
        if rhs.used_dims():
            what = "at least one of the multiply operands" if binop.text == "*" else f"right operand of {binop.text}"
            raise ParseError(binop.span, f"non-affine expression: {what} has to be either a constant or symbolic")
        return AffineBinaryOpExpr(kind, lhs, rhs)
