"""Coming back: the agent that the work came from goes on with its own transcript, and is told what happened meanwhile.

It is told no more than that: what it knew when it left, it still knows. What the agent in between says it did is
checked first; what nothing bears out is listed as such, with the evidence.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents, briefs, clock
from segue.conversation import Conversation
from segue.delivery import Mode, Way
from segue.errors import AgentError, NotFound, Refused
from segue.facts.tracker import Tracker
from segue.model import Agent, Ending, Entry, Fact, Handoff, SessionStatus, Source, Tier, Transcript
from segue.ops import (
    arrival,
    found,
    leases,
    limits,
    planning,
    records,
    redaction,
    refresh,
    transcripts,
    verifying,
)
from segue.ops import briefs as making
from segue.ops.briefs import Made, Secrets, Wish
from segue.ops.desk import Desk
from segue.ops.found import Work
from segue.ops.handoffs import UNFINISHED, Handed, alone, execute, prepare
from segue.ops.planning import Order, Plan
from segue.ops.refresh import Pass
from segue.ops.trips import May, Tell
from segue.ops.warm import Meaning

BUDGET = 4000


def come_back(desk: Desk, order: Order, *, may: May, tell: Tell) -> Handed:
    """Return to the agent that the work of this folder came from. A return that was begun is gone on with."""
    work = work_away(desk, order.session)
    order = msgspec.structs.replace(order, session=work.session.id)
    with alone(desk, work.session.id, "where it came from"):
        begun = _unfinished(desk, work)
        handoff = begun or prepared(desk, order)
        return execute(desk, handoff, may=may, tell=tell, mode=order.mode)


def prepared(desk: Desk, order: Order, out: Handoff | None = None) -> Handoff:
    """The return, and beside the handoff that it ends how much of what was asserted there nothing bears out."""
    planned = plan(desk, order, out)
    handoff = prepare(desk, planned)
    unsupported = sum(line.fact.kind == "assertion" for line in planned.made.receipt.lines)
    verifying.remember(desk, planned.returns, unsupported)
    return handoff


def work_away(desk: Desk, id: str | None) -> Work:
    """The session that is named. Else the one whose handoff holds the worktree; or this folder's; or, where that has
    nowhere to come back from because a new conversation was begun here since, the one that was handed over last."""
    if id:
        return planning.work_here(desk, id)
    held = leases.session_of_holder(desk, desk.project)
    refresh.refresh(desk, [Pass.ENTRIES])
    every = [work for work in found.works(desk) if work.session.status is SessionStatus.OPEN]
    own = found.of_folder(desk, every)
    last = sorted(own, key=lambda work: _handed_at(desk, work), reverse=True)
    holding = [work for work in every if work.session.id == held]
    for work in (*holding, *own[:1], *last):
        if _unfinished(desk, work) or _away(desk, work):
            return work
    return planning.work_here(desk, None)


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
    handoffs = _handoffs(desk, work)
    returned = _returned(handoffs)
    for handoff in sorted(handoffs, key=lambda one: one.created_at, reverse=True):
        if found.is_taken(handoff) and not handoff.returns and handoff.id not in returned:
            return handoff
    return None


def _returned(handoffs: Sequence[Handoff]) -> set[str]:
    """The handoffs that the work has come back from: all from the one that was returned from to the return."""
    known = {handoff.id: handoff for handoff in handoffs}
    spans = [
        (known[one.returns].created_at, one.created_at)
        for one in handoffs
        if one.returns in known and found.is_taken(one)
    ]
    return {one.id for one in handoffs for start, end in spans if start <= one.created_at <= end}


def _hops(desk: Desk, work: Work, out: Handoff) -> list[Handoff]:
    """The handoffs that took the work on from a handoff to where it is now, that one first."""
    handoffs = _handoffs(desk, work)
    later = [one for one in handoffs if one.created_at > out.created_at]
    taken = [one for one in later if found.is_taken(one) and not one.returns]
    return [out, *sorted(taken, key=lambda one: one.created_at)]


def refuse_busy(desk: Desk, out: Handoff, where: Transcript | None) -> None:
    """Two must not work in one folder: some agents go on after they were left in the middle of a turn."""
    is_open = out.delivery is not None and out.delivery.mode is Mode.OPEN
    if where is None or where.ending is not Ending.OPEN or not where.updated_at or not is_open:
        return  # what Segue ran to its end is over
    age = clock.parse(desk.clock()) - clock.parse(where.updated_at)
    if age.total_seconds() < transcripts.LIVE_SECONDS:
        title = agents.get(records.agent_of(out.target)).title
        raise Refused(
            what=f"{title} seems to be at work still: its last turn has not ended.",
            next="segue back, once it has ended or you have stopped it; --anyway comes back all the same",
        )


class Since(Struct, frozen=True):
    """What came about where the work was handed to, and the secrets that were seen there, with their kinds."""

    facts: tuple[Fact, ...] = ()
    secrets: dict[str, str] = {}


def facts_since(desk: Desk, out: Handoff) -> Since:
    """What was done and said where the work was handed to; nothing where that is gone, and only the folder tells."""
    if out.delivery is None:
        return Since()
    source = Source(agent=records.keeper_of(desk, out), path=out.delivery.path, part=out.delivery.part)
    entries: list[Entry] = []
    with contextlib.suppress(AgentError):
        entries = list(arrival.since(source, out.id))
    tracker, reads = Tracker(), Meaning(source.agent)
    for entry in entries:
        tracker.add(entry, reads)
    facts = tracker.all(reads)  # which finds the secrets
    return Since(facts, tracker.heat.secrets)


def _unsupported_since(desk: Desk, out: Handoff, is_last: bool) -> tuple[Fact, ...]:
    """What was asserted there and the world contradicts, each with its evidence. Tests are run once, if at all."""
    if out.delivery is None or not out.delivery.path:
        return ()
    verified = verifying.verify(desk, since=out.id, run_tests=None if is_last else False)
    return verifying.facts_for_brief(verified)


def _facts_of(desk: Desk, hops: Sequence[Handoff]) -> Since:
    """What was done and said wherever the work has been, and what of that nothing bears out."""
    facts: tuple[Fact, ...] = ()
    secrets: dict[str, str] = {}
    for hop in hops:
        unsupported = _unsupported_since(desk, hop, hop is hops[-1])
        since = facts_since(desk, hop)
        facts = making.joined(facts, (*since.facts, *unsupported))
        secrets |= since.secrets
    return Since(facts, secrets)


def _brief_since(
    desk: Desk, work: Work, hops: Sequence[Handoff], since: Since, agent: Agent, window: int
) -> Made:
    """What whoever is returned to is told: as short as it can be without losing what the person insists on."""
    secrets = Secrets(redaction.key(desk), desk.settings.redact_allow)
    title = " and ".join(dict.fromkeys(agents.get(records.agent_of(hop.target)).title for hop in hops))
    about = briefs.About(title=work.session.title, source=f"Back from {title}: what happened since you left.")
    wish = Wish(Tier.SELECTIVE, None, agent.name, in_haste=True)
    return making.long_enough(
        (BUDGET, window // 8, window // 2),
        lambda budget: making.of_facts(
            since.facts, about, msgspec.structs.replace(wish, budget=budget), secrets, since.secrets
        ),
    )


def plan(desk: Desk, order: Order, out: Handoff | None = None) -> Plan:
    """What coming back would be: from where the work is now, or from all that came after a handoff."""
    refresh.refresh(desk, [Pass.ENTRIES])
    work = work_away(desk, order.session)
    out = out or away(desk, work)
    hops = _hops(desk, work, out)
    if out.delivery is None:
        raise NotFound(noun="delivery of handoff", name=out.id, next="segue handoff list")
    home = transcripts.find(desk, out.transcript).transcript
    if home is None:
        raise NotFound(noun="transcript", name=out.transcript, next="segue transcripts")
    # Whoever names where to go back to may name the model as well.
    address, agent, program = planning.target_of(desk, out.source if order.to == planning.BACK else order.to)
    where = None
    with contextlib.suppress(NotFound):
        last = hops[-1].delivery or out.delivery
        where = transcripts.find(desk, last.transcript).transcript
    told = limits.of_agents(desk)
    if not order.anyway:
        refuse_busy(desk, out, where)
        planning.refuse_at_limit(told, agent, home.model)
    since = _facts_of(desk, hops)
    made = _brief_since(desk, work, hops, since, agent, planning.window_of(desk, agent, home.model))
    count = made.brief.tokens + (home.context_tokens or 0)
    return Plan(
        order=order,
        work=work,
        source=where or home,
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
        cost_usd=planning.cost_of(desk, agent, home.model, count),
        redacted=made.receipt.redacted,
        not_passed=made.brief.not_passed,
        instructions=(),
        find_drift=lambda: planning.drift_of(desk, since.facts, where, Path(planning.folder_of(desk, home))),
        vendor=agent.vendor,
        is_allowed=True,
        trigger=planning.trigger_for(desk, work, order, told),
        folder=planning.folder_of(desk, home),
        resumes=out.transcript,
        returns=out.id,
    )
