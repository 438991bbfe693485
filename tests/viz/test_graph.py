"""The graph of operations: a line that passes other boxes is drawn beside them."""

from __future__ import annotations

import re

from layoutalg.viz.graph import Box, Edge, Graph
from layoutalg.viz.panels import NARROW

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


WIDE = Graph(
    tuple(Box("", "vector.broadcast: 256 slots", f"%v{number}: 64x64xf32, A", None) for number in range(9)),
    tuple(Edge(number, 8, f"%v{number}: A to B, 128 slots", "moves") for number in range(8)),
    "a kernel on pvc, 16 lanes: the layouts of its values",
    {f"A: #xegpu.layout<{', '.join(['lane_layout = [1, 16]'] * 9)}>": "#4477aa"},
)


def rectangles(svg: str, name: str) -> list[tuple[float, float, float, float]]:
    found = re.findall(rf'<rect {name}x="([-\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', svg)
    return [(float(x), float(y), float(x) + float(w), float(y) + float(h)) for x, y, w, h in found]


def test_words_on_lines_stand_where_no_box_and_no_other_words_are() -> None:
    places = rectangles(WIDE.svg(), "") + rectangles(WIDE.svg(), 'class="under" ')
    assert len(places) == 9 + 8
    for number, (left, top, right, bottom) in enumerate(places):
        for a, b, c, d in places[:number]:
            assert right <= a or c <= left or bottom <= b or d <= top


def test_a_layer_that_is_too_wide_for_a_phone_goes_on_below_and_nothing_is_cut() -> None:
    svg = WIDE.svg()
    width = float(re.search(r' width="(\d+)"', svg)[1])  # pyright: ignore[reportOptionalSubscript]
    boxes = rectangles(svg, "")
    assert max(right for _, _, right, _ in boxes) - min(left for left, *_ in boxes) <= NARROW
    assert all(0 <= left <= right <= width for left, _, right, _ in [*boxes, *rectangles(svg, 'class="under" ')])
    assert all(16 + 6.8 * len(words) <= NARROW for words in re.findall(r'xml:space="preserve">([^<]*)<', svg))


def test_the_key_says_what_colours_of_lines_mean_where_there_are_any() -> None:
    assert "elements move" in WIDE.svg()
    assert "elements move" not in Graph(BOXES, CHAIN, "k").svg()


def test_two_lines_between_the_same_boxes_that_say_the_same_say_it_once() -> None:
    svg = Graph(BOXES[:2], (Edge(0, 1, "%x: A"), Edge(0, 1, "%x: A")), "k").svg()
    assert svg.count(">%x: A</text>") == 1
    assert svg.count("data-line") == 2


def test_a_title_that_a_file_cannot_hold_is_drawn_with_signs_for_it() -> None:
    drawing = Graph((Box("a", "a", "", None),), (), "<a>\x00\ud800")
    assert "<title>&lt;a&gt;\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}</title>" in drawing.page()
    drawing.page().encode()


def test_words_on_the_lines_of_many_boxes_find_places_soon() -> None:
    boxes = tuple(Box(str(i), f"%{i} = add", "f32", None) for i in range(600))
    lines = tuple(Edge(max(i - far, 0), i, f"%{i - far} f32", "right") for i in range(1, 600) for far in (1, i))
    text = Graph(boxes, lines, "chain").svg()
    assert text.count("data-line") == len(lines)
