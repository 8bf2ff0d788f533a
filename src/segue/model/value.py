"""The base of all values: frozen, compared by content."""

from __future__ import annotations

from msgspec import Struct

Hash = str
"""The SHA-256 of some content, in hex. The store keeps the content under it."""


class Value(Struct, frozen=True, kw_only=True):
    """The base class of all nouns: frozen, fields by name only."""
