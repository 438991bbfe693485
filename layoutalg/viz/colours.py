"""Colours that colour-blind readers can tell apart, with text on them that stays readable.

One hue per subgroup, from pale to strong with the lane; a ramp from dark to light for what only counts up. The hues were
searched for by how far apart they stay: of two hues of one strength, the distance in OKLab (Ottosson, 2020; 0.02 is just
noticeable) is at least `FAR` at the strength of a legend and at least `NEAR` at every other, also from white paper, for common
sight, protanopia, deuteranopia and tritanopia (Machado, Oliveira and Fernandes, 2009, severity 1). The best four are first. The
ramp is viridis (Smith and van der Walt, CC0), which keeps its order in grey.

>>> shades([0, 1], [0.0, 1.0]).tolist()
[[175, 173, 255], [237, 96, 50]]
>>> ink(ramp([0.0, 1.0])).tolist()          # white text on dark purple, black text on yellow
[[255, 255, 255], [0, 0, 0]]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["FAR", "HUES", "LEGEND", "NEAR", "Colours", "hexes", "hue_of", "ink", "ramp", "shades"]

Colours = NDArray[np.uint8]
"""Red, green and blue from 0 to 255 along the last axis."""

HUES = np.array(
    [
        (55, 51, 255),  # blue
        (235, 78, 27),  # vermillion
        (255, 206, 23),  # yellow
        (111, 7, 0),  # maroon
        (103, 210, 182),  # turquoise
        (147, 129, 230),  # lavender
        (131, 66, 128),  # purple
        (29, 1, 138),  # navy
    ],
    np.float64,
)
"""Eight hues; beyond, they repeat."""

LEGEND = 0.6
"""The strength of a hue in a legend."""
FAR, NEAR = 0.12, 0.065
"""How far two hues are apart, at the least: in a legend, and at one strength from 0 to 1."""
_PALEST, _STRONGEST = 0.4, 0.9
_RAMP = np.array(
    [
        (68, 1, 84),
        (71, 45, 123),
        (59, 82, 139),
        (44, 114, 142),
        (33, 145, 140),
        (40, 174, 128),
        (94, 201, 98),
        (173, 220, 48),
        (253, 231, 37),
    ],
    np.float64,
)


def hue_of(number: ArrayLike) -> NDArray[np.int64]:
    """Which of the hues stands for a number; those of neighbours differ, and mostly those 8 apart too.

    >>> hue_of([0, 1, 7, 8, 16]).tolist()
    [0, 1, 7, 3, 6]
    """
    numbers = np.asarray(number, np.int64)
    return (numbers % len(HUES) + numbers // len(HUES) * 3) % len(HUES)


def shades(hue: ArrayLike, strength: ArrayLike) -> Colours:
    """Each hue (by its index) mixed with white: pale at strength 0, strong at 1."""
    share = np.clip(_PALEST + (_STRONGEST - _PALEST) * np.asarray(strength, np.float64)[..., None], 0, 1)
    return np.rint(255 + (HUES[np.asarray(hue)] - 255) * share).astype(np.uint8)


def ramp(position: ArrayLike) -> Colours:
    """The colour at a position from 0 (dark) to 1 (light)."""
    at = np.asarray(position, np.float64) * (len(_RAMP) - 1)
    steps = np.arange(len(_RAMP))
    return np.rint(np.stack([np.interp(at, steps, _RAMP[:, c]) for c in range(3)], -1)).astype(np.uint8)


def ink(background: NDArray[Any]) -> Colours:
    """Black or white, whichever has the larger contrast with a background (at least 4.5 to 1, by WCAG 2.1)."""
    light = np.asarray(background, np.float64) / 255
    linear = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722])
    white = 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05
    return np.where(white[..., None], np.uint8(255), np.uint8(0)).astype(np.uint8).repeat(3, -1)


def hexes(colours: Colours) -> list[str]:
    """Colours as `#rrggbb`, flattened row by row."""
    packed = colours.reshape(-1, 3).astype(np.int64) @ np.array([65536, 256, 1])
    return [f"#{one:06x}" for one in packed.tolist()]
