"""What intrinsics compute: products through fragments, compared with numpy's matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from layoutalg.core import LayoutError, VerificationError
from layoutalg.core.distributing import collect, distribute
from layoutalg.core.elements import numpy_type
from layoutalg.nested.gpu import (
    INTRINSICS,
    VIRTUAL_INTRINSICS,
    DataTiledMMAAttr,
    MMAAttr,
    MMAFragment,
    MultiMma,
    VirtualMMAAttr,
    intrinsic,
    mma,
    parse_gpu,
)
from layoutalg.nested.gpu.products import k_of_slots
from tests.oracle.tables import lines

NAMES = [name for name in (*INTRINSICS, *VIRTUAL_INTRINSICS) if not intrinsic(name).is_opaque]
MATMUL = ("(i, j, k) -> (i, k)", "(i, j, k) -> (k, j)", "(i, j, k) -> (i, j)")
LOOPS = ("parallel", "parallel", "reduction")


def integers(rng: np.random.Generator, shape: tuple[int, ...], element: str) -> Any:
    return rng.integers(-4, 5, shape).astype(numpy_type(element))


def test_all_intrinsics_with_a_layout_are_here() -> None:
    assert len(NAMES) == 100


@pytest.mark.parametrize("name", NAMES)
def test_the_product_through_fragments_is_the_matrix_product(name: str) -> None:
    """A and B meet slot by slot, so this holds only if they agree on the k of every slot."""
    rng = np.random.default_rng(NAMES.index(name))
    one = intrinsic(name)
    for col_major in (False, True) if one.m == one.n else (False,):
        kind = mma(name, col_major)
        operands = [integers(rng, one.shape(f), one.element_type(f)) for f in MMAFragment]
        held = [kind.distribute(f, operand) for f, operand in zip(MMAFragment, operands, strict=True)]
        found = kind.collect("Acc", kind.multiply(held[0], held[1], held[2]))
        a, b, c = (operand.astype(np.float64) for operand in operands)
        assert (found.astype(np.float64) == a @ b + c).all()


@pytest.mark.parametrize("name", NAMES)
def test_lanes_and_registers_meet_at_one_k(name: str) -> None:
    kind = mma(name)
    lhs, rhs = kind.operand("Lhs"), kind.operand("Rhs")
    assert k_of_slots(lhs, -1).tolist() == k_of_slots(rhs, -2).tolist()
    assert lhs.thread[-1] * lhs.tstrides[-1] == rhs.thread[-2] * rhs.tstrides[-2]


def test_virtual_kinds_permute_k_as_measured() -> None:
    """Source: facts of IREE 3.13: native k of MFMA i is virtual 8*(k // 4) + 4*i + k % 4."""
    kind = mma("VMFMA_F32_16x16x32_F16")
    native, count = kind.native if isinstance(kind, VirtualMMAAttr) else (None, 0)
    assert native is not None
    a = np.zeros((16, 32), np.float32)
    a[0] = np.arange(32)
    virtual = kind.distribute("Lhs", a)
    for i, part in enumerate(np.split(virtual, count, -1)):
        row = native.collect("Lhs", part)[0]
        assert row.tolist() == [8 * (k // 4) + 4 * i + k % 4 for k in range(16)]
    f8 = mma("VMFMA_F32_32x32x16_F8E4M3FNUZ").operand("Lhs")
    assert k_of_slots(f8, 1).tolist() == [*range(4), *range(8, 12), *range(4, 8), *range(12, 16)]


def test_a_wrong_layout_gives_a_wrong_product() -> None:
    """The oracle of this file can fail: B spread in another k order than A."""
    kind, other = mma("MFMA_F32_16x16x32_F8E4M3FNUZ"), mma("VMFMA_F32_16x16x32_F8E4M3FNUZ")
    rng = np.random.default_rng(0)
    a, b = rng.integers(1, 9, (16, 32)), rng.integers(1, 9, (32, 16))
    zero = np.zeros((64, 4), np.float32)
    found = kind.collect("Acc", kind.multiply(kind.distribute("Lhs", a), other.distribute("Rhs", b), zero))
    assert (found != a @ b).any()


def tiled_kinds() -> list[DataTiledMMAAttr]:
    kinds = [parse_gpu(row["kind"]) for row in lines("data_tiled.jsonl.gz")]
    rng = np.random.default_rng(1)
    native = [name for name in INTRINSICS if not intrinsic(name).is_opaque and not intrinsic(name).blocks]
    for name in native:
        counts = {f"{part}_{d}": int(rng.integers(1, 4)) for d in "mnk" for part in ("intrinsics", "subgroups")}
        inside = {
            f"operands_interleaving_intrinsics_{d}": tuple(i for i in range(3) if rng.random() < 0.4) for d in "mnk"
        }
        kinds.append(DataTiledMMAAttr(name, **counts, **inside))
    return [kind for kind in kinds if isinstance(kind, DataTiledMMAAttr)]


@pytest.mark.parametrize("kind", tiled_kinds(), ids=lambda kind: str(kind)[50:110])
def test_the_product_of_data_tiled_fragments_is_the_matrix_product(kind: DataTiledMMAAttr) -> None:
    rng = np.random.default_rng(7)
    (m, n, k), one = kind.shape, kind.native.intrinsic
    a = integers(rng, (m, k), one.a_type)
    b = integers(rng, (n, k), one.b_type)
    c = integers(rng, (m, n), one.c_type)
    found = kind.multiply(distribute(kind.lhs, a), distribute(kind.rhs, b), distribute(kind.acc, c))
    exact = a.astype(np.float64) @ b.astype(np.float64).T + c.astype(np.float64)
    assert (collect(kind.acc, found) == exact.astype(found.dtype)).all()
    assert (distribute(kind.acc, collect(kind.acc, found)) == found).all()


def test_integers_wrap() -> None:
    kind = mma("MFMA_I32_16x16x16_I8")
    high = np.full((64, 4), 2**31 - 1, np.int32)
    one = np.ones((64, 4), np.int8)
    assert (kind.multiply(one, one, high) == -(2**31) + 15).all()


def test_fragments_of_another_shape_are_an_error() -> None:
    kind = mma("MFMA_F32_16x16x16_F16")
    with pytest.raises(LayoutError, match=r"Lhs of shape \[64, 8\]: expected \[\.\.\., lane, reg\] of sizes \[64, 4\]"):
        kind.multiply(np.zeros((64, 8)), np.zeros((64, 4)), np.zeros((64, 4)))


# multi_mma


def reference(a: Any, b: Any, c: Any) -> Any:
    """Outer i, j, k of tiles: c[i, j] += a[i, k] @ b[k, j], with plain loops."""
    result = c.astype(np.float64)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                result[i, j] += a[i, k].astype(np.float64) @ b[k, j].astype(np.float64)
    return result


@pytest.mark.parametrize(
    "name", ["MFMA_F32_16x16x16_F16", "WMMA_F32_16x16x16_F16", "VMFMA_F32_32x32x16_F16", "NV_MMA_SYNC_F32_16x8x16_F16"]
)
@pytest.mark.parametrize("permutations", [(None, None, None), (None, (1, 0), None), ((1, 0), (1, 0), (1, 0))])
def test_multi_mma_at_subgroup_scope(name: str, permutations: tuple[tuple[int, int] | None, ...]) -> None:
    rng = np.random.default_rng(3)
    kind = mma(name)
    op = MultiMma(kind, MATMUL, LOOPS, *permutations)
    a, b, c = (
        rng.integers(-3, 4, (*outer, *kind.intrinsic.shape(f))).astype(np.float32)
        for f, outer in zip(MMAFragment, ((2, 3), (3, 5), (2, 5)), strict=True)
    )
    stored = [x if p is None else x.swapaxes(-1, -2) for x, p in zip((a, b, c), permutations, strict=True)]
    found = op.execute(stored[0], stored[1], stored[2])
    assert (found if permutations[2] is None else found.swapaxes(-1, -2)).tolist() == reference(a, b, c).tolist()


@pytest.mark.parametrize("name", ["MFMA_F32_16x16x16_F16", "WMMAR4_I32_16x16x16_I8", "MFMA_F32_4x4x4x16B_F16"])
def test_multi_mma_at_thread_scope(name: str) -> None:
    """All lanes at once, outer maps in another order than the loops."""
    rng = np.random.default_rng(4)
    kind = mma(name)
    maps = ("(i, j, k) -> (k, i)", "(i, j, k) -> (j, k)", "(i, j, k) -> (j, i)")
    op = MultiMma(kind, maps, LOOPS)
    a, b, c = (
        rng.integers(-3, 4, (*outer, *kind.intrinsic.shape(f)))
        for f, outer in zip(MMAFragment, ((2, 3), (3, 5), (2, 5)), strict=True)
    )
    lanes = [np.moveaxis(kind.distribute(f, x), -2, 0) for f, x in zip(MMAFragment, (a, b, c), strict=True)]
    found = op.execute(lanes[0].swapaxes(1, 2), lanes[1].swapaxes(1, 2), lanes[2].swapaxes(1, 2)).swapaxes(1, 2)
    assert kind.collect("Acc", np.moveaxis(found, 0, -2)).tolist() == reference(a, b, c).tolist()


def test_multi_mma_of_a_data_tiled_kind() -> None:
    rng = np.random.default_rng(5)
    kind = DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_m=2, subgroups_n=2, intrinsics_k=2)
    (m, n, k), swizzles = kind.shape, [kind.swizzle(f) for f in MMAFragment]
    a, b, c = rng.integers(-3, 4, (3, m, k)), rng.integers(-3, 4, (3, n, k)), rng.integers(-3, 4, (m, n))
    tiles = [
        distribute(s.memory, x).reshape(*x.shape[:-2], *s.tile_shape) for s, x in zip(swizzles, (a, b, c), strict=True)
    ]
    op = MultiMma(kind, ("(k) -> (k)", "(k) -> (k)", "(k) -> ()"), ("reduction",))
    found = op.execute(tiles[0], tiles[1], tiles[2])
    assert found.shape == swizzles[2].tile_shape
    exact = c + sum(a[i] @ b[i].T for i in range(3))
    assert collect(swizzles[2].memory, found.reshape(-1)).tolist() == exact.tolist()
    a_held, b_held = (np.moveaxis(distribute(kind.operand_layout(f), x), 0, 2) for f, x in ((0, a), (1, b)))
    lanes = op.execute(a_held, b_held, distribute(kind.acc, c))
    assert collect(kind.acc, lanes).tolist() == exact.tolist()


def test_multi_mma_says_why_arrays_do_not_fit() -> None:
    op = MultiMma(MMAAttr("MFMA_F32_16x16x16_F16"), MATMUL, LOOPS)
    with pytest.raises(VerificationError, match=r"as operands of a subgroup: .* as operands of a thread: "):
        op.execute(np.zeros((2, 3, 16, 15)), np.zeros((3, 5, 16, 16)), np.zeros((2, 5, 16, 16)))


def test_multi_mma_asks_where_arrays_are_tiles_or_lanes() -> None:
    """64 lanes of 4 registers are as many values as a 16x16 tile."""
    rng = np.random.default_rng(6)
    kind = mma("MFMA_F32_16x16x16_F16")
    op = MultiMma(kind, ["() -> ()"] * 3, ())
    a, b = rng.integers(-3, 4, (2, 16, 16))
    lhs, rhs, zero = kind.distribute("Lhs", a), kind.distribute("Rhs", b), np.zeros((64, 4))
    with pytest.raises(VerificationError, match=r"say which, scope='subgroup' or scope='thread'"):
        op.execute(lhs, rhs, zero)
    assert (kind.collect("Acc", op.execute(lhs, rhs, zero, "thread")) == a @ b).all()
    assert (op.execute(a, b, np.zeros((16, 16)), "subgroup") == a @ b).all()


@pytest.mark.parametrize("given", [None, [1], np.array(["a"]), np.zeros(3), np.zeros((64, 3))])
def test_what_is_no_fragment_is_an_error(given: object) -> None:
    kind = mma("MFMA_F32_16x16x16_F16")
    for call in (kind.multiply, MultiMma(kind, ["() -> ()"] * 3, ()).execute):
        with pytest.raises(LayoutError):
            call(given, given, given)  # type: ignore[arg-type]
    with pytest.raises(LayoutError):
        kind.collect("Acc", given)  # type: ignore[arg-type]
    with pytest.raises(LayoutError):
        kind.distribute("Lhs", given)  # type: ignore[arg-type]
