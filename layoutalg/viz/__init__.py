"""Pictures of layouts, for notebooks and papers. Start with `picture`: its story has the way of the data through the room.

>>> Layout.parse("d0 = 8@reg, d1 = 16@lane").picture().save("build/c.svg")
"""

from layoutalg.viz.picture import Picture, picture_of

__all__ = ["Picture", "picture_of"]
