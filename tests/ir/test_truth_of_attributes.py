"""An attribute whose number is 0, or that is empty, is false: nothing may ask whether an attribute is there by its truth.

Found by `kind = None` of an atomic addition, whose kind is 0. A property or an attribute is looked up by `property_of`.
"""

from __future__ import annotations

import ast
from pathlib import Path

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr

import layoutalg
from layoutalg.ir import read_module
from layoutalg.ir.assembly import property_of

HOME = Path(layoutalg.__file__).parent
DICTIONARIES = {"properties", "attributes"}


def looked_up(node: ast.expr) -> bool:
    """Whether an expression is `x.properties.get(...)`, or of attributes."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "get":
        return False
    return isinstance(node.func.value, ast.Attribute) and node.func.value.attr in DICTIONARIES


def decided_by_truth(text: str) -> list[int]:
    """The lines where the truth of what was looked up decides."""
    found: list[int] = []
    for node in ast.walk(ast.parse(text)):
        decided: list[ast.expr] = []
        if isinstance(node, ast.BoolOp):
            decided = node.values[:-1] if isinstance(node.op, ast.Or) else node.values
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            decided = [node.test]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            decided = [node.operand]
        found += [one.lineno for one in decided if looked_up(one)]
    return found


def test_0_and_an_empty_list_are_false_in_xdsl() -> None:
    assert not IntegerAttr(0, 64)
    assert not ArrayAttr([])


def test_the_search_finds_what_was_wrong() -> None:
    assert decided_by_truth('found = op.properties.get("kind") or op.attributes.get("kind")') == [1]


def test_no_code_asks_for_an_attribute_by_its_truth() -> None:
    wrong = {
        str(path.relative_to(HOME)): lines
        for path in HOME.rglob("*.py")
        if (lines := decided_by_truth(path.read_text()))
    }
    assert not wrong


def test_a_property_that_is_0_is_found_in_both_spellings() -> None:
    text = "%v = arith.constant 1.0 : f32 %i = arith.constant 0 : index %m = memref.alloc() : memref<4xf32>"
    module = read_module(f"{text} %w = memref.atomic_rmw addf %v, %m[%i] : (f32, memref<4xf32>) -> f32")
    last = module.body.block.last_op
    assert last is not None
    assert str(property_of(last, "kind")) == "0 : i64"
