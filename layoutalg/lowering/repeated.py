"""Work that is done more than once: lanes that hold what the others hold, subgroups that do what the others do.

A module may mean it (every lane needs the row's maximum), or nobody has said who holds what. 16 lanes that load the same 8x16
elements are worth a warning:

>>> from layoutalg.module import read
>>> from layoutalg.lowering import lower
>>> whole = "#xegpu.slice<#xegpu.layout<lane_layout = [1, 1, 16], lane_data = [1, 1, 1]>, dims = [2]>"
>>> lowered = lower(read(f'''
... gpu.module @m {{ gpu.func @k(%p: i64) kernel attributes {{intel_reqd_sub_group_size = 16 : i32,
...     known_block_size = array<i32: 16, 1, 1>}} {{
...   %t = xegpu.create_nd_tdesc %p, shape : [8, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<8x16xf32>
...   %x = xegpu.load_nd %t[0, 0] <{{layout = {whole}}}> : !xegpu.tensor_desc<8x16xf32> -> vector<8x16xf32>
...   %y = arith.addf %x, %x : vector<8x16xf32>
...   xegpu.store_nd %y, %t[0, 0] : vector<8x16xf32>, !xegpu.tensor_desc<8x16xf32>
...   gpu.return }} }}'''))
>>> for finding in lowered.findings:
...     if finding.rule == "lower.repeated":
...         print(finding.message)
moves 8x16 elements of which each of 16 lanes holds all: lanes repeat one another's work
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.ir import Operation, SSAValue

from layoutalg.core.layout import Layout
from layoutalg.flow.relations import shape_of
from layoutalg.ir.findings import Finding
from layoutalg.ir.places import place_of
from layoutalg.lowering.value_layouts import ValueLayouts

__all__ = ["has_all_lanes", "repeated"]

_STORES = ("xegpu.store_nd", "xegpu.store", "xegpu.store_matrix", "vector.store", "vector.transfer_write")
_LOADS = ("xegpu.load_nd", "xegpu.load", "xegpu.load_matrix", "vector.load", "vector.transfer_read", "vector.gather")
_ASK = ("gpu.subgroup_id", "gpu.thread_id", "gpu.global_id")
_NOTE = "layouts decide who holds what: state them, or let them be decided (--level lane, level='lane')"


def repeated(function: Operation, held: ValueLayouts, lanes: int, shared: int, subgroups: int) -> Iterator[Finding]:
    """One warning where lanes hold copies of one another's loads and stores, one where subgroups do the same work.

    `shared` is the number of subgroups that share the work, `subgroups` how many the kernel has.

    >>> from layoutalg.ir import read_module
    >>> from layoutalg.flow.graph import flow_of
    >>> module = read_module("gpu.barrier")
    >>> list(repeated(module, ValueLayouts(flow_of(module)), 16, 1, 1))
    []
    """
    moved = [(operation, value) for operation in function.walk() for value in _moved(operation)]
    for operation, value in moved:
        known, shape = held.of(value), shape_of(value) or ()
        if known is not None and has_all_lanes(known.layout, lanes) and int(known.layout.axes.get("reg", 1)) >= lanes:
            sizes = "x".join(map(str, shape))
            message = (
                f"moves {sizes} elements of which each of {lanes} lanes holds all: lanes repeat one another's work"
            )
            yield Finding(
                "lower.repeated", message, operation.name, place_of(operation), level="warning", notes=(_NOTE,)
            )
            break
    if shared == 1 < subgroups and moved and not any(operation.name in _ASK for operation in function.walk()):
        message = f"has {subgroups} subgroups, and no layout deals the work out to them: each does all of it"
        yield Finding("lower.repeated", message, function.name, place_of(function), level="warning", notes=(_NOTE,))


def _moved(operation: Operation) -> Iterator[SSAValue]:
    """What an operation loads or stores."""
    if operation.name in _LOADS:
        yield from operation.results
    elif operation.name in _STORES:
        yield operation.operands[0]


def has_all_lanes(layout: Layout, lanes: int) -> bool:
    """Whether every lane of several holds the same elements."""
    return prod(int(factor.extent) for factor in layout.replicas if factor.axis == "lane") == lanes > 1
