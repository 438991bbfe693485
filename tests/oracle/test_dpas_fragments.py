"""Every operand fragment of the 23 DPAS instructions, lane by lane, component by component.

The tables were computed from the formulas of the extension texts and checked against their worked examples (see the
`sources` and `cross_checks` in the file). A component is what a lane's vector element holds: several elements, the first
in the low bits.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layoutalg.core import Layout
from layoutalg.hardware import (
    BlockLoad,
    BlockStore,
    block_load,
    block_store,
    dpas,
    dpas_instructions,
    row_fragment,
)

with gzip.open(Path(__file__).parent / "data" / "dpas_fragments.json.gz", "rt") as file:
    FACTS: dict[str, Any] = json.load(file)
ROWS: list[dict[str, Any]] = FACTS["dpas"]


def name(row: dict[str, Any]) -> str:
    return f"{row['builtin'].removeprefix('intel_sub_group_')}-{row['acc_type']}-simd{row['simd']}"


def components(fragment: Layout, bits: int, component_bits: int) -> np.ndarray:
    """A fragment as [lane, component, element in the component, (row, column)]."""
    held = fragment.fragment_map()[0]
    each = component_bits // bits
    return held.reshape(held.shape[0], held.shape[1] // each, each, 2)


def test_all_instructions_of_the_tables_are_known_and_no_others() -> None:
    known = {(d.builtin, d.acc_type, d.subgroup_size) for t in ("pvc", "dg2") for d in dpas_instructions(t)}
    assert known == {(row["builtin"], row["acc_type"], row["simd"]) for row in ROWS}
    assert len(ROWS) == len(known) == 23


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_fragments_agree_lane_by_lane_and_component_by_component(row: dict[str, Any]) -> None:
    found = dpas(row["a_type"], row["b_type"], row["acc_type"], target="pvc" if row["simd"] == 16 else "dg2")
    assert (found.subgroup_size, found.n, found.k) == (row["simd"], row["N"], row["K"])
    bits = row["elem_bits"]
    a = np.array(row["A_lane_component_to_row_col_M8"])
    b = np.array(row["B_lane_component_to_row_col"])
    c = np.array(row["C_lane_component_to_row_col_M8"])
    assert np.array_equal(components(found.a, bits, found.a_bits), a)
    assert np.array_equal(components(found.b, bits, found.b_bits), b)
    assert np.array_equal(components(found.c, found.c_bits, found.c_bits), c)


@pytest.mark.parametrize("row", ROWS, ids=name)
@pytest.mark.parametrize("m", [1, 2, 4, 8])
def test_fewer_rows_are_the_first_rows_of_the_table(row: dict[str, Any], m: int) -> None:
    """The tables list M = 8; the rules beside them give row r its own component (tf32: rows 2c and 2c + 1)."""
    target = "pvc" if row["simd"] == 16 else "dg2"
    found = dpas(row["a_type"], row["b_type"], row["acc_type"], target=target, m=m)
    for part, table in ((found.a, "A_lane_component_to_row_col_M8"), (found.c, "C_lane_component_to_row_col_M8")):
        stated = {}
        for lane, parts in enumerate(row[table]):
            for component, elements in enumerate(parts):
                for low, element in enumerate(elements):
                    stated[tuple(element)] = (0, lane, component * len(elements) + low)
        for element in np.ndindex(part.shape):
            assert part.owners(element) == [stated[element]]


def table_of(builtin: str, operand: str, acc: str = "f32") -> np.ndarray:
    rows = [
        r for r in ROWS if r["builtin"] == f"intel_sub_group_{builtin}" and r["simd"] == 16 and acc == r["acc_type"]
    ]
    (row,) = rows
    key = next(k for k in row if k.startswith(f"{operand}_lane_component"))
    return np.array(row[key])


F16, I8, TF32 = "f16_f16_matrix_mad_k16", "i8_i8_matrix_mad_k32", "tf32_tf32_matrix_mad_k8"
# The facts' cross checks: which operand's table a message must reproduce, and the bits of its elements and components.
CROSS_CHECKS: dict[str, tuple[np.ndarray, BlockLoad | BlockStore, int, int]] = {
    "A f16 8x16  = read_16b_8r16x1c": (table_of(F16, "A"), block_load(8, 16, 16), 16, 16),
    "A i8  8x32  = read_8b_8r32x1c": (table_of(I8, "A", "s32"), block_load(8, 32, 8), 8, 16),
    "A tf32 8x8  = read_32b_8r8x1c": (table_of(TF32, "A"), block_load(8, 8, 32), 32, 32),
    "B f16 16x16 = read_transform_16b_16r16x1c": (table_of(F16, "B"), block_load(16, 16, 16, transform=True), 16, 32),
    "B f16 16x16 = read_16b_16r16x1c reinterpreted (per-lane bits identical, no transform needed)": (
        table_of(F16, "B"),
        block_load(16, 16, 16),
        16,
        32,
    ),
    "B i8  32x16 = read_transform_8b_32r16x1c": (
        table_of(I8, "B", "s32"),
        block_load(32, 16, 8, transform=True),
        8,
        32,
    ),
    "B tf32 8x16 = read_32b_8r16x1c": (table_of(TF32, "B"), block_load(8, 16, 32), 32, 32),
    "C f32 8x16  = write_32b_8r16x1c": (table_of(F16, "C"), block_store(8, 16, 32), 32, 32),
    "C f16 8x16  = write_16b_8r16x1c": (table_of(F16, "C", "f16"), block_store(8, 16, 16), 16, 16),
    "B^T tf32: read_transpose_32b_16r8x1c of B^T[16x8] gives B[8x16]": (
        table_of(TF32, "B")[..., ::-1],
        block_load(16, 8, 32, transpose=True),
        32,
        32,
    ),
}


@pytest.mark.parametrize("check", [row["check"] for row in FACTS["cross_checks"]])
def test_operands_are_what_the_messages_deliver(check: str) -> None:
    table, message, bits, component_bits = CROSS_CHECKS[check]
    assert np.array_equal(components(message.layout, bits, component_bits), table)
    if isinstance(message, BlockLoad):
        assert message.name in check


def test_the_messages_are_those_of_the_table() -> None:
    def there(kind: str, **how: bool) -> set[tuple[int, int, int, int]]:
        found = set()
        for bits, widths in FACTS["block2d"][kind].items():
            for width, sizes in widths.items():
                for w in width.removesuffix(" wide").split(" or "):
                    found |= {(r, int(w), int(bits[:-1]), n) for r in sizes["rows"] for n in sizes["count"]}
        return found

    def ours(make: Any, **how: bool) -> set[tuple[int, int, int, int]]:
        found = set()
        for rows in (1, 2, 3, 4, 8, 16, 32, 64):
            for width in (4, 8, 16, 32, 64):
                for bits in (8, 16, 32, 64):
                    for count in (1, 2, 3, 4):
                        try:
                            make(rows, width, bits, count, **how)
                        except ValueError:
                            continue
                        found.add((rows, width, bits, count))
        return found

    assert ours(block_load) == there("load")
    assert ours(block_load, transform=True) == there("load_transform")
    # The extension's table has blocks of 8 columns alone; the graphics compiler has these too (its builtins' names, IGC 2.40).
    narrow = {(8, 8, 32, 1), (16, 4, 32, 1), (32, 4, 32, 1)}
    assert ours(block_load, transpose=True) == there("load_transpose") | narrow
    assert ours(lambda r, w, b, n: block_store(r, w, b) if n == 1 else block_load(0, 0, 0)) == there("store")


# The worked examples of SPV_INTEL_2d_block_io rev 1: rows, columns, lanes, and what each invocation is assigned.
SPIRV = [
    (2, 4, 4, [["00", "10"], ["01", "11"], ["02", "12"], ["03", "13"]]),
    (4, 2, 4, [["00", "20"], ["01", "21"], ["10", "30"], ["11", "31"]]),
    (2, 8, 4, [["00", "01", "10", "11"], ["02", "03", "12", "13"], ["04", "05", "14", "15"], ["06", "07", "16", "17"]]),
]


@pytest.mark.parametrize(("rows", "columns", "lanes", "assigned"), SPIRV)
def test_worked_examples_of_the_spirv_text(rows: int, columns: int, lanes: int, assigned: list[list[str]]) -> None:
    held = row_fragment(rows, columns, lanes).fragment_map()[0]
    assert [["".join(map(str, c)) for c in lane] for lane in held.tolist()] == assigned


def test_transposed_and_transformed_examples_of_the_spirv_text() -> None:
    """Example 4: a 4x2 block transposed, on 4 lanes; examples 5 and 6: packed rows, lowest row in the lowest bits."""
    transposed = BlockLoad(4, 2, 32, transpose=True, transpose_bits=32, subgroup_size=4).layout.fragment_map()[0]
    assert transposed.tolist() == [[[lane, 0], [lane, 1]] for lane in range(4)]
    for rows in (2, 4):
        packed = BlockLoad(rows, 4, 32 // rows, transform=True, subgroup_size=4).layout.fragment_map()[0]
        assert packed.tolist() == [[[row, lane] for row in range(rows)] for lane in range(4)]
