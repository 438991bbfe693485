"""`la.check`: are the layouts of a module right by meaning?

Every operation relates the elements of its result to those of its operands. A work-item that has an element of the result
needs what it is made of. Here lane 1 adds element (0, 1), and of %y that element is in lane 0:

>>> module = la.read('''
... #columns = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>
... #rows = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>
... func.func @f(%p: memref<16x16xf32>) {
...   %t = xegpu.create_nd_tdesc %p : memref<16x16xf32> -> !xegpu.tensor_desc<16x16xf32>
...   %x = xegpu.load_nd %t[0, 0] <{layout = #columns}> : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
...   %y = arith.constant {layout_result_0 = #rows} dense<1.0> : vector<16x16xf32>
...   %z = arith.addf %x, %y {layout_result_0 = #columns} : vector<16x16xf32>
...   func.return }''')
>>> checked = check(module)
>>> [mistake] = checked.mistakes
>>> print(mistake.finding.place, mistake.finding.message)
text:8:8 lane 1 needs element (0, 1) of %y, which is in lane 0
>>> print(mistake.repairs[0])
make %y (line 7) in #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>: no cost
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Literal

from layoutalg.checking.mistakes import UNCOMPARED, Mistake
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of
from layoutalg.flow.levels import DEFAULT_TARGET
from layoutalg.flow.malformed import is_refusal
from layoutalg.module import Module, read

if TYPE_CHECKING:
    from layoutalg.checking.conversions import CheckedConversion
    from layoutalg.ir.findings import Finding
    from layoutalg.viz.graph import Graph

__all__ = ["Check", "check"]


@dataclass(frozen=True, repr=False)
class Check(NotebookAnswer):
    """What was found: mistakes with their findings, conversions with their prices, and how much was looked at.

    `operations` counts the operations on distributed values; `unknown` names those that could not be looked at: their syntax
    is not known, or what their results are made of. `unsaid` counts the values whose layout nothing says.

    >>> found = check("gpu.barrier")
    >>> found.is_right, found.operations, found.cost
    (True, 0, 0)
    """

    module: Module
    mistakes: tuple[Mistake, ...]
    operations: int
    conversions: tuple[CheckedConversion, ...]
    unknown: tuple[str, ...] = ()
    unsaid: int = 0
    target: str = DEFAULT_TARGET
    llvm: int = DEFAULT_LLVM

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What could not be read, what LLVM's verifiers refuse, then what is wrong, each in the order of the text.

        >>> check("gpu.barrier").findings
        ()
        """
        found = tuple([mistake.finding for mistake in self.mistakes])
        told = {(one.operation, one.place) for one in found if one.level == "error"}
        refused = (one for one in self.module.verify(llvm=self.llvm) if is_refusal(one))
        return (*(one for one in refused if (one.operation, one.place) not in told), *found)

    @property
    def verdict(self) -> Literal["right", "wrong", "unknown"]:
        """`wrong` where a finding is an error; `unknown` where none is and something could not be looked at.

        >>> check("gpu.barrier").verdict
        'right'
        >>> check('%x = arith.constant dense<0.0> : vector<8xf32> my.op %x : vector<8xf32>').verdict
        'unknown'
        """
        if any(finding.level == "error" for finding in self.findings):
            return "wrong"
        return "unknown" if self.unknown or any(one.finding.rule == UNCOMPARED for one in self.mistakes) else "right"

    @property
    def is_right(self) -> bool:
        """Whether everything was looked at, and no finding is an error.

        >>> check("gpu.barrier").is_right
        True
        """
        return self.verdict == "right"

    @property
    def redundant(self) -> tuple[CheckedConversion, ...]:
        """The conversions before and after which the same work-items hold the same elements.

        >>> check("gpu.barrier").redundant
        ()
        """
        return tuple(one for one in self.conversions if one.is_redundant)

    @property
    def cost(self) -> int:
        """What the conversions cost together on the target, each once, in issue slots of a subgroup.

        >>> check("gpu.barrier").cost
        0
        """
        return sum(one.cost or 0 for one in self.conversions)

    def picture(self, function: str | None = None) -> Graph:
        """The operations and layouts of one function (the first, without a name), with what is wrong; see `flow.picture`.

        Raises `LayoutError` where there is no such function.

        >>> check("gpu.barrier").picture()
        Traceback (most recent call last):
        layoutalg.core.errors.LayoutError: no function with distributed values in text
        """
        from layoutalg.flow.picture import flow_graph

        mistakes = {(one.finding.place, one.operand): one.finding for one in reversed(self.mistakes)}
        return flow_graph(self.module, self.target, function, mistakes=mistakes)

    @property
    def counts(self) -> str:
        """How much was looked at, in words.

        >>> check("gpu.barrier").counts
        '0 operations, 0 conversions'
        """
        told = [counted(self.operations, "operation"), counted(len(self.conversions), "conversion")]
        if self.redundant:
            told[-1] += f" ({len(self.redundant)} redundant)"
        if self.conversions:
            told[-1] += f" for {counted(self.cost, 'issue slot')} on {self.target}"
        open_ones = sum(one.cost is None for one in self.conversions)
        if open_ones:
            told[-1] += f", {open_ones} of a price that is not known"
        if self.unsaid:
            told.append(f"{counted(self.unsaid, 'value')} without a layout")
        if self.unknown:
            told.append(f"not looked at: {', '.join(self.unknown)}")
        return ", ".join(told)

    def _text(self) -> str:
        return "\n".join([str(self), *map(str, self.findings)])

    def __str__(self) -> str:
        errors = sum(finding.level == "error" for finding in self.findings)
        warnings = len(self.findings) - errors
        verdict = [counted(errors, "error") if errors else self.verdict]
        if warnings:
            verdict.append(counted(warnings, "warning"))
        return f"{self.counts}: {', '.join(verdict)}"


def check(module: Module | str | PathLike[str], *, target: str | None = None, llvm: int = DEFAULT_LLVM) -> Check:
    """Check the layouts of a module (or of a text, or of the file of a path) by meaning.

    `target` is the chip whose messages and prices count (what the module says, as Triton's do, or pvc), `llvm` the version
    whose rules layouts have to follow.

    Raises `LayoutError` for a target or a version that is not known, and for a file that cannot be read.

    >>> check('''func.func @f(%x: vector<8x16xf32>) {
    ...   %y = xegpu.convert_layout %x <{input_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>,
    ...     target_layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}> : vector<8x16xf32>
    ...   func.return }''').redundant[0].name
    '%y'
    """
    from layoutalg.checking.check_flow import check_flow, unread_in
    from layoutalg.flow.graph import flows_of
    from layoutalg.flow.written_layouts import about_nothing
    from layoutalg.hardware import target_info
    from layoutalg.module.chip import meant_chip

    rules(llvm)
    if not isinstance(module, Module):
        instance_of(module, (str, PathLike), "check of")
        module = read(module)
    chip = target_info(meant_chip(module, target)).name
    mistakes: list[Mistake] = []
    conversions: list[CheckedConversion] = []
    operations = unsaid = 0
    unknown: list[str] = []
    for part in module.parts:
        for flow in flows_of(part.module):
            found = check_flow(flow, module, chip, llvm)
            mistakes += found.mistakes
            conversions += found.conversions
            operations += found.operations
            unsaid += found.unsaid
            unknown += found.unknown
        unknown += unread_in(part.module)
        mistakes += [Mistake(finding, "") for finding in about_nothing(part.module)]
    mistakes.sort(key=lambda mistake: (mistake.finding.place is None, mistake.finding.place))
    return Check(
        module, tuple(mistakes), operations, tuple(conversions), tuple(dict.fromkeys(unknown)), unsaid, chip, llvm
    )
