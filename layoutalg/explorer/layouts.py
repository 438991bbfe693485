"""Who holds what: the questions `layout`, `owner`, `holds` and `same`.

>>> found = layout(Question({"text": "d0 = 8@reg, d1 = 16@lane"}))
>>> found["notation"], found["shape"], found["axes"], len(found["scene"]["cells"])
('layout', [8, 16], {'lane': 16, 'reg': 8}, 128)
>>> [one["notation"] for one in found["texts"] if "text" in one]
['layout', 'XeGPU', 'IREE', 'CuTe', 'Triton']
>>> holds(Question({"text": "d0 = 2@reg, d1 = 16@lane", "place": {"lane": 5}}))
{'elements': [[0, 5], [1, 5]]}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from layoutalg.core.errors import ConversionError, LayoutError
from layoutalg.core.notation import Distributed
from layoutalg.explorer.questions import Question, about, pictured

if TYPE_CHECKING:
    from layoutalg.compare import Same
    from layoutalg.core.layout import Layout
    from layoutalg.core.notation import Machine, Operand
    from layoutalg.show.report import Description
    from layoutalg.viz.picture import Picture

__all__ = ["compared", "drawn", "holds", "layout", "owner", "picture_asked", "same", "shape_of"]


def layout(asked: Question) -> dict[str, Any]:
    """A value: its report, its picture with what each cell is, and the same layout in the other notations.

    Where the value has no picture (its extents are symbols, or it has no layout), `no_picture` says why.
    """
    from layoutalg.notations import notation_of
    from layoutalg.show.report import describe

    value, machine, llvm = asked.value("text"), asked.machine(), asked.llvm()
    shape = shape_of(asked, value, machine)
    with about("shape"):
        found = describe(value, shape, machine, element=asked.element(), llvm=llvm)
    answer: dict[str, Any] = {
        "notation": notation_of(value),
        "title": value.heading(),
        "shape": list(shape or found.facts.get("shape") or ()),
        "report": [*map(list, found.lines())],
        "axes": found.facts.get("axes", {}),
        "refused": found.refused,
        "texts": _texts(found.layout, llvm),
        "candidates": [
            {"name": name, "role": _role(one)} | _operand(part)
            for one, (name, part) in zip(value.operands(shape, machine), found.operands, strict=True)
        ]
        if found.operands
        else [],
    }
    phone = asked.choice("fits", ("wide", "phone")) == "phone"
    if asked.get("colour") is not None or asked.get("direction") not in (None, "tensor"):
        return answer | drawn(picture_asked(asked, value, shape, machine), phone)
    return answer | pictured(lambda: drawn(picture_asked(asked, value, shape, machine), phone))


def shape_of(asked: Question, value: Distributed, machine: Machine) -> tuple[int, ...] | None:
    """The shape that is asked for; of a value that needs one the smallest that fits, where none is."""
    from layoutalg.show.report import smallest_shape

    shape = asked.shape()
    with about("shape"):
        return smallest_shape(value, machine) if shape is None and value.needs_shape else shape


def _operand(part: Description) -> dict[str, Any]:
    return {
        "layout": part.facts["layout"],
        "shape": part.facts["shape"],
        "axes": part.facts["axes"],
        "report": [*map(list, part.lines())],
    }


def _role(operand: Operand) -> str:
    """What a question calls an operand, such as A or SFA: its picture does so too."""
    return operand.role or operand.name.split()[0]


def picture_asked(asked: Question, value: Distributed, shape: Sequence[int] | None, machine: Machine) -> Picture:
    """The picture of a value, with the colour, the direction and the title that are asked for."""
    from layoutalg.viz.picture import DIRECTIONS, picture_of

    title = None if asked.get("title") is None else asked.text("title")
    direction = asked.choice("direction", DIRECTIONS)
    colour = None if asked.get("colour") is None else asked.text("colour")
    with about("shape"):
        picture_of(value, shape, machine=machine, title=title)
    with about("direction" if colour is None else "colour"):
        return picture_of(value, shape, machine=machine, title=title, colour=colour, direction=direction)


def drawn(picture: Picture, phone: bool = False) -> dict[str, Any]:
    """A picture as SVG and as data: each cell with its place, its element and what is said of it, and what is marked with it.

    It outlines no lane: the page outlines the one that is chosen. It is as wide as it is, and the page scrolls; for a `phone`
    it is folded and paged to 400 pixels.
    """
    from layoutalg.viz.page import marked
    from layoutalg.viz.svg import svg_document
    from layoutalg.viz.tooltips import elements_of

    picture = replace(picture, paged=phone, example=picture.by == "bank")
    with about("direction"):
        scene = picture.scene()
    groups, members = marked(scene)
    elements = [(number, at) for number, frame in enumerate(scene.frames) for at in elements_of(frame.grid)]
    cells = [
        {
            "x": one.x,
            "y": one.y,
            "width": one.width,
            "height": one.height,
            "sentence": one.sentence,
            "group": group,
            "operand": number,
            "element": at,
        }
        for one, group, (number, at) in zip(scene.cells, groups, elements, strict=True)
    ]
    return {
        "svg": svg_document(scene),
        "colourings": list(picture.colourings),
        "directions": list(picture.directions),
        "colour": picture.by,
        "direction": picture.direction,
        "scene": {"width": scene.width, "height": scene.height, "cells": cells, "members": members},
    }


def _texts(found: Layout | None, llvm: int) -> list[dict[str, str]]:
    """A layout in every notation: its text, or why it has none."""
    if found is None:
        return []
    from layoutalg.cute import to_cute
    from layoutalg.nested import to_nested
    from layoutalg.triton import to_linear_layout
    from layoutalg.xegpu import to_xegpu

    ways: tuple[tuple[str, Callable[[], object]], ...] = (
        ("layout", lambda: found),
        ("XeGPU", lambda: to_xegpu(found, llvm=llvm)),
        ("IREE", lambda: to_nested(found)),
        ("CuTe", lambda: to_cute(found)),
        ("Triton", lambda: to_linear_layout(found)),
    )
    listed: list[dict[str, str]] = []
    for notation, written in ways:
        try:
            listed.append({"notation": notation, "text": str(written())})
        except LayoutError as problem:
            listed.append({"notation": notation, "refused": str(problem)})
    return listed


def owner(asked: Question) -> dict[str, Any]:
    """Every place of the machine that holds an element; of very many the first, and `more`."""
    from layoutalg.show.report import describe

    at, (value, shape) = asked.numbers("at"), _one(asked)
    with about("at"):
        facts = describe(value, shape, asked.machine(), at=at).facts
    return {"owners": facts["owners"]} | ({"more": facts["owners_more"]} if "owners_more" in facts else {})


def holds(asked: Question) -> dict[str, Any]:
    """The elements that a place of the machine holds, in the order of its registers; of very many the first, and `more`."""
    from layoutalg.show.report import describe

    place, (value, shape) = asked.place("place"), _one(asked)
    with about("place"):
        if not place:
            raise LayoutError("place: expected a number of each of some axes, such as a lane")
        facts = describe(value, shape, asked.machine(), holder=place).facts
    return {"elements": facts["holds"]} | ({"more": facts["holds_more"]} if "holds_more" in facts else {})


def _one(asked: Question) -> tuple[Distributed, Sequence[int] | None]:
    """The value that is asked about and its shape: of one with several operands that of the `operand` that is named."""
    value, machine = asked.value("text"), asked.machine()
    shape = shape_of(asked, value, machine)
    if asked.get("operand") is None:
        return value, shape
    with about("shape"):
        operands = value.operands(shape, machine)
    names = {_role(one): one.layout for one in operands}
    with about("operand"):
        if asked.text("operand") not in names:
            raise ConversionError(f"operand {asked.text('operand')}: expected {', '.join(names)}")
    return names[asked.text("operand")], None


def same(asked: Question) -> dict[str, Any]:
    """Whether two texts mean the same map, the sentence that says where they differ, and what becomes of each element."""
    from layoutalg.core.agreement import readings

    found = compared(asked)
    with about("shape"):
        how = readings((asked.value("first"), asked.value("second")), asked.shape(), asked.machine())
    element = None if found.element is None else list(found.element)
    answer: dict[str, Any] = {
        "same": bool(found),
        "sentence": found.explanation,
        "element": element,
        "readings": how,
    }

    def difference() -> dict[str, Any]:
        picture = found.picture()
        return {"svg": picture.svg(), "counts": picture.difference.counts}

    return answer | pictured(difference)


def compared(asked: Question) -> Same:
    """What `layoutalg.same` says of two texts."""
    from layoutalg.compare import same as compare

    first, second, shape, machine = asked.value("first"), asked.value("second"), asked.shape(), asked.machine()
    with about("shape"):
        return compare(first, second, shape, machine=machine)
