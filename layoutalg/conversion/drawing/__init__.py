"""The parts of a conversion's picture: what words hold (`contents`), a page (`page`), exchanges and memory drawn on it."""

__all__: list[str] = []
