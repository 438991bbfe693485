"""Pictures, owners, what a lane holds, `same` and differences are the same where no package is there: on a static page."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest

from tests.notations.test_every_notation import CASES, ON_MEMORY

XORED = [
    "d0 = 2@(lane:2^lane) 2@reg, d1 = 2@(lane)",
    "d0 = 3@addr:8 2@(addr:4^addr), d1 = 2@(addr:4) 2@addr:2 2@(addr) | flip (addr:4)",
    "d0 = 4@lane, d1 = 2@reg | replicas 2@(lane:4^reg:2)",
    "Sw<2,1,3> o 0 o (8,8):(8,1)",
    "#ttg.linear<{register = [[0, 1], [4, 4]], lane = [[1, 0], [2, 2], [0, 2]], warp = [[0, 4]], block = []}>",
]
LARGE = ["d0 = 64@sg:4 64@reg:64, d1 = 4@sg 64@lane 16@reg:4096", "d0 = 8@sg:4 32@reg, d1 = 4@sg 4@reg:32 16@lane"]
PAIRS = [*pairwise(XORED), ("d0 = 4@lane", "d0 = 4@lane | replicas 2@lane:4"), tuple(LARGE)]
SAME_SHAPE = [
    ("#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 8, order = [1, 0]}>", text, [8, 8])
    for text in ("Sw<3,0,3> o 0 o (8,8):(8,1)", "(8,8):(8,1)", "d0 = 8@addr:8, d1 = 8@addr")
]

ASKED = """
import json, sys
blocked, cases, pairs = json.load(sys.stdin)
sys.modules.update(dict.fromkeys(blocked))
import layoutalg as la
from layoutalg.show import owner_grid
found = []
for text, shape, lanes, subgroups in cases:
    machine = la.Machine(lanes, subgroups)
    picture = la.picture(text, shape, machine=machine)
    for direction in picture.directions:
        for colour in picture.colourings:
            found.append(la.picture(text, shape, machine=machine, direction=direction, colour=colour).svg())
    found.append(picture.html())
    for operand in la.parse(text).operands(shape, machine):
        layout = operand.layout
        corners = [[o + n * k // 3 for o, n in zip(layout.origins, layout.shape)] for k in range(3)]
        found.append([layout.owners(corner) for corner in corners])
        if len(picture.directions) > 1:
            last = layout.offsets.get("lane", 0) + layout.axes.get("lane", 1) - 1
            try:
                held = layout.coords(lane=last) if "lane" in layout.codomain else layout.coords()
                found.append(held if type(held) is list else held.tolist())
            except la.LayoutError as refused:  # one slot holds several
                found.append(str(refused))
        grid = owner_grid(layout, width=80)
        found.append([grid.rows, grid.columns, [[[c.label, c.colour] for c in row] for row in grid.cells], grid.caption])
for first, second, shape in pairs:
    answer = la.same(first, second, shape)
    found.append(str(answer))
    try:
        found.append(answer.picture().svg())
    except la.SizeError as refused:
        found.append(str(refused))
print(json.dumps(found), [name for name in blocked if sys.modules.get(name)])
"""


def answers(blocked: list[str]) -> tuple[Any, str]:
    cases = [
        (case.text, case.shape, case.machine and case.machine.lanes, case.machine and case.machine.subgroups)
        for case in CASES + ON_MEMORY
        if "tiled.layout" not in case.text  # a notation that the tests register
    ] + [(text, None, None, None) for text in XORED + LARGE]
    pairs = [(first, second, None) for first, second in PAIRS] + SAME_SHAPE
    given = json.dumps([blocked, cases, pairs])
    ran = subprocess.run([sys.executable, "-c", ASKED], input=given, capture_output=True, text=True, check=False)
    assert not ran.returncode, ran.stderr
    found, _, loaded = ran.stdout.rpartition(" [")
    return json.loads(found), loaded


@pytest.mark.slow
def test_no_package_is_needed_for_pictures_owners_and_same() -> None:
    packages = ["numpy", "sympy", "xdsl", "networkx", "ml_dtypes", "rich", "click", "matplotlib"]
    plain, loaded = answers(packages)
    assert loaded.strip() == "]"
    everything, _ = answers([])
    assert len(plain) == len(everything) > 150
    for one, other in zip(plain, everything, strict=True):
        assert one == other


@pytest.mark.parametrize("text", ["d0 = 4@lane:2", "d0 = 4@addr:8, d1 = 4@addr:2"])
def test_what_needs_numpy_says_so(text: str) -> None:
    code = f"import sys; sys.modules['numpy'] = None; import layoutalg as la; la.Layout.parse({text!r}).coords()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "numpy" in ran.stderr.splitlines()[-1]
