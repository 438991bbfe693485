"""Forty changes of the text of every form: each one that changes the meaning is caught, by a refusal or by another result.

A change is drawn from a line of the emitted kernel (`tests.simulate.mutants`): another number, operands exchanged, another
operation or value, a store or a barrier left out. Lines of prefetches are left alone: they change no result, and
`test_mutations` counts what is wrong with them. A change of a line may mean the same for all inputs: `SAME` has the reasons,
and nothing survives every run without one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import pytest

from layoutalg.ir import read_module, write_module
from tests.gemm.forms import FORMS, Form
from tests.simulate.mutants import OF_FORMS, VALUE, mutated

EACH, SHORT = 40, 3


@dataclass(frozen=True)
class Line:
    """A change of a line: the text before it, the line's index, and what the line says then."""

    text: str
    index: int
    now: str

    @property
    def was(self) -> str:
        return self.text.splitlines()[self.index].strip()

    def __str__(self) -> str:
        return f"{self.was} -> {self.now}"

    def says(self, pattern: str) -> bool:
        return re.match(pattern, self.was) is not None

    def defined(self, value: str) -> str:
        """What a value is, in the last line before this one that says it."""
        before = self.text.splitlines()[: self.index]
        found = [line.strip() for line in before if line.strip().startswith(f"{value} = ")]
        return found[-1].removeprefix(f"{value} = ") if found else ""


def _sign_of_no_number(change: Line) -> bool:
    return change.says(r"%c33_i64 = arith\.constant 33 .* 32 ")


def _asked_for_ahead(change: Line) -> bool:
    """Whether the value of the line goes into prefetches and nothing else, or nowhere, through whatever is computed from it."""
    lines = [line.strip() for line in change.text.splitlines()]
    ends = [-1, *(n for n, line in enumerate(lines) if line == "gpu.return"), len(lines)]
    lines = next(lines[begin + 1 : end] for begin, end in pairwise(ends) if begin < change.index < end)
    reached, seen = [change.was.split(" = ")[0]], set[str]()
    while reached:
        value = reached.pop()
        if value in seen:
            continue
        seen.add(value)
        if re.fullmatch(r"%\w+", value) is None:
            return False
        for line in lines:
            if value not in VALUE.findall(line.split(" = ", 1)[-1]) or line.startswith("xegpu.prefetch_nd"):
                continue
            if re.match(r"%\w+ = (arith\.|xegpu\.create_nd_tdesc)", line) is None:
                return False
            reached.append(line.split(" = ")[0])
    return True


def _implied(change: Line) -> bool:
    """A row is in the matrix, and another condition; that becomes the same one of a row that is smaller by a constant."""
    rows: list[int] = []
    conditions: list[str] = []
    for line in (change.was, change.now):
        masks = re.fullmatch(r"%\w+ = arith\.andi (%\w+), (%\w+) : i1", line)
        if masks is None:
            return False
        mine, other = masks.groups()
        if more := re.fullmatch(r"arith\.andi (%\w+), (%\w+) : i1", change.defined(other)):
            # the new operand is a conjunction itself: a row's, and the one that stood there
            mine, other = more.groups()
        compared = re.fullmatch(r"arith\.cmpi ult, (%\w+), %size_m : index", change.defined(mine))
        if compared is None:
            return False
        added = re.fullmatch(r"arith\.addi %row, %c(\d+) : index", change.defined(compared[1]))
        rows.append(int(added[1]) if added else 0)
        conditions.append(other)
    return conditions[0] == conditions[1] and rows[1] < rows[0] and _row_kept(change)


def _row_kept(change: Line) -> bool:
    """Whether the row's own condition still stands in the line."""
    return change.was.split(" = ")[1].split(",")[0] == change.now.split(" = ")[1].split(",")[0]


def _first_keys_again(change: Line) -> bool:
    """Whether some row has seen no key yet is asked of other rows: the new line has numbers of this question alone.

    Those are the largest scores of rows, from which it comes, and what is made of them. What it says in the end stays.
    """
    lines = change.text.splitlines()
    begin = next((n for n, line in enumerate(lines) if "scf.while (%first_key" in line), None)
    if begin is None or "%window" in change.text:
        return False
    end = next(n for n in range(begin, len(lines)) if "scf.condition" in lines[n])
    vote = next((n for n in range(begin, end) if "arith.cmpf olt" in lines[n]), end)
    values = {name for line in lines[vote:end] for name in VALUE.findall(line)}
    values |= {line.split(" = ")[0].strip() for line in lines[begin:vote] if "vector.from_elements" in line}
    return vote <= change.index < end - 1 and values.issuperset(VALUE.findall(change.now))


def _rounded_down(change: Line) -> bool:
    """Whether a number is below a multiple of 32 is asked of the number rounded down to one, or the other way round."""
    asked = [re.fullmatch(r"%\w+ = arith\.cmpi slt, (%\w+), %inner : i32", line) for line in (change.was, change.now)]
    named = {found[1] for found in asked if found is not None}
    return named == {"%begin", "%lowest"} and change.defined("%begin") == "arith.andi %lowest, %cm32_i32 : i32"


def _hidden_behind(change: Line) -> bool:
    """A score is compared with one of 16 keys earlier, before or after that one is hidden.

    Without a window keys are hidden from one on: where the earlier one is hidden, so is the later one, and -inf is above none.
    """
    asked = [re.fullmatch(r"(%\w+ = arith\.cmpf ogt, %\w+, )(%\w+)( : .*)", line) for line in (change.was, change.now)]
    if "%window" in change.text or asked[0] is None or asked[1] is None or asked[0].group(1, 3) != asked[1].group(1, 3):
        return False
    later = VALUE.findall(change.was)[1]
    masks = [
        re.fullmatch(r"arith\.select %\w+, (%s(\d)x(\d)(?:_\d+)?), %hidden : .*", change.defined(value))
        for value in (asked[0][2], later)
    ]
    if masks[0] is None or masks[1] is None or masks[0][2] != masks[1][2]:
        return False
    return asked[1][2] == masks[0][1] and int(masks[0][3]) < int(masks[1][3])


def _least_again(change: Line) -> bool:
    """The least of a, the length, and what all rows see is the least of a and what all rows see, which ends at the length."""
    found = [re.fullmatch(r"%stop = arith\.minsi (%\w+), %seen_by_all : i32", one) for one in (change.was, change.now)]
    ends = [one[1] if one is not None else "" for one in found]
    seen = change.defined("%seen_by_all").split(" = ")[-1]
    rounded = re.fullmatch(r"arith\.andi (%\w+), %cm32_i32 : i32", seen)
    if rounded is None or ends[0] != "%end" or change.defined("%end") != f"arith.minsi {ends[1]}, %length : i32":
        return False
    less = re.fullmatch(r"arith\.maxsi (%\w+), %c0_i32 : i32", change.defined(rounded[1]))
    return rounded[1] == "%length" or (
        less is not None and re.fullmatch(r"arith\.subi %length, %c\d+_i32 : i32", change.defined(less[1])) is not None
    )


def _once(change: Line) -> bool:
    """In the body of a loop that runs once, its variable is where it begins, and what it carries is what it begins with."""
    lines = [line.strip() for line in change.text.splitlines()[: change.index]]
    found = [
        one
        for line in lines
        if (one := re.search(r"scf\.for (%\w+) = (%\w+) to (%\w+) step \3 iter_args\((.*)\) ->", line))
    ]
    if not found or change.defined(found[-1][2]) != "arith.constant 0 : i32":
        return False
    begun = dict(re.findall(r"(%\w+) = (%\w+)", found[-1][4])) | {found[-1][1]: found[-1][2]}
    was, now = (VALUE.sub(lambda one: begun.get(one[0], one[0]), line) for line in (change.was, change.now))
    if was == now:
        return True
    chosen = re.fullmatch(
        r"(%\w+ = arith\.select (%\w+), )(%\w+), %lowest( : .*)", was
    )  # the larger of a number and -inf
    if chosen is None or change.defined("%lowest") != "arith.constant dense<0xFF800000> : vector<8xf32>":
        return False
    asked = VALUE.sub(lambda one: begun.get(one[0], one[0]), change.defined(chosen[2]))
    first = f"{chosen[1]}{chosen[3]}, {chosen[3]}{chosen[4]}"
    return now == first and asked.startswith(f"arith.cmpf ogt, {chosen[3]}, %lowest :")


def _tries(change: Line) -> bool:
    uses = [line for line in change.text.splitlines() if "%c6_i32" in line]
    return change.says("%c6_i32 = ") and all("%c6_i32 = " in one or "slt, %c6_i32, %again" in one for one in uses)


def _equal(change: Line) -> bool:
    """Both lines say the same when each number is put as what it is computed from, constants and positions as they stand."""

    def written_out(line: str, depth: int = 0) -> str:
        name, _, said = line.rpartition(" = ")
        assert depth < 30

        def put(one: re.Match[str]) -> str:
            of = change.defined(one[0])
            pure = re.match(r"arith\.|gpu\.block_id|gpu\.subgroup_id", of) is not None
            return f"({written_out(of, depth + 1)})" if pure else one[0]

        return (f"{name} = " if name else "") + VALUE.sub(put, said)

    return change.says(r"%\w+ = arith\.") and written_out(change.was) == written_out(change.now)


def _hidden_steps(change: Line) -> bool:
    """A loop over keys that are compared with a row's last one ends later: at the last key of all, and not of the subgroup."""
    least = re.fullmatch(r"%end = arith\.minsi %seen_by_last, %keys : i32", change.was)
    uses = [line.strip() for line in change.text.splitlines() if "%end" in VALUE.findall(line.split(" = ", 1)[-1])]
    return (
        least is not None
        and change.now == change.was.replace("minsi", "maxsi")
        and "%window" not in change.text
        and all(re.fullmatch(r"%\w+ = arith\.cmpi slt, %\w+, %end : i32", line) for line in uses)
    )


SAME: dict[Callable[[Line], bool], str] = {
    _sign_of_no_number: "a hidden zero is the sign of a number that has none, shifted by 32 or 33",
    _asked_for_ahead: "where a prefetch is changes no result, and neither does a value that nothing takes",
    _implied: "a row that is in the matrix has all rows before it in the matrix",
    _first_keys_again: (
        "with finite numbers and without a window a row that sees a key sees one of the first 16; where a row of a subgroup "
        "sees none, the others, at most 15 rows further, see none behind those 16"
    ),
    _hidden_behind: "keys are hidden from one on, so a key is hidden where one before it is, and -inf is above no score",
    _least_again: "what all rows of a sequence see ends at its length, so that the least of both need not be asked again",
    _rounded_down: "the keys without a mask begin at a multiple of 32, and begin is the lowest key rounded down to one",
    _once: "a loop over all parts in one step begins with part 0 and with -inf, and no part has a maximum that is no number",
    _equal: "K and V, and each question about the same rows, compute the same number by themselves",
    _hidden_steps: "a step whose keys are all hidden has weights of 0, changes no maximum, and adds nothing",
    _tries: "a third try is needed from |m| of 3e7 on, and from 2^12 / c on a row is infinite and all is computed once more",
}
"""Which changes of lines mean the same for all inputs, and why."""


def changes(form: Form, name: str, most: int) -> Iterator[tuple[str | Line, str]]:
    """What is changed, in words or as a line, and the whole text.

    First come mistakes made in the operations (`mutating`), as far as a form has them, then changes of lines.
    """
    lines = form.text.splitlines()
    same = write_module(read_module(form.text))  # an accumulator of zeros that is replaced by zeros is no change
    for mutant in [] if form.mistakes is None else form.mistakes(form.text, most):
        if mutant.text != same:
            yield mutant.mistake, mutant.text
    for line, now, text in mutated(form.text, 100 * most, crc32(name.encode()), OF_FORMS):
        if "prefetch" not in lines[line - 1]:
            yield Line(form.text, line - 1, now), text


@pytest.fixture(autouse=True)
def _little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention that goes on for ever is refused after a second: what it may cost is a hundred times what these runs do."""
    monkeypatch.setattr("layoutalg.gemm.attention.run.MOST_WORK", 2**29)


def judged(form: Form, name: str, most: int) -> tuple[Counter[str], list[str]]:
    """How many changes of a form were caught, and how; and those that survive without a reason.

    Changes that cannot be read do not count.
    """
    counted: Counter[str] = Counter()
    survivors: list[str] = []
    for change, text in changes(form, name, most):
        verdict = form.verdict(text)
        if verdict == "unread":
            continue
        if verdict == "right":
            verdict = "means the same"
            if isinstance(change, str) or not any(holds(change) for holds in SAME):
                survivors.append(str(change))
        counted[verdict] += 1
        if counted.total() == most:
            break
    assert counted.total() == most
    return counted, survivors


@pytest.mark.parametrize("name", FORMS)
def test_changes_of_meaning_are_caught(name: str) -> None:
    form = FORMS[name]()
    assert form.runs[0](form.text)
    _, survivors = judged(form, name, SHORT)
    assert not survivors


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FORMS)
def test_forty_changes_of_each_form(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """None survives without a reason."""
    form = FORMS[name]()
    assert form.verdict(form.text) == "right"
    counted, survivors = judged(form, name, EACH)
    with capsys.disabled():
        print(f"\n{name}: {counted.total()} drawn, {dict(counted)}")
        print("\n".join(f"  survives: {said}" for said in survivors))
    assert not survivors


def test_a_row_implies_those_before_it_and_no_others() -> None:
    """By hand: rows 2 and 5 of a tile. A condition may become that of an earlier row and itself, not of a later one."""
    text = """%4 = arith.addi %row, %c2 : index
%5 = arith.cmpi ult, %4, %size_m : index
%6 = arith.andi %5, %9 : i1
%7 = arith.addi %row, %c5 : index
%8 = arith.cmpi ult, %7, %size_m : index
%10 = arith.andi %8, %9 : i1
%11 = arith.andi %5, %9 : i1"""
    assert _implied(Line(text, 5, "%10 = arith.andi %8, %6 : i1"))
    assert not _implied(Line(text, 6, "%11 = arith.andi %5, %10 : i1"))
    assert not _implied(Line(text, 5, "%10 = arith.andi %5, %9 : i1"))


def test_reasons_hold_for_their_lines_alone() -> None:
    """By hand, for each reason a change that means the same, and one beside it that does not."""
    masked = """%8 = arith.select %6, %s0x0_2, %hidden : vector<8xf32>
%9 = arith.select %7, %s0x1_2, %hidden : vector<8xf32>
%10 = arith.cmpf ogt, %9, %8 : vector<8xf32>"""
    assert _hidden_behind(Line(masked, 2, "%10 = arith.cmpf ogt, %9, %s0x0_2 : vector<8xf32>"))
    assert not _hidden_behind(Line(masked, 2, "%10 = arith.cmpf ogt, %9, %s0x1_2 : vector<8xf32>"))
    assert not _hidden_behind(Line(f"%window\n{masked}", 3, "%10 = arith.cmpf ogt, %9, %s0x0_2 : vector<8xf32>"))
    window = """%begin = arith.andi %lowest, %cm32_i32 : i32
%13 = arith.cmpi slt, %begin, %inner : i32"""
    assert _rounded_down(Line(window, 1, "%13 = arith.cmpi slt, %lowest, %inner : i32"))
    assert not _rounded_down(Line(window, 1, "%13 = arith.cmpi slt, %lowest, %begin : i32"))
    assert not _rounded_down(Line(window.replace("m32", "m16"), 1, "%13 = arith.cmpi slt, %lowest, %inner : i32"))
    ends = """%end = arith.minsi %12, %length : i32
%seen_by_all = arith.andi %length, %cm32_i32 : i32
%stop = arith.minsi %end, %seen_by_all : i32"""
    assert _least_again(Line(ends, 2, "%stop = arith.minsi %12, %seen_by_all : i32"))
    assert not _least_again(Line(ends, 2, "%stop = arith.minsi %11, %seen_by_all : i32"))
    assert not _least_again(
        Line(ends.replace("%length, %c", "%keys, %c"), 2, "%stop = arith.minsi %12, %seen_by_all : i32")
    )
    heads = """%1 = arith.remui %head, %c4 : index
%2 = arith.divui %1, %c2 : index
%3 = arith.remui %head, %c4 : index
%4 = arith.divui %3, %c2 : index
%5 = arith.index_cast %4 : index to i64"""
    assert _equal(Line(heads, 4, "%5 = arith.index_cast %2 : index to i64"))
    assert not _equal(Line(heads, 4, "%5 = arith.index_cast %3 : index to i64"))
    assert not _equal(Line(heads.replace("c4", "c8", 1), 4, "%5 = arith.index_cast %2 : index to i64"))
    steps = """%end = arith.minsi %seen_by_last, %keys : i32
%7 = arith.cmpi slt, %masked_at, %end : i32"""
    assert _hidden_steps(Line(steps, 0, "%end = arith.maxsi %seen_by_last, %keys : i32"))
    assert not _hidden_steps(Line(f"%window\n{steps}", 1, "%end = arith.maxsi %seen_by_last, %keys : i32"))
    assert not _hidden_steps(
        Line(f"{steps}\n%8 = arith.addi %end, %keys", 0, "%end = arith.maxsi %seen_by_last, %keys : i32")
    )
    loop = """%c0_i32 = arith.constant 0 : i32
%most = scf.for %part = %c0_i32 to %c3_i32 step %c3_i32 iter_args(%before = %lowest) -> (vector<8xf32>) : i32 {
%7 = arith.addi %part, %c1_i32 : i32"""
    assert _once(Line(loop, 2, "%7 = arith.addi %c0_i32, %c1_i32 : i32"))
    assert not _once(Line(loop, 2, "%7 = arith.addi %c3_i32, %c1_i32 : i32"))
    assert not _once(Line(loop.replace("step %c3_i32", "step %c1_i32"), 2, "%7 = arith.addi %c0_i32, %c1_i32 : i32"))
    ahead = """%2 = arith.muli %1, %c32_i32 : i32
%row = arith.index_cast %2 : i32 to index
xegpu.prefetch_nd %matrix[%row, %c0] : !xegpu.tensor_desc<32x16xf16>"""
    assert _asked_for_ahead(Line(ahead, 0, "%2 = arith.muli %1, %c16_i32 : i32"))
    loaded = f"{ahead}\n%k = xegpu.load_nd %matrix[%row, %c0] : !xegpu.tensor_desc<32x16xf16> -> vector<32xf16>"
    assert not _asked_for_ahead(Line(loaded, 0, "%2 = arith.muli %1, %c16_i32 : i32"))
