"""The operation log: reading it, verifying it, and undoing what can be undone."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from segue import agents, store
from segue.errors import NotFound, NothingToUndo, Refused, UndoConflict
from segue.model import Handoff, HandoffState, Operation
from segue.model.handoff import STEPS, Event, transition
from segue.ops.common import process
from segue.ops.common.desk import Desk
from segue.ops.handoff import handoff_records, leases, leftovers, waiting_list
from segue.ops.work import discovery
from segue.store.chain import Flaw
from segue.store.shared import LIMIT as LIMIT
from segue.store.shared import NOUNS

LOOK_BACK = 500
"""How many operations `segue undo` looks through for one of yours."""


AUTOMATIC = frozenset({"session.found", "session.included", "handoff.verified"})
"""Kinds of operations that Segue records on the way to a step of the person's: no steps of their own."""


class Verdict(Struct, frozen=True):
    chains: int
    flaws: tuple[Flaw, ...]


class Undone(Struct, frozen=True):
    undone: Operation
    by: Operation
    can_be_undone: bool
    """Whether undoing this in turn brings it back: not for a handoff, which has ended."""
    stays: str = ""
    """Why a transcript that was written for the target was not removed."""


def log(desk: Desk, limit: int) -> list[Operation]:
    return desk.shared.operations(limit) if desk.has_store else []


def show(desk: Desk, id: str) -> Operation:
    if not desk.has_store:
        raise NotFound(noun="operation", name=id, next="segue log")
    return desk.shared.operation(id)


def as_data(operation: Operation) -> dict[str, Any]:
    """An operation for programs: before and after as the objects they stand for."""
    fields = msgspec.structs.asdict(operation)
    for side in ("before", "after"):
        if fields[side] is not None:
            # What was tampered with may be no JSON: then it is shown as it is.
            with contextlib.suppress(msgspec.DecodeError):
                fields[side] = msgspec.json.decode(fields[side])
    return fields


def verify(desk: Desk) -> Verdict:
    if not desk.has_store:
        return Verdict(0, ())
    chains, flaws = desk.shared.verify()
    return Verdict(chains, tuple(flaws))


def undo(desk: Desk, id: str | None = None) -> Undone:
    """Take back one operation: the one named, or the person's last. It becomes an operation itself."""
    target = show(desk, id) if id is not None else _last_of(desk)
    noun = _noun_of(target)
    subject = target.subject.partition(":")[2]
    if noun is store.HANDOFF and process.is_running(desk.places.data / "runs" / subject):
        raise Refused(
            what=f"The agent that handoff {subject} went to is still at work.",
            next="let it end, or end it; then segue undo",
        )

    last = desk.shared.last_on(target.subject)

    def decide(present: Any) -> Any:
        after = noun.decoded(target.after)
        if isinstance(present, Handoff) and isinstance(after, Handoff) and not _is_note(target):
            # A handoff that ends keeps its event: a rating since, or what was found of its claims.
            after = msgspec.structs.replace(after, event=present.event)
        if present != after:
            raise UndoConflict(
                operation=target.id,
                kind=target.kind,
                subject=target.subject,
                later=last.id if last else target.id,
            )
        return _inverse(desk, target, present)

    change = desk.shared.record(noun, f"{noun.name}.undone", subject, decide, undoes=target.id)
    if _is_note(target):
        return Undone(target, change.operation, True)
    stays = ""
    if isinstance(change.value, Handoff) and change.value.delivery:
        # What the target did in the folder stays.
        leases.give_back(desk, Path(change.value.delivery.project), subject)
        _take_again(desk, change.value)
        stays = leftovers.remove(desk, change.value)
    if noun is store.HANDOFF:
        waiting_list.taken(desk, subject)
    return Undone(target, change.operation, noun is not store.HANDOFF, stays)


def _take_again(desk: Desk, undone: Handoff) -> None:
    """Give the worktree back to the agent that has the work again, if a handoff had brought it there."""
    handoff = discovery.last_to(desk.shared.handoffs_of(undone.session), undone.transcript)
    if handoff is None or handoff.returns or handoff.delivery is None:
        return  # a return takes no lease: the work is at home
    with contextlib.suppress(Refused):  # somebody else holds it by now
        title = agents.get(handoff_records.agent_of(handoff.target)).title
        leases.take(desk, Path(handoff.delivery.project), handoff.id, title)


def _noun_of(operation: Operation) -> store.Noun[Any]:
    name = operation.subject.partition(":")[0]
    for noun in NOUNS:
        if noun.name == name:
            return noun
    told = as_data(operation)["after"]
    saved = told.get("saved") if isinstance(told, dict) else None
    raise Refused(
        what=f"{operation.id} ({operation.kind}) cannot be undone like this: restoring is undone by restoring.",
        next=f"segue backup restore {saved[0]}" if saved else "segue backup list",
    )


def _inverse(desk: Desk, target: Operation, present: Any) -> Any:
    if isinstance(present, Handoff) and not _is_note(target):
        # What was delivered cannot be made undelivered: a handoff ends instead.
        state = transition(present.state, Event.ROLL_BACK)
        return msgspec.structs.replace(present, state=state, updated_at=desk.clock())
    return _noun_of(target).decoded(target.before)


def _is_note(operation: Operation) -> bool:
    """Whether it changed only a handoff's event, as a rating does: then the handoff itself is left as it is."""
    noun = _noun_of(operation)
    before, after = noun.decoded(operation.before), noun.decoded(operation.after)
    if not isinstance(before, Handoff) or not isinstance(after, Handoff):
        return False
    return msgspec.structs.replace(before, event=after.event) == after


def _last_of(desk: Desk) -> Operation:
    if not desk.has_store:
        raise NothingToUndo(where=": no store has been made yet")
    taken_back: set[str] = set()
    for operation in desk.shared.operations(LOOK_BACK):
        if operation.id in taken_back:
            continue
        if operation.undoes:
            # What this took back is not to be taken back again; what took back an undoing does not reach here.
            taken_back.add(operation.undoes)
        elif (
            operation.kind not in AUTOMATIC
            and operation.actor == desk.actor
            and not _is_rolled_back(desk, operation)
        ):
            return operation
    raise NothingToUndo(where=f" among the last {LOOK_BACK} operations")


def _is_rolled_back(desk: Desk, operation: Operation) -> bool:
    """Whether this concerns a handoff that was taken back already. One that ended otherwise cannot be taken back, and
    no earlier step is taken back in its place."""
    noun, _, id = operation.subject.partition(":")
    if noun != store.HANDOFF.name or _is_note(operation):
        return False
    state = desk.shared.get(store.HANDOFF, id).state
    if state is not HandoffState.ROLLED_BACK and (state, Event.ROLL_BACK) not in STEPS:
        raise Refused(
            what=f"Your last step was handoff {id}, which is {state.value}: there is nothing left to take back.",
            next="segue log shows earlier steps; segue undo OPERATION takes back one of them",
        )
    return state is HandoffState.ROLLED_BACK
