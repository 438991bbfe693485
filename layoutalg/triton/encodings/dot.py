"""`#ttg.dot_op`: operand A or B of a `tt.dot`, laid out as its parent, the encoding of the result, wants it.

Each parent knows its own operands (`Distributed._dot_operand`); `kWidth` counts elements along K that a lane holds together.

>>> from layoutalg.triton.encodings import Blocked
>>> a = DotOperand(0, Blocked((1, 1), (8, 4), (1, 1), (1, 0)))
>>> print(a)
#ttg.dot_op<{opIdx = 0,
parent = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 1], order = [1, 0]}>}>
>>> print(a.to_linear((8, 4)))
#ttg.linear<{register = [[0, 1], [0, 2]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [], block = []}>
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.errors import VerificationError
from layoutalg.core.messages import shown
from layoutalg.triton.encodings.encoding import Distributed, Tiled, as_sizes_field, key_text
from layoutalg.triton.encodings.product import Tiling

__all__ = ["DotOperand"]


@dataclass(frozen=True, slots=True)
class DotOperand(Tiled):
    """`#ttg.dot_op`; `k_width` is 0 where the attribute has none.

    Raises `VerificationError` in Triton's words for a parent or a width that it refuses.

    >>> from layoutalg.triton.encodings import NvidiaMma
    >>> DotOperand(0, NvidiaMma(2, 0, (2, 2), (16, 8)))
    Traceback (most recent call last):
    layoutalg.core.errors.VerificationError: ttg.dot_op kWidth parameter is mandatory for Ampere or Hopper MMA parent
    """

    op_idx: int
    parent: Distributed
    k_width: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.parent, Distributed):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise VerificationError(f"dot_op of {shown(self.parent)}: expected a distributed encoding as its parent")
        index = self._whole("op_idx", "opIdx =", -(2**31), 2**31)
        if index not in (0, 1):
            raise VerificationError(f"ttg.dot_op opIdx parameter can be 0 or 1, got: {index}")
        width = self._whole("k_width", "kWidth =", 0, 4096)
        self.parent._check_dot(index, width)
        if width:
            as_sizes_field("kWidth", [width])

    @property
    def rank(self) -> int:
        """The dimensions of the tensor."""
        return self.parent.rank

    @property
    def notes(self) -> tuple[str, ...]:
        """What Triton loses or scrambles in such an attribute."""
        return (*self.remarks, *self.parent.notes)

    def __str__(self) -> str:
        keys: dict[str, object] = {"opIdx": self.op_idx, "parent": self.parent, "kWidth": self.k_width or None}
        return f"#ttg.dot_op<{key_text(keys)}>"

    def _tiling(self, shape: tuple[int, ...]) -> Tiling:
        """The pieces, for a shape that has been checked."""
        return self.parent._dot_operand(self.op_idx, self.k_width, shape)
