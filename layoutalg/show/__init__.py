"""What a value is, as text and as data: reports, the operands of matrix products, grids for the terminal.

>>> from layoutalg.core import Layout
>>> from layoutalg.show import owner_grid
>>> grid = owner_grid(Layout.parse("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane"))
>>> grid.rows, grid.columns
(('0-15', '16-31'), ('0-15', '16-31', '32-47', '48-63'))
"""

from layoutalg.show.report import Description, describe
from layoutalg.show.terminal import OwnerGrid, owner_grid, render

__all__ = ["Description", "OwnerGrid", "describe", "owner_grid", "render"]
