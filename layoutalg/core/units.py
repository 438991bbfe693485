"""Numbers with their units, as reports and pictures of plans have them.

>>> seconds_text(2.5e-4), percent_text(0.82), bytes_text(1536), rate_text(2.9e14, "FLOP/s")
('250 us', '82 %', '1.5 KiB', '290 TFLOP/s')
"""

from __future__ import annotations

__all__ = ["bytes_text", "percent_text", "rate_text", "seconds_text"]

_UNITS = ((1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "us"), (0.0, 1e9, "ns"))
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def seconds_text(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> seconds_text(1.25e-3), seconds_text(3e-8)
    ('1.25 ms', '30 ns')
    """
    factor, unit = next((factor, unit) for least, factor, unit in _UNITS if seconds >= least)
    return f"{seconds * factor:.3g} {unit}"


def percent_text(part: float) -> str:
    """A part in percent, small ones with more digits.

    >>> percent_text(0.94), percent_text(0.0123), percent_text(1e-6)
    ('94 %', '1.2 %', 'less than 0.01 %')
    """
    if part < 5e-5:
        return "less than 0.01 %"
    return f"{part * 100:.{0 if part >= 0.095 else 1 if part >= 0.0095 else 2}f} %"


def rate_text(rate: float, unit: str) -> str:
    """A number of operations per second, with the prefix that suits it; `unit` is "FLOP/s" or "OP/s"."""
    factor, prefix = next((factor, prefix) for factor, prefix in _PREFIXES if rate >= factor or factor == 1)
    return f"{rate / factor:.3g} {prefix}{unit}"


def bytes_text(count: float) -> str:
    """A number of bytes in the unit that suits it.

    >>> bytes_text(48), bytes_text(3 * 2**20)
    ('48 bytes', '3 MiB')
    """
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"
