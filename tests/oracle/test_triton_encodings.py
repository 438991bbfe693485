"""Triton's encodings: what its wheel answered to 697 of them, and fresh ones in every run.

The table has Triton 3.9's own answers; where its wheel cannot be asked, `from` says where a row comes from (padded ones from
the Gluon object, rotating ones and dpas from the sources). Texts of older Tritons have the answer to their names of today.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from layoutalg.core import LayoutError
from layoutalg.triton.encodings import (
    AmdMfma,
    AmdWmma,
    Blocked,
    DotOperand,
    Encoding,
    GenericLinear,
    Linear,
    MemDescType,
    NvidiaMma,
    NvmmaShared,
    PaddedShared,
    PartitionedShared,
    RotatingShared,
    SharedLinear,
    Slice,
    SwizzledShared,
    TensorMemory,
    TensorMemoryScales,
    TensorType,
    as_encoding,
    parse_encoding,
    parse_typed,
)
from tests.oracle.tables import lines
from tests.oracle.toolchains import require_module
from tests.oracle.triton_wheel import ask, typed

ROWS = lines("triton_encodings.jsonl.gz")
ANSWERED = [row for row in ROWS if "bases" in row]
REFUSED = [row for row in ROWS if "bases" not in row]
SPACES = {"distributed": "tensor", "shared": "shared", "tensor memory": "tmem"}
Bases = tuple[tuple[int, ...], ...]


def bases(encoding: Encoding, shape: Any) -> dict[str, list[list[int]]]:
    linear = encoding.to_linear(tuple(shape))
    assert linear.shape == tuple(shape)
    return {name: [list(basis) for basis in one] for name, one in linear.bases}


def test_a_shape_that_is_covered_once_is_only_repeated_beyond() -> None:
    """What Triton answers for larger tensors has the lanes and warps of the shape that is drawn where none is given."""
    checked: dict[str, int] = {}
    for row in ANSWERED:
        encoding = parse_encoding(row["text"])
        try:
            (once,) = encoding.operands()
        except LayoutError:
            continue
        shape = once.layout.shape
        if any(size < n for size, n in zip(row["shape"], shape, strict=True)):
            continue
        drawn, asked = bases(encoding, shape), row["bases"]
        checked[row["kind"]] = checked.get(row["kind"], 0) + 1
        for name in ("lane", "warp"):
            assert drawn.get(name) == asked.get(name), (row["text"], shape)
    assert len(checked) > 9


def test_the_table_has_a_row_of_every_kind() -> None:
    assert len(ROWS) == 697
    assert len({row["kind"] for row in ROWS}) == 23


@pytest.mark.parametrize("row", ANSWERED, ids=lambda row: f"{row['kind']} {row['shape']}")
def test_an_encoding_means_what_triton_says(row: dict[str, Any]) -> None:
    encoding = parse_encoding(row["text"])
    assert bases(encoding, row["shape"]) == row["bases"]
    if "alignment" in row:
        assert encoding.alignment == row["alignment"]  # type: ignore[attr-defined]
    if "padding" in row:
        assert isinstance(encoding, PaddedShared)
        assert [list(pair) for pair in encoding.pads] == row["padding"]


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["error"][:40])
def test_what_triton_refuses_or_dies_of_is_refused_in_words(row: dict[str, Any]) -> None:
    with pytest.raises(LayoutError) as refused:
        parse_encoding(row["text"]).to_linear(row["shape"])
    if row["stage"] == "parse" and row["text"] != "#ttg<{a = 1}>":
        assert row["error"] in str(refused.value)


@pytest.mark.parametrize("row", [row for row in ANSWERED if "printed" in row], ids=lambda row: row["kind"])
def test_a_type_is_printed_as_triton_prints_it(row: dict[str, Any]) -> None:
    value = parse_typed(typed(row["text"], row["shape"], row["elem"], row["space"]))
    assert str(value) == row["printed"]
    if "amd_wmma" not in row["printed"]:  # of rank 3 Triton itself does not read what it prints
        assert parse_typed(row["printed"]) == value
    assert {name: list(map(list, one)) for name, one in value.to_linear().bases} == row["bases"]


@pytest.mark.parametrize("row", [row for row in ANSWERED if "gluon" in row], ids=lambda row: row["kind"])
def test_what_gluon_prints_is_the_same_encoding(row: dict[str, Any]) -> None:
    encoding, given = parse_encoding(row["gluon"]), parse_encoding(row["text"])
    if "generic_linear" in row["text"]:  # Gluon has one class for both
        assert bases(encoding, row["shape"]) == row["bases"]
    elif "blockRepOrder" not in row["text"]:  # which Gluon's object does not say
        assert encoding == given


@pytest.mark.parametrize("row", lines("triton_conversions.jsonl.gz"), ids=lambda row: f"{row['target']} {row['how']}")
def test_both_ends_of_a_compiled_conversion_mean_what_triton_says(row: dict[str, Any]) -> None:
    """And what is left of the conversion, where it is not the identity, tells whether registers alone are renamed."""
    source, result = (parse_encoding(row[name]) for name in ("source", "destination"))
    assert bases(source, row["shape"]) == row["source_bases"]
    assert bases(result, row["shape"]) == row["result_bases"]
    ends = [one.to_linear(row["shape"]).remove_zero_bases_along_dim("register") for one in (result, source)]
    rest = ends[0].invert_and_compose(ends[1])
    for name in ("block", "warp", "lane"):
        smaller = rest.quotient([name])
        if smaller is None:
            break
        rest = smaller
    assert (rest.get_in_dim_names() == ("register",)) == (row["how"] == "registers")


# Fresh encodings


def power(rng: random.Random, most: int, least: int = 0) -> int:
    return 1 << rng.randint(least, most)


def cluster(rng: random.Random, rank: int) -> Bases:
    """CTAs of a cluster; now and then Triton's refusals too."""
    if rng.random() < 0.6:
        return ()
    sizes, found = [1] * rank, list[tuple[int, ...]]()
    for _ in range(rng.randint(1, 2)):
        d = rng.randrange(-1, rank)
        found.append(tuple([sizes[d] if e == d else 0 for e in range(rank)]))
        if d >= 0:
            sizes[d] *= 2
    return tuple(found)


def shuffled(rng: random.Random, rank: int) -> tuple[int, ...]:
    return tuple(rng.sample(range(rank), rank))


def sizes(rng: random.Random, rank: int, bits: int) -> tuple[int, ...]:
    found = [1] * rank
    for _ in range(bits):
        found[rng.randrange(rank)] *= 2
    return tuple(found)


def blocked(rng: random.Random, rank: int | None = None) -> Blocked:
    n = rank or rng.randint(1, 4)
    registers, lanes, warps = (sizes(rng, n, rng.randint(*bits)) for bits in ((0, 4), (5, 6), (0, 3)))
    return Blocked(registers, lanes, warps, shuffled(rng, n), cluster(rng, n))


def linear(rng: random.Random) -> Linear:
    n = rng.randint(1, 3)
    shape = sizes(rng, n, rng.randint(5, 9))
    every = [
        tuple([1 << i if e == d else 0 for e in range(n)]) for d in range(n) for i in range(shape[d].bit_length() - 1)
    ]
    every += [(0,) * n] * rng.randint(0, 2)
    rng.shuffle(every)
    return Linear(tuple(every[8:]), tuple(every[:5]), tuple(every[5:7]), tuple(every[7:8]))


def nvidia(rng: random.Random) -> NvidiaMma:
    if rng.random() < 0.4:
        warps = (4 * power(rng, 1), power(rng, 1))
        return NvidiaMma(3, 0, warps, (16, power(rng, 8, 3), 16), cluster(rng, 2))
    rank = rng.choice((2, 2, 3))
    shape = rng.choice(((16, 8), (16, 8), (8, 8)))
    return NvidiaMma(
        2, rng.randint(0, 1), sizes(rng, rank, rng.randint(0, 3)), (1,) * (rank - 2) + shape, cluster(rng, rank)
    )


def mfma(rng: random.Random) -> AmdMfma:
    rank = rng.choice((2, 2, 3))
    m, n = rng.choice(((32, 32), (16, 16), (64, 4), (4, 64)))
    tiles = (1,) * (rank - 2) + (power(rng, 1), power(rng, 2)) if rng.random() < 0.4 else ()
    bits = 64 if (m, n) == (16, 16) and rng.random() < 0.2 else 32
    transposed = (m, n) == (64, 4) or rng.random() < 0.5
    warps = sizes(rng, rank, rng.randint(0, 3))
    return AmdMfma(rng.randint(1, 4), warps, (m, n, power(rng, 6, 2)), transposed, cluster(rng, rank), tiles, bits)


def wmma(rng: random.Random) -> AmdWmma:
    rank = rng.choice((2, 2, 3))
    at, found = [1] * rank, list[tuple[int, ...]]()
    for _ in range(rng.randint(1, 4)):
        d = rng.randrange(rank - 2, rank) if len(found) else rank - 1
        found.append(tuple([at[d] if e == d else 0 for e in range(rank)]))
        at[d] *= 2
    cut = rng.randint(0, len(found))
    version = rng.randint(1, 3)
    depths = {1: (16,), 2: (16, 32), 3: (4, 32, 64, 128)}[version]
    shape = (32, 16, rng.choice((64, 128))) if version == 3 and rng.random() < 0.3 else (16, 16, rng.choice(depths))
    registers, warps = tuple(found[:cut]), tuple(found[cut:])
    return AmdWmma(version, rng.random() < 0.5, warps, registers, cluster(rng, rank), shape, rank)


def dot(rng: random.Random) -> DotOperand:
    parents: list[Callable[[random.Random], Any]] = [lambda rng: blocked(rng, rng.randint(2, 3)), nvidia, mfma, wmma]
    parent = rng.choice(parents)(rng)
    index = rng.randint(0, 1)
    if isinstance(parent, Blocked):
        return DotOperand(index, parent)
    if isinstance(parent, NvidiaMma) and parent.version_major == 3:
        index = 0
    width = power(rng, 4)
    if isinstance(parent, AmdWmma) and parent.version < 3:
        width = rng.choice((8, 16) if parent.version == 1 else (4, 8, 16))
    return DotOperand(index, parent, width)


def sliced(rng: random.Random) -> Slice:
    parent: Any = None
    while parent is None or parent.rank < 2:
        parent = rng.choice((blocked, linear, nvidia, mfma, wmma, dot))(rng)
    found = Slice(rng.randrange(parent.rank), parent)
    return Slice(rng.randrange(found.rank), found) if found.rank > 1 and rng.random() < 0.3 else found


def swizzled(rng: random.Random) -> SwizzledShared:
    n = rng.randint(1, 4)
    vec = 1 << rng.randint(0, 4) if rng.random() < 0.9 else rng.choice((0, 3, 6))
    return SwizzledShared(vec, power(rng, 3), power(rng, 4), shuffled(rng, n), cluster(rng, n))


def shared_linear(rng: random.Random) -> SharedLinear:
    one = linear(rng)
    every = [list(basis) for basis in (*one.lane, *one.warp, *one.register, *one.block)]
    for _ in range(3):  # invertible steps: still surjective
        a, b = rng.sample(range(len(every)), 2)
        every[a] = [x ^ y for x, y in zip(every[a], every[b], strict=True)]
    found: Bases = tuple(map(tuple, every))
    return SharedLinear(found[1:], found[:1], 16 * power(rng, 4))


def nvmma(rng: random.Random) -> NvmmaShared:
    rank = rng.choice((2, 2, 2, 3, 4))
    wide, bits = rng.choice((0, 32, 64, 128)), rng.choice((8, 16, 32))
    padded = bits == 8 and wide == 128 and rng.random() < 0.4
    return NvmmaShared(wide, not padded and rng.random() < 0.4, bits, padded, cluster(rng, rank), rank)


def partitioned(rng: random.Random) -> PartitionedShared:
    piece = SwizzledShared(power(rng, 3), power(rng, 2), power(rng, 3), shuffled(rng, 2))
    return PartitionedShared(power(rng, 2, 1), power(rng, 2), rng.randint(0, 1), piece)


def tensor_memory(rng: random.Random) -> TensorMemory | TensorMemoryScales:
    if rng.random() < 0.3:
        return TensorMemoryScales(cluster(rng, 2))
    two = rng.random() < 0.3
    cga = ((1, 0),) if two else cluster(rng, 2)
    padded = rng.random() < 0.2
    return TensorMemory(rng.choice((64, 128)), power(rng, 8, 3), power(rng, 2), cga, two, padded)


KINDS: list[Callable[[random.Random], Encoding]] = [
    blocked,
    sliced,
    linear,
    nvidia,
    mfma,
    wmma,
    dot,
    dot,
    swizzled,
    shared_linear,
    nvmma,
    partitioned,
    tensor_memory,
]


def shape_for(rng: random.Random, encoding: Encoding) -> tuple[int, ...]:
    if isinstance(encoding, SharedLinear):
        every = zip(*encoding.offset, *encoding.block, strict=True)
        return tuple([1 << max(column).bit_length() for column in every])
    low = 3 if isinstance(encoding, (NvmmaShared, TensorMemory, PartitionedShared)) else 0
    return tuple([power(rng, 8 if encoding.rank < 4 else 4, low) for _ in range(encoding.rank)])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_fresh_encodings_mean_what_triton_says(part: int, request: pytest.FixtureRequest) -> None:
    require_module("triton")
    rng = random.Random()
    seed = rng.getrandbits(32)
    rng.seed(seed)
    answered = 0
    while answered < 50:
        try:
            encoding = rng.choice(KINDS)(rng)
        except LayoutError:
            continue  # what no value can hold
        shape = shape_for(rng, encoding)
        space = SPACES[encoding.inputs]
        element = rng.choice(("i8", "f16", "f32"))
        if isinstance(encoding, NvmmaShared):
            element = {8: "i8", 16: "f16", 32: "f32"}[encoding.element_bits]
        asked = ask(readable(str(encoding), encoding.rank), shape, element, space)
        where = f"seed {seed}: {encoding} {shape} {element}"
        value: Any = TensorType(shape, element, encoding) if space == "tensor" else None
        try:
            if space != "tensor":
                memory = "#ttg.shared_memory" if space == "shared" else "#ttng.tensor_memory"
                value = MemDescType(shape, element, encoding, memory, True)
            found = bases(encoding, shape)
        except LayoutError as refused:
            assert asked is None, f"{where}: {refused}"
            continue
        if "offset" in found and not found["offset"]:
            continue  # Gluon has no object for a single element
        assert asked is not None, f"{where}: Triton refuses"
        # What Gluon's objects do not say: the block of tensor memory and the partitions.
        kept = {name: one for name, one in found.items() if name in asked["bases"]}
        assert kept == asked["bases"], where
        assert str(value) == asked["printed"], where
        assert bases(parse_encoding(asked["gluon"]), shape) == found, where
        answered += 1


def readable(text: str, rank: int) -> str:
    """A text with what Triton needs to read of a wmma, and does not print: its rank, and the warps where there are none."""
    rank += text.count("#ttg.slice<")

    def whole(match: re.Match[str]) -> str:
        inner = (
            match.group(2)
            if "warp = " in match.group(2)
            else match.group(2) + ", " * bool(match.group(2)) + "warp = []"
        )
        return f"{match.group(1)}{{{inner}}}, rank = {rank}"

    return re.sub(r"(#ttg\.amd_wmma<[^{]*\{[^{}]*)\{([^{}]*)\}", whole, text)


@pytest.mark.parametrize("name", ["padded", "rotating", "generic"])
def test_what_the_wheel_only_reads_is_printed_as_it_prints_it(name: str) -> None:
    require_module("triton")
    rng = random.Random(5)
    for _ in range(10):
        encoding: Encoding
        if name == "rotating":
            encoding = RotatingShared(power(rng, 3), power(rng, 2), power(rng, 3), shuffled(rng, 2))
        elif name == "generic":
            one = linear(rng)
            warps: Any = [list(basis) for basis in one.warp]
            warps[0] = [x | y for x, y in zip(warps[0], one.lane[0], strict=True)]
            encoding = GenericLinear(one.register, one.lane, tuple(map(tuple, warps)), one.block)
        else:
            one = linear(rng)
            offset = tuple(basis for basis in (*one.lane, *one.warp, *one.register) if any(basis))
            block = tuple(basis for basis in one.block if any(basis))
            try:
                encoding = PaddedShared(((power(rng, 6, 2), power(rng, 3)),), offset, block)
            except LayoutError:  # the block's bit is not above those of the offset
                encoding = PaddedShared(((power(rng, 6, 2), power(rng, 3)),), (*offset, *block))
        space = SPACES[encoding.inputs]
        own: Any = shape_for(rng, encoding)
        if not isinstance(encoding, RotatingShared):
            lists = [encoding.offset, encoding.block] if isinstance(encoding, PaddedShared) else [
                encoding.register, encoding.lane, encoding.warp, encoding.block  # type: ignore[attr-defined]
            ]  # fmt: skip
            own = tuple([1 << max(column).bit_length() for column in zip(*[b for o in lists for b in o], strict=True)])
        asked = ask(str(encoding), own, "f32", space, steps="read")
        try:
            parse_encoding(str(encoding)).to_linear(own)
        except LayoutError:
            assert asked is None, encoding
            continue
        assert asked is not None, f"{encoding} {own}"
        assert asked["printed"] == typed(str(encoding), own, "f32", space)


def test_gluon_s_own_objects_are_encodings() -> None:
    require_module("triton")
    layouts: Any = require_module("triton.experimental.gluon.language._layouts")
    amd: Any = require_module("triton.experimental.gluon.language.amd._layouts")
    parent = layouts.BlockedLayout([1, 4], [8, 4], [2, 2], [1, 0], cga_layout=[[0, 1]])
    for one in (
        parent,
        layouts.SliceLayout(1, parent),
        layouts.DotOperandLayout(0, layouts.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]), 2),
        layouts.SwizzledSharedLayout(8, 1, 8, [1, 0]),
        layouts.NVMMASharedLayout(128, 16),
        layouts.PaddedSharedLayout.with_identity_for([[4, 2]], [4, 8], [1, 0]),
        amd.AMDMFMALayout(3, [32, 32, 8], True, [2, 2]),
        amd.AMDWMMALayout(2, False, [[0, 1], [1, 0]]),
    ):
        assert as_encoding(one) == parse_encoding(repr(one))
    with pytest.raises(LayoutError, match="placeholder"):
        as_encoding(layouts.AutoLayout())
