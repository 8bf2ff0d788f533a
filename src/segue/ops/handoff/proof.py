"""Proof by questions: a throw-away copy of the target is given the same handoff and asked what it knows.

The copy gets the same conversation and the same words as the target will, then the questions. What it cannot answer
is said to the target once more; the copy is thrown away.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from segue import agents
from segue.agents.shared.launch import Start
from segue.briefs import probes, prompt, tokens
from segue.errors import AgentError, AgentFailed, Refused
from segue.model import Brief, Handoff, Receipt, Section
from segue.model.conversation import Conversation, Speaker, Turn
from segue.model.delivery import Mode
from segue.ops.common import process
from segue.ops.common.desk import Desk
from segue.ops.handoff import arrival, deliver, handoff_records, plan
from segue.ops.handoff.arrival import Arrival, Sought

NOTHING = "(Nothing was said before. A handoff follows, and then questions about it.)"


class Asked(Struct, frozen=True):
    """What a target is asked about."""

    handoff: Handoff
    brief: Brief
    receipt: Receipt
    extra: prompt.Extra
    conversation: Conversation


class Proof(Struct, frozen=True):
    """What a target that was asked turned out to know."""

    report: probes.Report
    tokens: int
    """What asking cost, in tokens read."""
    missing: tuple[Section, ...] = ()
    """What it did not know: said to it once more."""


def prove(desk: Desk, asked: Asked, folder: Path, tell: Callable[[str], None]) -> Proof:
    handoff = asked.handoff
    if handoff.delivery is None:
        raise Refused(what=f"Handoff {handoff.id} has no delivery.", next="segue log")
    questions = probes.questions(asked.receipt)
    if not questions:
        raise Refused(
            what="There is nothing to ask: the brief holds no fact of a kind that can be asked for.",
            next=f"segue to {handoff.target}, without --prove",
        )
    agent = agents.get(handoff_records.agent_of(handoff.target))
    put = probes.ask(questions, os.urandom(4).hex())
    text = prompt.compose(handoff.id, asked.brief, asked.extra, closing=put)
    count = tokens.counter(agent.vendor).count
    price = probes.price(handoff.delivery.tokens, count(put), count(probes.right_reply(questions)))
    tell(f"Asking {agent.title} {len(questions)} questions first: about {price:,} tokens are read for that.")
    reply = _answer(desk, asked, text, folder / "asked")
    report = probes.grade(questions, reply)
    return Proof(report, price, probes.missing(report))


def _answer(desk: Desk, asked: Asked, text: str, logs: Path) -> str:
    """Start the throw-away copy, and take what it says from its own records."""
    handoff, delivery = asked.handoff, asked.handoff.delivery
    if delivery is None:
        return ""
    name = handoff_records.agent_of(handoff.target)
    agent, writer = agents.get(name), agents.writer(name)
    project = Path(delivery.project)
    program = plan.target_of(desk, handoff.target)[2]
    # Anew each time: what was asked before is not to be seen.
    resume, unique = "", os.urandom(4).hex()
    if writer:
        resume = _write(desk, asked, f"{handoff.id} asked {unique}", logs)
    start = Start(
        program=program,
        project=project,
        mode=Mode.HEADLESS,
        prompt=deliver.spoken(handoff_records.keeper_of(desk, handoff), text),
        model=delivery.model,
        resume=resume,
        id="" if resume else deliver.new_id(name, f"{handoff.id} asked {unique}"),
        is_question=True,
    )
    sought = Sought(
        agent=handoff_records.keeper_of(desk, handoff),
        handoff=handoff.id,
        project=project,
        since=time.time_ns(),
        text=start.prompt,
    )
    try:
        ended = process.run(
            agents.starter(name).command(start, desk.env),
            mode=Mode.HEADLESS,
            folder=project,
            env={**desk.env, "SEGUE_HANDOFF": handoff.id},
            logs=logs,
            look=lambda: None,
        )
        found = arrival.look(sought, desk.env, asked.conversation)
    finally:
        _throw_away(desk, handoff, arrival.look(sought, desk.env), program, logs)
    if not found.reply:
        said = ended.said.rpartition("\n")[2][:300]
        raise AgentFailed(agent=agent.title, what=f"it gave no answer (exit code {ended.exit_code}: {said})")
    return found.reply


def _write(desk: Desk, asked: Asked, seed: str, logs: Path) -> str:
    """The copy's transcript, under an id by which it can be thrown away: also where nothing was said before. Where
    none can be written, there is none."""
    id = deliver.new_id(handoff_records.agent_of(asked.handoff.target), seed)
    nothing = Conversation(turns=(Turn(speaker=Speaker.PERSON, text=NOTHING),))
    try:
        deliver.write(
            desk, asked.handoff, asked.conversation if asked.conversation.turns else nothing, id, logs
        )
    except AgentError:
        return ""
    return id


def _throw_away(desk: Desk, handoff: Handoff, found: Arrival, program: str, logs: Path) -> None:
    """Nothing of the copy stays. One that cannot be taken away does no harm."""
    discard = agents.load(handoff_records.agent_of(handoff.target)).discard
    if found.source is None or discard is None or handoff.delivery is None:
        return
    with contextlib.suppress(AgentError, OSError):
        if launch := discard(found.source, program, desk.env):
            deliver.run(desk, launch, Path(handoff.delivery.project), logs / "discarded", program)
