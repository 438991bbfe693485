"""IREE asked: functions whose reads are anchored with `to_layout`, distributed to threads, and run.

>>> kernel = made("vector.transpose", "rows", 0)
>>> print(kernel.text.splitlines()[-4].strip())
%y = vector.transpose %x, [1, 0] : vector<8x8xf32> to vector<8x8xf32>

The kinds of nested layouts: `rows` and `columns` say in which order threads are counted, `elements` gives each several
neighbours, `batches` several tiles, `subgroups` has two subgroups. `anchored` also states a layout of the result, which is
another one where the kind says so.

What comes out is run in the simulator with 64 threads to a subgroup: reads and writes of memory, index arithmetic, reductions
of subgroups, and memory of the workgroup. A module that still has `to_simd` or `to_layout` is left undistributed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from random import Random

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.side.conformance.compilers import Compiler, run_all
from layoutalg.side.conformance.kernel import GeneratedKernel, arrays_for, meaning
from layoutalg.side.conformance.results import Case, Conformance, mistakes_of
from layoutalg.side.conformance.verdicts import Verdict, simulated

__all__ = ["KINDS", "OPERATIONS", "PIPELINE", "asked", "judge_threads", "made"]

PIPELINE = (
    "builtin.module(func.func(iree-llvmgpu-vector-distribute,canonicalize,cse,affine-expand-index-ops),lower-affine,"
    "canonicalize,cse)"
)
"""Distribution to threads, then index operations as arithmetic."""
KINDS = ("rows", "columns", "elements", "batches", "subgroups")
"""The kinds of nested layouts."""
OPERATIONS = (
    "arith.addf",
    "iree_vector_ext.to_layout",
    "math.exp",
    "scf.for",
    "vector.broadcast",
    "vector.multi_reduction",
    "vector.shape_cast",
    "vector.step",
    "vector.transpose",
)
"""What kernels are generated for."""
_OFTEN = ("vector.shape_cast", "vector.shape_cast", "vector.multi_reduction")
"""What has more forms than others."""
_THREADS = 64
_BATCH = 64
_LEFT = ("iree_vector_ext.to_layout", "iree_vector_ext.to_simd", "iree_vector_ext.to_simt")


@dataclass(frozen=True)
class _Nested:
    """A nested layout by its tiles, outermost level first."""

    subgroup: tuple[int, ...]
    batch: tuple[int, ...]
    outer: tuple[int, ...]
    thread: tuple[int, ...]
    element: tuple[int, ...]
    subgroup_strides: tuple[int, ...]
    thread_strides: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        tiles = zip(self.subgroup, self.batch, self.outer, self.thread, self.element, strict=True)
        return tuple(prod(level) for level in tiles)

    @property
    def subgroups(self) -> int:
        return prod(self.subgroup)

    def __str__(self) -> str:
        fields = {
            "subgroup_tile": self.subgroup,
            "batch_tile": self.batch,
            "outer_tile": self.outer,
            "thread_tile": self.thread,
            "element_tile": self.element,
            "subgroup_strides": self.subgroup_strides,
            "thread_strides": self.thread_strides,
        }
        said = ", ".join(f"{name} = {list(values)}" for name, values in fields.items())
        return f"#iree_vector_ext.nested_layout<{said}>"


def _drawn(random: Random, kind: str) -> _Nested:
    first = random.choice((4, 8, 16, 2))
    thread = (first, _THREADS // first)
    strides = (1, thread[0]) if kind == "columns" or random.random() < 0.4 else (thread[1], 1)
    element = (
        random.choice(((1, 4), (2, 2), (1, 8), (4, 1), (1, 16))) if kind == "elements" else (1, random.choice((1, 2)))
    )
    batch = random.choice(((2, 1), (1, 2), (2, 2))) if kind == "batches" else (1, 1)
    outer = random.choice(((1, 1), (2, 1), (1, 2))) if kind == "batches" else (1, 1)
    subgroup = random.choice(((2, 1), (1, 2))) if kind == "subgroups" else (1, 1)
    subgroup_strides = tuple(int(tile > 1) for tile in subgroup)
    if random.random() < 0.5:  # wide or high
        thread, strides = thread[::-1], strides[::-1]
    return _Nested(subgroup, batch, outer, thread, element, subgroup_strides, strides)


def _vector(shape: Sequence[int], element: str = "f32") -> str:
    return f"vector<{'x'.join(map(str, shape))}x{element}>"


def _reshaped(random: Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    rows, columns = shape
    choices = [(rows * 2, columns // 2), (rows // 2, columns * 2), (rows * columns,), (rows * 4, columns // 4)]
    return random.choice([choice for choice in choices if all(extent >= 1 for extent in choice)])


def _body(operation: str, random: Random, nested: _Nested) -> tuple[list[str], tuple[int, ...]]:
    """Lines that make %y of %x, and its shape."""
    shape = nested.shape
    kind = _vector(shape)
    match operation:
        case "arith.addf":
            return [f"%y = arith.addf %x, %x : {kind}"], shape
        case "math.exp":
            return [f"%y = math.exp %x : {kind}"], shape
        case "iree_vector_ext.to_layout":
            other = next(
                (
                    one
                    for one in (_drawn(random, "elements") for _ in range(400))
                    if one.shape == shape and one != nested
                ),
                nested,
            )
            return [f"%y = iree_vector_ext.to_layout %x to layout({other}) : {kind}"], shape
        case "vector.transpose":
            target = shape[::-1]
            return [f"%y = vector.transpose %x, [1, 0] : {kind} to {_vector(target)}"], target
        case "vector.shape_cast":
            target = _reshaped(random, shape)
            return [f"%y = vector.shape_cast %x : {kind} to {_vector(target)}"], target
        case "vector.multi_reduction":
            dim = random.choice((0, 1))
            kept = (shape[1 - dim],)
            how, start = random.choice((("add", "0.0"), ("maximumf", "0xFF800000")))
            return [
                f"%n = arith.constant dense<{start}> : {_vector(kept)}",
                f"%y = vector.multi_reduction <{how}>, %x, %n [{dim}] : {kind} to {_vector(kept)}",
            ], kept
        case "vector.broadcast":
            dim = 1
            kept = (shape[1],)
            return [
                f"%n = arith.constant dense<0.0> : {_vector((shape[dim],))}",
                f"%r = vector.multi_reduction <add>, %x, %n [0] : {kind} to {_vector(kept)}",
                f"%b = vector.broadcast %r : {_vector(kept)} to {kind}",
                f"%y = arith.subf %x, %b : {kind}",
            ], shape
        case "vector.step":
            length = shape[1]
            return [
                f"%i = vector.step : {_vector((length,), 'index')}",
                f"%j = arith.index_cast %i : {_vector((length,), 'index')} to {_vector((length,), 'i32')}",
                f"%k = arith.sitofp %j : {_vector((length,), 'i32')} to {_vector((length,))}",
                f"%b = vector.broadcast %k : {_vector((length,))} to {kind}",
                f"%y = arith.addf %x, %b : {kind}",
            ], shape
        case _:
            return [
                "%three = arith.constant 3 : index",
                "%one = arith.constant 1 : index",
                f"%y = scf.for %i = %c0 to %three step %one iter_args(%sum = %x) -> ({kind}) {{",
                f"  %next = arith.addf %sum, %x : {kind}",
                f"  scf.yield %next : {kind}",
                "}",
            ], shape


def made(operation: str, kind: str, seed: int, number: int = 0) -> GeneratedKernel:
    """A function that reads, anchors, computes and writes: the same for the same arguments."""
    random = Random(f"iree/{operation}/{kind}/{seed}/{number}")
    nested = _drawn(random, kind)
    lines, target = _body(operation, random, nested)
    name = f"{operation.replace('.', '_')}_{kind}_{number}"
    shape = nested.shape
    memory = ["x".join(map(str, one)) + "xf32" for one in (shape, target)]
    zeros, inside = (", ".join([word] * 2) for word in ("%c0", "true"))
    target_zeros, target_inside = (", ".join([word] * len(target)) for word in ("%c0", "true"))
    info = (
        "translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> "
        f"workgroup_size = [{_THREADS * nested.subgroups}, 1, 1] subgroup_size = {_THREADS}>"
    )
    text = "\n".join(
        (
            f"func.func @{name}(%p0: memref<{memory[0]}>, %p1: memref<{memory[1]}>) attributes {{{info}}} {{",
            "%c0 = arith.constant 0 : index",
            "%z = arith.constant 0.0 : f32",
            f"%v = vector.transfer_read %p0[{zeros}], %z {{in_bounds = [{inside}]}} : memref<{memory[0]}>, {_vector(shape)}",
            f"%x = iree_vector_ext.to_layout %v to layout({nested}) : {_vector(shape)}",
            *lines,
            f"vector.transfer_write %y, %p1[{target_zeros}] {{in_bounds = [{target_inside}]}} : {_vector(target)}, "
            f"memref<{memory[1]}>",
            "return",
            "}\n",
        )
    )
    arguments = (("f32", shape), ("f32", target))
    tolerance = 1e-6 if operation in ("vector.multi_reduction", "vector.broadcast") else 0.0
    return GeneratedKernel(
        name, text, arguments, tolerance=tolerance, operation=operation, layout_kind=kind, level="threads", seed=seed,
        subgroups=nested.subgroups,
    )  # fmt: skip


def judge_threads(compiler: Compiler, kernels: Sequence[GeneratedKernel]) -> list[Verdict]:
    """The verdict of every kernel; their names must differ."""
    texts = {kernel.name: kernel.text for kernel in kernels}
    answers = run_all(compiler, texts, PIPELINE, options=("--mlir-print-local-scope",))
    verdicts: list[Verdict] = []
    for kernel in kernels:
        answer = answers[kernel.name]
        if answer.crash:
            verdicts.append(Verdict("crash", "threads", answer.crash))
        elif answer.text is None:
            verdicts.append(Verdict("refused", "threads", answer.refusal))
        else:
            left = next((name for name in _LEFT if name in answer.text), None)
            if left is not None:
                verdicts.append(Verdict("left", "threads", f"{left} is still there"))
            else:
                expected = meaning(kernel, arrays_for(kernel))
                verdicts.append(simulated(kernel, answer.text, "threads", "lane", expected))
    return verdicts


def asked(
    compiler: Compiler,
    count: int,
    seed: int,
    only: Sequence[str],
    *,
    kinds: Sequence[str] = (),
    reduce: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Conformance:
    """`count` kernels, each operation with its kinds of layouts in turn.

    Raises `LayoutError` for an operation or a kind that nothing is generated for.
    """
    for given, known, what in ((only, OPERATIONS, "operation"), (kinds, KINDS, "kind")):
        unknown = set(given) - set(known)
        if unknown:
            raise LayoutError(f"{what} {shown(min(unknown))}: of IREE there are {', '.join(known)}")
    names, chosen = only or (*OPERATIONS, *_OFTEN), kinds or KINDS
    turns: Counter[str] = Counter()
    given_kernels: list[GeneratedKernel] = []
    for number in range(count):
        name = names[number % len(names)]
        given_kernels.append(made(name, chosen[turns[name] % len(chosen)], seed, turns[name]))
        turns[name] += 1
    cases: list[Case] = []
    for start in range(0, len(given_kernels), _BATCH):
        batch = given_kernels[start : start + _BATCH]
        cases += map(Case, batch, judge_threads(compiler, batch))
        if progress is not None:
            progress(len(cases) / len(given_kernels))
    return Conformance(compiler, tuple(cases), mistakes_of(compiler, cases, reduce=False))
