"""Random kernels for the propagation: products, elementwise chains, reductions, gathers, loops, branches, anchors of the user.

`kernel(seed, llvm)` is the text of a `gpu.module` in the syntax of that version; equal seeds give equal texts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    """A vector that has been computed."""

    name: str
    shape: Shape
    element: str

    @property
    def kind(self) -> str:
        return vector(self.shape, self.element)


def vector(shape: Sequence[int], element: str) -> str:
    return f"vector<{'x'.join(map(str, shape))}x{element}>"


def block(shape: Sequence[int], element: str) -> str:
    return f"!xegpu.tensor_desc<{'x'.join(map(str, shape))}x{element}>"


FLOATS = ("f32", "f16", "bf16")
BITS = {"f32": 32, "f16": 16, "bf16": 16, "i8": 8, "i32": 32, "tf32": 32}
SHAPES: tuple[Shape, ...] = ((8, 16), (16, 16), (8, 32), (16, 32), (32, 32), (32, 16), (4, 16), (24, 64), (16, 8))
LANES = (
    "lane_layout = [1, 16], lane_data = [1, 1]",
    "lane_layout = [16, 1], lane_data = [1, 1]",
    "lane_layout = [1, 16], lane_data = [2, 1]",
    "lane_layout = [1, 16], lane_data = [1, 2]",
    "lane_layout = [2, 8], lane_data = [1, 1]",
)
TILES = ("inst_data = [8, 16]", "inst_data = [16, 16]", "inst_data = [4, 16]", "inst_data = [8, 32]")


def sizes(text: str) -> list[Shape]:
    """The lists of numbers in a text."""
    return [tuple(map(int, found.split(", "))) for found in re.findall(r"\[([0-9, ]+)\]", text)]


def divides(text: str, shape: Shape) -> bool:
    """Whether lanes and data, or a tile, divide a shape."""
    each = [1] * len(shape)
    for field in sizes(text):
        each = [a * b for a, b in zip(each, field, strict=True)]
    return all(size % part == 0 for size, part in zip(shape, each, strict=True))


def storable(value: Value) -> bool:
    return len(value.shape) == 2 and value.shape[1] % 16 == 0 and value.element in BITS and value.element != "tf32"


class Writer:
    """One kernel, written an operation at a time."""

    def __init__(self, seed: int, llvm: int, workgroup: bool = False) -> None:
        self.rng = random.Random(seed)
        self.llvm = llvm
        self.anchored = self.rng.random() < 0.4
        self.lines: list[str] = []
        self.values: list[Value] = []
        self.count = 0
        self.depth = 0
        self.workgroup = workgroup

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def add(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def make(self, text: str, shape: Shape, element: str) -> Value:
        """Add an operation with one result."""
        value = Value(self.name(), shape, element)
        self.add(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, fits: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """A value that there is, later ones more often."""
        found = [value for value in self.values if fits(value)]
        return self.rng.choice(found[-6:]) if found else None

    def anchor(self, shape: Shape) -> str:
        """A layout that the user writes; of a kind that fits, mostly."""
        if len(shape) == 1:
            return "#xegpu.layout<lane_layout = [16], lane_data = [1]>"
        many = self.chance(0.8)
        fitting = [text for text in LANES[: 3 if many else 5] if divides(text, shape)] or [LANES[0]]
        tiles = [text for text in TILES if divides(text, shape)] or ["inst_data = [1, 16]"]
        lanes, tile = self.rng.choice(fitting), self.rng.choice(tiles)
        said = self.rng.choice((lanes, lanes, tile, f"{tile}, {lanes}" if divides(lanes, sizes(tile)[0]) else lanes))
        return f"#xegpu.layout<{said}>"

    def properties(self, shape: Shape) -> str:
        return f" <{{layout = {self.anchor(shape)}}}>" if self.anchored and self.chance(0.3) else ""

    def result(self, shape: Shape) -> str:
        return f" {{layout_result_0 = {self.anchor(shape)}}}" if self.anchored and self.chance(0.1) else ""

    # Operations.

    def descriptor(self, shape: Shape, element: str) -> str:
        name = self.name()
        kind = block(shape, element)
        self.add(f'%m{name[2:]} = "test.memory"() : () -> memref<256x256x{element}>')
        self.add(f"{name} = xegpu.create_nd_tdesc %m{name[2:]} : memref<256x256x{element}> -> {kind}")
        return name

    def load(self, shape: Shape | None = None, element: str | None = None) -> Value:
        shape = self.rng.choice(SHAPES) if shape is None else shape
        element = self.rng.choice(("f32", "f16", "f32", "bf16", "i8")) if element is None else element
        memory = self.descriptor(shape, element)
        if self.chance(0.15):
            self.add(f"xegpu.prefetch_nd {memory}[%c0, %c0]{self.properties(shape)} : {block(shape, element)}")
        text = f"xegpu.load_nd {memory}[%c0, %c0]{self.properties(shape)} : {block(shape, element)}"
        return self.make(f"{text} -> {vector(shape, element)}", shape, element)

    def constant(self, shape: Shape, element: str) -> Value:
        number = "0.0" if element in FLOATS else "0" if element != "i1" else "true"
        return self.make(
            f"arith.constant{self.result(shape)} dense<{number}> : {vector(shape, element)}", shape, element
        )

    def elementwise(self) -> None:
        a = self.pick()
        if a is None:
            return
        if a.element in ("i1", "tf32"):
            return
        whole = a.element not in FLOATS
        if self.chance(0.35):
            name = "math.absi" if whole else self.rng.choice(("math.exp", "arith.negf", "math.absf"))
            self.make(f"{name} {a.name}{self.result(a.shape)} : {a.kind}", a.shape, a.element)
            return
        b = self.pick(lambda value: value.shape == a.shape and value.element == a.element)
        name = self.rng.choice(("addi", "muli", "xori") if whole else ("addf", "mulf", "maximumf", "subf"))
        if b is None or self.chance(0.15):
            b = self.constant(a.shape, a.element)
        self.make(f"arith.{name} {a.name}, {b.name}{self.result(a.shape)} : {a.kind}", a.shape, a.element)

    def widths(self) -> None:
        a = self.pick(lambda value: value.element in FLOATS)
        if a is None:
            return
        element = self.rng.choice(("f16", "bf16")) if a.element == "f32" else "f32"
        name = "truncf" if a.element == "f32" else "extf"
        self.make(f"arith.{name} {a.name} : {a.kind} to {vector(a.shape, element)}", a.shape, element)

    def product(self) -> None:
        element = self.rng.choice(("f16", "bf16", "f16", "i8", "tf32"))
        depth = {"f16": 16, "bf16": 16, "i8": 32, "tf32": 8}[element] * self.rng.choice((1, 1, 2))
        m, n = self.rng.choice((8, 16, 32, 4, 12)), self.rng.choice((16, 16, 32))
        out = "i32" if element == "i8" else "f32" if self.chance(0.8) or element == "tf32" else element
        a = self.pick(lambda value: value.element == element and value.shape == (m, depth))
        a = self.load((m, depth), element) if a is None else a
        b = self.pick(lambda value: value.element == element and value.shape == (depth, n) and self.chance(0.5))
        b = self.load((depth, n), element) if b is None else b
        operands = [a, b]
        if self.chance(0.75):
            acc = self.pick(lambda value: value.element == out and value.shape == (m, n))
            operands.append(self.constant((m, n), out) if acc is None else acc)
        names = ", ".join(value.name for value in operands)
        kinds = ", ".join(value.kind for value in operands)
        said = ""
        if self.anchored and self.chance(0.15):
            texts = (f"layout_{which} = #xegpu.layout<{LANES[0]}>" for which in ("a", "b", "cd"))
            said = f"{{{', '.join(texts)}}}"
            said = f" <{said}>" if self.llvm == 24 else f" {said}"
        self.make(f"xegpu.dpas {names}{said} : {kinds} -> {vector((m, n), out)}", (m, n), out)

    def transpose(self) -> None:
        a = self.pick(lambda value: len(value.shape) == 2 and value.element != "i1")
        if a is None:
            return
        shape = a.shape[::-1]
        self.make(
            f"vector.transpose {a.name}, [1, 0]{self.result(shape)} : {a.kind} to {vector(shape, a.element)}",
            shape,
            a.element,
        )

    def reduce(self) -> None:
        a = self.pick(lambda value: len(value.shape) == 2 and value.element == "f32")
        if a is None:
            return
        dim = self.rng.choice((0, 1))
        shape = (a.shape[1 - dim],)
        start = self.constant(shape, "f32")
        kind = self.rng.choice(("add", "maximumf"))
        sums = self.make(
            f"vector.multi_reduction <{kind}>, {a.name}, {start.name}{self.result(shape)} [{dim}] : "
            f"{a.kind} to {start.kind}",
            shape,
            "f32",
        )
        if self.chance(0.7):
            self.repeat(sums, a.shape, dim)

    def repeat(self, sums: Value, shape: Shape, dim: int) -> None:
        """Rows or columns again."""
        if dim == 0 and self.chance(0.5):
            self.make(f"vector.broadcast {sums.name} : {sums.kind} to {vector(shape, 'f32')}", shape, "f32")
            return
        thin = (1, shape[1]) if dim == 0 else (shape[0], 1)
        line = self.make(f"vector.shape_cast {sums.name} : {sums.kind} to {vector(thin, 'f32')}", thin, "f32")
        self.make(f"vector.broadcast {line.name} : {line.kind} to {vector(shape, 'f32')}", shape, "f32")

    def splat(self) -> None:
        shape = self.rng.choice(SHAPES)
        self.make(f"vector.broadcast %one : f32 to {vector(shape, 'f32')}", shape, "f32")

    def bitcast(self) -> None:
        a = self.pick(lambda value: len(value.shape) == 2 and value.element in BITS and value.element != "tf32")
        if a is None:
            return
        element = self.rng.choice([each for each in ("f32", "f16", "i8", "i32") if each != a.element])
        last = a.shape[-1] * BITS[a.element] // BITS[element]
        if last < 16 or last > 64:
            return
        shape = (a.shape[0], last)
        self.make(f"vector.bitcast {a.name} : {a.kind} to {vector(shape, element)}", shape, element)

    def convert(self) -> None:
        a = self.pick(lambda value: len(value.shape) == 2 and value.element != "i1")
        if a is None:
            return
        texts = f"input_layout = {self.anchor(a.shape)}, target_layout = {self.anchor(a.shape)}"
        self.make(f"xegpu.convert_layout {a.name} <{{{texts}}}> : {a.kind}", a.shape, a.element)

    def points(self, size: int) -> tuple[Value, Value]:
        offsets = self.make(f"vector.step : vector<{size}xindex>", (size,), "index")
        self.values.pop()
        if self.chance(0.5):
            by = self.name()
            self.add(f"{by} = arith.constant dense<2> : vector<{size}xindex>")
            far = self.name()
            self.add(f"{far} = arith.muli {offsets.name}, {by} : vector<{size}xindex>")
            offsets = Value(far, (size,), "index")
        mask = self.constant((size,), "i1")
        self.values.pop()
        return offsets, mask

    def gather(self) -> None:
        size = self.rng.choice((16, 16, 32))
        element = self.rng.choice(("f32", "f16"))
        offsets, mask = self.points(size)
        chunk = self.rng.choice((1, 2, 4, 8)) if self.llvm < 24 else 1
        shape = (size,) if chunk == 1 else (size, chunk)
        said = f" <{{chunk_size = {chunk} : i64}}>" if chunk > 1 else self.properties((size,))
        operands = f"i64, vector<{size}xindex>, vector<{size}xi1>"
        self.make(
            f"xegpu.load %pointer[{offsets.name}], {mask.name}{said} : {operands} -> {vector(shape, element)}",
            shape,
            element,
        )
        if self.chance(0.5):
            self.scatter(self.values[-1])

    def scatter(self, value: Value) -> None:
        size = value.shape[0]
        offsets, mask = self.points(size)
        said = f" <{{chunk_size = {value.shape[1]} : i64}}>" if len(value.shape) > 1 else ""
        self.add(
            f"xegpu.store {value.name}, %pointer[{offsets.name}], {mask.name}{said} : {value.kind}, i64, "
            f"vector<{size}xindex>, vector<{size}xi1>"
        )

    def store(self, value: Value) -> None:
        if len(value.shape) == 1:
            if value.shape[0] % 16 == 0 and value.element in BITS:
                self.scatter(value)
            return
        if not storable(value):
            if value.element in FLOATS and value.shape[0] % 16 == 0:
                text = f"vector.transpose {value.name}, [1, 0] : {value.kind} to {vector(value.shape[::-1], value.element)}"
                self.store(self.make(text, value.shape[::-1], value.element))
            return
        memory = self.descriptor(value.shape, value.element)
        kind = block(value.shape, value.element)
        self.add(
            f"xegpu.store_nd {value.name}, {memory}[%c0, %c0]{self.properties(value.shape)} : {value.kind}, {kind}"
        )

    def loop(self) -> None:
        found = (self.pick(lambda v: v.element in FLOATS and storable(v)) for _ in range(2))
        first = [value for value in found if value is not None]
        carried = first[: self.rng.choice((1, 1, 2))]
        if not carried or self.depth > 1:
            return
        bounds = "%c0 to %c64 step %c16" if self.chance(0.6) else "%c0 to %n step %c16"
        names = [self.name() for _ in carried]
        results = self.name()
        texts = ", ".join(f"{name} = {value.name}" for name, value in zip(names, carried, strict=True))
        kinds = ", ".join(value.kind for value in carried)
        many = f":{len(carried)}" if len(carried) > 1 else ""
        self.add(f"{results}{many} = scf.for %i{results[2:]} = {bounds} iter_args({texts}) -> ({kinds}) {{")
        before = list(self.values)
        arguments = [Value(name, value.shape, value.element) for name, value in zip(names, carried, strict=True)]
        self.values += arguments
        self.depth += 1
        for _ in range(self.rng.randint(1, 3)):
            self.step()
        ends: list[Value] = []
        for argument in arguments:
            found = self.pick(lambda v, a=argument: v.shape == a.shape and v.element == a.element and v not in before)
            found = argument if found is None else found
            if found in arguments or self.chance(0.5):
                found = self.make(f"arith.addf {argument.name}, {found.name} : {argument.kind}", argument.shape,
                                  argument.element)  # fmt: skip
            ends.append(found)
        last = f"scf.yield {', '.join(end.name for end in ends)} : {kinds}"
        self.store_unused(len(before) + len(arguments), last)
        self.add(last)
        self.depth -= 1
        self.add("}")
        self.values = before
        for number, value in enumerate(carried):
            name = f"{results}#{number}" if many else results
            self.values.append(Value(name, value.shape, value.element))

    def branch(self) -> None:
        if self.depth > 1:
            return
        like = self.pick(lambda value: value.element in FLOATS and storable(value))
        if like is None:
            return
        result = self.name()
        self.add(f"{result} = scf.if %flag -> ({like.kind}) {{")
        before = list(self.values)
        for last in (False, True):
            self.depth += 1
            for _ in range(self.rng.randint(0, 2)):
                self.step()
            found = self.pick(lambda value: value.shape == like.shape and value.element == like.element)
            found = like if found is None else found
            if self.chance(0.5) or found in before:
                found = self.make(f"arith.mulf {found.name}, {found.name} : {like.kind}", like.shape, like.element)
            end = f"scf.yield {found.name} : {like.kind}"
            self.store_unused(len(before), end)
            self.add(end)
            self.depth -= 1
            self.add("}" if last else "} else {")
            self.values = list(before)
        self.values.append(Value(result, like.shape, like.element))

    def store_unused(self, since: int, end: str) -> None:
        """Store the values that nobody has used, of those made since; `end` is the line that will follow."""
        body = "\n".join([*self.lines, end])
        for value in tuple(self.values[since:]):
            if len(re.findall(rf"{value.name}\b", body)) < 2 and value.element in BITS and self.chance(0.95):
                self.store(value)

    def step(self) -> None:
        """One more thing."""
        steps = (
            (self.elementwise, 30), (self.widths, 8), (self.product, 15), (self.transpose, 7), (self.reduce, 10),
            (self.splat, 3), (self.bitcast, 6), (self.gather, 8), (self.loop, 9), (self.branch, 5),
            (lambda: self.load() and None, 10), (self.convert, 2 if self.anchored else 0),
        )  # fmt: skip
        [chosen] = self.rng.choices([step for step, _ in steps], [weight for _, weight in steps])
        chosen()

    def text(self) -> str:
        self.depth = 2
        self.load()
        self.load()
        self.depth = 0
        for _ in range(self.rng.randint(2, 9)):
            self.step()
        body = "\n".join(self.lines)
        for value in tuple(self.values):
            unused = len(re.findall(rf"{value.name}\b", body)) < 2
            if value.element in BITS and self.chance(0.98 if unused else 0.08):
                self.store(value)
        items = "known_block_size = array<i32: 64, 1, 1>, intel_reqd_sub_group_size = 16 : i32"
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"""gpu.module @m {{
  gpu.func @k(%pointer: i64, %n: index, %flag: i1, %one: f32) kernel attributes {{{items}}} {{
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
{body}
    gpu.return
  }}
}}
"""


def kernel(seed: int, llvm: int) -> str:
    """The text of a random kernel."""
    text = Writer(seed, llvm).text()
    lines: list[str] = []
    arguments: list[str] = []
    for line in text.splitlines():
        if '"test.memory"' in line:
            name, _, rest = line.strip().partition(" = ")
            arguments.append(f"{name}: {rest.rpartition('-> ')[2]}")
        else:
            lines.append(line)
    return "\n".join(lines).replace("%one: f32)", ", ".join(["%one: f32", *arguments]) + ")") + "\n"
