"""Instructions by what they are: a family, a kind, a vendor, a chip, a type of elements, a shape.

Filters combine, and each is a word that people use for one of these. A chip may be the beginning of its name (`gfx12`), any
other name of it (`mi300x`, `hardware.chip_names`), a generation (`cdna3`), or Intel's word for several (`xe`):

>>> [one.name for one in known_instructions("gfx942", "f64")]
['v_mfma_f64_16x16x4_f64', 'v_mfma_f64_4x4x4_4b_f64']
>>> len(known_instructions("WMMA", "gfx1100")), len(known_instructions("dpas", "bmg"))
(12, 13)

A word that fits nothing is refused with what there is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import lru_cache, partial

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.core.notebook import Rows
from layoutalg.core.whole_numbers import instance_of
from layoutalg.hardware.xe_products import product_target
from layoutalg.instructions.instruction import Instruction
from layoutalg.instructions.registry import Row, rows

__all__ = ["filter_words", "is_element", "known_instructions", "selected"]

_MOST_FILTERS = 16
_LONGEST = 60
_INTEL = {"xe": "", "xe2": "bmg lnl", "xe-hpg": "dg2 acm", "arc": "dg2 acm bmg"}
"""Intel's words for several chips, by the beginnings of their names here."""
_ELEMENT = re.compile(r"(?:[bcefisu]|bf|fp|gc|iu|tf|ue|xf)\d{1,2}\w{0,8}")
"""How the name of a type of elements looks: `f16`, `iu8`, `f8f6f4`, `f8E8M0FNU`."""
_SHAPE = re.compile(r"m?(\d{1,4})[xn](\d{1,4})(?:[xk](\d{1,4}))?")
"""m, n and perhaps k: `16x8x16`, or PTX's `m16n8k16`."""
_RDNA = {"rdna3": "gfx11", "rdna4": "gfx120", "cdna": "gfx9", "rdna": "gfx1"}
_NVIDIA = {
    "volta": (70,),
    "turing": (75,),
    "ampere": (80, 86),
    "ada": (89,),
    "hopper": (90,),
    "blackwell": (100, 103, 120, 121),
}
"""NVIDIA's generations, by compute capability."""


def known_instructions(*filters: str) -> tuple[Instruction, ...]:
    """The instructions that all filters fit, in the order of vendors and chips; without filters, all.

    Raises `LayoutError` for a filter that fits nothing known, with what there is.

    >>> [one.name for one in known_instructions("copy", "gfx950")][0]
    'ds_read_b64_tr_b16'
    >>> len(known_instructions("copy", "gfx1250", "i16"))
    2
    """
    return Rows([row.build() for row in selected(filters)])


def selected(filters: tuple[str, ...]) -> tuple[Row, ...]:
    """The rows that all filters fit.

    >>> [row.name for row in selected(("gfx942", "f64"))][0]
    'v_mfma_f64_16x16x4_f64'
    """
    if len(filters) > _MOST_FILTERS:
        raise LayoutError(f"{len(filters)} filters: expected at most {_MOST_FILTERS}")
    found = list(rows().values())
    for one in filters:
        instance_of(one, str, "filter")
        fits = _filter(one)
        found = [row for row in found if fits(row)]
    return tuple(found)


@lru_cache(maxsize=1)
def filter_words() -> dict[str, tuple[str, ...]]:
    """What filters there are, by what they say: kinds, families, vendors, chips.

    >>> filter_words()["vendor"]
    ('AMD', 'Intel', 'NVIDIA')
    """
    listed = rows().values()
    return {
        "kind": tuple(sorted({row.kind for row in listed})),
        "family": tuple(sorted({row.family for row in listed})),
        "vendor": tuple(sorted({row.vendor for row in listed})),
        "chip": tuple(dict.fromkeys(chip for row in listed for chip in row.chips)),
    }


def _filter(word: str) -> Callable[[Row], bool]:
    """What a word asks of a row."""
    if not word.strip() or len(word) > _LONGEST:
        raise _unknown(word)
    given = word.strip().lower()
    words = filter_words()
    for known, value in (("kind", _kind), ("vendor", _vendor), ("family", _family)):
        if given in {one.lower() for one in words[known]}:
            return lambda row: value(row) == given
    chips = _chips(given, words["chip"])
    if chips:
        return lambda row: not chips.isdisjoint(row.chips)
    if (shape := _SHAPE.fullmatch(given)) is not None:
        return partial(_has_shape, tuple(int(size) for size in shape.groups() if size))
    if _ELEMENT.fullmatch(given) and given in _elements():
        return lambda row: given in {element.lower() for element in row.build().types.values()}
    raise _unknown(word)


def is_element(word: str) -> bool:
    """Whether a word looks like a type of elements.

    >>> is_element("bf16"), is_element("gfx942")
    (True, False)
    """
    return _ELEMENT.fullmatch(word.lower()) is not None


def _has_shape(sizes: tuple[int, ...], row: Row) -> bool:
    """Whether an instruction has these sizes; most names say theirs, so that few are built."""
    if row.kind != "mma" or (re.search(r"\d[xn,]\d", row.name) and f"{sizes[0]}{sizes[1]}" not in _joined(row.name)):
        return False
    return row.build().shape[: len(sizes)] == sizes


def _joined(name: str) -> str:
    """A name without what stands between its sizes."""
    return re.sub(r"(?<=\d)[xn,](?=\d)", "", name)


def _kind(row: Row) -> str:
    return row.kind.lower()


def _vendor(row: Row) -> str:
    return row.vendor.lower()


def _family(row: Row) -> str:
    return row.family.lower()


def _chips(given: str, known: tuple[str, ...]) -> frozenset[str]:
    """The chips that a word means; the beginning of a name is enough from 4 letters on.

    PTX's targets `sm_90` and `sm_90a` are one chip, so either word means both.
    """
    intel = [chip for chip in known if not chip.startswith(("gfx", "sm_"))]
    if given in _INTEL:
        return frozenset(chip for chip in intel if chip.startswith(tuple(_INTEL[given].split(" "))))
    if given in _NVIDIA:
        return frozenset(chip for number in _NVIDIA[given] for chip in _chips(f"sm_{number}", known))
    given = _RDNA.get(given) or str(product_target(given))
    if given in known:
        targets = (given.removesuffix("a"), f"{given.removesuffix('a')}a") if given.startswith("sm_") else (given,)
        return frozenset(targets) & frozenset(known)
    return frozenset(chip for chip in known if len(given) >= 4 and chip.startswith(given))


@lru_cache(maxsize=1)
def _elements() -> frozenset[str]:
    return frozenset(element.lower() for row in rows().values() for element in row.build().types.values())


def _unknown(word: str) -> LayoutError:
    words = filter_words()
    said = "; ".join(f"a {name} ({', '.join(words[name])})" for name in ("kind", "family", "vendor", "chip"))
    names = [one.lower() for listed in words.values() for one in listed]
    near = get_close_matches(word.strip().lower()[:60], [*names, *sorted(_elements())], 3, 0.75)
    hint = f" (did you mean {', '.join(near)}?)" if near else ""
    return LayoutError(
        f"filter {shown(word, 60)}{hint}: expected {said}; a generation, such as hopper; an element type, such as f16; or a "
        "shape, such as 16x16x16"
    )
