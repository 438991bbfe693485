"""Random products of every size, type, storage, batch and pitch, with what lies behind the loop."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from layoutalg.core.limits import MOST_GEMM_BYTES
from layoutalg.gemm import Gemm, plan_gemm

__all__ = ["RandomProduct", "large_product", "random_product"]

TYPES = ("f16", "bf16", "tf32", "s8", "u8")
LARGE = (1000, 1023, 1024, 1025, 1536, 2047, 2048, 2560, 3000, 4095, 4096, 5000)
ODD = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 50, 64, 65, 72)


class RandomProduct(NamedTuple):
    """The arguments of `plan_gemm`."""

    sizes: tuple[int, int, int]
    options: dict[str, Any]

    def plan(self, **more: Any) -> Gemm:
        return plan_gemm(*self.sizes, **self.options, **more)


def random_product(seed: int, *, contiguous: bool = False) -> RandomProduct:
    """The same for the same seed; `contiguous` pads no row."""
    rng = np.random.default_rng(seed)
    m, n, k = (int(rng.choice(ODD)) if rng.random() < 0.7 else int(rng.integers(1, 130)) for _ in range(3))
    return _product((m, n, k), rng, contiguous=contiguous)


def large_product(seed: int) -> RandomProduct:
    """Sizes up to some thousands, with what lies behind the loop, pitches and batches as for small ones; k is not in parts."""
    rng = np.random.default_rng(seed)
    m, n, k = (int(rng.choice(LARGE)) if rng.random() < 0.7 else int(rng.integers(1, 5000)) for _ in range(3))
    found = _product((m, n, k), rng, contiguous=False)
    largest = 4 * max(m, n, k) * (sorted((m, n, k))[1] + 40)  # bytes of a matrix, with its padding
    batch = max(1, min(found.options["batch"], MOST_GEMM_BYTES // largest))
    return found._replace(options=found.options | {"split_k": 1, "batch": batch})


def _product(sizes: tuple[int, int, int], rng: np.random.Generator, *, contiguous: bool) -> RandomProduct:
    m, n, k = sizes
    a = str(rng.choice(TYPES))
    options: dict[str, Any] = {"a": a, "target": str(rng.choice(("pvc", "bmg")))}
    if a in ("s8", "u8"):
        options["b"] = str(rng.choice(("s8", "u8")))
    acc = {"f16": ("f32", "f16"), "bf16": ("f32", "bf16"), "tf32": ("f32",)}.get(a, ("s32",))
    options["acc"] = str(rng.choice(acc))
    results = {"f32": ("f32", "f16", "bf16"), "s32": ("s32", "f32")}.get(options["acc"], (options["acc"], "f32"))
    options["c"] = str(rng.choice(results))
    options |= {name: bool(rng.random() < 0.4) for name in ("trans_a", "trans_b")}
    options["batch"] = int(rng.choice((1, 1, 1, 2, 3)))
    rows = {"lda": m if options["trans_a"] else k, "ldb": k if options["trans_b"] else n, "ldc": n}
    for name, least in rows.items():
        if not contiguous and rng.random() < 0.3:
            options[name] = least + int(rng.integers(0, 40))
    if rng.random() < 0.4:
        options["bias"] = str(rng.choice(("row", "column")))
    if rng.random() < 0.4:
        options["beta"] = 1.0
    if options["c"] != "s32" and rng.random() < 0.3:
        options |= {"alpha": 0.5, "beta": float(rng.choice((0.0, 2.0)))}
    if rng.random() < 0.3:
        options["activation"] = "relu"
    return RandomProduct((m, n, k), options)
