"""Pictures of layouts, for notebooks, papers and terminals, and what else there is to say about one.

>>> from layoutalg.core import Layout
>>> Layout.parse("d0 = 8@reg, d1 = 16@lane").picture().save("build/c.svg")

In a terminal, the grid of owners:

>>> from layoutalg.viz import owner_grid
>>> grid = owner_grid(Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"))
>>> grid.rows, grid.columns
(('0-15', '16-31'), ('0-15', '16-31', '32-47', '48-63'))
"""

from layoutalg.viz.picture import Picture, picture_of
from layoutalg.viz.report import Description, describe
from layoutalg.viz.terminal import OwnerGrid, owner_grid, render

__all__ = ["Description", "OwnerGrid", "Picture", "describe", "owner_grid", "picture_of", "render"]
