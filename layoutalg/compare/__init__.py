"""Do two layouts mean the same, whatever their notations? And if not, which element shows it.

>>> bool(same(Layout.parse("d0 = 8@lane"), Layout.parse("d0 = 2@lane:4 4@lane")))
True
"""

from layoutalg.compare.missing import Missing, missing
from layoutalg.compare.same import Same, same

__all__ = ["Missing", "Same", "missing", "same"]
