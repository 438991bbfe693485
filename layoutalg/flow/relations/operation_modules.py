"""The modules that say what operations relate, one for each kind of operation; they are loaded when the first one is asked for.

>>> SUBJECTS[0]
'layoutalg.flow.relations.gathers'
"""

__all__ = ["SUBJECTS"]

_ROOM = "layoutalg.flow.relations"

SUBJECTS = tuple(
    f"{_ROOM}.{subject}"
    for subject in (
        "gathers",
        "blocks",
        "contractions",
        "conversions",
        "elementwise",
        "slices",
        "products",
        "reductions",
        "regions",
        "shapes",
        "triton",
    )
)
"""The modules that register relations."""
