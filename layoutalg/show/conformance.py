"""The matrix of a compiler's verdicts, for the terminal, as Markdown and as facts for JSON.

>>> from layoutalg.side.conformance.compilers import Compiler
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from layoutalg.core.plurals import counted
from layoutalg.side.conformance.kernel import GeneratedKernel
from layoutalg.side.conformance.results import Case, Conformance, Mistake
from layoutalg.side.conformance.verdicts import VERDICTS, Verdict

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Section",
    "aliased",
    "conformance_facts",
    "markdown",
    "mistakes_markdown",
    "print_conformance",
    "reproduced",
    "said",
    "sections",
]

_LETTERS = {"right": "", "wrong": "W", "refused": "R", "crash": "C", "left": "L", "not simulated": "-"}
_COLOURS = {"right": "green", "wrong": "bold red", "refused": "yellow", "crash": "bold magenta", "left": "cyan",
            "not simulated": "dim"}  # fmt: skip
_OPERATION = re.compile(r"\b((?!arith\.|math\.)(?:vector|xegpu|scf|iree_vector_ext)\.\w+)\b(?! ?<)")
_LOUD = ("wrong", "crash")
_LAYOUTS = r"#(?:xegpu\.layout|iree_vector_ext\.nested_layout)<[^<>]*>"
_SLICES = r"#xegpu\.slice<#l\d+, dims = \[[^\]]*\]>"


def _kinds(found: Conformance) -> list[str]:
    return list(dict.fromkeys(kind for _, kind in found.counts))


def _families(results: Sequence[Conformance]) -> list[str]:
    return sorted({family for found in results for family, _ in found.counts})


def print_conformance(found: Conformance, console: Console) -> None:
    """Print the matrix, operations by kinds of layout, then each mistake with its module."""
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
        console.print(
            f"{number}. {mistake.title} ({counted(len(mistake.cases), 'kernel')})", style="bold", markup=False
        )
        console.print(f"   {mistake.words}", markup=False, soft_wrap=True)
        console.print(f"   {reproduced(mistake.cases[0])}", style="dim", markup=False, soft_wrap=True)
        console.print(aliased(mistake.minimised.text), markup=False, highlight=False, soft_wrap=True, end="")


def reproduced(case: Case) -> str:
    """The options that generate a case again."""
    kernel = case.kernel
    return f"--only {kernel.operation} --kind {kernel.layout_kind} --level {kernel.level} --seed {kernel.seed}"


def _ordered(counts: Counter[str]) -> list[tuple[str, int]]:
    return [(kind, counts[kind]) for kind in VERDICTS if counts[kind]]


def markdown(results: Sequence[Conformance]) -> str:
    """A table of kernel counts by kind of layout: one row per operation, one column per compiler."""
    rows = [
        "| operation | " + " | ".join(found.compiler.name for found in results) + " |" if results else "| operation |"
    ]
    rows.append("|---" * (len(results) + 1) + "|")
    for family in _families(results):
        cells = [_cell(found, family) for found in results]
        rows.append(f"| {family} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


@dataclass(frozen=True)
class Section:
    """A mistake as a page shows it: its module, the verdict of every compiler, and what else fails like it."""

    title: str
    module: str
    words: str
    verdicts: Mapping[str, str]
    also: tuple[str, ...] = ()


def sections(results: Sequence[Conformance], ask: Callable[[GeneratedKernel, str], Verdict]) -> list[Section]:
    """The mistakes of compilers, each minimised module asked of all compilers of its family.

    One whose operations are those of another and more, with the same verdicts, is named there and has no section.
    """
    found: dict[str, Section] = {}
    operations: dict[str, frozenset[str]] = {}
    for result in results:
        names = [one.compiler.name for one in results if one.compiler.family == result.compiler.family]
        for mistake in result.mistakes:
            text = aliased(mistake.minimised.text)
            if text not in found:
                verdicts = {name: said(ask(mistake.minimised, name)) for name in names}
                found[text] = Section(mistake.title, text, mistake.words, verdicts)
                operations[text] = frozenset(_OPERATION.findall(text))
    order = sorted(found, key=lambda text: (len(operations[text]), len(text)))
    kept: dict[str, Section] = {}
    for text in order:
        section = found[text]
        like = next(
            (
                other
                for other in kept
                if operations[other] <= operations[text]
                and kept[other].verdicts == section.verdicts
                and _kind(kept[other]) == _kind(section)
            ),
            None,
        )
        if like is None:
            kept[text] = section
        elif section.title != kept[like].title:
            kept[like] = replace(
                kept[like], also=tuple(dict.fromkeys((*kept[like].also, section.title.partition(":")[0])))
            )
    return list(kept.values())


def _kind(section: Section) -> str:
    return section.title.rpartition(", ")[2]


def said(verdict: Verdict) -> str:
    """A verdict in two or three words: what, and at which stage.

    >>> said(Verdict("wrong", "lane")), said(Verdict("right", "memory"))
    ('wrong at lane', 'right')
    """
    return verdict.kind if verdict.kind == "right" else f"{verdict.kind} at {verdict.stage}"


def mistakes_markdown(found: Sequence[Section]) -> str:
    """Every mistake with its module and the verdicts of the compilers.

    >>> print(mistakes_markdown([Section("gemm, rows: crash", "module {}\\n", "SIGSEGV", {"mlir-opt-24": "crash at lane"})]))
    ### gemm, rows: crash
    <BLANKLINE>
    | mlir-opt-24 |
    |---|
    | crash at lane |
    <BLANKLINE>
    `SIGSEGV`.
    <BLANKLINE>
    ```mlir
    module {}
    ```
    """
    parts: list[str] = []
    for section in found:
        also = f" The same with {'; '.join(section.also)}." if section.also else ""
        parts.append(
            f"### {section.title}\n\n| {' | '.join(section.verdicts)} |\n{'|---' * len(section.verdicts)}|\n"
            f"| {' | '.join(section.verdicts.values())} |\n\n`{section.words}`.{also}\n\n```mlir\n{section.module}```"
        )
    return "\n\n".join(parts)


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
    if text.startswith("#l0 = "):
        return text
    names: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"#l{len(names)}")

    for pattern in (_LAYOUTS, _SLICES):
        text = re.sub(pattern, named, text)
    return "".join(f"{name} = {layout}\n" for layout, name in names.items()) + text


def conformance_facts(found: Conformance) -> dict[str, Any]:
    """The result as facts for JSON."""
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
