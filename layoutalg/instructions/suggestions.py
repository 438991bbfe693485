"""What a name was probably meant to be, and what a word that is not a whole name stands for.

Names are compared by their words, runs of letters and of digits, which is cheap; the few that share most are compared letter
by letter.

>>> said_of("v_mfma_f32_16x16x16f")[:69]
'no instruction has this name; did you mean v_mfma_f32_16x16x16f16, v_'
>>> said_of("SMFMAC")[:91]
'SMFMAC is a family of 28 instructions: v_smfmac_f32_16x16x32_f16 (gfx942, gfx950), v_smfmac'
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

from layoutalg.core.whole_numbers import instance_of
from layoutalg.instructions.instruction import chips_text

if TYPE_CHECKING:
    from layoutalg.instructions.registry import Row

__all__ = ["listed", "nearest", "respelled", "said_of"]

_AMX = re.compile(r"(?i:_?_?(?:tile_?)?(?:t?dp(?:b[su]{2}d|bf16ps|fp16ps)|tile_?(?:load|store|zero)\w*|amx\w*))")
_AMX_PRODUCT = (
    "x86.amx.tile_mulf %a, %b, %c : !x86.amx.tile<16x32xbf16>, !x86.amx.tile<16x32xbf16>, !x86.amx.tile<16x16xf32>"
)
_WORD = re.compile(r"[a-z]+|\d+")
_MNEMONIC = re.compile(r"([A-Za-z]\w{1,15})(\.[\w.:]+)")
_HEADS = ("mma", "wgmma", "tcgen05", "ldmatrix", "stmatrix", "movmatrix", "dpas")
"""First words of mnemonics that are recognized when they are misspelt."""
_COMPARED = 24
"""Names that are compared letter by letter."""
_LONGEST = 120
_MOST_NAMED = 12


@lru_cache(maxsize=1)
def _names() -> tuple[tuple[str, str, str], ...]:
    """All names in small letters and as they are written, each with its instruction's."""
    from layoutalg.instructions.registry import rows

    names = {one: row.name for row in rows().values() for one in (row.name, row.dotted, *row.aliases) if one}
    return tuple([(one.lower(), one, name) for one, name in names.items()])


def nearest(name: str, most: int = 3) -> tuple[str, ...]:
    """The names nearest to `name`, best first, one for an instruction; none where no word of it is in one.

    >>> nearest("SM80_16x8x16_F32F16F16F32")[0]
    'SM80_16x8x16_F32F16F16F32_TN'
    >>> nearest("v_mfma_f32_16x16x17_f16", 1), nearest("!?")
    (('v_mfma_f32_16x16x16_f16',), ())
    """
    wanted = name.lower()[:_LONGEST]
    words = sorted(set(_WORD.findall(wanted)))
    weights = [0] * len(_names())
    for word in words:
        for number, one in enumerate(_names()):
            if word in one[0]:
                weights[number] += len(word)
    enough = max(1.0, 0.5 * sum(map(len, words)))
    ranked = sorted(
        (-weight, abs(len(_names()[number][0]) - len(wanted)), number)
        for number, weight in enumerate(weights)
        if weight >= enough
    )
    matcher = SequenceMatcher(b=wanted, autojunk=False)

    def unlike(one: str) -> tuple[bool, float]:
        matcher.set_seq1(one)
        return wanted not in one, -matcher.ratio()

    compared = [_names()[number] for _, _, number in ranked[:_COMPARED]]
    best: dict[str, str] = {}
    for _, one, instruction in sorted(compared, key=lambda parts: unlike(parts[0])):
        best.setdefault(instruction, one)
    return tuple(best.values())[:most]


def respelled(word: str) -> str:
    """A mnemonic whose first word is misspelt, with the word that was meant; "" for other texts.

    >>> respelled("ldmatirx.x4"), respelled("gpu.barrier")
    ('ldmatrix.x4', '')
    """
    instance_of(word, str, "word")
    mnemonic = _MNEMONIC.fullmatch(word)
    head = mnemonic[1].lower() if mnemonic is not None else ""
    meant = get_close_matches(head, _HEADS, 1, 0.75) if head and head not in _HEADS else []
    return f"{meant[0]}{mnemonic[2]}" if mnemonic is not None and meant else ""


def said_of(text: str) -> str:
    """What a word stands for that is not the name of one instruction, or which names are near; "" where nothing is.

    A type of elements alone, such as `f32`, is not taken for the instructions that have it.

    >>> said_of("d0"), said_of("f32")
    ('', '')
    """
    from layoutalg.instructions.selection import is_element

    word = text.strip()
    if not re.fullmatch(r"[A-Za-z_][\w.:/-]{1,119}", word) or is_element(word):
        return ""
    return _said_of_word(word)


@lru_cache(maxsize=256)
def _said_of_word(word: str) -> str:
    from layoutalg.core.errors import LayoutError
    from layoutalg.instructions.selection import filter_words, selected

    if _AMX.fullmatch(word):
        return (
            f"{word} works on AMX's tiles, which are read as types: !x86.amx.tile<16x32xbf16>; so are its products, "
            f"x86.amx.tile_mulf (bf16, f16) and x86.amx.tile_muli (bytes): {_AMX_PRODUCT}"
        )
    try:
        found = selected((word,))
    except LayoutError:
        begun = _begun_by(f"{word.lower()}_")
        if len(begun) > 1:
            return f"{word} begins the names of {len(begun)} instructions: {listed(begun)}"
        words = _WORD.findall(word.lower())
        known = any(one in name for one in words if one.isalpha() and len(one) > 1 for name, _, _ in _names())
        near = nearest(respelled(word) or word) if (known or respelled(word)) and len(words) > 1 else ()
        return f"no instruction has this name; did you mean {', '.join(near)}?" if near else ""
    kinds = [kind for kind, words in filter_words().items() if word.lower() in {one.lower() for one in words}]
    what = {"family": "is a family of", "kind": "is the kind of"}.get((kinds or ["chip"])[0], "has")
    named = listed(found, chips=what != "has")
    return f"{word} {what} {len(found)} instructions: {named}; `layoutalg list {word}` has all of them"


def _begun_by(word: str) -> tuple[Row, ...]:
    """The instructions one of whose names begins with a word in small letters."""
    from layoutalg.instructions.registry import rows

    names = ((row, (re.sub(r"^[cr]dna\d/", "", row.name), row.dotted, *row.aliases)) for row in rows().values())
    return tuple(row for row, spelled in names if any(one.lower().startswith(word) for one in spelled))


def listed(found: tuple[Row, ...], *, chips: bool = True, by_dotted: bool = False) -> str:
    """Names with their chips, those of one mnemonic together, or vendors' mnemonics.

    >>> from layoutalg.instructions.registry import row_of
    >>> row = row_of("SM80_16x8x16_F32F16F16F32_TN")
    >>> listed((row,)), listed((row,), by_dotted=True)
    ('SM80_16x8x16_F32F16F16F32_TN (sm_80 to sm_121)', 'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 (sm_80 to sm_121)')
    """
    named: dict[str, list[str]] = {}
    for row in found:
        name = row.dotted if by_dotted else row.name
        named.setdefault(re.sub(r"^[cr]dna\d/|/w\d\d$", "", name), []).extend(row.chips)
    texts = [f"{name} ({chips_text(these)})" if chips else name for name, these in named.items()]
    more = f" and {len(texts) - _MOST_NAMED} more" if len(texts) > _MOST_NAMED else ""
    return ", ".join(texts[:_MOST_NAMED]) + more
