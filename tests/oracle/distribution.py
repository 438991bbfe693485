"""Kernels at workgroup level, distributed to subgroups and to lanes by mlir-opt 22, 23 and 24.

The passes are those of each version's `--gpu-lower-to-xevm-pipeline` up to the fragments, in its order. All kernels of a call
are one text with `// -----` between them; those that are refused are asked again one by one, for the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import layoutalg as la
from layoutalg.side.conformance.kernel import Level
from layoutalg.side.conformance.stages import stages
from tests.oracle.toolchains import require, require_new, run
from tests.simulate.levels.kernels import KERNELS

VERSIONS = (22, 23, 24)
LEVELS = ("subgroup", "lane")
SEPARATOR = "\n// -----\n"


def program(version: int) -> str:
    """mlir-opt of a version, or a skip."""
    return require("mlir-opt-22") if version == 22 else require_new(f"mlir-opt-{version}")


def pipeline(version: int, level: str, kernels: Level = "workgroup") -> str:
    """The passes down to a level, for kernels of a workgroup or (`plain`) of one subgroup."""
    return next(stage.pipeline for stage in stages(version, kernels) if stage.name == level)


def distributed(texts: Iterable[str], version: int, level: str) -> dict[str, str]:
    """The distributed modules, by the kernel's name; those that are refused are missing."""
    command = [program(version), "--split-input-file", f"--pass-pipeline={pipeline(version, level)}"]
    done = run(command, SEPARATOR.join(texts), timeout=300)
    if done.returncode not in (0, 1):
        found: dict[str, str] = {}
        for text in texts:  # one of them crashes the compiler
            found |= _by_name(run([command[0], command[2]], text).stdout)
        return found
    return _by_name(done.stdout)


def _by_name(text: str) -> dict[str, str]:
    parts = re.split(r"(?m)^// -----$", text)
    named = ((re.search(r"gpu\.func @(\w+)", part), part) for part in parts)
    return {name.group(1): part for name, part in named if name is not None}


@cache
def kernels_at(version: int, level: str) -> dict[str, str]:
    """All kernels of tests/simulate/levels, distributed."""
    return distributed([kernel.spelled_for(version) for kernel in KERNELS.values()], version, level)


def refusal(text: str, version: int, level: str) -> str:
    """What mlir-opt says when it refuses a kernel."""
    done = run([program(version), f"--pass-pipeline={pipeline(version, level)}"], text)
    assert done.returncode != 0
    return done.stderr


def keeping(operation: str, texts: dict[str, str], version: int, level: str) -> set[str]:
    """The modules (by name) in which an operation is left, or that are refused because of it, on the way from a level to lanes.

    The texts are as LLVM 22 writes them.
    """
    options = [f"--pass-pipeline={pipeline(version, 'lane', 'workgroup' if level == 'workgroup' else 'plain')}"]
    spelled = {name: la.read(text).text(llvm=version) for name, text in texts.items()}
    command = [program(version), "--split-input-file", *options]
    done = run(command, SEPARATOR.join(spelled.values()), timeout=300)
    if done.returncode in (0, 1):
        made = _by_name(done.stdout)
        left = {name for name, text in made.items() if operation in text}
        refused = set(spelled) - set(made)
    else:
        left, refused = set[str](), set(spelled)  # one of them crashes the compiler
    for name in refused:
        alone = run([command[0], *options], spelled[name])
        if (
            f"'{operation}' op" in alone.stderr
            or f"operation '{operation}'" in alone.stderr
            or operation in alone.stdout
        ):
            left.add(name)
    return left
