"""A conversion plan in words.

>>> plan = la.convert(Layout.parse("d0 = 2@lane 2@lane:2"), Layout.parse("d0 = 2@lane:2 2@lane"), level="subgroup")
>>> print(explain(plan))
4 elements of 32 bits over 1 subgroup of 4 lanes, 1 register to 1
source       d0 = 2@lane 2@lane:2
destination  d0 = 2@lane:2 2@lane
moves        d0 bit 0: lane bit 1 becomes lane bit 0
             d0 bit 1: lane bit 0 becomes lane bit 1
kind         shuffles: 1 shuffle
lower bound  optimal, 1 shuffle: some lane needs 1 word from another lane, and gets one word in a shuffle
cost         32 issue slots on generic, estimated: an exchange in registers and lanes
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from layoutalg.conversion.cost import cost_of
from layoutalg.conversion.levels import changes
from layoutalg.conversion.program.cluster_places import placement
from layoutalg.conversion.program.steps import WORD, Barrier, Load, Shuffle, Store
from layoutalg.core.banks import BANKS
from layoutalg.core.errors import SizeError
from layoutalg.core.plurals import counted
from layoutalg.hardware.chips import target_info
from layoutalg.hardware.shared_memory import CLUSTER_BYTES, CYCLE_BYTES, rates
from layoutalg.memory.machine_bits import Place, View, view

if TYPE_CHECKING:
    from layoutalg.conversion.candidate import Candidate
    from layoutalg.conversion.conversion_plan import ConversionPlan
    from layoutalg.conversion.cost import Parts

__all__ = ["explain"]

_ACCURACY = 0.15
"""How near the number of instructions is to the listing's, mostly; or one instruction (docs/conversions.md)."""
_NEAR = 0.05
"""Ways whose instructions are so near, or within one, often have their listings in the other order (docs/conversions.md)."""
_LONG = 10
"""From so many instructions on such a way is named."""
_PRICE = 0.05
"""The smallest step of a price."""
_REGIMES = {"all": "where all subgroups convert at once", "alone": "where the others compute"}
_COPIES = {"source": "the nearest copy is read", "destination": "each gets a copy"}
_UNITS = {8: "bytes", 16: "halves", 32: "words"}
_WORDS = {"sg": "subgroup", "lane": "lane", "reg": "register"}


def explain(plan: ConversionPlan) -> str:
    """The plan as lines of text."""
    before = ""
    lines = [_headline(plan)]
    for name, text in _rows(plan):
        lines.append(f"{'' if name == before else name:12} {text}")
        before = name
    return "\n".join(lines)


def _headline(plan: ConversionPlan) -> str:
    shape = "x".join(map(str, plan.source.shape)) or "1"
    elements = "element" if shape == "1" else "elements"
    first, last = plan.programs[0], plan.programs[-1]
    groups = counted(first.subgroups, "subgroup")
    registers = f"{counted(first.source_registers, 'register')} to {last.registers}"
    return (
        f"{shape} {elements} of {plan.element_bits} bits over {groups} of {counted(first.lanes, 'lane')}, {registers}"
    )


def _rows(plan: ConversionPlan) -> Iterator[tuple[str, str]]:
    yield "source", str(plan.source)
    yield "destination", str(plan.destination)
    a, b = view(plan.source), view(plan.destination)
    if a is not None and b is not None:
        lines = list(_bit_lines(plan, a, b))
        for line in lines or ["every factor stays where it is"]:
            yield "moves", line
        for layout, name in ((a, "source"), (b, "destination")):
            free = _free(layout)
            if free:
                yield "replicas", f"of the {name}: {', '.join(free)}; {_COPIES[name]}"
    else:
        lines = [f"{what}: {old} becomes {new}" for what, old, new in changes(plan.source, plan.destination)]
        for line in lines or ["every factor stays where it is"]:
            yield "moves", line
        for layout, name in ((plan.source, "source"), (plan.destination, "destination")):
            replicas = " ".join(map(str, layout.canonical().replicas))
            if replicas:
                yield "replicas", f"of the {name}: {replicas}; {_COPIES[name]}"
    yield "kind", _kind(plan)
    if plan.slm_bytes:
        steps = [step for program in plan.programs for step in program.steps]
        stores, loads = [step for step in steps if isinstance(step, Store)], [s for s in steps if isinstance(s, Load)]
        stored, loaded = [(len(one.words), one.bits) for one in stores], [(len(one.to), one.bits) for one in loads]
        ways = plan.bank_conflicts
        conflicts = "no bank conflicts" if ways == 1 else f"{ways}-way bank conflicts at the worst"
        accesses = f"{_accesses('store', stored)} and {_accesses('load', loaded)} per lane"
        yield "memory", f"{accesses}; {conflicts} ({BANKS} banks)"
        unit = " and ".join(dict.fromkeys(_UNITS[one.bits] for one in (stores[0], loads[0])))
        unit += "; x[i] is bit i of x" if "[" in str(stores[0].address) else ""
        yield from _in_cluster(plan)
        yield "addresses", f"first store at {stores[0].address}, first load at {loads[0].address} ({unit})"
    try:
        bound = plan.lower_bound
    except SizeError:  # too many slots to count them one by one
        bound = 0
    if plan.slm_bytes and bound:
        yield "lower bound", f"{plan.bound_reason}, from its own or other subgroups"
    elif bound:
        met = "optimal, " * plan.optimal if plan.shuffles else "by shuffles "
        above = "" if plan.optimal else f", {plan.shuffles - bound} fewer than here"
        if above and any(one.kind == "shuffles" and one.count(Shuffle) == bound for one in plan.candidates):
            above += ", which another way has"
        yield "lower bound", f"{met}{counted(bound, 'shuffle')}{above}: {plan.bound_reason}"
    if plan.unpriced:
        yield "cost", f"none: {plan.unpriced}"
        return
    yield from _portability(plan)
    for i, candidate in enumerate(plan.candidates):
        cost = (
            f"{counted(candidate.cost, 'issue slot')} on {plan.target}, {cost_of(plan.target).origin}: {candidate.name}"
        )
        busy = _busy(plan, candidate)
        yield ("cost", cost) if i == 0 else ("instead", f"{cost} ({'; '.join([candidate.work, *busy])})")
        if i == 0:
            yield from [("", text) for text in busy]
            yield from _pressures(plan)


def _in_cluster(plan: ConversionPlan) -> Iterator[tuple[str, str]]:
    """Whose memory is reached in a cluster, and what that is emitted as."""
    if plan.workgroups == 1:
        return
    found = [placement(program, plan.workgroups) for program in plan.programs if program.slm_bytes]
    placed = [one for one in found if one is not None]
    reaching = {one.reaching for one in placed} - {""}
    both = "both" in reaching or len(reaching) > 1
    what = "stores and loads reach" if both else f"{next(iter(reaching))} reach" if reaching else "nothing reaches"
    size = counted(max(one.bytes for one in placed), "byte")
    scopes = [step.scope for program in plan.programs for step in program.steps if isinstance(step, Barrier)]
    waits = f"; {counted(scopes.count('cluster'), 'barrier')} of the cluster" if reaching else ""
    yield "cluster", f"{plan.workgroups} workgroups, {size} in each; {what} the memory of others{waits}"
    if target_info(plan.target).vendor == "nvidia":
        yield "emitted", "pointers by mapa (shared::cluster), barrier.cluster.arrive and .wait, clusters along x"
    else:
        yield "emitted", f"not for {plan.target}, which has no instructions; expected sm_90"


def _busy(plan: ConversionPlan, candidate: Candidate) -> list[str]:
    """How many instructions a way's listing has, and how long shared memory is busy; nothing where that is not known."""
    found = cost_of(plan.target, plan.pressure).parts(candidate.programs, plan.workgroups)
    if found is None or not candidate.cost:
        return []
    texts = [counted(round(found.issued), "instruction")]
    if found.alu > found.issued:
        texts.append(f"ALUs {counted(round(found.alu), 'slot')}")
    if found.cycles:
        cycles = f"{_cycles(found.cycles)} of {CYCLE_BYTES} bytes"
        texts.append(f"shared memory {counted(round(found.memory), 'slot')} ({cycles})")
    if found.network:
        rate = f"{CLUSTER_BYTES} bytes a clock to other workgroups, arXiv 2402.13499"
        texts.append(f"the cluster's network {counted(round(found.network), 'slot')} ({rate})")
    return [", ".join(texts)]


def _pressures(plan: ConversionPlan) -> Iterator[tuple[str, str]]:
    """What the chosen way costs in each regime, the rate behind it, and why one with no more instructions is not taken."""
    known, prices = rates(plan.target), cost_of(plan.target, plan.pressure)
    listed = [
        (parts, one) for one in plan.candidates if (parts := prices.parts(one.programs, plan.workgroups)) is not None
    ]
    if known is None or not listed or not plan.cost or not any(parts.cycles for parts, _ in listed):
        return
    costs = [f"{counted(slots, 'slot')} {_REGIMES[one]}" for one, slots in plan.pressures.items()]
    yield "pressure", "; ".join(costs)
    engines = counted(known.engines, "engine") + f", {known.clocks} clocks an instruction" * (known.clocks > 1)
    yield "rate", f"{known.bytes} bytes of shared memory a clock, {engines} ({known.source})"
    taken = listed[0][0]
    fewest, one = min(listed, key=lambda found: round(found[0].issued))
    how = "shorter"
    if round(fewest.issued) == round(taken.issued):
        alike = [(parts, one) for parts, one in listed if _is_as_short(parts, taken)]
        fewest, one = min(alike, key=lambda found: round(found[0].issued), default=(taken, one))
        how = "as short"
    named = [one]
    if fewest is not taken:
        busy = "shared memory" if fewest.memory >= fewest.alu else f"the ALUs, {known.alu} an instruction"
        if fewest.network > max(fewest.memory, fewest.alu):
            busy = "the cluster's network"
        slots = counted(one.cost, "slot")
        yield how, f"{counted(round(fewest.issued), 'instruction')}, but {slots} of {busy}: {one.name}"
    fewest, one = min(listed, key=lambda found: found[0].slots)
    more = round(fewest.issued) - round(taken.issued)
    if fewest.slots < taken.slots:
        saved = counted(taken.slots - fewest.slots, "slot")
        yield "fewer slots", f"{saved} fewer, but {counted(more, 'instruction')} more: {one.name}"
        named.append(one)
    near = next(((parts, one) for parts, one in listed if one not in named and _is_as_good(parts, taken)), None)
    if near is not None:
        parts, one = near
        figures = f"{counted(round(parts.issued), 'instruction')}, {counted(one.cost, 'slot')}"
        yield "as good", f"{figures}, too near to tell which listing is shorter: {one.name}"


def _is_as_short(one: Parts, taken: Parts) -> bool:
    """Whether a way that is not taken for its slots alone may have a listing no longer than that of the way taken."""
    accuracy = max(_ACCURACY * taken.issued, 1)
    return one.issued - taken.issued <= accuracy < one.slots - taken.slots and one.slots > round(one.issued)


def _is_as_good(one: Parts, taken: Parts) -> bool:
    """Whether prices can't tell which of two listings is shorter, and slots are no reason.

    Where both are the same number, they are mostly one way in two spellings.
    """
    near, apart = max(_NEAR * taken.issued, 1), abs(one.issued - taken.issued)
    return round(taken.issued) >= _LONG and _PRICE / 2 < apart <= near and one.slots - taken.slots <= near


def _cycles(cycles: float) -> str:
    """A number of cycles; half ones where there are."""
    return counted(int(cycles), "cycle") if cycles == int(cycles) else f"{cycles:g} cycles"


def _portability(plan: ConversionPlan) -> Iterator[tuple[str, str]]:
    """What block messages gain, where the plan has some or keeps to what every compiler takes."""
    blocks = any(
        isinstance(step, (Store, Load)) and step.matrix == "block"
        for program in plan.programs
        for step in program.steps
    )
    if not blocks and not (plan.portable and target_info(plan.target).has_dpas):
        return
    other = replace(plan, portable=not plan.portable)
    if blocks:
        more = counted(other.cost - plan.cost, "issue slot")
        yield (
            "portable",
            f"no: block messages, which only Intel's graphics compiler knows; portable=True costs {more} more",
        )
    elif plan.cost > other.cost:
        yield "portable", f"yes: with block messages of Intel's chips it would cost {plan.cost - other.cost} less"
    else:
        yield "portable", "yes: that costs nothing"


def _accesses(what: str, widths: list[tuple[int, int]]) -> str:
    """So many stores or loads, of so many words or parts of one."""
    count, bits = max(widths, key=lambda one: one[0] * one[1])
    size = counted(count, "word") if bits == WORD else f"{bits} bits"
    return f"{counted(len(widths), what)} of {size if len(set(widths)) == 1 else f'up to {size}'}"


def _kind(plan: ConversionPlan) -> str:
    return f"{plan.kind}: {plan.chosen.work}" if plan.kind != "identity" else "identity: nothing to do"


def _bit_lines(plan: ConversionPlan, a: View, b: View) -> Iterator[str]:
    """Runs of neighbouring bits that move alike, those that stay left out."""
    bit = 0
    for name, size in zip(plan.source.names, plan.source.shape, strict=True):
        count = int(size).bit_length() - 1
        run: list[int] = []
        for i in range(count + 1):
            here = (a.places[bit + i], b.places[bit + i]) if i < count else None
            if run:
                last = (a.places[bit + run[-1]], b.places[bit + run[-1]])
                if here is not None and all(_next(x, y) for x, y in zip(last, here, strict=True)):
                    run.append(i)
                    continue
                text = _move(name, run, a.places[bit + run[0]], b.places[bit + run[0]])
                if text:
                    yield text
            run = [i]
        bit += count


def _next(one: Place, other: Place) -> bool:
    return one[0] == other[0] and other[1] == one[1] + 1


def _move(name: str, run: list[int], source: Place, destination: Place) -> str | None:
    if source == destination:
        return None
    many = len(run) > 1
    verb = "become" if many else "becomes"
    places = [f"{_WORDS[axis]} {_bits(low, len(run))}" for axis, low in (source, destination)]
    return f"{name} {_bits(run[0], len(run))}: {places[0]} {verb} {places[1]}"


def _bits(low: int, count: int) -> str:
    return f"bit {low}" if count == 1 else f"bits {low}-{low + count - 1}"


def _free(layout: View) -> list[str]:
    return [
        f"{_WORDS[axis]} bit {bit}"
        for axis, width in layout.widths.items()
        for bit in range(width)
        if (axis, bit) not in layout.places
    ]
