"""Kernels that read and combine in every way, and what becomes of their lowered text when one line is wrong.

`mutants` knows nothing of what is compared: it changes a number, a name, an operation or the order of operands. Whether that
changes what the kernel computes is found out by brute force, in `differs`.
"""

from __future__ import annotations

import random
import re
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import layoutalg as la
from layoutalg.ir import read_module
from layoutalg.simulate import launch_cases

Array = NDArray[Any]
ROWS = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
HEAD = """gpu.module @m { gpu.func @k(ARGUMENTS) kernel
    attributes {known_block_size = array<i32: 16, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
"""


def kernel(shapes: dict[str, str], *lines: str) -> str:
    """Arguments by name; each is loaded (or stored, if a line says `STORE name value`) as a whole block."""
    body: list[str] = []
    for name, kind in shapes.items():
        body.append(f"%t{name} = xegpu.create_nd_tdesc %{name} : memref<{kind}> -> !xegpu.tensor_desc<{kind}>")
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "LOAD":
            kind = shapes[rest]
            origin = ", ".join("0" for _ in kind.split("x")[:-1])
            layout = f" <{{layout = {ROWS}}}>" if kind.count("x") == 2 else ""
            body.append(
                f"%{rest} = xegpu.load_nd %t{rest}[{origin}]{layout} : !xegpu.tensor_desc<{kind}> -> vector<{kind}>".replace(
                    f"%{rest} =", f"%v{rest} ="
                )
            )
        elif word == "STORE":
            name, value = rest.split()
            kind = shapes[name]
            origin = ", ".join("0" for _ in kind.split("x")[:-1])
            body.append(f"xegpu.store_nd %{value}, %t{name}[{origin}] : vector<{kind}>, !xegpu.tensor_desc<{kind}>")
        else:
            body.append(line)
    arguments = ", ".join(f"%{name}: memref<{kind}>" for name, kind in shapes.items())
    return HEAD.replace("ARGUMENTS", arguments) + "\n".join(body) + "\ngpu.return } }"


def reduction(kind: str, element: str, start: str, dim: int, shape: str = "16x16") -> str:
    size = shape.split("x")[1 - dim]
    return kernel(
        {"p": f"{shape}x{element}", "q": f"{size}x{element}"},
        "LOAD p",
        f"%z = arith.constant dense<{start}> : vector<{size}x{element}>",
        f"%r = vector.multi_reduction <{kind}>, %vp, %z [{dim}] : vector<{shape}x{element}> to vector<{size}x{element}>",
        "STORE q r",
    )


def pairwise(element: str, *lines: str, result: str = "r") -> str:
    kind = f"8x16x{element}"
    return kernel({"p": kind, "q": kind, "o": kind}, "LOAD p", "LOAD q", *lines, f"STORE o {result}")


F, G, B = "vector<8x16xf32>", "vector<8x16xi32>", "vector<8x16xi1>"
KERNELS: dict[str, str] = {
    "column_max": reduction("maximumf", "f32", "-1.0e+30", 0),
    "row_max": reduction("maximumf", "f32", "-1.0e+30", 1),
    "row_min": reduction("minimumf", "f32", "1.0e+30", 1),
    "column_min": reduction("minnumf", "f32", "1.0e+30", 0, "32x16"),
    "column_sum": reduction("add", "f32", "0.0", 0),
    "row_product": reduction("mul", "f32", "1.0", 1),
    "column_and": reduction("and", "i32", "-1", 0),
    "row_or": reduction("or", "i32", "0", 1),
    "column_maxsi": reduction("maxsi", "i32", "-2147483648", 0),
    "row_minui": reduction("minui", "i32", "-1", 1),
    "clamp": pairwise(
        "f32",
        f"%low = arith.constant dense<-1.5> : {F}",
        f"%high = arith.constant dense<6.0> : {F}",
        f"%a = arith.maximumf %vp, %low : {F}",
        f"%b = arith.minimumf %a, %high : {F}",
        f"%r = arith.addf %b, %vq : {F}",
    ),
    "select": pairwise(
        "f32",
        f"%c = arith.cmpf olt, %vp, %vq : {F}",
        f"%r = arith.select %c, %vp, %vq : {B}, {F}",
    ),
    "threshold": pairwise(
        "f32",
        f"%limit = arith.constant dense<100.0> : {F}",
        f"%c = arith.cmpf ogt, %vp, %limit : {F}",
        f"%r = arith.select %c, %vq, %vp : {B}, {F}",
    ),
    "bits": pairwise(
        "i32",
        f"%m = arith.constant dense<255> : {G}",
        f"%a = arith.andi %vp, %m : {G}",
        f"%b = arith.ori %a, %vq : {G}",
        f"%s = arith.constant dense<3> : {G}",
        f"%r = arith.shrsi %b, %s : {G}",
    ),
    "causal": kernel(
        {"p": "16x16xf32", "q": "16x16xf32"},
        "LOAD p",
        "%i = vector.step : vector<16xindex>",
        "%c = vector.broadcast %i : vector<16xindex> to vector<16x16xindex>",
        "%t = vector.transpose %c, [1, 0] : vector<16x16xindex> to vector<16x16xindex>",
        "%m = arith.cmpi ule, %c, %t : vector<16x16xindex>",
        "%z = arith.constant dense<-9.0> : vector<16x16xf32>",
        "%r = arith.select %m, %vp, %z : vector<16x16xi1>, vector<16x16xf32>",
        "STORE q r",
    ),
    "argmax": kernel(
        {"p": "16x16xf32", "q": "16xi32"},
        "LOAD p",
        "%low = arith.constant dense<-1.0e+30> : vector<16xf32>",
        "%top = vector.multi_reduction <maximumf>, %vp, %low [0] : vector<16x16xf32> to vector<16xf32>",
        "%wide = vector.broadcast %top : vector<16xf32> to vector<16x16xf32>",
        "%is = arith.cmpf oeq, %vp, %wide : vector<16x16xf32>",
        "%i = vector.step : vector<16xindex>",
        "%j = arith.index_cast %i : vector<16xindex> to vector<16xi32>",
        "%c = vector.broadcast %j : vector<16xi32> to vector<16x16xi32>",
        "%rows = vector.transpose %c, [1, 0] : vector<16x16xi32> to vector<16x16xi32>",
        "%none = arith.constant dense<99> : vector<16x16xi32>",
        "%at = arith.select %is, %rows, %none : vector<16x16xi1>, vector<16x16xi32>",
        "%far = arith.constant dense<99> : vector<16xi32>",
        "%r = vector.multi_reduction <minsi>, %at, %far [0] : vector<16x16xi32> to vector<16xi32>",
        "STORE q r",
    ),
    "softmax": kernel(
        {"p": "16x16xf32", "q": "16x16xf32"},
        "LOAD p",
        "%low = arith.constant dense<-1.0e+30> : vector<16xf32>",
        "%top = vector.multi_reduction <maximumf>, %vp, %low [0] : vector<16x16xf32> to vector<16xf32>",
        "%wide = vector.broadcast %top : vector<16xf32> to vector<16x16xf32>",
        "%d = arith.subf %vp, %wide : vector<16x16xf32>",
        "%e = math.exp %d : vector<16x16xf32>",
        "%z = arith.constant dense<0.0> : vector<16xf32>",
        "%s = vector.multi_reduction <add>, %e, %z [0] : vector<16x16xf32> to vector<16xf32>",
        "%sums = vector.broadcast %s : vector<16xf32> to vector<16x16xf32>",
        "%r = arith.divf %e, %sums : vector<16x16xf32>",
        "STORE q r",
    ),
    "gather": kernel(
        {"p": "256xf32", "q": "16xf32"},
        "%i = vector.step : vector<16xindex>",
        "%n = arith.constant dense<15> : vector<16xindex>",
        "%at = arith.muli %i, %n : vector<16xindex>",
        "%all = arith.constant dense<true> : vector<16xi1>",
        "%b = memref.extract_aligned_pointer_as_index %p : memref<256xf32> -> index",
        "%w = arith.index_cast %b : index to i64",
        "%r = xegpu.load %w[%at], %all : i64, vector<16xindex>, vector<16xi1> -> vector<16xf32>",
        "STORE q r",
    ),
}  # fmt: skip


@lru_cache(maxsize=64)
def lowered(name: str) -> tuple[str, str]:
    """A kernel with its layouts, and its lowered text."""
    written = la.propagate(KERNELS[name]).module
    return written.source, la.lower(written).module.source


_OTHER = {
    "maximumf": "minimumf", "minimumf": "maximumf", "maxnumf": "minnumf", "minnumf": "maxnumf", "addf": "subf",
    "subf": "addf", "mulf": "addf", "divf": "mulf", "andi": "ori", "ori": "andi", "addi": "subi", "muli": "addi",
    "maxsi": "maxui", "maxui": "maxsi", "minui": "minsi", "minsi": "minui", "shrsi": "shrui", "olt": "ole", "ogt": "oge",
    "oeq": "ole", "ule": "ult", "ult": "ule", "slt": "sle", "eq": "ne", "ne": "eq", "exp": "exp2",
}  # fmt: skip
_RESULT = re.compile(r"^\s*(%[\w$.]+) = ([\w.]+) .* : (.*)$")


def mutants(text: str, count: int, seed: int) -> list[str]:
    """Texts in which one line is another one; not all of them are valid."""
    rng = random.Random(seed)
    lines = text.split("\n")
    results = [(at, found[1], found[3]) for at, line in enumerate(lines) if (found := _RESULT.match(line))]
    made: dict[str, None] = {}
    for _ in range(count * 20):
        if len(made) == count:
            break
        at = rng.randrange(len(lines))
        changed = _changed(lines, at, results, rng)
        if changed is not None and changed != lines[at]:
            made["\n".join([*lines[:at], changed, *lines[at + 1 :]])] = None
    return list(made)


def _changed(lines: list[str], at: int, results: list[tuple[int, str, str]], rng: random.Random) -> str | None:
    line = lines[at]
    if "func" in line or (" = " not in line and "store" not in line):
        return None
    head, _, rest = line.partition(" = ") if " = " in line else ("", "", line)
    join = f"{head} = " if head else ""
    choice = rng.randrange(5)
    if choice == 0:  # another number: an offset, an element, a lane, a constant
        numbers = list(re.finditer(r"(?<=[\[ ,])-?\d+(?=[\], ]|$)", rest.partition(" : ")[0]))
        if not numbers:
            return None
        one = rng.choice(numbers)
        value = int(one[0]) + rng.choice((-1, 1, 1, 2, -2, 4, 8))
        return join + rest[: one.start()] + str(value) + rest[one.end() :]
    if choice == 1:  # another operation or predicate
        words = [word for word in re.findall(r"\w+", rest.partition(" : ")[0]) if word in _OTHER]
        if not words:
            return None
        word = rng.choice(words)
        return join + re.sub(rf"\b{word}\b", _OTHER[word], rest, count=1)
    names = list(re.finditer(r"%[\w$.]+", rest.partition(" : ")[0]))
    if choice == 2 and len(names) > 1:  # the operands in another order
        a, b = rng.sample(names, 2)
        a, b = sorted((a, b), key=lambda one: one.start())
        return join + rest[: a.start()] + b[0] + rest[a.end() : b.start()] + a[0] + rest[b.end() :]
    if choice == 3 and names:  # a value that another operation of the same kind makes
        one = rng.choice(names)
        maker = next((line for line in lines if line.strip().startswith(f"{one[0]} = ")), "")
        kind = maker.rpartition(" : ")[2]
        others = [name for number, name, other in results if number < at and other == kind and name != one[0]]
        return join + rest[: one.start()] + rng.choice(others) + rest[one.end() :] if others else None
    if choice == 4 and len(names) > 1 and head:  # one operand twice: a term is dropped
        a, b = rng.sample(names, 2)
        return join + rest[: a.start()] + b[0] + rest[a.end() :]
    return None


def brute_force(arguments: list[Any], seed: int) -> list[list[Any]]:
    """Every element of every array once far above, once far below all others, and many random draws."""
    rng = np.random.default_rng(seed)
    cases: list[list[Any]] = []
    for number, array in enumerate(arguments[:-1]):
        for at in range(array.size):
            for far in (50, -50):
                case = [_noise(one, rng) for one in arguments]
                case[number].reshape(-1)[at] = far
                cases.append(case)
    for number in range(200):
        case = [_noise(one, rng) for one in arguments]
        if number % 4 == 1:
            case = [np.round(one).astype(one.dtype) for one in case]
        elif number % 4 == 2:
            case = [(one * 37 if one.dtype.kind == "i" else one * 150).astype(one.dtype) for one in case]
        elif number % 4 == 3:
            case = [one if one.dtype.kind == "i" else (np.sign(one) * (1 + one / 50)).astype(one.dtype) for one in case]
        cases.append(case)
    return cases


def _noise(array: Array, rng: np.random.Generator) -> Array:
    if array.dtype.kind == "i":
        return rng.integers(-40, 40, array.shape).astype(array.dtype)
    return (rng.standard_normal(array.shape) * 2).astype(array.dtype)


def outcome(text: str, cases: list[list[Any]]) -> tuple[list[Array], tuple[Any, ...]]:
    """What a kernel leaves in its last argument in every case, and what it does wrong."""
    done = launch_cases(read_module(text), cases)
    return [np.array(case[-1]) for case in done.arguments], done.findings


def differs(one: list[Array], other: list[Array]) -> bool:
    """Whether some case differs by more than rounding."""
    return any(_differs(a, b) for a, b in zip(one, other, strict=True))


def _differs(a: Array, b: Array) -> bool:
    if a.dtype.kind == "i":
        return bool((a != b).any())
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.abs(a[np.isfinite(a)])
    allowed = 3e-4 * (float(finite.max()) if finite.size else 1.0)
    with np.errstate(invalid="ignore"):
        return not bool(((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= allowed)).all())
