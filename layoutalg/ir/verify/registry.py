"""Which rules an operation has: small functions that are called in LLVM's order.

A rule is a function of a `Subject`, the operation as rules see it (`signatures`); it returns the message of the diagnostic, or
None. LLVM reports one failure of an operation and leaves the rest; so the first message ends it here too.

>>> from layoutalg.ir.verify import vectors
>>> [one.name for one in rules_of("vector.transpose", 24)]
['vector.transpose.element_type', 'vector.transpose.permutation']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from re import compile as compile_pattern

from xdsl.ir import Attribute

from layoutalg.ir.operations.rows import row_of
from layoutalg.ir.verify.shapes import element_of, rank_of, shape_of, typed
from layoutalg.ir.verify.signatures import Subject

__all__ = ["LLVM_RULES", "OUR_RULES", "Rule", "ours", "rule", "rules_of", "same"]


def same(name: str, what: str, listed: str, *operations: str, since: int = 22, until: int = 99) -> None:
    """Make it a rule that values agree in a property: "type", "element type", "shape" or "rank".

    `listed` are their names as LLVM writes them; those of the signature are the same in snake case.

    >>> same("test.same", "type", "TensorDesc, result", "test.paired")
    >>> LLVM_RULES["test.paired"][0].name
    'test.same'
    """
    rule(name, *operations, since=since, until=until)(_agreement(what, listed.split(", ")))


def _agreement(what: str, names: Sequence[str]) -> RuleFunction:
    """The rule that values agree in a property."""
    message = f"failed to verify that all of {{{', '.join(names)}}} have same {what}"
    seen = _PROPERTIES[what]

    def check(subject: Subject) -> str | None:
        found = [seen(subject.type(one) or subject.type(_SNAKE.sub(r"_\1", one).lower())) for one in names]
        return message if any(one != found[0] for one in found) else None

    return check


_SNAKE = compile_pattern(r"(?<=[a-z])([A-Z])")
_PROPERTIES: dict[str, Callable[[Attribute], object]] = {
    "type": lambda kind: kind,
    "element type": element_of,
    "shape": shape_of,
    "rank": rank_of,
}

RuleFunction = Callable[[Subject], str | tuple[str, ...] | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's stable name and its function, which gives a message, a message and notes, or None.

    >>> Rule("test.nothing", lambda subject: None).name
    'test.nothing'
    """

    name: str
    check: RuleFunction
    versions: tuple[int, ...] = (22, 23, 24)


LLVM_RULES: dict[str, list[Rule]] = {}
"""The rules of LLVM's verifiers by the operation's name, in LLVM's order."""
OUR_RULES: dict[str, list[Rule]] = {}
"""Rules that no LLVM has, by the operation's name; all of them are asked."""


def rules_of(name: str, llvm: int) -> list[Rule]:
    """The rules that a version of LLVM has for an operation: those of its traits, then those of its verifier.

    >>> [one.name for one in rules_of("arith.select", 24)]
    ['arith.select.types', 'arith.select.condition']
    """
    row = row_of(name)
    shape = None if row is None else row.shape.signed(llvm)
    traits = [] if shape is None else [one for trait, names in shape.traits for one in _of_trait(name, trait, names)]
    return [*traits, *(one for one in LLVM_RULES.get(name, ()) if llvm in one.versions)]


def _of_trait(name: str, trait: str, names: Sequence[str]) -> list[Rule]:
    if trait == "AllTypesMatch":
        return [Rule(f"{name}.types", _agreement("type", names))]
    if trait == "InferredType":
        return [Rule(f"{name}.types", _inferred(*names))]
    return [Rule("arith.same_types", _same_types)] if trait == "SameOperandsAndResultType" else []


def _inferred(given: str, made: str) -> RuleFunction:
    """The rule that a result has the type of an operand."""

    def check(subject: Subject) -> str | None:
        expected, found = subject.type(given), subject.type(made)
        if expected == found:
            return None
        return f"inferred type(s) {typed(expected)} are incompatible with return type(s) of operation {typed(found)}"

    return check


def _same_types(subject: Subject) -> str | None:
    operation = subject.operation
    kinds = (*operation.operand_types, *operation.result_types)
    if all(kind == kinds[0] for kind in kinds):
        return None
    return "requires the same type for all operands and results"


def rule(name: str, *operations: str, since: int = 22, until: int = 99) -> Callable[[RuleFunction], RuleFunction]:
    """Make a function a rule of LLVM's verifier for operations of these names; the order of the text is LLVM's order.

    >>> @rule("test.never", "test.judged")
    ... def never(subject):
    ...     return None
    >>> [one.name for one in LLVM_RULES["test.judged"]]
    ['test.never']
    """
    return _into(LLVM_RULES, name, operations, tuple(v for v in (22, 23, 24) if since <= v <= until))


def ours(name: str, *operations: str) -> Callable[[RuleFunction], RuleFunction]:
    """Make a function a rule of our own for operations of these names.

    >>> @ours("test.always", "test.judged")
    ... def always(subject):
    ...     return "nothing is ever right", "the reason"
    >>> OUR_RULES["test.judged"][0].check(None)
    ('nothing is ever right', 'the reason')
    """
    return _into(OUR_RULES, name, operations, (22, 23, 24))


def _into(
    table: dict[str, list[Rule]], name: str, operations: Sequence[str], versions: tuple[int, ...]
) -> Callable[[RuleFunction], RuleFunction]:
    def add(check: RuleFunction) -> RuleFunction:
        for operation in operations:
            table.setdefault(operation, []).append(Rule(name, check, versions))
        return check

    return add
