"""Xe machine code read: instructions, labels, loops, and what the inner loop of a kernel is made of.

A disassembler prints one instruction a line: a predicate, the mnemonic, how many lanes it works on, the destination and the
sources. A message (`send`) names the register that the answer goes to and the one with the address; behind `//` stands what it
asks for. A send whose destination is `null` and that loads is a prefetch.

>>> program = read_assembly('''
... L0:
... (W)     mov (1|M0)               r3.5<1>:d     r2.1<0;1,0>:d
...         send.ugm (1|M0)          r8       r3  null:0  0x0   0x03F80203  {$1} // wr:1+0, rd:4; load_block2d.ugm.d16.a64
...         send.ugm (1|M0)          r16      r4  null:0  0x0   0x03F80283  {$2} // wr:1+0, rd:8; load_block2d.ugm.d16v.a64
...         sync.allwr                           ($1,$2)
...         dpas.8x8 (16|M0)         r24:f    r24:f    r16:hf    r8.0:hf    {Compacted}
... (W)     add (1|M0)               r2.1<1>:d     r2.1<0;1,0>:d     16:w
... (W&f1.0) jmpi                    L0
... ''')
>>> loop = program.inner_loop
>>> len(loop), counts(loop)
(7, Counts(dpas=1, loads=2, prefetches=0, stores=0, syncs=1, movs=1, adds=1, others=1))
>>> str(loop[4].destination), [str(source) for source in loop[4].sources]
('r24', ['r24', 'r16', 'r8'])

The inner loop is the one with the most dpas; among equals the one with the most sends to `null` (a kernel's last steps are a
loop of their own without prefetches). It is everything from its label to its backward jump, syncs and jumps included.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from layoutalg.core.whole_numbers import instance_of

__all__ = ["Counts", "Instruction", "Operand", "Program", "counts", "read_assembly"]

_LABEL = re.compile(r"^(\w+):\s*$")
_LINE = re.compile(
    r"^\s*(?:\((?P<predicate>[^)|]*)\)\s*)?(?P<mnemonic>[a-z]+[\w.]*)\s*(?:\((?P<lanes>\d+)\|M\d+\))?\s*(?P<rest>.*)$"
)
_FLAG = re.compile(r"^\([a-z]+\)f\d\.\d$")
_REGISTER = re.compile(r"^[-~]*(?:\(abs\))?(?P<file>acc|r)(?P<number>\d+)(?:\.(?P<part>\d+))?")
_ANSWER = re.compile(r"rd:(\d+)")
_JUMPS = ("jmpi", "while", "goto", "brc", "br")
_LONGEST_ANSWER = 31
"""The field for the registers that a message brings has 5 bits: 31 stands for 32 too."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand as it stands in the text: a register with the element where it begins, a number, or `null`.

    >>> Operand("r228.12<1;1,0>:d").register, Operand("r228.12<1;1,0>:d").part, Operand("64:w").number
    (228, 12, 64)
    """

    text: str

    @property
    def register(self) -> int | None:
        """The number of the general register; None for anything else.

        >>> Operand("acc0.0<1>:f").register is None
        True
        """
        found = _REGISTER.match(self.text)
        return int(found["number"]) if found and found["file"] == "r" else None

    @property
    def part(self) -> int:
        """The element of the register where the operand begins, counted in its own type.

        >>> Operand("r3.5<1>:ud").part
        5
        """
        found = _REGISTER.match(self.text)
        return int(found["part"] or 0) if found else 0

    @property
    def type(self) -> str:
        """The type behind the colon; "" where there is none.

        >>> Operand("r16:hf").type, Operand("null").type
        ('hf', '')
        """
        return self.text.rpartition(":")[2] if ":" in self.text else ""

    @property
    def number(self) -> int | None:
        """The value of an immediate; None for anything else.

        >>> Operand("0xFFFFFFC0:ud").number, Operand("-1:w").number
        (4294967232, -1)
        """
        digits = self.text.partition(":")[0]
        return int(digits, 0) if re.fullmatch(r"-?(0x[0-9A-Fa-f]+|\d+)", digits) else None

    def __str__(self) -> str:
        register = self.register
        return self.text if register is None else f"r{register}"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of machine code. `message` is what the disassembler says about a send, "" for anything else.

    >>> one = read_assembly("(W&~f1.0) jmpi      L4784").instructions[0]
    >>> one.mnemonic, one.predicate, one.sources[0].text
    ('jmpi', 'W&~f1.0', 'L4784')
    """

    text: str
    mnemonic: str
    predicate: str
    lanes: int
    operands: tuple[Operand, ...]
    message: str = ""

    @property
    def destination(self) -> Operand | None:
        """Where the result goes; None for instructions without a result (jumps, syncs).

        >>> read_assembly("mov (1|M0)  r3.0<1>:d  r4.0<0;1,0>:d").instructions[0].destination
        Operand(text='r3.0<1>:d')
        """
        has_one = self.operands and not self.is_jump and not self.mnemonic.startswith("sync")
        return self.operands[0] if has_one else None

    @property
    def sources(self) -> tuple[Operand, ...]:
        """What it reads, in the order of the text.

        >>> len(read_assembly("add (1|M0)  r3.0<1>:d  r4.0<0;1,0>:d  16:w").instructions[0].sources)
        2
        """
        return self.operands if self.destination is None else self.operands[1:]

    @property
    def is_jump(self) -> bool:
        """Whether it may go somewhere else.

        >>> read_assembly("(W) jmpi L0").instructions[0].is_jump
        True
        """
        return self.mnemonic in _JUMPS

    @property
    def kind(self) -> str:
        """dpas, load, prefetch, store, sync, mov, add or other.

        >>> read_assembly("send.ugm (1|M0) null r3 null:0 0x0 0x02080203 // rd:0; load_block2d").instructions[0].kind
        'prefetch'
        """
        if self.mnemonic.startswith("send"):
            if "store" in self.message:
                return "store"
            if "load" not in self.message:
                return "other"
            return "prefetch" if self.operands and self.operands[0].text.startswith("null") else "load"
        for name in ("dpas", "sync", "add"):
            if self.mnemonic.startswith(name):
                return name
        return "mov" if self.mnemonic == "mov" else "other"

    @property
    def answer(self) -> int:
        """The registers that a message brings; 0 for anything else. (32 does not fit the field, which then says 31.)

        >>> read_assembly("send.ugm (1|M0) r8 r3 null:0 0x0 0x03F80203 // wr:1+0, rd:31; load").instructions[0].answer
        32
        """
        found = _ANSWER.search(self.message)
        size = int(found[1]) if found else 0
        return size + 1 if size == _LONGEST_ANSWER else size


@dataclass(frozen=True)
class Program:
    """The instructions of a kernel, and where its labels point.

    >>> read_assembly("L0:\\n(W) jmpi L0").labels
    {'L0': 0}
    """

    instructions: tuple[Instruction, ...]
    labels: dict[str, int]

    @cached_property
    def loops(self) -> tuple[range, ...]:
        """The loops, as ranges of instructions: from a label to a jump back to it.

        >>> read_assembly("mov (1|M0) r1 r2\\nL1:\\nadd (1|M0) r1 r1 1:w\\n(W&f0.0) jmpi L1").loops
        (range(1, 3),)
        """
        found: list[range] = []
        for position, one in enumerate(self.instructions):
            if one.is_jump and one.operands:
                start = self.labels.get(one.operands[-1].text)
                if start is not None and start <= position:
                    found.append(range(start, position + 1))
        return tuple(found)

    @cached_property
    def inner(self) -> range | None:
        """Where the inner loop stands; None where no loop has a dpas. A loop around another one (over tiles) isn't it.

        >>> read_assembly("mov (1|M0) r1 r2").inner is None
        True
        """

        def worth(loop: range) -> tuple[int, int]:
            body = [self.instructions[position] for position in loop]
            to_null = sum(one.mnemonic.startswith("send") and " null " in one.text for one in body)
            return sum(one.kind == "dpas" for one in body), to_null

        with_dpas = [loop for loop in self.loops if worth(loop)[0]]
        return max((loop for loop in with_dpas if not _around_another(loop, with_dpas)), key=worth, default=None)

    @property
    def inner_loop(self) -> tuple[Instruction, ...]:
        """The instructions of the inner loop; none where no loop has a dpas.

        >>> read_assembly("mov (1|M0) r1 r2").inner_loop
        ()
        """
        return () if self.inner is None else self.instructions[self.inner.start : self.inner.stop]


@dataclass(frozen=True, slots=True)
class Counts:
    """Instructions by kind; `loads`, `prefetches` and `stores` are messages.

    >>> Counts(dpas=64, loads=6, prefetches=1, stores=0, syncs=5, movs=10, adds=3, others=3).per_dpas
    1.4375
    """

    dpas: int
    loads: int
    prefetches: int
    stores: int
    syncs: int
    movs: int
    adds: int
    others: int

    @property
    def total(self) -> int:
        """All of them.

        >>> Counts(64, 6, 1, 0, 5, 10, 3, 3).total
        92
        """
        return self.dpas + self.loads + self.prefetches + self.stores + self.syncs + self.movs + self.adds + self.others

    @property
    def per_dpas(self) -> float:
        """Instructions per dpas; infinite without one.

        >>> Counts(0, 1, 0, 0, 0, 0, 0, 0).per_dpas
        inf
        """
        return self.total / self.dpas if self.dpas else float("inf")


def _around_another(loop: range, loops: list[range]) -> bool:
    """Whether another one of the loops is inside this one."""
    return any(
        other != loop and loop.start <= other.start and other.stop <= loop.stop and len(other) < len(loop)
        for other in loops
    )


def counts(instructions: tuple[Instruction, ...]) -> Counts:
    """How many of each kind.

    >>> counts(read_assembly("sync.nop  null\\nmov (1|M0) r1 r2").instructions).syncs
    1
    """
    instance_of(instructions, tuple, "instructions")
    found = Counter(one.kind for one in instructions)
    kinds = ("dpas", "load", "prefetch", "store", "sync", "mov", "add", "other")
    return Counts(*(found[kind] for kind in kinds))


def read_assembly(text: str) -> Program:
    """The program in the disassembler's text (`.asm` of `ocloc disasm`); lines that are not instructions are left out.

    >>> len(read_assembly("// a comment\\nL0:\\n(W) mov (1|M0) r1.0<1>:d 0:w").instructions)
    1
    """
    instance_of(text, str, "assembly")
    labels: dict[str, int] = {}
    instructions: list[Instruction] = []
    for line in text.splitlines():
        label = _LABEL.match(line)
        if label:
            labels[label[1]] = len(instructions)
            continue
        code, _, message = line.partition("//")
        found = _LINE.match(code)
        if found is None or not code.strip():
            continue
        written = found["rest"].partition("{")[0].split()
        operands = tuple(Operand(part) for part in written if not _FLAG.match(part))
        lanes = int(found["lanes"] or 1)
        instructions.append(
            Instruction(line.rstrip(), found["mnemonic"], found["predicate"] or "", lanes, operands, message.strip())
        )
    return Program(tuple(instructions), labels)
