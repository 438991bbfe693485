"""`verify` says what mlir-opt 22, 23 and 24 say of operations in which one thing is wrong.

Valid operations (`valid_operations`) are changed in a type, a rank, a size, a hint, an attribute or a count (`mutations`), and
each compiler is asked about all of them at once. Verdicts must agree; the words too, where a compiler has words. Where it
crashes, we must say something.

IREE's operations are asked of iree-opt in the same way. `make exhaustive` asks 2,000 different questions about AMX's
operations and 2,000 about XeGPU's, of each version of LLVM, and 500 about IREE's, new ones in each run (`LAYOUTALG_SEED`
repeats one).

Two kinds of questions have no right answer in LLVM: types that it reads and then crashes on or goes wrong with (a slice in a
descriptor of LLVM 22, an element type without a size), and a layout of another rank than its value: LLVM 23 and 24 read
past the end. There we complain in our own name, and LLVM's verdict is not asked for.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import pytest

from layoutalg.ir import Finding
from layoutalg.ir.findings import OURS
from layoutalg.ir.reading.files import read_file_text
from layoutalg.ir.verify import verify_module
from tests.oracle import valid_operations
from tests.oracle.iree import iree_opt
from tests.oracle.mutations import Written, mutated
from tests.oracle.valid_iree_operations import IREE
from tests.oracle.verdicts import CRASHED, verdicts, verdicts_of

VERSIONS = (22, 23, 24)
TABLES = {
    "xegpu": valid_operations.XEGPU,
    "arith": valid_operations.ARITH,
    "vector": valid_operations.VECTOR,
    "memref": valid_operations.MEMREF,
    "control": valid_operations.CONTROL,
    "amx": valid_operations.AMX,
}
ASKED = [(dialect, llvm) for dialect in TABLES for llvm in VERSIONS] + [("iree", 24), ("xevm", 23), ("xevm", 24)]
"""The dialects, and the versions of LLVM whose words they are in."""
TABLES["iree"], TABLES["xevm"] = IREE, valid_operations.XEVM
STORED = {
    "xegpu": 700,
    "arith": 200,
    "vector": 400,
    "memref": 200,
    "control": 200,
    "amx": 200,
    "iree": 300,
    "xevm": 150,
}
"""How many questions of each dialect are asked every time, the same ones."""
FRESH = 100
"""How many new ones are asked of each dialect in each run."""
MANY = {"xegpu": 2000, "amx": 2000, "iree": 500}
"""How many different ones `make exhaustive` asks."""
UNDEFINED = ("xegpu.tensor_desc.type", "xegpu.mem_desc.type", "ours.layout_rank")
"""Rules of ours for what LLVM accepts or refuses by chance."""


@dataclass
class Answer:
    """What we say of a text: what LLVM's rules say, and all that we say."""

    llvm: str | None
    findings: tuple[Finding, ...]

    @property
    def undefined(self) -> bool:
        return self.llvm is None and any(finding.rule in UNDEFINED for finding in self.findings)


def answer(text: str, llvm: int) -> Answer:
    reading = read_file_text(text)
    unread = [finding for finding in reading.findings if finding.level == "error"]
    if unread:
        return Answer(f"unread: {unread[0].message}", tuple(unread))
    (part,) = reading.modules
    findings = verify_module(part.module, llvm=llvm)
    return Answer(next((one.message for one in findings if one.source != OURS), None), findings)


def words_of(verdict: str) -> str:
    """LLVM's words without the operation's name, which a finding has in a field of its own."""
    return verdict.partition("' op ")[2] or verdict


def disagreement(text: str, verdict: str | None, ours: Answer) -> str | None:
    if verdict == CRASHED:
        return None if ours.findings else f"the compiler crashes, we accept:\n{text}"
    if ours.undefined or (verdict is None) == (ours.llvm is None):
        return None
    return f"LLVM: {verdict}\nours: {ours.llvm}\n{text}"


def questions(table: tuple[Written, ...], llvm: int, count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    known = [written for written in table if llvm in written.versions]
    return [mutated(rng.choice(known), rng).module() for _ in range(count)]


def different_questions(table: tuple[Written, ...], llvm: int, count: int, seed: int) -> list[str]:
    """As many questions, no two of them the same."""
    rng = random.Random(seed)
    known = [written for written in table if llvm in written.versions]
    found: dict[str, None] = {}
    while len(found) < count:
        found[mutated(rng.choice(known), rng).module()] = None
    return list(found)


def asked(dialect: str, texts: list[str], llvm: int) -> list[str | None]:
    """What the dialect's compiler says."""
    if dialect == "iree":
        return verdicts_of([iree_opt(), "--split-input-file", "--mlir-print-op-on-diagnostic=false"], texts)
    return verdicts(texts, llvm)


def compare(dialect: str, texts: list[str], llvm: int) -> tuple[list[str], list[tuple[str, str]]]:
    """The verdicts that differ, and the words of both where both refuse."""
    differ: list[str] = []
    said: list[tuple[str, str]] = []
    excused = 0
    for text, verdict in zip(texts, asked(dialect, texts, llvm), strict=True):
        ours = answer(text, llvm)
        excused += ours.undefined and verdict is not None
        found = disagreement(text, verdict, ours)
        if found is not None:
            differ.append(found)
        elif verdict not in (None, CRASHED) and ours.llvm is not None:
            said.append((words_of(str(verdict)), ours.llvm))
    assert excused <= max(5, len(texts) // 50), "our own rules stand for LLVM's in too many places"
    return differ, said


@pytest.mark.parametrize(("dialect", "llvm"), ASKED)
def test_the_operations_that_mutations_start_from_are_accepted(dialect: str, llvm: int) -> None:
    texts = [written.module() for written in TABLES[dialect] if llvm in written.versions]
    assert asked(dialect, texts, llvm) == [None] * len(texts)
    assert [answer(text, llvm).llvm for text in texts] == [None] * len(texts)


@pytest.mark.parametrize(("dialect", "llvm"), ASKED)
def test_verdicts_and_words_of_wrong_operations(dialect: str, llvm: int) -> None:
    texts = questions(TABLES[dialect], llvm, STORED[dialect], seed=12)
    differ, said = compare(dialect, texts, llvm)
    assert not differ, "\n\n".join(differ[:3])
    refused = len(said)
    assert refused > STORED[dialect] // 4, "mutations that nobody refuses test nothing"
    # A property of the wrong kind is refused by the parser, with the whole dictionary in front of the words that we have.
    same = sum(theirs == ours or theirs.endswith(ours) for theirs, ours in said)
    # IREE's own checks of an attribute's entries come in front of its checks of types, ours behind.
    assert same >= (0.9 if dialect == "iree" else 0.97) * refused, [pair for pair in said if pair[0] != pair[1]][:3]


def fresh_seed() -> int:
    seed = int(os.environ.get("LAYOUTALG_SEED", random.SystemRandom().randrange(2**32)))
    print(f"LAYOUTALG_SEED={seed}")
    return seed


@pytest.mark.parametrize(("dialect", "llvm"), ASKED)
def test_verdicts_of_fresh_wrong_operations(dialect: str, llvm: int) -> None:
    differ, _ = compare(dialect, questions(TABLES[dialect], llvm, FRESH, fresh_seed()), llvm)
    assert not differ, "\n\n".join(differ[:3])


@pytest.mark.exhaustive
@pytest.mark.parametrize(("dialect", "llvm"), [one for one in ASKED if one[0] in MANY])
def test_verdicts_of_thousands_of_wrong_operations(dialect: str, llvm: int) -> None:
    texts = different_questions(TABLES[dialect], llvm, MANY[dialect], fresh_seed())
    differ, _ = compare(dialect, texts, llvm)
    assert not differ, f"{len(differ)} of {len(texts)}\n\n" + "\n\n".join(differ[:9])


@pytest.mark.parametrize("seed", [1166094399, 652149898])
def test_a_few_of_our_own_complaints_among_a_hundred_are_no_failure(seed: int) -> None:
    """LLVM refuses most of what these seeds' questions have that we refuse in our own name."""
    for llvm in VERSIONS:
        assert compare("xegpu", questions(TABLES["xegpu"], llvm, FRESH, seed), llvm)[0] == []


@pytest.mark.parametrize("llvm", VERSIONS)
def test_a_removed_operation_is_refused_as_the_compiler_does(llvm: int) -> None:
    """Each operation that some version has, in the versions that do not have it."""
    gone = {
        written.name: written.module()
        for written in (*valid_operations.XEGPU, *valid_operations.AMX)
        if llvm not in written.versions and written.name in GONE[llvm]
    }
    assert set(gone) == GONE[llvm]
    texts = list(gone.values())
    for text, verdict in zip(texts, verdicts(texts, llvm), strict=True):
        assert verdict is not None, text
        assert answer(text, llvm).llvm is not None, text


_SCATTERED = {"xegpu.create_tdesc", "xegpu.update_offset", "xegpu.update_nd_offset"}
_OLD_AMX = {f"amx.{name}" for name in ("tile_zero", "tile_load", "tile_store", "tile_mulf", "tile_muli")}
GONE = {
    22: {"xegpu.dpas_mx", "xegpu.truncf", "xegpu.lane_shuffle", *(f"x86.{name}" for name in _OLD_AMX)},
    23: {"xegpu.lane_shuffle", *_SCATTERED, *_OLD_AMX},
    24: {*_SCATTERED, *_OLD_AMX},
}
"""Operations that a version of LLVM does not have."""
