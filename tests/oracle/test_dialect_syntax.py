"""Every operation in every spelling: each compiler accepts the modules that say so, and what we print means the same to it.

A compiler is asked three times, with all modules in one process: which it accepts; their generic form; the generic form of what
we print for its version. The generic form has every property, attribute and type spelled out.
"""

from __future__ import annotations

import functools
import re

import pytest

from layoutalg.ir import read_module, write_module
from tests.ir.module_files import WrittenModule, written_modules
from tests.oracle.iree import iree_opt
from tests.oracle.toolchains import require, require_new, run

COMPILERS = {"22": 22, "23": 23, "24": 24, "iree-3.2": 22, "iree": 24}
"""The compilers that the modules name, and the version of LLVM whose syntax they read."""
FLAGS = ("--split-input-file", "--mlir-print-local-scope")


def compiler(name: str) -> str:
    if name.startswith("iree"):
        return iree_opt("iree-3.2" if name == "iree-3.2" else None)
    return require("mlir-opt-22") if name == "22" else require_new(f"mlir-opt-{name}")


def modules_for(name: str) -> list[WrittenModule]:
    """IREE's modules for IREE, all others for LLVM."""
    return [module for module in written_modules() if module.file.startswith("iree") == name.startswith("iree")]


def generic_forms(name: str, texts: list[str]) -> tuple[list[str], str]:
    """The generic form of each module, empty where the compiler refuses it; and what it said."""
    done = run([compiler(name), *FLAGS, "--mlir-print-op-generic"], "// -----\n".join(texts))
    forms = re.split(r"^// -----\n", done.stdout, flags=re.M)
    assert len(forms) == len(texts), done.stderr[:2000]
    return [form.strip() for form in forms], done.stderr


@functools.cache
def asked(name: str) -> tuple[dict[WrittenModule, str], str]:
    modules = modules_for(name)
    forms, said = generic_forms(name, [module.text for module in modules])
    return dict(zip(modules, forms, strict=True)), said


@pytest.mark.parametrize("name", COMPILERS)
def test_the_compiler_accepts_the_modules_that_say_so_and_no_others(name: str) -> None:
    forms, said = asked(name)
    wrong = [f"{module} is {'accepted' if form else 'refused'}" for module, form in forms.items()
             if bool(form) != (name in module.compilers)]  # fmt: skip
    assert not wrong, "\n".join([*wrong, said])


@pytest.mark.parametrize("name", COMPILERS)
def test_what_we_print_is_the_same_module_to_the_compiler(name: str) -> None:
    forms, _ = asked(name)
    accepted = [module for module in forms if name in module.compilers]
    printed = [write_module(read_module(module.text), llvm=COMPILERS[name]) for module in accepted]
    ours, said = generic_forms(name, printed)
    for module, text, form in zip(accepted, printed, ours, strict=True):
        assert form == forms[module], f"{module}\n{text}\n{said}"


@pytest.mark.parametrize("name", COMPILERS)
def test_we_read_what_the_compiler_prints_and_its_generic_form(name: str) -> None:
    forms, _ = asked(name)
    accepted = [module for module in forms if name in module.compilers]
    done = run([compiler(name), *FLAGS], "// -----\n".join(module.text for module in accepted))
    pretty = re.split(r"^// -----\n", done.stdout, flags=re.M)
    for texts in (pretty, [forms[module] for module in accepted]):
        printed = [write_module(read_module(text), llvm=COMPILERS[name]) for text in texts]
        ours, said = generic_forms(name, printed)
        for module, text, form in zip(accepted, printed, ours, strict=True):
            assert form == forms[module], f"{module}\n{text}\n{said}"
