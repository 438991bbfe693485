"""The first block of a product, and what it needs of A and B, stand out: the colours of `panels.product_panel`, and their key.

>>> one = Axis.of(2, 20)
>>> looks = first_marked((one, one, one), lambda i, s: "", lambda s, j: "", lambda i, j: (f"{i},{j}", ""))
>>> [look.label for look in looks["C"].values() if look.fill == DARK]
['0,0']
"""

from __future__ import annotations

from collections.abc import Callable

from layoutalg.viz.panels import DARK, MARKED, PALE, Axis, Look

__all__ = ["first_key", "first_marked"]


def first_key(first: str, step: str, others: str, right: str = "B") -> tuple[tuple[str, str], ...]:
    """What the colours of `first_marked` mean: `first` is what the first cell of C is, `step` its first step of several.
    `right` is what B is called.

    >>> [text for text, _ in first_key("block 0", "", "blocks")]
    ['C of block 0', 'its A and B', 'other blocks']
    """
    whole = f"{first}: its C, and the A and {right} that it reads" if step else f"C of {first}"
    return (whole, DARK), (f"those of {step}" if step else f"its A and {right}", MARKED), (f"other {others}", PALE)


def first_marked(
    axes: tuple[Axis, Axis, Axis],
    of_a: Callable[[int, int], str],
    of_b: Callable[[int, int], str],
    of_c: Callable[[int, int], tuple[str, str]],
) -> dict[str, dict[tuple[int, int], Look]]:
    """Looks for `product_panel`: the first cell of C, and what it needs of A and B, stand out.

    `axes` are rows, depth and columns; sentences are said by the place of a cell, of C with its label in front.
    """
    down, deep, across = (axis.drawn for axis in axes)

    def fill(first: bool, needed: bool) -> str:
        return MARKED if first else DARK if needed else PALE

    return {
        "A": {(i, s): Look(fill(i == s == 0, i == 0), "", of_a(i, s)) for i in down for s in deep},
        "B": {(s, j): Look(fill(s == j == 0, j == 0), "", of_b(s, j)) for s in deep for j in across},
        "C": {(i, j): Look(DARK if i == j == 0 else PALE, *of_c(i, j)) for i in down for j in across},
    }
