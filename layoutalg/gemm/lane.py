"""The kernel at lane level: a planned product as xDSL operations, printed as MLIR.

For a tile of 16x16 (two blocks of A, one of B) the loop is:

    %c:2 = scf.for %step = %zero to %depth step %k_step iter_args(%c0x0 = %zeros, %c1x0 = %zeros) {
      %a0 = xegpu.load_nd %matrix_a[%row0, %step] : !xegpu.tensor_desc<8x16xf16> -> vector<8xf16>
      %a1 = xegpu.load_nd %matrix_a[%row1, %step] ...
      %b0 = xegpu.load_nd %matrix_b[%step, %column0] <{packed}> ... -> vector<16xf16>
      %d0x0 = xegpu.dpas %a0, %b0, %c0x0 ...
      %d1x0 = xegpu.dpas %a1, %b0, %c1x0 ...
      scf.yield %d0x0, %d1x0
    }

Sizes are arguments, so one binary serves every size that its tile suits, and the compiler has no constant trip count
to unroll by: the machine code has the DPAS that are written here, no more and no less. One thing the compiler must be
told: that the loop runs at least once. `%depth` is max(k, 16), and as 1 <= k that changes no result (beyond k, reads
give 0). Without it the Intel compiler keeps a second set of accumulators for the path around the loop, and a 32x32
tile spills (37 registers with IGC 1.0.12504; with it, none).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    UnitAttr,
    VectorType,
    bf16,
    f16,
    f32,
    i32,
    i64,
)
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import Attribute, Block, Region, SSAValue

from layoutalg.ir import write_module
from layoutalg.ir.building import written_into
from layoutalg.ir.dialects import gpu
from layoutalg.ir.dialects.xegpu import block as xegpu
from layoutalg.ir.dialects.xegpu.attributes import TensorDescType

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Fragment, Gemm

__all__ = ["build_lane", "emit_lane"]

ELEMENTS: dict[str, AnyFloat] = {"f16": f16, "bf16": bf16, "f32": f32}
KERNEL = "gemm"


def emit_lane(gemm: Gemm) -> str:
    """The text of the kernel.

    >>> from layoutalg.gemm import plan_gemm
    >>> "gpu.func @gemm(" in emit_lane(plan_gemm(64, 64, 64))
    True
    """
    return write_module(build_lane(gemm))


def build_lane(gemm: Gemm) -> ModuleOp:
    """The kernel as a verified xDSL module.

    >>> from layoutalg.gemm import plan_gemm
    >>> [operation.name for operation in build_lane(plan_gemm(64, 64, 64)).ops]
    ['gpu.module']
    """
    names = ("a", "b", "c", "m", "n", "k", "lda", "ldb", "ldc")
    body = Block(arg_types=[i64] * 3 + [i32] * 6)
    for argument, name in zip(body.args, names, strict=True):
        argument.name_hint = name
    with written_into(body):
        _write_body(gemm, dict(zip(names, body.args, strict=True)))
    kernel = gpu.FuncOp.kernel_of(KERNEL, Region(body), gemm.workgroup, gemm.dpas.subgroup_size)
    module = ModuleOp([gpu.ModuleOp.of(KERNEL, [kernel])], {"gpu.container_module": UnitAttr()})
    module.verify()
    return module


def _write_body(gemm: Gemm, arguments: dict[str, SSAValue]) -> None:
    zero, k_step = _index("zero", 0), _index("k_step", gemm.tile.k)
    sizes = {
        name: _named(f"size_{name}", arith.IndexCastOp(argument, IndexType()).result)
        for name, argument in arguments.items()
        if name not in "abc"
    }
    least = _named("one_step", arith.ConstantOp(IntegerAttr(gemm.tile.k, i32)).result)
    at_least_one = _named("at_least_one", arith.MaxSIOp(arguments["k"], least).result)
    depth = _named("depth", arith.IndexCastOp(at_least_one, IndexType()).result)

    row, column = _corner("row", DimensionEnum.Y, gemm.tile.m), _corner("column", DimensionEnum.X, gemm.tile.n)
    rows = _spaced("row", row, gemm.blocks[0], gemm.dpas.m)
    columns = _spaced("column", column, gemm.blocks[1], gemm.dpas.n)

    of_a, of_b, of_c = gemm.fragments
    matrix_a = _describe("a", of_a, arguments["a"], (sizes["m"], sizes["k"]), sizes["lda"])
    matrix_b = _describe("b", of_b, arguments["b"], (sizes["k"], sizes["n"]), sizes["ldb"])
    matrix_c = _describe("c", of_c, arguments["c"], (sizes["m"], sizes["n"]), sizes["ldc"])

    accumulator = _vector(of_c)
    zeros = _named("zeros", arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(accumulator, [0.0])).result)
    step_block = Block(arg_types=[IndexType(), *[accumulator] * of_c.count])
    loop = scf.ForOp(zero, depth, k_step, [zeros] * of_c.count, step_block)
    with written_into(step_block):
        step, *held = step_block.args
        _named("step", step)
        blocks_of_a = [_load(f"a{i}", matrix_a, of_a, (r, step), packed=False) for i, r in enumerate(rows)]
        blocks_of_b = [_load(f"b{j}", matrix_b, of_b, (step, c), packed=True) for j, c in enumerate(columns)]
        products: list[SSAValue] = []
        for position, old in enumerate(held):
            i, j = divmod(position, len(columns))
            _named(f"c{i}x{j}", old)
            product = xegpu.DpasOp.of([blocks_of_a[i], blocks_of_b[j], old], accumulator).result
            products.append(_named(f"d{i}x{j}", product))
        scf.YieldOp(*products)
    for position, result in enumerate(loop.results):
        i, j = divmod(position, len(columns))
        _store(_named(f"tile{i}x{j}", result), matrix_c, (rows[i], columns[j]))
    gpu.ReturnOp.build(operands=[[]])


def _named(name: str, value: SSAValue) -> SSAValue:
    value.name_hint = name
    return value


def _index(name: str, number: int) -> SSAValue:
    return _named(name, arith.ConstantOp(IntegerAttr(number, IndexType())).result)


def _corner(name: str, dimension: DimensionEnum, size: int) -> SSAValue:
    """Where this workgroup's tile begins along one dimension."""
    which = _named(f"tile_{name}", gpu.BlockIdOp.along(dimension).result)
    return _named(f"{name}0", arith.MuliOp(which, _index(f"tile_{name}s", size)).result)


def _spaced(name: str, start: SSAValue, count: int, distance: int) -> list[SSAValue]:
    """Where the blocks of the tile begin along one dimension."""
    later = range(1, count)
    return [
        start,
        *(_named(f"{name}{i}", arith.AddiOp(start, _index(f"past{i * distance}", i * distance)).result) for i in later),
    ]


def _vector(fragment: Fragment) -> VectorType[AnyFloat]:
    lanes = fragment.layout.axes["lane"]
    return VectorType(ELEMENTS[fragment.element], [fragment.block[0] * fragment.block[1] // int(lanes)])


def _describe(
    name: str, fragment: Fragment, pointer: SSAValue, shape: tuple[SSAValue, SSAValue], pitch: SSAValue
) -> SSAValue:
    """A descriptor of the whole matrix, for messages that move one block of it."""
    kind = TensorDescType.of(fragment.block, ELEMENTS[fragment.element])
    descriptor = xegpu.CreateNdDescOp.build(
        operands=[pointer, [], list(shape), [pitch]],
        result_types=[kind],
        properties={"const_shape": _numbers(None, None), "const_strides": _numbers(None, 1)},
    )
    return _named(f"matrix_{name}", descriptor.descriptor)


def _numbers(*numbers: int | None) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, [DYNAMIC_INDEX if number is None else number for number in numbers])


def _load(name: str, matrix: SSAValue, fragment: Fragment, place: Sequence[SSAValue], *, packed: bool) -> SSAValue:
    properties: dict[str, Attribute] = {"const_offsets": _numbers(None, None)}
    if packed:
        properties["packed"] = UnitAttr()
    load = xegpu.LoadNdOp.build(operands=[matrix, list(place)], result_types=[_vector(fragment)], properties=properties)
    return _named(name, load.value)


def _store(value: SSAValue, matrix: SSAValue, place: Sequence[SSAValue]) -> None:
    xegpu.StoreNdOp.build(operands=[value, matrix, list(place)], properties={"const_offsets": _numbers(None, None)})
