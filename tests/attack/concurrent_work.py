"""Work for threads: small questions of every kind, each with an answer that can be printed and compared.

    python -m tests.attack.concurrent_work 3 16      # a cold start: 16 threads begin at once, with the third seed

`cold_start` imports nothing of the library before its threads run, and lets Python switch between them after every microsecond.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import threading
from collections.abc import Callable

_TILE = "#xegpu.layout<sg_layout = [2, 4], sg_data = [16, 16], lane_layout = [1, 16], lane_data = [1, 1]>"
_NESTED = (
    "#iree_vector_ext.nested_layout<subgroup_tile = [2, 1], batch_tile = [2, 4], outer_tile = [1, 1], thread_tile = [16, 4], "
    "element_tile = [1, 4], subgroup_strides = [1, 0], thread_strides = [1, 16]>"
)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16] + f" ({len(text)} characters)"


def _parse() -> str:
    import layoutalg as la

    texts = (
        _TILE,
        _NESTED,
        "((4,8),2):((32,1),16)",
        "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>",
        "!amx.tile<16x64xi8>",
        "d0 = M/16@reg",
    )
    return "; ".join(repr(la.parse(text)) for text in texts)


def _layout() -> str:
    import layoutalg as la

    value = la.parse(_TILE).layout((32, 64))
    return f"{value} {value.inverse()} {value.fragment_map().sum()} {value.owners((3, 4))} {la.compose(value.inverse(), value)}"


def _same() -> str:
    import layoutalg as la

    a, b = la.parse(_TILE).layout((32, 64)), la.Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane")
    return (
        f"{bool(la.same(a, b))} {la.same(a, b.permute((1, 0)).permute((1, 0)))} {la.same(a, la.parse(_TILE), (32, 64))}"
    )


def _convert() -> str:
    import layoutalg as la

    plan = la.convert(la.Layout.parse("d0 = 4@reg, d1 = 4@lane"), la.Layout.parse("d0 = 4@lane, d1 = 4@reg"))
    return f"{plan} {plan.cost}"


def _emit_conversion() -> str:
    import layoutalg as la

    plan = la.convert(la.Layout.parse("d0 = 8@reg, d1 = 8@lane"), la.Layout.parse("d0 = 8@lane, d1 = 8@reg"))
    return _digest(plan.emit("f32"))


def _emit_exchange() -> str:
    import layoutalg as la

    a = la.Layout.parse("d0 = 2@sg 4@reg, d1 = 16@lane")
    b = la.Layout.parse("d0 = 4@reg 2@sg, d1 = 16@lane")
    return _digest(la.convert(a, b, element_bits=16).emit("f16"))


def _gemm() -> str:
    import layoutalg as la

    return _digest(la.plan_gemm(64, 64, 64).emit("lane"))


def _gemm_of_bf16() -> str:
    import layoutalg as la

    return _digest(la.plan_gemm(128, 64, 64, "bf16", "bf16", "f32").emit())


def _picture() -> str:
    import layoutalg as la

    picture = la.Layout.parse("d0 = 8@reg, d1 = 16@lane").picture()
    return _digest(picture.svg()) + _digest(picture.html())


def _substitute() -> str:
    import layoutalg as la

    symbolic = la.Layout.parse("d0 = M/16@reg 16@lane")
    return " ".join(str(symbolic.substitute(M=m)) for m in (16, 48, 64, 160))


def _expressions() -> str:
    import layoutalg as la

    layout = la.parse(_TILE).layout((32, 64))
    exprs = [*layout.index_exprs().values(), *layout.axis_exprs().values()]
    return "; ".join(la.expression_text(one) for one in exprs)


def _symbolic() -> str:
    import layoutalg as la

    layout = la.Layout.parse("d0 = 3*M/(K + 1)@reg 4@lane, d1 = (M + K)/2@sg:4")
    return f"{layout} {layout.shape} {layout.conditions} {layout.substitute(M=8, K=2)}"


def _banks() -> str:
    import layoutalg as la

    return str(la.bank_conflicts(la.Layout.parse("d0 = 8@reg, d1 = 16@lane"), element_bits=32))


def _bridges() -> str:
    import layoutalg as la

    layout = la.Layout.parse("d0 = 8@reg, d1 = 16@lane")
    return f"{la.to_cute(layout)} {la.to_linear_layout(layout)} {la.to_xegpu(layout)}"


def _nested() -> str:
    import layoutalg as la

    return f"{la.parse(_NESTED).layout((64, 64))} {la.mma('MFMA_F32_16x16x16_F16').operands()}"


def _refusal() -> str:
    import layoutalg as la

    try:
        la.parse("#xegpu.layout<lane_layout = [1, 16>")
    except la.LayoutError as error:
        return str(error)
    return "read"


WORK: dict[str, Callable[[], str]] = {
    one.__name__.strip("_"): one
    for one in (
        _parse, _layout, _same, _convert, _emit_conversion, _emit_exchange, _gemm, _gemm_of_bf16, _picture, _substitute,
        _expressions,
        _symbolic, _banks, _bridges, _nested, _refusal,
    )
}  # fmt: skip


def answer(name: str) -> str:
    """The answer, or the exception in words."""
    try:
        return WORK[name]()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def together(count: int, rng: random.Random, rounds: int) -> list[tuple[str, str]]:
    """The answers of `count` threads that begin at the same moment, each with work in an order of its own."""
    begin = threading.Barrier(count)
    answers: list[tuple[str, str]] = []
    orders = [rng.sample(list(WORK), min(rounds, len(WORK))) for _ in range(count)]

    def do(names: list[str]) -> None:
        begin.wait()
        answers.extend((name, answer(name)) for name in names)

    threads = [threading.Thread(target=do, args=(names,), daemon=True) for names in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    if any(thread.is_alive() for thread in threads):
        answers.append(("a thread", "never ended"))
    return answers


def cold_start(seed: int, count: int) -> None:
    sys.setswitchinterval(1e-6)
    print(json.dumps(together(count, random.Random(seed), 2)))


if __name__ == "__main__":
    cold_start(int(sys.argv[1]), int(sys.argv[2]))
