"""The matrix of a compiler's verdicts, for the terminal, as Markdown and as facts for JSON.

>>> from layoutalg.propagation.conformance.compilers import Compiler
>>> from layoutalg.propagation.conformance.kernel import GeneratedKernel
>>> from layoutalg.propagation.conformance.verdicts import Verdict
>>> kernels = [GeneratedKernel("k", "", (), operation="math.exp", layout_kind=kind) for kind in ("rows", "rows", "units")]
>>> verdicts = [Verdict("right"), Verdict("right"), Verdict("wrong", "lane", first=(0, 1), count=2)]
>>> cases = tuple(Case(kernel, verdict) for kernel, verdict in zip(kernels, verdicts))
>>> found = Conformance(Compiler("mlir-opt-24", "mlir-opt-24", "llvm", "24"), cases)
>>> print(markdown([found]))
| operation | mlir-opt-24 |
|---|---|
| elementwise | 2 right (rows), **1 wrong** (units) |
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from layoutalg.propagation.conformance.results import Case, Conformance, Mistake
from layoutalg.propagation.conformance.verdicts import VERDICTS

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["aliased", "conformance_facts", "markdown", "mistakes_markdown", "print_conformance", "reproduced"]

_LETTERS = {"right": "", "wrong": "W", "refused": "R", "crash": "C", "left": "L", "not simulated": "-"}
_COLOURS = {"right": "green", "wrong": "bold red", "refused": "yellow", "crash": "bold magenta", "left": "cyan",
            "not simulated": "dim"}  # fmt: skip
_LOUD = ("wrong", "crash")
_LAYOUTS = r"#(?:xegpu\.layout|iree_vector_ext\.nested_layout)<[^<>]*>"
_SLICES = r"#xegpu\.slice<#l\d+, dims = \[[^\]]*\]>"


def _kinds(found: Conformance) -> list[str]:
    return list(dict.fromkeys(kind for _, kind in found.counts))


def _families(results: Sequence[Conformance]) -> list[str]:
    return sorted({family for found in results for family, _ in found.counts})


def print_conformance(found: Conformance, console: Console) -> None:
    """Print the matrix, operations by kinds of layout, then each mistake with its module.

    >>> from rich.console import Console
    >>> from layoutalg.propagation.conformance.compilers import Compiler
    >>> print_conformance(Conformance(Compiler("mlir-opt-24", "mlir-opt-24", "llvm", "24"), ()), Console(width=60))
    mlir-opt-24: 0 kernels
    """
    from rich.table import Table
    from rich.text import Text

    totals = Counter(case.verdict.kind for case in found.cases)
    said = ", ".join(f"{totals[kind]} {kind}" for kind in VERDICTS if totals[kind])
    if found.cases:
        table = Table(box=None, header_style="bold", padding=(0, 1))
        table.add_column("operation", no_wrap=True)
        for kind in _kinds(found):
            table.add_column(kind, justify="right", no_wrap=True)
        for family in _families([found]):
            cells: list[Text] = []
            for kind in _kinds(found):
                cell = Text()
                for verdict, number in _ordered(found.counts.get((family, kind), Counter())):
                    cell.append(f"{' ' if cell else ''}{number}{_LETTERS[verdict]}", _COLOURS[verdict])
                cells.append(cell)
            table.add_row(family, *cells)
        console.print(table)
        console.print("N right, W wrong, R refused, C crash, L left undistributed, - not simulated", style="dim")
    console.print(f"{found.compiler.name}: {len(found.cases)} kernels" + (f", {said}" if said else ""))
    for number, mistake in enumerate(found.mistakes, 1):
        console.print()
        console.print(f"{number}. {mistake.title} ({len(mistake.cases)} kernels)", style="bold", markup=False)
        console.print(f"   {mistake.words}", markup=False, soft_wrap=True)
        console.print(f"   {reproduced(mistake.cases[0])}", style="dim", markup=False, soft_wrap=True)
        console.print(aliased(mistake.minimised.text), markup=False, highlight=False, soft_wrap=True, end="")


def reproduced(case: Case) -> str:
    """The options that generate a case again.

    >>> from layoutalg.propagation.conformance.generating import made
    >>> from layoutalg.propagation.conformance.verdicts import Verdict
    >>> reproduced(Case(made("math.exp", "units", "plain", 3, 1), Verdict("right")))
    '--only math.exp --kind units --level plain --seed 3'
    """
    kernel = case.kernel
    return f"--only {kernel.operation} --kind {kernel.layout_kind} --level {kernel.level} --seed {kernel.seed}"


def _ordered(counts: Counter[str]) -> list[tuple[str, int]]:
    return [(kind, counts[kind]) for kind in VERDICTS if counts[kind]]


def markdown(results: Sequence[Conformance]) -> str:
    """A table with a row for each operation and a column for each compiler: how many kernels, and in which kinds of layouts.

    >>> markdown([])
    '| operation |\\n|---|'
    """
    rows = [
        "| operation | " + " | ".join(found.compiler.name for found in results) + " |" if results else "| operation |"
    ]
    rows.append("|---" * (len(results) + 1) + "|")
    for family in _families(results):
        cells = [_cell(found, family) for found in results]
        rows.append(f"| {family} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def mistakes_markdown(results: Sequence[Conformance]) -> str:
    """Every mistake of the compilers with its module; those with one module are one section.

    >>> mistakes_markdown([])
    ''
    """
    sections: dict[str, list[tuple[str, Mistake]]] = {}
    for found in results:
        for mistake in found.mistakes:
            text = aliased(mistake.minimised.text)
            sections.setdefault(text, []).append((found.compiler.name, mistake))
    parts: list[str] = []
    for text, uses in sections.items():
        first = uses[0][1]
        names = ", ".join(dict.fromkeys(name for name, _ in uses))
        parts.append(f"\n### {first.title}\n\n{names}: {first.words}.\n\n```mlir\n{text}```")
    return "\n".join(parts)


def _cell(found: Conformance, family: str) -> str:
    kinds: dict[str, list[str]] = {}
    numbers: Counter[str] = Counter()
    for (one, kind), counts in found.counts.items():
        if one == family:
            for verdict, number in counts.items():
                kinds.setdefault(verdict, []).append(kind)
                numbers[verdict] += number
    every = {kind for one, kind in found.counts if one == family}
    parts: list[str] = []
    for verdict, number in _ordered(numbers):
        where = (
            "" if verdict == "right" and len(kinds[verdict]) == len(every) > 1 else f" ({', '.join(kinds[verdict])})"
        )
        words = f"{number} {verdict}"
        parts.append(f"**{words}**{where}" if verdict in _LOUD else words + where)
    return ", ".join(parts) or "-"


def aliased(text: str) -> str:
    """A module with a name for each of its layouts, which are then written once.

    >>> print(aliased("f #xegpu.layout<inst_data = [8]> #xegpu.layout<inst_data = [8]>"))
    #l0 = #xegpu.layout<inst_data = [8]>
    f #l0 #l0
    """
    names: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"#l{len(names)}")

    for pattern in (_LAYOUTS, _SLICES):
        text = re.sub(pattern, named, text)
    return "".join(f"{name} = {layout}\n" for layout, name in names.items()) + text


def conformance_facts(found: Conformance) -> dict[str, Any]:
    """The result as facts for JSON.

    >>> from layoutalg.propagation.conformance.compilers import Compiler
    >>> conformance_facts(Conformance(Compiler("mlir-opt-24", "mlir-opt-24", "llvm", "24"), ()))["kernels"]
    0
    """
    return {
        "compiler": found.compiler.name,
        "version": found.compiler.version,
        "kernels": len(found.cases),
        "matrix": [
            {"operation": family, "layout_kind": kind, **dict(_ordered(counts))}
            for (family, kind), counts in sorted(found.counts.items())
        ],
        "mistakes": [_mistake_facts(mistake) for mistake in found.mistakes],
    }


def _mistake_facts(mistake: Mistake) -> dict[str, Any]:
    first = mistake.cases[0]
    return {
        "title": mistake.title,
        "operations": sorted({case.kernel.operation for case in mistake.cases}),
        "layout_kind": first.kernel.layout_kind,
        "verdict": first.verdict.kind,
        "stage": first.verdict.stage,
        "words": mistake.words,
        "kernels": len(mistake.cases),
        "again": reproduced(first),
        "arguments": [[element, list(shape)] for element, shape in mistake.minimised.arguments],
        "module": aliased(mistake.minimised.text),
    }
