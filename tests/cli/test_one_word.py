"""One default, one order, one word for the same thing, in every command and in Python.

An option that several commands have takes the same values and has the same default in all of them, or stands in `DIFFERENT`
with the reason. An option of a command has the name and the default of the keyword of the function that the command calls, or
stands in `SPELLED`, where the two have other words, or in `OF_COMMANDS`, where Python has no need of it.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable
from typing import Any, get_type_hints

import click
import pytest

import layoutalg as la
from layoutalg.cli import cli
from layoutalg.core.notation import PictureOptions
from layoutalg.gemm.options import AmxOptions, GpuEpilogueOptions
from layoutalg.gemm.planning import AnyTargetOptions
from layoutalg.show import describe

COMMANDS: dict[str, click.Command] = cli.commands

DIFFERENT = {
    "--a": "f16 or bf16, by the chip; a product with weights has f16",
    "--b": "types of A's kind; weights have types of their own",
    "--blocks": "a list that show prints; the cache block of an AMX product",
    "--d": "the usual size of a head: 64 with many queries, 128 where new tokens are decoded",
    "--emit": "a plan has levels; a conversion has one",
    "--grid": "a run needs to know how much is run; a comparison of two runs takes one workgroup",
    "--lane": "show lists nothing unless asked; a run traces lane 0",
    "--level": "what is asked: how far elements go, which layouts are stated, what the text is",
    "--llvm": "migrate writes for versions with the newer operations",
    "--order": "of arrays (attention, decode), which have other dimensions; of the walk over C (gemm)",
    "--output": "run writes a file for each result",
    "--prefetch": "attention prefetches between subgroups, products ahead of a step",
    "--scale": "a number (attention), or a number for each row or column (products)",
    "--sg": "as --lane",
    "--subgroups": "how many; of products also how they lie, such as 8x4",
    "--target": "the chips that can do it; a file may say its chip",
}
"""Options that are not the same in every command, with the reason."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "attention": la.plan_attention,
    "banks": la.bank_conflicts,
    "check": la.check,
    "conformance": la.conformance,
    "convert": la.convert,
    "decode": la.plan_decode,
    "draw": la.picture,
    "gemm": la.plan_gemm,
    "lower": la.lower,
    "migrate": la.Module.migrate,
    "propagate": la.propagate,
    "run": la.Module.run,
    "same": la.same,
    "show": describe,
    "verify": la.Module.verify,
    "weights": la.plan_weights,
}

WRITTEN = {
    "--json",
    "--output",
    "--format",
    "--markdown",
    "--emit",
    "--host",
    "--build",
    "--static",
    "--prepacked-b",
    "--picture",
    "--listing",
    "--explain",
}
"""What is printed or written: in Python, methods of the answer."""
EXECUTED = {"--run", "--check", "--text", "--seed", "--sample", "--native", "--time", "--measure"}
"""What is done with a plan: in Python, methods of the plan."""
OTHER_WORDS = {
    "--element": "element_bits, or the element of what is written",
    "--as": "read_as of the value",
    "--subgroup-size": "machine", "--subgroups": "machine", "--workgroup-size": "machine",
    "--kind": "kinds, which are several", "--level": "levels, which are several", "--no-reduce": "reduce",
    "--arg": "arguments", "--workgroup": "traced", "--sg": "traced or holder", "--lane": "traced or holder",
    "--op": "module.uses", "--strict": "the exit code", "--runners-up": "the report",
    "--colour": "the picture's", "--direction": "the picture's", "--full": "the picture's", "--title": "the picture's",
    "--target": "conversions of a described module",
}  # fmt: skip
"""Options whose counterpart in Python is another word, or a value of its own."""
COMPARED = {"--before", "--after", "--passes", "--compiler", "--grid", "--arg", "--kernel", "--tolerance"}
"""Options of check that belong to `la.keeps_meaning` and `la.passes_keep_meaning`."""


def options(name: str) -> dict[str, click.Option]:
    """The options of a command by their long names."""
    return {one.opts[-1]: one for one in COMMANDS[name].params if isinstance(one, click.Option)}


def default_of(option: click.Option) -> object:
    """The default that a command gets: None where there is none, also for a flag."""
    found = option.get_default(click.Context(click.Command("x")))
    return None if found is False or found == () or "UNSET" in repr(found) else found


def kind_of(option: click.Option) -> tuple[object, ...]:
    """What an option takes."""
    kind: Any = option.type
    names = kind.names() if hasattr(kind, "names") else getattr(kind, "choices", ())
    bounds = getattr(kind, "min", None), getattr(kind, "max", None)
    return type(kind).__name__, tuple(map(str, names)), bounds, option.is_flag, option.metavar


def test_an_option_is_the_same_in_every_command() -> None:
    found: defaultdict[str, dict[tuple[object, ...], list[str]]] = defaultdict(dict)
    for name in COMMANDS:
        for option, given in options(name).items():
            found[option].setdefault((default_of(given), *kind_of(given)), []).append(name)
    several = {option: list(by.values()) for option, by in found.items() if len(by) > 1}
    assert {option: names for option, names in several.items() if option not in DIFFERENT} == {}
    assert not DIFFERENT.keys() - several.keys(), "these are the same everywhere now"


def test_the_defaults_that_people_ask_for() -> None:
    targets = {name: default_of(options(name)["--target"]) for name in COMMANDS if "--target" in options(name)}
    assert {name for name, target in targets.items() if target is None} == {
        "check", "lower", "lsp", "propagate", "show",  # as FILE says, or pvc
        "sweep",  # as each problem says, or pvc
        "verify",  # no chip, no messages
    }  # fmt: skip
    assert {target for target in targets.values() if target is not None} == {"pvc"}
    versions = {str(default_of(options(name)["--llvm"])) for name in COMMANDS if "--llvm" in options(name)}
    assert versions == {"24"}
    assert {default_of(options(name)["--element"]) for name in COMMANDS if "--element" in options(name)} == {"f32"}


def keywords_of(name: str) -> dict[str, object]:
    """The keywords of the function of a command, with their defaults; those that a dictionary declares have None."""
    found: dict[str, object] = {}
    for one in inspect.signature(FUNCTIONS[name]).parameters.values():
        if one.kind is one.VAR_KEYWORD:
            declared = {"gemm": AnyTargetOptions, "weights": GpuEpilogueOptions, "draw": PictureOptions}[name]
            found |= dict.fromkeys(get_type_hints(declared), None)
            found |= dict.fromkeys(get_type_hints(AmxOptions), None) if name == "gemm" else {}
        else:
            found[one.name] = None if one.default in (False, (), one.empty) else one.default
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_command_and_its_function_have_one_word_and_one_default(name: str) -> None:
    keywords = keywords_of(name)
    for option, given in options(name).items():
        keyword = option.lstrip("-").replace("-", "_")
        if keyword not in keywords:
            known = {*WRITTEN, *EXECUTED, *OTHER_WORDS, *(COMPARED if name == "check" else ())}
            assert option in known, f"{option} of {name}: the function has no keyword {keyword}"
        elif keywords[keyword] is not None and option not in OTHER_WORDS:
            assert str(default_of(given)) == str(keywords[keyword]), f"{option} of {name}"


@pytest.mark.parametrize("name", sorted({"banks", "convert", "draw", "same", "show"}))
def test_texts_come_first_and_then_the_shape(name: str) -> None:
    arguments = [one.name for one in COMMANDS[name].params if isinstance(one, click.Argument)]
    assert arguments[-1] == "shape"
    parameters = list(inspect.signature(FUNCTIONS[name]).parameters)
    assert parameters.index("shape") == len(arguments) - 1


@pytest.mark.parametrize(
    "function",
    [
        la.bank_conflicts,
        la.best_swizzle,
        la.coalescing,
        la.convert,
        la.picture,
        la.price,
        la.same,
        la.to_nested,
        la.to_xegpu,
    ],
)
def test_the_shape_follows_the_layouts_in_python(function: Callable[..., Any]) -> None:
    names = list(inspect.signature(function).parameters)
    layouts = {"layout", "write", "read", "source", "destination", "value", "a", "b"}
    assert names[names.index("shape") - 1] in layouts
    assert set(names[: names.index("shape")]) <= layouts


def test_a_size_of_elements_is_32_bits_unless_said() -> None:
    for function in (la.bank_conflicts, la.best_swizzle, la.coalescing, la.convert):
        assert inspect.signature(function).parameters["element_bits"].default == 32
    assert inspect.signature(la.price).parameters["element"].default == "f32"
