"""What LLVM makes of a module: the tile instructions of each function, and which tile of A, B and C each register holds.

The loop over k of 2x2 tiles, as LLVM 24 writes it:

    tileloadd   (%rbx,%r12), %tmm4          A0
    tileloadd   (%rbx,%r12), %tmm5          A1
    tileloadd   (%rbx,%r13), %tmm6          B0
    tdpbf16ps   %tmm6, %tmm4, %tmm3         C00 += A0 B0
    tdpbf16ps   %tmm6, %tmm5, %tmm2         C10 += A1 B0
    ...

Sources come in reverse: the tile of B, that of A, and the sums. What a register holds follows from the products that read it.
A and B are counted in the order of their loads; C[i, j] has the numbers of its factors. A spill is a tile that LLVM stores to
the stack, or loads from there: none is in what a plan emits.

>>> text = chr(10).join(("f:", ".LBB0_1:", chr(9) + "tileloadd", chr(9) + "jl .LBB0_1", ".Lfunc_end0:")).replace(
...     "tileloadd", "tileloadd" + chr(9) + "(%rdi,%rsi), %tmm0")
>>> [function] = functions_of(text)
>>> function.name, function.loop.loads, function.around.loads
('f', 1, 0)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutalg.gemm.amx.compiling import assembly, llvm_ir, usable_version
from layoutalg.gemm.versions import checked_version

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm

__all__ = ["AmxListing", "FunctionListing", "TileCounts", "amx_listing", "functions_of"]

_FUNCTION = re.compile(r"^([\w.$]+):.*?\n(.*?)^\.Lfunc_end\d+:", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^(\.LBB[\w]+):")
_JUMP = re.compile(r"^\tj\w+\s+(\.LBB\w+)")
_INSTRUCTION = re.compile(r"^\t([a-z]\w*)(?:\s+([^#]*?))?\s*(?:#.*)?$")
_STACK = re.compile(r"\(%rsp|(?:Spill|Reload)\s*$")
_TMM = re.compile(r"%tmm(\d)")


@dataclass(frozen=True, slots=True)
class TileCounts:
    """How many tile instructions there are; `spills` are the loads and stores of tiles on the stack, not counted elsewhere.

    >>> TileCounts(loads=4, products=4)
    TileCounts(loads=4, products=4, stores=0, zeros=0, configurations=0, spills=0, instructions=0)
    """

    loads: int = 0
    products: int = 0
    stores: int = 0
    zeros: int = 0
    configurations: int = 0
    spills: int = 0
    instructions: int = 0


@dataclass(frozen=True, slots=True)
class FunctionListing:
    """A function's instructions: `loop` counts its innermost loop with tiles (the one over k), `around` everything else.

    `lines` are its lines of assembly, `first` and `last` those of the loop (equal where there is none).

    >>> FunctionListing("f", ("\\ttilezero\\t%tmm0",), 0, 0).around.zeros
    1
    """

    name: str
    lines: tuple[str, ...]
    first: int
    last: int

    @property
    def loop(self) -> TileCounts:
        """What one step of k takes.

        >>> FunctionListing("f", ("\\ttileloadd\\t(%rsp,%rax), %tmm0  # 1024-byte Folded Reload",), 0, 1).loop.spills
        1
        """
        return _counted(self.lines[self.first : self.last])

    @property
    def around(self) -> TileCounts:
        """What lies outside of the loop.

        >>> FunctionListing("f", ("\\tldtilecfg\\t-64(%rsp)",), 0, 0).around.configurations
        1
        """
        return _counted((*self.lines[: self.first], *self.lines[self.last :]))

    @property
    def tiles(self) -> bool:
        """Whether it has tile instructions.

        >>> FunctionListing("f", ("\\tretq",), 0, 0).tiles
        False
        """
        return any("%tmm" in line for line in self.lines)

    @property
    def annotated(self) -> str:
        """The tile instructions with what their registers hold; a blank line before and behind the loop.

        >>> load, multiply = "\\ttileloadd\\t(%rdi,%rcx), ", "\\ttdpbf16ps\\t%tmm2, %tmm1, %tmm0"
        >>> print(FunctionListing("f", (f"{load}%tmm1", f"{load}%tmm2", multiply), 0, 3).annotated)
          tileloadd   (%rdi,%rcx), %tmm1       A0
          tileloadd   (%rdi,%rcx), %tmm2       B0
          tdpbf16ps   %tmm2, %tmm1, %tmm0      C00 += A0 B0
        """
        return "\n".join(_annotated(self))


@dataclass(frozen=True, slots=True)
class AmxListing:
    """The functions of a module, as a version of LLVM compiles them.

    >>> print(AmxListing(24, (FunctionListing("f", ("\\ttilezero\\t%tmm0",), 0, 0),)))
    LLVM 24
              of the inner loop  elsewhere
    function  loads  products    loads  stores  zeros  ldtilecfg  spills
    f             0         0        0       0      1          0       0
    <BLANKLINE>
    f
      tilezero    %tmm0
    """

    llvm: int
    functions: tuple[FunctionListing, ...]
    note: str = ""

    @property
    def with_tiles(self) -> tuple[FunctionListing, ...]:
        """The functions that have tile instructions.

        >>> AmxListing(24, ()).with_tiles
        ()
        """
        return tuple(function for function in self.functions if function.tiles)

    @property
    def spills(self) -> int:
        """Tiles that go to the stack or come from there.

        >>> AmxListing(24, ()).spills
        0
        """
        return sum(function.loop.spills + function.around.spills for function in self.functions)

    def __str__(self) -> str:
        found = self.with_tiles
        width = max((len(function.name) for function in found), default=8)
        lines = [
            self.note or f"LLVM {self.llvm}",
            f"{'':{width}}  of the inner loop  elsewhere",
            f"{'function':{width}}  loads  products    loads  stores  zeros  ldtilecfg  spills",
        ]
        for function in found:
            loop, around = function.loop, function.around
            lines.append(
                f"{function.name:{width}}  {loop.loads:5}  {loop.products:8}    {around.loads:5}  "
                f"{loop.stores + around.stores:6}  {loop.zeros + around.zeros:5}  "
                f"{loop.configurations + around.configurations:9}  {loop.spills + around.spills:6}"
            )
        for function in found:
            lines += ["", function.name, function.annotated]
        return "\n".join(lines)


def functions_of(text: str) -> tuple[FunctionListing, ...]:
    """The functions of a text of assembly that LLVM wrote."""
    return tuple(_function(found[1], found[2].splitlines()) for found in _FUNCTION.finditer(text))


def amx_listing(plan: AmxGemm, llvm: int | None = None) -> AmxListing:
    """Compile the plan's module for tile instructions, and read what became of it; any machine with LLVM can.

    Raises `PlanError`: LLVM isn't installed, or refuses the module.
    """
    version, note = usable_version(plan.llvm if llvm is None else checked_version(llvm))
    text = assembly(llvm_ir(plan.emit(version, part="parts"), version), version)
    return AmxListing(version, functions_of(text), note)


def _function(name: str, lines: Sequence[str]) -> FunctionListing:
    """A function, with the innermost of its loops that multiply tiles."""
    labels = {found[1]: at for at, line in enumerate(lines) if (found := _LABEL.match(line))}
    loops: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        jump = _JUMP.match(line)
        if jump is not None and jump[1] in labels and labels[jump[1]] <= at:
            loops.append((labels[jump[1]], at + 1))
    busy = [(first, last) for first, last in loops if any("%tmm" in line for line in lines[first:last])]
    innermost = [
        one for one in busy if not any(other != one and one[0] <= other[0] and other[1] <= one[1] for other in busy)
    ]
    multiplying = [one for one in innermost if _counted(lines[slice(*one)]).products]
    first, last = (multiplying or innermost or [(0, 0)])[0]
    return FunctionListing(name, tuple(lines), first, last)


def _counted(lines: Iterable[str]) -> TileCounts:
    counts = dict.fromkeys(("loads", "products", "stores", "zeros", "configurations", "spills", "instructions"), 0)
    for line in lines:
        found = _INSTRUCTION.match(line)
        if found is None:
            continue
        counts["instructions"] += 1
        name = found[1]
        if name in ("tileloadd", "tileloaddt1", "tilestored"):
            kind = "spills" if _STACK.search(line) else "stores" if name == "tilestored" else "loads"
            counts[kind] += 1
        elif name.startswith("tdp"):
            counts["products"] += 1
        elif name == "tilezero":
            counts["zeros"] += 1
        elif name == "ldtilecfg":
            counts["configurations"] += 1
    return TileCounts(**counts)


def _annotated(function: FunctionListing) -> list[str]:
    """The lines with tiles, each with what it moves or multiplies."""
    lines = [(at, found, line) for at, line in enumerate(function.lines) if (found := _INSTRUCTION.match(line))]
    lines = [one for one in lines if "%tmm" in one[2]]
    roles, sums = _roles(lines)
    made: list[str] = []
    inside = False
    for at, found, line in lines:
        if inside != (function.first <= at < function.last):
            inside = not inside
            if made:
                made.append("")
        tiles = [int(number) for number in _TMM.findall(found[2])]
        said = roles.get(at, "")
        if found[1].startswith("tdp"):
            said = f"{sums[tiles[2]]} += {said}"
        elif not said and tiles[0] in sums:
            said = sums[tiles[0]]
        if _STACK.search(line):
            said = f"{said} (on the stack)".strip()
        made.append(f"  {found[1]:10}  {found[2].strip():24} {said}".rstrip())
    return made


def _roles(lines: Sequence[tuple[int, re.Match[str], str]]) -> tuple[dict[int, str], dict[int, str]]:
    """What each load fetches and each product multiplies, by line; and which part of C a register sums up."""
    kinds: dict[int, str] = {}
    loaded: dict[int, int] = {}
    products: list[tuple[int, int | None, int | None, int]] = []
    for at, found, _ in lines:
        tiles = [int(number) for number in _TMM.findall(found[2])]
        if found[1].startswith("tileload"):
            loaded[tiles[0]] = at
        elif found[1].startswith("tdp"):
            b, a, c = tiles
            for tile, kind in ((a, "A"), (b, "B")):
                if tile in loaded:
                    kinds[loaded[tile]] = kind
            products.append((at, loaded.get(a), loaded.get(b), c))
    counters = {"A": 0, "B": 0}
    names: dict[int, str] = {}
    for at in sorted(kinds):
        names[at] = f"{kinds[at]}{counters[kinds[at]]}"
        counters[kinds[at]] += 1
    sums: dict[int, str] = {}
    for at, a, b, c in products:
        left, right = ("A?" if a is None else names[a]), ("B?" if b is None else names[b])
        sums.setdefault(c, f"C{left[1:]}{right[1:]}")
        names[at] = f"{left} {right}"
    return names, sums
