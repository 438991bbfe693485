"""Are the layouts of a module right by meaning? `check` says what is wrong, where, and what would repair it.

>>> check("gpu.barrier").is_right
True
"""

from layoutalg.checking.checked import Check, check
from layoutalg.checking.conversions import CheckedConversion
from layoutalg.checking.mistakes import Mistake, Repair

__all__ = ["Check", "CheckedConversion", "Mistake", "Repair", "check"]
