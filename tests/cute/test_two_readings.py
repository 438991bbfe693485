"""Memory, or threads and values: what decides, what is said, and that what was asked for is done."""

from __future__ import annotations

import json

import pytest

import layoutalg as la
from layoutalg.cli import main
from layoutalg.core import ConversionError, DistributionError, Layout, LayoutError
from layoutalg.core.notation import Machine

Capture = pytest.CaptureFixture[str]
BOTH = "(32,8):(1,32)"


@pytest.mark.parametrize(
    ("text", "shape", "lanes", "read"),
    [
        (BOTH, None, None, "memory: nothing in the text decides"),
        (BOTH, (32, 8), None, "memory: nothing in the text decides"),
        (BOTH, (16, 16), None, "threads and values: its modes are 32x8"),
        (BOTH, (32, 8), 32, "threads and values: the other side"),
        ("(4,2,2):(1,4,8)", None, None, "memory: it has 3 modes"),
        ("Sw<3,3,3> o 0 o (8,64):(64,1)", None, None, "memory: it is swizzled"),
        ("(5,7):(7,1)", None, None, "memory: mode 0 has 5 elements"),
        ("(32,2):(-1,32)", None, None, "memory: a stride is negative"),
        ("(32,2):(1@0,1@1)", None, None, "memory: a stride is negative or a step"),
        ("((4,8),2):((0,1),8)", None, None, "memory: nothing else was said, though mode 0 has a stride of 0"),
    ],
)
def test_what_decides_is_said(text: str, shape: tuple[int, ...] | None, lanes: int | None, read: str) -> None:
    machine = None if lanes is None else Machine(lanes=lanes)
    assert la.parse(text).how_read(shape, machine).startswith(read)


def test_each_reading_is_the_layout_that_its_definition_says() -> None:
    pair = la.parse(BOTH)
    memory, threads = pair.read_as("memory").layout(), pair.read_as("tv").layout((16, 16))
    assert memory == Layout.parse("d0 = 32@addr, d1 = 8@addr:32")
    for thread in range(32):  # thread t, value v is element t + 32 v of the tile, column-major
        assert threads.coords(sg=0, lane=thread).tolist() == [
            [(thread + 32 * v) % 16, (thread + 32 * v) // 16] for v in range(8)
        ]
    with pytest.raises(DistributionError, match="needs its tile, such as 16x16"):
        pair.read_as("tv").operands()
    with pytest.raises(DistributionError, match="has sizes of its own, 32x8"):
        pair.read_as("memory").layout((16, 16))


def test_words_that_are_no_reading_and_values_that_have_one() -> None:
    with pytest.raises(ConversionError, match="expected 'tv'"):
        la.parse(BOTH).read_as("registers")
    with pytest.raises(ConversionError, match="has one reading"):
        la.parse("d0 = 4@lane").read_as("tv")
    with pytest.raises(ConversionError, match="has the tile"):
        la.parse_cute(BOTH, tile=(16, 16)).read_as("memory")
    assert la.parse_cute(BOTH, tile=(16, 16)).how_read() == la.parse("d0 = 4@lane").how_read() == ""


def asked(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    found = capsys.readouterr()
    return code, found.out, found.err


def test_every_command_says_how_it_read_and_takes_as(capsys: Capture, tmp_path: object) -> None:
    facts = json.loads(asked(capsys, "show", BOTH, "--json")[1])["reading"]
    assert (facts["as"], facts["open"]) == ("memory", True)
    assert json.loads(asked(capsys, "show", BOTH, "16x16", "--as", "tv", "--json")[1])["axes"] == {"lane": 32, "reg": 8}
    assert "needs its tile, such as 16x16" in asked(capsys, "show", BOTH, "--as", "tv")[2]
    picture = f"{tmp_path}/x.svg"
    assert "is read as memory" in asked(capsys, "draw", BOTH, "-o", picture)[1]
    assert "threads and values" in asked(capsys, "draw", BOTH, "16x16", "--as", "tv", "-o", picture)[1]
    machine = "d0 = 16@lane, d1 = 8@reg 2@lane:16"
    code, said, _ = asked(capsys, "same", BOTH, machine, "16x16", "--as", "tv")
    assert (code, said.splitlines()[0]) == (0, "the same map")
    assert "readings" in json.loads(asked(capsys, "same", BOTH, BOTH, "--json")[1])
    assert "readings" not in json.loads(asked(capsys, "same", machine, machine, "--json")[1])
    assert "has one reading" in asked(capsys, "same", machine, machine, "--as", "tv")[2]
    assert "reading      (32,8)" in asked(capsys, "convert", BOTH, "(32,8):(8,1)", "16x16")[1]
    assert "LAYOUT says who holds" in asked(capsys, "banks", "(32,8):(8,1)", "32x8")[1]


def test_two_elements_in_one_place_are_said(capsys: Capture, tmp_path: object) -> None:
    text = "d0 = 4@reg, d1 = 8@lane, d2 = 16@reg"
    shared = json.loads(asked(capsys, "show", text, "--json")[1])["shared_place"]
    assert shared == {"elements": [[0, 0, 1], [1, 0, 0]], "place": {"sg": 0, "lane": 0, "reg": 1}}
    assert "two elements in one place" in asked(capsys, "show", text)[1]
    assert "two elements in one place" in asked(capsys, "draw", text, "-o", f"{tmp_path}/x.svg")[1]
    assert "two elements in one place" in asked(capsys, "show", "(4,8):(0,1)")[1]
    assert "shared_place" not in json.loads(asked(capsys, "show", "(4,8):(1,4)", "--json")[1])


def test_reading_does_not_change_what_errors_say() -> None:
    with pytest.raises(LayoutError):
        la.parse(BOTH).read_as("tv").layout((16, 17))
