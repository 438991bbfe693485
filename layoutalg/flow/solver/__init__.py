"""One label for every node so that labels and conversions cost least: the choice behind `propagate`, without any layout.

A load (node 0) makes columns for 10 or rows for 30. Two users of it work on rows for nothing, or on columns for 50. One
conversion of columns to rows costs 8, for both users together:

>>> load_and_two_users = Problem(
...     costs=((10, 30), (50, 0), (50, 0)),
...     uses=(Use(0, 1, (0, 1)), Use(0, 2, (0, 1))),
...     conversions=([[0, 8], [8, 0]], [[], []], [[], []]))
>>> found = solve(load_and_two_users)
>>> found.labels, found.cost, found.bound, found.methods
((0, 1, 1), 18, 18, ((3, 'elimination, width 2'),))

The cost is the least where it equals the bound, `found.is_optimal`; otherwise `found.gap` says how far it can be from that.
`solve` does what is cheap first, and says for each connected part of the graph what settled it:

| `methods` says | when | exact |
|---|---|---|
| `alone` | a node has one label, or nothing depends on its label | yes |
| `reduction` | dominated labels, and nodes with two neighbours, were all there was | yes |
| `tree` | chains and trees: dynamic programming | yes |
| `elimination, width 5` | narrow graphs: dynamic programming with tables over five variables | yes |
| `minimum cut` | two layouts meet | yes |
| `branch and bound, 3 parts` | the rest: bounds from messages, labels from region after region | if cost and bound meet |
"""

from __future__ import annotations

from layoutalg.flow.solver.problem import IMPOSSIBLE, Labelling, Problem, Use, cost_of
from layoutalg.flow.solver.solve import solve

__all__ = ["IMPOSSIBLE", "Labelling", "Problem", "Use", "cost_of", "solve"]
