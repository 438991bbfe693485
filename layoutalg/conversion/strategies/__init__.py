"""The ways to convert, each a module that gives programs; `conversion.candidates` chooses among them.

Layouts of powers of two (`renaming` says which bit becomes which): `exchange` stays in a subgroup, `cross_subgroup` sends only
what must cross through shared memory, `through_memory` sends everything. Other sizes: `blocks` converts one block of what
registers have on both sides (`common_factors` finds it) and repeats that, `tables` schedules an exchange element by element
(`packing` says which elements share a word), `padded` goes through shared memory row by row.
"""
