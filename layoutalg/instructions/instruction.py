"""An instruction as a value: its operands, each with its layout, its place, and the document that says so.

The tensor core of SM80 multiplies 16 x 8 x 16. Each operand is a layout from its own coordinates, A from (m, k), B from (k, n),
C from (m, n), to the lanes of a warp and to registers, which count elements:

>>> from layoutalg.instructions import instruction
>>> mma = instruction("SM80_16x8x16_F32F16F16F32_TN")
>>> print(mma["C"].layout)
d0 = 2@reg:2 8@lane:4, d1 = 4@lane 2@reg

The lane 5 holds the rows 1 and 9, columns 2 and 3: `[[1, 2], [1, 3], [9, 2], [9, 3]]`.

**Where an operand is.** `space` says it, and the axes are named for it:

| space | axes | meaning |
|---|---|---|
| registers | `sg`, `lane`, `reg` | warp or wave, lane, register element |
| memory | `addr` | the address in elements; for `ldmatrix` behind the address that a lane gives |
| memory, by descriptor | `element` | a descriptor says where the tile is; `element` counts down its columns, as CuTe does |
| tensor memory | `tmem_lane`, `tmem_column` | NVIDIA's 128 lanes x 512 columns; columns count elements of the operand |
| two SMs | `sm` | which of the two holds the element |

CUTLASS writes a thread-value layout also for what no thread holds: there every thread refers to the whole tile, with stride
0. `traits` has that map (`layoutalg.cute.atom` prints it). Where an instruction runs on fewer threads than a warp, `lane`
counts these, and `thread_id` says which lanes of the warp they are.

**Who says so.** `source` is the document that an operand's layout comes from, `confirmed` what else says the same; where
nothing does, reports say "one source". Where sources disagree, the instruction has several `readings`: the same name with
other layouts, each under the name of whose it is (`instruction(name, reading="IREE")`, or `name@IREE` as a text).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from layoutalg.core.errors import DistributionError, LayoutError
from layoutalg.core.layout import MACHINE, Layout
from layoutalg.core.matrix_products import product_lines
from layoutalg.core.messages import shown
from layoutalg.core.notation import Machine, Notation, Note, Operand, ReportRequest, own_sizes
from layoutalg.core.whole_numbers import instance_of
from layoutalg.core.work_items import cover, machine_for

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Instruction", "InstructionOperand", "OperandOf", "chips_text"]

_TRAITS = {"source": "SrcLayout", "destination": "DstLayout", "layout": "layout"}
_SPARSE = ("mma.sync.sp", "wgmma.sp", "SMFMAC", "SWMMAC")
_IN_PLACE = ("wgmma", "wgmma.sp", "tcgen05.mma", "SMFMAC", "SWMMAC")
"""Families that add to C in its own place."""
_UNDER_A_TITLE = ("blocks", "quad pair", "metadata")
"""Remarks without which a picture would not be understood."""
_GROUPS = {"NVIDIA": "warp", "AMD": "wave"}
_LETTERS = {"A": "MxK", "B": "KxN", "C": "MxN", "D": "MxN"}


@dataclass(frozen=True, slots=True)
class InstructionOperand:
    """One operand: its role, its element type, where each of its elements is, and who says so.

    `role` is A, B, C in a product (also E, the metadata of a sparse A, and SFA and SFB, scale factors); `source` and
    `destination` of a copy. `traits` is CUTLASS's thread-value map where that is not the layout itself: a layout,
    or CuTe's text where it has no inverse.

    >>> InstructionOperand("C", "f32", Layout.parse("d0 = 8@reg, d1 = 16@lane"), source="a document").source_text()
    'a document; one source'
    """

    role: str
    element: str
    layout: Layout
    space: str = "registers"
    traits: Layout | str | None = None
    source: str = ""
    confirmed: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()

    def source_text(self) -> str:
        """Who says so, in one line.

        >>> from layoutalg.instructions import instruction
        >>> "one source" in instruction("SM80_16x8x16_F32F16F16F32_TN")["C"].source_text()
        False
        """
        return f"{self.source}; " + (f"confirmed by {', '.join(self.confirmed)}" if self.confirmed else "one source")


@dataclass(frozen=True, slots=True, repr=False)
class Instruction(Notation):
    """An instruction by its name: what it is, where it runs, and the layout of each operand.

    `family` is the word of the vendor ("mma.sync", "wgmma", "ldmatrix"), `kind` "mma", "copy" or "layout" (of shared or tensor
    memory). `shape` is m, n, k of a product and otherwise (). `threads` execute it together, in subgroups of `lanes`.

    >>> from layoutalg.instructions import instruction
    >>> mma = instruction("SM80_16x8x16_F32F16F16F32_TN")
    >>> mma.family, mma.shape, mma.threads, [one.role for one in mma.parts]
    ('mma.sync', (16, 8, 16), 32, ['A', 'B', 'C'])
    """

    name: str
    family: str
    vendor: str
    kind: str
    chips: tuple[str, ...]
    shape: tuple[int, ...]
    threads: int
    parts: tuple[InstructionOperand, ...]
    lanes: int = 32
    aliases: tuple[str, ...] = ()
    reading: str = ""
    """Whose reading of the operands this is; empty: the vendor's own, or the only one."""
    others: tuple[tuple[str, tuple[InstructionOperand, ...]], ...] = ()
    """Other readings: whose, and the operands that they see differently (none where they agree and have a name for it)."""
    thread_id: str = ""
    """Which lane of the warp each thread is, as CuTe writes it, where an instruction runs on fewer."""
    more_traits: tuple[tuple[str, Layout | str], ...] = ()
    """What CUTLASS's traits have beside the operands: `RefLayout`, `ValID`."""
    remarks: tuple[tuple[str, str], ...] = ()
    named_types: tuple[tuple[str, str], ...] = ()
    """The element types, where no operand says them."""
    refusal: str = ""
    """Why there are no operands, of an instruction whose layouts no source has."""
    called: str = field(default="", compare=False)
    """The name that it was asked for by, which pictures call it."""

    def __str__(self) -> str:
        return f"{self.name}@{self.reading}" if self.reading else self.name

    def _row(self) -> dict[str, object]:
        return {
            "name": str(self),
            "family": self.family,
            "kind": self.kind,
            "shape": "x".join(map(str, self.shape)),
            "types": ", ".join(f"{role} {element}" for role, element in self.types.items()),
            "threads": self.threads,
            "chips": ", ".join(self.chips) if len(self.chips) < 4 else f"{self.chips[0]} to {self.chips[-1]}",
        }

    def __repr__(self) -> str:
        return f"<Instruction: {self}>"

    def __getitem__(self, role: str) -> InstructionOperand:
        """The operand of a role.

        Raises `LayoutError` for a role that it does not have.

        >>> from layoutalg.instructions import instruction
        >>> instruction("SM80_16x8x16_F32F16F16F32_TN")["E"]
        Traceback (most recent call last):
        layoutalg.core.errors.LayoutError: SM80_16x8x16_F32F16F16F32_TN has no operand 'E': it has A, B, C
        """
        instance_of(role, str, "operand")
        for part in self.parts:
            if part.role == role:
                return part
        raise LayoutError(f"{self} has no operand {shown(role)}: it has {', '.join(one.role for one in self.parts)}")

    @property
    def types(self) -> dict[str, str]:
        """The element type of each operand.

        >>> from layoutalg.instructions import instruction
        >>> instruction("SM80_16x8x16_F32F16F16F32_TN").types
        {'A': 'f16', 'B': 'f16', 'C': 'f32'}
        """
        return {part.role: part.element for part in self.parts} or dict(self.named_types)

    @property
    def readings(self) -> tuple[str, ...]:
        """Who reads operands in another way.

        >>> from layoutalg.instructions import instruction
        >>> instruction("SM80_16x8x16_F32F16F16F32_TN").readings
        ('IREE',)
        """
        return tuple(whose for whose, parts in self.others if parts)

    def read_by(self, whose: str) -> Instruction:
        """The same instruction as someone else reads it: the operands that differ are theirs.

        Raises `LayoutError` where there is no such reading.

        >>> from layoutalg.instructions import instruction
        >>> print(instruction("SM80_16x8x16_F32F16F16F32_TN").read_by("IREE")["A"].layout)
        d0 = 2@reg:4 8@lane:4, d1 = 2@reg:2 4@lane 2@reg
        """
        instance_of(whose, str, "reading")
        if not whose or whose == self.reading:
            return self
        found = dict(self.others).get(whose)
        if found is None:
            known = ", ".join(who for who, _ in self.others) or "no other"
            raise LayoutError(f"{self.name} has no reading {shown(whose)}: it has {known}")
        theirs = {one.role: one for one in found}
        return replace(self, parts=tuple(theirs.get(one.role, one) for one in self.parts), reading=whose, called="")

    def traits(self) -> Mapping[str, Layout | str]:
        """CUTLASS's thread-value layouts by the names of its traits; B is N x K there, and a memory is seen by each thread.

        >>> from layoutalg.instructions import instruction
        >>> print(instruction("SM80_16x8x16_F32F16F16F32_TN").traits()["BLayout"])
        d0 = 8@lane:4, d1 = 2@reg:2 4@lane 2@reg
        """
        found: dict[str, Layout | str] = {}
        for part in self.parts:
            seen = part.layout.permute((1, 0)) if part.role in ("B", "SFB") else part.layout
            found[_TRAITS.get(part.role, f"{part.role}Layout")] = seen if part.traits is None else part.traits
        return found | dict(self.more_traits)

    def heading(self) -> str:
        """The name that it was asked for by.

        >>> from layoutalg.instructions import instruction
        >>> instruction("mma.m16n8k16.f32.f16.f16.f32").heading()
        'mma.m16n8k16.f32.f16.f16.f32'
        """
        return self.called or str(self)

    def subheading(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[str, ...]:
        """Of a product its equation, its sizes and its lanes; the full name, where it was asked for by another, and the chips.

        >>> from layoutalg.instructions import instruction
        >>> print(*instruction("mma.m16n8k16.f32.f16.f16.f32").subheading(), sep="\\n")
        D[16x8] f32 = A[16x16] f16 * B[16x8] f16 + C; D has the layout of C
        M = 16, N = 8, K = 16 (summed over); by the 32 lanes of a warp
        also SM80_16x8x16_F32F16F16F32_TN, on sm_80 to sm_121
        """
        named = f"also {self}, " * (self.heading() != str(self))
        where = f"{named}on {chips_text(self.chips)}"
        if not self.shape:
            return (where,)
        sparse = self.family in _SPARSE
        lines = product_lines(
            self.operands(shape, machine),
            self.shape,
            self._executed(),
            in_place=self.family in _IN_PLACE,
            sparse=sparse,
        )
        stored = "sparse: of A only the elements that the metadata names are stored, the others are 0"
        told: dict[str, list[str]] = {}
        for part in self.parts:
            more = part.notes if part.role not in _LETTERS else ()
            for text in ([f"in {part.space}"] if part.space != "registers" else []) + [
                ": ".join(note) for note in more
            ]:
                told.setdefault(text, []).append(part.role)
        remarks = [f"{label}: {text}" for label, text in self.remarks if label in _UNDER_A_TITLE]
        return (
            *lines,
            *[stored] * sparse,
            *remarks,
            *(f"{', '.join(roles)}: {text}" for text, roles in told.items()),
            where,
        )

    def _executed(self) -> str:
        """Who executes it, in words."""
        lanes = f"{self.lanes} lanes of a {_GROUPS.get(self.vendor, 'subgroup')}"
        if self.threads > self.lanes:
            return f"by {self.threads // self.lanes} warps (subgroups) of {self.lanes} lanes"
        if self.family == "tcgen05.mma":
            return "started by one thread" + ", for two SMs" * (self.threads > 1)
        return f"by the {lanes}" if self.threads > 1 else "each lane has its own"

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The operands with their layouts; subgroups of the machine that it does not need hold copies.

        Raises `DistributionError` for a shape other than its own, and for a machine with other lanes.

        >>> from layoutalg.instructions import instruction
        >>> [one.name for one in instruction("SM80_16x8x16_F32F16F16F32_TN").operands()]
        ['A  16x16xf16', 'B  16x8xf16', 'C  16x8xf32']
        """
        if self.refusal:
            raise DistributionError(f"{self}: {self.refusal}")
        sizes = self.shape or self.parts[0].layout.shape
        own_sizes(self, sizes, shape)
        return tuple(self._operand(part, machine) for part in self.parts)

    def _operand(self, part: InstructionOperand, machine: Machine | None) -> Operand:
        layout = part.layout
        if machine is not None:
            on = machine_for(machine, self.lanes, self)
            if set(layout.axes) & set(MACHINE):
                layout = cover(layout, on, self)
        name = f"{part.role}  {'x'.join(map(str, layout.shape))}x{part.element}"
        letters = f"  {_LETTERS[part.role]}" if part.role in _LETTERS else ""
        notes = (
            ("title", f"{part.role}{letters}  {name.split()[-1]}"),
            *([("in", part.space)] if part.space != "registers" else []),
            ("source", part.source_text()),
            *part.notes,
        )
        role = part.role if self.shape else None
        tile = part.layout.shape if role in ("A", "B", "C") and part.layout.rank == 2 else None
        return Operand(name, layout, tile, role, notes=notes)  # pyright: ignore[reportArgumentType]

    def operand(self, role: str) -> OperandOf:
        """One operand as a value of its own, for what takes one layout: a comparison, a conversion, bank conflicts.

        Raises `LayoutError` for a role that it does not have.

        >>> from layoutalg.instructions import instruction
        >>> print(instruction("SM80_16x8x16_F32F16F16F32_TN").operand("C"))
        SM80_16x8x16_F32F16F16F32_TN.C
        """
        return OperandOf(self, self[role].role)

    def _notes(self, shape: Sequence[int] | None, machine: Machine | None, asked: ReportRequest) -> tuple[Note, ...]:
        """What it is, who executes it, which chips have it, and by which other names it goes."""
        found = [Note("family", f"{self.family} ({self.vendor})", "family", self.family)]
        if self.shape:
            types = self.types
            product = f"{'x'.join(map(str, self.shape))}, {types['A']} x {types['B']} + {types['C']}"
            found.append(Note("product", product, "product", product))
            found.append(Note("", "", "sizes", dict(zip("mnk", self.shape, strict=True))))
        found += [
            Note("chips", ", ".join(self.chips), "chips", list(self.chips)),
            Note("threads", str(self.threads), "threads", self.threads),
        ]
        if self.aliases:
            found.append(Note("also", ", ".join(self.aliases), "aliases", list(self.aliases)))
        if self.reading:
            found.append(Note("reading", f"{self.reading}'s", "reading", self.reading))
        elif self.others:
            differing = [(whose, parts) for whose, parts in self.others if parts]
            text = "; ".join(
                f"{whose} reads {', '.join(one.role for one in parts)} in another order" for whose, parts in differing
            )
            text = f"{text} ({self.name}@{differing[0][0]})" if differing else ""
            found.append(Note("readings" if text else "", text, "readings", list(self.readings)))
        if self.thread_id:
            found.append(Note("thread id", self.thread_id, "thread_id", self.thread_id))
        found += [Note(label, text) for label, text in self.remarks]
        if self.remarks:
            found.append(Note("", "", "remarks", dict(self.remarks)))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class OperandOf(Notation):
    """One operand of an instruction, as a value with one layout; its text is the instruction's name, a dot and the role.

    >>> print(la.parse("SM80_16x8x16_F32F16F16F32_TN.C").layout())
    d0 = 2@reg:2 8@lane:4, d1 = 4@lane 2@reg
    """

    instruction: Instruction
    role: str

    def __str__(self) -> str:
        return f"{self.instruction}.{self.role}"

    def operands(self, shape: Sequence[int] | None = None, machine: Machine | None = None) -> tuple[Operand, ...]:
        """The operand alone.

        Raises `DistributionError` for a shape other than its own, and for a machine with other lanes.

        >>> la.parse("ldmatrix.x4.destination").operands()[0].layout
        Layout.parse('d0 = 4@reg:2 8@lane:4, d1 = 4@lane 2@reg')
        """
        own_sizes(self, self.instruction[self.role].layout.shape, shape)
        found = self.instruction.operands(None, machine)
        return tuple(
            one._replace(role=None)
            for one, part in zip(found, self.instruction.parts, strict=True)
            if part.role == self.role
        )


def chips_text(chips: Iterable[str]) -> str:
    """Chips, those that differ in their last figures together, and of many the first and the last.

    >>> chips_text(["gfx1100", "gfx1101", "gfx1200", "gfx1250"])
    'gfx11, gfx120, gfx125'
    """
    begun = list(dict.fromkeys(re.sub(r"^(gfx11|gfx12\d)\d+$", r"\1", chip) for chip in chips))
    return ", ".join(begun) if len(begun) < 5 else f"{begun[0]} to {begun[-1]}"
