"""Every relation says exactly which elements of a result depend on which of an operand, as the simulator computes them."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from tests.flow.relations.dependencies import Value, measured, said

Case = tuple[str, list[Value], list[Value], int]
SEEDS = range(4)
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)


def shape(rng: random.Random, low: int = 1, high: int = 3, most: int = 96) -> tuple[int, ...]:
    """A random shape with few elements; primes and ones among the sizes."""
    while True:
        found = tuple(rng.choice(SIZES) for _ in range(rng.randint(low, high)))
        if np.prod(found) <= most:
            return found


def vector(name: str, sizes: tuple[int, ...], element: str = "f32") -> Value:
    return Value(name, sizes, element)


def elementwise(rng: random.Random) -> Case:
    a, b = (vector(name, shape(rng)) for name in "ab")
    b = vector("b", a.shape)
    r = vector("r", a.shape)
    text = rng.choice([
        f"%r = arith.addf %a, %b : {a.type}",
        f"%r = math.fma %a, %b, %a : {a.type}",
        f"%r = arith.mulf %a, %b : {a.type}",
        f"%r = vector.fma %a, %b, %b : {a.type}",
    ])  # fmt: skip
    return text, [a, b], [r], 0


def selecting(rng: random.Random) -> Case:
    sizes = shape(rng)
    a, b, c, r = vector("a", sizes), vector("b", sizes), vector("c", sizes, "i1"), vector("r", sizes)
    return f"%r = arith.select %c, %a, %b : {c.type}, {a.type}", [a, b, c], [r], 0


def converting(rng: random.Random) -> Case:
    a = vector("a", shape(rng))
    r = vector("r", a.shape, "f16")
    return f"%r = arith.truncf %a : {a.type} to {r.type}", [a], [r], 0


def transposing(rng: random.Random) -> Case:
    a = vector("a", shape(rng))
    order = rng.sample(range(len(a.shape)), len(a.shape))
    r = vector("r", tuple(a.shape[dim] for dim in order))
    return f"%r = vector.transpose %a, {order} : {a.type} to {r.type}", [a], [r], 0


def broadcasting(rng: random.Random) -> Case:
    inner = shape(rng, 1, 2, 24)
    source = tuple(1 if rng.random() < 0.4 else size for size in inner)
    a, r = vector("a", source), vector("r", (*shape(rng, 0, 1, 4), *inner))
    return f"%r = vector.broadcast %a : {a.type} to {r.type}", [a], [r], 0


def shape_casting(rng: random.Random) -> Case:
    digits = [rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(2, 4))]

    def grouped() -> tuple[int, ...]:
        found, left = list[int](), list(digits)
        while left:
            take = rng.randint(1, len(left))
            found.append(int(np.prod(left[:take])))
            del left[:take]
        return (*(1 for _ in range(rng.randint(0, 1))), *found)

    a, r = vector("a", grouped()), vector("r", grouped())
    return f"%r = vector.shape_cast %a : {a.type} to {r.type}", [a], [r], 0


def bitcasting(rng: random.Random) -> Case:
    outer = shape(rng, 0, 1, 8)
    a = vector("a", (*outer, rng.choice((2, 4, 6, 12))), "i16")
    wide = rng.random() < 0.5
    r = vector("r", (*outer, a.shape[-1] // 2 if wide else a.shape[-1] * 2), "i32" if wide else "i8")
    return f"%r = vector.bitcast %a : {a.type} to {r.type}", [a], [r], 0


def slicing(rng: random.Random) -> Case:
    a = vector("a", shape(rng, 1, 3))
    count = rng.randint(1, len(a.shape))
    sizes = [rng.randint(1, size) for size in a.shape[:count]]
    offsets = [rng.randint(0, size - part) for size, part in zip(a.shape, sizes, strict=False)]
    r = vector("r", (*sizes, *a.shape[count:]))
    written = f"offsets = {offsets}, sizes = {sizes}, strides = {[1] * count}"
    written = f"{{{written}}}" if rng.random() < 0.5 else written
    return f"%r = vector.extract_strided_slice %a {written} : {a.type} to {r.type}", [a], [r], 0


def inserting_slices(rng: random.Random) -> Case:
    b = vector("b", shape(rng, 1, 3))
    count = rng.randint(1, len(b.shape))
    part = [rng.randint(1, size) for size in b.shape[len(b.shape) - count :]]
    a, r = vector("a", tuple(part)), vector("r", b.shape)
    sizes = [1] * (len(b.shape) - count) + part
    offsets = [rng.randint(0, size - one) for size, one in zip(b.shape, sizes, strict=True)]
    written = f"offsets = {offsets}, strides = {[1] * count}"
    written = f"{{{written}}}" if rng.random() < 0.5 else written
    return f"%r = vector.insert_strided_slice %a, %b {written} : {a.type} into {b.type}", [a, b], [r], 0


def extracting(rng: random.Random) -> Case:
    a = vector("a", shape(rng, 1, 3))
    count = rng.randint(1, len(a.shape))
    position = [rng.randrange(size) for size in a.shape[:count]]
    r = vector("r", a.shape[count:])
    return f"%r = vector.extract %a{position} : {r.type} from {a.type}", [a], [r], 0


def inserting(rng: random.Random) -> Case:
    b = vector("b", shape(rng, 2, 3))
    count = rng.randint(1, len(b.shape) - 1)
    position = [rng.randrange(size) for size in b.shape[:count]]
    a, r = vector("a", b.shape[count:]), vector("r", b.shape)
    return f"%r = vector.insert %a, %b{position} : {a.type} into {b.type}", [a, b], [r], 0


def interleaving(rng: random.Random) -> Case:
    a = vector("a", shape(rng, 1, 2, 40))
    b, r = vector("b", a.shape), vector("r", (*a.shape[:-1], 2 * a.shape[-1]))
    return f"%r = vector.interleave %a, %b : {a.type} -> {r.type}", [a, b], [r], 0


def deinterleaving(rng: random.Random) -> Case:
    r = vector("r", shape(rng, 1, 2, 40))
    a, s = vector("a", (*r.shape[:-1], 2 * r.shape[-1])), vector("s", r.shape)
    return f"%r, %s = vector.deinterleave %a : {a.type} -> {r.type}", [a], [r, s], 0


def shuffling(rng: random.Random) -> Case:
    inner = shape(rng, 0, 1, 3)
    a, b = (vector(name, (rng.choice((2, 4, 8)), *inner)) for name in "ab")
    rows = a.shape[0] + b.shape[0]
    mask = rng.choice([
        list(range(0, rows, 2)),
        list(range(1, rows)),
        [*range(a.shape[0], rows), *range(a.shape[0])],
        [row for row in range(a.shape[0]) for _ in range(2)],
        [a.shape[0] - 1, 0, rows - 1],
    ])  # fmt: skip
    r = vector("r", (len(mask), *inner))
    return f"%r = vector.shuffle %a, %b {mask} : {a.type}, {b.type}", [a, b], [r], 0


def reducing(rng: random.Random) -> Case:
    a = vector("a", shape(rng, 2, 3, 60))
    dims = sorted(rng.sample(range(len(a.shape)), rng.randint(1, len(a.shape) - 1)))
    kept = tuple(size for dim, size in enumerate(a.shape) if dim not in dims)
    b, r = vector("b", kept), vector("r", kept)
    return f"%r = vector.multi_reduction <add>, %a, %b {dims} : {a.type} to {r.type}", [a, b], [r], 0


def reducing_all(rng: random.Random) -> Case:
    a, r = vector("a", (rng.choice(SIZES),)), vector("r", ())
    if rng.random() < 0.5:
        return f"%r = vector.reduction <add>, %a : {a.type} into f32", [a], [r], 0
    dims = [0]
    return (
        f"%z = arith.constant 0.0 : f32\n%r = vector.multi_reduction <add>, %a, %z {dims} : {a.type} to f32",
        [a], [r], 0,
    )  # fmt: skip


def contracting(rng: random.Random) -> Case:
    m, n, k = (rng.choice((1, 2, 3, 4, 5)) for _ in range(3))
    left, right, made = rng.choice([
        ("d0, d2", "d2, d1", "d0, d1"),
        ("d2, d0", "d2, d1", "d0, d1"),
        ("d0, d2", "d1, d2", "d1, d0"),
        ("d0, d2", "d2, d1", "d1, d0"),
    ])  # fmt: skip
    sizes = {"d0": m, "d1": n, "d2": k}
    a, b, c = (
        vector(name, tuple(sizes[dim] for dim in dims.split(", ")))
        for name, dims in (("a", left), ("b", right), ("c", made))
    )
    maps = ", ".join(f"affine_map<(d0, d1, d2) -> ({dims})>" for dims in (left, right, made))
    trait = f'{{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>}}'
    return (
        f"%r = vector.contract {trait} %a, %b, %c : {a.type}, {b.type} into {c.type}",
        [a, b, c], [vector("r", c.shape)], 0,
    )  # fmt: skip


def outer_products(rng: random.Random) -> Case:
    a, b = vector("a", (rng.choice(SIZES[:8]),)), vector("b", (rng.choice(SIZES[:8]),))
    c = vector("c", (a.shape[0], b.shape[0]))
    return f"%r = vector.outerproduct %a, %b, %c : {a.type}, {b.type}", [a, b, c], [vector("r", c.shape)], 0


def matrix_products(rng: random.Random) -> Case:
    m, n, k = rng.choice(((1, 16, 16), (3, 16, 16), (8, 16, 16)))
    a, b, c = vector("a", (m, k), "f16"), vector("b", (k, n), "f16"), vector("c", (m, n))
    if m == 8:
        k = 8
    return (
        f"%r = xegpu.dpas %a, %b, %c : {a.type}, {b.type}, {c.type} -> {c.type}",
        [a, b, c], [vector("r", c.shape)], 0,
    )  # fmt: skip


def gathering(rng: random.Random) -> Case:
    chunk = rng.choice((0, 2, 4))
    o, m = vector("o", (16,), "index"), vector("m", (16,), "i1")
    r = vector("r", (16, chunk) if chunk else (16,))
    hint = f" <{{chunk_size = {chunk} : i64}}>" if chunk else ""
    return f"%r = xegpu.load %p[%o], %m{hint} : memref<256xf32>, {o.type}, {m.type} -> {r.type}", [o, m], [r], 256


def gathering_vectors(rng: random.Random) -> Case:
    sizes = shape(rng, 1, 2, 24)
    o, m, b = vector("o", sizes, "index"), vector("m", sizes, "i1"), vector("b", sizes)
    text = f"%r = vector.gather %p[%c0] [%o], %m, %b : memref<256xf32>, {o.type}, {m.type}, {b.type} into {b.type}"
    return text, [o, m, b], [vector("r", sizes)], 256


def masked_loads(rng: random.Random) -> Case:
    m, b = vector("m", (rng.choice(SIZES),), "i1"), None
    b = vector("b", m.shape)
    text = f"%r = vector.maskedload %p[%c0], %m, %b : memref<256xf32>, {m.type}, {b.type} into {b.type}"
    return text, [m, b], [vector("r", m.shape)], 256


def conversions(rng: random.Random) -> Case:
    a = vector("a", (16, 16))
    one, other = (f"#xegpu.layout<lane_layout = {lanes}, lane_data = [1, 1]>" for lanes in ("[1, 16]", "[16, 1]"))
    text = f"%r = xegpu.convert_layout %a <{{input_layout = {one}, target_layout = {other}}}> : {a.type}"
    return text, [a], [vector("r", a.shape)], 0


def extended(rng: random.Random) -> Case:
    sizes = shape(rng)
    a, b = vector("a", sizes, "i32"), vector("b", sizes, "i32")
    text = f"%r, %s = arith.mulsi_extended %a, %b : {a.type}"
    return text, [a, b], [vector("r", sizes, "i32"), vector("s", sizes, "i32")], 0


def transfer_masks(rng: random.Random) -> Case:
    """The mask has the dimensions of memory; the vector may have them in another order, and repeated ones."""
    rows, columns = rng.choice((2, 3, 4)), rng.choice((2, 5, 8))
    exprs, mask, result = rng.choice([
        ("(j, i)", (rows, columns), (columns, rows)),
        ("(i, j)", (rows, columns), (rows, columns)),
        ("(0, j)", (columns,), (rows, columns)),
        ("(j, 0)", (columns,), (columns, rows)),
        ("(i, 0, j)", (rows, columns), (rows, 3, columns)),
    ])  # fmt: skip
    m, r = vector("m", mask, "i1"), vector("r", result)
    text = f"""%view = memref.expand_shape %p [[0, 1]] output_shape [16, 16] : memref<256xf32> into memref<16x16xf32>
        %pad = arith.constant -1.0 : f32
        %r = vector.transfer_read %view[%c0, %c0], %pad, %m
          {{in_bounds = {["true" for _ in result]}, permutation_map = affine_map<(i, j) -> {exprs}>}}
          : memref<16x16xf32>, {r.type}""".replace("'", "")
    return text, [m], [r], 256


def masked_reductions(rng: random.Random) -> Case:
    a = vector("a", (rng.choice((3, 4)), rng.choice((2, 5))))
    dim = rng.randrange(2)
    b, m = vector("b", (a.shape[1 - dim],)), vector("m", a.shape, "i1")
    text = f"""%a = arith.constant dense<2.0> : {a.type} %b = arith.constant dense<0.0> : {b.type}
        %r = vector.mask %m {{ vector.multi_reduction <add>, %a, %b [{dim}] : {a.type} to {b.type} }}
        : {m.type} -> {b.type}"""
    return text, [m], [vector("r", b.shape)], 0


def masked_sums(rng: random.Random) -> Case:
    a = vector("a", (rng.choice((3, 8)),))
    m = vector("m", a.shape, "i1")
    text = f"""%a = arith.constant dense<2.0> : {a.type}
        %r = vector.mask %m {{ vector.reduction <add>, %a : {a.type} into f32 }} : {m.type} -> f32"""
    return text, [m], [vector("r", ())], 0


def descriptors_of_points(rng: random.Random) -> Case:
    """The offsets are an operand of the operation that makes the descriptor."""
    chunk = rng.choice((1, 4))
    o, m, r = vector("o", (16,), "index"), vector("m", (16,), "i1"), vector("r", (16, chunk) if chunk > 1 else (16,))
    kind = f"!xegpu.tensor_desc<{r.type[7:-1]}, #xegpu.scatter_tdesc_attr<chunk_size = {chunk}>>"
    text = f"""%t = xegpu.create_tdesc %p, %o : memref<256xf32>, {o.type} -> {kind}
        %r = xegpu.load %t, %m : {kind}, {m.type} -> {r.type}"""
    return text, [o, m], [r], 256


CASES: list[Callable[[random.Random], Case]] = [
    elementwise, selecting, converting, transposing, broadcasting, shape_casting, bitcasting, slicing, inserting_slices,
    extracting, inserting, interleaving, deinterleaving, shuffling, reducing, reducing_all, contracting, outer_products,
    matrix_products, transfer_masks, masked_reductions, masked_sums, descriptors_of_points,
    gathering, gathering_vectors, masked_loads, conversions,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_relation_says_what_the_simulator_computes(case: Callable[[random.Random], Case], seed: int) -> None:
    body, operands, results, memory = case(random.Random(seed))
    found, expected = said(body, operands, results), measured(body, operands, results, seed, memory)
    for key, changes in expected.items():
        missing, more = np.argwhere(changes & ~found[key]), np.argwhere(found[key] & ~changes)
        assert not len(missing), f"{body}\n{key}: element {missing[0][0]} changes element {missing[0][1]}, unsaid"
        assert not len(more), (
            f"{body}\n{key}: element {more[0][0]} does not change element {more[0][1]}, and it is said to"
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_high_half_of_a_product_depends_on_no_more_than_said(seed: int) -> None:
    """Small factors leave the high half 0 whatever they are, so only one direction can be measured."""
    body, operands, results, memory = extended(random.Random(seed))
    found, expected = said(body, operands, results), measured(body, operands, results, seed, memory)
    assert all(not (changes & ~found[key]).any() for key, changes in expected.items())
    assert all((found[name, "r"] == found[name, "s"]).all() for name in "ab")


@pytest.mark.parametrize("dim", [0, 1])
def test_a_scan_needs_at_most_the_whole_dimension(dim: int) -> None:
    a, b = Value("a", (4, 6), "f32"), Value("b", (6,) if dim == 0 else (4,), "f32")
    r, s = Value("r", a.shape, "f32"), Value("s", b.shape, "f32")
    body = f"%r, %s = vector.scan <add>, %a, %b {{inclusive = true, reduction_dim = {dim} : i64}} : {a.type}, {b.type}"
    found, expected = said(body, [a, b], [r, s]), measured(body, [a, b], [r, s])
    assert all(not (changes & ~found[key]).any() for key, changes in expected.items())
    last = [row * 6 + 5 if dim else 18 + row for row in range(4 if dim else 6)]
    assert np.array_equal(expected["a", "r"][:, last], found["a", "r"][:, last])


def test_a_dynamic_extract_needs_every_row() -> None:
    a, i = Value("a", (4, 3), "f32"), Value("i", (1,), "index")
    body = """%n = vector.extract %i[0] : index from vector<1xindex>
              %r = vector.extract %a[%n] : vector<3xf32> from vector<4x3xf32>"""
    found = said(body, [a, i], [Value("r", (3,), "f32")])["a", "r"]
    assert np.array_equal(found, np.tile(np.eye(3, dtype=bool), (4, 1)))
