"""Who sends which word to whom in which shuffle: the fewest shuffles, each word directly.

Who sends how many words to whom is a bipartite multigraph between lanes and lanes. In one shuffle every lane sends at most one
word and receives at most one: a matching. A bipartite multigraph falls into as many matchings as its largest degree
(König 1916), so the largest number of words that one lane sends or receives is the number of shuffles. Lane 0 has two words
for lane 1, which has one for lane 0:

>>> rounds(2, Items([0, 0, 1], [1, 1, 0], [0, 1, 0]))
[[2, 1], [0]]

Matchings are found by augmenting paths, each taken as often as its rarest edge allows, so that a regular exchange of many
registers costs no more than one of few.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import NamedTuple

from layoutalg.core.errors import ConversionError, SizeError
from layoutalg.core.limits import MOST_WEIGHED as _MOST_WEIGHED
from layoutalg.core.limits import MOST_WORDS

__all__ = ["Items", "matchings", "rounds", "spread"]


class Items(NamedTuple):
    """Words that lanes are to receive: item i is word `words[i]` of lane `senders[i]`, for lane `receivers[i]`.

    Sorted by sender, then by receiver; a word that several lanes want is an item for each.
    """

    senders: list[int]
    receivers: list[int]
    words: list[int]


def rounds(lanes: int, items: Items) -> list[list[int]]:
    """Which items travel in which round.

    A sender has one word in a round, which may go to several lanes; a receiver gets one. Where no word is wanted twice,
    these are matchings; otherwise the words that most lanes want go first, if that takes fewer rounds.

    Raises `SizeError` for more than 2^13 items.
    """
    total = len(items.senders)
    if total > MOST_WORDS:
        raise SizeError(
            f"{total} words to schedule between {lanes} lanes: at most {MOST_WORDS}; convert a part at a time"
        )
    counts = Counter(zip(items.senders, items.receivers, strict=True))
    one_by_one = matchings(lanes, dict(counts))
    # Items of a pair follow each other, so they are known by the first; the last one goes first.
    ends = zip(counts.items(), accumulate(counts.values()), strict=True)
    waiting = {pair: iter(range(end - 1, end - count - 1, -1)) for (pair, count), end in ends}
    found = [[next(waiting[pair]) for pair in matching] for matching in one_by_one]
    words = set(zip(items.senders, items.words, strict=True))
    if total == len(words) or len(words) * len(found) > _MOST_WEIGHED:
        return found
    shared = _shared_rounds(lanes, items)
    return shared if len(shared) < len(found) else found


def _shared_rounds(lanes: int, items: Items) -> list[list[int]]:
    """Rounds in which a word goes to all lanes that want it and get no other, the most wanted first."""
    left: dict[tuple[int, int], dict[int, int]] = {}  # (sender, word): the receivers, and their items
    for item, (sender, receiver, word) in enumerate(zip(*items, strict=True)):
        left.setdefault((sender, word), {})[receiver] = item
    found: list[list[int]] = []
    while left:
        free, busy = set(range(lanes)), set[int]()
        round_: list[int] = []
        for source, register in sorted(left, key=lambda word: (-len(left[word]), word)):
            receivers = free.intersection(left[source, register])
            if source in busy or not receivers:
                continue
            busy.add(source)
            free -= receivers
            round_ += [left[source, register].pop(lane) for lane in sorted(receivers)]
        left = {word: receivers for word, receivers in left.items() if receivers}
        found.append(round_)
    return found


def matchings(lanes: int, edges: dict[tuple[int, int], int]) -> list[list[tuple[int, int]]]:
    """A bipartite multigraph as matchings, as many as its largest degree; `edges` counts those of each pair.

    >>> matchings(2, {(0, 1): 2, (1, 0): 1})
    [[(1, 0), (0, 1)], [(0, 1)]]
    """
    left: list[dict[int, int]] = [{} for _ in range(lanes)]
    out, into = [0] * lanes, [0] * lanes
    # Each sender asks its neighbours first, so that a regular exchange becomes rounds in which all lanes rotate alike.
    for (source, lane), number in sorted(edges.items(), key=lambda edge: (edge[0][1] - edge[0][0]) % lanes):
        left[source][lane] = number
        out[source] += number
        into[lane] += number
    degree = max([*out, *into], default=0)
    # Edges to nowhere fill up every lane's degree, so that a perfect matching exists until all are gone.
    fill: list[dict[int, int]] = [{} for _ in range(lanes)]
    sender = receiver = 0
    while True:
        while sender < lanes and out[sender] == degree:
            sender += 1
        while receiver < lanes and into[receiver] == degree:
            receiver += 1
        if sender == lanes or receiver == lanes:
            break
        number = min(degree - out[sender], degree - into[receiver])
        fill[sender][receiver] = number
        out[sender] += number
        into[receiver] += number
    found: list[list[tuple[int, int]]] = []
    partner = [-1] * lanes  # of each receiver
    while degree:
        matched = set(partner)
        for source in range(lanes):
            if source not in matched and not _augment(source, left, fill, partner, set()):
                raise ConversionError("the exchange has no schedule: please report the two layouts")
        pairs = [(source, lane) for lane, source in enumerate(partner)]
        times = min(left[s].get(d, 0) + fill[s].get(d, 0) for s, d in pairs)
        taken: list[
            tuple[tuple[int, int], int]
        ] = []  # each pair, and in how many of these rounds it has a word to send
        for source, lane in pairs:
            words = left[source].get(lane, 0)
            real = min(words, times)
            taken.append(((source, lane), real))
            left[source][lane] = words - real
            if real < times:
                fill[source][lane] -= times - real
            if words == real and not fill[source].get(lane, 0):
                left[source].pop(lane)
                fill[source].pop(lane, None)
                partner[lane] = -1
        found += [[pair for pair, real in taken if round_ < real] for round_ in range(times)]
        degree -= times
    return [round_ for round_ in found if round_]


def _augment(
    source: int, left: list[dict[int, int]], fill: list[dict[int, int]], partner: list[int], seen: set[int]
) -> bool:
    """Find a receiver for `source`, moving others if need be."""
    for lane in (*left[source], *fill[source]):
        if lane in seen or not left[source].get(lane, 0) + fill[source].get(lane, 0):
            continue
        seen.add(lane)
        if partner[lane] < 0 or _augment(partner[lane], left, fill, partner, seen):
            partner[lane] = source
            return True
    return False


def spread(holders: list[list[int]], counts: list[int], lanes: int, most: int) -> list[dict[int, int]] | None:
    """How many things of each kind every lane gives, where a kind has some holders and no lane gives more than `most`.

    A maximum flow; None where it is less than all.

    >>> spread([[0, 1], [0]], [2, 1], lanes=2, most=2), spread([[0], [0]], [1, 1], lanes=2, most=1)
    ([{0: 1, 1: 1}, {0: 1}], None)
    """
    free = [most] * lanes
    shown: list[dict[int, int]] = [{} for _ in range(lanes)]  # by lane: how many of each kind
    for kind, count in enumerate(counts):
        left = count
        while left:
            # The nearest lane with room, over lanes that give up a kind which another holder can show.
            came: dict[int, tuple[int, int]] = dict.fromkeys(holders[kind], (-1, kind))
            queue = list(holders[kind])
            end = -1
            for lane in queue:
                if free[lane]:
                    end = lane
                    break
                for other, number in shown[lane].items():
                    for next_lane in holders[other] if number else ():
                        if next_lane not in came:
                            came[next_lane] = (lane, other)
                            queue.append(next_lane)
            if end < 0:
                return None
            amount, lane = min(left, free[end]), end
            while came[lane][0] >= 0:
                giver, other = came[lane]
                amount, lane = min(amount, shown[giver][other]), giver
            lane = end
            free[end] -= amount
            left -= amount
            while lane >= 0:
                giver, other = came[lane]
                shown[lane][other] = shown[lane].get(other, 0) + amount
                if giver >= 0:
                    shown[giver][other] -= amount
                lane = giver
    return shown
