"""A kernel that was generated: its text, what it takes, and what it computes before anything is distributed.

>>> from layoutalg.side.conformance.generating import kernels
>>> kernel = next(iter(kernels(0, 1, level="workgroup", only="math.exp")))
>>> result = meaning(kernel, arrays_for(kernel))
>>> result.shape == kernel.arguments[-1][1]
True
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import instance_of, listed

__all__ = [
    "GeneratedKernel",
    "Level",
    "arguments_of",
    "arrays_for",
    "first_difference",
    "kernel_of",
    "meaning",
    "runnable",
    "spelled",
]

Array = NDArray[Any]
Level = Literal["workgroup", "anchors", "plain", "threads"]
"""`workgroup`: tensors of a workgroup with full layouts. `anchors`: the same, with layouts at loads and stores alone. `plain`:
tensors of one subgroup, with at most anchors. `threads`: tensors of a workgroup for IREE, whose layouts are nested ones."""
_PARAMETERS = re.compile(r"\b(?:gpu|func)\.func @[\w.$-]+\(([^)]*)\)")
_MEMREF = re.compile(r"%p(\d+): memref<((?:\d+x)+)(\w+)>")
_DESCRIBED = re.compile(r"create_nd_tdesc %p(\d+), shape ?: \[([\d, ]+)\].*?tensor_desc<(?:\d+x)+(\w+)")
_SCATTERED = re.compile(r"xegpu\.(?:load|store)\b[^\n]*%p(\d+)\[[^\n]*?vector<(\d+)x((?!i1\b|index)\w+)>")
_IREE = re.compile(
    r"func\.func @([\w.$-]+)\(([^{]*?)\) attributes \{translation_info = #iree_codegen\.translation_info<.*?"
    r"workgroup_size = \[(\d+), (\d+), (\d+)\] subgroup_size = (\d+)[^}]*\} \{"
)


@dataclass(frozen=True)
class GeneratedKernel:
    """A module with one kernel, in the syntax of LLVM 22.

    `arguments` are the element type and the shape of each; the kernel writes the last one. `tolerance` is relative: 0 where
    every order of computing gives the same bits. `subgroups` of 16 lanes are one workgroup.

    >>> GeneratedKernel("empty", "", (), operation="gpu.return", layout_kind="none").level
    'workgroup'
    """

    name: str
    text: str
    arguments: tuple[tuple[str, tuple[int, ...]], ...]
    grid: tuple[int, int, int] = (1, 1, 1)
    tolerance: float = 0.0
    operation: str = ""
    layout_kind: str = ""
    level: Level = "workgroup"
    seed: int = 0
    subgroups: int = 1

    def spelled_for(self, llvm: int) -> str:
        """The text in the syntax of a version of LLVM.

        >>> GeneratedKernel("b", "gpu.barrier", ()).spelled_for(24)
        'builtin.module {\\n  gpu.barrier\\n}\\n'
        """
        instance_of(llvm, int, "llvm")
        return spelled(self.text, llvm)


@lru_cache(maxsize=4096)
def spelled(text: str, llvm: int) -> str:
    """A text in the syntax of a version of LLVM."""
    if llvm <= 22:
        return text
    from layoutalg.ir import read_module, write_module

    return write_module(read_module(text), llvm=llvm)


def arguments_of(
    text: str, otherwise: Sequence[tuple[str, tuple[int, ...]]] = ()
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Element types and shapes of a kernel's arguments `%p0`, `%p1`, ... as the text uses them.

    One that the text does not use is as it is in `otherwise`.

    Raises `LayoutError` for an argument of which nothing says what it is.

    >>> text = "gpu.func @f(%p0: i64) { xegpu.create_nd_tdesc %p0, shape : [8, 16] : i64 -> !xegpu.tensor_desc<8x16xf32> }"
    >>> arguments_of(text)
    (('f32', (8, 16)),)
    """
    header = _PARAMETERS.search(text)
    count = max((int(number) for number in re.findall(r"%p(\d+)", header[1] if header else "")), default=-1) + 1
    found = dict(enumerate(otherwise))
    for use in _MEMREF.finditer(text):
        found[int(use[1])] = (use[3], tuple(int(size) for size in use[2].split("x") if size))
    for use in _SCATTERED.finditer(text):
        found[int(use[1])] = (use[3], (int(use[2]),))
    for use in _DESCRIBED.finditer(text):
        found[int(use[1])] = (use[3], tuple(int(size) for size in use[2].split(",")))
    for number in range(count):
        if len(re.findall(rf"%p{number}\b", text)) == 1:  # it is declared, and nothing uses it
            found.setdefault(number, ("f32", (1,)))
    missing = next((number for number in range(max(count, len(otherwise))) if number not in found), None)
    if missing is not None:
        raise LayoutError(f"argument %p{missing}: nothing says which array it is; a descriptor with a shape would")
    return tuple(found[number] for number in range(max(count, len(otherwise))))


def kernel_of(text: str, *, tolerance: float = 1e-5) -> GeneratedKernel:
    """A kernel from the text of a module as this package writes them: arguments `%p0`, `%p1`, ..., the last one is written.

    Raises `LayoutError` where the text has no function, or does not say what an argument is.

    >>> from layoutalg.side.conformance.generating import made
    >>> kernel = made("math.exp", "rows", "plain", 0)
    >>> again = kernel_of(kernel.text)
    >>> (again.name, again.arguments, again.level) == (kernel.name, kernel.arguments, kernel.level)
    True
    """
    name = re.search(r"\b(gpu|func)\.func @([\w.$-]+)", text)
    if name is None:
        raise LayoutError("no gpu.func and no func.func in the text: expected a kernel")
    level: Level = "threads" if name[1] == "func" else "workgroup" if "sg_layout" in text else "plain"
    return GeneratedKernel(name[2], text, arguments_of(text), tolerance=tolerance, level=level)


def runnable(text: str) -> str:
    """A text with a kernel that can be launched: IREE's functions say their workgroup in another way."""
    if _IREE.search(text) is None:
        return text
    head = (
        r"gpu.func @\1(\2) kernel attributes {known_block_size = array<i32: \3, \4, \5>, "
        r"intel_reqd_sub_group_size = \6 : i32} {"
    )
    made = re.sub(r"(?m)^(\s*)return$", r"\1gpu.return", _IREE.sub(head, text))
    before, opened, inside = made.partition("module {")
    if opened:
        return f"{before}gpu.module @threads {{{inside}"
    return made.replace("gpu.func", "gpu.module @threads {\ngpu.func", 1) + "}\n"


def arrays_for(kernel: GeneratedKernel, number: int = 0) -> list[Array]:
    """Arrays for the arguments: small integers that differ from kernel to kernel, and 77 where the kernel writes."""
    from layoutalg.simulate import numpy_type

    random = np.random.default_rng((zlib.crc32(kernel.name.encode()), number))
    arrays: list[Array] = []
    for at, (element, shape) in enumerate(kernel.arguments):
        dtype = numpy_type(element)
        if at == len(kernel.arguments) - 1:
            arrays.append(np.full(shape, 77).astype(dtype))
        else:
            arrays.append(random.integers(-4, 5, shape).astype(dtype))
    return arrays


def meaning(kernel: GeneratedKernel, arrays: Sequence[Array]) -> Array:
    """What the kernel writes when it runs on whole tensors: a new array; `arrays` stay as they are.

    Raises `LayoutError` where the kernel does something wrong.

    >>> text = '''gpu.module @k { gpu.func @k(%p0: i64) kernel attributes {intel_reqd_sub_group_size = 16 : i32,
    ...   known_block_size = array<i32: 16, 1, 1>} {
    ...   %t = xegpu.create_nd_tdesc %p0, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
    ...   %x = arith.constant dense<3.0> : vector<8x16xf32>
    ...   xegpu.store_nd %x, %t[0, 0] : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32>
    ...   gpu.return } }'''
    >>> kernel = GeneratedKernel("k", text, (("f32", (8, 16)),), level="plain")
    >>> float(meaning(kernel, arrays_for(kernel)).mean())
    3.0
    """
    from layoutalg.simulate import launch

    instance_of(kernel, GeneratedKernel, "kernel")
    given = listed(arrays, "arrays")
    for number, array in enumerate(given):
        instance_of(array, np.ndarray, f"array {number}")
    shapes = [array.shape for array in given]
    if shapes != [shape for _, shape in kernel.arguments]:
        wanted = ", ".join(f"{element} {list(shape)}" for element, shape in kernel.arguments)
        raise LayoutError(f"arrays of shapes {shown(shapes)}: {kernel.name} takes {wanted or 'none'}")
    copies = [array.copy() for array in given]
    level = "subgroup" if kernel.level == "plain" else "workgroup"
    found = launch(runnable(kernel.text), copies, kernel.grid, level=level).findings
    if found:
        raise LayoutError(f"{kernel.name}: {found[0]}")
    return copies[-1]


def first_difference(found: Array, expected: Array, tolerance: float) -> tuple[tuple[int, ...], int] | None:
    """The first element that differs, and how many do; None where none does."""
    wrong = _differs(found, expected, tolerance)
    if not wrong.any():
        return None
    first = np.unravel_index(int(wrong.reshape(-1).argmax()), wrong.shape)
    return tuple(int(at) for at in first), int(wrong.sum())


def _differs(found: Array, expected: Array, tolerance: float) -> Array:
    wide, exact = found.astype(np.float64), expected.astype(np.float64)
    same = (wide == exact) | (np.isnan(wide) & np.isnan(exact))
    if tolerance:
        finite = np.abs(exact[np.isfinite(exact)])
        scale = float(finite.max()) if finite.size else 0.0
        with np.errstate(invalid="ignore"):
            same |= np.abs(wide - exact) <= tolerance * np.maximum(np.abs(exact), scale / 64)
    return ~same
