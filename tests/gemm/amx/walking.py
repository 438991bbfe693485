"""A reader of its own for the emitted module: it walks through the functions with tiles with numbers for places.

It knows the operations on places, loops, calls and tiles, and follows which part of the product each tile is. It shares no
code with the library: the text is cut by regular expressions, and tile shapes are taken from the types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

TILE_TYPE = re.compile(r"!(?:x86\.)?amx\.tile<(\d+)x(\d+)x(\w+)>")
_BYTES = {"f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i8": 1}
_FUNCTION = re.compile(r"^  func\.func (private )?@(\w+)\((.*)\) \{$")
_RESULTS = re.compile(r"%[\w, %]+ = ")
_NAME = re.compile(r"%\w+")
_PLACES: dict[str, Callable[[int, int], int]] = {
    "addi": lambda x, y: x + y,
    "subi": lambda x, y: x - y,
    "muli": lambda x, y: x * y,
    "divui": lambda x, y: x // y,
    "minui": min,
    "maxui": max,
}


@dataclass
class Line:
    """An operation: results, name, operands in the order of the text, the text, and what stands in its region."""

    results: list[str]
    name: str
    operands: list[str]
    text: str
    body: list[Line] = field(default_factory=list["Line"])

    @property
    def tile(self) -> tuple[int, int, str] | None:
        """The last tile type that the line names."""
        found = TILE_TYPE.findall(self.text)
        return (int(found[-1][0]), int(found[-1][1]), found[-1][2]) if found else None

    def lines(self) -> Iterator[Line]:
        """The line and all in its region."""
        yield self
        for line in self.body:
            yield from line.lines()


@dataclass
class Function:
    """A function: the names and types of its arguments, and its body."""

    arguments: dict[str, str]
    body: list[Line]
    private: bool

    def lines(self) -> Iterator[Line]:
        """All lines."""
        for line in self.body:
            yield from line.lines()

    @property
    def has_tiles(self) -> bool:
        """Whether an operation on tiles is in it."""
        return any(".tile_" in line.name for line in self.lines())


def functions(text: str) -> dict[str, Function]:
    """The functions of a module by name."""
    found: dict[str, Function] = {}
    stack: list[list[Line]] = []
    for raw in text.splitlines():
        if head := _FUNCTION.match(raw):
            arguments = dict(part.split(": ", 1) for part in re.split(r", (?=%)", head[3]))
            found[head[2]] = Function(arguments, [], head[1] is not None)
            stack = [found[head[2]].body]
            continue
        line = raw.strip()
        if not stack or not line:
            continue
        if line == "}":
            stack.pop()
            continue
        results, _, rest = line.partition(" = ") if _RESULTS.match(line) else ("", "", line)
        name = rest.split(" ")[0].split("(")[0]
        made = Line(_NAME.findall(results), name, _NAME.findall(rest), rest)
        stack[-1].append(made)
        if line.endswith("{"):
            stack.append(made.body)
    return found


def most_registers(function: Function) -> int:
    """The tile registers that a function needs, where each register has one shape: for every shape the most tiles that live at
    once, added up.

    A product's result takes the place of its accumulator; a loop's results and arguments that of what it begins with.
    """
    return sum(count for count in _most_by_shape(function).values())


def most_live(function: Function) -> int:
    """The most tiles that live at once, of any shape."""
    return max(sum(live.values()) for live in _live(function))


def _most_by_shape(function: Function) -> dict[str, int]:
    found: dict[str, int] = {}
    for live in _live(function):
        for shape, count in live.items():
            found[shape] = max(found.get(shape, 0), count)
    return found


def _live(function: Function) -> Iterator[dict[str, int]]:
    """The tiles that live before each operation, and behind it, counted by shape."""
    shapes: dict[str, str] = {}
    order: list[tuple[list[str], list[str]]] = []  # what each step uses, what it makes

    def walk(lines: list[Line]) -> None:
        for line in lines:
            kind = TILE_TYPE.search(line.text.rpartition(" : ")[2].rpartition(", ")[2])
            if line.name == "scf.for" and line.results:
                pairs = re.findall(r"(%\w+) = (%\w+)", line.text.partition("iter_args(")[2])
                types = [match.group() for match in TILE_TYPE.finditer(line.text)]
                for (inside, _), result, kind_of in zip(pairs, line.results, types, strict=True):
                    shapes[inside] = shapes[result] = kind_of
                order.append(([before for _, before in pairs], [inside for inside, _ in pairs]))
                outside = len(order)
                walk(line.body)
                # Nothing of before the loop is used in it, so no tile lives across it that isn't carried.
                made = {name for _, results in order[outside - 1 :] for name in results}
                used = {name for uses, _ in order[outside:] for name in uses}
                assert used <= made, "a tile from outside of the loop"
                order.append(([], line.results))
                continue
            if line.results and kind is not None:
                shapes[line.results[0]] = kind.group()
            order.append(
                ([name for name in line.operands if name in shapes], [name for name in line.results if name in shapes])
            )
            walk(line.body)

    walk(function.body)
    last = {name: i for i, (uses, _) in enumerate(order) for name in uses}
    live: set[str] = set()
    for i, (_, made) in enumerate(order):
        yield _counted(live, shapes)
        live = {name for name in live if last.get(name, -1) > i} | set(made)
        yield _counted(live, shapes)


def _counted(live: set[str], shapes: dict[str, str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in live:
        found[shapes[name]] = found.get(shapes[name], 0) + 1
    return found


@dataclass
class _Tile:
    """A tile while the text is walked: what it was loaded from, where, and (a sum) which products are in it."""

    rows: int
    columns: int
    source: str = ""
    place: tuple[int, ...] = ()
    products: list[tuple[int, int, int, int]] = field(
        default_factory=list[tuple[int, int, int, int]]
    )  # row and column of C, first k, depth


class Walk:
    """Executes `@gemm_block` for every cache block, with places only.

    `depth_of[i, j]` is how much of k was multiplied into element (i, j) of C, `stored[i, j]` how often it was stored in each
    part of k; both say nothing about numbers.
    """

    def __init__(self, text: str, m: int, n: int, v: int) -> None:
        self.functions = functions(text)
        self.v = v
        self.depth_of = np.zeros((m, n), np.int64)
        self.stored = np.zeros((m, n), np.int64)
        self.parts: list[tuple[str, int, int]] = []

    def block(self, i: int, j: int) -> None:
        """Compute the cache block (i, j)."""
        function = self.functions["gemm_block"]
        values: dict[str, object] = {name: name for name in function.arguments}
        self._run(function.body, values | {"%i": i, "%j": j})

    def _run(self, lines: list[Line], values: dict[str, object]) -> list[object]:
        for line in lines:
            done = self._line(line, values)
            if done is not None:
                return done
        return []

    def _line(self, line: Line, values: dict[str, object]) -> list[object] | None:
        name = line.name
        given = [values.get(operand) for operand in line.operands]
        if name == "arith.constant":
            values[line.results[0]] = int(line.text.split()[1])
        elif name.startswith("arith."):
            left, right = given
            assert isinstance(left, int)
            assert isinstance(right, int)
            made = _PLACES[name.removeprefix("arith.")](left, right)
            assert made >= 0
            values[line.results[0]] = made
        elif name == "scf.parallel":
            count = len(given) // 4
            ranges = [range(*given[axis + count :: count]) for axis in range(count)]  # pyright: ignore
            for place in np.ndindex(*(len(axis) for axis in ranges)):
                inside: dict[str, object] = {line.operands[a]: ranges[a][place[a]] for a in range(count)}
                self._run(line.body, {**values, **inside})
        elif name == "scf.for":
            self._loop(line, values, given)
        elif name == "scf.yield":
            return given
        elif name == "func.call":
            self._call(line, given)
        elif ".tile_" in name:
            self._tile(line, values, given)
        else:
            assert name in ("scf.reduce", "func.return"), line.text
        return None

    def _loop(self, line: Line, values: dict[str, object], given: list[object]) -> None:
        pairs: list[tuple[str, str]] = re.findall(r"(%\w+) = (%\w+)", line.text.partition("iter_args(")[2])
        carried = [values[before] for _, before in pairs]
        for k in range(*given[1:4]):  # pyright: ignore
            inside = dict(zip([name for name, _ in pairs], carried, strict=True))
            carried = self._run(line.body, {**values, line.operands[0]: k, **inside})
        values.update(zip(line.results, carried, strict=True))

    def _call(self, line: Line, given: list[object]) -> None:
        name = line.text.split("@")[1].split("(")[0]
        if name == "gemm_finish":
            return
        function = self.functions[name]
        values = dict(zip(function.arguments, given, strict=True))
        k0, k1 = values["%k0"], values["%k1"]
        assert isinstance(k0, int)
        assert isinstance(k1, int)
        self.parts.append((name, k0, k1))
        corner = (0, 0) if values["%out"] == "%c" else (values["%row"], values["%col"])
        self._run(function.body, {**values, "corner": corner})

    def _tile(self, line: Line, values: dict[str, object], given: list[object]) -> None:
        kind = line.name.rpartition(".tile_")[2]
        if kind == "store":
            source, row, column, tile = given
            down, across = values["corner"]  # pyright: ignore
            assert isinstance(tile, _Tile)
            assert source in ("%c", "%scratch")
            assert not tile.source or (tile.source, tile.place) == (source, (row, column)), "sums of another place"
            place = (row + down, column + across)  # pyright: ignore
            here = (slice(place[0], place[0] + tile.rows), slice(place[1], place[1] + tile.columns))  # pyright: ignore
            assert self.stored[here].shape == (tile.rows, tile.columns), "a tile outside of C"
            self.stored[here] += 1
            for row, column, _, depth in tile.products:
                assert (row, column) == place, "a product for another place of C"
                self.depth_of[here] += depth
            return
        assert line.tile is not None
        rows, columns, element = line.tile
        columns = columns * _BYTES[element] // 4
        if kind == "zero":
            values[line.results[0]] = _Tile(rows, columns)
        elif kind == "load":
            values[line.results[0]] = _Tile(rows, columns, str(given[0]), tuple(given[1:]))  # pyright: ignore
        else:
            left, right, total = given
            assert isinstance(left, _Tile)
            assert isinstance(right, _Tile)
            assert isinstance(total, _Tile)
            values[line.results[0]] = self._multiplied(left, right, total)

    def _multiplied(self, left: _Tile, right: _Tile, total: _Tile) -> _Tile:
        """The sum with one product more: the places of both tiles say of which rows, columns and part of k."""
        assert (left.rows, right.columns) == (total.rows, total.columns)
        assert left.columns == right.rows
        assert right.source == "%packed_b"
        if left.source == "%packed_a":
            panel, step, *inside = left.place
            row, k = 16 * panel, step * 16 * self.v
            assert inside == [0, 0]
        else:
            assert left.source == "%a"
            row, k = left.place
        column, word, first = right.place
        assert (first, word * self.v) == (0, k), "tiles of A and B from different places of k"
        done = (row, 16 * column, k, left.columns * self.v)
        return _Tile(total.rows, total.columns, total.source, total.place, [*total.products, done])
