"""Asking all rules about all operations of a module, in LLVM's order.

>>> from layoutalg.ir import read_module
>>> module = read_module('%t = "amx.tile_zero"() : () -> !amx.tile<16x16xi8>')
>>> [finding.rule for finding in findings_of(module, 24, None)]
['amx.unknown']
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from layoutalg.hardware import TargetInfo
from layoutalg.ir.dialects.old_spellings import refused_spelling
from layoutalg.ir.findings import OURS, Finding
from layoutalg.ir.places import place_of
from layoutalg.ir.verify import (
    amx,
    control,
    elementwise,
    memory,
    ours,
    structure,
    vectors,
    versions,
    xegpu_block,
    xegpu_matrix,
    xegpu_scatter,
    xegpu_shared,
)
from layoutalg.ir.verify.registry import LLVM_RULES, OUR_RULES, Rule, Signature, Subject, name_of, signature_of
from layoutalg.ir.verify.types import doubtful, refused

__all__ = ["findings_of"]

RULES = (
    amx,
    control,
    elementwise,
    memory,
    ours,
    structure,
    vectors,
    xegpu_block,
    xegpu_matrix,
    xegpu_scatter,
    xegpu_shared,
)
"""The modules with rules; importing them fills the registry."""


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


class _Run:
    """One run over a module: what was found so far, and the rules by the names of operations."""

    def __init__(self, llvm: int, target: TargetInfo | None) -> None:
        self.llvm, self.target, self.source = llvm, target, f"LLVM {llvm}"
        self.parsed: list[Finding] = []
        self.verified: list[Finding] = []
        self.own: list[Finding] = []
        self.unreadable: set[Operation] = set()
        self.seen: set[Attribute] = set()
        self.symbols: dict[Operation, dict[str, Operation]] = {}
        self.rules: dict[str, tuple[str | None, Signature | None, list[Rule], list[Rule]]] = {}

    def finding(
        self, operation: Operation, rule: str, message: str, notes: tuple[str, ...] = (), *, source: str
    ) -> Finding:
        """A finding at an operation."""
        return Finding(rule, message, name_of(operation), place_of(operation), source=source, notes=notes)

    def ask(self, operation: Operation) -> None:
        """Ask everything about one operation."""
        name = name_of(operation)
        known = self.rules.get(name)
        if known is None:
            known = self.rules[name] = self._rules(name)
        absent, signature, llvm_rules, our_rules = known
        if absent is not None:
            self.unreadable.add(operation)
            self.parsed.append(self.finding(operation, f"{name.split('.')[0]}.unknown", absent, source=self.source))
            return
        spelled = refused_spelling(operation, self.llvm)
        if spelled is not None:
            self.unreadable.add(operation)
            self.parsed.append(self.finding(operation, f"{name}.spelling", spelled, source=self.source))
            return
        problem = self._refused(operation)
        if problem is not None:
            self.unreadable.add(operation)
            if problem[0] not in self.seen:
                self.seen.add(problem[0])
                self.parsed.append(self.finding(operation, problem[1], problem[2], source=self.source))
            return
        for kind in (*operation.operand_types, *operation.result_types):
            said = doubtful(kind, self.llvm)
            if said is not None:
                self.own.append(self.finding(operation, f"{kind.name}.type", said, source=OURS))
                return
        if self.seen and any(refused(kind, self.llvm) for kind in operation.operand_types):
            self.unreadable.add(operation)  # the type was complained about where it first stands
            return
        subject = Subject(operation, name, self.llvm, signature, self.target, self.symbols)
        for rule, message, notes in self._llvm_problem(subject, llvm_rules):
            self.verified.append(self.finding(operation, rule, message, notes, source=self.source))
            return
        for one in our_rules:
            found = one.check(subject)
            if found is not None:
                message, *notes = (found,) if isinstance(found, str) else found
                self.own.append(self.finding(operation, one.name, message, tuple(notes), source=OURS))

    def _rules(self, name: str) -> tuple[str | None, Signature | None, list[Rule], list[Rule]]:
        signature = signature_of(name, self.llvm)
        llvm = [one for one in LLVM_RULES.get(name, ()) if self.llvm in one.versions]
        return versions.absent(name, self.llvm), signature, llvm, list(OUR_RULES.get(name, ()))

    def _refused(self, operation: Operation) -> tuple[Attribute, str, str] | None:
        """The first attribute or type of an operation that this LLVM does not read."""
        for attribute in _written(operation):
            message = refused(attribute, self.llvm)
            if message is not None:
                return attribute, f"{attribute.name}.type", message
        return None

    def _llvm_problem(self, subject: Subject, rules: list[Rule]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        if subject.signature is not None:
            message = subject.signature.problem(subject)
            if message is not None:
                yield f"{subject.name}.types", message, ()
                return
        for one in rules:
            found = one.check(subject)
            if found is not None:
                message, *notes = (found,) if isinstance(found, str) else found
                yield one.name, message, tuple(notes)
                return


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
