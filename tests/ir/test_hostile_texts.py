"""No text takes time or memory without bound, and none raises anything but an error of ours."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from layoutalg.core.errors import LayoutError
from layoutalg.ir import read_file_text, read_module
from tests.attack.effort import slowness
from tests.ir.hostile_texts import HOSTILE
from tests.ir.test_file_text import KERNEL
from tests.ir.test_syntax import TEXTS

ROOT = Path(__file__).parents[2]
MEGABYTES = 500


def taken(size: int, names: list[str]) -> list[tuple[str, str, float, int, str]]:
    """What reading each text took: its name, how it was read, seconds, the peak so far in megabytes, and what was said."""
    command = [sys.executable, "-m", "tests.ir.hostile_texts", str(size), *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    assert [line[0] for line in lines[::2]] == names
    return lines


def check(size: int, names: list[str], seconds: float) -> None:
    allowed = seconds * slowness()
    for name, way, spent, peak, said in taken(size, names):
        assert not said.startswith("RAW"), (name, way, said)
        assert spent < allowed, (name, way, spent)
        assert peak < MEGABYTES, (name, way, peak)


@pytest.mark.parametrize("part", range(8))
def test_hostile_texts_take_time_in_proportion(part: int) -> None:
    """Four times the text takes about four times as long; sixteen times would be the square."""
    names = list(HOSTILE)[part::8]
    for short, (name, way, spent, peak, said) in zip(taken(50_000, names), taken(200_000, names), strict=True):
        assert not said.startswith("RAW"), (name, way, said)
        allowed = 9 * short[2] + 0.3
        if spent >= allowed:  # a machine that paused does not do so twice; a square stays one
            spent = min(line[2] for line in taken(200_000, [name]) if line[1] == way)
        assert spent < allowed, (name, way, short[2], spent)
        assert peak < MEGABYTES, (name, way, peak)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_text_of_16_megabytes_ends_within_ten_seconds_in_500_megabytes(name: str) -> None:
    check(16 * 2**20, [name], 10)


TOKEN = re.compile(r'"[^"\n]*"|[\w.$%#!@^]+|->|\S')
MODULES = {"kernel": KERNEL, **{name: TEXTS[name] for name in ("nd", "shared", "gpu") if name in TEXTS}}


def names_of_lines(text: str) -> list[str]:
    """The operations that begin on each line, as a person reads them: one per line."""
    found = re.finditer(r"^ *(?:%[\w, %:]+ = )?((?:gpu|arith|scf|xegpu|memref|vector)\.\w+)", text, re.MULTILINE)
    return [one[1] for one in found]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_text_that_ends_anywhere_is_read_up_to_there(name: str) -> None:
    text = MODULES[name]
    whole = [op.name for op in read_module(text).walk()]
    for found in TOKEN.finditer(text):
        part = text[: found.end()]
        reading = read_file_text(part)
        read = [op.name for one in reading.modules for op in one.module.walk()]
        complete = names_of_lines(part[: part.rfind("\n") + 1])[:-1]  # the last operation may go on on the next line
        kept = [op for op in read if op in complete]
        assert len(kept) >= len([op for op in complete if op in whole]) - 1, (part[-80:], read)
        with suppress(LayoutError):
            read_module(part)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_deleted_line_costs_only_what_needs_it(name: str) -> None:
    lines = MODULES[name].splitlines()
    whole = len(list(read_module(MODULES[name]).walk()))
    for number, line in enumerate(lines):
        reading = read_file_text("\n".join(lines[:number] + lines[number + 1 :]))
        read = sum(1 for part in reading.modules for op in part.module.walk() if not op.name.startswith("layoutalg"))
        alone = not line.strip() or re.match(
            r" *(%[\w, %:]+ = )?[a-z]\w*\.\w", line
        )  # the rest may be whole without it
        assert read >= whole - 8, (number, line, read, whole)
        assert alone or reading.findings, (number, line)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_swapped_attributes_are_read_or_named(name: str) -> None:
    text = MODULES[name]
    found = list(re.finditer(r"#xegpu[.<][\w ]+<?[^<>\n]*>", text))[:12]
    for left in found:
        for right in found:
            if left.end() <= right.start():
                swapped = (
                    text[: left.start()]
                    + right.group()
                    + text[left.end() : right.start()]
                    + left.group()
                    + text[right.end() :]
                )
                reading = read_file_text(swapped)
                assert len(reading.modules) == 1
                with suppress(LayoutError):
                    read_module(swapped)
