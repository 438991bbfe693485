"""The table of operations: what is made of it, and that it says each fact once."""

from __future__ import annotations

import copy
import pickle

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import i32

from layoutalg.ir import read_module, write_module
from layoutalg.ir.dialects import DIALECTS as KNOWN
from layoutalg.ir.dialects import known_dialects
from layoutalg.ir.operations.rows import DIALECTS, rows_of
from layoutalg.ir.operations.stubs import stubs
from layoutalg.ir.operations.words import said
from layoutalg.ir.reading.files import read_file_text
from layoutalg.ir.verify import verify_module
from layoutalg.ir.verify.constraints import fits
from layoutalg.ir.verify.signatures import signature_of

ROWS = [row for dialect in DIALECTS for row in rows_of(dialect).values()]
TEXT = "%a = arith.constant dense<0.0> : vector<4x8xf32> %t = vector.transpose %a, [1, 0] : vector<4x8xf32> to vector<8x4xf32>"


def test_every_table_belongs_to_a_dialect_that_is_read() -> None:
    assert set(DIALECTS) <= set(KNOWN)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_row_has_one_class_and_a_class_has_its_rows_words(dialect: str) -> None:
    context = known_dialects()
    for row in rows_of(dialect).values():
        operation = context.get_op(row.name)
        definition = operation.get_irdl_definition()
        assert operation.__name__ == row.class_name or row.custom
        fields = [[name for name, _ in side] for side in (definition.operands, definition.results)]
        words = [[value.field for value in side] for side in (row.shape.operands, row.shape.results)]
        if operation.__module__.startswith("xdsl."):  # its fields have names of its own
            fields, words = ([[len(side)] for side in both] for both in (fields, words))
        assert fields == words
        assert set(definition.properties) - {"operandSegmentSizes", "resultSegmentSizes"} == {
            one.name for one in row.shape.attributes
        }


@pytest.mark.parametrize("llvm", [22, 23, 24])
def test_the_verifier_knows_the_words_of_every_row(llvm: int) -> None:
    for row in ROWS:
        shape = row.shape.signed(llvm)
        for value in (*shape.operands, *shape.results):
            words = said(value.words, llvm)
            assert isinstance(fits(words, i32), bool), row.name
        assert (signature_of(row.name, llvm) is None) == (llvm not in row.versions)


def test_the_stubs_are_those_of_the_tables() -> None:
    for path, text in stubs():
        assert path.read_text(encoding="utf-8") == text, "run `python -m layoutalg.ir.operations.stubs`"


def test_modules_of_rows_are_pickled_and_copied() -> None:
    module = read_module(TEXT)
    for other in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module), module.clone()):
        assert write_module(other) == write_module(module)


def test_classes_of_rows_are_where_they_say_they_are() -> None:
    operation = known_dialects().get_op("vector.transpose")
    assert pickle.loads(pickle.dumps(operation)) is operation


def test_a_dictionary_may_say_again_what_the_syntax_says_up_to_llvm_23() -> None:
    """As mlir-opt 22 and 23 read it; 24 refuses it."""
    text = '%a = "test.op"() : () -> f32 %b = arith.addf %a, %a {fastmath = #arith.fastmath<fast>} : f32'
    (part,) = read_file_text(text).modules
    assert "fastmath<fast>" in write_module(part.module)
    assert [verify_module(part.module, llvm=llvm) for llvm in (22, 23)] == [(), ()]
    (finding,) = verify_module(part.module, llvm=24)
    assert finding.message == (
        "custom op 'arith.addf' inherent attribute 'fastmath' cannot be parsed from attr-dict when strict properties in "
        "assembly format is enabled"
    )
    assert "`<{` and `}>`" in finding.notes[0]


def test_an_operation_of_older_pages_is_read_and_refused() -> None:
    """mlir-opt-22: custom op 'vector.splat' is unknown."""
    text = '%a = "test.op"() : () -> f32 %b = vector.splat %a : vector<4xf32>'
    (part,) = read_file_text(text).modules
    assert [one.message for one in verify_module(part.module, llvm=22)] == ["custom op 'vector.splat' is unknown"]


def test_a_wrong_operation_is_refused_in_the_words_of_the_general_check() -> None:
    value = test.TestOp(result_types=[i32]).results[0]
    index = known_dialects().get_op("index.add")
    with pytest.raises(Exception, match="operand 'lhs' at position 0 does not verify"):
        index.create(operands=[value, value], result_types=[i32]).verify()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("vector.load %m[%i] {nontemporal = true, alignment = 8 : i64} : memref<8xf32>, vector<2xf32>", "nontemporal"),
        ("vector.extract_strided_slice %v {sizes = [2], offsets = [0], strides = [1]} : vector<8xf32> to vector<2xf32>",
         "offsets"),
        ("arith.truncf %x {roundingmode = 1 : i32, fastmath = #arith.fastmath<fast>} : f32 to f16", "roundingmode"),
    ],
)  # fmt: skip
def test_llvm_24_names_the_first_inherent_attribute_of_the_definition(line: str, says: str) -> None:
    """Whatever their order in the text is; read off mlir-opt-24."""
    values = '%m, %i, %v, %x = "test.op"() : () -> (memref<8xf32>, index, vector<8xf32>, f32)'
    (part,) = read_file_text(f"{values}\n%r = {line}").modules
    found = verify_module(part.module, llvm=24)[0].message
    assert found.partition("' ")[2].startswith((f"inherent attribute '{says}' cannot be parsed", f"expected '{says}'"))
