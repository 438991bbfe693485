"""The modules that say what operations relate: one for each kind of operation."""

SUBJECTS = (
    "layoutalg.propagation.relations.blocks",
    "layoutalg.propagation.relations.elementwise",
    "layoutalg.propagation.relations.products",
    "layoutalg.propagation.relations.reductions",
    "layoutalg.propagation.relations.regions",
    "layoutalg.propagation.relations.shapes",
)
