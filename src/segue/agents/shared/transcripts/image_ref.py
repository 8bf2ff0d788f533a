"""What stands for a picture in an entry: what it is, how large, and a hash to know it by. Never its data."""

from __future__ import annotations

import binascii
import hashlib

LONGEST_KIND = 80


def reference(kind: str, data: str) -> str:
    """For a picture in base64; what is no base64 is taken as it is."""
    try:
        content = binascii.a2b_base64(data)
    except (binascii.Error, ValueError):
        content = data.encode("utf-8", "replace")
    return reference_to(kind, content)


def reference_to(kind: str, content: bytes) -> str:
    digest = hashlib.sha256(content).hexdigest()
    return f"{kind[:LONGEST_KIND] or 'image'}, {len(content):,} bytes, sha256:{digest[:16]}…"
