"""What the kernel of a product takes, in this order: addresses, sizes, and how far apart the matrices of one address lie.

By hand: 2 products with a bias have one address more than A, B and C. The next 64x32 matrix of A begins 2048 elements further.

>>> gemm = la.plan_gemm(64, 96, 32, batch=2, bias="row")
>>> [name for name, _ in parameters_of(gemm)]
['a', 'b', 'c', 'bias', 'm', 'n', 'k', 'lda', 'ldb', 'ldc', 'stride_a', 'stride_b', 'stride_c']
>>> distances(gemm.problem)["stride_a"]
2048
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.gemm.split_k import counters

if TYPE_CHECKING:
    from layoutalg.gemm.plan import Gemm
    from layoutalg.gemm.problem import Problem

__all__ = ["distances", "numbers_of", "parameters_of"]


def parameters_of(gemm: Gemm) -> tuple[tuple[str, str], ...]:
    """The names and types of the arguments of a plan's kernel."""
    problem = gemm.problem
    addresses = ["a", "b", "c", *["bias"] * bool(problem.bias), *(f"{side}_scale" for side in problem.scaled)]
    addresses += [*["starts"] * bool(problem.groups), *["workspace"] * bool(gemm.workspace_bytes)]
    addresses += ["counters"] * bool(counters(gemm.problem, gemm.tiling))
    numbers = [(name, "i64" if name in distances(problem) else "i32") for name in numbers_of(gemm)]
    return (*((name, "i64") for name in addresses), *numbers)


def numbers_of(gemm: Gemm) -> dict[str, int]:
    """The numbers behind the addresses: sizes, distances, and between them how many matrices a batch has where workgroups share
    the tiles of all of them (stream-K; else z of the grid counts them).

    >>> list(numbers_of(la.plan_gemm(64, 96, 256, batch=2, stream_k=5)))[6:]
    ['batch', 'stride_a', 'stride_b', 'stride_c']
    """
    problem = gemm.problem
    names = ("m", "n", "k", "lda", "ldb", "ldc", *["batch"] * (gemm.tiling.stream_k > 0 and problem.batch > 1))
    return {name: getattr(problem, name) for name in names} | distances(problem)


def distances(problem: Problem) -> dict[str, int]:
    """Elements from one matrix to the next, by argument: of a batch's matrices, or of B's where it has one for each group."""
    of_a, of_b, of_c = problem.strides
    if problem.groups:
        return {"stride_b": of_b}
    return {"stride_a": of_a, "stride_b": of_b, "stride_c": of_c} if problem.batch > 1 else {}
