"""Tile products: operand layouts against Intel's indices, results against numpy's products and the manual's order."""

from __future__ import annotations

import pickle
from itertools import product as combinations
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

from layoutalg.amx import TileProduct, TileType, check_product, pack_vnni
from layoutalg.core import DistributionError, LayoutError, VerificationError

SIZES = {"bf16": 2, "f16": 2, "i8": 1}
SIGNS = list(combinations((False, True), repeat=2))
SHAPES = [(16, 16, 64), (1, 1, 4), (5, 7, 12), (16, 3, 60), (2, 16, 8), (9, 11, 32)]


def random_bytes(rng: np.random.Generator, shape: tuple[int, ...], unsigned: bool) -> Any:
    return rng.integers(0, 256, shape).astype(np.uint8).view(np.uint8 if unsigned else np.int8)


# Operands


@pytest.mark.parametrize("element", SIZES)
@pytest.mark.parametrize(("m", "n", "words"), [(16, 16, 16), (1, 1, 1), (5, 7, 3), (16, 3, 15)])
def test_operands_lie_where_the_manuals_loops_look_for_them(element: str, m: int, n: int, words: int) -> None:
    """TDPBF16PS and TDPBSSD: dst.row[m].dword[n] += src1.row[m].element[v*k + i] * src2.row[k].element[v*n + i]."""
    size = SIZES[element]
    v = 4 // size
    tile = TileProduct(m, n, v * words, element, element)
    lhs, rhs, acc = tile.lhs, tile.rhs, tile.acc
    assert (lhs.shape, rhs.shape, acc.shape) == ((m, v * words), (v * words, n), (m, n))
    for row in range(m):
        for col in range(n):
            assert acc.owners((row, col)) == [(0, row, 4 * col)]
            for k in range(words):
                for i in range(v):
                    assert lhs.owners((row, v * k + i)) == [(0, row, size * (v * k + i))]
                    assert rhs.owners((v * k + i, col)) == [(0, k, size * (v * col + i))]


def test_operands_have_the_axes_of_the_register_file() -> None:
    tile = TileProduct(1, 1, 4, "i8", "i8")
    assert tile.lhs.codomain == tile.rhs.codomain == tile.acc.codomain == ("tmm", "row", "col")


@pytest.mark.parametrize(
    ("tile", "text"),
    [
        (
            TileProduct(16, 16, 64, "i8", "i8", True, True),
            "x86.amx.tile_muli %a zext, %b zext, %c : "
            "!x86.amx.tile<16x64xi8>, !x86.amx.tile<16x64xi8>, !x86.amx.tile<16x16xi32>",
        ),
        (
            TileProduct(5, 7, 6, "f16", "f16"),
            "x86.amx.tile_mulf %a, %b, %c : !x86.amx.tile<5x6xf16>, !x86.amx.tile<3x14xf16>, !x86.amx.tile<5x7xf32>",
        ),
    ],
)
def test_a_product_prints_as_the_operation(tile: TileProduct, text: str) -> None:
    assert str(tile) == text


def test_a_product_is_what_its_three_tiles_say() -> None:
    for element, (m, n, k), (lhs_zext, rhs_zext) in combinations(SIZES, SHAPES, SIGNS):
        if element != "i8" and (lhs_zext or rhs_zext or k > 32):
            continue
        tile = TileProduct(m, n, k, element, element, lhs_zext, rhs_zext)
        assert check_product(tile.op, tile.lhs_type, tile.rhs_type, tile.acc_type) is None
        assert TileProduct.of(tile.lhs_type, tile.rhs_type, tile.acc_type, lhs_zext, rhs_zext) == tile
        assert pickle.loads(pickle.dumps(tile)) == tile
        assert len({tile, TileProduct(m, n, k, element, element, lhs_zext, rhs_zext)}) == 1


# Rules


@pytest.mark.parametrize(("element", "k", "padded"), [("i8", 62, 64), ("i8", 1, 4), ("bf16", 31, 32), ("f16", 1, 2)])
def test_k_that_is_no_whole_number_of_words_says_how_to_pad(element: str, k: int, padded: int) -> None:
    with pytest.raises(DistributionError, match=f"pad K to {padded} with zeros"):
        TileProduct(16, 16, k, element, element)


@pytest.mark.parametrize(
    ("m", "n", "k", "a", "b", "says"),
    [
        (17, 16, 64, "i8", "i8", "bad row height: 17"),
        (16, 17, 64, "i8", "i8", "bad column width: 68"),
        (16, 16, 68, "i8", "i8", "bad column width: 68"),
        (16, 16, 64, "bf16", "bf16", "bad column width: 128"),
        (16, 16, 32, "bf16", "f16", "unsupported type combination"),
        (
            16,
            16,
            32,
            "bf16",
            "i8",
            "operand #1 must be tile of 16-bit float or bfloat16 type or f8E4M3FN type or f8E5M2 type",
        ),
        (16, 16, 32, "i8", "bf16", "operand #1 must be tile of 8-bit signless integer values"),
        (16, 16, 16, "f32", "f32", "A of 'f32': expected bf16, f16 or i8"),
        (0, 16, 64, "i8", "i8", "m = 0"),
        (16, -1, 64, "i8", "i8", "n = -1"),
        (16, 16, 2**40, "i8", "i8", "k = "),
        (16, 16, 10**5000, "i8", "i8", "k = (a number of 5001 digits)"),
        (16.0, 16, 64, "i8", "i8", "m = 16.0"),
        (16, 16, 64, None, "i8", "A of None"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_products_that_no_instruction_computes_are_refused(m: Any, n: Any, k: Any, a: Any, b: Any, says: str) -> None:
    with pytest.raises(VerificationError) as caught:
        TileProduct(m, n, k, a, b)
    assert says in str(caught.value)


def test_what_is_unsigned_is_said_of_bytes_only() -> None:
    with pytest.raises(VerificationError, match="floats have no zero extension"):
        TileProduct(16, 16, 32, "bf16", "bf16", lhs_zext=True)
    with pytest.raises(VerificationError, match="rhs_zext = 1"):
        TileProduct(16, 16, 64, "i8", "i8", rhs_zext=1)  # type: ignore[arg-type]


def test_the_tiles_of_a_product_are_tile_types() -> None:
    a = TileType(16, 64, "i8")
    with pytest.raises(VerificationError, match="rhs = '!amx"):
        TileProduct.of(a, "!amx.tile<16x64xi8>", TileType(16, 16, "i32"))  # type: ignore[arg-type]
    with pytest.raises(VerificationError, match=r"expected amx.tile_mulf or amx.tile_muli"):
        check_product("amx.tile_mul", a, a, a)
    with pytest.raises(VerificationError, match="bad mult shape: 16 x 15 x 16"):
        TileProduct.of(a, a, TileType(16, 15, "i32"))


# Integers


@pytest.mark.parametrize(("lhs_zext", "rhs_zext"), SIGNS)
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_bytes_give_numpys_product(m: int, n: int, k: int, lhs_zext: bool, rhs_zext: bool) -> None:
    rng = np.random.default_rng(m * n * k)
    a, b = random_bytes(rng, (m, k), lhs_zext), random_bytes(rng, (k, n), rhs_zext)
    c = rng.integers(-(2**31), 2**31, (m, n)).astype(np.int32)
    tile = TileProduct(m, n, k, "i8", "i8", lhs_zext, rhs_zext)
    exact = c.astype(object) + a.astype(object) @ b.astype(object)
    wrapped = np.vectorize(lambda x: (x + 2**31) % 2**32 - 2**31)(exact)
    result = tile.execute(a, pack_vnni(b), c)
    assert result.dtype == np.int32
    assert np.array_equal(result, wrapped)
    # The bytes count, not what the array calls them.
    assert np.array_equal(tile.execute(a.view(np.int8), pack_vnni(b).view(np.uint8), c), wrapped)


def test_the_sum_wraps_at_32_bits() -> None:
    tile = TileProduct(1, 1, 4, "i8", "i8", True, True)
    ones = np.full((1, 4), 255, np.uint8)
    result = tile.execute(ones, ones, np.full((1, 1), 2**31 - 1, np.int32))
    assert result.item() == 2**31 - 1 + 4 * 255 * 255 - 2**32


def test_tiles_in_batches_are_multiplied_one_by_one() -> None:
    rng = np.random.default_rng(3)
    tile = TileProduct(4, 5, 8, "i8", "i8")
    a, b = random_bytes(rng, (2, 3, 4, 8), False), random_bytes(rng, (3, 8, 5), False)
    c = np.zeros((4, 5), np.int32)
    result = tile.execute(a, pack_vnni(b), c)
    assert np.array_equal(result, a.astype(int) @ b.astype(int))
    floats = TileProduct(4, 5, 8, "f16", "f16")
    c = np.zeros((4, 5), np.float32)
    result = floats.execute(a.astype(np.float16), pack_vnni(b.astype(np.float16)), c)
    assert np.array_equal(result, a.astype(int) @ b.astype(int))


def test_a_wrong_layout_gives_a_wrong_product(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    tile = TileProduct(16, 16, 64, "i8", "i8")
    a, b, c = random_bytes(rng, (16, 64), False), random_bytes(rng, (64, 16), False), np.zeros((16, 16), np.int32)
    exact = a.astype(int) @ b.astype(int)
    assert np.array_equal(tile.execute(a, pack_vnni(b), c), exact)
    for name, wrong in (("lhs", "rhs"), ("rhs", "lhs")):
        with monkeypatch.context() as patched:
            patched.setattr(TileProduct, name, getattr(TileProduct, wrong).fget(tile).permute((1, 0)))
            assert not (tile.execute(a, pack_vnni(b), c) == exact).all()


# Floats


def by_the_manual(a: Any, b: Any, c: Any) -> Any:
    """The manual's loops for TDPBF16PS, one number at a time; a product of two 16-bit floats is exact in 64 bits."""

    def flush(x: Any) -> Any:
        return np.copysign(np.float32(0), x) if abs(x) < np.finfo(np.float32).tiny else x

    result = c.copy()
    for m in range(a.shape[0]):
        for n in range(b.shape[1]):
            sums = [np.float32(0), np.float32(0)]
            for k in range(a.shape[1]):
                x, y = flush(np.float32(a[m, k])), flush(np.float32(b[k, n]))
                sums[k % 2] = flush(np.float32(float(x) * float(y) + float(sums[k % 2])))
            result[m, n] = flush(flush(c[m, n]) + flush(sums[0] + sums[1]))
    return result


@pytest.mark.parametrize(("element", "dtype"), [("bf16", bfloat16), ("f16", np.float16)])
@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 32), (1, 1, 2), (5, 7, 6), (16, 3, 30)])
def test_floats_are_summed_in_the_manuals_order(element: str, dtype: Any, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(m * n * k)
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n)))
    c = rng.standard_normal((m, n)).astype(np.float32)
    result = TileProduct(m, n, k, element, element).execute(a, pack_vnni(b), c)
    assert result.dtype == np.float32
    assert result.tobytes() == by_the_manual(a, b, c).tobytes()
    close = c.astype(float) + a.astype(float) @ b.astype(float)
    assert np.allclose(result, close, rtol=1e-5, atol=1e-5)


def test_subnormal_bf16_counts_as_zero_and_subnormal_f16_does_not() -> None:
    for element, dtype, smallest, expected in (
        ("bf16", bfloat16, 2.0**-127, 0),
        ("f16", np.float16, 2.0**-24, 2.0**-14),
    ):
        a = np.array([[smallest, 0]], dtype)
        assert a[0, 0] != 0
        tile = TileProduct(1, 1, 2, element, element)
        result = tile.execute(a, np.full((1, 2), 2.0**10, dtype), np.zeros((1, 1), np.float32))
        assert result.item() == expected
    tiny = np.full((1, 1), 1e-40, np.float32)
    zeros = np.zeros((1, 2), bfloat16)
    assert TileProduct(1, 1, 2, "bf16", "bf16").execute(zeros, zeros, tiny).item() == 0


def test_infinities_and_nans_go_through_without_a_warning() -> None:
    tile = TileProduct(1, 1, 2, "bf16", "bf16")
    one, zero = np.ones((1, 2), bfloat16), np.zeros((1, 1), np.float32)
    assert tile.execute(one * bfloat16(np.inf), one, zero).item() == np.inf
    assert np.isnan(tile.execute(one * bfloat16(np.nan), one, zero).item())
    big = np.full((1, 2), 3e38, bfloat16)
    assert tile.execute(big, big, zero).item() == np.inf


@pytest.mark.parametrize(
    ("lhs", "rhs", "acc"),
    [
        (np.zeros((4, 16), np.int8), np.zeros((16, 4), np.int8), np.zeros((4, 1), np.int32)),
        (np.zeros((4, 16), np.int16), np.zeros((4, 4), np.int8), np.zeros((4, 1), np.int32)),
        (np.zeros((4, 16), np.int8), np.zeros((4, 4), np.int8), np.zeros((4, 1), np.float32)),
        (np.zeros((4, 16), np.int8), np.zeros((4, 4), np.int8), 0),
        ([[0] * 16] * 4, np.zeros((4, 4), np.int8), np.zeros((4, 1), np.int32)),
        (np.zeros((2, 4, 16), np.int8), np.zeros((3, 4, 4), np.int8), np.zeros((4, 1), np.int32)),
    ],
)
def test_arrays_that_are_no_such_tiles_are_refused(lhs: Any, rhs: Any, acc: Any) -> None:
    tile = TileProduct(4, 1, 16, "i8", "i8")
    with pytest.raises(LayoutError):
        tile.execute(lhs, rhs, acc)


@pytest.mark.parametrize(("element", "v"), [("bf16", 2), ("f16", 2), ("i8", 4)])
def test_b_notes_how_many_rows_share_a_word(element: str, v: int) -> None:
    a, b, c = TileProduct(4, 4, 16, element, element).operands()
    assert (a.notes, c.notes) == ((), ())
    assert b.notes == (("packing", f"a word of 4 bytes holds {v} elements of a column, one under the other"),)
    words = {owner[1:] for k in range(v) for owner in b.layout.owners((k, 0))}
    assert {(row, col // 4) for row, col in words} == {(0, 0)}


def test_the_operation_in_each_version() -> None:
    product = TileProduct(16, 16, 64, "i8", "i8", lhs_zext=True)
    tiles = "!amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>"
    assert product.text(llvm=22) == f"amx.tile_muli %a zext, %b, %c : {tiles}"
    for text in (str(product), product.text(), product.text(23), product.text(24)):
        assert text == product.text(llvm=22).replace("amx.", "x86.amx.")


def test_the_verdict_on_a_product_is_in_the_words_of_each_version() -> None:
    """As mlir-opt 22, 23 and 24 say it."""
    a, b, c = TileType(16, 64, "i8"), TileType(15, 64, "i8"), TileType(16, 16, "i32")
    for version, small, dialect in (
        (22, "", "amx"),
        (23, " or f8E4M3FN type or f8E5M2 type", "x86.amx"),
        (24, " or f8E4M3FN type or f8E5M2 type", "x86.amx"),
    ):
        said = check_product(f"{dialect}.tile_mulf", a, b, c, llvm=version)
        words = f"tile of 16-bit float or bfloat16 type{small} values"
        assert said == f"operand #0 must be {words}, but got '!{dialect}.tile<16x64xi8>'"
    assert check_product("x86.amx.tile_mulf", a, b, c) == said
