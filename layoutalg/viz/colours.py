"""Colours that colour-blind readers can tell apart, with text on them that stays readable.

One hue per subgroup, from pale to strong with the lane; a ramp from dark to light for what only counts up. The hues, and how
pale and how strong each gets, were searched for by how far apart they stay: the distance in OKLab (Ottosson, 2020; 0.02 is just
noticeable) of two hues is at least `FAR` at the strength of a legend, and at least `NEAR` whatever the strength of each; also
from white and from dark paper, and from the palest to the strongest of one hue; for common sight, protanopia, deuteranopia and
tritanopia (Machado, Oliveira and Fernandes, 2009, severity 1). The ramp is viridis (Smith and van der Walt, CC0), which keeps
its order in grey. A colour is text, `#rrggbb`.

>>> shade(0, 0.0), shade(1, 1.0)
('#5866bc', '#2be11f')
>>> ink(ramp(0.0)), ink(ramp(1.0))          # white text on dark purple, black text on yellow
('#ffffff', '#000000')
"""

from __future__ import annotations

from functools import lru_cache

__all__ = [
    "DARK_PALE",
    "FAR",
    "HUES",
    "LEGEND",
    "NEAR",
    "PALE",
    "PALE_INK",
    "channels",
    "hue_of",
    "ink",
    "ramp",
    "shade",
]

HUES = (
    ((5, 26, 155), 0.67, 1.0),  # navy
    ((27, 223, 14), 0.25, 0.93),  # green
    ((111, 41, 5), 0.72, 1.0),  # brown
    ((172, 17, 220), 0.15, 0.44),  # pink
    ((31, 149, 10), 0.51, 0.9),  # leaf
    ((120, 16, 239), 0.53, 0.93),  # violet
    ((55, 0, 69), 0.79, 1.0),  # plum
    ((168, 25, 106), 0.55, 0.88),  # rose
)
"""Eight hues: red, green and blue from 0 to 255, and their share in white at strength 0 and at 1; beyond, they repeat."""

LEGEND = 0.6
"""The strength of a hue in a legend."""
FAR, NEAR = 0.14, 0.075
"""How far two hues are apart, at the least: in a legend, and at any two strengths from 0 to 1."""
PALE, PALE_INK = "#eeeeee", "#111111"
"""Cells that mean nothing by themselves (others, padding, idle), and the text on them, which nothing else has."""
DARK_PALE = "#3a3f48"
"""What those cells are on a dark page: text is light there."""
_PALEST = 0.1
_RAMP = (
    (68, 1, 84),
    (71, 45, 123),
    (59, 82, 139),
    (44, 114, 142),
    (33, 145, 140),
    (40, 174, 128),
    (94, 201, 98),
    (173, 220, 48),
    (253, 231, 37),
)
_LIGHTEST_OF_DARK = 0.04045
_KEPT = 1 << 16


def hue_of(number: int) -> int:
    """Which of the hues stands for a number; those of neighbours differ, and mostly those 8 apart too.

    >>> [hue_of(number) for number in (0, 1, 7, 8, 16)]
    [0, 1, 7, 3, 6]
    """
    return (number % len(HUES) + number // len(HUES) * 3) % len(HUES)


@lru_cache(_KEPT)
def shade(hue: int, strength: float) -> str:
    """A hue (by its index) mixed with white: pale at strength 0, strong at 1; a hue without neighbours may go further."""
    colour, pale, strong = HUES[hue]
    share = min(max(pale + (strong - pale) * strength, _PALEST), 1.0)
    return _text(*(255 + (one - 255) * share for one in colour))


@lru_cache(_KEPT)
def ramp(position: float) -> str:
    """The colour at a position from 0 (dark) to 1 (light)."""
    last = len(_RAMP) - 1
    at = min(max(position * last, 0.0), float(last))
    step = min(int(at), last - 1)
    return _text(*(low + (high - low) * (at - step) for low, high in zip(_RAMP[step], _RAMP[step + 1], strict=True)))


@lru_cache(_KEPT)
def ink(background: str) -> str:
    """Black or white, whichever has the larger contrast with a background (4.5 to 1 at least, by WCAG 2.1)."""
    if background == PALE:
        return PALE_INK
    light = [one / 255 for one in channels(background)]
    red, green, blue = (one / 12.92 if one <= _LIGHTEST_OF_DARK else ((one + 0.055) / 1.055) ** 2.4 for one in light)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "#000000"


def channels(colour: str) -> tuple[int, int, int]:
    """Red, green and blue of a colour, from 0 to 255.

    >>> channels("#afadff")
    (175, 173, 255)
    """
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def _text(red: float, green: float, blue: float) -> str:
    return f"#{round(red):02x}{round(green):02x}{round(blue):02x}"
