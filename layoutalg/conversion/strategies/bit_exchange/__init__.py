"""Exchanges of bits between lanes and registers of a subgroup, without replicas, in the fewest shuffles.

`pattern` says what is exchanged, `hops` which classes of elements share a word in which shuffle (and why fewer shuffles do not
do), `words` turns and puts together the words, `ways` makes the programs.
"""

__all__: list[str] = []
