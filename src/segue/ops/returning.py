"""Coming back: the agent that the work came from goes on with its own transcript, and is told what happened meanwhile.

It is told no more than that: what it knew when it left, it still knows. What the agent in between says it did is
listed as said, until it is checked.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from segue import agents, briefs, clock
from segue.conversation import Conversation
from segue.delivery import Mode, Way
from segue.errors import AgentError, NotFound, Refused
from segue.facts.tracker import derive
from segue.model import Ending, Entry, Fact, Handoff, Source, Tier, Transcript
from segue.ops import arrival, found, limits, planning, records, redaction, refresh, transcripts
from segue.ops import briefs as making
from segue.ops.briefs import Secrets, Wish
from segue.ops.desk import Desk
from segue.ops.found import Work
from segue.ops.handoffs import UNFINISHED, Handed, alone, execute, prepare
from segue.ops.planning import Order, Plan
from segue.ops.refresh import Pass
from segue.ops.trips import May, Tell
from segue.ops.warm import Meaning

BUDGET = 4000


def come_back(desk: Desk, order: Order, *, may: May, tell: Tell) -> Handed:
    """Return to the agent that the work of this folder came from."""
    work = planning.work_here(desk, order.session)
    with alone(desk, work.session.id, "where it came from"):
        begun = _unfinished(desk, work)
        handoff = begun or prepare(desk, plan(desk, order))
        return execute(desk, handoff, may=may, tell=tell, mode=order.mode)


def _unfinished(desk: Desk, work: Work) -> Handoff | None:
    """A return that was begun and did not come to its end."""
    handoffs = desk.shared.handoffs_of(work.session.id) if work.is_kept else []
    last = next(iter(handoffs), None)
    return last if last and last.returns and last.state in UNFINISHED else None


def away(desk: Desk, work: Work) -> Handoff:
    """The handoff that took the work of a session to where it is now."""
    handoffs = desk.shared.handoffs_of(work.session.id) if work.is_kept else []
    returned = {handoff.returns for handoff in handoffs if handoff.returns and found.is_taken(handoff)}
    for handoff in sorted(handoffs, key=lambda one: one.created_at, reverse=True):
        if found.is_taken(handoff) and not handoff.returns and handoff.id not in returned:
            return handoff
    raise Refused(
        what="This folder's work has not been handed to another agent: there is nowhere to come back from.",
        next="segue to AGENT hands it over",
    )


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


def facts_since(desk: Desk, out: Handoff) -> tuple[Fact, ...]:
    """What was done and said where the work was handed to; nothing where that is gone, and only the folder tells."""
    if out.delivery is None:
        return ()
    source = Source(agent=records.keeper_of(desk, out), path=out.delivery.path, part=out.delivery.part)
    entries: list[Entry] = []
    with contextlib.suppress(AgentError):
        entries = list(arrival.since(source, out.id))
    return derive(entries, Meaning(source.agent))


def plan(desk: Desk, order: Order) -> Plan:
    """What coming back would be."""
    refresh.refresh(desk, [Pass.ENTRIES])
    work = planning.work_here(desk, order.session)
    out = away(desk, work)
    if out.delivery is None:
        raise NotFound(noun="delivery of handoff", name=out.id, next="segue handoff list")
    home = transcripts.find(desk, out.transcript).transcript
    if home is None:
        raise NotFound(noun="transcript", name=out.transcript, next="segue transcripts")
    address, agent, program = planning.target_of(desk, out.source)
    where = None
    with contextlib.suppress(NotFound):
        where = transcripts.find(desk, out.delivery.transcript).transcript
    told = limits.of_agents(desk)
    if not order.anyway:
        refuse_busy(desk, out, where)
        planning.refuse_at_limit(told, agent, home.model)
    facts = facts_since(desk, out)
    secrets = Secrets(redaction.key(desk), desk.settings.redact_allow)
    title = agents.get(records.agent_of(out.target)).title
    about = briefs.About(title=work.session.title, source=f"Back from {title}: what happened since you left.")
    window = planning.window_of(desk, agent, home.model)
    made = making.long_enough(
        (BUDGET, window // 8, window // 2),
        lambda budget: making.of_facts(
            facts, about, Wish(Tier.SELECTIVE, budget, agent.name, in_haste=True), secrets
        ),
    )
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
        find_drift=lambda: planning.drift_of(desk, facts, where, Path(planning.folder_of(desk, home))),
        vendor=agent.vendor,
        is_allowed=True,
        trigger=planning.trigger_for(desk, work, order, told),
        folder=planning.folder_of(desk, home),
        resumes=out.transcript,
        returns=out.id,
    )
