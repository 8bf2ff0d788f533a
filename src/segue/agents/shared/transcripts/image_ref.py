"""What an entry holds instead of an image: its type, its size and a hash. Never its data."""

from __future__ import annotations

import binascii
import hashlib

LONGEST_KIND = 80


def reference(kind: str, data: str) -> str:
    """For an image in base64. Data that is not valid base64 is hashed as it is."""
    try:
        content = binascii.a2b_base64(data)
    except (binascii.Error, ValueError):
        content = data.encode("utf-8", "replace")
    return reference_to(kind, content)


def reference_to(kind: str, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"{kind[:LONGEST_KIND] or 'image'}, {len(content):,} bytes, sha256:{digest[:16]}…"
