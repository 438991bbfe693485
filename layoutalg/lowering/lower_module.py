"""`la.lower`: a module at workgroup or subgroup level, as its work-items execute it.

A subgroup loads a tile of 8x16, of which every lane has a column, adds it to itself and stores it. One lane does that with its
eight elements:

>>> from layoutalg.module import read
>>> tile = "!xegpu.tensor_desc<8x16xf32, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>"
>>> lowered = lower(read(f'''
... gpu.module @m {{ gpu.func @k(%p: i64) kernel attributes {{intel_reqd_sub_group_size = 16 : i32,
...     known_block_size = array<i32: 16, 1, 1>}} {{
...   %t = xegpu.create_nd_tdesc %p, shape : [64, 64], strides : [64, 1] : i64 -> {tile}
...   %x = xegpu.load_nd %t[8, 16] : {tile} -> vector<8x16xf32>
...   %y = arith.addf %x, %x : vector<8x16xf32>
...   xegpu.store_nd %y, %t[8, 16] : vector<8x16xf32>, {tile}
...   gpu.return }} }}'''))
>>> print("\\n".join(line.strip() for line in str(lowered).splitlines()[3:7]))
%t = xegpu.create_nd_tdesc %p, shape : [64, 64], strides : [64, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
%x = xegpu.load_nd %t[8, 16] : !xegpu.tensor_desc<8x16xf32> -> vector<8xf32>
%y = arith.addf %x, %x : vector<8xf32>
xegpu.store_nd %y, %t[8, 16] : vector<8xf32>, !xegpu.tensor_desc<8x16xf32>

The law: the lowered kernel, run by all work-items, computes what the kernel computes at the level of its source. What cannot be
lowered so is a finding, and then there is no module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from io import StringIO
from math import prod
from typing import TYPE_CHECKING, Any, Literal

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, MemRefType, ModuleOp, NoneAttr, i8, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from layoutalg.conversion.lowering.barriers import SHARED_BARRIER
from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.errors import LayoutError
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.core.messages import shortened
from layoutalg.core.notation import Machine
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of
from layoutalg.flow.graph import Flow, flow_of
from layoutalg.flow.levels import levels_of, machine_of
from layoutalg.flow.malformed import is_refusal, wrong_in
from layoutalg.flow.written_layouts import WrittenLayout, about_nothing
from layoutalg.hardware import target_info
from layoutalg.ir.dialects import func
from layoutalg.ir.dialects.gpu import FuncOp
from layoutalg.ir.findings import Finding
from layoutalg.ir.migrate import migrate_module
from layoutalg.ir.places import place_of
from layoutalg.ir.verify import verify_module
from layoutalg.ir.well_formed import MALFORMED
from layoutalg.ir.writing import ModulePrinter
from layoutalg.lowering.branches import write_blocks
from layoutalg.lowering.called_functions import declared_functions
from layoutalg.lowering.calls import inline_calls, spread_calls
from layoutalg.lowering.in_place import CONVERSIONS, lower_fragments
from layoutalg.lowering.kernels import Exchanged, Refused
from layoutalg.lowering.liveness import HINTS, Live, is_free
from layoutalg.lowering.placed_text import Placed, placed
from layoutalg.lowering.repeated import repeated
from layoutalg.lowering.rules import Kernel
from layoutalg.lowering.shared_memory import SHARED, declared_bytes
from layoutalg.lowering.value_layouts import value_layouts_of
from layoutalg.module.chip import meant_chip
from layoutalg.module.module import SEPARATOR, Module
from layoutalg.xegpu import LayoutAttr, SliceAttr

if TYPE_CHECKING:
    from layoutalg.core.notation import Distributed
    from layoutalg.viz.graph import Graph

__all__ = ["Lowered", "lower"]

_INDENT = "  "
_MOST_IN_BOX = 52
"""Letters of a finding that stand in the box of its operation; the text below has all."""


@dataclass(frozen=True, repr=False)
class Lowered(NotebookAnswer):
    """A module at lane level, and what it took.

    `module` is None where something in it could not be lowered; `findings` say what, and warn of exchanges that nobody wrote.

    >>> lower(Module("gpu.barrier")).exchanges
    ()
    """

    module: Module | None
    exchanges: tuple[Exchanged, ...]
    findings: tuple[Finding, ...]
    source: Module | None = field(default=None, repr=False, compare=False)
    """What was lowered; a notebook shows its picture."""
    target: str = field(default="pvc", repr=False, compare=False)

    def picture(self) -> Graph:
        """What was lowered: what a lane holds, each exchange, and why something was not lowered.

        Raises `LayoutError` for a result without its source.

        >>> Lowered(None, (), ()).picture()
        Traceback (most recent call last):
        layoutalg.core.errors.LayoutError: a lowered module without its source has no picture
        """
        if self.source is None:
            raise LayoutError("a lowered module without its source has no picture")
        from layoutalg.flow.picture import Said, flow_graph

        unasked = [one for one in self.exchanges if not one.written]
        notes = [f"each lane works on its own part; {counted(len(self.exchanges), 'exchange')} between lanes"]
        notes[0] += f", {len(unasked)} that nobody wrote" * bool(unasked)
        boxes = {one.place: f"exchange: {one.plan.kind}" for one in self.exchanges if one.place is not None}
        wrong = {(one.place, ""): one for one in self.findings if one.level == "error"}
        boxes |= {place: shortened(one.message, _MOST_IN_BOX) for (place, _), one in wrong.items() if place is not None}
        if self.module is None:
            heading, notes = "not lowered", []
        elif self._kept:
            heading, notes = "not lowered", [f"{one.operation} {one.message}" for one in self._kept[:1]]
        else:
            heading = "lowered to lanes"
        said = Said(heading, tuple(notes), boxes, held=True)
        return flow_graph(self.source, self.target, mistakes=wrong, said=said)

    @property
    def _kept(self) -> list[Finding]:
        """The functions that stay as they are, where nothing shows that others were lowered."""
        return [one for one in self.findings if one.rule == "lower.kernel" and not self.exchanges]

    def _summary(self) -> str:
        if self.module is None or self._kept:
            return f"not lowered: {counted(len(self.findings), 'finding')}"
        return f"lowered, {counted(len(self.exchanges), 'exchange')}"

    def _text(self) -> str:
        return "\n".join([self._summary(), *map(str, self.exchanges), *map(str, self.findings), "", str(self)])

    def __str__(self) -> str:
        return "" if self.module is None else self.module.source


def lower(module: Module, *, target: str | None = None, llvm: int = DEFAULT_LLVM) -> Lowered:
    """The module with its kernels as each work-item executes them; kernels that are at lane level stay as they are.

    A module that does not verify is not lowered: the findings say what is wrong. `target` is the chip (what the module says, as
    Triton's do, or pvc).

    Raises `LayoutError` for a target or a version of LLVM that is not known.

    >>> print(lower(Module("gpu.barrier")).module)
    builtin.module {
      gpu.barrier
    }
    <BLANKLINE>
    """
    instance_of(module, Module, "module")
    chip = meant_chip(module, target)
    target_info(chip)
    version = rules(llvm).llvm
    try:
        return replace(_lowered_module(module, chip, version), source=module, target=target_info(chip).name)
    except LayoutError:
        raise
    except MALFORMED:
        wrong = wrong_in(module, version)
        if not wrong:
            raise
        return Lowered(None, (), wrong, module, target_info(chip).name)


def _lowered_module(module: Module, target: str, version: int) -> Lowered:
    texts: list[str] = []
    exchanges: list[Exchanged] = []
    findings: list[Finding] = list(module.findings)
    for part in module.parts:
        findings += about_nothing(part.module)
        source, before = _prepared(part.module, target, version)
        findings += before
        if any(finding.level == "error" for finding in before):
            continue
        of_lanes = () if source is part.module else _at_lane_level(part.module)
        functions = [function for function in source.walk() if isinstance(function, FuncOp)]
        kernels = {
            function: kernel
            for number, function in enumerate(functions)
            if number not in of_lanes and (kernel := _lowered(function, target, version)) is not None
        }
        called = {
            operation.callee.root_reference.data
            for kernel in kernels
            for operation in kernel.walk()
            if isinstance(operation, func.CallOp)
        }
        findings += [
            Finding("lower.kernel", _NO_KERNEL, function.name, place_of(function), level=level)
            for function in source.walk()
            if isinstance(function, func.Function) and _is_distributed(flow_of(function))
            for level in _levels(function.sym_name.data in called)
        ]
        bodies: dict[FuncOp, Placed] = {}
        for function, kernel in kernels.items():
            exchanges += kernel.exchanges
            findings += kernel.findings
            try:
                bodies[function] = _body(kernel, function)
            except LayoutError as problem:
                where = place_of(function)
                findings.append(Finding("lower.shared_memory", str(problem), function.name, where))
        if not any(finding.level == "error" for finding in findings):
            texts.append(_text(source, kernels, bodies, version))
    whole = not any(finding.level == "error" for finding in findings)
    made = Module(SEPARATOR.join(texts), module.file) if whole else None
    return Lowered(made, tuple(exchanges), tuple(findings))


def _levels(is_called: bool) -> tuple[Literal["error", "warning"]]:
    """What a function that is not lowered is: an error where a kernel calls it, else a warning."""
    return ("error",) if is_called else ("warning",)


_NO_KERNEL = "works on distributed values and stays as it is: only a gpu.func is lowered, and what it passes them to"

_OLD = frozenset(("xegpu.update_nd_offset", "xegpu.create_tdesc", "xegpu.update_offset"))
"""Operations of LLVM 22 that move descriptors; migrated, the places stand at the loads and stores."""
_OLD_FORMS = frozenset(("xegpu.create_nd_tdesc.offsets", "xegpu.scatter.shapes"))
"""Rules of LLVM 24 against forms of LLVM 22 that `migrate` rewrites exactly: places and chunks on descriptors and loads."""


def _prepared(module: ModuleOp, target: str, llvm: int) -> tuple[ModuleOp, tuple[Finding, ...]]:
    """The module without operations that move descriptors, and without conversions of fragments; or why it does not verify."""
    names = {operation.name for operation in module.walk()}
    findings: tuple[Finding, ...] = ()
    wrong = () if names & _OLD else _wrong_in(module, llvm)
    if names & _OLD or not _OLD_FORMS.isdisjoint(finding.rule for finding in wrong):
        migrated = migrate_module(module, to=24)
        module, findings, wrong = migrated.module, migrated.findings, _wrong_in(migrated.module, llvm)
    if wrong:
        return module, (*findings, *wrong)
    calls = "func.call" in names and bool(spread_calls(module)) and _has_distributed(module)
    if not calls and not names.intersection(CONVERSIONS):
        return module, findings
    made = module.clone()
    for old, new in zip(module.walk(), made.walk(), strict=True):
        new.location = old.location
    if calls:
        findings = (*findings, *inline_calls(made))
    if names.intersection(CONVERSIONS):
        findings = (*findings, *lower_fragments(made, target))
    return made, findings


def _at_lane_level(module: ModuleOp) -> frozenset[int]:
    """The kernels, by number, that stay as they are: migrated, a lane's own vectors of offsets look like a subgroup's."""
    functions = (function for function in module.walk() if isinstance(function, FuncOp))
    return frozenset(
        number
        for number, function in enumerate(functions)
        if not _is_distributed(flow_of(function))
        and not any(operation.name == "func.call" for operation in function.walk())
    )


def _has_distributed(module: ModuleOp) -> bool:
    """Whether a function of a module works on more than what one lane holds: functions that kernels call count too."""
    return any(
        isinstance(function, FuncOp | func.FuncOp) and _is_distributed(flow_of(function)) for function in module.walk()
    )


def _wrong_in(module: ModuleOp, llvm: int) -> tuple[Finding, ...]:
    """The errors of a module that does not verify.

    Another version's spelling is read all the same, and written anew. Hints to a compiler are left out, and conversions become
    code whatever a version of LLVM says of their layouts: where the layouts do not fit, that is a finding of its own.
    """
    gone = {*HINTS, "xegpu.convert_layout"}
    return tuple(
        finding for finding in verify_module(module, llvm=llvm) if is_refusal(finding) and finding.operation not in gone
    )


def _lowered(function: FuncOp, target: str, llvm: int) -> Kernel | None:
    """A kernel at lane level; None for a function without spread values, which stays as it is."""
    flow = flow_of(function)
    if not _is_distributed(flow):
        return None
    statements = list(_statements(flow))
    stated = machine_of(function, target)
    lanes = stated.lanes or target_info(target).subgroup_size
    subgroups = stated.subgroups or max([1, *(_subgroups(one.attribute) for one in statements)])
    of_workgroup = any("sg" in levels_of(one.attribute) for one in statements)
    machine = Machine(lanes=lanes, subgroups=subgroups if of_workgroup else 1)
    kernel = Kernel(
        function.sym_name.data, machine, subgroups, value_layouts_of(flow, machine, target), target=target, llvm=llvm
    )
    kernel.is_counted = of_workgroup or stated.subgroups is not None or _is_one_subgroup(function, lanes)
    kernel.live = Live(function)
    kernel.findings.extend(repeated(function, kernel.held, lanes, machine.subgroups or 1, subgroups))
    for statement, problem in kernel.held.wrong:
        user = statement.user
        kernel.findings.append(Finding("lower.layout", f"{statement.name}: {problem}", user.name, place_of(user)))
    block = function.body.blocks[0]
    count = len(function.function_type.inputs)
    for argument in block.args[:count]:
        if argument in flow:
            message = f"has an argument of {argument.type}; kernels at lane level take pointers, buffers and numbers"
            kernel.findings.append(Finding("lower.argument", message, function.name, place_of(function)))
        kernel.scalars[argument] = Value(str(argument.type), name=argument.name_hint)
    arguments = [kernel.scalars[argument] for argument in block.args[:count]]
    kernel.writer.arguments = tuple(arguments)
    for argument in block.args[count:]:
        kernel.scalars[argument] = kernel.buffer(str(argument.type), argument.name_hint)
    try:
        write_blocks(block, kernel)
    except Refused as refused:
        if refused.finding is not None:
            kernel.findings.append(refused.finding)
    return kernel


def _is_one_subgroup(function: FuncOp, lanes: int) -> bool:
    """Whether a kernel says that a workgroup has no more work-items than a subgroup has lanes."""
    said = (getattr(function, "known_block_size", None), function.attributes.get("gpu.known_block_size"))
    return any(isinstance(size, DenseArrayBase) and 0 < prod(size.get_values()) <= lanes for size in said)


def _statements(flow: Flow) -> Iterator[WrittenLayout]:
    for value in flow.values:
        yield from value.stated
    yield from flow.wanted


def _subgroups(attribute: Distributed) -> int:
    parent = attribute.parent_layout() if isinstance(attribute, SliceAttr) else attribute
    return prod(parent.sg_layout) if isinstance(parent, LayoutAttr) and parent.sg_layout is not None else 1


def _is_distributed(flow: Flow) -> bool:
    """Whether values of a function are more than one lane holds: a layout says so, or a block operation."""
    from layoutalg.simulate.levels import level_of

    return bool(flow.values) and (any(_statements(flow)) or level_of(flow.function) != "lane")


def _body(kernel: Kernel, function: FuncOp) -> Placed:
    """The text of a kernel's body, with its shared memory."""
    kernel.writer.drop_unused(is_free)
    if not kernel.shares:
        return Placed(kernel.writer.text(_INDENT), 0, 0)
    shared = Value("memref", name="slm")
    arguments = len(function.function_type.inputs)
    kernel.writer.arguments = (*kernel.writer.arguments[:arguments], shared, *kernel.writer.arguments[arguments:])
    text = kernel.writer.text(_INDENT)
    free = max(0, target_info(kernel.target).slm_bytes - declared_bytes(function))
    orders_shared = rules(kernel.llvm).barriers_of_spaces and kernel.chip != "generic"
    barrier = {"barrier": SHARED_BARRIER} if orders_shared else {}
    return placed(text, kernel.writer.names()[shared], free, subgroups=kernel.subgroups, **barrier)


class _LoweredPrinter(ModulePrinter):
    """Writes a module with other text in place of some functions."""

    def __init__(
        self, stream: StringIO, llvm: int, kernels: dict[FuncOp, Kernel], bodies: dict[FuncOp, Placed]
    ) -> None:
        super().__init__(stream, llvm)
        self.kernels = kernels
        self.bodies = bodies
        self.declared: dict[Operation | None, set[str]] = {}
        """Of each module around kernels, the functions that it has."""

    def print_op(self, op: Operation) -> None:
        """Write an operation, or a kernel's own text."""
        kernel = self.kernels.get(op) if isinstance(op, FuncOp) else None
        if kernel is None or not isinstance(op, FuncOp):
            super().print_op(op)
            return
        body = self.bodies[op]
        around = op.parent_op()
        if around not in self.declared:
            self.declared[around] = set() if around is None else set(declared_functions(around))
        declared = [text for name, text in kernel.builtins.items() if name not in self.declared[around]]
        self.declared[around].update(kernel.builtins)
        lines = [*declared, *kernel.globals, f"{_header(op, kernel, body.bytes)}{{", body.body, "}"]
        self.print_string("\n".join(lines))


class _HeaderPrinter(ModulePrinter):
    """Writes the first line of a function, with the names that its arguments have in another text."""

    def __init__(self, stream: StringIO, llvm: int, names: dict[SSAValue, str]) -> None:
        super().__init__(stream, llvm)
        self.names = names

    def print_ssa_value(self, value: SSAValue) -> str:
        self.print_string(self.names[value])
        return self.names[value]

    def print_region(self, *_: Any, **__: Any) -> None:
        """Nothing: the body is written elsewhere."""


def _header(function: FuncOp, kernel: Kernel, shared: int) -> str:
    """The function's line, with so many bytes of shared memory, and with the sizes that it was lowered for."""
    buffers = [MemRefType(i8, [shared], NoneAttr(), IntegerAttr(SHARED, i64))] if shared else []
    block = Block(arg_types=[*function.function_type.inputs, *buffers])
    attributes = {**function.attributes, "workgroup_attributions": IntegerAttr(len(buffers), 64)}
    attributes.setdefault("intel_reqd_sub_group_size", IntegerAttr(kernel.lanes, i32))
    properties = {name: one for name, one in function.properties.items() if name != "workgroup_attrib_attrs"}
    if kernel.is_counted:
        size = [kernel.subgroups * kernel.lanes, 1, 1]
        properties.setdefault("known_block_size", DenseArrayBase.from_list(i32, size))
    made = FuncOp.create(properties=properties, attributes=attributes, regions=[Region(block)])
    names = kernel.writer.names()
    stream = StringIO()
    held: dict[SSAValue, str] = {
        argument: names[value] for argument, value in zip(block.args, kernel.writer.arguments, strict=False)
    }
    _HeaderPrinter(stream, kernel.llvm, held).print_op(made)
    return stream.getvalue()


def _text(module: Operation, kernels: dict[FuncOp, Kernel], bodies: dict[FuncOp, Placed], llvm: int) -> str:
    stream = StringIO()
    _LoweredPrinter(stream, llvm, kernels, bodies).print_op(module)
    return stream.getvalue() + "\n"
