"""How a user's code looks to a type checker: `make lint` reads it with pyright and mypy, nothing runs it."""

from __future__ import annotations

import layoutalg as la

TEXT = "#xegpu.layout<lane_layout = [1, 16]>"


def layouts(text: str = TEXT) -> tuple[la.Layout, la.Layout]:
    """What `parse` returns has a layout for a shape, and for a machine."""
    value: la.Notation = la.parse(text)
    return value.layout((8, 16)), la.parse(text).layout((8, 16), machine=la.Machine(lanes=16))


def answers(text: str = TEXT) -> tuple[bool, int, int, str]:
    """Text, value and layout are taken alike."""
    value, layout = la.parse(text), layouts(text)[0]
    plan = la.convert(text, layout, (8, 16))
    return bool(la.same(text, value, (8, 16))), plan.shuffles, la.bank_conflicts(value, shape=(8, 16)).ways, str(plan)


def modules(text: str = "gpu.barrier") -> tuple[str, tuple[la.Layout, ...], tuple[la.Finding, ...]]:
    """A module is read from a file or from text."""
    module: la.Module = la.read(text)
    return module.text(llvm=24), tuple(use.layout() for use in module.layouts), module.findings


def products() -> tuple[tuple[int, int, int], str]:
    """Options of a product are keywords, and the plan's class follows the target."""
    gemm = la.plan_gemm(64, 64, 64, "bf16", trans_b=True, alpha=0.5, tile=(32, 32))
    on_cpu = la.plan_gemm(64, 64, 64, target="spr", bias="row")
    return gemm.grid, la.plan_amx(64, 64, 64, scale="row", pack_a=True).product.instruction + on_cpu.product.instruction
