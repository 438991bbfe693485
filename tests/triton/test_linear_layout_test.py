"""Triton's own unit tests of LinearLayout, against ours under the same names.

The expectations are those of unittest/Tools/LinearLayoutTest.cpp (185 assertions) and
python/test/unit/tools/test_linear_layout.py (11 tests) of triton-lang/triton. Not about layouts, and left out:

| test | why |
|---|---|
| ColumnActionApplyValues (2 assertions) | permutes MLIR values |
| ConstructLargeLayout (none) | a benchmark |
| EmptyToString (1) | begins with a line break there; ours is `table()`, compared with the wheel's in tests/oracle |
| ErrorOnInconsistentOrder (1) | a death test; here it is an error in words |
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from layoutalg.core import ConversionError
from layoutalg.triton import LinearLayout
from layoutalg.triton.algebra import supremum

identity, zeros, strided = LinearLayout.identity_1d, LinearLayout.zeros_1d, LinearLayout.strided_1d
NO_BASES: list[Any] = []


def layout(bases: dict[str, list[Any]], outs: list[str] | dict[str, int]) -> LinearLayout:
    """One-dimensional bases may be plain numbers; sizes of outputs mean that it need not be surjective."""
    read = [(name, [[b] if isinstance(b, int) else b for b in one]) for name, one in bases.items()]
    if isinstance(outs, dict):
        return LinearLayout.from_bases(read, list(outs), list(outs.values()), False)
    return LinearLayout.from_bases(read, outs)


# Making them


def test_empty() -> None:
    empty = LinearLayout.empty()
    assert empty.bases == ()
    assert empty.get_in_dim_names() == ()
    assert empty.get_out_dim_names() == ()
    assert empty.table() == "(empty layout)"


@pytest.mark.parametrize(("size", "bases"), [(32, [1, 2, 4, 8, 16]), (1, NO_BASES)])
def test_identity_1d(size: int, bases: list[int]) -> None:
    found = identity(size, "ins", "outs")
    assert found == layout({"ins": bases}, ["outs"])
    assert found.get_in_dim_names() == ("ins",)
    assert found.get_out_dim_names() == ("outs",)
    assert found.get_in_dim_size("ins") == found.get_out_dim_size("outs") == size


def test_zeros_1d() -> None:
    assert zeros(32, "ins", "outs") == layout({"ins": [0] * 5}, ["outs"])


# Products


def test_multiply_identity() -> None:
    found = identity(16, "in", "out") * identity(32, "in", "out")
    assert found == layout({"in": [1 << i for i in range(9)]}, ["out"])
    assert (found.get_in_dim_names(), found.get_out_dim_names()) == (("in",), ("out",))


def test_multiply_disjoint() -> None:
    found = identity(32, "in1", "out1") * identity(16, "in2", "out2")
    rows = {"in1": [[1 << i, 0] for i in range(5)], "in2": [[0, 1 << i] for i in range(4)]}
    assert found == layout(rows, ["out1", "out2"])
    assert (found.get_in_dim_names(), found.get_out_dim_names()) == (("in1", "in2"), ("out1", "out2"))


def test_multiply_by_empty() -> None:
    assert LinearLayout.empty() * identity(32, "in", "out") == identity(32, "in", "out")
    product_ = LinearLayout.empty()
    product_ *= identity(32, "in", "out")
    assert product_ == identity(32, "in", "out")


def test_multiply_by_zeros() -> None:
    assert identity(8, "in", "out") * zeros(16, "in", "out") == layout({"in": [1, 2, 4, 0, 0, 0, 0]}, ["out"])
    degenerate = zeros(16, "in", "out1") * layout({"in": []}, ["out2"])
    assert degenerate == layout({"in": [[0, 0]] * 4}, ["out1", "out2"])
    assert identity(0, "in", "out") * zeros(4, "in", "out") == layout({"in": [0, 0]}, ["out"])


def test_multiply_overlapping() -> None:
    found = identity(4, "in", "out1") * identity(8, "in", "out2")
    assert found == layout({"in": [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4]]}, ["out1", "out2"])


def test_out_dim_size() -> None:
    assert layout({"in0": [0, 0, 0], "in1": [1, 2]}, ["dim0"]).get_out_dim_size("dim0") == 4


# Order and shape


def test_transpose_outs() -> None:
    found = (identity(32, "in1", "out1") * identity(16, "in2", "out2")).transpose_outs(["out2", "out1"])
    rows = {"in1": [[0, 1 << i] for i in range(5)], "in2": [[1 << i, 0] for i in range(4)]}
    assert found.get_out_dim_names() == ("out2", "out1")
    assert found == layout(rows, ["out2", "out1"])
    degenerate = (identity(32, "in1", "out1") * identity(1, "in2", "out2")).transpose_outs(["out2", "out1"])
    assert degenerate.get_out_dim_names() == ("out2", "out1")
    assert degenerate == layout({"in1": [[0, 1 << i] for i in range(5)], "in2": []}, ["out2", "out1"])


def test_transpose_ins() -> None:
    found = (identity(32, "in1", "out1") * identity(16, "in2", "out2")).transpose_ins(["in2", "in1"])
    rows = {"in2": [[0, 1 << i] for i in range(4)], "in1": [[1 << i, 0] for i in range(5)]}
    assert found.get_in_dim_names() == ("in2", "in1")
    assert found == layout(rows, ["out1", "out2"])


@pytest.mark.parametrize(
    ("bases", "sizes", "wanted"),
    [
        ({"in1": [1, 4, 8], "in2": [2]}, {"in3": 2, "in4": 8}, {"in3": [1], "in4": [4, 8, 2]}),
        ({"in1": [1, 4, 2], "in2": []}, {"in3": 4, "in4": 2}, {"in3": [1, 4], "in4": [2]}),
        ({"in1": [1, 4], "in2": [2]}, {"in3": 8, "in4": 1}, {"in3": [1, 4, 2], "in4": []}),
        ({"in1": [1, 4], "in2": [2]}, {"in3": 1, "in4": 8}, {"in3": [], "in4": [1, 4, 2]}),
    ],
)
def test_reshape_ins(bases: dict[str, Any], sizes: dict[str, int], wanted: dict[str, Any]) -> None:
    assert layout(bases, ["out"]).reshape_ins(sizes.items()) == layout(wanted, ["out"])


def test_flatten_ins() -> None:
    assert layout({"in1": [1, 4, 8], "in2": [2]}, ["out"]).flatten_ins() == layout({"in1": [1, 4, 8, 2]}, ["out"])


@pytest.mark.parametrize("bases", [{"in1": []}, {}], ids=str)
@pytest.mark.parametrize("outs", [["out"], []], ids=str)
def test_flattening_nothing_changes_nothing(bases: dict[str, Any], outs: list[str]) -> None:
    one = layout(bases, outs)
    assert one.flatten_ins() == one
    assert one.flatten_outs() == one


def test_reshape_outs() -> None:
    one = layout({"in1": [1, 4, 8], "in2": [3]}, ["out"])
    assert 1 << one.out_bits == 16
    wanted = {"in1": [[1, 0], [0, 2], [0, 4]], "in2": [[1, 1]]}
    assert one.reshape_outs([("out2", 2), ("out3", 8)]) == layout(wanted, ["out2", "out3"])
    one = layout({"in1": [1, 4, 2], "in2": []}, ["out"])
    wanted = {"in1": [[1, 0], [0, 1], [2, 0]], "in2": []}
    assert one.reshape_outs([("out1", 4), ("out2", 2)]) == layout(wanted, ["out1", "out2"])
    one = layout({"in1": [1, 4], "in2": [2]}, ["out"])
    wanted = {"in1": [[1, 0], [4, 0]], "in2": [[2, 0]]}
    assert one.reshape_outs([("out1", 8), ("out2", 1)]) == layout(wanted, ["out1", "out2"])


def test_flatten_outs() -> None:
    one = layout({"in1": [[1, 0], [4, 1], [8, 4]], "in2": [[3, 2]]}, {"out1": 16, "out2": 8})
    assert one.flatten_outs() == layout({"in1": [1, 4 + 16, 8 + 4 * 16], "in2": [3 + 2 * 16]}, {"out1": 128})


# Application and composition


def test_apply() -> None:
    one = layout({"in1": [[4, 2], [2, 1], [1, 0]], "in2": [[1, 2], [2, 1]]}, {"out1": 8, "out2": 4})
    assert one.apply({"in1": 0, "in2": 0}) == {"out1": 0, "out2": 0}
    assert one.apply({"in2": 0, "in1": 1}) == {"out1": 4, "out2": 2}
    assert one.apply({"in2": 1, "in1": 0}) == {"out1": 1, "out2": 2}


def test_compose() -> None:
    first = layout({"in1": [[1, 1], [0, 1]], "in2": [[1, 0], [1, 2]]}, ["out1", "out2"])
    second = layout({"out1": [[2, 2], [1, 0]], "out2": [[1, 1], [2, 1]]}, ["out3", "out4"])
    both = first.compose(second)
    assert both == layout({"in1": [[3, 3], [1, 1]], "in2": [[2, 2], [0, 3]]}, {"out3": 4, "out4": 4})
    assert not both.is_surjective()


def test_compose_in_four_dimensions() -> None:
    first = layout(
        {
            "in0": [[1, 0, 0, 0], [2, 0, 0, 0]],
            "in1": [[4, 0, 0, 0], [8, 0, 0, 0], [16, 0, 0, 0], [32, 0, 0, 0]],
            "in2": [[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 2]],
            "in3": [],
        },
        {"out3": 64, "out0": 1, "out1": 2, "out2": 4},
    )
    second = layout(
        {
            "out3": [[1, 0, 0, 0], [2, 0, 0, 0], *[[0, 0, 0, 0]] * 4],
            "out0": [[0, 1, 0, 0]],
            "out1": [[0, 0, 1, 0]],
            "out2": [[0, 0, 0, 1], [0, 0, 0, 2]],
        },
        ["out3", "out2", "out1", "out0"],
    )
    wanted = {
        "in0": [[1, 0, 0, 0], [2, 0, 0, 0]],
        "in1": [[0, 0, 0, 0]] * 4,
        "in2": [[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 2]],
        "in3": [],
    }
    assert first.compose(second) == layout(wanted, {"out3": 4, "out2": 2, "out1": 2, "out0": 4})


INVERTED = [
    # (A, B, C = A.invert_and_compose(B), sizes of C)
    ({"in1": [2, 1, 4]}, {"in2": [4, 1, 2]}, {"in1": [4, 2, 1]}, {"in2": 8}),
    ({"in1": [2, 1, 4]}, {"in2": [0, 2, 1, 4]}, {"in1": [2, 4, 8]}, {"in2": 16}),
    ({"in1": [2, 1, 4], "in2": [0]}, {"in": [4, 1, 2]}, {"in1": [4, 2, 1], "in2": [0]}, {"in": 8}),
    ({"in": [1, 2, 4]}, {"in": [0, 4, 1, 2]}, {"in": [4, 8, 2]}, {"in": 16}),
    ({"in1": [1, 2, 4]}, {"in2": [4, 1, 2, 0]}, {"in1": [2, 4, 1]}, {"in2": 16}),
    ({"in": [1, 2, 4]}, {"in": [0, 4, 1, 2, 0]}, {"in": [4, 8, 2]}, {"in": 32}),
    (
        {"in1": [1, 2, 4], "in2": [0]},
        {"in3": [1, 2, 4], "in4": [0]},
        {"in1": [[1, 0], [2, 0], [4, 0]], "in2": [[0, 0]]},
        {"in3": 8, "in4": 2},
    ),
    (
        {"in1": [1, 2], "in2": [0]},
        {"in3": [2, 1], "in4": [0]},
        {"in1": [[2, 0], [1, 0]], "in2": [[0, 0]]},
        {"in3": 4, "in4": 2},
    ),
]


@pytest.mark.parametrize(("a", "b", "wanted", "sizes"), INVERTED, ids=str)
def test_invert_and_compose(a: Any, b: Any, wanted: Any, sizes: dict[str, int]) -> None:
    first, second = layout(a, ["out"]), layout(b, ["out"])
    found = first.invert_and_compose(second)
    assert found == layout(wanted, sizes)
    assert found.is_surjective() == (sum(s.bit_length() - 1 for s in sizes.values()) == found.matrix_rank)
    assert found.compose(second) == first


def test_invert_and_compose_of_several_dimensions() -> None:
    first = layout({"in1": [[1, 0], [0, 1], [2, 0], [3, 2]], "in2": [[2, 2]]}, ["out1", "out2"])
    second = layout({"in3": [[0, 1], [1, 0], [0, 0], [0, 2], [2, 1]]}, ["out2", "out1"])
    for a, b in ((first, second), (second, first)):
        assert a.invert_and_compose(b).compose(b) == a.transpose_outs(b.get_out_dim_names())


def test_an_input_that_both_have_stays() -> None:
    """Registers are the same in both; lanes and warps change places."""
    one = [[1 if d == e else 0 for d in range(9)] for e in range(9)]
    outs = [f"dim{d}" for d in range(9)]
    registers = [one[8], one[7]]
    source = layout(
        {"register": registers, "lane": [one[d] for d in (6, 5, 4, 3, 2)], "warp": [one[1], one[0]], "block": []}, outs
    )
    target = layout({"register": registers, "lane": one[:5], "warp": [one[5], one[6]], "block": []}, outs)
    place = {"register": 3, "lane": 0, "warp": 2, "block": 0}
    assert target.apply(place) == source.apply(target.invert_and_compose(source).apply(place))


# What can be asked


def test_num_consecutive_in_out() -> None:
    for wanted, one in (
        (1, identity(1, "in", "out")),
        (4, identity(4, "in", "out")),
        (4, identity(4, "in1", "out") * identity(8, "in2", "out")),
        (4, identity(4, "in", "out1") * identity(8, "in", "out2")),
        (1, zeros(4, "in", "out1") * identity(4, "in", "out2")),
        (1, layout({"in": [1, 2, 4, 9]}, ["out"])),
        (2, layout({"in": [1, 2, 4, 10]}, ["out"])),
        (2, layout({"in": [1, 4, 2]}, ["out"])),
        (2, layout({"in": [1, 2, 4], "in2": [8, 18]}, ["out"])),
    ):
        assert one.get_num_consecutive_in_out() == wanted


def test_equality_looks_at_sizes_of_outputs() -> None:
    larger = layout({"in": [1, 2]}, {"out": 8})
    assert identity(4, "in", "out") != larger
    assert identity(4, "in", "out").equal_ignoring_out_dim_sizes(larger)


def test_sublayout() -> None:
    one = layout({"in1": [[1, 0], [0, 1], [2, 0]], "in2": [[0, 1]]}, ["out1", "out2"])
    first = layout({"in1": [1, 0, 2], "in2": [0]}, ["out1"])
    assert one.sublayout(["in1", "in2"], ["out1"]) == first
    assert one.sublayout(["in2", "in1"], ["out1"]) == first
    assert one.sublayout(["in2", "in1"], ["out2", "out1"]) == one
    assert one.sublayout(["in1"], ["out1"]) == layout({"in1": [1, 0, 2]}, ["out1"])
    assert one.sublayout([], []) == LinearLayout.empty()
    assert one.sublayout(["in1"], []) == layout({"in1": [[], [], []]}, [])
    assert one.sublayout([], ["out1"]) == layout({}, {"out1": 4})


def test_sublayout_is_zero() -> None:
    one = identity(4, "in", "out")
    assert not one.sublayout_is_zero(["in"], ["out"])
    assert one.sublayout_is_zero([], ["out"])
    assert one.sublayout_is_zero(["in"], [])
    assert one.sublayout_is_zero([], [])
    one = layout({"in1": [[0, 1], [0, 2]], "in2": [[1, 1]]}, ["out1", "out2"])
    assert one.sublayout_is_zero(["in1"], ["out1"])
    assert not one.sublayout_is_zero(["in1"], ["out2"])
    assert not one.sublayout_is_zero(["in2"], ["out1"])
    assert not one.sublayout_is_zero(["in2"], ["out2"])


def test_free_variable_masks() -> None:
    assert identity(4, "in", "out").get_free_variable_masks() == {"in": 0}
    assert zeros(16, "in", "out").get_free_variable_masks() == {"in": 0b1111}
    one = identity(2, "in", "out") * zeros(4, "in", "out") * identity(4, "in", "out") * zeros(2, "in", "out")
    assert one.get_free_variable_masks() == {"in": 0b100110}
    one = layout({"in1": [[1, 1], [2, 2], [0, 0]], "in2": [[1, 0], [0, 1], [2, 0]]}, ["out1", "out2"])
    assert one.get_free_variable_masks() == {"in1": 0b100, "in2": 0b10}


# Quotients


def test_quotient() -> None:
    one = layout({"dim1": [[1, 0]], "dim2": [[0, 0]]}, {"dim1": 2, "dim2": 1})
    rest = one.quotient(["dim1"])
    assert rest is not None
    assert rest == zeros(2, "dim2", "dim2")
    assert rest.quotient(["dim2"]) is None
    both = layout({"dim1": [[1, 0], [2, 0], [4, 0]], "dim2": [[0, 1], [0, 2]]}, ["dim1", "dim2"])
    assert both.quotient(["dim1", "dim2"]) is not None
    assert LinearLayout.empty().quotient(["dim1"]) is None


def test_quotient_over_a_dimension_that_others_leave_alone() -> None:
    names = ["dim1", "dim2", "dim3"]
    middle = [[0, 1, 0], [0, 2, 0], [0, 4, 0]]
    one = {"dim1": [[1, 0, 2], [2, 0, 1]], "dim2": middle, "dim3": [[0, 0, 1], [0, 0, 2]]}
    assert layout(one, names).quotient(["dim2"]) is not None
    one["dim3"] = [[0, 1, 1], [0, 0, 2]]
    assert layout(one, names).quotient(["dim2"]) is None


def test_quotients_of_an_identity() -> None:
    one = identity(8, "dim1", "dim1") * identity(2, "dim2", "dim2") * identity(4, "dim3", "dim3")
    rest = one.quotient(["dim1", "dim3"])
    assert rest is not None
    assert rest.quotient(["dim2"]) is not None


# Blackwell's padded and swizzled operands of four bits


def padded_offsets(rows: int, packed: int) -> LinearLayout:
    def offset(row: int, column: int) -> int:
        at = row * packed + column
        return at // 8 * 16 + at % 8

    bases = {
        "row": [offset(1 << i, 0) for i in range(rows.bit_length() - 1)],
        "col": [offset(0, 1 << i) for i in range(packed.bit_length() - 1)],
    }
    return layout(bases, {"offset": rows * packed * 2})


def test_pseudo_inverse_of_padded_operands() -> None:
    rows, packed = 16, 4
    places = [(1 << i) // 16 * 8 + (1 << i) % 8 for i in range(7)]
    found = layout({"offset": [[at // packed, at % packed] for at in places]}, ["row", "col"]).pseudoinvert()
    wanted = padded_offsets(rows, packed)
    for i, j in product(range(rows), range(packed)):
        assert found.apply({"row": i, "col": j}) == wanted.apply({"row": i, "col": j})


def test_pseudo_inverse_of_swizzled_operands() -> None:
    rows, padded, packed = 16, 128, 64
    columns = [(1 << i) // 16 * 8 + (1 << i) % 8 for i in range(7)]
    swizzled = [[row, 16 * row // 16 * 8] for row in (1, 2, 4)]
    one = layout({"offset": [*[[0, column] for column in columns], *swizzled, [8, 0]]}, ["row", "col"])
    found, plain = one.pseudoinvert(), padded_offsets(rows, packed)
    for i, j in product(range(rows), range(packed)):
        at = plain.apply({"row": i, "col": j})["offset"]
        row, column = divmod(at, padded)
        assert found.apply({"row": i, "col": j})["offset"] == row * padded + (column // 16 ^ row % 8) * 16 + column % 16


# Order of names


@pytest.mark.parametrize(
    ("x", "y", "wanted"),
    [
        ("abc", "abc", "abc"),
        ("ab", "ac", "abc"),
        ("ab", "bc", "abc"),
        ("abc", "ad", "abcd"),
        ("", "", ""),
        ("ab", "", "ab"),
    ],
)
def test_supremum(x: str, y: str, wanted: str) -> None:
    assert supremum(x, y) == tuple(wanted)


def test_names_in_contrary_order_have_no_supremum() -> None:
    with pytest.raises(ConversionError, match="same order"):
        supremum("ab", "ba")


# Division


def test_divide_left() -> None:
    b, c = identity(8, "in", "out"), zeros(16, "in", "out")
    assert (b * c).divide_left(b) == c
    assert (c * b).divide_left(c) == b
    extra = layout({"in": [1, 2, 4, 8], "extra": [0]}, ["out"])
    assert identity(32, "in", "out").divide_left(extra) is None
    assert identity(8, "in", "out").divide_left(identity(4, "in", "out")) == identity(2, "in", "out")
    assert identity(8, "in", "out").divide_left(identity(8, "in", "out")) == identity(1, "in", "out")


OUTS = ["out1", "out2"]
DIVIDED = [
    # (A, B, C) with A = B * C
    (
        layout({"in1": [[1, 1], [2, 2], [0, 8], [0, 4]], "in2": [[0, 2], [0, 1]]}, OUTS),
        layout({"in1": [[1, 1], [2, 2]], "in2": [[0, 2], [0, 1]]}, OUTS),
        layout({"in1": [[0, 2], [0, 1]], "in2": []}, OUTS),
    ),
    (
        layout({"in2": [[0, 1], [1, 0]], "in1": [[2, 0], [0, 2]]}, OUTS),
        layout({"in2": [[0, 1], [1, 0]]}, OUTS),
        layout({"in2": [], "in1": [[1, 0], [0, 1]]}, OUTS),
    ),
    (
        layout({"in1": [[0, 1], [0, 2]], "in2": []}, OUTS),
        layout({"in1": [[0, 1], [0, 2]]}, OUTS),
        layout({"in1": [], "in2": []}, OUTS),
    ),
    (
        layout({"in1": [], "in2": [[0, 1]], "in3": []}, OUTS),
        layout({"in2": [[0, 1]]}, OUTS),
        layout({"in1": [], "in2": [], "in3": []}, OUTS),
    ),
    (
        layout({"in2": [[1, 0], [1, 0]], "in1": [[2, 0], [0, 1]]}, OUTS),
        layout({"in2": [[1, 0], [1, 0]]}, OUTS),
        layout({"in2": [], "in1": [[1, 0], [0, 1]]}, OUTS),
    ),
    (layout({"in1": [[0, 1], [0, 2]]}, OUTS), layout({}, ["out1"]), layout({"in1": [[0, 1], [0, 2]]}, OUTS)),
]


@pytest.mark.parametrize(("a", "b", "c"), DIVIDED)
def test_divide_left_undoes_the_product(a: LinearLayout, b: LinearLayout, c: LinearLayout) -> None:
    assert b * c == a
    assert a.divide_left(b) == c


def test_bits_of_an_input_in_another_order() -> None:
    """ColumnAction there; here the bases in another order, or some of them."""
    one = layout({"in": [1, 2, 4]}, ["out"])
    bases = one.bases_of("in")
    assert LinearLayout.from_bases([("in", [bases[i] for i in (2, 0, 1)])], ["out"]) == layout(
        {"in": [4, 1, 2]}, ["out"]
    )
    dropped = LinearLayout.from_bases([("in", [bases[i] for i in (1, 0)])], ["out"], [8], False)
    assert dropped == layout({"in": [2, 1]}, {"out": 8})


# test_linear_layout.py


def test_the_python_binding_s_tests() -> None:
    one = identity(8, "idx", "idx")
    assert [one.apply({"idx": v})["idx"] for v in range(8)] == list(range(8))
    assert one.is_surjective()
    one = zeros(8, "idx", "zero")
    assert {one.apply({"idx": v})["zero"] for v in range(8)} == {0}
    assert one.is_surjective()
    wide = zeros(8, "idx", "zero", 4)
    assert not wide.is_surjective()
    assert {wide.apply({"idx": v})["zero"] for v in range(8)} == {0}
    one = layout({"in0": [[0, 1], [0, 2]], "in1": [[1, 0], [2, 0]]}, ["out0", "out1"])
    for row, column in product(range(4), range(4)):
        assert one.apply({"in0": column, "in1": row}) == {"out0": row, "out1": column}
    one = identity(4, "idx", "out") * identity(8, "idx", "out")
    assert [one.apply({"idx": v})["out"] for v in range(8)] == list(range(8))
    one = identity(8, "i0", "o0") * identity(4, "i1", "o1")
    for i, j in product(range(8), range(4)):
        assert one.apply({"i0": i, "i1": j}) == {"o0": i, "o1": j}
    one = identity(8, "reg", "tensor").compose(identity(8, "tensor", "tensor"))
    assert [one.apply({"reg": v})["tensor"] for v in range(8)] == list(range(8))
    one = identity(8, "inp", "out")
    assert [one.invert().apply({"out": one.apply({"inp": v})["out"]})["inp"] for v in range(8)] == list(range(8))
    one = identity(8, "inp", "mid").invert_and_compose(identity(8, "out", "mid"))
    assert [one.apply({"inp": v})["out"] for v in range(8)] == list(range(8))


def test_matrix_views() -> None:
    assert identity(4, "idx", "idx").get_matrix_view() == [[1, 0], [0, 1]]
    assert strided(4, 2, "idx", "out").get_matrix_view() == [[0, 0], [1, 0], [0, 1]]
    one = layout({"in0": [[1, 0], [2, 0]], "in1": [[0, 1], [0, 2]]}, ["out0", "out1"])
    assert one.get_matrix_view() == [[1 if i == j else 0 for j in range(4)] for i in range(4)]
