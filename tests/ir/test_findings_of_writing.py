"""Nothing that is written, and no message, has a character that a terminal obeys."""

from __future__ import annotations

import re

import pytest

import layoutalg as la
from layoutalg.core.errors import VerificationError
from tests.oracle.toolchains import require, run

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
NOTE = 'func.func @f() attributes {{note = "a\\1B[31mb\x1b[32m\x9b é \\22"}} {{\n{}return\n}}\n'
UNREAD = NOTE.format('my.op "\x1b[31m\x9b"(%x) // \x1b[33m\n')


def test_escapes_in_strings_are_written_as_mlir_opt_writes_them() -> None:
    text = NOTE.format("")
    theirs = run([require("mlir-opt-22")], text).stdout
    [written] = re.findall(r'note = "[^"]*"', la.read(text).text(22))
    assert written in theirs


@pytest.mark.parametrize("text", [NOTE.format(""), UNREAD])
def test_a_module_is_written_without_characters_that_a_terminal_obeys(text: str) -> None:
    module = la.read(text)
    written = module.text(24)
    assert not CONTROL.search(written)
    assert la.read(written).text(24).replace("  ", "") == written.replace("  ", "")
    assert not CONTROL.search(str(module.migrate(24).module))
    assert not CONTROL.search(" ".join(str(finding) for finding in module.verify(llvm=24)))


@pytest.mark.parametrize("changed", ["propagate", "lower"])
def test_what_is_made_of_a_module_has_none_either(changed: str) -> None:
    made = la.propagate(la.read(NOTE.format(""))) if changed == "propagate" else la.lower(la.read(NOTE.format("")))
    assert not CONTROL.search(str(made.module))


def test_an_instruction_that_is_not_there_is_named_without_escapes() -> None:
    with pytest.raises(VerificationError, match="no such instruction") as told:
        la.dpas("\x1b[31m", "f16")
    assert not CONTROL.search(str(told.value))
