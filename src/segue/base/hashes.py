"""A short hash that tells things apart. Not for proofs: those are SHA-256, where content is kept by its hash."""

try:
    from _blake2 import blake2b
except ImportError:  # another Python than CPython; hashlib takes long to load
    from hashlib import blake2b


def short_hash(content: bytes) -> bytes:
    """Eight bytes."""
    return blake2b(content, digest_size=8).digest()
