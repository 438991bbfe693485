"""Random kernels of lines, broadcasts, reductions and casts, for workgroups of 1 to 16 subgroups.

`kernel(seed)` is the text of a `gpu.module` in the syntax of LLVM 22; equal seeds give equal texts.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from tests.side.llvm_passes.generated import Shape, Value, block, vector

ELEMENTS = ("f32", "f16", "bf16", "i32", "i8")
FLOATS = ("f32", "f16", "bf16")
LINES: tuple[Shape, ...] = ((16,), (32,), (64,), (128,), (256,), (48,), (8,))
BLOCKS: tuple[Shape, ...] = (
    (8, 16), (16, 16), (16, 32), (32, 32), (64, 64), (128, 64), (32, 128), (1, 64), (64, 1), (4, 16), (16, 64), (256, 32),
    (8, 128),
)  # fmt: skip
BOXES: tuple[Shape, ...] = ((2, 16, 16), (4, 8, 32), (2, 32, 64))


class Writer:
    """One kernel, written an operation at a time."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.subgroups = self.rng.choice((1, 2, 4, 8, 16))
        self.lines: list[str] = []
        self.arguments: list[str] = []
        self.values: list[Value] = []
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def add(self, shape: Shape, element: str, text: str) -> Value:
        value = Value(self.name(), shape, element)
        self.lines.append(f"{value.name} = {text}")
        self.values.append(value)
        return value

    def pick(self, fits: Callable[[Value], bool] = lambda value: True) -> Value | None:
        found = [value for value in self.values if fits(value)]
        return self.rng.choice(found[-5:]) if found else None

    def memory(self, shape: Shape, element: str) -> str:
        name = f"%d{len(self.arguments)}"
        self.arguments.append(f"{name}: {block(shape, element)}")
        return f"{name}[{', '.join(['%c0'] * len(shape))}]"

    def load(self, shape: Shape | None = None, element: str | None = None) -> Value:
        shape = shape or self.rng.choice(LINES + BLOCKS + (BOXES if self.rng.random() < 0.3 else ()))
        element = element or self.rng.choice(ELEMENTS)
        kinds = f"{block(shape, element)} -> {vector(shape, element)}"
        return self.add(shape, element, f"xegpu.load_nd {self.memory(shape, element)} : {kinds}")

    def broadcast(self) -> None:
        value = self.pick(lambda value: value.element in ELEMENTS)
        if value is None:
            return
        choice = self.rng.random()
        if choice < 0.5:
            shape = (self.rng.choice((8, 16, 32, 64)), *value.shape)
        elif choice < 0.8:
            shape = tuple(self.rng.choice((16, 32, 64)) if size == 1 else size for size in value.shape)
        else:
            shape = (self.rng.choice((2, 4)), self.rng.choice((8, 16, 32)), *value.shape)
        if len(shape) <= 3 and (shape != value.shape or self.rng.random() < 0.2):
            made = vector(shape, value.element)
            self.add(shape, value.element, f"vector.broadcast {value.name} : {value.kind} to {made}")

    def cast(self) -> None:
        value = self.pick()
        if value is None:
            return
        shape = value.shape
        shapes: list[Shape] = [(1, *shape), (*shape, 1)]
        for dim, size in enumerate(shape):
            if size == 1 and len(shape) > 1:
                shapes.append((*shape[:dim], *shape[dim + 1 :]))
            if size >= 32:
                shapes.append((*shape[:dim], size // 16, 16, *shape[dim + 1 :]))
        if len(shape) == 2:
            shapes.append((shape[0] * shape[1],))
        made = self.rng.choice(shapes)
        if len(made) <= 3:
            kinds = f"{value.kind} to {vector(made, value.element)}"
            self.add(made, value.element, f"vector.shape_cast {value.name} : {kinds}")

    def reduce(self) -> None:
        value = self.pick(lambda value: value.element in FLOATS and len(value.shape) >= 2)
        if value is None:
            return
        rank = len(value.shape)
        dims = self.rng.choice([[dim] for dim in range(rank)] + ([[0, 1], [1, 2]] if rank == 3 else []))
        shape = tuple(size for dim, size in enumerate(value.shape) if dim not in dims)
        made, start = vector(shape, value.element), self.name()
        self.lines.append(f"{start} = arith.constant dense<0.0> : {made}")
        kind = self.rng.choice(("add", "maximumf"))
        text = f"vector.multi_reduction <{kind}>, {value.name}, {start} {dims} : {value.kind} to {made}"
        self.add(shape, value.element, text)

    def elementwise(self) -> None:
        value = self.pick(lambda value: value.element in FLOATS)
        if value is None:
            return
        other = self.pick(lambda one: (one.shape, one.element) == (value.shape, value.element)) or value
        texts = (f"arith.addf {value.name}, {other.name} : {value.kind}", f"math.exp {value.name} : {value.kind}")
        self.add(value.shape, value.element, self.rng.choice(texts))

    def transpose(self) -> None:
        value = self.pick(lambda value: len(value.shape) >= 2)
        if value is None:
            return
        order = list(range(len(value.shape)))
        self.rng.shuffle(order)
        shape = tuple(value.shape[dim] for dim in order)
        made = vector(shape, value.element)
        self.add(shape, value.element, f"vector.transpose {value.name}, {order} : {value.kind} to {made}")

    def product(self) -> None:
        m, k, n = (
            self.rng.choice((8, 16, 32, 64, 128)),
            self.rng.choice((16, 32, 64)),
            self.rng.choice((16, 32, 64, 128)),
        )
        element = self.rng.choice(("f16", "bf16"))
        a, b = self.load((m, k), element), self.load((k, n), element)
        self.add((m, n), "f32", f"xegpu.dpas {a.name}, {b.name} : {a.kind}, {b.kind} -> {vector((m, n), 'f32')}")

    def constant(self) -> None:
        shape, element = self.rng.choice(LINES + BLOCKS), self.rng.choice(FLOATS)
        self.add(shape, element, f"arith.constant dense<1.0> : {vector(shape, element)}")

    def points(self, size: int) -> str:
        offsets, mask = self.name(), self.name()
        self.lines.append(f"{offsets} = vector.step : vector<{size}xindex>")
        self.lines.append(f"{mask} = arith.constant dense<true> : vector<{size}xi1>")
        return f"%pointer[{offsets}], {mask}"

    def gather(self) -> None:
        size, element = self.rng.choice((16, 32, 64, 128)), self.rng.choice(("f32", "f16"))
        kinds = f"i64, vector<{size}xindex>, vector<{size}xi1> -> {vector((size,), element)}"
        self.add((size,), element, f"xegpu.load {self.points(size)} : {kinds}")

    def prefetch(self) -> None:
        shape, element = self.rng.choice(LINES + BLOCKS), self.rng.choice(ELEMENTS)
        self.lines.append(f"xegpu.prefetch_nd {self.memory(shape, element)} : {block(shape, element)}")

    def layout(self, shape: Shape) -> str:
        if len(shape) > 2:
            return ""
        ones, last = "1, " * (len(shape) - 1), len(shape) - 1
        lanes = f"lane_layout = [{ones}16], lane_data = [{ones}1]"
        tile = f"inst_data = [{'8, ' * last}16]"
        share = [max(1, shape[0] // self.subgroups), *shape[1:]]
        groups = f"sg_layout = {[self.subgroups, *[1] * last]}, sg_data = {share}"
        said = self.rng.choice([lanes, tile, groups, *([f"{tile}, {lanes}"] if last else [])])
        return f" <{{layout = #xegpu.layout<{said}>}}>"

    def store(self, value: Value | None = None) -> None:
        value = value or self.pick(lambda value: value.element in ELEMENTS)
        if value is None or value.element not in ELEMENTS:
            return
        size = value.shape[0]
        if len(value.shape) == 1 and self.rng.random() < 0.4 and size % 16 == 0:
            kinds = f"{value.kind}, i64, vector<{size}xindex>, vector<{size}xi1>"
            places = self.points(size)
            self.lines.append(f"xegpu.store {value.name}, {places} : {kinds}")
            return
        memory = self.memory(value.shape, value.element)
        said = self.layout(value.shape) if self.rng.random() < 0.25 else ""
        kinds = f"{value.kind}, {block(value.shape, value.element)}"
        self.lines.append(f"xegpu.store_nd {value.name}, {memory}{said} : {kinds}")

    def text(self) -> str:
        self.load()
        steps = (
            (self.load, 10), (self.broadcast, 25), (self.cast, 10), (self.reduce, 15), (self.elementwise, 20),
            (self.transpose, 5), (self.product, 6), (self.constant, 6), (self.gather, 6), (self.prefetch, 3), (self.store, 4),
        )  # fmt: skip
        for _ in range(self.rng.randint(1, 6)):
            [step] = self.rng.choices([step for step, _ in steps], [weight for _, weight in steps])
            step()
        for value in tuple(self.values):
            if len(re.findall(re.escape(value.name) + r"\b", "\n".join(self.lines))) < 2:
                self.store(value)
        sizes = f"known_block_size = array<i32: {16 * self.subgroups}, 1, 1>, " if self.rng.random() < 0.9 else ""
        body = "\n".join(f"    {line}" for line in self.lines)
        return f"""gpu.module @m {{
  gpu.func @k({", ".join(["%pointer: i64", *self.arguments])}) kernel
      attributes {{{sizes}intel_reqd_sub_group_size = 16 : i32}} {{
    %c0 = arith.constant 0 : index
{body}
    gpu.return
  }}
}}
"""


def kernel(seed: int) -> str:
    """The text of a random kernel."""
    return Writer(seed).text()
