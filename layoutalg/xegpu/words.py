"""Attributes and types that distribute nothing: words such as `#xegpu.cache_hint<cached>`, ranges of ids, named barriers.

LLVM 22 and 23 print a memory space or a fence scope without angle brackets of its own, LLVM 24 with them, and neither reads the
other's. All spellings are read here:

>>> from layoutalg.xegpu.reading import parse_attribute
>>> slm = parse_attribute("#xegpu<memory_space slm>")
>>> slm == parse_attribute("#xegpu.memory_space<slm>")
True
>>> print(slm, slm.text(llvm=22))
#xegpu.memory_space<slm> #xegpu<memory_space slm>
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import VerificationError
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.core.messages import shown
from layoutalg.core.notation import Notation
from layoutalg.xegpu.integers import integer_text, verify_integer

__all__ = ["MEMORY_SPACES", "WORDS", "EnumAttr", "NbarrierType", "RangeAttr"]

MEMORY_SPACES = ("global", "slm")
WORDS = {
    "cache_hint": ("cached", "uncached", "streaming", "read_invalidate", "write_back", "write_through"),
    "memory_space": MEMORY_SPACES,
    "fence_scope": ("workgroup", "gpu"),
    "lane_shuffle_mode": ("pack", "unpack"),
}
"""The attributes that hold one word, and the words."""
_WITHOUT_ANGLES = ("memory_space", "fence_scope")


@dataclass(frozen=True, slots=True)
class EnumAttr(Notation):
    """`#xegpu.cache_hint<cached>`, `#xegpu.memory_space<slm>`, `#xegpu.fence_scope<gpu>`, `#xegpu.lane_shuffle_mode<pack>`.

    Raises `VerificationError` for a word that is not in the attribute's list.

    >>> print(EnumAttr("cache_hint", "cached"), EnumAttr("fence_scope", "gpu"))
    #xegpu.cache_hint<cached> #xegpu.fence_scope<gpu>
    """

    name: str
    value: str

    def __post_init__(self) -> None:
        words = WORDS.get(self.name) if isinstance(self.name, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]
        if words is None or type(self.value) is not str or self.value not in words:
            known = ", ".join(WORDS if words is None else words)
            raise VerificationError(
                f"#xegpu.{shown(self.name)[1:-1]}<{shown(self.value)[1:-1]}>: expected one of {known}"
            )

    def text(self, llvm: int = DEFAULT_LLVM) -> str:
        """The text that a version of LLVM reads and prints.

        Raises `LayoutError` for a version that is not known.

        >>> EnumAttr("memory_space", "slm").text(llvm=22)
        '#xegpu<memory_space slm>'
        """
        if self.name in _WITHOUT_ANGLES and not rules(llvm).words_in_angles:
            return f"#xegpu<{self.name} {self.value}>"
        return f"#xegpu.{self.name}<{self.value}>"

    def check(self, llvm: int = DEFAULT_LLVM) -> str | None:
        """None where a version of LLVM has the attribute, else its words.

        >>> EnumAttr("lane_shuffle_mode", "pack").check(llvm=23)
        'unknown attribute `lane_shuffle_mode` in dialect `xegpu`'
        """
        known = rules(llvm).lane_shuffle or self.name != "lane_shuffle_mode"
        return None if known else f"unknown attribute `{self.name}` in dialect `xegpu`"

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, slots=True)
class RangeAttr(Notation):
    """`#xegpu.range<[start, end]>`: the half-open range `start <= id < end`, each with its integer type.

    Raises `VerificationError` in LLVM's words unless `start < end`.

    >>> print(RangeAttr(2, 4), list(RangeAttr(2, 4).ids()))
    #xegpu.range<[2 : i64, 4 : i64]> [2, 3]
    """

    start: int
    end: int
    start_type: str = "i64"
    end_type: str = "i64"

    def __post_init__(self) -> None:
        verify_integer("start", self.start, self.start_type)
        verify_integer("end", self.end, self.end_type)
        if self.end <= self.start:
            raise VerificationError(f"'end' : {self.end} must be greater than 'start' : {self.start}")

    def __str__(self) -> str:
        start, end = integer_text(self.start, self.start_type), integer_text(self.end, self.end_type)
        return f"#xegpu.range<[{start}, {end}]>"

    def ids(self) -> range:
        """The ids in the range.

        >>> 3 in RangeAttr(2, 4).ids()
        True
        """
        return range(self.start, self.end)


@dataclass(frozen=True, slots=True)
class NbarrierType(Notation):
    """`!xegpu.nbarrier`: a named barrier.

    >>> print(NbarrierType())
    !xegpu.nbarrier
    """

    def __str__(self) -> str:
        return "!xegpu.nbarrier"
