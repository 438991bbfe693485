"""A library is written where it was asked for, over nothing that is another's, with functions that C has no name for yet."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

import layoutalg as la
from layoutalg.core.errors import PlanError
from tests.oracle.toolchains import require


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("cc")
    require("mlir-opt-22")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("path", ["@opts", "-o", "-x.so", "a b.so", "./-y.so", "@opts.so"])
def test_a_path_is_a_path_and_no_option_of_a_compiler(path: str) -> None:
    Path("opts").write_text("-nonsense that no compiler takes")
    Path("opts.so").write_text("-nonsense")
    built = la.plan_amx(32, 32, 64).build(path, how="soft")
    assert sorted({*os.listdir(".")} - {"opts", "opts.so"}) == sorted(
        {Path(path).name, Path(path).with_suffix(".h").name}
    )
    assert ctypes.CDLL(os.path.abspath(built.path)).gemm_packed_bytes() > 0


def test_a_header_of_somebody_else_is_not_overwritten() -> None:
    Path("gemm.h").write_text("/* mine */")
    with pytest.raises(
        PlanError, match=r"'gemm.h': is there, and was not written for such a library; choose another path"
    ):
        la.plan_amx(32, 32, 64).build("gemm.so", how="soft")
    assert Path("gemm.h").read_text() == "/* mine */"
    assert not Path("gemm.so").exists()


def test_a_library_is_built_again_over_its_own_header() -> None:
    for name in ("first", "second"):
        la.plan_amx(32, 32, 64).build("gemm.so", name=name, how="soft")
        assert f"int {name}(" in Path("gemm.h").read_text()


@pytest.mark.parametrize(
    "name", ["sin", "printf", "malloc", "errno", "stdin", "NULL", "size_t", "pthread_create", "memcpy", "mmap"]
)
def test_a_name_that_c_has_is_refused(name: str) -> None:
    with pytest.raises(
        PlanError, match=f"name = '{name}': the C compiler or its headers have that name; choose another one"
    ):
        la.plan_amx(32, 32, 64).build("gemm.so", name=name, how="soft")


@pytest.mark.parametrize("name", ["TILES", "OK", "BATCH", "layoutalg_run"])
def test_a_name_of_the_librarys_own_c_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match=f"name = '{name}': the C of the library has that name; choose another one"):
        la.plan_amx(32, 32, 64).build("gemm.so", name=name, how="soft")


@pytest.mark.parametrize("name", ["run", "work", "product", "job", "panel"])
def test_any_other_name_is_taken(name: str) -> None:
    """These are functions, types and variables of the C that is linked, or were once."""
    built = la.plan_amx(32, 32, 64).build("gemm.so", name=name, how="soft")
    assert getattr(ctypes.CDLL(os.path.abspath(built.path)), f"{name}_packed_bytes")() > 0


@pytest.mark.parametrize("name", ["bool", "class", "constexpr", "template", "typeof", "asm", "nullptr"])
def test_a_keyword_of_c_or_of_cpp_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match="expected a C identifier that isn't a keyword"):
        la.plan_amx(32, 32, 64).build("gemm.so", name=name, how="soft")
