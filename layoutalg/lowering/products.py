"""Matrix products: one `dpas` for each tile of D and each step along K, with tiles of A and B that the subgroup has.

A subgroup that has 16x32 of D and multiplies 32 deep executes 8 of them: 2x2 tiles of 8x16, two steps of 16. Tile (i, j) of D
takes, in step k, tile (i, k) of A and (k, j) of B. Where these are not in the registers of the subgroup, as the instruction
wants them, A or B is exchanged first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.errors import PlanError, VerificationError
from layoutalg.core.factors import Factor
from layoutalg.core.layout import Layout
from layoutalg.flow.relations import settled
from layoutalg.hardware import Dpas, dpas
from layoutalg.lowering.fragments import Fragment
from layoutalg.lowering.kernels import refuse
from layoutalg.lowering.matrix_instruction import instruction, multiplied
from layoutalg.lowering.memory_blocks import rows_unpacked
from layoutalg.lowering.registers import coordinates, positions, sizes_of
from layoutalg.lowering.rules import Kernel, lowers, registers_of
from layoutalg.lowering.transfers import factors_above

__all__ = ["in_tile_order", "in_tiles", "tile_origins"]

_Origins = NDArray[np.int64]
"""Where the tiles of each subgroup begin: `[subgroup, tile, 2]`."""


@lru_cache(maxsize=1 << 10)
def tile_origins(layout: Layout, tile: Layout) -> _Origins | None:
    """Where each tile that a subgroup holds begins, in register order; None where the registers are not such tiles.

    >>> layout = Layout.parse("d0 = 2@sg 2@reg:8 8@reg, d1 = 16@lane")
    >>> tile_origins(layout, Layout.parse("d0 = 8@reg, d1 = 16@lane"))[1].tolist()
    [[16, 0], [24, 0]]
    """
    here, block = coordinates(layout), coordinates(tile)[0]
    subgroups, lanes, registers, rank = here.shape
    if rank != 2 or block.shape[0] != lanes or registers % block.shape[1]:
        return None
    pieces = here.reshape(subgroups, lanes, registers // block.shape[1], block.shape[1], 2)
    origins = pieces[:, 0, :, 0] - block[0, 0]
    if not np.array_equal(pieces, origins[:, None, :, None] + block[:, None]):
        return None
    return origins


@lru_cache(maxsize=1 << 10)
def in_tiles(result: Layout, tile: Layout, shape: tuple[int, int], follows: int) -> Layout | None:
    """The layout of A (`follows` is 0: its rows are the result's) or B (1: its columns are), in tiles of the instruction.

    Every subgroup has all of K. None where the result's subgroups do not have whole tiles along that dimension.

    >>> result = Layout.parse("d0 = 2@sg:2 2@reg:16 8@reg, d1 = 2@sg 2@reg:8 16@lane")
    >>> print(in_tiles(result, Layout.parse("d0 = 8@reg, d1 = 16@lane"), (32, 64), 0))
    d0 = 2@sg:2 2@reg:32 8@reg, d1 = 4@reg:8 16@lane | replicas 2@sg
    """
    inner = cast("int", tile.shape[follows])
    outside = factors_above(result.dims[follows], inner)
    if outside is None or any(factor.axis == "lane" for factor in outside):
        return None
    own = [factor if factor.axis == "sg" else Factor(factor.extent, 0, None) for factor in outside]
    along = [Factor(shape[1 - follows] // cast("int", tile.shape[1 - follows]), 0, None)]
    others = [factor for factor in (*result.dims[1 - follows], *result.replicas) if factor.axis == "sg"]
    outer = settled(Layout([own, along] if follows == 0 else [along, own], others))
    found = outer * tile
    return found if sizes_of(found) == shape else None


def _instruction(op: Any, layout: Layout, kernel: Kernel) -> tuple[Dpas, Layout]:
    """The instruction with the most rows of which the subgroups have whole tiles, and D with its registers in their order."""
    kinds = [str(value.type.element_type) for value in (*op.operands[:2], op.results[0])]
    a, b, acc = kinds
    for rows in range(8, 0, -1):
        try:
            found = dpas(a, b, acc, kernel.target, rows)
        except (VerificationError, PlanError) as error:
            refuse(op, "dpas", str(error))
        ordered = in_tile_order(layout, found.c)
        if ordered is not None:
            return found, ordered
    dealt = any(factor.axis == "lane" for factors in layout.dims for factor in factors)
    notes = () if dealt else ("every lane holds all of its subgroup's part: the layout states no lane_layout",)
    return refuse(op, "dpas", f"makes tiles of a matrix instruction, and D is held as {layout}", *notes)


@lru_cache(maxsize=1 << 10)
def in_tile_order(layout: Layout, tile: Layout) -> Layout | None:
    """The layout, if need be with other registers for its elements, tile after tile; None where lanes do not hold such tiles.

    >>> rows = Layout.parse("d0 = 16@reg:2, d1 = 2@reg 16@lane")
    >>> print(in_tile_order(rows, Layout.parse("d0 = 8@reg, d1 = 16@lane")))
    d0 = 2@reg:16 8@reg, d1 = 2@reg:8 16@lane
    """
    if tile_origins(layout, tile) is not None:
        return layout
    if len(layout.dims) != 2:
        return None
    outside: list[list[Factor]] = []
    for factors, size in zip(layout.dims, tile.shape, strict=True):
        own = [factor if factor.axis == "sg" else Factor(factor.extent, 0, None) for factor in factors]
        above = factors_above(own, int(size))
        if above is None:
            return None
        outside.append(above)
    copies = [factor for factor in layout.replicas if factor.axis == "sg"]
    found = settled(Layout(outside, copies)) * tile
    return found if tile_origins(found, tile) is not None and positions(layout, found) is not None else None


@lowers("xegpu.dpas")
def product(op: Any, kernel: Kernel) -> None:
    """Step after step along K, the tiles of D in the order of the registers."""
    result = op.results[0]
    held = kernel.layout(op, result)
    instruction, layout = _instruction(op, held, kernel)
    tiles = tile_origins(layout, instruction.c)
    if tiles is None:
        refuse(op, "dpas", f"D in {layout} is not in tiles of {instruction.c}")
    size = registers_of(instruction.c)
    parts = [
        _operand(op, number, layout, tile, kernel, number) for number, tile in enumerate((instruction.a, instruction.b))
    ]
    (a, at_a), (b, at_b) = parts
    count = tiles.shape[1]
    depth = int(op.operands[0].type.get_shape()[1])
    if op.acc is not None:
        made: list[Value | None] = [*kernel.needed(op, 2, layout, (size,) * count)]
    else:
        made = [None] * count
    for step in range(0, depth, instruction.k):
        for number in range(count):
            rows, columns = tiles[:, number, 0], tiles[:, number, 1]
            here = np.full_like(rows, step)
            one = _found(op, at_a, rows, here, "A")
            other = _found(op, at_b, here, columns, "B")
            made[number] = _written(
                kernel, instruction, a[one], b[other], made[number], str(result.type.element_type), size
            )
    whole = Fragment(layout, tuple([value for value in made if value is not None]))
    if layout == held:
        kernel.give(result, layout, whole.pieces)
    else:
        kernel.give(result, held, kernel.moved(op, whole, held, kernel.sizes(result, held)))


def _operand(
    op: Any, number: int, result: Layout, tile: Layout, kernel: Kernel, follows: int
) -> tuple[list[Value], dict[bytes, int]]:
    """The tiles of A or B in the registers of each subgroup, and which is where."""
    fragment = kernel.fragment(op.operands[number])
    if len(fragment.layout.dims) == 3:
        fragment = Fragment(rows_unpacked(fragment.layout), fragment.pieces)
    layout, name = fragment.layout, "AB"[number]
    origins = tile_origins(layout, tile)
    shape = sizes_of(layout)
    wanted = in_tiles(result, tile, (shape[0], shape[1]), follows)
    if origins is None or not _follows(layout, wanted, follows):
        if wanted is None:
            refuse(op, "dpas", f"a subgroup does not have whole tiles of D along dimension {follows}: {result}")
        layout = wanted
        origins = tile_origins(layout, tile)
    if origins is None:
        refuse(op, "dpas", f"{name} in {layout} is not in tiles of {tile}")
    sizes = (registers_of(tile),) * origins.shape[1]
    pieces = kernel.moved(op, fragment, layout, sizes, number=number)
    return pieces, {origins[:, at].tobytes(): at for at in range(origins.shape[1])}


def _follows(layout: Layout, wanted: Layout | None, follows: int) -> bool:
    """Whether a subgroup has the rows (or columns) that the result's has, and all of K."""
    if wanted is None:
        return True
    return _by_subgroup(layout) == _by_subgroup(wanted)


def _by_subgroup(layout: Layout) -> list[bytes]:
    """The elements of each subgroup, in order."""
    here = coordinates(layout)
    rows, columns = sizes_of(layout)
    numbers = here[..., 0] * columns + here[..., 1]
    return [np.unique(numbers[sg]).tobytes() for sg in range(numbers.shape[0]) if rows]


def _found(op: Any, where: dict[bytes, int], rows: Any, columns: Any, name: str) -> int:
    """The tile that begins there, in every subgroup."""
    key = np.stack([rows, columns], axis=-1).tobytes()
    at = where.get(key)
    if at is None:
        refuse(op, "dpas", f"the subgroups do not have the tile of {name} at {int(rows[0])}, {int(columns[0])}")
    return at


def _written(kernel: Kernel, unit: Dpas, a: Value, b: Value, acc: Value | None, element: str, size: int) -> Value:
    """One instruction. Only XeGPU's own product may lack an accumulator: the others start from zeros."""
    if acc is None and instruction(unit.a_type) != "xegpu.dpas":
        zeros = f"vector<{size}x{element}>"
        zero = "0" if unit.acc_type == "s32" else "0.0"
        acc = kernel.indices.early(("zeros", zeros), f"arith.constant dense<{zero}> : {zeros}", element, size)
    c = None if acc is None else _vector(kernel, acc)
    made = multiplied(kernel.writer, unit, _vector(kernel, a), _vector(kernel, b), c, kernel.builtins)
    if made.size != 1:
        return made
    return kernel.writer.value(f"vector.extract %s[0] : {element} from {made.kind}", (made,), element)


def _vector(kernel: Kernel, piece: Value) -> Value:
    if piece.size is not None:
        return piece
    form = f"vector.broadcast %s : {piece.kind} to vector<1x{piece.element}>"
    return kernel.writer.value(form, (piece,), piece.element, 1)
