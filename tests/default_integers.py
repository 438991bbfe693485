"""A numpy whose default integer has 32 bits, as numpy 1 has on Windows: what asks for no type gets 32 bits there.

>>> import numpy as np
>>> with default_integers_of_32_bits():
...     np.arange(3).dtype.name, np.array([1]).dtype.name, np.arange(3, dtype=np.int64).dtype.name
('int32', 'int32', 'int64')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

_MAKERS = ("arange", "array", "asarray", "full", "indices")


def _narrow(function: Callable[..., Any]) -> Callable[..., Any]:
    def made(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        place = {"arange": 3, "full": 2, "indices": 1}.get(function.__name__, 1)
        typed = "dtype" in kwargs or len(args) > place or any(isinstance(one, np.ndarray | np.generic) for one in args)
        if typed or found.dtype != np.int64 or _holds_numpy(args):
            return found
        if found.size and not -(2**31) <= int(found.min()) <= int(found.max()) < 2**31:
            raise OverflowError("Python int too large to convert to C long")
        return found.astype(np.int32)

    return made


def _holds_numpy(value: Any) -> bool:
    """Whether numbers of numpy, which have a type of their own, are in a list."""
    if isinstance(value, list | tuple):
        return any(_holds_numpy(one) for one in value)
    return isinstance(value, np.ndarray | np.generic)


@contextmanager
def default_integers_of_32_bits() -> Iterator[None]:
    """While it lasts, numpy makes integers of 32 bits where no type is said."""
    patches = [patch.object(np, name, _narrow(getattr(np, name))) for name in _MAKERS]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()
