"""The options of matrix products, each declared once: for the signatures of the planners, and for `layoutalg gemm`.

`plan_gemm`, `plan_amx` and the problems take `**options: Unpack[...]` of these dictionaries, which type checkers and editors
read as keywords. The command line makes an option of each (`layoutalg.cli.targets`), in the words of its `Option`; what both
kinds of targets know are the options of `ProductOptions`.

>>> list(part(TilingOptions, {"tile": (32, 64), "alpha": 0.5}))
['tile']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypedDict, TypeVar, cast

__all__ = [
    "ACTIVATIONS",
    "BIASES",
    "GATES",
    "MOST_GROUPS",
    "ORDERS",
    "PREFETCHES",
    "REDUCTIONS",
    "SCALES",
    "TRANSPOSES",
    "WEIGHTS_PREFETCHES",
    "AmxOptions",
    "AmxProductOptions",
    "BlockingOptions",
    "EpilogueOptions",
    "GemmOptions",
    "GpuEpilogueOptions",
    "GpuProductOptions",
    "Option",
    "ProductOptions",
    "TilingOptions",
    "check_names",
    "part",
]

ACTIVATIONS = ("relu", "gelu", "silu")
GATES = ("relu", "gelu", "silu", "sigmoid")
"""What the first of two products is put through before it multiplies the second."""
MOST_GROUPS = 4096
"""Groups of a launch: the search for a group is written out, 12 steps for these."""
BIASES = ("row", "column")
"""A bias has one number for every row of C, or one for every column."""
SCALES = ("row", "column", "both")
"""Sums are multiplied by a number of their row, of their column, or by both, one after the other."""
PREFETCHES = ("none", "shared", "lines")
"""`shared`: the subgroups of a workgroup share the blocks of the next step out, one 2-D prefetch each; `lines`: each lane asks
for one cache line."""
WEIGHTS_PREFETCHES = PREFETCHES[:2]
"""Those of products with quantised weights, which have block messages alone."""
REDUCTIONS = ("kernel", "last")
"""Who adds the parts of a product whose k is split. `kernel`: a second kernel; `last`: of the subgroups that have parts of one
tile, the one that is done last (`layoutalg.gemm.emission.last_part`). Both add in the order of k, so the bits are the same."""
TRANSPOSES = ("registers", "roles", "slm", "scratch")
"""How a transposed A comes to its operands. `registers`: as messages bring it, put together in registers; `roles`: where B is
transposed too, the loop computes C^T = B^T A^T, and needs no transposition; `slm`: a workgroup transposes it once, in shared
local memory; `scratch`: the same in a scratch in global memory, which the caller has to ask for."""
ORDERS = ("columns", "rows")
"""Which register blocks of a cache block come first: those of a column of C, or those of a row."""

_Options = TypeVar("_Options")


@dataclass(frozen=True)
class Option:
    """What the command line says of an option: its help, the names that it may have, and what it is unless given."""

    help: str
    names: tuple[str, ...] = ()
    default: object = None


class EpilogueOptions(TypedDict, total=False):
    """What is computed behind the sums, and how A and C lie in memory: what products of any weights have too.

    >>> EpilogueOptions(bias="column", activation="silu")["bias"]
    'column'
    """

    alpha: Annotated[float, Option("What A B is multiplied by.", default=1.0)]
    beta: Annotated[float, Option("What the old C is multiplied by and added.", default=0.0)]
    bias: Annotated[str | None, Option("Add a number for every row, or for every column.", BIASES)]
    scale: Annotated[str | None, Option("Multiply by a number for every row, for every column, or both.", SCALES)]
    activation: Annotated[str | None, Option("What is applied at the end.", ACTIVATIONS)]
    lda: Annotated[int | None, Option("Elements from one row of A in memory to the next (no padding unless given).")]
    ldc: Annotated[int | None, Option("Elements from one row of C to the next (n unless given).")]


class GpuEpilogueOptions(EpilogueOptions, total=False):
    """The same on GPUs, where an expression may say all of it (`layoutalg.gemm.expressions`).

    >>> GpuEpilogueOptions(epilogue="gelu(acc + bias)")["epilogue"]
    'gelu(acc + bias)'
    """

    epilogue: Annotated[
        str | None, Option("What C is, such as 'gelu(acc * scale + bias) + residual'; instead of alpha to activation.")
    ]


class ProductOptions(EpilogueOptions, total=False):
    """Storage and epilogue of any product; leading dimensions in elements.

    >>> ProductOptions(trans_b=True, alpha=0.5)["alpha"]
    0.5
    """

    trans_a: Annotated[bool, Option("A lies in memory as K x M.")]
    trans_b: Annotated[bool, Option("B lies in memory as N x K.")]
    ldb: Annotated[int | None, Option("Elements from one row of B in memory to the next (no padding unless given).")]
    batch: Annotated[int, Option("Products of this shape at once; their matrices lie one behind the other.", default=1)]


class GpuProductOptions(ProductOptions, GpuEpilogueOptions, total=False):
    """What a product for a GPU has besides.

    >>> GpuProductOptions(batch=2, beta=1.0)["batch"]
    2
    """

    acc: Annotated[str | None, Option("Type of the accumulators (f32, or s32 for integers).")]
    gated: Annotated[
        str | None, Option("B has two matrices of N columns side by side; C is GATED(A B1) * (A B2).", GATES)
    ]
    groups: Annotated[
        int | None, Option("Rows of A belong to so many groups, by an array of starts; B has a matrix for each.")
    ]


class TilingOptions(TypedDict, total=False):
    """What a caller may choose of a `Tiling`; None leaves it to the search.

    >>> TilingOptions(tile=(32, 64))["tile"]
    (32, 64)
    """

    tile: Annotated[Sequence[int] | None, Option("The tile of C that a subgroup computes, such as 32x32.")]
    subgroups: Annotated[Sequence[int] | None, Option("Subgroups of a workgroup, rows x columns, such as 8x4.")]
    k_step: Annotated[int | None, Option("How deep a step of the loop is.")]
    registers: Annotated[int | None, Option("Registers of a thread, 128 or 256.")]
    prefetch: Annotated[str | None, Option("How data is prefetched.", PREFETCHES)]
    distance: Annotated[int | None, Option("How many steps ahead a prefetch asks.")]
    split_k: Annotated[
        int | None, Option("Parts of k that workgroups of their own compute, and that are added in their order.")
    ]
    reduction: Annotated[
        str | None, Option("Who adds the parts of k: a second kernel, or the subgroup that is done last.", REDUCTIONS)
    ]
    stream_k: Annotated[
        int | None, Option("Workgroups that share the steps of all tiles evenly; 0: each workgroup has a tile.")
    ]
    transpose: Annotated[str | None, Option("How a transposed A comes to its operands.", TRANSPOSES)]


class GemmOptions(GpuProductOptions, TilingOptions, total=False):
    """The options of `plan_gemm`.

    >>> GemmOptions(acc="f16", k_step=32)["acc"]
    'f16'
    """


class AmxProductOptions(ProductOptions, total=False):
    """What a product for AMX has besides.

    >>> AmxProductOptions(scale="row", batch=4)["batch"]
    4
    """

    dynamic_m: Annotated[bool, Option("The number of rows is an argument of the code, m at most.", default=False)]
    aligned: Annotated[
        bool, Option("A begins at a multiple of 64 bytes, so that loading it as it lies may pay.", default=False)
    ]


class AnyTargetOptions(GemmOptions, AmxProductOptions, total=False):
    """The options of `plan_gemm` for all of its targets.

    >>> AnyTargetOptions(dynamic_m=True)["dynamic_m"]
    True
    """


class BlockingOptions(TypedDict, total=False):
    """What a caller may choose of an `AmxTiling`; None leaves it to the search.

    >>> BlockingOptions(pack_a=False)["pack_a"]
    False
    """

    blocking: Annotated[Sequence[int] | None, Option("Tiles of C in registers, rows x columns, such as 2x2.")]
    blocks: Annotated[
        Sequence[int] | None, Option("A cache block: rows and columns of C and a part of K, such as 256x512x1024.")
    ]
    order: Annotated[str | None, Option("Whether register blocks go down a column of C first, or along a row.", ORDERS)]
    pack_a: Annotated[bool | None, Option("Copy A into whole tiles first, or load it as it lies.")]
    prefetch_b: Annotated[int | None, Option("How many steps of k ahead tiles of B are prefetched; 0: none.")]


class AmxOptions(BlockingOptions, AmxProductOptions, total=False):
    """The options of `plan_amx`.

    >>> AmxOptions(scale="row", order="rows")["order"]
    'rows'
    """


def part(kind: type[_Options], options: Mapping[str, object]) -> _Options:
    """Those of the options that a dictionary declares."""
    return cast("_Options", {name: value for name, value in options.items() if name in kind.__annotations__})


def check_names(function: str, options: Mapping[str, object], kind: type) -> None:
    """Refuse a keyword that a function has not, as Python does, and say which ones it has beside its arguments.

    >>> check_names("plan_gemm", {"colour": "red"}, GemmOptions)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: plan_gemm() got an unexpected keyword argument 'colour'; its options are alpha, beta, ...
    """
    for name in options:
        if name not in kind.__annotations__:
            accepted = ", ".join(kind.__annotations__)
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}; its options are {accepted}")
