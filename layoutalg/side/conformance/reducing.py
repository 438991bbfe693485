"""A failing module cut down while it fails in the same way: operations, loops, layouts, shapes, element types.

>>> text = '''gpu.func @f() kernel {
...   %a = "test.op"() : () -> vector<8x16xf32>
...   %b = arith.negf %a : vector<8x16xf32>
...   "test.use"(%b) : (vector<8x16xf32>) -> ()
...   gpu.return }'''
>>> print(without_operation(f"gpu.module @m {{ {text} }}", 1))
gpu.module @m {
  gpu.func @f() kernel {
    %a = "test.op"() : () -> vector<8x16xf32>
    "test.use"(%a) : (vector<8x16xf32>) -> ()
    gpu.return
  }
}
<BLANKLINE>

Every candidate is checked before a compiler sees it: it is read, LLVM's rules accept it, and it runs on whole tensors. An
operation is replaced by a value of the same type and the same stated layout, so that layouts do not become wrong on the way.
The order of the candidates is fixed, the first that still fails is kept, and their number is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import LayoutError
from layoutalg.side.conformance.compilers import Compiler
from layoutalg.side.conformance.kernel import GeneratedKernel, arguments_of, arrays_for, meaning
from layoutalg.side.conformance.verdicts import Verdict, judge

if TYPE_CHECKING:
    from xdsl.ir import Operation, SSAValue

__all__ = ["reduced", "smaller_layouts", "smaller_shapes", "without_operation"]

_MOST = 400
"""Candidates that a reduction tries."""
_TOGETHER = 12
"""Candidates that go to the compiler in one call."""
_KEPT = ("gpu.barrier", "gpu.return", "gpu.module", "gpu.func", "builtin.module", "scf.yield", "scf.condition")
_LAYOUT = re.compile(r"#xegpu\.layout<([^<>]*)>")
_FIELD = re.compile(r"(\w+) = \[([^\]]*)\]")
_SHAPED = re.compile(r"\b(vector|tensor_desc|mem_desc)<((?:\d+x)+)")
_LISTED = re.compile(r"\b(shape ?: |sizes = |offsets = )\[([\d, ]+)\]")
_STRIDED = re.compile(r"\bshape ?: \[([\d, ]+)\], strides ?: \[[\d, ]+\]")
_BLOCK = re.compile(r"known_block_size = array<i32: (\d+), 1, 1>")


def reduced(
    compiler: Compiler, kernel: GeneratedKernel, verdict: Verdict, *, most: int = _MOST
) -> tuple[GeneratedKernel, Verdict]:
    """The smallest kernel found that fails as this one does, and its verdict.

    >>> kernel = GeneratedKernel("k", "gpu.module @k {}", ())
    >>> reduced(Compiler("none", "none", "llvm", "24"), kernel, Verdict("crash", "lane", "SIGSEGV"), most=0)[0] is kernel
    True
    """
    return _Reduction(compiler, kernel, verdict, most).run()


class _Reduction:
    def __init__(self, compiler: Compiler, kernel: GeneratedKernel, verdict: Verdict, most: int) -> None:
        self.compiler, self.kernel, self.verdict, self.left = compiler, kernel, verdict, most
        self.wanted = verdict.skeleton
        self.tried: set[str] = set()

    def run(self) -> tuple[GeneratedKernel, Verdict]:
        changed = True
        while changed and self.left > 0:
            changed = False
            for candidates in (_without_loops, smaller_shapes, _without_operations, smaller_layouts, _plainer_elements):
                while self.left > 0 and self._step(candidates):
                    changed = True
        return self.kernel, self.verdict

    def _step(self, candidates: Callable[[str], Iterator[str]]) -> bool:
        """Try one kind of candidates; whether one of them still fails."""
        batch: list[GeneratedKernel] = []
        for text in candidates(self.kernel.text):
            if text in self.tried:
                continue
            self.tried.add(text)
            made = self._valid(text)
            if made is not None:
                batch.append(made)
            if len(batch) == _TOGETHER:
                if self._fails(batch):
                    return True
                batch = []
            if self.left <= 0:
                break
        return bool(batch) and self._fails(batch)

    def _valid(self, text: str) -> GeneratedKernel | None:
        from layoutalg.module import read

        if "." in self.kernel.operation and not re.search(rf"\b{re.escape(self.kernel.operation)}\b(?!_)", text):
            return None
        arguments = arguments_of(text, self.kernel.arguments)
        made = replace(self.kernel, text=text, arguments=arguments)
        try:
            findings = read(text).verify(llvm=22)
            if any(finding.level == "error" and "LLVM" in finding.source for finding in findings):
                return None
            result = meaning(made, arrays_for(made))
        except LayoutError:
            return None
        return made if result.size and not (result == arrays_for(made)[-1]).all() else None

    def _fails(self, batch: list[GeneratedKernel]) -> bool:
        self.left -= len(batch)
        name = self.kernel.name
        named = [
            replace(one, name=f"{name}_{number}", text=one.text.replace(f"@{name}", f"@{name}_{number}"))
            for number, one in enumerate(batch)
        ]
        try:
            verdicts = judge(self.compiler, named, until=self.wanted[1])
        except LayoutError:
            return False
        for one, verdict in zip(batch, verdicts, strict=True):
            if verdict.skeleton == self.wanted:
                self.kernel, self.verdict = one, verdict
                return True
        return False


# Operations


def _module(text: str) -> tuple[Any, list[Operation]]:
    from layoutalg.ir import read_module

    module = read_module(text)
    return module, [op for op in module.walk() if op.name not in _KEPT]


def _written(module: Any) -> str:
    from layoutalg.ir import write_module

    inside = list(module.body.block.ops)
    return write_module(inside[0] if len(inside) == 1 else module, llvm=22)


def _without_operations(text: str) -> Iterator[str]:
    try:
        count = len(_module(text)[1])
    except LayoutError:
        return
    for number in reversed(range(count)):
        made = without_operation(text, number)
        if made is not None:
            yield made


def without_operation(text: str, number: int) -> str | None:
    """The module without its operation of this number, whose results become values of the same type and layout.

    None where there is no such value.
    """
    module, operations = _module(text)
    operation = operations[number]
    for result in operation.results:
        if not result.uses:
            continue
        other = _like(result, operations[:number])
        if other is None:
            return None
        result.replace_all_uses_with(other)
    operation.detach()
    operation.erase()
    _sweep(module)
    return _written(module)


def _like(value: SSAValue, before: list[Operation]) -> SSAValue | None:
    """A value of the same type with the same layout stated, that is there where this one is made: an operand first."""
    owner: Any = value.owner
    wanted = _stated(value)
    given = [operand for operand in owner.operands if operand.type == value.type and _stated(operand) in (wanted, None)]
    if given:
        return given[0]
    for operation in reversed(before):
        if operation.parent is owner.parent:
            for result in operation.results:
                if result.type == value.type and _stated(result) == wanted:
                    return result
    return None


def _stated(value: SSAValue) -> str | None:
    from xdsl.ir import Block

    from layoutalg.flow.written_layouts import statements_of

    if isinstance(value.owner, Block):
        return None
    for statement in statements_of(value.owner):
        if statement.value is value and statement.number is None:
            return str(statement.attribute)
    return None


def _sweep(module: Any) -> None:
    """Take out what nothing uses."""
    changed = True
    while changed:
        changed = False
        for operation in reversed([op for op in module.walk() if op.name not in _KEPT]):
            unused = operation.results and not any(result.uses for result in operation.results)
            if unused and not operation.regions and operation.parent is not None:
                operation.detach()
                operation.erase()
                changed = True


def _without_loops(text: str) -> Iterator[str]:
    """Each loop replaced by one trip of its body."""
    try:
        count = sum(op.name == "scf.for" for op in _module(text)[1])
    except LayoutError:
        return
    for number in range(count):
        module, operations = _module(text)
        loop: Any = [op for op in operations if op.name == "scf.for"][number]
        body = loop.body.block
        ends = body.last_op
        for argument, given in zip(body.args, (loop.lb, *loop.iter_args), strict=True):
            argument.replace_all_uses_with(given)
        for result, given in zip(loop.results, ends.operands, strict=True):
            result.replace_all_uses_with(given)
        ends.detach()
        ends.erase()
        for operation in list(body.ops):
            operation.detach()
            loop.parent.insert_op_before(operation, loop)
        loop.detach()
        loop.erase()
        _sweep(module)
        yield _written(module)


# Layouts


def smaller_layouts(text: str) -> Iterator[str]:
    """The module with a field of all its layouts left out.

    >>> list(smaller_layouts("#xegpu.layout<inst_data = [8, 16], order = [0, 1]>"))
    ['#xegpu.layout<inst_data = [8, 16]>', '#xegpu.layout<order = [0, 1]>']
    """
    for names in (("order",), ("inst_data",), ("lane_layout", "lane_data")):

        def kept(found: re.Match[str], names: tuple[str, ...] = names) -> str:
            fields = [field[0] for field in _FIELD.finditer(found[1]) if field[1] not in names]
            return f"#xegpu.layout<{', '.join(fields)}>" if fields else found[0]

        made = _LAYOUT.sub(kept, text)
        if made != text:
            yield made


# Shapes


def smaller_shapes(text: str) -> Iterator[str]:
    """The module with half as many subgroups, or with a dimension of half the size.

    >>> next(smaller_shapes("shape : [16, 32], strides : [32, 1] : i64 -> !xegpu.tensor_desc<16x32xf32>"))
    'shape : [8, 32], strides : [32, 1] : i64 -> !xegpu.tensor_desc<8x32xf32>'
    """
    for groups in (0, 1, None):
        for dim in (0, 1) if groups is None else (groups,):
            yield from _changed(
                text, lambda at, size, dim=dim: size // 2 if at == dim and size % 2 == 0 else size, groups
            )
    sizes = {int(size) for found in _SHAPED.finditer(text) for size in found[2].split("x") if size}
    even = sorted((size for size in sizes if size % 2 == 0), reverse=True)
    for groups in (0, 1, None):
        for wanted in even:
            yield from _changed(text, lambda at, size, wanted=wanted: size // 2 if size == wanted else size, groups)
    for first, second in combinations(even, 2):
        both = (first, second)
        yield from _changed(text, lambda at, size, both=both: size // 2 if size in both else size, None)


def _changed(text: str, size_of: Callable[[int, int], int], groups: int | None) -> Iterator[str]:
    """Every size replaced; with `groups`, the subgroups of that dimension halved too, otherwise the blocks of each."""
    before = text

    def shaped(found: re.Match[str]) -> str:
        sizes = [int(size) for size in found[2].split("x") if size]
        return f"{found[1]}<" + "".join(f"{size_of(at, size)}x" for at, size in enumerate(sizes))

    def listed(found: re.Match[str]) -> str:
        sizes = [int(size) for size in found[2].split(",")]
        return f"{found[1]}[{', '.join(str(size_of(at, size)) for at, size in enumerate(sizes))}]"

    def strided(found: re.Match[str]) -> str:
        sizes = [int(size) for size in found[1].split(",")]
        strides = [1] * len(sizes)
        for at in reversed(range(len(sizes) - 1)):
            strides[at] = strides[at + 1] * sizes[at + 1]
        return f"shape : {sizes}, strides : {strides}"

    def laid(found: re.Match[str]) -> str:
        def field(one: re.Match[str]) -> str:
            values = [int(value) for value in one[2].split(",")]
            if groups is not None and one[1] == "sg_layout" and len(values) > groups and values[groups] % 2 == 0:
                values[groups] //= 2
            elif groups is None and one[1] == "sg_data":
                values = [size_of(at, value) for at, value in enumerate(values)]
            return f"{one[1]} = {values}"

        return f"#xegpu.layout<{_FIELD.sub(field, found[1])}>"

    made = _STRIDED.sub(strided, _LISTED.sub(listed, _SHAPED.sub(shaped, _LAYOUT.sub(laid, text))))
    if groups is not None and made != before:
        block = _BLOCK.search(text)
        if block is not None and int(block[1]) % 32 == 0:
            made = made.replace(block[0], f"known_block_size = array<i32: {int(block[1]) // 2}, 1, 1>")
    if made != before:
        yield made


# Element types


def _plainer_elements(text: str) -> Iterator[str]:
    for old, new in (("bf16", "f16"), ("f16", "f32"), ("i8", "i32"), ("i16", "i32")):
        made = re.sub(rf"(?<=x){old}\b", new, text)
        if made != text:
            yield made
