"""`segue back`: the agent that the work came from resumes its own transcript, with a report of what happened since.

The report contains nothing that the agent knew when the work left it. If several agents had the work, or one had it
twice, each stay is reported separately, in order. The claims of every stay are checked first; those that could not be
confirmed are listed with the evidence.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents
from segue.base import clock
from segue.briefs import render
from segue.errors import AgentError, NotFound, Refused
from segue.facts.tracker import Tracker
from segue.model import Agent, Ending, Entry, Fact, Handoff, Origin, SessionStatus, Source, Tier, Transcript
from segue.model.conversation import Conversation
from segue.model.delivery import Mode, Way
from segue.ops.briefs import make
from segue.ops.briefs.make import Made, Secrets, Wish
from segue.ops.common import redaction
from segue.ops.common.desk import Desk
from segue.ops.handoff import arrival, handoff_records, leases, stays
from segue.ops.handoff import plan as handoff_plan
from segue.ops.handoff.execution import May, Tell
from segue.ops.handoff.handoffs import UNFINISHED, Handed, alone, execute, prepare
from segue.ops.handoff.plan import Order, Plan
from segue.ops.index import refresh
from segue.ops.index.refresh import Pass
from segue.ops.index.tracked_transcript import Meaning
from segue.ops.usage import limits
from segue.ops.verify import verify
from segue.ops.verify.verify import Verification
from segue.ops.work import discovery, transcripts
from segue.ops.work.discovery import Work

BUDGET = 4000
MOST_FILES, MOST_COMMANDS, LONGEST_WORDS = 20, 10, 1200
"""Size of one stay's report if there are several; the latest state is in the rest of the brief."""
TOLD_BY_STAY = ("reply",)
"""Fact kinds that are reported per stay if there are several."""


def come_back(desk: Desk, order: Order, *, may: May, tell: Tell) -> Handed:
    """Return this folder's work to the agent that it came from. An interrupted return is resumed."""
    work = work_away(desk, order.session)
    order = msgspec.structs.replace(order, session=work.session.id)
    with alone(desk, work.session.id, "where it came from"):
        begun = _unfinished(desk, work)
        handoff = begun or prepared(desk, order, tell)
        handed = execute(desk, handoff, may=may, tell=tell, mode=order.mode)
    trips = stays.open_trips(_handoffs(desk, work))
    receipt = handoff_records.receipt_of(desk, handed.handoff)
    return msgspec.structs.replace(
        handed,
        violations=handoff_records.violations_in(receipt),
        unconfirmed=handoff_records.unconfirmed_in(receipt),
        home=handoff_records.title_of(trips[-1].out.source) if trips else "",
    )


def prepared(desk: Desk, order: Order, tell: Tell, out: Handoff | None = None) -> Handoff:
    """Prepare the return, and record the number of unconfirmed claims in the event of the handoff that it ends."""
    planned = plan(desk, order, out)
    handoff = prepare(desk, planned, tell)
    verify.remember(desk, planned.returns, planned.claims.unconfirmed if planned.claims else 0)
    return handoff


def work_away(desk: Desk, id: str | None) -> Work:
    """Session to return: the one with this id, or the first that was handed over of: the session that holds the
    worktree, this folder's session, and the session of this folder that was handed over last."""
    if id:
        return handoff_plan.work_here(desk, id)
    held = leases.session_of_holder(desk, desk.project)
    refresh.refresh(desk, [Pass.ENTRIES])
    every = [work for work in discovery.works(desk) if work.session.status is SessionStatus.OPEN]
    own = discovery.of_folder(desk, every)
    last = sorted(own, key=lambda work: _handed_at(desk, work), reverse=True)
    holding = [work for work in every if work.session.id == held]
    for work in (*holding, *own[:1], *last):
        if _unfinished(desk, work) or _away(desk, work):
            handoff_plan.refuse_unused(desk, work)
            return work
    return handoff_plan.work_here(desk, None)


def _handed_at(desk: Desk, work: Work) -> str:
    """Time of a session's last handoff."""
    return max((handoff.created_at for handoff in _handoffs(desk, work)), default="")


def _handoffs(desk: Desk, work: Work) -> list[Handoff]:
    """Handoffs of a session, newest first."""
    return desk.shared.handoffs_of(work.session.id) if work.is_kept else []


def _unfinished(desk: Desk, work: Work) -> Handoff | None:
    """Return that was interrupted."""
    last = next(iter(_handoffs(desk, work)), None)
    return last if last and last.returns and last.state in UNFINISHED else None


def away(desk: Desk, work: Work) -> Handoff:
    """Handoff that took a session's work to where it is now."""
    if handoff := _away(desk, work):
        return handoff
    raise Refused(
        what="This folder's work has not been handed to another agent, so there is nowhere to return from.",
        next="segue to AGENT hands it over",
    )


def _away(desk: Desk, work: Work) -> Handoff | None:
    trips = stays.open_trips(_handoffs(desk, work))
    return trips[-1].out if trips else None


def refuse_busy(desk: Desk, last: Handoff, where: Transcript | None) -> None:
    """Refuse to return while the target works: some agents continue a turn after their window is closed."""
    is_open = last.delivery is not None and last.delivery.mode is Mode.OPEN
    if where is None or where.ending is not Ending.OPEN or not where.updated_at or not is_open:
        return  # a headless run has ended
    age = clock.parse(desk.clock()) - clock.parse(where.updated_at)
    if age.total_seconds() < transcripts.LIVE_SECONDS:
        title = agents.get(handoff_records.agent_of(last.target)).title
        raise Refused(
            what=f"{title} still seems to be working: its last turn has not ended.",
            next="wait until it ends or stop it, then run segue back; --anyway returns now",
        )


class Stay(Struct, frozen=True):
    """Entries of one agent between the handoff that brought it the work and the next one, with their verification."""

    name: str
    entries: tuple[Entry, ...]
    reads: Meaning
    folder: str = ""
    verified: Verification | None = None


class Since(Struct, frozen=True):
    """Facts since the work left, and the secrets seen there, with their kinds."""

    facts: tuple[Fact, ...] = ()
    secrets: dict[str, str] = {}


def _read_stay(desk: Desk, handoff: Handoff, name: str, *, is_last: bool) -> Stay:
    """Read and verify a stay; without entries if its transcript is gone. Tests run for the last stay only."""
    keeper, delivery = handoff_records.keeper_of(desk, handoff), handoff.delivery
    if delivery is None or not delivery.path:
        return Stay(name, (), Meaning(keeper))
    entries: list[Entry] = []
    with contextlib.suppress(AgentError):
        source = Source(agent=keeper, path=delivery.path, part=delivery.part)
        entries = list(arrival.since(source, handoff.id))
    verified = verify.verify(desk, since=handoff.id, run_tests=None if is_last else False)
    return Stay(name, tuple(entries), Meaning(keeper), delivery.project, verified)


def read_stays(desk: Desk, handoffs: Sequence[Handoff]) -> tuple[Stay, ...]:
    names = stays.names(handoffs)
    return tuple(
        _read_stay(desk, one, name, is_last=one is handoffs[-1])
        for one, name in zip(handoffs, names, strict=True)
    )


def facts_since(all_stays: Sequence[Stay]) -> Since:
    """Facts after all stays (a later stay settles what an earlier one left open), and a summary of each stay."""
    tracker = Tracker()
    for stay in all_stays:
        tracker.waiting.clear()  # the next agent cannot answer calls that this one left open
        for entry in stay.entries:
            tracker.add(entry, stay.reads)
    facts = tracker.all(all_stays[-1].reads)  # also finds the secrets
    if len(all_stays) == 1:
        return Since((*facts, *_findings(all_stays[0])), tracker.heat.secrets)
    now = (fact for fact in facts if fact.kind not in TOLD_BY_STAY)
    told = (fact for n, stay in enumerate(all_stays, 1) for fact in _facts_of(stay, n))
    return Since((*told, *now), tracker.heat.secrets)


def _findings(stay: Stay) -> tuple[Fact, ...]:
    return verify.facts_for_brief(stay.verified) if stay.verified else ()


def _facts_of(stay: Stay, number: int) -> Iterator[Fact]:
    """Summary of one of several stays, then its broken prohibitions and unconfirmed claims."""
    findings = _findings(stay)
    tracker = Tracker(folder=stay.folder)
    for entry in stay.entries:
        tracker.add(entry, stay.reads)
    value = "\n".join(_lines_of(stay, tracker.all(stay.reads), findings))
    yield Fact(
        kind="stay",
        subject=f"{number}. {stay.name}",
        value=value,
        entry="",
        origin=Origin.ASSISTANT,
        n=number,
    )
    for fact in findings:
        # The evidence of a violation names the agent, if known.
        value = fact.value if fact.kind == "violation" else f"{stay.name}: {fact.value}"
        yield msgspec.structs.replace(fact, subject=f"{number}. {fact.subject}", value=value)


def _lines_of(stay: Stay, facts: Sequence[Fact], findings: Sequence[Fact]) -> Iterator[str]:
    if not stay.entries:
        yield "Its transcript shows nothing of this time."
    for label, kind, most in (("Changed", "file", MOST_FILES), ("Ran", "command", MOST_COMMANDS)):
        own = [render.line(fact) for fact in facts if fact.kind == kind]
        more = f"; and {len(own) - most} more before" if len(own) > most else ""
        if own:
            yield f"{label}: {'; '.join(own[-most:])}{more}"
    for label, kind in (("Said", "reply"), ("Named as its next step then", "next step")):
        words = [render.shortened(fact.value, LONGEST_WORDS) for fact in facts if fact.kind == kind]
        if words:
            yield f"{label}: " + "\n".join(words)
    broken = [fact.value for fact in findings if fact.kind == "violation"]
    if broken:
        yield f"Prohibitions broken meanwhile: {'; '.join(broken)}"
    unconfirmed = [fact.subject for fact in findings if fact.kind == "assertion"]
    if unconfirmed and stay.verified:
        yield f"{verify.claims_of([stay.verified])}: {'; '.join(unconfirmed)}"


def _brief_since(
    desk: Desk, work: Work, went: Sequence[Handoff], since: Since, agent: Agent, window: int
) -> Made:
    """Report for the agent that gets the work back: the smallest budget that loses nothing required."""
    secrets = Secrets(redaction.key(desk), desk.settings.redact_allow)
    names = ", then ".join(stays.names(went))
    about = render.About(title=work.session.title, source=f"Back from {names}: what happened since you left.")
    wish = Wish(Tier.SELECTIVE, None, agent.name, in_haste=True)
    return make.long_enough(
        (BUDGET, window // 8, window // 2),
        lambda budget: make.of_facts(
            since.facts, about, msgspec.structs.replace(wish, budget=budget), secrets, since.secrets
        ),
    )


def plan(desk: Desk, order: Order, out: Handoff | None = None) -> Plan:
    """Plan the return from the open handoff, or from `out` and everything after it."""
    refresh.refresh(desk, [Pass.ENTRIES])
    work = work_away(desk, order.session)
    out = out or away(desk, work)
    went = stays.stays_since(_handoffs(desk, work), out)
    if out.delivery is None:
        raise NotFound(noun="delivery of handoff", name=out.id, next="segue handoff list")
    home = transcripts.find(desk, out.transcript).transcript
    if home is None:
        raise NotFound(noun="transcript", name=out.transcript, next="segue transcripts")
    # A named target may include the model.
    address, agent, program = handoff_plan.target_of(
        desk, out.source if order.to == handoff_plan.BACK else order.to
    )
    where, last = None, went[-1].delivery or out.delivery
    with contextlib.suppress(NotFound):
        where = transcripts.find(desk, last.transcript).transcript
    # If its transcript is gone, the work is still recorded as coming from there.
    gone = Transcript(id=last.transcript, agent=handoff_records.agent_of(went[-1].target), path=last.path)
    told = limits.of_agents(desk)
    if not order.anyway:
        refuse_busy(desk, went[-1], where)
        handoff_plan.refuse_at_limit(told, agent, home.model)
    checked = read_stays(desk, went)
    since = facts_since(checked)
    made = _brief_since(desk, work, went, since, agent, handoff_plan.window_of(desk, agent, home.model))
    count = made.brief.tokens + (home.context_tokens or 0)
    return Plan(
        order=order,
        work=work,
        source=where or gone,
        target=address,
        agent=agent,
        program=program,
        way=Way.RESUME,
        why="",
        tier=Tier.SELECTIVE,
        made=made,
        conversation=Conversation(),
        dropped=0,
        tokens=count,
        counter=made.brief.counter,
        cost_usd=handoff_plan.cost_of(desk, agent, home.model, count),
        redacted=made.receipt.redacted,
        not_passed=made.brief.not_passed,
        instructions=(),
        find_drift=lambda: handoff_plan.drift_of(
            desk, since.facts, where, Path(handoff_plan.folder_of(desk, home))
        ),
        vendor=agent.vendor,
        is_allowed=True,
        trigger=handoff_plan.trigger_for(desk, work, order, told),
        folder=handoff_plan.folder_of(desk, home),
        resumes=out.transcript,
        returns=out.id,
        claims=verify.claims_of([stay.verified for stay in checked if stay.verified]),
    )
