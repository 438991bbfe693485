"""What words are charged for that are put together from parts: elements of 8 or 16 bits.

A word of the bytes 0, 2, 4 and 6 of two words takes one byte permute. The choice of bytes is a constant, once however many
words are put together so:

>>> found, selectors = Counter(), set()
>>> charge_parts([0, 2, 4, 6, 8, 10, 12, 14, 16, 17, 18, 19], 4, found, selectors, set())
[-1, -1, 4]
>>> found["joined"], found["byte"], len(selectors)
(2, 8, 1)

The third word is one as it lies, and takes nothing. The names of charges are those of `conversion.charges`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence

from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import WORD, Load

__all__ = ["as_given", "charge_parts", "line_words", "narrow_words"]


def as_given(program: Program) -> list[int]:
    """For each word that is packed, its number among those that were given; a negative one where it is put together.

    >>> as_given(Program(1, 1, 16, 4, 4, (2, 3, 0, 2), (), (0, 1, 2, 3)))
    [1, -6]
    """
    parts, pack, found = program.parts, program.pack, list[int]()
    if parts == 1:
        return [*pack]
    for start in range(0, len(pack), parts):
        first = pack[start]
        whole = first % parts == 0 and pack[start : start + parts] == (*range(first, first + parts),)
        found.append(first // parts if whole else -2 * (start + 1))  # no two of those lie one after another
    return found


def line_words(program: Program) -> dict[int, tuple[int, ...]]:
    """The words that block loads make, each with those of its load: Intel's compiler copies them to other places twice."""
    loads = [step for step in program.steps if isinstance(step, Load) and step.matrix == "block"]
    return {word: step.to for step in loads for word in step.to}


def narrow_words(program: Program) -> set[int]:
    """The words that are loads of several elements, but of fewer than a word has."""
    loads = [step for step in program.steps if isinstance(step, Load) and program.element_bits < step.bits < WORD]
    return {word for step in loads for word in step.to}


def charge_parts(
    cells: Sequence[int],
    parts: int,
    found: Counter[str],
    selectors: set[object],
    narrow: set[int],
    lines: Container[int] = (),
) -> list[int]:
    """Charge for the words that are put together, and note which bytes are chosen; the others, by number, and -1 for those."""
    words: list[int] = []
    for start in range(0, len(cells), parts):
        one = tuple(cells[start : start + parts])
        if one[0] >= 0 and one[0] % parts == 0 and one == tuple(range(one[0], one[0] + len(one))):
            words.append(one[0] // parts)
        else:
            live = len(one) - sum(map((0).__gt__, one))
            if parts > 2 and live == 2 and one[2:] == (-1, -1) and one[0] % 2 == 0 and one[1] == one[0] + 1:
                found["low_half"] += 1
                words.append(-1)
                continue
            whole = parts == 2 or any(cell // parts in lines for cell in one)  # lines of bytes: a move for each
            found["narrow" if live == 1 else "half" if whole else "byte"] += live
            if live > 1:
                order = list(dict.fromkeys([cell // parts for cell in one if cell >= 0]))
                found["joined"] += max(len(order) - 1, 1)
                low = [cell % parts for cell in one] == [0, 1, 0, 1] and len(order) == 2
                found["low_halves"] += low and not any(cell // parts in narrow for cell in one)
                selectors.add(
                    tuple([(order.index(cell // parts), cell % parts) if cell >= 0 else None for cell in one])
                )
            if parts > 2:
                found["byte_loaded"] += sum([cell >= 0 and cell // parts in narrow for cell in one])
            words.append(-1)
    return words
