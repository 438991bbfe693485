"""What operations demand: LLVM's usual layouts come first, and a layout fits exactly where a message or an instruction does."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.errors import DistributionError
from layoutalg.core.notation import Machine
from layoutalg.flow.relations import Demand, relation_of
from layoutalg.flow.relations.reductions import reduction
from layoutalg.hardware import block_load, block_store, dpas
from layoutalg.ir import read_module
from layoutalg.xegpu import LayoutAttr
from tests.oracle.toolchains import require, require_new, run

PVC = Machine(lanes=16)


def demands(text: str) -> list[Demand]:
    """The demands of the last operation of a text."""
    relation = relation_of(list(read_module(text).body.block.ops)[-1])
    assert relation is not None
    return list(relation.demands)


def product(m: int, n: int, k: int, a: str, b: str, d: str) -> list[Demand]:
    left, right, made = f"vector<{m}x{k}x{a}>", f"vector<{k}x{n}x{b}>", f"vector<{m}x{n}x{d}>"
    return demands(f'%a, %b = "test.op"() : () -> ({left}, {right}) %d = xegpu.dpas %a, %b : {left}, {right} -> {made}')


def block(rows: int, width: int, element: str, store: bool = False) -> Demand:
    tile, value = f"!xegpu.tensor_desc<{rows}x{width}x{element}>", f"vector<{rows}x{width}x{element}>"
    first = f'%t, %v = "test.op"() : () -> ({tile}, {value}) '
    operation = (
        f"xegpu.store_nd %v, %t[0, 0] : {value}, {tile}"
        if store
        else f"%x = xegpu.load_nd %t[0, 0] : {tile} -> {value}"
    )
    return demands(first + operation)[0]


TYPES = [("f16", 16), ("bf16", 16), ("i8", 32), ("tf32", 8)]


def kernels() -> Iterator[tuple[str, list[list[Demand]]]]:
    """Kernels for LLVM 22's propagation, and the demands of their anchors in the order of the text."""
    for (element, k), m in itertools.product(TYPES, (8, 16)):
        acc = "i32" if element == "i8" else "f32"
        shapes = {"a": (m, k, element), "b": (k, 16, element), "c": (m, 16, acc)}
        lines = [f"%p{n}: memref<64x64x{e}>" for n, (_, _, e) in shapes.items()]
        text = [f"gpu.module @m {{ gpu.func @k({', '.join(lines)}) {{ %c0 = arith.constant 0 : index"]
        for name, (rows, width, e) in shapes.items():
            text.append(
                f"%t{name} = xegpu.create_nd_tdesc %p{name} : memref<64x64x{e}> -> !xegpu.tensor_desc<{rows}x{width}x{e}>"
            )
        for name in "ab":
            rows, width, e = shapes[name]
            text.append(f"%{name} = xegpu.load_nd %t{name}[%c0, %c0] : !xegpu.tensor_desc<{rows}x{width}x{e}>"
                        f" -> vector<{rows}x{width}x{e}>")  # fmt: skip
        kinds = [f"vector<{rows}x{width}x{e}>" for rows, width, e in shapes.values()]
        text.append(f"%d = xegpu.dpas %a, %b : {kinds[0]}, {kinds[1]} -> {kinds[2]}")
        text.append(f"xegpu.store_nd %d, %tc[%c0, %c0] : {kinds[2]}, !xegpu.tensor_desc<{m}x16x{acc}>")
        text.append("gpu.return } }")
        yield "\n".join(text), [product(m, 16, k, element, element, acc), [block(m, 16, acc, store=True)]]


def test_the_first_choice_of_a_level_is_llvms() -> None:
    """`xegpu-propagate-layout` of LLVM 22 on dpas and store; where it is right.

    At the level of instructions it is wrong for types that are not of 16 bits, and at that of lanes it deals out the 8 columns
    of A in tf32 to 16 lanes.
    """
    mlir = require("mlir-opt-22")
    cases = list(kernels())
    for kind in ("lane", "inst"):
        text = "\n// -----\n".join(kernel for kernel, _ in cases)
        done = run([mlir, "--split-input-file", "--xevm-attach-target=chip=pvc",
                    f"--xegpu-propagate-layout=layout-kind={kind}"], text)  # fmt: skip
        assert done.returncode == 0, done.stderr[:2000]
        parts = done.stdout.split("// -----")
        assert len(parts) == len(cases)
        for part, (kernel, (of_product, of_store)) in zip(parts, cases, strict=True):
            found = dict(re.findall(r"(layout_a|layout_b|layout_cd) = (#xegpu\.layout<[^>]*>)", part))
            stored = re.search(r"store_nd .*<\{layout = (#xegpu\.layout<[^>]*>)", part)
            assert stored is not None
            if kind == "inst" and "f16" not in kernel:
                continue
            for demand, name in zip((*of_product, *of_store), ("layout_a", "layout_b", "layout_cd", ""), strict=True):
                if name == "layout_a" and "tf32" in kernel:
                    continue
                first = demand.choices(kind, PVC, "pvc", 22)[0].attribute
                assert str(first) == (found[name] if name else stored[1]), (
                    f"{name or 'store'} at level {kind} of\n{kernel}"
                )


@pytest.mark.parametrize(("element", "chunk"), [("f32", 0), ("f32", 8), ("f16", 8), ("i8", 4), ("f16", 0)])
def test_the_first_choice_for_a_gather_is_llvms(element: str, chunk: int) -> None:
    mlir = require("mlir-opt-22")
    value = f"vector<16x{chunk}x{element}>" if chunk else f"vector<16x{element}>"
    hint = f" <{{chunk_size = {chunk} : i64}}>" if chunk else ""
    offsets = "vector<16xindex>, vector<16xi1>"
    load = f"%x = xegpu.load %p[%o], %m{hint} : memref<256x{element}>, {offsets} -> {value}"
    store = f"xegpu.store %x, %p[%o], %m{hint} : {value}, memref<256x{element}>, {offsets}"
    made = "%o = arith.constant dense<3> : vector<16xindex> %m = arith.constant dense<true> : vector<16xi1>"
    text = f"gpu.module @m {{ gpu.func @k(%p: memref<256x{element}>) {{ {made}\n{load}\n{store}\ngpu.return }} }}"
    for kind in ("lane", "inst"):
        done = run([mlir, "--xevm-attach-target=chip=pvc", f"--xegpu-propagate-layout=layout-kind={kind}"], text)
        assert done.returncode == 0, done.stderr[:2000]
        wanted = re.search(r"xegpu\.store .*layout = (#xegpu\.layout<[^>]*>)", done.stdout)
        assert wanted is not None, done.stdout
        given = f'%p, %o, %m = "test.op"() : () -> (memref<256x{element}>, vector<16xindex>, vector<16xi1>) '
        for choice in (demands(given + load)[0], demands(f'{given}%x = "test.op"() : () -> {value} {store}')[0]):
            assert str(choice.choices(kind, PVC, "pvc", 22)[0].attribute) == wanted[1]


def random_attribute(rng: random.Random, rank: int = 2) -> LayoutAttr:
    lanes = rng.choice(((1, 16), (1, 16), (16, 1), (2, 8), (4, 4), (8, 2), (1, 8)))
    data = rng.choice(((1, 1), (1, 1), (1, 2), (2, 1), (4, 1), (1, 4)))
    order = rng.choice((None, None, None, (0, 1)))
    return LayoutAttr(lane_layout=lanes, lane_data=data, order=order)


def tiles_match(fragments: np.ndarray[Any, Any], shape: tuple[int, ...], unit: la.Layout) -> bool:
    """Whether every tile of a tensor has its elements in the unit's lanes, and a lane's in the unit's order."""
    rows, width = (int(size) for size in unit.shape)
    if shape[0] % rows or shape[1] % width:
        return False
    lanes = fragments.shape[1]
    held = dict(enumerate(unit.fragment_map()[0]))
    nothing = np.zeros((0, 2), int)  # lanes that a narrow message leaves out
    for top, left in itertools.product(range(0, shape[0], rows), range(0, shape[1], width)):
        for lane in range(lanes):
            mine = fragments[0, lane]
            inside = (mine >= (top, left)).all(1) & (mine < (top + rows, left + width)).all(1)
            if not np.array_equal(mine[inside] - (top, left), held.get(lane, nothing)):
                return False
    return True


def all_units(bits: int, store: bool) -> list[la.Layout]:
    found: list[la.Layout] = []
    for rows, width, count in itertools.product((1, 2, 4, 8, 16, 32), (4, 8, 16, 32), (1, 2, 4)):
        options: list[tuple[bool, bool, int | None]] = [(False, False, None)]
        if not store:
            options += [(True, False, None), (False, True, 32)]
        for transform, transpose, unit in options:
            try:
                if store:
                    if count == 1:
                        found.append(block_store(rows, width, bits).layout)
                else:
                    found.append(block_load(rows, width, bits, count, transform, transpose, unit).layout)
            except la.LayoutError:
                continue
    return found


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("store", [False, True])
def test_a_block_fits_exactly_where_some_message_moves_each_of_its_tiles(seed: int, store: bool) -> None:
    rng = random.Random(seed)
    element, bits = rng.choice((("f32", 32), ("f16", 16), ("i8", 8)))
    shape = rng.choice(((8, 16), (16, 16), (32, 16), (8, 32), (16, 32), (32, 32), (4, 16), (32, 64), (16, 8)))
    attribute = random_attribute(rng)
    try:
        fragments = attribute.layout(shape, PVC).fragment_map()
    except DistributionError:
        assert block(*shape, element, store).problem(attribute, PVC, "pvc") is not None
        return
    fits = any(tiles_match(fragments, shape, unit) for unit in all_units(bits, store))
    problem = block(*shape, element, store).problem(attribute, PVC, "pvc")
    assert (problem is None) == fits, f"{attribute} on {shape} of {element}: {problem}"


@pytest.mark.parametrize("seed", range(60))
def test_a_factor_fits_exactly_where_the_instruction_multiplies_each_of_its_tiles(seed: int) -> None:
    rng = random.Random(seed)
    element, k, acc = rng.choice((("f16", 16, "f32"), ("i8", 32, "i32"), ("tf32", 8, "f32")))
    m, n, depth = rng.choice((4, 8, 16)), rng.choice((16, 32)), k * rng.choice((1, 2))
    units = [dpas(element, element, m=rows) for rows in (1, 2, 4, 8)]
    attribute = random_attribute(rng)
    for number, (demand, shape) in enumerate(
        zip(product(m, n, depth, element, element, acc), ((m, depth), (depth, n), (m, n)), strict=True)
    ):
        problem = demand.problem(attribute, PVC, "pvc")
        try:
            fragments = attribute.layout(shape, PVC).fragment_map()
        except DistributionError:
            assert problem is not None
            continue
        fits = any(tiles_match(fragments, shape, (unit.a, unit.b, unit.c)[number]) for unit in units)
        assert (problem is None) == fits, f"{attribute} on {shape}: {problem}"


@pytest.mark.parametrize("llvm", [22, 23, 24])
@pytest.mark.parametrize("level", ["lane", "inst", "workgroup"])
def test_every_choice_is_accepted_by_llvm_and_has_no_problem(llvm: int, level: str) -> None:
    machine = Machine(lanes=16, subgroups=8)
    asked = [
        *product(64, 64, 64, "f16", "f16", "f32"),
        *product(64, 64, 64, "i8", "i8", "i32"),
        block(64, 64, "f16"),
        block(32, 64, "i8"),
        block(64, 32, "f32", store=True),
        *demands('%m = "test.op"() : () -> !xegpu.mem_desc<64x64xf32> '
                 "%x = xegpu.load_matrix %m[0, 0] : !xegpu.mem_desc<64x64xf32> -> vector<64x64xf32>"),
    ]  # fmt: skip
    for demand in asked:
        found = demand.choices(level, machine, "pvc", llvm)
        assert found, f"{demand} has no choice at level {level}"
        for choice in found:
            shape = demand.value.type.get_shape()  # type: ignore[attr-defined]
            assert choice.attribute.check(shape, llvm) is None  # type: ignore[attr-defined]
            assert demand.problem(choice.attribute, machine, "pvc") is None
            assert choice.cost >= 0
            assert choice.why


_ARRAY = "!xegpu.tensor_desc<8x16xf16, #xegpu.block_tdesc_attr<array_length = 2>>"


@pytest.mark.parametrize(
    ("tile", "hint", "value", "first"),
    [
        (_ARRAY, "", "vector<2x8x16xf16>", "lane_layout = [1, 1, 16], lane_data = [1, 1, 1]"),
        ("!xegpu.tensor_desc<16x16xf16>", "<{packed}>", "vector<8x16x2xf16>",
         "lane_layout = [1, 16, 1], lane_data = [1, 1, 2]"),
        ("!xegpu.tensor_desc<16x8xf32>", "<{transpose = array<i64: 1, 0>}>", "vector<8x16xf32>",
         "lane_layout = [1, 16], lane_data = [1, 1]"),
    ],
)  # fmt: skip
def test_values_of_other_shapes_than_their_block_have_choices(tile: str, hint: str, value: str, first: str) -> None:
    """Blocks side by side, packed rows, a transposed block: the map of the choice is the message's, element by element."""
    text = f'%t = "test.op"() : () -> {tile} %x = xegpu.load_nd %t[0, 0] {hint} : {tile} -> {value}'
    [demand] = demands(text)
    [choice, *_] = demand.choices("lane", PVC, "pvc", 24)
    assert str(choice.attribute) == f"#xegpu.layout<{first}>"
    shape: Any = demand.value.type
    held = choice.attribute.coordinates(tuple(shape.get_shape()), PVC)[0]
    transposed, packed, count = "transpose" in hint, "packed" in hint, 2 if tile == _ARRAY else 1
    rows, width = (16, 8) if transposed else (16, 16) if packed else (8, 16)
    bits = 32 if transposed else 16
    unit = block_load(rows, width, bits, count, packed, transposed).layout.fragment_map()[0]
    row, column = unit[..., 0], unit[..., 1]
    if transposed:
        wanted = np.stack([column, row], -1)
    elif packed:
        wanted = np.stack([row // 2, column, row % 2], -1)
    else:
        wanted = np.stack([column // 16, row, column % 16], -1)
    assert np.array_equal(held, wanted)


@pytest.mark.parametrize("lanes", [(2, 8), (4, 4), (8, 2)])
def test_lane_layouts_that_llvm_ignores_on_a_load_are_reported(lanes: tuple[int, int]) -> None:
    problem = block(8, 16, "f16").problem(LayoutAttr(lane_layout=lanes, lane_data=(1, 1)), PVC, "pvc")
    assert problem is not None
    assert problem.endswith("LLVM ignores such a layout and loads rows of 16 lanes")


def test_the_columns_of_a_in_tf32_go_to_half_of_the_lanes() -> None:
    """A has 8 columns, so the hardware puts two rows side by side; LLVM's [1, 16] and [1, 8] are not what it multiplies."""
    of_a = product(8, 16, 8, "tf32", "tf32", "f32")[0]
    assert [str(one.attribute) for one in of_a.choices("lane", PVC, "pvc", 22)] == [
        "#xegpu.layout<lane_layout = [2, 8], lane_data = [1, 1]>"
    ]
    for lanes in ((1, 16), (1, 8)):
        assert of_a.problem(LayoutAttr(lane_layout=lanes, lane_data=(1, 1)), PVC, "pvc") is not None


@pytest.mark.parametrize(
    ("program", "passes"),
    [
        ("mlir-opt-22", "--xegpu-subgroup-distribute"),
        ("mlir-opt-23", "--xegpu-sg-to-lane-distribute"),
        ("mlir-opt-24", "--xegpu-sg-to-lane-distribute"),
    ],
)
def test_llvm_loads_rows_whatever_the_lane_layout_says(program: str, passes: str) -> None:
    """A load in [2, 8] or [4, 4] becomes the same operation as one in [1, 16]: the layout is ignored, silently."""
    mlir = require(program) if program.endswith("22") else require_new(program)
    texts: list[str] = []
    for lanes in ("[1, 16]", "[2, 8]", "[4, 4]"):
        layout = f"#xegpu.layout<lane_layout = {lanes}, lane_data = [1, 1]>"
        tile = f"!xegpu.tensor_desc<8x16xf32, {layout}>"
        texts.append(f"""gpu.module @m [#xevm.target<chip = "pvc">] {{
          gpu.func @k(%p: memref<64x64xf32>, %q: memref<64x64xf32>) {{
          %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> {tile}
          %u = xegpu.create_nd_tdesc %q : memref<64x64xf32> -> {tile}
          %x = xegpu.load_nd %t[0, 0] <{{layout = {layout}}}> : {tile} -> vector<8x16xf32>
          xegpu.store_nd %x, %u[0, 0] <{{layout = {layout}}}> : vector<8x16xf32>, {tile}
          gpu.return }} }}""")
    done = run([mlir, "--split-input-file", passes, "--canonicalize", "--cse"], "\n// -----\n".join(texts))
    assert done.returncode == 0, done.stderr[:2000]
    loads = [re.findall(r"load_nd .*", part) for part in done.stdout.split("// -----")]
    assert loads[0] == loads[1] == loads[2]
    assert loads[0][0].endswith("-> vector<8xf32>")


def test_a_tile_of_instructions_must_be_one_message() -> None:
    problem = block(16, 16, "f16").problem(LayoutAttr(inst_data=(8, 8)), PVC, "pvc")
    assert problem is not None
    assert problem.startswith("no load message of pvc moves 8x8 elements of 16 bits; there are 1x16")
    assert block(16, 16, "f16").problem(LayoutAttr(inst_data=(8, 16)), PVC, "pvc") is None


def test_chips_without_block_messages_or_other_lanes_say_so() -> None:
    assert block(8, 16, "f16").problem(LayoutAttr(lane_layout=(1, 8)), None, "dg2") == "dg2 has no 2D block messages"
    wide = product(8, 16, 16, "f16", "f16", "f32")[0].problem(LayoutAttr(lane_layout=(1, 16)), Machine(lanes=32), "pvc")
    assert wide == "a subgroup has 32 lanes; dpas on pvc needs 16"
    none = product(8, 16, 16, "f32", "f32", "f32")[0].problem(LayoutAttr(lane_layout=(1, 16)), PVC, "pvc")
    assert none is not None
    assert none.startswith("dpas f32 x f32 -> f32 on pvc: no such instruction")
    assert product(8, 16, 16, "f32", "f32", "f32")[0].choices("lane", PVC, "pvc", 24) == ()


@pytest.mark.parametrize("seed", range(40))
def test_a_reduction_costs_what_its_steps_do(seed: int) -> None:
    """In-lane additions, counted on the map: every element of a lane but one for each result of that lane."""
    rng = random.Random(seed)
    attribute = LayoutAttr(lane_layout=rng.choice(((1, 16), (16, 1), (4, 4))), lane_data=(1, 1))
    layout, dim = attribute.layout((16, 32)), rng.randrange(2)
    found = reduction(layout, (dim,), target="pvc")
    held = layout.fragment_map()[0, 0]
    kept = len({int(element[1 - dim]) for element in held})
    assert found.results == kept
    assert found.in_lane * kept == len(held)
    assert found.lane_cost == len(held) - kept
    sharers = {place[1] for x in range((16, 32)[dim]) for place in layout.owners((x, 0) if dim == 0 else (0, x))}
    assert found.across_lanes == len(sharers)
    assert found.lanes_cost == (len(sharers).bit_length() - 1) * kept * 4  # a shuffle of 3 slots, an addition


def test_reductions_refuse_what_they_cannot_count() -> None:
    layout = la.Layout.parse("d0 = 8@reg, d1 = 16@lane")
    with pytest.raises(la.LayoutError, match="reduction of dimension 2"):
        reduction(layout, (2,))
    with pytest.raises(la.LayoutError, match="symbols"):
        reduction(la.Layout.parse("d0 = M@reg"), (0,))
    with pytest.raises(la.LayoutError):
        reduction("d0 = 8@reg", (0,))  # type: ignore[arg-type]
