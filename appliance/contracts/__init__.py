"""Definitions only, no behaviour: all that a plugin may import."""
