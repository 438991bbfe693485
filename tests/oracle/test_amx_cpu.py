"""The manual's order, as `TileProduct.execute` has it, against a CPU with AMX, bit for bit (any NaN is like any other)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from layoutalg.amx import TileProduct
from layoutalg.simulate import launch
from tests.oracle.amx_cpu import SIZES, AmxCpu, amx_cpu, float_kinds, recorded, same_bits, samples
from tests.oracle.toolchains import require, require_new, run
from tests.simulate.test_amx import REFUSED, copying

Array = NDArray[Any]


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> AmxCpu:
    return amx_cpu(tmp_path_factory.mktemp("amx"))


def test_products_that_a_cpu_computed_once() -> None:
    names: set[str] = set()
    for name, tile, operands, result in recorded():
        assert same_bits(tile.execute(*operands), result), name
        names.add(name.partition(":")[0])
    assert names == {"tdpbf16ps", "tdpbssd", "tdpbsud", "tdpbusd", "tdpbuud"}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(1, 20))])
def test_products_that_this_cpu_computes(cpu: AmxCpu, seed: int) -> None:
    for name, tile, operands in samples(np.random.default_rng(seed), SIZES, 4 if seed == 0 else 100):
        assert same_bits(tile.execute(*operands), cpu.products(tile, operands)), name


@pytest.mark.exhaustive
def test_products_of_all_sizes_that_this_cpu_computes(cpu: AmxCpu) -> None:
    sizes = tuple((m, n, words) for m in range(1, 17) for n in range(1, 17) for words in (1, 2, 7, 15, 16))
    for name, tile, operands in samples(np.random.default_rng(7), sizes, 2):
        assert same_bits(tile.execute(*operands), cpu.products(tile, operands)), name


def wrong_sums(a: Array, b: Array, c: Array, rule: str) -> Array:
    """The product by a rule that no CPU has: in the order of k, without a flush, or flushed after rounding as f32 rounds."""
    chains = np.zeros((2, *c.shape), np.float32)
    with np.errstate(all="ignore"):
        left, right = a.astype(np.float64), b.astype(np.float64)
        right = right.reshape(len(b), -1, c.shape[2], 2).swapaxes(-1, -2).reshape(len(b), -1, c.shape[2])
        if rule == "in the order of k":
            chains[0] = c
        for k in range(a.shape[2]):
            chain = chains[0 if rule == "in the order of k" else k % 2]
            chain[:] = chain + left[:, :, k, None] * right[:, k, None]
            if rule == "flushed late":
                chain[np.abs(chain) < 2.0**-126] = 0
        return chains[0] if rule == "in the order of k" else c + (chains[0] + chains[1])


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("in the order of k", "ordinary"),
        ("in the order of k", "cancelling"),
        ("never flushed", "subnormal sums"),
        ("flushed late", "just below the normal numbers"),
    ],
)
def test_the_samples_tell_a_wrong_rule(rule: str, kind: str) -> None:
    tile = TileProduct(11, 9, 32, "bf16", "bf16")
    operands = dict(float_kinds(np.random.default_rng(1), tile, 8))[kind]
    assert not same_bits(wrong_sums(*operands, rule), tile.execute(*operands))


@pytest.mark.parametrize("stride", [64, 68, 36, 0])
def test_rows_are_moved_as_this_cpu_moves_them(cpu: AmxCpu, stride: int) -> None:
    """Rows that overlap too; the simulator counts the stride in elements."""
    source = np.random.default_rng(2).integers(0, 256, 16 * 80, np.uint8).view(np.int8)
    expected, target = np.full(16 * 80, 7, np.int8), np.full(16 * 80, 7, np.int8)
    cpu.copy(16, 64, source, stride, expected, stride)
    of = "memref<1280xi8>"
    text = copying("amx", of, of, "16x64xi8", f"%c0; %c{stride}", f"%c0; %c{stride}")
    assert launch(text, [source, target], entry="copy").findings == ()
    assert np.array_equal(target, expected)


@pytest.mark.parametrize(("program", "dialect"), [("mlir-opt-22", "amx"), ("mlir-opt-24", "x86.amx")])
def test_llvm_refuses_in_the_words_of_the_simulator(program: str, dialect: str) -> None:
    path = require(program) if program == "mlir-opt-22" else require_new(program)
    texts = [copying(dialect, memref, memref, tile, at, at) for memref, tile, at in REFUSED.values()]
    said = run([path, "--split-input-file"], "\n// -----\n".join(texts)).stderr
    for words in REFUSED:
        assert f"'{dialect}.tile_load' op {words}\n" in said, said


def test_a_subnormal_number_of_bf16_counts_as_zero(cpu: AmxCpu) -> None:
    tile = TileProduct(1, 1, 2, "bf16", "bf16")
    subnormal, large = np.full((1, 1, 2), 2.0**-130, bfloat16), np.full((1, 1, 2), 2.0**100, bfloat16)
    zero = np.zeros((1, 1, 1), np.float32)
    assert cpu.products(tile, (subnormal, large, zero)).item() == tile.execute(subnormal, large, zero).item() == 0
