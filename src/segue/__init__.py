"""Segue hands work from one AI coding agent to the next without losing the thread."""

__all__ = ["__version__"]

__version__ = "0.1.0"
