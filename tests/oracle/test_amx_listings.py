"""What llc-22, 23 and 24 make of planned products: the tile instructions of a step of k, one configuration, nothing spilled."""

from __future__ import annotations

import pytest

from layoutalg.core.errors import PlanError
from layoutalg.gemm.amx import AmxGemm, plan_amx
from layoutalg.gemm.amx.compiling import assembly, llvm_ir
from layoutalg.gemm.amx.listing import FunctionListing, functions_of
from layoutalg.gemm.amx.rewriting import tile_calls
from layoutalg.gemm.amx.tiling import BLOCKINGS, Blocking
from tests.oracle.amx_code import VERSIONS, joined, register_block, require_llvm


def compiled(plans: dict[str, AmxGemm], llvm: int) -> dict[str, list[FunctionListing]]:
    """The functions with tiles of each plan; all are compiled at once."""
    ir = llvm_ir(joined({name: plan.emit(llvm, part="parts") for name, plan in plans.items()}), llvm)
    functions = [function for function in functions_of(assembly(ir, llvm)) if function.tiles]
    found = {name: [one for one in functions if one.name.startswith(f"{name}_")] for name in plans}
    assert sum(map(len, found.values())) == len(functions)
    # Every tile that the module loads, stores and clears is an instruction, and nothing else is.
    asked = [call.intrinsic for call in tile_calls(ir)]
    counted = {"tileloadd64": "loads", "tilestored64": "stores", "tilezero": "zeros"}
    for intrinsic, field in counted.items():
        seen = sum(getattr(one.loop, field) + getattr(one.around, field) for one in functions)
        assert seen == asked.count(intrinsic), intrinsic
    return found


def check(name: str, functions: list[FunctionListing]) -> None:
    for function in functions:
        assert function.loop.configurations == 0, (name, function.name)
        assert function.around.configurations == 1, (name, function.name)
        assert function.loop.spills + function.around.spills == 0, (name, function.name)


@pytest.mark.parametrize("llvm", VERSIONS)
def test_every_blocking_has_its_loads_and_products_in_a_step_and_nothing_else(llvm: int) -> None:
    require_llvm(llvm)
    plans = {f"p{b.rows}{b.columns}": plan_amx(512, 512, 512, blocking=(b.rows, b.columns)) for b in BLOCKINGS}
    for name, functions in compiled(plans, llvm).items():
        blocking = plans[name].tiling.blocking
        check(name, functions)
        whole = [f for f in functions if f.name.endswith(f"_{16 * blocking.rows}x{16 * blocking.columns}")]
        assert len(whole) == 1, name
        [step] = [one.loop for one in whole]
        assert (step.loads, step.products) == (blocking.loads_per_step, blocking.products_per_step), name
        assert (step.stores, step.zeros) == (0, 0), name
        assert whole[0].around.zeros == whole[0].around.stores == blocking.products_per_step, name


def test_two_by_two_tiles_are_four_loads_and_four_products() -> None:
    """The bar, in numbers: not by what the plan says of itself."""
    require_llvm(22)
    listing = plan_amx(512, 512, 512, blocking=(2, 2), llvm=22).listing()
    [function] = listing.with_tiles
    assert (function.loop.loads, function.loop.products, function.loop.spills) == (4, 4, 0)
    assert function.around.configurations == 1
    assert "C11 += A1 B1" in str(listing)
    assert "spilled" not in listing.note


EDGES = {
    "odd": (100, 60, 200, {}),
    "tiny": (13, 10, 33, {}),
    "turned": (93, 77, 130, {"trans_a": True}),
    "bytes": (61, 109, 201, {"a": "s8", "b": "u8", "trans_b": True}),
    "deep": (48, 48, 300, {"blocks": (96, 96, 64)}),
}


def edges(blockings: tuple[Blocking, ...]) -> dict[str, AmxGemm]:
    return {
        f"{name}{b.rows}{b.columns}": plan_amx(m, n, k, blocking=(b.rows, b.columns), **given)  # pyright: ignore[reportArgumentType]
        for name, (m, n, k, given) in EDGES.items()
        for b in blockings
        if "blocks" not in given or (b.rows, b.columns) in ((2, 2), (1, 3), (3, 1))
    }


def test_smaller_tiles_at_the_edges_spill_nothing() -> None:
    require_llvm(24)
    for name, functions in compiled(edges((Blocking(2, 2), Blocking(1, 6))), 24).items():
        assert functions, name
        check(name, functions)


@pytest.mark.exhaustive
@pytest.mark.parametrize("llvm", VERSIONS)
def test_smaller_tiles_of_every_blocking_spill_nothing(llvm: int) -> None:
    require_llvm(llvm)
    for name, functions in compiled(edges(BLOCKINGS), llvm).items():
        check(name, functions)


def test_a_spilled_tile_is_counted() -> None:
    """Six sums, three tiles of A and one of B are ten: LLVM moves some over the stack, and the listing says so."""
    require_llvm(22)
    text = register_block(3, 2, 22)
    [function] = functions_of(assembly(llvm_ir(text, 22), 22))
    assert function.loop.spills > 0
    assert function.loop.loads == 5
    assert "(on the stack)" in function.annotated


def test_a_module_that_llvm_refuses_is_an_error_in_words() -> None:
    require_llvm(22)
    with pytest.raises(PlanError, match=r"^mlir-opt-22: .*amx\.tile_nothing"):
        llvm_ir('func.func @f() { "amx.tile_nothing"() : () -> () return }', 22)
