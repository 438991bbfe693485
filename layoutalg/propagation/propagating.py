"""`la.propagate`: a module with the layouts completed and the cheapest conversions in it.

>>> from layoutalg.module import read
>>> module = read('''func.func @f(%p: memref<64x64xf32>, %q: memref<64x64xf32>) {
...   %t = xegpu.create_nd_tdesc %p : memref<64x64xf32> -> !xegpu.tensor_desc<16x16xf32>
...   %x = xegpu.load_nd %t[0, 0] <{layout = #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>}>
...     : !xegpu.tensor_desc<16x16xf32> -> vector<16x16xf32>
...   %e = math.exp %x : vector<16x16xf32>
...   %s = arith.addf %e, %e {layout_result_0 = #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>} : vector<16x16xf32>
...   func.return }''')
>>> done = propagate(module, level="lane", llvm=24)
>>> for decision in done.decisions:
...     print(decision)
text:3:8 %x 16x16xf32: #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, written there (24)
text:5:8 %e 16x16xf32: #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>, as math.exp makes it (64)
text:6:8 %s 16x16xf32: #xegpu.layout<lane_layout = [16, 1], lane_data = [1, 1]>, written there (16)
>>> print(done.conversions[0])
text:5:8 %e converted for arith.addf: 128
>>> done.cost, done.bound, done.is_optimal
(232, 232, True)

The anchors are what the user wrote, which stays, and what loads, stores and products take. Costs are issue slots of one
subgroup on the target, for one run of the function; `bound` says that no choice among the layouts that came into question
costs less. `str()` of the result is the module.

A level refines the one above it. Where a module states subgroups and lanes are asked for, the subgroups are completed first
(what was decided there is `coarser`), and every lane layout keeps them: 16 rows of a block of 64, then 16 lanes in a row.

>>> tile = "#xegpu.layout<sg_layout = [4, 1], sg_data = [16, 32]>"
>>> done = propagate(f'''gpu.module @m {{ gpu.func @k(%p: i64) kernel attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
...   %t = xegpu.create_nd_tdesc %p, shape : [64, 32], strides : [32, 1] : i64 -> !xegpu.tensor_desc<64x32xf32, {tile}>
...   %x = xegpu.load_nd %t[0, 0] : !xegpu.tensor_desc<64x32xf32, {tile}> -> vector<64x32xf32>
...   %y = math.exp %x : vector<64x32xf32>
...   gpu.return }} }}''')
>>> for one in (*done.coarser.decisions[1:], *done.decisions[1:]):
...     print(one.name, str(one.attribute).removeprefix("#xegpu.layout"), one.why)
%y <sg_layout = [4, 1], sg_data = [16, 32]> as math.exp makes it
%y <sg_layout = [4, 1], sg_data = [16, 32], lane_layout = [1, 16], lane_data = [1, 1]> as math.exp makes it
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from layoutalg.conversion.price import Price, price
from layoutalg.core.errors import LayoutError
from layoutalg.core.llvm_versions import DEFAULT_LLVM, rules
from layoutalg.core.messages import shown
from layoutalg.core.notation import Distributed
from layoutalg.core.notebook import NotebookAnswer
from layoutalg.core.plurals import counted
from layoutalg.core.whole_numbers import instance_of
from layoutalg.flow.graph import Flow, flows_of
from layoutalg.flow.levels import DEFAULT_TARGET, LEVELS, machine_of
from layoutalg.flow.malformed import refused_where_malformed
from layoutalg.flow.solver.solve import NoLabelsError, solve
from layoutalg.hardware import target_info
from layoutalg.ir import write_module
from layoutalg.ir.dialects.xegpu.operations import ConvertLayoutOp
from layoutalg.ir.findings import Finding
from layoutalg.ir.places import Place, place_of
from layoutalg.module.chip import meant_chip
from layoutalg.module.module import SEPARATOR, Module
from layoutalg.propagation.candidates import Candidates, candidates_of
from layoutalg.propagation.demand_options import DemandOptions, problem_of
from layoutalg.propagation.network import Network, network_of
from layoutalg.propagation.redundant import remove_redundant
from layoutalg.propagation.refinement import has_subgroups, states_subgroups, without_coarse_conversions
from layoutalg.propagation.unloadable_layouts import restate
from layoutalg.propagation.writing import Placed, Written, write
from layoutalg.simulate.levels import works_on_fragments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from layoutalg.flow.solver import Labelling
    from layoutalg.viz.graph import Graph

__all__ = ["Conversion", "Decision", "Propagated", "completed", "propagate", "written_module"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The layout of one value: where it is made, why it has this one, and what it costs there.

    >>> from layoutalg.xegpu import LayoutAttr
    >>> print(Decision("%x", None, "math.exp", (8, 16), "f32", LayoutAttr(lane_layout=(1, 16)), "written there", 8))
    %x 8x16xf32: #xegpu.layout<lane_layout = [1, 16]>, written there (8)
    """

    name: str
    place: Place | None
    operation: str
    shape: tuple[int, ...]
    element: str
    attribute: Distributed | None
    why: str
    cost: int

    def __str__(self) -> str:
        sizes = "x".join(map(str, self.shape))
        price = f" ({self.cost})" if self.cost else ""
        return (
            f"{_at(self.place)}{self.name} {sizes}x{self.element}: {self.attribute or 'no layout'}, {self.why}{price}"
        )


@dataclass(frozen=True, slots=True)
class Conversion:
    """A value that is converted (or made again) for some of its uses; `cost` counts each of the `times` it runs.

    >>> from layoutalg.xegpu import LayoutAttr
    >>> rows, columns = LayoutAttr(lane_layout=(1, 16)), LayoutAttr(lane_layout=(16, 1))
    >>> print(Conversion("%x", None, "convert", rows, columns, ("arith.addf",), 172, 1))
    %x converted for arith.addf: 172
    """

    name: str
    place: Place | None
    kind: str
    source: Distributed
    result: Distributed
    users: tuple[str, ...]
    cost: int
    times: int
    price: Price | None = None
    """What a conversion costs each time, with what was assumed (`layoutalg.price`); None for a value that is made again."""

    def __str__(self) -> str:
        done = "converted" if self.kind == "convert" else self.kind
        loop = f" ({self.times} times {self.cost // self.times})" if self.times > 1 else ""
        return f"{_at(self.place)}{self.name} {done} for {', '.join(self.users)}: {self.cost}{loop}"


@dataclass(frozen=True, slots=True, repr=False)
class Propagated(NotebookAnswer):
    """A module with its layouts completed, what was decided, what it costs, and a bound that no choice goes below.

    >>> propagate("gpu.barrier").cost
    0
    """

    module: Module
    decisions: tuple[Decision, ...]
    conversions: tuple[Conversion, ...]
    removed: tuple[Conversion, ...]
    """Conversions of the text that were redundant: work-items hold what they held, there or where the value came from."""
    cost: int
    bound: int
    findings: tuple[Finding, ...]
    methods: tuple[tuple[int, str], ...] = ()
    dropped: int = 0
    """Candidates that were left out, since a value had enough."""
    like: int | None = None
    """The version of LLVM whose own layouts these are."""
    coarser: Propagated | None = None
    """What was decided of subgroups before the lanes; None where one level was decided."""
    places: tuple[tuple[Place | None, ...], ...] = field(default=(), repr=False)
    """For each part of the file, where its operations stood in the text that was given, in the order of the module."""
    target: str = DEFAULT_TARGET

    @property
    def is_optimal(self) -> bool:
        """Whether no choice among the candidates costs less.

        >>> propagate("gpu.barrier").is_optimal
        True
        """
        return self.cost == self.bound

    def picture(self, function: str | None = None) -> Graph:
        """The operations and layouts of one function (the first, without a name), with what they and conversions cost.

        Raises `LayoutError` where there is no such function.

        >>> propagate("gpu.barrier").picture()
        Traceback (most recent call last):
        layoutalg.core.errors.LayoutError: no function with distributed values in text
        """
        from layoutalg.flow.picture import flow_graph

        paid: dict[Place, int] = {}
        for decision in self.decisions:
            if decision.place is not None:
                paid[decision.place] = paid.get(decision.place, 0) + decision.cost
        costs: dict[Place, int] = {}
        for part, origins in zip(self.module.parts, self.places, strict=False):
            for operation, origin in zip(part.module.walk(), origins, strict=False):
                if origin in paid and (place := place_of(operation)) is not None:
                    costs[place] = paid.pop(origin)
        return flow_graph(self.module, self.target, function, costs=costs)

    def _summary(self) -> str:
        told = counted(len(self.decisions), "layout"), counted(len(self.conversions), "conversion")
        return f"{', '.join(told)}, {counted(self.cost, 'issue slot')}"

    def _text(self) -> str:
        return "\n".join([self._summary(), *map(str, self.conversions), *map(str, self.findings), "", str(self)])

    def __str__(self) -> str:
        return self.module.source


def propagate(
    module: Module | str, *, level: str = "lane", target: str | None = None, llvm: int = DEFAULT_LLVM
) -> Propagated:
    """Complete the layouts of a module at a level (`lane`, `inst` or `workgroup`) and place the cheapest conversions.

    `module` is what `la.read` gives, or text that it reads. The result is written for that version of LLVM.
    `target` is the chip whose messages and prices count (what the module says, as Triton's do, or pvc).

    Raises `LayoutError` for another level, for a chip or a version that is not known, and for a module that LLVM refuses.

    >>> propagate("gpu.barrier", level="register")
    Traceback (most recent call last):
    layoutalg.core.errors.LayoutError: level 'register': expected one of lane, inst, workgroup
    """
    module = as_module(module)
    chip = meant_chip(module, target)
    check_asked(level, chip, llvm)
    return completed([part.module for part in module.parts], module, level, chip, llvm)


def completed(
    sources: Sequence[ModuleOp], file: Module, level: str, target: str, llvm: int, *, spread: bool = False
) -> Propagated:
    """The modules of a file (or what a compiler has made of them) with their layouts completed.

    With `spread`, kernels that state no layouts are dealt out to the subgroups of their workgroup before the lanes.
    """
    with refused_where_malformed(file, llvm):
        started = [_Start.of(source, file, target, llvm) for source in sources]
        # A level refines the one above it: what is stated of subgroups is completed before the lanes are dealt out.
        above = [one for one in started if level == "lane" and (spread or states_subgroups(one.module))]
        coarser = [_Run(one, "workgroup", lambda flow: has_subgroups(flow, target, spread=spread)) for one in above]
        before = _propagated(coarser, written_module([one.module for one in started], file, llvm)) if coarser else None
        runs = [_Run(one, level) for one in started]
        written = written_module([one.module for one in started], file, llvm)
    done = _propagated(runs, written)
    findings = () if before is None else before.findings
    places = tuple(tuple(_place(one, operation) for operation in one.module.walk()) for one in started)
    return replace(
        done, findings=(*file.findings, *findings, *done.findings), coarser=before, places=places, target=target
    )


def _place(start: _Start, operation: Operation) -> Place | None:
    original = start.origins.get(operation)
    return None if original is None else place_of(original)


def _propagated(runs: Sequence[_Run], written: Module) -> Propagated:
    return Propagated(
        written,
        tuple(decision for run in runs for decision in run.decisions),
        tuple(conversion for run in runs for conversion in run.conversions),
        tuple(conversion for run in runs for conversion in run.removed),
        sum(run.cost for run in runs),
        sum(run.bound for run in runs),
        tuple(finding for run in runs for finding in run.findings),
        tuple(method for run in runs for method in run.methods),
        sum(run.dropped for run in runs),
    )


def written_module(modules: Sequence[ModuleOp], file: Module, llvm: int) -> Module:
    """The modules of a file as text for a version of LLVM."""
    return Module(SEPARATOR.join(write_module(one, llvm=llvm) for one in modules), file.file)


def as_module(module: object) -> Module:
    """A module that a caller gave, or its text."""
    from layoutalg.module import read

    instance_of(module, (Module, str), "module")
    found = read(module) if isinstance(module, str) else module
    assert isinstance(found, Module)
    return found


def check_asked(level: object, target: object, llvm: object) -> None:
    """Refuse a level, a chip or a version of LLVM that is not known."""
    instance_of(level, str, "level")
    if level not in LEVELS:
        raise LayoutError(f"level {shown(level)}: expected one of {', '.join(LEVELS)}")
    instance_of(target, str, "target")
    target_info(target)  # pyright: ignore[reportArgumentType]
    rules(llvm)  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True, slots=True)
class _Start:
    """One module of a text, as it is changed level by level, and where its operations stand in the text."""

    module: ModuleOp
    origins: dict[Operation, Operation]
    file: Module
    target: str
    llvm: int

    @classmethod
    def of(cls, source: ModuleOp, file: Module, target: str, llvm: int) -> _Start:
        module = source.clone()
        return cls(module, dict(zip(module.walk(), source.walk(), strict=True)), file, target, llvm)


class _Run:
    """One module of a text, propagated at one level; `flows` says of which functions (None: of all)."""

    def __init__(self, start: _Start, level: str, flows: Callable[[Flow], bool] | None = None) -> None:
        module, target, llvm = start.module, start.target, start.llvm
        self.file, self.origins = start.file, start.origins
        self.level, self.target, self.llvm = level, target, llvm
        self.decisions: list[Decision] = []
        self.conversions: list[Conversion] = []
        self.removed: list[Conversion] = []
        self.findings: list[Finding] = []
        self.methods: list[tuple[int, str]] = []
        self.cost = self.bound = self.dropped = 0
        self.counted: dict[Operation, int] = {}
        for one in restate(module, target, llvm) if level == "lane" else ():
            message = f"{one.problem}; it is moved in {one.moved} and converted: {one.cost} issue slots on {target}"
            self._finding("propagate.message", message, one.operation, "warning")
        for gone in remove_redundant(module, tiles=level != "lane"):
            self._remove(*gone)
        if level == "lane":
            for conversion in without_coarse_conversions(module):
                layouts = {**conversion.attributes, **conversion.properties}
                self._remove(conversion, layouts["input_layout"].value, layouts["target_layout"].value)  # pyright: ignore
        for flow in flows_of(module):
            if flow.is_stated or not any(works_on_fragments(function) for function in flow.functions):
                if flows is None or flows(flow):
                    self._propagate(flow)
            elif flows is None:  # otherwise the run for lanes says it
                message = "works on what one lane holds: it has no layouts to complete, and stays as it is"
                self._finding("propagate.fragments", message, flow.function, "warning")

    def _remove(self, conversion: ConvertLayoutOp, source: Distributed, result: Distributed) -> None:
        if conversion in self.origins:  # not one that the level above placed
            name, place = self.name(conversion.results[0]), self.place(conversion)
            self.removed.append(Conversion(name, place, "convert", source, result, (), 0, 1))
        conversion.detach()
        conversion.erase()

    def _propagate(self, flow: Flow) -> None:
        asked = DemandOptions(self.level, self.target, self.llvm, machine_of(flow.function, self.target))
        names = {value.number: self.name(value.members[0]) for value in flow.values}
        candidates = candidates_of(flow, asked)
        network = network_of(flow, candidates, asked)
        self._complain(flow, candidates, network)
        try:
            found = solve(network.problem)
        except NoLabelsError as error:
            self._impossible(flow, network, names, error.node)
            return
        demands = [(demand, demand.user, demand.value) for demand in flow.demands if demand.value in flow]
        written = write(flow, network, found, asked)
        for demand, user, value in demands:
            held = written.values[flow.value_of(value).number]
            if demand.number is not None:
                held = written.operands.get((user, demand.number), held)
            problem = None if held is None else problem_of(demand, held, asked)
            if problem is not None:
                which = "cannot make its result" if demand.number is None else f"cannot take operand {demand.number}"
                self._finding("propagate.demand", f"{which} in any layout: {problem}", user, "error")
        self._explain(flow, network, found, written, names)
        self.cost += found.cost
        self.bound += found.bound
        self.methods.extend(found.methods)
        self.dropped += candidates.dropped

    def _impossible(self, flow: Flow, network: Network, names: dict[int, str], node: int) -> None:
        """Say at which value no layouts are possible together; a node that is no value stands for an operand."""
        user, number = next((at for at, uses in network.uses.items() if any(one == node for _, one in uses)), (None, 0))
        value = flow.values[node] if user is None or node < len(flow.values) else flow.value_of(user.operands[number])
        name = names[value.number]
        owner = _maker(value.members[0]) if node < len(flow.values) else user
        message = f"no layout of {name} goes with those of the values around it; a conversion between them has no plan"
        self._finding("propagate.impossible", message, owner or flow.function, "error")

    def _explain(self, flow: Flow, network: Network, found: Labelling, written: Written, names: dict[int, str]) -> None:
        for value in flow.values:
            label = network.labels[value.number][found.labels[value.number]]
            final = written.values[value.number]
            owner = _maker(value.members[0])
            option = label.option
            self.decisions.append(
                Decision(
                    names[value.number],
                    self.place(owner),
                    "" if owner is None else owner.name,
                    value.shape,
                    value.element,
                    None if final is None else final.attribute,
                    "no layout comes into question" if option is None else option.why,
                    label.cost,
                )
            )
        for one in written.placed:
            self.conversions.append(self._conversion(one, flow, names))

    def _conversion(self, one: Placed, flow: Flow, names: dict[int, str]) -> Conversion:
        users = tuple(dict.fromkeys(user.name for user in one.users))
        value, place = flow.value_of(one.member), self.place(_maker(one.member))
        source, result, name = one.source.attribute, one.result.attribute, names[value.number]
        paid: Price | None = None
        if one.kind == "convert":
            machine = machine_of(flow.function, self.target)
            paid = price(source, result, value.shape, value.element, machine, self.target)
        return Conversion(name, place, one.kind, source, result, users, one.cost, one.times, paid)

    def _complain(self, flow: Flow, candidates: Candidates, network: Network) -> None:
        for operation in flow.unknown:
            message = "has a relation of layouts that is not known; its operands and results are left alone"
            self._finding("propagate.unknown", message, operation, "warning")
        for statement, problem in candidates.refused:
            self._finding("propagate.statement", f"{statement.name}: {problem}", statement.user, "error")
        for operation, number, problem in network.impossible:
            self._finding("propagate.operand", f"operand {number}: {problem}", operation, "error")

    def _finding(self, rule: str, message: str, operation: Operation, level: str) -> None:
        place = self.place(operation)
        self.findings.append(Finding(rule, message, operation.name, place, level=level))  # pyright: ignore[reportArgumentType]

    def place(self, operation: Operation | None) -> Place | None:
        """Where an operation stands in the text."""
        original = None if operation is None else self.origins.get(operation)
        return None if original is None else place_of(original)

    def name(self, member: SSAValue) -> str:
        """What the text calls a value, as far as it has a name."""
        owner = member.owner
        if isinstance(owner, Block):
            return f"%{member.name_hint}" if member.name_hint else "an argument"
        original = self.origins.get(owner)
        names = () if original is None else self.file.lines.result_names(original)
        number = list(owner.results).index(member)  # pyright: ignore[reportArgumentType]
        return names[number] if number < len(names) and names[number] else f"%{member.name_hint or owner.name}"


def _maker(member: SSAValue) -> Operation | None:
    owner = member.owner
    return owner.parent_op() if isinstance(owner, Block) else owner


def _at(place: Place | None) -> str:
    return "" if place is None else f"{place} "
