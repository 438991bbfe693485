"""Any command line, in process: exit code 0, 1 or 2; for 2 words as `tests.refusals` has them, and files as they were.

The commands and their options are read from the program, so that a new command is attacked from its first day. Texts come
from the grammars, standard input is bytes.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from layoutalg.cli.targets import AmxOption, GpuOption, amx_targets
from tests.attack import texts
from tests.attack.effort import PARTS
from tests.attack.isolated import Attack, Complaint, complaint_about, run
from tests.random_layouts import bits_pair, mixed_pair
from tests.refusals import wrong_json_refusal, wrong_refusal

OLD = {
    "old.svg": "an old picture",
    "old.mlir": "an old kernel",
    "dir/old.html": "an old page",
    "old.png": "old",
    "old.pdf": "old",
}
OUTPUTS = (
    *(
        "old.svg",
        "old.svg",
        "old.mlir",
        "old.png",
        "old.pdf",
        "dir/old.html",
        "new.svg",
        "new.html",
        "new.mlir",
        "new/sub/new.svg",
    ),
    *("", ".", "dir", "dir/", "x.gif", ".svg", "old.svg/x.svg", "\udcff.svg", "é.svg", "x" * 300 + ".svg", "a\nb.svg"),
    *("/proc/none/x.svg", "/proc/none/x.mlir", "-"),
)
INTEGERS = (
    "0",
    "1",
    "2",
    "4",
    "16",
    "32",
    "64",
    "100",
    "-1",
    "2147483648",
    "9" * 30,
    "9" * 5000,
    "x",
    "",
    "1.5",
    "1e3",
    "0x10",
    "٣",
    "²",
)
SIZES = ("8", "16", "32", "64", "64", "128", "96", "1", "0", "-8", "7", "4096", "2147483648", "9" * 30, "x", "")
SHAPES = (
    *(
        "8",
        "16",
        "8x16",
        "16x16",
        "32x64",
        "32x64",
        "64x64",
        "128x128",
        "8x8x8",
        "4x8x16",
        "1",
        "0x4",
        "1x1",
        "7x5",
        "4096x4096",
    ),
    *(
        "2147483648x2",
        "2147483648x2147483648",
        "x".join(["2"] * 70),
        "9" * 40,
        "8x",
        "x",
        "",
        "-1x4",
        "8,16",
        "8 x 16",
        "٣x٤",
        "²",
    ),
)
STRINGS: dict[str, tuple[str, ...]] = {
    "element": (*texts.ELEMENTS, "", "f", "f0", "i99999999", "f32x", "vector<4xf32>", "\ud800", "9" * 5000),
    "target": ("pvc", "bmg", "spr", "amx", "dg2", "PVC", "", "gfx942", "x" * 2000),
    "colour": ("subgroup", "lane", "register", "tile", "addr", "", "red", "\ud800"),
    "direction": ("tensor", "hardware", "", "up"),
    "title": ("a title", "", "</svg><script>", "a\nb", "\ud800", "$x^2$", "$\\frac{", "x" * 3000, "&amp;", "🎲"),
    "level": ("lane", "subgroup", "workgroup", "whole", "parts", "", "thread"),
    "blocking": ("2x2", "1x4", "3x1", "1x1", "1x6", *SHAPES),
    "blocks": ("32x32x64", "64x64x64", "256x256x256", "48x32x64", *SHAPES),
    "tile": SHAPES,
    "shape": SHAPES,
    **dict.fromkeys(("a_type", "b_type", "c_type"), texts.ELEMENTS),
    "grid": SHAPES,
    "block": SHAPES,
    "given": (
        "C:8x16xf32",
        "16",
        "0.5",
        "A:8x16xf16",
        "A.npy",
        "old.mlir",
        "C:" + "9" * 30 + "xf32",
        "C:8xf99",
        "x" * 2000,
        "",
    ),
    "outputs": ("C.npy", "C=new/C.npy", "C=", "=C", "old.mlir", "dir", ""),
    "operation": ("%0", "%t", "1", "xegpu.load_nd", "%7", "", "x" * 2000),
    "trace": ("%x", "%t", "x", "%7", "", "%" * 2000),
    "kernel": ("f", "g", "", "x" * 2000),
    "written": ("text", "json", "sarif", "github", "", "xml"),
}
_A = "#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>"
MODULES = (
    "gpu.module @k { gpu.func @f(%c: i64) kernel attributes {intel_reqd_sub_group_size = 16 : i32,\n"
    " known_block_size = array<i32: 16, 1, 1>} {\n"
    " %t = xegpu.create_nd_tdesc %c, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>\n"
    " %x = arith.constant dense<1.0> : vector<8xf32>\n"
    " xegpu.store_nd %x, %t[0, 0] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>\n gpu.return } }\n",
    f"#a = {_A}\nfunc.func @f(%x: vector<16x16xf32>) {{\n"
    " %0 = xegpu.convert_layout %x <{input_layout = #a, target_layout = #xegpu.layout<lane_layout = [16, 1],"
    " lane_data = [1, 1]>}> : vector<16x16xf32>\n func.return }\n",
    f"// -----// IR Dump After CSE (cse) //----- //\nremark: %7 gets {_A}\n%7 = my.operation %x {{a = {_A}}}\n",
)
"""Modules that are damaged, and given to the commands that take some."""
_USUAL = {"a_type": 1, "b_type": 1, "element": 5, "target": 4, "direction": 2, "colour": 4, "level": 5}
"""How many of the values above, from the first, are usual."""


class Line(NamedTuple):
    arguments: tuple[str, ...]
    stdin: bytes


class CommandLines(Attack):
    seconds = 2.0
    lasting = ("show 0", "show 2", "draw 0", "draw 2", "convert 0", "convert 2", "gemm 0", "gemm 2")

    def allowed(self, case: Line) -> float:
        """A picture of every element says on a terminal that it is being drawn, and may take longer."""
        return 8.0 if "--full" in case.arguments else self.seconds

    def prepare(self, seed: int, first: int, count: int) -> None:
        from layoutalg.cli import cli, main

        if any(Path().iterdir()):
            raise RuntimeError(f"{Path.cwd()} is not empty: this attack fills and empties the folder that it runs in")

        self.main = main
        # `serve` runs until it is interrupted: tests/explorer attacks it.
        self.commands: dict[str, Any] = {name: one for name, one in cli.commands.items() if name != "serve"}
        self._fill()
        for line in (
            ("show", "d0 = 3*M/(K + 1)@reg 4@lane"),
            ("draw", "d0 = 4@lane", "-o", "new.png"),
            ("convert", "d0 = 4@reg, d1 = 4@lane", "d0 = 4@lane, d1 = 4@reg", "--emit"),
            ("gemm", "64", "64", "64", "--run"),
            ("lsp",),
        ):
            self._said(Line(line, b""))
        self._fill()

    def _fill(self) -> None:
        for path in Path().iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, content in OLD.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(content)

    def _files(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for folder, folders, files in os.walk("."):
            found |= {os.path.join(folder, name): "folder" for name in folders}
            for name in files:
                path = os.path.join(folder, name)
                found[path] = Path(path).read_bytes().decode("latin-1")
        return found

    def case(self, rng: random.Random) -> Line:
        name = rng.choice(list(self.commands))
        positional: list[str] = []
        options: list[str] = []
        # Mostly, a target gets no options of the others: those are refused before anything else.
        others = rng.choice((AmxOption, GpuOption)) if rng.random() < 0.9 else ()
        if name == "gemm" and others is GpuOption:
            options += ["--target", rng.choice(amx_targets())]
        parameters = self.commands[name].params
        given = min(0.2, 4 / len(parameters))  # with more, few lines are right
        for parameter in parameters:
            if isinstance(parameter, others):
                continue
            needed = parameter.required and rng.random() < 0.97
            if parameter.param_type_name == "argument":
                count = rng.randint(0, 3) if parameter.nargs == -1 else int(needed or rng.random() < 0.6)
                positional += [self._value(rng, parameter) for _ in range(count)]
            elif needed or rng.random() < given:
                options.append(rng.choice(parameter.opts))
                if not getattr(parameter, "is_flag", False):
                    options.append(self._value(rng, parameter))
        if len(positional) > 1 and name in ("convert", "same") and rng.random() < 0.7:
            positional[:2] = map(str, rng.choice((mixed_pair, bits_pair))(rng))
            del positional[2:]
        words = [name, *positional, *options]
        if "--run" in words and rng.random() < 0.9:
            words.remove("--run")  # a tenth of a second each
        for option in (
            "--check",
            "--native",
            "--listing",
            "--time",
        ):  # ask a compiler, or the CPU for a second and more
            if option in words and (rng.random() < 0.98 or option == "--time"):
                words.remove(option)
        if "--build" in words and rng.random() < 0.98:
            at = words.index("--build")
            del words[at : at + 2]
        if rng.random() < 0.1:
            at = rng.randint(0, len(words))
            words[at:at] = [
                rng.choice(("--", "-", "--help", "--version", "--nonsense", "-o", "--json", "", "-x", "--lane=1"))
            ]
        stdin = texts.text(rng).encode("utf-8", "surrogatepass") if "-" in words else b""
        return Line(tuple(words), stdin if rng.random() < 0.9 else b"\xe9\xff" + stdin)

    def _value(self, rng: random.Random, parameter: Any) -> str:
        name, kind = parameter.name, type(parameter.type).__name__
        if name in ("m", "n", "k", "lda", "ldb", "ldc"):
            return rng.choice(SIZES[1:6] if rng.random() < 0.9 else SIZES)
        if kind.startswith("Int"):
            return rng.choice(INTEGERS[:7] if rng.random() < 0.6 else INTEGERS)
        if kind == "Path":
            return rng.choice(OUTPUTS[:10] if rng.random() < 0.7 else OUTPUTS)
        if name in ("file", "files") or (name == "text" and rng.random() < 0.3):
            return texts.mutated(rng, rng.choice(MODULES)).replace("\0", "")
        if name in STRINGS:
            some = STRINGS[name]
            return rng.choice(some[: _USUAL.get(name, 8)] if rng.random() < 0.8 else some)
        chance = rng.random()
        if chance < 0.04:
            return rng.choice(("-", "old.mlir", "dir", "missing.mlir", "", "\udcff"))
        text = texts.valid(rng) if chance < 0.7 else texts.text(rng)
        return text.replace("\0", "")

    def smaller(self, case: Line) -> Iterator[Line]:
        words = case.arguments
        for i in range(1, len(words)):
            yield Line(words[:i] + words[i + 1 :], case.stdin)
        for i in range(1, len(words) - 1):
            yield Line(words[:i] + words[i + 2 :], case.stdin)
        if case.stdin:
            yield Line(words, b"")
        for i, word in enumerate(words):
            for less in texts.smaller(word):
                yield Line((*words[:i], less, *words[i + 1 :]), case.stdin)

    def shown(self, case: Line) -> str:
        return f"main({list(case.arguments)!r})" + (f" with standard input {case.stdin!r}" if case.stdin else "")

    def _said(self, line: Line) -> tuple[object, str, str]:
        """The exit code and what was said, through streams that are as strict about UTF-8 as a terminal's."""
        streams = sys.stdin, sys.stdout, sys.stderr
        out, err = io.BytesIO(), io.BytesIO()
        sys.stdin = io.TextIOWrapper(io.BytesIO(line.stdin), "utf-8")
        sys.stdout = io.TextIOWrapper(out, "utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(err, "utf-8", "backslashreplace", write_through=True)
        kept = sys.stdout, sys.stderr
        try:
            code: object = self.main(list(line.arguments))
            for stream in kept:
                stream.flush()
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
        return code, out.getvalue().decode(), err.getvalue().decode()

    def attempt(self, case: Line) -> Complaint | None:
        try:
            code, out, err = self._said(case)
        except (Exception, SystemExit) as error:
            self._fill()
            return complaint_about(error)
        files = self._files()
        changed = sorted(name for name, content in (files.items() ^ self._unchanged().items()))
        if changed:
            self._fill()
        self.tally[f"{case.arguments[0] if case.arguments else ''} {code}"] += 1
        if type(code) is not int or code not in (0, 1, 2):
            return Complaint("exit code", f"exit code {code!r}")
        if code == 2:
            wrong = wrong_refusal(err)
            if wrong:
                return Complaint("words of a refusal", f"exit code 2 and {wrong} on standard error: {err[:300]!r}")
            if changed:
                return Complaint(
                    "files of a refusal", f"exit code 2 ({err.strip()[:200]}), and these changed: {changed}"
                )
        if "Traceback" in err or "Traceback" in out:
            return Complaint("traceback", err[:500])
        helped = "--help" in case.arguments or "-h" in case.arguments
        if not self._asks_for_json(case.arguments) or helped:
            return None
        if code == 2:
            wrong = wrong_json_refusal(out)
            return Complaint("json of a refusal", wrong) if wrong else None
        return self._wrong_json(out) if code == 0 else None

    def _asks_for_json(self, arguments: tuple[str, ...]) -> bool:
        """Whether `--json` is there, not as the value of another option, and not behind `--`."""
        valued = {
            name
            for command in self.commands.values()
            for parameter in command.params
            if not getattr(parameter, "is_flag", False)
            for name in parameter.opts
        }
        if "--" in arguments:
            arguments = arguments[: arguments.index("--")]
        return any(
            word == "--json" and before not in valued for before, word in zip(("", *arguments), arguments, strict=False)
        )

    @staticmethod
    def _unchanged() -> dict[str, str]:
        return {"./dir": "folder"} | {f"./{name}": content for name, content in OLD.items()}

    @staticmethod
    def _wrong_json(out: str) -> Complaint | None:
        if out.startswith("layoutalg, version"):
            return None

        def refuse(word: str) -> None:
            raise ValueError(f"{word} is not JSON")

        try:
            json.loads(out, parse_constant=refuse)
        except ValueError as error:
            return Complaint("json", f"standard output is not one JSON value ({error}): {out[:200]!r}")
        return None


@pytest.mark.parametrize("part", range(PARTS))
def test_60_000_command_lines_are_answered_or_refused(part: int, tmp_path: Path) -> None:
    run(CommandLines, part, 60_000, tmp_path)
