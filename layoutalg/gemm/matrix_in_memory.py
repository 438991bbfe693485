"""What a 2D block message can address: the limits of a matrix in memory, and the numbers a plan is made of.

A 2D block message names a whole matrix (base, width, height and pitch) and the block inside it that it moves. The
hardware clips the block at the edges: reads outside give 0, writes outside are dropped. That is why sizes that are
not a multiple of the tile need no code of their own. In exchange the matrix has to obey (OpenCL's
cl_intel_subgroup_2d_block_io): rows of 64 bytes to 2^24 bytes and a multiple of 4; a pitch that is a multiple of 16 and
no less than the width, to 2^24 bytes; 1 to 2^24 rows; a base at a multiple of 64 bytes.

>>> check_matrix(Matrix("A", rows=64, columns=20, pitch=20, element="f16"))
Traceback (most recent call last):
layoutalg.core.errors.PlanError: A is 64x20 f16: its rows of 40 bytes are shorter than the 64 bytes that a 2D block \
message needs; 32 columns would fit
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutalg.core.elements import element_bits
from layoutalg.core.errors import PlanError
from layoutalg.core.messages import shown
from layoutalg.core.whole_numbers import found_whole
from layoutalg.hardware import SurfaceLimits

__all__ = ["Matrix", "check_matrix", "check_pitch", "unreachable", "whole_number"]

LIMITS = SurfaceLimits()


@dataclass(frozen=True)
class Matrix:
    """A row-major matrix in memory; sizes and pitch in elements.

    >>> Matrix("B", rows=48, columns=80, pitch=80, element="bf16").pitch_bytes
    160
    """

    name: str
    rows: int
    columns: int
    pitch: int
    element: str

    @property
    def element_bytes(self) -> int:
        """Bytes of one element.

        >>> Matrix("A", 8, 32, 32, "f16").element_bytes
        2
        """
        return element_bits(self.element) // 8

    @property
    def width_bytes(self) -> int:
        """Bytes of one row, without what pads it.

        >>> Matrix("A", 8, 50, 56, "f16").width_bytes
        100
        """
        return self.columns * self.element_bytes

    @property
    def pitch_bytes(self) -> int:
        """Bytes from one row to the next.

        >>> Matrix("A", 8, 50, 56, "f16").pitch_bytes
        112
        """
        return self.pitch * self.element_bytes

    def __str__(self) -> str:
        padded = f" with {self.pitch} elements from row to row" if self.pitch != self.columns else ""
        return f"{self.name} is {self.rows}x{self.columns} {self.element}{padded}"


def check_matrix(matrix: Matrix) -> None:
    """Refuse a matrix that no 2D block message can address.

    Raises `PlanError`: names the matrix, the bytes, the limit and what would fit.
    """
    check_pitch(matrix)
    if problem := unreachable(matrix):
        raise PlanError(f"{matrix}: {problem}")


def check_pitch(matrix: Matrix) -> None:
    """Refuse rows that lie on top of one another.

    Raises `PlanError`: says how long a row is.

    >>> check_pitch(Matrix("A", rows=64, columns=20, pitch=16, element="f16"))
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: A is 64x20 f16 with 16 elements from row to row: a row has 20 elements, so the leading \
dimension is 20 at least
    """
    if matrix.pitch < matrix.columns:
        problem = f"a row has {matrix.columns} elements, so the leading dimension is {matrix.columns} at least"
        raise PlanError(f"{matrix}: {problem}")


def unreachable(matrix: Matrix, multiple: int = LIMITS.pitch_multiple) -> str:
    """Why no 2D block message reaches a matrix, and what would fit; nothing where one does.

    What would fit has rows that are a multiple of `multiple` bytes apart.

    >>> unreachable(Matrix("A", rows=64, columns=40, pitch=50, element="f16"))
    'its rows are 100 bytes apart, which is not a multiple of 16 bytes, as a 2D block message needs; a leading dimension \
lda = 56 would fit'
    """
    size, width, pitch = matrix.element_bytes, matrix.width_bytes, matrix.pitch_bytes
    problem = ""
    if width < LIMITS.width_least:
        fit = _up(LIMITS.width_least, multiple) // size
        problem = (
            f"its rows of {width} bytes are shorter than the {LIMITS.width_least} bytes that a 2D block message needs; "
            f"{fit} columns would fit"
        )
    elif width > LIMITS.width_most:
        problem = (
            f"its rows of {width} bytes are longer than the {LIMITS.width_most} bytes that a 2D block message reaches; "
            f"{LIMITS.width_most // size} columns would fit"
        )
    elif width % LIMITS.width_multiple:
        fit = _up(width, multiple) // size
        problem = (
            f"its rows of {width} bytes are not a multiple of {LIMITS.width_multiple} bytes, as a 2D block message needs; "
            f"{fit} columns would fit (the added ones hold zeros)"
        )
    elif pitch > LIMITS.width_most:
        problem = (
            f"its rows are {pitch} bytes apart, more than the {LIMITS.width_most} bytes that a 2D block message "
            f"reaches; a leading dimension of {LIMITS.width_most // size} would fit"
        )
    elif pitch % LIMITS.pitch_multiple:
        fit = _up(pitch, multiple) // size
        problem = (
            f"its rows are {pitch} bytes apart, which is not a multiple of {LIMITS.pitch_multiple} bytes, as a 2D block "
            f"message needs; a leading dimension ld{matrix.name.lower()} = {fit} would fit"
        )
    elif matrix.rows > LIMITS.height_most:
        problem = f"a 2D block message reaches {LIMITS.height_most} rows; {LIMITS.height_most} rows would fit"
    return problem


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def whole_number(name: str, value: object, largest: int = 2**24) -> int:
    """A size that somebody passed, as an int from 1 to `largest`; numpy's integers are welcome.

    Raises `PlanError`: not an integer from 1 to `largest`.

    >>> whole_number("m", 64)
    64
    >>> whole_number("m", 64.0)
    Traceback (most recent call last):
    layoutalg.core.errors.PlanError: m = 64.0: a size is an integer from 1 to 16777216
    """
    number = found_whole(value)
    if number is None or not 1 <= number <= largest:
        raise PlanError(f"{name} = {shown(value)}: a size is an integer from 1 to {largest}")
    return number
