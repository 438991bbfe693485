"""layoutalg: an exact algebra of tensor layouts on matrix hardware."""

from layoutalg.core import Layout

__all__ = ["Layout"]
