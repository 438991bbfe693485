"""Asking Triton's wheel, one forked child per question: where it asserts, it ends the process.

`ask(text, shape, element, space)` has an encoding read, printed, and its linear layout computed, in a type of a tensor, of
shared memory or of tensor memory. `forked(question)` runs anything in a child: what it returns, or None where it died.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import resource
import signal
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.oracle.toolchains import require_module

_INPUTS = {
    "reg_bases": "register",
    "lane_bases": "lane",
    "warp_bases": "warp",
    "block_bases": "block",
    "offset_bases": "offset",
    "rows": "row",
    "cols": "col",
}


def forked(question: Callable[[], Any], seconds: int = 30) -> Any:
    """What a question answers as JSON, asked in a child of its own; None where the child died or raised."""
    return forked_each([question], seconds)[0]


def forked_each(questions: Sequence[Callable[[], Any]], seconds: int = 30) -> list[Any]:
    """What each question answers as JSON; None where it raised, or where the child died: another child takes those after it."""
    answers: list[Any] = []
    while len(answers) < len(questions):
        found = _answered(questions[len(answers) :], seconds)
        answers += found
        if len(answers) < len(questions):
            answers.append(None)
    return answers


def _answered(questions: Sequence[Callable[[], Any]], seconds: int) -> list[Any]:
    """What one child answers: all questions, or those before the one that killed it."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(read)
            faulthandler.disable()
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with os.fdopen(write, "w") as pipe:
                for question in questions:
                    signal.alarm(seconds)
                    try:
                        said = json.dumps(question())
                    except Exception:
                        said = "null"
                    pipe.write(said + "\n")
                    pipe.flush()
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        lines = pipe.read().split("\n")[:-1]  # the last is empty, or cut
    os.waitpid(child, 0)
    return [json.loads(line) for line in lines]


def refusal(text: str) -> str | None:
    """What Triton's parser and verifiers say against a module, in its words; empty where it takes it, None where it dies."""
    compiled = require_module("triton._C.libtriton")

    def question() -> str:
        context = compiled.ir.context()
        for dialects in (compiled.ir, compiled.nvidia, compiled.amd):
            dialects.load_dialects(context)
        with tempfile.TemporaryDirectory() as folder:
            file, said = Path(folder) / "module.mlir", Path(folder) / "said"
            file.write_text(text)
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT), 2)
            try:
                compiled.ir.parse_mlir_module(str(file), context)
            except RuntimeError:
                found = re.search(r"error: (.*)", said.read_text())
                return "refused" if found is None else found.group(1)
        return ""

    return forked(question)


def typed(text: str, shape: Sequence[int], element: str, space: str) -> str:
    """The type of a tensor, or of memory, with an encoding."""
    sizes = "x".join(map(str, shape))
    if space == "tensor":
        return f"tensor<{sizes}x{element}, {text}>"
    where = "#ttg.shared_memory" if space == "shared" else "#ttng.tensor_memory"
    return f"!ttg.memdesc<{sizes}x{element}, {text}, {where}, mutable>"


def ask(
    text: str, shape: Sequence[int], element: str, space: str, steps: str = "read, linear"
) -> dict[str, Any] | None:
    """What the wheel makes of an encoding: the type as it prints it, the Gluon object, the bases; None where it refuses."""
    compiled = require_module("triton._C.libtriton")

    def question() -> dict[str, Any]:
        ir, gluon = compiled.ir, compiled.gluon_ir
        context = ir.context()
        ir.load_dialects(context)
        for dialect in (compiled.nvidia, compiled.amd):
            dialect.load_dialects(context)
        kind = typed(text, shape, element, space)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "module.mlir"
            file.write_text(
                f"module {{\n  tt.func public @k(%a: {kind}) attributes {{noinline = false}} {{\n    tt.return\n  }}\n}}\n"
            )
            module = ir.parse_mlir_module(str(file), context)
        printed = module.str_nodebug()
        start = printed.index("%arg0: ") + 7 if "%arg0: " in printed else printed.index("%a: ") + 4
        answer: dict[str, Any] = {"printed": _resolved(printed, printed[start : printed.index(") attributes", start)])}
        builder = gluon.GluonOpBuilder(context)
        value = module.get_function("k").args(0)
        get = builder.get_gluon_layout_from_tensor if space == "tensor" else builder.get_gluon_layout_from_memdesc
        if "linear" in steps:
            layout = get(value)
            answer["gluon"] = repr(layout)
            found = builder.to_linear_layout(layout._to_ir(builder), list(shape))
            answer["bases"] = {name: getattr(found, own) for own, name in _INPUTS.items() if hasattr(found, own)}
        return answer

    return forked(question)


def _resolved(printed: str, kind: str) -> str:
    """A type with its aliases written out."""
    aliases = dict(line.split(" = ", 1) for line in printed.splitlines() if re.match(r"#[a-z0-9_]+ = ", line))
    while True:
        written = re.sub(r"#[a-z0-9_]+(?![a-z0-9_.])", lambda name: aliases.get(name.group(), name.group()), kind)
        if written == kind:
            return kind
        kind = written


def estimated_waits(tensor: str, shared: str, shape: Sequence[int], bits: int, target: str = "cuda:80") -> int | None:
    """What Triton counts as conflicts of banks between a layout of registers and one of shared memory; None where it dies."""
    compiled = require_module("triton._C.libtriton")

    def question() -> int:
        ir, gluon = compiled.ir, compiled.gluon_ir
        context = ir.context()
        ir.load_dialects(context)
        for dialect in (compiled.nvidia, compiled.amd):
            dialect.load_dialects(context)
        builder = gluon.GluonOpBuilder(context)
        held = f"%a: {typed(tensor, shape, f'i{bits}', 'tensor')}, %b: {typed(shared, shape, f'i{bits}', 'shared')}"
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "module.mlir"
            file.write_text(
                f'module attributes {{ttg.target = "{target}", "ttg.num-warps" = 4 : i32, "ttg.num-ctas" = 1 : i32, '
                f'"ttg.threads-per-warp" = 32 : i32}} {{\n  tt.func public @k({held}) attributes {{noinline = false}} {{\n'
                "    tt.return\n  }\n}\n"
            )
            module = ir.parse_mlir_module(str(file), context)
        blocks: list[Any] = []

        def seen(op: Any) -> None:
            if op.get_name() == "tt.return":
                blocks.append(op.get_block())

        module.walk(seen)
        builder.set_insertion_point_to_start(blocks[0])
        function = module.get_function("k")
        first = builder.get_gluon_layout_from_tensor(function.args(0))._to_ir(builder)
        second = builder.get_gluon_layout_from_memdesc(function.args(1))._to_ir(builder)
        return builder.get_shared_bank_conflicts(first, second, list(shape), bits)

    return forked(question)
