"""One label for every node so that labels and conversions cost least: the choice behind `propagate`, without any layout."""

from __future__ import annotations

from layoutalg.propagation.labelling.problem import IMPOSSIBLE, Labelling, Problem, Use, cost_of
from layoutalg.propagation.labelling.solve import solve

__all__ = ["IMPOSSIBLE", "Labelling", "Problem", "Use", "cost_of", "solve"]
