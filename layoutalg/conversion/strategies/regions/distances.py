"""How many moves three bits of an address need at least, each to a place of its own: a lower bound for the search.

A bit is at an address bit of a register or outside it, in the register's number. One stage takes each of three bits somewhere;
the cheapest sequence of stages for the three alone is never dearer than for all. To swap two lane bits takes a move:

>>> least_moves(6, 2, copies=False)[index((3, 2, 4), (2, 3, 4), 6)]
1
>>> least_moves(6, 2, copies=False)[index((6, 6, 6), (2, 3, 4), 6)]          # one enters with every stage
3
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from layoutalg.conversion.strategies.regions.shapes import COPY, ENTERS, PAIR, templates

__all__ = ["index", "least_moves"]

_FAR = 60


def index(places: tuple[int, int, int], wanted: tuple[int, int, int], width: int) -> int:
    """Where `least_moves` has the moves from three places to three others; `width` is the place outside."""
    found = 0
    for place in (*places, *wanted):
        found = found * (width + 1) + place
    return found


@lru_cache(maxsize=32)
def least_moves(width: int, least: int, *, copies: bool, halves: bool = False) -> list[int]:
    """The fewest moves a register, by `index`; with `copies` also those that repeat what they read."""
    outside, size = width, width + 1
    cheapest: dict[bytes, int] = {}
    for one in templates(width, least, halves):
        if COPY in one.comes and not copies:
            continue
        goes = np.zeros((size, size), bool)
        goes[outside, outside] = True
        for to, what in enumerate(one.comes):
            if what in (ENTERS, PAIR):
                goes[outside, to] = True
            elif what >= 0:
                goes[what, to] = True
        goes[~goes.any(1), outside] = True
        key = goes.tobytes()
        cheapest[key] = min(cheapest.get(key, _FAR), one.shape.moves(width))
    moves = np.full((size**3, size**3), _FAR, np.int8)
    for key, cost in sorted(cheapest.items(), key=lambda item: -item[1]):
        goes = np.frombuffer(key, bool).reshape(size, size)
        two = (goes[:, None, :, None] & goes[None, :, None, :]).reshape(size**2, size**2)
        three = (two[:, None, :, None] & goes[None, :, None, :]).reshape(size**3, size**3)
        moves[three] = cost
    np.fill_diagonal(moves, 0)
    for middle in range(size**3):
        np.minimum(moves, moves[:, middle, None] + moves[middle], out=moves)
    return moves.reshape(-1).tolist()
