"""The modules that say what operations relate: one for each kind of operation."""

SUBJECTS = (
    "layoutalg.propagation.relations.elementwise",
    "layoutalg.propagation.relations.regions",
    "layoutalg.propagation.relations.shapes",
    "layoutalg.propagation.relations.reductions",
)
