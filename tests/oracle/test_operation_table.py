"""What the table says of operands and results is what LLVM says, and IREE of its own: every row, asked with wrong types.

The modules of `tests/ir/modules` have every operation. Each operation stands alone here, and one of its types is replaced.
Where LLVM's answer is about a type ("operand #0 must be vector of ... values"), ours is the same, and the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from xdsl.ir import Operation

from layoutalg.ir import read_module
from layoutalg.ir.findings import OURS
from layoutalg.ir.operations.rows import DIALECTS, rows_of
from layoutalg.ir.reading.files import read_file_text
from layoutalg.ir.verify import verify_module
from tests.ir.module_files import written_modules
from tests.oracle.iree import iree_opt
from tests.oracle.llvm_xegpu import mlir_opt
from tests.oracle.toolchains import run
from tests.oracle.verdicts import CRASHED, verdicts_of

COMPILERS = ("22", "23", "24", "iree")
IREE = tuple(name for name in DIALECTS if name.startswith("iree_") or name in ("hal", "pcf", "util"))
TRITON = (
    *("amdg", "gluon", "nvws", "proton", "proton_gpu", "rocdl", "triton_gen", "tt", "ttg", "tti", "ttig", "ttng"),
)
"""Read as Triton's wheel writes them (tests/oracle/test_triton_files.py)."""
WRONG = ("none", "i1", "f32", "vector<4xf32>", "memref<4xf32>")
BRANCHES = ("cf.br", "cf.cond_br", "cf.switch", "pcf.br.cond_return")
"""They need other blocks."""
WORDLESS = ("vector.print", "vector.scalable.extract", "vector.scalable.insert")
"""Where LLVM's message has a gap in place of words: "operand #0 must be , but got 'none'"."""
ABOUT_TYPES = re.compile(
    r"(operand|result) #\d+ must be|requires the same type for all operands and results"
    r"|failed to verify that all of \{.*\} have same type"
)


def version(compiler: str) -> int:
    """The version of LLVM that a compiler is built on."""
    return int(compiler) if compiler.isdigit() else 24


def command(compiler: str) -> list[str]:
    return [iree_opt() if compiler == "iree" else mlir_opt(int(compiler))]


def operations(compiler: str) -> Iterator[Operation]:
    """One operation of each row that this compiler accepts, as it prints it in generic form."""
    texts = [module.text for module in written_modules() if compiler in module.compilers]
    flags = ("--split-input-file", "--mlir-print-local-scope", "--mlir-print-op-generic")
    seen: set[str] = set()
    for form in run([*command(compiler), *flags], "// -----\n".join(texts)).stdout.split("// -----\n"):
        for operation in read_module(form).walk():
            dialect = operation.name.partition(".")[0]
            known = operation.name in rows_of(dialect) and operation.name not in WORDLESS
            asked = dialect not in TRITON and (dialect in IREE) == (compiler == "iree")
            if asked and known and operation.name not in seen and not operation.regions and not operation.successors:
                seen.add(operation.name)
                yield operation


def alone(operation: Operation, operands: list[str], results: list[str], llvm: int) -> str:
    """The operation in generic form, with these types."""
    made = f'%v:{len(operands)} = "test.op"() : () -> ({", ".join(operands)})\n' if operands else ""
    given = ", ".join(f"%v#{number}" for number in range(len(operands)))
    properties = ", ".join(
        f"{name} = {_spelled(str(value), llvm)}" for name, value in sorted(operation.properties.items())
    )
    if operation.name == "xegpu.create_nd_tdesc" and llvm > 22:  # which has no offsets to count
        properties = properties.replace("array<i32: 1, 0, ", "array<i32: 1, ")
    written = f" <{{{properties}}}>" if properties else ""
    bound = f"%r:{len(results)} = " if results else ""
    return f'{made}{bound}"{operation.name}"({given}){written} : ({", ".join(operands)}) -> ({", ".join(results)})\n'


def _spelled(value: str, llvm: int) -> str:
    """LLVM 24 reads `#gpu<dim<x>>`, and `#gpu<dim x>` no longer."""
    return value if llvm < 24 else re.sub(r"#(\w+)<(\w+) (\w+)>", r"#\1<\2<\3>>", value)


def questions(operation: Operation, llvm: int) -> Iterator[str]:
    operands = [str(value.type) for value in operation.operands]
    results = [str(value.type) for value in operation.results]
    for types in (operands, results):
        for number, right in enumerate(types):
            for wrong in WRONG:
                types[number] = wrong
                yield alone(operation, operands, results, llvm)
            types[number] = right


def ours(text: str, llvm: int) -> str | None:
    (part,) = read_file_text(text).modules
    found = [one.message for one in verify_module(part.module, llvm=llvm) if one.source != OURS]
    return found[0] if found else None


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_compiler_says_the_same_of_wrong_types(compiler: str) -> None:
    llvm = version(compiler)
    asked = list(operations(compiler))
    rows = [
        row
        for dialect in DIALECTS
        if dialect not in TRITON and (dialect in IREE) == (compiler == "iree")
        for name, row in rows_of(dialect).items()
        if name not in BRANCHES
    ]
    # All rows but those of operations that no LLVM from 22 on has, of branches, or that need a region or a function around.
    assert len(asked) > 0.85 * sum(llvm in row.versions and not row.shape.regions for row in rows)
    texts = [text for operation in asked for text in questions(operation, llvm)]
    wrong: list[str] = []
    said = 0
    flags = ("--split-input-file", "--mlir-print-op-on-diagnostic=false", "--allow-unregistered-dialect")
    for text, verdict in zip(texts, verdicts_of([*command(compiler), *flags], texts), strict=True):
        if verdict == CRASHED or "expects parent op" in (verdict or ""):
            continue
        theirs = None if verdict is None else verdict.partition("' op ")[2]
        mine = ours(text, llvm)
        about = [words for words in (theirs, mine) if words is not None and ABOUT_TYPES.search(words)]
        said += bool(about)
        if about and theirs != mine:
            wrong.append(f"{compiler}: {theirs}\nours: {mine}\n{text}")
    assert said > 3 * len(asked)
    assert not wrong, f"{len(wrong)} of {said}\n\n" + "\n".join(wrong[:9])
