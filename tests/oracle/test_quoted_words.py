"""Words of an enumeration may stand in quotes: LLVM and the reader accept the same ones, and print them without."""

from __future__ import annotations

import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.ir import read_module, write_module
from tests.oracle.llvm_xegpu import mlir_opt
from tests.oracle.toolchains import run

OPERATIONS = {
    "%r = arith.addf %x, %x fastmath<{}> : f32": (
        *('"nnan"', '"nnan,ninf"', '"nnan , ninf"', '"nnan", "ninf"', '"nnan,ninf", nsz', '"nnan,nnan"', "nnan, none"),
        *('"none"', '"fast"', '""', '"none,nnan"', '"NNAN"', "nonsense", ""),
    ),
    "%r = arith.addi %i, %i overflow<{}> : i32": ('"nsw"', '"none"', '"NSW"', '"fast"', ""),
    "%r = arith.truncf %x {} : f32 to f16": ('"to_nearest_even"', '"upward"', '"upwards"'),
    "%r = arith.cmpi {}, %i, %i : i32": ('"eq"', '"equal"'),
    "%r = vector.reduction <{}>, %v : vector<4xf32> into f32": ('"add"', '"maximumf"', '"ADD"', '""', "nonsense"),
    "%r = vector.multi_reduction <{}>, %v, %x [0] : vector<4xf32> to f32": ('"add"', '"ADD"'),
    '%r = "test.op"() {{kind = #vector.kind<{}>}} : () -> f32': ('"add"', '"minui"', '"ADD"'),
    '%r = "test.op"() {{a = #vector.iterator_type<{}>}} : () -> f32': ('"parallel"', '"Parallel"'),
    '%r = "test.op"() {{a = #arith.fastmath<{}>}} : () -> f32': ('"contract"', '"contracted"'),
}
CASES = [(operation, word) for operation, words in OPERATIONS.items() for word in words]


def printed(text: str) -> str:
    """The operation as it stands in a printed module, without blanks between flags."""
    [line] = [line for line in text.splitlines() if "%r = " in line or "%0 = " in line]
    return line.partition(" = ")[2].replace("%arg0", "%x").replace("%arg1", "%i").replace("%arg2", "%v").strip()


@pytest.mark.parametrize("llvm", [22, 23, 24])
@pytest.mark.parametrize(("operation", "word"), CASES)
def test_a_quoted_word_is_read_where_llvm_reads_it(operation: str, word: str, llvm: int) -> None:
    text = f"func.func @f(%x: f32, %i: i32, %v: vector<4xf32>) {{\n{operation.format(word)}\nreturn }}"
    found = run([mlir_opt(llvm), "--allow-unregistered-dialect"], text)
    if found.returncode:
        with pytest.raises(LayoutError, match=r"(?i)expected"):
            read_module(text)
    else:
        ours = printed(write_module(read_module(text)))
        assert ours.replace(", ", ",") == printed(found.stdout).replace(", ", ",")
