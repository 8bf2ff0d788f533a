"""The hash chain of a session's operations. Pure: seals links and finds flaws.

The hash of a link covers all fields of its operation and the previous hash, which reveals altered, removed and swapped
links. The separate head reveals a truncated chain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from segue.model import Hash, Operation


class Flaw(Struct, frozen=True):
    """An inconsistency: the chain, the link (0: the chain itself) and a description."""

    chain: str
    n: int
    what: str


class Head(Struct, frozen=True):
    chain: str
    n: int
    hash: Hash
    at: str


def hash_of(operation: Operation) -> Hash:
    """Hash every field that is set, so that fields added later do not change older hashes."""
    fields = msgspec.structs.asdict(operation)
    del fields["hash"]
    said = [(name, value) for name, value in fields.items() if value is not None]
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()


def sealed(operation: Operation) -> Operation:
    """Return the operation with its hash."""
    return msgspec.structs.replace(operation, hash=hash_of(operation))


def flaws_in(chain: str, operations: Iterable[Operation], head: Head | None) -> list[Flaw]:
    """Find the flaws of one chain, given its operations in order."""
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
        found.append(Flaw(chain, 0, f"its head is link {head.n} at {head.at}, its last link is {n} at {at}"))
    return found
