"""What the loads and stores of a Triton module are on its chip: widths, conflicts of banks, lines of global memory.

>>> module = la.read('''
... #b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
... #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
... %p = "test.op"() : () -> tensor<32x32x!tt.ptr<f32>, #b>
... %x = tt.load %p : tensor<32x32x!tt.ptr<f32>, #b>
... %m = ttg.local_alloc %x : (tensor<32x32xf32, #b>) -> !ttg.memdesc<32x32xf32, #s, #ttg.shared_memory>''')
>>> for row in accesses_of(module, "sm_80"):
...     print(row.operation, "-", row.words)
tt.load - 8 loads of 128 bits per lane; each touches 4 lines of 128 bytes (least 4), 16 sectors of 32 bytes (least 16)
ttg.local_alloc - 8 stores of 128 bits per lane: conflict-free

In global memory a tensor counts as row-major (one in `#ttg.blocked` as contiguous in its order), and its rows as aligned: what
pointers say is not followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import LayoutError
from layoutalg.core.whole_numbers import instance_of
from layoutalg.hardware import target_info
from layoutalg.memory.triton_access import global_access, global_memory, shared_access
from layoutalg.triton.encodings import Encoding
from layoutalg.triton.encodings.types import MemDescType

if TYPE_CHECKING:
    from layoutalg.module import LayoutUse, Module

__all__ = ["AccessRow", "accesses_of"]

_SHARED = ("ttg.local_load", "ttg.local_store", "ttg.local_alloc")
"""Between registers and shared memory."""
_GLOBAL = {"tt.load": "result", "tt.store": "value", "amdg.buffer_load": "result", "amdg.buffer_store": "value"}
"""Between registers and global memory: which operand or result says the elements."""


@dataclass(frozen=True, slots=True)
class AccessRow:
    """One load or store: its line, its operation, the tensor, and what it is on the chip."""

    line: int | None
    operation: str
    tensor: str
    words: str
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])


def accesses_of(module: Module, chip: str) -> Iterator[AccessRow]:
    """The loads and stores of tensors with Triton's layouts; none on chips that Triton's own compiler has no code for."""
    from layoutalg.module import Module as ReadModule

    instance_of(module, ReadModule, "module")
    if target_info(chip).vendor not in ("nvidia", "amd"):
        return
    for (place, operation, _), group in groupby(module.layouts, key=lambda use: (use.place, use.operation, use.name)):
        if operation not in _SHARED and operation not in _GLOBAL:
            continue
        uses = {use.operand: use for use in group}
        row = _row(operation, uses, chip)
        if row is not None:
            tensor, words, facts = row
            yield AccessRow(None if place is None else place.line, operation, tensor, words, facts)


def _row(operation: str, uses: Mapping[str, LayoutUse], chip: str) -> tuple[str, str, dict[str, Any]] | None:
    if operation in _GLOBAL:
        held = uses.get(_GLOBAL[operation])
        memory = None
    else:
        tensors = [use for use in uses.values() if isinstance(use.attribute, Encoding)]
        buffers = [use for use in uses.values() if isinstance(use.attribute, MemDescType)]
        if len(tensors) != 1 or len(buffers) != 1:
            return None  # memory without a tensor in it
        held, memory = tensors[0], buffers[0]
    if held is None or held.shape is None or not isinstance(held.attribute, Encoding):
        return None
    tensor = "x".join([*map(str, held.shape), held.element or ""])
    encoding = None if memory is None or not isinstance(memory.attribute, MemDescType) else memory.attribute.encoding
    asked = (held.shape, None if memory is None else memory.shape, held.element or "f32")
    words, facts = _words(held.attribute, encoding, *asked, chip, _direction(operation))
    return tensor, words, facts


def _direction(operation: str) -> Literal["load", "store"]:
    return "load" if operation.endswith("_load") or operation == "tt.load" else "store"


@lru_cache(maxsize=1024)
def _words(
    held: Encoding,
    memory: Encoding | None,
    shape: tuple[int, ...],
    allocation: tuple[int, ...] | None,
    element: str,
    chip: str,
    direction: Literal["load", "store"],
) -> tuple[str, dict[str, Any]]:
    try:
        if memory is None:
            bits = 64 if element.startswith("!tt.ptr") else element_bits(element)
            found = global_access(held, shape, bits, global_memory(held, shape))
            return str(found).replace("load", direction, 1), {
                "bits": found.bits, "instructions": found.instructions, "lines": found.lines,
                "least_lines": found.least_lines, "sectors": found.sectors, "least_sectors": found.least_sectors,
            }  # fmt: skip
        local = shared_access(held, memory, shape, element, chip, direction, allocation)
    except LayoutError as problem:
        return f"not counted: {problem}", {"problem": str(problem)}
    return local.text, {
        "instruction": local.instruction, "bits": local.bits, "instructions": local.instructions, "ways": local.ways,
    }  # fmt: skip
