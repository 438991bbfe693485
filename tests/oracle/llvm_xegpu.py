"""Asking mlir-opt 22, 23 and 24 about XeGPU layouts: many questions in one process.

Each question is a module of its own in one `--split-input-file` input. A verdict is the first error that LLVM reports on
the module's lines. Coordinates are read off what `--xegpu-wg-to-sg-distribute` (or `--xegpu-subgroup-distribute`) makes
of an operation with offsets: a few `arith` operations on the id, which are evaluated here for all ids at once.

LLVM 22 is asked about a layout on a `tensor_desc`, and about a slice on `convert_layout`; LLVM 23 and 24 on
`convert_layout`, and on a `tensor_desc` where the ranks differ, which crashes them otherwise. Where a compiler crashes all
the same, the questions are halved until the one that does it stands alone.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from math import prod

import numpy as np

from layoutalg.xegpu import LayoutAttr, SliceAttr
from tests.oracle.toolchains import require, require_new, run

SEPARATOR = "// -----\n"
VERSIONS = (22, 23, 24)


@dataclass(frozen=True)
class Question:
    attr: LayoutAttr | SliceAttr
    shape: tuple[int, ...]

    def module(self, name: str, llvm: int) -> str:
        """A module in which LLVM verifies the attribute for the shape, and distributes it where it can."""
        size = "x".join(map(str, self.shape))
        vector, memory = f"vector<{size}xf32>", f"!xegpu.mem_desc<{size}xf32>"
        zeros = ", ".join(["0"] * len(self.shape))
        load = f"%w = xegpu.load_matrix %m[{zeros}] <{{layout = {self.attr}}}> : {memory} -> {vector}"
        convert = (
            f"%v = xegpu.convert_layout %a <{{input_layout = {self.attr}, target_layout = {self.attr}}}> : {vector}"
        )
        if llvm > 22 and len(self.shape) != self.attr.rank:
            arguments, body = f"%t: !xegpu.tensor_desc<{size}xf32, {self.attr}>", ""
        elif llvm > 22:
            arguments, body = f"%a: {vector}, %m: {memory}", f"{convert}\n{load}"
        elif isinstance(self.attr, LayoutAttr):
            tdesc = f"!xegpu.tensor_desc<{size}xf32, {self.attr}>"
            body = f"%d = xegpu.create_nd_tdesc %p[{zeros.replace('0', '%c0')}] : memref<{size}xf32> -> {tdesc}"
            arguments = f"%p: memref<{size}xf32>"
        else:
            arguments, body = f"%a: {vector}", convert
            if len(self.shape) == 1:
                body += f"\n%s = vector.step {{layout_result_0 = {self.attr}}} : vector<{size}xindex>"
            elif len(self.shape) == 2:
                arguments += f", %m: {memory}"
                body += f"\n{load}"
        lines = (f"gpu.module @{name} {{", f"gpu.func @f({arguments}) {{", "%c0 = arith.constant 0 : index", body)
        return "\n".join((*lines, "gpu.return", "}", "}", ""))


@dataclass(frozen=True)
class Answer:
    diagnostic: str | None
    blocks: dict[int, list[tuple[int, ...]]] | None
    crashed: bool = False


def mlir_opt(llvm: int) -> str:
    """The path of one version, or a skip."""
    return require("mlir-opt-22") if llvm == 22 else require_new(f"mlir-opt-{llvm}")


def ask(questions: list[Question], llvm: int = 22) -> list[Answer]:
    """LLVM's verdict for each question, and its coordinates wherever it distributes."""
    modules = [question.module(f"q{i}", llvm) for i, question in enumerate(questions)]
    # The verdict is the verifier's. What the pass says later is of what it made: it found no data size, a block larger than
    # the tensor, or one round of several that the lanes cannot share.
    verified = _mlir_opt(modules, llvm)
    done = _mlir_opt(modules, llvm, "--xegpu-wg-to-sg-distribute")
    if verified is None or done is None:
        if len(questions) == 1:
            return [Answer(None, None, crashed=True)]
        half = len(questions) // 2
        return ask(questions[:half], llvm) + ask(questions[half:], llvm)
    diagnostics, late = _errors(modules, verified[1]), _errors(modules, done[1])
    results = {int(n): body for n, body in re.findall(r"gpu\.module @q(\d+) \{(.*?)\n  \}\n", done[0], re.DOTALL)}
    answers = []
    for i, question in enumerate(questions):
        if i in diagnostics or i in late:
            answers.append(Answer(diagnostics.get(i), None))
        else:
            answers.append(Answer(None, coordinates(results[i], question)))
    return answers


def _mlir_opt(modules: list[str], llvm: int, *passes: str) -> tuple[str, str] | None:
    """What a version prints for the modules, and its errors; None where it crashes."""
    done = run([mlir_opt(llvm), "--split-input-file", *passes, "-"], SEPARATOR.join(modules))
    crashed = done.returncode < 0 or done.returncode > 128 or "PLEASE submit a bug report" in done.stderr
    return None if crashed else (done.stdout, done.stderr)


def _errors(modules: list[str], said: str) -> dict[int, str]:
    """The first error on each module's lines."""
    first = np.cumsum([0] + [m.count("\n") + 1 for m in modules])
    found: dict[int, str] = {}
    for line, message in re.findall(r"^<stdin>:(\d+):\d+: error: (.*)$", said, re.MULTILINE):
        found.setdefault(int(np.searchsorted(first, int(line) - 1, "right")) - 1, message)
    return found


def coordinates(body: str, question: Question) -> dict[int, list[tuple[int, ...]]] | None:
    """The block origins in a distributed body, for every id."""
    attr = question.attr
    while isinstance(attr, SliceAttr):
        attr = attr.parent
    ids = attr.sg_layout if "gpu.subgroup_id" in body else attr.lane_layout if "gpu.lane_id" in body else None
    if ids is None:
        return None
    everyone = np.arange(prod(ids))
    values: dict[str, np.ndarray] = {}
    places: list[list[np.ndarray]] = []
    operations = {"addi": np.add, "muli": np.multiply, "remui": np.remainder, "divui": np.floor_divide}

    def value(text: str) -> np.ndarray:
        return values[text] if text.startswith("%") else np.full_like(everyone, int(text))

    for line in body.splitlines():
        line = line.strip()
        if found := re.match(r"(%\w+) = arith\.constant (-?\d+) : index", line):
            values[found[1]] = np.full_like(everyone, int(found[2]))
        elif found := re.match(r"(%\w+) = gpu\.(?:subgroup_id|lane_id)", line):
            values[found[1]] = everyone
        elif found := re.match(r"(%\w+) = arith\.(\w+) (%\w+), (%\w+) : index", line):
            values[found[1]] = operations[found[2]](values[found[3]], values[found[4]])
        elif found := re.search(r"xegpu\.(?:create_nd_tdesc|load_matrix) %\w+\[(.*?)\]", line):
            places.append([value(v.strip()) for v in found[1].split(",")])
        elif found := re.match(r"%\w+ = vector\.broadcast (%\w+) .*: index", line):
            places.append([values[found[1]]])
    return {int(one): [tuple(int(axis[one]) for axis in place) for place in places] for one in everyone}


def random_question(rng: random.Random, lanes: bool = False) -> Question:
    """A layout or slice of rank 1 to 3 (parents to 4) and a shape that fits more often than not."""
    sliced = rng.random() < 0.4
    rank = rng.randint(1, 3)
    parent_rank = rank + (rng.randint(1, 2) if sliced else 0)
    sizes = (1, 1, 2, 2, 3, 4, 6, 8)
    sg = [rng.choice(sizes[:6]) for _ in range(parent_rank)]
    data = [rng.choice((1, 2, 3, 4, 8, 16)) for _ in range(parent_rank)]
    fields: dict[str, tuple[int, ...]] = {}
    level = "lane" if lanes or rng.random() < 0.25 else "sg"
    fields[f"{level}_layout"] = tuple(sg)
    if rng.random() < 0.9:
        fields[f"{level}_data"] = tuple(data)
    if level == "sg" and rng.random() < 0.3:
        fields["inst_data"] = tuple(rng.choice([d for d in range(1, n + 1) if n % d == 0]) for n in data)
        if rng.random() < 0.3:
            fields["lane_layout"] = tuple(rng.choice((1, 1, 2)) for _ in range(parent_rank))
            if rng.random() < 0.7:
                fields["lane_data"] = tuple(rng.choice((1, 1, 2)) for _ in range(parent_rank))
    if rng.random() < 0.5:
        fields["order"] = tuple(rng.sample(range(parent_rank), parent_rank))
    attr: LayoutAttr | SliceAttr = LayoutAttr(**fields)
    kept = list(range(parent_rank))
    if sliced:
        drop = sorted(rng.sample(range(parent_rank), parent_rank - rank))
        if len(drop) == 2 and rng.random() < 0.5:
            attr = SliceAttr(SliceAttr(attr, (drop[0],)), (drop[1] - 1,))
        else:
            attr = SliceAttr(attr, tuple(drop))
        kept = [d for d in kept if d not in drop]
    shape = []
    for d in kept:
        full = sg[d] * data[d]
        shape.append(
            rng.choice((full, full, full, full * 2, full * 3, data[d], max(1, full // 2), rng.choice((5, 6, 12, 24))))
        )
    if rng.random() < 0.05:
        shape.append(4)
    return Question(attr, tuple(min(n, 96) for n in shape))
