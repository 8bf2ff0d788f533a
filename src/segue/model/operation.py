"""Operations of the log, and blobs."""

from __future__ import annotations

from segue.base.clock import Moment
from segue.model.value import Hash, Value


class Operation(Value, frozen=True):
    """One recorded change to the shared store: who, what, when, before and after."""

    id: str
    chain: str
    """The session whose history this belongs to, or 'store'."""
    kind: str
    subject: str
    actor: str
    at: Moment
    before: str | None = None
    """The subject as JSON before the change; None where it did not exist."""
    after: str | None = None
    undoes: str | None = None
    key: str | None = None
    """The idempotency key: a retry with it returns this operation, and changes nothing."""
    request: Hash | None = None
    """With a key: the hash of the request, so that another request cannot reuse the key."""
    n: int = 0
    """Its number in the chain, from 1. It is set with the two hashes when the operation is recorded."""
    prev: Hash = ""
    hash: Hash = ""


class Blob(Value, frozen=True):
    """Content that the store keeps under its hash, compressed."""

    hash: Hash
    size: int
    stored: int
    added_at: Moment
