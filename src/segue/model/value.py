"""The base of all values: frozen, compared by content."""

from __future__ import annotations

from msgspec import Struct

Hash = str
"""The SHA-256 of some content, in hex: the name under which the store keeps it."""


class Value(Struct, frozen=True, kw_only=True):
    """What all nouns share: frozen, fields by name only."""
