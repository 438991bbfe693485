"""Kernels with one mistake each, made from the text of a kernel that is right.

A mistake is one of: another number (a constant, an offset, a size), the operands of an operation swapped, another operation or
predicate, another value of the same type, a barrier, fence or flag left out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence

__all__ = ["mutated"]

OTHERS = {
    "arith.addi": ("arith.subi", "arith.xori"),
    "arith.subi": ("arith.addi",),
    "arith.muli": ("arith.addi",),
    "arith.andi": ("arith.ori", "arith.xori"),
    "arith.ori": ("arith.andi", "arith.xori"),
    "arith.xori": ("arith.andi", "arith.ori"),
    "arith.shli": ("arith.shrui",),
    "arith.shrui": ("arith.shli",),
    "arith.divui": ("arith.remui",),
    "arith.remui": ("arith.divui",),
    "arith.maxsi": ("arith.minsi",),
    "cmpi ne": ("cmpi eq", "cmpi slt"),
    "cmpi eq": ("cmpi ne",),
    "cmpi ult": ("cmpi ule", "cmpi uge"),
    "gpu.shuffle xor": ("gpu.shuffle idx",),
    "gpu.shuffle idx": ("gpu.shuffle xor",),
    "gpu.block_id x": ("gpu.block_id y",),
    "gpu.block_id y": ("gpu.block_id x",),
    "gpu.subgroup_id": ("gpu.lane_id",),
    "gpu.lane_id": ("gpu.subgroup_id",),
    " <{packed}>": ("",),
}
OF_FORMS: dict[str, tuple[str, ...]] = {
    **{word: others for word, others in OTHERS.items() if word not in ("arith.addi", "arith.ori", "arith.xori")},
    "arith.addi": ("arith.muli", "arith.andi"),
    "arith.addf": ("arith.subf", "arith.mulf"),
    "arith.subf": ("arith.addf",),
    "arith.mulf": ("arith.addf",),
    "arith.divf": ("arith.mulf",),
    "cmpf ogt": ("cmpf olt",),
    "cmpf olt": ("cmpf ogt",),
    "cmpi slt": ("cmpi sgt",),
    "arith.minsi": ("arith.maxsi",),
    "math.exp2": ("math.absf",),
    "math.exp ": ("math.absf ",),
    "math.tanh": ("math.absf",),
    "arith.maximumf": ("arith.minimumf",),
    " zext": ("",),
}
"""For planned kernels: what an epilogue, a softmax and AMX have besides. A sum is no exclusive or there, where no bits meet."""
LEFT_OUT = re.compile(r"^\s*(gpu\.barrier|xegpu\.(store|store_nd|store_matrix)\b|memref\.store|vector\.store)")
SWAPPED = re.compile(r"= (arith\.(?:subi|shli|shrui|divui|remui|select)|xegpu\.dpas|gpu\.shuffle \w+) ([^:{]*)")
NUMBER = re.compile(r"(?<![%\w.x<+])-?\d+(?![\w.]*x)(?![\w.])")
VALUE = re.compile(r"%\w+")


def mutated(
    text: str, count: int, seed: int, others: Mapping[str, Sequence[str]] = OTHERS
) -> Iterator[tuple[int, str, str]]:
    """So many different mistakes: the line, what the line says now, and the whole text."""
    rng = random.Random(seed)
    lines = text.splitlines()
    body = [n for n, line in enumerate(lines) if n > 2 and line.strip() not in ("", "}", "gpu.return")]
    seen: set[str] = set()
    tries = 0
    while len(seen) < count and tries < 100 * count:
        tries += 1
        number = rng.choice(body)
        changed = _changed(lines, number, rng, others)
        if changed is None or changed == lines[number]:
            continue
        made = "\n".join([*lines[:number], *([changed] if changed else []), *lines[number + 1 :]])
        if made not in seen:
            seen.add(made)
            yield number + 1, changed.strip() or f"without {lines[number].strip()}", made


def _changed(lines: list[str], number: int, rng: random.Random, others: Mapping[str, Sequence[str]]) -> str | None:
    line = lines[number]
    match rng.randrange(5):
        case 0 if LEFT_OUT.match(line):
            return ""
        case 1:
            return _another_number(line, rng)
        case 2:
            return _swapped(line, rng)
        case 3:
            found = [word for word in others if word in line]
            if not found:
                return None
            word = rng.choice(found)
            return line.replace(word, rng.choice(others[word]), 1)
        case _:
            return _another_value(lines, number, rng)


def _another_number(line: str, rng: random.Random) -> str | None:
    code = (
        line.split(" : ")[0]
        if "constant" in line or "extract" in line
        else re.split(r" : (?=!|i64 ->|vector|memref)", line)[0]
    )
    found = [
        m for m in NUMBER.finditer(code) if not code[: m.start()].endswith(("array<i", "memref<", "vector<", "desc<"))
    ]
    if not found or "memref.global" in line:
        return None
    one = rng.choice(found)
    value = int(one.group())
    return line[: one.start()] + str(rng.choice([value + 1, value - 1, 2 * value, 0, value + 16])) + line[one.end() :]


def _swapped(line: str, rng: random.Random) -> str | None:
    found = SWAPPED.search(line)
    if found is None:
        return None
    values = [value.strip() for value in found.group(2).split(",")]
    i, j = rng.sample(range(len(values)), 2) if len(values) > 1 else (0, 0)
    values[i], values[j] = values[j], values[i]
    return (
        line[: found.start(2)] + ", ".join(values) + (" " if ":" in line[found.end(2) :] else "") + line[found.end(2) :]
    )


def _another_value(lines: list[str], number: int, rng: random.Random) -> str | None:
    """One operand replaced by another value that stands before it."""
    line = lines[number]
    start = line.find("=") + 1
    used = [m for m in VALUE.finditer(line) if m.start() >= start]
    known = [name for before in lines[max(0, number - 25) : number] for name in VALUE.findall(before.split("=")[0])]
    if not used or not known:
        return None
    one = rng.choice(used)
    return line[: one.start()] + rng.choice(known) + line[one.end() :]
