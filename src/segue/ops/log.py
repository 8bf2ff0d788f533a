"""The operation log: reading, verifying, and undoing operations."""

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
"""How many operations `segue undo` searches for your last one."""


AUTOMATIC = frozenset({"session.found", "session.included", "handoff.verified"})
"""Kinds of operations that Segue records as part of a user's step; they are never undone by themselves."""


class Verdict(Struct, frozen=True):
    chains: int
    flaws: tuple[Flaw, ...]


class Undone(Struct, frozen=True):
    undone: Operation
    by: Operation
    can_be_undone: bool
    """Whether undoing this operation restores the previous state: not for a handoff, which has ended."""
    stays: str = ""
    """Why a transcript that was written for the target was not removed."""


def log(desk: Desk, limit: int) -> list[Operation]:
    return desk.shared.operations(limit) if desk.has_store else []


def show(desk: Desk, id: str) -> Operation:
    if not desk.has_store:
        raise NotFound(noun="operation", name=id, next="segue log")
    return desk.shared.operation(id)


def as_data(operation: Operation) -> dict[str, Any]:
    """An operation for JSON output, with before and after decoded."""
    fields = msgspec.structs.asdict(operation)
    for side in ("before", "after"):
        if fields[side] is not None:
            # Text that was tampered with may not be JSON: it is shown as it is.
            with contextlib.suppress(msgspec.DecodeError):
                fields[side] = msgspec.json.decode(fields[side])
    return fields


def verify(desk: Desk) -> Verdict:
    if not desk.has_store:
        return Verdict(0, ())
    chains, flaws = desk.shared.verify()
    return Verdict(chains, tuple(flaws))


def undo(desk: Desk, id: str | None = None) -> Undone:
    """Undo one operation: the given one, or the user's last. The undo is an operation itself."""
    target = show(desk, id) if id is not None else _last_of(desk)
    noun = _noun_of(target)
    subject = target.subject.partition(":")[2]
    if noun is store.HANDOFF and process.is_running(desk.places.data / "runs" / subject):
        raise Refused(
            what=f"The agent of handoff {subject} is still running.",
            next="wait for it or end it, then run segue undo again",
        )

    last = desk.shared.last_on(target.subject)

    def decide(present: Any) -> Any:
        after = noun.decoded(target.after)
        if isinstance(present, Handoff) and isinstance(after, Handoff) and not _is_note(target):
            # An undone handoff keeps its event: ratings and checked claims since then.
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
        # The target's changes to files are not undone.
        leases.give_back(desk, Path(change.value.delivery.project), subject)
        _take_again(desk, change.value)
        stays = leftovers.remove(desk, change.value)
    if noun is store.HANDOFF:
        waiting_list.taken(desk, subject)
    return Undone(target, change.operation, noun is not store.HANDOFF, stays)


def _take_again(desk: Desk, undone: Handoff) -> None:
    """Lease the worktree to the agent that has the work again, if a handoff had brought it there."""
    handoff = discovery.last_to(desk.shared.handoffs_of(undone.session), undone.transcript)
    if handoff is None or handoff.returns or handoff.delivery is None:
        return  # a return takes no lease
    with contextlib.suppress(Refused):  # another attempt holds it
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
        what=f"{operation.id} ({operation.kind}) cannot be undone: restore an earlier backup instead.",
        next=f"segue backup restore {saved[0]}" if saved else "segue backup list",
    )


def _inverse(desk: Desk, target: Operation, present: Any) -> Any:
    if isinstance(present, Handoff) and not _is_note(target):
        # A delivery cannot be reversed: the handoff ends as rolled back.
        state = transition(present.state, Event.ROLL_BACK)
        return msgspec.structs.replace(present, state=state, updated_at=desk.clock())
    return _noun_of(target).decoded(target.before)


def _is_note(operation: Operation) -> bool:
    """Whether it changed only a handoff's event, as a rating does."""
    noun = _noun_of(operation)
    before, after = noun.decoded(operation.before), noun.decoded(operation.after)
    if not isinstance(before, Handoff) or not isinstance(after, Handoff):
        return False
    return msgspec.structs.replace(before, event=after.event) == after


def _last_of(desk: Desk) -> Operation:
    if not desk.has_store:
        raise NothingToUndo(where=": there is no store yet")
    taken_back: set[str] = set()
    for operation in desk.shared.operations(LOOK_BACK):
        if operation.id in taken_back:
            continue
        if operation.undoes:
            # What this operation undid must not be undone again. An undo of an undo never gets here.
            taken_back.add(operation.undoes)
        elif (
            operation.kind not in AUTOMATIC
            and operation.actor == desk.actor
            and not _is_rolled_back(desk, operation)
        ):
            return operation
    raise NothingToUndo(where=f" among the last {LOOK_BACK} operations")


def _is_rolled_back(desk: Desk, operation: Operation) -> bool:
    """Whether this operation's handoff was undone already. A handoff that ended otherwise cannot be undone, and no
    earlier step is undone in its place."""
    noun, _, id = operation.subject.partition(":")
    if noun != store.HANDOFF.name or _is_note(operation):
        return False
    state = desk.shared.get(store.HANDOFF, id).state
    if state is not HandoffState.ROLLED_BACK and (state, Event.ROLL_BACK) not in STEPS:
        raise Refused(
            what=f"Your last step, handoff {id}, is {state.value} and cannot be undone.",
            next="segue undo OPERATION undoes an earlier step (segue log lists them)",
        )
    return state is HandoffState.ROLLED_BACK
