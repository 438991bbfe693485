"""Modules that do not verify, where reading a rule off one of their operations fails: refused in the verifier's words.

A module in the generic form may hold operations without their operands or attributes. Verifying every module first would cost
more than the work itself, so it is done when something has failed.

>>> text = '%a = "test.op"() : () -> vector<8xf32> %b = "vector.transpose"(%a) : (vector<8xf32>) -> vector<8xf32>'
>>> with refused_where_malformed(Module(text), 24):
...     text.index("vector.reduction")
Traceback (most recent call last):
layoutalg.core.errors.LayoutError: text:1:45: error: 'vector.transpose' op requires attribute 'permutation' [LLVM 24:
vector.transpose.types]
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from layoutalg.core.errors import LayoutError
from layoutalg.ir.findings import Finding
from layoutalg.ir.places import place_of
from layoutalg.ir.well_formed import MALFORMED, is_well_formed
from layoutalg.module.module import Module

__all__ = ["is_refusal", "refused_where_malformed", "wrong_in"]


def is_refusal(finding: Finding) -> bool:
    """Whether what `verify` finds makes a module wrong for `check` and `lower`.

    They read every version's spelling. Which registers a message delivers is decided in `hardware.messages`, in any order.
    """
    return finding.level == "error" and not finding.rule.endswith(".spelling") and finding.rule != "ours.load_layout"


def wrong_in(module: Module, llvm: int) -> tuple[Finding, ...]:
    """The errors that verifying a module finds; where it finds none, operations that the dialects' declarations do not allow.

    >>> wrong_in(Module("gpu.barrier"), 24)
    ()
    >>> print(*wrong_in(Module('"vector.shuffle"() : () -> ()'), 24))
    text:1:1: error: 'vector.shuffle' op requires one result [LLVM 24: vector.shuffle.types]
    """
    wrong = tuple(finding for finding in module.verify(llvm=llvm) if finding.level == "error")
    return wrong or tuple(
        Finding("structure.declaration", _OTHER, operation.name, place_of(operation))
        for part in module.parts
        for operation in part.module.walk()
        if not is_well_formed(operation)
    )


_OTHER = "has other operands, results, attributes or regions than its dialect says"


@contextmanager
def refused_where_malformed(module: Module, llvm: int) -> Generator[None]:
    """Raises `LayoutError` with the first error of a module that does not verify, where the work inside fails on it."""
    try:
        yield
    except LayoutError:
        raise
    except MALFORMED:
        wrong = wrong_in(module, llvm)
        if not wrong:
            raise
        raise LayoutError(str(wrong[0])) from None
