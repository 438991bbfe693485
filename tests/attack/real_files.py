"""Real modules, and what happens to them on the way here: lines and words are lost, doubled, moved, and numbers changed.

The modules are those of the other tests: the files of `tests/ir/modules`, kernels as users write them without layouts and at
workgroup level, and what the library itself emits. `file(rng)` is one of them, mostly damaged.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator
from pathlib import Path

from tests.attack.texts import ELEMENTS, FOREIGN, ODD

_TOKEN = re.compile(r"""[%#!^@]?[A-Za-z_][\w.$]*|%\d+|\d+|->|"[^"\n]*"|\s+|.""", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w%#^.])-?\d+(?![\w.])|(?<=x)\d+(?=x)|(?<=<)\d+(?=x)|(?<=\[)-?\d+")
_VALUE = re.compile(r"%[A-Za-z_0-9][\w$.-]*")
_TYPE = re.compile(r"\b(?:vector|memref|tensor)<[^<>\n]*>|!xegpu\.\w+<[^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*>")
_LAYOUT = re.compile(r"#xegpu\.\w+<[^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*>")
_ELEMENT = re.compile(r"(?<=x)(?:f16|bf16|f32|f64|i8|i16|i32|i64|index|i1)\b")
_NAME = re.compile(
    r"\b(?:arith|vector|memref|scf|gpu|xegpu|xevm|math|func|cf|amx|x86|llvm|tensor|iree_\w+)\.[a-z_.0-9]+\b"
)
_DEFINED = re.compile(r"^\s*(%[\w$.-]+) = ")
_NUMBERS = ("0", "1", "2", "3", "7", "8", "15", "16", "17", "32", "64", "1024", "65536")
_LONGEST = 12_000


@functools.cache
def corpus() -> tuple[str, ...]:
    """The modules, from the smallest file to whole kernels."""
    import layoutalg as la
    from tests.ir.module_files import written_modules
    from tests.lowering.real_kernels import KERNELS as REAL
    from tests.propagation.unannotated import UNANNOTATED
    from tests.simulate.levels.kernels import KERNELS as LEVELS

    gemm = la.plan_gemm(32, 32, 32, tile=(16, 32))
    found = [one.text for one in written_modules()]
    found += [one.text for one in (*REAL.values(), *UNANNOTATED.values())]
    found += [one.spelled_for(24) for one in LEVELS.values()]
    found += [(Path(__file__).parents[1] / "simulate" / "product.mlir").read_text(encoding="utf-8")]
    found += [gemm.emit("lane"), gemm.emit("workgroup"), la.plan_gemm(16, 64, 64, "i8", tile=(16, 32)).emit("lane")]
    found += [la.plan_amx(32, 32, 64).emit(), la.plan_attention(64, 64, 32, causal=True, target="bmg").emit("lane")]
    a, b = la.Layout.parse("d0 = 4@reg 4@lane, d1 = 4@lane:4"), la.Layout.parse("d0 = 4@lane 4@reg, d1 = 4@lane:4")
    found.append(la.convert(a, b).emit("f32"))
    return tuple(one for one in found if len(one) <= _LONGEST)


def words(text: str) -> list[str]:
    """The names, numbers, strings, blanks and signs of a module."""
    return _TOKEN.findall(text)


def _lines(rng: random.Random, text: str) -> str:
    """Lose, double, swap or move some lines, or take some of another module."""
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    to = min(len(lines), at + rng.choice((1, 1, 1, 2, 5)))
    other = rng.randrange(len(lines))
    way = rng.randrange(5)
    if way == 0:
        del lines[at:to]
    elif way == 1:
        lines[at:at] = lines[at:to] * rng.choice((1, 1, 3))
    elif way == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif way == 3:
        moved = lines[at:to]
        del lines[at:to]
        lines[other:other] = moved
    else:
        theirs = rng.choice(corpus()).split("\n")
        start = rng.randrange(len(theirs))
        lines[at:at] = theirs[start : start + rng.choice((1, 1, 3, 20))]
    return "\n".join(lines)


def _words(rng: random.Random, text: str) -> str:
    """Lose, double or swap words."""
    found = words(text)
    solid = [i for i, word in enumerate(found) if not word.isspace()]
    if len(solid) < 2:
        return text
    i, j = rng.choice(solid), rng.choice(solid)
    way = rng.randrange(4)
    if way == 0:
        found[i] = ""
    elif way == 1:
        found[i] *= 2
    elif way == 2:
        found[i], found[j] = found[j], found[i]
    else:
        found[i] = rng.choice((*FOREIGN, "}", "{", "^bb0:", "// -----\n", "}) : () -> ()", "@", "-", "loc(unknown)"))
    return "".join(found)


def _swapped(pattern: re.Pattern[str], *others: str) -> object:
    """One place of this kind gets what stands in another."""

    def swap(rng: random.Random, text: str) -> str:
        found = list(pattern.finditer(text))
        if not found:
            return text
        at = rng.choice(found)
        said = rng.choice(others) if others and rng.random() < 0.5 else rng.choice(found).group()
        return text[: at.start()] + said + text[at.end() :]

    return swap


def _number(rng: random.Random, text: str) -> str:
    """One number is another one."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    at = rng.choice(found)
    small = rng.choice((*_NUMBERS, *(one.group() for one in found)))
    odd = rng.choice(ODD)
    number = small if rng.random() < 0.8 else "9" * 5000 if odd > 10**4000 else str(odd)
    return text[: at.start()] + number + text[at.end() :]


def _cut(rng: random.Random, text: str) -> str:
    """The text ends, or begins, somewhere."""
    at = rng.randint(0, len(text))
    return text[:at] if rng.random() < 0.7 else text[at:]


_CHANGES = (
    _lines, _lines, _lines, _words, _words, _number, _number, _number, _cut, _swapped(_VALUE), _swapped(_VALUE),
    _swapped(_TYPE), _swapped(_TYPE), _swapped(_LAYOUT), _swapped(_NAME), _swapped(_ELEMENT, *ELEMENTS),
)  # fmt: skip


def damaged(rng: random.Random, text: str) -> str:
    """The text after one to four changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 4))):
        text = rng.choice(_CHANGES)(rng, text)  # type: ignore[operator]
    return text[: 2 * _LONGEST]


def file(rng: random.Random) -> str:
    """A module, damaged nine times of ten; now and then two in one file."""
    text = rng.choice(corpus())
    if rng.random() < 0.9:
        text = damaged(rng, text)
    if rng.random() < 0.05:
        text += "\n// -----\n" + damaged(rng, rng.choice(corpus()))
    return text


def used_before(rng: random.Random, text: str) -> str | None:
    """The text with one definition moved behind a use of it in the same block; None where no line allows it."""
    lines = text.split("\n")
    found = [pair for i in range(len(lines)) if (pair := _next_use(lines, i)) is not None]
    if not found:
        return None
    at, to = rng.choice(found)
    return "\n".join([*lines[:at], *lines[at + 1 : to + 1], lines[at], *lines[to + 1 :]])


def _next_use(lines: list[str], at: int) -> tuple[int, int] | None:
    """A line that is one operation, and the next one that uses its result, with whole operations between."""
    defined = _DEFINED.match(lines[at])
    if defined is None or not _is_whole(lines[at]):
        return None
    used = re.compile(re.escape(defined[1]) + r"(?![\w$.-])")
    for to in range(at + 1, len(lines)):
        if not _is_whole(lines[to]):
            return None
        if used.search(lines[to]):
            return at, to
    return None


def _is_whole(line: str) -> bool:
    """Whether a line is one operation with nothing open."""
    begins = re.match(r"\s*(?:%[\w$.,: %-]+ = )?(?:\w+\.[\w.]+)\b", line) is not None
    closed = all(line.count(one) == line.count(other) for one, other in ("{}", "()", "[]", "<>"[:2]) if one != "<")
    ends = not re.search(r"(?:return|yield|terminator|\.br|cond_br|[,:>]\s*->|[,:=])\s*$", line)
    single = len(_NAME.findall(line)) == 1 and line.count(" = ") - line.count("<{") * 9 <= 1
    return begins and closed and ends and single and "^" not in line and "return" not in line and "yield" not in line


def smaller(text: str) -> Iterator[str]:
    """The text without some of its lines, the largest pieces first."""
    lines = text.split("\n")
    size = len(lines) // 2
    while size:
        for at in range(0, len(lines), size):
            yield "\n".join(lines[:at] + lines[at + size :])
        size //= 2
