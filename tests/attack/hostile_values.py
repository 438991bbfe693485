"""Arguments that no caller means: each one is made anew, under a name that a failure prints."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

MARK = "touched_by_the_attack"
CODE = f"__import__('pathlib').Path('{MARK}').touch()"
"""A text that makes a file if anybody evaluates it."""


class OwnError(Exception):
    """Raised by the objects below: a caller's own exception may leave the library as it is."""


def _raises(*_arguments: object) -> Any:
    raise OwnError("the caller's own")


class _Index:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"_Index({'huge' if self.value > 2**64 else self.value})"


class _RaisingIndex:
    __index__ = _raises


class _RaisingEverything:
    __eq__ = __lt__ = __len__ = __iter__ = __bool__ = __int__ = __getitem__ = _raises
    __hash__ = object.__hash__


class _NoHash:
    __hash__ = None  # type: ignore[assignment]


class _EqualToAll:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class _HugeLength:
    def __len__(self) -> int:
        return 2**40

    def __getitem__(self, index: object) -> int:
        return 1


class _Endless:
    def __iter__(self) -> Iterator[int]:
        return itertools.repeat(2)


class _Text(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise OwnError("the caller's own")

    __hash__ = str.__hash__


class _Number(IntEnum):
    FOUR = 4


def _deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(3000):
        nested = [nested]
    return nested


def _own() -> list[Any]:
    own: list[Any] = [1]
    own.append(own)
    return own


def _symbol(text: str) -> Callable[[], Any]:
    def make() -> Any:
        import sympy

        return sympy.Symbol(text, integer=True, positive=True)

    return make


def _of_layoutalg(text: str) -> Callable[[], Any]:
    def make() -> Any:
        import layoutalg

        return layoutalg.parse(text)

    return make


VALUES: dict[str, Callable[[], Any]] = {
    **{
        repr(value): (lambda value=value: value)
        for value in (None, True, False, -1, 0, 1, 2, 3, 7, 16, 2**31, 2**31 + 1)
    },
    **{
        repr(value): (lambda value=value: value)
        for value in (1.5, 2.0, math.nan, math.inf, -0.0, 1j, b"x", "", "a", "é", "d0")
    },
    **{f"2**{n}": (lambda n=n: 2**n) for n in (24, 30, 62, 63, 64, 200)},
    "10**5000": lambda: 10**5000,
    "-10**5000": lambda: -(10**5000),
    "a surrogate": lambda: "\ud800",
    "a NUL": lambda: "\0",
    "two lines": lambda: "a\nb",
    "a long text": lambda: "x" * 100_000,
    "code": lambda: CODE,
    "[code]": lambda: [CODE],
    "(code, 1, 'reg')": lambda: (CODE, 1, "reg"),
    "{code: code}": lambda: {CODE: CODE},
    "9...9": lambda: "9" * 6000,
    "()": tuple,
    "[]": list,
    "{}": dict,
    "(None,)": lambda: (None,),
    "([code],)": lambda: ([CODE],),
    "(an array,)": lambda: (np.zeros((2, 2)),),
    "(4, 10**5000)": lambda: (4, 10**5000),
    "(a surrogate,)": lambda: ("\ud800",),
    "[[]]": lambda: [[]],
    "(0,)": lambda: (0,),
    "(-1, 4)": lambda: (-1, 4),
    "(2**62, 2**62)": lambda: (2**62, 2**62),
    "(10**5000,)": lambda: (10**5000,),
    "(1.5, nan)": lambda: (1.5, math.nan),
    "64 twos": lambda: (2,) * 64,
    "65 ones": lambda: (1,) * 65,
    "100,000 ones": lambda: (1,) * 100_000,
    "range(10**9)": lambda: range(10**9),
    "range(2**70)": lambda: range(2**70),
    "a set": lambda: {1, 2},
    "a generator": lambda: (i for i in (2, 4)),
    "an endless generator": itertools.count,
    "an endless iterable": _Endless,
    "a list in itself": _own,
    "a deep list": _deep,
    "a slice": lambda: slice(None),
    "a type": lambda: int,
    "a function": lambda: _raises,
    "an object": object,
    "NotImplemented": lambda: NotImplemented,
    "...": lambda: ...,
    "Fraction(1, 2)": lambda: Fraction(1, 2),
    "Path": lambda: Path("a/b"),
    "an IntEnum": lambda: _Number.FOUR,
    "__index__ = 4": lambda: _Index(4),
    "__index__ = 10**5000": lambda: _Index(10**5000),
    "__index__ raises": _RaisingIndex,
    "everything raises": _RaisingEverything,
    "no hash": _NoHash,
    "equal to all": _EqualToAll,
    "__len__ = 2**40": _HugeLength,
    "a str whose == raises": lambda: _Text("reg"),
    "np.int64(4)": lambda: np.int64(4),
    "np.uint8(255)": lambda: np.uint8(255),
    "np.float64(4)": lambda: np.float64(4),
    "np.bool_": lambda: np.bool_(True),
    "np.str_": lambda: np.str_("reg"),
    "np.array(1)": lambda: np.array(1),
    "np.array(4)": lambda: np.array(4),
    "np.array(True)": lambda: np.array(True),
    "np.array([4, 4])": lambda: np.array([4, 4]),
    "np.zeros(0)": lambda: np.zeros(0),
    "np.zeros((2, 2))": lambda: np.zeros((2, 2)),
    "np.array([nan])": lambda: np.array([np.nan, 1.0]),
    "an array of objects": lambda: np.array([None, CODE], dtype=object),
    "an array of texts": lambda: np.array(["a", "b"]),
    "an array of 2**40 elements": lambda: np.broadcast_to(np.int8(1), (2**20, 2**20)),
    "a datetime": lambda: np.datetime64("2026-01-01"),
    "a symbol": _symbol("M"),
    "a symbol with a blank": _symbol("a b"),
    "a layout": _of_layoutalg("d0 = 4@reg, d1 = 4@lane"),
    "a layout with symbols": _of_layoutalg("d0 = M@reg:K 4@lane"),
    "a huge layout": _of_layoutalg("d0 = 2147483648@reg 2147483648@lane | replicas 2147483648@sg"),
    "a layout of ones": _of_layoutalg("d0 = 1@foo 4@lane, d1 = 1"),
    "a layout without dimensions": _of_layoutalg("()"),
    "an attribute": _of_layoutalg("#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1]>"),
    "an instruction": _of_layoutalg("#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>"),
    "an alias of nothing": _of_layoutalg("affine_map<(d0) -> (d0)>"),
}
