"""One conversion has one price, whoever is asked: Python, `convert`, `show`, `check`, `propagate`, `lower`, and their JSON."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import layoutalg as la
from layoutalg.cli import main
from layoutalg.core.elements import element_bits
from layoutalg.show.modules import describe_module
from layoutalg.xegpu import LayoutAttr

Capture = pytest.CaptureFixture[str]

TILES = "#xegpu.layout<sg_layout = [2, 2], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
STRIPS = "#xegpu.layout<sg_layout = [4, 1], sg_data = [8, 32], lane_layout = [1, 16], lane_data = [1, 1]>"
MACHINE = "known_block_size = array<i32: 64, 1, 1>, intel_reqd_sub_group_size = 16 : i32"
LANES = ", lane_layout = [1, 16], lane_data = [1, 1]"


def kernel(source: object, result: object, sizes: str, loop: bool = False) -> str:
    """A kernel of four subgroups that loads a tile, converts it and stores it."""
    convert = f"%y = xegpu.convert_layout %x <{{input_layout = {source}, target_layout = {result}}}> : vector<{sizes}>"
    store = f"xegpu.store_nd %y, %u[0, 0] <{{layout = {result}}}> : vector<{sizes}>, !xegpu.tensor_desc<{sizes}>"
    body = f"{convert}\n    {store}"
    if loop:
        body = f"scf.for %i = %zero to %ten step %one {{\n    {body}\n    }}"
    element = sizes.rpartition("x")[2]
    return f"""gpu.module @m {{
  gpu.func @k(%p: memref<64x64x{element}>, %q: memref<64x64x{element}>) kernel attributes {{{MACHINE}}} {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %ten = arith.constant 10 : index
    %t = xegpu.create_nd_tdesc %p : memref<64x64x{element}> -> !xegpu.tensor_desc<{sizes}>
    %u = xegpu.create_nd_tdesc %q : memref<64x64x{element}> -> !xegpu.tensor_desc<{sizes}>
    %x = xegpu.load_nd %t[0, 0] <{{layout = {source}}}> : !xegpu.tensor_desc<{sizes}> -> vector<{sizes}>
    {body}
    gpu.return
  }}
}}
"""


def answer(capsys: Capture, *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("with_lanes", [True, False])
def test_every_command_says_the_same_price_and_assumes_the_same(
    with_lanes: bool, tmp_path: Path, capsys: Capture
) -> None:
    source, result = (text if with_lanes else text.replace(LANES, "") for text in (TILES, STRIPS))
    path = tmp_path / "kernel.mlir"
    path.write_text(kernel(source, result, "32x32xf32"))
    paid = la.price(source, result, (32, 32), "f32", la.Machine(lanes=16))
    assert paid.slots == 64
    level = "lane" if with_lanes else "workgroup"
    prices = {
        "check": answer(capsys, "check", str(path))["conversions"][0]["price"],
        "show": answer(capsys, "show", str(path))["conversions"][0]["price"],
        "convert": answer(capsys, "convert", source, result, "32x32", "--subgroup-size", "16")["price"],
        "module": la.read(str(path)).conversions[0].price(la.Machine(lanes=16)).facts,
    }
    if with_lanes:  # without lanes, every lane of the lowered code would hold the whole block
        prices["lower"] = answer(capsys, "lower", str(path))["exchanges"][0]["price"]
    assert {name: price for name, price in prices.items() if price != paid.facts} == {}
    decided = answer(capsys, "propagate", str(path), "--level", level)["values"]
    assert [one["cost"] for one in decided if one["operation"] == "xegpu.convert_layout"] == [64]
    assert la.convert(source, result, (32, 32), machine=la.Machine(lanes=16), target="pvc", portable=True).cost == 64
    for command in ("check", "show"):
        capsys.readouterr()
        main([command, str(path)])
        assert "; ".join((paid.text, *paid.assumptions)) in " ".join(capsys.readouterr().out.split())


def test_a_conversion_that_propagation_places_and_the_repair_of_check_have_the_same_price(
    tmp_path: Path, capsys: Capture
) -> None:
    text = kernel(TILES, STRIPS, "32x32xf32")
    lines = [line for line in text.replace("%y", "%x").splitlines() if "convert_layout" not in line]
    path = tmp_path / "kernel.mlir"
    path.write_text("\n".join(lines))
    paid = la.price(TILES, STRIPS, (32, 32)).facts
    [placed] = answer(capsys, "propagate", str(path))["conversions"]
    assert (placed["price"], placed["cost"]) == (paid, paid["slots"])
    assert main(["check", str(path), "--json"]) == 1
    [mistake] = json.loads(capsys.readouterr().out)["mistakes"]
    repair = next(one for one in mistake["repairs"] if one["kind"] == "convert")
    assert (repair["price"], repair["cost"]) == (paid, paid["slots"])


def test_in_a_loop_the_price_is_paid_as_often_as_it_runs() -> None:
    done = la.propagate(kernel(TILES, STRIPS, "32x32xf32", loop=True))
    assert [one.cost for one in done.decisions if one.operation == "xegpu.convert_layout"] == [10 * 64]


def test_a_conversion_of_instruction_tiles_is_redundant_for_check_and_propagate() -> None:
    tall, flat = (
        f"#xegpu.layout<inst_data = [{rows}, 16], lane_layout = [1, 16], lane_data = [1, 1]>" for rows in (16, 8)
    )
    text = kernel(tall, flat, "16x16xf32")
    [checked] = la.check(text).conversions
    assert (checked.is_redundant, checked.cost) == (True, 0)
    done = la.propagate(text)
    assert [one.name for one in done.removed] == ["%y"]
    assert done.conversions == ()
    assert "convert_layout" not in str(done)
    above = la.propagate(text, level="inst")  # passes that cut by instruction tiles want it written
    assert str(above).count("convert_layout") == 1
    assert [one.cost for one in above.decisions if one.operation == "xegpu.convert_layout"] == [0]
    assert la.lower(la.read(text)).exchanges == ()


def powers(rng: random.Random, product: int, rank: int) -> tuple[int, ...]:
    sizes = [1] * rank
    while product > 1:
        sizes[rng.randrange(rank)] *= 2
        product //= 2
    return tuple(sizes)


def layout_of(rng: random.Random, shape: tuple[int, ...], subgroups: bool, lanes: bool) -> LayoutAttr:
    """A random layout with these levels that fits a shape."""
    while True:
        over = powers(rng, 4, len(shape)) if subgroups else None
        block = tuple(size // count for size, count in zip(shape, over or (1,) * len(shape), strict=True))
        lane = powers(rng, 16, len(shape)) if lanes else None
        data = tuple(rng.choice((1, 1, 2)) for _ in shape) if lanes else None
        found = LayoutAttr(over, None if over is None else block, None, lane, data)
        if all(block) and found.check(shape) is None:
            return found


def cases(count: int) -> list[tuple[LayoutAttr, LayoutAttr, tuple[int, ...], str, str]]:
    rng = random.Random(23)
    found: list[tuple[LayoutAttr, LayoutAttr, tuple[int, ...], str, str]] = []
    for _ in range(count):
        subgroups, lanes = rng.choice(((True, True), (True, False), (False, True)))
        shape = rng.choice(((64,), (32, 32), (16, 64), (32, 16), (4, 16, 16)))
        pair = [layout_of(rng, shape, subgroups, lanes) for _ in range(2)]
        found.append((pair[0], pair[1], shape, rng.choice(("i8", "bf16", "f32", "f64")), rng.choice(("pvc", "bmg"))))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_the_price_of_random_conversions_is_equal_through_every_door(part: int, capsys: Capture) -> None:
    lowered = 0
    for source, result, shape, element, chip in cases(200)[part::4]:
        paid = la.price(source, result, shape, element, 16, chip)
        assert paid.slots is not None, paid
        sizes = f"{'x'.join(map(str, shape))}x{element}"
        plan = la.convert(
            source,
            result,
            shape,
            machine=la.Machine(16),
            element_bits=element_bits(element),
            target=chip,
            portable=True,
        )
        convert = ["convert", "--portable", str(source), str(result), sizes.rpartition("x")[0], "--element", element]
        told = answer(capsys, *convert, "--target", chip, "--subgroup-size", "16")
        assert (plan.cost, told["cost"], told["price"]) == (paid.slots, paid.slots, paid.facts)
        text = f"""func.func @f(%x: vector<{sizes}>) {{
  %y = xegpu.convert_layout %x <{{input_layout = {source}, target_layout = {result}}}> : vector<{sizes}>
  func.return }}"""
        [checked] = la.check(text, target=chip).conversions
        [shown] = describe_module(la.read(text), target=chip).conversions
        assert (checked.price, shown.facts["price"]) == (paid, paid.facts)
        level = "workgroup" if source.lane_layout is None else "lane"
        done = la.propagate(text, target=chip, level=level)
        costs = [one.cost for one in done.decisions if one.operation == "xegpu.convert_layout"]
        assert costs == ([] if checked.is_redundant else [paid.slots])
        if len(shape) == 2 and level == "lane":
            made = la.lower(la.read(kernel(source, result, sizes)), target=chip)
            for exchange in made.exchanges:
                if exchange.operation == "xegpu.convert_layout":
                    assert exchange.price == paid
                    lowered += 1
    assert lowered >= 5


def test_propagate_asks_the_same_price_of_tritons_conversions(tmp_path: Path, capsys: Capture) -> None:
    """LLVM's pass is not asked: it has no tables for Triton."""
    text = """#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
  tt.func @f(%d: tensor<64x64xf32, #mma>, %c: tensor<64x64x!tt.ptr<f32>, #rows>) {
    %e = ttg.convert_layout %d : tensor<64x64xf32, #mma> -> tensor<64x64xf32, #rows>
    tt.store %c, %e : tensor<64x64x!tt.ptr<f32>, #rows>
    tt.return }}"""
    [conversion] = la.check(text).conversions
    assert la.propagate(text).cost == conversion.cost
    path = tmp_path / "kernel.ttgir"
    path.write_text(text)
    assert main(["propagate", str(path), "--explain"]) == 0
    said = capsys.readouterr().out
    assert f"cost {conversion.cost} issue slots" in said
    assert "own propagation" not in said


@pytest.mark.parametrize("name", ["matmul_bt_64x32x32_w4_sm80", "bmm_4x16x16x16_w1_sm80", "chained_32x32x32_w1_gfx942"])
def test_propagate_adds_nothing_to_what_triton_compiled(name: str) -> None:
    """Triton's own output: the operands of its tt.dot are right as they are written."""
    text = (Path(__file__).parents[1] / "oracle" / "data" / "ttgir" / f"{name}.ttgir").read_text()
    done = la.propagate(text)
    assert not done.conversions
    assert "xegpu" not in str(done)
    assert len(la.check(str(done)).conversions) == len(la.check(text).conversions)
