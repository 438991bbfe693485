"""Arrays of every kind as arguments: in the other byte order, masked, and sharing their memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from layoutalg.core.errors import LayoutError
from tests.simulate.kernels import found, run

Array = NDArray[Any]
COPY = "%v = memref.load %a[%t] : memref<32xf32>\nmemref.store %v, %c[%t] : memref<32xf32>"
SHIFTED = "%u = arith.addi %t, %c1 : index\n%v = memref.load %a[%u] : memref<64xf32>\n"
SHIFTED += "memref.store %v, %{} [%t] : memref<64xf32>"
COUNT = "%v = arith.constant 1.0 : f32\n"


def numbers(size: int = 32) -> Array:
    return np.arange(size, dtype=np.float32)


@pytest.mark.parametrize(("source", "target"), [(">f4", "<f4"), ("<f4", ">f4"), (">f4", ">f4")])
def test_arrays_in_either_byte_order_hold_the_numbers_that_numpy_says(source: str, target: str) -> None:
    given, result = numbers().astype(source), np.zeros(32, target)
    outcome = run(COPY, "%a: memref<32xf32>, %c: memref<32xf32>", [given, result])
    assert not outcome.findings
    assert outcome.arguments[1] is result
    assert np.array_equal(result, numbers())


def test_what_a_kernel_wrote_before_it_stopped_is_in_an_array_of_the_other_byte_order() -> None:
    result = np.zeros(32, ">f4")
    text = "memref.store %one, %c[%t] : memref<32xf32>\nscf.for %i = %c0 to %c8 step %c0 {" + (
        " memref.store %one, %c[%i] : memref<32xf32> }"
    )
    assert found(run(text, "%one: f32, %c: memref<32xf32>", [1.0, result])) == [("run.undefined", 5)]
    assert (result == 1).all()


def test_one_array_of_the_other_byte_order_is_one_memory_under_two_names() -> None:
    both = numbers().astype(">f4")
    run(COPY.replace("%v, %c", "%w, %c").replace("memref.store", "%w = arith.addf %v, %v : f32\nmemref.store"),
        "%a: memref<32xf32>, %c: memref<32xf32>", [both, both])  # fmt: skip
    assert np.array_equal(both, 2 * numbers())


def test_two_shapes_of_one_array_of_the_other_byte_order_are_one_memory() -> None:
    both = numbers().astype(">f4")
    body = "%v = memref.load %a[%t, %c0] : memref<32x1xf32>\n%w = arith.addf %v, %v : f32\n" + COPY.splitlines()[
        1
    ].replace("%v", "%w")
    run(body, "%a: memref<32x1xf32>, %c: memref<32xf32>", [both.reshape(32, 1), both])
    assert np.array_equal(both, 2 * numbers())


def test_parts_of_memory_in_two_byte_orders_are_refused() -> None:
    whole = np.zeros(64, np.float32)
    with pytest.raises(
        LayoutError, match="buffer c: shares memory with another argument, and one of them is in the other"
    ):
        run(COPY, "%a: memref<32xf32>, %c: memref<32xf32>", [whole[:32].view(">f4"), whole[:32]])


def test_a_masked_array_is_refused_with_what_to_give_instead() -> None:
    masked: Any = np.ma.masked_array(numbers(), mask=[True] * 8 + [False] * 24)
    with pytest.raises(LayoutError, match=r"buffer a: a masked array has elements without a value; give array.filled"):
        run(COPY, "%a: memref<32xf32>, %c: memref<32xf32>", [masked, np.zeros(32, np.float32)])


def test_a_matrix_of_numpy_is_an_array_like_others() -> None:
    with pytest.warns(PendingDeprecationWarning):
        matrix: Any = np.matrix(numbers().reshape(2, 16))
    result = np.zeros((2, 16), np.float32)
    text = COPY.replace("<32x", "<2x16x").replace("[%t]", "[%row, %column]")
    text = "%row = arith.divui %t, %c16 : index\n%column = arith.remui %t, %c16 : index\n" + text
    assert not run(text, "%a: memref<2x16xf32>, %c: memref<2x16xf32>", [matrix, result]).findings
    assert np.array_equal(result.reshape(-1), numbers())


# One memory under several names: what races with one name races with two.

BOTH = "%a: memref<64xf32>, %c: memref<64xf32>"


def test_a_race_of_one_argument_is_found_when_the_array_is_given_twice() -> None:
    one = run(SHIFTED.format("a"), BOTH, [numbers(64), np.zeros(64, np.float32)])
    array = numbers(64)
    two = run(SHIFTED.format("c"), BOTH, [array, array])
    assert found(one) == found(two) == [("run.race", 6)]


def test_a_race_between_two_parts_of_one_array_is_found_with_the_byte_of_its_own_name() -> None:
    whole = numbers(96)
    outcome = run(SHIFTED.format("c"), BOTH, [whole[:64], whole[8:72]])
    # c[0] is a[8], which work-item 7 reads.
    assert found(outcome) == [("run.race", 6)]
    assert outcome.findings[0].message.startswith(
        "work-item 0 of workgroup 0 writes byte 0 of buffer c, which work-item 7 "
    )


def test_parts_of_one_array_that_do_not_meet_do_not_race() -> None:
    whole = numbers(128)
    outcome = run(SHIFTED.format("c"), BOTH, [whole[:64], whole[64:]])
    assert not outcome.findings
    assert np.array_equal(whole[64:96], np.arange(1, 33))


def test_an_input_that_may_not_be_written_races_with_another_name_of_its_memory() -> None:
    array = numbers(64)
    constant = array[:]
    constant.flags.writeable = False
    assert found(run(SHIFTED.format("c"), BOTH, [constant, array])) == [("run.race", 6)]


def test_elements_that_begin_in_the_middle_of_another_names_elements_race() -> None:
    whole = np.arange(260).astype(np.uint8)
    # c is 2 bytes behind a: c[t] is half of a[t] and half of a[t + 1].
    first, second = whole[:256].view(np.float32), whole[2:258].view(np.float32)
    assert found(run(SHIFTED.format("c"), BOTH, [first, second])) == [("run.race", 6)]


def test_a_result_that_shares_memory_with_an_input_has_contents() -> None:
    from layoutalg.simulate.launching import launch
    from tests.simulate.kernels import kernel

    array = numbers(64)
    text = kernel(SHIFTED.format("a").replace("%u]", "%t]").replace("memref.load %a", "memref.load %c"), BOTH)
    assert [f.rule for f in launch(text, [array.copy(), array.copy()], results={1}).findings] == ["run.uninitialised"]
    assert not launch(text, [array, array], results={1}).findings


def test_two_launches_on_one_memory_are_apart() -> None:
    array = numbers(64)
    for _ in range(2):
        assert found(run(SHIFTED.format("c"), BOTH, [array, array])) == [("run.race", 6)]


# Attributes whose number is 0


def test_atomic_addition_of_floats_runs_whose_kind_is_number_0() -> None:
    array = np.zeros(32, np.float32)
    text = COUNT + "%w = memref.atomic_rmw addf %v, %c[%c0] : (f32, memref<32xf32>) -> f32"
    assert not run(text, "%c: memref<32xf32>", [array]).findings
    assert array[0] == 32
    assert not array[1:].any()


def test_atomic_addition_of_a_message_runs_whose_kind_is_number_0() -> None:
    array = np.zeros(32, np.float32)
    text = """%v = arith.constant dense<1.0> : vector<16xf32>
%o = arith.constant dense<3> : vector<16xindex>
%m = arith.constant dense<true> : vector<16xi1>
%d = xegpu.create_tdesc %c, %o : memref<32xf32>, vector<16xindex> -> !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>
%w = xegpu.atomic_rmw addf %d, %m, %v : !xegpu.tensor_desc<16xf32, #xegpu.scatter_tdesc_attr<>>, vector<16xi1>, vector<16xf32> -> vector<16xf32>"""  # noqa: E501
    assert not run(text, "%c: memref<32xf32>", [array], items=16, level="subgroup").findings
    assert array[3] == 16
    assert array.sum() == 16
