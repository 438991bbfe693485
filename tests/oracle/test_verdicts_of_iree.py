"""`verify` says what iree-opt says of matrix products on fragments: IREE 3.2's `multi_mma`, today's `inner_tiled`."""

from __future__ import annotations

import pytest

from layoutalg.ir.findings import OURS
from layoutalg.ir.verify import verify_module
from tests.ir.verify.modules import module_of
from tests.oracle.iree import diagnostics
from tests.oracle.test_verdicts_of_operations import words_of

_MAPS = ("affine_map<(i, j, k) -> (i, k)>", "affine_map<(i, j, k) -> (k, j)>", "affine_map<(i, j, k) -> (i, j)>")
_TYPES = ("vector<2x3x4xf16>", "vector<3x5x4xf16>", "vector<2x5x4xf32>")
_NO_MAPS = ("affine_map<() -> ()>",) * 3
_TILES = ("tensor<2x3x16x16xf16>", "tensor<3x5x16x16xf16>", "tensor<2x5x16x16xf32>")


def _product(
    dialect: str | None,
    types: tuple[str, ...] = _TYPES,
    maps: tuple[str, ...] = _MAPS,
    iterators: tuple[str, ...] = ("parallel", "parallel", "reduction"),
    intrinsic: str = "MFMA_F32_16x16x16_F16",
    distributed: bool = True,
    permuted: bool = False,
) -> str:
    """A product, in the operation of IREE 3.2 or of today."""
    a, b, c = types
    old = dialect is not None
    iterator = "#iree_gpu.iterator_type" if old else "#linalg.iterator_type"
    listed = ", ".join(f"{iterator}<{one}>" for one in iterators)
    fields = (
        f"indexing_maps = [{', '.join(maps)}], iterator_types = [{listed}], kind = #iree_gpu.mma_layout<{intrinsic}>"
    )
    if old:
        fields += ", lhs_permutation = array<i64: 1, 0>" if permuted else ""
        line = f"%0 = iree_gpu.multi_mma %a, %b, %c {{{fields}}} : {a}, {b} into {c}"
    else:
        said = "true" if distributed else "false"
        fields += f", semantics = #iree_gpu.mma_semantics<distributed = {said}, opaque = false>"
        line = f"%0 = iree_codegen.inner_tiled ins(%a, %b) outs(%c) <{{{fields}}}> : {a}, {b} into {c}"
    return f"func.func @f(%a: {a}, %b: {b}, %c: {c}) {{\n{line}\nreturn\n}}\n"


def _questions(dialect: str | None) -> list[str]:
    def types(number: int, kind: str) -> tuple[str, ...]:
        return (*_TYPES[:number], kind, *_TYPES[number + 1 :])

    def maps(number: int, text: str) -> tuple[str, ...]:
        return (*_MAPS[:number], text, *_MAPS[number + 1 :])

    changed = [
        *(
            types(0, f"vector<{kind}>")
            for kind in ("2x3x4xbf16", "3x3x4xf16", "2x3x8xf16", "2x3xf16", "2x4x4xf16", "2x3x2xf16")
        ),
        *(
            types(1, f"vector<{kind}>")
            for kind in ("3x5x4xf32", "4x5x4xf16", "3x5x2xf16", "3x5xf16", "3x6x4xf16", "3x5x4xi8")
        ),
        *(
            types(2, f"vector<{kind}>")
            for kind in ("2x5x4xf16", "2x4x4xf32", "2x5x8xf32", "2x5xf32", "1x5x4xf32", "2x5x4xi32")
        ),
    ]
    found = [_product(dialect), *(_product(dialect, types=one) for one in changed)]
    found += [
        _product(dialect, maps=_MAPS[:2]),
        _product(dialect, maps=maps(2, "affine_map<(i, j) -> (i, j)>")),
        _product(dialect, maps=maps(1, "affine_map<(i, j, k) -> (j, k)>")),
        _product(dialect, maps=maps(1, "affine_map<(i, j, k) -> (k + j, j)>")),
        _product(dialect, maps=maps(0, "affine_map<(i, j, k) -> (i, i)>")),
        _product(dialect, iterators=()),
        _product(dialect, ("vector<4xf16>", "vector<4xf16>", "vector<4xf32>"), _NO_MAPS, ()),
        _product(dialect, ("vector<4xf16>", "vector<8xf16>", "vector<4xf32>"), _NO_MAPS, ()),
        _product(dialect, tuple(one.replace("4x", "16x", 1) if "4x" in one else one for one in _TYPES)),
        _product(dialect, _TILES, distributed=False),
        _product(dialect, intrinsic="MFMA_F32_32x32x8_F16"),
        _product(dialect, intrinsic="MFMA_I32_16x16x32_I8"),
        _product(dialect, ("vector<16xf16>",) * 2 + ("vector<8xf32>",), _NO_MAPS, (), "WMMA_F32_16x16x16_F16")
        if dialect
        else _product(dialect, distributed=False),
        _product(dialect, permuted=True),
        _product(dialect, _TILES, distributed=False, permuted=True),
    ]
    return found


@pytest.mark.parametrize("dialect", ["iree-3.2", None])
def test_verdicts_and_words_of_products(dialect: str | None) -> None:
    texts = _questions(dialect)
    said = diagnostics(texts, dialect)
    assert None in said
    for text, verdict in zip(texts, said, strict=True):
        findings = [finding for finding in verify_module(module_of(text)) if finding.source != OURS]
        assert {finding.source for finding in findings} <= {"IREE"}
        ours = findings[0].message if findings else None
        assert ours == (None if verdict is None else words_of(verdict)), text
