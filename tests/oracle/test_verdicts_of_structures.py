"""The worked examples of `tests/ir/verify` have LLVM's words: mlir-opt 22, 23 and 24 are asked about the same texts."""

from __future__ import annotations

import pytest

from tests.ir.verify.modules import OURS, STRUCTURE
from tests.oracle.test_verdicts_of_operations import VERSIONS, words_of
from tests.oracle.verdicts import verdicts


@pytest.mark.parametrize("llvm", VERSIONS)
def test_the_words_of_the_worked_examples_are_llvms(llvm: int) -> None:
    for (text, words), verdict in zip(STRUCTURE.items(), verdicts(list(STRUCTURE), llvm), strict=True):
        assert (None if verdict is None else words_of(verdict)) == words[llvm], text


@pytest.mark.parametrize("llvm", VERSIONS)
def test_no_llvm_reports_what_our_own_rules_report(llvm: int) -> None:
    asked = [example for example in OURS if llvm in example.versions]
    for example, verdict in zip(asked, verdicts([example.text for example in asked], llvm), strict=True):
        assert verdict is None, f"{example.rule} is LLVM {llvm}'s rule now: {verdict}"
