"""The modules of docs/compiler_mistakes.md, asked again: a test fails when its compiler has become right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.simulate import launch
from tests.oracle.distribution import VERSIONS, distributed, program
from tests.oracle.kernel_cpu import Launch, module_of, run_kernels
from tests.oracle.toolchains import require, run
from tests.oracle.xe_toolchain import PIPELINE, spirv_of

Array = NDArray[Any]
PAGE = Path(__file__).parents[2] / "docs" / "compiler_mistakes.md"


def module(name: str) -> str:
    """The page's module of this name."""
    blocks = re.findall(r"```mlir\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    [found] = [block for block in blocks if f"gpu.module @{name} " in block]
    return found


def kernel(name: str) -> str:
    """The function inside the page's module."""
    text = module(name)
    return text[text.index("gpu.func") : text.rstrip().rindex("}")]


def test_every_module_of_the_page_is_tried() -> None:
    names = set(re.findall(r"gpu\.module @(\w+)", PAGE.read_text(encoding="utf-8")))
    assert names == {"product", "column", "most", "valid", "stack"}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_product_whose_a_has_the_rows_of_another_subgroup_is_distributed_wrongly(version: int) -> None:
    text = module("product")
    spelled = re.sub(r"\{(layout_a = [^}]*)\}", r"<{\1}>", text) if version >= 24 else text
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, (64, 32)).astype(np.float16), rng.integers(-4, 5, (32, 64)).astype(np.float16)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    whole, parts = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    launch(text, [a, b, whole], (1, 1, 1), level="workgroup")
    launch(distributed([spelled], version, "subgroup")["product"], [a, b, parts], (1, 1, 1), level="subgroup")
    assert np.array_equal(whole, expected)
    # Rows 0..31, columns 0..31 are subgroup 0's, whose coordinates are the same in both orders.
    assert np.array_equal(parts[:32, :32], expected[:32, :32])
    assert np.array_equal(parts[32:, 32:], expected[32:, 32:])
    # Subgroups 1 and 2 have each other's rows.
    product = expected
    assert np.array_equal(parts[:32, 32:], product[32:, 32:])
    assert np.array_equal(parts[32:, :32], product[:32, :32])
    assert not (parts == expected).all(), f"LLVM {version} is right now: say so on the page"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_column_of_a_fragment_is_stored_as_a_row(version: int) -> None:
    passes = "xegpu-vector-linearize,convert-xegpu-to-xevm,canonicalize,cse"
    pipeline = f"--pass-pipeline=builtin.module(xevm-attach-target{{chip=pvc}},gpu.module({passes}))"
    done = run([program(version), pipeline], module("column"))
    assert done.returncode == 0, done.stderr
    stores = [line.strip() for line in done.stdout.splitlines() if "llvm.store" in line]
    assert len(stores) == 1, f"LLVM {version} stores the elements apart now: say so on the page"
    assert ": vector<8xf32>, !llvm.ptr<3>" in stores[0]


def test_maximumf_is_fmax_on_the_cpu(tmp_path: Path) -> None:
    a = np.array([np.nan] * 8 + [-0.0] * 8, np.float32)
    b = np.array([1.0] * 8 + [0.0] * 8, np.float32)
    after = run_kernels(module_of([kernel("most")]), [Launch("most", (a, b, np.zeros(16, np.float32)))], tmp_path)
    theirs, mine = after["most"][2], np.zeros(16, np.float32)
    launch(module("most"), [a, b, mine], (1, 1, 1), level="lane")
    assert np.isnan(mine[:8]).all()
    assert not np.signbit(mine[8:]).any()
    assert (theirs[:8] == 1).all(), "LLVM 22 keeps NaN now: say so on the page"


def test_the_second_result_of_a_shuffle_is_true_on_the_cpu(tmp_path: Path) -> None:
    after = run_kernels(module_of([kernel("valid")]), [Launch("valid", (np.zeros(16, np.int32),))], tmp_path)
    mine = np.zeros(16, np.int32)
    launch(module("valid"), [mine], (1, 1, 1), level="lane")
    assert mine.tolist() == [0] * 3 + [1] * 13
    assert (after["valid"][0] == 1).all(), "LLVM 22 says which lanes are there now: say so on the page"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_second_result_of_a_shuffle_is_lowered_to_a_constant(version: int) -> None:
    passes = "convert-xegpu-to-xevm,convert-gpu-to-llvm-spv,canonicalize,cse"
    pipeline = f"--pass-pipeline=builtin.module(xevm-attach-target{{chip=pvc}},gpu.module({passes}))"
    done = run([program(version), pipeline], module("valid"))
    assert done.returncode == 0, done.stderr
    [stored] = re.findall(r"llvm\.store (%\w+)", done.stdout)
    assert re.search(rf"{stored} = (llvm\.mlir|arith)\.constant\(?\s*1 : i32", done.stdout), (
        f"LLVM {version} says which lanes are there now: say so on the page"
    )


def test_shared_memory_on_the_stack_is_not_valid_spirv(tmp_path: Path) -> None:
    require("spirv-val")
    text = "builtin.module attributes {gpu.container_module} {\n" + module("stack") + "}\n"
    assert run([program(22), PIPELINE], text).returncode == 0
    with pytest.raises(AssertionError, match="Storage Class"):
        spirv_of(text, tmp_path)
    result = np.zeros(16, np.float32)
    launch(module("stack"), [result], (1, 1, 1), level="lane")
    assert (result == 1).all()
