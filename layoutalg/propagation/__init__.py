"""Layouts that flow through a module: are they right by meaning, which are the cheapest, what do conversions become."""

__all__: list[str] = []
