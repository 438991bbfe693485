"""The picture of a conversion: what its cells say about registers, shuffles and memory, against the layouts alone."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import layoutalg as la
from layoutalg.conversion import Address, Barrier, Load, Program, Store
from layoutalg.conversion.drawing.contents import contents_of
from layoutalg.conversion.drawing.memory import draw_memory
from layoutalg.conversion.drawing.page import RED, Page, lane_colours
from tests.conversion.brute_force import L

SVG = "{http://www.w3.org/2000/svg}"
PAIRS = [
    ("d0 = 16@reg, d1 = 16@lane", "d0 = 16@lane, d1 = 16@reg", 16),
    ("d0 = 3@reg, d1 = 15@lane", "d0 = 3@lane, d1 = 5@lane:3 3@reg", 32),
    ("d0 = 4@sg 8@reg, d1 = 16@lane", "d0 = 16@lane 2@reg:4, d1 = 4@sg 4@reg", 8),
    ("d0 = 16@lane", "d0 = 16@reg | replicas 16@lane", 64),
]


def said(svg: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}title")]


@pytest.mark.parametrize(("source", "destination", "bits"), PAIRS)
def test_registers_hold_what_the_layouts_say(source: str, destination: str, bits: int) -> None:
    titles = said(la.convert(source, destination, element_bits=bits).svg())
    for side, layout in (("before", L(source)), ("after", L(destination))):
        shown: dict[tuple[int, ...], str] = {}
        for title in titles:
            found = re.fullmatch(rf"{side}.*: lane (\d+), register (\d+): ([\d,]+)", title)
            if found:
                shown[int(found[1]), int(found[2])] = found[3]
        held = layout.fragment_map()[0]
        wanted = {at: ",".join(map(str, held[at].tolist())) for at in np.ndindex(*held.shape[:2])}
        assert shown == wanted


EMPTY = [
    ("d0 = 2@reg 2@lane | offset 2@reg 1@lane", "d0 = 2@lane 2@reg | offset 1@lane"),
    ("d0 = 2@lane:2 2@reg:3", "d0 = 2@reg 2@lane:2"),
    ("() | replicas 2@lane:2", "() | replicas 4@lane"),
]


@pytest.mark.parametrize(("source", "destination"), EMPTY)
def test_what_layouts_leave_empty_is_drawn_empty(source: str, destination: str) -> None:
    titles = said(la.convert(source, destination).svg())
    for side, layout in (("before", L(source)), ("after", L(destination))):
        shown = {
            (int(found[1]), int(found[2])): found[3]
            for found in (re.fullmatch(rf"{side}: lane (\d+), register (\d+): ([\d()]+)", one) for one in titles)
            if found
        }
        elements = [(str(x), (x,)) for x in range(layout.shape[0])] if layout.rank else [("()", ())]
        assert shown == {(lane, reg): name for name, at in elements for _, lane, reg in layout.owners(at)}


@pytest.mark.parametrize(("source", "destination", "bits"), PAIRS[:2] + PAIRS[3:])
def test_shuffles_say_which_register_becomes_which(source: str, destination: str, bits: int) -> None:
    plan = la.convert(source, destination, element_bits=bits, slm_limit=0)
    before, after = L(source).fragment_map()[0], L(destination).fragment_map()[0]
    arrived: set[tuple[int, int]] = set()
    for title in said(plan.svg()):
        to = re.match(r"lane (\d+) reads lane \d+", title)
        for element, lane, register, into in re.findall(
            r"([\d,]+) of lane (\d+), register (\d+) into register (\d+)", title
        ):
            assert to is not None
            assert ",".join(map(str, before[int(lane), int(register)].tolist())) == element
            assert ",".join(map(str, after[int(to[1]), int(into)].tolist())) == element
            arrived.add((int(to[1]), int(into)))
    stays = {at for at in np.ndindex(*after.shape[:2]) if (before[at[0]] == after[at]).all(-1).any()}
    assert arrived | stays == set(np.ndindex(*after.shape[:2]))


def test_memory_says_who_writes_and_reads_each_word_and_what_waits_is_red() -> None:
    swap = (Store((0,), Address(xor=True, lane=(32, 1))), Barrier(), Load((1,), Address(xor=True, lane=(1, 32))))
    program = Program(1, 4, 32, 1, 1, pack=(0,), steps=swap, unpack=(1,), slm_bytes=136)
    page = Page("memory")
    draw_memory(page, program, contents_of(program), lane_colours(4))
    titles = said(page.svg())
    writers = {(0, 0): 0, (0, 1): 2, (1, 0): 1, (1, 1): 3}
    for (row, bank), lane in writers.items():
        word = f"byte {row * 128 + bank * 4}, bank {bank}"
        assert f"{word}: written by lane {lane} from register 0" in titles
        assert f"{word}: read by lane {2 * (lane % 2) + lane // 2} into register 0" in titles
    assert page.svg().count(f'="{RED}"') == 4 * 2 + 4 * 2


def test_large_plans_say_what_they_leave_out() -> None:
    text = la.convert("d0 = 128@reg, d1 = 64@lane", "d0 = 128@reg, d1 = 8@lane 8@lane:8").svg()
    assert "and 64 more registers" in text
    assert "and 64 more shuffles of this kind" in text
    long = la.convert("d0 = 2@sg 64@reg, d1 = 64@lane", "d0 = 64@reg 2@sg, d1 = 64@lane", slm_limit=2**16).svg()
    assert re.search(r"and \d+ more rows of 32 words", long)


@pytest.mark.parametrize(
    ("source", "destination", "bits"), [*PAIRS, ("d0 = 32@reg, d1 = 32@lane", "d0 = 32@lane, d1 = 32@reg", 16)]
)
def test_a_picture_can_be_read_on_a_phone(source: str, destination: str, bits: int) -> None:
    """Letters are at least 6.7 pixels high on a page 400 pixels wide; what does not fit beside stands below."""
    for limit in (2**16,) if "sg" in source else (0, 2**16):
        svg = ElementTree.fromstring(la.convert(source, destination, element_bits=bits, slm_limit=limit).svg())
        scale = min(400 / float(svg.get("width", "")), 1)
        assert min(float(one.get("font-size", "")) for one in svg.iter(f"{SVG}text")) * scale >= 6.7


def test_every_shuffle_and_every_lane_is_in_a_table() -> None:
    plan = la.convert(*PAIRS[0][:2], element_bits=16, slm_limit=0)
    titles = said(plan.svg())
    reads = [one for one in titles if re.match(r"lane \d+ reads lane", one)]
    assert len(reads) == 16 * (plan.shuffles + len(re.findall(r">shuffles? \d", plan.svg())))
