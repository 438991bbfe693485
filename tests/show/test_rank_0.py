"""A tensor without dimensions has one element, and every work-item that has a copy is shown with it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import layoutalg as la
from layoutalg.cli.program import cli

NAMES = (
    "subgroup_tile",
    "batch_tile",
    "outer_tile",
    "thread_tile",
    "element_tile",
    "subgroup_strides",
    "thread_strides",
)
NOTHING = f"#iree_vector_ext.nested_layout<{', '.join(f'{name} = []' for name in NAMES)}>"


@pytest.mark.parametrize("options", [["--lane", "3"], [], ["--json", "--lane", "63"]])
def test_a_layout_of_rank_0_is_shown(options: list[str]) -> None:
    done = CliRunner().invoke(cli, ["show", NOTHING, *options])
    assert done.exit_code == 0, done.output
    assert not done.exception


def test_every_lane_holds_the_one_element() -> None:
    layout = la.parse(NOTHING).layout(())
    assert layout.fragment_map(lane=3).shape == (1, 1, 1, 0)
    assert la.same(layout, layout)
