"""The ways to convert, each a module that gives programs; `conversion.candidates` chooses among them.

Layouts of powers of two (`renaming` says which bit becomes which): `bit_exchange` stays in a subgroup, and `exchange` where
lanes hold copies; `regions` does the same by moves of Intel's register file. `cross_subgroup` sends only what must cross
through shared memory, `through_memory` sends everything.

Other sizes: `blocks` converts one block of what registers have on both sides (`common_factors` finds it) and repeats that, for
symbols too (`symbolic_blocks`). `tables` schedules an exchange element by element: `packing` says which elements share a word,
`choosing` selects them by lane, `table_bounds` says how few shuffles it can be. Small elements share words by pairs of lanes
(`words_by_pair`) or take two hops (`multi_hop`). `padded` goes through shared memory row by row.

What many lanes want is broadcast (`broadcasts`), small elements once words are full (`gathers`).
"""

__all__: list[str] = []
