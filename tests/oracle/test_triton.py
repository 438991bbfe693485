"""Triton itself says what linear layouts are: its LinearLayout evaluates ours, its Gluon builder makes the layouts of its
own encodings, its parser and printer read and write the attribute. No GPU is needed; an encoding that Triton does not
know aborts the process, so only known ones are asked for.
"""

from __future__ import annotations

import atexit
import os
import random
import sys
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from layoutalg.compare import same
from layoutalg.core import Layout
from layoutalg.cute import parse_cute, to_cute
from layoutalg.hardware import dpas, dpas_instructions
from layoutalg.nested import NestedLayoutAttr
from layoutalg.nested.gpu import mma as la_mma
from layoutalg.triton import LinearLayout, from_linear_layout, parse_linear_layout, to_linear_layout
from layoutalg.xegpu import LayoutAttr, SliceAttr
from tests.oracle.toolchains import require_module
from tests.random_layouts import disjoint_bits, machine_layout

Ints = tuple[int, ...]


class Triton:
    """Triton's Gluon builder, and what it makes of an encoding."""

    def __init__(self) -> None:
        require_module("triton")
        compiled = require_module("triton._C.libtriton")
        self.ir: Any = compiled.ir
        self.context = self.ir.context()
        self.ir.load_dialects(self.context)
        self.builder = compiled.gluon_ir.GluonOpBuilder(self.context)
        self.layouts: ModuleType = require_module("triton.experimental.gluon.language._layouts")
        self.amd: ModuleType = require_module("triton.experimental.gluon.language.amd._layouts")

    def linear(self, encoding: Any, shape: Ints) -> LinearLayout:
        found = self.builder.to_linear_layout(encoding._to_ir(self.builder), list(shape))
        return LinearLayout(found.reg_bases, found.lane_bases, found.warp_bases, found.block_bases, tuple(found.shape))

    def layout(self, encoding: Any, shape: Ints) -> Layout:
        return from_linear_layout(self.linear(encoding, shape))


@pytest.fixture(scope="module")
def triton() -> Triton:
    atexit.register(silence)
    return Triton()


def silence() -> None:
    """Drop what is written to standard error after Python's own end: the wheel's complaint about what it leaks itself."""
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


# Triton's LinearLayout evaluates the bases that we export


def evaluated(layout: Layout) -> list[Any]:
    """The element at every (subgroup, lane, register), asked of Triton's LinearLayout."""
    tools: Any = require_module("triton.tools")
    linear = tools.LinearLayout.from_bases(*to_linear_layout(layout).arguments())
    sg, lane, reg = (layout.axes.get(axis, 1) for axis in ("sg", "lane", "reg"))
    names = [f"dim{d}" for d in range(layout.rank)]
    places = product(range(sg), range(lane), range(reg))
    elements = [linear.apply({"warp": s, "lane": t, "register": r, "block": 0}) for s, t, r in places]
    return [[element[name] for name in names] for element in elements]


# IREE 3.13's table of intrinsics (iree-opt; AMD's matrix calculator agrees): outer, thread, strides, element per operand.
MFMA_16 = {
    "Lhs": ((16, 16), (1, 1), (16, 4), (1, 16), (1, 4)),
    "Rhs": ((16, 16), (1, 1), (4, 16), (16, 1), (4, 1)),
    "Acc": ((16, 16), (1, 1), (4, 16), (16, 1), (4, 1)),
}
MFMA_32 = {
    "Lhs": ((32, 8), (1, 1), (32, 2), (1, 32), (1, 4)),
    "Rhs": ((8, 32), (1, 1), (2, 32), (32, 1), (4, 1)),
    "Acc": ((32, 32), (4, 1), (2, 32), (32, 1), (4, 1)),
}
MFMA_16_F32 = {
    "Lhs": ((16, 4), (1, 1), (16, 4), (1, 16), (1, 1)),
    "Rhs": ((4, 16), (1, 1), (4, 16), (16, 1), (1, 1)),
    "Acc": ((16, 16), (1, 1), (4, 16), (16, 1), (4, 1)),
}
MFMA_16_I8 = {
    "Lhs": ((16, 32), (1, 1), (16, 4), (1, 16), (1, 8)),
    "Rhs": ((32, 16), (1, 1), (4, 16), (16, 1), (8, 1)),
    "Acc": ((16, 16), (1, 1), (4, 16), (16, 1), (4, 1)),
}
WMMA_R3 = {
    "Lhs": ((16, 16), (1, 1), (16, 1), (1, 0), (1, 16)),
    "Rhs": ((16, 16), (1, 1), (1, 16), (0, 1), (16, 1)),
    "Acc": ((16, 16), (8, 1), (2, 16), (16, 1), (1, 1)),
}
WMMA_R4 = {
    "Lhs": ((16, 16), (1, 1), (16, 2), (1, 16), (1, 8)),
    "Rhs": ((16, 16), (1, 1), (2, 16), (16, 1), (8, 1)),
    "Acc": ((16, 16), (1, 1), (2, 16), (16, 1), (8, 1)),
}


def intrinsic(row: tuple[Ints, Ints, Ints, Ints, Ints], lanes: int) -> Layout:
    shape, outer, thread, strides, element = row
    return NestedLayoutAttr((1, 1), (1, 1), outer, thread, element, (0, 0), strides).layout(shape, lanes)


NAMED = {
    "blocked": LayoutAttr((2, 4), (16, 16), (8, 16), (1, 16), (1, 1)).layout((32, 128)),
    "slice": SliceAttr(LayoutAttr(sg_layout=(2, 4), lane_layout=(2, 8)), (0,)).layout((64,)),
    "MFMA accumulator": intrinsic(MFMA_32["Acc"], 64),
    "WMMA left operand": intrinsic(WMMA_R3["Lhs"], 32),
    "WMMA accumulator": intrinsic(WMMA_R4["Acc"], 32),
}


@pytest.mark.parametrize("name", NAMED)
def test_triton_finds_the_same_element_in_every_register(name: str) -> None:
    layout = NAMED[name]
    assert evaluated(layout) == held_by_registers(layout)


def held_by_registers(layout: Layout) -> list[Any]:
    """Our own fragment map, in the order of `evaluated`."""
    return layout.fragment_map().reshape(-1, layout.rank).tolist()


@pytest.mark.parametrize("target", ["pvc", "dg2"])
def test_triton_finds_the_same_element_in_every_register_of_dpas(target: str) -> None:
    seen: set[Layout] = set()
    for instruction in dpas_instructions(target):
        for fragment in (instruction.a, instruction.b, instruction.c):
            if fragment not in seen:
                seen.add(fragment)
                assert evaluated(fragment) == held_by_registers(fragment)
    assert len(seen) > 5


def test_triton_finds_the_same_elements_of_random_layouts() -> None:
    rng = random.Random(1)
    for _ in range(150):
        layout = machine_layout(rng, extents=(2, 2, 4), most=256, ranks=(1, 3))
        assert evaluated(layout) == held_by_registers(layout)


# Triton's own encodings, read by us


def operand(triton: Triton, mma: Any, name: str, width: int) -> Any:
    return mma if name == "Acc" else triton.layouts.DotOperandLayout(0 if name == "Lhs" else 1, mma, width)


@pytest.mark.parametrize(
    ("version", "instruction", "width", "rows"),
    [
        (2, [16, 16, 16], 4, MFMA_16),
        (3, [16, 16, 16], 4, MFMA_16),
        (4, [16, 16, 16], 4, MFMA_16),
        (3, [32, 32, 8], 4, MFMA_32),
        (3, [16, 16, 4], 1, MFMA_16_F32),
        (3, [16, 16, 32], 8, MFMA_16_I8),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["Lhs", "Rhs", "Acc"])
def test_mfma_is_the_same_in_triton_and_in_iree(
    triton: Triton, version: int, instruction: list[int], width: int, rows: dict[str, Any], name: str
) -> None:
    mma = triton.amd.AMDMFMALayout(version, instruction, False, [1, 1])
    assert triton.layout(operand(triton, mma, name, width), rows[name][0]) == intrinsic(rows[name], 64)


@pytest.mark.parametrize(("version", "width", "rows"), [(1, 16, WMMA_R3), (2, 8, WMMA_R4)], ids=["R3", "R4"])
@pytest.mark.parametrize("name", ["Lhs", "Rhs", "Acc"])
def test_wmma_is_the_same_in_triton_and_in_iree(
    triton: Triton, version: int, width: int, rows: dict[str, Any], name: str
) -> None:
    mma = triton.amd.AMDWMMALayout(version, False, [])
    assert triton.layout(operand(triton, mma, name, width), rows[name][0]) == intrinsic(rows[name], 32)


def test_a_transposed_accumulator_is_the_transposed_layout(triton: Triton) -> None:
    plain = triton.layout(triton.amd.AMDMFMALayout(3, [32, 32, 8], False, [1, 1]), (32, 32))
    transposed = triton.layout(triton.amd.AMDMFMALayout(3, [32, 32, 8], True, [1, 1]), (32, 32))
    assert transposed == plain.permute((1, 0))


# The operands of SM80's 16x8x16 MMA as CUTLASS has them (include/cute/atom/mma_traits_sm80.hpp); B is (N, K) there.
@pytest.mark.parametrize(
    ("name", "shape", "text"),
    [
        ("Acc", (16, 8), "((4,8),(2,2)):((32,1),(16,8))"),
        ("Lhs", (16, 16), "((4,8),(2,2,2)):((32,1),(16,8,128))"),
        ("Rhs", (16, 8), "((4,8),(2,2)):((16,1),(8,64))"),
    ],
)
def test_nvidia_operands_of_triton_are_the_atoms_of_cute(triton: Triton, name: str, shape: Ints, text: str) -> None:
    mma = triton.layouts.NVMMADistributedLayout([2, 0], [1, 1], [16, 8])
    layout = triton.layout(operand(triton, mma, name, 2), shape)
    layout = layout.permute((1, 0)) if name == "Rhs" else layout
    assert str(to_cute(layout)) == text
    assert same(parse_cute(text, layout.shape), layout)


@pytest.mark.parametrize(
    ("encoding", "attribute", "shape"),
    [
        (([1, 1], [1, 16], [2, 4], [1, 0]), LayoutAttr(sg_layout=(2, 4), lane_layout=(1, 16)), (2, 64)),
        (([4, 2], [2, 8], [2, 4], [1, 0]), LayoutAttr(sg_layout=(2, 4), lane_layout=(2, 8)), (16, 64)),
        (([1, 1], [2, 8], [2, 4], [0, 1]), LayoutAttr(sg_layout=(2, 4), lane_layout=(2, 8), order=(0, 1)), (4, 32)),
        (
            ([1, 1], [2, 8], [2, 1], [1, 0]),
            LayoutAttr(sg_layout=(2, 1), sg_data=(2, 8), lane_layout=(2, 8)),
            (16, 32),
        ),
    ],
    ids=str,
)
def test_blocked_encodings_are_xegpu_layouts(
    triton: Triton, encoding: tuple[Any, ...], attribute: LayoutAttr, shape: Ints
) -> None:
    blocked = triton.layouts.BlockedLayout(*encoding)
    assert triton.layout(blocked, shape) == attribute.layout(shape)
    sliced = triton.layouts.SliceLayout(0, blocked)
    rest = SliceAttr(attribute, (0,)).layout(shape[1:])
    assert triton.layout(sliced, shape[1:]) == rest


def test_dpas_c_an_iree_nested_layout_and_a_triton_layout_that_mean_the_same_are_equal(triton: Triton) -> None:
    """One column per lane, one row per register, said in four notations."""
    fragment = dpas("f16", "f16", "f32", target="pvc").c
    blocked = triton.layouts.BlockedLayout([8, 1], [1, 16], [1, 1], [0, 1])
    said = {
        "XeGPU": LayoutAttr(lane_layout=(1, 16), lane_data=(1, 1)).layout((8, 16)),
        "IREE": NestedLayoutAttr((1, 1), (8, 1), (1, 1), (1, 16), (1, 1), (0, 0), (0, 1)).layout((8, 16), 16),
        "Triton": triton.layout(blocked, (8, 16)),
        "CuTe": parse_cute("(16,8):(8,1)", (8, 16)).layout(),
    }
    assert all(layout == fragment for layout in said.values())
    assert all(same(layout, fragment) for layout in said.values())


# Other sizes, and text


def random_bases(rng: random.Random) -> LinearLayout:
    """Every bit of a tensor once, and some bits that move nothing; bases of several bits are no distributed layout."""
    groups, shape = disjoint_bits(rng, 3)
    register, lane, warp, block = groups
    return LinearLayout(register, lane, warp, block, shape)


def gluon(triton: Triton, linear: LinearLayout) -> Any:
    lists = [[list(basis) for basis in bases] for bases in (linear.register, linear.lane, linear.warp, linear.block)]
    return triton.layouts.DistributedLinearLayout(*lists, list(linear.shape))


def test_larger_and_smaller_tensors_are_covered_as_triton_covers_them(triton: Triton) -> None:
    rng = random.Random(2)
    for _ in range(1000):
        linear = random_bases(rng)
        shape = tuple(1 << rng.randint(0, 4) for _ in linear.shape)
        assert triton.linear(gluon(triton, linear), shape) == linear.resized(shape)


def test_triton_reads_and_prints_the_text_that_we_print(triton: Triton, tmp_path: Path) -> None:
    rng = random.Random(3)
    for _ in range(20):
        linear = random_bases(rng)
        # Triton wants a warp's 32 lanes and, here, 4 warps.
        rank = len(linear.shape)
        bases = [b for b in (*linear.register, *linear.lane, *linear.warp) if any(b)]
        lanes = (*bases[:5], *[(0,) * rank] * (5 - len(bases[:5])))
        warps = (*bases[5:7], *[(0,) * rank] * (2 - len(bases[5:7])))
        linear = LinearLayout(tuple(bases[7:]), lanes, warps, (), linear.shape)
        tensor = "x".join(map(str, linear.shape))
        file = tmp_path / "module.ttgir"
        file.write_text(
            f'#l = {linear}\nmodule attributes {{"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{\n'
            f"  tt.func @f(%a: tensor<{tensor}xf32, #l>) {{ tt.return }}\n}}\n"
        )
        printed = triton.ir.parse_mlir_module(str(file), triton.context).str()
        text = next(line for line in printed.splitlines() if "#ttg.linear" in line).partition("= ")[2]
        assert text == str(linear)
        assert parse_linear_layout(text, linear.shape) == linear


def test_iree_counts_the_registers_of_mma_sync_s_left_operand_otherwise_than_ptx(triton: Triton) -> None:
    """The other two operands agree; of Lhs the same lanes hold the same elements."""
    mma = triton.layouts.NVMMADistributedLayout([2, 0], [1, 1], [16, 8])
    ours = la_mma("NV_MMA_SYNC_F32_16x8x16_F16")
    assert triton.layout(mma, (16, 8)) == ours.acc
    assert triton.layout(triton.layouts.DotOperandLayout(1, mma, 2), (16, 8)) == ours.rhs
    answer = same(triton.layout(triton.layouts.DotOperandLayout(0, mma, 2), (16, 16)), ours.lhs)
    assert (answer.element, answer.first, answer.second) == ((0, 8), ((0, 4),), ((0, 2),))
    assert str(answer).endswith("; the same work-items hold the same elements, in another register order")
