"""One way to convert, with what it does and what it costs; and the ways of a conversion, the best first.

>>> [one.kind for one in la.convert("d0 = 2@lane 2@lane:2", "d0 = 2@lane:2 2@lane").candidates][0]
'shuffles'
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import Barrier, LaneSwap, Load, Permute, Regions, Select, Shuffle, Step, Store
from layoutalg.core.errors import ConversionError
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of

if TYPE_CHECKING:
    from layoutalg.conversion.drawing.ways import WaysPicture

__all__ = ["Candidate", "Candidates"]


@dataclass(frozen=True, slots=True, repr=False)
class Candidate(NotebookAnswer):
    """One way to convert: its name, its programs one after another, and what it costs, in issue slots.

    >>> la.convert(Layout.parse("d0 = 4@lane"), Layout.parse("d0 = 4@lane")).candidates[0].name
    'nothing moves'
    """

    name: str
    programs: tuple[Program, ...]
    cost: int

    def __str__(self) -> str:
        return f"{self.name}: {counted(self.cost, 'issue slot')}"

    def count(self, kind: type[Step]) -> int:
        """How many steps of one kind each subgroup executes.

        >>> la.convert("d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg").candidates[0].count(Shuffle)
        3
        """
        instance_of(kind, type, "a count of", ConversionError)
        return sum(program.count(kind) for program in self.programs)

    @property
    def kind(self) -> str:
        """What it needs at most: "identity", "registers", "shuffles" or "shared memory".

        >>> la.convert("d0 = 2@reg:2 2@reg", "d0 = 2@reg 2@reg:2").candidates[0].kind
        'registers'
        """
        if any(program.slm_bytes for program in self.programs):
            return "shared memory"
        if self.count(Shuffle) or self.count(LaneSwap):
            return "shuffles"
        return "registers" if self.moves or any(program.steps for program in self.programs) else "identity"

    @property
    def moves(self) -> int:
        """Words per lane that are put together anew from parts; where nothing else happens, those in another register too.

        >>> la.convert("d0 = 2@reg:2 2@reg", "d0 = 2@reg 2@reg:2").candidates[0].moves
        2
        """
        return sum(program.moves for program in self.programs)

    @property
    def slm_bytes(self) -> int:
        """Shared memory that it needs at a time, in bytes, of all workgroups.

        >>> la.convert("d0 = 2@sg 16@lane", "d0 = 2@lane:8 2@sg 8@lane").candidates[0].slm_bytes
        128
        """
        return max(program.slm_bytes for program in self.programs)

    @property
    def work(self) -> str:
        """What it does, counted, in words: steps that it does not have are left out.

        >>> la.convert("d0 = 2@lane 2@lane:2", "d0 = 2@lane:2 2@lane").candidates[0].work
        '1 shuffle'
        """
        named = {
            "shuffle": Shuffle,
            "select": Select,
            "byte permute": Permute,
            "lane swap": LaneSwap,
            "store": Store,
            "load": Load,
        }
        counts = {name: self.count(kind) for name, kind in named.items()} | {"register move": self.moves}
        others = Counter(type(step).__name__.lower() for program in self.programs for step in program.steps)
        known = {kind.__name__.lower() for kind in (*named.values(), Barrier, Regions)}
        counts |= {f"{name} move": number for name, number in others.items() if name not in known}
        counts["region move"] = sum(
            len(step.moves) for program in self.programs for step in program.steps if isinstance(step, Regions)
        )
        texts = [counted(number, name) for name, number in counts.items() if number]
        if self.slm_bytes:
            texts += [f"{counted(self.slm_bytes, 'byte')} of shared memory", counted(self.count(Barrier), "barrier")]
        return ", ".join(texts) or "nothing"


class Candidates(tuple[Candidate, ...]):
    """The ways of a conversion, the best first: a tuple that ends a notebook cell as bars.

    >>> "data:image/svg" in la.convert("d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg").candidates._repr_html_()
    True
    """

    __slots__ = ()

    def picture(self) -> WaysPicture:
        """The price of each way as a bar.

        >>> la.convert("d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg").candidates.picture().title
        '3 ways to convert, the best first'
        """
        from layoutalg.conversion.drawing.ways import ways_picture

        return ways_picture(self)

    def _repr_html_(self) -> str:
        return self.picture()._repr_html_()  # pyright: ignore[reportPrivateUsage]
