"""Skellig: code intelligence for networks that touch nothing."""

__version__ = "0.1.0"
