"""Random layouts for CuTe's algebra: mixed radix, nested, with strides of 0, negative ones, extents of 1, and compact ones."""

from __future__ import annotations

import random
from typing import Any

from layoutalg.cute import CuteLayout

EXTENTS = (1, 1, 2, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16)


def nested(rng: random.Random, flat: list[tuple[int, int]], depth: int = 2) -> tuple[Any, Any]:
    """Factors, put into random brackets."""
    if len(flat) == 1 and rng.random() < 0.7:
        return flat[0]
    if depth == 0 or rng.random() < 0.5:
        return tuple(n for n, _ in flat), tuple(s for _, s in flat)
    parts = []
    while flat:
        count = rng.randint(1, len(flat))
        parts.append(nested(rng, flat[:count], depth - 1))
        flat = flat[count:]
    return tuple(n for n, _ in parts), tuple(s for _, s in parts)


def layout(rng: random.Random, most: int = 200, kind: str = "") -> CuteLayout:
    """A random layout of at most `most` elements."""
    kind = kind or rng.choice(("compact", "compact", "ordered", "ordered", "padded", "free", "zero"))
    extents: list[int] = []
    for _ in range(rng.randint(1, 4)):
        n = rng.choice(EXTENTS)
        if n * _product(extents) <= most:
            extents.append(n)
    extents = extents or [1]
    order = list(range(len(extents)))
    if kind != "compact":
        rng.shuffle(order)
    strides = [0] * len(extents)
    step = 1
    for k in order:
        strides[k] = step
        step *= extents[k] * (rng.choice((1, 1, 2, 3)) if kind == "padded" else 1)
    if kind == "free":
        strides = [rng.choice((0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 36)) for _ in extents]
    if kind == "zero":
        strides[rng.randrange(len(strides))] = 0
    if kind == "negative":
        strides = [s * rng.choice((1, -1)) for s in strides]
    return CuteLayout(*nested(rng, list(zip(extents, strides, strict=True))))


def _product(extents: list[int]) -> int:
    total = 1
    for n in extents:
        total *= n
    return total


def inner(rng: random.Random, outer: CuteLayout) -> CuteLayout:
    """A layout to compose with another: often one that divides it."""
    if rng.random() < 0.4:
        return layout(rng, 60)
    total = outer.size
    divisors = [d for d in range(1, total + 1) if total % d == 0]
    leaves = []
    room = 64
    for _ in range(rng.randint(1, 3)):
        n = rng.choice([d for d in divisors if d <= room] or [1])
        leaves.append((n, rng.choice(divisors)))
        room = max(1, room // n)
    return CuteLayout(*nested(rng, leaves))
