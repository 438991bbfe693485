"""What the commands have in common: texts, shapes, the machine, names out of a table, results.

>>> machine_said(16, None, 64).subgroups
4
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from layoutalg.core.errors import LayoutError, TextPlace
from layoutalg.core.limits import MAX_TEXT, MOST_FILES
from layoutalg.core.llvm_versions import DEFAULT_LLVM, llvm_versions
from layoutalg.core.messages import shown
from layoutalg.core.written import as_typed_shape

if TYPE_CHECKING:
    from layoutalg.core.notation import Distributed, Machine, Notation
    from layoutalg.module import Module

__all__ = [
    "CHIP",
    "DPAS_CHIP",
    "ELEMENT",
    "FORMATS",
    "MODULE",
    "PLANNER_CHIP",
    "TEXT",
    "OneOf",
    "Suggested",
    "as_option",
    "chip_meant",
    "chip_names",
    "element_option",
    "file_target_option",
    "format_option",
    "json_option",
    "llvm_option",
    "machine_options",
    "machine_said",
    "module_files",
    "output_option",
    "planner_chips",
    "print_json",
    "read_module_file",
    "read_source",
    "read_text",
    "read_texts",
    "read_value_or_module",
    "read_whole_module",
    "say_assumed_chip",
    "shape_argument",
    "target_option",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])
FORMATS = ("text", "json", "sarif", "github")
_MODULE_ENDINGS = (".mlir", ".ttgir")


class OneOf(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] (older versions of click have none)
    """One of the names in a table; the table is loaded when a name is given.

    Names that are `unlisted` are taken too, and offered to nobody: what they are given to knows why it refuses them. `meant` is
    the name in the table that another spelling means.

    >>> OneOf(lambda: ("a", "b")).convert("c", None, None)
    Traceback (most recent call last):
    click.exceptions.BadParameter: 'c': expected one of a, b
    """

    name = "name"

    def __init__(
        self,
        names: Callable[[], Sequence[object]],
        unlisted: Callable[[], Sequence[object]] = tuple,
        meant: Callable[[str], str] = str,
    ) -> None:
        self.names = names
        self.unlisted = unlisted
        self.meant = meant

    @classmethod
    def at(cls, place: str) -> OneOf:
        """The names in a module, such as `layoutalg.simulate.machine:LEVELS`, which is loaded when they are needed."""
        return cls(lambda: resolve_name(place))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name's own value in the table."""
        meant = self.meant(str(value))
        found = [one for one in (*self.names(), *self.unlisted()) if str(one) == meant]
        if found:
            return found[0]
        said = shown(str(value)) + f", which is {meant}" * (meant not in (str(value), str(value).lower()))
        return self.fail(f"{said}: expected one of {', '.join(map(str, self.names()))}", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so."""
        return [CompletionItem(str(one)) for one in self.names() if str(one).startswith(incomplete)]

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The names, for the help. (Click 8.1 asks without a context.)"""
        return f"[{'|'.join(map(str, self.names()))}]"


class Suggested(click.types.StringParamType):
    """Any text; the shell completes `names` that are offered, or else files."""

    def __init__(self, names: Callable[[], Iterable[str]] = tuple) -> None:
        self.names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so, or files: shells do not mix the two."""
        names = [one for one in self.names() if one.startswith(incomplete)] if incomplete else []
        return [CompletionItem(one) for one in names] or [CompletionItem(incomplete, type="file")]


def _instruction_names() -> Iterable[str]:
    from layoutalg.instructions.registry import rows

    return dict.fromkeys(name for row in rows().values() for name in (row.name, row.dotted, *row.aliases) if name)


def _element_names() -> Iterable[str]:
    from layoutalg.core.elements import usual_elements

    return usual_elements()


def chip_names(*, dpas: bool = False) -> Sequence[str]:
    """The targets (with `dpas`, only those that have DPAS) and Intel's products."""
    from layoutalg.hardware.chips import target_names
    from layoutalg.hardware.xe_products import product_names

    return (*target_names(dpas=dpas), *product_names())


def planner_chips(*, able: bool = True) -> Sequence[str]:
    """The chips with DPAS that products are planned for, or the others: those without 2D block messages."""
    from layoutalg.hardware.chips import target_info

    return tuple(name for name in chip_names(dpas=True) if (target_info(name).surface is not None) is able)


def chip_meant(name: str) -> str:
    """The chip that any of its names means, such as `h100` or `cuda:80`."""
    from layoutalg.hardware.chip_names import chip_name

    return chip_name(name)


CHIP = OneOf(chip_names, meant=chip_meant)
ELEMENT = Suggested(_element_names)
MODULE = Suggested()
"""MLIR: the name of a file, `-` or a text."""
TEXT = Suggested(_instruction_names)
"""A value of a notation: a text, the name of a file or of an instruction, or `-`."""
DPAS_CHIP = OneOf(lambda: chip_names(dpas=True), meant=chip_meant)
PLANNER_CHIP = OneOf(planner_chips, lambda: planner_chips(able=False), chip_meant)
_LLVM_VERSION = OneOf(llvm_versions)


def json_option(command: _Command) -> _Command:
    """The option `--json`, which every command has."""
    return click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")(command)


def llvm_option(meaning: str, versions: OneOf = _LLVM_VERSION) -> Callable[[_Command], _Command]:
    """The option `--llvm`, with what the version is for."""
    return click.option("--llvm", type=versions, default=str(DEFAULT_LLVM), show_default=True, help=meaning)


def target_option(meaning: str, chips: OneOf = CHIP) -> Callable[[_Command], _Command]:
    """The option `--target`: a chip, with what it is for."""
    return click.option("--target", type=chips, metavar="CHIP", default="pvc", show_default=True, help=meaning)


def file_target_option(meaning: str) -> Callable[[_Command], _Command]:
    """The option `--target` of commands that read a module, which may say its chip itself."""
    said = f"{meaning}  [default: as FILE says, or pvc]"
    return click.option("--target", type=CHIP, metavar="CHIP", help=said)


def element_option(command: _Command) -> _Command:
    """The option `--element`: the element type."""
    return click.option("--element", type=ELEMENT, default="f32", show_default=True, help="Element type.")(command)


def format_option(command: _Command) -> _Command:
    """The option `--format`: how findings are printed; `--json` is short for one of them."""
    return click.option(
        "--format",
        "written",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="How findings are printed: for people, as JSON, SARIF 2.1.0 or GitHub annotations.",
    )(command)


def _sizes(context: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    shape, element = as_typed_shape(text)
    if element:  # the default of --element, which is read later where it is not given
        context.default_map = {**(context.default_map or {}), "element": element}
    return shape


def shape_argument(command: _Command) -> _Command:
    """The argument SHAPE, which many texts need: sizes, or None. Of `vector<8x16xf16>` the element type is taken too."""
    return click.argument("shape", required=False, callback=_sizes)(command)


def as_option(command: _Command) -> _Command:
    """The option `--as`: how a text of CuTe that may be two things is read; the command gets it as its `reading`."""
    return click.option(
        "--as",
        "reading",
        type=click.Choice(["tv", "memory"]),
        help="Read a layout of CuTe as threads and values (of a tile of SHAPE) or as memory.",
    )(command)


def machine_options(command: _Command) -> _Command:
    """The options that say what a text leaves open: the command gets them as its `machine`."""

    @wraps(command)
    def with_machine(
        *given: Any, subgroup_size: int | None, subgroups: int | None, workgroup_size: int | None, **others: Any
    ) -> Any:
        return command(*given, machine=machine_said(subgroup_size, subgroups, workgroup_size), **others)

    found = cast("_Command", with_machine)
    for option in (
        click.option("--workgroup-size", type=int, help="Threads of a workgroup."),
        click.option("--subgroups", type=int, help="Subgroups of a workgroup."),
        click.option("--subgroup-size", type=int, help="Threads of a subgroup (lanes)."),
    ):
        found = option(found)
    return found


def machine_said(subgroup_size: int | None, subgroups: int | None, workgroup_size: int | None) -> Machine:
    """The machine of the options.

    Raises `LayoutError` for a size below 1, and where `--subgroups` and `--workgroup-size` are both given.
    """
    from layoutalg.core.notation import Machine
    from layoutalg.notations import machine_of

    if subgroups is not None and workgroup_size is not None:
        raise LayoutError("--subgroups and --workgroup-size say the same: give one of them")
    return machine_of(Machine(subgroups=subgroups), subgroup_size, workgroup_size)


def output_option(what: str) -> Callable[[_Command], _Command]:
    """The option `-o`: the file that a command writes."""
    return click.option("-o", "--output", type=click.Path(path_type=Path), help=what)


def read_text(text: str, reading: str | None = None) -> Distributed:
    """The value of a text, of a file that has one, or of standard input for `-`; of CuTe's, in a `reading` that was asked for.

    Raises `ParseError`, and `LayoutError` for a file or an input that is not text.
    """
    from layoutalg.module import Module

    found = read_value_or_module(text)
    if isinstance(found, Module):
        raise LayoutError(
            f"{shown(text)}: a module; expected an attribute, a type or a layout (`layoutalg show` lists those of a module)"
        )
    return found if reading is None else found.read_as(reading)


def read_texts(texts: Sequence[str], reading: str | None) -> list[Distributed]:
    """The values of several texts; a `reading` is for those that have two.

    Raises `LayoutError` where a reading is asked for and each text has one.
    """
    found: list[Distributed] = [read_text(text) for text in texts]
    if reading is None:
        return found
    read: list[Distributed] = []
    problem: LayoutError | None = None
    for value in found:
        try:
            read.append(value.read_as(reading))
        except LayoutError as error:
            problem = error
            read.append(value)
    if problem is not None and all(one is other for one, other in zip(found, read, strict=True)):
        raise problem
    return read


def read_value_or_module(text: str) -> Notation | Module:
    """What a text is, or a file, or standard input for `-`: a value of a notation, or MLIR with operations.

    Raises `ParseError` for what is neither.

    >>> type(read_value_or_module("gpu.barrier")).__name__
    'Module'
    >>> read_value_or_module("gemm.mlir")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: gemm.mlir: no such file or directory
    """
    from layoutalg.module.texts import value_or_module

    return value_or_module(*read_source(text))


def read_source(text: str) -> tuple[str, str]:
    """The text that an argument means, a file's or standard input's for `-`, and where it is from (`text`: itself)."""
    from layoutalg.core.files import read_file
    from layoutalg.module.module import checked

    if text == "-":
        return checked(_standard_input(), "standard input"), "-"
    return (read_file(text), text) if _names_file(text) else (text, "text")


def read_module_file(text: str) -> Module:
    """The module of a file, or of standard input for `-`; or a text of operations.

    Raises `LayoutError` for a file that is not there or is not text.
    """
    from layoutalg.module import Module, read
    from layoutalg.module.module import checked

    return Module(checked(_standard_input(), "standard input"), "-") if text == "-" else read(text)


def module_files(names: Sequence[str]) -> list[str]:
    """Names of files and texts of operations, with each folder's files in its place: .mlir and .ttgir, hidden ones left out.

    Raises `LayoutError` for a folder without such a file, and over `MOST_FILES`.
    """
    found: dict[str, None] = {}
    for name in names:
        below = _files_below(name) if _is_folder(name) else [name]
        if not below:
            raise LayoutError(f"{shown(name)}: a folder without {' or '.join(_MODULE_ENDINGS)} files")
        found |= dict.fromkeys(below)
        if len(found) > MOST_FILES:
            raise LayoutError(f"{shown(name)}: more than {MOST_FILES} files; name folders below it")
    return list(found)


def _is_folder(name: str) -> bool:
    try:
        return os.path.isdir(name)
    except ValueError:  # a NUL in the name
        return False


def _files_below(folder: str) -> list[str]:
    found: list[str] = []
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        names = (one for one in sorted(files) if one.endswith(_MODULE_ENDINGS) and not one.startswith("."))
        found += [os.path.join(path, one) for one in names]
        if len(found) > MOST_FILES:
            break
    return found


def read_whole_module(text: str) -> Module:
    """The module of a file, of which nothing may be left out.

    Raises `LayoutError` with the first finding of the reader.

    >>> read_whole_module("builtin.module { ? }")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: text:1:18: cannot be read: expected an operation, found '?'
    """
    module = read_module_file(text)
    unread = [finding for finding in module.findings if finding.level == "error" or not module.is_read]
    if unread:
        at = unread[0].place
        place = None if at is None else TextPlace(module.source, at.line, at.column, at.file)
        raise LayoutError(f"{at or module.file}: {unread[0].message}", place=place)
    return module


def say_assumed_chip(module: Module, target: str | None) -> None:
    """Say on standard error which chip prices are for, where neither the module nor the user names one."""
    from layoutalg.module.chip import assumed_chip

    if said := assumed_chip(module, target):
        click.echo(f"layoutalg: {said}", err=True)


def _names_file(text: str) -> bool:
    """Whether an argument names a file: there is one, or it looks like the path of one that is not there."""
    from layoutalg.module.module import names_file

    return names_file(text) and (os.path.lexists(text) or text.endswith(".mlir"))


def _standard_input() -> str:
    if sys.stdin is None or sys.stdin.closed:  # pyright: ignore[reportUnnecessaryComparison]
        raise LayoutError("standard input is closed")
    try:
        found = sys.stdin.read(MAX_TEXT + 1)  # one more than is read, so that the reader refuses it
        found.encode()
    except UnicodeDecodeError as error:
        raise LayoutError(f"standard input: byte {error.start} is not UTF-8") from None
    except UnicodeEncodeError as error:  # bytes that were let through as surrogates
        raise LayoutError(f"standard input: character {error.start} is not UTF-8") from None
    return found


def print_json(facts: dict[str, Any]) -> None:
    """Print one JSON object."""
    print(json.dumps(facts))
