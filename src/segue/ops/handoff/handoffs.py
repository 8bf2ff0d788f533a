"""Handoffs: prepare, execute, validate. `execution` does the steps from the claim of the worktree to the outcome.

plan -> store (prepared) -> the user agrees -> claim the worktree -> write the native transcript -> store (delivered)
-> the target runs -> read its transcript back -> store (acknowledged) -> it ends -> store (completed)
-> read it back again -> store (validated)

A process can be killed between any two steps. A step that was not recorded can be repeated without harm, and a target
that was started is looked for before it is started again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents
from segue.base import clock, fence, files
from segue.errors import Refused, Stopped, Underway
from segue.model import Handoff, HandoffState, Package
from segue.model.delivery import Delivery, Mode, Way
from segue.model.handoff import Event
from segue.ops.common import process, redaction
from segue.ops.common.desk import Desk
from segue.ops.handoff import events, handoff_records, leases, leftovers, outcome, proof
from segue.ops.handoff import plan as handoff_plan
from segue.ops.handoff.arrival import Arrival
from segue.ops.handoff.consent import vendor_of as vendor_of
from segue.ops.handoff.execution import Doubt as Doubt
from segue.ops.handoff.execution import May as May
from segue.ops.handoff.execution import Tell, Trip, refuse
from segue.ops.handoff.handoff_records import agent_of as agent_of
from segue.ops.handoff.handoff_records import brief_of as brief_of
from segue.ops.handoff.handoff_records import get as get
from segue.ops.handoff.handoff_records import last_here as last_here
from segue.ops.handoff.handoff_records import listed as listed
from segue.ops.handoff.handoff_records import package as package
from segue.ops.handoff.handoff_records import receipt_of as receipt_of
from segue.ops.handoff.handoff_records import title_of as title_of
from segue.ops.handoff.plan import Order, Plan
from segue.ops.work import sessions
from segue.ops.work.discovery import Work
from segue.store import HANDOFF, SESSION

UNFINISHED = (HandoffState.PREPARED, HandoffState.DELIVERED, HandoffState.ACKNOWLEDGED)


class Handed(Struct, frozen=True):
    """Result of a handoff."""

    handoff: Handoff
    arrival: Arrival
    proof: proof.Proof | None = None
    is_old: bool = False
    """Whether it had been started earlier."""
    violations: tuple[str, ...] = ()
    """For a return: prohibitions that were broken, with evidence."""
    unconfirmed: tuple[str, ...] = ()
    """For a return: claims that could not be confirmed, with evidence."""
    home: str = ""
    """For a return: title of the agent that the next return leads to; empty if there is none."""


def hand_over(
    desk: Desk,
    order: Order,
    *,
    may: May,
    tell: Tell,
    show: Callable[[Plan], None] = lambda _plan: None,
    doubt: Doubt = refuse,
) -> Handed:
    """Hand this folder's work to another agent, or finish a handoff that was interrupted. `show` gets the plan before
    anything is sent."""
    work = handoff_plan.work_here(desk, order.session)
    with alone(desk, work.session.id, order.to):
        begun = unfinished(desk, work, order, tell)
        if begun is not None:
            tell(_whose(desk, begun))
            return msgspec.structs.replace(
                execute(desk, begun, may=may, tell=tell, prove=order.prove, mode=order.mode, doubt=doubt),
                is_old=True,
            )
        plan = handoff_plan.plan(desk, order, work)
        show(plan)
        return execute(desk, prepare(desk, plan, tell), may=may, tell=tell, prove=order.prove, doubt=doubt)


def _whose(desk: Desk, handoff: Handoff) -> str:
    """Line that says whose work a prepared handoff carries."""
    title = fence.one_line(desk.shared.get(SESSION, handoff.session).title, 90)
    at = clock.parse(handoff.created_at).astimezone().strftime("%Y-%m-%d %H:%M")
    return f"Work of {agents.get(agent_of(handoff.source)).title}, prepared {at} ({handoff.id}): {title}"


@contextlib.contextmanager
def alone(desk: Desk, session: str, target: str) -> Iterator[None]:
    """Lock a session while it is handed over. The system frees the lock if the process dies."""
    folder = desk.places.data / "runs"
    files.make_private_folder(folder)
    fd = files.open_private(folder / f"{session}.lock", os.O_RDWR | os.O_CREAT)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Underway(session=session, target=target) from None
        yield
    finally:
        os.close(fd)


def unfinished(desk: Desk, work: Work, order: Order, tell: Tell) -> Handoff | None:
    """Unfinished handoff of this session to the same target. Outdated ones, and prepared ones that differ from the
    request, are ended."""
    if not work.is_kept:
        return None
    target = str(handoff_plan.target_of(desk, order.to)[0])
    for handoff in desk.shared.handoffs_of(work.session.id):
        if handoff.target != target or handoff.state not in UNFINISHED or handoff.returns:
            continue
        is_other = handoff.state is HandoffState.PREPARED and not _is_as_ordered(handoff, order)
        is_outdated = _is_outdated(work, handoff)
        if is_other or is_outdated:
            _put_aside(
                desk,
                handoff,
                "the work continued since" if is_outdated else "it was prepared differently",
                tell,
            )
            continue
        return handoff
    return None


def _put_aside(desk: Desk, handoff: Handoff, why: str, tell: Tell) -> None:
    """End a handoff that another one replaces, and report it if it had not been taken."""
    event = PUT_ASIDE[handoff.state]
    ended = handoff_records.step(desk, handoff, event)
    if event is not Event.COMPLETE:
        target = title_of(handoff.target)
        tell(f"note: handoff {handoff.id} to {target} is {ended.state.value}: {why}.")
        _remove_leftover(desk, ended, tell)


def _remove_leftover(desk: Desk, handoff: Handoff, tell: Tell) -> None:
    if stays := leftovers.remove(desk, handoff):
        tell(f"note: {stays}")


PUT_ASIDE = {
    HandoffState.PREPARED: Event.CANCEL,
    HandoffState.DELIVERED: Event.EXPIRE,
    HandoffState.ACKNOWLEDGED: Event.COMPLETE,
}


def _is_as_ordered(handoff: Handoff, order: Order) -> bool:
    """Whether a prepared handoff matches the request."""
    delivery = handoff.delivery
    return (
        delivery is not None
        and order.budget is None
        and (order.preserve is None or order.preserve.tier is handoff.tier)
        and (order.way is None or order.way is delivery.way)
        and (not order.reason or order.reason == delivery.reason)
        and order.arguments == delivery.arguments
    )


def _is_outdated(work: Work, handoff: Handoff) -> bool:
    """Whether the work has continued since, outside of this handoff's target."""
    source = handoff_plan.source_of(work)
    if handoff.state is HandoffState.PREPARED and source.id != handoff.transcript:
        return True
    is_there = handoff.delivery is not None and source.id == handoff.delivery.transcript
    return not is_there and (source.updated_at or "") > max(handoff.created_at, handoff.updated_at)


# Prepare


def prepare(desk: Desk, plan: Plan, tell: Tell) -> Handoff:
    """Store a planned handoff. Nothing is sent yet."""
    session = sessions.keep(desk, plan.work)
    _clear_before(desk, session.id, plan.source.id, tell)
    id = desk.new_id("h")
    writer = agents.writer(plan.agent.name)
    transcript = writer.new_id(id) if plan.way is Way.NATIVE and writer else plan.resumes
    has_turns = bool(plan.conversation.turns)
    contents = [plan.made.brief, plan.made.receipt, *([plan.conversation] if has_turns else [])]
    kept = desk.shared.put_all([msgspec.json.encode(content) for content in contents])
    now = desk.clock()
    handoff = Handoff(
        id=id,
        session=session.id,
        source=_source(plan),
        target=str(plan.target),
        tier=plan.tier,
        state=HandoffState.PREPARED,
        reason=_reason(desk, plan),
        package=Package(
            context=None,
            size=0,
            stored=0,
            brief=kept[0].hash,
            conversation=kept[2].hash if has_turns else None,
        ),
        receipt=kept[1].hash,
        created_at=now,
        updated_at=now,
        not_passed=plan.not_passed,
        transcript=plan.source.id,
        returns=plan.returns,
        delivery=Delivery(
            way=plan.way,
            mode=plan.order.mode,
            why=plan.why,
            model=plan.target.model,
            project=plan.folder,
            transcript=transcript,
            turns=len(plan.conversation.turns) if plan.way is Way.NATIVE else 0,
            tokens=plan.tokens,
            counter=plan.counter,
            cost_usd=plan.cost_usd,
            redacted=plan.redacted,
            arguments=plan.order.arguments,
            keeper=handoff_records.keeper_for(desk, plan.agent.name),
            claims=plan.claims,
            reason=redaction.redact(desk, plan.order.reason).text if plan.order.reason else "",
        ),
    )
    trigger = msgspec.structs.replace(plan.trigger, reasoning=handoff.reason)
    event = events.begin(handoff, trigger, plan.made.receipt)
    handoff = msgspec.structs.replace(handoff, event=event)
    return desk.shared.record(HANDOFF, "handoff.prepared", id, lambda _present: handoff, keeps=kept).kept()


def _reason(desk: Desk, plan: Plan) -> str:
    """Reason for the handoff, with secrets removed from the user's words."""
    reasoning = plan.trigger.reasoning
    return redaction.redact(desk, reasoning).text if plan.order.reason else reasoning


def _clear_before(desk: Desk, session: str, transcript: str, tell: Tell) -> None:
    """Cancel earlier prepared handoffs, and complete the handoff that brought the work to its present transcript."""
    for handoff in desk.shared.handoffs_of(session):
        is_there = handoff.delivery is not None and handoff.delivery.transcript == transcript
        if handoff.state is HandoffState.PREPARED:
            _put_aside(desk, handoff, "a new one replaces it", tell)
        elif is_there and handoff.state is HandoffState.ACKNOWLEDGED:
            handoff_records.step(desk, handoff, Event.COMPLETE)


def _source(plan: Plan) -> str:
    """Address of the source agent, with its model if only the model changes: a return needs it."""
    is_same = plan.source.agent == plan.agent.name and plan.source.model and not plan.returns
    return f"{plan.source.agent}:{plan.source.model}" if is_same else plan.source.agent


def prepare_whole(
    desk: Desk,
    order: Order,
    tell: Tell,
    show: Callable[[Plan], None] = lambda _plan: None,
) -> Handoff:
    """Prepare a handoff and store its lossless package as well, if it is not urgent."""
    plan = handoff_plan.plan(desk, order)
    show(plan)
    return package(desk, prepare(desk, plan, tell))


# Execute


def execute_named(
    desk: Desk,
    id: str | None,
    order: Order | None,
    mode: Mode,
    *,
    may: May,
    tell: Tell,
    prove: bool,
    show: Callable[[Plan], None] = lambda _plan: None,
    doubt: Doubt = refuse,
) -> Handed:
    """Execute the handoff with this id, a new one, or this folder's last prepared one."""
    if order is not None:
        return hand_over(desk, order, may=may, tell=tell, show=show, doubt=doubt)
    handoff = get(desk, id) if id else _last_prepared(desk)
    tell(_whose(desk, handoff))
    with alone(desk, handoff.session, handoff.target):
        if handoff.state is HandoffState.PREPARED:
            handoff = _up_to_date(desk, handoff, mode, tell, prove=prove)
        return execute(desk, handoff, may=may, tell=tell, prove=prove, doubt=doubt)


def _up_to_date(desk: Desk, handoff: Handoff, mode: Mode, tell: Tell, *, prove: bool) -> Handoff:
    """Prepared handoff in the wanted mode; prepared again with the same options if the work continued since."""
    work, delivery = handoff_plan.work_here(desk, handoff.session), handoff.delivery
    is_current = work.main is None or not _is_outdated(work, handoff)
    if delivery is None or handoff.returns or is_current:
        return handoff_records.settle(desk, handoff, mode=mode)
    order = Order(
        to=handoff.target,
        mode=mode,
        reason=delivery.reason,
        preserve=handoff.tier.preserve,
        way=delivery.way if delivery.why in ("", handoff_plan.ASKED_FOR) else None,
        session=handoff.session,
        arguments=delivery.arguments,
        prove=prove,
        anyway=True,
    )
    plan = handoff_plan.plan(desk, order, work)
    _put_aside(desk, handoff, "the work continued since, so it is prepared again", tell)
    return prepare(desk, plan, tell)


def _last_prepared(desk: Desk) -> Handoff:
    work = handoff_plan.work_here(desk, None)
    found = desk.shared.handoffs_of(work.session.id) if work.is_kept else []
    handoff = next((one for one in found if one.state in UNFINISHED), None)
    if handoff is None:
        raise Refused(what="This folder has no prepared handoff.", next="segue handoff prepare --to AGENT")
    return handoff


def execute(
    desk: Desk,
    handoff: Handoff,
    *,
    may: May,
    tell: Tell,
    prove: bool = False,
    mode: Mode | None = None,
    doubt: Doubt = refuse,
) -> Handed:
    """Execute a handoff from its present state to the end; `mode` overrides the mode it was prepared with."""
    if handoff.state not in UNFINISHED or handoff.delivery is None:
        raise Refused(
            what=f"Handoff {handoff.id} is {handoff.state.value}: nothing is left to do.",
            next=f"segue handoff show {handoff.id}",
        )
    trip = Trip(desk, handoff, tell, doubt)
    if mode is not None:
        trip.use(mode)
    with process.ended_by_signals():
        travel(trip, may=may, prove=prove)
        try:
            found = trip.end()
        except Stopped:
            trip.fail_untaken()
            raise
    return Handed(trip.handoff, found, trip.proof)


def travel(trip: Trip, *, may: May, prove: bool = False) -> None:
    """Run a handoff from its present state until its target ends."""
    if trip.handoff.state is HandoffState.PREPARED:
        trip.refuse_unasked(may)
        trip.deliver(prove)
    elif trip.is_running():
        trip.tell(f"{trip.title} is still working on it.")
        trip.wait()
    elif trip.handoff.state is HandoffState.DELIVERED and not trip.look().has_handoff:
        trip.tell(f"{trip.title} was started before but did not get the handoff. Starting it again.")
        trip.deliver(prove)
    else:
        trip.go_on()


class Report(Struct, frozen=True):
    """Whether a handoff arrived, with the evidence."""

    handoff: Handoff
    arrival: Arrival
    proof: proof.Proof | None
    is_proved: bool
    why: str = ""
    """Why it is not proved."""


def validate(desk: Desk, id: str) -> Report:
    """Check the target's transcript again; a handoff that is proved becomes validated."""
    handoff = get(desk, id)
    proof = proof_of(desk, handoff)
    if handoff.delivery is None or handoff.delivery.prompt is None:
        return Report(handoff, Arrival(), proof, False, "it was never delivered")
    found = Trip(desk, handoff, lambda _text: None).look()
    if why := _why_unproved(found, proof):
        return Report(handoff, found, proof, False, why)
    if handoff.state is HandoffState.COMPLETED:
        told = outcome.of(desk, handoff, found, proof.report if proof else None)
        handoff = handoff_records.finish(desk, handoff, Event.VALIDATE, told)
    return Report(handoff, found, proof, True)


def _why_unproved(found: Arrival, proof: proof.Proof | None) -> str:
    """Why the target's transcript and answers do not prove the handoff; empty if they do."""
    if not found.has_handoff:
        return "the target's transcripts no longer contain it"
    if not found.is_whole:
        return "the target's transcript differs from what was sent"
    if not found.is_there:
        return f"the target's transcript holds {found.carried} of {found.due} turns of the conversation"
    if found.is_in_file:
        return "the prompt only named the file with the handoff, and the target may not have read it"
    if proof and not proof.report.is_proved:
        asked = len(proof.report.results)
        wrong = f"a copy of the target could not answer {asked - proof.report.right} of {asked} questions"
        return f"{wrong}; the answers were sent to the target, which was not asked again"
    return ""


def proof_of(desk: Desk, handoff: Handoff) -> proof.Proof | None:
    hash = handoff.proof
    return msgspec.json.decode(desk.shared.content(hash), type=proof.Proof) if hash else None


def cancel(desk: Desk, id: str, tell: Tell) -> Handoff:
    """Cancel a handoff that was not delivered."""
    handoff = get(desk, id)
    cancelled = handoff_records.step(desk, handoff, Event.CANCEL)
    if handoff.delivery:
        leases.give_back(desk, Path(handoff.delivery.project), handoff.id)
    _remove_leftover(desk, cancelled, tell)
    return cancelled
