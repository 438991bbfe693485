"""Every single change of a command line: each option and each argument of each command has each hostile word once.

The random attack of `test_command_lines` mixes many words; a mistake that one word shows is found here, by looking at all.
Each command has a line that is right; an option joins it, an argument takes the place of the one that stands there, and each
two options without values are given together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.attack import texts
from tests.attack.effort import PARTS
from tests.attack.isolated import Sweep, run
from tests.attack.test_command_lines import INTEGERS, MODULES, OUTPUTS, SHAPES, SIZES, STRINGS, CommandLines, Line

_A, _B = "d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg"
RIGHT: dict[str, tuple[tuple[str, ...], ...]] = {
    "show": ((_A,), ("#xegpu.layout<lane_layout = [1, 16]>", "16x16"), ("k.mlir",)),
    "draw": ((_A, "-o", "new.svg"), ("k.mlir", "-o", "new.svg")),
    "same": ((_A, _B),),
    "banks": (("d0 = 16@lane", "--memory", "d0 = 16@addr:4"),),
    "convert": ((_A, _B),),
    "cute": (("logical_divide((8,8):(1,8), 4:2)",),),
    "list": (("gfx942", "f64"),),
    "verify": (("k.mlir",),),
    "check": (("k.mlir",), ("--before", "k.mlir", "--after", "k.mlir")),
    "propagate": (("k.mlir",),),
    "lower": (("k.mlir",),),
    "run": (("k.mlir", "--grid", "1", "--arg", "C:8x16xf32"),),
    "migrate": (("k.mlir", "--llvm", "24"),),
    "gemm": (("64", "64", "64"), ("64", "64", "64", "--target", "amx", "--a", "i8")),
    "attention": (("64", "64", "--d", "32"),),
    "weights": (("8", "64", "128"),),
    "decode": (("64", "--d", "32"),),
    "sweep": (("problems.txt",),),
    "lsp": ((),),
    "conformance": (("--compiler", "missing", "--seeds", "0"),),
}
"""Arguments that each command takes; `k.mlir` is a kernel."""
SLOW = ("--time", "--native", "--listing", "--build", "--jobs", "--run", "--check")
"""Options that ask a compiler, start processes or take more than a tenth of a second: random lines have them."""
MANY_WORKGROUPS = ("4096x4096", "256x256x256", "48x32x64")
"""Grids that are run: minutes, with a bar."""
WORDS = tuple(
    dict.fromkeys(
        word.replace("\0", "")
        for word in (
            *INTEGERS,
            *SIZES,
            *SHAPES,
            *OUTPUTS,
            *(word for words in STRINGS.values() for word in words),
            *texts.FOREIGN,
            *texts.WORDS,
            *MODULES,
            *(
                "nan",
                "inf",
                "-inf",
                "1e400",
                "-0",
                "+5",
                "1_000",
                " 5",
                "5 ",
                "0b1",
                "True",
                "none",
                "-",
                "--",
                "--json",
                "-o",
            ),
            *(
                "22",
                "23",
                "24",
                "old.svg,old.mlir",
                "=",
                ",",
                "C:-1xf32",
                "C:xf32",
                "C:8x16",
                "%",
                "#",
                "1,2",
                "-1,0",
                "[1]",
            ),
        )
    )
)


class SingleOptions(Sweep, CommandLines):
    most = 200_000
    lasting = ("show 0", "show 2", "draw 0", "draw 2", "gemm 0", "gemm 2", "run 2", "lower 0")

    def _fill(self) -> None:
        super()._fill()
        Path("k.mlir").write_text(MODULES[0], encoding="utf-8")
        Path("problems.txt").write_text("64 64 64\n", encoding="utf-8")

    @staticmethod
    def _unchanged() -> dict[str, str]:
        files = {"./k.mlir": MODULES[0], "./problems.txt": "64 64 64\n"}
        return CommandLines._unchanged() | files

    def listed(self) -> Iterator[Line]:
        assert set(RIGHT) == set(self.commands), "each command has a line that is right"
        for name, lines in RIGHT.items():
            parameters = [one for one in self.commands[name].params if one.param_type_name == "option"]
            parameters = [one for one in parameters if not set(one.opts) & set(SLOW)]
            for line in lines:
                yield from (Line((name, *one), b"") for one in self._changed(line, parameters))

    def _changed(self, line: tuple[str, ...], parameters: list[Any]) -> Iterator[tuple[str, ...]]:
        flags = [one.opts[-1] for one in parameters if getattr(one, "is_flag", False)]
        valued = [one.opts[-1] for one in parameters if not getattr(one, "is_flag", False)]
        yield line
        for at in range(len(line)):
            yield (*line[:at], *line[at + 1 :])
            asks = at > 0 and line[at - 1] == "--grid"
            words = (word for word in WORDS if not asks or word not in MANY_WORKGROUPS)
            yield from ((*line[:at], word, *line[at + 1 :]) for word in words)
        yield from ((*line, word) for word in WORDS)
        for flag in flags:
            yield from ((*line, *extra) for extra in ((flag,), (flag, flag), (f"{flag}=1",)))
        yield from ((*line, *pair) for pair in itertools.combinations(flags, 2))
        for option in valued:
            yield (*line, option)
            words = [word for word in WORDS if option != "--grid" or word not in MANY_WORKGROUPS]
            yield from ((*line, option, word) for word in words)
            yield from ((*line, f"{option}={word}", "--json") for word in words if "--json" in flags)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_option_has_every_word(part: int, tmp_path: Path) -> None:
    run(SingleOptions, part, 10_000, tmp_path)
