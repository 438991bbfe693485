"""Check every rule on every operation of a module, in LLVM's order.

>>> from layoutalg.ir import read_module
>>> module = read_module('%t = "amx.tile_zero"() : () -> !amx.tile<16x16xi8>')
>>> [finding.rule for finding in findings_of(module, 24, None)]
['amx.unknown']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from layoutalg.hardware import TargetInfo
from layoutalg.ir.findings import OURS, Finding
from layoutalg.ir.operations.old_spellings import refused_spelling
from layoutalg.ir.places import place_of
from layoutalg.ir.verify import structure, versions
from layoutalg.ir.verify.fitting import fitting, fitting_attribute
from layoutalg.ir.verify.layouts import reasons_of_type
from layoutalg.ir.verify.registry import OUR_RULES, Rule, rules_of
from layoutalg.ir.verify.signatures import Signature, Subject, name_of, signature_of
from layoutalg.ir.verify.types import doubtful, refused

__all__ = ["findings_of"]

SUBJECTS = (
    "amx",
    "control",
    "elementwise",
    "iree",
    "iree_copies",
    "iree_vectors",
    "memory",
    "ours",
    "ours_hardware",
    "structure",
    "triton",
    "vectors",
    "xegpu_block",
    "xegpu_matrix",
    "xegpu_scatter",
    "xegpu_shared",
    "xevm",
)
"""The modules with rules, one line each; importing them fills the registry."""

for _subject in SUBJECTS:
    import_module(f"layoutalg.ir.verify.{_subject}")

CONTEXTUAL = frozenset(
    (
        "func.call",
        "func.return",
        "tt.call",
        "tt.return",
        "gpu.return",
        "memref.get_global",
        "scf.condition",
        "scf.yield",
        "cf.br",
        "cf.cond_br",
        "iree_gpu.yield",
    )
)
"""Operations whose rules look around them, at the function or at symbols; with a target, at a descriptor's address too."""


_OF_IREE = ("iree_", "hal.", "pcf.", "util.")
_OF_TRITON = ("tt.", "ttg.", "ttng.", "ttig.", "amdg.", "gluon.")

WARNINGS = frozenset(("ours.unknown_sizes",))
"""Rules that say where LLVM stops later on: layoutalg's own `lower` does not."""


def findings_of(module: ModuleOp, llvm: int, target: TargetInfo | None) -> tuple[Finding, ...]:
    """The findings of `verify_module`.

    >>> findings_of(ModuleOp([]), 22, None)
    ()
    """
    run = _Run(llvm, target)
    for operation in module.walk():
        run.ask(operation)
    run.verified += [
        run.finding(*problem, source=f"LLVM {llvm}") for problem in structure.use_problems(module, run.unreadable)
    ]
    return (*run.parsed, *run.verified, *run.own)


_STRICT_SPELLING = "LLVM 24 wants inherent attributes between `<{` and `}>`; `layoutalg migrate` writes them so"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What was found on an operation: `stage` says whether LLVM could not read it, refused it, or left it to us."""

    stage: Literal["parsed", "verified", "own"]
    problems: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    refused: Attribute | None = None


_NOTHING = _Outcome("verified")

Known = tuple[str | None, Signature | None, list[Rule], list[Rule]]


class _Run:
    """One run over a module: what was found so far, and the rules by the names of operations.

    Most rules look at nothing but the types and attributes of an operation, and unrolled kernels repeat those a thousand times;
    so the outcome is kept by them. Types and attributes are numbered first, since hashing them each time would cost more.
    """

    def __init__(self, llvm: int, target: TargetInfo | None) -> None:
        self.llvm, self.target, self.source = llvm, target, f"LLVM {llvm}"
        self.parsed: list[Finding] = []
        self.verified: list[Finding] = []
        self.own: list[Finding] = []
        self.unreadable: set[Operation] = set()
        self.seen: set[Attribute] = set()
        self.symbols: dict[Operation, dict[str, Operation]] = {}
        self.rules: dict[str, Known] = {}
        self.contextual = CONTEXTUAL if target is None else CONTEXTUAL | {"xegpu.create_nd_tdesc"}
        self.outcomes: dict[object, _Outcome] = {}
        self.numbers: dict[int, int] = {}
        self.kinds: dict[Attribute, int] = {}

    def finding(
        self, operation: Operation, rule: str, message: str, notes: tuple[str, ...] = (), *, source: str
    ) -> Finding:
        """A finding at an operation."""
        level = "warning" if rule in WARNINGS else "error"
        return Finding(rule, message, name_of(operation), place_of(operation), source=source, notes=notes, level=level)

    def number(self, attribute: Attribute) -> int:
        """The number of a type or attribute; equal ones have one number. (The module keeps the objects alive.)"""
        found = self.numbers.get(id(attribute))
        if found is None:
            found = self.numbers[id(attribute)] = self.kinds.setdefault(attribute, len(self.kinds))
        return found

    def ask(self, operation: Operation) -> None:
        """Ask everything about one operation."""
        name = name_of(operation)
        known = self.rules.get(name)
        if known is None:
            known = self.rules[name] = self._rules(name)
        spelled = refused_spelling(operation, self.llvm) if known[0] is None else None
        if spelled is not None:
            notes = (_STRICT_SPELLING,) if "strict properties" in spelled else ()
            self._report(operation, _Outcome("parsed", ((f"{name}.spelling", spelled, notes),)))
            return
        if operation.regions or name in self.contextual:
            outcome = self._outcome(operation, name, known)
        else:
            number = self.number
            key = (
                name,
                tuple([number(operand.type) for operand in operation.operands]),
                tuple([number(result.type) for result in operation.results]),
                tuple([(field, number(value)) for field, value in operation.properties.items()]),
                tuple([(field, number(value)) for field, value in operation.attributes.items()]),
            )
            found = self.outcomes.get(key)
            if found is None:
                found = self.outcomes[key] = self._outcome(operation, name, known)
            outcome = found
        if outcome is not _NOTHING:
            self._report(operation, outcome)

    def _report(self, operation: Operation, outcome: _Outcome) -> None:
        if outcome.stage == "parsed":
            self.unreadable.add(operation)
            if outcome.refused is not None and outcome.refused in self.seen:
                return  # a type or attribute is complained about once, where it first stands
            if outcome.refused is not None:
                self.seen.add(outcome.refused)
        found = getattr(self, outcome.stage)
        source = OURS if outcome.stage == "own" else self.source
        if source != OURS and name_of(operation).startswith((*_OF_IREE, *_OF_TRITON)):
            # Those dialects are not in LLVM.
            source = "IREE" if name_of(operation).startswith(_OF_IREE) else "Triton"
        found += [self.finding(operation, *problem, source=source) for problem in outcome.problems]

    def _outcome(self, operation: Operation, name: str, known: Known) -> _Outcome:
        absent, signature, llvm_rules, our_rules = known
        if absent is not None:
            return _Outcome("parsed", ((f"{name.split('.')[0]}.unknown", absent, ()),))
        for attribute in _written(operation):
            message = refused(attribute, self.llvm)
            if message is not None:
                distributed = "distribute" in message
                notes = reasons_of_type(attribute, self.llvm) if distributed else fitting_attribute(attribute, message)
                return _Outcome("parsed", ((f"{attribute.name}.type", message, notes),), attribute)
        kinds = (*operation.operand_types, *operation.result_types)
        for kind in kinds:
            if refused(kind, self.llvm) is not None:
                return _Outcome("parsed", (), kind)
            said = doubtful(kind, self.llvm)
            if said is not None:
                return _Outcome("own", ((f"{kind.name}.type", said, ()),))
        subject = Subject(operation, name, self.llvm, signature, self.target, self.symbols)
        if signature is not None:
            message = signature.problem(subject)
            if message is not None:
                return _Outcome("verified", ((f"{name}.types", message, ()),))
        for one in llvm_rules:
            found = one.check(subject)
            if found is not None:
                rule, message, notes = _problem(one, found)
                return _Outcome("verified", ((rule, message, notes or fitting(subject, rule, message)),))
        asked = [(one, one.check(subject)) for one in our_rules]
        problems = tuple(_problem(one, found) for one, found in asked if found is not None)
        return _Outcome("own", problems) if problems else _NOTHING

    def _rules(self, name: str) -> Known:
        signature, rules = signature_of(name, self.llvm), rules_of(name, self.llvm)
        return versions.absent(name, self.llvm), signature, rules, list(OUR_RULES.get(name, ()))


def _problem(rule: Rule, found: str | tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
    message, *notes = (found,) if isinstance(found, str) else found
    return rule.name, message, tuple(notes)


def _written(operation: Operation) -> Iterator[Attribute]:
    """The attributes and types of an operation, as the text has them."""
    yield from operation.properties.values()
    yield from operation.attributes.values()
    for region in operation.regions:
        for block in region.blocks:
            for argument in block.args:
                yield argument.type
    for result in operation.results:
        yield result.type
