"""The operation log: reading it, verifying it, and undoing what can be undone."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from segue import lifecycle, store
from segue.errors import NothingToUndo, Refused, UndoConflict
from segue.lifecycle import Event
from segue.model import Handoff, Operation
from segue.ops.desk import Desk
from segue.store.chain import Flaw
from segue.store.shared import NOUNS, as_json

LOOK_BACK = 500
"""How many operations `segue undo` looks through for one of yours."""


class Verdict(Struct, frozen=True):
    chains: int
    flaws: tuple[Flaw, ...]


class Undone(Struct, frozen=True):
    undone: Operation
    by: Operation


def log(desk: Desk, limit: int) -> list[Operation]:
    return desk.shared.operations(limit) if desk.has_store else []


def show(desk: Desk, id: str) -> Operation:
    return desk.shared.operation(id)


def verify(desk: Desk) -> Verdict:
    if not desk.has_store:
        return Verdict(0, ())
    chains, flaws = desk.shared.verify()
    return Verdict(chains, tuple(flaws))


def undo(desk: Desk, id: str | None = None) -> Undone:
    """Take back one operation: the one named, or the person's last. It becomes an operation itself."""
    target = desk.shared.operation(id) if id else _last_of(desk)
    noun = _noun_of(target)
    subject = target.subject.partition(":")[2]

    later = _later_than(desk, target)

    def decide(present: Any) -> Any:
        if later or as_json(present) != target.after:
            raise UndoConflict(
                operation=target.id,
                kind=target.kind,
                subject=target.subject,
                later=later or "another operation",
            )
        return _inverse(desk, target, present)

    change = desk.shared.record(noun, f"{noun.name}.undone", subject, decide, undoes=target.id)
    return Undone(target, change.operation)


def _noun_of(operation: Operation) -> store.Noun[Any]:
    name = operation.subject.partition(":")[0]
    for noun in NOUNS:
        if noun.name == name:
            return noun
    raise Refused(
        what=f"{operation.id} ({operation.kind}) cannot be undone.",
        next="segue backup list shows the store as it was before, if that is what you want back",
    )


def _inverse(desk: Desk, target: Operation, present: Any) -> Any:
    if isinstance(present, Handoff):
        # What was delivered cannot be made undelivered: a handoff ends instead.
        state = lifecycle.transition(present.state, Event.ROLL_BACK)
        return msgspec.structs.replace(present, state=state, updated_at=desk.clock())
    return msgspec.json.decode(target.before, type=_noun_of(target).type) if target.before else None


def _later_than(desk: Desk, target: Operation) -> str | None:
    """The operation that stands in the way: a later one on the subject, or, where undoing would remove a
    session, the last one on a handoff in it."""
    last = desk.shared.last_on(target.subject)
    if last and last.after != target.after:
        return last.id
    if target.before is None and target.subject.startswith("session:"):
        for handoff in desk.shared.all(store.HANDOFF):
            inside = desk.shared.last_on(f"handoff:{handoff.id}")
            if handoff.session == target.chain and inside:
                return inside.id
    return None


def _last_of(desk: Desk) -> Operation:
    if not desk.has_store:
        raise NothingToUndo(where=": no store has been made yet")
    recent = desk.shared.operations(LOOK_BACK)
    taken_back = {operation.undoes for operation in recent if operation.undoes}
    ended = {
        f"handoff:{handoff.id}"
        for handoff in desk.shared.all(store.HANDOFF)
        if handoff.state in lifecycle.ENDS and (handoff.state, Event.ROLL_BACK) not in lifecycle.STEPS
    }
    for operation in recent:
        is_open = operation.id not in taken_back and operation.undoes is None and operation.chain != "store"
        if is_open and operation.actor == desk.actor and operation.subject not in ended:
            return operation
    raise NothingToUndo(where=f" among the last {LOOK_BACK} operations")
