"""Pictures of layouts: the grid of owners in a terminal, and what else there is to say about one.

>>> from layoutalg.core import Layout
>>> from layoutalg.viz import owner_grid
>>> grid = owner_grid(Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"))
>>> grid.rows, grid.columns
(('0-15', '16-31'), ('0-15', '16-31', '32-47', '48-63'))
"""

from layoutalg.viz.report import Description, describe
from layoutalg.viz.terminal import OwnerGrid, owner_grid, render

__all__ = ["Description", "OwnerGrid", "describe", "owner_grid", "render"]
