"""NVIDIA's instructions against those who say the same, asked in every run: tensor-layouts, Triton's wheel, IREE's names.

An operand's `confirmed` names them. Whoever is named is asked here for that very operand; what nobody else says has "one
source" in its report.
"""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg.core.layout import Layout
from layoutalg.instructions import Instruction, InstructionOperand, instruction
from layoutalg.instructions.nvidia.sources import IREE, TRITON
from layoutalg.instructions.registry import Row, rows
from tests.oracle.test_instructions import held, indices
from tests.oracle.toolchains import require_module
from tests.oracle.triton_wheel import ask, forked

# tensor-layouts has CUTLASS's traits, copied by hand.

KNOWN_WRONG = {("SM80_16x8x32_S32S4S4S32_TN", "BLayout")}
"""Where tensor-layouts differs from PTX and from CUTLASS."""


@pytest.fixture(scope="module")
def atoms() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = require_module("tensor_layouts.atoms_nv")
    return {one.name: one for one in vars(module).values() if type(one).__name__ in ("MMAAtom", "CopyAtom")}


def test_tensor_layouts_has_the_same_traits(atoms: dict[str, Any]) -> None:
    fields = {
        "ALayout": "a_layout", "BLayout": "b_layout", "CLayout": "c_layout",
        "SrcLayout": "src_layout_bits", "DstLayout": "dst_layout_bits",
    }  # fmt: skip
    listed, compared, wrong = rows(), Counter[str](), set[tuple[str, str]]()
    for name, atom in atoms.items():
        if name not in listed:
            continue
        ours = instruction(name).traits()
        for key, field in fields.items():
            theirs = getattr(atom, field, None)
            if theirs is None or key not in ours:
                continue
            text = f"{theirs.shape}:{theirs.stride}".replace(" ", "").replace(",)", ")")
            mine = ours[key]
            compared[key] += 1
            if not np.array_equal(indices(mine) if isinstance(mine, str) else held(mine), indices(text)):
                wrong.add((name, key))
    assert wrong == KNOWN_WRONG
    assert min(compared[key] for key in ("ALayout", "BLayout", "CLayout")) > 50
    assert compared["SrcLayout"] >= 6


# Triton

V2 = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
V3 = "#ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, {n}, {k}]}}>"
WIDTHS = {"f64": 64, "tf32": 32, "f16": 16, "bf16": 16}


def from_bases(bases: dict[str, Any], inputs: tuple[str, ...], rank: int = 2) -> list[Any]:
    """The coordinates of every value of several inputs, each an array [value, rank]."""
    found: list[Any] = []
    for name in inputs:
        places = np.zeros((1, rank), np.int64)
        for basis in bases.get(name, []):
            places = np.concatenate([places, places ^ np.array(basis)])
        found.append(places)
    return found


def by_triton(text: str, shape: tuple[int, ...], element: str) -> Any:
    """What Triton says that [warp, lane, register] holds."""
    answer = ask(text, shape, element, "tensor")
    assert answer is not None, text
    warps, lanes, registers = from_bases(answer["bases"], ("warp", "lane", "register"))
    return warps[:, None, None] + lanes[None, :, None] + registers[None, None, :]


def element_of(operand: InstructionOperand) -> str:
    """An element of as many bits, in MLIR's words."""
    bits = WIDTHS.get(operand.element, 32 if operand.role == "C" else 8)
    return {8: "i8", 16: "f16", 32: "f32", 64: "f64"}[bits]


def triton_question(ours: Instruction, part: InstructionOperand) -> tuple[str, str]:
    per_register = 32 // {"tf32": 32, "f16": 16, "bf16": 16}.get(ours["A"].element, 8)
    parent, element = V2, element_of(part)
    if ours.family == "wgmma":
        parent = V3.format(n=ours.shape[1] if part.role == "C" else 8, k=16 if part.role == "C" else ours.shape[2])
    if part.role == "C":
        return parent, "f32"
    return f"#ttg.dot_op<{{opIdx = {'AB'.index(part.role)}, parent = {parent}, kWidth = {per_register}}}>", element


def confirmed(family: str, by: str) -> list[tuple[Row, Instruction, InstructionOperand]]:
    found: list[tuple[Row, Instruction, InstructionOperand]] = []
    for row in rows().values():
        if row.family == family and row.vendor == "NVIDIA":
            ours = row.build()
            found += [(row, ours, part) for part in ours.parts if by in part.confirmed]
    return found


@pytest.mark.parametrize("family", ["mma.sync", "wgmma"])
def test_triton_holds_matrices_so(family: str) -> None:
    require_module("triton._C.libtriton")
    answers: dict[tuple[str, tuple[int, ...], str], Layout] = {}
    asked = confirmed(family, TRITON)
    for _, ours, part in asked:
        text, element = triton_question(ours, part)
        shape = tuple(int(str(n)) for n in part.layout.shape)
        key = text, shape, element
        if key not in answers:
            answers[key] = part.layout
            assert np.array_equal(part.layout.fragment_map(), by_triton(*key)), (ours.name, part.role)
        assert part.layout == answers[key], (ours.name, part.role)
    assert len(asked) == {"mma.sync": 60, "wgmma": 768}[family]
    assert len(answers) >= {"mma.sync": 7, "wgmma": 9}[family]


def test_triton_has_the_accumulators_of_tensor_memory_so() -> None:
    require_module("triton._C.libtriton")
    asked = confirmed("tcgen05.mma", TRITON)
    seen: dict[tuple[int, int, int], Layout] = {}
    for _, ours, part in asked:
        m, n, _ = ours.shape
        sms = ours.threads
        if seen.setdefault((m, n, sms), part.layout) is not part.layout:
            assert seen[m, n, sms] == part.layout
            continue
        cga = ", CGALayout = [[1, 0]], twoCTAs = true" if sms == 2 else ""
        text = f"#ttng.tensor_memory_encoding<blockM = {m // sms}, blockN = {n}, colStride = 1{cga}>"
        answer = ask(text, (m, n), "f32", "tmem")
        assert answer is not None, text
        lanes, columns = from_bases(answer["bases"], ("row", "col"))
        places = (lanes[:, None] + columns[None, :]).reshape(-1, 2)
        lane, column = (part.layout.owner_map(axis) for axis in ("tmem_lane", "tmem_column"))
        numbers = np.arange(len(places))
        if m == 64:  # Triton leaves every other 16 lanes to a second tile
            kept = numbers // len(columns) & 16 == 0
            places, numbers = places[kept], numbers[kept]
        i, j = places.T
        assert np.array_equal(lane[i, j], numbers // len(columns)), ours.name
        assert np.array_equal(column[i, j], numbers % len(columns)), ours.name
        if sms == 2:  # the second SM has the second half of the rows, in the same places
            sm = part.layout.owner_map("sm")
            assert np.array_equal(sm, np.arange(m)[:, None] // (m // 2))
            assert np.array_equal(lane[: m // 2], lane[m // 2 :])
    assert {(one.shape[:2], one.threads) for _, one, _ in asked} == {
        (size, sms) for sms, ms in ((1, (64, 128)), (2, (128, 256))) for size in product(ms, (64, 128, 256))
    }


def test_triton_loads_tensor_memory_so() -> None:
    gluon = require_module("triton._C.libtriton").gluon_ir
    blackwell = require_module("triton.experimental.gluon.language.nvidia.blackwell")
    float32 = require_module("triton.language").float32

    def question(m: int, n: int, shape: str) -> Any:
        def answer() -> Any:
            memory = blackwell.TensorMemoryLayout((m, n), col_stride=1)
            found = gluon.compute_tmem_reg_layout(float32, [m, n], [m, n], memory, 4, shape)
            return {"register": found.reg_bases, "lane": found.lane_bases}

        return forked(answer)

    asked = confirmed("tcgen05.ld", TRITON) + confirmed("tcgen05.st", TRITON)
    compared = Counter[str]()
    for _, ours, part in asked:
        shape = ours.aliases[0].split(".")[5 if ".red." in ours.aliases[0] else 4]
        columns = int(str(part.layout.shape[1]))
        if columns > 256:
            continue  # more than a tile of Triton has
        if shape == "16x32bx2":  # what Triton takes for 64 rows in halves
            if columns < 4:
                continue
            bases = question(64, columns, "32x32b")
        else:
            bases = question(128, max(columns, 8), shape)
        assert bases is not None, ours.name
        rows_of = int(str(part.layout.shape[0]))
        inside = [b for b in bases["register"] if b[0] < rows_of and b[1] < columns]
        lanes, registers = from_bases({"lane": bases["lane"], "register": inside}, ("lane", "register"))
        assert np.array_equal(part.layout.fragment_map()[0], lanes[:, None] + registers[None, :]), ours.name
        compared[shape] += 1
    assert set(compared) == {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"}
    assert min(compared.values()) >= 10


def test_triton_has_the_canonical_layouts_of_shared_memory() -> None:
    require_module("triton._C.libtriton")
    asked = confirmed("shared memory atom", TRITON)
    for _, ours, part in asked:
        bits = {"u8": 8, "f16": 16, "f32": 32}[part.element]
        rows_of, columns = (int(str(n)) for n in part.layout.shape)
        width = max(rows_of, columns) * bits // 8
        transposed = "MN" in ours.name
        text = (
            f"#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, transposed = {str(transposed).lower()}, "
            f"elementBitWidth = {bits}}}>"
        )
        answer = ask(text, (rows_of, columns), f"i{bits}", "shared")
        assert answer is not None, text
        (places,) = from_bases(answer["bases"], ("offset",))
        address = part.layout.addresses()
        assert [int(address[i, j]) for i, j in places] == list(range(rows_of * columns)), ours.name
    assert len(asked) == 18


# IREE

IREE_NAMES = [one for row in rows().values() for one in row.aliases if one.startswith("NV_MMA_SYNC_")]


@pytest.mark.parametrize("name", IREE_NAMES)
def test_iree_s_reading_is_its_intrinsic(name: str) -> None:
    """`layoutalg.nested` has IREE's intrinsics, which test_iree_mma checks against IREE's own tables."""
    theirs, ours = la.mma(name), instruction(name)
    assert [one.layout for one in ours.parts] == [theirs.lhs, theirs.rhs, theirs.acc]
    assert [one.role for one in ours.parts if IREE in one.confirmed] == ["B", "C"]


def test_iree_orders_the_registers_of_a_in_another_way() -> None:
    """The same elements in each lane, registers of 32 bits in the order 0, 2, 1, 3."""
    differ = 0
    for name in IREE_NAMES:
        ours = instruction(instruction(name).name)
        mine, theirs = (
            one["A"].layout.fragment_map()[0] for one in (ours, ours.read_by("IREE") if ours.readings else ours)
        )
        pairs, their_pairs = (one.reshape(32, 4, -1, 2) for one in (mine, theirs))
        if np.array_equal(mine, theirs):
            continue
        differ += 1
        assert np.array_equal(pairs[:, [0, 2, 1, 3]], their_pairs)
    assert differ == len(IREE_NAMES) == 5


def test_what_nobody_else_says_has_one_source() -> None:
    alone = Counter(
        row.family
        for row in rows().values()
        if row.vendor == "NVIDIA"
        for part in row.build().parts
        if not part.confirmed
    )
    assert set(alone) == {
        "mma.sync", "mma.sync.sp", "wgmma.sp", "tcgen05.mma", "tcgen05.ld", "tcgen05.st", "tcgen05.cp", "ldmatrix", "stmatrix",
        "movmatrix", "shuffle", "copy", "cp.async", "shared memory atom", "tensor memory",
    }  # fmt: skip
    assert "one source" in la.instruction("SM100_UTCCP_4dp256bit_1cta")["source"].source_text()
