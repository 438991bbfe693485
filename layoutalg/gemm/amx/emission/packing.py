"""The functions that pack: panels of B, and panels of A where it isn't loaded as it lies.

What shares a word of 4 bytes comes from v rows of memory, or from one row of a transposed operand. So B is woven: two rows of
16 elements become 16 words of pairs (v = 2), four rows 16 words of fours in two rounds (v = 4). By hand, with rows 0123 and
abcd: 0a1b2c3d.

    %row = vector.load %b[%k, %column] : memref<64x64xbf16>, vector<16xbf16>
    %row_1 = vector.load %b[%k_1, %column] : memref<64x64xbf16>, vector<16xbf16>
    %words = vector.interleave %row, %row_1 : vector<16xbf16> -> vector<32xbf16>
    vector.store %words, %packed[%panel, %word, %c0] : memref<4x32x32xbf16>, vector<32xbf16>

A of A B is copied, a row of a tile at a time. The other two, B from n x k and A from k x m, are squares of 16x16 words that are
turned in registers (`turned`): four rounds of weaving row i with row i + 8. What is outside of the matrix becomes zero.

>>> from layoutalg.gemm.amx import plan_amx
>>> text = pack_b_function(plan_amx(64, 64, 64))
>>> [text.count(name) for name in ("vector.load", "vector.interleave", "vector.store")]
[2, 1, 1]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.amx.emission.writer import AmxFunction
from layoutalg.gemm.amx.tiling import TILE

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm

__all__ = ["PACK_A", "PACK_B", "pack_a_function", "pack_b_function", "turned"]

PACK_A, PACK_B = "gemm_pack_a", "gemm_pack_b"


def pack_b_function(plan: AmxGemm) -> str:
    """The function that packs B's panels `first` to before `last`.

    >>> from layoutalg.gemm.amx import plan_amx
    >>> pack_b_function(plan_amx(64, 64, 64)).splitlines()[0]
    'func.func @gemm_pack_b(%b: memref<64x64xbf16>, %packed: memref<4x32x32xbf16>, %first: index, %last: index) {'
    """
    function = AmxFunction(plan, PACK_B, {"b": "b", "packed": "packed_b", "first": "index", "last": "index"})
    problem, source, packed = plan.problem, function.arguments["b"], function.arguments["packed"]
    if not problem.trans_b:

        def weave(panel: Value, word: Value, columns: int, deep: int) -> None:
            column, k = function.times(panel, TILE), function.times(word, problem.vnni)
            _store(function, _woven(function, source, (k, column), deep, columns), packed, (panel, word))

        _pieces(function, ("panel", problem.n, TILE), ("word", problem.k, problem.vnni), weave)
        return function.text()

    def turn(panel: Value, step: Value, columns: int, deep: int) -> None:
        column, k = function.times(panel, TILE), function.times(step, problem.depth)
        rows = [_row(function, source, (function.plus(column, n), k), deep, problem.depth) for n in range(columns)]
        first = function.times(step, TILE)
        for word, row in enumerate(turned(function, _as_words(function, rows))[: min(TILE, -(-deep // problem.vnni))]):
            _store(function, _as_elements(function, row), packed, (panel, function.plus(first, word)))

    _pieces(function, ("panel", problem.n, TILE), ("step", problem.k, problem.depth), turn)
    return function.text()


def pack_a_function(plan: AmxGemm) -> str:
    """The function that packs A's panels `first` to before `last`.

    >>> from layoutalg.gemm.amx import plan_amx
    >>> text = pack_a_function(plan_amx(20, 64, 40, pack_a=True))
    >>> text.count("vector.load"), text.count("vector.store")
    (4, 6)
    """
    function = AmxFunction(plan, PACK_A, {"a": "a", "packed": "packed_a", "first": "index", "last": "index"})
    problem, source, packed = plan.problem, function.arguments["a"], function.arguments["packed"]
    if not problem.trans_a:

        def copy(panel: Value, step: Value, rows: int, deep: int) -> None:
            row, k = function.times(panel, TILE), function.times(step, problem.depth)
            bounds = ((function.constant(0),), (function.constant(rows),), (1,))
            with function.every(("inside",), *bounds) as (inside,):
                found = _row(function, source, (function.op("addi", row, inside), k), deep, problem.depth)
                _store(function, found, packed, (panel, step, inside))
            if rows < TILE:
                bounds = ((function.constant(rows),), (function.constant(TILE),), (1,))
                with function.every(("inside",), *bounds) as (inside,):
                    _store(function, _nothing(function), packed, (panel, step, inside))

        _pieces(function, ("panel", problem.m, TILE), ("step", problem.k, problem.depth), copy)
        return function.text()

    def turn(panel: Value, step: Value, rows: int, deep: int) -> None:
        row, k = function.times(panel, TILE), function.times(step, problem.depth)
        words = [
            _woven(function, source, (function.plus(k, first), row), min(problem.vnni, deep - first), rows)
            for first in range(0, deep, problem.vnni)
        ]
        for inside, found in enumerate(turned(function, _as_words(function, words))):
            _store(function, _as_elements(function, found), packed, (panel, step, function.constant(inside)))

    _pieces(function, ("panel", problem.m, TILE), ("step", problem.k, problem.depth), turn)
    return function.text()


def turned(function: AmxFunction, rows: Sequence[Value]) -> list[Value]:
    """The transposed of a square of 16x16 words, whose rows are vectors.

    A place in the square is 8 bits, row and column. Weaving row i with row i + 8 into rows 2i and 2i + 1 moves the highest bit
    of the row behind the lowest of the column: four times, and rows and columns have changed places.

    >>> from layoutalg.gemm.amx import plan_amx
    >>> function = AmxFunction(plan_amx(64, 64, 64), "f", {})
    >>> len(turned(function, [function.constant(0, "i32", 16)] * 16)), function.writer.text().count("vector.shuffle")
    (16, 64)
    """
    half = TILE // 2
    lower = [place for i in range(half) for place in (i, TILE + i)]
    upper = [place + half for place in lower]
    for _ in range(4):
        rows = [_shuffled(function, rows[i], rows[i + half], order) for i in range(half) for order in (lower, upper)]
    return list(rows)


def _pieces(
    function: AmxFunction,
    panels: tuple[str, int, int],
    deep: tuple[str, int, int],
    write: Callable[[Value, Value, int, int], None],
) -> None:
    """Loops over the whole panels and steps of k, and over the smaller last ones: `write(panel, step, across, deep)`."""
    (panel_name, size, across), (step_name, k, depth) = panels, deep
    first, last = function.arguments["first"], function.arguments["last"]
    full, rest = divmod(size, across)
    steps, remainder = divmod(k, depth)
    ranges: list[tuple[Value, Value, int]] = []
    if full:
        ranges.append((first, function.op("minui", last, function.constant(full)) if rest else last, across))
    if rest:
        ranges.append((function.op("maxui", first, function.constant(full)) if full else first, last, rest))
    for begin, end, width in ranges:
        for from_step, to_step, height in ((0, steps, depth), (steps, steps + 1, remainder)):
            if from_step == to_step or not height:
                continue
            bounds = (
                (begin, function.constant(from_step)),
                (end, function.constant(to_step)),
                (1, 1),
            )
            with function.every((panel_name, step_name), *bounds) as (panel, step):
                write(panel, step, width, height)


def _woven(function: AmxFunction, source: Value, place: tuple[Value, Value], deep: int, width: int) -> Value:
    """16 words of the elements of `deep` rows, `width` of each: those of one column side by side."""
    plan = function.plan
    v = plan.problem.vnni
    k, column = place
    rows = [_row(function, source, (function.plus(k, e), column), width, TILE) for e in range(deep)]
    zero = 0.0 if rows[0].element == "f16" else 0
    rows += [function.constant(zero, rows[0].element, TILE)] * (v - deep)
    while len(rows) > 1:
        half = len(rows) // 2
        rows = [_interleaved(function, rows[i], rows[i + half]) for i in range(half)]
    return rows[0]


def _row(function: AmxFunction, source: Value, place: tuple[Value, Value], width: int, wanted: int) -> Value:
    """`width` elements of a row of a matrix, and zeros up to the wanted number; bf16 as integers of 16 bits.

    LLVM 24 stops on some shuffles of bf16 (9 of them padded to 16 and woven: "Do not know how to soft promote this operator's
    operand").
    """
    made = Value(function.plan.element, width, "row")
    form = f"vector.load %s[%s, %s] : {source.kind}, {made.kind}"
    function.writer.values(form, (source, *place), (made,))
    if made.element == "bf16":
        made = function.writer.value(f"vector.bitcast %s : {made.kind} to vector<{width}xi16>", (made,), "i16", width)
    if width == wanted:
        return made
    zeros = function.constant(0.0 if made.element == "f16" else 0, made.element, width)
    return _shuffled(function, made, zeros, [min(i, width) for i in range(wanted)])


def _interleaved(function: AmxFunction, left: Value, right: Value) -> Value:
    made = Value(left.element, 2 * (left.size or 1))
    form = f"vector.interleave %s, %s : {left.kind} -> {made.kind}"
    return function.writer.value(form, (left, right), made.element, made.size)


def _shuffled(function: AmxFunction, left: Value, right: Value, places: Sequence[int]) -> Value:
    form = f"vector.shuffle %s, %s [{', '.join(map(str, places))}] : {left.kind}, {right.kind}"
    return function.writer.value(form, (left, right), left.element, len(places))


def _as_words(function: AmxFunction, rows: Sequence[Value]) -> list[Value]:
    """Rows of 64 bytes as words, and zeros up to 16 rows."""
    found = [
        function.writer.value(f"vector.bitcast %s : {row.kind} to vector<{TILE}xi32>", (row,), "i32", TILE)
        for row in rows
    ]
    return found + [function.constant(0, "i32", TILE)] * (TILE - len(found))


def _as_elements(function: AmxFunction, row: Value) -> Value:
    plan = function.plan
    made = Value(plan.element, plan.problem.depth)
    form = f"vector.bitcast %s : {row.kind} to {made.kind}"
    return function.writer.value(form, (row,), made.element, made.size)


def _nothing(function: AmxFunction) -> Value:
    plan = function.plan
    return function.constant(0 if plan.element == "i8" else 0.0, plan.element, plan.problem.depth)


def _store(function: AmxFunction, value: Value, packed: Value, place: Sequence[Value]) -> None:
    """A row of 64 bytes of the packed buffer."""
    if value.element == "i16":
        value = _as_elements(function, value)
    places = (*place, function.constant(0))
    form = f"vector.store %s, %s[{', '.join(['%s'] * len(places))}] : {packed.kind}, {value.kind}"
    function.writer.do(form, (value, packed, *places))
