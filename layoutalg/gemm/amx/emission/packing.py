"""The functions that pack: B always, and A where its tiles cannot be loaded as they lie.

A word of 4 bytes has v elements of one column of B, from v rows. So rows of 16 elements are woven: two into 16 pairs (v = 2),
or four into 16 fours, in two rounds. By hand, the rows 0123 and abcd become 0a1b2c3d.

    %row = vector.load %b[%k, %column] : memref<64x64xbf16>, vector<16xbf16>
    %bits = vector.bitcast %row : vector<16xbf16> to vector<16xi16>
    ..
    %words = vector.interleave %bits, %bits_1 : vector<16xi16> -> vector<32xi16>
    %packed_row = vector.bitcast %words : vector<32xi16> to vector<32xbf16>
    vector.store %packed_row, %packed[%panel, %word, %c0] : memref<4x32x32xbf16>, vector<32xbf16>

In a B that lies transposed the elements of a word are neighbours already: 16x16 words at a time are turned in registers
(`turned`). A is copied, a row of a tile at a time; an A that lies transposed is woven, then turned. What is outside of the
matrix becomes zero. Bytes of B beside an A of bf16 or f16 become A's type as they are loaded: by way of f32, which is exact.

>>> from layoutalg.gemm.amx import plan_amx
>>> text = pack_b_function(plan_amx(64, 64, 64))
>>> [text.count(name) for name in ("vector.load", "vector.interleave", "vector.store")]
[32, 16, 16]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from layoutalg.conversion.lowering.writer import Value
from layoutalg.gemm.amx.emission.writer import ROWS, AmxFunction, rows_argument
from layoutalg.gemm.amx.tiling import TILE
from layoutalg.gemm.emission.elementwise import binary, constant_like, convert
from layoutalg.gemm.product import mlir_type

if TYPE_CHECKING:
    from layoutalg.gemm.amx.plan import AmxGemm

__all__ = ["PACK_A", "PACK_B", "pack_a_function", "pack_b_function", "turned"]

PACK_A, PACK_B = "gemm_pack_a", "gemm_pack_b"


def pack_b_function(plan: AmxGemm) -> str:
    """The function that packs B's panels `first` to before `last`."""
    function = AmxFunction(plan, PACK_B, {"b": "b", "packed": "packed_b", "first": "index", "last": "index"})
    problem, source, packed = plan.problem, function.arguments["b"], function.arguments["packed"]

    def write(panel: Value, step: Value, columns: int, deep: int) -> None:
        column, k = function.times(panel, TILE), function.times(step, problem.depth)
        if problem.trans_b:
            rows = [_row(function, source, (function.plus(column, n), k), deep, problem.depth) for n in range(columns)]
            words = turned(function, _as_words(function, rows))
        else:
            words = _woven(function, source, (k, column), deep, columns)
        first = function.times(step, TILE)
        for word, row in enumerate(words[: -(-deep // problem.vnni)]):
            _store(function, row, packed, (panel, function.plus(first, word)))

    _pieces(function, _panels(function, problem.n), write, down=not problem.trans_b)
    return function.text()


def pack_a_function(plan: AmxGemm) -> str:
    """The function that packs A's panels `first` to before `last`."""
    places = {"first": "index", "last": "index"} | rows_argument(plan)
    function = AmxFunction(plan, PACK_A, {"a": "a", "packed": "packed_a"} | places)
    problem, source, packed = plan.problem, function.arguments["a"], function.arguments["packed"]

    def copy(panel: Value, step: Value, rows: int, deep: int) -> None:
        row, k = function.times(panel, TILE), function.times(step, problem.depth)
        found = [_row(function, source, (function.plus(row, m), k), deep, problem.depth) for m in range(rows)]
        store(panel, step, found)

    def turn(panel: Value, step: Value, rows: int, deep: int) -> None:
        row, k = function.times(panel, TILE), function.times(step, problem.depth)
        words = _as_words(function, _woven(function, source, (k, row), deep, rows))
        store(panel, step, turned(function, words))

    def store(panel: Value, step: Value, rows: Sequence[Value]) -> None:
        """The rows of a tile, and zeros where A has no more."""
        zeros = [function.constant(0, _bits(plan), problem.depth)] * (TILE - len(rows))
        for inside, row in enumerate((*rows, *zeros)):
            _store(function, row, packed, (panel, step, function.constant(inside)))

    def copy_some(panel: Value, step: Value, rows: int, deep: int) -> None:
        """The last panel, where the call says how many rows there are: behind them are zeros."""
        row, k = function.times(panel, TILE), function.times(step, problem.depth)
        zero, tile = function.constant(0), function.constant(rows)
        there = function.op("subi", function.arguments[ROWS], row)
        with function.every(("inside",), (zero,), (there,), (1,)) as (inside,):
            found = _row(function, source, (function.op("addi", row, inside), k), deep, problem.depth)
            _store(function, found, packed, (panel, step, inside))
        with function.every(("inside",), (there,), (tile,), (1,)) as (inside,):
            _store(function, function.constant(0, _bits(plan), problem.depth), packed, (panel, step, inside))

    if problem.dynamic_m:
        first, last = function.arguments["first"], function.arguments["last"]
        full = function.named("full", function.over(function.arguments[ROWS], TILE))
        _pieces(function, [(first, function.op("minui", last, full), TILE)], copy)
        _pieces(function, [(function.op("maxui", first, full), last, TILE)], copy_some)
        return function.text()
    _pieces(function, _panels(function, problem.m), turn if problem.trans_a else copy, down=problem.trans_a)
    return function.text()


def turned(function: AmxFunction, rows: Sequence[Value]) -> list[Value]:
    """The transposed of a square of 16x16 words, whose rows are vectors.

    A place in the square is 8 bits, row and column. Weaving row i with row i + 8 into rows 2i and 2i + 1 moves the highest bit
    of the row behind the lowest of the column: four times, and rows and columns have changed places.
    """
    half = TILE // 2
    lower = [place for i in range(half) for place in (i, TILE + i)]
    upper = [place + half for place in lower]
    for _ in range(4):
        rows = [_shuffled(function, rows[i], rows[i + half], order) for i in range(half) for order in (lower, upper)]
    return list(rows)


def _panels(function: AmxFunction, size: int) -> list[tuple[Value, Value, int]]:
    """The panels `first` to before `last`: the whole ones, and the smaller last one, each with its rows (or columns)."""
    given, full, rest = function.arguments, size // TILE, size % TILE
    panels: list[tuple[Value, Value, int]] = []
    if full:
        end = function.op("minui", given["last"], function.constant(full)) if rest else given["last"]
        panels.append((given["first"], end, TILE))
    if rest:
        begin = function.op("maxui", given["first"], function.constant(full)) if full else given["first"]
        panels.append((begin, given["last"], rest))
    return panels


def _pieces(
    function: AmxFunction,
    panels: Sequence[tuple[Value, Value, int]],
    write: Callable[[Value, Value, int, int], None],
    *,
    down: bool = False,
) -> None:
    """Loops over panels and steps of k: `write(panel, step, across, deep)` for the whole ones and for the smaller last ones.

    k goes by slowest where it is down the rows of memory (`down`), so that a line that two panels share is read once.
    """
    problem = function.plan.problem
    whole, remainder = divmod(problem.k, problem.depth)
    steps = [(0, whole, problem.depth)] * bool(whole) + [(whole, whole + 1, remainder)] * bool(remainder)
    for begin, end, across in panels:
        for first, last, deep in steps:
            axes = [("panel", begin, end), ("step", function.constant(first), function.constant(last))]
            names, begins, ends = zip(*(axes[::-1] if down else axes), strict=True)
            with function.every(names, begins, ends, (1, 1)) as places:
                panel, step = places[::-1] if down else places
                write(panel, step, across, deep)


def _woven(function: AmxFunction, source: Value, place: tuple[Value, Value], deep: int, width: int) -> list[Value]:
    """The words of a step, 16 in a vector, from rows of `width` elements: those of one column side by side."""
    plan = function.plan
    v, (k, column) = plan.problem.vnni, place
    zeros = function.constant(0, _bits(plan), TILE)
    words: list[Value] = []
    for first in range(0, deep, v):
        inside = range(first, min(first + v, deep))
        rows = [_row(function, source, (function.plus(k, e), column), width, TILE) for e in inside]
        rows += [zeros] * (v - len(rows))
        while len(rows) > 1:
            half = len(rows) // 2
            rows = [_interleaved(function, rows[i], rows[i + half]) for i in range(half)]
        words += rows
    return words


def _row(function: AmxFunction, source: Value, place: tuple[Value, Value], width: int, wanted: int) -> Value:
    """`width` elements of a row of a matrix, and zeros up to the wanted number."""
    plan = function.plan
    of_b = source is function.arguments.get("b")
    loaded = Value(mlir_type(plan.problem.b if of_b else plan.problem.a), width, "row")
    function.writer.values(f"vector.load %s[%s, %s] : {source.kind}, {loaded.kind}", (source, *place), (loaded,))
    made = _widened(function, loaded) if loaded.element != plan.element else _as(function, loaded, _bits(plan), width)
    if width == wanted:
        return made
    return _shuffled(function, made, function.constant(0, made.element, width), [min(i, width) for i in range(wanted)])


def _widened(function: AmxFunction, row: Value) -> Value:
    """Bytes as the bits of numbers of A's type. The lower half of the f32 of a byte is zero, so its upper half is the bf16."""
    problem = function.plan.problem
    number = convert(function, "uitofp" if problem.b == "u8" else "sitofp", row, "f32")
    if problem.a == "f16":
        return convert(function, "bitcast", convert(function, "truncf", number, "f16"), "i16")
    bits = convert(function, "bitcast", number, "i32")
    return convert(function, "trunci", binary(function, "shrui", bits, constant_like(function, 16, bits)), "i16")


def _bits(plan: AmxGemm) -> str:
    """The integers as which elements are moved: LLVM 24 cannot shuffle some vectors of bf16, such as 17 of them."""
    return "i8" if plan.problem.vnni == 4 else "i16"


def _as(function: AmxFunction, value: Value, element: str, size: int) -> Value:
    """The same bits as a vector of other elements."""
    if value.element == element:
        return value
    made = Value(element, size)
    return function.writer.value(f"vector.bitcast %s : {value.kind} to {made.kind}", (value,), element, size)


def _interleaved(function: AmxFunction, left: Value, right: Value) -> Value:
    made = Value(left.element, 2 * (left.size or 1))
    form = f"vector.interleave %s, %s : {left.kind} -> {made.kind}"
    return function.writer.value(form, (left, right), made.element, made.size)


def _shuffled(function: AmxFunction, left: Value, right: Value, places: Sequence[int]) -> Value:
    form = f"vector.shuffle %s, %s [{', '.join(map(str, places))}] : {left.kind}, {right.kind}"
    return function.writer.value(form, (left, right), left.element, len(places))


def _as_words(function: AmxFunction, rows: Sequence[Value]) -> list[Value]:
    """Rows of 64 bytes as words, and zeros up to 16 rows."""
    found = [_as(function, row, "i32", TILE) for row in rows]
    return found + [function.constant(0, "i32", TILE)] * (TILE - len(found))


def _store(function: AmxFunction, value: Value, packed: Value, place: Sequence[Value]) -> None:
    """A row of 64 bytes of the packed buffer."""
    plan, places = function.plan, (*place, function.constant(0))
    value = _as(function, value, plan.element, plan.problem.depth)
    form = f"vector.store %s, %s[{', '.join(['%s'] * len(places))}] : {packed.kind}, {value.kind}"
    function.writer.do(form, (value, packed, *places))
