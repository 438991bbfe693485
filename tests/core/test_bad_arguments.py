"""Wrong arguments to public functions and methods: only the errors that are documented, and quickly."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import layoutalg as la
from layoutalg import amx, compare, cute, triton
from layoutalg.gemm import amx as gemm_amx
from layoutalg.nested import gpu
from layoutalg.triton import encodings

MMA = la.mma("MFMA_F32_16x16x16_F16")
TILED = gpu.DataTiledMMAAttr("MFMA_F32_16x16x16_F16", intrinsics_m=2)
TILE = la.Layout.parse("d0 = 2@reg, d1 = 16@lane")
AMX_PLAN = la.plan_amx(64, 64, 64)
VALUES = [
    MMA,
    la.mma("VMFMA_F32_16x16x32_F16"),
    TILED,
    TILED.swizzle("Acc"),
    MMA.intrinsic,
    MMA.operand("Lhs"),
    la.NestedLayoutAttr((2,), (1,), (1,), (4,), (2,), (1,), (1,)),
    gpu.MultiMma(MMA, ["() -> ()"] * 3, ()),
    gpu.MMAScheduleAttr(gpu.MMAAttr("MFMA_F32_16x16x16_F16"), 2, 2),
    la.known_target("gfx942"),
    la.known_target("gfx942").wgp,
    la.TileType(16, 16, "i32"),
    la.to_cute(TILE),
    la.to_linear_layout(TILE),
    AMX_PLAN,
    AMX_PLAN.problem,
    AMX_PLAN.strips[0][0],
    encodings.Blocked((1, 4), (8, 4), (2, 2), (1, 0)),
    encodings.PaddedShared(((4, 2),), ((1,), (2,))),
]
WRONG: list[Any] = [
    *(None, -1, 0, 1.5, True, 10**30, 2**31, float("nan"), "a", "é", b"x"),
    *([], (), [1.5], (None,), ("x",), {}, range(3), object(), np.zeros(2), TILE, MMA),
]


WITHOUT_ARGUMENTS = ("DerivedThreadConfigAttr", "LaneScopeAttr", "SubgroupScopeAttr", "UseGlobalLoadDMAAttr")


def public_calls() -> Iterator[tuple[str, Callable[..., Any], int]]:
    """Every exported function and class of these rooms, and every method of the values, with how many arguments it needs."""
    for room in (amx, compare, cute, triton, encodings, gpu, gemm_amx):
        for name in room.__all__:
            value = getattr(room, name)
            if name in ("read_gpu", "read_encoding", "Encoding", *WITHOUT_ARGUMENTS):
                continue  # two take a Reader, one is abstract, the others take nothing
            if inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, int)):
                yield name, value, required(value)
    for value in VALUES:
        for name in dir(value):
            if name == "time":
                continue  # 1.5 is a number of seconds that it then takes
            if not name.startswith("_") and not isinstance(getattr(type(value), name, None), property):
                method = getattr(value, name)
                if callable(method) and inspect.signature(method).parameters:
                    yield f"{type(value).__name__}.{name}", method, required(method)


def required(call: Callable[..., Any]) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = [p for p in inspect.signature(call).parameters.values() if p.default is p.empty and p.kind in kinds]
    return max(1, len(found))


CALLS = list(public_calls())


def test_there_is_something_to_call() -> None:
    assert len(CALLS) > 90


@pytest.mark.parametrize("call", CALLS, ids=[name for name, _, _ in CALLS])
def test_wrong_arguments_raise_only_layout_errors(
    call: tuple[str, Callable[..., Any], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, function, count = call
    monkeypatch.chdir(tmp_path)  # "a" is a fine name for a library that is built
    for argument in WRONG:
        start = time.thread_time()
        try:
            function(*[argument] * count)
        except la.LayoutError as error:
            assert str(error)
        except Exception as error:
            raise AssertionError(f"{name}({argument!r}) raised {type(error).__name__}: {error}") from error
        assert time.thread_time() - start < 5
