"""How elements move: the questions `convert` and `banks`.

>>> found = convert(Question({"first": "d0 = 2@reg, d1 = 2@lane", "second": "d0 = 2@lane, d1 = 2@reg", "target": "pvc"}))
>>> found["steps"][0]["moves"]
[[1, 0, 0, 1, 0], [0, 1, 1, 0, 0]]
>>> banks(Question({"memory": "row-major", "layout": "d0 = 16@lane, d1 = 16@reg 2@lane:16"}))["conflicts"]
16
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layoutalg.explorer.questions import Question, about, pictured

if TYPE_CHECKING:
    from layoutalg.conversion.report import ConversionDescription
    from layoutalg.memory.report import BanksDescription

__all__ = ["banks", "banks_asked", "conversion_asked", "convert"]


def convert(asked: Question) -> dict[str, Any]:
    """The plan of a conversion: its rows, the candidates that were weighed, the steps as moves, and the steps of its picture.

    `views` has for each of these the name and the SVG.

    `colours` has by subgroup the colour of each lane, by which words are known in the moves as in the pictures.
    A move is `[lane, register, lane, register, subgroup]`: from where, to where in subgroup 0, and whose register it was.
    """
    from layoutalg.conversion.candidate import Candidate
    from layoutalg.conversion.drawing.moves import moves_of
    from layoutalg.conversion.program.steps import Shuffle
    from layoutalg.conversion.symbolic_plan import SymbolicPlan
    from layoutalg.viz.colouring import lane_colours

    found = conversion_asked(asked)
    plan = found.plan
    programs = plan.block.programs if isinstance(plan, SymbolicPlan) else plan.programs

    def candidate(one: Candidate) -> dict[str, Any]:
        return {
            "name": one.name,
            "price": None if plan.unpriced else one.cost,
            "shuffles": one.count(Shuffle),
            "slm_bytes": one.slm_bytes,
            "work": one.work,
            "chosen": one.name == plan.chosen.name,
        }

    colours = lane_colours(programs[0].lanes, programs[0].subgroups)
    steps: list[dict[str, Any]] = [
        {"title": step.title, "part": part, "moves": [*map(list, step.moves)]}
        for part, program in enumerate(programs)
        for step in moves_of(program)
    ]
    return {
        "report": [*map(list, found.rows())],
        "candidates": [*map(candidate, plan.candidates)],
        "registers": [programs[0].source_registers, programs[-1].registers],
        "lanes": programs[0].lanes,
        "subgroups": programs[0].subgroups,
        "colours": {
            str(sg): colours[sg] for sg in sorted({0, *(move[-1] for step in steps for move in step["moves"])})
        },
        "steps": steps,
        "views": [*map(list, plan.picture().views())],
    }


def conversion_asked(asked: Question) -> ConversionDescription:
    """What `layoutalg convert` would say about the conversion in a question."""
    from layoutalg.conversion.cost import PRESSURES
    from layoutalg.conversion.price import DEFAULT_CHIP
    from layoutalg.conversion.report import describe_conversion
    from layoutalg.hardware.chips import target_info

    first, second, shape, machine, element = (
        asked.value("first"),
        asked.value("second"),
        asked.shape(),
        asked.machine(),
        asked.element(),
    )
    target = DEFAULT_CHIP if asked.get("target") is None else asked.text("target")
    pressure = asked.choice("pressure", PRESSURES)
    with about("target"):
        target_info(target)
    with about("shape"):
        return describe_conversion(first, second, shape, machine, element=element, target=target, pressure=pressure)


def banks(asked: Question) -> dict[str, Any]:
    """The bank conflicts where a layout stores a tensor in shared memory, or loads it, and its picture beside row-major."""
    found = banks_asked(asked)
    answer = {"report": [["", line] for line in found.lines], "conflicts": found.conflicts.ways, "facts": found.facts}
    return answer | pictured(lambda: {"svg": found.picture().svg()})


def banks_asked(asked: Question) -> BanksDescription:
    """The description of the access that is asked about."""
    from layoutalg.memory.report import describe_banks

    with about("memory"):
        memory = "row-major" if asked.get("memory") == "row-major" else asked.value("memory", "")
    layout, element = asked.value("layout"), None if asked.get("element") is None else asked.element()
    counts = {
        name: number
        for name, number in (("banks", asked.whole("banks")), ("width", asked.whole("width")))
        if number is not None
    }
    with about("layout"):
        return describe_banks(
            layout,
            memory,
            asked.shape(),
            asked.machine(),
            element=element,
            vector=asked.whole("vector"),
            reading=asked.get("as"),
            **counts,
        )
