"""Coming back: the agent that the work came from continues its own transcript, with a report of what happened since.

The report holds nothing else: what the agent knew when it left, it still knows. Where several agents had the work, or
one had it twice, each stay is reported by itself, in order. The claims of every stay are checked first; those that
could not be confirmed are listed with the evidence.
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
"""How much of one stay is told where there were several; the newest state stands in the rest of the brief."""
TOLD_BY_STAY = ("reply",)
"""Kinds that are told stay by stay where there were several."""


def come_back(desk: Desk, order: Order, *, may: May, tell: Tell) -> Handed:
    """Return to the agent that the work of this folder came from. A return that was begun is gone on with."""
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
    """The return. The claims that could not be confirmed are also counted in the event of the handoff it ends."""
    planned = plan(desk, order, out)
    handoff = prepare(desk, planned, tell)
    verify.remember(desk, planned.returns, planned.claims.unconfirmed if planned.claims else 0)
    return handoff


def work_away(desk: Desk, id: str | None) -> Work:
    """The session that is named. Else the one whose handoff holds the worktree; or this folder's; or, where that has
    nowhere to come back from because a new conversation was begun here since, the one that was handed over last."""
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
    """When a session was last handed over."""
    return max((handoff.created_at for handoff in _handoffs(desk, work)), default="")


def _handoffs(desk: Desk, work: Work) -> list[Handoff]:
    """The newest first."""
    return desk.shared.handoffs_of(work.session.id) if work.is_kept else []


def _unfinished(desk: Desk, work: Work) -> Handoff | None:
    """A return that was begun and did not come to its end."""
    last = next(iter(_handoffs(desk, work)), None)
    return last if last and last.returns and last.state in UNFINISHED else None


def away(desk: Desk, work: Work) -> Handoff:
    """The handoff that took the work of a session to where it is now."""
    if handoff := _away(desk, work):
        return handoff
    raise Refused(
        what="This folder's work has not been handed to another agent: there is nowhere to come back from.",
        next="segue to AGENT hands it over",
    )


def _away(desk: Desk, work: Work) -> Handoff | None:
    trips = stays.open_trips(_handoffs(desk, work))
    return trips[-1].out if trips else None


def refuse_busy(desk: Desk, last: Handoff, where: Transcript | None) -> None:
    """Two must not work in one folder: some agents go on after they were left in the middle of a turn."""
    is_open = last.delivery is not None and last.delivery.mode is Mode.OPEN
    if where is None or where.ending is not Ending.OPEN or not where.updated_at or not is_open:
        return  # what Segue ran to its end is over
    age = clock.parse(desk.clock()) - clock.parse(where.updated_at)
    if age.total_seconds() < transcripts.LIVE_SECONDS:
        title = agents.get(handoff_records.agent_of(last.target)).title
        raise Refused(
            what=f"{title} seems to be at work still: its last turn has not ended.",
            next="segue back, once it has ended or you have stopped it; --anyway comes back all the same",
        )


class Stay(Struct, frozen=True):
    """What one agent did and said from the handoff that brought it the work until the work left, and what was checked
    of that."""

    name: str
    entries: tuple[Entry, ...]
    reads: Meaning
    folder: str = ""
    verified: Verification | None = None


class Since(Struct, frozen=True):
    """What came about where the work has been, and the secrets that were seen there, with their kinds."""

    facts: tuple[Fact, ...] = ()
    secrets: dict[str, str] = {}


def _read_stay(desk: Desk, handoff: Handoff, name: str, *, is_last: bool) -> Stay:
    """Nothing, where the transcript is gone and only the folder shows what was done. Tests are run once, if at all."""
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
    """What holds after all stays, so that a later one settles what an earlier one left open; and each by itself."""
    tracker = Tracker()
    for stay in all_stays:
        tracker.waiting.clear()  # calls that an agent left open are nothing that the next one could answer
        for entry in stay.entries:
            tracker.add(entry, stay.reads)
    facts = tracker.all(all_stays[-1].reads)  # which finds the secrets
    if len(all_stays) == 1:
        return Since((*facts, *_findings(all_stays[0])), tracker.heat.secrets)
    now = (fact for fact in facts if fact.kind not in TOLD_BY_STAY)
    told = (fact for n, stay in enumerate(all_stays, 1) for fact in _facts_of(stay, n))
    return Since((*told, *now), tracker.heat.secrets)


def _findings(stay: Stay) -> tuple[Fact, ...]:
    return verify.facts_for_brief(stay.verified) if stay.verified else ()


def _facts_of(stay: Stay, number: int) -> Iterator[Fact]:
    """One stay of several in a few lines, then its broken prohibitions and the claims that could not be confirmed."""
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
        # Who broke a prohibition stands in its evidence, where that is known.
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
    """The report to the agent that is returned to: as short as it can be without losing what must not be lost."""
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
    """What coming back would be: from the handoff that is open, or from another one and all that came after it."""
    refresh.refresh(desk, [Pass.ENTRIES])
    work = work_away(desk, order.session)
    out = out or away(desk, work)
    went = stays.stays_since(_handoffs(desk, work), out)
    if out.delivery is None:
        raise NotFound(noun="delivery of handoff", name=out.id, next="segue handoff list")
    home = transcripts.find(desk, out.transcript).transcript
    if home is None:
        raise NotFound(noun="transcript", name=out.transcript, next="segue transcripts")
    # Whoever names where to go back to may name the model as well.
    address, agent, program = handoff_plan.target_of(
        desk, out.source if order.to == handoff_plan.BACK else order.to
    )
    where, last = None, went[-1].delivery or out.delivery
    with contextlib.suppress(NotFound):
        where = transcripts.find(desk, last.transcript).transcript
    # Where its transcript is gone, the work comes from there all the same.
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
