"""`la.read`: a whole MLIR file, a dump or a piece of one, as a value.

>>> module = read('''
... %p = arith.constant 0 : i64
... %t = xegpu.create_nd_tdesc %p, shape : [8, 16], strides : [16, 1] : i64
...   -> !xegpu.tensor_desc<8x16xf16, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>
... ''')
>>> [(use.place.line, use.name, use.shape) for use in module.layouts]
[(3, '%t', (8, 16))]
>>> print(module.layouts[0].layout())
d0 = 8@reg, d1 = 16@lane

A module is its text: two with the same text (and the same file name) are equal, and pickles hold no more. Everything else is
worked out when it is first asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import LayoutError
from layoutalg.core.files import read_file, text_of
from layoutalg.core.llvm_versions import DEFAULT_LLVM
from layoutalg.core.messages import shown
from layoutalg.core.notebook import NotebookAnswer, Rows, in_a_cell
from layoutalg.core.whole_numbers import instance_of, listed

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation, SSAValue

    from layoutalg.ir.findings import Finding
    from layoutalg.ir.reading import Part, Reading
    from layoutalg.module.conversions import LayoutConversion
    from layoutalg.module.source import Source
    from layoutalg.module.uses import LayoutUse
    from layoutalg.simulate import Outcome
    from layoutalg.simulate.counting import Counted
    from layoutalg.simulate.machine import Level
    from layoutalg.viz.graph import Graph

__all__ = ["Migrated", "Module", "checked", "looks_like_module", "names_file", "read"]

_SYNTAX = re.compile(r'[\n%"(){}<>=#!:]')
_BEFORE_OPERATIONS = re.compile(r"^[ \t]*+(?://[^\n]*|[#!][A-Za-z_][\w$]*[ \t]*=[^\n]*)?(?:\n|\Z)", re.MULTILINE)
"""Comments and definitions of aliases."""
_VALUE = re.compile(r"%[\w$.-]")
_OPERATION = re.compile(r"""(?:module|[a-z_]\w*\.\w[\w.]*|"[a-z_]\w*\.\w[\w.]*")(?=[\s({@]|\Z)""")
_INSIDE = re.compile(r"[#!][a-z_]\w*(?:\.[a-z_.]+)?<")
_LONGEST_PATH = 4096
SEPARATOR = "// -----\n"
"""What stands between modules in one file."""


@dataclass(frozen=True, repr=False)
class Module(NotebookAnswer):
    """MLIR text and the name of its file (`text` for a text, `-` for standard input).

    >>> module = Module("gpu.barrier")
    >>> module == Module("gpu.barrier"), str(module).splitlines()[1]
    (True, '  gpu.barrier')
    """

    source: str
    file: str = "text"

    @cached_property
    def lines(self) -> Source:
        """The text with its lines, for what points at them.

        >>> Module("gpu.barrier").lines.line(1)
        'gpu.barrier'
        """
        from layoutalg.module.source import Source

        return Source(self.source)

    @cached_property
    def _reading(self) -> Reading:
        from layoutalg.ir.reading import read_file_text

        return read_file_text(self.source, file=self.file)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The modules that the text has, each with its title (the banner of a dump) and its line.

        >>> module = Module("// -----// IR Dump After CSE (cse) //----- //\\nmodule {}\\n// -----\\nmodule {}")
        >>> [(part.title, part.line, part.module.name) for part in module.parts]
        [('IR Dump After CSE (cse)', 2, 'builtin.module'), ('', 4, 'builtin.module')]
        """
        return self._reading.modules

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What could not be read, and what is spelled as it was in the past.

        >>> Module("module {\\n  my.op to nowhere\\n}").findings[0].message
        'cannot be read: its syntax is not known'
        """
        return Rows(self._reading.findings)

    @property
    def is_read(self) -> bool:
        """Whether the text has MLIR at all: a module, or an operation that could be read.

        >>> Module("module {}").is_read, Module("Dear reader,\\nhello").is_read
        (True, False)
        """
        from layoutalg.ir.dialects.unread import UndefinedOp, UnreadOp
        from layoutalg.ir.places import place_of

        kept = (UnreadOp, UndefinedOp)
        return any(
            place_of(part.module) is not None or any(not isinstance(op, kept) for op in _top(part.module))
            for part in self.parts
        )

    @cached_property
    def chip(self) -> str | None:
        """The chip that a module of Triton says (`ttg.target = "cuda:80"` is sm_80); None where none does, or it is not known.

        >>> Module('module attributes {ttg.target = "cuda:80"} {}').chip
        'sm_80'
        """
        from xdsl.dialects.builtin import StringAttr

        from layoutalg.core.errors import LayoutError
        from layoutalg.hardware import target_info

        for part in self.parts:
            for operation in (part.module, *_top(part.module)):
                held = operation.attributes
                said = held["ttg.target"] if "ttg.target" in held else held.get("triton_gpu.target")
                if isinstance(said, StringAttr):
                    try:
                        return target_info(said.data).name
                    except LayoutError:
                        return None
        return None

    @cached_property
    def layouts(self) -> tuple[LayoutUse, ...]:
        """Every layout in the module, in the order of the text.

        >>> Module("gpu.barrier").layouts
        ()
        """
        from layoutalg.module.uses import layout_uses

        return Rows([use for part in self.parts for use in layout_uses(part.module, self.lines)])

    @cached_property
    def aliases(self) -> dict[str, str]:
        """The names that the text gives to layouts and types (`#a = ...`), by the text of each.

        >>> Module("#a = #xegpu.layout<lane_layout = [16]>").aliases
        {'#xegpu.layout<lane_layout = [16]>': '#a'}
        """
        from layoutalg.module.uses import aliases_of

        return {str(value): name for name, value in aliases_of(self.source).items()}

    @cached_property
    def conversions(self) -> tuple[LayoutConversion, ...]:
        """The operations that move a value from one layout to another.

        >>> Module("gpu.barrier").conversions
        ()
        """
        from layoutalg.module.conversions import conversions_of

        return tuple(conversions_of(self.layouts))

    def verify(self, llvm: int = DEFAULT_LLVM, target: str | None = None) -> tuple[Finding, ...]:
        """What one version of LLVM reports about the module, in its words, then our findings; empty where nothing is wrong.

        What could not be read is among the latter, and with a `target` (such as "pvc") messages that the chip does not have.

        Raises `LayoutError` for a version or a target that is not known.

        >>> [finding.message for finding in Module("module { xegpu.alloc_nbarrier -1 }").verify(llvm=24)]
        ['reserves -1 named barriers; expected at least 0']
        """
        from layoutalg.ir.findings import OURS
        from layoutalg.ir.verify import verify_module

        found = [finding for part in self.parts for finding in verify_module(part.module, llvm=llvm, target=target)]
        theirs, ours = ([one for one in found if (one.source == OURS) is mine] for mine in (False, True))
        return Rows((*theirs, *self.findings, *ours))

    def run(
        self,
        arguments: Sequence[Any],
        grid: Sequence[int],
        *,
        kernel: str | None = None,
        level: Level | None = None,
        target: str = "pvc",
        trace: Sequence[str] = (),
        results: Iterable[int] = (),
        block: tuple[int, int, int] | None = None,
        subgroup_size: int | None = None,
        progress: Callable[[float], None] | None = None,
        counted: Counted | None = None,
    ) -> Outcome:
        """Run a kernel on numpy arrays and numbers, on `grid` workgroups; without a name, the only kernel.

        Arrays are written in place. One that numpy says is not writeable is an input; the contents of `results` (numbers of
        arguments) must not be read before they are written. Arguments that share memory are one memory under several names, as
        on the device: accesses through two names race. What the kernel does wrong is among the outcome's findings.

        `level`, `block` (work-items of a workgroup along x, y and z) and `subgroup_size` are what the kernel says unless they
        are given. `trace` names results (`%7`) whose values are kept; `progress` is told the part that is done. `counted`
        makes the outcome say what was `executed`: "messages" (products, loads, stores, prefetches and their bytes), or "lines"
        for the cache lines that were prefetched and loaded as well.

        Raises `LayoutError` for a kernel that is not there or cannot be simulated, and for arguments that it does not take.

        >>> gemm = la.plan_gemm(8, 32, 32)
        >>> a, b, c = np.ones((8, 32), np.float16), np.ones((32, 32), np.float16), np.zeros((8, 32), np.float32)
        >>> outcome = Module(gemm.emit("lane")).run([a, b, c, *gemm.arguments], gemm.grid, trace=["%workgroup_row"])
        >>> outcome.findings, c[7, 31], outcome.trace["%workgroup_row"][0].shape
        ((), np.float32(32.0), (2, 1, 16))
        """
        from layoutalg.simulate import launch

        sizes = tuple(listed(grid, "grid"))
        sizes += (1,) * (3 - len(sizes))
        arguments, names = listed(arguments, "arguments"), listed(trace, "trace")
        instance_of(kernel, (str, type(None)), "kernel")
        for name in names:
            instance_of(name, str, "trace")
        part = self._part_with(kernel)
        return launch(
            part.module,
            arguments,
            sizes,
            kernel=kernel,
            level=level,
            target=target,
            trace=self._named(part, names),
            results=results,
            block=block,
            subgroup_size=subgroup_size,
            progress=progress,
            counted=counted,
        )

    def _named(self, part: Part, names: Sequence[str]) -> dict[SSAValue, str]:
        """The results of these names, as the text calls them; one that several operations have is all of them."""
        wanted = {name if name.startswith("%") else f"%{name}" for name in names}
        found: dict[SSAValue, str] = {
            result: name
            for operation in (part.module.walk() if wanted else ())
            for result, name in zip(operation.results, self.lines.result_names(operation), strict=True)
            if name in wanted or name.partition("#")[0] in wanted
        }
        missing = wanted.difference(found.values(), (name.partition("#")[0] for name in found.values()))
        if missing:
            raise LayoutError(f"trace {shown(min(missing))}: no operation has a result of that name")
        return found

    def _part_with(self, kernel: str | None) -> Part:
        """The part that has a kernel of this name (any, without a name)."""
        from layoutalg.ir.dialects.gpu import FuncOp

        found = [
            part
            for part in self.parts
            if any(
                isinstance(op, FuncOp) and op.kernel is not None and kernel in (None, op.sym_name.data)
                for op in part.module.walk()
            )
        ]
        if len(found) == 1:
            return found[0]
        wanted = "a kernel (a gpu.func with 'kernel')" if kernel is None else f"a kernel named {shown(kernel)}"
        if not found:
            raise LayoutError(f"{self.file}: no module in it has {wanted}")
        lines = ", ".join(str(part.line) for part in found[:8])
        raise LayoutError(f"{self.file}: {len(found)} modules have {wanted} (at lines {lines}); give the text of one")

    def migrate(self, llvm: int = DEFAULT_LLVM) -> Migrated:
        """The module in the syntax and with the operations of a version of LLVM (23 or 24).

        Raises `LayoutError` for another version.

        >>> print(Module("%z = amx.tile_zero : !amx.tile<16x16xf32>").migrate(llvm=24).module.source, end="")
        builtin.module {
          %z = x86.amx.tile_zero : !x86.amx.tile<16x16xf32>
        }
        """
        from layoutalg.ir import write_module
        from layoutalg.ir.migrate import migrate_module

        made = [migrate_module(part.module, to=llvm) for part in self.parts]
        text = SEPARATOR.join(write_module(one.module, llvm=llvm) for one in made)
        findings = (*self.findings, *(finding for one in made for finding in one.findings))
        return Migrated(Module(text, self.file), Rows(findings), self.source)

    def picture(self, function: str | None = None) -> Graph:
        """The operations and layouts of one function (the first with distributed values, without a name).

        A line has the layout in which a value is used, and the price on the module's chip (pvc, unless it says one) where
        elements move.

        Raises `LayoutError` where there is no such function.

        >>> module = Module("func.func @f(%x: vector<8xf32>) { %y = math.exp %x : vector<8xf32> func.return }")
        >>> [box.title for box in module.picture().boxes]
        ['argument', 'math.exp']
        """
        from layoutalg.flow.picture import flow_graph
        from layoutalg.hardware import target_info
        from layoutalg.module.chip import meant_chip

        return flow_graph(self, target_info(meant_chip(self, None)).name, function)

    def text(self, llvm: int = DEFAULT_LLVM) -> str:
        """The module in the syntax of a version of LLVM, as it prints it; several are separated by `// -----`.

        >>> print(Module("gpu.barrier").text(llvm=24), end="")
        builtin.module {
          gpu.barrier
        }
        """
        from layoutalg.ir import write_module

        return SEPARATOR.join(write_module(part.module, llvm=llvm) for part in self.parts)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Module({shown(self.source)}, {self.file!r})"

    def __reduce__(self) -> tuple[type[Module], tuple[str, str]]:
        return Module, (self.source, self.file)


@dataclass(frozen=True, repr=False)
class Migrated(NotebookAnswer):
    """A module as another version of LLVM wants it, and what in it has no counterpart there or could not be read.

    >>> Module("gpu.barrier").migrate(llvm=23).findings
    ()
    """

    module: Module
    findings: tuple[Finding, ...]
    before: str = field(default="", repr=False, compare=False)
    """The text that was migrated."""

    def _text(self) -> str:
        return "\n".join([*map(str, self.findings), str(self)])

    def _repr_html_(self) -> str:
        from layoutalg.viz.changes import changed_lines

        text = NotebookAnswer._repr_html_(self)
        return in_a_cell([lambda: changed_lines(self.before, str(self))], "print()") + text if self.before else text

    def __str__(self) -> str:
        return self.module.source


def _top(module: ModuleOp) -> Iterator[Operation]:
    """A module's own operations; an ill-formed one has no block, or several."""
    return (operation for block in module.body.blocks for operation in block.ops)


def read(path_or_text: str | os.PathLike[str]) -> Module:
    """A module from a file, or from text: a string with a line break or with MLIR's punctuation that is not a file's name.

    Nothing but the file is read here; what the text has is worked out when it is first asked for.

    Raises `LayoutError` for a file that is not there, cannot be opened, or is not UTF-8 text of at most 16 MiB.

    >>> read("gpu.barrier").source
    'gpu.barrier'
    >>> read("no-such-kernel.mlir")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: no-such-kernel.mlir: no such file or directory
    """
    if isinstance(path_or_text, os.PathLike):
        return _from_file(path_or_text)
    if not isinstance(path_or_text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"read of a {type(path_or_text).__name__}: expected MLIR text or the path of a file")
    return _from_file(path_or_text) if names_file(path_or_text) else Module(checked(path_or_text, "the text"))


def _from_file(path: str | os.PathLike[str]) -> Module:
    name = os.fspath(path)
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"a path of {type(name).__name__}: expected a string or a Path")
    return Module(read_file(name), name)


def checked(text: str, name: str) -> str:
    """A text as `read_file` would give it.

    Raises `LayoutError` for an empty or too long text, and for one that is not UTF-8.

    >>> checked("", "the text")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: the text: empty
    """
    try:
        return text_of(text.encode(), name)
    except UnicodeEncodeError as error:
        raise LayoutError(f"{name}: character {error.start} is not UTF-8") from None


def names_file(text: str) -> bool:
    """Whether a string is the name of a file: there is one, or it cannot be MLIR and looks like a name.

    >>> names_file("kernel.mlir"), names_file("gpu.barrier"), names_file("%c = arith.constant 1 : i32")
    (True, False, False)
    """
    if not text or len(text) > _LONGEST_PATH or "\n" in text or "\0" in text:
        return False
    try:
        if os.path.lexists(text):
            return True
    except (OSError, ValueError):
        return False
    if text.endswith(".mlir") and " " not in text.strip():
        return True
    if _SYNTAX.search(text):
        return False
    return text.endswith(".mlir") or os.sep in text or (" " not in text.strip() and not _is_operation(text.strip()))


def looks_like_module(text: str) -> bool:
    """Whether a text that is not of a notation has operations, or layouts in other text, as a line of a log has."""
    from layoutalg.triton.encodings.gluon import looks_like_gluon

    rest = _BEFORE_OPERATIONS.sub("", text).strip()
    if rest[:1] in ("", "#", "!") or looks_like_gluon(rest):
        return False
    return _VALUE.search(rest) is not None or _OPERATION.match(rest) is not None or _INSIDE.search(rest) is not None


def _is_operation(text: str) -> bool:
    """Whether a word is the name of an operation, which is then a whole text: `gpu.barrier`."""
    from layoutalg.ir.dialects import DIALECTS

    return Path(text).stem in DIALECTS and "." in text
