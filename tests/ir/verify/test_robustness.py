# ruff: noqa: E501
"""Whatever an operation has or lacks, `verify` answers with findings and never raises."""

from __future__ import annotations

import random

import pytest

from layoutalg.ir.reading.files import read_file_text
from layoutalg.ir.verify import verify_module
from layoutalg.ir.verify.registry import LLVM_RULES, OUR_RULES

NAMES = sorted(name for name in {*LLVM_RULES, *OUR_RULES} if not name.startswith("test."))
TYPES = (
    "f16", "index", "i1", "vector<f32>", "vector<4x8xf16>", "vector<3xindex>", "memref<f32>", "memref<?x4xf16, 3>", "memref<*xf32>",
    "!xegpu.tensor_desc<8x16xf16>", "!xegpu.tensor_desc<16xf16, #xegpu.scatter_tdesc_attr<>>", "!xegpu.mem_desc<16xf16>",
    "!amx.tile<16x16xf32>", "tensor<?xf32>", "none",
)  # fmt: skip
PROPERTIES = (
    "const_offsets = array<i64: 0, -9223372036854775808>", "permutation = array<i64: 5>", "static_position = array<i64: 9>", "packed",
    "kind = 3 : i64", "indexing_maps = []", "iterator_types = []", "operandSegmentSizes = array<i32: 1, 7>", "value = 1.0 : f16",
    "reduction_dims = array<i64: 0, 0>", "offsets = [1]", "sizes = [1]", "strides = [1]", "layout = #xegpu.layout<inst_data = [8]>",
    "input_layout = #xegpu.layout<inst_data = [8]>", "target_layout = #xegpu.layout<lane_layout = [8]>", "callee = @f",
    "static_sizes = array<i64: 4>", "static_offsets = array<i64: 4>", "static_strides = array<i64>", "chunk_size = 0 : i64",
    "l1_hint = #xegpu.cache_hint<streaming>", "nbarrier_num = 1 : i64", "mask_dim_sizes = array<i64: 1>",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_no_operation_makes_verify_raise(name: str) -> None:
    rng = random.Random(name)
    for _ in range(25):
        operands = [rng.choice(TYPES) for _ in range(rng.randrange(6))]
        results = [rng.choice(TYPES) for _ in range(rng.randrange(3))]
        properties = ", ".join(rng.sample(PROPERTIES, rng.randrange(5)))
        regions = ", ".join(["{}", "{^bb0(%z: f32): }", '{"scf.yield"() : () -> ()}'][: rng.randrange(4)])
        given = f" <{{{properties}}}>" if properties else ""
        inside = f" ({regions})" if regions else ""
        used = ", ".join(f"%a{number}" for number in range(len(operands)))
        arguments = ", ".join(f"%a{number}: {kind}" for number, kind in enumerate(operands))
        kinds = f"({', '.join(operands)}) -> ({', '.join(results)})"
        text = f'func.func @f({arguments}) {{\n"{name}"({used}){given}{inside} : {kinds}\nreturn\n}}\n'
        for part in read_file_text(text).modules:
            for llvm in (22, 24):
                assert isinstance(verify_module(part.module, llvm=llvm, target="pvc"), tuple)
