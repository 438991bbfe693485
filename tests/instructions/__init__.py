"""Tests of `layoutalg.instructions`."""
