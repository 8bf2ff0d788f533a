"""The shared store: sessions, handoffs, leases, blobs, and the log of all changes.

A noun changes only through `record`: it calls a pure function for the next state, writes it and appends an operation
to the session's chain, in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from segue.base import clock
from segue.errors import BadInput, BlobDamaged, InUse, KeyTaken, LeaseLost, NotFound, StoreDamaged
from segue.model import Blob, Handoff, Hash, Lease, Operation, Session
from segue.store import blobs, chain
from segue.store.database import Contention, Database, Row, Transaction, in_transaction

N = TypeVar("N", Session, Handoff)
V = TypeVar("V")

LIMIT = 1000
LONGEST_KEY = 200


class Noun(Struct, Generic[N], frozen=True):
    """Storage of a noun: its table, its JSON columns, and the chain of its changes."""

    type: type[N]
    name: str
    listed_by: str
    """The command that lists them, for errors."""
    json: frozenset[str]
    chain: Callable[[N], str]

    def to_row(self, value: N) -> Row:
        row: Row = msgspec.to_builtins(value)
        return {k: msgspec.json.encode(v).decode() if k in self.json else v for k, v in row.items()}

    def from_row(self, row: Row) -> N:
        try:
            fields = {k: msgspec.json.decode(v) if k in self.json else v for k, v in row.items()}
        except (msgspec.DecodeError, TypeError) as error:
            raise StoreDamaged(place="the shared store", what=f"{self.name} {row['id']}: {error}") from error
        return _as(self.type, fields)

    def decoded(self, text: str | None) -> N | None:
        """Decode the noun of an operation; newer fields get their defaults."""
        return msgspec.json.decode(text, type=self.type) if text is not None else None


def _as(type: type[V], fields: Any) -> V:
    try:
        return msgspec.convert(fields, type)
    except msgspec.ValidationError as error:
        raise StoreDamaged(place="the shared store", what=f"a row is invalid: {error}") from error


SESSION: Noun[Session] = Noun(
    Session, "session", "segue session list", frozenset({"transcripts", "task"}), lambda session: session.id
)
HANDOFF: Noun[Handoff] = Noun(
    Handoff,
    "handoff",
    "segue handoff list --all",
    frozenset({"package", "not_passed", "expected_output", "proof", "delivery", "event"}),
    lambda handoff: handoff.session,
)
NOUNS: tuple[Noun[Any], ...] = (SESSION, HANDOFF)


class Change(Struct, Generic[N], frozen=True):
    """The recorded operation and the noun after it (None: removed)."""

    operation: Operation
    value: N | None

    def kept(self) -> N:
        """The noun after the change; raises if it was removed."""
        if self.value is None:
            raise NotFound(noun="subject", name=self.operation.subject, next="segue log")
        return self.value


def _note(transaction: Transaction, kept: Sequence[Blob]) -> None:
    for blob in kept:
        transaction.run("blob_add", **msgspec.structs.asdict(blob))


class Shared:
    """An open shared store, used by one actor."""

    def __init__(
        self,
        database: Database,
        *,
        actor: str,
        clock: clock.Clock = clock.now,
        new_id: Callable[[str], str],
    ) -> None:
        self.database = database
        self.actor = actor
        self._clock = clock
        self.new_id = new_id

    @property
    def place(self) -> str:
        return self.database.place

    def close(self) -> None:
        self.database.close()

    # Nouns

    def get(self, noun: Noun[N], id: str) -> N:
        """The noun with this id or unique id prefix."""
        return noun.from_row(self._only(f"{noun.name}_find", id, noun.name, noun.listed_by))

    def _only(self, query: str, start: str, name: str, listed_by: str) -> Row:
        """The row with this id or unique id prefix."""
        with self.database.read() as transaction:
            rows = transaction.all(query, prefix=start) if start else []
        found = [row for row in rows if row["id"] == start] or rows
        if not found:
            raise NotFound(noun=name, name=start, next=listed_by)
        if len(found) > 1:
            raise BadInput(what=f"More than one {name} starts with '{start}'.", next=listed_by)
        return found[0]

    def all(self, noun: Noun[N], limit: int = LIMIT) -> list[N]:
        """All nouns of a kind, last updated first."""
        return self._several(noun, f"{noun.name}_list", limit=limit)

    def open_sessions(self, project: str) -> list[Session]:
        return self._several(SESSION, "session_by_project", project=project, limit=LIMIT)

    def handoffs_of(self, session: str) -> list[Handoff]:
        return self._several(HANDOFF, "handoff_by_session", session=session, limit=LIMIT)

    def _several(self, noun: Noun[N], query: str, **values: Any) -> list[N]:
        with self.database.read() as transaction:
            return [noun.from_row(row) for row in transaction.all(query, **values)]

    def record(
        self,
        noun: Noun[N],
        kind: str,
        subject: str,
        decide: Callable[[N | None], N | None],
        *,
        key: str | None = None,
        request: Any = None,
        undoes: str | None = None,
        keeps: Sequence[Blob] = (),
    ) -> Change[N]:
        """Change a noun. `decide` maps its present state (None: missing) to the next (None: remove); if it raises,
        nothing changes. With a `key`, a second call with the same `request` returns the first result. `keeps`
        lists blobs that were put for this change."""
        if key is not None and not 1 <= len(key) <= LONGEST_KEY:
            what = f"An idempotency key has from 1 to {LONGEST_KEY} characters."
            raise BadInput(what=what, next="use another one, or none")
        digest = blobs.hash_of(msgspec.json.encode([kind, request])) if key else None

        def work(transaction: Transaction) -> Change[N]:
            if key and (earlier := transaction.one("operation_by_key", actor=self.actor, key=key)):
                return self._again(noun, _as(Operation, earlier), digest)
            _note(transaction, keeps)
            before = self._held(transaction, noun, subject)
            after = decide(before)
            owner = after or before
            if owner is None:
                raise NotFound(noun=noun.name, name=subject, next=noun.listed_by)
            if before is None:
                self._refuse_second(transaction, noun, subject, noun.chain(owner))
            self._refuse_orphans(transaction, noun, subject, after)
            if after is None:
                transaction.run(f"{noun.name}_drop", id=subject)
            else:
                transaction.run(f"{noun.name}_put", **noun.to_row(after))
            operation = Operation(
                id=self.new_id("op"),
                kind=kind,
                actor=self.actor,
                at=self._clock(),
                chain=noun.chain(owner),
                subject=f"{noun.name}:{subject}",
                before=as_json(before),
                after=as_json(after),
                undoes=undoes,
                key=key,
                request=digest,
            )
            return Change(append(transaction, operation), after)

        return in_transaction(self.database, work)

    def _refuse_second(self, transaction: Transaction, noun: Noun[N], id: str, name: str) -> None:
        """Lock the chain of a new noun (there was none to lock before the decision), and retry if it exists by now."""
        hold(transaction, name)
        if transaction.one(f"{noun.name}_get", id=id):
            raise Contention(f"{noun.name} {id} was made by another")

    def _refuse_orphans(self, transaction: Transaction, noun: Noun[N], id: str, after: N | None) -> None:
        """Refuse a handoff without its session or content, and the removal of a session with handoffs. Both changes
        hold the session's chain, so they cannot race."""
        if isinstance(after, Handoff):
            if not transaction.one("session_get", id=after.session):
                raise NotFound(noun="session", name=after.session, next=SESSION.listed_by)
            for hash in after.contents():
                # It was stored just before; a restore in between can have removed it.
                if not transaction.one("blob_get", hash=hash):
                    raise BlobDamaged(hash=hash, place=self.place, what="it is not there")
        if (
            after is None
            and noun.type is Session
            and transaction.one("handoff_by_session", session=id, limit=1)
        ):
            raise InUse(id=id)

    def _held(self, transaction: Transaction, noun: Noun[N], id: str) -> N | None:
        """Read a noun and lock its chain until the transaction ends."""
        row = transaction.one(f"{noun.name}_get", id=id)
        if row is None:
            return None
        hold(transaction, noun.chain(noun.from_row(row)))
        row = transaction.one(f"{noun.name}_get", id=id)
        return noun.from_row(row) if row else None

    def _again(self, noun: Noun[N], operation: Operation, digest: str | None) -> Change[N]:
        if operation.request != digest:
            raise KeyTaken(key=operation.key, operation=operation.id)
        return Change(operation, noun.decoded(operation.after))

    # The log

    def operations(self, limit: int = LIMIT) -> list[Operation]:
        """The latest operations, newest first."""
        with self.database.read() as transaction:
            return _as(list[Operation], transaction.all("operation_list", limit=limit))

    def operation(self, id: str) -> Operation:
        return _as(Operation, self._only("operation_find", id, "operation", "segue log"))

    def last_on(self, subject: str) -> Operation | None:
        """The newest operation on a subject."""
        with self.database.read() as transaction:
            row = transaction.one("operation_last_on", subject=subject)
        return _as(Operation, row) if row else None

    def verify(self) -> tuple[int, list[chain.Flaw]]:
        """Number of chains, and the flaws in them and in the rows."""
        broken = [chain.Flaw("", 0, what) for what in self.database.check()]
        with self.database.read() as transaction:
            count, flaws = verify(transaction)
        return count, broken + flaws

    # Blobs

    def keep(self, content: bytes) -> Blob:
        """Store content."""
        (blob,) = put = self.put_all([content])
        in_transaction(self.database, lambda transaction: _note(transaction, put))
        return blob

    def put_all(self, contents: Sequence[bytes]) -> list[Blob]:
        """Write blobs whose rows the next recorded change adds: one transaction is faster than one per blob."""
        put = []
        for content in contents:
            packed = blobs.pack(content)
            blob = Blob(
                hash=blobs.hash_of(content), size=len(content), stored=len(packed), added_at=self._clock()
            )
            self.database.put_blob(blob.hash, packed)
            put.append(blob)
        return put

    def content(self, hash: Hash) -> bytes:
        return blobs.unpack(self.database.get_blob(hash), hash, self.place)

    def damaged_blobs(self) -> list[BlobDamaged]:
        """Blobs that are missing or damaged."""
        with self.database.read() as transaction:
            hashes = all_contents(transaction)
        found = []
        for hash in sorted(hashes):
            try:
                self.content(hash)
            except BlobDamaged as error:
                found.append(error)
        return found

    # Leases

    def offer(self, kind: str, subject: str, due_at: clock.Moment | None = None) -> None:
        """Make something claimable; a second time changes nothing."""
        due = due_at or self._clock()
        in_transaction(self.database, lambda t: t.run("lease_offer", subject=subject, kind=kind, due_at=due))

    def claim(self, kind: str, seconds: float, holder: str) -> Lease | None:
        """Claim the longest due lease of a kind; None if none is free. A holder is one process, not one person."""

        def work(transaction: Transaction) -> Lease | None:
            now = self._clock()
            row = transaction.one(
                "lease_claim",
                kind=kind,
                holder=holder,
                now=now,
                expires_at=clock.later(now, seconds),
            )
            return _as(Lease, row) if row else None

        return in_transaction(self.database, work)

    def take(self, kind: str, subject: str, seconds: float, holder: str) -> Lease | None:
        """Acquire the lease on a subject; None if another holds it. Its holder can acquire it again to extend it;
        `due_at` stays the time of the first acquisition."""

        def work(transaction: Transaction) -> Lease | None:
            now = self._clock()
            until = clock.later(now, seconds)
            row = transaction.one(
                "lease_take", kind=kind, subject=subject, holder=holder, now=now, expires_at=until
            )
            return _as(Lease, row) if row else None

        return in_transaction(self.database, work)

    def held(self, subject: str) -> Lease | None:
        """The current lease on a subject, if any."""
        with self.database.read() as transaction:
            row = transaction.one("lease_held", subject=subject, now=self._clock())
        return _as(Lease, row) if row else None

    def renew(self, lease: Lease, seconds: float) -> None:
        now = self._clock()
        self._with_lease("lease_renew", lease, now=now, expires_at=clock.later(now, seconds))

    def release(self, lease: Lease) -> None:
        self._with_lease("lease_release", lease)

    def settle(self, lease: Lease) -> None:
        """Mark the work as done: the lease cannot be claimed again."""
        self._with_lease("lease_settle", lease, now=self._clock())

    def _with_lease(self, query: str, lease: Lease, **values: Any) -> None:
        held = {"subject": lease.subject, "token": lease.token, "holder": lease.holder}
        if not in_transaction(self.database, lambda t: t.run(query, **held, **values)):
            raise LeaseLost(subject=lease.subject, holder=lease.holder)


def hold(transaction: Transaction, name: str) -> chain.Head:
    """Lock the head of a chain until the transaction ends."""
    transaction.run("head_touch", chain=name)
    return _as(chain.Head, transaction.one("head_lock", chain=name))


def append(transaction: Transaction, operation: Operation) -> Operation:
    """Append an operation to its chain: sets number, previous hash and hash."""
    head = hold(transaction, operation.chain)
    # Keep a chain's times in order if the clock was set back.
    link = msgspec.structs.replace(operation, n=head.n + 1, prev=head.hash, at=max(operation.at, head.at))
    link = chain.sealed(link)
    transaction.run("operation_add", **msgspec.structs.asdict(link))
    transaction.run("head_put", chain=link.chain, n=link.n, hash=link.hash, at=link.at)
    return link


def all_contents(transaction: Transaction) -> set[Hash]:
    """Hashes of all blobs in the store or referenced by a handoff."""
    hashes = {_as(str, row["hash"]) for row in transaction.all("blob_all")}
    for row in transaction.rows(HANDOFF.name):
        hashes.update(HANDOFF.from_row(row).contents())
    return hashes


def verify(transaction: Transaction) -> tuple[int, list[chain.Flaw]]:
    """Check every chain, and each row against the latest operation on it."""
    heads = {row["chain"]: _as(chain.Head, row) for row in transaction.all("head_all")}
    names = {_as(str, row["chain"]) for row in transaction.all("operation_chains")} | set(heads)
    flaws: list[chain.Flaw] = []
    last: dict[str, Operation] = {}
    for name in sorted(names):
        operations = _as(list[Operation], transaction.all("operation_chain", chain=name))
        flaws += chain.flaws_in(name, operations, heads.get(name))
        last |= {operation.subject: operation for operation in operations}
    for noun in NOUNS:
        flaws += _stale(transaction, noun, last)
    return len(names), flaws


def _stale(transaction: Transaction, noun: Noun[Any], last: dict[str, Operation]) -> list[chain.Flaw]:
    """Rows that differ from the latest operation on them."""
    left = {subject: op for subject, op in last.items() if subject.startswith(f"{noun.name}:")}
    flaws = []
    for row in transaction.rows(noun.name):
        subject = f"{noun.name}:{row['id']}"
        operation = left.pop(subject, None)
        if operation is None:
            flaws.append(chain.Flaw("", 0, f"{subject} has no history"))
        elif not _is_as_left(noun, row, operation):
            flaws.append(
                chain.Flaw(
                    operation.chain,
                    operation.n,
                    f"{subject} differs from the state that this operation recorded",
                )
            )
    for subject, operation in left.items():
        if operation.after is not None:
            flaws.append(chain.Flaw(operation.chain, operation.n, f"{subject} is gone"))
    return flaws


def _is_as_left(noun: Noun[Any], row: Row, operation: Operation) -> bool:
    try:
        return bool(noun.from_row(row) == noun.decoded(operation.after))
    except (StoreDamaged, msgspec.MsgspecError):
        return False


def as_json(value: Session | Handoff | None) -> str | None:
    """Encode a noun for an operation."""
    return msgspec.json.encode(value).decode() if value is not None else None
