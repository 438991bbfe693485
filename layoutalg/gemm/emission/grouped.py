"""How a workgroup of a grouped product finds its group and its rows (`layoutalg.gemm.grouped`).

The search halves: for steps 4, 2, 1 of up to 8 groups it goes on where the place is not before the group there. All lanes
compute the same, from addresses that are the same, so the compiler keeps one number for all.

>>> from layoutalg.gemm import plan_gemm
>>> kernel = KernelWriter(plan_gemm(64, 64, 64, groups=8))
>>> bases, row = group_of_workgroup(kernel)
>>> kernel.writer.text().count("llvm.load"), row.name
(5, 'workgroup_row')

Behind it, `m` is where the rows of the group end, at least 1: a surface has a row. A workgroup that has none begins there, so
that its messages and masks find nothing, and its loop is one step.
"""

from __future__ import annotations

from layoutalg.conversion.lowering.writer import Value
from layoutalg.core.elements import element_bits
from layoutalg.gemm.emission.addresses import POINTER
from layoutalg.gemm.emission.kernel import KernelWriter

__all__ = ["group_of_workgroup"]


def group_of_workgroup(kernel: KernelWriter) -> tuple[dict[str, Value], Value]:
    """The addresses of A, of the group's B, and of C by name, and the workgroup's first row."""
    groups, tall = kernel.behind.groups, kernel.launched.tiling.workgroup_tile.m
    y = kernel.named("place", kernel.cast(kernel.writer.value("gpu.block_id y", (), "index"), "i32"))
    group, step = None, 1 << (groups - 1).bit_length() >> 1
    while step:
        group = kernel.named("group", _further(kernel, group, step, y, tall))
        step >>= 1
    group = kernel.constant(0, "i32") if group is None else group
    start, end = _start(kernel, group), _start(kernel, kernel.plus(group, 1))
    block = kernel.op("subi", y, _first_place(kernel, group, start, tall))
    behind = kernel.op("muli", block, kernel.constant(tall, "i32"))
    row = kernel.op("addi", start, behind)
    # unsigned: places before the first group have nothing to do either
    kernel.busy = kernel.writer.value("arith.cmpi ult, %s, %s : i32", (behind, kernel.op("subi", end, start)), "i1")
    kernel.busy.name = "busy"
    last = kernel.named("end", kernel.op("maxsi", end, kernel.constant(1, "i32")))
    row = kernel.writer.value("arith.select %s, %s, %s : i32", (kernel.busy, row, last), "i32")
    kernel.arguments["m"] = last
    number = kernel.writer.value("arith.extsi %s : i32 to i64", (group,), "i64")
    bases = {name: kernel.arguments[name.lower()] for name in "AC"}
    of_b = kernel.op("muli", number, kernel.arguments["stride_b"])
    bases["B"] = kernel.named("address_b", _moved(kernel, "b", of_b, kernel.gemm.matrices[1].element_bytes))
    n = kernel.writer.value("arith.extsi %s : i32 to i64", (kernel.arguments["n"],), "i64")
    columns = kernel.op("muli", number, n)
    problem = kernel.behind
    for name, side, element in (("bias", problem.bias, kernel.gemm.element_of("C")), ("column_scale", "column", "f32")):
        if name in kernel.arguments and side == "column":
            kernel.arguments[name] = _moved(kernel, name, columns, element_bits(element) // 8)
    return bases, kernel.named("workgroup_row", kernel.cast(row, "index"))


def _further(kernel: KernelWriter, group: Value | None, step: int, y: Value, tall: int) -> Value:
    """The group `step` further (from the first, without one), if it is there and the place is not before it; else the group."""
    last = kernel.constant(kernel.behind.groups - 1, "i32")
    other = kernel.constant(step, "i32") if group is None else kernel.plus(group, step)
    there = other if group is None else kernel.op("minsi", other, last)  # what is read is always there
    first = _first_place(kernel, there, _start(kernel, there), tall)
    begun = kernel.writer.value("arith.cmpi sle, %s, %s : i32", (first, y), "i1")
    if group is None:  # the first step leads to a group that is there
        form = "arith.select %s, %s, %s : i32"
        return kernel.writer.value(form, (begun, other, kernel.constant(0, "i32")), "i32")
    inside = kernel.writer.value("arith.cmpi sle, %s, %s : i32", (other, last), "i1")
    return kernel.writer.value("arith.select %s, %s, %s : i32", (kernel.op("andi", begun, inside), other, group), "i32")


def _first_place(kernel: KernelWriter, group: Value, start: Value, tall: int) -> Value:
    """The first place of a group in the grid: starts[g] // T + g."""
    return kernel.op("addi", kernel.op("divui", start, kernel.constant(tall, "i32")), group)


def _start(kernel: KernelWriter, group: Value) -> Value:
    """The first row of a group."""
    place = kernel.writer.value("arith.extsi %s : i32 to i64", (group,), "i64")
    address = _moved(kernel, "starts", place, 4)
    pointer = kernel.writer.value(f"llvm.inttoptr %s : i64 to {POINTER}", (address,), POINTER)
    return kernel.named("start", kernel.writer.value(f"llvm.load %s : {POINTER} -> i32", (pointer,), "i32"))


def _moved(kernel: KernelWriter, name: str, elements: Value, size: int) -> Value:
    """The address of an argument so many elements further."""
    return kernel.op("addi", kernel.arguments[name], kernel.op("muli", elements, kernel.constant(size, "i64")))
