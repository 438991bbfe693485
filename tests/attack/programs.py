"""Random programs of scalars, loops, calls and blocks, with what each work-item computes, by evaluating in Python.

`program(rng)` nests what has surprised a simulator: loops that run no iteration or as often as each work-item says, parallel
loops that are empty, trees of calls, functions of many blocks, and vectors of which some elements are poison. It is
built as text and as steps at the same time: a step does to a dictionary of Python integers what the line does to a work-item.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

POISON = None
"""The value of an element that no operation gives a value."""
WIDTH = 4
V = f"vector<{WIDTH}xi32>"
Env = dict[str, Any]
Step = Callable[[Env], None]


def wrapped(value: int) -> int:
    """The number as i32 holds it."""
    return (value + 2**31) % 2**32 - 2**31


_BINARY: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: wrapped(a + b),
    "subi": lambda a, b: wrapped(a - b),
    "muli": lambda a, b: wrapped(a * b),
    "xori": lambda a, b: a ^ b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "maxsi": max,
    "minui": lambda a, b: min(a, b, key=lambda one: one % 2**32),
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "slt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "uge": lambda a, b: a % 2**32 >= b % 2**32,
}


@dataclass(frozen=True)
class Made:
    """A program: its text, the kernel's or function's name, and what it stores for the work-item or iteration t."""

    text: str
    is_host: bool
    items: int
    stored: Callable[[int], tuple[int | None, list[int | None]]]


@dataclass
class Builder:
    """What a program is made of so far; `functions` are their names and meanings."""

    rng: random.Random
    numbers: Iterator[int] = field(default_factory=itertools.count)
    functions: dict[str, Callable[[int], int]] = field(default_factory=dict[str, Callable[[int], int]])
    texts: list[str] = field(default_factory=list[str])
    budget: int = 60

    def name(self) -> str:
        return f"%v{next(self.numbers)}"

    # One operation each: its lines, its steps; what it defines is added to the scope.

    def block(self, scope: Scope, depth: int, count: int) -> tuple[list[str], list[Step]]:
        lines: list[str] = []
        steps: list[Step] = []
        for _ in range(count):
            ways = [self.binary, self.binary, self.constant, self.select, self.vector, self.vector]
            if depth > 0 and self.budget > 0:
                ways += [self.loop, self.branch, self.parallel, *([self.call, self.call] if self.functions else [])]
            self.budget -= 1
            line, step = self.rng.choice(ways)(scope, depth - 1)
            lines += line
            steps.append(step)
        return lines, steps

    def constant(self, scope: Scope, _depth: int) -> tuple[list[str], Step]:
        name, value = self.name(), self.rng.choice((0, 1, -1, 5, 2**31 - 1, -(2**31), 12345))
        scope.numbers.append(name)
        return [f"{name} = arith.constant {value} : i32"], lambda env: env.update({name: value})

    def binary(self, scope: Scope, _depth: int) -> tuple[list[str], Step]:
        a, b, name = self.rng.choice(scope.numbers), self.rng.choice(scope.numbers), self.name()
        kind = self.rng.choice(list(_BINARY))
        scope.numbers.append(name)
        work = _BINARY[kind]
        return [f"{name} = arith.{kind} {a}, {b} : i32"], lambda env: env.update({name: work(env[a], env[b])})

    def condition(self, scope: Scope) -> tuple[list[str], str, Step]:
        a, b, name = self.rng.choice(scope.numbers), self.rng.choice(scope.numbers), self.name()
        kind = self.rng.choice(list(_COMPARE))
        work = _COMPARE[kind]
        return (
            [f"{name} = arith.cmpi {kind}, {a}, {b} : i32"],
            name,
            lambda env: env.update({name: work(env[a], env[b])}),
        )

    def select(self, scope: Scope, _depth: int) -> tuple[list[str], Step]:
        lines, chosen, step = self.condition(scope)
        pool, kind = (scope.numbers, "i32") if self.rng.random() < 0.5 else (scope.vectors, V)
        a, b, name = self.rng.choice(pool), self.rng.choice(pool), self.name()
        pool.append(name)

        def run(env: Env) -> None:
            step(env)
            env[name] = env[a] if env[chosen] else env[b]

        return [*lines, f"{name} = arith.select {chosen}, {a}, {b} : {kind}"], run

    def vector(self, scope: Scope, _depth: int) -> tuple[list[str], Step]:
        """An operation on vectors; the elements of -1 in a shuffle are poison."""
        rng, name = self.rng, self.name()
        a, b = rng.choice(scope.vectors), rng.choice(scope.vectors)
        number, at = rng.choice(scope.numbers), rng.randrange(WIDTH)
        way = rng.choice(
            ("shuffle", "shuffle", "add", "insert", "broadcast", "elements", "poison", "slice", "constant")
        )
        line, work = self._vector(way, name, a, b, number, at)
        scope.vectors.append(name)
        return [line], lambda env: env.update({name: work(env)})

    def _vector(self, way: str, name: str, a: str, b: str, number: str, at: int) -> tuple[str, Callable[[Env], Any]]:
        def added(env: Env) -> list[int | None]:
            both = zip(env[a], env[b], strict=True)
            return [POISON if x is POISON or y is POISON else wrapped(x + y) for x, y in both]

        if way == "add":
            return f"{name} = arith.addi {a}, {b} : {V}", added
        if way == "insert":
            text = f"{name} = vector.insert {number}, {a} [{at}] : i32 into {V}"
            return text, lambda env: [*env[a][:at], env[number], *env[a][at + 1 :]]
        if way == "broadcast":
            return f"{name} = vector.broadcast {number} : i32 to {V}", lambda env: [env[number]] * WIDTH
        if way == "elements":
            return (
                f"{name} = vector.from_elements {', '.join([number] * WIDTH)} : {V}",
                lambda env: [env[number]] * WIDTH,
            )
        if way == "poison":
            return f"{name} = ub.poison : {V}", lambda env: [POISON] * WIDTH
        if way == "slice":
            text = f"{name} = vector.shuffle {a}, {a} [{', '.join([str(at)] * WIDTH)}] : {V}, {V}"
            return text, lambda env: [env[a][at]] * WIDTH
        if way == "constant":
            return f"{name} = arith.constant dense<[7, -1, 0, {at}]> : {V}", lambda env: [7, -1, 0, at]
        places = [self.rng.choice((*range(2 * WIDTH), *range(2 * WIDTH), -1)) for _ in range(WIDTH)]
        text = f"{name} = vector.shuffle {a}, {b} [{', '.join(map(str, places))}] : {V}, {V}"
        return text, lambda env: [POISON if one < 0 else (env[a] + env[b])[one] for one in places]

    def bound(self, scope: Scope) -> tuple[list[str], str, Step]:
        """A number of iterations, from -1 to 4; the same for all, or each work-item's own."""
        name = self.name()
        if self.rng.random() < 0.6:
            value = self.rng.choice((0, 0, 1, 2, 3, -1))
            return [f"{name} = arith.constant {value} : index"], name, lambda env: env.update({name: value})
        of, low, three = self.rng.choice(scope.numbers), self.name(), self.name()
        lines = [f"{three} = arith.constant 3 : i32", f"{low} = arith.andi {of}, {three} : i32"]
        lines.append(f"{name} = arith.index_cast {low} : i32 to index")
        return lines, name, lambda env: env.update({name: env[of] & 3})

    def loop(self, scope: Scope, depth: int) -> tuple[list[str], Step]:
        """`scf.for` that carries a number and a vector."""
        first, start, start_step = self.bound(scope)
        second, stop, stop_step = self.bound(scope)
        by = self.rng.choice((1, 1, 2, 2**40))
        step_name, i, n, v, number, vector, cast = (self.name() for _ in range(7))
        inside = Scope([*scope.numbers, n, cast], [*scope.vectors, v])
        begin, begin_vector = self.rng.choice(scope.numbers), self.rng.choice(scope.vectors)
        lines, steps = self.block(inside, depth, self.rng.randint(0, 3))
        last, last_vector = self.rng.choice(inside.numbers), self.rng.choice(inside.vectors)

        def run(env: Env) -> None:
            start_step(env)
            stop_step(env)
            held = env[begin], env[begin_vector]
            for at in range(env[start], env[stop], by):
                env[n], env[v] = held
                env[cast] = wrapped(at)
                for one in steps:
                    one(env)
                held = env[last], env[last_vector]
            env[number], env[vector] = held

        text = [
            *first, *second, f"{step_name} = arith.constant {by} : index",
            f"{number}, {vector} = scf.for {i} = {start} to {stop} step {step_name} "
            f"iter_args({n} = {begin}, {v} = {begin_vector}) -> (i32, {V}) {{",
            f"{cast} = arith.index_cast {i} : index to i32", *lines, f"scf.yield {last}, {last_vector} : i32, {V}", "}",
        ]  # fmt: skip
        scope.numbers.append(number)
        scope.vectors.append(vector)
        return text, run

    def branch(self, scope: Scope, depth: int) -> tuple[list[str], Step]:
        """`scf.if` with results."""
        lines, chosen, decide = self.condition(scope)
        sides: list[tuple[list[str], list[Step], str, str]] = []
        for _ in range(2):
            inside = Scope([*scope.numbers], [*scope.vectors])
            body, steps = self.block(inside, depth, self.rng.randint(0, 3))
            sides.append((body, steps, self.rng.choice(inside.numbers), self.rng.choice(inside.vectors)))
        number, vector = self.name(), self.name()

        def run(env: Env) -> None:
            decide(env)
            _, steps, last, last_vector = sides[0 if env[chosen] else 1]
            for one in steps:
                one(env)
            env[number], env[vector] = env[last], env[last_vector]

        text = [*lines, f"{number}, {vector} = scf.if {chosen} -> (i32, {V}) {{"]
        for which, (body, _, last, last_vector) in enumerate(sides):
            text += [*body, f"scf.yield {last}, {last_vector} : i32, {V}", ("} else {", "}")[which]]
        scope.numbers.append(number)
        scope.vectors.append(vector)
        return text, run

    def parallel(self, scope: Scope, depth: int) -> tuple[list[str], Step]:
        """`scf.parallel` of one or two ranges, some of them empty, with a sum or without."""
        dims = self.rng.choice((1, 1, 2))
        bounds = [(self.bound(scope), self.bound(scope)) for _ in range(dims)]
        step_name, result = self.name(), self.name()
        counters, casts = [self.name() for _ in range(dims)], [self.name() for _ in range(dims)]
        begin = self.rng.choice(scope.numbers)
        inside = Scope([*scope.numbers, *casts], [*scope.vectors])
        lines, steps = self.block(inside, depth, self.rng.randint(0, 2))
        last, sums = self.rng.choice(inside.numbers), self.rng.random() < 0.7
        x, y, z = (self.name() for _ in range(3))

        def run(env: Env) -> None:
            for (_, _, one), (_, _, other) in bounds:
                one(env)
                other(env)
            total = env[begin]
            for place in itertools.product(*(range(env[low[1]], env[high[1]]) for low, high in bounds)):
                env.update(zip(casts, place, strict=True))
                for one in steps:
                    one(env)
                total = wrapped(total + env[last])
            if sums:
                env[result] = total

        low, high = (f"({', '.join(pair[side][1] for pair in bounds)})" for side in (0, 1))
        by = f"({', '.join([step_name] * dims)})"
        text = [line for pair in bounds for one in pair for line in one[0]]
        text.append(f"{step_name} = arith.constant 1 : index")
        head = f"scf.parallel ({', '.join(counters)}) = {low} to {high} step {by}"
        text.append(f"{result} = {head} init ({begin}) -> i32 {{" if sums else f"{head} {{")
        text += [f"{cast} = arith.index_cast {one} : index to i32" for cast, one in zip(casts, counters, strict=True)]
        text += lines
        if sums:
            added = f"{z} = arith.addi {x}, {y} : i32\nscf.reduce.return {z} : i32"
            text.append(f"scf.reduce({last} : i32) {{\n^bb0({x}: i32, {y}: i32):\n{added}\n}}")
            scope.numbers.append(result)
        else:
            text.append("scf.reduce")
        return [*text, "}"], run

    def call(self, scope: Scope, _depth: int) -> tuple[list[str], Step]:
        name, given, called = self.name(), self.rng.choice(scope.numbers), self.rng.choice(list(self.functions))
        work = self.functions[called]
        scope.numbers.append(name)
        return [f"{name} = func.call @{called}({given}) : (i32) -> i32"], lambda env: env.update(
            {name: work(env[given])}
        )

    # Functions

    def function(self) -> None:
        """One more function, of a nest or of many blocks, which may call those before it."""
        name = f"f{len(self.functions)}"
        lines, work = self._blocks() if self.rng.random() < 0.5 else self._nest()
        body = "\n".join(lines)
        self.texts.append(f"func.func private @{name}(%a: i32) -> i32 {{\n{body}\n}}")
        self.functions[name] = work

    def _nest(self) -> tuple[list[str], Callable[[int], int]]:
        scope, v = Scope(["%a"], []), self.name()
        scope.vectors.append(v)
        lines, steps = self.block(scope, 2, self.rng.randint(1, 4))
        last = scope.numbers[-1]

        def work(given: int) -> int:
            env: Env = {"%a": given, v: [0] * WIDTH}
            for one in steps:
                one(env)
            return env[last]

        return [f"{v} = arith.constant dense<0> : {V}", *lines, f"func.return {last} : i32"], work

    def _blocks(self) -> tuple[list[str], Callable[[int], int]]:
        """Blocks that branch to later ones, each with an argument; the last returns."""
        count = self.rng.choice((1, 2, 3, 5, 8, 8, 20, 60))
        lines: list[str] = []
        meaning: list[tuple[str, list[Step], Callable[[Env], tuple[int, str]]]] = []
        arguments = ["%a", *(self.name() for _ in range(count))]
        for at in range(count):
            scope = Scope([arguments[at]], [])
            body = [self.binary(scope, 0) for _ in range(self.rng.randint(0, 2))]
            if at:
                lines.append(f"^b{at}({arguments[at]}: i32):")
            lines += [line for part, _ in body for line in part]
            one, other = (self.rng.randint(at + 1, min(count, at + 4)) for _ in range(2))
            given, else_given = self.rng.choice(scope.numbers), self.rng.choice(scope.numbers)
            steps = [step for _, step in body]
            if self.rng.random() < 0.3:
                lines.append(f"cf.br ^b{one}({given} : i32)")
                meaning.append((arguments[at], steps, lambda env, one=one, given=given: (one, env[given])))
                continue
            text, chosen, decide = self.condition(scope)
            lines += [*text, f"cf.cond_br {chosen}, ^b{one}({given} : i32), ^b{other}({else_given} : i32)"]

            def follow(
                env: Env, chosen: str = chosen, ways: tuple[Any, ...] = ((one, given), (other, else_given))
            ) -> tuple[int, str]:
                to, name = ways[0 if env[chosen] else 1]
                return to, env[name]

            meaning.append((arguments[at], [*steps, decide], follow))
        lines += [f"^b{count}({arguments[count]}: i32):", f"func.return {arguments[count]} : i32"]

        def work(given: Any) -> int:
            at, env = 0, {}
            while at < count:
                name, steps, follow = meaning[at]
                env[name] = given
                for one in steps:
                    one(env)
                at, given = follow(env)
            return given

        return lines, work


@dataclass
class Scope:
    """The names that may be used."""

    numbers: list[str]
    vectors: list[str]


def program(rng: random.Random) -> Made:
    """A kernel on some work-items, or a function of the host with a parallel loop over as many iterations, maybe none."""
    builder = Builder(rng)
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        builder.function()
    is_host = rng.random() < 0.3
    items = rng.choice((0, 1, 7, 32)) if is_host else rng.choice((16, 32))
    scope = Scope(["%x"], ["%v"])
    lines, steps = builder.block(scope, 3, rng.randint(1, 6))
    number, vector = rng.choice(scope.numbers[-4:]), rng.choice(scope.vectors[-4:])

    def stored(t: int) -> tuple[int | None, list[int | None]]:
        env: Env = {"%x": t, "%v": [t, 0, 1, 2]}
        for one in steps:
            one(env)
        return env[number], env[vector]

    body = "\n".join(
        [
            "%x = arith.index_cast %t : index to i32", "%k0 = arith.constant 0 : i32", "%k1 = arith.constant 1 : i32",
            "%k2 = arith.constant 2 : i32", f"%v = vector.from_elements %x, %k0, %k1, %k2 : {V}", *lines,
            "%four = arith.constant 4 : index", "%at = arith.muli %t, %four : index",
            f"memref.store {number}, %c[%t] : memref<32xi32>",
            f"vector.store {vector}, %d[%at] : memref<128xi32>, {V}",
        ]
    )  # fmt: skip
    functions = "\n".join(builder.texts)
    given = "%c: memref<32xi32>, %d: memref<128xi32>"
    if is_host:
        loop = f"%z = arith.constant 0 : index\n%n = arith.constant {items} : index\n%s = arith.constant 1 : index"
        loop += f"\nscf.parallel (%t) = (%z) to (%n) step (%s) {{\n{body}\nscf.reduce\n}}"
        return Made(f"{functions}\nfunc.func @k({given}) {{\n{loop}\nfunc.return\n}}\n", True, items, stored)
    known = f"intel_reqd_sub_group_size = 16 : i32, known_block_size = array<i32: {items}, 1, 1>"
    head = f"gpu.func @k({given}) kernel attributes {{{known}}} {{\n%t = gpu.thread_id x"
    return Made(f"gpu.module @m {{\n{functions}\n{head}\n{body}\ngpu.return\n}}\n}}\n", False, items, stored)
