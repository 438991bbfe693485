"""The banks of shared memory that are assumed where nobody says otherwise: 32 of 4 bytes, as on most GPUs.

`layoutalg.memory.conflicts` has the model and its sources, `layoutalg.hardware.chips` the chips that have more.

>>> BANKS * BANK_BYTES          # bytes that are served in a cycle
128
"""

from __future__ import annotations

__all__ = ["BANKS", "BANK_BYTES"]

BANKS = 32
"""How many there are."""
BANK_BYTES = 4
"""The bytes of a bank's word."""
