"""What a value says, for people: reports, pictures of texts, grids for the terminal.

>>> from layoutalg.show import describe, owner_grid
>>> found = describe("d0 = 2@sg:4 16@reg, d1 = 4@sg 16@lane")
>>> found.facts["axes"]
{'sg': 8, 'lane': 16, 'reg': 16}
>>> grid = owner_grid(found.layout)
>>> grid.rows, grid.columns
(('0-15', '16-31'), ('0-15', '16-31', '32-47', '48-63'))
"""

from typing import TYPE_CHECKING

from layoutalg.core.lazy import lazy_names

if TYPE_CHECKING:
    from layoutalg.show.modules import ModuleDescription, describe_module
    from layoutalg.show.pictures import picture
    from layoutalg.show.report import Description, describe
    from layoutalg.show.terminal import OwnerGrid, owner_grid, render

__all__ = [
    "Description",
    "ModuleDescription",
    "OwnerGrid",
    "describe",
    "describe_module",
    "owner_grid",
    "picture",
    "render",
]
_HOMES = {
    "Description": "report",
    "ModuleDescription": "modules",
    "OwnerGrid": "terminal",
    "describe": "report",
    "describe_module": "modules",
    "owner_grid": "terminal",
    "picture": "pictures",
    "render": "terminal",
}
_CALLED = "layoutalg.show is a module: la.picture(value, shape) draws, la.show.describe(value, shape) tells"
"""What `la.show(...)` says, which is tried, as the command is `layoutalg show`."""
__getattr__ = lazy_names(__name__, globals(), _HOMES, called=_CALLED)
