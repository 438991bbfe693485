"""One line of a vector, its broadcasts, and several subgroups: what LLVM writes, or words; never an exception of Python.

The layouts are what mlir-opt-24 and mlir-opt-23 wrote; `tests/oracle/test_like_llvm.py` asks them on hundreds of such modules.
"""

from __future__ import annotations

import re

import pytest

import layoutalg as la
from layoutalg.core.errors import LayoutError
from layoutalg.ir import read_module, write_module
from layoutalg.side.llvm_passes import propagated_like
from tests.side.llvm_passes.lines import kernel

HEAD = """gpu.module @m { gpu.func @k(ARGUMENTS) kernel
    attributes {known_block_size = array<i32: ITEMS, 1, 1>, intel_reqd_sub_group_size = 16 : i32} {
  %c0 = arith.constant 0 : index
"""


def module(body: str, arguments: str, subgroups: int = 1) -> str:
    return HEAD.replace("ARGUMENTS", arguments).replace("ITEMS", str(16 * subgroups)) + body + "\n  gpu.return } }"


LINE, BLOCK = "!xegpu.tensor_desc<64xf32>", "!xegpu.tensor_desc<64x64xf32>"
BROADCAST = f"""  %x = xegpu.load_nd %a[%c0] : {LINE} -> vector<64xf32>
  %y = vector.broadcast %x : vector<64xf32> to vector<64x64xf32>
  xegpu.store_nd %y, %b[%c0, %c0] : vector<64x64xf32>, {BLOCK}"""
SCATTER = """  %x = arith.constant dense<1.0> : vector<64xf32>
  %i = vector.step : vector<64xindex>
  %m = arith.constant dense<true> : vector<64xi1>
  xegpu.store %x, %p[%i], %m : vector<64xf32>, i64, vector<64xindex>, vector<64xi1>"""


def layouts(text: str, operation: str) -> list[str]:
    """The layouts in the lines of an operation, without the types of descriptors."""
    lines = [line for line in text.splitlines() if operation in line]
    return re.findall(r"layout(?:_\w+)? = #xegpu\.(?:layout<)?(.*?)>?[}>]", "\n".join(lines).partition(" : ")[0])


def test_a_line_that_is_broadcast_is_loaded_in_instructions_of_16_and_converted() -> None:
    found = la.propagate(module(BROADCAST, f"%a: {LINE}, %b: {BLOCK}"), like="llvm24", level="inst").module.source
    assert layouts(found, "xegpu.load_nd") == ["inst_data = [16], lane_layout = [16], lane_data = [1]"]
    assert "input_layout = #xegpu.layout<inst_data = [16], lane_layout = [16], lane_data = [1]>" in found
    wanted = "#xegpu.layout<inst_data = [8, 16], lane_layout = [1, 16], lane_data = [1, 1]>, dims = [0]>"
    assert f"target_layout = #xegpu.slice<{wanted}" in found


@pytest.mark.parametrize("like", ["llvm23", "llvm24"])
@pytest.mark.parametrize(("subgroups", "share"), [(1, 64), (2, 32), (4, 16)])
def test_a_scatter_is_divided_among_the_subgroups(like: str, subgroups: int, share: int) -> None:
    found = la.propagate(module(SCATTER, "%p: i64", subgroups), like=like, level="workgroup").module.source
    said = f"#xegpu.layout<sg_layout = [{subgroups}], sg_data = [{share}]>"
    assert found.count(said) == 4  # the numbers, the offsets, the mask, and the store


def test_what_cannot_be_divided_among_the_subgroups_is_refused_in_words() -> None:
    with pytest.raises(LayoutError, match="Failed to determine required layout for store scatter"):
        la.propagate(module(SCATTER, "%p: i64", 8), like="llvm24", level="workgroup")
    with pytest.raises(LayoutError, match="Unable to determine the number of subgroups"):
        la.propagate(module(SCATTER, "%p: i64", 3), like="llvm24", level="workgroup")


@pytest.mark.parametrize("like", ["llvm23", "llvm24"])
def test_instructions_of_a_line_in_blocks_are_not_defined(like: str) -> None:
    body = f"""  %x = arith.constant dense<1.0> : vector<64xf32>
  xegpu.store_nd %x, %a[%c0] : vector<64xf32>, {LINE}"""
    with pytest.raises(LayoutError, match="what happens is not defined"):
        la.propagate(module(body, f"%a: {LINE}"), like=like, level="inst")


def test_a_line_of_rows_is_divided_by_what_each_subgroup_holds() -> None:
    body = SCATTER.replace(
        "  %x = arith.constant dense<1.0> : vector<64xf32>",
        "  %z = arith.constant dense<1.0> : vector<4x16xf32>\n  %w = math.exp %z : vector<4x16xf32>\n"
        "  %x = vector.shape_cast %w : vector<4x16xf32> to vector<64xf32>",
    )
    found = la.propagate(module(body, "%p: i64", 4), like="llvm24", level="workgroup").module.source
    assert layouts(found, "math.exp") == ["sg_layout = [4, 1], sg_data = [1, 16]"]


FIRST_CALL = """gpu.module @m { gpu.func @k(%m: memref<16x16xf32>) kernel {
  xegpu.prefetch_nd %m : memref<16x16xf32>
  gpu.return } }"""


@pytest.mark.parametrize("level", ["lane", "inst", "workgroup"])
@pytest.mark.parametrize("like", ["llvm22", "llvm23", "llvm24"])
def test_a_prefetch_of_no_descriptor_is_refused_in_words(like: str, level: str) -> None:
    with pytest.raises(LayoutError):
        la.propagate(FIRST_CALL, like=like, level=level)


@pytest.mark.parametrize("seeds", [range(8), pytest.param(range(8, 100), marks=pytest.mark.slow)])
@pytest.mark.parametrize("level", ["lane", "inst", "workgroup"])
@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_no_exception_of_python_leaves_the_propagation(llvm: int, level: str, seeds: range) -> None:
    answered = 0
    for seed in seeds:
        text = kernel(seed) if llvm == 22 else write_module(read_module(kernel(seed)), llvm=llvm)
        try:
            propagated_like(read_module(text), llvm, level)
        except LayoutError as problem:
            assert str(problem)
        else:
            answered += 1
    assert answered
