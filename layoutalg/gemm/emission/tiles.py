"""The kernel on whole tiles: what the workgroup's kernel and the subgroup's have in common.

LLVM's own passes distribute it. The loop has one load of A, one of B and one product, whatever the size of the tile; layouts
say the rest. For a subgroup's tile of 16x32, 32 deep:

    %acc = scf.for %counter = %c0_i32 to %depth step %c32_i32 iter_args(%before = %zeros) -> (vector<16x32xf32>) : i32 {
      %a = xegpu.load_nd %matrix_a[%row, %step] <{layout = #load_a}> : ... -> vector<16x32xf16>
      %b = xegpu.load_nd %matrix_b[%step, %column] <{layout = #load_b}> : ... -> vector<32x32xf16>
      %after = xegpu.dpas %a, %b, %before <{layout_a = #a, layout_b = #b, layout_cd = #c}> : ... -> vector<16x32xf32>
      scf.yield %after : vector<16x32xf32>
    }

`inst_data` of a load may be larger than what dpas takes: LLVM 23 and 24 then load wide blocks and cut them, as the kernel at
lane level does (1.6 instructions per dpas instead of 2.2 for 32x64 on bmg). The counter is i32 for the same reason as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.llvm_versions import rules
from layoutalg.gemm.emission.arithmetic import arithmetic, as_computed
from layoutalg.gemm.emission.batch import addresses
from layoutalg.gemm.emission.elementwise import Tile, constant_like, elementwise, like
from layoutalg.gemm.emission.epilogue import in_memory
from layoutalg.gemm.emission.kernel import KernelWriter
from layoutalg.gemm.emission.operands import descriptor
from layoutalg.gemm.layouts import layout_of_bias
from layoutalg.gemm.problem import check_epilogue
from layoutalg.gemm.tiling import Tile as Sizes
from layoutalg.xegpu import LayoutAttr

__all__ = ["PrefetchedBlock", "write_tiles"]


@dataclass(frozen=True, slots=True)
class PrefetchedBlock:
    """A block of A or B in memory that is asked for ahead: its rows and columns, where it begins across k, and how deep in the
    step it begins (None: at its beginning).
    """

    shape: tuple[int, int]
    across: Value
    deep: Value | None = None


def write_tiles(
    kernel: KernelWriter,
    layouts: Mapping[str, LayoutAttr],
    sizes: Sizes,
    row: Value,
    column: Value,
    asked: Mapping[str, PrefetchedBlock] | None = None,
) -> str:
    """The text of the kernel for tiles of some sizes, whose corner is at `row`, `column` of C.

    `asked` are the blocks that are prefetched, of A and of B.

    >>> from layoutalg.gemm import plan_gemm
    >>> from layoutalg.gemm.layouts import layouts
    >>> gemm = plan_gemm(64, 64, 64, tile=(16, 32), subgroups=(1, 1))
    >>> kernel = KernelWriter(gemm)
    >>> zero = kernel.constant(0)
    >>> write_tiles(kernel, layouts(gemm).subgroup, gemm.tile, zero, zero).count("xegpu.dpas")
    1
    """
    gemm, writer = kernel.gemm, kernel.writer
    check_epilogue(gemm.problem)
    for name, layout in layouts.items():
        kernel.aliases[_alias(name)] = str(layout)
    if gemm.problem.bias is not None:
        kernel.aliases["bias"] = str(layout_of_bias(gemm.problem.bias, layouts["C"]))
    bases = addresses(kernel)
    operands = {
        "A": ((sizes.m, sizes.k), gemm.problem.trans_a, row),
        "B": ((sizes.k, sizes.n), gemm.problem.trans_b, column),
    }
    described: dict[str, Value] = {}
    for name, (shape, transposed, _) in operands.items():
        stored = (shape[1], shape[0]) if transposed else shape
        described[f"load {name}"] = _described(kernel, name, bases[name], stored, f"load {name}")
    for name, block in (asked or {}).items():
        described[f"prefetch {name}"] = _described(kernel, name, bases[name], block.shape, f"prefetch {name}")

    def corner(name: str, across: Value, deep: Value) -> tuple[Value, Value]:
        """Rows and columns in memory: k is along the rows of B, and of a transposed A."""
        return (deep, across) if (name == "B") != operands[name][1] else (across, deep)

    def ask(step: Value) -> None:
        for name, block in (asked or {}).items():
            described_as = described[f"prefetch {name}"]
            deep = step if block.deep is None else kernel.op("addi", step, block.deep)
            form = f"xegpu.prefetch_nd %s[%s, %s]{_stands(f'prefetch {name}')} : {described_as.kind}"
            writer.do(form, (described_as, *corner(name, block.across, deep)))

    kernel.marks = f" {{layout_result_0 = #{_alias('C')}}}"
    before = Tile(gemm.accumulator, (sizes.m, sizes.n), "before")
    zeros = kernel.named("zeros", constant_like(kernel, 0.0 if before.element[0] in "fb" else 0, before))
    result = Tile(gemm.accumulator, before.shape, "accumulated")
    zero, k_step = kernel.constant(0, "i32"), kernel.constant(sizes.k, "i32")
    depth = kernel.named("depth", kernel.op("maxsi", kernel.arguments["k"], k_step))
    for ahead in range(1, gemm.tiling.distance):
        ask(kernel.constant(ahead * sizes.k))
    counter = Value("i32", name="counter")
    form = f"scf.for %s = %s to %s step %s iter_args(%s = %s) -> ({before.kind}) : i32 {{"
    with kernel.region(form, (counter, zero, depth, k_step, before, zeros), (result,), (counter, before)):
        step = kernel.named("step", kernel.cast(counter, "index"))
        loaded = [
            _loaded(kernel, name, described[f"load {name}"], operands[name][:2], corner(name, operands[name][2], step))
            for name in operands
        ]
        ask(kernel.plus(step, gemm.tiling.distance * sizes.k))
        after = Tile(gemm.accumulator, before.shape, "after")
        named = "layout_a = #a, layout_b = #b, layout_cd = #c"
        attributes = f"<{{{named}}}>" if rules(gemm.llvm).strict_properties else f"{{{named}}}"
        kinds = ", ".join(value.kind for value in (*loaded, before))
        form = f"xegpu.dpas %s, %s, %s {attributes} : {kinds} -> {after.kind}"
        writer.values(form, (*loaded, before), (after,))
        writer.do(f"scf.yield %s : {after.kind}", (after,))
    _finish(kernel, bases["C"], result, row, column)
    return kernel.text()


def _alias(name: str) -> str:
    """`load A` is `#load_a` in the text."""
    return name.lower().replace(" ", "_")


def _stands(name: str) -> str:
    """The layout on an operation of memory: where the descriptor alone has it, LLVM chooses `inst_data` anew."""
    return f" <{{layout = #{_alias(name)}}}>"


def _described(kernel: KernelWriter, name: str, base: Value, shape: tuple[int, int], layout: str) -> Value:
    element = in_memory(kernel) if name == "C" else kernel.gemm.element_of(name)
    kind = f"!xegpu.tensor_desc<{shape[0]}x{shape[1]}x{element}, #{_alias(layout)}>"
    return descriptor(kernel, kernel.gemm.matrices["ABC".index(name)], base, kind)


def _loaded(
    kernel: KernelWriter,
    name: str,
    source: Value,
    operand: tuple[tuple[int, int], bool],
    place: tuple[Value, Value],
) -> Value:
    """The tile as dpas takes it: transposed in registers where memory has it the other way round, and in its blocks.

    A conversion between blocks moves nothing: it says where the cuts of a wide load are.
    """
    shape, transposed = operand
    element = kernel.gemm.element_of(name)
    stored = Tile(element, shape[::-1] if transposed else shape, f"stored_{name.lower()}")
    form = f"xegpu.load_nd %s[%s, %s]{_stands(f'load {name}')} : {source.kind} -> {stored.kind}"
    kernel.writer.values(form, (source, *place), (stored,))
    if not transposed:
        if kernel.aliases[_alias(f"load {name}")] == kernel.aliases[_alias(name)]:
            return stored
        cut = Tile(element, shape, name.lower())
        layouts = f"<{{input_layout = #{_alias(f'load {name}')}, target_layout = #{_alias(name)}}}>"
        kernel.writer.values(f"xegpu.convert_layout %s {layouts} : {stored.kind}", (stored,), (cut,))
        return cut
    turned = Tile(element, shape, name.lower())
    marks = f" {{layout_result_0 = #{_alias(name)}}}"
    kernel.writer.values(f"vector.transpose %s, [1, 0]{marks} : {stored.kind} to {turned.kind}", (stored,), (turned,))
    return turned


def _finish(kernel: KernelWriter, base: Value, accumulated: Tile, row: Value, column: Value) -> None:
    """The epilogue, and the store."""
    described = _described(kernel, "C", base, (accumulated.shape[0], accumulated.shape[1]), "C")
    before = None
    if kernel.gemm.problem.beta:
        before = Tile(in_memory(kernel), accumulated.shape, "c_before")
        form = f"xegpu.load_nd %s[%s, %s]{_stands('C')} : {described.kind} -> {before.kind}"
        kernel.writer.values(form, (described, row, column), (before,))
    bias = _bias(kernel, accumulated, row, column)
    value = arithmetic(kernel, kernel.gemm.problem, accumulated, bias, before, stored=in_memory(kernel))
    form = f"xegpu.store_nd %s, %s[%s, %s]{_stands('C')} : {value.kind}, {described.kind}"
    kernel.writer.do(form, (value, described, row, column))


def _bias(kernel: KernelWriter, tile: Tile, row: Value, column: Value) -> Value | None:
    """The bias in every element of the tile, in the type of the arithmetic.

    It is gathered, because m numbers may be fewer than a block message needs, and masked where C ends. The numbers of columns
    are loaded once and spread over the rows. Those of rows are loaded for every element: LLVM spreads places over the columns,
    but has no lowering for a gather whose numbers all lanes have.
    """
    problem = kernel.gemm.problem
    if problem.bias is None:
        return None
    before = kernel.marks
    if problem.bias == "column":
        kernel.marks = " {layout_result_0 = #bias}"
        loaded = _gathered(kernel, _places(kernel, tile.shape[1], column), "n")
        kernel.marks = before
        return as_computed(kernel, problem, _spread(kernel, loaded, tile.shape))
    kernel.marks = " {layout_result_0 = #xegpu.slice<#bias, dims = [1]>}"
    places = _places(kernel, tile.shape[0], row)
    kernel.marks = " {layout_result_0 = #bias}"
    alone = Tile("index", (tile.shape[0], 1))
    kernel.writer.values(f"vector.shape_cast %s : {places.kind} to {alone.kind}", (places,), (alone,))
    loaded = _gathered(kernel, _spread(kernel, alone, tile.shape), "m")
    kernel.marks = before
    joined = like(loaded, loaded.element)
    layouts = "<{input_layout = #bias, target_layout = #c}>"
    kernel.writer.values(f"xegpu.convert_layout %s {layouts} : {loaded.kind}", (loaded,), (joined,))
    return as_computed(kernel, problem, joined)


def _places(kernel: KernelWriter, count: int, start: Value) -> Tile:
    """The numbers from `start` on."""
    steps, made = Tile("index", (count,)), Tile("index", (count,))
    kernel.writer.values(f"vector.step{kernel.marks} : {steps.kind}", (), (steps,))
    starts = _spread(kernel, start, steps.shape)
    kernel.writer.values(f"arith.addi %s, %s{kernel.marks} : {made.kind}", (steps, starts), (made,))
    return made


def _spread(kernel: KernelWriter, value: Value, shape: tuple[int, ...]) -> Tile:
    made = Tile(value.element, shape)
    kernel.writer.values(f"vector.broadcast %s{kernel.marks} : {value.kind} to {made.kind}", (value,), (made,))
    return made


def _gathered(kernel: KernelWriter, places: Tile, end: str) -> Value:
    """The bias at these places, 0 from the end of C on."""
    ends = _spread(kernel, kernel.index(kernel.arguments[end]), places.shape)
    inside = elementwise(kernel, f"arith.cmpi ult, %s, %s : {places.kind}", (places, ends), "i1")
    loaded = like(places, in_memory(kernel))
    form = f"xegpu.load %s[%s], %s{_stands('bias')} : i64, {places.kind}, {inside.kind} -> {loaded.kind}"
    kernel.writer.values(form, (kernel.arguments["bias"], places, inside), (loaded,))
    return loaded
