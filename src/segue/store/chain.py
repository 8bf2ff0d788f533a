"""The hash chain of a session's operations. Pure: makes links and finds what does not fit.

A link's hash covers every field of its operation and the hash of the link before it, so a changed byte,
a removed or a swapped link shows; the head, kept apart, shows a chain that lost its end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from segue.model import Hash, Operation


class Flaw(Struct, frozen=True):
    """Something that does not fit: in which chain, at which link (0: the chain itself), and what."""

    chain: str
    n: int
    what: str


class Head(Struct, frozen=True):
    chain: str
    n: int
    hash: Hash
    at: str


def hash_of(operation: Operation) -> Hash:
    """Over every field that is set: a field that a later Segue adds leaves older hashes as they are."""
    fields = msgspec.structs.asdict(operation)
    del fields["hash"]
    said = [(name, value) for name, value in fields.items() if value is not None]
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()


def sealed(operation: Operation) -> Operation:
    """The operation with its hash put in."""
    return msgspec.structs.replace(operation, hash=hash_of(operation))


def flaws_in(chain: str, operations: Iterable[Operation], head: Head | None) -> list[Flaw]:
    """What does not fit in one chain, given its operations in order."""
    found = []
    n, prev, at = 0, "", ""
    for operation in operations:
        n += 1
        if operation.n != n:
            found.append(Flaw(chain, n, f"link {n} is missing: the next one is {operation.n}"))
            n = operation.n
        elif operation.prev != prev:
            found.append(Flaw(chain, n, "it does not follow from the link before it"))
        if hash_of(operation) != operation.hash:
            found.append(Flaw(chain, n, "it was changed after it was recorded"))
        if operation.at < at:
            found.append(Flaw(chain, n, "it is older than the link before it"))
        prev, at = operation.hash, operation.at
    if head is None:
        found.append(Flaw(chain, 0, "it has no head"))
    elif (head.n, head.hash, head.at) != (n, prev, at):
        found.append(
            Flaw(chain, 0, f"its head speaks of link {head.n} at {head.at}, its last is {n} at {at}")
        )
    return found
