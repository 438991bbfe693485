"""What a compiler did with many kernels: a matrix of operation and kind of layout, and its mistakes.

>>> found = Conformance(Compiler("mlir-opt-24", "mlir-opt-24", "llvm", "24"), ())
>>> found.mistakes, found.counts
((), {})

A mistake is a kernel that was wrong or crashed the compiler. Those of one family of operations, one kind of layout and one
skeleton of words are one; the smallest of them stands for all, and is reduced (see `reducing`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from layoutalg.side.conformance.compilers import NO_ANSWER, Compiler
from layoutalg.side.conformance.kernel import GeneratedKernel
from layoutalg.side.conformance.making import generators
from layoutalg.side.conformance.verdicts import Verdict

__all__ = ["Case", "Conformance", "Mistake", "mistakes_of"]

_FAILURES = ("wrong", "crash")


@dataclass(frozen=True)
class Case:
    """A kernel and its verdict.

    >>> Case(GeneratedKernel("k", "", (), operation="math.exp"), Verdict("right")).family
    'elementwise'
    """

    kernel: GeneratedKernel
    verdict: Verdict

    @property
    def family(self) -> str:
        """What the matrix calls the operation.

        >>> Case(GeneratedKernel("k", "", (), operation="softmax"), Verdict("right")).family
        'softmax'
        """
        generator = generators().get(self.kernel.operation)
        return self.kernel.operation if generator is None else generator.family

    @property
    def failed(self) -> bool:
        """Whether the compiler made a mistake.

        >>> Case(GeneratedKernel("k", "", ()), Verdict("refused")).failed
        False
        """
        return self.verdict.kind in _FAILURES


@dataclass(frozen=True)
class Mistake:
    """Cases that fail alike, and the smallest kernel that does.

    >>> kernel = GeneratedKernel("k", "", (), operation="math.exp", layout_kind="units")
    >>> Mistake((Case(kernel, Verdict("wrong", "lane", first=(0, 1), count=2)),), kernel).title
    'elementwise, units: wrong at lane'
    """

    cases: tuple[Case, ...]
    minimised: GeneratedKernel
    verdict: Verdict | None = None
    """Of the minimised kernel; the first case's where it was not reduced."""

    @property
    def title(self) -> str:
        """What it is about, in a line.

        >>> kernel = GeneratedKernel("k", "", (), operation="gemm", layout_kind="rows")
        >>> Mistake((Case(kernel, Verdict("crash", "lane", "SIGSEGV")),), kernel).title
        'gemm, rows: crash at lane'
        """
        first = self.cases[0]
        return f"{first.family}, {first.kernel.layout_kind}: {first.verdict.kind} at {first.verdict.stage}"

    @property
    def words(self) -> str:
        """How it fails.

        >>> kernel = GeneratedKernel("k", "", (), operation="gemm", layout_kind="rows")
        >>> Mistake((Case(kernel, Verdict("crash", "lane", "SIGSEGV")),), kernel).words
        'SIGSEGV'
        """
        return (self.verdict or self.cases[0].verdict).words


@dataclass(frozen=True)
class Conformance:
    """What a compiler did with many kernels.

    >>> Conformance(Compiler("mlir-opt-24", "mlir-opt-24", "llvm", "24"), ()).wrong
    ()
    """

    compiler: Compiler
    cases: tuple[Case, ...]
    mistakes: tuple[Mistake, ...] = ()

    @cached_property
    def counts(self) -> dict[tuple[str, str], Counter[str]]:
        """For each family and kind of layout, how many kernels had each verdict.

        >>> kernel = GeneratedKernel("k", "", (), operation="math.exp", layout_kind="rows")
        >>> compiler = Compiler("mlir-opt-24", "mlir-opt-24", "llvm", "24")
        >>> Conformance(compiler, (Case(kernel, Verdict("right")),)).counts
        {('elementwise', 'rows'): Counter({'right': 1})}
        """
        counted: dict[tuple[str, str], Counter[str]] = {}
        for case in self.cases:
            counted.setdefault((case.family, case.kernel.layout_kind), Counter())[case.verdict.kind] += 1
        return counted

    @property
    def wrong(self) -> tuple[Case, ...]:
        """The cases whose result is wrong.

        >>> Conformance(Compiler("mlir-opt-24", "mlir-opt-24", "llvm", "24"), ()).wrong
        ()
        """
        return tuple(case for case in self.cases if case.verdict.kind == "wrong")


def mistakes_of(
    program: Compiler,
    cases: Iterable[Case],
    *,
    reduce: bool,
    progress: Callable[[float], None] | None = None,
    done: float = 0.0,
) -> tuple[Mistake, ...]:
    """The failures among cases, those alike together, each reduced."""
    alike: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        if case.failed:
            alike.setdefault((case.family, case.kernel.layout_kind, *case.verdict.skeleton), []).append(case)
    groups = [tuple(sorted(group, key=lambda case: len(case.kernel.text))) for group in alike.values()]
    if not reduce:
        return tuple(Mistake(group, group[0].kernel) for group in groups)
    from layoutalg.side.conformance.reducing import reduced

    made: list[Mistake] = []
    for number, group in enumerate(groups):
        first = group[0]
        # A compiler that does not answer is not asked hundreds of times.
        small, verdict = (
            (first.kernel, first.verdict)
            if first.verdict.said.startswith(NO_ANSWER)
            else reduced(program, first.kernel, first.verdict)
        )
        made.append(Mistake(group, small, verdict))
        if progress is not None:
            progress(done + (1 - done) * (number + 1) / len(groups))
    return tuple(made)
