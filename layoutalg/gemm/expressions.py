"""What is computed behind the sums, as an expression: read from a user's text, or made of the options of a product.

A text has the accumulator `acc`, what the kernel reads besides, numbers, functions, and + - * / with parentheses:

    column_bias, row_bias      a number for every column, or every row, of C, in C's type; `bias` is column_bias
    column_scale, row_scale    the same in f32; `scale` is column_scale
    residual                   C as it was in memory before the launch
    acc2                       the sums of a second product with the same A (`layoutalg.gemm.gated`)
    relu, gelu, silu, sigmoid, tanh, exp, clamp(x, least, most), min(x, y), max(x, y)

`gelu` is the form with tanh. The text is read by the grammar here, which is never more than that:

    sum = product (("+" | "-") product)*     product = sign (("*" | "/") sign)*     sign = "-" sign | atom
    atom = number | name | function "(" sum ("," sum)* ")" | "(" sum ")"

Everything is computed in f32, in the order that is written, one rounding each. A product that is added could be joined with the
sum by a compiler, so it is one fused step: that on the left of the sum, or else that on the right. What only numbers make is
computed before. By hand: `gelu(acc * scale + bias) + residual` multiplies and adds bias in one step.

>>> print(read_epilogue("gelu(acc*scale + bias) + residual"))
gelu(acc * column_scale + column_bias) + residual
>>> planned("acc * scale + bias")
Node(kind='fma', name='', value=0.0, of=(acc, column_scale, column_bias))

Functions are made of few steps, which is all that a kernel, the model and host programs know: fma, + - * /, exp, tanh, and
choices. min(x, y) is y where x > y, else x, and max(x, y) is y where x < y, else x: a NaN in x stays.

    sigmoid(x) = 1 / (1 + exp(-x))      silu(x) = x / (1 + exp(-x))      relu(x) = max(x, 0)
    gelu(x) = x / (1 + exp(-x (c1 + c2 x x)))      x/2 (1 + tanh(y)) is x / (1 + exp(-2 y))

The law: the options alpha, beta, bias, scale and activation are the expression `of_options` makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, pi, sqrt, tanh
from struct import pack, unpack
from typing import TYPE_CHECKING

from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown

if TYPE_CHECKING:
    from layoutalg.gemm.product import Product

__all__ = [
    "GELU",
    "NAMES",
    "Node",
    "inputs_of",
    "of_options",
    "planned",
    "read_epilogue",
    "spelled",
    "stated_expression",
    "transposed",
]

GELU = (2 * sqrt(2 / pi), 2 * sqrt(2 / pi) * 0.044715)
"""c1 and c2 of gelu: twice the factors of x and of x cubed in the argument of its tanh."""
NAMES = ("acc", "acc2", "residual", "row_bias", "column_bias", "row_scale", "column_scale")
"""What an expression may read."""
_SHORT = {"bias": "column_bias", "scale": "column_scale"}
_FUNCTIONS = {"relu": 1, "gelu": 1, "silu": 1, "sigmoid": 1, "tanh": 1, "exp": 1, "clamp": 3, "min": 2, "max": 2}
_LONGEST, _DEEPEST = 400, 24
"""Characters of a text, and parentheses in each other: far from what a compiler or a register file minds."""
_MOST_STEPS = 1000
_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|([-+*/(),]))", re.ASCII)


@dataclass(frozen=True)
class Node:
    """One step: a number, a name, or what `kind` makes of the nodes `of`: neg, add, sub, mul, div, fma, or a function.

    >>> str(Node("add", of=(Node("name", "acc"), Node("number", value=2.0))))
    'acc + 2'
    """

    kind: str
    name: str = ""
    value: float = 0.0
    of: tuple[Node, ...] = ()

    def __str__(self) -> str:
        return _text(self, 0)

    def __repr__(self) -> str:
        if not self.of:
            return str(self)
        return f"Node(kind={self.kind!r}, name={self.name!r}, value={self.value!r}, of={self.of!r})"


def _number(value: float) -> Node:
    return Node("number", value=value)


def _made(kind: str, *of: Node) -> Node:
    return Node(kind, of=of)


_SIGNS = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2)}


def _text(node: Node, around: int) -> str:
    """The node as it is written, in parentheses where what is around it binds closer."""
    if node.kind == "number":
        text = _digits(node.value)
        return f"({text})" if text[0] == "-" and around > 1 else text
    if node.kind == "name":
        return node.name
    if node.kind == "neg":
        text = f"-{_text(node.of[0], 3)}"
        return f"({text})" if around > 1 else text
    if node.kind in _SIGNS:
        sign, binds = _SIGNS[node.kind]
        text = f"{_text(node.of[0], binds)} {sign} {_text(node.of[1], binds + 1)}"
        return f"({text})" if around > binds else text
    return f"{node.kind}({', '.join(_text(one, 0) for one in node.of)})"


def _digits(value: float) -> str:
    """As few digits as say which number it is: a plan keeps the text that is printed. 17 do always."""
    texts = (f"{value:.{digits}g}" for digits in range(6, 18))
    return next(text for text in texts if float(text) == value)


class _Reader:
    """The grammar, one method a rule."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                rest = text[at:].lstrip()
                column = len(text) - len(rest) + 1
                raise self.error(column, f"{shown(rest[0])}", "a number, a name, + - * / or parentheses")
            kind = ("number", "name", "sign")[(found.lastindex or 1) - 1]
            self.tokens.append((kind, found[found.lastindex or 1], found.start(found.lastindex or 1) + 1))
            at = found.end()
        self.place = self.depth = 0

    def error(self, column: int, found: str, expected: str) -> PlanError:
        return PlanError(f"epilogue {shown(self.text)}: column {column} has {found}; expected {expected}")

    def wrong(self, expected: str) -> PlanError:
        if self.place >= len(self.tokens):
            return self.error(len(self.text) + 1, "the end", expected)
        _, text, column = self.tokens[self.place]
        return self.error(column, shown(text), expected)

    def takes(self, *signs: str) -> str:
        """The next token, if it is one of these signs."""
        if self.place < len(self.tokens) and self.tokens[self.place][1] in signs:
            self.place += 1
            return self.tokens[self.place - 1][1]
        return ""

    def whole(self) -> Node:
        made = self.sum()
        if self.place < len(self.tokens):
            raise self.wrong("+ - * / or the end")
        return made

    def sum(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong(f"at most {_DEEPEST} parentheses in each other")
        made = self.product()
        while sign := self.takes("+", "-"):
            made = _made("add" if sign == "+" else "sub", made, self.product())
        self.depth -= 1
        return made

    def product(self) -> Node:
        made = self.sign()
        while sign := self.takes("*", "/"):
            made = _made("mul" if sign == "*" else "div", made, self.sign())
        return made

    def sign(self) -> Node:
        count = 0
        while self.takes("-"):
            count += 1
        made = self.atom()
        return _made("neg", made) if count % 2 else made

    def atom(self) -> Node:
        if self.takes("("):
            return self.closed(self.sum())
        if self.place >= len(self.tokens) or self.tokens[self.place][0] == "sign":
            raise self.wrong("a number, a name or a parenthesis")
        kind, text, column = self.tokens[self.place]
        if kind == "number":
            self.place += 1
            try:
                _rounded(float(text))
            except OverflowError:
                raise self.error(column, text, "a number of f32, whose largest is 3.4028235e38") from None
            return _number(float(text))
        if text in _FUNCTIONS:
            self.place += 1
            return self.called(text, column)
        name = _SHORT.get(text, text)
        if name not in NAMES:
            raise self.wrong(f"{', '.join((*NAMES, *_SHORT))}, or one of the functions {', '.join(_FUNCTIONS)}")
        self.place += 1
        return Node("name", name)

    def called(self, name: str, column: int) -> Node:
        if not self.takes("("):
            raise self.wrong(f"( behind {name}")
        given = [self.sum()]
        while self.takes(","):
            given.append(self.sum())
        if len(given) != _FUNCTIONS[name]:
            count = _FUNCTIONS[name]
            raise self.error(column, f"{name} of {len(given)}", f"{name} of {count} number{'s' * (count > 1)}")
        return self.closed(_made(name, *given))

    def closed(self, made: Node) -> Node:
        if not self.takes(")"):
            raise self.wrong(")")
        return made


@lru_cache(maxsize=256)
def _read(text: str) -> Node:
    return _Reader(text).whole()


def read_epilogue(text: object) -> Node:
    """The expression of a text, as it is written.

    Raises `PlanError`: the text is not one; says the column and what would be. It has no acc, or two biases.

    >>> read_epilogue("relu(acc) + bios")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: epilogue 'relu(acc) + bios': column 13 has 'bios'; expected acc, acc2, residual, \
row_bias, column_bias, row_scale, column_scale, bias, scale, or one of the functions relu, gelu, silu, sigmoid, tanh, exp, \
clamp, min, max
    """
    if not isinstance(text, str):
        raise PlanError(f"epilogue is of type {type(text).__name__}: expected a text, such as 'relu(acc + bias)'")
    if len(text) > _LONGEST:
        raise PlanError(f"epilogue of {len(text)} characters: at most {_LONGEST} are read")
    made = _read(text)
    if _count(made) > _MOST_STEPS:
        raise PlanError(f"epilogue {shown(text)}: nested functions take more than {_MOST_STEPS} steps")
    found = inputs_of(made)
    if "acc" not in found:
        raise PlanError(f"epilogue {shown(text)}: has no acc, the sums of the product")
    if {"row_bias", "column_bias"} <= found:
        raise PlanError(f"epilogue {shown(text)}: has row_bias and column_bias; a kernel reads one of them")
    return made


def _count(node: Node) -> int:
    """The steps that a read expression will have, written out: a gelu has what it is given five times."""
    each = sum(_count(one) for one in node.of)
    return 1 + each * {"gelu": 5, "silu": 2, "clamp": 2, "min": 2, "max": 2, "relu": 2}.get(node.kind, 1)


def inputs_of(node: Node) -> frozenset[str]:
    """The names that an expression has.

    >>> sorted(inputs_of(read_epilogue("acc * scale + residual")))
    ['acc', 'column_scale', 'residual']
    """
    if node.kind == "name":
        return frozenset({node.name})
    return frozenset(name for one in node.of for name in inputs_of(one))


def _steps(node: Node) -> Node:
    """The node in steps: functions as what they are made of, sums of products as fused steps, numbers computed."""
    of = tuple(_steps(one) for one in node.of)
    if node.kind in ("add", "sub"):
        return _sum(of[0], of[1], minus=node.kind == "sub")
    return _call(node.kind, of) if of else node


def _sum(left: Node, right: Node, *, minus: bool) -> Node:
    if left.kind == "mul":
        return _made("fma", *left.of, _negative(right) if minus else right)
    if right.kind == "mul":
        first, second = right.of
        return _made("fma", _negative(first) if minus else first, second, left)
    return _folded(_made("sub" if minus else "add", left, right))


def _negative(node: Node) -> Node:
    return _folded(_made("neg", node))


def _folded(node: Node) -> Node:
    """A number where only numbers are given, rounded to f32.

    >>> _folded(_made("div", _number(1.0), _number(4.0)))
    0.25
    """
    if not node.of or any(one.kind != "number" for one in node.of):
        return node
    x, y = node.of[0].value, node.of[-1].value
    try:
        match node.kind:
            case "neg":
                value = -x
            case "add":
                value = x + y
            case "sub":
                value = x - y
            case "mul":
                value = x * y
            case "div":
                value = x / y
            case "fma":
                value = x * node.of[1].value + y
            case "exp":
                value = exp(x)
            case "tanh":
                value = tanh(x)
            case "min":
                value = y if x > y else x
            case _:
                value = y if x < y else x
        return _number(_rounded(value))
    except (ZeroDivisionError, OverflowError):
        raise PlanError(f"epilogue: {node} is no number of f32, which are finite") from None


def _rounded(value: float) -> float:
    """The nearest f32; raises `OverflowError` where that is infinite."""
    found: float = unpack("<f", pack("<f", value))[0]
    return found


def _step(kind: str, *of: Node) -> Node:
    return _folded(_made(kind, *of))


def _gate(x: Node, argument: Node) -> Node:
    """x / (1 + exp(-argument))."""
    return _step("div", x, _step("add", _number(1.0), _step("exp", _step("neg", argument))))


def _call(function: str, of: Sequence[Node]) -> Node:
    """What a function is made of."""
    x = of[0]
    match function:
        case "relu":
            return _step("max", x, _number(0.0))
        case "gelu":
            first, second = (_number(one) for one in GELU)
            return _gate(x, _step("mul", x, _step("fma", _step("mul", x, x), second, first)))
        case "silu":
            return _gate(x, x)
        case "sigmoid":
            return _gate(_number(1.0), x)
        case "clamp":
            return _step("min", _step("max", x, of[1]), of[2])
        case _:
            return _step(function, *of)


@lru_cache(maxsize=256)
def planned(text: str) -> Node:
    """The steps of an expression, in the order of their rounding.

    >>> planned("residual - acc * 2").kind, planned("acc * (1 / 4)").of[1]
    ('fma', 0.25)
    """
    return _steps(read_epilogue(text))


def of_options(product: Product, *, scaled: bool = True, fused: bool = False) -> Node:
    """The steps of a product's epilogue: those of its expression, or those that its options say.

    Scales come first; with `fused` the first addition takes the last of them along. Without `scaled` they are left out.

    >>> from layoutalg.gemm import Problem
    >>> print(of_options(Problem.of(64, 64, 64, alpha=0.5, beta=1, bias="row")))
    residual + fma(0.5, acc, row_bias)
    """
    if product.epilogue is not None:
        return planned(product.epilogue)
    x = Node("name", "acc")
    scales = [Node("name", f"{side}_scale") for side in product.scaled] if scaled else []
    last = scales.pop() if fused and scales else None
    for scale in scales:
        x = _made("mul", x, scale)
    bias = None if product.bias is None else Node("name", f"{product.bias}_bias")
    if product.alpha != 1:
        x = _made("fma", _number(product.alpha), x, _number(0.0) if bias is None else bias)
    elif bias is not None:
        x, last = _made("add", x, bias) if last is None else _made("fma", last, x, bias), None
    residual = Node("name", "residual")
    if product.beta == 1:
        x = _made("add", residual, x) if last is None else _made("fma", last, x, residual)
    elif product.beta:
        x = _made("fma", _number(product.beta), residual, x)
    return x if product.activation is None else _call(product.activation, (x,))


def transposed(text: str) -> str:
    """The expression for C^T, whose rows are columns.

    >>> transposed("acc * row_scale + column_bias")
    'acc * column_scale + row_bias'
    """
    return re.sub(r"\b(row|column)_", lambda found: "column_" if found[1] == "row" else "row_", text)


def stated_expression(product: Product) -> str:
    """The steps of a product's own expression in a line, as it is computed.

    >>> from layoutalg.gemm import Problem
    >>> stated_expression(Problem.of(64, 64, 64, epilogue="silu(acc + bias)"))
    '(acc + column_bias) / (1 + exp(-(acc + column_bias)))'
    """
    return str(planned(product.epilogue or "acc"))


def spelled(node: Node, names: Mapping[str, str], functions: Mapping[str, str]) -> str:
    """The expression in another language, whole in parentheses: its names, and its forms of fma, exp, tanh, min and max.

    >>> spelled(planned("relu(acc)"), {"acc": "x"}, {"max": "np.maximum({}, {})"})
    'np.maximum(x, 0.0)'
    """

    def text(one: Node) -> str:
        if one.kind == "number":
            return repr(one.value) if one.value >= 0 else f"({one.value!r})"
        if one.kind == "name":
            return names[one.name]
        of: Sequence[str] = [text(part) for part in one.of]
        if one.kind == "neg":
            return f"(-{of[0]})"
        if one.kind in _SIGNS:
            return f"({of[0]} {_SIGNS[one.kind][0]} {of[1]})"
        if one.kind == "fma" and "fma" not in functions:
            return f"({of[0]} * {of[1]} + {of[2]})"
        return functions[one.kind].format(*of)

    return text(node)
