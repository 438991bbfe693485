"""The graph of operations: a line that passes other boxes is drawn beside them."""

from __future__ import annotations

import re

from layoutalg.viz.graph import Box, Edge, Graph

BOXES = tuple(Box(str(number), f"%{number} = operation", "8x16xf32", None) for number in range(4))
CHAIN = tuple(Edge(number, number + 1, f"%{number}", "right") for number in range(3))


def uprights(graph: Graph) -> list[float]:
    """Where lines go straight down."""
    return [float(x) for x in re.findall(r" ([\d.]+),[\d.]+ V", graph.svg())][::2]


def test_a_line_past_other_boxes_goes_beside_them() -> None:
    graph = Graph(BOXES, (*CHAIN, Edge(0, 3, "%0", "right")), "k")
    rectangles = re.findall(r'<rect x="(\d+)" y="\d+" width="(\d+)"', graph.svg())
    [x] = uprights(graph)
    assert len(rectangles) == len(BOXES)
    assert all(not int(left) <= x <= int(left) + int(width) for left, width in rectangles)


def test_a_line_to_the_next_box_goes_there_directly() -> None:
    assert not uprights(Graph(BOXES, CHAIN, "k"))
