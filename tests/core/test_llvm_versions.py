"""One default version of LLVM, and one place that compares versions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import layoutalg
from layoutalg.cli import main
from layoutalg.cli.program import cli
from layoutalg.core.llvm_versions import DEFAULT_LLVM, llvm_versions, rules

PACKAGE = Path(layoutalg.__file__).parent
ASKED_ONCE = ("ir/installed.py", "side/conformance/kernel.py", "side/llvm_passes/propagating.py")
"""How the tests run mlir-opt, the syntax of the generated kernels, and what LLVM 22 does not verify after its own pass."""
OR_ANOTHER = {
    "emit": "the version of the plan",
    "listing": "the version of the plan",
    "amx_listing": "the version of the plan",
    "parse_attribute": "any version",
    "read_notation": "any version",
    "__init__": "any version",
    "layout_value": "any version",
    "accepts": "the rules of the default",
}
"""Functions that take None: what it stands for."""


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def defaults(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | None]]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    start = len(positional) - len(arguments.defaults)
    yield from ((one.arg, value) for one, value in zip(positional[start:], arguments.defaults, strict=True))
    yield from ((one.arg, value) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))


def test_the_default_is_the_newest_version() -> None:
    assert max(llvm_versions()) == DEFAULT_LLVM == rules().llvm


def test_every_function_and_every_field_asks_the_one_default() -> None:
    found = 0
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                for name, value in defaults(node):
                    if name == "llvm" and value is not None:
                        found += 1
                        said = ast.unparse(value)
                        wanted = ("DEFAULT_LLVM", "...", "None") if node.name in OR_ANOTHER else ("DEFAULT_LLVM", "...")
                        assert said in wanted, f"{path}:{node.lineno}: {node.name}(llvm = {said})"
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "llvm" and node.value is not None:
                found += 1
                assert ast.unparse(node.value) == "DEFAULT_LLVM", f"{path}:{node.lineno}"
    assert found > 60


def test_versions_are_compared_in_the_table_and_in_the_verifier_alone() -> None:
    for path, tree in trees():
        if path.startswith("ir/verify/") or path in ASKED_ONCE:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                numbers = any(isinstance(one, ast.Constant) and one.value in llvm_versions() for one in sides)
                asked = any(ast.unparse(one).rpartition(".")[2] in ("llvm", "version", "number") for one in sides)
                assert not (numbers and asked), f"{path}:{node.lineno}: {ast.unparse(node)}"


def commands(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command)
        else:
            yield name, command


def test_every_command_has_the_same_default() -> None:
    found = [
        (name, option.default)
        for name, command in commands(cli)
        for option in command.params
        if "--llvm" in option.opts
    ]
    assert {default for _, default in found} == {str(DEFAULT_LLVM)}
    assert {name for name, _ in found} >= {
        "show",
        "verify",
        "check",
        "propagate",
        "lower",
        "gemm",
        "sweep",
        "attention",
    }


@pytest.mark.parametrize("command", ["show", "verify", "check", "propagate", "lower"])
def test_a_version_that_is_not_known_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "gpu.barrier", "--llvm", "21"]) == 2
    assert "expected one of 22, 23, 24" in capsys.readouterr().err
