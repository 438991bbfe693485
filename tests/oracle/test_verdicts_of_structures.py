"""The worked examples of `tests/ir/verify` have LLVM's words: mlir-opt 22, 23 and 24 are asked about the same texts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutalg.ir.findings import OURS as OUR_NAME
from layoutalg.ir.reading.files import read_file_text
from layoutalg.ir.verify import verify_module
from tests.ir.verify.modules import OURS, STRUCTURE
from tests.oracle.test_verdicts_of_operations import VERSIONS, words_of
from tests.oracle.verdicts import verdicts

MODULES = sorted((Path(__file__).parents[1] / "ir" / "modules").glob("*.mlir"))


@pytest.mark.parametrize("llvm", VERSIONS)
def test_the_words_of_the_worked_examples_are_llvms(llvm: int) -> None:
    for (text, words), verdict in zip(STRUCTURE.items(), verdicts(list(STRUCTURE), llvm), strict=True):
        assert (None if verdict is None else words_of(verdict)) == words[llvm], text


@pytest.mark.parametrize("llvm", VERSIONS)
def test_no_module_that_llvm_accepts_is_refused_in_its_name(llvm: int) -> None:
    """The modules that the reader is tested with hold every operation in every spelling."""
    texts = [piece for path in MODULES for piece in re.split(r"(?m)^// -----$", path.read_text(encoding="utf-8"))]
    accepted = [text for text, verdict in zip(texts, verdicts(texts, llvm), strict=True) if verdict is None]
    assert len(accepted) > 30
    for text in accepted:
        findings = [
            finding for part in read_file_text(text).modules for finding in verify_module(part.module, llvm=llvm)
        ]
        assert not [finding for finding in findings if finding.source != OUR_NAME], text


@pytest.mark.parametrize("llvm", VERSIONS)
def test_no_llvm_reports_what_our_own_rules_report(llvm: int) -> None:
    asked = [example for example in OURS if llvm in example.versions]
    for example, verdict in zip(asked, verdicts([example.text for example in asked], llvm), strict=True):
        assert verdict is None, f"{example.rule} is LLVM {llvm}'s rule now: {verdict}"
