"""The listing of a plan: its kernel compiled with what is installed, its loop named, beside what was predicted.

>>> from layoutalg.gemm.listing.annotating import annotated
>>> from layoutalg.gemm.listing.reading import read_assembly
>>> from layoutalg.gemm.tiling import Tile, Tiling
>>> problem, tiling = Problem.of(64, 64, 64, target="bmg"), Tiling(Tile(8, 16, 16))
>>> code = "(W) mov (1|M0) r1.0<1>:d 0:w"
>>> made = Compiled("gemm", "bmg", 24, "26.27", code, 128, 0, 0, 16)
>>> listing = Listing(problem, tiling, made, annotated(made.program, problem, tiling.tile), counted(problem, tiling))
>>> print(listing.text())
gemm on bmg: LLVM 24, ocloc 26.27, 128 registers; nothing spilled, no unresolved call
no loop of the kernel has a dpas
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from layoutalg.core.errors import PlanError
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.whole_numbers import instance_of
from layoutalg.gemm.counting import Counted, counted
from layoutalg.gemm.listing.annotating import Block, Loop, annotated
from layoutalg.gemm.listing.compiling import Compiled, compile_kernel
from layoutalg.gemm.listing.reading import Counts
from layoutalg.gemm.problem import Problem
from layoutalg.gemm.tiling import Tiling

__all__ = ["Listing", "listing_of"]


@dataclass(frozen=True)
class Listing:
    """The machine code of a planned kernel, its loop with names, and what was predicted of it.

    >>> from layoutalg.gemm.tiling import Tile
    >>> made = Compiled("gemm", "bmg", 24, "26.27", "", 128, 0, 0, 16)
    >>> loop = Loop((), (), ("no loop of the kernel has a dpas",), Counts(0, 0, 0, 0, 0, 0, 0, 0))
    >>> Listing(Problem.of(64, 64, 64), Tiling(Tile(16, 32, 16)), made, loop, Counted(4, 2, 0, 3, 2, 3)).as_predicted
    False
    """

    problem: Problem
    tiling: Tiling
    compiled: Compiled
    loop: Loop
    predicted: Counted

    @property
    def as_predicted(self) -> bool:
        """Whether dpas, loads and prefetches are those that were predicted, and the whole loop within 5 %.

        >>> from layoutalg.gemm.tiling import Tile
        >>> made = Compiled("gemm", "bmg", 24, "26.27", "", 128, 0, 0, 16)
        >>> loop = Loop((), (), (), Counts(dpas=4, loads=2, prefetches=0, stores=0, syncs=3, movs=2, adds=1, others=2))
        >>> problem, tiling = Problem.of(64, 64, 64), Tiling(Tile(16, 32, 16))
        >>> Listing(problem, tiling, made, loop, Counted(4, 2, 0, 3, 2, 3)).as_predicted
        True
        """
        seen, said = self.loop.counts, self.predicted
        exact = (seen.dpas, seen.loads, seen.prefetches) == (said.dpas, said.loads, said.prefetches)
        return exact and 20 * abs(seen.total - said.total) <= seen.total

    def text(self) -> str:
        """What was compiled, the counts, every instruction of the loop with its name, and what the registers hold.

        >>> from layoutalg.gemm.tiling import Tile
        >>> made = Compiled("gemm", "bmg", 24, "26.27", "", 128, 64, 0, 16)
        >>> problem, tiling = Problem.of(64, 64, 64), Tiling(Tile(16, 32, 16))
        >>> loop = annotated(made.program, problem, tiling.tile)
        >>> print(Listing(problem, tiling, made, loop, Counted(4, 2, 0, 3, 2, 3)).text())
        gemm on bmg: LLVM 24, ocloc 26.27, 128 registers; 64 bytes a thread spilled, no unresolved call
        no loop of the kernel has a dpas
        """
        lines = [self._heading()]
        if self.loop.lines:
            lines += ["", *self._counts(), "", *self._instructions(), "", *self._registers()]
        lines += [""] * bool(self.loop.lines and self.loop.problems) + list(self.loop.problems)
        return "\n".join(lines)

    def _heading(self) -> str:
        made = self.compiled
        spilled = (
            f"{made.spilled + made.private} bytes a thread spilled"
            if made.spilled + made.private
            else "nothing spilled"
        )
        calls = f"{made.unresolved} unresolved calls" if made.unresolved else "no unresolved call"
        compilers = f"LLVM {made.llvm}, ocloc {made.compiler}, {made.registers} registers"
        return f"{made.kernel} on {made.chip}: {compilers}; {spilled}, {calls}"

    def _counts(self) -> list[str]:
        seen, said = self.loop.counts, self.predicted
        rows = [
            ("", "dpas", "loads", "prefetches", "waits", "others", "all", "per dpas"),
            (
                "loop",
                seen.dpas,
                seen.loads,
                seen.prefetches,
                seen.syncs,
                _rest(seen),
                seen.total,
                f"{seen.per_dpas:.2f}",
            ),
            (
                "predicted",
                *(said.dpas, said.loads, said.prefetches, said.syncs, said.addresses + said.control),
                *(said.total, f"{said.per_dpas:.2f}"),
            ),
        ]
        return _columns(rows, right=range(1, 8))

    def _instructions(self) -> list[str]:
        rows = [(str(number), line.name, " ".join(line.text.split())) for number, line in enumerate(self.loop.lines, 1)]
        return _columns([("", "what", "instruction"), *rows], right=range(1))

    def _registers(self) -> list[str]:
        rows: list[tuple[str, ...]] = [("registers", "hold", "first register: lane 0", "lane 1", "last lane")]
        for block in self.loop.blocks:
            held = block.elements(block.registers.start)
            lanes = (held[0], held[1], held[-1])
            rows.append((_named(block.registers), str(block), *(_elements(block, one) for one in lanes)))
        return _columns(rows)

    def as_json(self) -> dict[str, Any]:
        """The same for programs: of every register of every block all lanes.

        >>> from layoutalg.gemm.tiling import Tile
        >>> made = Compiled("gemm", "bmg", 24, "26.27", "", 128, 0, 0, 16)
        >>> problem, tiling = Problem.of(64, 64, 64), Tiling(Tile(16, 32, 16))
        >>> loop = annotated(made.program, problem, tiling.tile)
        >>> Listing(problem, tiling, made, loop, Counted(4, 2, 0, 3, 2, 3)).as_json()["spilled_bytes"]
        0
        """
        made, seen = self.compiled, self.loop.counts
        return {
            "kernel": made.kernel,
            "chip": made.chip,
            "llvm": made.llvm,
            "ocloc": made.compiler,
            "registers": made.registers,
            "spilled_bytes": made.spilled,
            "private_bytes": made.private,
            "unresolved_calls": made.unresolved,
            "counts": {**asdict(seen), "total": seen.total},
            "predicted": {**asdict(self.predicted), "total": self.predicted.total},
            "as_predicted": self.as_predicted,
            "complete": self.loop.complete,
            "problems": list(self.loop.problems),
            "loop": [{"name": line.name, "instruction": line.text} for line in self.loop.lines],
            "blocks": [
                {
                    "matrix": block.matrix,
                    "row": block.row,
                    "column": block.column,
                    "registers": {f"r{register}": block.elements(register) for register in block.registers},
                }
                for block in self.loop.blocks
            ],
        }


def listing_of(
    problem: Problem, tiling: Tiling, text: str, *, llvm: int = DEFAULT_LLVM, seconds: float = 120.0
) -> Listing:
    """Compile a kernel at lane level for the problem's chip and the tiling's registers, and name the instructions of its loop.

    Raises:
        PlanError: for chips whose kernels are not compiled this way; where a compiler is not installed, refuses the kernel or
            takes longer than `seconds`.

    >>> from layoutalg.gemm.tiling import Tile
    >>> listing_of(Problem.of(64, 64, 64, target="dg2"), Tiling(Tile(16, 16, 16)), "module {}")
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: chip 'dg2': kernels are compiled for pvc, bmg, lnl, lnl-m or ptl
    """
    instance_of(problem, Problem, "problem", PlanError)
    instance_of(tiling, Tiling, "tiling", PlanError)
    made = compile_kernel(text, problem.target, tiling.registers, llvm=llvm, seconds=seconds)
    return Listing(problem, tiling, made, annotated(made.program, problem, tiling.tile), counted(problem, tiling, llvm))


def _rest(seen: Counts) -> int:
    return seen.stores + seen.movs + seen.adds + seen.others


def _named(registers: range) -> str:
    return f"r{registers.start}-r{registers.stop - 1}"


def _elements(block: Block, held: tuple[tuple[int, int], ...]) -> str:
    return " ".join(f"{block.matrix}[{row}, {column}]" for row, column in held)


def _columns(rows: list[tuple[Any, ...]], right: range = range(0)) -> list[str]:
    """Rows as text in columns; numbers in the columns of `right` end where the column does."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
