"""Where newer compilers are looked for, and what a run says where Debian's suites no longer have one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle import toolchains
from tests.oracle.toolchains import GONE, MISSING, require_new

pytest_plugins = ["pytester"]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of newer compilers without any, a PATH without any, and none unpacked."""
    monkeypatch.setattr(toolchains, "NEWTOOLS", tmp_path / "unpacked")
    monkeypatch.setenv("LAYOUTALG_NEWTOOLS", str(tmp_path / "given"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("LAYOUTALG_REQUIRE_ORACLES", raising=False)
    return tmp_path


def program(folder: Path, name: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(0o755)
    return str(folder / name)


def test_the_given_folder_comes_before_the_unpacked_one_and_the_path(elsewhere: Path) -> None:
    on_path = program(elsewhere / "path", "mlir-opt-24")
    assert require_new("mlir-opt-24") == on_path
    unpacked = program(elsewhere / "unpacked" / "bin", "mlir-opt-24")
    assert require_new("mlir-opt-24") == unpacked
    given = program(elsewhere / "given" / "bin", "mlir-opt-24")
    assert require_new("mlir-opt-24") == given


def test_the_systems_ocloc_is_not_the_new_one(elsewhere: Path) -> None:
    program(elsewhere / "path", "ocloc")
    with pytest.raises(pytest.skip.Exception, match=MISSING):
        require_new("ocloc")


def test_what_the_suites_no_longer_have_is_skipped_even_where_oracles_are_required(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAYOUTALG_REQUIRE_ORACLES", "1")
    with pytest.raises(pytest.fail.Exception, match="LAYOUTALG_REQUIRE_ORACLES=1"):
        require_new("mlir-opt-24")
    (elsewhere / "unpacked").mkdir()
    (elsewhere / "unpacked" / "missing").write_text("llvm24\nigc\n")
    for name in ("mlir-opt-24", "llc-24", "ocloc"):
        with pytest.raises(pytest.skip.Exception, match=f"{GONE}: {name}"):
            require_new(name)
    with pytest.raises(pytest.fail.Exception):
        require_new("mlir-opt-23")


def test_the_closing_line_names_what_was_not_asked(elsewhere: Path, pytester: pytest.Pytester) -> None:
    source = Path(__file__).parents[1] / "conftest.py"
    pytester.makeconftest(source.read_text(encoding="utf-8"))
    pytester.makepyfile(f"import pytest\ndef test_it():\n    pytest.skip({f'{GONE}: mlir-opt-24'!r})\n")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["1 tests need a compiler that Debian's suites no longer have (mlir-opt-24): not asked."]
    )
