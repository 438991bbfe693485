"""The modules that say how operations are lowered: one for each kind of operation."""

__all__ = ["SUBJECTS"]

_ROOM = "layoutalg.lowering"
SUBJECTS = (
    f"{_ROOM}.assembling",
    f"{_ROOM}.elementwise",
    f"{_ROOM}.converting",
    f"{_ROOM}.blocks",
    f"{_ROOM}.branches",
    f"{_ROOM}.matrices",
    f"{_ROOM}.moving",
    f"{_ROOM}.constants",
    f"{_ROOM}.products",
    f"{_ROOM}.reductions",
    f"{_ROOM}.regions",
    f"{_ROOM}.row_shuffles",
    f"{_ROOM}.scattered",
)
