"""What a conversion is charged for on a chip whose machine code was counted: the kinds of instructions that steps become.

A select is one instruction; its condition is one more, once for all selects by the same lanes. A shuffle by an XOR of lane
numbers becomes moves for each bit of the distance where lanes are columns of one register file (Intel's):

>>> from layoutalg.conversion.program.steps import Select, Shuffle
>>> swap = Shuffle(2, 0, (3, 2, 1, 0))
>>> program = Program(1, 4, 32, 2, 1, (0, 1), (swap, Select(3, 2, 1, "lane", 0b1010)), (3,))
>>> found = charges_of([program])
>>> found["xor_1"], found["xor_2"], found["select"], found["condition"]
(1, 1, 1, 1)

`conversion.prices` has what each costs. The names of charges are the columns of its tables:

- shuffle, broadcast: steps; dpp: those that AMD's ALUs do (`program.dpp`); lane_swap: swaps of rows of lanes; xor_1, xor_2,
  xor_4, xor_8, xor_16: the bits of XOR distances, added up; indexed: shuffles that are neither; pattern, near: different lane
  patterns of those, and of `dpp`; pattern_apart: those that differ from others by a distance; pattern_ops, near_ops: what is
  left of linear maps on NVIDIA's and AMD's chips; reversed_map: those that LLVM takes for bits in reverse order
  (`address_charges`); map_...: the same on Intel's, map_table: those that are looked up there
  (`intel_address_charges`); looked_up: maps that have no masks and shifts, in a table
- byte_sent, half_sent, bytes_sent: shuffles of words that hold just one byte, one element of 16 bits, or several bytes
- select, select_sg: selects by lane and by subgroup; condition, condition_bits, condition_table: different sets of lanes, those
  that are one comparison, those that have some bits alike, and those that are looked up in a constant; condition_sg: different
  sets of subgroups
- permute, permute_by_lane: byte permutes, those whose selectors differ by lane; permute_shift, permute_logic, permute_select:
  the shifts, the masks and joins, and the selects by which they are written; permute_constant: different masks of these;
  permute_half: where lanes differ in whole halves, the selects and moves of halves that are written instead
- region: moves between regions of the register file; region_word: words that such moves take and make
- half, byte: parts of 16 and 8 bits that words are packed from or unpacked into, one by one; joined: byte permutes that do it,
  one for each further word that parts of a word come from, at least one; selector: different choices of bytes that any byte
  permutes make; byte_loaded: bytes that came with others by loads of 16 bits; low_half: words that two bytes are alone in, as
  they lie in a register; low_halves: those of the low halves of two others
- result: words of the result that no instruction writes where they are wanted; renamed: those that were given in another
  register, all of their message once, and once more where some of it change places among themselves; group_moved: those of a
  group of four that did not lie so; regrouped: those that were loaded several at once, and are not so in four registers of the
  result; rearranged: in a message of it; again: words of messages that are copied twice (`copied_again`); paired: halves of
  elements of 64 bits that selects and permutes made, paired_sent: shuffles, paired_matrix: loads of matrices
- store, load: messages to shared memory; store_word, load_word: their words; payload: words of stores that are copied; narrow:
  parts of words that are moved by themselves; upper, upper_byte: those that are stored and not lowest in their register;
  masked: stores in which some lanes take no part
- masked_run: those one after another by the same lanes, once: one branch is written round them, but for Intel's; masked_long:
  more than NVIDIA's compiler predicates instead; masked_once: different sets of lanes that store, besides their conditions
- stored_byte: bytes that are stored: each becomes a word before
- block: block messages; each takes its address from a register of its own; block_memory: conversions that have any
- ds_access, ds_base, ds_copied: accesses on AMD's chips, where two may be one instruction (`paired_accesses`)
- address: different addresses; address_...: the operations that are left of them, and on AMD's chips lane_bytes: those of the
  lanes that shuffles read (`address_charges`); on Intel's chips sum_..., those of the subgroup's number alone,
  scalar..., and veiled, unveiled: numbers that are hidden, in one subgroup and in several, and mirrored: those whose bits are
  reversed all the same (`intel_address_charges`)
- crowded: registers that messages read, beyond those that there are: pvc waits before it writes one of them again
- offset: messages further on; offset_computed: those of them that no message of Intel's chips brings along, since they are
  joined by XOR, or by OR with three parts of a sum that share no bit, those of several subgroups where more than four parts are
  added, so that addresses could overflow, or added to a pointer; apart: those of them whose distance is joined by XOR with bits
  that lanes differ in; piece: further parts of messages, each as wide as its address is aligned
- barrier, fence, memory: barriers of several subgroups, those inside subgroups, and conversions that use shared memory at all,
  memory_of_several: of several subgroups; waits: rounds that lanes wait for a bank
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from layoutalg.conversion.address_charges import address_operations, is_reversed_map, lane_bytes, map_operations
from layoutalg.conversion.intel_address_charges import address_parts, number_operations
from layoutalg.conversion.lowering.number_maps import are_powers, fixed_bits, linear_terms
from layoutalg.conversion.paired_accesses import paired_accesses
from layoutalg.conversion.permute_charges import charge_permutes
from layoutalg.conversion.program.access_conflicts import program_ways
from layoutalg.conversion.program.dpp import dpp_control
from layoutalg.conversion.program.program import Program
from layoutalg.conversion.program.steps import (
    WORD,
    Address,
    Barrier,
    LaneSwap,
    Load,
    Permute,
    Regions,
    Select,
    Shuffle,
    Store,
)
from layoutalg.conversion.word_charges import as_given, charge_parts, line_words, narrow_words
from layoutalg.conversion.word_places import (
    GROUP,
    copied_again,
    copied_words,
    message_words,
    moved_in_group,
    words_apart,
)
from layoutalg.core.errors import ConversionError
from layoutalg.core.whole_numbers import instance_of, listed

__all__ = ["CHARGES", "charges_of"]

CHARGES = (
    "shuffle", "broadcast", "dpp", "lane_swap", "xor_1", "xor_2", "xor_4", "xor_8", "xor_16", "indexed", "pattern",
    "pattern_apart", "near", "near_ops", "pattern_ops", "reversed_map", "looked_up", "map_table", "map_mask", "map_shift",
    "map_join",
    "byte_sent", "half_sent", "bytes_sent", "select", "select_sg", "condition", "condition_bits", "condition_table",
    "condition_sg", "permute", "permute_by_lane", "permute_shift", "permute_logic", "permute_select", "permute_constant",
    "permute_half", "region", "region_word", "half", "byte", "joined", "selector", "byte_loaded", "low_half", "low_halves",
    "result", "renamed", "group_moved", "regrouped", "rearranged", "again", "paired", "paired_sent",
    "paired_matrix", "store", "load", "store_word", "load_word", "payload", "narrow", "upper", "upper_byte",
    "masked", "masked_run", "masked_long", "masked_once", "stored_byte", "block", "block_memory", "ds_access", "ds_base",
    "ds_copied", "lane_bytes", "address", "address_shift", "address_mask", "address_constant", "address_times",
    "address_chosen", "address_add", "address_or", "address_flip", "address_reversed", "sum_mask", "sum_shift", "sum_times",
    "sum_chosen", "sum_join", "sum_flip", "sum_scaled", "scalar", "scalar_times", "scalar_chosen", "veiled", "unveiled",
    "mirrored", "crowded", "offset", "offset_computed", "apart", "piece", "barrier", "fence", "memory",
    "memory_of_several", "waits",
)  # fmt: skip
"""The names of all charges."""
_BYTES = WORD // 8
_LINE = 4
"""The words that a block load moves at once for each of 16 lanes."""
_SEEN_THROUGH = 4
"""The parts of a sum, at most, that Intel's compiler knows to be no negative number: known bits are looked for in few steps."""
_PREDICATED = 6
"""The stores of a run, at most, that NVIDIA's compiler predicates."""
_REGISTERS, _REGISTER = 128, 16
"""The registers of Intel's chips of 16 lanes, and the words of one."""


def charges_of(programs: Sequence[Program], *, waits: bool = True, vendor: str | None = None) -> Counter[str]:
    """What programs that are executed one after another are charged for: how often each of `CHARGES`.

    Without `waits` nobody asks how long lanes wait for a bank, and it is not counted. For the chips of one `vendor`, "intel",
    "nvidia" or "amd", what is left of addresses and paired accesses elsewhere is not counted.
    """
    pairs, intel, other = vendor in (None, "amd"), vendor in (None, "intel"), vendor != "intel"
    chain = listed(programs, "programs", error=ConversionError)
    for program in chain:
        instance_of(program, Program, "a program", ConversionError)
    found: Counter[str] = Counter()
    once = _Once(*[set() for _ in range(10)], reached={})
    kinds: dict[type, list[Any]] = {}
    for number, program in enumerate(chain):
        kinds = {}
        for step in program.steps:
            kinds.setdefault(step.__class__, []).append(step)
        _of_selects(program, kinds.get(Select, []), found, once)
        _of_shuffles(program, kinds.get(Shuffle, []), found, once)
        charge_permutes(kinds.get(Permute, []), found, once.selectors, once.lanes, once.constants)
        found["lane_swap"] += len(kinds.get(LaneSwap, ()))
        for step in kinds.get(Barrier, ()):
            found[_barrier(program, step.scope)] += 1
        for step in kinds.get(Regions, ()):
            found["region"] += len(step.moves)
            found["region_word"] += len(step.words) + len(step.to)
        if Store in kinds or Load in kinds:
            _of_accesses(program, found, once, waits=waits)
        _of_packing(program, chain[number - 1] if number else None, found, once)
    for program in chain[:-1] if pairs else ():
        found.update(paired_accesses(program, ()))
    if chain:
        _of_result(chain, kinds, found, once, pairs=pairs)
    for masks in once.masks if chain else ():
        everyone = [(1 << count) - 1 for count in (chain[0].lanes, chain[0].subgroups)]
        for mask in {one & everyone[0] for one in masks} - {0}:
            owners = sum([1 << number for number, one in enumerate(masks) if one & everyone[0] == mask])
            once.lanes.update({mask} - {everyone[0]})
            once.subgroups.update({owners} - {everyone[1]})
    for mask in once.lanes:
        found[_condition(mask, chain[0].lanes)] += 1
    found["condition_sg"] = len(once.subgroups)
    found["permute_constant"] = len(once.constants)
    found["selector"] = len(once.selectors)
    found["masked_once"] = len(once.masks)
    found["near"] = len(once.near)
    if chain and other:
        for name, maps in (("near_ops", once.near_maps), ("pattern_ops", once.maps)):
            found[name] = sum([map_operations(columns, chain[0].lanes) for columns in maps])
        found["lane_bytes"] = sum([lane_bytes(columns, chain[0].lanes) for columns in once.maps if columns])
        found.update(address_operations(once.reached, chain[0].lanes, chain[0].subgroups))
        found["reversed_map"] = sum(map(is_reversed_map, once.maps | once.near_maps))
    if chain and intel:
        maps = (once.maps | once.near_maps).difference([()])
        found.update(number_operations(maps, once.reached, chain[0].lanes, chain[0].subgroups))
        found["crowded"] = max(_message_registers(chain) - _REGISTERS, 0)
    found["looked_up"] = (() in once.near_maps) + (() in once.maps)
    found["pattern"] = len(once.patterns)
    found["pattern_apart"] = len(once.patterns) - len(once.maps)
    found["address"] = len(once.addresses)
    found["block_memory"] = found["block"] > 0
    if found["block"]:
        found["offset_computed"] = found["offset"]
    uses = sum(program.slm_bytes > 0 for program in chain)
    if uses:
        found["memory"] = 1
        found["memory_of_several"] = chain[0].subgroups > 1
        found[_barrier(chain[0], "workgroup")] += uses - 1
    return +found


def _barrier(program: Program, scope: str) -> str:
    """What a barrier is charged for: one of several subgroups, or one inside a subgroup, whatever the workgroup has besides."""
    return "barrier" if program.subgroups > 1 and scope == "workgroup" else "fence"


class _Once(NamedTuple):
    """What is computed once for the whole conversion, however many steps need it."""

    lanes: set[int]
    subgroups: set[int]
    constants: set[int]
    patterns: set[tuple[object, ...]]
    maps: set[tuple[int, ...]]
    near: set[tuple[object, ...]]
    near_maps: set[tuple[int, ...]]
    addresses: set[Address]
    selectors: set[object]
    masks: set[tuple[int, ...]]
    reached: dict[tuple[Address, int], None]
    """In the order of the program: what one address computes, a later one need not."""


def _of_selects(program: Program, steps: Sequence[Select], found: Counter[str], once: _Once) -> None:
    masks = Counter([(step.axis, step.mask) for step in steps])
    for (axis, mask), count in masks.items():
        if axis == "lane":
            found["select"] += count
            once.lanes.add(mask & (1 << program.lanes) - 1)
        else:
            found["select_sg"] += count
            once.subgroups.add(mask & (1 << program.subgroups) - 1)


def _of_shuffles(program: Program, steps: Sequence[Shuffle], found: Counter[str], once: _Once) -> None:
    found["shuffle"] += len(steps)
    if program.parts > 1:
        for step in steps:
            live = sum([cell >= 0 for cell in program.pack[step.word * program.parts :][: program.parts]])
            if 0 < live < program.parts:
                found[f"{'half' if program.parts == 2 else 'byte'}{'s' * (live > 1)}_sent"] += 1
    for (lanes, sg, others), count in Counter([step[2:] for step in steps]).items():
        distance, constant = _pattern(lanes)
        if not sg and not others and constant:
            found["broadcast"] += count
        elif sg or others or distance is None or distance >> 4:
            found["indexed"] += count
            found["xor_16"] += count * (distance is not None)
            near = not (sg or others) and dpp_control(lanes) is not None
            (once.near if near else once.patterns).add((lanes, sg, others))
            (once.near_maps if near else once.maps).update(
                [_linear(one) for one in (lanes, *[one for _, one in others])]
            )
        else:
            for name in _bits_of(distance):
                found[name] += count
        if not (sg or others or constant) and dpp_control(lanes) is not None:
            found["dpp"] += count


@lru_cache(maxsize=4096)
def _pattern(lanes: tuple[int, ...]) -> tuple[int | None, bool]:
    """The XOR distance of all lanes, if they have one, and whether all read the same lane."""
    if len(lanes) > 1 and len(set(lanes)) == 1:
        return None, True
    distance = next(iter(lanes), 0)
    return (distance if all(lane == i ^ distance for i, lane in enumerate(lanes)) else None), False


@lru_cache(maxsize=64)
def _bits_of(distance: int) -> tuple[str, ...]:
    return tuple([f"xor_{1 << bit}" for bit in range(5) if distance >> bit & 1])


@lru_cache(maxsize=1024)
def _condition(mask: int, lanes: int) -> str:
    """Whether a set of lanes is one comparison of the lane's number: with one bit, one lane, or the first ones.

    Others that have some bits alike are a comparison of these bits on NVIDIA's and AMD's chips; the rest is looked up.
    """
    everyone = (1 << lanes) - 1
    for bit in range((lanes - 1).bit_length()):
        pattern = sum(1 << i for i in range(lanes) if i >> bit & 1)
        if mask in (pattern, everyone ^ pattern):
            return "condition"
    if mask & (mask - 1) == 0 or mask & (mask + 1) == 0:
        return "condition"
    return "condition_table" if fixed_bits(mask, lanes) is None else "condition_bits"


@lru_cache(maxsize=1024)
def _linear(lanes: tuple[int, ...]) -> tuple[int, ...]:
    """What each bit of the lane's number brings in, where the lanes are a linear map of it; else nothing."""
    return linear_terms(lanes) or ()


def _message_registers(chain: Sequence[Program]) -> int:
    """The registers of Intel's chips that the addresses and words of all messages take."""
    words = 0
    for program in chain:
        kinds = list(map(type, program.steps))
        words += kinds.count(Store) + kinds.count(Load)
        words += sum([len(step.words) for step in program.steps if isinstance(step, Store)]) if Store in kinds else 0
    return words * -(-chain[0].lanes // _REGISTER) if chain else 0


def _of_accesses(program: Program, found: Counter[str], once: _Once, *, waits: bool) -> None:
    held = as_given(program)
    given, most = len(held), message_words(program.lanes)
    at_once = _given_at_once(program.element_bits)
    size, roomy = min(at_once, given), 4 * given * -(-program.lanes // _REGISTER) < _REGISTERS
    accesses = [step for step in program.steps if isinstance(step, (Store, Load))]
    masks = [step.where if isinstance(step, Store) else None for step in program.steps]
    for runs in [len([*run]) for mask, run in groupby(masks) if mask is not None]:
        found["masked_run"] += 1
        found["masked_long"] += runs > _PREDICATED
    once.masks.update([mask for mask in masks if mask is not None])
    reached: dict[tuple[object, ...], _Reached] = {}
    known, own = (), _Reached(0, 0, deep=False)
    offset = computed = apart = pieces = 0
    for step in accesses:
        stores = isinstance(step, Store)
        at, bits, words, matrix = step.address, step.bits, step[0], step.matrix
        key = at[1:], bits
        if key != known:  # mostly as the access before
            known, one = key, reached.get(key)
            if one is None:
                address = at.based(0)
                once.addresses.add(address)
                once.reached[address, bits] = None
                one = reached[key] = _reached(address, program)
            own = one
        base, count = at[0], len(words)
        messages = -(-count // most)
        if matrix == "block" and not stores:
            messages = -(-count * bits // (_LINE * WORD))
        further = messages - 1 + (base != 0)
        offset += further
        if at.xor or own.deep or (base and not base & own.joined):
            computed += further
        apart += bool(at.xor and base & own.terms)
        pieces += 0 if matrix else _pieces(base | own.strides, count, bits) - messages
        found["store" if stores else "load"] += messages
        found["store_word" if stores else "load_word"] += count
        if matrix == "block":
            found["block"] += 1
        if bits < WORD and not matrix:
            found["narrow"] += count
        if isinstance(step, Store):
            found["stored_byte"] += count if bits < _BYTES * 4 else 0
            if bits < WORD:
                found["upper_byte" if bits == _BYTES * 2 else "upper"] += _upper(program, words, given, bits)
            found["masked"] += step.where is not None
            words = tuple([held[word] if word < given else word for word in words])
            copied = copied_words(words, given, at_once)
            found["payload"] += copied
            if copied and len(words) == size and roomy and all(0 <= word < given for word in words):
                found["again"] += copied_again([divmod(word, size) for word in words])
    found.update(offset=offset, offset_computed=computed, apart=apart, piece=pieces)
    if waits:
        found["waits"] += sum(
            [(ways - 1) * len(step[0]) for step, ways in zip(accesses, program_ways(program), strict=True)]
        )


def _given_at_once(element_bits: int) -> int:
    """The words that are given and taken at once, at most: in messages of 8 words, and of at most 16 elements."""
    return min(8, element_bits // 2)


def _upper(program: Program, words: Sequence[int], given: int, bits: int) -> int:
    """How many parts of words that are stored lie in a register as they are, and not lowest in it."""
    found, parts, count = 0, program.parts, bits // program.element_bits
    for word in words:
        if word < given:
            first, *others = program.pack[word * parts :][:count]
            found += first > 0 and first % parts != 0 and others == [*range(first + 1, first + count)]
    return found


class _Reached(NamedTuple):
    """The bits that a XOR of an address's terms may have, and those of all terms and strides.

    `deep`: so many parts of several subgroups' addresses that Intel's compiler doesn't see that no sum of them overflows.
    `joined`: the bits of a sum in which no two of at least three parts meet, so that it is joined by OR; else all bits.
    """

    terms: int
    strides: int
    deep: bool
    joined: int = -1


def _reached(address: Address, program: Program) -> _Reached:
    terms = 0
    for term in (*address.lane, *address.sg):
        terms |= term
    strides, spans, apart = terms, 0, True
    for _, _, extent, stride in address.factors:
        span = (extent - 1) * stride
        apart &= are_powers(stride) and not span & spans
        spans |= span
        strides |= stride
    several, parts = program.subgroups > 1, address_parts(address, program.lanes, program.subgroups)
    joined = spans if apart and parts - several > 2 else -1
    return _Reached(terms, strides, several and parts > _SEEN_THROUGH, joined)


def _pieces(places: int, count: int, bits: int) -> int:
    """The accesses that move consecutive places, each of up to 16 bytes and at a multiple of its size.

    `places` has the bits of whatever is added to an address.

    >>> _pieces(4, 4, 32), _pieces(2, 4, 32)
    (1, 2)
    """
    multiple = 16 * 8 // bits | places
    return -(-count // (multiple & -multiple))


def _of_packing(program: Program, before: Program | None, found: Counter[str], once: _Once) -> None:
    """Words that are put together from parts, of registers or of what the program before has made."""
    parts, pack = program.parts, program.pack
    if parts == 1:
        return
    if before is not None:  # what it unpacks and this one packs again is one thing
        pack = tuple([before.unpack[cell] if cell >= 0 else -1 for cell in pack])
    if program.steps or before is not None:
        narrow = set[int]() if before is None else narrow_words(before)
        charge_parts(pack, parts, found, once.selectors, narrow)


def _of_result(
    chain: Sequence[Program], kinds: Mapping[type, list[Any]], found: Counter[str], once: _Once, *, pairs: bool
) -> None:
    """Results that are put together from parts, or copied to their place; `kinds` are the last program's steps."""
    shuffles: list[Shuffle] = kinds.get(Shuffle, [])
    all_loads: list[Load] = kinds.get(Load, [])
    last = chain[-1]
    parts, rest = last.parts, last.unpack
    if parts > 1:
        if not last.steps and len(chain) == 1:  # what is packed and unpacked at once is one thing
            rest = tuple([last.pack[place] if place >= 0 else -1 for place in rest])
        rest = charge_parts(rest, parts, found, once.selectors, narrow_words(last), line_words(last))
    if pairs and (all_loads or Store in kinds):
        found.update(paired_accesses(last, rest))
    held = as_given(last) if len(chain) == 1 else []
    given = len(held)
    rest = [held[word] if 0 <= word < given else word for word in rest]
    if any(0 <= word < given for word in rest):
        found["group_moved"] += sum([moved_in_group(rest[i : i + GROUP], given) for i in range(0, len(rest), GROUP)])
    received = {step.to for step in shuffles if not step.sg and not step.others and _pattern(step.lanes)[0] is not None}
    if received:
        found["result"] += sum([word in received for word in rest])
    made = [word for word in rest if word >= given]
    found["result"] += len(made) - len(set(made))
    loads = {word: step.to for step in all_loads for word in step.to}
    several = {word: to for word, to in loads.items() if len(to) > 1}
    for kind, weight, groups, most in (
        ("regrouped", 1, several, GROUP),
        ("rearranged", 1, several, message_words(last.lanes)),
        ("result", 2, line_words(last), GROUP),
    ):
        if groups:
            found[kind] += weight * words_apart(rest, groups, most)
    if last.element_bits > WORD:
        sent = {step.to for step in shuffles} if len(chain) == 1 else set[int]()
        alone = set(made).difference(loads)
        matrices = {word for step in all_loads if step.matrix for word in step.to}
        found["paired_matrix"] += len(matrices.intersection(made))
        alone = alone if last.registers > 1 else set[int]()
        found["paired_sent"] += len(alone & sent)
        found["paired"] += len(alone - sent)
    size = _given_at_once(last.element_bits)
    twice = 2 * len(rest) * -(-last.lanes // _REGISTER) < _REGISTERS  # else there is no room for copies of what stays
    for start in range(0, len(rest), size):
        piece = rest[start : start + size]
        moved = [word for place, word in enumerate(piece, start) if 0 <= word < given and word != place]
        if twice and all(len(loads.get(word, ())) == len(piece) > 1 for word in piece):
            found["again"] += copied_again([(loads[word], loads[word].index(word)) for word in piece])
        if moved:
            copied = copied_words(piece, given)
            inside = any(
                word // size == start // size for word in moved
            )  # else messages are made of whole halves of others
            again = len(moved) if twice and inside else 0
            count = again + (copied if len(moved) * 2 >= len(piece) else 0) if copied else 0
            found["renamed"] += -(-count // 2) if last.element_bits > WORD else count  # an instruction copies 64 bits
