"""Are the layouts of a module right by meaning? `check` says what is wrong, where, and what would repair it.

>>> check("gpu.barrier").is_right
True
"""

from layoutalg.propagation.checking.checked import Check, check
from layoutalg.propagation.checking.conversions import CheckedConversion
from layoutalg.propagation.checking.mistakes import Mistake, Repair

__all__ = ["Check", "CheckedConversion", "Mistake", "Repair", "check"]
