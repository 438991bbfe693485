"""`layoutalg check --before --after` and `--passes`: two versions of a kernel on the same data.

Where a pipeline is compared, every pass is a line; what differs follows it, with the line of the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layoutalg.cli.arguments import print_json, read_module_file
from layoutalg.cli.findings import write_findings
from layoutalg.cli.run import as_arguments, as_grid
from layoutalg.core.plurals import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from layoutalg.equivalence import Kept, Stage
    from layoutalg.ir.findings import Finding

__all__ = ["Compared", "compare_files", "compare_passes"]


@dataclass(frozen=True)
class Compared:
    """How versions are run and what is found is written."""

    grid: str
    given: tuple[str, ...]
    kernel: str | None
    seed: int
    tolerance: float | None
    target: str
    written: str

    @property
    def options(self) -> dict[str, Any]:
        """What the functions of the library take.

        >>> Compared("8x16", (), None, 0, None, "pvc", "text").options["grid"]
        (8, 16, 1)
        """
        return {
            "arguments": [one.value for one in as_arguments(self.given)] or None,
            "grid": as_grid("--grid", self.grid),
            "kernel": self.kernel,
            "seed": self.seed,
            "tolerance": self.tolerance,
            "target": self.target,
        }


def compare_files(before: str, after: str, compared: Compared) -> int:
    """Compare two files; 1 where they differ.

    >>> compare_files("gpu.barrier", "gpu.barrier", Compared("1", (), None, 0, None, "pvc", "text"))
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: before: no kernel (a gpu.func with 'kernel') in the module
    """
    from layoutalg.equivalence import keeps_meaning

    old, new = read_module_file(before), read_module_file(after)
    kept = keeps_meaning(old, new, **compared.options)
    facts = {"after": new.file, "kept": kept.is_kept, **_facts(kept)}
    closing = (
        ""
        if compared.written != "text" or not kept.is_kept
        else f"; {new.file} keeps its meaning in {counted(kept.draws, 'draw')}"
    )
    write_findings(kept.findings, old, compared.written, facts, closing)
    return int(not kept.is_kept)


def compare_passes(file: str, passes: str, compiler: str, compared: Compared) -> int:
    """Compare the module of a file after each pass with the one before; 1 where one differs.

    >>> compare_passes("gpu.barrier", "cse", "mlir-opt-22", Compared("1", (), None, 0, None, "pvc", "text"))
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: before: no kernel (a gpu.func with 'kernel') in the module
    """
    from layoutalg.core.progress import progress_bar
    from layoutalg.equivalence import passes_keep_meaning

    module = read_module_file(file)
    with progress_bar("passes") as progress:
        stages = passes_keep_meaning(module, passes, compiler=compiler, progress=progress, **compared.options)
    if compared.written == "json":
        print_json({"file": module.file, "compiler": compiler, "passes": [_stage_facts(stage) for stage in stages]})
    elif compared.written == "text":
        for stage in stages:
            print(stage)
    else:
        write_findings(_findings(stages), module, compared.written, {})
    return int(not all(stage.is_kept for stage in stages))


def _findings(stages: Sequence[Stage]) -> list[Finding]:
    """What differs; the modules between have no lines in the file, so a finding has no place there."""
    from dataclasses import replace

    return [
        replace(finding, message=f"{finding.message} (after {stage.name})", place=None)
        for stage in stages
        if stage.kept is not None
        for finding in stage.kept.findings
    ]


def _stage_facts(stage: Stage) -> dict[str, Any]:
    if stage.kept is None:
        return {"pass": stage.name, "kept": None, "problem": stage.problem}
    return {"pass": stage.name, "kept": stage.is_kept, **_facts(stage.kept)}


def _facts(kept: Kept) -> dict[str, Any]:
    """The difference and the operation in words that JSON can hold, and on how many draws the two were compared."""
    found = kept.difference
    if found is None:
        return {"draws": kept.draws}
    facts: dict[str, Any] = {
        "argument": found.argument,
        "element": list(found.element),
        "before": repr(found.before),
        "after": repr(found.after),
        "different": found.count,
    }
    if kept.culprit is not None:
        facts |= {"operation": kept.culprit.operation, "at": str(kept.culprit.before), "moved": kept.culprit.moved}
    return {"draws": kept.draws, "difference": facts}
